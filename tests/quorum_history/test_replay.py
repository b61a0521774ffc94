"""What is replayed of a damaged log, by `at` and `downgrade` alike, and how much of the damage is reported."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kraftlog import logs
from tests.quorum_history import clusters

from kraftlog.codecs import Codec
from kraftlog.schema import Schema, catalog
from kraftlog.writer import NewBatch, NewRecord, batch_of, record_of
from quorum_history.at import OffsetError, at, text_of
from quorum_history.files import find_files
from quorum_history.lossy import lossy_image
from quorum_history.replay import replay_plan
from quorum_history.replicas import ClusterLog, cluster_logs
from quorum_history.source import _BatchReader, _read, checked_options

if TYPE_CHECKING:
    from kraftlog.values import Data
    from quorum_history.state import Found

_TOPIC = "1111111111111111111111"


def _schema(kind: str) -> Schema:
    return max((s for s in catalog().schemas.values() if s.type_name == kind), key=lambda schema: schema.version)


def _user(name: str) -> NewRecord:
    keys: Data = {"salt": "AAAA", "storedKey": "AAAA", "serverKey": "AAAA"}
    return record_of(
        _schema("USER_SCRAM_CREDENTIAL_RECORD"), {"name": name, "mechanism": 1, **keys, "iterations": 4096}
    )


def _gone(name: str) -> NewRecord:
    return record_of(_schema("REMOVE_USER_SCRAM_CREDENTIAL_RECORD"), {"name": name, "mechanism": 1})


def _batch(offset: int, *records: NewRecord, epoch: int = 1) -> bytes:
    return batch_of(NewBatch(base_offset=offset, leader_epoch=epoch, timestamp_ms=1_760_000_000_000), list(records))


def _users(first: int, names: str, epoch: int = 1) -> bytes:
    """One batch for each letter."""
    return b"".join(_batch(first + place, _user(name), epoch=epoch) for place, name in enumerate(names))


def _flipped(content: bytes) -> bytes:
    """One changed bit near the end, in a batch of which only the checksum is wrong."""
    return content[:-12] + bytes([content[-12] ^ 1]) + content[-11:]


def _unknown(offset: int) -> bytes:
    data: Data = {"partitionId": 0, "topicId": _TOPIC, "replicas": [1], "isr": [1], "removingReplicas": [],
            "addingReplicas": [], "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0}  # fmt: skip
    value = record_of(_schema("PARTITION_RECORD"), {**data, "directories": [_TOPIC]}).value
    return _batch(offset, NewRecord(value[:2] + b"\x09" + value[3:]))


class Home:
    """The folder of one cluster."""

    def __init__(self, home: Path) -> None:
        """Starts empty."""
        self.home = home

    def segment(self, base: int, content: bytes, node: int = 1) -> None:
        """Writes a segment."""
        clusters.segment(clusters.replica(self.home, "c", node), base, content)

    def checkpoint(self, end: int, content: bytes | None, node: int = 1) -> None:
        """Writes a checkpoint; None makes a folder in its place."""
        place = clusters.replica(self.home, "c", node) / f"{end:020d}-0000000001.checkpoint"
        place.mkdir() if content is None else place.write_bytes(content)

    @property
    def log(self) -> ClusterLog:
        """What is there now."""
        (log,) = cluster_logs(find_files(str(self.home)))
        return log


Case = Callable[[Home], None]
CASES: dict[str, tuple[Case, str, int, int, bool]] = {}


def case(users: str, *, end: int, faults: int, known: bool = True) -> Callable[[Case], Case]:
    """A damage: the users that are there at the end, that end, the number of faults, and whether the state is known."""

    def add(make: Case) -> Case:
        CASES[make.__name__] = (make, users, end, faults, known)
        return make

    return add


@case("abc", end=3, faults=0)
def nothing(home: Home) -> None:
    """A whole log."""
    home.segment(0, _users(0, "abc"))


@case("ab", end=2, faults=0)
def a_torn_tail(home: Home) -> None:
    """It may still be written."""
    home.segment(0, _users(0, "abc")[:-5])


@case("bc", end=3, faults=2, known=False)
def a_wrong_checksum_at_the_front(home: Home) -> None:
    """The records of such a batch do not count."""
    home.segment(0, _flipped(_users(0, "a")) + _users(1, "bc"))


@case("ac", end=3, faults=2, known=False)
def a_wrong_checksum_in_the_middle(home: Home) -> None:
    """The records around it count."""
    home.segment(0, _users(0, "a") + _flipped(_users(1, "b")) + _users(2, "c"))


@case("a", end=1, faults=1)
def a_wrong_checksum_at_the_end(home: Home) -> None:
    """The log ends before it, as far as anybody knows."""
    home.segment(0, _users(0, "a") + _flipped(_users(1, "b")))


@case("ac", end=3, faults=2, known=False)
def a_wrong_checksum_at_the_end_of_a_segment(home: Home) -> None:
    """Another segment follows."""
    home.segment(0, _users(0, "a") + _flipped(_users(1, "b")))
    home.segment(2, _users(2, "c"))


@case("ac", end=3, faults=2, known=False)
def a_segment_of_one_damaged_batch(home: Home) -> None:
    """Nothing of it counts, and another segment follows."""
    home.segment(0, _users(0, "a"))
    home.segment(1, _flipped(_users(1, "b")))
    home.segment(2, _users(2, "c"))


@case("abcd", end=4, faults=1)
def a_wrong_checksum_that_another_replica_has_right(home: Home) -> None:
    """Its copy counts, and the fault is reported."""
    home.segment(0, _users(0, "a") + _flipped(_users(1, "b")) + _users(2, "cd"))
    home.segment(0, _users(0, "abc"), node=2)


@case("c", end=3, faults=2, known=False)
def zeros_at_the_front(home: Home) -> None:
    """In place of a batch."""
    home.segment(0, bytes(len(_users(0, "ab"))) + _users(2, "c"))


@case("ab", end=2, faults=1)
def garbage_in_place_of_the_last_segment(home: Home) -> None:
    """What was in it is unknown."""
    home.segment(0, _users(0, "ab"))
    home.segment(2, b"garbage " * 100)


@case("ae", end=5, faults=1, known=False)
def a_missing_segment(home: Home) -> None:
    """No checkpoint helps."""
    home.segment(0, _users(0, "a"))
    home.segment(4, _users(4, "e"))


@case("xe", end=5, faults=0)
def a_missing_segment_before_a_checkpoint(home: Home) -> None:
    """The state behind the gap is that of the checkpoint, and nothing of it is unknown."""
    home.segment(0, _users(0, "a"))
    home.segment(4, _users(4, "e"))
    home.checkpoint(4, _users(0, "x"))


@case("x", end=9, faults=1)
def a_checkpoint_newer_than_the_log(home: Home) -> None:
    """Its state is the last known one."""
    home.segment(0, _users(0, "ab"))
    home.checkpoint(9, _users(0, "x"))


@case("ab", end=2, faults=2)
def garbage_newer_than_the_log(home: Home) -> None:
    """The log is what is left."""
    home.segment(0, _users(0, "ab"))
    home.checkpoint(9, b"garbage " * 100)


@case("efz", end=10, faults=0)
def a_checkpoint_after_the_front_of_the_log(home: Home) -> None:
    """Older records do not count on top of it."""
    home.segment(5, _batch(5, _gone("e")) + _batch(6, _user("k")) + _batch(7, _gone("k")) + _users(8, "fz"))
    home.checkpoint(8, _users(0, "e"))


@case("yef", end=7, faults=1)
def garbage_beside_a_whole_copy(home: Home) -> None:
    """The other replica's checkpoint counts."""
    for node, content in ((1, _users(0, "y")), (2, b"garbage " * 100)):
        home.segment(5, _users(5, "ef"), node)
        home.checkpoint(5, content, node)


@case("yef", end=7, faults=1)
def a_whole_copy_beside_garbage(home: Home) -> None:
    """The same the other way round."""
    for node, content in ((2, _users(0, "y")), (1, b"garbage " * 100)):
        home.segment(5, _users(5, "ef"), node)
        home.checkpoint(5, content, node)


@case("xefg", end=8, faults=1)
def garbage_behind_an_older_checkpoint(home: Home) -> None:
    """The log is whole from the older one on."""
    home.segment(5, _users(5, "efg"))
    home.checkpoint(5, _users(0, "x"))
    home.checkpoint(7, b"garbage " * 100)


@case("abc", end=3, faults=1)
def a_torn_checkpoint_of_a_whole_log(home: Home) -> None:
    """The log has its first record, so the checkpoint is not needed."""
    home.segment(0, _users(0, "abc"))
    home.checkpoint(2, _users(0, "ab")[:-5])


@case("aef", end=7, faults=1)
def a_torn_checkpoint_that_is_needed(home: Home) -> None:
    """What is left of it counts."""
    home.segment(5, _users(5, "ef"))
    home.checkpoint(5, _users(0, "ab")[:-5])


@case("ef", end=7, faults=2, known=False)
def garbage_that_is_needed(home: Home) -> None:
    """Nothing else has the state before the log."""
    home.segment(5, _users(5, "ef"))
    home.checkpoint(5, b"garbage " * 100)


@case("ef", end=7, faults=2, known=False)
def an_empty_checkpoint(home: Home) -> None:
    """The same."""
    home.segment(5, _users(5, "ef"))
    home.checkpoint(5, b"")


@case("ef", end=7, faults=2, known=False)
def a_folder_in_place_of_a_checkpoint(home: Home) -> None:
    """The same."""
    home.segment(5, _users(5, "ef"))
    home.checkpoint(5, None)


@case("abc", end=3, faults=0)
def a_longer_tail_of_an_older_epoch(home: Home) -> None:
    """It was never committed."""
    home.segment(0, _users(0, "ab") + _users(2, "c", epoch=2))
    home.segment(0, _users(0, "ab") + _users(2, "xyz"), node=2)


@case("ac", end=4, faults=1)
def a_version_without_a_schema(home: Home) -> None:
    """Such records are left out, which is one fault for all of them."""
    home.segment(0, _users(0, "a") + _unknown(1) + _unknown(2) + _users(3, "c"))


@case("xef", end=7, faults=0)
def damage_before_the_checkpoint(home: Home) -> None:
    """The checkpoint has what was there."""
    home.segment(0, _users(0, "a") + _flipped(_users(1, "b")) + _users(2, "cdx"))
    home.segment(5, _users(5, "ef"))
    home.checkpoint(5, _users(0, "x"))


@case("abcdef", end=6, faults=1)
def a_gap_between_files_that_another_replica_fills(home: Home) -> None:
    """The log has no gap, but the replica has one."""
    home.segment(0, _users(0, "ab"))
    home.segment(4, _users(4, "ef"))
    home.segment(0, _users(0, "abcde"), node=2)


@case("abcdef", end=6, faults=1)
def a_gap_between_files_of_another_replica(home: Home) -> None:
    """The trusted replica is whole."""
    home.segment(0, _users(0, "abcdef"))
    home.segment(0, _users(0, "ab"), node=2)
    home.segment(4, _users(4, "e"), node=2)


@case("abef", end=6, faults=1, known=False)
def a_gap_between_files_that_nothing_fills(home: Home) -> None:
    """It is one fault, and not one of the replica besides."""
    home.segment(0, _users(0, "ab"))
    home.segment(4, _users(4, "ef"))


@case("ab", end=2, faults=1)
def a_gap_before_an_empty_segment(home: Home) -> None:
    """A segment is named after the offset that comes next, and that is not what the one before it ends with."""
    home.segment(0, _users(0, "ab"))
    home.segment(4, b"")


@case("ab", end=2, faults=0)
def an_empty_segment(home: Home) -> None:
    """The log was just rolled."""
    home.segment(0, _users(0, "ab"))
    home.segment(2, b"")


@case("xef", end=7, faults=0)
def a_gap_before_the_checkpoint(home: Home) -> None:
    """The replay does not need these offsets."""
    home.segment(0, _users(0, "a"))
    home.segment(3, _users(3, "de"))
    home.segment(5, _users(5, "ef"))
    home.checkpoint(5, _users(0, "x"))


@case("abdxy", end=5, faults=1)
def other_content_at_the_same_offset_and_epoch(home: Home) -> None:
    """An epoch has one leader, which writes each offset once: one of the replicas is wrong."""
    home.segment(0, _users(0, "abcde"), node=1)
    home.segment(0, _users(0, "abdxy"), node=2)


@case("abcde", end=5, faults=1)
def the_same_offsets_in_other_batches(home: Home) -> None:
    """A batch that begins within another one of the same epoch is other content, too."""
    home.segment(0, _users(0, "a") + _batch(1, _user("b"), _user("c")) + _users(3, "de"), node=2)
    home.segment(2, _users(2, "xde"), node=1)


@case("abcxyz", end=6, faults=1)
def two_helpers_that_differ(home: Home) -> None:
    """The trusted replica has none of these offsets, so its helpers are compared with each other."""
    home.segment(3, _users(3, "xyz"), node=3)
    home.segment(0, _users(0, "abcx"), node=2)
    home.segment(0, _users(0, "axcx"), node=1)


@case("xef", end=7, faults=0)
def other_content_before_the_checkpoint(home: Home) -> None:
    """The replay does not need these offsets."""
    home.segment(3, _users(3, "deef"), node=2)
    home.segment(3, _users(3, "zeef"), node=1)
    home.checkpoint(5, _users(0, "x"))


@case("abc", end=3, faults=1)
def garbage_in_a_segment_that_was_just_rolled(home: Home) -> None:
    """It does not begin like a batch, so nothing is being appended."""
    home.segment(0, _users(0, "abc"))
    home.segment(3, b"garbage")


@case("abc", end=3, faults=1)
def a_first_batch_of_another_offset(home: Home) -> None:
    """A batch that begins at another offset than the name says is not what comes next."""
    home.segment(0, _users(0, "abc"))
    home.segment(3, _users(9, "d")[:30])


@case("abcef", end=6, faults=2, known=False)
def a_torn_first_batch_before_another_segment(home: Home) -> None:
    """It is not a tail: another segment was begun after it."""
    home.segment(0, _users(0, "abc"))
    home.segment(3, _users(3, "d")[:30])
    home.segment(4, _users(4, "ef"))


@case("abcdef", end=6, faults=1)
def a_torn_first_batch_that_another_replica_has(home: Home) -> None:
    """The damage is still told."""
    home.segment(0, _users(0, "abc"))
    home.segment(3, _users(3, "d")[:70])
    home.segment(4, _users(4, "ef"))
    home.segment(0, _users(0, "abcd" + "e"), node=2)


@case("abc", end=3, faults=1)
def a_torn_tail_before_a_segment_that_was_just_rolled(home: Home) -> None:
    """Nothing is appended to a segment after the next one was begun."""
    home.segment(0, _users(0, "abcd")[:-5])
    home.segment(4, _users(4, "e")[:30])


@pytest.mark.parametrize("name", CASES)
def test_the_state_of_a_damaged_log(tmp_path: Path, name: str) -> None:
    """`downgrade` has what is left, with every fault; `at` has the same, or refuses if the state is not known."""
    make, users, end, count, known = CASES[name]
    home = Home(tmp_path)
    make(home)
    found: list[Found] = []
    image = lossy_image(home.log, found)
    assert sorted(user for _, user in image.scram) == sorted(users)
    assert (replay_plan(home.log).end, len(found)) == (end, count), found
    if not known:
        with pytest.raises(OffsetError):
            at(home.log)
        return
    state = at(home.log)
    assert (state.offset, state.image.scram, state.faults) == (end - 1, image.scram, tuple(found))
    assert at(home.log, end - 1).image == state.image


@pytest.mark.parametrize("size", [*range(1, 62), 90])
def test_a_torn_first_batch_is_an_unfinished_tail(tmp_path: Path, size: int) -> None:
    """However little of the first batch of a segment is written, it is no fault, and the log ends before it."""
    home = Home(tmp_path)
    home.segment(0, _users(0, "abc"))
    home.segment(3, _users(3, "d")[:size])
    found: list[Found] = []
    assert sorted(user for _, user in lossy_image(home.log, found).scram) == ["a", "b", "c"]
    state = at(home.log)
    assert (found, state.faults, state.offset) == ([], (), 2)


@pytest.mark.parametrize("segment", [None, b"", _users(0, "a")[:30]], ids=["none", "empty", "torn"])
def test_kafkas_first_checkpoint_alone_is_a_state(tmp_path: Path, segment: bytes | None) -> None:
    """A controller that was formatted, and has not written yet, has the state of its first checkpoint."""
    home = Home(tmp_path)
    folder = clusters.replica(tmp_path, "c", 1)
    (folder / f"{0:020d}-{0:010d}.checkpoint").write_bytes(_users(0, "ab"))
    if segment is not None:
        home.segment(0, segment)
    found: list[Found] = []
    image, state = lossy_image(home.log, found), at(home.log)
    assert sorted(user for _, user in image.scram) == ["a", "b"]
    assert (state.image, state.offset, state.leader_epoch, state.records) == (image, -1, 0, 0)
    assert (found, state.faults) == ([], ())
    assert next(iter(text_of(state))).startswith("cluster c, before offset 0, leader epoch 0, ")


def test_a_state_before_the_damage_is_not_damaged(tmp_path: Path) -> None:
    """The faults of `at` are those of offsets that it replays, and of none behind them."""
    home = Home(tmp_path)
    home.segment(0, _users(0, "ab") + _unknown(2) + _users(3, "d") + b"garbage" + _users(4, "e"))
    assert [len(at(home.log, offset).faults) for offset in range(5)] == [0, 0, 1, 1, 2]


def test_a_state_before_a_batch_of_noise_is_not_damaged(tmp_path: Path) -> None:
    """The same of a fault that shows when the records of a batch are decoded."""
    home = Home(tmp_path)
    batch = bytearray(logs.batch(2, "c" * 50, codec=Codec.ZSTD))
    batch[70:80] = bytes(10)
    batch[17:21] = struct.pack(">I", logs.crc(bytes(batch[21:])))
    home.segment(0, _users(0, "ab") + bytes(batch) + _users(3, "d"))
    assert [len(at(home.log, offset).faults) for offset in range(4)] == [0, 0, 1, 1]


def test_a_state_before_a_difference_is_not_damaged(tmp_path: Path) -> None:
    """Gaps of a replica, and replicas that differ, count from the offset on that they concern."""
    home = Home(tmp_path)
    home.segment(0, _users(0, "abcdefgh"), node=2)
    home.segment(0, _users(0, "ab"))
    home.segment(4, _users(4, "exg"))
    assert [len(at(home.log, offset).faults) for offset in range(8)] == [0, 0, 1, 1, 1, 2, 2, 2]


def test_an_unreadable_checkpoint_is_the_reason(tmp_path: Path) -> None:
    """If no state is known because of it, the error names it."""
    home = Home(tmp_path)
    garbage_that_is_needed(home)
    with pytest.raises(OffsetError, match=r"offsets 0 to 4 are in no file.*0001\.checkpoint: .*not a log"):
        at(home.log)


@pytest.mark.parametrize("content", [b"garbage " * 100, _users(0, "ab")[:-5]], ids=["garbage", "torn"])
def test_a_damaged_first_checkpoint_is_the_reason(tmp_path: Path, content: bytes) -> None:
    """If nothing is known because Kafka's first checkpoint is damaged, the error names it."""
    folder = clusters.replica(tmp_path, "c", 1)
    (folder / f"{0:020d}-{0:010d}.checkpoint").write_bytes(content)
    with pytest.raises(OffsetError, match=r"no file has any record; .*0000\.checkpoint: position \d+: "):
        at(Home(tmp_path).log)


def test_nothing_at_all_is_no_state(tmp_path: Path) -> None:
    """A cluster of which no file is readable has no state, and a fault."""
    home = Home(tmp_path)
    home.segment(0, b"garbage " * 100)
    with pytest.raises(OffsetError, match="no file has any record"):
        at(home.log)
    found: list[Found] = []
    assert not lossy_image(home.log, found).scram
    assert len(found) == 1


def test_a_file_that_goes_away_is_a_fault(tmp_path: Path) -> None:
    """A segment that is removed after the plan was made is reported, and all else is replayed."""
    home = Home(tmp_path)
    home.segment(0, _users(0, "ab"))
    home.segment(2, _users(2, "cd"))
    log = home.log
    next(tmp_path.rglob(f"{2:020d}.log")).unlink()
    found: list[Found] = []
    assert sorted(user for _, user in lossy_image(log, found).scram) == ["a", "b"]
    assert ["No such file" in each.text for each in found] == [True]


def test_spark_reads_what_at_replays(tmp_path: Path) -> None:
    """No tail of an older epoch, and the copy of a checkpoint that is whole."""
    home = Home(tmp_path)
    home.segment(5, _users(5, "ab") + _users(7, "c", epoch=2))
    home.segment(5, _users(5, "ab") + _users(7, "xyz"), node=2)
    for node, content in ((1, _users(0, "y")), (2, b"garbage " * 100)):
        home.checkpoint(5, content, node)
    options = checked_options({"path": str(tmp_path)})
    rows = [batch for task in _BatchReader(options).partitions() for batch in _read(task, options)]
    read = [(row["kind"], row["offset"], row["leader_epoch"]) for rows_ in rows for row in rows_.to_pylist()
            if row["fault"] is None]  # fmt: skip
    assert read == [("checkpoint", 0, 1), ("segment", 5, 1), ("segment", 6, 1), ("segment", 7, 2)]
