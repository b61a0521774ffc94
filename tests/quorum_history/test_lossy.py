"""A replay without decoding gives the same losses as a complete decoding."""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from tests.kraftlog import synthetic
from tests.kraftlog.record_samples import SAMPLES
from tests.quorum_history import clusters

from kraftlog import Column, Fault, Options, read_blocks
from kraftlog.codecs import Codec
from kraftlog.find import ABSENT, UNREAD
from kraftlog.schema import Schema, catalog
from kraftlog.values import Data
from kraftlog.writer import NewBatch, NewRecord, batch_of, record_of
from quorum_history.at import OffsetError, at
from quorum_history.downgrade import all_losses
from quorum_history.files import find_files
from quorum_history.image import LOSSY_TYPES, MIGRATING, Image
from quorum_history.lossy import lossy_image
from quorum_history.records import described, records_of
from quorum_history.replay import Replay, replay_plan
from quorum_history.replicas import ClusterLog, cluster_logs
from quorum_history.state import Found

_RELEASE = "4.4.0"
_TOPICS = ["1111111111111111111111", "2222222222222222222222", "AAAAAAAAAAAAAAAAAAAAAA"]
_KINDS = {
    "PARTITION_RECORD": 30, "PARTITION_CHANGE_RECORD": 50, "TOPIC_RECORD": 4, "REMOVE_TOPIC_RECORD": 3,
    "BEGIN_TRANSACTION_RECORD": 2, "END_TRANSACTION_RECORD": 1, "ABORT_TRANSACTION_RECORD": 1,
    "REGISTER_BROKER_RECORD": 3, "NO_OP_RECORD": 3,
}  # fmt: skip


def _whole(log: ClusterLog, faults: list[Fault]) -> Image:
    """The state after decoding every record, one after another."""
    image = Image()
    checkpoint = log.first_checkpoint()
    paths = [checkpoint.path] if checkpoint else []
    for path in [*paths, *(segment.file.path for segment in log.replicas[0].segments)]:
        for record in records_of(path, Options(types=LOSSY_TYPES), faults):
            image.replay(record["type"], record["data"])
    return image.published


def _told(image: Image, faults: Sequence[Fault | Found]) -> tuple[Counter[object], Counter[str]]:
    return Counter(all_losses(image)), Counter(map(str, faults))


def _schemas() -> dict[str, list[Schema]]:
    found: dict[str, list[Schema]] = {}
    for schema in catalog(_RELEASE).schemas.values():
        found.setdefault(schema.type_name, []).append(schema)
    return found


def _record(rng: random.Random, schemas: dict[str, list[Schema]]) -> NewRecord:
    (kind,) = rng.choices([*_KINDS], [*_KINDS.values()])
    schema = rng.choice(schemas[kind])
    data = synthetic.data_of(schema.fields, rng)
    if "topicId" in data:
        data["topicId"] = rng.choice(_TOPICS)
    if "partitionId" in data:
        data["partitionId"] = rng.randrange(3)
    if data.get("directories") and rng.random() < 0.5:
        data["directories"] = [MIGRATING] * rng.choice([1, 3, 130])
    record = record_of(schema, data)
    if rng.random() < 0.03:
        return NewRecord(_spoilt(record.value, rng))
    return record


def _spoilt(value: bytes, rng: random.Random) -> bytes:
    """A body that may not fit its schema: one byte is changed, removed or added."""
    at = rng.randrange(3, len(value) + 1)
    return rng.choice([value[:at], value[:at] + rng.randbytes(1) + value[at + 1 :], value + b"\1"])


@pytest.mark.parametrize("seed", range(40))
def test_the_losses_are_those_of_every_record_decoded(tmp_path: Path, seed: int) -> None:
    """Losses and faults are the same for changing topics, aborted transactions and broken bodies."""
    rng, schemas, path = random.Random(seed), _schemas(), tmp_path / f"{0:020d}.log"
    batches, offset = [], 0
    for _ in range(60):
        records = [_record(rng, schemas) for _ in range(rng.choice([1, 5, 30]))]
        codec = rng.choice([Codec.NONE, Codec.NONE, Codec.GZIP])
        batches.append(batch_of(NewBatch(base_offset=offset, codec=codec), records))
        offset += len(records)
    path.write_bytes(b"".join(batches))
    (log,) = cluster_logs(find_files(str(path)))
    mine: list[Found] = []
    theirs: list[Fault] = []
    image, whole = lossy_image(log, mine), _whole(log, theirs)
    assert _told(image, mine) == _told(whole, theirs), f"seed {seed}"
    assert image.partitions.keys() == whole.partitions.keys()
    assert theirs, "the log was meant to have spoilt bodies"


def _as_at(log: ClusterLog, faults: list[Found]) -> Image:
    """The state after decoding every record of what `at` replays."""
    replay, image = Replay(replay_plan(log), LOSSY_TYPES), Image()
    for _, blocks in replay.files():
        for record in (record for block in blocks for record in described(block, replay.faults)):
            image.replay(record["type"], record["data"])
    faults += replay.found()
    return image.published


def _harmed(content: bytes, rng: random.Random) -> bytes:
    """A file with changed, removed or added bytes in up to three places, or none."""
    for _ in range(rng.randrange(4)):
        at, size = rng.randrange(len(content)), rng.choice([1, 40, 4000])
        more = rng.choice([b"", bytes(size), rng.randbytes(size)])
        content = content[:at] + more + content[at + rng.choice([0, len(more), size]) :]
    return content or b"x"


@pytest.mark.parametrize("seed", range(60))
def test_the_losses_of_a_damaged_log(tmp_path: Path, seed: int) -> None:
    """Whatever is damaged in two replicas with checkpoints, losses and faults are those of what `at` replays."""
    rng, schemas, batches, offset = random.Random(seed), _schemas(), list[tuple[int, bytes]](), 0
    for _ in range(40):
        records = [_record(rng, schemas) for _ in range(rng.choice([1, 5, 30]))]
        batches.append((offset, batch_of(NewBatch(base_offset=offset, leader_epoch=1), records)))
        offset += len(records)
    for node in (1, 2):
        folder, rolls = clusters.replica(tmp_path, "c", node), sorted({rng.choice([0, 8]), 15, 30})
        for first, end in pairwise([*rolls, len(batches)]):
            content = b"".join(batch for _, batch in batches[first:end])
            if rng.random() < 0.9:
                clusters.segment(folder, batches[first][0], _harmed(content, rng))
        for number in rng.sample([*rolls, 35], 2):
            state = batch_of(NewBatch(base_offset=0), [_record(rng, schemas) for _ in range(20)])
            (folder / f"{batches[number][0]:020d}-0000000001.checkpoint").write_bytes(_harmed(state, rng))
    (log,) = cluster_logs(find_files(str(tmp_path)))
    mine, theirs = list[Found](), list[Found]()
    image, twin = lossy_image(log, mine), _as_at(log, theirs)
    assert _told(image, mine) == _told(twin, theirs), f"seed {seed}"
    assert image.partitions.keys() == twin.partitions.keys()
    try:
        state_ = at(log)
    except OffsetError:
        assert mine, "whatever is not known is a fault"
    else:
        assert Counter(all_losses(state_.image.published)) == Counter(all_losses(image))
        assert set(mine) <= set(state_.faults)


@pytest.mark.parametrize("release", ["3.9.2", "4.1.2", "4.3.1", "4.4.0"])
def test_the_same_of_real_logs(release: str) -> None:
    """The same for logs and checkpoints of real controllers, from their beginning."""
    (log,) = cluster_logs(find_files(str(SAMPLES / release / "node-1")))
    assert _told(lossy_image(log, []), []) == _told(_whole(log, []), [])


def _block(path: Path, *records: tuple[str, Data]) -> tuple[bytes, list[list[int]]]:
    schemas = _schemas()
    made = [record_of(max(schemas[kind], key=lambda each: each.version), data) for kind, data in records]
    path.write_bytes(batch_of(NewBatch(base_offset=0), made))
    (block,) = (item for item in read_blocks(path) if not isinstance(item, Fault))
    rows = block.of_types({kind for kind, _ in records})
    assert rows.size == len(records)
    return bytes(block.data), block.find(rows, ("topicId", "leader", "nothing of this name")).T.tolist()


def test_fields_are_found_where_they_lie(tmp_path: Path) -> None:
    """A field at a fixed place, a tagged one that may be missing, and one without a schema are found correctly."""
    change: Data = {"partitionId": 7, "topicId": _TOPICS[0]}
    data, found = _block(
        tmp_path / f"{0:020d}.log",
        ("PARTITION_CHANGE_RECORD", change | {"leader": 258}),
        ("PARTITION_CHANGE_RECORD", change),
    )
    (topic, leader, nothing), (_, absent, _) = found
    assert data[topic - 4 : topic] == (7).to_bytes(4, "big")
    assert data[leader : leader + 4] == (258).to_bytes(4, "big")
    assert (absent, nothing) == (ABSENT, ABSENT)


def test_a_body_with_structs_is_not_walked(tmp_path: Path) -> None:
    """A field behind structs is marked as unread, and not guessed."""
    broker: Data = {
        "brokerId": 1, "isMigratingZkBroker": False, "incarnationId": _TOPICS[0], "brokerEpoch": 0, "rack": None,
        "endPoints": [{"name": "A", "host": "h", "port": 1, "securityProtocol": 0}], "features": [], "fenced": False,
        "inControlledShutdown": False,
    }  # fmt: skip
    _, ((topic, leader, nothing),) = _block(tmp_path / f"{0:020d}.log", ("REGISTER_BROKER_RECORD", broker))
    assert (topic, leader, nothing) == (UNREAD, UNREAD, UNREAD)


def test_rows_of_no_type_are_none(tmp_path: Path) -> None:
    """A name that is no record type finds no row."""
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(batch_of(NewBatch(base_offset=0), [record_of(_schemas()["NO_OP_RECORD"][0], {})]))
    (block,) = (item for item in read_blocks(path) if not isinstance(item, Fault))
    assert block.of_types(["NOTHING_RECORD"]).size == 0
    assert block.only(block.of_types(["NO_OP_RECORD"])).column(Column.OFFSET).tolist() == [0]
