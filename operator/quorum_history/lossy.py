"""The state that a downgrade can lose, replayed from a log without decoding records that do not change it.

Most of a log is partitions and their changes. Of those, a downgrade loses only whether a replica's directory is
assigned. So these records are not decoded: only their ids and directories are read, in place. All others, of which
there are few, are replayed as they are.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kraftlog import Fault, NotALogError, RecordBlock
from kraftlog.compiled import Bytes, Ints
from quorum_history.image import LOSSY_TYPES, MIGRATING, Entity, Image
from quorum_history.records import decoded
from quorum_history.replay import Replay, ReplayPlan, replay_plan
from quorum_history.replicas import ClusterLog
from quorum_history.state import Found

_ASSIGNED: Final[Entity] = {"directories": ["(assigned)"], "leaderRecoveryState": 0}
"""A partition with a directory that a broker has reported: which directory makes no difference."""
_UNASSIGNED: Final[Entity] = {"directories": [MIGRATING], "leaderRecoveryState": 0}

_PARTITION: Final = "PARTITION_RECORD"
_PARTITIONS: Final = (_PARTITION, "PARTITION_CHANGE_RECORD")
_FIELDS: Final = ("topicId", "partitionId", "directories")
_ORDERED: Final = frozenset(
    {
        *("REMOVE_TOPIC_RECORD", "BEGIN_TRANSACTION_RECORD", "END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD"),
        *_PARTITIONS,
    }
)
"""Only for these types, their order relative to changes of a partition makes a difference."""
_UUID_BYTES: Final = 16
_MOST_DIRECTORIES: Final = 126
"""The length of a longer array takes more than one byte: such a record is decoded."""


def lossy_image(log: ClusterLog, faults: list[Found]) -> Image:
    """The last known state of a log, as Kafka publishes it, of `LOSSY_TYPES`; all that is wrong is added to `faults`.

    Of a partition it contains only its directories, and of these only whether one is assigned.
    """
    return lossy_state(replay_plan(log), faults)


def lossy_state(plan: ReplayPlan, faults: list[Found]) -> Image:
    """The same of what a plan names."""
    replay = Replay(plan, LOSSY_TYPES)
    state = _State(replay.faults)
    for _, blocks in replay.files():
        try:
            for block in blocks:
                state.add(block)
        except NotALogError as error:
            replay.cannot_read(error)
    faults += replay.found()
    return state.image.published


@dataclass(frozen=True, slots=True)
class _Told:
    """The content of a block's partition records, in order: row, topic and partition, whether it is new, and its state.

    `read` are the rows that need no decoding. Of these, changes without directories are left out.
    """

    read: Ints
    rows: Ints
    keys: list[tuple[str, int]]
    new: list[bool]
    states: list[Entity]


class _State:
    """The state so far."""

    def __init__(self, faults: list[Fault]) -> None:
        self.image, self._faults = Image(), faults
        self._names: dict[bytes, str] = {}
        """Topic ids as Kafka prints them."""

    def add(self, block: RecordBlock) -> None:
        """Apply the records of the next block."""
        told, done = self._told(block), 0
        others = np.setdiff1d(np.arange(len(block)), told.read, assume_unique=True)
        for row, record in self._decoded(block, others):
            if record["type"] in _ORDERED:
                upto = int(np.searchsorted(told.rows, row))
                self._apply(told, done, upto)
                done = upto
            self.image.replay(record["type"], record["data"])
        self._apply(told, done, told.rows.size)

    def _decoded(self, block: RecordBlock, rows: Ints) -> Iterator[tuple[int, Mapping[str, Any]]]:
        if rows.size:
            pairs = zip(rows.tolist(), decoded(block.only(rows), self._faults), strict=True)
            yield from ((row, record) for row, record in pairs if not isinstance(record["data"], str))

    def _told(self, block: RecordBlock) -> _Told:
        rows, data = block.of_types(_PARTITIONS), block.data
        topics, numbers, directories = block.find(rows, _FIELDS)
        counts = np.where(directories >= 0, data[directories].astype(np.int64), 0) - 1  # -1 is null, or missing
        read = (topics >= 0) & (numbers >= 0) & (counts <= _MOST_DIRECTORIES)
        assigned = np.zeros(rows.size, dtype=np.bool_)
        for number in range(int(counts[read].max(initial=0))):
            having = np.flatnonzero(read & (counts > number))
            places = directories[having] + 1 + number * _UUID_BYTES
            assigned[having] |= _bytes_at(data, places, _UUID_BYTES).any(axis=1)
        new = np.isin(rows, block.of_types((_PARTITION,)), assume_unique=True)
        told = np.flatnonzero(read & (new | (counts >= 0)))
        names = map(self._name, _bytes_at(data, topics[told], _UUID_BYTES).view(f"V{_UUID_BYTES}").ravel().tolist())
        ids = _bytes_at(data, numbers[told], 4).view(">i4").ravel().tolist()
        states = [_ASSIGNED if each else _UNASSIGNED for each in assigned[told].tolist()]
        return _Told(rows[read], rows[told], list(zip(names, ids, strict=True)), new[told].tolist(), states)

    def _name(self, topic_id: bytes) -> str:
        found = self._names.get(topic_id)
        if found is None:
            found = self._names[topic_id] = base64.urlsafe_b64encode(topic_id).decode().rstrip("=")
        return found

    def _apply(self, told: _Told, start: int, stop: int) -> None:
        partitions, part = self.image.partitions, slice(start, stop)
        plain = not self.image.in_transaction  # then an entry can be replaced without a call
        for key, new, state in zip(told.keys[part], told.new[part], told.states[part], strict=True):
            if plain and key in partitions:
                partitions[key] = state
            elif new or key in partitions:
                self.image.set_partition(key, state)


def _bytes_at(data: Bytes, places: Ints, size: int) -> Bytes:
    """This many bytes from each of these places on, one row each."""
    found: Bytes = data[places[:, None] + np.arange(size)]
    return found
