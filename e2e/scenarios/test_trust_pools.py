"""A pool whose brokers have TLS of their own, in a quorum with mutual TLS: clients, replication, and the operator."""

import asyncio
import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from harness.pool import Pool
from harness.quorum import Quorum
from harness.shell import Json, get, wait_until
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.handshakes import Served
from kafka_quorum.model.names import authority_name
from kafka_quorum.model.pools import pool_tls_name
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.handshake import probe

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

PORT: Final = 9094
TOPIC: Final = "orders"
SSL: Json = {"controllers": {"listeners": [{"name": "CONTROLLER", "port": 9093, "protocol": "SSL"}]}}
LISTENERS: Json = {
    "listeners": [{"name": "PLAINTEXT", "port": 9092}, {"name": "TLS", "port": PORT, "protocol": "SSL"}],
}
_TIMEOUT_S = 30.0


def client(pool: Pool) -> dict[str, Any]:
    """A client in the cluster that trusts the authority of the quorum, and begins at the pool's service."""
    found = get(pool.namespace, "secret", authority_name(pool.quorum.name))
    return trusting(pool, base64.b64decode(found["data"]["ca.crt"]).decode())


def trusting(pool: Pool, authority: str) -> dict[str, Any]:
    """A client that trusts this authority alone, and begins at the pool's service."""
    return {
        "bootstrap.servers": f"{pool.name}-bootstrap.{pool.namespace}.svc:{PORT}",
        "security.protocol": "SSL",
        "ssl.ca.pem": authority,
        "log_level": 0,
    }


def made(config: dict[str, Any]) -> None:
    """A topic with a replica on each broker."""
    topic = NewTopic(TOPIC, num_partitions=1, replication_factor=3, config={"min.insync.replicas": "3"})
    admin = AdminClient(config)  # it must live until the answer is there
    admin.create_topics([topic])[TOPIC].result(_TIMEOUT_S)


def produced(config: dict[str, Any], value: str) -> str:
    """Why a record was not acknowledged by all replicas; empty if it was."""
    said: list[str] = []
    producer = Producer({**config, "acks": "all", "message.timeout.ms": int(_TIMEOUT_S * 1000)})
    producer.produce(TOPIC, value.encode(), on_delivery=lambda error, _: said.append(str(error or "")))
    producer.flush(2 * _TIMEOUT_S)
    return said[0]


def consumed(config: dict[str, Any]) -> str:
    """The first record."""
    consumer = Consumer({**config, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])

    def one() -> str | None:
        message = consumer.poll(1.0)
        return None if message is None or message.error() else (message.value() or b"").decode()

    try:
        return wait_until("a record arrives", one, 60)
    finally:
        consumer.close()


def asks(at: Endpoint) -> str:
    """What a request to a broker ends with; empty if it is answered."""

    async def one() -> str:
        brokers = KafkaBrokers()
        try:
            await brokers.describe_brokers(at)
        except KafkaError as error:
            return str(error)
        finally:
            await brokers.close()
        return ""

    return asyncio.run(one())


def test_a_new_pool_has_tls(quorum: Quorum, pools: Callable[[str], Pool]) -> None:
    """A client over SSL produces and consumes, brokers replicate by mutual TLS, and the operator has its certificate.

    With an authorizer on the brokers the operator is a super user by its name, and nobody else is one: the pool is
    ready only if it sees every topic.
    """
    quorum.apply(SSL)
    pool = pools("brokers")
    servers = (f"User:CN={name},OU={quorum.name},O={quorum.namespace}" for name in ("brokers", "operator"))
    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": ";".join(servers),
        "allow.everyone.if.no.acl.found": "true",
        "default.replication.factor": "3",
    }
    pool.apply(LISTENERS | {"config": config})
    quorum.wait_ready()
    pool.wait_ready()
    assert get(pool.namespace, "secret", pool_tls_name(quorum.name, pool.name))["metadata"]["labels"]
    over_tls = client(pool)
    made(over_tls)
    assert produced(over_tls, "by TLS") == ""
    assert consumed(over_tls) == "by TLS"
    assert pool.registered() == {0, 1, 2}
    for node_id, at in pool.endpoints().items():
        found = asyncio.run(probe(at))
        assert isinstance(found, Served), found
        assert found.accepted
        assert found.leaf.subject == f"CN=brokers,OU={quorum.name},O={quorum.namespace}", node_id
        assert asks(at) == ""
        assert asks(replace(at, security=PLAINTEXT)) != ""
    # The operator goes on to see the pool: it is in sync, and Ready, after a broker restarted.
    pool.delete_pod(2)
    pool.wait_ready()
    pool.assert_in_sync()


@pytest.mark.full
def test_a_pool_that_grows_outside_its_certificate(quorum: Quorum, pools: Callable[[str], Pool]) -> None:
    """Hosts of more brokers come into the certificate of the same generation, and no broker restarts for them."""
    quorum.apply(SSL)
    pool = pools("brokers")
    tls = {"name": "TLS", "port": PORT, "protocol": "SSL"}
    outside = tls | {"external": "NodePort", "host": "broker-{id}.example.org"}
    pool.apply({"listeners": [{"name": "PLAINTEXT", "port": 9092}, outside]})
    quorum.wait_ready()
    pool.wait_ready()
    before = pool.running()
    pool.scale(4)
    pool.wait_ready()
    now = pool.running()
    assert {node_id: now[node_id] for node_id in before} == before
    found = asyncio.run(probe(pool.endpoints()[3]))
    assert isinstance(found, Served), found
    assert "broker-3.example.org" in found.leaf.dns_names
