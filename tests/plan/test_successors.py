"""The successor of a voter that is not requested: it is waited for only if too few voters would stay."""

from dataclasses import replace

import pytest
from tests.model.values import at_rest, desired, key, looks, running, situation, view

from kafka_quorum.model.actions import BeginOperation
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.operation import VoterRemoval
from kafka_quorum.plan.voters.operation import membership


@pytest.mark.parametrize(("voters", "removed"), [(4, True), (3, False)], ids=["as many as requested", "fewer"])
def test_a_dead_voter_leaves_without_a_successor(voters: int, *, removed: bool) -> None:
    """A dead voter is removed if as many voters as requested stay, even if a requested controller is no voter yet."""
    keys = [key(3000), key(3001), key(3003), key(3004)]
    dead, joins = keys[voters - 1], key(3002)
    seen = view(keys[:voters], [joins], behind=[dead, joins])
    look = replace(at_rest(running(5)), quorum=Known(value=seen), memory=looks(seen))
    spec = desired(node_ids=(NodeID(3000), NodeID(3001), NodeID(3002)))
    begin = membership(situation(desired=spec, observed=look)).exclusive
    assert (isinstance(begin, BeginOperation) and begin.change == VoterRemoval(target=dead)) is removed
