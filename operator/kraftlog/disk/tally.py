"""Records of a log counted by type and by topic, within bounds: a disk may hold anything."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from typing import Final, cast

from kraftlog.disk.batches import Batch, RawRecord, control_type, records
from kraftlog.disk.model import TopicContent, TypeCount
from kraftlog.schema import CONTROL_TYPES, catalog
from kraftlog.values import Data, MalformedError, decode

NAMES_MAX: Final = 200_000
"""The most topics that are remembered, by name and by id: more than a cluster of Kafka can have."""
TYPES_MAX: Final = 1000
"""The most types that are told apart."""
_NAME_MAX_CHARS = 249  # Kafka's own limit
_TOPIC, _CONFIG, _REMOVE = 2, 4, 9
_BY_ID = frozenset({3, 5, _REMOVE})  # PARTITION_RECORD, PARTITION_CHANGE_RECORD, REMOVE_TOPIC_RECORD
_TOPIC_RESOURCE = 2
_VARINT_BITS = 35
_UNREAD = "UNREAD"
"""The type of records in compressed or contradictory batches, which Kafka does not write into this log."""
_OTHER = "OTHER"
"""The type of records of further types, if there are more than `TYPES_MAX`."""


@dataclass(slots=True)
class _Topic:
    """What the counted records say about a topic."""

    topic_id: str | None
    created: bool = False
    removed: bool = False
    records: int = 0


@dataclass(slots=True)
class Tally:
    """Everything that was counted so far, and the names that were seen."""

    types: Counter[str] = field(default_factory=Counter)
    unread: int = 0
    full: bool = False
    """Whether there were more topics than `NAMES_MAX`: then not every topic is listed, or has its name."""
    names: dict[str, str] = field(default_factory=dict)
    by_id: dict[str, _Topic] = field(default_factory=dict)
    by_name: Counter[str] = field(default_factory=Counter)

    def forget(self) -> None:
        """Forget what was counted; the names of topics stay."""
        self.types, self.by_id, self.by_name = Counter(), {}, Counter()
        self.unread, self.full = 0, len(self.names) >= NAMES_MAX

    def learn(self, batch: Batch) -> None:
        """Take only the names of topics; what cannot be decoded has none."""
        if batch.control:
            return
        try:
            for record in records(batch):
                if _frame(record.value)[0] == _TOPIC:
                    self._name(record.value)
        except MalformedError:
            return

    def count(self, batch: Batch, from_offset: int) -> None:
        """Count the records of a batch from an offset on."""
        counted = 0
        try:
            for record in records(batch):
                if record.offset >= from_offset:
                    self._record(record, control=batch.control)
                    counted += 1
        except MalformedError:
            left = max(1, batch.last_offset + 1 - max(batch.base_offset, from_offset) - counted)
            self._type(_UNREAD, left)
            self.unread += left

    def _record(self, record: RawRecord, *, control: bool) -> None:
        if control:
            kind = control_type(record)
            self._type(CONTROL_TYPES.get(-1 if kind is None else kind, f"UNKNOWN_{kind}"))
            return
        try:
            key, _, _ = _frame(record.value)
            self._type(_type_names().get(key, f"UNKNOWN_{key}"))
        except MalformedError:
            self._type("UNKNOWN")
            self.unread += 1
            return
        try:
            self._about(key, record.value)
        except MalformedError:
            self.unread += 1

    def _type(self, name: str, number: int = 1) -> None:
        known = name in self.types or len(self.types) < TYPES_MAX
        self.types[name if known else _OTHER] += number

    def _about(self, key: int, value: bytes) -> None:
        """Find the topic that a record is about (MalformedError)."""
        if key == _TOPIC:
            topic = self._of(self._name(value))
            topic.created = True
            topic.records += 1
        elif key in _BY_ID:
            topic = self._of(cast("str", _decoded(value)["topicId"]))
            topic.removed = topic.removed or key == _REMOVE
            topic.records += 1
        elif key == _CONFIG:
            data = _decoded(value)
            if data["resourceType"] == _TOPIC_RESOURCE:
                name = _cut(cast("str", data["resourceName"]))
                if self._has_room(self.by_name, name):
                    self.by_name[name] += 1

    def _name(self, value: bytes) -> str:
        """Take the name of a topic; returns its id (MalformedError)."""
        data = _decoded(value)
        topic_id = cast("str", data["topicId"])
        if self._has_room(self.names, topic_id):
            self.names[topic_id] = _cut(cast("str", data["name"]))
        return topic_id

    def _of(self, topic_id: str) -> _Topic:
        if not self._has_room(self.by_id, topic_id):
            return _Topic(topic_id)
        return self.by_id.setdefault(topic_id, _Topic(topic_id))

    def _has_room(self, known: Collection[str], key: str) -> bool:
        room = key in known or len(known) < NAMES_MAX
        self.full = self.full or not room
        return room

    def counts(self) -> tuple[TypeCount, ...]:
        """The types with the number of their records, the most frequent one first."""
        ordered = sorted(self.types.items(), key=lambda each: (-each[1], each[0]))
        return tuple(TypeCount(type=name, records=number) for name, number in ordered)

    def contents(self) -> tuple[TopicContent, ...]:
        """The topics that records were counted for, by name."""
        found = []
        left = Counter(self.by_name)
        ids = {name: topic_id for topic_id, name in self.names.items() if name in left}
        settled = {topic_id: _Topic(topic_id) for topic_id in ids.values()} | self.by_id
        for topic_id, topic in settled.items():
            name = self.names.get(topic_id)
            configs = left.pop(name, 0) if name is not None else 0
            if topic.records or configs:
                found.append(
                    TopicContent(
                        name=name,
                        topic_id=topic_id,
                        created=topic.created,
                        removed=topic.removed,
                        records=topic.records + configs,
                    )
                )
        found += [
            TopicContent(name=name, topic_id=None, created=False, removed=False, records=number)
            for name, number in left.items()
        ]
        return tuple(sorted(found, key=lambda each: (each.name is None, each.name or "", each.topic_id or "")))


def _frame(value: bytes) -> tuple[int, int, int]:
    """Api key, version and start of the body of a metadata record (MalformedError: not in the frame of version 1)."""
    numbers, at = [], 0
    for _ in range(3):
        number = 0
        for shift in range(0, _VARINT_BITS, 7):
            if at >= len(value):
                raise MalformedError("a record without a frame")
            byte = value[at]
            at += 1
            number |= (byte & 0x7F) << shift
            if byte < 1 << 7:
                break
        numbers.append(number)
    if numbers[0] != 1:
        raise MalformedError(f"a frame of version {numbers[0]}")
    return numbers[1], numbers[2], at


def _decoded(value: bytes) -> Data:
    """The values of a metadata record (MalformedError: unknown, or damaged)."""
    key, version, body = _frame(value)
    schema = catalog().find(key, version)
    if schema is None:
        raise MalformedError(f"version {version} of type {key} is not known")
    return decode(schema, value[body:])


@cache
def _type_names() -> dict[int, str]:
    """The name of each metadata record by its key."""
    return {schema.key: schema.type_name for schema in catalog().schemas.values() if not schema.control}


def _cut(name: str) -> str:
    return name[:_NAME_MAX_CHARS]
