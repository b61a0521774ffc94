"""One pass over one quorum: observe → validate → plan → act → status. Level-triggered: it starts from what is.

A look at the quorum may use the Kubernetes objects of an earlier pass while no watch has reported an event. A plan that
has actions is computed again from freshly listed objects. After an act the caller looks again at once.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from kafka_quorum.act.admission import PodAdmission
from kafka_quorum.act.building import Context
from kafka_quorum.act.execute import Executor
from kafka_quorum.act.leased import leased_controllers, leased_zookeepers
from kafka_quorum.checks import checked
from kafka_quorum.judge import judge
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.actions import BeginOperation, GiveBackNodes, TakeToken, one_object
from kafka_quorum.model.admission import Admissions
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.names import FIELD_MANAGER
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Outcome, Plan
from kafka_quorum.model.situation import Situation
from kafka_quorum.observe import disks, gather, nodes, quorum, seeds
from kafka_quorum.observe.brokers import NO_BROKERS, BrokerEdges, BrokerReads, Unrecorded
from kafka_quorum.observe.glance import Glances
from kafka_quorum.observe.material import MaterialReads
from kafka_quorum.observe.remembered import RememberedObjects
from kafka_quorum.observe.running import runs_since
from kafka_quorum.observe.scram import ScramReads
from kafka_quorum.observe.snapshot import Snapshot, snapshot
from kafka_quorum.observe.soak import soaked
from kafka_quorum.observe.zookeeper import NO_KEEPERS, KeeperEdges, KeeperReads, migrates
from kafka_quorum.plan.facts.places import nodes_of_next
from kafka_quorum.plan.releases.wants import depends_on_brokers
from kafka_quorum.planning import decide, stays
from kafka_quorum.report import QuorumDraft, Reporter, narrate
from kafka_quorum.resources.agent import PORT as METRICS_PORT
from kafka_quorum.resources.stored import accepted_text
from kafka_quorum.settings import Settings
from kafka_quorum.status.build import says_ready
from kafka_quorum.status.finding import Pass
from kafka_quorum.wire.protocol import Controllers
from kit.clock import Clock
from kit.ids import IdSource
from kit.key import ObjectKey
from kit.kube.protocol import Json, KubeApi
from kit.leased import leased_kube
from kit.pki.authority import DICE, Dice
from kit.repeats import FREE, Repeated, Repeats
from kit.report.events import Events
from kit.report.log import Log
from kit.report.report import Draft, Subscriber, Subscribers
from kit.report.told import no_effect, standing
from kit.term import Term

_FAILED_REQUEUE_S: Final = 1.0
_AWAITED_S: Final = 0.4
"""The pause before a look that may have the answers of brokers for which an act waits."""
_SILENT_S: Final = 1.0
"""A look that found no leader, and took at least this long, waited for answers that did not come."""
_ANSWERED_WITHIN_S: Final = 0.5
"""If admission takes longer to answer about a pod, the look is taken again: it would be too old for what follows."""
_NO_EFFECT_AT: Final = 3
"""An event reports an action that changes nothing after this many repetitions beyond the `FREE` ones."""
_READING: Final = 16
"""The objects of at most this many quorums are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassResult:
    """The result of a pass. `gone`: there is no such resource any more. `again`: look again at once.

    `urgent`: a change of the voters is open, so that no failure is waited out for long. `silent`: the controllers were
    asked, and those that could lead did not answer in time. `repeated`: an action that was done again and again.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stale:
    """There is something to do, and the objects are not fresh enough for it. `answers` came for it a moment ago."""

    answers: Admissions | None = None


class Reconciler:
    """Runs passes. What it remembers between them (looks, objects) only saves requests, and may be lost at any time."""

    def __init__(  # noqa: PLR0913 - its edges, each by name
        self,
        *,
        kube: KubeApi,
        controllers: Controllers,
        clock: Clock,
        ids: IdSource,
        settings: Settings,
        may_act: Callable[[], bool] = lambda: True,
        subscribers: Iterable[Subscriber[Observed]] = (),
        unchanged: Callable[[ObjectKey], None] = lambda _: None,
        brokers: BrokerEdges = NO_BROKERS,
        keepers: KeeperEdges = NO_KEEPERS,
        dice: Dice = DICE,
        term: Term | None = None,
    ) -> None:
        """Take the edges and the settings. `may_act` says whether this operator holds the lease.

        `subscribers` receive a report of each look, besides the log and events; `unchanged`: a pass needed no look.
        """
        self._kube = kube
        self._controllers = controllers
        self._clock = clock
        self._settings = settings
        self._may_act = may_act
        self._unchanged = unchanged
        acting, ruling = leased_kube(kube, may_act), leased_controllers(controllers, may_act)
        ours = None if keepers.zookeepers is None else leased_zookeepers(keepers.zookeepers, may_act)
        self._executor = Executor(acting, ruling, clock, ids, settings, may_act, ours, dice)
        events = Events(acting, clock, ids, QUORUMS, component=FIELD_MANAGER, instance=settings.holder)
        self._subscribers: Subscribers[Observed] = Subscribers((Log(), events, *subscribers))
        self._reporter = Reporter(acting, clock, may_act)
        # Quorums get their turn in order. A turn lasts while objects are read, never while Kafka is waited for: a
        # quorum that does not answer delays no other one. Acts need no turn, because a look grows old while they wait.
        self._reading = asyncio.Semaphore(_READING)
        self._admission = PodAdmission(kube, clock, settings)
        self._brokers = BrokerReads(kube, clock, brokers)
        self._keepers = KeeperReads(kube, clock, keepers)
        term = term or Term(clock)
        self._materials = MaterialReads(kube, clock, controllers, term)
        self._scram = ScramReads(kube, clock, controllers)
        self._memories: dict[ObjectKey, Memory] = {}
        self.objects = RememberedObjects(clock, settings.resync_s)
        recorded = bool(settings.observations.target or settings.observations.topic)
        self._glances = Glances(controllers, clock, term, tick_s=settings.rest_s, always_look=recorded)
        self._changes: dict[ObjectKey, int] = {}
        self._heard: dict[ObjectKey, list[str]] = {}
        """The resource versions of events since the last look began."""
        self._repeats: dict[ObjectKey, Repeats] = {}
        self._failed: dict[ObjectKey, frozenset[tuple[str, ...]]] = {}
        """What the last pass that acted could not make or keep for controllers: the next one does not wait for it."""
        self._announced: set[ObjectKey] = set()
        """The quorums whose status was written without Ready, so that a voter change can begin."""

    def changed(self, key: ObjectKey, resource_version: str = "") -> bool:
        """Note an event of a watch: objects remembered, or being read at this moment, are not trusted any more.

        Given the resource version of the resource itself, False means that the event only echoes our own last write.
        """
        if self._reporter.is_echo(key, resource_version):
            return False
        self._changes[key] = self._changes.get(key, 0) + 1
        if key in self._heard:
            self._heard[key].append(resource_version)
        self.objects.forget(key)
        return True

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone: remember nothing of it."""
        for store in (self._memories, self._changes, self._heard, self._repeats, self._failed):
            store.pop(key, None)
        self._announced.discard(key)
        self._reporter.forget(key)
        self._admission.forget(key.namespace, key.name)
        for reads in (self.objects, self._glances, self._brokers, self._keepers, self._materials, self._scram):
            reads.forget(key)
        self._subscribers.forget(key)

    async def cannot_look(self, key: ObjectKey, why: str) -> None:
        """Passes end in errors: the status must not claim what is unknown by now. Raises `KubeError`."""
        self.objects.forget(key)
        if self._may_act():
            draft = await self._reporter.cannot_look(key, why)
            if draft is not None:
                await self._subscribers.publish(draft.ended())

    async def run_pass(self, key: ObjectKey) -> PassResult:
        """One pass. Raises `KubeError` if the Kubernetes objects cannot be read: unknown is not empty.

        Without the lease it looks at nothing. If the lease lapses within the pass, the pass ends with `NotActing`.
        """
        self._heard.pop(key, None)
        if not self._may_act():
            return self._idle()
        remembered, answers = self.objects.of(key), None
        if remembered is not None and await self._glanced(key, remembered):
            return replace(self._idle(), requeue_s=self._settings.rest_s)
        remembered = self.objects.of(key)  # an event may have come while the leader was asked
        while True:
            changes, self._heard[key] = self._changes.get(key, 0), []
            taken = remembered or await self._snapshot(key)
            if taken is None:
                return PassResult(plan=None, outcomes=(), requeue_s=0.0, again=False, gone=True)
            result = await self._reported(key, taken, changes, may_act=remembered is None, answers=answers)
            if isinstance(result, PassResult):
                return result
            # There is something to do: plan it from freshly listed objects.
            remembered, answers = None, result.answers

    async def _reported(
        self, key: ObjectKey, taken: Snapshot, changes: int, *, may_act: bool, answers: Admissions | None
    ) -> PassResult | _Stale:
        """Run a pass, and send its report to the subscribers however it ends."""
        draft: QuorumDraft = Draft(key=key, resource=taken.resource)
        began_s, error = self._clock.monotonic(), None
        try:
            return await self._pass(draft, taken, changes, may_act=may_act, answers=answers)
        except BaseException as ended:
            error = ended
            raise
        finally:
            await self._subscribers.publish(draft.ended(took_s=self._clock.monotonic() - began_s, error=error))

    async def _glanced(self, key: ObjectKey, taken: Snapshot) -> bool:
        """Whether a glance showed that nothing is new, so that no look is needed now."""
        memory = self._memories.get(key)
        found = memory and await self._glances.glance(key, taken, memory, quorums=len(self._changes))
        if not found or self.objects.of(key) is not taken:
            return False
        self._memories[key] = found
        self._unchanged(key)
        return True

    async def _snapshot(self, key: ObjectKey) -> Snapshot | None:
        self.objects.forget(key)
        async with self._reading:
            return await snapshot(self._kube, key.namespace, key.name, self._clock)

    async def _pass(
        self, draft: QuorumDraft, taken: Snapshot, changes: int, *, may_act: bool, answers: Admissions | None
    ) -> PassResult | _Stale:
        """The data flow. `draft` collects what there is to report.

        The objects are kept only if no watch event came since there were `changes` of them.
        """
        key = draft.key
        if "deletionTimestamp" in taken.resource["metadata"]:  # its dependents go first: none is recreated
            return self._idle()
        judged = judge(taken, self._settings.pod_exceptions)
        if judged.desired is None:
            await self._reporter.refuse(draft, taken, judged.faults, quorums=len(self._changes))
            return self._idle()
        desired, began_s = judged.desired, self._clock.monotonic()
        observed = await self._observe(key, taken, desired)
        draft.seen, draft.seen_at = observed, self._clock.now()
        silent = isinstance(observed.quorum, Unknown) and self._clock.monotonic() - began_s >= _SILENT_S
        now_s = self._clock.now().timestamp()
        planned = decide(desired, observed, repair_only=bool(judged.faults), now_s=now_s)
        accepted = taken.accepted if judged.faults else accepted_text(taken.resource.get("spec") or {})
        context = Context(
            desired=desired,
            record=taken.record,
            resource=taken.resource,
            spec=judged.spec,
            accepted=accepted,
            access=self._materials.access(key, observed),
            agent_image=self._settings.operator_image,
        )
        if planned.questions and may_act:
            if answers is None:
                answers = await self._admission.ask(planned.questions, observed, context)
                if self._clock.monotonic() - observed.looked_at_s > _ANSWERED_WITHIN_S:
                    return _Stale(answers=answers)
            observed = replace(observed, admissions=answers)
            planned = decide(desired, observed, repair_only=bool(judged.faults), now_s=now_s)
        if (planned.actions or planned.questions) and not may_act:
            return _Stale()
        planned = self._announcing(key, planned, taken.resource)
        draft.standing = standing(planned.verdicts)
        if any(isinstance(action, TakeToken) for action in planned.actions):  # its answer may be lost: read it again
            self._memories[key] = replace(self._memories.get(key, Memory()), holder=None)
        outcomes = await self._executor.execute(planned, context)
        self._memories[key] = quorum.acknowledged(self._memories[key], outcomes, self._clock.monotonic())
        self._materials.reloads(key, outcomes)
        if any(isinstance(outcome.action, GiveBackNodes) for outcome in outcomes):  # whatever its answer: read again
            self._keepers.outdated(key)
        if outcomes:
            failed = (one_object(outcome.action) for outcome in outcomes if not outcome.done and not outcome.held)
            self._failed[key] = frozenset(filter(None, failed))
        self._admission.learn(outcomes, context, (revision.name for revision in observed.revisions))
        done = Pass(
            desired=desired,
            observed=observed,
            plan=planned,
            outcomes=outcomes,
            faults=judged.faults,
            now_s=now_s,
            autoscaler=taken.autoscaler,
        )
        return replace(await self._ended(draft, taken, changes, done), silent=silent)

    async def _ended(self, draft: QuorumDraft, taken: Snapshot, changes: int, done: Pass) -> PassResult:
        """Report a pass, remember its objects if nothing is left to do, and say what follows."""
        key, planned, outcomes = draft.key, done.plan, done.outcomes
        written = await self._reporter.write_status(draft, taken, done, quorums=len(self._changes))
        repeated = None
        if planned.actions:
            narrate(draft, outcomes)
            repeated = self._repeats.setdefault(key, Repeats()).note(outcomes, self._clock.monotonic())
            if repeated is not None and repeated.times == FREE + _NO_EFFECT_AT:
                no_effect(draft, repeated.words, repeated.times)
        elif self._is_last_word(key, written, changes) and done.at_rest:
            self.objects.keep(key, rests := replace(taken, resource=written))
            if self._brokers.is_settled(key) and self._materials.is_settled(key):
                reached = self._materials.access(key, done.observed)
                due_s = self._materials.due_s(key)
                self._glances.rests(key, rests, done.observed, reached, partial(stays, done), due_s)
        else:  # what is remembered may be older than the status that was written: writes over it would fail
            self.objects.forget(key)
        failed = any(not outcome.done for outcome in outcomes)
        status = done.observed.status
        awaited_s = _AWAITED_S if self._brokers.is_awaited(key) else self._settings.tick_s
        return PassResult(
            plan=planned,
            outcomes=outcomes,
            requeue_s=_FAILED_REQUEUE_S if failed else min(planned.requeue_s, awaited_s, self._settings.tick_s),
            again=bool(planned.actions) and not failed,
            gone=False,
            urgent=status.operation is not None or status.feature_operation is not None,
            repeated=repeated,
        )

    def _announcing(self, key: ObjectKey, planned: Plan, resource: Json) -> Plan:
        """The plan, without the beginning of a voter change while the status still says Ready.

        The intent and the conditions are two writes: no reader may see the intent beside Ready. It is held for one
        pass.
        """
        begins = any(isinstance(action, BeginOperation) for action in planned.actions)
        if not begins or key in self._announced or not says_ready(resource):
            self._announced.discard(key)
            return planned
        self._announced.add(key)
        return replace(planned, actions=(), requeue_s=0.0)

    def _is_last_word(self, key: ObjectKey, written: Json, changes: int) -> bool:
        """Whether no watch event but the echo of this write came, and no answer was older than our own last write."""
        echoes = sum(self._reporter.is_echo(key, version) for version in self._heard.get(key, ()))
        heard_nothing = changes + echoes == self._changes.get(key, 0)
        return bool(written) and heard_nothing and self._reporter.is_newest(key, written)

    def _idle(self) -> PassResult:
        return PassResult(plan=None, outcomes=(), requeue_s=self._settings.idle_s, again=False, gone=False)

    async def _observe(self, key: ObjectKey, taken: Snapshot, desired: Desired) -> Observed:
        """Look at the quorum, and at the Kubernetes nodes of controllers that do not fetch, or may be stopped next."""
        memory = self._memories.get(key, Memory())
        material, access = await self._materials.look(key, taken, desired)
        looked = await gather.look(self._controllers, taken, memory, access=access, clock=self._clock)
        remembered = self._admission.remembered(key.namespace, key.name)
        failed = self._failed.get(key, frozenset())
        seen = replace(gather.observed(taken, looked, material), admissions=remembered, failed=failed)
        seen = replace(seen, scram=await self._scram.look(key, taken, desired, looked.leader))
        claims = await gather.placed(self._kube, seen.claims, nodes.unplaced(seen))
        seen = replace(seen, claims=claims, seeds=await seeds.seeds_of(self._kube, desired, seen))
        at = partial(Situation, desired=desired, observed=seen, now_s=self._clock.now().timestamp())
        situation = None if seen.record is None else at(record=seen.record)
        stopped_next = () if situation is None else nodes_of_next(situation)
        answers = await gather.kube_nodes(self._kube, tuple(sorted({*nodes.suspects(seen), *stopped_next})))
        checks = await checked(self._controllers, self._clock, situation, looked)
        held, due_s = await gather.token(self._kube, situation, memory.token_due_s)
        seen = await self._keepers.look(key, desired, seen, METRICS_PORT)
        if situation is not None:
            asked = replace(situation, observed=seen)
            needed = depends_on_brokers(situation)
            seen = replace(seen, brokers=self._brokers.look(key, asked, needed=needed))
        elif migrates(desired, None):
            nobody = Unrecorded(desired=desired, observed=seen)
            seen = replace(seen, brokers=self._brokers.look(key, nobody, needed=True))
        seen = replace(seen, kube_nodes=answers, checks=checks.answers, token=held)
        now_s = self._clock.monotonic()
        soak = soaked(seen, now_s)
        seen = replace(seen, memory=nodes.agreed(seen, now_s))
        self._memories[key] = replace(
            disks.remembered(seen, taken.taken_at_s),
            soak=soak,
            announced=checks.announced,
            runs_since=runs_since(seen, taken.taken_at_s),
            holder=held.value.holder if isinstance(held, Known) else seen.memory.holder,
            token_due_s=due_s,
            step_until_s=quorum.step_until_s(seen.memory, now_s),
        )
        return replace(seen, memory=self._memories[key])
