"""Pods of the record's brokers whose labels were taken off or changed: they run, and do not count as absent."""

from collections.abc import Iterator
from typing import Final

from kafka_brokers.model import names
from kafka_brokers.model.disks import BrokerIdentity, PoolRecord
from kafka_brokers.model.observed import Unreadable
from kafka_brokers.resources.meta import foreign_controller
from kit.kube.protocol import Json
from kit.kube.unlisted import Gets, divided, name_of, sorted_out, without_labels
from kit.text import MESSAGE_MAX_CHARS, NAME_MAX_CHARS, clean

_CONTROLLED: Final = "its ownerReferences list a controller that is not a KafkaBrokerPool. Remove that reference"


async def unlabelled(
    kube: Gets, namespace: str, pool: str, quorum: str, record: PoolRecord | None, listed: list[Json]
) -> tuple[list[Json], tuple[Unreadable, ...]]:
    """Pods with the names of brokers' pods: those that got their labels since the list, and those without them.

    Raises `KubeError`. Pods are asked for by name only for brokers of which none was listed, and that are formatted or
    ran. Before that no pod of theirs runs Kafka, and the name keeps a second formatter from being created.
    """
    brokers = () if record is None else record.brokers
    wanted = {name: labels for broker in brokers for name, labels in _pods(pool, quorum, broker)}
    known = [broker for broker in brokers if broker.formatted or broker.ran]
    groups = [[name for name, _ in _pods(pool, quorum, broker)] for broker in known]
    # A stranger with the name of a formatter stands in nobody's way; one with the name of a broker's pod may be it.
    servers = {names.pod_name(pool, broker.node_id) for broker in brokers}
    own, strange = divided(listed, lambda item: foreign_controller(item) is None or name_of(item) in servers)
    back, bad = await sorted_out(
        kube, namespace, groups, own, strange, lambda item: _why(item, wanted.get(name_of(item)))
    )
    return back, tuple(_unreadable(item, why) for item, why in bad)


def _why(item: Json, labels: dict[str, str] | None) -> str:
    """Nothing of a pod that is none of this record's brokers."""
    if labels is None:
        return ""
    return _CONTROLLED if foreign_controller(item) is not None else without_labels(item, labels)


def _unreadable(item: Json, why: str) -> Unreadable:
    """A command that is cut somewhere is of no use."""
    return Unreadable(
        kind="Pod",
        name=clean(name_of(item), max_chars=NAME_MAX_CHARS),
        why=clean(why, max_chars=MESSAGE_MAX_CHARS),
        later=False,
    )


def _pods(pool: str, quorum: str, broker: BrokerIdentity) -> Iterator[tuple[str, dict[str, str]]]:
    """The name and the labels of both pods that a broker may have."""
    labels = {
        names.LABEL_POOL: pool,
        names.LABEL_OF_QUORUM: quorum,
        names.LABEL_NODE: str(broker.node_id),
    }
    generations = tuple(disk.generation for disk in broker.disks)
    yield names.pod_name(pool, broker.node_id), {**labels, names.LABEL_ROLE: names.BROKER_ROLE}
    formatter = names.formatter_name(pool, broker.node_id, generations)
    yield formatter, {**labels, names.LABEL_ROLE: names.FORMATTER_ROLE}
