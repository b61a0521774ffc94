"""What the operator's certificate may do at controllers with an authorizer: all that it sends needs a right of it."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Protocol

import pytest
import pytest_asyncio
from tests.live.brokers import LiveBroker
from tests.live.jars import DEFAULT_VERSION, ensure_kafka
from tests.live.ports import HOST
from tests.live.quorum import LISTENER, LiveNode, LiveQuorum, new_uuid
from tests.live.trust import UNIT, TrustedThree
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.brokers import ConfigChange, Move, TopicPartition
from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.quorum import (
    AddVoter,
    Endpoint,
    FeatureStep,
    Listener,
    RegisterController,
    RemoveVoter,
    UpdateFeature,
)
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.broker_admin import KafkaBrokers

pytestmark = [pytest.mark.live, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

DENIED: Final = re.compile(
    r"Principal = (\S+) is Denied operation = (\S+) from .* on resource = (\S+) for request = (\S+)"
)
AT: Final = TopicPartition(topic="t", index=0)
CLUSTER: Final = "Cluster:LITERAL:kafka-cluster"
KEY: Final = ReplicaKey(node_id=NodeID(9), directory_id=DirectoryID(new_uuid()))
LISTENERS: Final = (Listener(name=LISTENER, host=HOST, port=1),)


class Asks(Protocol):
    """The operator's clients, and the quorum that is asked."""

    @property
    def controllers(self) -> KafkaControllers:
        """For controllers."""

    @property
    def settings(self) -> KafkaBrokers:
        """For brokers, and for what controllers answer of them."""

    @property
    def quorum(self) -> LiveQuorum:
        """Its cluster id."""


Send = Callable[[Asks, Endpoint], Awaitable[object]]
REQUESTS: Final[dict[str, tuple[Send, str, str]]] = {
    "DescribeCluster": (lambda three, at: three.controllers.describe_cluster(at), "ALTER", CLUSTER),
    "DescribeQuorum": (lambda three, at: three.controllers.describe_quorum(at), "DESCRIBE", CLUSTER),
    "AddRaftVoter": (
        lambda three, at: three.controllers.add_voter(
            at, AddVoter(cluster_id=three.quorum.cluster_id, voter=KEY, listeners=LISTENERS, timeout_ms=1000)
        ),
        "ALTER",
        CLUSTER,
    ),
    "RemoveRaftVoter": (
        lambda three, at: three.controllers.remove_voter(
            at, RemoveVoter(cluster_id=three.quorum.cluster_id, voter=KEY)
        ),
        "ALTER",
        CLUSTER,
    ),
    "UpdateFeatures": (
        lambda three, at: three.controllers.update_feature(
            at,
            UpdateFeature(step=FeatureStep(name="metadata.version", level=99), validate_only=True, timeout_ms=1000),
        ),
        "ALTER",
        CLUSTER,
    ),
    "ControllerRegistration": (
        lambda three, at: three.controllers.register_controller(
            at,
            RegisterController(node_id=NodeID(9), incarnation_id=new_uuid(), listeners=LISTENERS, supported=()),
        ),
        "CLUSTER_ACTION",
        CLUSTER,
    ),
    "UnregisterController": (
        lambda three, at: three.controllers.unregister_controller(at, NodeID(9)),
        "ALTER",
        CLUSTER,
    ),
    "DescribeConfigs": (
        lambda three, at: three.settings.describe_broker_config(at, at.node_id),
        "DESCRIBE_CONFIGS",
        CLUSTER,
    ),
    "IncrementalAlterConfigs": (
        lambda three, at: three.settings.alter_broker_config(
            at, at.node_id, (ConfigChange(name="log.cleaner.threads", value="1"),)
        ),
        "ALTER_CONFIGS",
        CLUSTER,
    ),
    "IncrementalAlterConfigs of a topic": (
        lambda three, at: three.settings.alter_topic_config(at, "t", (ConfigChange(name="retention.ms", value="1"),)),
        "ALTER_CONFIGS",
        "Topic:LITERAL:t",
    ),
    "UnregisterBroker": (lambda three, at: three.settings.unregister_broker(at, NodeID(77)), "ALTER", CLUSTER),
    "ListPartitionReassignments": (lambda three, at: three.settings.reassignments(at), "DESCRIBE", CLUSTER),
    "AlterPartitionReassignments": (
        lambda three, at: three.settings.reassign(at, (Move(at=AT, replicas=None),)),
        "ALTER",
        CLUSTER,
    ),
    "ElectLeaders": (lambda three, at: three.settings.elect_preferred(at, (AT,)), "ALTER", CLUSTER),
}
"""Each request with the operation and the resource of which it needs a right."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def three(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TrustedThree]:
    """Controllers of which controllers, brokers and another client are super users, and the operator is none."""
    users = ";".join(f"User:CN={name},OU={UNIT},O=kafka" for name in ("controllers", "brokers", "super"))
    world = TrustedThree(
        ensure_kafka(DEFAULT_VERSION),
        tmp_path_factory.mktemp("rights"),
        config={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": users,
        },
        operator_name="super",
    )
    try:
        await world.open()
        await authorizing(world)
        yield world
    finally:
        await world.close()


async def authorizing(three: TrustedThree) -> None:
    """Waits until the leader has read the rights: until then it answers UNKNOWN_SERVER_ERROR to all but super users."""

    async def refused() -> bool | None:
        leader = await three.leader()
        try:
            await three.settings.unregister_broker(three.at(leader, three.ca.leaf("operator", unit=UNIT)), NodeID(78))
        except KafkaRefused as error:
            return True if "AUTHORIZATION_FAILED" in str(error) else None
        return None

    await wait_for("a leader that has read the rights", refused)


def denied(node: LiveNode | LiveBroker) -> list[tuple[str, ...]]:
    """What the server's authorizer has refused so far."""
    return [found.groups() for found in DENIED.finditer(node.log.read_text(errors="replace"))]


@pytest.mark.parametrize("name", REQUESTS)
async def test_every_request_needs_a_right(three: TrustedThree, name: str) -> None:
    """Without a right the request is refused with a code of authorization, for this operation on this resource."""
    send, operation, resource = REQUESTS[name]
    leader = await three.leader()
    before = len(denied(leader))
    with pytest.raises(KafkaRefused, match="AUTHORIZATION_FAILED"):
        await send(three, three.at(leader, three.ca.leaf("operator", unit=UNIT)))

    async def logged() -> list[tuple[str, ...]] | None:
        return denied(leader)[before:] or None

    rows = await wait_for("the refusal in the log", logged)
    assert set(rows) == {(f"User:CN=operator,OU={UNIT},O=kafka", operation, resource, name.split(maxsplit=1)[0])}


async def test_versions_need_no_right(three: TrustedThree) -> None:
    """ApiVersions, and so a probe, is answered to every client whose certificate is accepted."""
    client = three.ca.leaf("operator", unit=UNIT)
    leader = await three.leader()
    assert (await three.controllers.api_versions(three.at(leader, client))).supported
    assert await three.accepts(leader, client)
