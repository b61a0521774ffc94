"""The voter sets in the memory of a process, as Kafka's `KRaftControlRecordStateMachine` has them.

Each offset of the log is read once. A truncation forgets the voter sets of what it removes, and does not go back in
reading: what is written later below the end of the lost tail is never read by this process. Measured in
`tests/live/test_removals.py`. Only a new process reads the whole log.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.simulation.model.kafka.disk import Entry

from kafka_quorum.model.ids import ReplicaKey


@dataclass(slots=True, kw_only=True)
class VoterHistory:
    """What was read, by offset. `next_offset` is the first offset that was not read yet."""

    next_offset: int = 0
    _read: list[tuple[int, frozenset[ReplicaKey]]] = field(default_factory=list)

    @property
    def newest(self) -> frozenset[ReplicaKey] | None:
        """The last voter set that was read, committed or not; None if the log had none."""
        return self._read[-1][1] if self._read else None

    @property
    def changed_at(self) -> int:
        """The offset of the last voter set that was read; -1 for none."""
        return self._read[-1][0] if self._read else -1

    def truncated(self, end: int) -> None:
        """The log now ends at this offset. `next_offset` stays: that is Kafka's fault."""
        while self._read and self._read[-1][0] >= end:
            self._read.pop()

    def read(self, log: Sequence[Entry]) -> str:
        """Read what is new; returns why Kafka ends, or an empty text.

        It ends if two voter sets in a row differ by more than one voter: their majorities need not overlap.
        """
        while self.next_offset < len(log):
            voters, before = log[self.next_offset].voters, self.newest
            if voters is not None:
                if before is not None and max(len(voters - before), len(before - voters)) > 1:
                    return "Last voter set and new voter set do not have overlapping majorities"
                self._read.append((self.next_offset, voters))
            self.next_offset += 1
        return ""
