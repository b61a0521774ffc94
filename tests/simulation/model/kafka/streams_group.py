"""The group of a Streams application: its coordinator, its members, and what they have processed.

A classic group rebalances when a member joins, leaves or is forgotten. A process that ends without leaving stays a
member until its session ends, and holds back every rebalance until then; the group itself stays `Stable` with it.
While the group is not stable, no member's metadata is shown. After an upgrade the members go on to use the older
version until one more rebalance (version probing). A group of the streams protocol reconciles, and its members leave at
once.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kafka.streams_releases import Runs, supports

PARTITIONS: Final = 4


class Phase(Enum):
    """Where the group is."""

    EMPTY = "Empty"
    PREPARING = "Preparing"
    COMPLETING = "Completing"
    STABLE = "Stable"


@dataclass(slots=True, kw_only=True, eq=False)
class StreamsProcess:
    """One running instance. `serial` is that of its disk, 0 without one; `mute`: it processes nothing."""

    pod: str
    uid: str
    index: int
    host: str
    runs: Runs
    generation: int
    serial: int
    threads: int
    began_s: float
    restores_until_s: float = 0.0
    alive: bool = True
    mute: bool = False
    joined: bool = False
    """Whether its threads have asked the coordinator to join."""
    asked_s: float | None = None
    """When it was told to stop."""


@dataclass(slots=True, kw_only=True, eq=False)
class Joined:
    """One member. `gone_s` is when its thread ended without leaving; `fresh`: the group has not settled with it yet."""

    member_id: str
    process: StreamsProcess
    thread: int
    gone_s: float | None = None
    fresh: bool = True


@dataclass(slots=True, kw_only=True)
class Habits:
    """How applications behave in one run. Times in seconds."""

    session_s: float = 10.0
    leaves: bool = False
    """Whether a classic member that is stopped leaves at once."""
    static: bool = False
    """Whether members have a fixed `group.instance.id`."""
    traffic: float = 0.8
    """How often records arrive."""
    flickers: bool = True
    """Whether instances are not ready while the group rebalances."""


@dataclass(slots=True, kw_only=True)
class StreamsGroupModel:
    """The coordinator's state."""

    clock: VirtualClock
    draw: random.Random = field(default_factory=lambda: random.Random(1))
    habits: Habits = field(default_factory=Habits)
    phase: Phase = Phase.EMPTY
    streams: bool = False
    generation: int = 0
    used: int = 0
    members: dict[str, Joined] = field(default_factory=dict)
    strangers: int = 0
    """Members that are no instance of the application."""
    committed: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PARTITIONS), 0))
    until_s: float = 0.0
    again_s: float | None = None
    """When one more rebalance follows."""
    _serial: int = 0
    _probed: bool = False
    """Whether the last rebalance found that all members read a later version."""

    def step(self) -> None:
        """Half a second."""
        now_s = self.clock.elapsed_s
        for at in self.ends:
            if self.draw.random() < self.habits.traffic:
                self.ends[at] += self.draw.randint(1, 5)
        ended = [one for one in self.members.values() if one.gone_s is not None]
        for one in ended:
            if now_s - (one.gone_s or 0.0) >= self.habits.session_s:
                self._remove(one)
        if self.again_s is not None and now_s >= self.again_s and self.phase is Phase.STABLE:
            self._rebalance()
        self._move(now_s)
        if self.phase is Phase.STABLE:
            self._process(now_s)

    def join(self, process: StreamsProcess) -> str:
        """Every thread of a process joins; why the coordinator refuses it, or an empty text."""
        if self.members and self.streams != process.runs.program.streams:
            return "InconsistentGroupProtocolException: the group has another protocol"
        if not self.members:
            self.streams, self.used = process.runs.program.streams, 0
        process.joined = True
        for thread in range(process.threads):
            self._serial += 1
            member_id = f"{process.pod}-{thread}-{self._serial:05d}"
            if self.habits.static and not self.streams:
                self._replace(process.pod, thread)
            self.members[member_id] = Joined(member_id=member_id, process=process, thread=thread)
        self._rebalance()
        return ""

    def end(self, process: StreamsProcess, *, leaves: bool) -> None:
        """A process has ended; its members leave, or stay until their sessions end."""
        process.alive = False
        for one in self.of(process):
            if leaves:
                self._remove(one)
            else:
                one.gone_s = self.clock.elapsed_s

    def end_thread(self, process: StreamsProcess) -> bool:
        """One of several threads of a process dies; whether there was one."""
        living = [one for one in self.of(process) if one.gone_s is None]
        if len(living) < 2:
            return False
        self._remove(living[0])
        return True

    def disturb(self) -> bool:
        """A rebalance without a cause that anybody sees; whether it began."""
        if self.phase is Phase.STABLE:
            self._rebalance()
            return True
        return False

    def of(self, process: StreamsProcess) -> list[Joined]:
        """The members of a process."""
        return [one for one in self.members.values() if one.process is process]

    def settled_with(self, process: StreamsProcess) -> bool:
        """Whether a process takes part: all its threads are members that the group has settled with."""
        own = self.of(process)
        return process.alive and len(own) > 0 and not any(one.fresh or one.gone_s is not None for one in own)

    def together(self) -> Iterator[Runs]:
        """What the living members run."""
        yield from {one.process.runs: None for one in self.members.values() if one.gone_s is None}

    def _replace(self, pod: str, thread: int) -> None:
        """A static member comes back: it takes the place of the one before it."""
        for one in list(self.members.values()):
            if one.gone_s is not None and (one.process.pod, one.thread) == (pod, thread):
                del self.members[one.member_id]

    def _remove(self, one: Joined) -> None:
        if self.members.pop(one.member_id, None) is None:
            return
        if self.members:
            self._rebalance()
        else:
            self.phase, self.again_s = Phase.EMPTY, None

    def _rebalance(self) -> None:
        self.phase, self.again_s = Phase.PREPARING, None
        self.until_s = self.clock.elapsed_s + self.draw.choice((0.5, 1.0, 1.0, 3.0))

    def _move(self, now_s: float) -> None:
        if self.phase is Phase.PREPARING and now_s >= self.until_s:
            if not self.streams and any(one.gone_s is not None for one in self.members.values()):
                return  # it waits for those until their sessions end
            self.phase, self.until_s = Phase.COMPLETING, now_s + 0.5
        elif self.phase is Phase.COMPLETING and now_s >= self.until_s:
            self.phase, self.generation = Phase.STABLE, self.generation + 1
            for one in self.members.values():
                one.fresh = False
            self._probe(now_s)

    def _probe(self, now_s: float) -> None:
        """The version that all use: a lower one at once, a higher one after one more rebalance."""
        least = min((runs.sends for runs in self.together()), default=0)
        if self.used == 0 or least < self.used or self._probed:
            self.used, self._probed = least, False
        elif least > self.used:
            self._probed = True
            self.again_s = now_s + self.draw.choice((0.5, 2.0, 6.0))

    def _owner(self, at: int) -> Joined:
        """The member that has a partition."""
        listed = sorted(self.members)
        return self.members[listed[(at + self.generation) % len(listed)]]

    def assigned(self, one: Joined) -> tuple[int, ...]:
        """The partitions of a member."""
        return tuple(at for at in range(PARTITIONS) if self._owner(at) is one)

    def _process(self, now_s: float) -> None:
        for at in range(PARTITIONS) if self.members else ():
            process = self._owner(at).process
            if process.alive and not process.mute and now_s >= process.restores_until_s:
                self.committed[at] = self.ends[at]

    def shown(self, one: Joined) -> tuple[int, int]:
        """The used and the supported version that a member's metadata shows."""
        latest = supports(one.process.runs.program)
        return min(self.used, one.process.runs.sends), latest
