"""Every guard of releases and levels allows and refuses, and a refusal names its objects. See `test_safety`."""

from dataclasses import replace
from typing import Any

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    IDS,
    SILENT,
    desired,
    key,
    kube_nodes,
    looks,
    node,
    operation,
    pod,
    revision,
    running,
    runtime,
    saying,
    situation,
    speaking,
    stepping,
    view,
    with_pod,
    without_pod,
)
from tests.plan.reading import planned

from kafka_quorum.api.features import KRAFT, METADATA
from kafka_quorum.model.desired import Downgrade
from kafka_quorum.model.identity import FormerNode, IdentityRecord, with_disk_lost, with_levels, with_revision
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Memory, Soak, StepCheck
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.quorum import FeatureStep, FinalizedFeature, NodeVersions
from kafka_quorum.plan.facts.formats import release_numbers
from kafka_quorum.plan.facts.places import nodes_of_next
from kafka_quorum.plan.guards.rule5_restarts import may_restart
from kafka_quorum.plan.guards.rule7_migrations import may_drop_static
from kafka_quorum.plan.guards.rule7_releases import (
    blockers,
    may_cure_ghost,
    may_lower,
    may_raise,
    may_run_image,
    unasked,
)

NEW = revision(runtime(heap="1Gi"), number=2)
FIVE = tuple(key(3000 + index) for index in range(5))
THREE = FIVE[:3]
UP = FeatureStep(name=METADATA, level=28)
DOWN = FeatureStep(name=METADATA, level=32, downgrade=True)
WAY = FeatureStep(name=METADATA, level=31, downgrade=True)
OF_4_1 = replace(running(), format=replace(running().format, release="4.1.2"))


def held(verdict: Verdict, rule: str, *named: object) -> None:
    """The guard refuses, and names exactly these."""
    assert (verdict.rule, verdict.allowed, facts(verdict.reason)) == (rule, False, facts(*named))


def passed(verdict: Verdict, rule: str, *named: object) -> None:
    """The guard allows, and names exactly these."""
    assert (verdict.rule, verdict.allowed, facts(verdict.reason)) == (rule, True, facts(*named))


def silenced(look: Observed, node_id: int, reason: str) -> Observed:
    """The same look, in which one controller does not report what it supports."""
    versions = tuple((of, Unknown(reason=reason) if of == node_id else said) for of, said in look.versions)
    return replace(look, versions=versions)


def told(look: Observed, node_id: int, said: NodeVersions) -> Observed:
    """The same look, in which one controller reports this of itself."""
    versions = tuple((of, Known(value=said) if of == node_id else before) for of, before in look.versions)
    return replace(look, versions=versions)


def led(look: Observed, *voters: ReplicaKey, static: bool = False, **how: Any) -> Observed:  # noqa: ANN401 - options of `view`
    """The same look with another quorum, of three voters if none is named."""
    return replace(look, quorum=Known(value=replace(view(voters or THREE, **how), static=static)))


def changing(look: Observed) -> Observed:
    """The same look while a voter is being added."""
    return replace(look, status=replace(look.status, open=operation(key(3003))))


def last_committed(look: Observed, *voters: ReplicaKey) -> Observed:
    """The same look, in which the last committed voter set has these voters."""
    assert isinstance(look.quorum, Known)
    return replace(look, quorum=Known(value=replace(look.quorum.value, committed_voters=frozenset(voters))))


# Rules 3 to 5: may_restart


def scene(voters: tuple[ReplicaKey, ...] = THREE, **how: Any) -> Observed:  # noqa: ANN401 - options of `view`
    """This many voters with the first as leader, and a second revision."""
    seen = view(voters, **how)
    return speaking(running(len(voters)), revisions=(revision(), NEW), quorum=Known(value=seen), memory=looks(seen))


def moved(look: Observed, *node_ids: int) -> Observed:
    """A look in which these controllers run from the new revision, by the record and by their pods."""
    assert look.record is not None
    look = replace(look, record=with_revision(look.record, NEW.name, map(NodeID, node_ids)))
    for node_id in node_ids:
        look = with_pod(look, node_id, revision=NEW.name)
    return look


def restart(look: Observed, node_id: int = 3001, *, allow: bool = False) -> Verdict:
    """The guard's verdict on the restart of one controller from the new revision."""
    assert look.record is not None
    (of,) = (one for one in look.pods if one.node_id == node_id)
    wanted = desired(allow_interruption=allow, runtime=NEW.runtime)
    return may_restart(situation(desired=wanted, observed=look, record=look.record), node(look.record, node_id), of)


def test_restart_of_a_follower() -> None:
    """A caught-up follower may restart when all others are caught up."""
    passed(restart(scene()), "5-restart", 2, 2)


def test_restart_of_an_observer() -> None:
    """A replica without a vote may restart, because no vote is lost."""
    look = scene()
    seen = view((THREE[0], THREE[2]), (THREE[1],), behind=(THREE[2],))
    look = replace(look, quorum=Known(value=seen), memory=looks(seen))
    passed(restart(look), "5-restart", THREE[1])


def on_a_node(look: Observed, **changes: bool) -> Observed:
    """The same look with a changed Kubernetes node of controller 3001."""
    others = tuple(row for row in look.kube_nodes if row[0] != "worker-3001")
    return replace(look, kube_nodes=(*others, *kube_nodes(["worker-3001"], **changes)))


@pytest.mark.parametrize("lags", [False, True], ids=["keeps up", "lags"])
def test_restart_on_a_cordoned_node(lags: bool) -> None:  # noqa: FBT001 - columns
    """A voter on a cordoned Kubernetes node may not restart; other nodes, and replicas without a vote, do not count."""
    look = scene(behind=(THREE[1],) if lags else ())
    held(restart(on_a_node(look, cordoned=True)), "5-restart", 3001, "worker-3001")
    assert restart(on_a_node(look)).allowed
    assert restart(on_a_node(look, cordoned=True), 3002).allowed is not lags
    observer = view((THREE[0], THREE[2]), (THREE[1],))
    look = replace(look, quorum=Known(value=observer), memory=looks(observer))
    assert restart(on_a_node(look, cordoned=True)).allowed


def test_roll_waits_for_a_voter_that_was_next_when_its_node_was_cordoned() -> None:
    """A roll waits for a moved voter on a cordoned Kubernetes node, and does not begin with another controller."""
    look = scene()
    assert look.record is not None
    begun = replace(look, record=with_revision(look.record, NEW.name, (NodeID(3001),)))

    def rolls(of: Observed) -> set[str]:
        return {
            type(one).__name__ for one in planned(on_a_node(of, cordoned=True), desired(runtime=NEW.runtime)).actions
        }

    assert "WriteRecord" in rolls(look)
    assert rolls(begun) == {"CreateConfig"}


def test_restart_on_a_node_that_is_not_ready() -> None:
    """A caught-up voter on a Kubernetes node that is not ready may not restart; one that lags may."""
    held(restart(on_a_node(scene(), ready=False)), "5-restart", 3001, "worker-3001")
    assert restart(on_a_node(scene(behind=(THREE[1],)), ready=False)).allowed


def test_restart_on_a_node_that_cannot_be_read() -> None:
    """A voter on an unknown Kubernetes node may not restart."""
    rows = (("worker-3001", Unknown(reason="forbidden")),)
    held(restart(replace(scene(), kube_nodes=rows)), "5-restart", 3001, "worker-3001")


def test_which_kubernetes_nodes_are_looked_up() -> None:
    """Only the Kubernetes nodes of running controllers that a roll, or their removal, may stop are looked up."""
    look = scene()
    assert look.record is not None

    def asked(seen: Observed, **wanted: Any) -> tuple[str, ...]:  # noqa: ANN401 - fields of the spec
        return nodes_of_next(situation(desired=desired(**wanted), observed=seen, record=seen.record))

    assert asked(look) == ()
    assert asked(look, replicas=2) == ("worker-3002",)
    assert asked(look, runtime=NEW.runtime) == ("worker-3000", "worker-3001", "worker-3002")
    assert asked(moved(look, 3000), runtime=NEW.runtime) == ("worker-3001", "worker-3002")
    assert asked(without_pod(look, 3002), replicas=2) == ()


def test_restart_of_another_replica() -> None:
    """A roll may not stop a pod that runs a retired replica, because the quorum may need that replica's vote."""
    record = with_disk_lost(running(), NodeID(3002), new_claim=True)
    look = scene(behind=(THREE[1],))
    judged = restart(replace(look, record=record), 3002)
    held(judged, "5-restart", "alpha-3002-g1", 3002)


@pytest.mark.parametrize(
    ("look", "named"),
    [
        (replace(scene(), quorum=SILENT), ()),
        (changing(scene()), (key(3003),)),
        (scene(committed=False), ()),
        (last_committed(scene(), *THREE[:2]), ()),
        (replace(scene(), status=replace(scene().status, open=stepping(METADATA, 28))), ("metadata.version", 28)),
        (scene(behind=THREE[2:]), (3002,)),
        (replace(scene(), memory=Memory(caught_up_looks=((THREE[0], 3), (THREE[1], 3), (THREE[2], 2)))), (3002,)),
        (replace(scene(), pods=scene().pods[:2]), (3002,)),
        (with_pod(scene(), 3002, deleting=True), (3002,)),
    ],
    ids=[
        "no leader",
        "a voter is being added",
        "uncommitted",
        "last committed otherwise",
        "feature step",
        "another lags",
        "another caught up in two looks only",
        "another has no pod",
        "another is being deleted",
    ],
)
def test_restart_no(look: Observed, named: tuple[object, ...]) -> None:
    """A voter restarts only beside a leader, without a change, and if every other one is caught up in several looks."""
    held(restart(look), "5-restart", 3001, *named)
    assert ("the change of voter" in restart(look).reason) == (key(3003) in named)


@pytest.mark.parametrize("change", [{"deleting": True}, {"container": pod(running(), node(running(), 3001)).container}])
def test_restart_of_a_pod_that_goes(change: dict[str, Any]) -> None:
    """A pod that is being deleted may not be restarted; one that runs may."""
    look = with_pod(scene(), 3001, **change)
    if change.get("deleting"):
        held(restart(look), "5-restart", "alpha-3001-g1")
    else:
        assert restart(look).allowed


@pytest.mark.parametrize("voters", [1, 2])
def test_restart_interrupts_one_or_two(voters: int) -> None:
    """One or two voters may restart only if the spec allows the interruption."""
    last = 2999 + voters
    held(restart(scene(FIVE[:voters]), last), "5-restart", last, "spec.controllers.allowInterruption")
    assert restart(scene(FIVE[:voters]), last, allow=True).allowed


def test_restart_one_of_two_waits_for_the_other() -> None:
    """Even if the spec allows the interruption, one of two voters waits until the other is caught up."""
    look = scene(FIVE[:2], behind=(FIVE[0],))
    held(restart(look, allow=True), "5-restart", 3001, 3000)


def test_restart_of_a_laggard() -> None:
    """A lagging voter does not wait for another that lags, unless that one was restarted before."""
    lag = scene(FIVE, behind=FIVE[3:])
    passed(restart(lag, 3004), "5-restart", 3, 4)
    held(restart(moved(lag, 3003), 3004), "5-restart", 3004, 3003)


def test_restart_of_a_laggard_without_a_majority() -> None:
    """A lagging voter may not restart if the others have no majority."""
    look = scene(FIVE, behind=FIVE[2:])
    held(restart(look, 3004), "5-restart", 3004, 3, 2)


def test_restart_of_the_active_controller() -> None:
    """The active controller may restart only when all others are made from the revision."""
    held(restart(scene(), 3000), "5-restart", 3000, 3001, 3002)
    assert restart(moved(scene(), 3001, 3002), 3000).allowed
    half = with_pod(moved(scene(), 3001, 3002), 3002, revision=revision().name)
    held(restart(half, 3000), "5-restart", 3000, 3002)


def test_stranger_among_the_voters() -> None:
    """For a voter outside the record only its looks count."""
    look = scene()
    seen = view((*THREE, key(9)))
    look = replace(look, quorum=Known(value=seen), memory=looks(seen))
    passed(restart(look), "5-restart", 3, 3)


# Rule 7: may_run_image


def image(release: str, *levels: FinalizedFeature, record: IdentityRecord | None = None) -> Verdict:
    """The guard's verdict on an image while no controller answers, by the levels that were seen last."""
    known = with_levels(record or running(), levels)
    look = replace(speaking(known), versions=())
    return may_run_image(situation(record=known, observed=look), release)


def test_image_that_reads_everything() -> None:
    """An image whose release supports every finalized level may run, even if it is older than the present one."""
    passed(image("4.3.1", FinalizedFeature(name=METADATA, level=30)), "7-image", "4.3.1")


@pytest.mark.parametrize(
    ("release", "level", "why"),
    [
        ("4.3.1", (METADATA, 31), ("metadata.version", "4.3-IV0", 30, "4.4-IV0", 31)),
        ("4.4.0", (METADATA, 6), ("metadata.version", "3.3-IV3", 7, 6)),
        ("3.9.2", ("share.version", 1), ("share.version", 1)),
    ],
)
def test_image_that_cannot_read(release: str, level: tuple[str, int], why: str) -> None:
    """An image that does not support a finalized level is refused, and the refusal names the level."""
    name, number = level
    held(image(release, FinalizedFeature(name=name, level=number)), "7-image", release, why)


def test_feature_that_is_off_is_read_by_all() -> None:
    """A release without support for a feature may run if the feature is at level 0, which is off."""
    off = (FinalizedFeature(name=METADATA, level=21), FinalizedFeature(name="share.version", level=0))
    assert image("3.9.2", *off).allowed


def test_answers_before_the_record() -> None:
    """If controllers answer, their levels count, and not the recorded ones."""
    known = with_levels(running(), (FinalizedFeature(name=METADATA, level=33),))
    look = speaking(known, saying(metadata_version=30, streams_version=0, share_version=1))
    assert may_run_image(situation(record=known, observed=look), "4.3.1").allowed


def test_leader_before_the_others() -> None:
    """The leader's levels count, and newer ones of another controller; without the leader the highest of all count."""
    low = with_levels(running(), saying("4.1.2").finalized)
    for epoch, allowed in ((6, True), (7, True), (9, False)):
        look = told(speaking(low, saying("4.1.2")), 3001, saying(epoch=epoch))
        assert may_run_image(situation(record=low, observed=look), "4.3.1").allowed is allowed
    assert not may_run_image(situation(record=low, observed=replace(look, quorum=SILENT)), "4.3.1").allowed
    assert not may_run_image(situation(record=low, observed=silenced(look, 3000, "busy")), "4.3.1").allowed
    high = with_levels(running(), (FinalizedFeature(name=METADATA, level=33),))
    assert not may_run_image(
        situation(record=high, observed=replace(speaking(low, saying("4.1.2")), quorum=SILENT)), "4.3.1"
    ).allowed


def test_unknown_release_goes_up_only() -> None:
    """An unknown release may be newer, but not older, than what was formatted or is used, compared by numbers."""
    passed(image("9.9.0"), "7-image", "9.9.0")
    newest = revision(runtime(release="10.0.0"), number=2)
    known = with_revision(running(), newest.name, [IDS[0]])
    look = replace(speaking(known), versions=(), revisions=(revision(), newest))
    held(
        may_run_image(situation(record=replace(known, levels=()), observed=look), "9.9.0"),
        "7-image",
        "9.9.0",
        "10.0.0",
        "spec.kafka.version",
        "10.0.0",
    )


def test_without_levels_the_format_counts() -> None:
    """Before any level is recorded, the release of the format is the oldest that may run."""
    held(image("4.3.0"), "7-image", "4.3.0", "4.4.0", "spec.kafka.version", "4.4.0")
    assert image("4.4.0").allowed


# Rule 7: may_raise


def ready_to_raise(step: FeatureStep = UP, release: str = "4.4.0", *, answer: StepCheck | None = None) -> Observed:
    """Three controllers of 4.4 at the levels of 4.1, after the soak; the active one allows the step."""
    said = replace(saying(release), finalized=saying("4.1.2").finalized)
    check = answer or StepCheck(allowed=True, words="")
    look = speaking(OF_4_1, said, checks=((step, Known(value=check)),))
    return replace(look, memory=replace(look.memory, soak=Soak(epoch=7, healthy_s=60.0)))


def raising(look: Observed, step: FeatureStep = UP, *older: int, **changes: Any) -> Verdict:  # noqa: ANN401 - of `desired`
    """The guard's verdict on one level up."""
    assert look.record is not None
    return may_raise(
        situation(desired=desired(**changes), observed=look, record=look.record), step, tuple(map(NodeID, older))
    )


def test_raise() -> None:
    """If every condition holds, one level up is allowed."""
    passed(raising(ready_to_raise()), "7-raise", *TO_28)


def test_raise_names_who_was_not_asked() -> None:
    """The permit names a controller that does not answer, for which the active controller's answer counts."""
    look = silenced(ready_to_raise(), 3002, "controller 3002 cannot be reached")
    passed(raising(look), "7-raise", *TO_28, 3002)


def soaked(look: Observed, soak: Soak | None) -> Observed:
    """The same look after another soak."""
    return replace(look, memory=replace(look.memory, soak=soak))


TO_28 = ("metadata.version", "4.2-IV0", 28)
NOT_ALL = StepCheck(allowed=False, words="Broker 2 only supports versions 1-21")


@pytest.mark.parametrize(
    ("look", "older", "named"),
    [
        (replace(ready_to_raise(), quorum=SILENT), (), ()),
        (ready_to_raise(), (3000, 3002), (3000, 3002, "4.4.0")),
        (changing(led(ready_to_raise())), (), (key(3003),)),
        (led(ready_to_raise(), committed=False), (), ()),
        (last_committed(ready_to_raise(), *THREE[:2]), (), ()),
        (led(ready_to_raise(), behind=THREE[1:]), (), (3001, 3002)),
        (replace(ready_to_raise(), checks=()), (), ("metadata.version", 28)),
        (replace(ready_to_raise(), checks=((UP, Unknown(reason="it timed out")),)), (), ()),
        (ready_to_raise(answer=NOT_ALL), (), (2, "1-21")),
        (soaked(ready_to_raise(), None), (), (60,)),
        (soaked(ready_to_raise(), Soak(epoch=7, healthy_s=59.9)), (), (60,)),
    ],
    ids=[
        "no leader",
        "before the roll is complete",
        "a voter is being added",
        "uncommitted",
        "last committed otherwise",
        "laggards",
        "the active controller was not asked",
        "the active controller did not answer",
        "refused by the server, which is quoted",
        "no soak",
        "early in the soak",
    ],
)
def test_raise_no(look: Observed, older: tuple[int, ...], named: tuple[object, ...]) -> None:
    """A refusal of one level up names the level and what prevents it."""
    held(raising(look, UP, *older), "7-raise", *TO_28, *named)


def test_raise_with_a_blocker() -> None:
    """A controller that does not support a level blocks it, whatever the leader allows, and its release is named."""
    of_4_1 = ("4.4.0", "metadata.version", "4.1-IV1", 27)
    look = told(ready_to_raise(), 3002, saying("4.1.2"))
    held(raising(look), "7-raise", *TO_28, 3002, *of_4_1)
    held(raising(told(look, 3001, saying("4.1.2"))), "7-raise", *TO_28, 3001, 3002, *of_4_1)
    mixed = told(look, 3001, saying("4.0.2"))
    assert len(blockers(situation(observed=mixed, record=OF_4_1), UP)) == 2
    nameless = with_pod(look, 3002, revision="gone")
    held(raising(nameless), "7-raise", "metadata.version", "4.2-IV0", 28, 3002, "metadata.version", "4.1-IV1", 27)


def test_least_soak() -> None:
    """A soak takes at least one second, whatever the spec requests."""
    held(raising(soaked(ready_to_raise(), Soak(epoch=7, healthy_s=0.9)), soak_s=0), "7-raise", *TO_28, 1)
    assert raising(soaked(ready_to_raise(), Soak(epoch=7, healthy_s=1.0)), soak_s=0).allowed
    assert not raising(soaked(ready_to_raise(), None), soak_s=0).allowed


TO_DYNAMIC = FeatureStep(name=KRAFT, level=1)


def test_dynamic_from_4_1() -> None:
    """kraft.version is raised only if every controller is known to run 4.1 or later."""
    assert raising(ready_to_raise(TO_DYNAMIC, "4.1.2"), TO_DYNAMIC).allowed
    older = told(ready_to_raise(TO_DYNAMIC, "4.1.2"), 3001, saying("4.0.2"))
    held(raising(older, TO_DYNAMIC), "7-raise", "kraft.version", 1, "4.1", 3001, "4.4.0")
    silent = silenced(ready_to_raise(TO_DYNAMIC, "4.1.2"), 3001, "controller 3001 does not answer")
    held(raising(silent, TO_DYNAMIC), "7-raise", "kraft.version", 1, "4.1", 3001, 3001)


# Rule 7: may_lower


def ready_to_lower(step: StepCheck | None = None, way: StepCheck | None = None) -> Observed:
    """Three controllers at the highest level of 4.4, after the soak; the active one allows the downgrade."""
    fine = StepCheck(allowed=True, words="")
    look = speaking(checks=((WAY, Known(value=way or fine)), (DOWN, Known(value=step or fine))))
    return replace(look, memory=replace(look.memory, soak=Soak(epoch=7, healthy_s=60.0)))


def lowering(look: Observed, step: FeatureStep = DOWN, whole: FeatureStep = WAY, **changes: Any) -> Verdict:  # noqa: ANN401 - of `desired`
    """The guard's verdict on one level down."""
    assert look.record is not None
    return may_lower(
        situation(desired=desired(**{"downgrade": Downgrade.SAFE, **changes}), observed=look, record=look.record),
        step,
        whole,
    )


TO_32 = ("metadata.version", "4.4-IV1", 32)
LOSES = StepCheck(allowed=False, words="it might delete metadata information")
NARROW = replace(saying(), supported=tuple(replace(each, min_level=each.max_level) for each in saying().supported))


def test_lower() -> None:
    """A requested way down that Kafka allows begins with one level."""
    passed(lowering(ready_to_lower()), "7-lower", *TO_32)


@pytest.mark.parametrize(
    ("look", "named"),
    [
        (replace(ready_to_lower(), quorum=SILENT), ()),
        (told(ready_to_lower(), 3001, NARROW), (3001, "4.4.0", "metadata.version", "4.4-IV2", 33)),
        (ready_to_lower(way=LOSES), ()),
        (ready_to_lower(step=LOSES), ()),
        (replace(ready_to_lower(), checks=ready_to_lower().checks[1:]), ("metadata.version", 31)),
        (changing(ready_to_lower()), (key(3003),)),
        (led(ready_to_lower(), behind=THREE[2:]), (3002,)),
        (soaked(ready_to_lower(), Soak(epoch=7, healthy_s=1.0)), (60,)),
    ],
    ids=[
        "no leader",
        "below what a controller supports",
        "last step refused",
        "first step refused",
        "not asked about the whole way",
        "a voter is being added",
        "a laggard",
        "early in the soak",
    ],
)
def test_lower_no(look: Observed, named: tuple[object, ...]) -> None:
    """A refusal of one level down names the level and what prevents it: the whole way goes, or nothing."""
    held(lowering(look), "7-lower", *TO_32, *named)


def test_kraft_version_never_goes_down() -> None:
    """No policy lowers kraft.version."""
    step = FeatureStep(name=KRAFT, level=0, downgrade=True)
    held(lowering(ready_to_lower(), step, step), "7-lower", "kraft.version")


def test_lower_is_forbidden_by_default() -> None:
    """Without the policy of the spec no level is lowered."""
    said = lowering(ready_to_lower(), downgrade=Downgrade.FORBID)
    held(said, "7-lower", "metadata.version", "4.4-IV0", 31, "spec.kafka.features.downgrade")


def test_off_needs_no_support() -> None:
    """A feature may be disabled, whatever the controllers support."""
    off = FeatureStep(name="streams.version", level=0, downgrade=True)
    allowed = ((off, Known(value=StepCheck(allowed=True, words=""))),)
    assert lowering(replace(told(ready_to_lower(), 3001, NARROW), checks=allowed), off, off).allowed


# Rule 7: may_cure_ghost

GHOST = NodeID(3003)
HAUNTED = replace(running(), former=(FormerNode(node_id=GHOST, generation=1, retired=()),))


LATE = key(3003)
SPEAKING = speaking(HAUNTED)


def cure(look: Observed, node_id: int = GHOST) -> Verdict:
    """The guard's verdict on the registration of this node."""
    return may_cure_ghost(situation(observed=look, record=HAUNTED), NodeID(node_id))


def test_cure_ghost() -> None:
    """A controller that was removed here and does not run is a ghost, even if Kafka lists it as an observer."""
    passed(cure(SPEAKING), "7-cure-ghost", 3003)
    assert cure(led(SPEAKING, observers=(LATE,), behind=(LATE,))).allowed


def with_left_pods(*names: str) -> Observed:
    """A look with these pods of the removed controller."""
    left = (replace(SPEAKING.pods[0], node_id=GHOST, name=name) for name in names)
    return replace(SPEAKING, pods=(*SPEAKING.pods, *left))


@pytest.mark.parametrize(
    ("look", "node_id", "named"),
    [
        (replace(SPEAKING, quorum=SILENT), GHOST, (3003,)),
        (SPEAKING, 3001, (3001,)),
        (led(SPEAKING, *THREE, LATE, behind=(LATE,)), GHOST, (LATE, 3003)),
        (led(SPEAKING, observers=(LATE,)), GHOST, (LATE, 3003)),
        (with_left_pods("alpha-3003-g1"), GHOST, (3003, "alpha-3003-g1")),
        (with_left_pods("alpha-3003-g1", "alpha-3003-g2"), GHOST, (3003, "alpha-3003-g1", "alpha-3003-g2")),
        (SPEAKING, 2000, (2000,)),
    ],
    ids=[
        "no leader",
        "of the record",
        "a dead voter",
        "fetches",
        "has a pod",
        "has two pods",
        "never a controller here",
    ],
)
def test_no_ghost(look: Observed, node_id: int, named: tuple[object, ...]) -> None:
    """A registration stays if its node may run, may vote, or is not known to be of a removed controller."""
    held(cure(look, node_id), "7-cure-ghost", *named)


# Rule 7: may_drop_static

STATIC = replace(running(), static=True)


def dropping(look: Observed) -> Verdict:
    """The guard's verdict on dropping the static voters."""
    return may_drop_static(situation(observed=look, record=STATIC))


def test_drop_static() -> None:
    """They are dropped if the voters have directory ids and every controller reports kraft.version 1."""
    passed(dropping(speaking(STATIC)), "7-drop-static", "kraft.version", 1)


@pytest.mark.parametrize(
    ("look", "named"),
    [
        (replace(speaking(STATIC), quorum=SILENT), ()),
        (led(speaking(STATIC), static=True), ()),
        (led(speaking(STATIC), *THREE[:2], key(3002, 2)), ()),
        (led(speaking(STATIC), committed=False), ()),
        (
            told(silenced(speaking(STATIC), 3000, "gone"), 3002, saying(kraft_version=0)),
            (3000, 3002, "kraft.version", 1),
        ),
    ],
    ids=[
        "no leader",
        "finalized, and not dynamic",
        "ids of other disks",
        "uncommitted",
        "silent, and at another level",
    ],
)
def test_drop_static_no(look: Observed, named: tuple[object, ...]) -> None:
    """The static voters stay until all voters have the disks' directory ids, and every controller reports the level."""
    held(dropping(look), "7-drop-static", "controller.quorum.voters", *named)


def test_blockers_say_nothing_of_the_silent() -> None:
    """Only what a controller reported of itself blocks a level, and nothing blocks level 0."""
    look = silenced(told(ready_to_raise(), 3001, saying("4.1.2")), 3001, "gone")
    assert blockers(situation(observed=look, record=OF_4_1), UP) == ()
    assert unasked(situation(observed=look, record=OF_4_1)) == (3001,)
    unknown = FeatureStep(name="elastic.version", level=1)
    assert blockers(situation(observed=look, record=OF_4_1), replace(unknown, level=0)) == ()
    (blocker,) = blockers(situation(observed=look, record=OF_4_1), unknown)
    assert facts(blocker) == facts(3000, 3002, "4.4.0", "elastic.version")


@pytest.mark.parametrize(("text", "numbers"), [("4.1.2", (4, 1, 2)), ("10.0", (10, 0)), ("4.x.1", (4, 1)), ("", ())])
def test_release_numbers(text: str, numbers: tuple[int, ...]) -> None:
    """Releases compare by numbers."""
    assert release_numbers(text) == numbers


# Several of a kind


def test_several_are_told_one_after_the_other() -> None:
    """Several objects that block a step are all named."""
    one = (3001, "4.4.0", "metadata.version", "4.0-IV3", 25)
    blocking = (*one, 3002, "4.4.0", "metadata.version", "4.1-IV1", 27)
    up = told(told(ready_to_raise(), 3001, saying("4.0.2")), 3002, saying("4.1.2"))
    held(raising(up), "7-raise", *TO_28, *blocking)
    down = told(told(ready_to_lower(), 3001, saying("4.0.2")), 3002, saying("4.1.2"))
    held(lowering(down), "7-lower", *TO_32, *blocking)
    silent = silenced(silenced(ready_to_raise(), 3001, "busy"), 3002, "busy")
    assert mentions(raising(silent).reason, 3001, 3002)
    static = told(told(ready_to_raise(TO_DYNAMIC, "4.1.2"), 3001, saying("4.0.2")), 3002, saying("4.0.2"))
    assert raising(static, TO_DYNAMIC).reason.endswith("controller 3001 runs 4.4.0; controller 3002 runs 4.4.0")


def test_lowest_level_is_supported() -> None:
    """The lowest level of a range is supported."""
    assert image("4.4.0", FinalizedFeature(name=METADATA, level=7)).allowed
