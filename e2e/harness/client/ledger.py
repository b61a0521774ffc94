"""What a client keeps about one partition, and the judgement of it at the end. Pure.

Each record has a sequence number of its partition. An idempotent producer promises that the records of a partition lie
in the log in the order of their numbers and each of them once. An acknowledgement with `acks=all` promises that a
record stays at its offset. Times are seconds since 1970.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """The acknowledgement of a record: its number, its offset, and when it came."""

    sequence: int
    offset: int
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A record that a consumer read."""

    offset: int
    sequence: int


@dataclass(slots=True)
class Lane:
    """All about one partition. `sent` is the next number."""

    sent: int = 0
    acknowledged: list[Acknowledged] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    """What the client said in place of an acknowledgement: the record may be in the log or not."""
    consumed: list[Read] = field(default_factory=list)
    """What the running consumer read, in its order."""

    @property
    def open(self) -> int:
        """How many records have neither an acknowledgement nor a failure."""
        return self.sent - len(self.acknowledged) - len(self.failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement of a partition, or of many: `faults` must be empty.

    `lost`: acknowledged, and not in the log. `moved`: in the log, and not at the acknowledged offset. `duplicated`:
    more than once in the log. `disordered`: before a record with a lower number. `reread`: the running consumer got
    it after one with the same or a higher offset. `withdrawn`: the running consumer got it, and it is not in the log
    at that offset. `skipped`: in the log, and the running consumer went past it. `unanswered` were not acknowledged,
    `happened` of them are in the log.
    """

    acknowledged: int = 0
    consumed: int = 0
    lost: int = 0
    moved: int = 0
    duplicated: int = 0
    disordered: int = 0
    reread: int = 0
    withdrawn: int = 0
    skipped: int = 0
    unanswered: int = 0
    happened: int = 0
    examples: tuple[str, ...] = ()

    def plus(self, other: "Verdict") -> "Verdict":
        """Both together."""
        ours, theirs = asdict(self), asdict(other)
        summed = {name: ours[name] + theirs[name] for name in ours}
        return Verdict(**(summed | {"examples": summed["examples"][: _EXAMPLES * 4]}))

    @property
    def faults(self) -> dict[str, int]:
        """What breaks a promise of Kafka's, by its name; empty for a good run."""
        names = ("lost", "moved", "duplicated", "disordered", "reread", "withdrawn", "skipped")
        return {name: count for name in names if (count := getattr(self, name))}

    def values(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def judge(name: str, lane: Lane, log: Sequence[Read]) -> Verdict:
    """Compare what a partition promised with all records that are in its log now."""
    at_offset = {row.offset: row.sequence for row in log}
    counts = Counter(row.sequence for row in log)
    gone = [row for row in lane.acknowledged if at_offset.get(row.offset) != row.sequence]
    lost = [row for row in gone if row.sequence not in counts]
    answered = {row.sequence for row in lane.acknowledged}
    unanswered = [number for number in range(lane.sent) if number not in answered]
    withdrawn = [row for row in lane.consumed if at_offset.get(row.offset) != row.sequence]
    examples = [
        *(f"{name}: acknowledged record {row.sequence} is not at offset {row.offset}" for row in gone[:_EXAMPLES]),
        *(f"{name}: consumed record {row.sequence} is not at offset {row.offset}" for row in withdrawn[:_EXAMPLES]),
        *_twice(name, lane, log, counts),
    ]
    return Verdict(
        acknowledged=len(lane.acknowledged),
        consumed=len(lane.consumed),
        lost=len(lost),
        moved=len(gone) - len(lost),
        duplicated=sum(count - 1 for count in counts.values()),
        disordered=sum(after.sequence < before.sequence for before, after in itertools.pairwise(log)),
        reread=sum(after.offset <= before.offset for before, after in itertools.pairwise(lane.consumed)),
        withdrawn=len(withdrawn),
        skipped=_skipped(lane.consumed, at_offset),
        unanswered=len(unanswered),
        happened=sum(number in counts for number in unanswered),
        examples=tuple(examples),
    )


def _twice(name: str, lane: Lane, log: Sequence[Read], counts: Counter[int]) -> list[str]:
    """A sentence for each of the first records that are in the log more than once."""
    found = []
    for number in sorted(number for number, count in counts.items() if count > 1)[:_EXAMPLES]:
        offsets = [row.offset for row in log if row.sequence == number]
        answers = [f"offset {row.offset} at {row.at_s:.1f} s" for row in lane.acknowledged if row.sequence == number]
        found.append(f"{name}: record {number} is at offsets {offsets}, acknowledged: {answers}")
    return found


def _skipped(consumed: Sequence[Read], at_offset: dict[int, int]) -> int:
    """Records of the log up to the last consumed offset that the running consumer did not get."""
    if not consumed:
        return 0
    last, seen = max(row.offset for row in consumed), {row.offset for row in consumed}
    return sum(offset <= last and offset not in seen for offset in at_offset)


def longest_gap(times_s: Iterable[float], since_s: float, until_s: float) -> tuple[float, float]:
    """The longest time within a window without one of these moments, and when it began.

    The edges of the window count as moments.
    """
    inside = sorted(at for at in times_s if since_s < at < until_s)
    edges = [since_s, *inside, until_s]
    return max(((after - before, before) for before, after in itertools.pairwise(edges)), key=lambda row: row[0])


def longest_gap_s(times_s: Iterable[float], since_s: float, until_s: float) -> float:
    """Only how long it is."""
    return longest_gap(times_s, since_s, until_s)[0]


def gaps(lanes: dict[str, Lane], since_s: float, until_s: float) -> dict[str, tuple[float, float]]:
    """The longest time without an acknowledgement of each partition within a window, and when it began."""
    return {
        name: longest_gap((row.at_s for row in tuple(lane.acknowledged)), since_s, until_s)
        for name, lane in lanes.items()
    }
