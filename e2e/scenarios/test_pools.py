"""Broker pools: `kubectl apply` of a quorum and a pool gives a Kafka that produces and consumes, and stays usable.

Clients produce and consume through every scenario; no acknowledged record is lost, and no partition with three replicas
is ever without a leader.
"""

import time
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from harness import first, nodes
from harness.pool import Pool
from harness.quorum import Quorum
from harness.shell import Json, get, holds_for, wait_until
from scenarios.pools import SMALL, Kafka, assert_restarted, in_use

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

ALL = {0, 1, 2}
CLUSTER_WIDE = "log.retention.ms"
SPEC: Json = {
    "storage": [{"size": "1Gi"}, {"size": "1Gi"}],
    "listeners": [
        {"name": "PLAINTEXT", "port": 9092},
        {"name": "OUTSIDE", "port": 9094, "external": "NodePort"},
    ],
}


@pytest.fixture
def kafka(quorum: Quorum, pools: Callable[[str], Pool], client_image: str) -> Kafka:
    """A quorum and a pool with two volumes and a listener outside, applied at once, both Ready."""
    found = Kafka(quorum=quorum, pools=[pools("brokers")], image=client_image)
    began_s = time.monotonic()
    quorum.apply(SMALL)
    found.pool.apply(SPEC)
    found.wait_ready(240)
    print(f"quorum and pool are Ready after {time.monotonic() - began_s:.1f} s", flush=True)
    return found


def test_a_quorum_and_a_pool_produce_and_consume(kafka: Kafka) -> None:
    """Records go through inside and outside, on both volumes; a setting is changed without a restart, a heap with one.

    One scenario, because each needs a running Kafka.
    """
    pool = kafka.pool
    with in_use(kafka):
        assert pool.brokers() == ALL
        assert_both_volumes_used(pool)
        took_s = first.seconds_until_consumed(outside(pool), time.monotonic())
        print(f"a record from outside took {took_s:.1f} s")
        before = pool.running()
        pool.patch({"config": {CLUSTER_WIDE: "86400000"}})
        wait_until(
            "every broker has the setting", lambda: settings(pool, CLUSTER_WIDE) == dict.fromkeys(ALL, "86400000"), 60
        )
        pool.wait_ready()
        holds_for("nobody restarts", lambda: pool.running() == before, 5)
        with kafka.client.measured("roll of three brokers"):
            pool.patch({"jvm": {"heap": "257Mi"}})
            pool.wait_ready()
        assert_restarted(pool, before, ALL)
        pool.assert_in_sync()


def assert_both_volumes_used(pool: Pool) -> None:
    """Each broker has two volumes with directory ids of their own, and replicas on both."""
    found: set[str] = set()
    for node_id in ALL:
        claims = pool.claims_of(node_id)
        assert len(claims) == 2
        for claim in claims:
            node, path = nodes.volume_of(pool.namespace, claim)
            listing = nodes.on_node(node, "sh", "-c", f"cat {path}/kafka/meta.properties; ls {path}/kafka")
            found |= {line for line in listing.splitlines() if line.startswith("directory.id=")}
            assert any(line.startswith(("orders-", "__consumer_offsets-")) for line in listing.splitlines()), listing
    assert len(found) == 2 * len(ALL)


def outside(pool: Pool) -> str:
    """Where clients outside the cluster begin: a Kubernetes node and the node port of the bootstrap service."""
    service = get(pool.namespace, "service", f"{pool.name}-outside-bootstrap")
    port = service["spec"]["ports"][0]["nodePort"]
    node = get("default", "node", next(iter(pool.pods().values()))["spec"]["nodeName"])
    address = next(row["address"] for row in node["status"]["addresses"] if row["type"] == "InternalIP")
    return f"{address}:{port}"


def settings(pool: Pool, name: str) -> dict[int, str | None]:
    """A running setting of each broker; nothing of one that does not answer."""
    client, found = pool.client(), dict[int, str | None]()
    for node_id in ALL:  # the client takes one broker at a time
        asked = [ConfigResource(ResourceType.BROKER, str(node_id))]
        (answer,) = client.describe_configs(asked, request_timeout=10).values()
        try:
            found[node_id] = answer.result(15)[name].value
        except (KafkaException, TimeoutError):
            continue
    return found
