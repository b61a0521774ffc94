"""Rounds of a storm are repeated by their seed, and never exceed what a quorum tolerates."""

from itertools import islice

import pytest

from storm.rounds import FINAL, NODE_IDS, NODES, Kind, Round, rounds

_ROUNDS = 400


def drawn(seed: int, *kinds: Kind) -> list[Round]:
    """The first rounds of a storm."""
    return list(islice(rounds(seed, kinds or tuple(Kind)), _ROUNDS))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_seed_repeats_its_rounds(seed: int) -> None:
    """The same seed draws the same blows at the same times, and another seed draws others."""
    assert drawn(seed) == drawn(seed)
    assert drawn(seed) != drawn(seed + 1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_majority_of_the_fewest_voters_keeps_its_disks(seed: int) -> None:
    """In no round are more disks finally lost than the smallest voter set of that round tolerates."""
    before = 3
    for row in drawn(seed):
        least = min([before, *(blow.replicas or len(blow.node_ids) or before for blow in row.blows)])
        assert sum(blow.kind in FINAL for blow in row.blows) <= (least - 1) // 2, row
        before = row.replicas


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_kind_of_blow_is_struck(seed: int) -> None:
    """A long storm has each kind of blow, and no round is empty."""
    found = drawn(seed)
    assert {blow.kind for row in found for blow in row.blows} == set(Kind)
    assert all(row.blows for row in found)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_round_takes_one_kubernetes_node_at_most(seed: int) -> None:
    """In one round at most one Kubernetes node of three workers fails."""
    assert all(sum(blow.kind in NODES for blow in row.blows) <= 1 for row in drawn(seed))


def test_only_the_chosen_kinds_are_struck() -> None:
    """A storm of chosen kinds has no other; without any kind it is refused."""
    assert {blow.kind for row in drawn(1, Kind.WIPE, Kind.POD) for blow in row.blows} == {Kind.WIPE, Kind.POD}
    with pytest.raises(ValueError, match="at least one kind"):
        next(rounds(1, ()))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_round_knows_how_many_controllers_it_leaves(seed: int) -> None:
    """The expected number of controllers after a round is that of its last change."""
    before = 3
    for row in drawn(seed):
        asked = [blow.replicas or len(blow.node_ids) for blow in row.blows if blow.replicas or blow.node_ids]
        assert row.found == before
        assert row.replicas == (asked[-1] if asked else before)
        before = row.replicas


def test_node_ids_are_ones_at_which_the_writer_looks() -> None:
    """Brokers find the quorum at any of the ids that a storm requests."""
    assert {number for row in drawn(1) for blow in row.blows for number in blow.node_ids} <= set(NODE_IDS)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_blow_that_lasts_ends_before_its_node_is_given_up(seed: int) -> None:
    """A node that loses its power for a time is back before it counts as lost."""
    held = [blow.hold_s for row in drawn(seed) for blow in row.blows]
    assert 0 < max(held) < 45
