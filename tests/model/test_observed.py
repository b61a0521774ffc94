"""Questions that an Observed answers."""

from dataclasses import replace

import pytest
from tests.golden.facts import facts
from tests.model.values import IDS, at_rest, formatter, key, node, pod, running, started, view

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.pods import PodRole, Running, Terminated, Waiting
from kafka_quorum.model.quorum import Endpoint, FinalizedFeature, NodeVersions


@pytest.mark.parametrize(
    ("container", "runs"),
    [
        (Running(started_at=""), True),
        (Waiting(reason="", message="", last_exit=None), False),
        (Terminated(exit_code=0, reason="", message="", finished_at=""), False),
    ],
)
def test_running(container: Running | Waiting | Terminated, *, runs: bool) -> None:
    """A pod runs while its container does, also while it is being deleted."""
    assert pod(running(), node(running(), 3000), container=container, deleting=True).running is runs


def test_lookups() -> None:
    """Claims and revisions are found by name, pods by node id and role; a missing one is None."""
    record = started()
    look = at_rest(record, pods=(pod(record, node(record, 3000)), formatter(record, node(record, 3000))))
    assert [one.role for one in look.pods_of(IDS[0], PodRole.FORMATTER)] == [PodRole.FORMATTER]
    assert look.pods_of(IDS[1], PodRole.KAFKA) == ()
    found = look.claim("alpha-3001-g1")
    assert found is not None
    assert found.node_id == 3001
    assert look.claim("alpha-3001-g2") is None
    assert look.revision(None) is None


def test_voter_of() -> None:
    """The voter of a node id is found on any disk."""
    seen = view([key(3000), key(3001, 2)], [key(3002)])
    assert seen.voter_of(IDS[1]) == key(3001, 2)
    assert seen.voter_of(IDS[2]) is None
    assert seen.observers == {key(3002)}


def test_looks() -> None:
    """A replica that was never caught up has no looks."""
    memory = Memory(caught_up_looks=((key(3000), 2),))
    assert (memory.looks(key(3000)), memory.looks(key(3001))) == (2, 0)


def versions(epoch: int, level: int) -> Known[NodeVersions]:
    """A node's answer."""
    finalized = (FinalizedFeature(name="metadata.version", level=level),)
    return Known(value=NodeVersions(supported=(), finalized=finalized, finalized_epoch=epoch))


def test_finalized() -> None:
    """Only the leader's own report counts; without it the finalized levels are unknown."""
    leader, other, third = IDS
    silent = Unknown(reason="silent")
    look = at_rest(versions=((leader, versions(4, 20)), (other, versions(9, 27)), (third, silent)))
    assert look.finalized == (FinalizedFeature(name="metadata.version", level=20),)
    assert replace(look, quorum=silent).finalized == ()
    assert at_rest(versions=((leader, silent), (other, versions(9, 27)))).finalized == ()
    assert at_rest(versions=((leader, versions(-1, 20)),)).finalized == ()
    assert at_rest().finalized == ()


def test_finalized_anywhere() -> None:
    """The levels that an image may have to support: the leader's, and newer ones of others, but no older ones."""
    leader, other, third = IDS

    def levels(*said: tuple[NodeID, Known[NodeVersions]]) -> set[int]:
        return {each.level for each in at_rest(versions=said).finalized_anywhere}

    assert levels((leader, versions(4, 20)), (other, versions(9, 27)), (third, versions(3, 30))) == {20, 27}
    assert levels((other, versions(9, 27)), (third, versions(3, 30))) == {27, 30}
    assert levels((leader, versions(-1, 20)), (third, versions(3, 30))) == {30}


def test_endpoint_reads_well() -> None:
    """The text of an endpoint has node id and address."""
    assert facts(Endpoint(node_id=IDS[0], host="10.0.0.1", port=9093)) == facts(3000, "10.0.0.1:9093")
