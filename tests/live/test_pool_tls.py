"""Brokers of a pool on real Kafka whose own listeners have TLS: the files are those that the operator makes.

Two brokers replicate by mutual TLS under the host names that they have in Kubernetes, which a wildcard certifies. Java
resolves these names to this machine. Clients use SSL without and with a certificate, and SASL_SSL with SCRAM; the
operator asks with its own certificate. An authorizer shows who each of them is.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import confluent_kafka.admin
import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from tests.brokers.values import NAMESPACE, POOL, QUORUM, resource
from tests.live import topics
from tests.live.broker_worlds import note, release, releases
from tests.live.brokers import CONTROLLER, LiveBroker, LiveBrokers
from tests.live.jars import OLDER_VERSIONS, Kafka
from tests.live.ports import HOST, free_port
from tests.live.test_secured_contract import GENERATION, contract_of, controller_runs, quorum_of, runtime_of
from tests.live.test_secured_pool import composed, texts
from tests.live.waiting import wait_for
from tests.model.values import desired as desired_quorum

from kafka_brokers.api.validation import Present, validate
from kafka_brokers.model.contracted import first_contact, secret_keys
from kafka_brokers.model.names import host_name
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.resources.properties import log_dir, server_properties
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.contract import SASL_KEY, SECRET_PATH, Contract
from kafka_quorum.model.desired import Protocol
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.material import pool
from kafka_quorum.model.pools import PoolSeen, certified_names
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Secured, Tls
from kafka_quorum.resources.secrets import NO_LOGINS, Logins, leaf_object
from kit.pki.authority import Authority, Request, issue, read_authority
from kit.pki.names import DistinguishedName

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

_ADMIN: Final[Any] = confluent_kafka.admin  # typed in part
_IDS: Final = (1, 2)
_DAY_S: Final = 24 * 3600
_CLIENT_S: Final = 20.0
_USER, _PASSWORD, _WRONG = "ada", "correct-horse-battery", "wrong-horse-battery"
_SERVERS: Final = ";".join(f"User:CN={name},OU={QUORUM},O={NAMESPACE}" for name in ("brokers", "operator"))
_SPEC: Final = {
    "listeners": [
        {"name": "TLS", "port": 9093, "protocol": "SSL"},
        {"name": "OWN", "port": 9094, "protocol": "SSL", "clientAuth": "Required"},
        {"name": "USERS", "port": 9095, "protocol": "SASL_SSL"},
    ],
    "config": {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"{_SERVERS};User:{_USER}",
    },
}


@pytest.fixture(scope="module", params=releases(*(each for each in OLDER_VERSIONS if each >= "4")))
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release without ZooKeeper: brokers of 3.9 are asked in another way, over the same connections."""
    return release(request)


def pool_secret(home: Path, logins: Logins = NO_LOGINS) -> dict[str, str]:
    """The files of the pool's own Secret. Clients on this machine know the brokers as `localhost`, too."""
    trust, key, now = (home / "ca.crt").read_text(), (home / "ca.key").read_text(), datetime.now(UTC)
    authority = read_authority(trust, key, "the test", now)
    assert isinstance(authority, Authority), authority
    subject = DistinguishedName(cn="brokers", ou=QUORUM, o=NAMESPACE)
    names = (*certified_names(NAMESPACE, POOL, (), ()), "localhost")
    leaf = issue(authority, Request(subject=subject, names=names, life_s=_DAY_S, server=True, client=True), now)
    holder = pool(PoolSeen(name=POOL, uid="u1", names=names))
    of = desired_quorum(name=QUORUM, namespace=NAMESPACE)
    return texts(leaf_object(of, holder, leaf, trust, GENERATION, None, 0, logins))


def write_properties(
    broker: LiveBroker, of: Contract, home: Path, spec: Mapping[str, object] = _SPEC
) -> dict[str, int]:
    """Write the properties of the pool, as the start script puts them together; the ports of its own listeners."""
    found = validate(resource(dict(spec)), of, present=Present(replication_tls=True))
    assert isinstance(found, PoolDesired), found
    runtime = found.runtime
    assert all((home / "pod" / key).stat().st_size for key in secret_keys(runtime)), "the pod would wait"
    text = server_properties(NAMESPACE, POOL, broker.node_id, runtime, first_contact(of))
    text = text.replace(SECRET_PATH, str(home / "pod"))
    text = text.replace(log_dir(runtime, broker.node_id, 0), str(broker.log_dirs[0]))
    ports = {each.name: free_port() for each in runtime.listeners}
    name = host_name(NAMESPACE, POOL, broker.node_id)
    listened = [f"REPLICATION://{HOST}:{broker.port}", *(f"{each}://{HOST}:{port}" for each, port in ports.items())]
    told = [f"REPLICATION://{name}:{broker.port}", *(f"{each}://localhost:{port}" for each, port in ports.items())]
    own = {
        "listeners": ",".join(listened),
        "advertised.listeners": ",".join(told),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    if SASL_KEY in secret_keys(runtime):
        text += (home / "pod" / SASL_KEY).read_text()
    broker.properties.write_text(text + "".join(f"{key}={value}\n" for key, value in own.items()))
    return ports


def client(port: int, home: Path, *, certificate: dict[str, str] | None = None, password: str = "") -> dict[str, Any]:
    """A client of librdkafka that trusts the authority of the quorum."""
    config: dict[str, Any] = {
        "bootstrap.servers": f"localhost:{port}",
        "broker.address.family": "v4",
        "security.protocol": "SASL_SSL" if password else "SSL",
        "ssl.ca.pem": (home / "ca.crt").read_text(),
        "log_level": 0,
    }
    if certificate is not None:
        config |= {"ssl.certificate.pem": certificate["tls.crt"], "ssl.key.pem": certificate["tls.key"]}
    if password:
        config |= {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": _USER, "sasl.password": password}
    return config


def produced(config: dict[str, Any], value: str) -> str:
    """Why a record was not acknowledged by all replicas; empty if it was."""
    said: list[str] = []
    producer = Producer({**config, "acks": "all", "message.timeout.ms": 8_000})
    producer.produce("orders", value.encode(), on_delivery=lambda error, _: said.append(str(error or "")))
    producer.flush(_CLIENT_S)
    return said[0]


def consumed(config: dict[str, Any]) -> list[str]:
    """The records from the beginning, as a member of a group."""
    consumer = Consumer({**config, "group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe(["orders"])
    found: list[str] = []
    try:
        for _ in range(200):
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                found.append((message.value() or b"").decode())
            elif found:
                break
    finally:
        consumer.close()
    return found


async def replicated(world: LiveBrokers, at: Endpoint) -> None:
    """Waits until both brokers are in the ISR, as the operator sees it over REPLICATION."""

    async def both() -> bool | None:
        rows = [row for row in await world.client.describe_partitions(at) if row.at.topic == "orders"]
        return True if rows and set(rows[0].isr) == set(map(NodeID, _IDS)) else None

    await wait_for("both brokers in the ISR", both)


async def test_a_pool_with_tls(kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers replicate, clients of every protocol are served, and the operator is the user of its certificate."""
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"{HOST} {host_name(NAMESPACE, POOL, NodeID(each))}\n" for each in _IDS))
    monkeypatch.setenv("JDK_JAVA_OPTIONS", f"-Djdk.net.hosts.file={hosts}")
    async with quorum_of(kafka, tmp_path, Protocol.SSL) as world:
        operator = texts(composed(tmp_path, Protocol.SSL)[f"{QUORUM}-operator-tls"])
        (tmp_path / "pod").mkdir()
        for key, text in pool_secret(tmp_path).items():
            (tmp_path / "pod" / key).write_text(text)
        of = contract_of(runtime_of(tmp_path, Protocol.SSL), world.quorum.nodes[NodeID(CONTROLLER)].port, QUORUM)
        await controller_runs(world)
        world.add(2)
        ports = {node_id: write_properties(world.brokers[node_id], of, tmp_path) for node_id in _IDS}
        world.format(*world.brokers.values())
        world.start(*world.brokers.values())
        tls = Tls(ca=(tmp_path / "ca.crt").read_text(), certificate=operator["tls.crt"], key=operator["tls.key"])
        name = host_name(NAMESPACE, POOL, NodeID(1))
        at = Endpoint(node_id=NodeID(1), host=HOST, port=world.brokers[1].port, security=Secured(tls=tls), name=name)

        async def registered() -> bool | None:
            rows = (await world.client.describe_brokers(at)).brokers
            return True if {row.node_id for row in rows if not row.fenced} == set(_IDS) else None

        await wait_for("both brokers registered", registered)
        own = client(ports[1]["OWN"], tmp_path, certificate=operator)
        await asyncio.to_thread(make_topic_and_user, own)
        await replicated(world, at)
        assert await asyncio.to_thread(produced, own, "by a certificate") == ""
        users = client(ports[2]["USERS"], tmp_path, password=_PASSWORD)
        assert await asyncio.to_thread(produced, users, "by a user") == ""
        assert await asyncio.to_thread(consumed, users) == ["by a certificate", "by a user"]
        # An anonymous client gets through TLS, and the authorizer does not know it.
        anonymous = client(ports[1]["TLS"], tmp_path)
        assert "uthoriz" in await asyncio.to_thread(produced, anonymous, "by nobody")
        wrong = client(ports[2]["USERS"], tmp_path, password=_WRONG)
        assert await asyncio.to_thread(produced, wrong, "by a liar")
        with pytest.raises(KafkaException):
            await asyncio.to_thread(listed, client(ports[1]["OWN"], tmp_path))
        plain = Endpoint(node_id=NodeID(1), host=HOST, port=world.brokers[1].port)
        with pytest.raises(KafkaError):
            await world.client.describe_brokers(plain)
        other = replace(at, name="x.other.kafka.svc")
        with pytest.raises(KafkaError):
            await world.client.describe_brokers(other)
        note("a pool with TLS of its own", release=kafka.version)


def make_topic_and_user(config: dict[str, Any]) -> None:
    """A topic on both brokers, and a user of SCRAM in the metadata of the cluster."""
    both = {"min.insync.replicas": "2"}
    topic = _ADMIN.NewTopic("orders", num_partitions=1, replica_assignment=[list(_IDS)], config=both)
    topics.create(config, topic)
    info = _ADMIN.ScramCredentialInfo(_ADMIN.ScramMechanism.SCRAM_SHA_512, 4096)
    wanted = _ADMIN.UserScramCredentialUpsertion(_USER, info, _PASSWORD.encode())
    admin = _ADMIN.AdminClient(config)
    for future in admin.alter_user_scram_credentials([wanted]).values():
        future.result(_CLIENT_S)


def listed(config: dict[str, Any]) -> None:
    """Lists topics (KafkaException)."""
    _ADMIN.AdminClient(config).list_topics(timeout=5.0)
