"""The preflight of a migration from ZooKeeper: every blocker is found, named with its value, and has a way out."""

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.golden.facts import mentions
from tests.model.values import NO_STATUS, nothing, runtime, situation
from tests.plan.beside import (
    BESIDE,
    BROKERS,
    COPIED,
    EMPTY,
    KRAFT_LEADS,
    STARTS,
    confirming,
    contract_of,
    follows,
    judged,
    keeper_of,
    look_at,
    new_record,
    seen,
    wanted,
    with_broker,
    with_keeper,
)
from tests.plan.reading import every, only, planned, wait
from tests.plan.source import OPERATOR, document

from kafka_quorum.model.actions import MintIdentity
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Blocker, Severity
from kafka_quorum.model.zookeeper import EpochNode, MigrationNode
from kafka_quorum.plan.facts.preflight import ACL, STANDARD, blockers, listed, why_not_beside, why_preflight

BEFORE = look_at(STARTS)
"""Everything in order, as the first stage finds it."""
OTHER = ClusterID("AAAACAAAAAgAAAAIAAAACA")


def fresh(**changes: Any) -> Observed:  # noqa: ANN401 - whatever the field holds
    """The same before there is an identity: ZooKeeper with a controller of its own, and no /migration."""
    look = with_keeper(BEFORE, migration=None, **changes)
    return replace(look, record=None, status=NO_STATUS, claims=(), pods=(), support=())


def found(look: Observed, spec: Desired | None = None, record: IdentityRecord | None = None) -> tuple[Blocker, ...]:
    """The blockers of this look."""
    return blockers(spec or wanted(), look, record)


def the_one(look: Observed, spec: Desired | None = None, record: IdentityRecord | None = None) -> Blocker:
    """The only blocker of this look."""
    (one,) = found(look, spec, record)
    assert one.way_out.strip()
    assert str(one) == f"{one.object}: {one.found}. {one.way_out}"
    return one


def test_nothing_is_in_the_way() -> None:
    """A cluster in order has no blocker, before and after the identity is made; nor has a quorum of another mode."""
    assert found(fresh()) == ()
    assert found(BEFORE, record=BEFORE.record) == ()
    assert found(fresh(), wanted(migrate=None)) == ()


CASES: dict[str, tuple[Observed, Desired, str, str, tuple[object, ...]]] = {
    "3.8": (
        fresh(),
        wanted(runtime=runtime(release="3.8.1")),
        "Release",
        "spec.kafka.version",
        ("3.8.1", "3.9.1"),
    ),
    "4.0": (fresh(), wanted(runtime=runtime(release="4.0.0")), "Release", "spec.kafka.version", ("4.0.0", "3.9.1")),
    "3.9.0": (fresh(), wanted(runtime=runtime(release="3.9.0")), "Release", "spec.kafka.version", ("3.9.0", "3.9.1")),
    "no cluster id": (fresh(cluster_id=""), wanted(), "ClusterID", "znode /cluster/id", ("chroot",)),
    "another cluster": (
        fresh(),
        wanted(cluster_id=OTHER),
        "ClusterID",
        "znode /cluster/id",
        (OTHER, keeper_of(STARTS).cluster_id, "spec.clusterID", "spec.zookeeper.connect"),
    ),
    "no controller": (fresh(controller=None), wanted(), "NoController", "znode /controller", ("Repair",)),
    "a KRaft controller": (
        fresh(controller=KRAFT_LEADS),
        wanted(),
        "ControllerIsKRaft",
        "znode /controller",
        ("3000", "roll back"),
    ),
    "a dead broker": (
        fresh(assigned={**keeper_of(STARTS).assigned, NodeID(7): "orders-5"}),
        wanted(),
        "DeadBroker",
        "broker 7",
        ("orders-5", "kafka-reassign-partitions.sh"),
    ),
    "a shared id": (
        fresh(),
        wanted(node_ids=(NodeID(3), NodeID(3001), NodeID(3002))),
        "SharedID",
        "broker 3",
        ("spec.controllers.nodeIDs",),
    ),
    "rights": (
        fresh(denied=("zk may not create below /brokers",)),
        wanted(),
        "Rights",
        "ZooKeeper's ACLs",
        ("zk may not create below /brokers", "spec.zookeeper.secretName"),
    ),
    "an encrypted setting": (
        fresh(encoded=("broker 1: ssl.key.password",)),
        wanted(),
        "EncodedSetting",
        "broker 1: ssl.key.password",
        ("password.encoder.secret", "kafka-configs.sh"),
    ),
    "a reassignment": (
        fresh(reassigning=("orders-1", "orders-2", "orders-3")),
        wanted(),
        "Reassignment",
        "partition orders-1",
        ("being moved", "Wait", "kafka-reassign-partitions.sh"),
    ),
    "no epoch": (fresh(controller_epoch=None), wanted(), "Epoch", "znode /controller_epoch", ("Repair",)),
    "a low epoch": (
        fresh(controller_epoch=EpochNode(epoch=3, version=3)),
        wanted(),
        "Epoch",
        "znode /controller_epoch",
        ("3", "4", "KAFKA-20488", "zookeeper-shell.sh"),
    ),
    "an offline directory": (
        replace(
            fresh(),
            log_dirs=Known(value={**dict.fromkeys(BROKERS, Known(value=())), BROKERS[1]: Known(value=("/d2 (x)",))}),
        ),
        wanted(),
        "OfflineDirectory",
        "broker 2",
        ("/d2 (x)", "KAFKA-16431"),
    ),
    "an authorizer that no broker has": (
        fresh(),
        wanted(runtime=runtime(release="3.9.2", config=(("authorizer.class.name", STANDARD),))),
        "Authorizer",
        "spec.controllers.config",
        (STANDARD, "broker 1"),
    ),
}


@pytest.mark.parametrize("case", [name for name in CASES if name != "an authorizer that no broker has"])
def test_a_blocker(case: str) -> None:
    """Each has its code, the object by name, what was found, and the way out."""
    look, spec, code, object_, words = CASES[case]
    one = the_one(look, spec)
    assert (one.code, one.object, one.unknown) == (code, object_, False)
    assert all(
        mentions(f"{one.found} {one.way_out}", word) if word != "chroot" else "chroot" in one.way_out for word in words
    ), one


def test_an_authorizer_that_no_broker_has() -> None:
    """Controllers with an authorizer would refuse brokers that have none: each broker is named."""
    look, spec, code, _, _ = CASES["an authorizer that no broker has"]
    several = found(look, spec)
    assert {one.code for one in several} == {code}
    assert [one.found.split("and ")[1].split(" has")[0] for one in several] == ["broker 1", "broker 2", "broker 3"]


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"inter.broker.protocol.version": "3.8"}, "BrokerRelease", ("3.8", "3.9")),
        ({"inter.broker.protocol.version": None}, "BrokerRelease", ("inter.broker.protocol.version",)),
        ({"control.plane.listener.name": "CONTROL"}, "ControlPlane", ("CONTROL", "Remove")),
        ({"process.roles": "broker"}, "ProcessRoles", ("broker",)),
        ({"zookeeper.metadata.migration.enable": "true"}, "MigrationMode", ("Remove",)),
        (
            {"inter.broker.listener.name": "IN", "listener.security.protocol.map": "IN:SSL,OUT:PLAINTEXT"},
            "InterBrokerListener",
            ("{name: IN, protocol: SSL}", "PLAINTEXT"),
        ),
        ({"security.inter.broker.protocol": "SSL"}, "InterBrokerListener", ("{name: SSL, protocol: SSL}",)),
        ({"authorizer.class.name": ACL}, "Authorizer", (ACL, STANDARD, "super.users")),
        ({"zookeeper.set.acl": "true"}, "ZNodeACLs", ("everybody", "spec.controllers.config")),
    ],
)
def test_a_setting_of_a_broker(changes: dict[str, str | None], code: str, words: tuple[str, ...]) -> None:
    """A running setting that is in the way names its broker, the value, and what to set."""
    one = the_one(with_broker(fresh(), 2, changes))
    assert (one.code, one.object) == (code, "broker 2")
    assert all(word in f"{one.found} {one.way_out}" for word in words), one


def test_a_generated_id() -> None:
    """An id above reserved.broker.max.id blocks, unless the broker generates none or reserves more."""
    high = replace(keeper_of(STARTS).brokers[0], node_id=NodeID(1001))
    look = with_keeper(fresh(), brokers=(high,), assigned={NodeID(1001): "orders-3"})
    running = follows(contract_of(BEFORE))
    look = replace(look, log_dirs=Known(value={NodeID(1001): Known(value=())}))

    def with_settings(**more: str) -> Observed:
        settings = {**running, **{name.replace("_", "."): value for name, value in more.items()}}
        return replace(look, brokers=Known(value=(seen(1001, settings),)))

    one = the_one(with_settings())
    assert (one.code, one.object) == ("ReservedID", "broker 1001")
    assert "1000" in one.found
    assert "broker.id.generation.enable=false" in one.way_out
    assert found(with_settings(broker_id_generation_enable="false")) == ()
    assert found(with_settings(reserved_broker_max_id="2000")) == ()
    for text in ("", "²", "①", "9" * 5_000, "-1"):  # any image may answer so: then it counts as not set
        assert found(with_settings(reserved_broker_max_id=text)) == (one,)


def test_the_listener_of_the_spec() -> None:
    """A listener with a name of its own passes if the spec has it with its protocol."""
    changes = {"inter.broker.listener.name": "IN", "listener.security.protocol.map": "IN:SASL_SSL,OUT:PLAINTEXT"}
    look = fresh()
    for node_id in BROKERS:
        look = with_broker(look, node_id, changes)
    beside = replace(BESIDE, listener="IN", protocol="SASL_SSL")
    spec = wanted()
    assert spec.migrate is not None
    assert found(look, replace(spec, migrate=replace(spec.migrate, beside=beside))) == ()


def test_the_authorizer_of_brokers_with_acls() -> None:
    """Brokers with AclAuthorizer need controllers with StandardAuthorizer; another class is the same in both."""
    for theirs, ours in ((ACL, STANDARD), ("com.example.Auth", "com.example.Auth")):
        look = fresh()
        for node_id in BROKERS:
            look = with_broker(look, node_id, {"authorizer.class.name": theirs})
        assert found(look, wanted(runtime=runtime(release="3.9.2", config=(("authorizer.class.name", ours),)))) == ()


@pytest.mark.parametrize("text", ["true", " TRUE "])
def test_whose_the_znodes_are(text: str) -> None:
    """Brokers and controllers create znodes with the same ACLs: both have zookeeper.set.acl, or none of them."""
    spec = wanted(runtime=runtime(release="3.9.2", config=(("zookeeper.set.acl", text),)))
    look = fresh()
    assert {(one.code, one.object) for one in found(look, spec)} == {("ZNodeACLs", "spec.controllers.config")}
    for node_id in BROKERS:
        look = with_broker(look, node_id, {"zookeeper.set.acl": "true"})
    assert found(look, spec) == ()


# What another attempt left


@pytest.mark.parametrize("left", [COPIED, MigrationNode(version=1, raw="{", fault="it is no JSON")])
def test_a_stale_migration(left: MigrationNode) -> None:
    """What another attempt left in /migration blocks a new quorum: with it, Kafka deletes every topic in ZooKeeper."""
    one = the_one(with_keeper(fresh(), migration=left))
    assert (one.code, one.object) == ("StaleMigration", "znode /migration")
    assert (left.fault or left.raw) in one.found
    assert "zookeeper-shell.sh" in one.way_out
    assert "save its text" in one.way_out


def test_an_empty_migration_is_harmless() -> None:
    """A /migration in which nothing was copied is what controllers make first: it blocks nothing (measured)."""
    assert found(with_keeper(fresh(), migration=EMPTY)) == ()


def test_znodes_of_others_after_the_start() -> None:
    """Controllers that run have copied nothing before the brokers migrate: what says otherwise is not theirs."""
    assert found(with_keeper(BEFORE, migration=EMPTY), record=BEFORE.record) == ()
    (left,) = found(with_keeper(BEFORE, migration=COPIED), record=BEFORE.record)
    assert (left.code, "spec.zookeeper.rollBack" in left.way_out) == ("StaleMigration", True)
    (leads,) = found(with_keeper(BEFORE, controller=KRAFT_LEADS), record=BEFORE.record)
    assert leads.code == "ControllerIsKRaft"
    formatting = new_record()
    assert {one.code for one in found(with_keeper(BEFORE, migration=COPIED), record=formatting)} == {"StaleMigration"}


def test_the_cluster_of_the_identity() -> None:
    """ZooKeeper of another cluster than that of the record blocks."""
    record = new_record(OTHER)
    one = the_one(fresh(), record=record)
    assert (one.code, OTHER in one.found, "the identity" in one.found) == ("ClusterID", True, True)


# What cannot be read


def test_zookeeper_cannot_be_read() -> None:
    """Without ZooKeeper nothing else is known: the address and the error are named, and it is a blocker."""
    one = the_one(replace(fresh(), zookeeper=Unknown(reason="connection refused")))
    assert (one.code, one.unknown) == ("ZooKeeper", True)
    assert BESIDE.access.connect in one.object
    assert "connection refused" in one.found
    assert "let the operator read the Secret" in one.way_out


def test_no_broker_can_be_asked() -> None:
    """Unknown brokers are a blocker until their owner confirms the contract's revision."""
    look = replace(fresh(), brokers=Unknown(reason="no address"))
    one = the_one(look)
    assert (one.code, one.object, one.unknown) == ("BrokerUnknown", "the brokers", True)
    assert "spec.brokerAccess.bootstrapServers" in one.way_out
    assert found(look, confirming(wanted())) == ()


def test_one_broker_cannot_be_asked() -> None:
    """A broker that does not answer, or that no look lists, is a blocker, unless its owner confirms."""
    silent = with_broker(fresh(), 2, "it does not answer")
    assert (the_one(silent).code, the_one(silent).object) == ("BrokerUnknown", "broker 2")
    assert isinstance(silent.brokers, Known)
    missing = replace(silent, brokers=Known(value=tuple(one for one in silent.brokers.value if one.node_id != 2)))
    assert the_one(missing).object == "broker 2"
    assert found(silent, confirming(wanted())) == found(missing, confirming(wanted())) == ()


def test_a_confirmation_hides_no_answer() -> None:
    """A broker that reports a setting that is in the way blocks, whatever its owner confirmed."""
    look = with_broker(fresh(), 2, {"inter.broker.protocol.version": "3.8"})
    assert the_one(look, confirming(wanted())).code == "BrokerRelease"


@pytest.mark.parametrize("all_", [True, False])
def test_directories_cannot_be_asked(*, all_: bool) -> None:
    """Log directories that are not known block, unless their owner confirms."""
    dirs = {node_id: Known(value=()) for node_id in BROKERS}
    unknown = Unknown(reason="it has no PLAINTEXT listener")
    look = replace(fresh(), log_dirs=unknown if all_ else Known(value={**dirs, BROKERS[0]: unknown}))
    several = found(look)
    assert [one.object for one in several] == ([f"broker {one}" for one in BROKERS] if all_ else ["broker 1"])
    assert {(one.code, one.unknown) for one in several} == {("DirectoriesUnknown", True)}
    assert "PLAINTEXT listener" in several[0].found
    assert found(look, confirming(wanted())) == ()


# How they are shown


def test_many_of_one_kind() -> None:
    """Five of one kind are listed, and the others are counted."""
    dead = {NodeID(id_): "orders-5" for id_ in range(10, 18)}
    several = found(fresh(assigned={**keeper_of(STARTS).assigned, **dead}))
    assert [one.object for one in several] == [f"broker {id_}" for id_ in range(10, 15)]
    assert all("3 others" in one.found for one in several)


def test_listed() -> None:
    """A sentence has three of them, and where the others are."""
    several = tuple(Blocker(code="X", object=f"broker {id_}", found="f", way_out="w") for id_ in range(5))
    assert listed(several) == "broker 0: f. w; broker 1: f. w; broker 2: f. w (and 2 more in status.preflight)"
    assert listed(several[:2]) == "broker 0: f. w; broker 1: f. w"


def test_the_plan_has_the_blockers_until_the_controllers_run() -> None:
    """The plan has them before there is an identity and before the barrier, never after it, and in no other mode."""
    bad = with_keeper(fresh(), controller=None)
    assert [one.code for one in planned(bad, wanted(dry_run=True)).preflight or ()] == ["NoController"]
    formed = replace(BEFORE, record=new_record(), pods=())
    assert planned(formed, wanted()).preflight is not None
    assert planned(BEFORE, wanted()).preflight is None
    assert planned(nothing()).preflight is None


# Minting, and the barrier


def test_an_identity_with_the_cluster_id_of_zookeeper() -> None:
    """The identity is made with the cluster id that ZooKeeper has, for every requested controller."""
    act = only(planned(fresh(), wanted()), MintIdentity)
    assert (act.cluster_id, act.initial, act.others) == (keeper_of(STARTS).cluster_id, (3000, 3001, 3002), ())
    assert (act.format.mode.value, act.format.release, act.permit.rule) == ("ZooKeeper", "3.9.2", "8-mint-beside")


@pytest.mark.parametrize(
    ("look", "spec", "words"),
    [
        (fresh(), wanted(dry_run=True), "spec.zookeeper.dryRun"),
        (fresh(), wanted(roll_back=True), "spec.zookeeper.rollBack"),
        (fresh(cluster_id=""), wanted(), "/cluster/id"),
        (fresh(), wanted(runtime=runtime(release="4.1.0")), "4.1.0"),
        (replace(fresh(), zookeeper=Unknown(reason="connection refused")), wanted(), "connection refused"),
    ],
)
def test_no_identity_is_made(look: Observed, spec: Desired, words: str) -> None:
    """A dry run, a requested roll back, or a cluster that is not known: nothing is made, and the wait says why."""
    said = planned(look, spec)
    assert every(said, MintIdentity) == []
    held = wait(said, "Preflight")
    assert held.severity is Severity.HELD
    assert words in held.message


def test_why_controllers_beside_zookeeper_do_not_start() -> None:
    """Before the barrier: a dry run, a roll back and every blocker are a reason; other quorums never have one."""
    look = replace(with_keeper(BEFORE, migration=None), record=new_record(), pods=())
    assert why_not_beside(judged(look)) == why_preflight(judged(look)) == ""
    assert "dryRun" in why_not_beside(judged(look, wanted(dry_run=True)))
    assert "rollBack" in why_not_beside(judged(look, wanted(roll_back=True)))
    assert "connect" in why_not_beside(judged(look, wanted(migrate=None)))
    assert "no broker is the controller" in why_not_beside(judged(with_keeper(look, controller=None)))
    assert why_not_beside(situation()) == ""


def test_every_code_is_documented() -> None:
    """docs/zookeeper.md has a row for every code, with its way out."""
    text = (OPERATOR / "plan" / "facts" / "preflight.py").read_text()
    codes = {*re.findall(r'code="([A-Za-z]+)"', text), *re.findall(r'one\("([A-Za-z]+)"', text)}
    codes |= set(re.findall(r'one\(\n\s+"([A-Za-z]+)"', text))
    rows = set(re.findall(r"^\| `([A-Za-z]+)` \|", document("zookeeper.md"), flags=re.MULTILINE))
    assert len(codes) > 15
    assert codes - rows == set()
