"""Which certificates listeners serve: handshakes beside the looks, because a server may be silent.

A look has the last answers. A listener is asked by as many handshakes as show each of its network threads: some seconds
later again while it serves another certificate than its Secret has, and each minute while a migration is under way or
its certificate ends soon. Once all threads of a container have shown what its Secret has, they serve it until they are
asked to load another one, or a person changes the setting. So one handshake from time to time is enough then; if
it shows anything else, even what the Secret has by now, all threads are asked at once. Nine of each listener in each
minute took more processor time than everything else that the operator does for a quorum at rest (docs/performance.md).

A container that this process does not know yet is asked by one handshake, too, and by all of them in the minutes after
that: an operator that starts would ask all threads of all listeners at the same time otherwise.
"""

import asyncio
import contextlib
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.desired import ControllerListener
from kafka_quorum.model.handshakes import Handshake, Served
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.material import Material, Shown, controller
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.pods import Pod
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.observe.access import Access
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.wire.protocol import Controllers
from kit.clock import Clock
from kit.conditions.last_look import share
from kit.key import ObjectKey

SAMPLE_EVERY_S: Final = 300.0
EVERY_S: Final = 60.0
SOON_S: Final = 5.0
ENDS_SOON_S: Final = 900.0
"""Before a certificate ends that a listener serves, it is asked each minute: a restart may need the proof."""
_Place: TypeAlias = tuple[NodeID, str]
"""The node id and the listener's name."""
_Enough: TypeAlias = Callable[[Handshake], bool] | None
"""Whether the answer of one thread is enough; None if all of them are asked from the start."""


@dataclass(slots=True)
class _Asked:
    """One listener: when it was last asked (monotonic seconds), the task that does it, and what it showed."""

    begun_s: float | None = None
    task: asyncio.Task[None] | None = None
    shown: Shown | None = None


class ListenerReads:
    """Asks listeners beside the looks. Nothing here outlives the process."""

    def __init__(self, clock: Clock, controllers: Controllers) -> None:
        """Nothing is asked yet."""
        self._clock, self._controllers = clock, controllers
        self._asked: dict[ObjectKey, dict[_Place, _Asked]] = {}

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone."""
        for asked in self._asked.pop(key, {}).values():
            if asked.task is not None:
                asked.task.cancel()

    def shown(self, key: ObjectKey) -> tuple[Shown, ...]:
        """The last answers of containers that run, by controller and listener."""
        asked = self._asked.get(key, {})
        return tuple(one for place in sorted(asked) if (one := asked[place].shown) is not None)

    def reloads(self, key: ObjectKey, node_id: NodeID, listener: str) -> None:
        """It was asked to load its certificate again: what it showed until now is no reason any more."""
        asked = self._asked.get(key, {}).get((node_id, listener))
        if asked is not None:
            if asked.task is not None:
                asked.task.cancel()
            asked.begun_s = self._clock.monotonic()
            asked.shown = asked.shown and replace(asked.shown, fresh=False)

    def ask(self, key: ObjectKey, taken: Snapshot, material: Material, access: Access) -> bool:
        """Begin the handshakes that are due, and forget containers that do not run any more.

        Whether every listener has shown what its Secret has since it was last asked to load it.
        """
        asked, learned = self._asked.setdefault(key, {}), True
        present: set[_Place] = set()
        changes = taken.record is not None and taken.record.migration is not None
        for pod, listener in secured(taken.pods, taken.revisions):
            place = (pod.node_id, listener.name)
            present.add(place)
            one = asked.setdefault(place, _Asked())
            if one.shown is not None and one.shown.instance != pod.instance:
                one.shown = None
            right = one.shown is not None and _as_stored(material, pod, one.shown.handshake)
            learned = learned and right and one.shown is not None and one.shown.fresh
            lasts = right and not changes and self._lasts(one.shown)
            pause_s = _pause_s(key, place, one.shown, right=right, lasts=lasts)
            if one.begun_s is None or self._clock.monotonic() - one.begun_s >= pause_s:
                enough = None if changes else _enough(material, pod, one.shown, lasts=lasts)
                self._begin(one, pod, listener, access, enough)
        for place in set(asked) - present:
            _drop(asked, place, self._clock.monotonic())
        return learned

    def _lasts(self, shown: Shown | None) -> bool:
        """Whether a listener that serves what its Secret has goes on with that, as far as is known."""
        if shown is None or not shown.fresh or not isinstance(shown.handshake, Served) or not shown.handshake.accepted:
            return False
        ends_s = min(each.not_after_s for each in shown.handshake.chain)
        return ends_s - self._clock.now().timestamp() > ENDS_SOON_S

    def _begin(self, asked: _Asked, pod: Pod, listener: ControllerListener, access: Access, enough: _Enough) -> None:
        at = access.endpoint(pod, listener)
        if isinstance(at, Known) and (asked.task is None or asked.task.done()):
            asked.begun_s = self._clock.monotonic()
            asked.task = asyncio.create_task(self._shake(asked, pod, listener, at.value, enough))

    async def _shake(
        self, asked: _Asked, pod: Pod, listener: ControllerListener, at: Endpoint, enough: _Enough
    ) -> None:
        before = asked.shown
        with contextlib.suppress(KafkaError):
            found = await self._controllers.handshake(at, sample=enough is not None)
            whole = enough is None or not enough(found)
            if enough is not None and whole:
                found = await self._controllers.handshake(at)
            asked.shown = Shown(
                node_id=pod.node_id,
                listener=listener.name,
                handshake=found,
                at_s=self._clock.monotonic(),
                instance=pod.instance,
                whole=whole or (before is not None and before.whole),
            )


def _pause_s(key: ObjectKey, place: _Place, shown: Shown | None, *, lasts: bool, right: bool) -> float:
    """The seconds between two questions to a listener. Those of many listeners do not all end at once."""
    if shown is None or not right:
        return SOON_S
    if shown.whole:
        return SAMPLE_EVERY_S if lasts else EVERY_S
    return EVERY_S + share(f"{key}/{place}") * (SAMPLE_EVERY_S - EVERY_S) if lasts else SOON_S


def _enough(material: Material, pod: Pod, shown: Shown | None, *, lasts: bool) -> _Enough:
    """With which answer one handshake is enough: as before, or what the Secret has if nothing was shown before."""
    if shown is None:
        return lambda found: _as_stored(material, pod, found) and isinstance(found, Served) and found.accepted
    return partial(operator.eq, shown.handshake) if lasts and shown.whole else None


def _drop(asked: dict[_Place, _Asked], place: _Place, now_s: float) -> None:
    """Forget what a container showed that does not run; when it was asked stays, so that the next one has its pause."""
    one = asked[place]
    one.shown = None
    if (one.task is None or one.task.done()) and (one.begun_s is None or now_s - one.begun_s >= SOON_S):
        del asked[place]


def secured(pods: Iterable[Pod], revisions: Iterable[Revision]) -> Iterable[tuple[Pod, ControllerListener]]:
    """The listeners with TLS of the controllers that run, by the revisions that their pods are made from."""
    made = {each.name: each for each in revisions}
    for pod in pods:
        revision = made.get(pod.revision)
        if revision is not None and pod.serves and pod.ip:
            yield from ((pod, each) for each in revision.runtime.listeners if each.protocol.encrypted)


def _as_stored(material: Material, pod: Pod, found: Handshake) -> bool:
    """Whether a listener of this controller served the chain that its Secret has."""
    seen = material.leaf(controller(pod.node_id))
    if not isinstance(seen, Known) or seen.value is None or not isinstance(found, Served):
        return False
    return found.digest == seen.value.digest
