"""What runs with an invalid spec or while paused; and what failed a moment ago keeps nothing else from going on."""

from dataclasses import replace

from tests.brokers.looks import edited, look, partition, planned, ran, revision_of, view
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.actions import AlterConfig, CreateClaim, CreatePod, ElectPreferred, GiveToken, WriteRecord
from kafka_brokers.model.observed import Unreadable
from kafka_brokers.plan.order import key_of
from kafka_quorum.model.known import Known
from kit.token import Token

OURS = Known(value=Token(holder="pool/payments", since="", resource_version="1"))
DYNAMIC = desired({"config": {"background.threads": "11"}})


def test_a_pool_at_rest_has_nothing_to_do() -> None:
    """No action, and nothing is waited for."""
    plan = planned(look())
    assert (plan.actions, plan.waits) == ((), ())


def test_a_paused_pool_does_nothing_and_says_so() -> None:
    """Not even a repair, whatever is missing."""
    paused = desired({"paused": True})
    plan = planned(look(ran(record(), paused), paused, pods=()), paused)
    assert not plan.actions
    assert plan.waits[0].reason == "Paused"


def test_nothing_is_done_while_an_object_cannot_be_read() -> None:
    """It could change any decision; the object is named."""
    plan = planned(look(pods=(), unreadable=(Unreadable(kind="Pod", name="x", why="no uid"),)))
    assert not plan.actions
    assert any(one.reason == "Unreadable" and "Pod x" in one.message for one in plan.waits)


def test_an_invalid_spec_repairs_lost_pods() -> None:
    """A pod that is gone is created again from the revision of its broker, and no setting is changed."""
    of = look(ran(record(), DYNAMIC), DYNAMIC, least=3)
    plan = planned(replace(of, pods=of.pods[1:]), DYNAMIC, repair_only=True)
    assert [type(one) for one in plan.actions if not isinstance(one, AlterConfig)] == [CreatePod]
    assert not any(isinstance(one, AlterConfig) for one in plan.actions)


def test_a_setting_that_is_refused_does_not_keep_the_token() -> None:
    """Kafka refuses a value of the spec again and again: the token is given back all the same."""
    of = look(ran(record(), DYNAMIC), DYNAMIC, token=OURS)
    first = planned(of, DYNAMIC)
    assert all(isinstance(one, AlterConfig) for one in first.actions)
    failed = frozenset(map(key_of, first.actions))
    (given,) = planned(of, DYNAMIC, failed=failed).actions
    assert isinstance(given, GiveToken)


def test_an_exclusive_act_that_fails_takes_turns_with_the_others() -> None:
    """Once it is left out for what follows it; with nothing else to do it is tried again at once."""
    rows = [partition("t-0", [1, 0, 2], [0, 1, 2], leader=0)]
    of = look(seen=view(rows))
    (elect,) = planned(of).actions
    assert isinstance(elect, ElectPreferred)
    assert planned(of, failed=frozenset({key_of(elect)})).actions == (elect,)


def test_a_claim_that_cannot_be_created_does_not_stop_a_roll() -> None:
    """Upkeep that failed a moment ago lets a change act; upkeep that may succeed comes first."""
    five = desired({"replicas": 3, "config": {"auto.create.topics.enable": "false"}})
    old = revision_of(desired())
    of = edited(ran(record(), desired()), 2, ran=False, revision=None)
    of = edited(of, 2, disks=(replace(broker(of, 2).disks[0], claim_uid=None, directory_id=None),))
    seen = look(of, five, old=(old,), token=OURS, least=1, seen=view([partition("t-0", [0, 1])], min_isr=1))
    rows = tuple(replace(one, revision=old.name) for one in seen.pods if one.node_id != 2)
    seen = replace(seen, pods=rows, claims=tuple(one for one in seen.claims if one.node_id != 2))
    first = planned(seen, five)
    assert [type(one) for one in first.actions] == [CreateClaim]
    (begun,) = planned(seen, five, failed=frozenset(map(key_of, first.actions))).actions
    assert isinstance(begun, WriteRecord)
