"""The clients of the other scenarios find what they must find: here Kafka loses records, and partitions are offline.

The Kafka is from plain manifests, so nothing of the operator takes part.
"""

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException

from harness import clients, nodes
from harness.client.topics import Topic
from harness.clients import Clients
from harness.plain import PlainKafka
from harness.shell import get, kubectl, run, succeed, wait_until
from testbed.config import SOURCE

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(600)]

LEADER, FOLLOWER, OTHER = 100, 101, 102
SAFE = Topic(name="safe", partitions=3)
LOSSY = Topic(
    name="lossy",
    min_isr=1,
    assignment=((LEADER, FOLLOWER),),
    config={"unclean.leader.election.enable": "true"},
)
SINGLE = Topic(name="single", min_isr=1, assignment=((LEADER,),))
_FENCED_TIMEOUT_S = 60.0
_RECORDS = 50


@pytest.fixture
def plain() -> Iterator[PlainKafka]:
    """A Kafka of three brokers from plain manifests."""
    succeed("python3", str(SOURCE), "base-images", timeout_s=600)
    succeed("python3", str(SOURCE), "load", "testbed/kafka:4.4.0", timeout_s=300)
    namespace = f"plain-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", namespace)
    kafka = PlainKafka(namespace=namespace)
    kafka.apply()
    yield kafka
    run("kubectl", "-n", namespace, "delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")
    run("kubectl", "delete", "namespace", namespace, "--wait=false")


def test_an_unclean_election_is_a_loss_and_a_broker_away_an_outage(plain: PlainKafka) -> None:
    """Records that only a broker had which was elected away are reported as lost, and no others.

    The only replica of a partition does not answer: it is reported as offline. Partitions of three replicas stay
    available and keep everything.
    """

    def seen() -> tuple[list[int], int]:
        """ISR and leader of the partition that loses records; nothing if the third broker did not answer."""
        try:
            row = plain.client(OTHER).list_topics(timeout=3).topics[LOSSY.name].partitions[0]
        except KafkaException:
            return [], -1
        return sorted(row.isrs), int(row.leader)

    topics = (SAFE, LOSSY, SINGLE)
    with Clients(namespace=plain.namespace, bootstrap=plain.bootstrap, image=clients.image(), topics=topics) as users:
        wait_until("both are in sync", lambda: seen()[0] == [LEADER, FOLLOWER], _FENCED_TIMEOUT_S)
        leading = get(plain.namespace, "pod", f"broker-{LEADER - 100}")
        behind = get(plain.namespace, "pod", f"broker-{FOLLOWER - 100}")
        with nodes.frozen(behind):
            wait_until("the follower is out of the ISR", lambda: seen()[0] == [LEADER], _FENCED_TIMEOUT_S)
            before = users.account()["acknowledged"]
            wait_until("more records", lambda: users.account()["acknowledged"] > before + _RECORDS, 60)
            nodes.signal_container(leading, "SIGSTOP")
        wait_until("the follower leads", lambda: seen()[1] == FOLLOWER, _FENCED_TIMEOUT_S)
        nodes.signal_container(leading, "SIGCONT")
        wait_until("both are in sync", lambda: seen()[0] == [LEADER, FOLLOWER], _FENCED_TIMEOUT_S)
        users.wait_more()
        offline, verdict = users.outages("offline"), users.finish()
    print(verdict.examples)
    assert verdict.lost > 0
    assert all(text.startswith("lossy-0") for text in verdict.examples)
    assert {row.partition for row in offline} >= {"single-0"}
    assert not [row for row in offline if row.replicas >= 3]
