"""Time in the simulation: start-up, catching up, names, fetch timeouts, late calls, and the rules' checks."""

import asyncio
from dataclasses import replace

import pytest
from tests.simulation.model.clock import VirtualClock, VirtualLoop
from tests.simulation.model.happened import Happened, PodDeleted, StopSent
from tests.simulation.model.kafka.kraft_api import ModelControllers
from tests.simulation.model.kafka.process import Process, Software
from tests.simulation.model.kafka.startup import Pace, drawn
from tests.simulation.model.kubernetes.pod_words import fetch_timeout_in
from tests.simulation.model.world import STEP_S, World
from tests.simulation.runs.driver import Driver
from tests.simulation.runs.edges import Life, Wire
from tests.simulation.runs.explore import scenario
from tests.simulation.runs.faults import DELAY_STEPS, Call, Injection, Strike
from tests.simulation.runs.kube_edge import KubeEdge
from tests.simulation.runs.slow import Hitch, Hitches, Slowness
from tests.simulation.tests.bodies import NS, make, pod, prepare, steps
from tests.simulation.tests.quorums import CLUSTER, Quorum

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.quorum import Endpoint
from kit.kube.protocol import PODS


def test_a_loop_with_nothing_to_do_ends_with_an_error() -> None:
    """A task that waits for what never comes ends the run with an error, where a usual loop would wait for ever."""
    loop = VirtualLoop(VirtualClock())
    with pytest.raises(RuntimeError, match="nothing to do"):
        loop.run_until_complete(loop.create_future())
    loop.close()


def test_a_timer_fires_when_the_clock_of_the_run_reaches_it() -> None:
    """A timer is due by the clock of the run alone, a cancelled one never is, and the loop says when it idles."""
    clock, fired = VirtualClock(), list[str]()
    loop = VirtualLoop(clock)

    async def turns() -> None:
        loop.call_later(1.0, fired.append, "late")
        loop.call_later(0.5, fired.append, "cancelled").cancel()
        assert loop.idle()
        await asyncio.sleep(0)
        assert fired == []
        clock.advance(1.0)
        assert not loop.idle()
        for _ in range(2):  # this task itself is before the timer in the first of these turns
            await asyncio.sleep(0)
        assert fired == ["late"]
        loop.call_soon(fired.append, "soon")
        assert not loop.idle()
        await asyncio.sleep(0)

    loop.run_until_complete(turns())
    loop.close()
    assert fired == ["late", "soon"]


def restarted(quorum: Quorum, pace: Pace, *, away_s: float = 10.0) -> Process:
    """A follower that was away for some seconds, and starts again with this pace."""
    follower = next(one for one in quorum.processes.values() if one is not quorum.leader)
    quorum.kraft.stop(follower)
    quorum.pass_time(away_s)
    return quorum.kraft.start(
        follower.disk,
        node_id=follower.meta.node_id,
        address="10.0.1.1",
        host=follower.host,
        port=follower.port,
        listener=follower.listener,
        as_=Software(pace=pace),
    )


def three() -> Quorum:
    """Three voters with a leader."""
    quorum = Quorum()
    quorum.voters(1, 2, 3)
    quorum.pass_time(5)
    return quorum


def test_kafka_fetches_and_answers_after_its_start_up_time() -> None:
    """Before its start-up time is over, Kafka does not fetch and does not answer, although its container runs."""
    quorum = three()
    process = restarted(quorum, Pace(startup_s=3.0))
    began_s, at = quorum.kraft.now_s, Endpoint(node_id=process.meta.node_id, host="10.0.1.1", port=process.port)
    quorum.pass_time(2.5)
    with pytest.raises(KafkaUnreachable):
        ModelControllers(quorum.kraft).versions(at)
    assert quorum.leader.row(process.key).fetched_s < began_s
    quorum.pass_time(1.0)
    assert ModelControllers(quorum.kraft).versions(at).supported
    assert quorum.leader.row(process.key).fetched_s > began_s


def test_catching_up_takes_as_many_fetches_as_there_is_to_fetch() -> None:
    """A slow starter fetches, and is caught up only at the end of the log."""
    quorum = three()
    process = restarted(quorum, Pace(records=1), away_s=20.0)
    quorum.pass_time(5)
    assert quorum.kraft.fresh_within(quorum.leader.row(process.key).fetched_s, 1.0)
    assert not quorum.kraft.is_caught_up(quorum.leader, process.key, 2.0)
    quorum.pass_time(60)
    assert quorum.kraft.is_caught_up(quorum.leader, process.key, 2.0)


def test_nobody_fetches_from_a_leader_whose_name_is_not_found() -> None:
    """A controller without a name in DNS can follow, but does not lead the others at first."""
    quorum = three()
    process = restarted(quorum, Pace(dns_s=30.0))
    quorum.pass_time(2)
    assert quorum.kraft.is_caught_up(quorum.leader, process.key, 2.0)
    quorum.kraft.stop(quorum.leader)
    quorum.pass_time(10)
    other = next(one for one in quorum.kraft.processes if one is not process)
    assert other.leader is not process
    quorum.pass_time(30)
    assert quorum.kraft.leader_of(CLUSTER) is not None


@pytest.mark.parametrize(("timeout_s", "leads"), [(2.0, True), (10.0, False)])
def test_followers_wait_for_a_leader_that_is_gone_as_long_as_their_timeout(timeout_s: float, *, leads: bool) -> None:
    """Four seconds after a kill there is a new leader only if the fetch timeout is short."""
    quorum = three()
    for process in quorum.processes.values():
        process.fetch_timeout_s = timeout_s
    quorum.kraft.stop(quorum.leader)
    quorum.pass_time(4)
    assert (quorum.kraft.leader_of(CLUSTER) is not None) is leads
    quorum.pass_time(10)
    assert quorum.kraft.leader_of(CLUSTER) is not None


def test_a_leader_gives_up_by_its_own_fetch_timeout() -> None:
    """A cut-off leader leads for one and a half of its own fetch timeouts."""
    quorum = three()
    leader = quorum.leader
    leader.fetch_timeout_s = 10.0
    for process in quorum.processes.values():
        process.frozen = process is not leader
    quorum.pass_time(10)
    assert leader.leads
    quorum.pass_time(10)
    assert not leader.leads


def test_the_fetch_timeout_comes_from_the_settings() -> None:
    """The fetch timeout comes from the properties, in milliseconds; without the line it is Kafka's default."""
    assert fetch_timeout_in("a=b\ncontroller.quorum.fetch.timeout.ms=30000\n") == 30.0
    assert fetch_timeout_in("a=b") == 2.0


def test_the_paces_of_a_storm_are_those_of_its_seed() -> None:
    """Some starts of a storm are slow, and the same ones in every replay."""
    first, second, other = drawn(1), drawn(1), drawn(2)
    found = [first() for _ in range(20)]
    assert found == [second() for _ in range(20)]
    assert found != [other() for _ in range(20)]
    assert len({pace.startup_s for pace in found}) > 1


def evicted(strike: Strike | None) -> tuple[World, list[tuple[int, Happened]]]:
    """Evict a pod; returns the steps of the rules' events."""
    world = World()
    prepare(world)
    make(world, pod("f", "formatter"))
    steps(world, 2)
    heard: list[tuple[int, Happened]] = []
    world.listeners.append(lambda event: heard.append((world.steps, event)))
    wire = Wire(world=world, injection=Injection(call=0, strike=strike) if strike else None)
    metadata = (world.kube.get(PODS, NS, "f") or {})["metadata"]
    edge = KubeEdge(wire, Life())
    asyncio.run(edge.delete(PODS, NS, "f", uid=metadata["uid"]))
    return world, [row for row in heard if isinstance(row[1], StopSent | PodDeleted)]


@pytest.mark.parametrize(("strike", "late"), [(None, False), (Strike.SLOW, False), (Strike.DELAYED, True)])
def test_a_stop_is_told_as_it_is_sent_and_as_it_arrives(strike: Strike | None, *, late: bool) -> None:
    """A delayed stop arrives three seconds after it was sent; in a slow call only the answer is late."""
    world, ((sent_at, sent), (done_at, done)) = evicted(strike)
    assert isinstance(sent, StopSent)
    assert isinstance(done, PodDeleted)
    assert done.late is late
    assert done_at - sent_at == (DELAY_STEPS if late else 0)
    assert world.steps - sent_at == (0 if strike is None else DELAY_STEPS)


def test_the_rules_look_on_in_every_step_of_a_slow_call() -> None:
    """The rules check every step of a slow call."""
    world = World()
    seen: list[float] = []
    world.lookers.append(lambda: seen.append(world.clock.elapsed_s))
    call = Call(verb="get", what="pods", name="p", writes=False)
    wire = Wire(world=world, injection=Injection(call=0, strike=Strike.SLOW))
    KubeEdge(wire, Life()).course(call, lambda: None, failure=RuntimeError)
    assert seen == [STEP_S * step for step in range(1, DELAY_STEPS + 1)]


def test_a_hitch_holds_up_one_call_and_something_happens_meanwhile() -> None:
    """A hitch delays the first call of its verb once its condition holds, and no other call."""
    world, happened = World(), list[int]()
    hitch = Hitch(
        verb="get", when=lambda world: world.steps >= 1, steps=4, meanwhile=lambda world: happened.append(world.steps)
    )
    hitches = Hitches((hitch,), world)
    calls = [Call(verb=verb, what="pods", name="p", writes=False) for verb in ("get", "list", "get", "get")]
    hitches.strike(calls[0])
    world.step()
    for call in calls[1:]:
        hitches.strike(call)
    assert (world.steps, happened, hitches.left) == (5, [1], False)


def test_a_hitch_may_be_for_one_type_of_object() -> None:
    """A hitch that names a type of object delays no call for another one."""
    world = World()
    hitch = Hitch(verb="patch", what="pods", when=lambda _: True, steps=4, meanwhile=lambda _: None)
    hitches = Hitches((hitch,), world)
    for what, steps_ in (("configmaps", 0), ("pods", 4), ("pods", 4)):
        hitches.strike(Call(verb="patch", what=what, name="p", writes=True))
        assert world.steps == steps_


def test_a_storms_slow_calls_wait_for_their_time() -> None:
    """In a storm with slow calls some calls wait for their time, and none waits forever."""

    async def held() -> int:
        loop, slowness = asyncio.get_running_loop(), next(one for one in map(Slowness, range(50)) if one.chance)
        turns = [loop.create_future() for _ in range(300)]
        kept = [turn for turn in turns if slowness.holds(turn, 0.0)]
        assert slowness.waits
        assert slowness.due(0.5) == []
        assert slowness.due(5.0) == kept
        slowness.end()
        assert not any(slowness.holds(turn, 6.0) for turn in turns)
        return len(kept)

    assert 0 < asyncio.run(held()) < 300


def test_a_run_under_slow_starters_is_the_same_every_time() -> None:
    """The pace is a value of the scenario, so that two runs with slow starters are the same."""
    one = replace(scenario("initial-3"), pace=scenario("slow-starters-at-1s").pace)
    first, second, usual = Driver(one).run(), Driver(one).run(), Driver(scenario("initial-3")).run()
    assert (first.steps, first.calls) == (second.steps, second.calls)
    assert first.steps > usual.steps
