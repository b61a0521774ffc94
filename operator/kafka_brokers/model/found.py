"""Which run of a script found what, and the note of volumes that looked empty. Pure values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a container of a pod: `number` counts from 0, as the kubelet counts restarts."""

    container: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SinceEmpty:
    """The first run of those that found a volume empty: when it ended, and when that was noted (since the epoch)."""

    index: int
    finished_at_s: float
    noted_at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEmpty:
    """A note on a pod: the newest run of a script that found volumes empty, and since which run each of them was."""

    run: Run
    finished_at_s: float
    noted_at_s: float
    volumes: tuple[SinceEmpty, ...]
