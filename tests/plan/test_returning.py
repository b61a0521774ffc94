"""A node id that was removed and is requested again has a new disk, and has not lost one."""

from dataclasses import replace

import pytest
from tests.model.values import SILENT, at_rest, desired, directory, key, running, view
from tests.plan.reading import planned, reasons

from kafka_quorum.model.identity import FormerNode, with_disk_lost, with_nodes, without_node
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed

BACK = NodeID(3002)
VOTERS = (key(3000), key(3001))


def returning() -> Observed:
    """Controller 3002 was removed, and has just been added to the record again."""
    without = without_node(running(), BACK)
    former = FormerNode(node_id=BACK, generation=1, retired=(directory(BACK),))
    record = with_nodes(replace(without, former=(former,)), [BACK])
    return at_rest(record, quorum=Known(value=view(VOTERS)))


def test_known_id_that_comes_back_is_no_lost_disk() -> None:
    """An old disk that is retired and no voter is not reported as lost."""
    look = returning()
    assert "LostDisk" not in reasons(planned(look, desired()))
    remembered = replace(look.memory, committed_voters=frozenset(VOTERS))
    assert "LostDisk" not in reasons(planned(replace(look, quorum=SILENT, memory=remembered), desired()))


@pytest.mark.parametrize("known", [True, False])
def test_voter_that_lost_its_disk_is_one(*, known: bool) -> None:
    """A retired disk that may still be a voter counts as lost, by the last known voters or if none are known."""
    record = with_disk_lost(running(), BACK, new_claim=True)
    seen = view((*VOTERS, key(3002)))
    look = at_rest(record, quorum=SILENT)
    remembered = replace(look.memory, committed_voters=seen.voters if known else None)
    assert "LostDisk" in reasons(planned(replace(look, memory=remembered), desired()))


@pytest.mark.parametrize("votes", [True, False], ids=["not removed yet", "removal not committed"])
def test_voter_that_lost_its_disk_is_one_until_its_removal_is_committed(*, votes: bool) -> None:
    """A retired disk counts as lost while it is a voter, and until the voter set without it is committed."""
    record = with_disk_lost(running(), BACK, new_claim=True)
    lost = (*VOTERS, key(3002))
    seen = replace(view(lost if votes else VOTERS), committed_voters=frozenset(VOTERS if votes else lost))
    assert "LostDisk" in reasons(planned(at_rest(record, quorum=Known(value=seen)), desired()))
    gone = replace(view(VOTERS), committed_voters=frozenset(VOTERS))
    assert "LostDisk" not in reasons(planned(at_rest(record, quorum=Known(value=gone)), desired()))
