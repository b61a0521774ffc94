"""A record that lost a controller which its copies still have is a conflict, and no disk of ours is emptied."""

from dataclasses import replace

import pytest
from tests.golden.facts import mentions
from tests.model.values import IDS, OTHER_CLUSTER, at_rest, directory, mirrored, node, running, with_the_claim
from tests.plan.reading import degraded, only, planned, wait

from kafka_quorum.model.actions import AnnotateClaim
from kafka_quorum.model.identity import IdentityRecord, with_nodes, without_node
from kafka_quorum.model.observed import Observed, Stranger
from kafka_quorum.plan.guards.rule8_identity import may_mint
from kafka_quorum.plan.identity.forgotten import forgotten

WHOLE = running()
LOST = replace(WHOLE, nodes=WHOLE.nodes[:2])
"""An edited record: 3002 is missing, and was never removed."""


def copies(record: IdentityRecord, **changes: object) -> Observed:
    """This record, with the copies of the whole one."""
    return replace(at_rest(WHOLE), record=record, **changes)  # type: ignore[arg-type]  # the callers are below


@pytest.mark.parametrize(
    "look",
    [
        copies(LOST),
        copies(LOST, claims=at_rest().claims[:2]),
        copies(LOST, status=mirrored(LOST)),
        copies(with_nodes(LOST, [IDS[2]]), status=mirrored(LOST)),
        copies(with_nodes(LOST, [IDS[2]]), claims=at_rest().claims[:2]),
    ],
    ids=["both", "status only", "claim only", "claim, taken for new", "status, taken for new"],
)
def test_a_lost_controller_is_a_conflict(look: Observed) -> None:
    """Nothing is done, and the message names the controller and its directory id."""
    said = planned(look)
    assert said.actions == ()
    assert mentions(wait(said, "IdentityConflict").message, 3002, directory(3002))


@pytest.mark.parametrize("record", [without_node(WHOLE, IDS[2]), with_nodes(without_node(WHOLE, IDS[2]), [IDS[2]])])
def test_a_removed_controller_is_none(record: IdentityRecord) -> None:
    """A controller that the record retired is not lost: the copies only lag behind."""
    assert "IdentityConflict" not in degraded(planned(copies(record)))


def test_a_controller_with_another_directory_id_is_not_missing() -> None:
    """A controller of the record whose copies have another directory id differs from them, and is not forgotten."""
    other = replace(WHOLE, nodes=tuple(replace(of, directory_id=directory(of.node_id, 2)) for of in WHOLE.nodes))
    look = at_rest(WHOLE)
    assert list(forgotten(replace(look, claims=()), other)) == []
    assert list(forgotten(replace(look, status=mirrored(other)), other)) == []
    assert len(list(forgotten(replace(look, claims=()), LOST))) == 1


def test_another_clusters_claim_is_not_ours_to_miss() -> None:
    """A claim of another cluster is not reported as a lost controller."""
    look = with_the_claim(copies(LOST, status=mirrored(LOST)), 3002, cluster_id=OTHER_CLUSTER)
    assert directory(3002) not in wait(planned(look), "IdentityConflict").message


def test_strangers_are_told_and_left_alone() -> None:
    """Objects with our labels that are not ours are reported and left alone."""
    stranger = Stranger(kind="Pod", name="web-1", identified=False)
    said = planned(at_rest(strangers=(stranger,)))
    assert said.actions == ()
    assert mentions(wait(said, "ForeignObject").message, stranger.name)


def test_a_stranger_with_an_identity_is_a_trace() -> None:
    """A claim that was restored under another name with an identity prevents a new identity."""
    bare = Stranger(kind="PersistentVolumeClaim", name="restored", identified=False)
    look = replace(at_rest(), record=None, claims=(), pods=(), status=replace(mirrored(WHOLE), cluster_id=None))
    assert may_mint(replace(look, strangers=(bare,))).allowed
    assert not may_mint(replace(look, strangers=(replace(bare, identified=True),))).allowed


def test_lost_labels_are_repaired() -> None:
    """A claim of the record, by name and uid, gets its labels back; another claim with that name never does."""
    look = with_the_claim(at_rest(), 3001, labelled=False)
    assert only(planned(look), AnnotateClaim).claim.node_id == 3001
    other = with_the_claim(at_rest(), 3001, labelled=False, uid="another")
    assert planned(other).actions == ()


def test_a_claim_that_the_record_never_had_is_kept() -> None:
    """A claim with our name, but with a generation or node id that never existed, is neither marked nor deleted."""
    first = at_rest().claims[0]
    for name, number, generation in (("alpha-3000-g7", 3000, 7), ("alpha-3009-g1", 3009, 1)):
        extra = replace(
            first,
            name=name,
            uid="x",
            node_id=node(WHOLE, 3000).node_id.__class__(number),
            generation=generation,
            directory_id=None,
        )
        assert planned(at_rest(claims=(*at_rest().claims, extra))).actions == ()
