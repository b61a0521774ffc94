"""What a log has that the chosen one does not have: by epoch and offset, also behind damage, and nothing invented."""

import json
import random
from pathlib import Path

import pytest
from tests.kraftlog import disks, logs
from tests.kraftlog.record_samples import LIVES, SAMPLES

from kraftlog.disk import (
    BEYOND_SCHEMA,
    Beyond,
    Chosen,
    DiskError,
    EpochStart,
    FormError,
    beyond,
    look,
    read_beyond,
    read_chosen,
    to_json,
)
from kraftlog.disk import tally as tallies
from kraftlog.writer import NewBatch, batch_of, record_of

SHARED = disks.term(0, 4, "a", "b")
OLD = [*SHARED, *disks.term(3, 5, "lost", "gone")]
"""Offsets 0 to 2 of epoch 4, 3 to 5 of epoch 5."""
NEW = [*SHARED, *disks.term(3, 7, "kept")]
"""The same beginning; then epoch 7, whose leader did not have epoch 5."""


def home_of(path: Path, pieces: list[bytes]) -> Path:
    """A disk with these batches in one segment."""
    return disks.make(path, {0: b"".join(pieces)})


def chosen_of(home: Path) -> Chosen:
    """The log on a disk as the chosen one."""
    found = look(home)
    return Chosen(schema=BEYOND_SCHEMA, epochs=found.epochs, end_offset=found.end_offset)


def chosen(end: int, *starts: tuple[int, int]) -> Chosen:
    """A chosen log by its epochs and their first offsets."""
    epochs = tuple(EpochStart(epoch=epoch, offset=offset) for epoch, offset in starts)
    return Chosen(schema=BEYOND_SCHEMA, epochs=epochs, end_offset=end)


def ranges(found: Beyond) -> list[tuple[int, int, int, int]]:
    """Epoch, first and last offset, and number of records."""
    return [(each.epoch, each.first_offset, each.last_offset, each.records) for each in found.epochs]


def test_a_look_has_the_epochs(tmp_path: Path) -> None:
    """A look lists where each leader epoch begins, across segments, and only what is before damage."""
    home = disks.make(tmp_path / "a", {0: b"".join(SHARED), 3: b"".join(NEW[3:])})
    assert [(each.epoch, each.offset) for each in look(home).epochs] == [(4, 0), (7, 3)]
    disks.segment(home, 0).write_bytes(b"".join(SHARED)[:-1])
    assert [(each.epoch, each.offset) for each in look(home).epochs] == [(4, 0)]


def test_a_log_that_parted_in_an_earlier_epoch(tmp_path: Path) -> None:
    """What a log has of an epoch that the chosen one lacks is counted by type and topic, from where they parted."""
    found = beyond(home_of(tmp_path / "old", OLD), chosen_of(home_of(tmp_path / "new", NEW)))
    assert found.shared == EpochStart(epoch=4, offset=2)
    assert (found.first_offset, found.last_offset, found.records) == (3, 5, 3)
    assert (found.undecided_records, found.unread_records, found.whole) == (0, 0, True)
    assert ranges(found) == [(5, 3, 5, 3)]
    assert {each.type: each.records for each in found.types} == {"TOPIC_RECORD": 2, "LeaderChange": 1}
    assert [each.name for each in found.topics] == ["gone"]  # the made topics have one id, and the last name counts
    assert (found.end_offset, found.last_epoch) == (6, 5)


@pytest.mark.parametrize("count", range(1, len(OLD) + 1))
def test_a_log_that_is_a_beginning_of_the_chosen_one_has_nothing_more(tmp_path: Path, count: int) -> None:
    """Of a log whose last record is in the chosen one, nothing would be lost."""
    found = beyond(home_of(tmp_path / "a", OLD[:count]), chosen_of(home_of(tmp_path / "b", OLD)))
    assert (found.records, found.undecided_records, found.first_offset, found.types) == (0, 0, None, ())
    assert found.whole


@pytest.mark.parametrize("seed", range(12))
def test_the_difference_is_that_of_sets(tmp_path: Path, seed: int) -> None:
    """For any two histories with a common beginning, what is counted is the set of records that only one has."""
    chance = random.Random(seed)

    def history(start: list[tuple[int, int]], epochs: list[int]) -> list[tuple[int, int]]:
        made = list(start)
        for epoch in epochs:
            made += [(epoch, len(made) + at) for at in range(chance.randint(1, 4))]
        return made

    both = history([], [1, 2])[: chance.randint(0, 6)]
    floor = both[-1][0] if both else 0
    mine, theirs = history(both, [floor + 2, floor + 5]), history(both, [floor + 3, floor + 4])
    homes = [
        home_of(tmp_path / name, [disks.topics(offset, f"t{offset}", epoch=epoch) for epoch, offset in records])
        for name, records in (("mine", mine), ("theirs", theirs))
    ]
    found = beyond(homes[0], chosen_of(homes[1]))
    only = sorted(set(mine) - set(theirs), key=lambda each: each[1])
    assert (found.records, found.undecided_records, found.whole) == (len(only), 0, True)
    assert [offset for _, first, last, _ in ranges(found) for offset in range(first, last + 1)] == [
        offset for _, offset in only
    ]
    assert found.shared == (EpochStart(epoch=both[-1][0], offset=both[-1][1]) if both else None)


@pytest.mark.parametrize("release", LIVES)
def test_disks_of_real_controllers(release: str) -> None:
    """Of the replicas of a recorded quorum, each has more than another one only what lies behind the other's end."""
    homes = sorted((SAMPLES / release).glob("node-*"))
    looks = {home: look(home) for home in homes}
    for one in homes:
        for other in homes:
            found = beyond(one, chosen_of(other))
            more = max(0, looks[one].end_offset - looks[other].end_offset)
            assert (found.records, found.undecided_records, found.unread_records, found.whole) == (more, 0, 0, True)


def test_a_batch_that_reaches_over_the_end_is_divided(tmp_path: Path) -> None:
    """Of a batch that the chosen log has in part only, the rest is counted."""
    home = home_of(tmp_path / "a", [disks.topics(0, "a", "b", "c", "d")])
    found = beyond(home, chosen(3, (disks.EPOCH, 0)))
    assert (found.shared, found.records, found.first_offset) == (EpochStart(epoch=disks.EPOCH, offset=2), 1, 3)


def test_what_is_behind_damage_counts(tmp_path: Path) -> None:
    """Valid batches behind a damaged one are what would be lost with this disk, and the numbers are the least ones."""
    pieces = [*OLD, *disks.term(6, 8, "late")]
    pieces[4] = pieces[4][:-1] + b"\7"
    home = home_of(tmp_path / "a", pieces)
    found = beyond(home, chosen(4, (4, 0), (5, 3)))
    seen = look(home)
    assert seen.damage is not None
    assert (found.end_offset, found.last_epoch) == (seen.end_offset, seen.last_epoch) == (4, 5)
    assert (found.whole, found.records, found.first_offset, found.last_offset) == (False, 3, 5, 7)
    assert ranges(found) == [(5, 5, 5, 1), (8, 6, 7, 2)]


def test_damage_in_what_both_have_is_no_loss(tmp_path: Path) -> None:
    """If a record behind the damage is in the chosen log, everything before it is, too, and only the rest counts."""
    pieces = list(OLD)
    pieces[1] = bytes(len(pieces[1]))
    found = beyond(home_of(tmp_path / "a", pieces), chosen(5, (4, 0), (5, 3)))
    assert (found.shared, found.whole, found.records, found.first_offset) == (
        EpochStart(epoch=5, offset=4),
        False,
        1,
        5,
    )


def test_a_missing_segment_is_damage(tmp_path: Path) -> None:
    """A segment that is missing, or whose end is broken without a batch behind it, makes the numbers the least ones."""
    parts = {0: b"".join(OLD[:2]), 2: b"".join(OLD[2:4]), 4: b"".join(OLD[4:])}
    without = disks.make(tmp_path / "a", {base: content for base, content in parts.items() if base != 2})
    found = beyond(without, chosen(1, (4, 0)))
    assert (found.whole, found.records, found.end_offset) == (False, 3, 2)
    torn = disks.make(tmp_path / "b", {0: parts[0], 2: parts[2] + b"x", 4: b""})
    assert beyond(torn, chosen(4, (4, 0), (5, 3))).whole is False
    tail = disks.make(tmp_path / "c", {0: b"".join(OLD) + b"x"})
    assert beyond(tail, chosen(4, (4, 0), (5, 3))).whole is True


def test_what_cannot_be_compared_is_undecided(tmp_path: Path) -> None:
    """If the epochs of the chosen log are not known from where the other log ends, its records count neither way."""
    home = home_of(tmp_path / "a", SHARED)
    found = beyond(home, chosen(100, (6, 50), (7, 80)))
    assert (found.records, found.undecided_records, found.shared) == (0, 3, None)
    assert beyond(home, chosen(100)).undecided_records == 3
    later = beyond(home_of(tmp_path / "b", [*SHARED, *disks.term(3, 9, "x")]), chosen(100, (6, 50), (7, 80)))
    assert (later.records, later.undecided_records, later.first_offset) == (2, 3, 3)


def test_names_come_from_the_checkpoint_and_from_before(tmp_path: Path) -> None:
    """A lost record that names only the id of a topic is listed by the name that an earlier record has."""
    schema = logs.CATALOG.find(9, 0)
    assert schema is not None
    removal = record_of(schema, {"topicId": "AAAAAAAAAAAAAAAAAAAAAA"})
    gone = batch_of(NewBatch(base_offset=0, leader_epoch=4), [removal])
    (topic,) = beyond(home_of(tmp_path / "a", [gone]), chosen(0, (9, 0))).topics
    assert (topic.name, topic.removed) == ("kept", True)


def test_every_flipped_byte(tmp_path: Path) -> None:
    """Whatever byte is flipped, nothing is invented: no more records than there are, in offsets that were written."""
    whole = b"".join(OLD)
    home = home_of(tmp_path / "a", OLD)
    against = chosen(4, (4, 0), (5, 3))
    for at in range(len(whole)):
        flipped = bytearray(whole)
        flipped[at] ^= 0xFF
        disks.segment(home).write_bytes(flipped)
        found = beyond(home, against)
        assert found.records <= len(OLD) + 1
        assert read_beyond(to_json(found)) == found


@pytest.mark.parametrize("seed", range(8))
def test_hostile_bytes(tmp_path: Path, seed: int) -> None:
    """Pieces of a log in any order, with noise between them, end in a bounded value and never in an error."""
    chance = random.Random(seed)
    pieces = [chance.choice([*OLD, *NEW, chance.randbytes(chance.randint(1, 90))]) for _ in range(30)]
    found = beyond(home_of(tmp_path / "a", pieces), chosen(4, (4, 0), (5, 3)))
    assert 0 <= found.records <= 60
    last = -1
    for _, first, end, _ in ranges(found):
        assert last < first <= end
        last = end


def test_a_batch_that_lies_about_its_records(tmp_path: Path) -> None:
    """A batch with more records than offsets, which then contradicts itself, never counts below zero."""
    whole = disks.topics(0, "a", epoch=9)
    body = whole[61:] * 5 + b"\7"
    head = bytearray(whole[:61])
    head[8:12], head[57:61] = (len(body) + 49).to_bytes(4, "big"), (6).to_bytes(4, "big")
    head[17:21] = logs.crc(bytes(head[21:]) + body).to_bytes(4, "big")
    found = beyond(home_of(tmp_path / "a", [bytes(head) + body]), chosen(0))
    assert {each.type: each.records for each in found.types} == {"TOPIC_RECORD": 5, "UNREAD": 1}
    assert (found.records, found.unread_records) == (6, 1)


def test_bounds_of_what_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more topics, types, epochs or damaged places than are remembered, the numbers are the least ones."""
    home = home_of(tmp_path / "a", OLD)
    monkeypatch.setattr(tallies, "NAMES_MAX", 0)
    found = beyond(home, chosen(0))
    assert (found.whole, found.records, found.topics) == (False, 6, ())
    monkeypatch.undo()
    monkeypatch.setattr(tallies, "TYPES_MAX", 1)
    found = beyond(home, chosen(0))
    assert {each.type: each.records for each in found.types} == {"LeaderChange": 2, "OTHER": 4}
    monkeypatch.undo()
    broken = home_of(tmp_path / "b", [OLD[0], b"\1" * 70, OLD[1], b"\1" * 70, OLD[2]])
    assert beyond(broken, chosen(0)).records == 3
    monkeypatch.setattr("kraftlog.disk.comparing.RESUMES_MAX", 1)
    found = beyond(broken, chosen(0))
    assert (found.whole, found.records) == (False, 2)


def test_only_the_newest_epochs_are_listed(tmp_path: Path) -> None:
    """Of more epochs than are listed, the newest stay, and every record is counted all the same."""
    pieces = [disks.topics(at, "t", epoch=at + 1) for at in range(130)]
    found = beyond(home_of(tmp_path / "a", pieces), chosen(0))
    assert (len(found.epochs), found.epochs[-1].epoch, found.records, found.whole) == (100, 130, 130, False)
    assert found.first_offset == 0


def test_a_comparison_reads_only_a_disk_of_kafka(tmp_path: Path) -> None:
    """A directory that is none of Kafka's is an error, not a log with nothing more."""
    with pytest.raises(DiskError, match="no such file"):
        beyond(tmp_path, chosen(0))


def test_the_chosen_log_is_read_strictly() -> None:
    """The epochs and the end of the chosen log come as JSON, and anything else is refused with the field's name."""
    good = json.loads(to_json(chosen(9, (4, 0))))
    assert read_chosen(json.dumps(good)) == chosen(9, (4, 0))
    for wrong in ({"end_offset": -1}, {"epochs": [{"epoch": 1}]}, {"epochs": "x"}, {"more": 1}):
        with pytest.raises(FormError, match=next(iter(wrong))):
            read_chosen(json.dumps(good | wrong))
