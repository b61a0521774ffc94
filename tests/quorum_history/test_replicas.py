"""Each offset is read once, from any replica that has it, and replicas that differ are reported."""

import random
from pathlib import Path

import pytest
from tests.quorum_history import clusters

from kraftlog.batches import list_batches
from quorum_history.files import FileKind, NoLogsError, find_files
from quorum_history.replicas import ClusterLog, cluster_logs, divergence


def _log(home: Path) -> ClusterLog:
    (log,) = cluster_logs(find_files(str(home)))
    return log


def _offsets(log: ClusterLog, first: int = 0, end: int = 10**6) -> list[int]:
    return [offset for stretch in log.stretches(first, end) for offset in range(stretch.first, stretch.end)]


def test_files_are_found_with_their_identity(tmp_path: Path) -> None:
    """Cluster, node and directory come from meta.properties; other files are left alone."""
    folder = clusters.replica(tmp_path, "alpha", 3)
    clusters.segment(folder, 0, clusters.run(0, 3, 1))
    (folder / "00000000000000000002-0000000001.checkpoint").write_bytes(b"")
    (folder / "00000000000000000000.index").write_bytes(b"")
    found = find_files(str(tmp_path))
    assert [(file.cluster, file.node_id, file.directory_id, file.kind, file.base_offset) for file in found] == [
        ("alpha", 3, "dir-3", FileKind.CHECKPOINT, 2), ("alpha", 3, "dir-3", FileKind.SEGMENT, 0),
    ]  # fmt: skip
    assert find_files(f"{tmp_path}/alpha/*/__cluster*/*.log") == found[1:]


@pytest.mark.parametrize("path", ["", "nowhere", "empty"])
def test_paths_without_logs_are_refused(tmp_path: Path, path: str) -> None:
    """The error names the path."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoLogsError, match=path or "no path"):
        find_files(str(tmp_path / path) if path else "")


def test_the_longest_replica_of_the_highest_epoch_is_trusted(tmp_path: Path) -> None:
    """The longest replica of the highest epoch counts, as in an election, and not a longer tail of an older epoch."""
    clusters.segment(clusters.replica(tmp_path, "c", 1), 0, clusters.run(0, 5, 1) + clusters.run(5, 9, 1))
    clusters.segment(clusters.replica(tmp_path, "c", 2), 0, clusters.run(0, 5, 1) + clusters.run(5, 7, 2))
    log = _log(tmp_path)
    assert log.replicas[0].name.endswith("node-2/__cluster_metadata-0")
    assert log.epochs == ((1, 0), (2, 5))
    (difference,) = log.disagreements()
    assert (difference.offset, difference.trusted_epoch, difference.other_epoch) == (5, 2, 1)


def test_others_fill_in_what_was_deleted_or_damaged(tmp_path: Path) -> None:
    """Other replicas supply a deleted front and a damaged middle, and nothing is read twice."""
    first = clusters.replica(tmp_path, "c", 1)
    content = bytearray(clusters.run(4, 12, 1))
    content[3 * len(clusters.single(4, 1)) + 70] ^= 1
    clusters.segment(first, 4, bytes(content) + clusters.run(12, 20, 2))
    clusters.segment(clusters.replica(tmp_path, "c", 2), 0, clusters.run(0, 10, 1))
    log = _log(tmp_path)
    assert _offsets(log, end=log.end) == list(range(20))
    damaged = next(stretch for stretch in log.stretches(0, 20) if stretch.first <= 7 < stretch.end)
    assert "node-2" in damaged.file.path, "the batch that the first replica has damaged"
    assert _offsets(log, 6, 15) == list(range(6, 15))
    assert not list(log.disagreements())


def test_a_tail_that_never_counted_is_no_front(tmp_path: Path) -> None:
    """In front of the trusted replica, a replica counts only up to an epoch that is proved by one that follows it."""
    clusters.segment(clusters.replica(tmp_path, "c", 1), 8, clusters.run(8, 9, 1) + clusters.run(9, 12, 3))
    clusters.segment(clusters.replica(tmp_path, "c", 2), 0, clusters.run(0, 3, 1) + clusters.run(3, 6, 2))
    clusters.segment(clusters.replica(tmp_path, "c", 3), 0, clusters.run(0, 9, 1))
    log = _log(tmp_path)
    assert _offsets(log, end=12) == list(range(12))
    assert not [stretch for stretch in log.stretches(3, 12) if "node-2" in stretch.file.path]


@pytest.mark.parametrize(("end", "filled"), [(8, [0, 1, 2, 5, 6, 7]), (5, [0, 1, 2]), (4, [0, 1, 2])])
def test_an_end_within_damage_proves_nothing(tmp_path: Path, end: int, filled: list[int]) -> None:
    """The epoch that follows damage is that of the next whole batch, wherever reading ends."""
    batches = [clusters.single(offset, 2) for offset in range(3, 8)]
    content = bytearray(b"".join(batches))
    for broken in (0, 1):
        content[len(b"".join(batches[:broken])) + 70] ^= 1
    clusters.segment(clusters.replica(tmp_path, "c", 1), 0, clusters.run(0, 3, 1) + bytes(content))
    clusters.segment(clusters.replica(tmp_path, "c", 2), 0, clusters.run(0, 7, 1))
    assert _offsets(_log(tmp_path), end=end) == filled


@pytest.mark.parametrize(("epoch", "filled"), [(2, [*range(10)]), (1, [0, 1, 2, 3, 4, 6, 7, 8, 9])])
def test_a_tail_that_never_counted_fills_no_gap(tmp_path: Path, epoch: int, filled: list[int]) -> None:
    """A batch that is damaged in the trusted replica comes only from one that has the leader epoch after it."""
    content = bytearray(clusters.run(5, 10, 2))
    content[70] ^= 1
    clusters.segment(clusters.replica(tmp_path, "c", 1), 0, clusters.run(0, 5, 1) + bytes(content))
    clusters.segment(clusters.replica(tmp_path, "c", 2), 0, clusters.run(0, 5, 1) + clusters.run(5, 8, epoch))
    assert _offsets(_log(tmp_path), end=10) == filled


@pytest.mark.parametrize(
    ("start", "ends", "chosen"),
    [(0, [0, 7], 0), (0, [7], None), (9, [0, 7, 9, 12], 9), (9, [12, 20], 12), (None, [3, 8], 8), (5, [], None)],
)
def test_the_checkpoint_that_a_log_goes_on_from(
    tmp_path: Path, start: int | None, ends: list[int], chosen: int | None
) -> None:
    """A log continues from the latest checkpoint at or before its first offset; a complete log needs none."""
    folder = clusters.replica(tmp_path, "c", 1)
    for end in ends:
        (folder / f"{end:020d}-0000000001.checkpoint").write_bytes(clusters.single(0, 0))
    if start is not None:
        clusters.segment(folder, start, clusters.run(start, start + 3, 1))
    found = _log(tmp_path).first_checkpoint()
    assert (found.base_offset if found else None) == chosen


def test_no_batch_reaches_past_the_end(tmp_path: Path) -> None:
    """A batch across the requested end is not read yet."""
    clusters.segment(clusters.replica(tmp_path, "c", 1), 0, clusters.batch(0, 1, "abc") + clusters.batch(3, 1, "def"))
    log = _log(tmp_path)
    assert [_offsets(log, end=end) for end in (2, 3, 5, 6)] == [[], [0, 1, 2], [0, 1, 2], list(range(6))]


def test_batches_behind_damage_are_listed(tmp_path: Path) -> None:
    """After damage the list continues at the next batch with a valid checksum."""
    part = clusters.single(0, 1)
    path = clusters.segment(clusters.replica(tmp_path, "c", 1), 0, part + part[:30] + clusters.single(5, 1) + part[:40])
    batches = list_batches(path)
    assert batches.table[1].tolist() == [0, 5]
    assert batches.end_position == 2 * len(part) + 30


def _history(rng: random.Random, length: int, start_epoch: int = 1) -> list[int]:
    """Epochs offset by offset, never decreasing."""
    epoch, found = start_epoch, []
    for _ in range(length):
        epoch += rng.choice([0, 0, 0, 1, 2])
        found.append(epoch)
    return found


def _epochs(history: list[int]) -> tuple[tuple[int, int], ...]:
    known: dict[int, int] = {}
    for offset, epoch in enumerate(history):
        known.setdefault(epoch, offset)
    return tuple(known.items())


def test_divergence_is_where_histories_part() -> None:
    """The divergence equals a plain comparison of two logs with a common front, if no epoch is used twice."""
    rng = random.Random(4)
    for _ in range(500):
        common = _history(rng, rng.randrange(12))
        top = common[-1] if common else 0
        old = common + ([top] * rng.randrange(3)) + _history(rng, rng.randrange(4), top + 2)
        new = common + _history(rng, rng.randrange(1, 5), top + 100)
        expected = 0
        while expected < min(len(old), len(new)) and old[expected] == new[expected]:
            expected += 1
        assert divergence(_epochs(old), len(old), _epochs(new), len(new)) == expected, (old, new)


def test_divergence_ignores_what_was_deleted_in_front() -> None:
    """A log without its old segments has not diverged."""
    assert divergence(((1, 0), (3, 10), (4, 50)), 60, ((3, 20), (4, 50)), 80) == 60
    assert divergence(((1, 0), (3, 10), (4, 50)), 60, ((3, 20), (5, 40)), 80) == 40
