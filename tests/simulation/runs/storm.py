"""A seeded storm: all faults at random, and then a calm in which the quorum must become whole.

One or two operators run passes at the same time, each with its own memory and clock. Before every call of theirs the
storm draws what continues: one of the waiting calls, or the world by one step. So passes are interleaved call by call,
and an operator may be frozen for minutes within one. Requests fail, machines, disks and processes are lost, the
spec changes. The same seed is the same storm.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Final

from tests.simulation.model.clock import SeededIds, VirtualLoop
from tests.simulation.model.kafka.startup import drawn, steady
from tests.simulation.model.kubernetes.kube_model import Written
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.accidents import can_lose, happen, heal
from tests.simulation.runs.driver import KEY, NODE_IDS, NOTICED_STEPS, QUIET_STEPS, Make, count, real
from tests.simulation.runs.edges import CrashedError, Life
from tests.simulation.runs.endings import Ending, is_doomed, judge
from tests.simulation.runs.faults import FINAL_LOSSES, HIDDEN_DISKS, Accident, Call, Loss
from tests.simulation.runs.kafka_edge import KafkaEdge
from tests.simulation.runs.kube_edge import KubeEdge
from tests.simulation.runs.scenarios.scenes import Scenario, applies, rests, spec_of
from tests.simulation.runs.slow import Slowness
from tests.simulation.runs.tenure import LeaseWire, tenure_of
from tests.simulation.runs.watches import concerns_quorum
from tests.simulation.runs.weather import Hand, OwnClock, Round, Served, StormWire, Weather, Weathered

from kafka_quorum.reconcile import PassResult
from kit.errors import OperatorError
from kit.key import ObjectKey
from kit.kube.protocol import Json
from kit.turns import Turns

CALM_STEPS: Final = 1500
"""Within this number of steps after the last fault the quorum is whole."""
_HOPS: Final = 10
"""This number of turns of the event loop brings every task to its next gate."""
_EXCUSED_S: Final = 10.0
_LATEST_S: Final = 20.0
_HOUR_S: Final = 3600.0
_ROUND: ContextVar[Round] = ContextVar("round")
"""Whose pass makes the present call."""


class Storm:
    """One storm."""

    kind = "storm"
    leased = True
    """Whether only the holder of the lease acts."""
    wires: type[StormWire] = StormWire
    """The wire of its operators."""
    quiet_steps = QUIET_STEPS
    """After this number of steps without an action the storm ends."""
    clocks_jump = True
    """Whether the clocks of operators jump by an hour."""
    losses = tuple(loss for loss in Loss if loss not in HIDDEN_DISKS)
    """What may be lost; disks that return are in other storms."""

    def __init__(self, seed: int, *, make: Make = real) -> None:
        """Draw the weather and the quorum."""
        self._seed, self._make = seed, make
        self.draw = random.Random(seed)
        self.world = World()
        self.world.kubelet.pace = drawn(seed)
        self.checker = Checker(self.world)
        self.checker.excused = self._excused
        self.weather = self.forecast()
        self._spec = self.first_spec()
        self._wire = self.wires(world=self.world)
        self._wire.draw, self._wire.chance, self._wire.strikes = self.draw, self.weather.strike, Counter()
        self._loop = VirtualLoop(self.world.clock)
        self._loop.set_exception_handler(lambda _, __: None)  # a crashed operator's other requests end without a report
        self._ids = SeededIds(seed + 1000)  # never the sequence of the kubelet
        self.faults: Counter[str] = Counter()
        self._incarnations = 0
        self._leases = LeaseWire(self.world, seed)
        self._hands = [self._hand() for _ in range(self.weather.operators)]
        self._events, self._passes = 0, 0
        self._ready_steps, self._quiet_steps = 0, 0
        self._excused_until_s = 0.0
        self._actions: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()
        self._raging = True
        self.world.kube.watchers.append(self._watch)

    def run(self) -> Weathered:
        """Run to the end."""
        try:
            self._loop.run_until_complete(self._run())
        finally:
            self._loop.close()
        self.faults.update(self._wire.strikes)
        self.faults.update(self._leases.strikes)
        self.faults["slow-call"] += sum(one.count for hand in self._hands for one in hand.slowness.values())
        return Weathered(
            seed=self._seed,
            ending=self.judge(settled=self._settled()),
            events=self._events,
            steps=self.world.steps,
            passes=self._passes,
            violations=self.checker.violations,
            tolerated=self.checker.tolerated,
            actions=self._actions,
            verdicts=self._verdicts,
            faults=self.faults,
            kind=self.kind,
        )

    def judge(self, *, settled: bool) -> Ending:
        """Compare the end with the truth."""
        return judge(self.world, self.checker, Scenario(name="storm", spec=self._spec), settled=settled)

    # What is drawn at first

    def forecast(self) -> Weather:
        """The chances of this storm."""
        draw = self.draw
        rough = draw.choice((0.3, 1.0, 2.0))
        return Weather(
            steps=draw.randint(120, 320),
            operators=draw.choice((1, 1, 2)),
            strike=draw.choice((0.0, 0.002, 0.01)) * rough,
            accident=0.02 * rough,
            crash=draw.choice((0.0, 0.02)) * rough,
            suspend=draw.choice((0.0, 0.01)) * rough,
            cut=draw.choice((0.0, 0.01)) * rough,
            change=draw.choice((0.0, 0.01, 0.03)),
            losses=draw.choice((0, 1, 2, 3)),
        )

    def first_spec(self) -> Json:
        """The first spec."""
        fate = {"retentionPolicy": {"whenScaled": self.draw.choice(("Delete", "Retain"))}}
        replicas = self.draw.choice((1, 1, 2, 3, 3, 3, 4, 5))
        mode = self.draw.choice(("InitialControllers", "InitialControllers", "Standalone"))
        return spec_of(mode, replicas, controllers={"storage": fate})

    def _hand(self) -> Hand:
        hand = Hand(clock=OwnClock(self.world.clock))
        self._restart(hand)
        return hand

    def _restart(self, hand: Hand) -> None:
        """A new incarnation, without memory."""

        async def gate() -> None:
            turn, since_s = self._loop.create_future(), self.world.clock.elapsed_s
            held = hand.holds or not self.leased  # it may, while the lease is no part of the run
            own = _ROUND.get()
            if not own.slowness.holds(turn, since_s):
                own.waiting.append(turn)
            await turn
            hand.stalled, hand.held = hand.slept_s >= since_s, held

        self._incarnations += 1
        hand.life = Life(gate=gate, sent=partial(self._sent, hand))
        hand.clock.zero_s, hand.clock.rate = 1000.0 * self._incarnations, 1.0 + 0.004 * (self._incarnations % 3 - 1)
        holder = f"operator-{self._incarnations}"
        hand.tenure = tenure_of(self._leases, hand.life, hand.clock, holder, self.world.clock.elapsed_s)
        hand.rounds = self.serves(hand, hand.tenure.lease.held)
        for one in hand.rounds:
            one.due_s = self.world.clock.elapsed_s + 1.0
        hand.asleep_until_s = 0.0

    def serves(self, hand: Hand, may_act: Callable[[], bool]) -> list[Round]:
        """What a new incarnation serves."""
        kube, kafka = KubeEdge(self._wire, hand.life), KafkaEdge(self._wire, hand.life)
        make = partial(real, may_act=may_act) if self._make is real else self._make
        return [self.round(hand, KEY, make(kube, kafka, hand.clock, self._ids))]

    def round(self, hand: Hand, key: ObjectKey, operator: Served) -> Round:
        """The passes of one resource."""
        seed: object = self._seed if key == KEY else f"{self._seed} {key.name}"
        slowness = hand.slowness.setdefault(key, Slowness(seed))
        turns: Turns[Any] = Turns(operator, key)
        return Round(key=key, operator=operator, turns=turns, slowness=slowness)

    # The course of it

    async def _run(self) -> None:
        self.begin()
        while self.world.steps < self.weather.steps and not self.checker.violations:
            await self._event()
        self.calm()
        last = self.world.steps + CALM_STEPS
        while self.world.steps < last and not self._settled() and not self.checker.violations:
            await self._event()
        for hand in self._hands:
            await self._kill(hand)

    def begin(self) -> None:
        """The resources are created."""
        applies(self._spec)(self.world, self.checker)

    def calm(self) -> None:
        """The storm is over: from now on no fault is injected."""
        self._raging = False
        self._ready_steps = self._quiet_steps = 0
        self._wire.chance = self._leases.chance = 0.0
        heal(self.world)
        self.world.kubelet.pace = steady
        for hand in self._hands:
            hand.life.unreached.clear()
            for own in hand.rounds:
                own.slowness.end()
                own.woken = True  # its watches connect again
            hand.asleep_until_s = 0.0

    async def _event(self) -> None:
        """One event: a call continues, a pass begins, or half a second passes."""
        self._events += 1
        now_s = self.world.clock.elapsed_s
        awake = [hand for hand in self._hands if hand.asleep_until_s <= now_s]
        for hand in awake:
            await self._renew(hand, now_s)
            for own in hand.rounds:
                own.waiting += own.slowness.due(now_s)
                heard = own.woken and now_s >= own.deaf_until_s
                if own.task is None and (heard or now_s >= own.due_s):
                    self._begin(own)
        ready = [(hand, own) for hand in awake for own in hand.rounds if own.goes_on]
        if not ready or self.draw.random() < 0.1:
            await self._step()
            return
        hand, own = self.draw.choice(ready)
        await self._hop()
        own.waiting = [turn for turn in own.waiting if not turn.done()]  # without calls that were given up
        if own.waiting:
            own.waiting.pop(self.draw.randrange(len(own.waiting))).set_result(None)
            await self._hop()
        if self._wire.late:
            self._wire.late = False
            self._excused_until_s = max(self._excused_until_s, now_s + _LATEST_S + _EXCUSED_S)
        await self._end(hand, own)

    async def _renew(self, hand: Hand, now_s: float) -> None:
        """The operator's lease task: it is a separate task, and waits for no pass."""
        assert hand.tenure is not None
        if await hand.tenure.go(now_s):
            for own in hand.rounds:
                own.anew = own.anew or hand.tenure.lease.succeeds
                own.changed()
        if sum(other.holds for other in self._hands) > 1:
            self.checker.fail("lease", "two operators hold the lease at the same moment")

    def _sent(self, hand: Hand, call: Call) -> None:
        """A call takes effect. The operator is excused if it decided before a sleep or before the end of its lease."""
        stalled, hand.stalled = hand.stalled, False
        if not call.writes:
            return
        if not hand.held and self.leased and self._make is real:
            self.checker.fail("lease", f"{call} is sent by an operator that does not hold the lease")
        if stalled or (self.leased and not hand.holds):
            self.faults["lease-defeated"] += not hand.holds
            self._excused_until_s = max(self._excused_until_s, self.world.clock.elapsed_s + _EXCUSED_S)

    async def _hop(self) -> None:
        for _ in range(_HOPS):
            if self._loop.idle():
                return
            await asyncio.sleep(0)

    def _begin(self, own: Round) -> None:
        self._passes += 1
        self._wire.fresh_pass = True
        if own.anew:
            own.operator.forget(own.key)
        if own.woken:
            own.operator.changed(own.key)
        own.anew = own.woken = False
        context = copy_context()
        context.run(_ROUND.set, own)
        own.task = self._loop.create_task(own.turns.take(lambda: own.woken), context=context)

    async def _end(self, hand: Hand, own: Round) -> None:
        """The result of a pass, if it is over."""
        task, now_s = own.task, self.world.clock.elapsed_s
        if hand.life.crashed:
            await self._kill(hand)
            self._restart(hand)
            return
        if task is None or not task.done():
            return
        own.task = None
        self.checker.look()
        error, result = own.turns.error, own.turns.result
        frozen = isinstance(error, TimeoutError) and hand.slept_s > 0  # a pass of a suspended process ends so
        if error is not None and not isinstance(error, OperatorError) and not frozen:
            self.checker.fail("no fault of the operator", f"a pass ended in {error!r}")
        elif error is not None:
            await self._release(hand, own)
        elif result is not None:
            if isinstance(result, PassResult):
                self.checker.planned(result.plan)
            if count(result, self._actions, self._verdicts):
                self._quiet_steps = 0
        rest = task.result()
        own.due_s, own.deaf_until_s = now_s + rest.seconds, now_s + rest.deaf_s

    async def _kill(self, hand: Hand) -> None:
        """The process is gone: all its waiting calls end there."""
        hand.life.crashed = True
        for own in hand.rounds:
            await self._release(hand, own)
            if own.task is not None:
                while not own.task.done():
                    await self._release(hand, own)
                if not own.task.cancelled():
                    own.task.exception()
                own.task = None

    async def _release(self, hand: Hand, own: Round) -> None:
        """Lets every waiting call fail, because its operator was stopped or its pass failed."""
        while own.waiting or own.slowness.waits:
            own.waiting += own.slowness.all()
            turn = own.waiting.pop()
            if turn.done():  # its call was given up
                continue
            if hand.life.crashed:
                turn.set_exception(CrashedError())
            else:
                turn.set_result(None)
            await self._hop()
        await self._hop()

    def _watch(self, written: Written) -> None:
        for hand in self._hands:
            for own in hand.rounds:
                if self.concerns(own, written):
                    own.woken = own.woken or "kube" not in hand.life.unreached

    def concerns(self, _: Round, written: Written) -> bool:
        """Whether a watch of this resource reports this write."""
        return concerns_quorum(written)

    async def _step(self) -> None:
        if self._raging:
            self.prepare()
            await self._rage()
        self.world.step()
        self._ready_steps = self._ready_steps + 1 if self.rests() else 0
        self._quiet_steps = self._quiet_steps + 1 if self._acts() and not self.world.pending else 0

    def rests(self) -> bool:
        """Whether everything is Ready, and nothing is in progress."""
        return rests(self.world)

    def _settled(self) -> bool:
        if self._raging or self.world.pending or any(hand.acts for hand in self._hands):
            return False  # a pass in flight may not have done all that it does
        whole = self._ready_steps >= NOTICED_STEPS and self._quiet_steps >= NOTICED_STEPS
        return whole or self._quiet_steps >= self.quiet_steps

    def _acts(self) -> bool:
        """Whether an operator holds the lease. While none does, a status with Ready may be an old one."""
        return any(hand.holds for hand in self._hands)

    def _excused(self) -> bool:
        """Whether rules by knowledge may be broken: for some seconds after a late request, or one decided too early.

        Too early is before a sleep, or before the operator's lease ended. Two operators alone are no excuse, because
        only the holder of the lease acts.
        """
        return self.world.clock.elapsed_s < self._excused_until_s

    # The faults

    def prepare(self) -> None:
        """What a storm needs before its faults make a difference; called before every step."""

    async def _rage(self) -> None:
        weather, draw, now_s = self.weather, self.draw, self.world.clock.elapsed_s
        if draw.random() < weather.accident:
            self.accident()
        if draw.random() < weather.change:
            self.change()
        hand = draw.choice(self._hands)
        if draw.random() < weather.crash:
            self.faults["crash"] += 1
            await self._kill(hand)
            self._restart(hand)
        if draw.random() < weather.suspend:
            self.faults["suspended"] += 1
            hand.asleep_until_s = now_s + draw.choice((2.0, 10.0, 60.0, 180.0))
            hand.slept_s = now_s
        if draw.random() < weather.cut:
            self.faults["operator-cut"] += 1
            hand.life.unreached ^= {draw.choice(("kube", "kafka"))}
            for own in hand.rounds:
                own.woken = True
        if draw.random() < weather.crash / 4 and self.clocks_jump:
            self.faults["operator-clock"] += 1
            hand.clock.off_s += draw.choice((-_HOUR_S, _HOUR_S))

    def accident(self) -> None:
        """Something is lost; a disk only while the storm may still lose one, and rarely one too many."""
        loss, node_id = self.draw.choice(self.losses), self.draw.choice(NODE_IDS)
        if not can_lose(self.world, loss, node_id):
            return
        if loss in FINAL_LOSSES:
            if self.faults["final"] >= self.weather.losses:
                return
            if self._spares() < 1 and self.draw.random() < 0.9:
                return
            self.faults["final"] += 1
        if happen(self.world, Accident(step=0, loss=loss, node_id=node_id)):
            self.faults[loss.value] += 1

    def _spares(self) -> int:
        """How many voters could lose their disks now without a permanent loss of the quorum."""
        processes = self.world.kraft.processes
        if not processes or is_doomed(self.world, self.checker.lineage(NAMESPACE, NAME).given_up):
            return 0
        leader = max(processes, key=lambda one: (one.leads, one.disk.last_epoch, one.disk.end))
        voters = leader.disk.voter_set
        alive = {one.key for one in processes if not one.frozen and not one.slow} & voters
        return len(alive) - (len(voters) // 2 + 1)

    def change(self) -> None:
        """A person changes the controllers in the spec."""
        self.faults["target"] += 1
        count = self.draw.choice((1, 2, 3, 3, 4, 5))
        if self.draw.random() < 0.3:
            ids = sorted(self.draw.sample(NODE_IDS, count))
            applies({"controllers": {"replicas": count, "nodeIDs": ids}})(self.world, self.checker)
        else:
            applies({"controllers": {"replicas": count, "nodeIDs": None}})(self.world, self.checker)
