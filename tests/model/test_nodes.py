"""Which nodes are wanted, what they are made from, which voters are stale."""

from dataclasses import replace

import pytest
from tests.model.values import (
    IDS,
    at_rest,
    bound,
    desired,
    directory,
    key,
    minted,
    node,
    revision,
    running,
    runtime,
    started,
    view,
)

from kafka_quorum.model.desired import BootstrapMode
from kafka_quorum.model.identity import BootstrapPhase, with_disk_lost, with_nodes, with_report, with_revision
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.nodes import (
    all_initial_formatted,
    initial_node_ids,
    initial_nodes,
    revision_of,
    stale_voters,
    wanted_node_ids,
)


def ids(*numbers: int) -> tuple[NodeID, ...]:
    """Node ids."""
    return tuple(NodeID(number) for number in numbers)


@pytest.mark.parametrize(
    ("present", "replicas", "exact", "wanted"),
    [
        ((), 3, (), (3000, 3001, 3002)),
        ((3000, 3001, 3002), 3, (), (3000, 3001, 3002)),
        ((3000, 3002), 3, (), (3000, 3001, 3002)),
        ((3000, 3001, 3002), 5, (), (3000, 3001, 3002, 3003, 3004)),
        ((3000, 3001, 3002), 1, (), (3000,)),
        ((1, 2, 3), 4, (), (1, 2, 3, 3000)),
        ((3000, 3001, 3002), 3, (5, 3, 4), (3, 4, 5)),
        ((), 3, (9, 7, 8), (7, 8, 9)),
    ],
    ids=["first", "same", "gap", "grow", "shrink", "other ids", "exact set", "exact first"],
)
def test_wanted(present: tuple[int, ...], replicas: int, exact: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Lowest free ids are added, highest removed; an exact set decides alone."""
    record = replace(with_nodes(replace(minted(), nodes=()), ids(*present)), initial=()) if present else None
    assert wanted_node_ids(desired(replicas=replicas, node_ids=ids(*exact)), record) == wanted


def test_initial_node_ids() -> None:
    """By initial controllers all are first voters; standalone the lowest alone."""
    assert initial_node_ids(desired(), IDS) == IDS
    assert initial_node_ids(desired(bootstrap=BootstrapMode.STANDALONE), IDS) == IDS[:1]


def test_initial_nodes_survive_a_lost_disk() -> None:
    """A first voter's node stays one, whatever became of its disk."""
    record = with_disk_lost(running(), IDS[1], new_claim=True)
    assert [of.node_id for of in initial_nodes(record)] == list(IDS)


def test_all_initial_formatted() -> None:
    """No initial format is left when every first voter is formatted, or behind the barrier."""
    assert not all_initial_formatted(with_report(bound(), IDS[0], directory(3000)))
    assert all_initial_formatted(replace(started(), phase=BootstrapPhase.FORMATTING))
    assert all_initial_formatted(with_disk_lost(running(), IDS[1], new_claim=True))


def test_revision_of() -> None:
    """A node's own revision decides, else the fleet's; a missing own one falls back to the fleet's."""
    newer = revision(runtime(heap="1Gi"), number=2)
    record = with_revision(running(), newer.name, [IDS[1]])
    both = at_rest(record, revisions=(revision(), newer))
    assert revision_of(both, record, node(record, 3001)) == newer
    assert revision_of(both, record, node(record, 3000)) == revision()
    assert revision_of(at_rest(record), record, node(record, 3001)) == revision()
    assert revision_of(at_rest(record, revisions=()), record, node(record, 3001)) is None


def test_stale_voters() -> None:
    """A voter of another disk, or of no controller of ours, is stale."""
    record = with_report(with_disk_lost(running(), IDS[1], new_claim=False), IDS[1], directory(3001, 2))
    assert stale_voters(record, view([key(3000), key(3001), key(3002), key(7)])) == (key(3001), key(7))
    assert stale_voters(running(), view([key(node_id) for node_id in IDS])) == ()
