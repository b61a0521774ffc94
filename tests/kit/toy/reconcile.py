"""Passes over widgets: observe → validate → plan → act → status → report, with the parts of kit."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.kit.toy.act import act
from tests.kit.toy.conditions import accepted, ready
from tests.kit.toy.model import WIDGETS, WidgetSpec
from tests.kit.toy.observe import Observed, observe
from tests.kit.toy.plan import Action, plan

from kit import stamps
from kit.clock import Clock
from kit.conditions.merge import merged
from kit.conditions.writer import StatusWriter
from kit.crd.model import wrongs
from kit.ids import IdSource
from kit.key import ObjectKey
from kit.kube.protocol import Json, KubeApi
from kit.leased import leased_kube
from kit.repeats import Repeated
from kit.report.events import Events
from kit.report.log import Log
from kit.report.notice import Notice
from kit.report.report import Draft, Line, Subscriber, Subscribers


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The result of a pass."""

    gone: bool = False
    again: bool = False
    requeue_s: float = 10.0
    failed: bool = False
    urgent: bool = False
    silent: bool = False
    repeated: Repeated | None = None


class Reconciler:
    """`kit.loops.Reconciles` for widgets."""

    def __init__(
        self, kube: KubeApi, clock: Clock, ids: IdSource, may_act: Callable[[], bool], *told: Subscriber[Observed]
    ) -> None:
        """`told` are subscribers in addition to log and events."""
        self._kube = leased_kube(kube, may_act)
        self._clock = clock
        self._may_act = may_act
        self._writer = StatusWriter(self._kube, clock, WIDGETS, may_act)
        events = Events(self._kube, clock, ids, WIDGETS, component="widget-operator", instance="toy")
        self._subscribers: Subscribers[Observed] = Subscribers((Log(), events, *told))

    def changed(self, key: ObjectKey, resource_version: str = "") -> bool:
        """Every change is news except the echo of our own write."""
        return not self._writer.is_echo(key, resource_version)

    def forget(self, key: ObjectKey) -> None:
        """The widget is gone."""
        self._writer.forget(key)
        self._subscribers.forget(key)

    async def cannot_look(self, key: ObjectKey, why: str) -> None:
        """Reports nothing."""

    async def run_pass(self, key: ObjectKey) -> End:
        """One pass."""
        if not self._may_act():
            return End()
        seen = await observe(self._kube, key)
        if seen is None:
            return End(gone=True)
        draft: Draft[Observed] = Draft(key=key, resource=seen.resource, seen=seen, seen_at=self._clock.now())
        try:
            return await self._pass(draft, seen)
        finally:
            await self._subscribers.publish(draft.ended())

    async def _pass(self, draft: Draft[Observed], seen: Observed) -> End:
        spec = WidgetSpec.model_validate(seen.resource["spec"], by_alias=True, by_name=False)
        faults = tuple(wrongs(spec, "spec"))
        actions: tuple[Action, ...] = () if faults else plan(draft.key.name, spec, seen)
        for action in actions:
            done = await act(self._kube, draft.key, action)
            draft.lines += (Line(text=done),)
            draft.notices += (Notice(reason=type(action).__name__, message=done),)
        generation, now = int(seen.resource["metadata"].get("generation", 0)), stamps.second(self._clock.now())
        old: Json = seen.resource.get("status") or {}
        findings = (ready(len(actions)), accepted(faults))
        new = {
            "parts": len(seen.parts),
            "conditions": merged(old.get("conditions") or (), findings, generation=generation, now=now),
        }
        await self._writer.looked(draft.key, seen.resource, new, resources=1)
        return End(again=bool(actions))
