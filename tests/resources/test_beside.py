"""What is stored and made of a quorum beside ZooKeeper, in each stage; all other quorums stay as they were."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import NAMESPACE, desired, node, revision, running, runtime
from tests.plan.beside import (
    ACCESS,
    BESIDE,
    DUAL,
    EVERY,
    FINAL,
    MIGRATES,
    RELEASE,
    STARTS,
    At,
    at_name,
    contract_of,
    look_at,
    record_at,
    wanted,
)
from tests.resources.test_contract import contract
from tests.resources.test_properties import load
from tests.resources.test_stored import as_stored

from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.ids import Member, NodeID
from kafka_quorum.model.migration import Keeper
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.zookeeper import SavedNodes, ZooKeeperAccess
from kafka_quorum.resources import pods, scripts
from kafka_quorum.resources.contract import contract_from, contract_object, properties_text
from kafka_quorum.resources.properties import server_properties
from kafka_quorum.resources.stored import record_from, record_object, revision_from, revision_object
from kafka_quorum.resources.zookeeper import FILES_PATH, SECRET_PATH

Json = dict[str, Any]
SECRET = ZooKeeperAccess(connect=ACCESS.connect, secret_name="zk-client")  # noqa: S106 - a name
SAVED = SavedNodes(controller='{"brokerid":3000}', controller_epoch="9", migration='{"version":0}')


def made_of(at: At, access: ZooKeeperAccess = ACCESS) -> Revision:
    """The revision of the controllers in this stage."""
    overlay = at[0].stages[at[0].index(at[1])].controllers
    beside = replace(BESIDE, access=access) if overlay.keeper is Keeper.MIGRATES else None
    voters = record_at(at).node_ids
    return revision(runtime(release=RELEASE, static_voters=voters, zookeeper=beside, measured=overlay.measured))


# Stored formats


@pytest.mark.parametrize("at", EVERY, ids=at_name)
@pytest.mark.parametrize("saved", [None, SAVED], ids=["", "saved"])
def test_a_record_is_read_back(at: At, saved: SavedNodes | None) -> None:
    """The record of every stage, with and without what was deleted in ZooKeeper, is read back exactly."""
    record = record_at(at)
    assert record.migration is not None
    record = replace(record, migration=replace(record.migration, saved=saved))
    assert record_from(as_stored(record)) == replace(record, resource_version="9")


def test_a_record_of_another_quorum_is_unchanged() -> None:
    """Without a migration the record has no field that an earlier version of the operator does not know."""
    body = json.loads(record_object(desired(), running())["data"]["record.json"])
    assert set(body) == {
        *("schemaVersion", "cluster_id", "phase", "format", "initial", "nodes", "applied_revision", "had_leader"),
        *("former", "static", "levels"),
    }


@pytest.mark.parametrize("at", [STARTS, FINAL], ids=at_name)
def test_a_revision_is_read_back(at: At) -> None:
    """A revision with ZooKeeper, and the last one without it, are read back exactly."""
    of = made_of(at, SECRET)
    item = revision_object(
        desired(), of.name, of.number, runtime=of.runtime, image=of.image, inputs_hash=of.inputs_hash, spec={"a": 1}
    )
    assert revision_from(json.loads(json.dumps(item))) == (of, {"a": 1})


def test_a_revision_of_another_quorum_is_unchanged() -> None:
    """Without ZooKeeper neither of the two new fields is stored."""
    of = revision()
    stored = revision_object(desired(), "x", 1, runtime=of.runtime, image="i", inputs_hash="h", spec={})
    assert {"zookeeper", "measured"}.isdisjoint(stored["data"]["runtime"])


@pytest.mark.parametrize("at", EVERY, ids=at_name)
def test_a_contract_is_read_back(at: At) -> None:
    """The contract of every stage is read back exactly, with the address of ZooKeeper where brokers use it."""
    made = contract_of(look_at(at))
    item = contract_object(desired(), made)
    item["metadata"]["resourceVersion"] = "5"
    assert contract_from(item) == made
    assert ("zookeeper" in json.loads(item["data"]["contract.json"])) is (made.zookeeper is not None)


def test_a_contract_of_another_quorum_is_unchanged() -> None:
    """The contract of a quorum without ZooKeeper has no field for it."""
    assert "zookeeper" not in json.loads(contract_object(desired(), contract())["data"]["contract.json"])


# The page for owners of brokers


def page(at: At) -> list[str]:
    """The lines that an owner puts into the properties of a broker."""
    return properties_text("alpha", contract_of(look_at(at))).splitlines()


def test_the_page_before_the_brokers_change() -> None:
    """Brokers of ZooKeeper keep their role and address; what must not be set is a comment."""
    lines = page(STARTS)
    assert [line for line in lines if not line.startswith("#")] == [
        f"zookeeper.connect={ACCESS.connect}",
        "inter.broker.protocol.version=3.9",
        "zookeeper.metadata.migration.enable=false",
    ]
    assert "# process.roles must not be set" in lines
    assert "# controller.quorum.voters must not be set" in lines
    assert "# controller.listener.names must not be set" in lines  # else Kafka does not start without migration mode


def test_the_page_of_migration_mode() -> None:
    """In migration mode brokers have the address of ZooKeeper and everything that leads to the controllers."""
    lines = [line.split("=")[0] for line in page(MIGRATES) if not line.startswith("#")]
    assert lines == [
        *("zookeeper.connect", "inter.broker.protocol.version", "zookeeper.metadata.migration.enable"),
        *("controller.quorum.voters", "controller.listener.names", "listener.security.protocol.map"),
    ]


def test_the_page_of_kraft() -> None:
    """KRaft brokers have their role, no address of ZooKeeper, and no migration mode."""
    lines = page(DUAL)
    assert "process.roles=broker" in lines
    assert "zookeeper.metadata.migration.enable=false" in lines
    assert not any(line.startswith("zookeeper.connect") for line in lines)
    assert "# zookeeper.connect must not be set" in lines
    assert lines.count("process.roles=broker") == 1, "the role is one line"


# Controllers


def properties(of: Runtime) -> dict[str, str]:
    """The server.properties of controller 3001."""
    made = revision(of)
    member = Member("alpha", NodeID(3001))
    return load(server_properties(NAMESPACE, member, record_at(STARTS).node_ids, made))


@pytest.mark.parametrize("at", EVERY, ids=at_name)
def test_properties(at: At) -> None:
    """Controllers beside ZooKeeper have its address, the flag and the brokers' listener; at the end none of these."""
    found = properties(made_of(at).runtime)
    beside = {
        "zookeeper.connect": ACCESS.connect,
        "zookeeper.metadata.migration.enable": "true",
        "inter.broker.listener.name": "PLAINTEXT",
    }
    if at == FINAL:
        assert beside.keys().isdisjoint(found)
        assert found["listener.security.protocol.map"] == "CONTROLLER:PLAINTEXT"
    else:
        assert beside.items() <= found.items()
        assert found["listener.security.protocol.map"] == "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"
    assert found["controller.quorum.voters"].count("@") == 3
    assert "controller.quorum.bootstrap.servers" not in found


def test_the_listener_of_the_brokers_may_be_the_controllers() -> None:
    """A listener that both have stands in the map once."""
    beside = replace(BESIDE, listener="CONTROLLER")
    found = properties(replace(made_of(STARTS).runtime, zookeeper=beside))
    assert found["listener.security.protocol.map"] == "CONTROLLER:PLAINTEXT"
    assert found["inter.broker.listener.name"] == "CONTROLLER"


def test_properties_of_another_quorum_are_unchanged() -> None:
    """A quorum without ZooKeeper has no property of it."""
    assert not any("zookeeper" in name or "inter.broker" in name for name in properties(runtime()))


def kafka(of: Revision, record: IdentityRecord | None = None) -> Json:
    """The Kafka pod of controller 3000."""
    known = record or record_at(STARTS)
    return pods.kafka(
        wanted(), known, node(known, 3000), of, config="cfg", pull_policy="Never", agent_image="operator:1"
    )


def container(pod: Json) -> Json:
    """The container that runs Kafka."""
    (found,) = pod["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def test_the_agent_of_every_stage() -> None:
    """In every stage the controllers report the migration: an init container brings the agent, Java loads it."""
    for at in EVERY:
        pod = kafka(made_of(at))
        assert [each["name"] for each in pod["spec"]["initContainers"]] == ["verify", "agent"]
        assert pod["spec"]["initContainers"][1]["image"] == "operator:1"
        assert {"name": "metrics", "containerPort": 9404} in container(pod)["ports"]
        variables = {each["name"]: each["value"] for each in container(pod)["env"]}
        assert [name for name, value in variables.items() if "-javaagent:" in value] == ["EXTRA_ARGS"]
        assert variables["EXTRA_ARGS"].split()[:2] == ["-name", "kafkaServer"]
        assert pod["spec"]["initContainers"][1]["command"][-1] == "/agent"


def test_one_agent_shows_both() -> None:
    """With Kafka's own metrics, a controller that migrates has one agent at one port, which shows both."""
    for at in EVERY:
        pod = kafka(replace(made_of(at), runtime=replace(made_of(at).runtime, jmx=True)))
        assert [each["name"] for each in pod["spec"]["initContainers"]] == ["verify", "agent"]
        assert pod["spec"]["initContainers"][1]["command"][-2:] == ["/agent", "kafka"]
        assert [each["name"] for each in container(pod)["ports"] if each["containerPort"] == 9404] == ["jmx"]
        assert json.dumps(pod).count("-javaagent:") == 1


def test_no_agent_in_another_quorum() -> None:
    """A quorum that does not migrate has neither the agent, nor its port, nor its volume."""
    pod = kafka(revision(), running())
    assert [each["name"] for each in pod["spec"]["initContainers"]] == ["verify"]
    assert [each["name"] for each in container(pod)["ports"]] == ["controller"]
    assert {each["name"] for each in pod["spec"]["volumes"]} == {"data", "config", "tmp"}
    assert container(pod)["command"] == ["sh", "-c", scripts.RUN]


def test_the_secret_of_zookeeper() -> None:
    """The Secret is mounted into Kafka's container only, and a volume in memory has the files made of it."""
    pod = kafka(made_of(STARTS, SECRET))
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    assert volumes["zookeeper-secret"]["secret"] == {"secretName": "zk-client"}
    assert volumes["zookeeper-files"]["emptyDir"]["medium"] == "Memory"
    mounted = {each["mountPath"]: each for each in container(pod)["volumeMounts"]}
    assert mounted[SECRET_PATH]["readOnly"] is True
    assert FILES_PATH in mounted
    for other in pod["spec"]["initContainers"]:
        assert not {SECRET_PATH, FILES_PATH} & {each["mountPath"] for each in other["volumeMounts"]}
    script = container(pod)["command"][2]
    assert script.startswith(scripts.RUN.split("exec ", maxsplit=1)[0])
    assert 'cat "$KQ_CONFIG"' in script
    assert script.rstrip().endswith("exec /opt/kafka/bin/kafka-server-start.sh /tmp/server.properties")


def test_no_secret_without_one() -> None:
    """Without a Secret, and after ZooKeeper was given up, the pod mounts none and starts as any other."""
    for of in (made_of(STARTS), made_of(FINAL, SECRET)):
        pod = kafka(of)
        assert not any("zookeeper" in each["name"] for each in pod["spec"]["volumes"])
        assert container(pod)["command"] == ["sh", "-c", scripts.RUN]


def test_no_secret_in_variables_or_properties() -> None:
    """Only the name of the Secret is in a pod, and not even that in the properties: no variable refers to it."""
    pod = kafka(made_of(STARTS, SECRET))
    for each in (*pod["spec"]["initContainers"], *pod["spec"]["containers"]):
        assert not any("valueFrom" in entry for entry in each.get("env", []))
        assert "zk-client" not in json.dumps(each)
    assert "zk-client" not in json.dumps(properties(made_of(STARTS, SECRET).runtime))


def test_a_formatter_has_neither_agent_nor_secret() -> None:
    """A disk is formatted as of a static quorum, without ZooKeeper's Secret and without the agent."""
    record = record_at(STARTS)
    pod = pods.formatter(
        wanted(),
        record,
        node(record, 3000),
        made_of(STARTS, SECRET),
        config="cfg",
        avoid_nodes=(),
        pull_policy="Never",
    )
    assert "zk-client" not in json.dumps(pod)
    assert "javaagent" not in json.dumps(pod)
    assert pod["spec"]["containers"][0]["command"][-1] == "format"
