"""Feature levels: which are wanted, which step is next, how a step is carried out, and what blocks it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    IDS,
    SILENT,
    at_rest,
    bound,
    desired,
    key,
    looks,
    operation,
    revision,
    running,
    runtime,
    saying,
    situation,
    speaking,
    started,
    stepping,
    view,
)
from tests.plan.reading import every, only, planned, reasons, verdict, wait
from tests.plan.test_rolls import rolled

from kafka_quorum.api.features import KRAFT, METADATA
from kafka_quorum.model.actions import (
    BeginFeatureStep,
    BeginOperation,
    FinishOperation,
    RecordChange,
    StepFeature,
    WriteRecord,
)
from kafka_quorum.model.desired import Desired, Downgrade, FeatureLevel, FeaturePolicy
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Soak, StepCheck
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import FeaturePlan, Severity
from kafka_quorum.model.quorum import FeatureStep, FinalizedFeature, NodeVersions
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.releases.levels import seen, soak_left_s
from kafka_quorum.plan.releases.wants import announced, questions, wants

FINE = StepCheck(allowed=True, words="")
LONG = Soak(epoch=7, healthy_s=600.0)
OF_4_1 = replace(saying(), finalized=saying("4.1.2").finalized)
"""Controllers of 4.4 at the levels of 4.1: metadata.version 27, group.version 1, transaction.version 2."""
AT_22 = replace(saying(), finalized=(FinalizedFeature(name=METADATA, level=22),))
RAISE = FeatureStep(name=METADATA, level=28)
ELR = "eligible.leader.replicas.version"


def named(**levels: int) -> tuple[FeatureLevel, ...]:
    """Levels as the spec names them; an underscore is a dot."""
    return tuple(FeatureLevel(name=name.replace("_", "."), level=level) for name, level in levels.items())


def asks(**levels: int) -> Desired:
    """A spec that names these levels."""
    return desired(features=named(**levels))


def safely(**levels: int) -> Desired:
    """A spec that names these levels, and allows to lower them."""
    return desired(features=named(**levels), downgrade=Downgrade.SAFE)


FOLLOWS = desired(feature_policy=FeaturePolicy.FOLLOW)


def well(
    said: NodeVersions = OF_4_1,
    *,
    checks: dict[FeatureStep, StepCheck] | None = None,
    **changes: Any,  # noqa: ANN401 - as in `at_rest`
) -> Observed:
    """Three controllers that report this, after the soak; the active one answered these steps so."""
    answers = tuple((step, Known(value=check)) for step, check in (checks or {}).items())
    look = speaking(said=said, checks=answers, **changes)
    return replace(look, memory=replace(look.memory, soak=LONG))


def during(look: Observed, name: str, level: int, *, downgrade: bool = False) -> Observed:
    """The same look while this step is open."""
    opened = stepping(name, level, downgrade=downgrade)
    return replace(look, status=replace(look.status, open=opened))


def order(wanted: Desired, look: Observed) -> list[str]:
    """The wanted levels in their order, each as its name and the levels present-next-last."""
    assert look.record is not None
    return [
        f"{want.name} {want.present}-{want.next.level}-{want.level}"
        for want in wants(situation(desired=wanted, observed=look, record=look.record))
    ]


# What is wanted


def test_nothing_is_wanted_by_default() -> None:
    """With Hold and no named level nothing is wanted."""
    assert order(desired(), well()) == []


def test_named_levels() -> None:
    """A named level is wanted if it differs from the present one, one step at a time."""
    assert order(asks(metadata_version=33), well()) == ["metadata.version 27-28-33"]
    assert order(asks(metadata_version=27), well()) == []


def test_levels_are_raised_in_order() -> None:
    """kraft.version and metadata.version are raised first, because the others depend on them."""
    asked = asks(
        share_version=1, streams_version=1, metadata_version=30, kraft_version=1, zeta_version=1, alpha_version=2
    )
    static = replace(OF_4_1, finalized=tuple(each for each in OF_4_1.finalized if each.name != KRAFT))
    assert order(asked, well(static)) == [
        "kraft.version 0-1-1",
        "metadata.version 27-28-30",
        "share.version 0-1-1",
        "streams.version 0-1-1",
        "alpha.version 0-1-2",
        "zeta.version 0-1-1",
    ]


def test_levels_are_lowered_in_the_opposite_order() -> None:
    """Lower levels go before higher ones, and metadata.version is lowered last."""
    asked = safely(metadata_version=26, group_version=0, share_version=1)
    assert order(asked, well()) == ["group.version 1-0-0", "metadata.version 27-26-26", "share.version 0-1-1"]
    assert wants(situation(desired=asked, observed=well(), record=running()))[0].next.downgrade
    assert not wants(situation(desired=asked, observed=well(), record=running()))[2].next.downgrade


def test_follow_raises_to_the_defaults() -> None:
    """Follow raises to the levels of a new cluster of the release."""
    assert order(FOLLOWS, well()) == ["metadata.version 27-28-33", "share.version 0-1-2", "streams.version 0-1-1"]


def test_follow_never_lowers() -> None:
    """Follow does not lower levels above the defaults of the release, and leaves kraft.version as it is."""
    static = replace(saying(), finalized=tuple(each for each in saying().finalized if each.name != KRAFT))
    assert order(FOLLOWS, well(static)) == []
    older = replace(FOLLOWS, runtime=runtime(release="4.1.2"))
    assert order(older, well(saying())) == []


def test_named_before_followed() -> None:
    """A level that the spec names has priority over the release's default."""
    wanted = replace(FOLLOWS, features=named(metadata_version=29))
    assert "metadata.version 27-28-29" in order(wanted, well())


def test_release_that_nobody_knows_has_no_defaults() -> None:
    """For an unknown release line Follow requires nothing."""
    assert order(replace(FOLLOWS, runtime=runtime(release="9.9.0")), well()) == []


@pytest.mark.parametrize(
    ("look", "known"),
    [(at_rest(), False), (speaking(started(), saying("4.1.2")), False), (speaking(running(), saying("4.1.2")), True)],
    ids=["no answer", "no leader", "levels known"],
)
def test_unknown_levels_want_nothing(look: Observed, *, known: bool) -> None:
    """Levels are wanted only if a leader reports what is finalized."""
    assert bool(order(asks(metadata_version=33), look)) is known


def test_nothing_is_wanted_before_the_barrier() -> None:
    """Before the barrier no level is wanted, because the format sets the levels."""
    look = speaking(bound(), saying("4.1.2"))
    assert wants(situation(desired=asks(metadata_version=33), observed=look, record=bound())) == ()
    assert planned(look, asks(metadata_version=33), repair_only=True).features == ()


# What the active controller is asked


def test_next_step_is_asked() -> None:
    """In every look the active controller is asked about the next step of each feature, and nothing else."""
    asked = asks(metadata_version=33, share_version=1)
    assert questions(situation(desired=asked, observed=well(), record=running())) == (
        RAISE,
        FeatureStep(name="share.version", level=1),
    )


def test_one_that_is_held_lets_the_next_one_go() -> None:
    """A blocked metadata.version does not block a feature that every broker supports; both blocks are reported."""
    share = FeatureStep(name="share.version", level=1)
    asked = asks(metadata_version=33, share_version=1)
    no = Known(value=StepCheck(allowed=False, words="Broker 1 only supports versions 7-27"))
    look = replace(well(), checks=((RAISE, no), (share, Known(value=StepCheck(allowed=True, words="")))))
    assert only(planned(look, asked), BeginFeatureStep).step == share
    held = replace(look, checks=((RAISE, no), (share, no)))
    assert [one.reason for one in planned(held, asked).waits] == ["FeatureBlocked", "FeatureBlocked"]


def test_whole_way_down_is_asked_first() -> None:
    """Kafka is asked about the whole downgrade and about its first step; for one level this is one question."""
    step = FeatureStep(name=METADATA, level=32, downgrade=True)
    way = FeatureStep(name=METADATA, level=30, downgrade=True)
    assert questions(situation(desired=safely(metadata_version=30), observed=well(saying()), record=running())) == (
        way,
        step,
    )
    assert questions(situation(desired=safely(metadata_version=32), observed=well(saying()), record=running())) == (
        step,
    )


def test_open_step_is_asked() -> None:
    """The open step is asked about, whatever the spec requests by now."""
    look = during(well(), METADATA, 28)
    assert questions(situation(desired=desired(), observed=look, record=running())) == (RAISE,)
    assert questions(situation(desired=asks(metadata_version=33), observed=look, record=running())) == (RAISE,)


def test_nobody_is_asked_without_a_leader() -> None:
    """Without a leader no step is asked about."""
    look = replace(during(well(), METADATA, 28), quorum=SILENT)
    assert questions(situation(desired=asks(metadata_version=33), observed=look, record=running())) == ()
    for record, other in ((running(), look), (running(), at_rest()), (bound(), well())):
        assert announced(situation(desired=desired(), observed=other, record=record)) == ()


def test_announced() -> None:
    """Under Hold, Kafka is asked about the highest level, except for features that are being changed."""
    whole = announced(situation(desired=desired(), observed=well(), record=running()))
    assert FeatureStep(name=METADATA, level=33) in whole
    assert not any(step.name == KRAFT or step.downgrade for step in whole)
    assert all(
        step.name != METADATA
        for step in announced(situation(desired=asks(metadata_version=28), observed=well(), record=running()))
    )
    assert FeatureStep(name=METADATA, level=33) in announced(
        situation(desired=asks(metadata_version=27), observed=well(), record=running())
    )
    assert announced(situation(desired=FOLLOWS, observed=well(), record=running())) == ()
    assert announced(situation(desired=desired(), observed=well(saying()), record=running())) == ()


# A step


def test_intent_first() -> None:
    """The intent of a step is written first, with the present level."""
    said = planned(well(checks={RAISE: FINE}), asks(metadata_version=33))
    begin = only(said, BeginFeatureStep)
    assert (begin.step, begin.present) == (RAISE, 27)
    assert verdict(said, "7-raise").allowed


def test_then_the_request() -> None:
    """After the intent is written, the step is sent to the active controller, judged on this look."""
    said = planned(during(well(checks={RAISE: FINE}), METADATA, 28), asks(metadata_version=33))
    send = only(said, StepFeature)
    assert (send.step, send.leader.node_id, send.leader.host, send.judged_at_s) == (RAISE, 3000, "10.0.0.1", 50.0)
    assert verdict(said, "7-raise").allowed


def test_then_the_end() -> None:
    """The step is complete when its level is seen, whatever caused it."""
    said = planned(during(well(), METADATA, 27), asks(metadata_version=33))
    finish = only(said, FinishOperation)
    assert (finish.id, finish.reason, facts(finish.message)) == (
        "op-2",
        "Completed",
        facts("metadata.version", "4.1-IV1", 27),
    )
    off = during(well(), "streams.version", 0, downgrade=True)
    assert only(planned(off), FinishOperation).reason == "Completed"


@pytest.mark.parametrize("leader", [None, OF_4_1])
def test_end_only_on_the_leaders_own_report(leader: NodeVersions | None) -> None:
    """A step is open until the leader itself reports its level, even if another controller does at a newer epoch."""
    ahead = replace(saying(metadata_version=28), finalized_epoch=9)
    of_leader = Unknown(reason="busy") if leader is None else Known(value=leader)
    versions = ((IDS[0], of_leader), (IDS[1], Known(value=ahead)), (IDS[2], Known(value=OF_4_1)))
    look = replace(during(well(checks={RAISE: FINE}), METADATA, 28), versions=versions)
    said = planned(look, asks(metadata_version=33))
    assert every(said, FinishOperation) == []
    assert len(every(said, StepFeature)) == (0 if leader is None else 1)


def test_step_that_nobody_wants_any_more() -> None:
    """An open step that is not wanted any more is given up."""
    for wanted in (desired(), asks(metadata_version=26)):
        finish = only(planned(during(well(checks={RAISE: FINE}), METADATA, 28), wanted), FinishOperation)
        assert (finish.id, finish.reason, facts(finish.message)) == (
            "op-2",
            "GivenUp",
            facts("metadata.version", "4.2-IV0", 28),
        )


def test_step_that_may_still_come_is_not_given_up() -> None:
    """A request without an answer may have its effect: so long the step stays open, and no image changes."""
    look = during(well(checks={RAISE: FINE}), METADATA, 28)
    late = replace(look, memory=replace(look.memory, step_until_s=look.looked_at_s + 1.0))
    said = planned(late, asks(metadata_version=26))
    assert said.actions == ()
    assert mentions(wait(said, "SteppingFeature").message, "metadata.version", "4.2-IV0", 28)
    over = replace(look, memory=replace(look.memory, step_until_s=look.looked_at_s))
    assert only(planned(over, asks(metadata_version=26)), FinishOperation).reason == "GivenUp"


def test_step_that_is_refused_meanwhile() -> None:
    """An open step that is refused by now is given up, and may begin again later."""
    no = StepCheck(allowed=False, words="Broker 2 only supports versions 1-21")
    said = planned(during(well(checks={RAISE: no}), METADATA, 28), asks(metadata_version=33))
    finish = only(said, FinishOperation)
    assert finish.reason == "GivenUp"
    assert facts(finish.message) == facts(verdict(said, "7-raise").reason)
    assert "Broker 2 only supports versions 1-21" in finish.message


def test_step_without_a_leader_waits() -> None:
    """Without a leader an open step is neither sent nor given up."""
    look = replace(during(well(checks={RAISE: FINE}), METADATA, 28), quorum=SILENT)
    said = planned(look, asks(metadata_version=33))
    assert (every(said, FinishOperation), every(said, StepFeature)) == ([], [])
    assert any(mentions(one.message, "metadata.version", "4.2-IV0", 28) for one in said.waits)


def test_step_of_unknown_levels_waits() -> None:
    """While the finalized levels are unknown, an open step waits for an answer."""
    look = during(replace(well(checks={RAISE: FINE}), versions=()), METADATA, 28)
    said = planned(look, asks(metadata_version=33))
    assert said.actions == ()
    assert facts(wait(said, "SteppingFeature").message) == facts(3000, "metadata.version")


def test_step_needs_a_leader_of_ours() -> None:
    """If the leader's pod has no address, nothing can be sent to it, and the open step is given up."""
    look = during(well(checks={RAISE: FINE}), METADATA, 28)
    look = replace(look, pods=tuple(replace(one, ip="") if one.node_id == 3000 else one for one in look.pods))
    assert only(planned(look, asks(metadata_version=33)), FinishOperation).reason == "GivenUp"


def test_faults_give_the_open_step_up() -> None:
    """While the spec is invalid, the open step is given up where it is, and no other begins."""
    wanted = asks(metadata_version=33)
    finish = only(planned(during(well(checks={RAISE: FINE}), METADATA, 28), wanted, repair_only=True), FinishOperation)
    assert (finish.reason, facts(finish.message)) == ("GivenUp", facts("metadata.version", "4.2-IV0", 28))
    assert planned(well(checks={RAISE: FINE}), wanted, repair_only=True).actions == ()


def test_voters_before_levels() -> None:
    """While a voter change is open no step begins, and none is reported."""
    look = well(checks={RAISE: FINE})
    look = replace(look, status=replace(look.status, open=operation(key(3003))))
    said = planned(look, asks(metadata_version=33))
    assert every(said, BeginFeatureStep) == []
    assert "SteppingFeature" not in reasons(said)


def test_open_step_before_voters() -> None:
    """While a step is open no voter change begins; without it, one does."""
    seen = view((key(3000), key(3001)), (key(3002),))
    look = well(checks={RAISE: FINE}, quorum=Known(value=seen))
    look = replace(look, memory=replace(looks(seen), soak=LONG))
    assert only(rolled(look, asks(metadata_version=33)), BeginOperation).target == key(3002)
    said = rolled(during(look, METADATA, 28), asks(metadata_version=33))
    assert only(said, StepFeature).step == RAISE


def test_paused_steps_nothing() -> None:
    """The open step of a paused quorum stays open, and no level is planned."""
    look = during(well(checks={RAISE: FINE}), METADATA, 28)
    assert planned(look, asks(metadata_version=33)).features != ()
    said = planned(look, replace(asks(metadata_version=33), paused=True))
    assert (said.actions, said.features) == ((), ())


# What is waited for


def test_blocked_by_a_controller() -> None:
    """A controller that does not support the level is reported, and a person must act."""
    look = well(checks={RAISE: FINE})
    old = tuple((of, Known(value=saying("4.1.2")) if of == 3002 else said) for of, said in look.versions)
    said = planned(replace(look, versions=old), asks(metadata_version=33))
    held = wait(said, "FeatureBlocked")
    assert held.severity is Severity.HELD
    assert mentions(held.message, 3002, "4.4.0", METADATA, "4.1-IV1", 27)


def test_blocked_by_the_server() -> None:
    """A refusal of the active controller is quoted, and a person must act."""
    no = StepCheck(allowed=False, words="Broker 2 only supports versions 1-21")
    held = wait(planned(well(checks={RAISE: no}), asks(metadata_version=33)), "FeatureBlocked")
    assert held.severity is Severity.HELD
    assert mentions(held.message, 2, "1-21")


def test_not_asked_is_asked_in_the_next_look() -> None:
    """A step about which the active controller was not asked, or did not answer, waits for the next look."""
    first = wait(planned(well(), asks(metadata_version=33)), "SteppingFeature")
    assert first.severity is Severity.PROGRESS
    look = replace(well(), checks=((RAISE, Unknown(reason="it timed out")),))
    assert "it timed out" in wait(planned(look, asks(metadata_version=33)), "SteppingFeature").message


def test_soaking() -> None:
    """A step waits until all controllers were well for long enough."""
    look = well(checks={RAISE: FINE})
    early = replace(look, memory=replace(look.memory, soak=Soak(epoch=7, healthy_s=59.0)))
    waits = wait(planned(early, asks(metadata_version=33)), "Soaking")
    assert waits.severity is Severity.PROGRESS
    assert mentions(waits.message, 60)
    brief = replace(asks(metadata_version=33), soak_s=59)
    assert only(planned(early, brief), BeginFeatureStep).step == RAISE


def test_a_laggard_is_no_soak() -> None:
    """After the soak, a voter that lags is waited for as progress of the step, not as a soak."""
    look = well(checks={RAISE: FINE})
    lags = Known(value=view([key(of) for of in IDS], behind=[key(3002)]))
    look = replace(look, quorum=lags, memory=replace(look.memory, soak=Soak(epoch=7, healthy_s=60.0)))
    said = planned(look, asks(metadata_version=33))
    assert every(said, BeginFeatureStep) == []
    assert {"SteppingFeature", "Soaking"} & reasons(said) == {"SteppingFeature"}


def test_without_a_soak_all_of_it_is_left() -> None:
    """Before the first healthy look, the whole soak is left."""
    look = replace(well(), memory=replace(well().memory, soak=None))
    assert soak_left_s(situation(desired=asks(metadata_version=33), observed=look)) == 60.0


def test_levels_wait_for_the_roll() -> None:
    """Before the roll is complete no step begins, and this is progress, not a block."""
    new = revision(runtime(heap="1Gi"), number=2)
    look = well(checks={RAISE: FINE}, revisions=(revision(), new))
    said = planned(look, replace(asks(metadata_version=33), runtime=new.runtime))
    assert every(said, BeginFeatureStep) == []
    assert facts(wait(said, "SteppingFeature").message) == (
        facts("metadata.version", "4.2-IV0", 28, 3000, 3001, 3002, "4.4.0")
    )


def test_missing_dependency() -> None:
    """A level that depends on a missing level, which the spec does not name, waits for a person."""
    step = FeatureStep(name=ELR, level=1)
    held = wait(planned(well(AT_22, checks={step: FINE}), asks(**{ELR: 1})), "FeatureBlocked")
    assert held.severity is Severity.HELD
    assert facts(held.message) == (
        facts(
            "eligible.leader.replicas.version eligible.leader.replicas.version 1 metadata.version 4.0-IV1 23 4.0-IV0 22"
        )
    )


def test_a_dependency_that_is_not_finalized_is_at_zero() -> None:
    """A missing dependency that is not finalized at all is shown at level 0."""
    step, off = FeatureStep(name=ELR, level=1), replace(saying(), finalized=(FinalizedFeature(name=KRAFT, level=1),))
    held = wait(planned(well(off, checks={step: FINE}), asks(**{ELR: 1})), "FeatureBlocked")
    assert facts(held.message) == facts(ELR, ELR, 1, METADATA, "4.0-IV1", 23, 0)


def test_dependency_that_is_named_goes_first() -> None:
    """If the spec names both, the level that the other depends on is raised first."""
    step = FeatureStep(name=METADATA, level=23)
    said = planned(well(AT_22, checks={step: FINE}), asks(**{ELR: 1, METADATA: 23}))
    assert only(said, BeginFeatureStep).step == step


@pytest.mark.parametrize("level", [22, 23])
def test_dependent_stands_against_the_whole_way_down(level: int) -> None:
    """A downgrade below the level that another feature needs does not begin; one that ends at that level does."""
    step, way = (FeatureStep(name=METADATA, level=of, downgrade=True) for of in (32, level))
    said = planned(well(saying(), checks={step: FINE, way: FINE}), safely(**{METADATA: level}))
    if level >= 23:
        assert only(said, BeginFeatureStep).step == step
        return
    held = wait(said, "FeatureBlocked")
    assert (said.actions, held.severity) == ((), Severity.HELD)
    assert facts(held.message) == (
        facts(
            "metadata.version", "eligible.leader.replicas.version", 1, "4.0-IV1", 23, "eligible.leader.replicas.version"
        )
    )


def test_dependent_that_is_lowered_goes_first() -> None:
    """If the spec lowers both, the feature that depends on the other is lowered first."""
    step = FeatureStep(name=ELR, level=0, downgrade=True)
    said = planned(well(saying(), checks={step: FINE}), safely(**{ELR: 0, METADATA: 22}))
    assert only(said, BeginFeatureStep).step == step


# Downwards


def test_lower_level_is_a_mistake_by_default() -> None:
    """Without the policy nothing is lowered, and the wait names the field that allows it."""
    said = planned(well(saying()), asks(metadata_version=32))
    assert said.actions == ()
    held = wait(said, "DowngradeRefused")
    assert held.severity is Severity.HELD
    assert mentions(held.message, "spec.kafka.features.downgrade")


def test_lowered_step_by_step() -> None:
    """With the policy, and the whole way allowed, the level is lowered by one."""
    step, way = (FeatureStep(name=METADATA, level=level, downgrade=True) for level in (32, 31))
    look = well(saying(), checks={step: FINE, way: FINE})
    begin = only(planned(look, safely(metadata_version=31)), BeginFeatureStep)
    assert (begin.step, begin.present) == (step, 33)
    send = only(planned(during(look, METADATA, 32, downgrade=True), safely(metadata_version=31)), StepFeature)
    assert send.step == step


def test_whole_way_refused() -> None:
    """If Kafka refuses the whole way, nothing is lowered and Kafka is quoted, even if the first step is allowed."""
    step, way = (FeatureStep(name=METADATA, level=level, downgrade=True) for level in (32, 31))
    look = well(saying(), checks={step: FINE, way: StepCheck(allowed=False, words="it might delete metadata")})
    said = planned(look, safely(metadata_version=31))
    assert said.actions == ()
    held = wait(said, "DowngradeRefused")
    assert held.severity is Severity.HELD
    assert "it might delete metadata" in held.message


def test_way_down_soaks_as_well() -> None:
    """A downgrade waits for the soak, and this is no refusal."""
    step = FeatureStep(name=METADATA, level=32, downgrade=True)
    look = well(saying(), checks={step: FINE})
    look = replace(look, memory=replace(look.memory, soak=Soak(epoch=7, healthy_s=0.0)))
    assert reasons(planned(look, safely(metadata_version=32))) == {"Soaking"}


def test_kraft_version_is_never_lowered() -> None:
    """No policy lowers kraft.version."""
    step = FeatureStep(name=KRAFT, level=0, downgrade=True)
    said = planned(well(saying(), checks={step: FINE}), safely(kraft_version=0))
    assert said.actions == ()
    assert mentions(wait(said, "DowngradeRefused").message, "kraft.version")


# The record


def test_levels_seen_are_remembered() -> None:
    """Changed finalized levels are recorded: an image must support them even while no controller answers."""
    look = well(saying())
    assert look.record is not None
    stale = replace(look, record=replace(look.record, levels=()))
    write = only(planned(stale), WriteRecord)
    assert write.change is RecordChange.LEVELS_SEEN
    assert write.record.levels == saying().finalized
    assert mentions(write.message, "eligible.leader.replicas.version", 1, "group.version", 1, "kraft.version", 1)
    assert mentions(write.message, METADATA, "4.4-IV2", 33)
    assert planned(look).actions == ()


def test_silence_forgets_no_level() -> None:
    """Without an answer the levels of the record stay."""
    look = replace(well(saying()), versions=())
    assert planned(look).actions == ()


def test_levels_before_the_barrier_are_not_written() -> None:
    """Before the barrier the finalized levels are not recorded."""
    look = speaking(bound(), saying())
    assert look.record is not None
    stale = replace(look, record=replace(look.record, levels=()))
    assert not any(action.change is RecordChange.LEVELS_SEEN for action in every(planned(stale), WriteRecord))
    led = replace(stale, quorum=well().quorum)
    assert seen(situation(observed=led)) == Part()
    assert seen(situation(observed=replace(led, record=replace(running(), levels=())))).exclusive is not None


# What a person reads


def plans_of(look: Observed, wanted: Desired) -> dict[str, FeaturePlan]:
    """What the plan reports of each feature."""
    return {feature.name: feature for feature in planned(look, wanted).features}


def test_plan_of_a_wanted_level() -> None:
    """Every wanted change of a feature is reported, with an empty `against` if nothing blocks it."""
    told = plans_of(well(checks={RAISE: FINE}), asks(metadata_version=33))
    assert told[METADATA] == FeaturePlan(name=METADATA, present=27, level=33, requested=True, against="")
    assert not plans_of(well(checks={RAISE: FINE}), asks(metadata_version=27))[METADATA].requested


def test_preflight_of_the_whole_way() -> None:
    """A controller that blocks the last level is reported before the first step."""
    look = well(checks={RAISE: FINE})
    old = tuple((of, Known(value=saying("4.2.1")) if of == 3001 else said) for of, said in look.versions)
    told = plans_of(replace(look, versions=old), asks(metadata_version=33))
    assert facts(told[METADATA].against) == facts(3001, "4.4.0", "metadata.version", "4.2-IV1", 29)


def test_against_in_the_words_of_the_server() -> None:
    """A refusal of the next step, or of the whole way, is reported as what blocks a level."""
    no = StepCheck(allowed=False, words="Broker 2 only supports versions 1-21")
    assert plans_of(well(checks={RAISE: no}), asks(metadata_version=33))[METADATA].against == no.words
    step, way = (FeatureStep(name=METADATA, level=level, downgrade=True) for level in (32, 31))
    look = well(saying(), checks={step: FINE, way: no})
    assert plans_of(look, safely(metadata_version=31))[METADATA].against == no.words


def test_against_a_missing_dependency() -> None:
    """A missing dependency is reported as what blocks a level."""
    told = plans_of(well(AT_22), asks(**{ELR: 1}))
    assert mentions(told[ELR].against, "eligible.leader.replicas.version", 1, "metadata.version", "4.0-IV1", 23)


def test_held_levels_are_announced() -> None:
    """Under Hold, the levels that are possible are reported, with what would block them."""
    whole = FeatureStep(name=METADATA, level=33)
    no = StepCheck(allowed=False, words="Broker 2 only supports versions 1-21")
    told = plans_of(well(checks={whole: no}), desired())
    assert told[METADATA] == FeaturePlan(name=METADATA, present=27, level=33, requested=False, against=no.words)
    assert plans_of(well(checks={whole: FINE}), desired())[METADATA].against == ""
    old = tuple((of, Known(value=saying("4.2.1")) if of == 3001 else said) for of, said in well().versions)
    assert mentions(plans_of(replace(well(), versions=old), desired())[METADATA].against, 3001, METADATA)


def test_announced_dependency_comes_first() -> None:
    """Kafka's refusal because of a missing dependency is not reported while that dependency is announced too."""
    elr = FeatureStep(name=ELR, level=1)
    no = StepCheck(allowed=False, words="metadata.version is too low")
    told = plans_of(well(AT_22, checks={elr: no}), desired())
    assert (told[ELR].against, told[METADATA].level) == ("", 33)
    named_low = plans_of(well(AT_22, checks={elr: no}), asks(metadata_version=22))
    assert named_low[METADATA].requested is False
    alone = plans_of(well(replace(AT_22, finalized=saying("4.1.2", **{"group.version": 0}).finalized)), desired())
    assert alone["group.version"].against == ""


@pytest.mark.parametrize("level", [23, 27])
def test_a_refusal_is_told_if_no_dependency_is_missing(level: int) -> None:
    """Kafka's refusal is reported if the dependency has the level that is needed, even if it could be raised too."""
    no = StepCheck(allowed=False, words="Broker 1 only supports version 0")
    at = replace(saying(), finalized=(FinalizedFeature(name=METADATA, level=level),))
    told = plans_of(well(at, checks={FeatureStep(name=ELR, level=1): no}), desired())
    assert (told[ELR].against, told[METADATA].requested) == (no.words, False)


def test_soak_is_looked_at_less_often() -> None:
    """During a long soak the next look is after five seconds; near its end, when the soak is over."""
    look = well(checks={RAISE: FINE})
    for soaked_s, requeue_s in ((0.0, 5.0), (58.0, 2.0), (59.9, 0.4)):
        early = replace(look, memory=replace(look.memory, soak=Soak(epoch=7, healthy_s=soaked_s)))
        assert planned(early, asks(metadata_version=33)).requeue_s == pytest.approx(requeue_s)


def test_feature_that_is_off_is_at_zero() -> None:
    """A feature that is not finalized is at level 0, so naming level 0 requests nothing."""
    assert order(asks(streams_version=0), well()) == []
    told = plans_of(well(), desired())
    assert told["share.version"].present == 0


def test_dependency_that_is_just_there() -> None:
    """A level may begin if its dependency is exactly at the level that it needs."""
    step = FeatureStep(name=ELR, level=1)
    at_23 = replace(saying(), finalized=(FinalizedFeature(name=METADATA, level=23),))
    assert only(planned(well(at_23, checks={step: FINE}), asks(**{ELR: 1})), BeginFeatureStep).step == step


def test_all_who_block_are_named() -> None:
    """All releases that block a level are listed, whether the level is wanted or announced."""
    look = well(checks={RAISE: FINE})
    said = {3001: saying("4.0.2"), 3002: saying("4.1.2")}
    look = replace(
        look, versions=tuple((of, Known(value=said[of]) if of in said else old) for of, old in look.versions)
    )
    for wanted in (asks(metadata_version=33), desired()):
        assert facts(plans_of(look, wanted)[METADATA].against) == (
            facts(3001, "4.4.0", "metadata.version", "4.0-IV3", 25, 3002, "4.4.0", "metadata.version", "4.1-IV1", 27)
        )


def test_static_quorum_that_nobody_scales_waits_for_nothing() -> None:
    """A static quorum whose controllers are the wanted ones has no StaticQuorum wait."""
    static = replace(running(), static=True)
    assert "StaticQuorum" not in reasons(planned(at_rest(static)))
