"""The spec of a migration from ZooKeeper: what it becomes, and each of its faults."""

from typing import Any

import pytest
from tests.api.specs import CLUSTER_ID, resource

from kafka_quorum.api.validation import validate
from kafka_quorum.model.desired import BesideZooKeeper, BootstrapMode, Desired, Migrate
from kafka_quorum.model.identity import Format, mint
from kafka_quorum.model.ids import ClusterID
from kafka_quorum.model.zookeeper import ZooKeeperAccess

CONNECT = "zk-0:2181,zk-1.example.com:2181,10.0.0.3/kafka/one"


def spec(zookeeper: dict[str, Any] | None = None, mode: str = "ZooKeeper") -> dict[str, Any]:
    """A resource beside ZooKeeper with these fields."""
    found = {"connect": CONNECT} if zookeeper is None else zookeeper
    return resource({"bootstrap": {"mode": mode}, "kafka": {"version": "3.9.2"}, "zookeeper": found})


def test_what_it_becomes() -> None:
    """The address, the Secret, the brokers' listener and the three switches; the defaults are PLAINTEXT and off."""
    made = validate(spec())
    assert isinstance(made, Desired)
    assert made.bootstrap is BootstrapMode.ZOOKEEPER
    plain = BesideZooKeeper(access=ZooKeeperAccess(connect=CONNECT), listener="PLAINTEXT", protocol="PLAINTEXT")
    assert made.migrate == Migrate(beside=plain)
    assert made.runtime.zookeeper is None, "the planner sets it, never the spec alone"
    listener = {"name": "INTERNAL", "protocol": "SASL_SSL"}
    full = {"connect": CONNECT, "secretName": "zk", "interBrokerListener": listener, "dryRun": True, "finalize": True}
    made = validate(spec(full))
    assert isinstance(made, Desired)
    assert made.migrate is not None
    assert made.migrate.beside.access.secret_name == "zk"  # noqa: S105 - a name
    assert (made.migrate.beside.listener, made.migrate.beside.protocol) == ("INTERNAL", "SASL_SSL")
    assert (made.migrate.dry_run, made.migrate.finalize, made.migrate.roll_back) == (True, True, False)


def test_another_mode_has_none() -> None:
    """A quorum of another mode has no migration."""
    made = validate(resource())
    assert isinstance(made, Desired)
    assert made.migrate is None


@pytest.mark.parametrize(
    ("zookeeper", "field", "words"),
    [
        ({"connect": ""}, "spec.zookeeper.connect", "no address"),
        ({"connect": "zk-0:2181,"}, "spec.zookeeper.connect", "zk-0:2181,"),
        ({"connect": "http://zk-0:2181"}, "spec.zookeeper.connect", "http://"),
        ({"connect": "zk-0:2181/kafka/"}, "spec.zookeeper.connect", "/kafka/"),
        ({"connect": "zk-0:2181\nx=y"}, "spec.zookeeper.connect", "address"),
        ({"connect": CONNECT, "secretName": "Not_A_Name"}, "spec.zookeeper.secretName", "Secret"),
        ({"connect": CONNECT, "finalize": True, "rollBack": True}, "spec.zookeeper", "contradict"),
    ],
)
def test_a_fault(zookeeper: dict[str, Any], field: str, words: str) -> None:
    """Each fault names its field and says what is wrong."""
    faults = validate(spec(zookeeper))
    assert not isinstance(faults, Desired)
    assert [fault.field for fault in faults] == [field], faults
    assert words in faults[0].message


@pytest.mark.parametrize("field", [{"connect": CONNECT}, {"finalize": True}, {"rollBack": True}, {"dryRun": True}])
def test_only_in_its_mode(field: dict[str, Any]) -> None:
    """A field of the migration in another mode is a fault: it would be without effect."""
    faults = validate(spec(field, mode="Static"))
    assert not isinstance(faults, Desired)
    assert [fault.field for fault in faults] == ["spec.zookeeper"]
    assert "spec.bootstrap.mode" in faults[0].message


def test_the_mode_stays() -> None:
    """A quorum does not become one beside ZooKeeper, nor the other way round."""
    record = mint(ClusterID(CLUSTER_ID), Format(mode=BootstrapMode.ZOOKEEPER, release="3.9.2", features=()), (), ())
    assert isinstance(validate(spec(), record=record), Desired)
    faults = validate(resource(), record=record)
    assert not isinstance(faults, Desired)
    assert [fault.field for fault in faults] == ["spec.bootstrap.mode"]
