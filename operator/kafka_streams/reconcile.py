"""One pass over one application: observe → validate → plan → act → status. Level-triggered: it starts from what is.

After an act the caller looks again at once. An invalid spec blocks changes, never repair.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import FIELD_MANAGER
from kafka_quorum.settings import Settings
from kafka_streams.act.execute import Context, Executor
from kafka_streams.act.narrate import Outcome, refused
from kafka_streams.api.validation import validate
from kafka_streams.kind import APPLICATIONS
from kafka_streams.model.application import Desired
from kafka_streams.model.observed import Memory, Observed
from kafka_streams.model.plan import Plan
from kafka_streams.observe.gather import Edges, observe
from kafka_streams.observe.snapshot import Snapshot, snapshot
from kafka_streams.plan.planner import plan
from kafka_streams.report import ApplicationDraft, Reporter, narrate
from kafka_streams.resources.stored import accepted_text
from kafka_streams.status.conditions import Pass
from kit.clock import Clock
from kit.ids import IdSource
from kit.key import ObjectKey
from kit.kube.protocol import Json, KubeApi
from kit.leased import leased_kube
from kit.repeats import FREE, Repeated, Repeats
from kit.report.events import Events
from kit.report.log import Log
from kit.report.report import Draft, Subscriber, Subscribers
from kit.report.told import no_effect, standing

_FAILED_REQUEUE_S: Final = 1.0
_NO_EFFECT_AT: Final = 3
"""An event reports an action that changes nothing after this many repetitions beyond the `FREE` ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassResult:
    """The result of a pass. `gone`: there is no such resource any more. `again`: look again at once."""

    plan: Plan | None
    outcomes: tuple[Outcome, ...]
    requeue_s: float
    again: bool
    gone: bool
    urgent: bool = False
    silent: bool = False
    repeated: Repeated | None = None

    @property
    def failed(self) -> bool:
        """Whether an action was not done: the next pass follows after a growing pause."""
        return any(not outcome.done for outcome in self.outcomes)


class ApplicationReconciler:
    """Runs passes. What it remembers between them only saves time, and may be lost at any moment."""

    def __init__(
        self,
        *,
        kube: KubeApi,
        edges: Edges,
        clock: Clock,
        ids: IdSource,
        settings: Settings,
        may_act: Callable[[], bool] = lambda: True,
        subscribers: Iterable[Subscriber[Observed]] = (),
    ) -> None:
        """Take the edges and the settings. `may_act` says whether this operator holds the lease."""
        self._kube = kube
        self._edges = edges
        self._clock = clock
        self._settings = settings
        self._may_act = may_act
        acting = leased_kube(kube, may_act)
        self._executor = Executor(acting, clock, look_max_age_s=settings.look_max_age_s, may_act=may_act)
        events = Events(acting, clock, ids, APPLICATIONS, component=FIELD_MANAGER, instance=settings.holder)
        self._subscribers: Subscribers[Observed] = Subscribers((Log(), events, *subscribers))
        self._reporter = Reporter(acting, clock, may_act)
        self._memories: dict[ObjectKey, Memory] = {}
        self._known: set[ObjectKey] = set()
        self._repeats: dict[ObjectKey, Repeats] = {}

    def changed(self, key: ObjectKey, resource_version: str = "") -> bool:
        """Note an event of a watch; False if it only echoes our own last write."""
        if self._reporter.is_echo(key, resource_version):
            return False
        self._known.add(key)
        return True

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone: remember nothing of it."""
        self._memories.pop(key, None)
        self._repeats.pop(key, None)
        self._known.discard(key)
        self._reporter.forget(key)
        self._subscribers.forget(key)

    async def cannot_look(self, key: ObjectKey, why: str) -> None:
        """Passes end in errors: the status must not claim what is unknown by now. Raises `KubeError`."""
        if self._may_act():
            draft = await self._reporter.cannot_look(key, why)
            if draft is not None:
                await self._subscribers.publish(draft.ended())

    async def run_pass(self, key: ObjectKey) -> PassResult:
        """One pass. Raises `KubeError` if the Kubernetes objects cannot be read: unknown is not empty."""
        if not self._may_act():
            return self._idle()
        taken = await snapshot(self._kube, key.namespace, key.name, self._clock)
        if taken is None:
            return PassResult(plan=None, outcomes=(), requeue_s=0.0, again=False, gone=True)
        draft: ApplicationDraft = Draft(key=key, resource=taken.resource)
        began_s, error = self._clock.monotonic(), None
        try:
            return await self._pass(draft, taken)
        except BaseException as ended:
            error = ended
            raise
        finally:
            await self._subscribers.publish(draft.ended(took_s=self._clock.monotonic() - began_s, error=error))

    def _idle(self) -> PassResult:
        return PassResult(plan=None, outcomes=(), requeue_s=self._settings.idle_s, again=False, gone=False)

    async def _pass(self, draft: ApplicationDraft, taken: Snapshot) -> PassResult:
        key = draft.key
        if "deletionTimestamp" in taken.resource["metadata"]:  # its dependents go first: none is recreated
            return self._idle()
        desired, faults = self._judged(taken)
        spec: Json = taken.resource.get("spec") or {}
        if desired is None:
            observed, planned, outcomes = _unasked(taken), Plan(actions=(), waits=(), verdicts=(), requeue_s=10.0), ()
            return await self._ended(draft, taken, _pass(taken, None, observed, planned, outcomes, faults), outcomes)
        memory = self._memories.get(key, Memory())
        observed = await observe(self._edges, self._clock, taken, desired, memory)
        self._memories[key] = observed.memory
        draft.seen, draft.seen_at = observed, self._clock.now()
        planned = plan(desired, observed, repair_only=bool(faults))
        draft.standing = standing(planned.verdicts)
        context = Context(
            desired=desired,
            spec=(taken.accepted_spec or {}) if faults else spec,
            accepted=taken.accepted if faults else accepted_text(spec),
            pull_policy=self._settings.image_pull_policy,
        )
        done = await self._executor.execute(planned, context)
        self._memories[key] = replace(observed.memory, refused=refused(done, observed.memory.refused))
        return await self._ended(draft, taken, _pass(taken, desired, observed, planned, done, faults), done)

    def _judged(self, taken: Snapshot) -> tuple[Desired | None, tuple[FieldFault, ...]]:
        """The present spec, or the last accepted one if the present one has faults; its `paused` counts at once."""
        allowed = self._settings.pod_exceptions
        known = taken.record.application_id if taken.record is not None else ""
        valid = validate(taken.resource, taken.properties, allowed, application_id=known)
        if isinstance(valid, Desired):
            return valid, ()
        if taken.accepted_spec is None:
            return None, valid
        paused = (taken.resource.get("spec") or {}).get("paused") is True
        earlier = {**taken.resource, "spec": {**taken.accepted_spec, "paused": paused}}
        before = validate(earlier, Known(value=""), allowed)
        return (before if isinstance(before, Desired) else None), valid

    async def _ended(
        self, draft: ApplicationDraft, taken: Snapshot, done: Pass, outcomes: tuple[Outcome, ...]
    ) -> PassResult:
        """Report a pass, and say what follows."""
        await self._reporter.write_status(draft, taken.resource, done, resources=len(self._known))
        repeated = None
        if done.plan.actions:
            narrate(draft, outcomes)
            repeated = self._repeats.setdefault(draft.key, Repeats()).note(outcomes, self._clock.monotonic())
            if repeated is not None and repeated.times == FREE + _NO_EFFECT_AT:
                no_effect(draft, repeated.words, repeated.times)
        failed = any(not outcome.done for outcome in outcomes)
        record = done.observed.record
        return PassResult(
            plan=done.plan,
            outcomes=outcomes,
            requeue_s=_FAILED_REQUEUE_S if failed else min(done.plan.requeue_s, self._settings.tick_s),
            again=bool(done.plan.actions) and not failed,
            gone=False,
            urgent=record is not None and any(slot.away for slot in record.slots),
            repeated=repeated,
        )


def _unasked(taken: Snapshot) -> Observed:
    """What is known without a valid spec: the objects alone."""
    return Observed(
        record=taken.record,
        pods=taken.pods,
        claims=taken.claims,
        revisions=taken.revisions,
        source=taken.source,
        record_fault=taken.record_fault,
    )


def _pass(
    taken: Snapshot,
    desired: Desired | None,
    observed: Observed,
    planned: Plan,
    outcomes: tuple[Outcome, ...],
    faults: tuple[FieldFault, ...],
) -> Pass:
    failures = [outcome for outcome in outcomes if not outcome.done and not outcome.held]
    gravest = min(failures, key=lambda outcome: outcome.unknown, default=None)
    replicas = (taken.resource.get("spec") or {}).get("replicas")
    return Pass(
        name=taken.resource["metadata"]["name"],
        desired=desired,
        observed=observed,
        plan=planned,
        failed="" if gravest is None else gravest.message,
        faults=faults,
        replicas=replicas if type(replicas) is int else 0,
    )
