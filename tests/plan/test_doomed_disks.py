"""Disks that go with their pods: no change of the voters makes one of them a disk that the quorum needs."""

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

GOING: tuple[dict[str, Any], ...] = ({"deleting": True}, {"lost": True}, {"uid": "another"})


def changed(look: Observed, spec: Desired) -> Part:
    """What the voters do next."""
    return membership(situation(desired=spec, observed=look))


def joining(replicas: int = 2, voters: int = 1) -> Observed:
    """So many controllers run and are caught up, and only the first of them vote."""
    keys = [key(3000 + index) for index in range(replicas)]
    seen = view(keys[:voters], keys[voters:])
    return replace(at_rest(running(replicas)), quorum=Known(value=seen), memory=looks(seen))


@pytest.mark.parametrize("change", GOING, ids=str)
def test_no_pair_with_a_disk_that_goes(change: dict[str, Any]) -> None:
    """From one voter to two the newcomer's disk must stay: the pair would end with it."""
    spec = desired(replicas=2)
    assert isinstance(changed(joining(), spec).exclusive, BeginOperation)
    said = changed(with_the_claim(joining(), 3001, **change), spec)
    assert said.exclusive is None
    assert mentions(verdict(said, "3-add-voter").reason, "alpha-3001-g1")


@pytest.mark.parametrize("gone", [True, False])
def test_no_pair_goes_on_with_a_disk_that_goes(*, gone: bool) -> None:
    """What is begun is not sent either, whether the claim is being deleted or is gone already."""
    begun = replace(joining(), status=replace(joining().status, open=operation(key(3001), VoterAddition)))
    assert isinstance(changed(begun, desired(replicas=2)).exclusive, AddRaftVoter)
    going = without_claim(begun, 3001) if gone else with_the_claim(begun, 3001, deleting=True)
    assert changed(going, desired(replicas=2)).exclusive is None


def test_more_voters_do_without_the_disk_of_a_newcomer() -> None:
    """Where the voters that there are carry the quorum, the newcomer joins all the same, and is replaced then."""
    look = with_the_claim(joining(4, 3), 3003, deleting=True)
    assert isinstance(changed(look, desired(replicas=4)).exclusive, BeginOperation)


def test_no_second_disk_that_goes() -> None:
    """Of four voters two may not be on disks that go: three without them carried the quorum."""
    look = with_the_claim(with_the_claim(joining(4, 3), 3003, deleting=True), 3001, deleting=True)
    assert changed(look, desired(replicas=4)).exclusive is None


def test_a_voter_on_a_disk_that_goes_is_joined() -> None:
    """The only voter's own disk goes: others join it, because that is the way out."""
    look = with_the_claim(joining(), 3000, deleting=True)
    assert isinstance(changed(look, desired(replicas=2)).exclusive, BeginOperation)


@pytest.mark.parametrize("change", GOING, ids=str)
@pytest.mark.parametrize(("replicas", "left"), [(2, 1), (3, 2), (3, 1)])
def test_nobody_leaves_a_voter_whose_disk_goes(replicas: int, left: int, change: dict[str, Any]) -> None:
    """A live voter stays while those without it are no majority on disks that stay: they could replace none."""
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
    """With a majority of those that stay on disks that stay, a voter leaves; and so does one whose own disk goes."""
    spec = desired(replicas=3)
    assert isinstance(changed(with_the_claim(at_rest(running(4)), 3000, deleting=True), spec).exclusive, BeginOperation)
    own = with_the_claim(at_rest(running(3)), 3002, deleting=True)
    assert isinstance(changed(own, desired(replicas=2)).exclusive, BeginOperation)


def test_a_dead_voter_leaves_all_the_same() -> None:
    """A dead voter is removed beside a disk that goes: it replaces nothing, and its vote is in the way."""
    seen = view([key(3000), key(3001), key(3002)], behind=[key(3002)])
    look = replace(at_rest(), quorum=Known(value=seen), memory=looks(seen))
    look = with_the_claim(look, 3000, deleting=True)
    assert isinstance(changed(look, desired(replicas=2)).exclusive, BeginOperation)
