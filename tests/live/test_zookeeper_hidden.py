"""What a broker with ACLs answers to a client that must not see a topic: as if there were none."""

from pathlib import Path

import pytest
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from tests.live.jars import ensure_kafka
from tests.live.test_zookeeper_pool import RELEASE, Looks
from tests.live.waiting import wait_for
from tests.live.zookeeper_world import ZooKeeperWorld

from kafka_brokers.plan.guards.availability import last_copies, objections
from kafka_quorum.model.ids import NodeID
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.connection import Limits

pytestmark = [pytest.mark.live, pytest.mark.full, pytest.mark.timeout(600)]

ACLS = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "allow.everyone.if.no.acl.found": "true"}


@pytest.mark.parametrize("super_user", [False, True])
async def test_a_topic_that_is_hidden(tmp_path: Path, *, super_user: bool) -> None:
    """Everything of a look is answered, and the topic is missing in it, unless the client is a super user."""
    users = {"super.users": "User:ANONYMOUS"} if super_user else {}
    world = ZooKeeperWorld(ensure_kafka(RELEASE), tmp_path, brokers=(1,), broker_config={**ACLS, **users})
    client = KafkaBrokers(Limits(connect_timeout_s=2.0, request_timeout_s=5.0))
    looks = Looks(world, client)

    async def topics() -> set[str]:
        return {row.at.topic for row in (await looks.known())[1].partitions}

    async def is_as_it_should_be() -> bool | None:
        return True if await topics() == {"open", "secret"} else None

    async def is_hidden() -> bool | None:
        return True if await topics() == {"open"} else None

    try:
        world.open()
        world.topic("open", partitions=1, replicas=1)
        world.topic("secret", partitions=1, replicas=1)
        await wait_for("both topics", is_as_it_should_be)
        with world.admin() as admin:
            rule = AclBinding(
                ResourceType.TOPIC,
                "secret",
                ResourcePatternType.LITERAL,
                "User:alice",
                "*",
                AclOperation.READ,
                AclPermissionType.ALLOW,
            )
            for made in admin.create_acls([rule]).values():
                made.result(20.0)
        if super_user:
            assert await topics() == {"open", "secret"}
            return
        await wait_for("the ACL", is_hidden)
        _, view = await looks.known()
        named = {one.at.topic for one in objections(view, NodeID(1), frozenset())}
        assert named | {one.at.topic for one in last_copies(view, NodeID(1))} == {"open"}
    finally:
        await client.close()
        world.close()
