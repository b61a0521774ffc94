"""A cluster's metadata at an offset, and what changed between two offsets, read from its log alone.

The state begins with a checkpoint that is not after the offset, or with the first record (`replay`). Then every record
up to and including the offset is replayed. An unknown state is an error, never an empty state: an offset after the end
of the log, one before everything that is left of the log, and one after a gap.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from kraftlog import KraftLogError
from quorum_history.downgrade import level_name
from quorum_history.files import FileKind
from quorum_history.image import ALL_TYPES, Entity, Image
from quorum_history.records import described
from quorum_history.replay import Replay, ReplayPlan, replay_plan
from quorum_history.replicas import ClusterLog
from quorum_history.state import Found

_RESOURCES: Final = {2: "topic", 4: "broker", 8: "broker-logger", 16: "client-metrics", 32: "group"}
_HIDDEN: Final = ("password", "secret", "jaas", "credential", "keystore.key", "keystore.certificate.chain", "token")
"""A setting with one of these in its name may hold a secret: its value is never shown."""
_MASK: Final = "(hidden)"
_SCRAM_SECRETS: Final = frozenset({"salt", "storedKey", "serverKey", "saltedPassword"})
_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_ACL_WORDS: Final[Mapping[str, Mapping[int, str]]] = {
    "resourceType": {2: "TOPIC", 3: "GROUP", 4: "CLUSTER", 5: "TRANSACTIONAL_ID", 6: "DELEGATION_TOKEN", 7: "USER"},
    "patternType": {3: "LITERAL", 4: "PREFIXED"},
    "operation": {
        2: "ALL", 3: "READ", 4: "WRITE", 5: "CREATE", 6: "DELETE", 7: "ALTER", 8: "DESCRIBE", 9: "CLUSTER_ACTION",
        10: "DESCRIBE_CONFIGS", 11: "ALTER_CONFIGS", 12: "IDEMPOTENT_WRITE", 13: "CREATE_TOKENS",
        14: "DESCRIBE_TOKENS", 15: "TWO_PHASE_COMMIT",
    },
    "permissionType": {2: "DENY", 3: "ALLOW"},
}  # fmt: skip
_SHOWN: Final = 20
_WIDTH: Final = 100


class OffsetError(KraftLogError):
    """No state is known at this offset; the text gives the reason, and the offsets that exist."""

    def __init__(self, cluster: str, offset: int, reason: str) -> None:
        """Take the cluster, the offset and the reason."""
        super().__init__(f"cluster {cluster}: offset {offset}: {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """The state at an offset. `timestamp_ms` is that of the last record up to it, -1 if only a checkpoint was read.

    `offset` is -1 if there is no record yet, only Kafka's first checkpoint. `records` were replayed after the
    checkpoint with the path `checkpoint`; it is empty if the log was read from its first record.
    """

    cluster: str
    offset: int
    leader_epoch: int
    timestamp_ms: int
    checkpoint: str
    records: int
    image: Image
    faults: tuple[Found, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The state as JSON, with the names of the fields above."""
        return {
            "cluster": self.cluster,
            "offset": self.offset,
            "leader_epoch": self.leader_epoch,
            "timestamp_ms": self.timestamp_ms,
            "checkpoint": self.checkpoint,
            "records": self.records,
            "faults": [str(fault) for fault in self.faults],
            "state": state_of(self.image),
        }


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Difference:
    """One difference between two states. `before` is None for a new entry, `after` for one that is gone."""

    section: str
    key: str
    before: Any = field(compare=False)
    after: Any = field(compare=False)

    def as_json(self) -> dict[str, Any]:
        """The fields above."""
        return asdict(self)


def at(log: ClusterLog, offset: int | None = None) -> At:
    """The state of a cluster with every record up to and including `offset`, else the last known one (OffsetError)."""
    if offset is not None and offset < 0:
        raise OffsetError(log.cluster, offset, f"{offset} is no offset: the first one is 0")
    if offset is not None and offset > log.last_offset:
        raise OffsetError(log.cluster, offset, f"the log ends before it: its last offset is {log.last_offset}")
    plan = replay_plan(log, None if offset is None else offset + 1)
    if plan.missing:
        first, end = plan.missing[0]
        text = f"offsets {first} to {end - 1} are in no file: no state is known between them and {end}"
        raise OffsetError(log.cluster, plan.end - 1, _with_reason(text, plan))
    if plan.end == 0 and plan.checkpoint is None:
        raise OffsetError(log.cluster, -1, _with_reason("no file has any record", plan))
    return _replayed(log.cluster, plan)


def _with_reason(text: str, plan: ReplayPlan) -> str:
    """Why there is no state, with a damaged checkpoint that would have had one."""
    damaged = [str(each) for each in plan.found if each.file.endswith(".checkpoint")]
    return "; ".join([text, *damaged[:1]])


_IDLE: Final = frozenset({"NO_OP_RECORD"})
"""Records without a state, whose time counts."""


def _replayed(cluster: str, plan: ReplayPlan) -> At:
    """The state that a plan leads to (NotALogError)."""
    replay = Replay(plan, ALL_TYPES, _IDLE)
    image, records = Image(), 0
    epoch, timestamp_ms = plan.checkpoint.epoch if plan.checkpoint else -1, -1
    for file, blocks in replay.files():
        for record in (record for block in blocks for record in described(block, replay.faults)):
            if file.kind is FileKind.SEGMENT:
                epoch, timestamp_ms = record["leader_epoch"], record["timestamp"]
                records += 1
            image.replay(record["type"], record["data"])
    return At(
        cluster=cluster,
        offset=plan.end - 1,
        leader_epoch=epoch,
        timestamp_ms=timestamp_ms,
        checkpoint=plan.checkpoint.path if plan.checkpoint else "",
        records=records,
        image=image,
        faults=replay.found(),
    )


# what people see


def state_of(image: Image) -> dict[str, dict[str, Any]]:
    """The state by section and key. Settings that may hold a secret, and salts and keys of users, are left out."""
    topic = image.topics
    quorum = {
        "leader": image.leader,
        "kraft.version": image.kraft_version,
        "zookeeper migration": image.migration_state,
        "next producer id": image.next_producer_id,
    }
    return {
        "quorum": {key: value for key, value in quorum.items() if value is not None},
        "voters": _by_number(image.voters),
        "features": {name: level_name(name, level) for name, level in sorted(image.features.items())},
        "controllers": _by_number(image.controllers),
        "brokers": _by_number(image.brokers),
        "topics": {name: topic_id for topic_id, name in sorted(topic.items(), key=lambda item: item[1])},
        "partitions": {
            f"{topic.get(topic_id, topic_id)}-{partition}": entity
            for (topic_id, partition), entity in sorted(
                image.partitions.items(), key=lambda item: (topic.get(item[0][0], item[0][0]), item[0][1])
            )
        },
        "configurations": {_config_name(key): _shown(key[2], value) for key, value in sorted(image.configs.items())},
        "quotas": {
            f"{', '.join(f'{kind} {name or chr(42)}' for kind, name in entity)}: {key}": value
            for (entity, key), value in sorted(image.quotas.items(), key=str)
        },
        "acls": {key: _acl(entity) for key, entity in sorted(image.acls.items())},
        "users": {
            f"{name} {_MECHANISMS.get(mechanism, mechanism)}": {
                key: value for key, value in entity.items() if key not in _SCRAM_SECRETS
            }
            for (mechanism, name), entity in sorted(image.scram.items(), key=str)
        },
        "tokens": dict(sorted(image.tokens.items())),
    }


def _acl(entity: Entity) -> Entity:
    """Replace Kafka's numbers with its words."""
    return {name: _ACL_WORDS.get(name, {}).get(value, value) for name, value in entity.items()}


def _by_number(entities: Mapping[int, Entity]) -> dict[str, Entity]:
    return {str(key): entity for key, entity in sorted(entities.items())}


def _config_name(key: tuple[int, str, str]) -> str:
    kind, resource, name = key
    return f"{_RESOURCES.get(kind, kind)} {resource or 'default'}: {name}"


def _shown(name: str, value: str) -> str:
    return _MASK if any(part in name.lower() for part in _HIDDEN) else value


def differences(before: Image, after: Image) -> tuple[Difference, ...]:
    """The differences, by section and key. A hidden value that changed is named, and stays hidden.

    A checkpoint does not name the leader, so an unknown leader is no difference.
    """
    found = []
    old, new = state_of(before), state_of(after)
    hidden = {_config_name(key) for key, value in after.configs.items() if before.configs.get(key, value) != value}
    for section in new:
        for key in sorted({*old[section], *new[section]}, key=_natural):
            pair = old[section].get(key), new[section].get(key)
            if (section, key) == ("quorum", "leader") and None in pair:
                continue
            if pair[0] != pair[1]:
                found.append(Difference(section=section, key=key, before=pair[0], after=pair[1]))
            elif section == "configurations" and key in hidden:
                found.append(Difference(section=section, key=key, before=_MASK, after=f"{_MASK[:-1]}, another)"))
    return tuple(found)


def _natural(key: str) -> tuple[int, str]:
    return (int(key), key) if key.isdecimal() else (-1, key)


def text_of(found: At) -> Iterator[str]:
    """The state in lines of at most a hundred characters; each section shows its first twenty."""
    yield from _head(found)
    for section, entities in state_of(found.image).items():
        if section == "partitions":
            yield from _partitions(entities)
        elif entities:
            yield f"{section} ({len(entities)})" if section != "quorum" else section
            yield from _cut((_line(key, _short(section, value)) for key, value in entities.items()), len(entities))


def text_of_differences(before: At, after: At) -> Iterator[str]:
    """What changed from the one state to the other, in lines of at most a hundred characters."""
    yield from _head(after)
    found = differences(before.image, after.image)
    yield f"{len(found)} differences from offset {before.offset}" if found else f"as at offset {before.offset}"
    for section in dict.fromkeys(one.section for one in found):
        here = [one for one in found if one.section == section]
        yield f"{section} ({len(here)})"
        yield from _cut((_difference(one) for one in here), len(here))


def _difference(one: Difference) -> str:
    if one.before is None:
        return _fitting(f"  + {_line(one.key, _short(one.section, one.after)).strip()}")
    if one.after is None:
        return _fitting(f"  - {one.key}")
    return _fitting(f"  ~ {one.key}: {', '.join(_changes(one))}")


def _changes(one: Difference) -> Iterator[str]:
    if not isinstance(one.before, dict) or not isinstance(one.after, dict):
        yield f"{_words(one.before)} -> {_words(one.after)}"
        return
    for name in dict.fromkeys([*one.before, *one.after]):
        pair = one.before.get(name), one.after.get(name)
        if pair[0] != pair[1]:
            yield f"{name} {_words(pair[0])} -> {_words(pair[1])}"


def _head(found: At) -> Iterator[str]:
    when = "at a time that the checkpoint does not say"
    if found.timestamp_ms >= 0:
        when = f"{datetime.fromtimestamp(found.timestamp_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    where = f"offset {found.offset}" if found.offset >= 0 else "before offset 0"
    yield f"cluster {found.cluster}, {where}, leader epoch {found.leader_epoch}, {when}"
    source = f"checkpoint {found.checkpoint.rpartition('/')[2]}" if found.checkpoint else "the first record"
    yield f"replayed from {source}: {found.records:,} records"
    if found.image.in_transaction:
        yield "a transaction has begun and not ended here: its records are in this state, and it may yet be aborted"


def _partitions(entities: Mapping[str, Entity]) -> Iterator[str]:
    if not entities:
        return
    leaderless = [name for name, each in entities.items() if each.get("leader", -1) < 0]
    under = [name for name, each in entities.items() if len(each["isr"]) < len(each["replicas"])]
    moving = [name for name, each in entities.items() if each.get("addingReplicas") or each.get("removingReplicas")]
    yield f"partitions ({len(entities)})"
    for what, names in (("without a leader", leaderless), ("not fully in sync", under), ("being reassigned", moving)):
        listed = f": {', '.join(names[:_SHOWN])}" if names else ""
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield _fitting(f"  {what:<20} {len(names)}{listed}{more}")


def _cut(lines: Iterable[str], count: int) -> Iterator[str]:
    for place, line in enumerate(lines):
        if place == _SHOWN:
            yield f"  and {count - _SHOWN} more; -o json shows all"
            return
        yield line


def _line(key: str, value: object) -> str:
    return _fitting(f"  {key:<20} {_words(value)}")


def _short(section: str, value: Any) -> object:  # noqa: ANN401 -- a JSON value
    """The most important fields of an entity; -o json shows all of them."""
    ends = [_words(each) for each in value.get("endPoints", value.get("endpoints", ()))] if section in _SERVERS else []
    match section:
        case "voters":
            return f"{value['voterDirectoryId']} {' '.join(ends)}, kraft.version {_words(value['kRaftVersionFeature'])}"
        case "controllers":
            return " ".join(ends)
        case "brokers":
            leaving = ", in controlled shutdown" if value.get("inControlledShutdown") else ""
            rack = f", rack {value['rack']}" if value.get("rack") else ""
            return f"{'fenced' if value['fenced'] else 'unfenced'}{leaving}, {' '.join(ends)}{rack}"
        case "partitions":
            return f"leader {value['leader']}, isr {_words(value['isr'])} of replicas {_words(value['replicas'])}"
        case "acls":
            what = f"{value['permissionType']} {value['operation']} on {value['resourceType']} {value['resourceName']}"
            return f"{what} ({value['patternType']}) for {value['principal']} from {value['host']}"
        case _:
            return value


_SERVERS: Final = frozenset({"voters", "controllers", "brokers"})


def _words(value: object) -> str:
    """A JSON value for people: its non-empty fields, without the outer brackets."""
    match value:
        case None | bool():
            return {None: "none", True: "yes", False: "no"}[value]
        case {"host": host, "port": port, "name": name}:
            return f"{name}://{host}:{port}"
        case {"minSupportedVersion": low, "maxSupportedVersion": high, **others}:
            return f"{others.get('name', '')} {low}-{high}".strip()
        case dict():
            return ", ".join(f"{name} {_words(each)}" for name, each in value.items() if each not in (None, [], "", {}))
        case list():
            return "[" + ", ".join(_words(each) for each in value) + "]"
        case _:
            return str(value)


def _fitting(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
