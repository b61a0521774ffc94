"""What a log has from an offset on is counted by type and by topic, and its JSON is read back strictly."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.kraftlog import disks, logs
from tests.kraftlog.record_samples import LIVES, SAMPLES, recorded

from kraftlog.codecs import Codec
from kraftlog.disk import Content, DiskError, FormError, content, look, read_content, read_look, to_json
from kraftlog.disk.form import LIST_MAX, STRING_MAX_CHARS, TEXT_MAX_CHARS
from kraftlog.values import Value
from kraftlog.writer import NewBatch, NewRecord, batch_of, record_of


def metadata(key: int, **data: Value) -> NewRecord:
    """A metadata record of version 0."""
    schema = logs.CATALOG.find(key, 0)
    assert schema is not None
    return record_of(schema, data)


def counted(found: Content) -> dict[str, int]:
    """The number of records by type."""
    return {each.type: each.records for each in found.types}


def rows(found: Content) -> list[tuple[str | None, bool, bool, int]]:
    """The topics."""
    return [(each.name, each.created, each.removed, each.records) for each in found.topics]


def test_topics_are_found_by_name(tmp_path: Path) -> None:
    """Records that name only the id of a topic are listed by the name that an earlier record has."""
    ids = {name: (letter * 21 + "A") for name, letter in (("old", "B"), ("new", "C"), ("gone", "D"))}
    first = [metadata(2, name=name, topicId=ids[name]) for name in ("old", "gone")]
    partition: dict[str, Value] = {"replicas": [1], "isr": [1], "removingReplicas": [], "addingReplicas": []}
    numbers: dict[str, Value] = {"partitionId": 0, "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0}
    later = [
        metadata(2, name="new", topicId=ids["new"]),
        metadata(3, topicId=ids["new"], **partition, **numbers),
        metadata(9, topicId=ids["gone"]),
        metadata(4, resourceType=2, resourceName="old", name="retention.ms", value="1"),
        metadata(4, resourceType=2, resourceName="nowhere", name="retention.ms", value="1"),
        metadata(4, resourceType=4, resourceName="1", name="x", value="1"),
        metadata(5, partitionId=0, topicId="EEEEEEEEEEEEEEEEEEEEEA"),
    ]
    pieces = [batch_of(NewBatch(base_offset=0), first), batch_of(NewBatch(base_offset=2), later)]
    found = content(disks.make(tmp_path / "a", {0: b"".join(pieces)}), 2)
    assert rows(found) == [
        ("gone", False, True, 1), ("new", True, False, 2), ("nowhere", False, False, 1), ("old", False, False, 1),
        (None, False, False, 1),
    ]  # fmt: skip
    assert counted(found) == {
        "CONFIG_RECORD": 3, "TOPIC_RECORD": 1, "PARTITION_RECORD": 1, "REMOVE_TOPIC_RECORD": 1,
        "PARTITION_CHANGE_RECORD": 1,
    }  # fmt: skip
    assert (found.records, found.unread_records, found.topics_total) == (7, 0, 5)


def test_a_batch_is_counted_from_the_offset_on(tmp_path: Path) -> None:
    """Of a batch with records on both sides of the offset, only those from the offset on count."""
    home = disks.make(tmp_path / "a")
    assert rows(content(home, 4)) == [("e", True, False, 4)]  # the made topics have one id, and the last name counts
    assert (content(home, 4).records, content(home, 7).records, content(home, 8).records) == (4, 1, 0)
    assert content(home, 99).end_offset == 8
    assert counted(content(home, 0)) == {"TOPIC_RECORD": 5, "LeaderChange": 1, "KRaftVersion": 1, "KRaftVoters": 1}


def test_names_from_the_checkpoint(tmp_path: Path) -> None:
    """A topic that only the checkpoint names is listed by that name."""
    gone = batch_of(NewBatch(base_offset=0), [metadata(9, topicId="AAAAAAAAAAAAAAAAAAAAAA")])
    assert rows(content(disks.make(tmp_path / "a", {0: gone}), 0)) == [("kept", False, True, 1)]


def test_what_cannot_be_decoded_is_counted(tmp_path: Path) -> None:
    """Unknown records, unknown versions, damaged records and compressed batches are counted, and said to be unread."""
    odd = [NewRecord(b"\1\x7f\0abc"), NewRecord(b"\1\2\x1f"), NewRecord(b"\7"), NewRecord(b"\1\2\0\5")]
    pieces = [
        batch_of(NewBatch(base_offset=0), odd),
        batch_of(NewBatch(base_offset=4, codec=Codec.GZIP), [logs.topic("x"), logs.topic("y")]),
        disks.control(6, NewRecord(b"\0\0", key=b"\0\0\0\x09"), epoch=1),
    ]
    found = content(disks.make(tmp_path / "a", {0: b"".join(pieces)}), 0)
    assert counted(found) == {"TOPIC_RECORD": 2, "UNREAD": 2, "UNKNOWN_127": 1, "UNKNOWN": 1, "UNKNOWN_9": 1}
    assert (found.records, found.unread_records) == (7, 5)


def test_the_content_ends_with_the_valid_log(tmp_path: Path) -> None:
    """What is behind damage is not counted."""
    pieces = disks.parts()
    pieces[2] = pieces[2][:-1] + b"\7"
    found = content(disks.make(tmp_path / "a", {0: b"".join(pieces)}), 0)
    assert (found.end_offset, found.records) == (5, 5)


@pytest.mark.parametrize("release", LIVES)
def test_the_content_of_real_disks(release: str) -> None:
    """The counts by type on a recorded disk are those that Kafka's own tool printed."""
    home = SAMPLES / release / "node-1"
    paths, lines = recorded(SAMPLES / release)
    own = [path for path in paths if path.parent.parent == home and path.suffix == ".log"]
    assert len(own) == 1
    expected: dict[str, int] = {}
    size = {path: len(logs.read(path)[0]) for path in paths}
    start = sum(size[path] for path in paths[: paths.index(own[0])])
    for line in lines[start : start + size[own[0]]]:
        expected[line["type"]] = expected.get(line["type"], 0) + 1
    found = content(home, 0)
    assert (counted(found), found.unread_records) == (expected, 0)
    assert all(each.name for each in found.topics)


def test_json_is_read_back(tmp_path: Path) -> None:
    """A look and a content are the same after JSON, and the JSON is one line of ASCII."""
    home = disks.make(tmp_path / "a", {0: b"".join(disks.parts()) + disks.topics(8, "ü\u202e") + b"\0\1"})
    found = look(home)
    assert found.tail is not None
    assert read_look(to_json(found)) == found
    assert read_content(to_json(content(home, 0))) == content(home, 0)
    assert to_json(content(home, 0)).isascii()
    assert "\n" not in to_json(found)


def test_json_of_others_is_refused(tmp_path: Path) -> None:
    """JSON with any field missing, unknown, doubled or of another type is refused with the field's name."""
    good: dict[str, Any] = json.loads(to_json(look(disks.make(tmp_path / "a"))))
    for name, value in good.items():
        without = {key: value for key, value in good.items() if key != name}
        with pytest.raises(FormError, match=name):
            read_look(json.dumps(without))
        others: tuple[object, ...] = ("text", -1, 2**63, True, [1], {"x": 1}, 1.5)
        for other in others:
            if type(other) is not type(value) or other in (-1, 2**63):
                with pytest.raises(FormError):
                    read_look(json.dumps(good | {name: other}))
    deep = json.loads(json.dumps(good))
    deep["voters_in_log"]["voters"][1]["endpoints"][0]["port"] = "9093"
    with pytest.raises(FormError, match=r"DiskLook\.voters_in_log\.voters\[1\]\.endpoints\[0\]\.port: .* whole number"):
        read_look(json.dumps(deep))


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "1", '"x"', "[" * 200_000, "{" * 200_000, '{"schema":1,"schema":1}', '{"schema":NaN}',
        '{"schema":' + "9" * 5000 + "}", " " * (TEXT_MAX_CHARS + 1), '{"schema":1,"\x1b[2J":1}', "\ud800",
    ],
    ids=range(13),
)  # fmt: skip
def test_hostile_text(text: str) -> None:
    """Any other text is refused with one short line without control characters."""
    with pytest.raises(FormError) as caught:
        read_look(text)
    assert len(str(caught.value)) < 300
    assert "\x1b" not in str(caught.value)


def test_bounds_of_lists_and_texts(tmp_path: Path) -> None:
    """Lists and texts beyond their bounds are refused."""
    good = json.loads(to_json(look(disks.make(tmp_path / "a"))))
    for name, value in (("segments", [good["segments"][0]] * (LIST_MAX + 1)), ("cluster_id", "x" * 5000)):
        with pytest.raises(FormError, match=f"{name}.*at most ({LIST_MAX}|{STRING_MAX_CHARS})"):
            read_look(json.dumps(good | {name: value}))


def test_another_schema(tmp_path: Path) -> None:
    """A later schema is refused with what to do."""
    good = json.loads(to_json(look(disks.make(tmp_path / "a"))))
    with pytest.raises(FormError, match="schema 3, this version reads 2: use the version that wrote it"):
        read_look(json.dumps(good | {"schema": 3, "later": 1}))


def test_a_content_without_a_disk(tmp_path: Path) -> None:
    """A directory that is none of Kafka's has no content, not an empty one."""
    with pytest.raises(DiskError, match="no such file"):
        content(tmp_path, 0)
