"""The voter sets of a quorum, one after another: as its leaders reported them, and as its logs have them.

The rule is the one that the simulation's model keeps by construction: a voter set follows from the one before by one
replica key, added or removed. The leaders are asked on a separate thread, so that a busy operator hides nothing. A step
that was too quick to be seen must be in a log, which has every set.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.quorum import Endpoint, QuorumAnswer
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.connection import Limits

VoterSet = frozenset[ReplicaKey]
_PAUSE_S: Final = 0.02
_QUICK: Final = Limits(connect_timeout_s=0.3, request_timeout_s=0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A voter set, the leader's epoch in which it was first seen, and when that was (monotonic seconds)."""

    epoch: int
    voters: VoterSet
    at_s: float


class Recorder:
    """Asks the present leader, all the time."""

    def __init__(self, endpoints: Callable[[], tuple[Endpoint, ...]]) -> None:
        """Takes the nodes to ask."""
        self._endpoints = endpoints
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._record()), daemon=True)
        self._latest: tuple[QuorumAnswer, Endpoint] | None = None
        self.seen: list[Seen] = []
        self.answers = 0

    def start(self) -> None:
        """Starts."""
        self._thread.start()

    def stop(self) -> None:
        """Stops, after the last request has ended."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def gap_s(self) -> float:
        """How long a leader showed the last but one voter set: in a replacement, the one without the lost voter."""
        return self.seen[-1].at_s - self.seen[-2].at_s if len(self.seen) > 1 else 0.0

    async def look(self) -> QuorumAnswer | None:
        """The answer of the leader of the highest epoch."""
        controllers = KafkaControllers(_QUICK)
        try:
            return (await _best(controllers, self._endpoints()))[0]
        finally:
            await controllers.close()

    async def _record(self) -> None:
        controllers = KafkaControllers(_QUICK)
        leader: Endpoint | None = None
        while not self._stop.is_set():
            asked = self._endpoints() if leader is None else (leader,)
            answer, leader = await _best(controllers, asked)
            if answer is not None:
                self._note(answer)
            await asyncio.sleep(_PAUSE_S)
        await controllers.close()

    def _note(self, answer: QuorumAnswer) -> None:
        """Records the answer; a leader of an earlier epoch, which has not noticed yet, adds nothing."""
        self.answers += 1
        voters = frozenset(row.key for row in answer.voters)
        last = self.seen[-1] if self.seen else None
        if last is None or (answer.leader_epoch >= last.epoch and voters != last.voters):
            self.seen.append(Seen(epoch=answer.leader_epoch, voters=voters, at_s=time.monotonic()))


async def _best(
    controllers: KafkaControllers, endpoints: Iterable[Endpoint]
) -> tuple[QuorumAnswer | None, Endpoint | None]:
    async def ask(endpoint: Endpoint) -> tuple[QuorumAnswer, Endpoint] | None:
        try:
            return await controllers.describe_quorum(endpoint), endpoint
        except KafkaError:
            return None

    found = [one for one in await asyncio.gather(*map(ask, endpoints)) if one is not None]
    return max(found, key=lambda one: one[0].leader_epoch, default=(None, None))


def is_one_change(before: VoterSet, after: VoterSet) -> bool:
    """Whether a leader may append `after` behind `before`: one replica key more or less, or the same ones."""
    return len(before ^ after) <= 1


def faults(seen: Iterable[Seen], logs: Iterable[tuple[VoterSet, ...]]) -> list[str]:
    """Every step in a log, and every step between two looks, that no single change explains."""
    logs = tuple(logs)
    found = [
        f"a log has {_text(before)} and behind it {_text(after)}"
        for log in logs
        for before, after in pairwise(log)
        if not is_one_change(before, after)
    ]
    for before, after in pairwise(seen):
        if not is_one_change(before.voters, after.voters) and not _led(before.voters, after.voters, logs):
            found.append(f"{_text(before.voters)} was seen, then {_text(after.voters)}")
    return found


def _led(before: VoterSet, after: VoterSet, logs: Iterable[tuple[VoterSet, ...]]) -> bool:
    """Whether some log has one of the first sets, and the other one behind it."""
    return any(before in log and after in log[log.index(before) :] for log in logs)


def _text(voters: VoterSet) -> str:
    return "{" + ", ".join(sorted(map(str, voters))) + "}"
