"""The state that a log describes, record by record: topics that go, and transactions."""

from collections.abc import Iterator
from typing import Any

import pytest

from quorum_history.image import Image

_BEGIN, _END, _ABORT = (f"{each}_TRANSACTION_RECORD" for each in ("BEGIN", "END", "ABORT"))


def _topic(number: int, partitions: int = 1) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "TOPIC_RECORD", {"name": f"t-{number}", "topicId": f"id-{number}"}
    for partition in range(partitions):
        yield "PARTITION_RECORD", {"topicId": f"id-{number}", "partitionId": partition, "replicas": [1]}
    yield "CONFIG_RECORD", {"resourceType": 2, "resourceName": f"t-{number}", "name": "retention.ms", "value": "1"}


def _removed(number: int) -> tuple[str, dict[str, Any]]:
    return "REMOVE_TOPIC_RECORD", {"topicId": f"id-{number}"}


def _image(*records: tuple[str, dict[str, Any]]) -> Image:
    image = Image()
    for record_type, data in records:
        image.replay(record_type, data)
    return image


class _Counted(dict[Any, Any]):
    """A dictionary that counts the keys over which somebody goes."""

    visited = 0

    def __iter__(self) -> Iterator[Any]:
        for each in super().__iter__():
            self.visited += 1
            yield each


@pytest.mark.parametrize("topics", [50, 500])
def test_the_removal_of_a_topic_looks_at_nothing_else(topics: int) -> None:
    """Whatever other topics there are, no key of theirs is looked at."""
    image = Image()
    image.partitions, image.configs = _Counted(), _Counted()
    for number in range(topics):
        for record_type, data in _topic(number, partitions=2):
            image.replay(record_type, data)
    for number in range(topics):
        image.replay(*_removed(number))
    assert (image.topics, image.partitions, image.configs) == ({}, {}, {})
    assert image.partitions.visited + image.configs.visited <= 3 * topics


def test_one_topic_of_several_goes() -> None:
    """A removed topic takes its partitions and settings with it, and those of other topics stay."""
    image = _image(*_topic(1, 3), *_topic(2), _removed(1))
    assert (set(image.partitions), set(image.configs)) == ({("id-2", 0)}, {(2, "t-2", "retention.ms")})


@pytest.mark.parametrize("end", [_END, _ABORT])
def test_topics_come_and_go_in_a_transaction(end: str) -> None:
    """After a transaction that changed topics, a removal takes every partition and setting that is there then."""
    image = _image(
        *_topic(1), (_BEGIN, {}), _removed(1), *_topic(1, 3), *_topic(2), (end, {}), *_topic(3), _removed(1)
    )  # fmt: skip
    assert {topic for topic, _ in image.partitions} == ({"id-2", "id-3"} if end == _END else {"id-3"})
    assert {topic for _, topic, _ in image.configs} == ({"t-2", "t-3"} if end == _END else {"t-3"})


def test_a_transaction_within_a_transaction_does_not_begin() -> None:
    """As in Kafka, a second beginning is passed over: the abort leads back to before the first one."""
    image = _image(*_topic(1), (_BEGIN, {}), *_topic(2), (_BEGIN, {}), *_topic(3), (_ABORT, {}), (_ABORT, {}))
    assert image == _image(*_topic(1))


def test_beginnings_without_an_end_keep_one_earlier_state() -> None:
    """However many there are, one state is kept besides the present one."""
    image = _image(*_topic(1), *[(_BEGIN, {})] * 100)
    kept = 0
    earlier = image._before
    while earlier is not None:
        kept, earlier = kept + 1, earlier._before
    assert kept == 1


def test_what_is_published_in_a_transaction() -> None:
    """Kafka publishes no state within a transaction: the one before it stands, with the quorum's own records."""
    leader = ("LeaderChange", {"leaderId": 7})
    image = _image(*_topic(1), (_BEGIN, {}), *_topic(2), leader)
    assert image.published == _image(*_topic(1), leader)
    image.replay(_END, {})
    assert image.published == _image(*_topic(1), *_topic(2), leader)


def test_eligible_leaders_are_cleared_by_topic() -> None:
    """Those of the named topic, or of all topics if no name is given."""
    elr = {"eligibleLeaderReplicas": [2], "lastKnownElr": [3]}
    changes = [("PARTITION_CHANGE_RECORD", {"topicId": f"id-{n}", "partitionId": 0, **elr}) for n in (1, 2)]
    records = [*_topic(1), *_topic(2), *changes]
    for name, cleared in (("t-1", {"id-1"}), ("", {"id-1", "id-2"}), ("t-9", set())):
        image = _image(*records, ("CLEAR_ELR_RECORD", {"topicName": name}))
        assert {topic for (topic, _), each in image.partitions.items() if not each["eligibleLeaderReplicas"]} == cleared
