"""The operator's reads and its one write, against real ZooKeeper servers of Kafka 3.9.2."""

import asyncio
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_acl
from tests.live.jars import Kafka, ensure_kafka
from tests.live.ports import HOST, free_port
from tests.live.zookeeper_server import VERSION, Authority, ZooKeeperServer, jaas

from kafka_quorum.errors import (
    ZooKeeperChanged,
    ZooKeeperDenied,
    ZooKeeperError,
    ZooKeeperMalformed,
    ZooKeeperUnreachable,
    ZooKeeperUnusable,
)
from kafka_quorum.model.beside import to_give_back
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import (
    ControllerNode,
    EpochNode,
    GiveBack,
    ZooKeeperAccess,
    ZooKeeperSecret,
    ZooKeeperSeen,
)
from kafka_quorum.wire.zookeeper import KazooZooKeepers

pytestmark = [pytest.mark.live, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

PASSWORD = "correct-horse 9$"  # noqa: S105 - a test's own
NONE = ZooKeeperSecret()
KAFKA_USER = ZooKeeperSecret(username="kafka", password=PASSWORD)
CONTROLLER = {"version": 2, "brokerid": 3000, "timestamp": "1700000000000", "kraftControllerEpoch": 7}
MIGRATION = {
    "version": 0,
    "kraft_controller_id": 3000,
    "kraft_controller_epoch": 7,
    "kraft_metadata_offset": 120,
    "kraft_metadata_epoch": 7,
}
UNCLAIMED = {
    "version": 0,
    "kraft_metadata_offset": -1,
    "kraft_controller_id": -1,
    "kraft_metadata_epoch": -1,
    "kraft_controller_epoch": -1,
}
"""What the driver creates when it starts, before it claims the cluster."""
KEPT = ("brokers/ids", "brokers/topics", "config/topics", "config/brokers", "config/users", "config/changes")


@pytest.fixture(scope="module")
def release() -> Kafka:
    """The last release with ZooKeeper."""
    return ensure_kafka(VERSION)


@pytest.fixture(scope="module")
def plain(release: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """A server without security."""
    server = ZooKeeperServer(release, tmp_path_factory.mktemp("plain"))
    server.start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def digest(release: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """A server with users, that lets clients without a user connect too."""
    home = tmp_path_factory.mktemp("digest")
    provider = {"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"}
    users = jaas(home, {"kafka": PASSWORD, "other": "other-password"})
    server = ZooKeeperServer(release, home, provider, (f"-Djava.security.auth.login.config={users}",))
    server.start()
    yield server
    server.close()


@pytest.fixture
def world(plain: ZooKeeperServer, request: pytest.FixtureRequest) -> Iterator["World"]:
    """Kafka's nodes below a path of this test's own."""
    made = World.make(plain, f"/{request.node.name.replace('[', '-').replace(']', '')}")
    yield made
    made.client.stop()
    made.client.close()


class World:
    """Nodes below a path, and where they are."""

    def __init__(self, client: KazooClient, chroot: str, access: ZooKeeperAccess) -> None:
        """As `make` fills it."""
        self.client, self.chroot, self.access = client, chroot, access

    @classmethod
    def make(cls, server: ZooKeeperServer, chroot: str) -> "World":
        """Two brokers, two topics, and a KRaft controller that leads."""
        client = server.client()
        world = cls(client, chroot, ZooKeeperAccess(connect=server.connect + chroot))
        for path in KEPT:
            client.ensure_path(f"{chroot}/{path}")
        world.put("cluster/id", {"version": "1", "id": "AAAAAAAAQACAAAAAAAAAAQ"})
        world.put("controller", CONTROLLER)
        world.put("controller_epoch", 4)
        world.put("migration", MIGRATION)
        for node_id in (1, 2):
            world.put(f"brokers/ids/{node_id}", {"endpoints": [f"PLAIN://b{node_id}:9092"], "version": 5})
        world.put("brokers/topics/orders", {"partitions": {"0": [1, 2], "1": [2, 9]}, "adding_replicas": {"1": [9]}})
        world.put("brokers/topics/orders/partitions/0/state", {"controller_epoch": 3, "leader": 1, "isr": [1, 2]})
        world.put("brokers/topics/orders/partitions/1/state", {"controller_epoch": 4, "leader": 2, "isr": [2]})
        return world

    def put(self, path: str, value: Any, **named: Any) -> None:  # noqa: ANN401 - any JSON
        """Create a node, or write it."""
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        full = f"{self.chroot}/{path}"
        if self.client.exists(full):
            self.client.set(full, data)
        else:
            self.client.create(full, data, makepath=True, **named)

    def held(self, path: str) -> bytes | None:
        """What a node holds, None if it is absent."""
        full = f"{self.chroot}/{path}"
        return self.client.get(full)[0] if self.client.exists(full) else None

    def tree(self) -> dict[str, tuple[bytes, int]]:
        """Every node with its content and version."""
        found: dict[str, tuple[bytes, int]] = {}
        left = [self.chroot]
        while left:
            path = left.pop()
            data, stat = self.client.get(path)
            found[path] = (data, stat.mzxid)
            left += [f"{path}/{child}" for child in self.client.get_children(path)]
        return found


async def look(access: ZooKeeperAccess, secret: ZooKeeperSecret = NONE, **named: Any) -> ZooKeeperSeen:  # noqa: ANN401
    """One read, with a client of its own."""
    zookeepers = KazooZooKeepers(**{key: named.pop(key) for key in ("limit_s",) if key in named})
    try:
        return await zookeepers.read(access, secret, **{"rights": False, "states": False, **named})
    finally:
        await zookeepers.close()


async def give_back(access: ZooKeeperAccess, what: GiveBack, secret: ZooKeeperSecret = NONE) -> Any:  # noqa: ANN401
    """One write, with a client of its own."""
    zookeepers = KazooZooKeepers()
    try:
        return await zookeepers.give_back(access, secret, what)
    finally:
        await zookeepers.close()


def all_of(seen: ZooKeeperSeen, epoch: int | None = 8) -> GiveBack:
    """Give back everything that a look found."""
    return GiveBack(
        controller=seen.controller, migration=seen.migration, controller_epoch=seen.controller_epoch, epoch=epoch
    )


async def test_a_read_shows_every_node(world: World) -> None:
    """Claims, brokers, assignments, settings, users, ACLs and running changes are read from their nodes."""
    world.put("config/brokers/1", {"version": 1, "config": {"ssl.keystore.password": "x", "log.cleaner.threads": "2"}})
    world.put("config/brokers/<default>", {"version": 1, "config": {"listener.name.a.sasl.jaas.config": "x"}})
    world.put("config/users/alice", {"version": 1, "config": {"SCRAM-SHA-512": "x"}})
    world.put("kafka-acl-extended/prefixed/Topic/orders", {"version": 1, "acls": []})
    world.put("admin/reassign_partitions", {"version": 1, "partitions": [{"topic": "orders", "partition": 0}]})
    world.put("admin/delete_topics/old", b"")
    seen = await look(world.access, states=True)
    assert seen.cluster_id == "AAAAAAAAQACAAAAAAAAAAQ"
    assert seen.controller == ControllerNode(
        node_id=NodeID(3000), kraft_epoch=7, ephemeral=False, version=0, raw=json.dumps(CONTROLLER)
    )
    assert seen.controller_epoch == EpochNode(epoch=4, version=0)
    assert seen.migration is not None
    assert seen.migration.kraft_metadata_offset == 120
    assert [(each.node_id, each.listeners) for each in seen.brokers] == [
        (1, ("PLAIN://b1:9092",)),
        (2, ("PLAIN://b2:9092",)),
    ]
    assert seen.assigned == {1: "orders-0", 2: "orders-0", 9: "orders-1"}
    assert (seen.topics, seen.partitions, seen.state_epoch, seen.behind) == (1, 2, 4, {9: 1})
    assert seen.encoded == ("broker 1: ssl.keystore.password", "all brokers: listener.name.a.sasl.jaas.config")
    assert (seen.acls, seen.users) == (True, True)
    assert (seen.reassigning, seen.deleting) == (("orders-0", "orders-1"), ("old",))
    assert seen.denied == ()


async def test_absent_nodes_are_values(plain: ZooKeeperServer) -> None:
    """Below a path without any node of Kafka's, everything is absent, and nothing is an error."""
    client = plain.client()
    client.ensure_path("/empty")
    seen = await look(ZooKeeperAccess(connect=f"{plain.connect}/empty"), rights=True, states=True)
    client.stop()
    client.close()
    assert (seen.cluster_id, seen.controller, seen.controller_epoch, seen.migration) == ("", None, None, None)
    assert (seen.brokers, seen.assigned, seen.state_epoch, seen.denied) == ((), {}, 0, ())


async def test_the_path_of_the_address_must_exist(plain: ZooKeeperServer) -> None:
    """An address whose path does not exist is an error, not an empty cluster."""
    with pytest.raises(ZooKeeperUnusable, match=r"/nowhere has no node of that path"):
        await look(ZooKeeperAccess(connect=f"{plain.connect}/nowhere"))


async def test_an_ephemeral_controller_is_a_brokers(world: World) -> None:
    """The node of a broker that leads is ephemeral, and has no epoch of KRaft."""
    world.client.delete(f"{world.chroot}/controller")
    world.put("controller", {**CONTROLLER, "brokerid": 1, "kraftControllerEpoch": -1}, ephemeral=True)
    seen = await look(world.access)
    assert seen.controller is not None
    assert (seen.controller.node_id, seen.controller.kraft_epoch, seen.controller.ephemeral) == (1, None, True)
    assert seen.state_epoch is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("controller", b"{"),
        ("controller_epoch", b"-1"),
        ("cluster/id", b"[]"),
        ("brokers/ids/1", {"endpoints": []}),
        ("brokers/ids/x", {"endpoints": ["A://b:1"]}),
        ("brokers/topics/orders", b"\xff"),
        ("brokers/topics/a b", {"partitions": {}}),
        ("config/users/bob", b"7"),
    ],
)
async def test_a_malformed_node_ends_the_read(world: World, path: str, value: Any) -> None:  # noqa: ANN401
    """What Kafka would not write ends the read with an error that names the node."""
    world.put(path, value)
    with pytest.raises(
        ZooKeeperMalformed, match=f"The node /{path.split('/', maxsplit=1)[0]}.*is not one that Kafka writes"
    ):
        await look(world.access)


async def test_a_malformed_migration_is_a_value(world: World) -> None:
    """A malformed `/migration` is shown with its fault, and counts as copied."""
    world.put("migration", b'{"kraft_metadata_offset": "many"}')
    seen = await look(world.access)
    assert seen.migration is not None
    assert seen.migration.copied
    assert "kraft_controller_id" in seen.migration.fault


async def test_the_proof_of_rights_changes_nothing(world: World) -> None:
    """With every right, no node is created, written or deleted by the proof."""
    before = world.tree()
    seen = await look(world.access, rights=True)
    assert seen.denied == ()
    assert world.tree() == before


async def test_a_missing_right_is_named(world: World) -> None:
    """Each node whose ACL does not let the client do what the driver does is named, and nothing changes."""
    reads = [make_acl("world", "anyone", read=True)]
    for path in ("controller_epoch", "brokers/topics/orders", "brokers/topics", "config/topics"):
        world.client.set_acls(f"{world.chroot}/{path}", reads)
    before = world.tree()
    seen = await look(world.access, rights=True)
    assert world.tree() == before
    named = {sentence.partition(", which")[0].partition("without a user ")[2] for sentence in seen.denied}
    assert named == {
        "write /controller_epoch",
        "create and delete nodes below /brokers/topics",
        "create and delete nodes below /config/topics",
        "write /brokers/topics/orders",
        "create and delete nodes below /brokers/topics/orders",
    }


async def test_a_right_to_create_but_not_to_delete_is_missing(world: World) -> None:
    """The right to delete is proved on its own."""
    acl = [make_acl("world", "anyone", read=True, write=True, create=True)]
    world.client.set_acls(f"{world.chroot}/brokers/topics", acl)
    seen = await look(world.access, rights=True)
    assert len(seen.denied) == 1
    assert "below /brokers/topics," in seen.denied[0]


async def test_a_node_that_cannot_be_read_ends_the_read(world: World) -> None:
    """A node that the client may not read is an error, not an absent node."""
    world.client.set_acls(f"{world.chroot}/config/users", [make_acl("ip", "10.0.0.1", all=True)])
    with pytest.raises(ZooKeeperDenied, match="does not let a client without a user read /config/users"):
        await look(world.access)


async def test_the_give_back(world: World) -> None:
    """Both nodes are deleted, the epoch is raised, and what they held is returned."""
    seen = await look(world.access)
    saved = await give_back(world.access, all_of(seen))
    assert (world.held("controller"), world.held("migration"), world.held("controller_epoch")) == (None, None, b"8")
    assert json.loads(saved.controller) == CONTROLLER
    assert json.loads(saved.migration) == MIGRATION
    assert saved.controller_epoch == "4"


async def test_a_give_back_of_what_is_absent(world: World) -> None:
    """A second give-back, of nodes that are absent, changes nothing, and leaves no node behind."""
    await give_back(world.access, all_of(await look(world.access)))
    before = world.tree()
    again = await look(world.access)
    assert (again.controller, again.migration) == (None, None)
    saved = await give_back(world.access, all_of(again, epoch=None))
    assert (saved.controller, saved.migration, saved.controller_epoch) == ("", "", "8")
    assert world.tree().keys() == before.keys()
    assert world.held("controller_epoch") == b"8"


@pytest.mark.parametrize(
    "change", ["controller", "controller again", "controller_epoch", "migration", "migration gone", "controller gone"]
)
async def test_what_changed_since_the_look_is_not_given_back(world: World, change: str) -> None:
    """If any of the three nodes is not as it was seen, nothing is written."""
    seen = await look(world.access)
    name = change.split(" ", maxsplit=1)[0]
    if change.endswith("gone"):
        world.client.delete(f"{world.chroot}/{name}")
    elif change.endswith("again"):
        world.client.delete(f"{world.chroot}/{name}")
        world.put(name, {**CONTROLLER, "timestamp": "1700000000001"})
    else:
        world.put(name, 5 if name == "controller_epoch" else {**MIGRATION, **CONTROLLER})
    before = world.tree()
    with pytest.raises(ZooKeeperChanged, match=f"another /{name} than the last look.*nothing was changed") as failure:
        await give_back(world.access, all_of(seen))
    assert not failure.value.outcome_unknown
    assert world.tree() == before


async def test_a_broker_that_leads_stays(world: World) -> None:
    """Before a KRaft controller claimed the cluster, only `/migration` is deleted: the broker's claim stays."""
    world.client.delete(f"{world.chroot}/controller")
    world.put("controller", {**CONTROLLER, "brokerid": 1, "kraftControllerEpoch": -1})
    world.put("migration", UNCLAIMED)
    before = world.tree()
    await give_back(world.access, to_give_back(await look(world.access, states=True)))
    assert world.held("migration") is None
    kept = world.tree()
    assert {path: node for path, node in before.items() if path in kept} == kept
    assert len(kept) == len(before) - 1


async def test_a_broker_below_an_epoch_of_kraft_makes_room(world: World) -> None:
    """A broker that was elected below an epoch that KRaft wrote cannot lead those partitions: it is elected again."""
    world.client.delete(f"{world.chroot}/controller")
    world.put("controller", {**CONTROLLER, "brokerid": 1, "kraftControllerEpoch": -1})
    await give_back(world.access, to_give_back(await look(world.access, states=True)))
    assert (world.held("controller"), world.held("migration"), world.held("controller_epoch")) == (None, None, b"8")


async def test_what_appears_is_not_overwritten(world: World) -> None:
    """A node that was absent at the look, and exists at the write, fails the write."""
    for name in ("controller", "migration"):
        world.client.delete(f"{world.chroot}/{name}")
    seen = await look(world.access)
    world.put("migration", MIGRATION)
    before = world.tree()
    with pytest.raises(ZooKeeperChanged, match="/migration"):
        await give_back(world.access, all_of(seen))
    assert world.tree() == before


@pytest.mark.parametrize("name", ["controller", "controller_epoch", "migration", "absent migration"])
async def test_a_change_between_the_second_read_and_the_write(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction itself refuses what changes after the write's own read."""
    from kafka_quorum.wire import zookeeper_write  # noqa: PLC0415

    absent, name = name.startswith("absent "), name.rpartition(" ")[2]
    if absent:
        world.client.delete(f"{world.chroot}/{name}")
    seen, steps = await look(world.access), zookeeper_write.steps

    def late(session: Any, what: GiveBack) -> Any:  # noqa: ANN401
        world.put(name, 9 if name == "controller_epoch" else CONTROLLER)
        return steps(session, what)

    monkeypatch.setattr(zookeeper_write, "steps", late)
    with pytest.raises(ZooKeeperChanged, match=f"another /{name} .*changed while"):
        await give_back(world.access, all_of(seen))
    assert world.held("controller") is not None
    assert world.held("migration") is not None
    assert world.held("controller_epoch") == (b"9" if name == "controller_epoch" else b"4")


async def test_a_give_back_without_the_right(world: World) -> None:
    """A right that is missing is named, and nothing is written."""
    seen = await look(world.access)
    world.client.set_acls(f"{world.chroot}/controller_epoch", [make_acl("world", "anyone", read=True)])
    before = world.tree()
    with pytest.raises(ZooKeeperDenied, match=r"delete or write /controller_epoch.*nothing was changed"):
        await give_back(world.access, all_of(seen))
    assert world.tree() == before


async def test_no_server() -> None:
    """No server is an error of the path, within the limit."""
    with pytest.raises(ZooKeeperUnreachable, match=r"no connection within.*refused"):
        await look(ZooKeeperAccess(connect=f"{HOST}:{free_port()}"), limit_s=1.0)


async def test_a_frozen_server(release: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that stops to answer ends a read in an error, and a write with an unknown outcome."""
    from kafka_quorum.wire import zookeeper_write  # noqa: PLC0415

    server = ZooKeeperServer(release, tmp_path / "frozen")
    server.start()
    try:
        world = World.make(server, "/kafka")
        seen, steps = await look(world.access), zookeeper_write.steps

        def freeze(session: Any, what: GiveBack) -> Any:  # noqa: ANN401
            server.running.freeze()
            return steps(session, what)

        monkeypatch.setattr(zookeeper_write, "steps", freeze)
        zookeepers = KazooZooKeepers(limit_s=3.0)
        with pytest.raises(ZooKeeperError, match="did not answer whether") as failure:
            await zookeepers.give_back(world.access, NONE, all_of(seen))
        assert failure.value.outcome_unknown
        assert not failure.value.retry_safe
        with pytest.raises(ZooKeeperUnreachable) as unread:
            await zookeepers.read(world.access, NONE, rights=False, states=False)
        assert not unread.value.outcome_unknown
        await zookeepers.close()
    finally:
        server.close()


async def test_a_user_with_a_password(digest: ZooKeeperServer) -> None:
    """DIGEST-MD5 authenticates the user: nodes that only it may use can be read, and are writable to it."""
    world = World.make(digest, "/secured")
    access = world.access
    kafkas = [make_acl("sasl", "kafka", all=True)]
    for path in ("config/users", "controller_epoch", "brokers/topics"):
        world.client.set_acls(f"/secured/{path}", kafkas)
    seen = await look(access, KAFKA_USER, rights=True)
    assert seen.denied == ()
    with pytest.raises(ZooKeeperDenied, match="does not let the Secret's user read"):
        await look(access, ZooKeeperSecret(username="other", password="other-password"))  # noqa: S106
    await give_back(access, all_of(seen), KAFKA_USER)
    assert world.held("controller") is None
    world.client.stop()
    world.client.close()


@pytest.mark.parametrize("user", ["kafka", "nobody"])
async def test_a_wrong_password(digest: ZooKeeperServer, user: str, caplog: pytest.LogCaptureFixture) -> None:
    """A wrong password is an error, and no log has the password, the user, or the answer made of them."""
    caplog.set_level(logging.NOTSET)
    wrong = ZooKeeperSecret(username=user, password="hunter22")  # noqa: S106
    with pytest.raises(ZooKeeperDenied, match="refused the Secret's user") as failure:
        await look(ZooKeeperAccess(connect=digest.connect), wrong)
    assert "hunter22" not in str(failure.value) + caplog.text
    assert f"'{user}'" not in str(failure.value) + caplog.text
    assert "response=" not in caplog.text


async def test_a_user_where_there_are_none(plain: ZooKeeperServer) -> None:
    """A server without SASL is an error for a Secret with a user: it would be used without one otherwise."""
    with pytest.raises(ZooKeeperError) as failure:
        await look(ZooKeeperAccess(connect=plain.connect), KAFKA_USER, limit_s=8.0)
    assert PASSWORD not in str(failure.value)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Who issues the certificates of both sides."""
    return Authority.make(tmp_path_factory.mktemp("authority") / "ca")


def secured(release: Kafka, home: Path, authority: Authority, *names: str) -> ZooKeeperServer:
    """A server with TLS that requires a client's certificate; its own has these names."""
    certificate, key = authority.issue(f"server-{home.name}", *names)
    home.mkdir(parents=True, exist_ok=True)
    (home / "server.pem").write_text(key + certificate)
    (home / "ca.pem").write_text(authority.certificate)
    config = {
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.keyStore.location": str(home / "server.pem"),
        "ssl.keyStore.password": "",
        "ssl.trustStore.location": str(home / "ca.pem"),
        "ssl.clientAuth": "need",
        "authProvider.x509": "org.apache.zookeeper.server.auth.X509AuthenticationProvider",
    }
    return ZooKeeperServer(release, home, config, secure_port=free_port())


@pytest.fixture(scope="module")
def tls(release: Kafka, authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """A server with TLS, for `localhost`."""
    server = secured(release, tmp_path_factory.mktemp("tls"), authority, "DNS:localhost")
    server.start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def client_secret(authority: Authority) -> ZooKeeperSecret:
    """The Secret of a client that the server accepts."""
    certificate, key = authority.issue("client")
    return ZooKeeperSecret(ca=authority.certificate, certificate=certificate, key=key)


async def test_tls_with_a_clients_certificate(
    tls: ZooKeeperServer, client_secret: ZooKeeperSecret, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides show a certificate, and no file of the client's stays."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen = await look(ZooKeeperAccess(connect=f"localhost:{tls.secure_port}"), client_secret, rights=True)
    assert seen.cluster_id == ""
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - as short as it is quick


async def test_a_server_with_another_name_is_refused(tls: ZooKeeperServer, client_secret: ZooKeeperSecret) -> None:
    """A certificate of the right authority, for another name than the address has, is refused."""
    with pytest.raises(ZooKeeperUnreachable, match=r"not valid for '127\.0\.0\.1'"):
        await look(ZooKeeperAccess(connect=f"{HOST}:{tls.secure_port}"), client_secret, limit_s=4.0)


async def test_a_server_of_another_authority_is_refused(
    tls: ZooKeeperServer, client_secret: ZooKeeperSecret, tmp_path: Path
) -> None:
    """A certificate of an authority that is not in the Secret is refused."""
    stranger = Authority.make(tmp_path / "stranger").certificate
    with pytest.raises(ZooKeeperUnreachable, match="certificate verify failed"):
        await look(
            ZooKeeperAccess(connect=f"localhost:{tls.secure_port}"), replace(client_secret, ca=stranger), limit_s=4.0
        )


async def test_a_client_without_a_certificate_is_refused(tls: ZooKeeperServer, authority: Authority) -> None:
    """A server that requires the client's certificate ends the connection, which is an error."""
    with pytest.raises(ZooKeeperUnreachable):
        await look(
            ZooKeeperAccess(connect=f"localhost:{tls.secure_port}"),
            ZooKeeperSecret(ca=authority.certificate),
            limit_s=4.0,
        )


async def test_many_topics(plain: ZooKeeperServer, capsys: pytest.CaptureFixture[str]) -> None:
    """A cluster of 2,000 topics is read as a whole, states and rights too, within the limit."""
    client = plain.client()
    client.ensure_path("/many/brokers/topics")
    topic = json.dumps({"partitions": {str(index): [1, 2, 3] for index in range(5)}}).encode()
    state = json.dumps({"controller_epoch": 2, "isr": [1]}).encode()
    pending: list[Any] = []
    for number in range(2_000):
        transaction = client.transaction()
        path = f"/many/brokers/topics/topic-{number}"
        transaction.create(path, topic)
        transaction.create(f"{path}/partitions")
        for index in range(5):
            transaction.create(f"{path}/partitions/{index}")
            transaction.create(f"{path}/partitions/{index}/state", state)
        pending.append(transaction.commit_async())
        if len(pending) >= 100:
            pending.pop(0).get(timeout=60)
    for each in pending:
        await asyncio.to_thread(each.get, timeout=60)
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    seen = await look(ZooKeeperAccess(connect=f"{plain.connect}/many"), rights=True, states=True, limit_s=60.0)
    with capsys.disabled():
        print(f"\n2,000 topics, 10,000 states and rights: {loop.time() - begun_s:.1f} s")  # noqa: T201 - a figure
    client.stop()
    client.close()
    assert (seen.topics, seen.partitions, seen.state_epoch, len(seen.assigned)) == (2_000, 10_000, 2, 3)
