"""`server.properties` of a broker: what must be in it, and in which order."""

from dataclasses import replace

from tests.brokers.secured import PREFIX, TRUST, mutual, with_users
from tests.brokers.values import CONTRACT, desired

from kafka_brokers.model.contracted import first_contact
from kafka_brokers.model.names import inputs_hash
from kafka_brokers.resources.properties import server_properties
from kafka_quorum.model.contract import Match, Setting
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import ZooKeeperAccess

SPEC = {
    "storage": [{"size": "1Gi"}, {"size": "1Gi"}],
    "listeners": [
        {"name": "PLAINTEXT", "port": 9092},
        {"name": "OUT", "port": 9094, "external": "NodePort"},
    ],
    "config": {"auto.create.topics.enable": "false", "num.io.threads": "4"},
}


def properties(text: str) -> dict[str, str]:
    """The file as Java reads it: of two lines with one key, the last counts."""
    return dict(line.split("=", maxsplit=1) for line in text.splitlines())


def test_the_whole_file() -> None:
    """The golden text of a broker with two volumes, two listeners, and properties of its own."""
    found = server_properties("kafka", "payments", NodeID(7), desired(SPEC).runtime, first_contact(CONTRACT))
    assert found.splitlines() == [
        "process.roles=broker",
        "node.id=7",
        "listeners=REPLICATION://:9091,PLAINTEXT://:9092,OUT://:9094",
        (
            "advertised.listeners=REPLICATION://payments-7.payments-brokers.kafka.svc:9091,"
            "PLAINTEXT://payments-7.payments-brokers.kafka.svc:9092"
        ),
        "inter.broker.listener.name=REPLICATION",
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,REPLICATION:PLAINTEXT,PLAINTEXT:PLAINTEXT,OUT:PLAINTEXT",
        "log.dirs=/var/lib/kafka/data-0/kafka,/var/lib/kafka/data-1/kafka",
        "metadata.log.dir=/var/lib/kafka/data-0/kafka",
        (
            "controller.quorum.bootstrap.servers="
            "events-3000.events-controllers.kafka.svc:9093,events-3001.events-controllers.kafka.svc:9093"
        ),
        "controller.listener.names=CONTROLLER",
        "auto.create.topics.enable=false",
    ]


def test_files_of_the_contract() -> None:
    """A file of the Secret is a path to where pods mount it, and another name is another revision."""
    found = properties(server_properties("kafka", "payments", NodeID(7), desired(contract=mutual(3)).runtime, ()))
    assert found[f"{PREFIX}.keystore.location"] == "/etc/kafka-quorum-tls/keystore-3.pem"
    assert found[f"{PREFIX}.truststore.location"] == f"/etc/kafka-quorum-tls/{TRUST}"
    made = [inputs_hash(desired(contract=each).runtime) for each in (CONTRACT, mutual(3), mutual(4), with_users())]
    assert len(set(made)) == len(made)


def test_dynamic_properties_are_not_in_the_file() -> None:
    """A dynamic property in the file would come back at the next start after it was removed from the spec."""
    found = server_properties("kafka", "payments", NodeID(7), desired(SPEC).runtime, ())
    assert "num.io.threads" not in properties(found)


def test_a_static_quorum_has_its_voters() -> None:
    """A setting that must be equal is in the file; one that must be unset is not."""
    voters = Setting(key="controller.quorum.voters", value="3000@a:9093", match=Match.EQUALS)
    contract = replace(CONTRACT, settings=(CONTRACT.settings[0], voters, CONTRACT.settings[3]))
    found = properties(server_properties("a", "b", NodeID(1), desired(contract=contract).runtime, ()))
    assert found["controller.quorum.voters"] == "3000@a:9093"
    assert "controller.quorum.voters" not in properties(server_properties("a", "b", NodeID(1), desired().runtime, ()))


def test_protocols_are_merged_with_the_contracts() -> None:
    """The map of protocols has the contract's entries and ours, none twice in the file."""
    text = server_properties("a", "b", NodeID(1), desired().runtime, ())
    assert text.count("listener.security.protocol.map=") == 1
    without = replace(CONTRACT, settings=CONTRACT.settings[:3])
    found = properties(server_properties("a", "b", NodeID(1), desired(contract=without).runtime, ()))
    assert found["listener.security.protocol.map"] == "REPLICATION:PLAINTEXT,PLAINTEXT:PLAINTEXT"


def test_a_broker_that_uses_zookeeper() -> None:
    """It has broker.id and an address in place of process.roles and node.id; the rest is as in KRaft."""
    version = Setting(key="inter.broker.protocol.version", value="3.9-IV0,3.9", match=Match.ONE_OF)
    access = ZooKeeperAccess(connect="zoo-0:2181,zoo-1:2181/kafka", secret_name="zoo")  # noqa: S106 - a name
    contract = replace(CONTRACT, release="3.9.2", settings=(version,), zookeeper=access)
    of = desired(SPEC, contract).runtime
    found = server_properties("kafka", "payments", NodeID(7), of, ())
    assert found.splitlines()[:4] == [
        "broker.id=7",
        "broker.id.generation.enable=false",
        "reserved.broker.max.id=1000",
        "zookeeper.connect=zoo-0:2181,zoo-1:2181/kafka",
    ]
    known = properties(found)
    assert known["inter.broker.protocol.version"] == "3.9-IV0"
    assert {"process.roles", "node.id"}.isdisjoint(known)
    kraft = properties(server_properties("kafka", "payments", NodeID(7), replace(of, zookeeper=None), ()))
    same = {"listeners", "advertised.listeners", "log.dirs", "metadata.log.dir", "inter.broker.listener.name"}
    assert {key: known[key] for key in same} == {key: kraft[key] for key in same}
    high = properties(server_properties("kafka", "payments", NodeID(20_000), of, ()))
    assert high["reserved.broker.max.id"] == "20000"


def test_what_is_dynamic_since_4_0_is_in_the_file_of_3_9() -> None:
    """A 3.9 broker reads some settings at its start only that later ones change while they run."""
    spec = {"config": {"remote.log.reader.threads": "4", "num.io.threads": "4"}}
    of = desired(spec, replace(CONTRACT, release="3.9.2"))
    assert of.runtime.config == (("remote.log.reader.threads", "4"),)
    assert of.dynamic == (("num.io.threads", "4"),)
    assert desired(spec).runtime.config == ()


def test_the_name_of_a_log_directory() -> None:
    """Adopted volumes may have another name for it, with the node id in it."""
    spec = {"storage": [{"size": "1Gi", "directory": "kafka-log{id}"}, {"size": "1Gi"}]}
    found = properties(server_properties("kafka", "payments", NodeID(7), desired(spec).runtime, ()))
    assert found["log.dirs"] == "/var/lib/kafka/data-0/kafka-log7,/var/lib/kafka/data-1/kafka"
    assert found["metadata.log.dir"] == "/var/lib/kafka/data-0/kafka-log7"
