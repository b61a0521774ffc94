"""What a lossy downgrade of `metadata.version` would drop or truncate, for every possible target level.

The rules are those by which Kafka writes an image at a level (`MetadataImage.write`): Kafka passes what the level
cannot hold to a loss handler. A test compares this with Kafka's own writer and such a handler.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from quorum_history.image import MIGRATING, Image

LEVELS: Mapping[int, str] = {
    7: "3.3-IV3", 8: "3.4-IV0", 9: "3.5-IV0", 10: "3.5-IV1", 11: "3.5-IV2", 12: "3.6-IV0", 13: "3.6-IV1",
    14: "3.6-IV2", 15: "3.7-IV0", 16: "3.7-IV1", 17: "3.7-IV2", 18: "3.7-IV3", 19: "3.7-IV4", 20: "3.8-IV0",
    21: "3.9-IV0", 22: "4.0-IV0", 23: "4.0-IV1", 24: "4.0-IV2", 25: "4.0-IV3", 26: "4.1-IV0", 27: "4.1-IV1",
    28: "4.2-IV0", 29: "4.2-IV1", 30: "4.3-IV0", 31: "4.4-IV0", 32: "4.4-IV1", 33: "4.4-IV2",
}  # fmt: skip
"""The levels of metadata.version that can be targets, by Kafka's names."""

_EXAMPLES = 5


def level_name(feature: str, level: int) -> str:
    """Kafka's name of a level: `4.3-IV0 (30)` of metadata.version, only the number of all others."""
    return f"{LEVELS[level]} ({level})" if feature == "metadata.version" and level in LEVELS else str(level)


class Effect(StrEnum):
    """What happens to the records: they are dropped, or they lose a field."""

    DROP = "drop"
    TRUNCATE = "truncate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One kind of loss at one target level. `what` is the text for Kafka's loss handler, without the names in it."""

    target: int
    record_type: str
    effect: Effect
    what: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """What levels below `since` cannot hold, and where in an image it is found."""

    since: int
    record_type: str
    effect: Effect
    what: str
    found: Callable[[Image], Iterable[str]]


def _partitions(image: Image) -> Iterator[str]:
    for (topic_id, partition), each in image.partitions.items():
        if any(directory != MIGRATING for directory in each["directories"]):
            yield f"{image.topics.get(topic_id, topic_id)}-{partition}"


_RULES = (
    _Rule(
        since=8,
        record_type="REGISTER_BROKER_RECORD",
        effect=Effect.TRUNCATE,
        what="the isMigratingZkBroker state of one or more brokers",
        found=lambda image: (f"broker {key}" for key, each in image.brokers.items() if each.get("isMigratingZkBroker")),
    ),
    _Rule(
        since=11,
        record_type="USER_SCRAM_CREDENTIAL_RECORD",
        effect=Effect.DROP,
        what="ScramImage",
        found=lambda image: (f"user {name}" for _, name in image.scram),
    ),
    _Rule(
        since=14,
        record_type="DELEGATION_TOKEN_RECORD",
        effect=Effect.DROP,
        what="DelegationTokenImage",
        found=lambda image: (f"token {token}" for token in image.tokens),
    ),
    _Rule(
        since=15,
        record_type="REGISTER_CONTROLLER_RECORD",
        effect=Effect.DROP,
        what="controller registration data",
        found=lambda image: (f"controller {key}" for key in image.controllers),
    ),
    _Rule(
        since=17,
        record_type="REGISTER_BROKER_RECORD",
        effect=Effect.TRUNCATE,
        what="the online log directories of one or more brokers",
        found=lambda image: (f"broker {key}" for key, each in image.brokers.items() if each.get("logDirs")),
    ),
    _Rule(
        since=17,
        record_type="PARTITION_RECORD",
        effect=Effect.TRUNCATE,
        what="the directory assignment state of one or more replicas",
        found=_partitions,
    ),
    _Rule(
        since=30,
        record_type="REGISTER_BROKER_RECORD",
        effect=Effect.TRUNCATE,
        what="the cordoned log directories of one or more brokers",
        found=lambda image: (
            f"broker {key}" for key, each in image.brokers.items() if each.get("cordonedLogDirs") is not None
        ),
    ),
)


def losses(image: Image, target: int) -> Iterator[Loss]:
    """The losses of this state at a lower level."""
    for rule in _RULES:
        found = sorted(rule.found(image)) if target < rule.since else []
        if found:
            yield Loss(
                target=target,
                record_type=rule.record_type,
                effect=rule.effect,
                what=rule.what,
                count=len(found),
                examples=tuple(found[:_EXAMPLES]),
            )


def all_losses(image: Image) -> Iterator[Loss]:
    """The same for every level below the finalized one, or below the highest known if none is."""
    current = image.features.get("metadata.version", max(LEVELS) + 1)
    for target in LEVELS:
        if target < current:
            yield from losses(image, target)
