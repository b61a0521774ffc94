"""Disks of controllers in directories, made with the package's writer."""

import json
from collections.abc import Sequence
from pathlib import Path

from tests.kraftlog import logs

from kraftlog.values import Data
from kraftlog.writer import NewBatch, NewRecord, batch_of, record_of

CLUSTER = "cMfdfLNUbJGBJKRWeYMDAA"
IDS = {1: "64Qdw2rSSgqstGfvfhEowg", 2: "wQBt66j_OXIlsbd8M2XvSA", 3: "gNOteTp2iy_updurzpxP-w"}
LOG = "__cluster_metadata-0"
FIRST = "00000000000000000000-0000000000.checkpoint"
EPOCH = 4


def control(offset: int, *records: NewRecord, epoch: int = EPOCH) -> bytes:
    """A batch of control records."""
    return batch_of(NewBatch(base_offset=offset, leader_epoch=epoch, control=True), records)


def record(kind: int, data: Data, version: int = 0) -> NewRecord:
    """A control record of a type."""
    schema = logs.CATALOG.find(kind, version, control=True)
    assert schema is not None
    return record_of(schema, {"version": version, **data})


def voters(*nodes: int) -> NewRecord:
    """A VotersRecord."""
    rows: list[Data] = [
        {
            "voterId": node,
            "voterDirectoryId": IDS[node],
            "endpoints": [{"name": "CONTROLLER", "host": f"c-{node}", "port": 9093}],
            "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
        }
        for node in nodes
    ]
    return record(6, {"voters": list(rows)})


def level(kraft_version: int) -> NewRecord:
    """A KRaftVersionRecord."""
    return record(5, {"kRaftVersion": kraft_version})


def checkpoint(*nodes: int, kraft_version: int = 1, epoch: int = 0) -> bytes:
    """A whole checkpoint: header, level, voters, a topic, footer."""
    head = control(0, record(3, {"lastContainedLogTimestamp": 0}), level(kraft_version), voters(*nodes), epoch=epoch)
    topic = batch_of(NewBatch(base_offset=3, leader_epoch=epoch), [logs.topic("kept")])
    return head + topic + control(4, record(4, {}), epoch=epoch)


def topics(offset: int, *names: str, epoch: int = EPOCH) -> bytes:
    """A batch of TOPIC_RECORDs."""
    return batch_of(NewBatch(base_offset=offset, leader_epoch=epoch), [logs.topic(name) for name in names])


def parts() -> list[bytes]:
    """Offsets 0 to 7 in five batches: a new leader's records, topics, voters."""
    leader = record(2, {"leaderId": 1, "voters": [], "grantingVoters": []})
    return [
        control(0, leader, level(1), voters(1, 2, 3)),
        topics(3, "a", "b"),
        topics(5, "c"),
        topics(6, "d"),
        topics(7, "e"),
    ]


def term(offset: int, epoch: int, *names: str) -> list[bytes]:
    """What a leader writes: its own record, then a batch for each topic."""
    leader = control(offset, record(2, {"leaderId": 1, "voters": [], "grantingVoters": []}), epoch=epoch)
    return [leader, *(topics(offset + 1 + at, name, epoch=epoch) for at, name in enumerate(names))]


def make(
    home: Path,
    segments: dict[int, bytes] | None = None,
    checkpoints: dict[str, bytes] | None = None,
    *,
    node: int = 1,
    leader_epoch: int | None = 5,
) -> Path:
    """A controller's directory; by default `parts` in one segment behind the checkpoint of the format."""
    log = home / LOG
    log.mkdir(parents=True)
    meta(home, node)
    for base, content in ({0: b"".join(parts())} if segments is None else segments).items():
        segment(home, base).write_bytes(content)
    for name, content in ({FIRST: checkpoint(1, 2, 3)} if checkpoints is None else checkpoints).items():
        (log / name).write_bytes(content)
    (log / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    if leader_epoch is not None:
        (log / "quorum-state").write_text(state(leader_epoch))
    return home


def meta(home: Path, node: int = 1, /, **changed: str) -> None:
    """Writes meta.properties; `changed` has `_` for `.` in the names."""
    settings = {"version": "1", "cluster.id": CLUSTER, "node.id": str(node), "directory.id": IDS[node]}
    settings |= {name.replace("_", "."): value for name, value in changed.items()}
    (home / "meta.properties").write_text("#\n" + "".join(f"{name}={value}\n" for name, value in settings.items()))


def state(leader_epoch: int, **changed: object) -> str:
    """The content of quorum-state."""
    return json.dumps({"leaderId": 2, "leaderEpoch": leader_epoch, "votedId": -1, "data_version": 1, **changed})


def segment(home: Path, base: int = 0) -> Path:
    """The file of a segment."""
    return home / LOG / f"{base:020d}.log"


def files(home: Path) -> dict[str, bytes]:
    """Every file with its content."""
    return {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


def ends(content: bytes) -> set[int]:
    """The end offsets of all batches with a right checksum, at whatever position: the compiled sum decides."""
    found = set()
    for at in range(len(content) - 60):
        size = int.from_bytes(content[at + 8 : at + 12], "big", signed=True) + 12
        if content[at + 16] == 2 and 61 <= size <= len(content) - at:
            stored = int.from_bytes(content[at + 17 : at + 21], "big")
            if logs.crc(content[at + 21 : at + size]) == stored:
                base, delta = content[at : at + 8], content[at + 23 : at + 27]
                found.add(int.from_bytes(base, "big", signed=True) + int.from_bytes(delta, "big", signed=True) + 1)
    return found


def sizes(pieces: Sequence[bytes]) -> list[int]:
    """Where each piece ends in their sum."""
    return [sum(map(len, pieces[: place + 1])) for place in range(len(pieces))]
