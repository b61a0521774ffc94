"""The subscriber of passes over quorums: what it remembers, and when the series of a quorum end."""

from dataclasses import replace
from typing import Any

import pytest
from tests.clocks import MovingClock
from tests.kit.metrics.scraped import Samples, of, samples
from tests.model.values import UID, at_rest, key, looks, nothing, view
from tests.status.passes import done
from tests.test_reconcile import KEY, Bench, subscribed
from tests.test_reconcile import at_rest as quorum_at_rest

from kafka_quorum.kind import QUORUMS
from kafka_quorum.metrics.quorums import QuorumMetrics
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.plan import MigrationPlan
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.report import Decided
from kafka_quorum.status.build import build
from kafka_quorum.status.cannot_look import blinded
from kafka_quorum.status.finding import Pass
from kit.errors import KubeUnavailable
from kit.report.report import PassReport

NOW = "2026-01-01T00:00:00Z"


class World:
    """Quorum metrics, their clock, and whether this operator holds the lease."""

    def __init__(self, clock: MovingClock | None = None) -> None:
        """Starts with the lease."""
        self.clock, self.acting = clock or MovingClock(), True
        self.metrics = QuorumMetrics(self.clock, lambda: self.acting)

    async def saw(self, of: Pass, *, uid: str = UID) -> None:
        """A pass that ended like this."""
        resource = {"metadata": {"name": KEY.name, "namespace": KEY.namespace, "uid": uid}}
        taken = Snapshot.__new__(Snapshot)  # nothing reads it
        await self.metrics.take(
            PassReport(
                key=KEY,
                resource=resource,
                seen=of.observed,
                decided=Decided(taken=taken, faults=of.faults, done=of),
                status=build(of, {}, generation=1, now=NOW),
            )
        )

    def scrape(self) -> Samples:
        """What a scrape has now."""
        return samples("".join(self.metrics.series.taken()(False)))  # noqa: FBT003 - the format

    def value(self, name: str, **labels: str) -> float | None:
        """The one value of this metric; None without a series."""
        found = of(self.scrape(), f"kafka_quorum_{name}", **labels)
        assert len(found) <= 1
        return found[0] if found else None


def led(epoch: int, **changes: Any) -> Pass:  # noqa: ANN401 - whatever the field holds
    """A pass over a quorum whose leader has this epoch."""
    seen = view([key(3000), key(3001), key(3002)])
    seen = replace(seen, answer=replace(seen.answer, leader_epoch=epoch), **changes)
    return done(at_rest(quorum=Known(value=seen), memory=looks(seen)))


async def test_a_real_pass_agrees_with_its_status() -> None:
    """After a pass of the real reconciler, the series say what the status says, condition by condition."""
    bench = await quorum_at_rest()
    world = World(bench.clock)
    subscribed(bench, world.metrics)
    await bench.run()
    status = bench.kube.objects[QUORUMS.plural, KEY.name]["status"]
    truth = {"True": 1.0, "False": 0.0, "Unknown": -1.0}
    for row in status["conditions"]:
        assert world.value("condition", condition=row["type"]) == truth[row["status"]], row["type"]
    assert len(of(world.scrape(), "kafka_quorum_condition")) == len(status["conditions"])
    assert world.value("leader_epoch") == status["quorum"]["leaderEpoch"]
    assert world.value("leader_id") == status["quorum"]["leaderID"]
    assert world.value("voters_present") == status["quorum"]["voters"]
    assert world.value("voters_caught_up") == status["quorum"]["healthyVoters"]
    assert world.value("failures_tolerated") == status["quorum"]["failureTolerance"]
    assert world.value("last_look_timestamp_seconds") == bench.clock.now().timestamp()


async def test_series_end_with_the_quorum() -> None:
    """When the quorum is gone, and while it is being deleted, it has no series."""
    bench = await quorum_at_rest()
    world = World(bench.clock)
    subscribed(bench, world.metrics)
    await bench.run()
    bench.kube.objects[QUORUMS.plural, KEY.name]["metadata"]["deletionTimestamp"] = NOW
    bench.reconciler.changed(KEY)
    assert world.scrape()
    await bench.run()
    assert world.scrape() == {}
    del bench.kube.objects[QUORUMS.plural, KEY.name]["metadata"]["deletionTimestamp"]
    bench.reconciler.changed(KEY)
    await bench.run()
    assert world.scrape()
    bench.reconciler.forget(KEY)
    assert world.scrape() == {}


async def test_without_the_lease_there_are_no_series() -> None:
    """When the lease is lost all series end, and what a late pass reports does not come back with it."""
    world = World()
    await world.saw(led(3))
    world.acting = False
    assert world.scrape() == {}
    await world.saw(led(4))
    world.acting = True
    assert world.value("leader_epoch") == 3
    world.metrics.clear()
    assert world.scrape() == {}
    await world.saw(led(5))
    assert world.value("leader_changes_total") == 0


async def test_a_pass_that_ends_early_leaves_the_last_look() -> None:
    """An error before the decision changes no value; after five minutes without a look nothing is known any more."""
    world = World()
    await world.saw(led(3))
    before = world.scrape()
    resource = {"metadata": {"name": KEY.name, "namespace": KEY.namespace, "uid": UID}}
    await world.metrics.take(PassReport(key=KEY, resource=resource, error=KubeUnavailable("no answer")))
    assert world.scrape() == before
    world.clock.seconds += 301
    after = world.scrape()
    assert set(of(after, "kafka_quorum_condition")) == {-1.0}
    assert {name for name, _ in after} == {
        *("kafka_quorum_condition", "kafka_quorum_last_look_timestamp_seconds", "kafka_quorum_leader_changes_total"),
    }


async def test_a_glance_keeps_the_series_fresh() -> None:
    """While the leader says what the last look saw, the series stay, and the time of the last look moves on."""
    world = World()
    world.metrics.unchanged(KEY)
    assert world.scrape() == {}
    await world.saw(led(3))
    before = world.scrape()
    for _ in range(4):
        world.clock.seconds += 200
        world.metrics.unchanged(KEY)
    assert world.value("last_look_timestamp_seconds") == world.clock.now().timestamp()
    assert world.scrape().keys() == before.keys()
    world.clock.seconds += 301
    assert set(of(world.scrape(), "kafka_quorum_condition")) == {-1.0}


async def test_what_cannot_be_looked_at_is_unknown() -> None:
    """When the status says that no look is possible, the conditions are unknown, and no value of a look stays."""
    world = World()
    await world.saw(led(3))
    looked_at = world.value("last_look_timestamp_seconds")
    world.clock.seconds += 30
    resource = {"metadata": {"name": KEY.name, "namespace": KEY.namespace, "uid": UID}}
    status = blinded(build(led(3), {}, generation=1, now=NOW), "no rights", generation=1, now=NOW)
    await world.metrics.take(PassReport(key=KEY, resource=resource, status=status, withdrawn=True))
    assert world.value("condition", condition="Ready") == -1
    assert world.value("condition", condition="Available") == -1
    assert world.value("leader_id") is None
    assert world.value("last_look_timestamp_seconds") == looked_at


async def test_what_could_never_be_looked_at_has_an_age() -> None:
    """Since it was first reported that no look is possible: an alert must see it after a restart of the operator."""
    world = World()
    resource = {"metadata": {"name": KEY.name, "namespace": KEY.namespace, "uid": UID}}
    status = blinded({}, "no rights", generation=1, now=NOW)
    began = world.clock.now().timestamp()
    for _ in range(2):
        await world.metrics.take(PassReport(key=KEY, resource=resource, status=status, withdrawn=True))
        assert world.value("last_look_timestamp_seconds") == began
        world.clock.seconds += 30
    await world.saw(led(3))
    assert world.value("last_look_timestamp_seconds") == world.clock.now().timestamp()


async def test_leader_changes_are_counted() -> None:
    """A later epoch is a change, an equal one is none, and a quorum made anew under the same name begins at zero."""
    world = World()
    for epoch in (3, 3, 4, 7):
        await world.saw(led(epoch))
    await world.saw(done(at_rest(quorum=nothing().quorum)))
    await world.saw(led(8))
    assert world.value("leader_changes_total") == 3
    await world.saw(led(9), uid="another")
    assert world.value("leader_changes_total") == 0


async def test_an_uncommitted_change_has_an_age() -> None:
    """The age begins with the first look that shows it, grows, outlasts a look without an answer, and ends at zero."""
    world = World()
    await world.saw(led(3))
    assert world.value("uncommitted_voter_change_age_seconds") == 0
    await world.saw(led(3, committed=False))
    world.clock.seconds += 10
    await world.saw(done(at_rest(quorum=nothing().quorum)))
    assert world.value("uncommitted_voter_change_age_seconds") is None
    await world.saw(led(4, committed=False))
    world.clock.seconds += 5
    assert world.value("uncommitted_voter_change_age_seconds") == 15
    await world.saw(led(4))
    assert world.value("uncommitted_voter_change_age_seconds") == 0


async def test_a_refusal_counts_when_it_begins() -> None:
    """A guard that refuses in pass after pass counts once; when it allows and refuses again, twice."""
    world = World()
    calm = led(3)
    refused = replace(calm, plan=replace(calm.plan, verdicts=(Refusal(rule="5-restart", reason="3001 lags"),)))
    for each in (refused, refused, calm, refused):
        await world.saw(each)
    assert world.value("refusals_total", rule="5", guard="5-restart") == 2


async def test_acts_are_counted_over_passes() -> None:
    """An act of each pass is added to those before, also when the quorum does nothing now."""
    world = World()
    await world.saw(done(nothing()))
    await world.saw(done(nothing()))
    await world.saw(led(3))
    assert world.value("acts_total", act="MintIdentity", result="done") == 2


async def test_a_stage_has_an_age() -> None:
    """The age of a migration's stage begins anew with each stage, and ends with the migration."""
    world = World()

    def at(stage: int | None) -> Pass:
        calm = led(3)
        planned = MigrationPlan(kind="Listeners", stage=stage or 0, stages=4, name="n", sentence="s", way_back="")
        return replace(calm, plan=replace(calm.plan, migration=None if stage is None else planned))

    await world.saw(at(1))
    world.clock.seconds += 30
    await world.saw(at(1))
    assert world.value("migration_stage_age_seconds", kind="Listeners") == 30
    await world.saw(at(2))
    world.clock.seconds += 4
    assert world.value("migration_stage_age_seconds", kind="Listeners") == 4
    assert world.value("migration_stage", kind="Listeners") == 2
    await world.saw(at(None))
    assert world.value("migration_stage_age_seconds") is None
    await world.saw(at(2))
    assert world.value("migration_stage_age_seconds", kind="Listeners") == 0


async def test_a_spec_that_never_was_valid() -> None:
    """A resource without a valid spec has its conditions, and the spec holds it; no controller was asked."""
    bench = Bench()
    bench.resource({"kafka": {"version": "four"}})
    world = World(bench.clock)
    subscribed(bench, world.metrics)
    await bench.run()
    assert world.value("condition", condition="SpecAccepted") == 0
    assert world.value("held", what="spec") == 1
    assert world.value("leader_id") is None


@pytest.mark.parametrize("seen", [at_rest(), nothing()])
async def test_a_look_is_shown_whole(seen: Observed) -> None:
    """After each pass all series of a quorum are of that pass: none of an earlier one is left."""
    world, fresh = World(), World()
    await world.saw(led(3, committed=False))
    await world.saw(done(seen))
    await fresh.saw(done(seen))
    assert {name for name in world.scrape() if "_total" not in name[0]} == {
        name for name in fresh.scrape() if "_total" not in name[0]
    }
