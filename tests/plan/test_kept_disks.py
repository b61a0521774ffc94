"""Disks that go with their pods: the operator never stops the last pod that holds a disk that the quorum needs."""

from dataclasses import replace
from typing import Any

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    IDS,
    SILENT,
    at_rest,
    desired,
    key,
    looks,
    manual,
    node,
    revision,
    running,
    situation,
    view,
    with_pod,
    with_the_claim,
    without_claim,
)
from tests.plan.reading import every, planned, verdict, wait
from tests.plan.test_rolls import LARGER, NEW, SPEC, rolled, rolling

from kafka_quorum.model.actions import DeletePod, RecordChange, RestartPod, WriteRecord, is_guarded
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import with_revision
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed, Unreadable
from kafka_quorum.model.pods import Waiting
from kafka_quorum.plan.facts.kept import goes_with, why_kept
from kafka_quorum.plan.facts.static import STATIC
from kafka_quorum.plan.guards.rule3_voters import may_hand_over
from kafka_quorum.plan.unreadable import without

BACK_OFF = Waiting(reason="ImagePullBackOff", message="", last_exit=None)
GOING: tuple[dict[str, Any], ...] = ({"deleting": True}, {"volume_gone": True}, {"uid": "another"})


def kept(look: Observed, of: int = 3000, spec: Desired | None = None) -> str:
    """Why the pod of this controller is kept; empty if it may go."""
    assert look.record is not None
    return why_kept(situation(desired=spec or desired(), observed=look, record=look.record), node(look.record, of))


def alone() -> Observed:
    """A quorum of one controller."""
    return at_rest(running(1))


@pytest.mark.parametrize("change", GOING, ids=str)
@pytest.mark.parametrize("replicas", [1, 2])
def test_the_disk_of_one_or_two_is_needed(replicas: int, change: dict[str, Any]) -> None:
    """One or two voters need every disk: the pod is kept, and the message asks for more controllers."""
    said = kept(with_the_claim(at_rest(running(replicas)), 3000, **change))
    assert mentions(said, replicas - 1, replicas, 3, "spec.controllers.replicas")
    assert kept(at_rest(running(replicas))) == ""


@pytest.mark.parametrize("change", GOING, ids=str)
def test_a_majority_of_the_others_does_without_it(change: dict[str, Any]) -> None:
    """With a caught-up majority of the others on disks that stay, one disk may go."""
    assert kept(with_the_claim(at_rest(), 3000, **change)) == ""
    assert kept(without_claim(at_rest(), 3000)) == ""


@pytest.mark.parametrize("change", GOING, ids=str)
def test_others_on_disks_that_go_do_not_count(change: dict[str, Any]) -> None:
    """A voter whose own disk goes does not count for the majority that lets another disk go."""
    look = with_the_claim(with_the_claim(at_rest(), 3000, **change), 3001, **change)
    assert mentions(kept(look), 1, 2, 5)


def test_others_that_lag_do_not_count() -> None:
    """While another voter lags, the disk is needed."""
    seen = view([key(3000), key(3001), key(3002)], behind=[key(3002)])
    look = replace(with_the_claim(at_rest(), 3000, deleting=True), quorum=Known(value=seen), memory=looks(seen))
    assert mentions(kept(look), 2)
    assert not mentions(kept(look), "spec.controllers.replicas"), "the lagging voter may catch up"


@pytest.mark.parametrize("votes", [True, False], ids=["added", "removed"])
def test_a_vote_that_is_not_committed_yet_needs_its_disk(votes: bool) -> None:  # noqa: FBT001 - a column
    """A replica that is being added to the voters, or removed from them, keeps its disk until this is committed."""
    others = [key(3001), key(3002)]
    seen = view([key(3000), *others] if votes else others, [] if votes else [key(3000)], committed=False)
    before = frozenset(others if votes else [key(3000), *others])
    look = replace(with_the_claim(at_rest(), 3000, deleting=True), memory=looks(seen))
    assert kept(replace(look, quorum=Known(value=replace(seen, committed_voters=before)))) != ""
    assert kept(replace(look, quorum=Known(value=replace(seen, committed=True, committed_voters=seen.voters)))) == ""


def test_nothing_is_given_up_without_a_leader() -> None:
    """Without a leader, under Manual, while uncommitted, or in a static quorum, no disk may go."""
    look = with_the_claim(at_rest(), 3000, deleting=True)
    assert SILENT.reason in kept(replace(look, quorum=SILENT))
    assert mentions(kept(look, spec=desired(replacement=manual())), "spec.controllers.replacement.lostDisk")
    assert isinstance(look.quorum, Known)
    uncommitted = replace(look, quorum=Known(value=replace(look.quorum.value, committed=False)))
    assert kept(uncommitted) != ""
    static = replace(look, record=replace(running(), static=True))
    static = replace(static, quorum=Known(value=replace(look.quorum.value, static=True)))
    assert STATIC in kept(static)


def test_an_observer_has_nothing_to_lose() -> None:
    """The disk of a controller that is no voter may go."""
    seen = view([key(3001), key(3002)], observers=[key(3000)])
    look = with_the_claim(with_the_claim(at_rest(), 3000, deleting=True), 3001, deleting=True)
    assert kept(replace(look, quorum=Known(value=seen), memory=looks(seen))) == ""


@pytest.mark.parametrize("change", GOING[:2], ids=str)
def test_no_roll_stops_it(change: dict[str, Any]) -> None:
    """A roll does not move or restart a controller on a needed disk that would go with its pod."""
    record = running(1)
    look = with_the_claim(at_rest(record, revisions=(revision(), NEW)), 3000, **change)
    said = rolled(look, replace(SPEC, replicas=1, allow_interruption=True))
    assert not verdict(said, "5-restart").allowed
    assert every(said, RestartPod) == []
    assert not any(one.change is RecordChange.ROLL for one in every(said, WriteRecord))
    moved = replace(look, record=with_revision(record, NEW.name, IDS[:1]))
    assert every(rolled(moved, replace(SPEC, replicas=1, allow_interruption=True)), RestartPod) == []


def test_a_roll_replaces_what_nobody_needs() -> None:
    """A roll restarts a controller whose disk goes if the other voters are enough."""
    look = with_the_claim(rolling(), 3001, deleting=True)
    assert any(one.change is RecordChange.ROLL for one in every(rolled(look, SPEC), WriteRecord))


def test_a_pod_that_takes_its_disk_goes_on_a_fresh_look_only() -> None:
    """The deletion of a pod that does not run needs a recent look if its disk goes with it."""
    look = replace(with_pod(at_rest(), 3000, container=BACK_OFF, gate="False"), revisions=(revision(), NEW))
    look = replace(look, record=with_revision(running(), NEW.name, IDS[:1]))
    seen = view([key(3000), key(3001), key(3002)], behind=[key(3000)])
    look = replace(look, quorum=Known(value=seen), memory=looks(seen))
    (stays,) = every(planned(look, SPEC), DeletePod)
    (goes,) = every(planned(with_the_claim(look, 3000, deleting=True), SPEC), DeletePod)
    assert (is_guarded(stays), is_guarded(goes)) == (False, True)
    unknown = Unreadable(kind="Claim", name="alpha-3002-g1", node_id=IDS[2], why="its size is no quantity")
    withheld = replace(with_the_claim(look, 3000, deleting=True), unreadable=(unknown,))
    assert every(without(planned(withheld, SPEC), withheld), DeletePod) == []


@pytest.mark.parametrize("how", ["corrected", "finished"])
def test_no_pod_that_does_not_run_is_replaced(how: str) -> None:
    """A pod in which Kafka does not run is kept, with its revision, if its disk would go."""
    look = with_pod(replace(alone(), revisions=(revision(), NEW)), 3000, container=BACK_OFF, gate="False")
    if how == "finished":
        look = with_pod(look, 3000, finished=True)
    look = replace(look, quorum=SILENT)
    spec = desired(replicas=1, runtime=LARGER)
    moved = replace(look, record=with_revision(running(1), NEW.name, IDS[:1]))
    assert every(planned(moved, spec), DeletePod) != []
    for one in (look, moved):
        going = planned(with_the_claim(one, 3000, deleting=True), spec)
        assert every(going, DeletePod) == []
        assert every(going, WriteRecord) == []
    assert not verdict(planned(with_the_claim(moved, 3000, deleting=True), spec), "3-replace-pod").allowed


def test_the_leader_of_a_pair_does_not_hand_over() -> None:
    """The leader of a pair does not restart to hand over if its disk would go with its pod."""
    look = with_the_claim(at_rest(running(2)), 3000, deleting=True)
    assert isinstance(look.quorum, Known)
    said = may_hand_over(
        situation(desired=desired(allow_interruption=True), observed=look), look.quorum.value, key(3000)
    )
    assert not said.allowed
    assert mentions(said.reason, "alpha-3000-g1")
    assert may_hand_over(
        situation(desired=desired(allow_interruption=True), observed=at_rest(running(2))), look.quorum.value, key(3000)
    ).allowed


def test_the_wait_names_the_way_out() -> None:
    """ClaimDeleting names the pod to keep and what to do, or reports that the pod may go."""
    said = wait(planned(with_the_claim(alone(), 3000, deleting=True), desired(replicas=1)), "ClaimDeleting").message
    assert mentions(said, 3000, "alpha-3000-g1", 0, 1, 3)
    free = wait(planned(with_the_claim(at_rest(), 3000, deleting=True)), "ClaimDeleting").message
    assert facts(free) == facts("alpha-3000-g1", 3000, "alpha-3000-g1")


def test_the_way_out_for_an_observer_follows_the_policy() -> None:
    """A disk that no voter needs is replaced only under `Automatic`; under `Manual` the wait names the field."""
    seen = view([key(3001), key(3002)], observers=[key(3000)])
    look = replace(with_the_claim(at_rest(), 3000, deleting=True), quorum=Known(value=seen), memory=looks(seen))
    by_hand = wait(planned(look, desired(replacement=manual())), "ClaimDeleting").message
    assert mentions(by_hand, "alpha-3000-g1", "spec.controllers.replacement.lostDisk")
    assert not mentions(wait(planned(look), "ClaimDeleting").message, "spec.controllers.replacement.lostDisk")


def test_a_lost_volume_under_a_running_kafka() -> None:
    """A claim that is lost or gone while Kafka runs is reported with the way out."""
    look = with_the_claim(alone(), 3000, volume_gone=True)
    said = wait(planned(look, desired(replicas=1)), "LostDisk").message
    assert mentions(said, "alpha-3000-g1", 3000, "spec.controllers.replicas")
    assert look.record is not None
    gone = without_claim(alone(), 3000)
    text = goes_with(
        situation(desired=desired(), observed=gone, record=running(1)), node(running(1), 3000), gone.pods[0]
    )
    assert facts(text) == facts(3000, 3000, "alpha-3000-g1", 0, 1, "spec.controllers.replicas", 3)
