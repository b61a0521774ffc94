"""One pass over one pool: observe → validate → plan → act → status. Level-triggered: it starts from what is.

A look may use the Kubernetes objects of an earlier pass while no watch has reported an event. A plan that has actions
is computed again from freshly listed objects. After an act the caller looks again at once.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from kafka_brokers.act.execute import Context, Executor
from kafka_brokers.judge import Judged, judge
from kafka_brokers.kind import POOLS
from kafka_brokers.model.observed import Memory, Observed
from kafka_brokers.model.plan import Outcome, Plan, Severity, Wait
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.observe.gather import observe, unasked
from kafka_brokers.observe.snapshot import Snapshot, snapshot
from kafka_brokers.plan.facts import requested_ids, target_name
from kafka_brokers.plan.order import is_tried, key_of
from kafka_brokers.plan.planner import plan
from kafka_brokers.report import PoolDraft, Reporter, narrate
from kafka_brokers.resources.stored import accepted_text
from kafka_brokers.status.finding import Pass
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import FIELD_MANAGER
from kafka_quorum.settings import Settings
from kafka_quorum.wire.brokers import Brokers
from kit.clock import Clock
from kit.ids import IdSource
from kit.key import ObjectKey
from kit.kube.protocol import Json, KubeApi
from kit.leased import leased, leased_kube
from kit.remembered import Remembered
from kit.repeats import FREE, Repeated, Repeats
from kit.report.events import Events
from kit.report.log import Log
from kit.report.report import Draft, Subscriber, Subscribers
from kit.report.told import no_effect, standing

_FAILED_REQUEUE_S: Final = 1.0
_NO_EFFECT_AT: Final = 3
"""An event reports an action that changes nothing after this many repetitions beyond the `FREE` ones."""
_READING: Final = 16
"""The objects of at most this many pools are read at once."""
_READS: Final = frozenset(
    {
        "api_versions",
        "describe_quorum",
        "describe_brokers",
        "describe_partitions",
        "metadata",
        "min_isr",
        "describe_broker_config",
        "describe_log_dirs",
        "reassignments",
        "close",
    }
)
"""Requests that change nothing, and need no lease. Every other request needs the lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassResult:
    """The result of a pass. `gone`: there is no such resource any more. `again`: look again at once.

    `urgent`: brokers are stopped by us, so that no failure is waited out for long.
    """

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


class PoolReconciler:
    """Runs passes. What it remembers between them (looks, objects) only saves requests, and may be lost at any time."""

    def __init__(
        self,
        *,
        kube: KubeApi,
        brokers: Brokers,
        clock: Clock,
        ids: IdSource,
        settings: Settings,
        may_act: Callable[[], bool] = lambda: True,
        subscribers: Iterable[Subscriber[Observed]] = (),
    ) -> None:
        """Take the edges and the settings. `may_act` says whether this operator holds the lease."""
        self._kube = kube
        self._brokers = brokers
        self._clock = clock
        self._settings = settings
        self._may_act = may_act
        acting, ruling = leased_kube(kube, may_act), leased(brokers, _READS, may_act)
        self._executor = Executor(acting, ruling, clock, look_max_age_s=settings.look_max_age_s, may_act=may_act)
        events = Events(acting, clock, ids, POOLS, component=FIELD_MANAGER, instance=settings.holder)
        self._subscribers: Subscribers[Observed] = Subscribers((Log(), events, *subscribers))
        self._reporter = Reporter(acting, clock, may_act)
        self._reading = asyncio.Semaphore(_READING)
        self._memories: dict[ObjectKey, Memory] = {}
        self._objects: Remembered[Snapshot] = Remembered(clock, settings.resync_s)
        self._changes: dict[ObjectKey, int] = {}
        self._repeats: dict[ObjectKey, Repeats] = {}
        self._failed: dict[ObjectKey, frozenset[str]] = {}

    def changed(self, key: ObjectKey, resource_version: str = "") -> bool:
        """Note an event of a watch; False if it only echoes our own last write."""
        if self._reporter.is_echo(key, resource_version):
            return False
        self._changes[key] = self._changes.get(key, 0) + 1
        self._objects.forget(key)
        return True

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone: remember nothing of it."""
        for store in (self._memories, self._changes, self._repeats, self._failed):
            store.pop(key, None)
        self._objects.forget(key)
        self._reporter.forget(key)
        self._subscribers.forget(key)

    async def cannot_look(self, key: ObjectKey, why: str) -> None:
        """Passes end in errors: the status must not claim what is unknown by now. Raises `KubeError`."""
        self._objects.forget(key)
        if self._may_act():
            draft = await self._reporter.cannot_look(key, why)
            if draft is not None:
                await self._subscribers.publish(draft.ended())

    async def run_pass(self, key: ObjectKey) -> PassResult:
        """One pass. Raises `KubeError` if the Kubernetes objects cannot be read: unknown is not empty."""
        if not self._may_act():
            return self._idle()
        remembered = self._objects.of(key)
        while True:
            changes = self._changes.get(key, 0)
            taken = remembered or await self._snapshot(key)
            if taken is None:
                return PassResult(plan=None, outcomes=(), requeue_s=0.0, again=False, gone=True)
            result = await self._reported(key, taken, changes, may_act=remembered is None)
            if result is not None:
                return result
            remembered = None  # there is something to do: plan it from freshly listed objects

    async def _reported(self, key: ObjectKey, taken: Snapshot, changes: int, *, may_act: bool) -> PassResult | None:
        """Run a pass, and send its report to the subscribers however it ends."""
        draft: PoolDraft = Draft(key=key, resource=taken.resource)
        began_s, error = self._clock.monotonic(), None
        try:
            return await self._pass(draft, taken, changes, may_act=may_act)
        except BaseException as ended:
            error = ended
            raise
        finally:
            await self._subscribers.publish(draft.ended(took_s=self._clock.monotonic() - began_s, error=error))

    async def _snapshot(self, key: ObjectKey) -> Snapshot | None:
        self._objects.forget(key)
        async with self._reading:
            return await snapshot(self._kube, key.namespace, key.name, self._clock)

    def _idle(self) -> PassResult:
        return PassResult(plan=None, outcomes=(), requeue_s=self._settings.idle_s, again=False, gone=False)

    async def _pass(self, draft: PoolDraft, taken: Snapshot, changes: int, *, may_act: bool) -> PassResult | None:
        """The data flow. None: there is something to do, and the objects of this pass are not fresh enough for it."""
        key = draft.key
        if "deletionTimestamp" in taken.resource["metadata"]:  # its dependents go first: none is recreated
            return self._idle()
        contract = taken.contract
        judged = (
            judge(taken, contract.value, self._settings.pod_exceptions)
            if isinstance(contract, Known)
            else Judged(desired=None, faults=())
        )
        desired = judged.desired
        if desired is None or isinstance(contract, Unknown):
            return await self._refused(draft, taken, changes, judged)
        memory = self._memories.get(key, Memory())
        observed = await observe(self._kube, self._brokers, self._clock, taken, desired, memory)
        self._memories[key] = observed.memory
        draft.seen, draft.seen_at = observed, self._clock.now()
        planned = plan(
            desired,
            observed,
            image=self._image(desired),
            now_s=self._clock.now().timestamp(),
            repair_only=bool(judged.faults),
            failed=self._failed.get(key, frozenset()),
        )
        if planned.actions and not may_act:
            return None
        spec: Json = taken.resource.get("spec") or {}
        draft.standing = standing(planned.verdicts)
        context = Context(
            desired=desired,
            record=taken.record,
            contract=contract.value,
            spec=(taken.accepted_spec or {}) if judged.faults else spec,
            accepted=taken.accepted if judged.faults else accepted_text(spec),
            pull_policy=self._settings.image_pull_policy,
        )
        outcomes = await self._executor.execute(planned, context)
        if outcomes:
            self._failed[key] = frozenset(key_of(one.action) for one in outcomes if is_tried(one))
        done = self._done(taken, desired, observed, planned, outcomes, judged)
        return await self._ended(draft, taken, changes, done)

    def _image(self, desired: PoolDesired) -> str:
        runtime = desired.runtime
        return runtime.image or self._settings.image_template.format(version=runtime.release)

    def _done(
        self,
        taken: Snapshot,
        desired: PoolDesired | None,
        observed: Observed,
        planned: Plan,
        outcomes: tuple[Outcome, ...],
        judged: Judged,
    ) -> Pass:
        requested: tuple[int, ...] = ()
        if desired is not None and observed.record is not None:
            requested = requested_ids(desired, observed.record, observed)
        replicas = (taken.resource.get("spec") or {}).get("replicas")
        return Pass(
            name=taken.resource["metadata"]["name"],
            desired=desired,
            observed=observed,
            plan=planned,
            outcomes=outcomes,
            faults=judged.faults,
            target="" if desired is None else target_name(desired),
            requested=requested,
            spec_replicas=replicas if type(replicas) is int else 0,
        )

    async def _refused(self, draft: PoolDraft, taken: Snapshot, changes: int, judged: Judged) -> PassResult:
        """Report that nothing can be done: the quorum has no contract yet, or there never was a valid spec."""
        observed = unasked(taken)
        waits: tuple[Wait, ...] = ()
        if isinstance(taken.contract, Unknown):
            text = f"Waiting for quorum {taken.quorum}: {taken.contract.reason}"
            waits = (Wait(severity=Severity.PROGRESS, reason="WaitingForQuorum", message=text),)
        planned = Plan(actions=(), waits=waits, verdicts=(), requeue_s=2.0 if waits else self._settings.idle_s)
        done = self._done(taken, None, observed, planned, (), judged)
        return await self._ended(draft, taken, changes, done)

    async def _ended(self, draft: PoolDraft, taken: Snapshot, changes: int, done: Pass) -> PassResult:
        """Report a pass, remember its objects if nothing is left to do, and say what follows."""
        key, planned, outcomes = draft.key, done.plan, done.outcomes
        written = await self._reporter.write_status(draft, taken.resource, done, pools=len(self._changes))
        repeated = None
        if planned.actions:
            narrate(draft, outcomes)
            repeated = self._repeats.setdefault(key, Repeats()).note(outcomes, self._clock.monotonic())
            if repeated is not None and repeated.times == FREE + _NO_EFFECT_AT:
                no_effect(draft, repeated.words, repeated.times)
        elif written and not planned.waits and self._changes.get(key, 0) == changes:
            self._objects.keep(key, replace(taken, resource=written))
        else:  # what is remembered may be older than the status that was written: writes over it would fail
            self._objects.forget(key)
        failed = any(not outcome.done for outcome in outcomes)
        return PassResult(
            plan=planned,
            outcomes=outcomes,
            requeue_s=_FAILED_REQUEUE_S if failed else min(planned.requeue_s, self._settings.tick_s),
            again=bool(planned.actions) and not failed,
            gone=False,
            urgent=any(broker.stopped or broker.empty for broker in done.brokers),
            repeated=repeated,
        )
