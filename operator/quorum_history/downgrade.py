"""What a lossy downgrade of `metadata.version` would drop or truncate, for every possible target level.

The rules are those by which Kafka writes an image at a level (`MetadataImage.write`): Kafka passes what the level
cannot hold to a loss handler. A test compares this with Kafka's own writer and such a handler.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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


# Kafka's answer to a safe downgrade

CHANGED = frozenset({8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""The levels that changed the format of metadata (`MetadataVersion.didMetadataChange`)."""
_METADATA = "metadata.version"
_MIGRATING = frozenset({1, 2})
"""The states of a migration from ZooKeeper during which Kafka changes no level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Kafka's answer to a safe downgrade to a level: whether it accepts it, None if that is unknown, and why."""

    target: int
    accepted: bool | None
    reason: str


def verdicts(image: Image, *, faults: int = 0) -> Iterator[Verdict]:
    """Kafka's answer for every level below the finalized one, as its `FeatureControlManager` decides.

    It refuses a level that a registered node does not support, and one below a level that changed metadata, whether or
    not there is anything to lose. A log with faults may lack registrations, so nothing of it is known to be accepted.
    """
    present = image.features.get(_METADATA)
    for target in LEVELS:
        if present is None:
            yield Verdict(target=target, accepted=None, reason="the log has no level of metadata.version")
        elif target < present:
            yield _verdict(image, present, target, faults)


def _verdict(image: Image, present: int, target: int, faults: int) -> Verdict:
    refused = (
        _migrating(image),
        _lacking(image, target),
        _changing(present, target),
    )
    if reason := next(filter(None, refused), ""):
        return Verdict(target=target, accepted=False, reason=reason)
    if present > max(LEVELS):
        later = f"whether levels {max(LEVELS) + 1} to {present} changed the format of metadata is not known here"
        return Verdict(target=target, accepted=None, reason=later)
    if faults:
        return Verdict(target=target, accepted=None, reason="the log has faults: registrations may be missing")
    reason = "no level above it changed the format of metadata, and every registered node supports it"
    return Verdict(target=target, accepted=True, reason=reason)


def _migrating(image: Image) -> str:
    return "a migration from ZooKeeper is in progress" if image.migration_state in _MIGRATING else ""


def _lacking(image: Image, target: int) -> str:
    """The registered nodes that do not support a level. A registration without a range of the feature has level 0."""
    registered = [
        *(("broker", node, each) for node, each in sorted(image.brokers.items())),
        *(("controller", node, each) for node, each in sorted(image.controllers.items())),
    ]
    lacking = [f"{role} {node}" for role, node, each in registered if not _supports(each, target)]
    more = f" and {len(lacking) - _EXAMPLES} more" if len(lacking) > _EXAMPLES else ""
    return f"not supported by {', '.join(lacking[:_EXAMPLES])}{more}" if lacking else ""


def _supports(registration: Mapping[str, Any], level: int) -> bool:
    ranges = (each for each in registration.get("features") or () if each["name"] == _METADATA)
    return any(each["minSupportedVersion"] <= level <= each["maxSupportedVersion"] for each in ranges)


def _changing(present: int, target: int) -> str:
    changed = [level_name(_METADATA, level) for level in sorted(CHANGED) if target < level <= present]
    return f"the format of metadata changed with {', '.join(changed)}" if changed else ""
