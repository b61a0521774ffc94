"""The state that a log describes, record by record: topics that go, and transactions."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest
from tests.kraftlog import synthetic

from kraftlog.schema import catalog
from quorum_history.at import state_of
from quorum_history.image import ALL_TYPES, MIGRATING, Image

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
    """A dictionary that counts the keys over which somebody goes, or which are copied."""

    visited = 0

    def keys(self) -> Any:  # noqa: ANN401 -- as in a dictionary
        """A copy takes the keys."""
        self.visited += len(self)
        return super().keys()

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


@pytest.mark.parametrize("end", [_END, _ABORT])
def test_a_transaction_costs_what_it_changes(end: str) -> None:
    """A transaction neither copies nor reads the entries that it does not change, however often it begins."""
    image = Image()
    image.partitions, image.topics, image.configs = _Counted(), _Counted(), _Counted()
    for number in range(100):
        for record_type, data in _topic(number):
            image.replay(record_type, data)
    for number in range(100, 120):
        for record_type, data in ((_BEGIN, {}), (_BEGIN, {}), *_topic(number), (end, {})):
            image.replay(record_type, data)
    assert len(image.topics) == (120 if end == _END else 100)
    assert image.partitions.visited + image.topics.visited + image.configs.visited == 0


class _Copying:
    """The same state, with a copy of all of it at each beginning of a transaction."""

    def __init__(self) -> None:
        """Starts empty."""
        self.image, self.before = Image(), None

    image: Image
    before: Image | None

    def replay(self, record_type: str, data: dict[str, Any]) -> None:
        """Apply one record."""
        match record_type:
            case "BEGIN_TRANSACTION_RECORD":
                self.before = self.before or copy.deepcopy(self.image)
            case "END_TRANSACTION_RECORD":
                self.before = None
            case "ABORT_TRANSACTION_RECORD":
                self.image, self.before = self.published, None
            case _:
                self.image.replay(record_type, data)

    @property
    def published(self) -> Image:
        """The state before a transaction, with the quorum's own records."""
        if self.before is None:
            return self.image
        before = copy.deepcopy(self.before)
        before.leader, before.kraft_version, before.voters = (
            self.image.leader,
            self.image.kraft_version,
            self.image.voters,
        )
        return before


def _few(data: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The data of a record with names of few entities, so that records meet."""
    names: dict[str, list[Any]] = {
        "topicId": ["A", "B", "C"], "topicName": ["", "t-1", "t-2"], "partitionId": [0, 1], "brokerId": [1, 2],
        "controllerId": [1, 2], "id": [1, 2], "tokenId": ["k", "l"], "mechanism": [1, 2], "resourceType": [2, 4],
        "resourceName": ["t-1", "t-2"], "key": ["rate"], "entity": [[], [{"entityType": "user", "entityName": "u"}]],
        "name": ["t-1", "t-2"], "remove": [True, False], "featureLevel": [0, 7],
        "directories": [[MIGRATING], ["1111111111111111111111"]],
    }  # fmt: skip
    chosen = data | {name: rng.choice(each) for name, each in names.items() if name in data}
    if {"name", "topicId"} <= chosen.keys():
        chosen["name"] = {"A": "t-1", "B": "t-2", "C": "t-3"}[chosen["topicId"]]  # two topics never share a name
    return chosen


@pytest.mark.parametrize("seed", range(40))
def test_a_transaction_is_undone_as_if_all_had_been_copied(seed: int) -> None:
    """With every type of record, within and outside transactions, the state equals that of a copying replay."""
    rng = random.Random(seed)
    schemas = [each for each in catalog("4.4.0").schemas.values() if each.type_name in ALL_TYPES]
    assert len({each.type_name for each in schemas}) > 20
    ends = [each for each in schemas if each.type_name in {_BEGIN, _END, _ABORT}]
    image, twin, inside = Image(), _Copying(), 0
    for _ in range(600):
        schema = rng.choice(ends if rng.random() < 0.1 else schemas)
        data = _few(dict(synthetic.data_of(schema.fields, rng)), rng)
        image.replay(schema.type_name, copy.deepcopy(data))
        twin.replay(schema.type_name, copy.deepcopy(data))
        assert (image, image.in_transaction) == (twin.image, twin.before is not None), schema.type_name
        assert state_of(image.published) == state_of(twin.published), schema.type_name
        inside += image.in_transaction
    assert inside > 50
    assert image.topics or image.partitions or image.configs


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
