"""Kafka's nodes in ZooKeeper, from bytes to values: what Kafka writes, and what it never would."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import ControllerNode, EpochNode, MigrationNode, ZooKeeperBroker
from kafka_quorum.wire import zookeeper_nodes as nodes
from kit.parsing import Malformed

BROKER = {
    "features": {},
    "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT", "EXTERNAL": "SASL_SSL"},
    "endpoints": ["PLAINTEXT://kafka-1:29092", "EXTERNAL://kafka-1.example:9092"],
    "jmx_port": -1,
    "port": 29092,
    "host": "kafka-1",
    "version": 5,
    "timestamp": "1731163180710",
}
TOPIC = {
    "removing_replicas": {"0": [1]},
    "partitions": {"0": [2, 1], "12": [1]},
    "topic_id": "ZOLr9CLNQjSW70hyIHx6BQ",
    "adding_replicas": {"12": [3]},
    "version": 3,
}
MIGRATION = {
    "version": 0,
    "kraft_metadata_offset": 9_000_000_000,
    "kraft_controller_id": 3000,
    "kraft_metadata_epoch": 2,
    "kraft_controller_epoch": 3,
}


def stored(value: object) -> bytes:
    """JSON as Kafka writes it."""
    return json.dumps(value, separators=(",", ":")).encode()


PARSERS: dict[str, Callable[[bytes], object]] = {
    "cluster_id": nodes.cluster_id,
    "controller": lambda data: nodes.controller(data, version=0, ephemeral=False),
    "controller_epoch": lambda data: nodes.controller_epoch(data, version=0),
    "broker": lambda data: nodes.broker("1", data),
    "assignment": nodes.assignment,
    "state": nodes.state,
    "reassigning": nodes.reassigning,
    "encrypted": lambda data: nodes.encrypted("1", data),
    "is_scram_user": nodes.is_scram_user,
}


def test_what_kafka_writes() -> None:
    """Each node as Kafka 3.9 writes it becomes its value."""
    controller = {"version": 2, "brokerid": 3000, "timestamp": "1685460739018", "kraftControllerEpoch": 4}
    assert nodes.controller(stored(controller), version=3, ephemeral=False) == ControllerNode(
        node_id=NodeID(3000), kraft_epoch=4, ephemeral=False, version=3, raw=stored(controller).decode()
    )
    brokers = {**controller, "brokerid": 1, "kraftControllerEpoch": -1}
    assert nodes.controller(stored(brokers), version=0, ephemeral=True).kraft_epoch is None
    assert (
        nodes.controller(b'{"version":1,"brokerid":1,"timestamp":"1"}', version=0, ephemeral=True).kraft_epoch is None
    )
    assert nodes.controller_epoch(b"17", version=16) == EpochNode(epoch=17, version=16)
    assert nodes.cluster_id(b'{"version":"1","id":"Sfr7YvlkRHSHrmSrwq9mug"}') == "Sfr7YvlkRHSHrmSrwq9mug"
    assert nodes.broker("1", stored(BROKER)) == ZooKeeperBroker(
        node_id=NodeID(1), listeners=("PLAINTEXT://kafka-1:29092", "SASL_SSL://kafka-1.example:9092")
    )
    assert nodes.state(b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}').epoch == 1
    moves = {
        "version": 1,
        "partitions": [{"topic": "b", "partition": 1, "replicas": [1]}, {"topic": "a", "partition": 0}],
    }
    assert nodes.reassigning(stored(moves)) == ("a-0", "b-1")


def test_replicas_that_are_added_count_as_assigned() -> None:
    """Every broker that has a replica, loses one or gets one is in the assignment of the partition."""
    assert nodes.assignment(stored(TOPIC)).partitions == {0: {1, 2}, 12: {1, 3}}
    assert nodes.assignment(stored(TOPIC)).moving == {0, 12}
    assert nodes.assignment(stored({**TOPIC, "adding_replicas": {}, "removing_replicas": {}})).moving == frozenset()
    assert nodes.assignment(b'{"version":1,"partitions":{}}').partitions == {}


def test_partitions_whose_replicas_are_added_or_removed_are_moving() -> None:
    """A reassignment by Kafka's own requests is in the assignment of its topic, and in no znode of its own."""
    assert nodes.assignment(stored(TOPIC)).moving == {0, 12}
    assert nodes.assignment(stored(TOPIC | {"adding_replicas": {}, "removing_replicas": {}})).moving == frozenset()


def test_listeners_have_the_protocols_of_their_names() -> None:
    """The name of a listener says nothing of its protocol; a broker without the map has protocols as names."""
    named = {"PLAINTEXT": "SSL", "INSIDE": "PLAINTEXT"}
    row = {"listener_security_protocol_map": named, "endpoints": ["PLAINTEXT://b:1", "INSIDE://[::1]:2"]}
    assert nodes.broker("1", stored(row)).listeners == ("SSL://b:1", "PLAINTEXT://[::1]:2")
    assert nodes.broker("1", stored({"endpoints": ["SSL://b:1"]})).listeners == ("SSL://b:1",)


def test_the_migration() -> None:
    """`/migration` as the driver writes it has copied something; the initial one has not."""
    found = nodes.migration(stored(MIGRATION), version=8)
    assert (found.fault, found.version, found.copied) == ("", 8, True)
    assert (found.kraft_controller_id, found.kraft_controller_epoch) == (3000, 3)
    assert (found.kraft_metadata_offset, found.kraft_metadata_epoch) == (9_000_000_000, 2)
    assert not nodes.migration(stored({**MIGRATION, "kraft_metadata_offset": -1}), version=0).copied


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"{}",
        stored({**MIGRATION, "kraft_metadata_offset": "1"}),
        stored({**MIGRATION, "kraft_metadata_offset": True}),
        stored({**MIGRATION, "kraft_metadata_offset": 2**63}),
        stored({**MIGRATION, "kraft_controller_id": -2}),
        stored({**MIGRATION, "kraft_controller_epoch": 1.5}),
        stored({**MIGRATION, "more": "x" * 2000}),
    ],
)
def test_a_malformed_migration_has_a_fault(data: bytes) -> None:
    """What the driver would not write is a value with a fault, which counts as copied."""
    found = nodes.migration(data, version=2)
    assert found == MigrationNode(version=2, raw=found.raw, fault=found.fault)
    assert found.fault
    assert found.fault.isprintable()
    assert found.copied
    assert len(found.raw) <= 1000


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"nul", b"[" * 100_000, b'{"a":' * 5_000, b"9" * 5_000, b'"text"', b"[1]", b" " * (5 << 20)],
    ids=["empty", "not UTF-8", "half", "deep list", "deep object", "long number", "text", "list", "too long"],
)
def test_hostile_content_is_malformed(name: str, data: bytes) -> None:
    """Bytes that are no JSON object, too deep, too long or no UTF-8 are `Malformed`, and nothing else is raised."""
    with pytest.raises(Malformed):
        PARSERS[name](data)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cluster_id", {"id": 7}),
        ("cluster_id", {"id": "a\nb"}),
        ("controller", {"brokerid": "1"}),
        ("controller", {"brokerid": 2**31}),
        ("controller", {"brokerid": True}),
        ("controller", {"brokerid": 1, "kraftControllerEpoch": "4"}),
        ("controller", {"brokerid": 1, "more": "x" * 1000}),
        ("controller_epoch", -1),
        ("controller_epoch", 2**31),
        ("controller_epoch", 1.5),
        ("broker", {"endpoints": "A://b:1"}),
        ("broker", {"endpoints": [1]}),
        ("broker", {"endpoints": ["A://b:1\u202e"]}),
        ("broker", {"endpoints": ["b:1"]}),
        ("broker", {"endpoints": ["A://b:1"] * 65}),
        ("broker", {"endpoints": ["A://b:1"], "listener_security_protocol_map": ["A"]}),
        ("broker", {"endpoints": ["A://b:1"], "listener_security_protocol_map": {"A": 1}}),
        ("assignment", {"partitions": [[1]]}),
        ("assignment", {"partitions": {"x": [1]}}),
        ("assignment", {"partitions": {"-1": [1]}}),
        ("assignment", {"partitions": {"0": 1}}),
        ("assignment", {"partitions": {"0": [-1]}}),
        ("assignment", {"partitions": {"0": [1] * 1001}}),
        ("assignment", {"partitions": {"0": [1]}, "adding_replicas": {"1": [2]}}),
        ("assignment", {"partitions": {"0": [1]}, "removing_replicas": [2]}),
        ("state", {"controller_epoch": -1, "isr": [1]}),
        ("reassigning", {"partitions": [{"topic": "a/b", "partition": 0}]}),
        ("reassigning", {"partitions": [{"topic": "a", "partition": None}]}),
        ("reassigning", {"partitions": [[]]}),
        ("encrypted", {"config": []}),
        ("is_scram_user", {"config": "SCRAM-SHA-512"}),
    ],
)
def test_wrong_types_are_malformed(name: str, value: Any) -> None:  # noqa: ANN401 - any JSON
    """A field with another type, or out of range, is `Malformed` with one visible clause."""
    with pytest.raises(Malformed) as failure:
        PARSERS[name](stored(value))
    assert str(failure.value).isprintable()


def test_random_changes_never_raise_anything_else() -> None:
    """Real nodes with random bytes changed give a value, or `Malformed`."""
    seed = random.randrange(2**32)
    print("seed", seed)  # noqa: T201 - to repeat it
    dice = random.Random(seed)
    for _ in range(3_000):
        data = bytearray(stored(dice.choice([BROKER, TOPIC, MIGRATION])))
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        nodes.migration(bytes(data), version=0)
        for parse in PARSERS.values():
            try:
                parse(bytes(data))
            except Malformed as error:
                assert str(error).isprintable()  # noqa: PT017 - whether there is one depends on the change


def test_names_of_encrypted_settings() -> None:
    """Settings that Kafka encrypts are named with their broker; no value is, whatever it is."""
    config = {
        "version": 1,
        "config": {"listener.name.x.ssl.keystore.password": "v1", "sasl.jaas.config": "v2", "a": "v3"},
    }
    assert nodes.encrypted("7", stored(config)) == (
        "broker 7: listener.name.x.ssl.keystore.password",
        "broker 7: sasl.jaas.config",
    )
    assert nodes.encrypted("<default>", stored(config))[0].startswith("all brokers: ")
    with pytest.raises(Malformed):
        nodes.encrypted("x", stored(config))


def test_scram_users() -> None:
    """A user with a SCRAM credential is one; a user with quotas alone is none."""
    assert nodes.is_scram_user(b'{"version":1,"config":{"SCRAM-SHA-256":"salt="}}')
    assert not nodes.is_scram_user(b'{"version":1,"config":{"producer_byte_rate":"1024"}}')


def test_names_of_children() -> None:
    """Names that would change a path, or that Kafka does not allow, are refused; more of them than the bound too."""
    assert nodes.topic_names(["b", "__a", "c.d-e"]) == ("__a", "b", "c.d-e")
    assert nodes.broker_ids(["10", "2"]) == (2, 10)
    assert nodes.child_names(["User%3Aa", "<default>"]) == ("<default>", "User%3Aa")
    for name in ("", ".", "..", "a/b", "a b", "ä", "x" * 250):
        with pytest.raises(Malformed):
            nodes.topic_names([name])
    for name in ("", ".", "..", "a/b", "a\x00", "\u202ea"):
        with pytest.raises(Malformed):
            nodes.child_names([name])
    for parse, limit in (
        (nodes.topic_names, nodes.MAX_TOPICS),
        (nodes.child_names, nodes.MAX_TOPICS),
        (nodes.broker_ids, 5_000),
    ):
        with pytest.raises(Malformed, match=f"at most {limit}"):
            parse([str(number) for number in range(limit + 1)])


def test_the_address() -> None:
    """Servers, ports, IPv6 and the path are read as Kafka reads them."""
    assert nodes.parse_connect("a:1, b/kafka/x").hosts == "a:1,b:2181/kafka/x"
    assert nodes.parse_connect("[::1]:2182").servers == (("::1", 2182),)
    assert nodes.parse_connect("a:1/").chroot == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/kafka",
        "a:b",
        "a:0",
        "a:70000",
        "a:1,,b:1",
        "a:1/../b",
        "a:1//b",
        "u@a:1",
        "a b:1",
        "a\n:1",
        "a:1?x",
        "[::1",
        ",".join(["a"] * 33),
    ],
)
def test_an_address_that_is_none(text: str) -> None:
    """Anything else is refused before a connection is made."""
    with pytest.raises(Malformed):
        nodes.parse_connect(text)
