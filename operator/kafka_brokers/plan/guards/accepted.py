"""Losses that a person accepts. The annotation names data, not a broker: it accepts no later loss (rule 10). Pure."""

from collections.abc import Iterable

from kafka_brokers.model.disks import BrokerIdentity, DiskIdentity
from kafka_brokers.model.names import ACCEPT_LOSS, claim_name
from kafka_brokers.model.observed import Claim, Observed


def data_of(observed: Observed, broker: BrokerIdentity, disks: Iterable[DiskIdentity]) -> tuple[str, ...]:
    """What names the data of these volumes for good: the directory id, or the claim of one without."""
    return tuple(one.directory_id or _claim(observed, broker, one, one.generation) for one in disks)


def given_up(observed: Observed, broker: BrokerIdentity, disks: Iterable[DiskIdentity]) -> tuple[str, ...]:
    """The same for the data that was given up last of these volumes, which are not formatted again yet."""
    return tuple(
        one.retired[-1] if one.retired else _claim(observed, broker, one, max(one.generation - 1, 1)) for one in disks
    )


def data_on(claim: Claim) -> tuple[str, ...]:
    """The same for the volume of one claim."""
    return (claim.directory_id or claim.name,)


def _claim(observed: Observed, broker: BrokerIdentity, disk: DiskIdentity, generation: int) -> str:
    return claim_name(observed.pool, broker.node_id, disk.index, generation)


def is_accepted(observed: Observed, data: tuple[str, ...]) -> bool:
    """Whether a person has accepted that all of this is lost."""
    return bool(data) and observed.accept_loss.issuperset(data)


def acceptance(data: tuple[str, ...]) -> str:
    """What a person does who accepts that this is lost, as a clause."""
    return f"accept the loss: annotate the KafkaBrokerPool with {ACCEPT_LOSS}={','.join(data)}"
