"""One run: a scenario, at most one fault, an operator and a world, until it has settled or reached the bound.

`make` returns the operator; the real one is the reconcile code with edges into the models. The operator and the world
take turns: the operator runs a pass when a watch would wake it, when its own time has come, or at once if it requests
that. Between any two passes the world moves.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from tests.simulation.model.clock import SeededIds, VirtualLoop
from tests.simulation.model.kubernetes.kube_model import Written, seen
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import STEP_S, Witness, World
from tests.simulation.rules.invariants import Checker, Violation
from tests.simulation.runs.accidents import happen, losable
from tests.simulation.runs.edges import CrashedError, Life, Wire
from tests.simulation.runs.endings import Ending, judge
from tests.simulation.runs.faults import Accident, Call, Fault, Injection, Loss, Strike
from tests.simulation.runs.kafka_edge import KafkaEdge
from tests.simulation.runs.kube_edge import KubeEdge
from tests.simulation.runs.scenarios.scenes import Scenario, Turn, applies, rests
from tests.simulation.runs.slow import Hitches
from tests.simulation.runs.watches import concerns_quorum

from kafka_brokers.reconcile import PassResult as PoolResult
from kafka_brokers.reconcile import PoolReconciler
from kafka_quorum.inventories import EVERY_S
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.names import LABEL_QUORUM
from kafka_quorum.model.observed import Observed
from kafka_quorum.observe.brokers import NO_BROKERS, BrokerEdges
from kafka_quorum.observe.snapshot import KINDS, Snapshot
from kafka_quorum.observe.zookeeper import NO_KEEPERS, KeeperEdges
from kafka_quorum.reconcile import PassResult, Reconciler
from kafka_quorum.settings import Settings
from kafka_quorum.wire.protocol import Controllers
from kafka_streams.reconcile import PassResult as StreamsResult
from kit.clock import Clock
from kit.errors import OperatorError
from kit.ids import IdSource
from kit.key import ObjectKey
from kit.kube import inventory
from kit.kube.protocol import KubeApi
from kit.pki.authority import DICE
from kit.turns import Passes, Rest, Turns

KEY: Final = ObjectKey(namespace=NAMESPACE, name=NAME)
NODE_IDS: Final = (3000, 3001, 3002, 3003, 3004, 3005)
BOUND_STEPS: Final = 700
READY_FOR_STEPS: Final = 6
NOTICED_STEPS: Final = 24
"""Longer than the operator's own tick and a kubelet's silence: no watch reports a lost machine."""
QUIET_STEPS: Final = 80
"""Longer than the operator's own tick, its pauses between attempts, and the kubelet's back-off."""
_STALE_STEPS: Final = QUIET_STEPS + int(Settings(holder="").resync_s / STEP_S)
"""Longer than remembered objects are trusted while no watch reports an event, after a read that was stale."""
_RESTART_S: Final = 1.0


class Operator(Passes[PassResult], Protocol):
    """The runner of passes."""

    def changed(self, key: ObjectKey, resource_version: str = "") -> bool:
        """A watch has reported a change; False if it only echoes an own write."""

    def forget(self, key: ObjectKey) -> None:
        """Nothing counts that earlier passes have shown."""


AnyResult: TypeAlias = PassResult | PoolResult | StreamsResult
Make = Callable[[KubeApi, Controllers, Clock, IdSource], Operator]


class Watched(Reconciler):
    """The operator's own reconcile code. It reports each look to the witness before any act.

    An inventory begins before a pass, and is used before the next one: the world has moved on by then.
    """

    witness: Witness | None = None
    edge: KubeEdge | None = None
    _inventory_at_s = EVERY_S
    _taken: inventory.Inventory | None = None

    async def run_pass(self, key: ObjectKey) -> PassResult:
        """A pass, with what the inventory before the last one has confirmed."""
        if self._taken is not None:
            self.objects.confirm(self._taken)
            self._taken = None
        if self.edge is not None and self._clock.monotonic() >= self._inventory_at_s and self._may_act():
            self._inventory_at_s = self._clock.monotonic() + EVERY_S
            wanted = self.objects.keys()
            self._taken = await inventory.take(self.edge, self._clock, QUORUMS, KINDS, LABEL_QUORUM, "", wanted)
        return await super().run_pass(key)

    async def _observe(self, key: ObjectKey, taken: Snapshot, desired: Desired) -> Observed:
        seen = await super()._observe(key, taken, desired)
        if self.witness is not None:
            self.witness.saw(key.namespace, key.name, seen)
        return seen


def real(
    kube: KubeApi,
    controllers: Controllers,
    clock: Clock,
    ids: IdSource,
    *,
    may_act: Callable[[], bool] = lambda: True,
    brokers: BrokerEdges = NO_BROKERS,
    keepers: KeeperEdges = NO_KEEPERS,
) -> Operator:
    """The operator's own reconcile code. `may_act` is whether it holds the lease, `brokers` where it asks brokers.

    `keepers` is where it reads the state of a migration from ZooKeeper.
    """
    settings = Settings(holder="simulation", operator_image="kafka-quorum-operator:0")
    made = Watched(
        kube=kube,
        controllers=controllers,
        clock=clock,
        ids=ids,
        settings=settings,
        may_act=may_act,
        brokers=brokers,
        keepers=keepers,
        dice=kube.wire.dice if isinstance(kube, KubeEdge) else DICE,
    )
    made.edge = kube if isinstance(kube, KubeEdge) else None
    made.witness = kube.world.witness if isinstance(kube, KubeEdge) else None
    return made


def count(result: AnyResult, actions: Counter[str], verdicts: Counter[str]) -> bool:
    """Add the plan of a pass to both counts; returns whether the plan had any action."""
    if result.plan is None:
        return False
    actions.update(type(action).__name__ for action in result.plan.actions)
    verdicts.update(f"{verdict.rule} {'yes' if verdict.allowed else 'no'}" for verdict in result.plan.verdicts)
    return bool(result.plan.actions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A step of a run: the world before it, its calls, and whether the operator acted."""

    step: int
    digest: tuple[object, ...]
    calls: range
    acted: bool
    turned: bool
    """Whether every turn of the scenario is over."""
    losses: frozenset[tuple[Loss, int]]
    """What could be lost before the step."""


@dataclass(slots=True, kw_only=True)
class Run:
    """The result of a run. `actions` and `verdicts` are counted by name; a verdict's name ends in yes or no."""

    scenario: Scenario
    fault: Fault | None
    ending: Ending
    steps: int
    passes: int
    calls: list[Call]
    violations: list[Violation]
    actions: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    struck: bool = True
    moments: list["Moment"] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """No rule was broken, and what the resource reports at the end is true."""
        return not self.violations and self.ending.honest

    @property
    def replay(self) -> str:
        """The name that replays this run."""
        return f"{self.scenario.name}/{self.fault or 'no-fault'}"


@dataclass(slots=True, kw_only=True)
class Served:
    """A resource that an operator serves, and when its next pass is due."""

    key: ObjectKey
    operator: Operator | PoolReconciler
    turns: Turns[Any]
    due_s: float = 0.0
    deaf_until_s: float = 0.0
    woken: bool = True
    heard: list[str] = field(default_factory=list)
    """The versions of the resource itself that the operator wrote: its watch reports them after the answers."""

    def listen(self) -> None:
        """What the watch has reported of our own writes: an echo wakes nothing."""
        for version in self.heard:
            self.woken = self.operator.changed(self.key, version) or self.woken
        self.heard.clear()


class Driver:
    """Runs one scenario with one fault."""

    def __init__(self, scenario: Scenario, fault: Fault | None = None, *, make: Make = real, bound: int = 0) -> None:
        """Prepare the run."""
        self._scenario, self._fault, self._make, self._bound = scenario, fault, make, bound or scenario.bound
        self.world = World()
        self.checker = Checker(self.world)
        self._ids = SeededIds(1)
        self._wire = Wire(world=self.world, injection=fault if isinstance(fault, Injection) else None)
        self.world.kubelet.pace = scenario.pace
        self.world.kubelet.backs_off = scenario.backs_off
        self.world.kubelet.lingers = scenario.lingers
        self._wire.hitches = Hitches(scenario.hitches, self.world)
        self.checker.misled = lambda: self._wire.misled
        self._turns = list(scenario.turns)
        self._life, self._served = self._begin()
        self._loop = VirtualLoop(self.world.clock)
        self._loop.set_exception_handler(lambda _, __: None)  # a crashed operator's other requests end without a report
        self._passes, self._ready_steps, self._quiet_steps, self._born_s = 0, 0, 0, 0.0
        self._accident: Accident | None = fault if isinstance(fault, Accident) else None
        self._accident_hit = False
        self._moments: list[Moment] = []
        self._actions: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()
        self.world.kube.watchers.append(self._watch)

    def run(self) -> Run:
        """Run to the end."""
        self.begin()
        return self._end()

    def begin(self) -> None:
        """Apply the scenario's spec."""
        applies(self._scenario.spec)(self.world, self.checker)

    def go_on(self, step: int) -> None:
        """Run without a fault until this step of the world is next."""
        while self.world.steps < step:
            self._step()

    def end_with(self, fault: Fault) -> Run:
        """Runs the rest with this later fault: the result is that of a run that had it from its start."""
        self._fault = fault
        if isinstance(fault, Injection):
            self._wire.injection = fault
        else:
            self._accident = fault
        return self._end()

    def end_after(self, last: Turn) -> Run:
        """Run the rest without a fault, and with one more turn."""
        self._turns.append(last)
        return self._end()

    def close(self) -> None:
        """End a run that does not continue."""
        self._loop.close()

    def _end(self) -> Run:
        try:
            while self.world.steps < self._bound and not self._settled():
                self._moment() if self._fault is None else self._step()
                if self.checker.violations:
                    break
        finally:
            self._loop.close()
        return self._result()

    def _moment(self) -> None:
        """One step of a run without a fault, with a record of it."""
        step, digest, first = self.world.steps, self.world.digest(), len(self._wire.calls)
        acts = sum(self._actions.values())
        losses = self._losses() if self._scenario.exhaustive else frozenset()
        self._step()
        moment = Moment(
            step=step,
            digest=digest,
            calls=range(first, len(self._wire.calls)),
            acted=sum(self._actions.values()) > acts,
            turned=not self._turns,
            losses=losses,
        )
        self._moments.append(moment)

    def _losses(self) -> frozenset[tuple[Loss, int]]:
        """What could be lost now, of which node."""
        return frozenset((loss, node) for node in NODE_IDS for loss in losable(self.world, node))

    def _begin(self) -> tuple[Life, list[Served]]:
        """A new incarnation of the operator, and what it serves."""
        life = Life()
        return life, [self._serves_quorum(life)]

    def _serves_quorum(self, life: Life) -> Served:
        kube, kafka = KubeEdge(self._wire, life), KafkaEdge(self._wire, life)
        operator = self._make(kube, kafka, self.world.clock, self._ids)
        return Served(key=KEY, operator=operator, turns=Turns(operator, KEY))

    def _watch(self, written: Written) -> None:
        """A watch wakes the operator on any change of what it serves."""
        for served in self._served if not self.world.unwatched else ():
            if written.by_operator and written.key == (QUORUMS.plural, served.key.namespace, served.key.name):
                written_now = seen(written.after)
                served.heard.append("" if written_now is None else written_now["metadata"]["resourceVersion"])
            else:
                served.woken = served.woken or self._concerns(served, written)

    def _concerns(self, _: Served, written: Written) -> bool:
        return concerns_quorum(written)

    def _step(self) -> None:
        accident = self._accident
        if accident is not None and accident.step <= self.world.steps:
            self._accident_hit = happen(self.world, accident)
            self._accident = None
            self._quiet_steps = self._ready_steps = 0
        if self._turns and self._turns[0].when(self.world):
            self._turns.pop(0).act(self.world, self.checker)
            self._quiet_steps = self._ready_steps = 0
        self.world.step()
        if self._born_s + self._scenario.lives_s <= self.world.clock.elapsed_s < self._scenario.until_s:
            self._begin_anew(self.world.clock.elapsed_s)
        for served in () if self.world.operator_away else list(self._served):
            now_s = self.world.clock.elapsed_s
            served.listen()
            ours = any(one is served for one in self._served)  # a crash within this step ended the others
            if ours and ((served.woken and now_s >= served.deaf_until_s) or now_s >= served.due_s):
                self._pass(served)
                self.checker.look()
        self._ready_steps = self._ready_steps + 1 if self._rests() else 0
        self._quiet_steps = 0 if self.world.pending else self._quiet_steps + 1

    def _rests(self) -> bool:
        return rests(self.world)

    def _pass(self, served: Served) -> None:
        self._passes += 1
        self._wire.fresh_pass = True
        if served.woken:
            served.operator.changed(served.key)
        served.woken = False
        now_s = self.world.clock.elapsed_s
        try:
            rest: Rest = self._loop.run_until_complete(served.turns.take(lambda: served.woken))
        except CrashedError:
            self._drain()
            self._begin_anew(now_s)
            self._quiet_steps = self._ready_steps = 0
            return
        error, result = served.turns.error, served.turns.result
        if error is not None and not isinstance(error, OperatorError):
            self.checker.fail("no fault of the operator", f"a pass ended in {error!r}")
            return
        if error is not None:
            self._drain()
        elif result is not None:
            self._planned(served, result)
            if count(result, self._actions, self._verdicts):
                self._quiet_steps = 0
        now_s = self.world.clock.elapsed_s
        served.due_s, served.deaf_until_s = now_s + rest.seconds, now_s + rest.deaf_s

    def _begin_anew(self, now_s: float) -> None:
        """The operator has ended, and another process takes its place."""
        self._life, self._served = self._begin()
        self._born_s = now_s
        for one in self._served:
            one.due_s, one.woken = now_s + _RESTART_S, False

    def _planned(self, _: Served, result: AnyResult) -> None:
        if isinstance(result, PassResult):
            self.checker.planned(result.plan)

    def _drain(self) -> None:
        """Lets every further call of the pass fail, because its operator was stopped."""
        tasks: Iterable[asyncio.Task[object]] = asyncio.all_tasks(self._loop)
        if pending := [task for task in tasks if not task.done()]:
            self._loop.run_until_complete(asyncio.wait(pending))

    def _settled(self) -> bool:
        late = self._wire.hitches is not None and self._wire.hitches.left
        late = late or self.world.clock.elapsed_s < self._scenario.until_s or not self._scenario.until(self.world)
        if self._turns or late or self._accident is not None or self.world.pending:
            return False
        hidden = self._scenario.turns or isinstance(self._fault, Accident)
        enough = NOTICED_STEPS if hidden else READY_FOR_STEPS
        whole = self._ready_steps >= enough and self._quiet_steps >= READY_FOR_STEPS
        stale = isinstance(self._fault, Injection) and self._fault.strike is Strike.STALE
        return whole or self._quiet_steps >= (_STALE_STEPS if stale else QUIET_STEPS)

    def _judge(self, *, settled: bool) -> Ending:
        return judge(self.world, self.checker, self._scenario, settled=settled)

    def _result(self) -> Run:
        struck = self._wire.struck if isinstance(self._fault, Injection) else self._accident_hit
        settled = self._settled()
        return Run(
            scenario=self._scenario,
            fault=self._fault,
            ending=self._judge(settled=settled),
            steps=self.world.steps,
            passes=self._passes,
            calls=self._wire.calls,
            violations=self.checker.violations,
            actions=self._actions,
            verdicts=self._verdicts,
            struck=struck,
            moments=self._moments,
        )
