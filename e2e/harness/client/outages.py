"""For how long partitions were offline, or had fewer replicas in sync than they need: from looks at metadata. Pure."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

OFFLINE = "offline"
UNDER_MIN_ISR = "under min ISR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One partition in a look. `leader` is -1 without one. `min_isr` is 0 if it is not known."""

    partition: str
    leader: int
    replicas: int
    isr: int
    min_isr: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A partition in a bad state, from the first look at it to the first good one; `until_s` is None while it lasts."""

    partition: str
    kind: str
    replicas: int
    since_s: float
    until_s: float | None = None


@dataclass(slots=True)
class Outages:
    """All outages so far. `looks` counts the looks, `blind_s` is the longest time between two of them."""

    ended: list[Outage] = field(default_factory=list)
    running: dict[tuple[str, str], Outage] = field(default_factory=dict)
    looks: int = 0
    blind_s: float = 0.0
    _last_s: float | None = None

    def note(self, seen: Iterable[Seen], at_s: float) -> None:
        """Add one look. A partition that the look does not have keeps its state: absent is not good."""
        if self._last_s is not None:
            self.blind_s = max(self.blind_s, at_s - self._last_s)
        self._last_s, self.looks = at_s, self.looks + 1
        for row in seen:
            self._set(row, OFFLINE, at_s, bad=row.leader < 0)
            self._set(row, UNDER_MIN_ISR, at_s, bad=row.isr < row.min_isr)

    def _set(self, row: Seen, kind: str, at_s: float, *, bad: bool) -> None:
        key = (row.partition, kind)
        if bad and key not in self.running:
            self.running[key] = Outage(partition=row.partition, kind=kind, replicas=row.replicas, since_s=at_s)
        elif not bad and key in self.running:
            began = self.running.pop(key)
            self.ended.append(Outage(**(asdict(began) | {"until_s": at_s})))

    def values(self) -> dict[str, Any]:
        """For JSON: in the order of their beginning."""
        rows = sorted((*self.ended, *self.running.values()), key=lambda row: (row.since_s, row.partition))
        return {"outages": [asdict(row) for row in rows], "looks": self.looks, "blind_s": self.blind_s}
