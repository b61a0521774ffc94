"""One pass over one quorum: observe → validate → plan → act → status. Level-triggered: it starts from what is.

A look at the quorum may use the Kubernetes objects of an earlier pass while no watch has spoken; but a plan that wants
to act is made again from objects that were listed for it. After an act the caller looks again at once.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from kafka_quorum.act.events import Events
from kafka_quorum.act.execute import Context, Executor
from kafka_quorum.act.narrate import notices
from kafka_quorum.api.scaling import autoscaler_of
from kafka_quorum.api.validation import accepted_before, validate
from kafka_quorum.errors import KubeConflict, KubeNotFound, NotActing
from kafka_quorum.kube.protocol import QUORUMS, Json, KubeApi
from kafka_quorum.model import actions
from kafka_quorum.model.desired import Desired, FieldFault
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.memory import Announced, Memory, StepCheck
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Outcome, Plan, Verdict
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.observe import gather, nodes
from kafka_quorum.observe.gather import Look, Snapshot
from kafka_quorum.observe.quorum import FETCH_TIMEOUT_MS
from kafka_quorum.observe.soak import soaked
from kafka_quorum.plan import levels
from kafka_quorum.plan.planner import plan
from kafka_quorum.settings import Clock, IdSource, Settings
from kafka_quorum.status.build import build, patch_of
from kafka_quorum.status.finding import Pass
from kafka_quorum.status.news import news
from kafka_quorum.status.refused import refused
from kafka_quorum.wire.protocol import Controllers

_FETCH_TIMEOUT = "controller.quorum.fetch.timeout.ms"
_FAILED_REQUEUE_S = 1.0
_ANNOUNCED_FOR_S = 60.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumKey:
    """Which quorum."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """As kubectl writes it."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PassResult:
    """What a pass came to. `gone`: there is no such resource any more. `again`: look again at once.

    `urgent`: a change of the voters is open, so that no failure is waited out for long.
    """

    plan: Plan | None
    outcomes: tuple[Outcome, ...]
    requeue_s: float
    again: bool
    gone: bool
    urgent: bool = False

    @property
    def failed(self) -> bool:
        """Whether an action was not done: the next pass follows after a growing pause."""
        return any(not outcome.done for outcome in self.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checks:
    """What the leader said of steps, and of these what is remembered."""

    answers: tuple[tuple[FeatureStep, Knowable[StepCheck]], ...]
    announced: Announced | None


class Witness(Protocol):
    """Whoever wants to know what was seen. Neither method waits or raises."""

    def saw(self, namespace: str, name: str, observed: Observed) -> None:
        """A look at this quorum, as a pass has it."""

    def forget(self, namespace: str, name: str) -> None:
        """The resource is gone."""


class Reconciler:
    """Runs passes. What it remembers between them (looks, objects) only saves requests, and may be lost at any time."""

    def __init__(
        self,
        *,
        kube: KubeApi,
        controllers: Controllers,
        clock: Clock,
        ids: IdSource,
        settings: Settings,
        may_act: Callable[[], bool] = lambda: True,
        witness: Witness | None = None,
    ) -> None:
        """Take the edges and the settings. `may_act` says whether this operator holds the lease."""
        self._witness = witness
        self._kube = kube
        self._controllers = controllers
        self._clock = clock
        self._settings = settings
        self._may_act = may_act
        self._executor = Executor(kube, controllers, clock, ids, settings, may_act)
        self._memories: dict[QuorumKey, Memory] = {}
        self._snapshots: dict[QuorumKey, Snapshot] = {}
        self._changes: dict[QuorumKey, int] = {}
        self._verdicts: dict[QuorumKey, tuple[Verdict, ...]] = {}
        self._events = Events(kube, clock, ids, settings)

    def changed(self, key: QuorumKey) -> None:
        """A watch has spoken: objects remembered, or being read at this moment, are not trusted any more."""
        self._changes[key] = self._changes.get(key, 0) + 1
        self._snapshots.pop(key, None)

    def forget(self, key: QuorumKey) -> None:
        """The resource is gone: remember nothing of it."""
        for store in (self._memories, self._snapshots, self._changes, self._verdicts):
            store.pop(key, None)
        self._events.forget(key.namespace, key.name)
        if self._witness is not None:
            self._witness.forget(key.namespace, key.name)

    async def run_pass(self, key: QuorumKey) -> PassResult:
        """One pass. Raises `KubeError` if the Kubernetes objects cannot be read: unknown is not empty.

        Without the lease it looks at nothing; one that lapses within the pass ends it with `NotActing`.
        """
        if not self._may_act():
            return self._idle()
        remembered, changes = self._remembered(key), self._changes.get(key, 0)
        taken = remembered or await self._snapshot(key)
        if taken is None:
            return PassResult(plan=None, outcomes=(), requeue_s=0.0, again=False, gone=True)
        result = await self._pass(key, taken, changes, may_act=remembered is None)
        if result is not None:
            return result
        changes = self._changes.get(key, 0)
        taken = await self._snapshot(key)  # there is something to do: judged on objects that were listed for it
        if taken is None:
            return PassResult(plan=None, outcomes=(), requeue_s=0.0, again=False, gone=True)
        fresh = await self._pass(key, taken, changes, may_act=True)
        assert fresh is not None, "a pass that may act always ends"  # noqa: S101 - states an invariant
        return fresh

    def _remembered(self, key: QuorumKey) -> Snapshot | None:
        taken = self._snapshots.get(key)
        if taken is None or self._clock.monotonic() - taken.taken_at_s > self._settings.resync_s:
            return None
        return taken

    async def _snapshot(self, key: QuorumKey) -> Snapshot | None:
        self._snapshots.pop(key, None)
        return await gather.snapshot(self._kube, key.namespace, key.name, self._clock)

    async def _pass(self, key: QuorumKey, taken: Snapshot, changes: int, *, may_act: bool) -> PassResult | None:
        """The data flow. None: there is something to do, and these objects are not fresh enough for it.

        `changes` counts what watches had said before the objects were read: they are kept only if that is still all.
        """
        if "deletionTimestamp" in taken.resource["metadata"]:  # its dependents go first: none is made again
            return self._idle()
        judged = _judge(taken)
        if judged.desired is None:
            return await self._refuse(taken, judged.faults)
        desired = judged.desired
        observed = await self._observe(key, taken, desired)
        now_s = self._clock.now().timestamp()
        planned = plan(desired, observed, now_s=now_s, repair_only=bool(judged.faults))
        if planned.actions and not may_act:
            return None
        self._tell(key, planned)
        context = Context(desired=desired, record=taken.record, resource=taken.resource)
        outcomes = await self._executor.execute(planned, context)
        done = Pass(
            desired=desired,
            observed=observed,
            plan=planned,
            outcomes=outcomes,
            faults=judged.faults,
            now_s=now_s,
            autoscaler=autoscaler_of(taken.resource["metadata"]),
        )
        written = await self._write_status(taken, done)
        if planned.actions:
            await self._narrate(key, taken.resource, outcomes)
        elif written and changes == self._changes.get(key, 0) and _at_rest(done):
            self._snapshots[key] = replace(taken, resource=written)
        failed = any(not outcome.done for outcome in outcomes)
        return PassResult(
            plan=planned,
            outcomes=outcomes,
            requeue_s=_FAILED_REQUEUE_S if failed else min(planned.requeue_s, self._settings.tick_s),
            again=bool(planned.actions) and not failed,
            gone=False,
            urgent=observed.status.operation is not None or observed.status.feature_operation is not None,
        )

    def _idle(self) -> PassResult:
        return PassResult(plan=None, outcomes=(), requeue_s=self._settings.tick_s, again=False, gone=False)

    async def _observe(self, key: QuorumKey, taken: Snapshot, desired: Desired) -> Observed:
        """Look at the quorum, and at the nodes of what does not fetch."""
        looked = await self._look(key, taken, desired)
        seen = gather.observed(taken, looked)
        answers = await gather.kube_nodes(self._kube, nodes.suspects(seen))
        checks = await self._checks(desired, seen, looked)
        seen = replace(seen, kube_nodes=answers, checks=checks.answers)
        now_s = self._clock.monotonic()
        soak = soaked(seen, now_s)
        self._memories[key] = replace(nodes.agreed(seen, now_s), soak=soak, announced=checks.announced)
        seen = replace(seen, memory=self._memories[key])
        if self._witness is not None:
            self._witness.saw(key.namespace, key.name, seen)
        return seen

    async def _checks(self, desired: Desired, seen: Observed, looked: Look) -> _Checks:
        """What the leader says of the next step, in every look; and of what could be raised, once a minute."""
        asked = await gather.checks(self._controllers, looked.leader, levels.questions(desired, seen, seen.record))
        could = levels.announced(desired, seen, seen.record)
        told, now_s = seen.memory.announced, self._clock.monotonic()
        fresh = told is not None and now_s - told.at_s < _ANNOUNCED_FOR_S
        if could and (told is None or not fresh or tuple(step for step, _ in told.checks) != could):
            answers = await gather.checks(self._controllers, looked.leader, could)
            told = Announced(at_s=now_s, checks=answers) if answers else None
        kept = told.checks if told is not None and could else ()
        return _Checks(answers=(*asked, *kept), announced=told if could else None)

    async def _look(self, key: QuorumKey, taken: Snapshot, desired: Desired) -> Look:
        return await gather.look(
            self._controllers,
            taken,
            self._memories.get(key, Memory()),
            port=desired.runtime.listener.port,
            fetch_timeout_ms=_fetch_timeout_ms(desired),
            clock=self._clock,
        )

    async def _write_status(self, taken: Snapshot, done: Pass) -> Json:
        """One patch, if anything changed; the answer is the resource as it is now."""
        present = await self._present(taken, done)
        old: Json = present.get("status") or {}
        generation = int(taken.resource["metadata"].get("generation", 0))
        return await self._report(present, old, build(done, old, generation=generation, now=self._now()))

    async def _report(self, present: Json, old: Json, new: Json) -> Json:
        """Write the status, and what of it is news as events: not before it is written, so that it is told once."""
        changed = patch_of(old, new)
        written = await self._patch_status(present, changed)
        if written and changed:
            await self._events.write(present, news(old, new))
        return written

    async def _present(self, taken: Snapshot, done: Pass) -> Json:
        """The resource as it is after the acts of this pass: a write of the operation has changed it."""
        kinds = (actions.BeginOperation, actions.BeginFeatureStep, actions.FinishOperation)
        if not any(isinstance(action, kinds) for action in done.plan.actions):
            return taken.resource
        metadata = taken.resource["metadata"]
        return await self._kube.get(QUORUMS, metadata["namespace"], metadata["name"]) or taken.resource

    async def _patch_status(self, resource: Json, changed: Json) -> Json:
        if not changed:
            return resource
        if not self._may_act():
            raise NotActing("the lease has lapsed: the status is its next holder's")
        metadata = resource["metadata"]
        body: Json = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": changed}
        try:
            return await self._kube.patch(QUORUMS, metadata["namespace"], metadata["name"], body, subresource="status")
        except (KubeConflict, KubeNotFound):
            return {}  # somebody wrote meanwhile: the next pass starts from there

    async def _refuse(self, taken: Snapshot, faults: tuple[FieldFault, ...]) -> PassResult:
        """A resource that never was valid: say so, field by field, and touch nothing."""
        old: Json = taken.resource.get("status") or {}
        generation = int(taken.resource["metadata"].get("generation", 0))
        name = taken.resource["metadata"]["name"]
        new = refused(old, faults, name=name, generation=generation, now=self._now())
        await self._report(taken.resource, old, new)
        return self._idle()

    def _tell(self, key: QuorumKey, planned: Plan) -> None:
        """Log what the guards say when they say something new."""
        if planned.verdicts == self._verdicts.get(key):
            return
        before = set(self._verdicts.get(key, ()))
        self._verdicts[key] = planned.verdicts
        for verdict in planned.verdicts:
            if verdict not in before:
                answer = "allows" if verdict.allowed else "holds"
                logger.info("%s: guard %s %s: %s", key, verdict.rule, answer, verdict.reason)

    async def _narrate(self, key: QuorumKey, resource: Json, outcomes: tuple[Outcome, ...]) -> None:
        """Log every outcome, and write the events of all of them."""
        for outcome in outcomes:
            logger.log(
                logging.INFO if outcome.done or outcome.held else logging.WARNING, "%s: %s", key, outcome.message
            )
        await self._events.write(resource, notices(outcomes))

    def _now(self) -> str:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What is acted on: the valid spec, or with `faults` the last valid one, or nothing."""

    desired: Desired | None
    faults: tuple[FieldFault, ...]


def _judge(taken: Snapshot) -> _Judged:
    ours = (None, taken.resource["metadata"]["uid"])  # what an earlier resource of this name owns binds nobody
    record = taken.record if taken.record_owner_uid in ours else None
    claimed = max((claim.requested_bytes for claim in taken.claims if claim.owner_uid in ours), default=None)
    valid = validate(taken.resource, record=record, claimed_bytes=claimed)
    if isinstance(valid, Desired):
        return _Judged(desired=valid, faults=())
    applied = taken.spec_of(record.applied_revision if record else None)
    if applied is None:
        return _Judged(desired=None, faults=valid)
    present = taken.resource.get("spec") or {}
    earlier = accepted_before({**taken.resource, "spec": _with_policies(applied, present)})
    if earlier is None:  # the fault is in the policies: nothing is given up or deleted until they are understood
        earlier = accepted_before({**taken.resource, "spec": _with_policies(applied, _CAUTIOUS | _paused(present))})
    return _Judged(desired=earlier, faults=valid)


_CAUTIOUS: Final[Json] = {
    "controllers": {
        "replacement": {"lostDisk": "Manual", "lostNode": "Manual"},
        "storage": {"retentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}},
    }
}


def _paused(spec: Json) -> Json:
    return {"paused": spec.get("paused") is True}


def _with_policies(applied: Json, present: Json) -> Json:
    """The spec that was valid last, under what is said now of pausing, replacing and keeping: those bind at once."""
    earlier, now = applied.get("controllers") or {}, _object(present, "controllers")
    storage = {**(earlier.get("storage") or {}), **_only(_object(now, "storage"), "retentionPolicy")}
    controllers = {**earlier, **_only(now, "replacement"), "storage": storage}
    return {**applied, **_paused(present), "controllers": controllers}


def _object(parent: Json, name: str) -> Json:
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def _only(parent: Json, name: str) -> Json:
    return {name: parent[name]} if name in parent else {}


def _at_rest(done: Pass) -> bool:
    """Whether nothing is waited for and every voter keeps up: only then are objects worth remembering."""
    match done.observed.quorum:
        case Known(value=view):
            return not done.plan.waits and view.voters <= view.caught_up
        case Unknown():
            return False


def _fetch_timeout_ms(desired: Desired) -> int:
    text = dict(desired.runtime.config).get(_FETCH_TIMEOUT, "")
    return int(text) if text.isdigit() else FETCH_TIMEOUT_MS
