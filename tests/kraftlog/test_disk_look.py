"""A look at a disk reports where its log ends and what is damaged, and refuses instead of guessing."""

import os
import random
from pathlib import Path

import pytest
from tests.kraftlog import disks, logs
from tests.kraftlog.record_samples import LIVES, SAMPLES

from kraftlog.batches import BatchColumn, list_batches
from kraftlog.disk import DiskError, DiskLook, UnreadableDiskError, look
from kraftlog.disk import batches as walking
from kraftlog.disk.crc import crc32c
from kraftlog.errors import KraftLogError


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 61, 1000, 4097])
def test_the_sum_is_the_compiled_one(size: int) -> None:
    """The checksum in plain Python is that of the compiled code, for every length."""
    content = random.Random(size).randbytes(size)
    assert crc32c(content) == logs.crc(content)


def test_a_whole_disk(tmp_path: Path) -> None:
    """A disk without damage is reported with its ids, its end, its checkpoint and its voters."""
    found = look(disks.make(tmp_path / "a"))
    assert (found.cluster_id, found.node_id, found.directory_id) == (disks.CLUSTER, 1, disks.IDS[1])
    assert found.quorum_state is not None
    assert (found.quorum_state.leader_epoch, found.quorum_state.leader_id, found.quorum_state.voted_id) == (5, 2, None)
    assert (found.first_offset, found.end_offset, found.last_epoch, found.leader_epoch) == (0, 8, disks.EPOCH, 5)
    assert found.checkpoint is not None
    assert (found.checkpoint.offset, found.checkpoint.epoch, found.checkpoint.whole) == (0, 0, True)
    assert (found.tail, found.damage, found.kraft_version) == (None, None, 1)
    assert found.voters is found.voters_in_log
    assert found.voters is not None
    assert [(each.node_id, each.directory_id) for each in found.voters.voters] == list(disks.IDS.items())
    assert found.voters.voters[0].endpoints[0].host == "c-1"
    assert found.voters.offset == 2
    (only,) = found.segments
    assert (only.base_offset, only.end_offset, only.batches) == (0, 8, 5)
    assert only.valid_bytes == only.size_bytes


@pytest.mark.parametrize("release", LIVES)
def test_disks_of_real_controllers(release: str) -> None:
    """The disk of each replica of a recorded quorum is whole, and ends where the compiled reader says."""
    for home in sorted((SAMPLES / release).glob("node-*")):
        found = look(home)
        (segment,) = found.segments
        listed = list_batches(disks.segment(home, segment.base_offset))
        assert found.end_offset == listed.column(BatchColumn.LAST_OFFSET)[-1] + 1
        assert found.last_epoch == listed.column(BatchColumn.LEADER_EPOCH)[-1]
        assert segment.batches == len(listed)
        assert found.checkpoint is not None
        assert (found.checkpoint.whole, found.tail, found.damage) == (True, None, None)
        assert (found.voters is not None) == (found.kraft_version == 1) == (release != "3.3.2")


def test_every_cut(tmp_path: Path) -> None:
    """In a log that is cut at any byte, the end is behind the last whole batch, and the rest is a tail."""
    pieces = disks.parts()
    whole, borders = b"".join(pieces), disks.sizes(pieces)
    home = disks.make(tmp_path / "a")
    offsets = [0, 3, 5, 6, 7, 8]
    for size in range(len(whole) + 1):
        disks.segment(home).write_bytes(whole[:size])
        found = look(home)
        kept = sum(border <= size for border in borders)
        assert (found.end_offset, found.damage) == (offsets[kept], None)
        rest = size - ([0, *borders][kept])
        assert (found.tail.size_bytes if found.tail else 0) == rest


def test_every_flipped_byte(tmp_path: Path) -> None:
    """With any byte flipped, the end is that of a valid batch; in the last batch it is a tail, before it damage."""
    pieces = disks.parts()
    whole, borders = b"".join(pieces), disks.sizes(pieces)
    home = disks.make(tmp_path / "a")
    for at in range(borders[0], len(whole)):
        flipped = bytearray(whole)
        flipped[at] ^= 0xFF
        disks.segment(home).write_bytes(flipped)
        found = look(home)
        place = sum(border <= at for border in borders)
        within = at - borders[place - 1]
        assert found.end_offset in disks.ends(bytes(flipped))
        if 12 <= within < 16:  # the checksum does not cover the leader epoch: a higher one is a valid one
            continue
        assert found.end_offset == [3, 5, 6, 7][place - 1]
        if place == len(pieces) - 1 and within >= 8:  # nor does it cover the base offset, which is then a wrong one
            assert found.damage is None
            assert found.tail is not None
            assert found.tail.size_bytes == len(pieces[-1])
        else:
            assert found.tail is None
            assert found.damage is not None
            assert (found.damage.offset, found.damage.position) == (found.end_offset, borders[place - 1])
            assert found.damage.last_offset_behind >= 7


@pytest.mark.parametrize("zeros", [1, 60, 61, 5000, (1 << 20) + 7])
def test_zeros_at_the_end(tmp_path: Path, zeros: int) -> None:
    """Zeros behind the last batch, and behind a torn one, are counted in the tail."""
    whole = b"".join(disks.parts())
    home = disks.make(tmp_path / "a", {0: whole + bytes(zeros)})
    tail = look(home).tail
    assert tail is not None
    assert (tail.size_bytes, tail.zero_bytes) == (zeros, zeros)
    disks.segment(home).write_bytes(whole + b"\0\0\0\7" + bytes(zeros))
    tail = look(home).tail
    assert tail is not None
    assert (tail.size_bytes, tail.zero_bytes) == (zeros + 4, zeros)


def test_several_segments(tmp_path: Path) -> None:
    """Segments are read as one log; damage in one that is not the last is damage even if it looks like a tail."""
    pieces = disks.parts()
    segments = {0: b"".join(pieces[:2]), 5: b"".join(pieces[2:4]), 7: pieces[4], 8: b""}
    found = look(disks.make(tmp_path / "whole", segments))
    assert [(each.base_offset, each.end_offset) for each in found.segments] == [(0, 5), (5, 7), (7, 8), (8, 8)]
    assert (found.end_offset, found.damage) == (8, None)
    torn = look(disks.make(tmp_path / "torn", {**segments, 5: segments[5][:-3]}))
    assert torn.damage is not None
    assert (torn.damage.offset, torn.damage.segment_base, torn.damage.batches_behind) == (6, 5, 1)
    assert (torn.end_offset, torn.tail) == (6, None)
    without = {base: content for base, content in segments.items() if base != 5}
    missing = look(disks.make(tmp_path / "missing", without))
    assert missing.damage is not None
    assert (missing.damage.offset, missing.damage.segment_base, missing.damage.last_offset_behind) == (5, 7, 7)


def test_the_newest_checkpoint_counts(tmp_path: Path) -> None:
    """The newest checkpoint is that of the highest epoch; records of the log below its end do not count."""
    old, new = "00000000000000000006-0000000003.checkpoint", "00000000000000000005-0000000004.checkpoint"
    contents = {old: disks.checkpoint(1), new: disks.checkpoint(1, 2, epoch=4), f"{new}.part": b"", "x.deleted": b""}
    found = look(disks.make(tmp_path / "a", checkpoints=contents))
    assert found.checkpoint is not None
    assert (found.checkpoint.offset, found.checkpoint.epoch) == (5, 4)
    assert found.voters_in_log is None
    assert found.voters is not None
    assert [each.node_id for each in found.voters.voters] == [1, 2]


def test_an_empty_log_behind_a_checkpoint(tmp_path: Path) -> None:
    """A follower that has just loaded a checkpoint ends where it ends, in its epoch."""
    name = "00000000000000000900-0000000003.checkpoint"
    found = look(disks.make(tmp_path / "a", {900: b""}, {name: disks.checkpoint(1, 2, 3)}))
    assert (found.first_offset, found.end_offset, found.last_epoch) == (900, 900, 3)


@pytest.mark.parametrize("size", [0, 1, 60, 200, -1])
def test_a_checkpoint_that_is_not_whole(tmp_path: Path, size: int) -> None:
    """A cut checkpoint is reported with the reason, and none of its voters count."""
    content = disks.checkpoint(1, 2, 3)[:size]
    found = look(disks.make(tmp_path / "a", {0: disks.topics(0, "a")}, {disks.FIRST: content}))
    assert found.checkpoint is not None
    assert not found.checkpoint.whole
    assert found.checkpoint.reason
    assert (found.voters, found.kraft_version) == (None, 0)


def test_a_checkpoint_without_its_last_batch(tmp_path: Path) -> None:
    """A checkpoint of whole batches that does not end with its footer is not whole."""
    content = disks.checkpoint(1, 2, 3)
    footer = disks.control(4, disks.record(4, {}), epoch=0)
    found = look(disks.make(tmp_path / "a", checkpoints={disks.FIRST: content.removesuffix(footer)}))
    assert found.checkpoint is not None
    assert (found.checkpoint.whole, "SnapshotFooter" in found.checkpoint.reason) == (False, True)


def refused(home: Path, words: str) -> None:
    """Checks that a look ends with an error that has these words, and the path."""
    with pytest.raises(DiskError, match=words) as caught:
        look(home)
    assert str(home) in str(caught.value)


def test_what_is_refused(tmp_path: Path) -> None:
    """Files that are missing or contradict each other end in an error, never in a guess."""
    home = disks.make(tmp_path / "a")
    (home / "meta.properties").unlink()
    refused(home, "there is no such file")
    disks.meta(home, version="0")
    refused(home, "not 1")
    disks.meta(home)
    with (home / "meta.properties").open("a") as file:
        file.write("cluster.id=AAAAAAAAAAAAAAAAAAAAAA\n")
    refused(home, "is there twice")
    for name, value in (("node_id", "-1"), ("node_id", "9" * 4300), ("cluster_id", ""), ("directory_id", "short")):
        disks.meta(home, **{name: value})
        refused(home, name.replace("_", r"\."))
    disks.meta(home)
    for text in ("", "[]", "{}", "[" * 100_000, disks.state(-1), disks.state(2**31), disks.state(3, votedId="x")):
        (home / disks.LOG / "quorum-state").write_text(text)
        refused(home, "damaged|at most")
    (home / disks.LOG / "quorum-state").write_text(disks.state(3, clusterId="other"))
    refused(home, "two clusters")


def test_logs_that_are_refused(tmp_path: Path) -> None:
    """A checkpoint beyond the log, and records that are missing, are refused."""
    late, pieces = "00000000000000000009-0000000004.checkpoint", disks.parts()
    content = disks.checkpoint(1, 2, 3)
    refused(disks.make(tmp_path / "beyond", checkpoints={late: content}), "beyond the end of the log")
    newer = {"00000000000000000003-0000000005.checkpoint": content}
    refused(disks.make(tmp_path / "epoch", checkpoints=newer), "beyond the end of the log")
    refused(disks.make(tmp_path / "none", {3: pieces[1]}, {}), "no checkpoint")
    early = {"00000000000000000002-0000000003.checkpoint": content}
    refused(disks.make(tmp_path / "hole", {3: pieces[1]}, early), "records between them are missing")
    without = disks.make(tmp_path / "without")
    (without / disks.LOG).rename(without / "elsewhere")
    refused(without, "there is no such directory")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A link, a directory or a pipe in place of a segment is refused, and a link is not followed."""
    for number, make in enumerate((Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/etc/hostname"))):
        home = disks.make(tmp_path / str(number))
        disks.segment(home).unlink()
        make(disks.segment(home))  # type: ignore[operator]
        refused(home, "regular file|not followed|directory")


def test_a_link_in_place_of_the_log(tmp_path: Path) -> None:
    """A link in place of the log's directory is not followed."""
    home = disks.make(tmp_path / "a")
    (home / disks.LOG).rename(tmp_path / "elsewhere")
    (home / disks.LOG).symlink_to(tmp_path / "elsewhere")
    refused(home, "a link is not followed")


@pytest.mark.parametrize("count", [999, 1000, 1001, 5000])
@pytest.mark.parametrize("junk", [b"", b"\1"], ids=["whole", "junk between"])
def test_batches_behind_damage_are_counted_up_to_a_thousand(tmp_path: Path, count: int, junk: bytes) -> None:
    """More than a thousand decide nothing, so they are not looked for, in whichever segment they are."""
    one = disks.control(0, disks.level(1))
    torn = b"".join(disks.parts()) + b"\1"
    home = disks.make(tmp_path / "a", {0: torn + (one + junk) * (count - 3), 9: one * 3})
    damage = look(home).damage
    assert damage is not None
    assert damage.batches_behind == min(count, 1000)


def test_looking_for_batches_behind_damage_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that look like batches are summed up only so often in a log, not so often behind each batch."""
    one = disks.control(0, disks.level(1))
    like = bytearray(one)
    like[-1] ^= 1
    monkeypatch.setattr(walking.Budget, "__init__", lambda self: setattr(self, "left_bytes", 20 * len(one)))
    home = disks.make(tmp_path / "a", {0: b"".join(disks.parts()) + b"\1" + (like * 2 + one) * 5})
    assert look(home).damage is not None
    disks.segment(home).write_bytes(b"".join(disks.parts()) + b"\1" + (like * 2 + one) * 50)
    refused(home, "too many places look like a batch")


def test_a_file_that_the_system_does_not_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the system is one that may be repeated, with the file."""
    home = disks.make(tmp_path / "a")

    def fail(_: walking.Walk) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(walking.Walk, "_next", fail)
    with pytest.raises(UnreadableDiskError, match=r"checkpoint: Input/output error: repeat"):
        look(home)


def test_control_records_that_cannot_be_read(tmp_path: Path) -> None:
    """A voter set of an unknown version, or a control batch that contradicts itself, is refused."""
    later = disks.record(6, {"voters": []})
    unknown = disks.control(0, logs.NewRecord(b"\0\7" + later.value[2:], key=later.key))
    refused(disks.make(tmp_path / "unknown", {0: unknown}), "voter set is not known")
    keyless = disks.control(0, logs.NewRecord(b"", key=b"\0"))
    refused(disks.make(tmp_path / "keyless", {0: keyless}), "voter set is not known")


def test_bytes_that_look_like_batches(tmp_path: Path) -> None:
    """If everything behind the end could be a batch, the look ends with an error instead of a guess or an hour."""
    fake = (bytes(8) + (1 << 18).to_bytes(4, "big") + bytes(4) + b"\2") * 40_000
    home = disks.make(tmp_path / "a", {0: disks.topics(0, "a") + b"\1" + fake})
    refused(home, "too many places look like a batch")


def mutated(content: bytes, rng: random.Random) -> bytes:
    """One to three changes, some of them with right checksums afterwards."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        at, size = rng.randrange(len(data)), rng.randrange(1, 40)
        match rng.randrange(6):
            case 0 | 1:
                data[at] ^= 1 << rng.randrange(8)
            case 2:
                data[at : at + size] = bytes(size)
            case 3:
                data[at : at + 4] = rng.choice([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0"])
            case 4:
                data[at:at] = data[at : at + size]
            case _:
                del data[max(at, 1) :]
    return logs.resummed(data) if rng.random() < 0.5 else bytes(data)


def test_random_damage(tmp_path: Path) -> None:
    """Damaged logs and checkpoints are read or refused with an error of ours, and the end is that of a valid batch."""
    home, whole, first = disks.make(tmp_path / "a"), b"".join(disks.parts()), disks.checkpoint(1, 2, 3)
    results = {True: 0, False: 0}
    for number in range(1500):
        rng = random.Random(number)
        content = mutated(whole, rng) if number % 3 else whole
        disks.segment(home).write_bytes(content)
        (home / disks.LOG / disks.FIRST).write_bytes(first if number % 3 else mutated(first, rng))
        found: DiskLook | None = None
        try:
            found = look(home)
        except KraftLogError:
            pass
        except Exception as error:
            raise AssertionError(f"seed {number}") from error
        assert found is None or found.end_offset in {0, *disks.ends(content)}, f"seed {number}"
        results[found is not None] += 1
    assert min(results.values()) > 25
