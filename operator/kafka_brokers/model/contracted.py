"""How a pool follows the quorum's contract: which settings its pods are made from, and which are a first contact only.

A first contact (`Match.SOME`), such as the bootstrap servers, is in the properties file too. A change of it restarts
no broker: the next pod of a broker gets the new one.
"""

from kafka_brokers.model.pool import BrokerRuntime, External
from kafka_quorum.model.contract import Contract, Match, Setting


def running_settings(contract: Contract) -> tuple[tuple[str, str], ...]:
    """The contract's settings that decide a restart, sorted by key."""
    present = (each for each in contract.settings if each.match not in (Match.SOME, Match.UNSET))
    return tuple(sorted((each.key, _written(each)) for each in present))


def _written(setting: Setting) -> str:
    """The value that goes into files: of several that are allowed, the first one."""
    return setting.value.split(",")[0].strip() if setting.match is Match.ONE_OF else setting.value


def first_contact(contract: Contract) -> tuple[tuple[str, str], ...]:
    """The contract's settings that are a first contact only, sorted by key."""
    return tuple(sorted((each.key, each.value) for each in contract.settings if each.match is Match.SOME))


def needs_late(runtime: BrokerRuntime) -> bool:
    """Whether a pod needs properties that are known only after it was scheduled: its rack, or external addresses."""
    return bool(runtime.rack_key) or any(each.external is not External.NONE for each in runtime.listeners)
