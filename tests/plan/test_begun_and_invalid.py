"""When the spec becomes invalid during a voter change, the operator changes nothing that is not requested."""

from dataclasses import replace

from tests.golden.facts import facts
from tests.model.values import at_rest, desired, key, looks, operation, running, situation, view

from kafka_quorum.model.actions import FinishOperation
from kafka_quorum.model.known import Known
from kafka_quorum.model.operation import VoterAddition, VoterRemoval
from kafka_quorum.plan.voters.operation import membership


def test_an_addition_that_nobody_asks_for_does_not_go_on() -> None:
    """An addition ends without a request if the last accepted spec does not list its controller any more."""
    keys = [key(3000), key(3001), key(3002), key(3003)]
    seen = view(keys[:3], keys[3:])
    look = replace(at_rest(running(4)), quorum=Known(value=seen), memory=looks(seen))
    look = replace(look, status=replace(look.status, open=operation(keys[3], VoterAddition)))
    said = membership(situation(desired=desired(replicas=3), observed=look, repair_only=True)).exclusive
    assert isinstance(said, FinishOperation)
    assert (said.reason, facts(said.message)) == ("GivenUp", facts(keys[3]))


def test_a_removal_ends_with_the_true_reason() -> None:
    """A removal that ends because of an invalid spec does not report that its voter is requested again."""
    look = at_rest()
    look = replace(look, status=replace(look.status, open=operation(key(3002), VoterRemoval)))
    said = membership(situation(desired=desired(replicas=2), observed=look, repair_only=True)).exclusive
    assert isinstance(said, FinishOperation)
    back = membership(situation(desired=desired(replicas=3), observed=look)).exclusive
    assert isinstance(back, FinishOperation)
    assert (said.reason, back.reason) == ("GivenUp", "GivenUp")
    assert "the spec is not valid" in said.message
    assert "the spec is not valid" not in back.message
