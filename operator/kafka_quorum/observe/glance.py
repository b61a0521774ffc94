"""Glances: between two looks, the leader of a quorum at rest is asked by one request whether anything is new.

A look asks every controller, plans, and builds the status, which takes several times as long. While nothing is done or
waited for, a plan changes only with what is observed, or with time. So the leader alone is asked, and its answer is
judged as in a look; once a minute it also shows the finalized levels. If it says what the last look saw, no look is
taken, and the memory of looks goes on. If anything differs, or no answer comes, a look follows at once. A glance leads
to no act. It counts as a look where several in a row must show the same.

Time needs no event: a certificate ends, and so does a limit. So glances follow a look only if its plan stays empty for
longer than until the next look, which comes 300 s after the last one at the latest.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.names import token_holder
from kafka_quorum.model.observed import Observed, QuorumView
from kafka_quorum.model.quorum import Endpoint, QuorumAnswer
from kafka_quorum.observe import quorum
from kafka_quorum.observe.instances import FetchTimeouts, Instances, fetch_timeouts, instances_of
from kafka_quorum.observe.recovery import watermarked
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.observe.soak import soaked
from kafka_quorum.wire.protocol import Controllers
from kit.clock import Clock
from kit.conditions.last_look import interval_s, is_due, share, spread
from kit.key import ObjectKey
from kit.term import Term

logger = logging.getLogger(__name__)
LOOKS_PER_S: Final = 4.0
"""So many looks at all quorums at rest together: with up to 240 of them, one of each every 60 to 75 seconds."""
LOOK_EVERY_S: Final = 60.0
LOOK_EVERY_MOST_S: Final = 240.0
"""With more than 960 quorums they are looked at no less often: every 240 to 300 seconds."""
LEVELS_EVERY_S: Final = 60.0
"""After this time a glance also asks the leader for the finalized levels: rule 7 goes by those that were seen last."""
DUE_WITHIN_S: Final = 360.0
"""The plan of a look must be empty so much later too: longer than until the next look, with a pass that is late."""


def look_every_s(quorums: int, uid: str) -> float:
    """How long after a look at one of so many quorums the next one follows, in seconds, whatever glances show."""
    return spread(min(max(LOOK_EVERY_S, quorums / LOOKS_PER_S), LOOK_EVERY_MOST_S), uid)


def first_look_every_s(quorums: int, uid: str) -> float:
    """The same after a look in the first minutes of the process: at any time from a minute on."""
    return LOOK_EVERY_S + share(uid) * (look_every_s(quorums, uid) - LOOK_EVERY_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AtRest:
    """The last look at a quorum, which found it at rest, and what follows from its objects."""

    resource: object
    seen: Observed
    view: QuorumView
    leader: Endpoint
    timeouts: FetchTimeouts
    instances: Instances
    until_s: float
    """The last moment for a glance: the pass after it follows a tick later."""
    levels_at_s: float
    """When the leader was last asked for the finalized levels."""


class Glances:
    """What the last look at each quorum at rest found. All of it may be lost at any time: then a look follows."""

    def __init__(self, controllers: Controllers, clock: Clock, term: Term, *, tick_s: float, always_look: bool) -> None:
        """Nothing was looked at yet. `always_look`: each look is recorded for the history, so none is left out."""
        self._controllers, self._clock, self._always_look = controllers, clock, always_look
        self._tick_s, self._term = tick_s, term
        self._at_rest: dict[ObjectKey, _AtRest] = {}

    def forget(self, key: ObjectKey) -> None:
        """The next pass is a look."""
        self._at_rest.pop(key, None)

    def rests(
        self,
        key: ObjectKey,
        taken: Snapshot,
        seen: Observed,
        reached: Callable[[Endpoint], Endpoint],
        stays: Callable[[float], bool],
        due_s: float = math.inf,
    ) -> None:
        """A look found this quorum at rest, with these objects. `reached` gives an endpoint its security.

        `stays` says whether there is still nothing to do or to wait for, so many seconds later. `due_s` is when another
        look is needed in any case, in monotonic seconds.
        """
        view = None if self._always_look else _shown_whole(seen, key.name)
        if view is None:
            return
        try:
            leader = _leader(seen, view, reached) if stays(DUE_WITHIN_S) else None
        except KafkaError:
            return
        except Exception:
            logger.exception("%s: a fault of this operator occurred in the plan of later; looks go on", key)
            return
        if leader is None:
            return
        self._at_rest[key] = _AtRest(
            resource=taken.resource,
            seen=seen,
            view=view,
            leader=leader,
            timeouts=fetch_timeouts(taken.pods, taken.revisions),
            instances=instances_of(taken.pods, seen.record),
            until_s=due_s - self._tick_s,
            levels_at_s=view.taken_at_s,
        )

    async def glance(self, key: ObjectKey, taken: Snapshot, memory: Memory, *, quorums: int) -> Memory | None:
        """Ask the leader. The memory after it if nothing is new; None if a look must follow.

        `quorums` is how many this operator serves, which decides when the next look follows, and the next stamp.
        """
        last, taken_at_s = self._at_rest.pop(key, None), self._clock.monotonic()
        if last is None or last.resource is not taken.resource:  # the objects were read again since then
            return None
        if taken_at_s > last.until_s or self._look_is_due(last, taken, taken_at_s, quorums):
            return None
        try:
            answer = await self._controllers.describe_quorum(last.leader)
            found = _judged(last, answer, memory, taken_at_s)
            if found is not None and taken_at_s - last.levels_at_s >= LEVELS_EVERY_S - self._tick_s:
                if await self._levels_changed(last):
                    return None
                last = replace(last, levels_at_s=taken_at_s)
        except KafkaError:
            return None
        except Exception:
            logger.exception("%s: a fault of this operator ended a glance; a look follows", key)
            return None
        if found is not None:
            self._at_rest[key] = last
        return found

    async def _levels_changed(self, last: _AtRest) -> bool:
        """Whether the leader shows other finalized levels than in the last look. Raises `KafkaError`."""
        before, shown = last.seen.versions_of(last.leader.node_id), await self._controllers.api_versions(last.leader)
        # The epoch of finalized features is an offset, which moves all the time.
        return not isinstance(before, Known) or {*before.value.finalized} != {*shown.finalized}

    def _look_is_due(self, last: _AtRest, taken: Snapshot, now_s: float, quorums: int) -> bool:
        """Whether the next pass would be too late for a look, or the stamp of the last one is old."""
        uid, status = str(taken.resource["metadata"].get("uid", "")), taken.resource.get("status") or {}
        starting = self._term.began_lately(last.view.taken_at_s)
        every_s = first_look_every_s(quorums, uid) if starting else look_every_s(quorums, uid)
        if now_s > last.view.taken_at_s + every_s - self._tick_s:
            return True
        return is_due(status, now=self._clock.now(), after_s=interval_s(quorums, uid), uid=uid)


def _shown_whole(seen: Observed, name: str) -> QuorumView | None:
    """The view of a look after which one request shows whether anything is new; None if it would not."""
    if seen.record is None or not isinstance(seen.quorum, Known):
        return None
    if seen.scram is not None or seen.memory.holder in (None, token_holder(name)):
        return None  # what these are about has times of its own
    view = seen.quorum.value
    # Only a look finds out that another cluster answers, and in a static quorum no directory id shows it.
    return view if not view.static and view.voters <= view.caught_up else None


def _leader(seen: Observed, view: QuorumView, reached: Callable[[Endpoint], Endpoint]) -> Endpoint | None:
    """Where the leader of this look is asked; None if its pod does not show it. Raises `KafkaError`."""
    pod = next((pod for pod in seen.pods if pod.node_id == view.answer.leader_id and pod.serves), None)
    made = next((each for each in seen.revisions if pod is not None and each.name == pod.revision), None)
    if pod is None or made is None:
        return None
    return reached(Endpoint(node_id=pod.node_id, host=pod.ip, port=made.runtime.listener.port))


def _judged(last: _AtRest, answer: QuorumAnswer, memory: Memory, taken_at_s: float) -> Memory | None:
    """The memory after this answer; None if it shows anything else than the last look did."""
    chosen = quorum.leader_of({last.leader.node_id: Known(value=answer)}, last.timeouts)
    if not isinstance(chosen, Known) or chosen.value.leader_id != last.leader.node_id:
        return None
    record = last.seen.record
    own = {node.node_id: node.key for node in record.nodes} if record else {}
    view, remembered = quorum.view(
        quorum.keyed(answer, own),
        memory,
        live_within_ms=last.timeouts.of(answer.leader_id).most_ms,
        taken_at_s=taken_at_s,
        settles_s=quorum.settles_after_s(last.timeouts),
        static=quorum.is_static(answer),
        instances=last.instances,
    )
    if _decisive(view) != _decisive(last.view) or not view.voters <= view.caught_up:
        return None
    seen = replace(last.seen, quorum=Known(value=view), memory=remembered)
    return replace(remembered, soak=soaked(seen, taken_at_s), watermark=watermarked(memory, answer))


def _decisive(view: QuorumView) -> tuple[object, ...]:
    """Everything in a view but stamps, offsets and durations."""
    answer = view.answer
    return (
        (answer.leader_id, answer.leader_epoch),
        (view.voters, view.observers, answer.listeners),
        (view.live, view.caught_up, view.unproven, view.unsure),
        (view.committed, view.committed_voters, view.static),
        view.tenure.for_s >= view.tenure.settles_after_s,
    )
