"""The operator makes the brokers' users of a Secret, on real controllers; a real broker lets them in, or not."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from tests.live.brokers import LiveBrokers
from tests.live.cluster import NAME, NAMESPACE, LiveCluster
from tests.live.jars import Kafka
from tests.live.process import ServerProcess
from tests.live.test_reconcile import spec
from tests.live.test_scram import World, made, with_scram
from tests.live.waiting import wait_for

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.ids import ClusterID
from kafka_quorum.model.names import USED_BY, reader, scram_name
from kafka_quorum.model.scram import ScramEntry, ScramMechanism
from kit.kube.protocol import CONFIG_MAPS, PODS, Json
from kit.kube.secrets import SECRETS

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

GIVEN: Final = "brokers-users"
IDS: Final = {3000, 3001, 3002}


@dataclass(slots=True)
class Operated:
    """A quorum of the operator's, and a broker of somebody else."""

    quorum: LiveCluster
    world: World

    def gives(self, users: dict[str, bytes]) -> None:
        """A person writes the Secret."""
        kube = self.quorum.kube
        data = {user: base64.b64encode(word).decode() for user, word in users.items()}
        metadata: Json = {"name": GIVEN, "namespace": NAMESPACE, "annotations": {USED_BY: reader(NAME)}}
        if kube.get(SECRETS, NAMESPACE, GIVEN) is not None:
            kube.remove(SECRETS, NAMESPACE, GIVEN)
        kube.create(SECRETS, NAMESPACE, {"metadata": metadata, "data": data})

    def stored(self) -> str:
        """Every ConfigMap and pod, and the resource."""
        items = [*self.quorum.kube.all(CONFIG_MAPS), *self.quorum.kube.all(PODS), self.quorum.resource]
        return repr(items)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def operated(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Operated]:
    """Three controllers that the operator made, and a broker with a listener for users."""
    home = tmp_path_factory.mktemp("quorum")
    cluster = LiveCluster(kafka, home)
    brokers = LiveBrokers(kafka, Path(tmp_path_factory.mktemp("broker")), brokers=(), controllers=())
    await cluster.open()
    try:
        users = {"security": {"brokers": {"scramUsersSecretName": GIVEN}}}
        cluster.apply({**spec("InitialControllers", IDS), **users})
        await cluster.ready(IDS)
        brokers.quorum.cluster_id = ClusterID(cluster.resource["status"]["clusterID"])
        broker = brokers.add(1)
        servers = ",".join(f"{at.host}:{at.port}" for at in cluster.kubelet.endpoints)
        broker.config["controller.quorum.bootstrap.servers"] = servers
        port = with_scram(brokers, broker)
        brokers.format(broker)
        options = (f"-Djdk.net.hosts.file={home / 'hosts'}", "-Xmx256m")  # the names of the controllers' pods
        broker.process = ServerProcess(
            kafka.command("kafka.Kafka", str(broker.properties), options=options), broker.log
        )
        await brokers.all_unfenced()
        yield Operated(quorum=cluster, world=World(cluster=brokers, port=port))
    finally:
        await brokers.close()
        await cluster.close()


async def test_users_from_a_secret(operated: Operated) -> None:
    """A user can log in; after a change only with the new password; a user that left the Secret cannot log in.

    A user of others keeps its password, although the Secret has the name; and no password is outside of Secrets.
    """
    world, leader = operated.world, (await operated.quorum.recorder.look())
    assert leader is not None
    at = next(each for each in operated.quorum.kubelet.endpoints if each.node_id == leader.leader_id)
    await world.controllers.alter_scram(at, made("eve", "hers"))
    operated.gives({"ada": b"first-password\n", "bob": b"second-password", "eve": b"third-password", "bad": b"\xff"})
    await world.until("ada", "first-password", works=True)
    await world.until("bob", "second-password", works=True)

    operated.gives({"ada": b"fourth-password", "eve": b"third-password"})
    await world.until("ada", "fourth-password", works=True)
    assert not await world.may_log_in("ada", "first-password")
    await world.until("bob", "second-password", works=False)
    assert await world.may_log_in("eve", "hers")
    assert not await world.may_log_in("eve", "third-password")

    entries = await world.cluster.client.describe_scram(world.broker, ("ada", "bob", "eve"))
    assert entries == tuple(
        ScramEntry(user=user, mechanism=ScramMechanism.SHA_512, iterations=8192) for user in ("ada", "eve")
    )

    async def says() -> bool | None:
        return "eve" in operated.quorum.condition("Progressing").get("message", "") or None

    await wait_for("the sentence about the user of others", says)
    assert operated.quorum.kube.get(SECRETS, NAMESPACE, scram_name(NAME)) is not None
    assert "-password" not in operated.stored()


async def test_a_new_operator_writes_nothing(operated: Operated) -> None:
    """A new process finds everything made, and writes the record no more."""

    def version() -> str:
        item = operated.quorum.kube.get(SECRETS, NAMESPACE, scram_name(NAME))
        return "" if item is None else str(item["metadata"]["resourceVersion"])

    async def done() -> bool | None:
        return operated.quorum.condition("Progressing").get("reason") == "Done" or None

    operated.gives({"ada": b"fourth-password"})
    await operated.world.until("ada", "fourth-password", works=True)
    await wait_for("a record with every user", done)
    before = version()
    assert before
    await operated.quorum.stop_operator()
    resource = operated.quorum.resource
    operated.quorum.kube.put_status(QUORUMS, resource, {**resource["status"], "conditions": []})
    operated.quorum.start_operator()
    await wait_for("an operator that has nothing to do", done)
    assert version() == before
    assert await operated.world.may_log_in("ada", "fourth-password")
