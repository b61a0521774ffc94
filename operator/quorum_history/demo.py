"""Sample logs and observations of a small fleet, for `quorum-history demo`: three quorums and their incidents.

`payments/orders` is raised to a new level and changes its leader once. `payments/ledger` loses its majority for some
minutes, and then the disk of a controller, which another disk replaces. `web/clicks` lags, and for an hour it is not
looked at. Nothing is random: the content depends only on the time.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from kraftlog.schema import catalog
from kraftlog.values import Value
from kraftlog.writer import NewBatch, NewRecord, batch_of, record_of

SPAN = timedelta(hours=36)
"""The length of the invented past."""
_EVERY = timedelta(minutes=1)
_OLD_LEVEL, _NEW_LEVEL = 30, 33
_LEADER_CHANGE, _KRAFT_VERSION, _KRAFT_VOTERS, _TOPIC, _FEATURE = 2, 5, 6, 2, 12
_NODES = (3000, 3001, 3002)
_RELEASE = "4.4.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One quorum: its name, and its incidents in minutes after the beginning; None for never."""

    namespace: str
    name: str
    leader_lost: int | None = None
    majority_lost: tuple[int, int] | None = None
    disk_lost: int | None = None
    raised: int | None = None
    unseen: tuple[int, int] | None = None
    lag_records: int = 3

    @property
    def cluster(self) -> str:
        """The cluster id, as Kafka writes it."""
        return _uuid(f"{self.namespace}/{self.name}")

    @property
    def elections(self) -> tuple[int, ...]:
        """When a new leader is elected: when one is lost, or when the majority is back."""
        ends = (self.leader_lost, None if self.majority_lost is None else self.majority_lost[1])
        return tuple(minute for minute in ends if minute is not None)

    def epoch(self, minute: int) -> int:
        """The leader's epoch: each loss of a leader is followed by an election."""
        return 1 + sum(minute >= election for election in self.elections)

    def leader(self, minute: int) -> int:
        """The leader of that epoch."""
        return _NODES[(self.epoch(minute) - 1) % len(_NODES)]

    def members(self, minute: int) -> tuple[int, ...]:
        """The voters; the one with the lost disk is removed, and added with its new disk a minute later."""
        return _NODES[:-1] if minute == self.disk_lost else _NODES

    def directory(self, node: int, minute: int) -> str:
        """The directory id of a controller; the disk of the last controller is the one that is lost."""
        disk = int(node == _NODES[-1] and self.disk_lost is not None and minute >= self.disk_lost)
        return _uuid(f"{self.cluster}/{node}/{disk}")


FLEET = (
    Story(namespace="payments", name="orders", leader_lost=700, raised=1500),
    Story(namespace="payments", name="ledger", majority_lost=(900, 904), disk_lost=1300),
    Story(namespace="web", name="clicks", unseen=(1600, 1660), lag_records=2500),
)


def make(folder: Path, now: datetime) -> tuple[Path, Path]:
    """Write logs and observations that end at `now`; returns their folders (OSError)."""
    start, minutes = now - SPAN, int(SPAN / _EVERY)
    logs, observations = folder / "logs", folder / "observations"
    observations.mkdir(parents=True, exist_ok=True)
    for story in FLEET:
        home = logs / story.namespace / story.name
        log = home / "__cluster_metadata-0"
        log.mkdir(parents=True, exist_ok=True)
        facts = {"version": 1, "cluster.id": story.cluster, "node.id": _NODES[0]}
        (home / "meta.properties").write_text("".join(f"{key}={value}\n" for key, value in facts.items()))
        (log / f"{0:020d}.log").write_bytes(b"".join(_batches(story, start)))
        lines = (json.dumps(_look(story, start, minute)) for minute in range(minutes + 1) if not _unseen(story, minute))
        text = "".join(f"{line}\n" for line in lines)
        (observations / f"{story.namespace}-{story.name}.jsonl").write_text(text)
    return logs, observations


def _uuid(text: str) -> str:
    """An id in Kafka's form: the same for the same text."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:16]).decode().rstrip("=")


def _unseen(story: Story, minute: int) -> bool:
    return story.unseen is not None and story.unseen[0] <= minute < story.unseen[1]


# --- logs -------------------------------------------------------------------------------------------------------------


def _batches(story: Story, start: datetime) -> Iterator[bytes]:
    """The metadata log: first what is formatted, then what happens, each at its minute."""
    offset = 0
    for minute, control, records in _events(story):
        at_ms = int((start + minute * _EVERY).timestamp() * 1000)
        place = NewBatch(base_offset=offset, leader_epoch=story.epoch(minute), timestamp_ms=at_ms, control=control)
        yield batch_of(place, records)
        offset += len(records)


def _events(story: Story) -> Iterator[tuple[int, bool, Sequence[NewRecord]]]:
    """Minute, whether the records are Raft's own, and the records, in order."""
    yield 0, True, [_elected(story, 0)]
    version = _control(_KRAFT_VERSION, 0, {"version": 0, "kRaftVersion": 1})
    yield 0, True, [version, _voters(story, 0)]
    yield 0, False, [_feature("metadata.version", _OLD_LEVEL), _feature("kraft.version", 1)]
    yield 1, False, [_topic(story, name) for name in ("orders", "invoices", "audit")]
    later = [(minute, True, [_elected(story, minute)]) for minute in story.elections]
    if story.disk_lost is not None:
        later += [(minute, True, [_voters(story, minute)]) for minute in (story.disk_lost, story.disk_lost + 1)]
    if story.raised is not None:
        later.append((story.raised, False, [_feature("metadata.version", _NEW_LEVEL)]))
    yield from sorted(later, key=lambda event: event[0])


def _control(key: int, version: int, data: Mapping[str, Value]) -> NewRecord:
    schema = catalog().find(key, version, control=True)
    if schema is None:
        raise LookupError(f"schemas.txt has no control record {key} of version {version}")
    return record_of(schema, data)


def _record(key: int, version: int, data: Mapping[str, Value]) -> NewRecord:
    schema = catalog().find(key, version)
    if schema is None:
        raise LookupError(f"schemas.txt has no metadata record {key} of version {version}")
    return record_of(schema, data)


def _elected(story: Story, minute: int) -> NewRecord:
    voters: list[Value] = [{"voterId": node, "voterDirectoryId": story.directory(node, minute)} for node in _NODES]
    data: dict[str, Value] = {"version": 1, "leaderId": story.leader(minute)}
    return _control(_LEADER_CHANGE, 1, data | {"voters": voters, "grantingVoters": voters[:2]})


def _voters(story: Story, minute: int) -> NewRecord:
    voters: list[Value] = [
        {
            "voterId": node,
            "voterDirectoryId": story.directory(node, minute),
            "endpoints": [{"name": "CONTROLLER", "host": f"{story.name}-{node}", "port": 9093}],
            "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
        }
        for node in story.members(minute)
    ]
    return _control(_KRAFT_VOTERS, 0, {"version": 0, "voters": voters})


def _feature(name: str, level: int) -> NewRecord:
    return _record(_FEATURE, 0, {"name": name, "featureLevel": level})


def _topic(story: Story, name: str) -> NewRecord:
    return _record(_TOPIC, 0, {"name": name, "topicId": _uuid(f"{story.cluster}/{name}")})


# --- observations -----------------------------------------------------------------------------------------------------


def _look(story: Story, start: datetime, minute: int) -> dict[str, Any]:
    """What the operator would have written in that minute."""
    down = story.majority_lost is not None and story.majority_lost[0] <= minute < story.majority_lost[1]
    disk = story.disk_lost is not None and story.disk_lost - 5 <= minute < story.disk_lost
    leaderless = minute == story.leader_lost
    live = {_NODES[0]} if down else set(_NODES[:2]) if disk else set(_NODES)
    level = _NEW_LEVEL if story.raised is not None and minute >= story.raised else _OLD_LEVEL
    return {
        "schemaVersion": 1,
        "observedAt": (start + minute * _EVERY).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "namespace": story.namespace,
        "name": story.name,
        "clusterID": story.cluster,
        "unknownReason": None,
        "quorum": {
            "leaderID": -1 if down or leaderless else story.leader(minute),
            "leaderEpoch": story.epoch(minute),
            "highWatermark": 20 + 2 * minute,
            "voters": [_replica(story, node, minute, live) for node in story.members(minute)],
            "observers": [_replica(story, node, minute, live) for node in set(_NODES) - set(story.members(minute))],
        },
        "nodes": [_node(node) for node in _NODES],
        "features": [{"name": "metadata.version", "finalized": level}, {"name": "kraft.version", "finalized": 1}],
    }


def _replica(story: Story, node: int, minute: int, live: set[int]) -> dict[str, Any]:
    lag = 0 if node == story.leader(minute) else story.lag_records * (minute % 5) // 2
    directory = story.directory(node, minute)
    return {"nodeID": node, "directoryID": directory, "live": node in live, "lagRecords": lag}


def _node(node: int) -> dict[str, Any]:
    features = [
        {"name": "metadata.version", "minSupported": 7, "maxSupported": _NEW_LEVEL},
        {"name": "kraft.version", "minSupported": 0, "maxSupported": 1},
    ]
    return {"nodeID": node, "kafkaVersion": _RELEASE, "features": features}
