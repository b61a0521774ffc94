"""Glances: what a quorum at rest is asked between two looks, and what is followed by a look at once."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.model.values import IDS, key
from tests.test_reconcile import KEY, Bench, Ids, at_rest
from tests.wire.answering import AnsweringControllers

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import token_holder
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan
from kafka_quorum.model.quorum import Endpoint, FinalizedFeature, NodeVersions, QuorumAnswer
from kafka_quorum.observe.glance import DUE_WITHIN_S, first_look_every_s, look_every_s
from kafka_quorum.plan.planner import plan
from kafka_quorum.reconcile import Reconciler
from kafka_quorum.settings import ObservationSettings, Settings
from kit.conditions.last_look import EVERY_S
from kit.errors import Fault
from kit.key import ObjectKey
from kit.term import STARTING_S

LEADER = 3000
GLANCE = ["DescribeQuorum"]
LOST = KafkaUnreachable("no answer", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)


async def glancing() -> Bench:
    """A quorum at rest, after the look that glances follow."""
    bench = await at_rest()
    for _ in range(2):
        await bench.run()
        bench.clock.seconds += 1
    await bench.run()
    bench.controllers.asked.clear()
    return bench


def questions(bench: Bench) -> list[str]:
    """What was asked since the last time."""
    asked = [name for name, _ in bench.controllers.asked]
    bench.controllers.asked.clear()
    return asked


async def test_a_quorum_at_rest_is_asked_by_one_request() -> None:
    """Only the leader is asked, only once, and no request goes to the API server."""
    bench = await glancing()
    bench.kube.calls.clear()
    for _ in range(3):
        bench.clock.seconds += 10
        result = await bench.run()
        assert [(name, at.node_id) for name, at in bench.controllers.asked] == [("DescribeQuorum", LEADER)]
        assert result.requeue_s == Settings().tick_s
        questions(bench)
    assert bench.kube.calls == []


async def test_glances_are_counted() -> None:
    """Each pass that needs no look is counted, and a look is not."""
    bench, counted = await glancing(), list[ObjectKey]()
    bench.reconciler._unchanged = counted.append
    for _ in range(2):
        bench.clock.seconds += 10
        await bench.run()
    bench.reconciler.changed(KEY)
    await bench.run()
    assert counted == [KEY, KEY]


@pytest.mark.parametrize(
    ("quorums", "least_s", "most_s"), [(1, 60, 75), (240, 60, 75), (1000, 240, 300), (5000, 240, 300)]
)
def test_looks_are_rarer_with_many_quorums(quorums: int, least_s: float, most_s: float) -> None:
    """Looks at all quorums together are bounded, none comes later than `DUE_WITHIN_S`, and they are spread."""
    found = [look_every_s(quorums, f"uid-{number}") for number in range(500)]
    assert (least_s <= min(found), max(found) <= most_s) == (True, True)
    assert max(found) < DUE_WITHIN_S
    assert len(set(found)) > 400


def test_the_looks_after_a_start_do_not_come_all_at_once() -> None:
    """A thousand quorums were looked at in a minute; no later ten seconds have as many looks as those had."""
    uids = [f"uid-{number}" for number in range(1000)]
    began_s = [number * 0.06 for number in range(1000)]
    again_s = [at + first_look_every_s(1000, uid) for at, uid in zip(began_s, uids, strict=True)]
    most = max(Counter(int(at / 10) for at in again_s).values())
    assert most <= 60 < Counter(int(at / 10) for at in began_s).most_common(1)[0][1]
    assert all(
        at + 60 <= again <= at + look_every_s(1000, uid) for at, again, uid in zip(began_s, again_s, uids, strict=True)
    )


@pytest.mark.parametrize(("after_s", "every_s"), [(0.0, first_look_every_s), (STARTING_S, look_every_s)])
async def test_the_first_look_is_followed_early_by_another_one(
    after_s: float, every_s: Callable[[int, str], float]
) -> None:
    """In the first minutes of a process the time of the next look is chosen by the uid, from a minute on."""
    bench = await glancing()
    bench.reconciler._changes |= {ObjectKey(namespace="n", name=f"q{number}"): 0 for number in range(999)}
    bench.reconciler.objects._trusted_s = math.inf
    bench.reconciler._glances._term._began_s -= after_s

    async def ticks_until_a_look() -> int:
        for tick in range(60):
            bench.clock.seconds += 10
            await bench.run()
            if questions(bench).count("ApiVersions") == len(IDS):
                return tick + 1
        raise AssertionError("no look came")

    await ticks_until_a_look()  # the stamp of the time before there were so many
    uid = bench.kube.objects["kafkaquorums", KEY.name]["metadata"]["uid"]
    waited_s = await ticks_until_a_look() * 10
    assert every_s(1000, uid) - 20 <= waited_s <= every_s(1000, uid)


async def test_levels_that_others_change_are_noticed_within_a_minute() -> None:
    """Rule 7 goes by the levels that were seen last, so the leader shows them again and again between looks."""
    bench = await glancing()
    bench.reconciler._changes |= {ObjectKey(namespace="n", name=f"q{number}"): 0 for number in range(999)}
    bench.reconciler.objects._trusted_s = math.inf
    bench.reconciler._glances._term._began_s -= STARTING_S

    async def after_10_s() -> list[str]:
        bench.clock.seconds += 10
        await bench.run()
        return questions(bench)

    while (await after_10_s()).count("ApiVersions") < len(IDS):
        pass  # the stamp of the time before there were so many
    asked = [await after_10_s() for _ in range(12)]
    assert asked.count([*GLANCE, "ApiVersions"]) == 2
    assert asked.count(GLANCE) == 10
    leader = bench.controllers.versions[LEADER]
    assert isinstance(leader, NodeVersions)
    others = (*leader.finalized, FinalizedFeature(name="group.version", level=1))
    bench.controllers.versions[LEADER] = replace(leader, finalized=others)
    asked = [await after_10_s() for _ in range(6)]
    assert max(each.count("ApiVersions") for each in asked) >= len(IDS)


async def test_a_glance_keeps_the_high_watermark() -> None:
    """What the leader showed last is remembered for a recovery, also if no look followed."""
    bench = await glancing()
    leader = bench.controllers.quorums[LEADER]
    assert isinstance(leader, QuorumAnswer)
    bench.controllers.quorums[LEADER] = replace(leader, high_watermark=leader.high_watermark + 22_000)
    bench.clock.seconds += 10
    await bench.run()
    assert questions(bench) == GLANCE
    after = bench.reconciler._memories[KEY].watermark
    assert after is not None
    assert after.offset == leader.high_watermark + 22_000


async def test_a_look_follows_glances_in_time() -> None:
    """Although nothing is ever new, a whole look comes again and again, later with many quorums."""
    for quorums, most_s in ((1, 75), (1000, 300)):
        bench = await glancing()
        bench.reconciler._changes |= {ObjectKey(namespace="n", name=f"q{number}"): 0 for number in range(quorums - 1)}
        bench.reconciler.objects._trusted_s = math.inf
        began_s, last_s, gaps = bench.clock.seconds, bench.clock.seconds, list[float]()
        while bench.clock.seconds < began_s + 4 * most_s:
            bench.clock.seconds += 10
            await bench.run()
            if questions(bench).count("ApiVersions") == len(IDS):
                gaps.append(bench.clock.seconds - last_s)
                last_s = bench.clock.seconds
        assert max(gaps) <= most_s
        assert len(gaps) <= 7  # those of stamps and of Secrets have times of their own


async def test_a_fault_in_a_glance_is_followed_by_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the operator in its judgement costs the glance and nothing else."""
    bench = await glancing()

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("kafka_quorum.observe.glance._judged", broken)
    bench.clock.seconds += 10
    await bench.run()
    assert "ApiVersions" in questions(bench)


async def test_a_fault_in_the_plan_of_later_costs_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner that fails only for a later time ends no look; whole looks go on."""
    bench = await glancing()

    def broken(*_: object, **__: object) -> Plan:
        raise ZeroDivisionError

    monkeypatch.setattr("kafka_quorum.planning.plan", _only_later(bench.clock.now().timestamp() + 100, broken))
    bench.reconciler.changed(KEY)
    for _ in range(2):
        await bench.run()
        assert "ApiVersions" in questions(bench)


def _only_later(at_s: float, later: Callable[..., Plan]) -> Callable[..., Plan]:
    def planner(desired: Desired, observed: Observed, *, now_s: float, repair_only: bool) -> Plan:
        chosen = plan if now_s < at_s else later
        return chosen(desired, observed, now_s=now_s, repair_only=repair_only)

    return planner


async def test_a_static_quorum_gets_whole_looks() -> None:
    """Without directory ids only a look finds out that another cluster answers."""
    bench = await glancing()
    glances, taken = bench.reconciler._glances, bench.reconciler.objects.of(KEY)
    last = glances._at_rest[KEY]
    assert taken is not None
    for static in (True, False):
        glances.forget(KEY)
        seen = replace(last.seen, quorum=Known(value=replace(last.view, static=static)))
        glances.rests(KEY, taken, seen, lambda at: at, lambda _: True)
        assert (KEY in glances._at_rest) is not static


async def test_secrets_that_are_due_get_a_whole_look() -> None:
    """However recent the last look is."""
    bench = await glancing()
    glances, taken = bench.reconciler._glances, bench.reconciler.objects.of(KEY)
    last = glances._at_rest[KEY]
    assert taken is not None
    for soon_s, asked in ((Settings().tick_s + 1, False), (Settings().tick_s - 1, True)):
        due_s = bench.clock.monotonic() + soon_s
        glances.rests(KEY, taken, last.seen, lambda at: at, lambda _: True, due_s)
        await bench.run()
        assert ("ApiVersions" in questions(bench)) is asked


def test_events_of_a_standby_take_no_memory() -> None:
    """An operator without the lease hears each write of the other one, and keeps none of them."""
    bench = Bench()
    for version in range(100):
        bench.reconciler.changed(KEY, str(version))
    assert bench.reconciler._heard == {}


async def test_a_look_follows_when_the_stamp_of_the_last_one_is_due() -> None:
    """So the status and its metrics are never older than the stamp says."""
    bench = await glancing()
    bench.clock.seconds += EVERY_S * 1.25
    await bench.run()
    assert len(questions(bench)) > len(GLANCE)
    bench.clock.seconds += 10
    await bench.run()
    assert questions(bench) == GLANCE


def _changed(said: QuorumAnswer, **changes: object) -> QuorumAnswer:
    return replace(said, **changes)  # type: ignore[arg-type]


_NEWS: dict[str, Callable[[QuorumAnswer], QuorumAnswer | Exception]] = {
    "another epoch": lambda said: _changed(said, leader_epoch=said.leader_epoch + 1),
    "another leader": lambda said: _changed(said, leader_id=IDS[1]),
    "a voter less": lambda said: _changed(said, voters=said.voters[:-1]),
    "an observer": lambda said: _changed(
        said, observers=(replace(said.voters[0], key=key(3009), last_fetch_ms=1, last_caught_up_ms=1),)
    ),
    "a voter that lags": lambda said: _changed(
        said, voters=(*said.voters[:-1], replace(said.voters[-1], last_caught_up_ms=1))
    ),
    "a voter that does not fetch": lambda said: _changed(
        said, voters=(*said.voters[:-1], replace(said.voters[-1], last_fetch_ms=1, last_caught_up_ms=1))
    ),
    "no answer": lambda _: LOST,
}


@pytest.mark.parametrize("news", _NEWS.values(), ids=_NEWS)
async def test_news_are_followed_by_a_look_at_once(
    news: Callable[[QuorumAnswer], QuorumAnswer | Exception],
) -> None:
    """In the same pass every controller is asked."""
    bench = await glancing()
    said = bench.controllers.quorums[LEADER]
    assert isinstance(said, QuorumAnswer)
    bench.clock.seconds += 10
    bench.controllers.quorums[LEADER] = news(said)
    await bench.run()
    found = questions(bench)
    assert found[:1] == GLANCE
    assert found.count("ApiVersions") >= len(IDS)


async def test_an_event_of_a_watch_is_followed_by_a_look() -> None:
    """Whatever changed is read, and no glance comes before it."""
    bench = await glancing()
    bench.reconciler.changed(KEY)
    await bench.run()
    assert "ApiVersions" in questions(bench)


async def test_a_glance_goes_on_with_the_memory_of_looks() -> None:
    """Guards that require several looks in a row count glances as looks: they show the same."""
    bench = await glancing()
    bench.controllers.moves_ms = 10_000
    before = dict(bench.reconciler._memories[KEY].caught_up_looks)
    for _ in range(2):
        bench.clock.seconds += 10
        await bench.run()
    assert set(questions(bench)) == {"DescribeQuorum"}
    after = dict(bench.reconciler._memories[KEY].caught_up_looks)
    assert after == {one: looks + 2 for one, looks in before.items()}
    assert len(after) == len(IDS)


def _due(at_s: float, part: str) -> Callable[..., Plan]:
    """The planner, and from this time on (seconds since the epoch) it also wants this."""

    def wanting(desired: Desired, observed: Observed, *, now_s: float, repair_only: bool) -> Plan:
        planned = plan(desired, observed, now_s=now_s, repair_only=repair_only)
        object.__setattr__(planned, part, (object(),))
        return planned

    return _only_later(at_s, wanting)


@pytest.mark.parametrize("part", ["actions", "waits", "questions"])
async def test_what_is_due_by_time_alone_is_not_missed(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """If the plan will have something to do before the next look is certain, each look is a whole one."""
    bench = await glancing()
    now_s = bench.clock.now().timestamp()
    monkeypatch.setattr("kafka_quorum.planning.plan", _due(now_s + DUE_WITHIN_S, part))
    bench.reconciler.changed(KEY)
    for _ in range(3):
        await bench.run()
        assert "ApiVersions" in questions(bench)
        bench.clock.seconds += 3
    monkeypatch.setattr("kafka_quorum.planning.plan", _due(now_s + 2 * DUE_WITHIN_S, part))
    await bench.run()
    questions(bench)
    await bench.run()
    assert questions(bench) == GLANCE


async def test_no_glance_while_something_is_still_to_be_learned() -> None:
    """A listener that does not show its certificate yet, or a broker that was not read, is asked in whole looks."""
    bench = await glancing()
    for reads in (bench.reconciler._materials, bench.reconciler._brokers):
        bench.reconciler.changed(KEY)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(reads, "is_settled", lambda _: False)
            for _ in range(3):
                await bench.run()
                assert "ApiVersions" in questions(bench)


@pytest.mark.parametrize("holder", [None, token_holder(KEY.name)])
async def test_no_glance_with_the_disruption_token(holder: str | None) -> None:
    """The holder of the token gives it back in time, and so whole looks are taken; also if the holder is unknown."""
    bench = await glancing()
    seen = replace(bench.reconciler._memories[KEY], holder=holder)
    glances = bench.reconciler._glances
    last = glances._at_rest[KEY]
    glances.forget(KEY)
    taken = bench.reconciler.objects.of(KEY)
    assert taken is not None
    for memory, rests in ((seen, False), (replace(seen, holder=""), True)):
        observed = replace(last.seen, memory=memory)
        glances.rests(KEY, taken, observed, lambda at: at, lambda _: True)
        assert (KEY in glances._at_rest) is rests


async def test_an_event_during_a_glance_is_followed_by_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch that reports something while the leader is asked is not overlooked."""
    bench = await glancing()
    real = AnsweringControllers.describe_quorum

    async def describe(controllers: AnsweringControllers, endpoint: Endpoint) -> QuorumAnswer:
        bench.reconciler.changed(KEY)
        return await real(controllers, endpoint)

    bench.clock.seconds += 10
    monkeypatch.setattr(AnsweringControllers, "describe_quorum", describe)
    await bench.run()
    assert "ApiVersions" in questions(bench)
    assert "list" in {call.verb for call in bench.kube.calls}


async def test_each_look_is_a_whole_one_while_looks_are_recorded() -> None:
    """The history has a line for each look."""
    bench = await at_rest()
    bench.reconciler = Reconciler(
        kube=bench.kube,
        controllers=bench.controllers,
        clock=bench.clock,
        ids=Ids(),
        settings=Settings(observations=ObservationSettings(target="/observations")),
    )
    for _ in range(5):
        bench.clock.seconds += 10
        await bench.run()
        assert "ApiVersions" in questions(bench)


async def test_a_stamp_makes_no_other_copy_of_the_spec() -> None:
    """What is remembered of a quorum has its spec once, also after a stamp of the status was written."""
    bench = await glancing()
    bench.reconciler.objects._trusted_s = math.inf
    for _ in range(2):
        taken = bench.reconciler.objects.of(KEY)
        assert taken is not None
        bench.clock.seconds += 70
        await bench.run()
        after = bench.reconciler.objects.of(KEY)
        assert after is not None
        assert after.resource is not taken.resource
        assert after.resource["spec"] is taken.resource["spec"]
