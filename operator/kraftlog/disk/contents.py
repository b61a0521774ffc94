"""What a log has from an offset on, so that a person can read what would be lost: record types, and topics by name."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, cast

from kraftlog.disk.batches import Batch, RawRecord, Walk, control_type, records
from kraftlog.disk.files import LOG_DIR, checkpoint_name, opened, system
from kraftlog.disk.identity import identity
from kraftlog.disk.looking import LogFiles, log_files, valid_batches
from kraftlog.disk.model import CONTENT_SCHEMA, Content, TopicContent, TypeCount
from kraftlog.schema import CONTROL_TYPES, catalog
from kraftlog.values import Data, MalformedError, decode

TOPICS_MAX: Final = 1000
"""The most topics that are listed; all of them are counted."""
_NAME_MAX_CHARS = 249  # Kafka's own limit
_TYPES_MAX = 1000
_TOPIC, _CONFIG, _REMOVE = 2, 4, 9
_BY_ID = frozenset({3, 5, _REMOVE})  # PARTITION_RECORD, PARTITION_CHANGE_RECORD, REMOVE_TOPIC_RECORD
_TOPIC_RESOURCE = 2
_VARINT_BITS = 35
_UNREAD = "UNREAD"
"""The type of records in compressed or contradictory batches, which Kafka does not write into this log."""


def content(metadata_dir: Path, from_offset: int) -> Content:
    """The records of the log from an offset on, up to the first batch that is not valid (`DiskError`).

    Names of topics come from the whole log and the newest checkpoint. An offset beyond the end is no error: the log has
    nothing there.
    """
    identity(metadata_dir)
    log_dir = metadata_dir / LOG_DIR
    files = log_files(log_dir)
    tally = _Tally()
    for batch in _checkpoint_batches(log_dir, files):
        tally.learn(batch)
    end = first = files.bases[0] if files.bases else 0
    for batch in valid_batches(log_dir, files.bases):
        end = batch.last_offset + 1
        if end <= from_offset:
            tally.learn(batch)
        else:
            tally.count(batch, from_offset)
    topics = tally.contents()
    return Content(
        schema=CONTENT_SCHEMA,
        from_offset=from_offset,
        first_offset=first,
        end_offset=end,
        records=tally.types.total(),
        unread_records=tally.unread,
        types=tuple(TypeCount(type=name, records=number) for name, number in tally.types.most_common(_TYPES_MAX)),
        topics=topics[:TOPICS_MAX],
        topics_total=len(topics),
    )


def _checkpoint_batches(log_dir: Path, files: LogFiles) -> Iterator[Batch]:
    """The batches of the newest checkpoint, as far as they are valid."""
    if files.checkpoint is None:
        return
    epoch, offset = files.checkpoint
    path = log_dir / checkpoint_name(offset, epoch)
    with system(path), opened(path) as (file, size_bytes):
        yield from Walk(file, size_bytes)


@dataclass(slots=True)
class _Topic:
    """What the counted records say about a topic."""

    topic_id: str | None
    created: bool = False
    removed: bool = False
    records: int = 0


@dataclass(slots=True)
class _Tally:
    """Everything that was counted so far, and the names that were seen."""

    types: Counter[str] = field(default_factory=Counter)
    unread: int = 0
    names: dict[str, str] = field(default_factory=dict)
    by_id: dict[str, _Topic] = field(default_factory=dict)
    by_name: Counter[str] = field(default_factory=Counter)

    def learn(self, batch: Batch) -> None:
        """Take only the names of topics; what cannot be decoded has none."""
        if batch.control:
            return
        try:
            for record in records(batch):
                if _frame(record.value)[0] == _TOPIC:
                    self._topic(record.value)
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
            left = batch.last_offset + 1 - max(batch.base_offset, from_offset) - counted
            self.types[_UNREAD] += left
            self.unread += left

    def _record(self, record: RawRecord, *, control: bool) -> None:
        if control:
            kind = control_type(record)
            self.types[CONTROL_TYPES.get(-1 if kind is None else kind, f"UNKNOWN_{kind}")] += 1
            return
        try:
            key, _, _ = _frame(record.value)
            self.types[_type_names().get(key, f"UNKNOWN_{key}")] += 1
        except MalformedError:
            self.types["UNKNOWN"] += 1
            self.unread += 1
            return
        try:
            self._about(key, record.value)
        except MalformedError:
            self.unread += 1

    def _about(self, key: int, value: bytes) -> None:
        """Find the topic that a record is about (MalformedError)."""
        if key == _TOPIC:
            topic = self._topic(value)
            topic.created = True
            topic.records += 1
        elif key in _BY_ID:
            topic = self._of(cast("str", _decoded(value)["topicId"]))
            topic.removed = topic.removed or key == _REMOVE
            topic.records += 1
        elif key == _CONFIG:
            data = _decoded(value)
            if data["resourceType"] == _TOPIC_RESOURCE:
                self.by_name[_cut(cast("str", data["resourceName"]))] += 1

    def _topic(self, value: bytes) -> _Topic:
        data = _decoded(value)
        topic_id = cast("str", data["topicId"])
        self.names[topic_id] = _cut(cast("str", data["name"]))
        return self._of(topic_id)

    def _of(self, topic_id: str) -> _Topic:
        return self.by_id.setdefault(topic_id, _Topic(topic_id))

    def contents(self) -> tuple[TopicContent, ...]:
        """The topics that records were counted for, by name."""
        found = []
        left = Counter(self.by_name)
        for topic_id, topic in self.by_id.items():
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
