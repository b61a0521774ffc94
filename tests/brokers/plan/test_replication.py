"""Whether REPLICATION of a new pool has TLS: only if it is known that nobody of the cluster replicates without it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.looks import claim, leader, look, planned, pod
from tests.brokers.secured import mutual, with_users
from tests.brokers.values import CONTRACT, NAMESPACE, QUORUM, broker, desired, record, resource, revision

from kafka_brokers.api.validation import Present, validate
from kafka_brokers.model.actions import WriteRecord
from kafka_brokers.model.observed import Observed
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.replication import lacking_users, replication_tls
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.zookeeper import ZooKeeperAccess

NEW = look(record=None, claims=(), pods=(), record_owner_uid=None)
ALONE = replace(NEW, leader=Known(value=replace(leader(), observers=frozenset())))
RAN = replace(ALONE, claims=(claim(broker(record())),), revisions=())
UNKNOWN = Unknown(reason="nobody answers")
OTHERS = frozenset({NodeID(0)})
BOTH = f"User:CN=brokers,OU={QUORUM},O={NAMESPACE};User:CN=operator,OU={QUORUM},O={NAMESPACE}"


def chosen(of: Observed, contract: Contract = mutual(), *, rebuilt: bool = False, **spec: Any) -> bool | str:  # noqa: ANN401, B008
    """The choice, or why there is none."""
    found = replication_tls(desired(spec or None), of, contract, rebuilt=rebuilt)
    return found.value if isinstance(found, Known) else found.reason


@pytest.mark.parametrize(
    ("of", "contract", "tls"),
    [
        (ALONE, mutual(), True),
        (ALONE, with_users(certificates=1), True),
        (ALONE, CONTRACT, False),
        (ALONE, with_users(), False),
        (ALONE, replace(mutual(), zookeeper=ZooKeeperAccess(connect="z:2181")), False),
        (replace(NEW, leader=UNKNOWN), replace(mutual(), young=True), True),
        (replace(ALONE, leader=Known(value=replace(leader(), observers=OTHERS))), replace(mutual(), young=True), False),
        (replace(ALONE, leader=Known(value=replace(leader(), observers=OTHERS))), mutual(), False),
        (replace(ALONE, others_tls=Known(value=frozenset({True}))), mutual(), True),
        (replace(ALONE, others_tls=Known(value=frozenset({False}))), mutual(), False),
        (replace(ALONE, others_tls=Known(value=frozenset({True, False}))), mutual(), False),
        (replace(ALONE, others_tls=UNKNOWN), CONTRACT, False),
    ],
)
def test_the_choice_at_birth(of: Observed, contract: Contract, tls: bool) -> None:  # noqa: FBT001
    """TLS with certificates, no broker of others, and no pool without it; a controller or a pool's id is no other."""
    assert chosen(of, contract) is tls


def test_brokers_of_other_pools_are_no_strangers() -> None:
    """Observers whose ids are recorded for pools, or are controllers, are not brokers of others."""
    seen = replace(ALONE, leader=Known(value=replace(leader(), observers=frozenset({NodeID(7), NodeID(3000)}))))
    assert chosen(replace(seen, taken_ids=((NodeID(7), "other"),))) is True
    assert chosen(seen) is False


def test_unknown_is_not_none() -> None:
    """Without the leader, or with a record that cannot be read, the pool waits and says why."""
    assert "nobody answers" in str(chosen(replace(NEW, leader=UNKNOWN)))
    waiting = replace(NEW, contract=Known(value=mutual()), leader=UNKNOWN)
    plan = planned(waiting, desired(contract=mutual()))
    assert plan.actions == ()
    assert [wait.reason for wait in plan.waits] == ["WaitingForQuorum"]
    assert "whether the brokers of quorum events replicate with TLS" in plan.waits[0].message
    assert chosen(replace(ALONE, others_tls=UNKNOWN)) == "nobody answers"


def test_no_certificates_beside_pools_with_tls() -> None:
    """A pool that could not replicate with the others waits."""
    assert "give them one again" in str(chosen(replace(ALONE, others_tls=Known(value=frozenset({True}))), CONTRACT))


USERS = ("User:CN=b,O=others", "User:CN=o,O=others")
GIVEN = replace(mutual(), given=True, principals=USERS)


def test_a_pool_with_a_given_certificate() -> None:
    """Where a person gives the certificates, a pool has TLS if its spec names its Secret."""
    assert chosen(ALONE, GIVEN, certificateSecretName="own") is True
    assert chosen(ALONE, GIVEN) is False
    beside = replace(ALONE, others_tls=Known(value=frozenset({True})))
    assert "spec.certificateSecretName" in str(chosen(beside, GIVEN))


def test_the_users_of_given_certificates_are_waited_for() -> None:
    """Until the quorum has published them, nothing is decided for good, with a Secret or without one."""
    unknown = replace(GIVEN, principals=())
    assert "not published yet" in str(chosen(ALONE, unknown))
    assert "not published yet" in str(chosen(ALONE, unknown, certificateSecretName="own"))


def test_super_users_of_given_certificates() -> None:
    """They are those of the certificates, not those that the operator would give."""
    config = {"authorizer.class.name": "x", "super.users": BOTH}
    by = replace(desired(None, GIVEN), certificate_secret="own")  # noqa: S106 - a name
    by = replace(by, runtime=replace(by.runtime, config=tuple(config.items())))
    assert "User:CN=o,O=others" in lacking_users(by, GIVEN, replication_tls=True)
    good = replace(by, runtime=replace(by.runtime, config=tuple((config | {"super.users": ";".join(USERS)}).items())))
    assert lacking_users(good, GIVEN, replication_tls=True) == ""


def test_an_adopting_pool_keeps_plaintext() -> None:
    """Its brokers exist, and replicate without TLS."""
    assert chosen(ALONE, adopt=True) is False


def test_a_rebuilt_record_has_what_its_brokers_were_made_with() -> None:
    """The revisions say it, and the pods; if none of them has TLS it is PLAINTEXT."""
    made = revision(replace(desired(contract=mutual()).runtime, replication_tls=True))
    assert chosen(replace(RAN, revisions=(made,)), rebuilt=True) is True
    assert chosen(replace(RAN, revisions=(revision(),)), rebuilt=True) is False
    running = pod(broker(record()))
    assert chosen(replace(RAN, pods=(running,)), rebuilt=True) is False
    secure = replace(running, replication_tls=True)
    assert chosen(replace(RAN, pods=(secure,)), rebuilt=True) is True
    assert chosen(replace(RAN, pods=(secure,), revisions=(revision(),)), rebuilt=True) is True
    lost = replace(RAN, contract=Known(value=mutual()), revisions=(made,))
    (action,) = planned(lost, desired(contract=mutual())).actions
    assert isinstance(action, WriteRecord)
    assert action.record.replication_tls


def test_without_revisions_and_pods_nothing_is_guessed() -> None:
    """Brokers that were made with TLS must not come back without it: the pool waits, unless TLS was never possible."""
    assert "neither revisions nor pods" in str(chosen(RAN, rebuilt=True))
    formatter = replace(pod(broker(record())), formats=True)
    assert "neither revisions nor pods" in str(chosen(replace(RAN, pods=(formatter,)), rebuilt=True))
    others = replace(RAN, others_tls=Known(value=frozenset({True})))
    assert chosen(others, rebuilt=True) is True
    assert chosen(replace(others, others_tls=Known(value=frozenset({False}))), rebuilt=True) is False
    assert "neither revisions nor pods" in str(
        chosen(replace(others, others_tls=Known(value=frozenset({True, False}))), rebuilt=True)
    )
    assert chosen(RAN, CONTRACT, rebuilt=True) is False
    assert "neither" in str(chosen(others, CONTRACT, rebuilt=True))
    never = replace(RAN, claims=tuple(replace(one, directory_id=None) for one in RAN.claims))
    assert chosen(never, rebuilt=True) is True
    lost = replace(RAN, contract=Known(value=mutual()))
    plan = planned(lost, desired(contract=mutual()))
    assert plan.actions == ()
    assert "Restore" in plan.waits[0].message


def test_a_name_that_left_the_spec_is_no_proof() -> None:
    """With given certificates, brokers may have had TLS with a Secret that the spec does not name any more."""
    assert "neither revisions nor pods" in str(chosen(RAN, GIVEN, rebuilt=True))
    assert "not published yet" in str(chosen(RAN, replace(GIVEN, principals=()), rebuilt=True))
    others = replace(RAN, others_tls=Known(value=frozenset({True})))
    assert "neither revisions nor pods" in str(chosen(others, GIVEN, rebuilt=True))
    assert chosen(others, GIVEN, rebuilt=True, certificateSecretName="own") is True
    made = revision(replace(desired(contract=mutual()).runtime, replication_tls=True))
    assert chosen(replace(RAN, revisions=(made,)), replace(GIVEN, principals=()), rebuilt=True) is True


def test_the_choice_is_recorded() -> None:
    """The first record of the pool has it."""
    (action,) = planned(replace(ALONE, contract=Known(value=mutual())), desired(contract=mutual())).actions
    assert isinstance(action, WriteRecord)
    assert action.record.replication_tls


@pytest.mark.parametrize(
    ("users", "contract", "word"), [(BOTH, CONTRACT, "ANONYMOUS"), ("User:ANONYMOUS", mutual(), "CN=operator")]
)
def test_no_pool_begins_whose_topics_the_operator_does_not_see(users: str, contract: Contract, word: str) -> None:
    """With an authorizer and the super users of the other choice nothing is recorded: the wait names those it needs."""
    config = {"authorizer.class.name": "org.example.Authorizer", "super.users": users}
    found = validate(resource({"config": config}), contract, present=Present(replication_tls=None))
    assert isinstance(found, PoolDesired)
    done = planned(replace(ALONE, contract=Known(value=contract)), found)
    assert not any(isinstance(one, WriteRecord) for one in done.actions)
    (wait,) = (one for one in done.waits if one.reason == "WaitingForUsers")
    assert word in wait.message
