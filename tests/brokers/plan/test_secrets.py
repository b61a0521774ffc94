"""Brokers of controllers with TLS: none starts or stops while the Secret lacks what its next pod loads."""

from dataclasses import replace

import pytest
from tests.brokers.looks import NOW_S, changed_pod, look, planned, ran, revision_of, without_pod
from tests.brokers.plan.test_rolls import OURS
from tests.brokers.secured import SECRET, TRUST, mutual, with_users
from tests.brokers.values import desired, record

from kafka_brokers.model.actions import CreatePod, EvictPod, RecordChange, TakeToken, WriteRecord
from kafka_brokers.model.observed import Observed
from kafka_brokers.plan.facts import lacks_secret
from kafka_brokers.plan.guards.rule11_stops import may_stop
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown

OLD, NEW = desired(contract=mutual(1)), desired(contract=mutual(2))
FIRST = frozenset({"keystore-1.pem", TRUST})
BOTH = frozenset({"keystore-1.pem", "keystore-2.pem", TRUST})
Keys = Knowable[frozenset[str] | None]


def known(*keys: str) -> Keys:
    """A Secret with these keys."""
    return Known(value=frozenset(keys))


def at_rest(keys: Keys) -> Observed:
    """Every broker runs from its spec; the Secret is so."""
    return replace(look(desired=OLD), secrets=((SECRET, keys),))


def outdated(keys: Keys) -> Observed:
    """Every broker runs with the first certificates, the contract has the second ones, and the pool has the token."""
    of = look(ran(record(), OLD), NEW, old=(revision_of(OLD),), token=OURS)
    for node_id in range(3):
        of = changed_pod(of, node_id, revision=revision_of(OLD).name)
    return replace(of, secrets=((SECRET, keys),))


LACKING: dict[str, tuple[Keys, str]] = {
    "unknown": (Unknown(reason="forbidden"), "cannot be read (forbidden)"),
    "absent": (Known(value=None), "does not exist"),
    "empty": (known(), "has no keystore-2.pem, trust-0123456789abcdef.pem yet"),
    "earlier": (Known(value=FIRST), "has no keystore-2.pem yet"),
}


@pytest.mark.parametrize("name", LACKING)
def test_what_is_lacking(name: str) -> None:
    """Unknown is not there, and neither is a Secret without one of the files; the clause names it."""
    keys, words = LACKING[name]
    assert words in lacks_secret(replace(at_rest(keys)), NEW.runtime)
    assert SECRET in lacks_secret(replace(at_rest(keys)), NEW.runtime)


def test_what_is_not_lacking() -> None:
    """A Secret with every file is enough, and a contract without files needs none."""
    assert lacks_secret(at_rest(Known(value=BOTH)), NEW.runtime) == ""
    assert lacks_secret(at_rest(Unknown(reason="forbidden")), desired().runtime) == ""


def test_a_user_needs_its_lines() -> None:
    """Without the lines that have the password a broker with a user does not start."""
    runtime = desired(contract=with_users()).runtime
    assert "sasl.properties" in lacks_secret(at_rest(known(TRUST)), runtime)
    assert lacks_secret(at_rest(known(TRUST, "sasl.properties")), runtime) == ""


def test_a_broker_does_not_start_without_its_files() -> None:
    """Its pod is created as soon as they are there, and not before."""
    waiting = planned(without_pod(at_rest(known(TRUST)), 1), OLD)
    assert not any(isinstance(one, CreatePod) for one in waiting.actions)
    (wait,) = (one for one in waiting.waits if one.reason == "WaitingForSecret")
    assert "broker 1" in wait.message
    assert "keystore-1.pem" in wait.message
    created = planned(without_pod(at_rest(Known(value=FIRST)), 1), OLD).actions
    assert [one.node_id for one in created if isinstance(one, CreatePod)] == [1]


@pytest.mark.parametrize("name", LACKING)
def test_no_broker_restarts_for_files_that_are_not_there(name: str) -> None:
    """Another file is an ordinary roll, which begins when the Secret has it: a stopped broker would not come back."""
    waiting = planned(outdated(LACKING[name][0]), NEW)
    assert not any(isinstance(one, EvictPod | TakeToken) for one in waiting.actions)
    assert not any(isinstance(one, WriteRecord) for one in waiting.actions)
    assert LACKING[name][1] in next(one.message for one in waiting.waits if one.reason == "WaitingForSecret")
    (begun,) = planned(outdated(Known(value=BOTH)), NEW).actions
    assert isinstance(begun, WriteRecord)
    assert begun.change is RecordChange.STOP_BEGUN


@pytest.mark.parametrize("name", LACKING)
def test_the_guard_refuses_the_stop(name: str) -> None:
    """The guard asks, too: a stop that was noted before is called off when the Secret has gone."""
    batch = (NodeID(0),)
    assert may_stop(NEW, outdated(Known(value=BOTH)), batch, NOW_S).allowed
    refused = may_stop(NEW, outdated(LACKING[name][0]), batch, NOW_S)
    assert not refused.allowed
    assert LACKING[name][1] in refused.reason


@pytest.mark.parametrize(("end_s", "stops"), [(NOW_S + 60, True), (NOW_S, False)])
def test_no_broker_restarts_with_a_certificate_that_has_ended(end_s: float, *, stops: bool) -> None:
    """Its connection outlives its certificate: it would not come back. The guard refuses it, and the plan says why."""
    ends = replace(mutual(2), certificate_ends=((1, int(NOW_S) - 60), (2, int(end_s))))
    of = replace(outdated(Known(value=BOTH)), contract=Known(value=ends))
    assert may_stop(NEW, of, (NodeID(0),), NOW_S).allowed is stops
    found = planned(of, NEW)
    assert any(isinstance(one, WriteRecord) for one in found.actions) is stops
    assert any("has ended" in one.message for one in found.waits) is not stops
    given = replace(of, certificate_ends=(("keystore-2.pem", int(end_s)),))
    assert may_stop(NEW, given, (NodeID(0),), NOW_S).allowed is stops


def test_a_broker_that_ended_starts_again_with_the_files_that_there_are() -> None:
    """A broker whose pod is gone keeps its revision while the Secret lacks the files of the present one."""
    gone = without_pod(outdated(Known(value=FIRST)), 2)
    created = [one for one in planned(gone, NEW).actions if isinstance(one, CreatePod)]
    assert [(one.node_id, one.revision.name) for one in created] == [(2, revision_of(OLD).name)]
    moved = planned(without_pod(outdated(Known(value=BOTH)), 2), NEW).actions
    assert [one.change for one in moved if isinstance(one, WriteRecord)] == [RecordChange.REVISION]


OUTSIDE = {
    "listeners": [
        {"name": "TLS", "port": 9093, "protocol": "SSL", "external": "NodePort", "host": "B-{id}.example.org"},
    ]
}
OWN = "events-brokers-tls.payments"


def test_a_broker_waits_for_a_certificate_for_its_host() -> None:
    """A broker loads its certificate when it starts: not before the file that it uses has its host; others start."""
    by = desired(OUTSIDE, mutual(1))
    of = replace(look(desired=by), secrets=((OWN, Known(value=FIRST)),))
    known_names = frozenset({"b-0.example.org", "b-1.example.org"})
    seen = replace(of, certified=(("keystore-1.pem", known_names), ("keystore-2.pem", frozenset({"b-2.example.org"}))))
    assert lacks_secret(seen, by.runtime, (NodeID(0), NodeID(1))) == ""
    told = lacks_secret(seen, by.runtime, (NodeID(2),))
    assert told.startswith(f"Secret {OWN} has no certificate for b-2.example.org yet")
    wild = replace(of, certified=(("keystore-1.pem", frozenset({"*.example.org"})),))
    assert lacks_secret(wild, by.runtime, (NodeID(2),)) == ""
    plan = planned(without_pod(without_pod(seen, 2), 1), by)
    assert [action.node_id for action in plan.actions if isinstance(action, CreatePod)] == [1]
    assert any("Waiting to start broker 2" in wait.message for wait in plan.waits)
