"""The log of one replica as record counts: for each leader epoch, the offset at which its records end.

A record is its offset and its epoch: an epoch has one leader, so two logs with the same epoch at an offset have the
same record there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Span(NamedTuple):
    """Records of one epoch, from `start` up to and without `end`."""

    epoch: int
    start: int
    end: int


@dataclass(slots=True)
class ReplicaLog:
    """Epochs in order, with the offset at which each ends."""

    ends: list[tuple[int, int]] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The log end offset."""
        return self.ends[-1][1] if self.ends else 0

    @property
    def spans(self) -> list[Span]:
        """The records, epoch by epoch."""
        starts = [0, *(end for _, end in self.ends)]
        return [Span(epoch, start, end) for (epoch, end), start in zip(self.ends, starts, strict=False)]

    def copy(self) -> "ReplicaLog":
        """Another log with the same records."""
        return ReplicaLog(list(self.ends))

    def append(self, epoch: int, count: int) -> None:
        """Append this number of records of an epoch."""
        end = self.end + count
        if self.ends and self.ends[-1][0] == epoch:
            self.ends.pop()
        self.ends.append((epoch, end))

    def truncate(self, end: int) -> None:
        """Remove every record from this offset on."""
        while self.ends and self.ends[-1][1] > end:
            epoch, _ = self.ends.pop()
            start = self.end
            if start < end:
                self.ends.append((epoch, end))

    def common(self, other: "ReplicaLog") -> int:
        """The offset up to which two logs have the same records."""
        mine, theirs = self.spans, other.spans
        reached = 0
        for one, two in zip(mine, theirs, strict=False):
            if (one.epoch, one.start) != (two.epoch, two.start):
                break
            reached = min(one.end, two.end)
            if one.end != two.end:
                break
        return reached

    def fetch(self, source: "ReplicaLog", most: int) -> None:
        """Truncate to what the source has too, and append at most this number of its next records."""
        if self.ends == source.ends:
            return
        reached = self.common(source)
        if self.end > reached:
            self.truncate(reached)
        for epoch, start, end in source.spans:
            if most > 0 and end > self.end:
                count = min(end - max(start, self.end), most)
                self.append(epoch, count)
                most -= count

    def has(self, wanted: Iterable[Span]) -> bool:
        """Whether all of these records are in this log."""
        spans = {span.epoch: span for span in self.spans}
        return all(
            (found := spans.get(one.epoch)) is not None and found.start <= one.start and one.end <= found.end
            for one in wanted
        )
