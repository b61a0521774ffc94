"""The harness itself: it notices an operator that does nothing or acts wrongly, and its runs can be replayed."""

from collections import Counter
from dataclasses import replace

import pytest
from tests.simulation.runs.driver import Driver, Operator, real
from tests.simulation.runs.explore import every_scenario, faults_of, replay, scenario
from tests.simulation.runs.faults import Accident, Injection, Loss, Strike, parse_fault
from tests.simulation.runs.storm import Storm
from tests.simulation.tests.bodies import pod

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan
from kafka_quorum.plan.planner import plan
from kafka_quorum.reconcile import PassResult
from kafka_quorum.wire.protocol import Controllers
from kit.clock import Clock
from kit.ids import IdSource
from kit.key import ObjectKey
from kit.kube.protocol import PODS, KubeApi


class _Idle:
    """An operator whose planner does nothing."""

    def changed(self, key: ObjectKey, resource_version: str = "") -> bool:
        """It ignores changes."""
        return bool(key.name or resource_version)

    def forget(self, key: ObjectKey) -> None:
        """It remembers nothing."""

    async def cannot_look(self, key: ObjectKey, why: str) -> None:
        """Its looks never fail."""
        raise AssertionError(key, why)

    async def run_pass(self, key: ObjectKey) -> PassResult:
        """Return an empty plan."""
        assert key.name
        empty = Plan(actions=(), waits=(), verdicts=(), requeue_s=10.0)
        return PassResult(plan=empty, outcomes=(), requeue_s=10.0, again=False, gone=False)


class _Reckless(_Idle):
    """An operator that starts Kafka while a formatter uses the same claim."""

    def __init__(self, kube: KubeApi) -> None:
        self._kube = kube

    async def run_pass(self, key: ObjectKey) -> PassResult:
        """Create both pods."""
        if not await self._kube.list(PODS, key.namespace, {}):
            for name, role in (("f", "formatter"), ("k", "controller")):
                await self._kube.create(PODS, key.namespace, pod(name, role))
        return await super().run_pass(key)


def idle(_: KubeApi, __: Controllers, ___: Clock, ____: IdSource) -> Operator:
    """Create the idle operator."""
    return _Idle()


def reckless(kube: KubeApi, _: Controllers, __: Clock, ___: IdSource) -> Operator:
    """Create the reckless operator."""
    return _Reckless(kube)


def test_an_operator_that_does_nothing_fails() -> None:
    """An idle operator breaks no rule, and its run still fails: the quorum never becomes Ready."""
    run = replay("initial-3/no-fault", make=idle)
    assert run.violations == []
    assert not run.ok


@pytest.mark.parametrize("name", ["scale-3-to-5", "lost-disk-of-follower", "lost-node"])
def test_a_planner_that_stops_half_way_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner that stops once there was a leader fails a run in which later work is necessary."""
    monkeypatch.setattr("kafka_quorum.planning.plan", _lazy)
    run = replay(f"{name}/no-fault")
    assert run.violations == []
    assert not run.ok


def _lazy(desired: Desired, observed: Observed, *, now_s: float, repair_only: bool = False) -> Plan:
    """The planner until the quorum had a leader; then an empty plan."""
    done = plan(desired, observed, now_s=now_s, repair_only=repair_only)
    settled = observed.record is not None and observed.record.had_leader
    return replace(done, actions=()) if settled else done


def test_a_storm_over_an_operator_that_does_nothing_fails() -> None:
    """Storms require the same ending, and notice that it is not reached."""
    assert not Storm(1, make=idle).run().ok


def test_a_storm_is_the_same_every_time() -> None:
    """The same seed gives the same events, the same steps and the same ending."""
    first, second = Storm(3).run(), Storm(3).run()
    assert (first.events, first.steps, first.ending) == (second.events, second.steps, second.ending)
    assert first.actions == second.actions


def test_an_operator_that_breaks_a_rule_fails() -> None:
    """The run ends with the violation."""
    run = replay("initial-3/no-fault", make=reckless)
    assert not run.ok
    assert {violation.rule for violation in run.violations} == {"one user of a claim"}


def test_a_run_is_the_same_every_time() -> None:
    """The same scenario and fault give the same calls, the same steps and the same ending."""
    name = "standalone-3/call:40:crash-before"
    first, second = replay(name), replay(name)
    assert first.struck
    assert (first.calls, first.steps, first.ending) == (second.calls, second.steps, second.ending)


def test_the_run_up_to_a_fault_is_the_fault_free_one() -> None:
    """Call numbers of the run without a fault name the same calls in the run with the fault."""
    plain = Driver(scenario("initial-3")).run()
    struck = Driver(scenario("initial-3"), Injection(call=90, strike=Strike.ERROR)).run()
    assert struck.calls[:91] == plain.calls[:91]


def test_a_fault_prints_as_what_replays_it() -> None:
    """A fault's text parses to the same fault."""
    faults = [
        Injection(call=7, strike=Strike.LATE_EFFECT),
        Accident(step=3, loss=Loss.CLAIM_DELETED, node_id=3001),
    ]
    assert [parse_fault(str(fault)) for fault in faults] == faults


def test_every_call_and_every_kind_of_fault_is_tried() -> None:
    """The faults of a scenario strike all its writes, and use every kind of fault."""
    plain = Driver(scenario("standalone-3")).run()
    faults = list(faults_of(plain))
    strikes = {fault.strike for fault in faults if isinstance(fault, Injection)}
    losses = {fault.loss for fault in faults if isinstance(fault, Accident)}
    struck = {fault.call for fault in faults if isinstance(fault, Injection)}
    writes = {index for index, call in enumerate(plain.calls) if call.writes}
    assert (strikes, losses) == (set(Strike), set(Loss))
    assert writes <= struck


def test_the_real_operator_reaches_ready() -> None:
    """Without a fault a quorum of one becomes Ready, in truth and in its status."""
    run = Driver(scenario("initial-1"), make=real).run()
    assert (run.ok, run.ending.says) == (True, "Ready")


def test_rules_see_what_the_operator_saw() -> None:
    """In a run and in a storm the rules about committed voters and completed steps get the operator's looks."""
    driver, storm = Driver(scenario("initial-1")), Storm(3)
    driver.run()
    storm.run()
    assert driver.checker._committed.led_looks_s
    assert storm.checker._committed.led_looks_s


def test_a_name_is_that_of_one_scenario() -> None:
    """No two scenarios have the same name, so that the name of a failed run replays that run."""
    names = Counter(one.name for one in every_scenario())
    assert not {name for name, number in names.items() if number > 1}
