"""A paused pool and the disruption token: given back if nothing is stopped, else kept and reported."""

from dataclasses import replace

from tests.brokers.looks import edited, look, planned, ran, without_pod
from tests.brokers.values import desired, record

from kafka_brokers.model.actions import GiveToken
from kafka_brokers.model.plan import Plan, Wait
from kafka_quorum.model.known import Known
from kit.token import Token

PAUSED = replace(desired(), paused=True)
OURS = Known(value=Token(holder="pool/payments", since="", resource_version="1"))


def pause(of: Plan) -> Wait:
    """What the status says of the pause."""
    (wait,) = (one for one in of.waits if one.reason == "Paused")
    return wait


def test_a_paused_pool_that_has_stopped_nothing_gives_the_token_back() -> None:
    """It was paused between two restarts: nothing else happens than that."""
    plan = planned(look(token=OURS), PAUSED)
    assert [type(one) for one in plan.actions] == [GiveToken]
    assert "disruption token" not in pause(plan).message


def test_a_pool_paused_in_the_middle_of_a_stop_keeps_the_token_and_says_so() -> None:
    """The broker is away: no other server may stop, and the condition names why."""
    of = edited(ran(record(), desired()), 1, stopped=True)
    plan = planned(without_pod(look(of, token=OURS), 1), PAUSED)
    assert plan.actions == ()
    said = pause(plan).message
    assert "in the middle of a stop of brokers 1" in said
    assert "no other server of quorum events restarts" in said


def test_a_pool_paused_while_an_empty_broker_leaves_keeps_it_too() -> None:
    """The last step of a broker that leaves is a stop as well."""
    of = edited(ran(record(), desired()), 2, leaving=True, empty=True)
    plan = planned(look(of, token=OURS), PAUSED)
    assert plan.actions == ()
    assert "brokers 2" in pause(plan).message


def test_a_paused_pool_without_the_token_does_nothing() -> None:
    """A pause stops every act."""
    assert planned(look(), PAUSED).actions == ()
