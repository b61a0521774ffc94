"""Disks that go with their pods: no voter change makes the quorum depend on such a disk."""

from dataclasses import replace
from typing import Any

import pytest
from tests.golden.facts import mentions
from tests.model.values import (
    at_rest,
    desired,
    key,
    looks,
    operation,
    running,
    situation,
    view,
    with_the_claim,
    without_claim,
)
from tests.plan.reading import verdict

from kafka_quorum.model.actions import AddRaftVoter, BeginOperation, RemoveRaftVoter
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.operation import VoterAddition, VoterRemoval
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.voters.operation import membership

GOING: tuple[dict[str, Any], ...] = ({"deleting": True}, {"volume_gone": True}, {"uid": "another"})


def changed(look: Observed, spec: Desired) -> Part:
    """What the voters' concern plans next."""
    return membership(situation(desired=spec, observed=look))


def joining(replicas: int = 2, voters: int = 1) -> Observed:
    """This many controllers run and are caught up, and only the first of them are voters."""
    keys = [key(3000 + index) for index in range(replicas)]
    seen = view(keys[:voters], keys[voters:])
    return replace(at_rest(running(replicas)), quorum=Known(value=seen), memory=looks(seen))


@pytest.mark.parametrize("change", GOING, ids=str)
def test_no_pair_with_a_disk_that_goes(change: dict[str, Any]) -> None:
    """One voter does not become two if the newcomer's disk goes: the pair would lose its majority."""
    spec = desired(replicas=2)
    assert isinstance(changed(joining(), spec).exclusive, BeginOperation)
    said = changed(with_the_claim(joining(), 3001, **change), spec)
    assert said.exclusive is None
    assert mentions(verdict(said, "3-add-voter").reason, "alpha-3001-g1")


@pytest.mark.parametrize("gone", [True, False])
def test_no_pair_goes_on_with_a_disk_that_goes(*, gone: bool) -> None:
    """An addition that was begun is not sent either, whether the claim is being deleted or already gone."""
    begun = replace(joining(), status=replace(joining().status, open=operation(key(3001), VoterAddition)))
    assert isinstance(changed(begun, desired(replicas=2)).exclusive, AddRaftVoter)
    going = without_claim(begun, 3001) if gone else with_the_claim(begun, 3001, deleting=True)
    assert changed(going, desired(replicas=2)).exclusive is None


def test_more_voters_do_without_the_disk_of_a_newcomer() -> None:
    """If the present voters are enough without it, a newcomer on a disk that goes still becomes a voter."""
    look = with_the_claim(joining(4, 3), 3003, deleting=True)
    assert isinstance(changed(look, desired(replicas=4)).exclusive, BeginOperation)


def test_no_second_disk_that_goes() -> None:
    """Of four voters two may not be on disks that go: three voters would be a majority without them."""
    look = with_the_claim(with_the_claim(joining(4, 3), 3003, deleting=True), 3001, deleting=True)
    assert changed(look, desired(replicas=4)).exclusive is None


def test_a_voter_on_a_disk_that_goes_is_joined() -> None:
    """The only voter's own disk goes: another controller is added, because that is the way out."""
    look = with_the_claim(joining(), 3000, deleting=True)
    assert isinstance(changed(look, desired(replicas=2)).exclusive, BeginOperation)


@pytest.mark.parametrize("change", GOING, ids=str)
@pytest.mark.parametrize(("replicas", "left"), [(2, 1), (3, 2), (3, 1)])
def test_nobody_leaves_a_voter_whose_disk_goes(replicas: int, left: int, change: dict[str, Any]) -> None:
    """A live voter stays while the remaining voters have no majority on disks that stay."""
    look, spec = at_rest(running(replicas)), desired(replicas=left, allow_interruption=True)
    assert isinstance(changed(look, spec).exclusive, BeginOperation)
    said = changed(with_the_claim(look, 3000, **change), spec)
    assert said.exclusive is None
    assert mentions(verdict(said, "3-remove-voter").reason, 3000)
    target = key(3000 + replicas - 1)
    begun = replace(look, status=replace(look.status, open=operation(target, VoterRemoval)))
    assert isinstance(changed(begun, spec).exclusive, RemoveRaftVoter) or replicas == 2
    assert changed(with_the_claim(begun, 3000, **change), spec).exclusive is None


def test_a_voter_leaves_a_majority_on_disks_that_stay() -> None:
    """A voter is removed if the remaining voters have a majority on disks that stay, or if its own disk goes."""
    spec = desired(replicas=3)
    assert isinstance(changed(with_the_claim(at_rest(running(4)), 3000, deleting=True), spec).exclusive, BeginOperation)
    own = with_the_claim(at_rest(running(3)), 3002, deleting=True)
    assert isinstance(changed(own, desired(replicas=2)).exclusive, BeginOperation)


def test_a_dead_voter_leaves_all_the_same() -> None:
    """A dead voter is removed even if another disk goes with its pod: it only counts against the majority."""
    seen = view([key(3000), key(3001), key(3002)], behind=[key(3002)])
    look = replace(at_rest(), quorum=Known(value=seen), memory=looks(seen))
    look = with_the_claim(look, 3000, deleting=True)
    assert isinstance(changed(look, desired(replicas=2)).exclusive, BeginOperation)
