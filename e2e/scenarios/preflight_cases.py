"""Everything that can be in the way of a migration from ZooKeeper, each with the real cause that makes it.

A case makes its cause on entry and removes it on exit; meanwhile the preflight names exactly its blockers.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from harness import broker_settings, nodes
from harness.quorum import Quorum
from harness.reassign import reassign
from harness.shell import wait_until
from harness.zookeeper_brokers import (
    KRAFT_AUTHORIZER,
    PORT,
    REPLICATION_PORT,
    SASL_PORT,
    ZOOKEEPER_AUTHORIZER,
    ZooKeeperBrokers,
)
from scenarios.preflight_world import BROKERS, OWN, PROTOCOLS, SECOND_DIRECTORY, World

GUEST: Final = 9
"""The pod of a broker without an id of its own, which gets 1001."""
OTHER_CLUSTER: Final = "AAAACAAAAAgAAAAIAAAACA"
_JAAS: Final = "listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config"
_CONTROLLER_PORT: Final = 9093
_GONE_TIMEOUT_S: Final = 120.0
_DEGRADED_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a blocker must say: patterns of its object, of what was found, and of the way out."""

    object: str
    found: str
    way_out: str
    unknown: bool = False


Cause = Callable[[World], AbstractContextManager["Quorum | None"]]
"""Makes the cause while it lasts. It yields the quorum that is in a dry run beside it, None for that of the world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cause, and all that the preflight names then, by code."""

    name: str
    cause: Cause
    named: Mapping[str, Said]


# --- what the spec requests -------------------------------------------------------------------------------------------


def _patched(name: str, changes: dict[str, object], **named: Said) -> Case:
    @contextmanager
    def cause(world: World) -> Iterator[None]:
        with world.patched(changes):
            yield

    return Case(name=name, cause=cause, named=named)


def _at_chroot(name: str, chroot: str, **named: Said) -> Case:
    @contextmanager
    def cause(world: World) -> Iterator[None]:
        with world.patched({"zookeeper": {"connect": world.ensemble.connect + chroot}}):
            yield

    return Case(name=name, cause=cause, named=named)


@contextmanager
def _other_cluster(world: World) -> Iterator[Quorum]:
    other = Quorum(namespace=world.quorum.namespace, name="other")
    other.apply(world.spec() | {"clusterID": OTHER_CLUSTER})
    try:
        yield other
    finally:
        other.delete()


@contextmanager
def _no_login(world: World) -> Iterator[None]:
    """The addresses are those of a listener that wants a password."""
    servers = [world.sasl_at(node_id) for node_id in BROKERS]
    with world.patched({"brokerAccess": {"bootstrapServers": servers}}):
        yield


@contextmanager
def _kraft_broker(world: World) -> Iterator[None]:
    """The address is that of another cluster, which uses KRaft, and has a broker with the same id."""
    brokers = ZooKeeperBrokers(
        namespace=world.elsewhere,
        connect=world.ensemble.connect,
        node_ids=(BROKERS[0],),
        cluster_id=OTHER_CLUSTER,
        own=OWN | {"authorizer.class.name": KRAFT_AUTHORIZER},
        page="process.roles=broker,controller\n# zookeeper.connect must not be set",
        replication=True,
    )
    ports = (("PLAINTEXT", PORT), ("SASL_PLAINTEXT", SASL_PORT), ("REPLICATION", REPLICATION_PORT))
    brokers.single[BROKERS[0]] = {
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"{BROKERS[0]}@127.0.0.1:{_CONTROLLER_PORT}",
        "listeners": ",".join(f"{name}://:{port}" for name, port in (*ports, ("CONTROLLER", _CONTROLLER_PORT))),
    }
    with ExitStack() as stack:
        stack.callback(brokers.stop)
        brokers.add(BROKERS[0])
        address = f"{brokers.address(BROKERS[0])}:{PORT}"
        stack.enter_context(world.patched({"brokerAccess": {"bootstrapServers": [address]}}))
        yield


# --- what ZooKeeper has -----------------------------------------------------------------------------------------------


@contextmanager
def _outage(world: World) -> Iterator[None]:
    """No ZooKeeper server runs."""
    world.ensemble.scale(0)
    try:
        yield
    finally:
        world.ensemble.scale(world.ensemble.size)
        world.wait_settled()


@contextmanager
def _nobody_may_lead(world: World) -> Iterator[None]:
    """No broker may create /controller, and the controller has lost it."""
    try:
        with world.ensemble.limited("/", create=False, delete=True, write=True):
            world.ensemble.delete("/controller")
            yield
    finally:
        world.ensemble.write("/controller", _leads(-1))  # whose deletion lets the brokers elect again
        world.elect()
        world.wait_settled()


@contextmanager
def _kraft_leads(world: World) -> Iterator[None]:
    """/controller as the driver of a migration writes it: it outlasts sessions, and has an epoch of KRaft."""
    world.ensemble.replace("/controller", _leads(7))
    try:
        yield
    finally:
        world.elect()
        world.wait_settled()


def _leads(epoch: int) -> str:
    return json.dumps({"version": 2, "brokerid": 3000, "timestamp": "1700000000000", "kraftControllerEpoch": epoch})


def _left_behind(name: str, text: str, found: str) -> Case:
    @contextmanager
    def cause(world: World) -> Iterator[None]:
        world.ensemble.write("/migration", text)
        try:
            yield
        finally:
            world.ensemble.delete("/migration")

    said = Said(object="^znode /migration$", found=found, way_out="zookeeper-shell.sh ADDRESS delete /migration")
    return Case(name=name, cause=cause, named={"StaleMigration": said})


@contextmanager
def _low_epoch(world: World) -> Iterator[None]:
    """The epoch is lower than that in a partition's state; the way out of the message is what helps."""
    before = world.text("/controller_epoch")
    world.ensemble.write("/controller_epoch", "0")
    try:
        yield
        (said,) = (row for row in world.quorum.status()["preflight"]["blockers"] if row["code"] == "Epoch")
        before = re.sub(r"^.*Set it to (\d+), and .*$", r"\1", said["wayOut"])
    finally:
        world.ensemble.write("/controller_epoch", before)
        world.elect()
        world.wait_settled()


@contextmanager
def _no_epoch(world: World) -> Iterator[None]:
    before = world.text("/controller_epoch")
    world.ensemble.delete("/controller_epoch")
    try:
        yield
    finally:
        world.ensemble.write("/controller_epoch", before)
        world.elect()
        world.wait_settled()


@contextmanager
def _no_rights(world: World) -> Iterator[None]:
    """A znode that others own, and one below which others may create."""
    with (
        world.ensemble.limited("/latest_producer_id_block", create=True, delete=True, write=False),
        world.ensemble.limited("/kafka-acl", create=False, delete=True, write=True),
    ):
        yield


@contextmanager
def _encrypted(world: World) -> Iterator[None]:
    """A password that was set with `kafka-configs.sh`."""
    value = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    broker_settings.write(world.at(1), "1", {_JAAS: value})
    try:
        yield
    finally:
        broker_settings.delete(world.at(1), "1", [_JAAS])


@contextmanager
def _moving(world: World) -> Iterator[None]:
    """As `kafka-reassign-partitions.sh --bootstrap-server` begins it."""
    with world.slow_topic("moving", (1,)):
        world.produce("moving")
        leads = wait_until("a broker is the controller", world.controller, _GONE_TIMEOUT_S)
        reassign(world.at(leads), "moving", 0, (2,))
        yield


@contextmanager
def _moving_by_znode(world: World) -> Iterator[None]:
    """As older tools begin it: with a znode, which the controller deletes in the end."""
    with world.slow_topic("moving-by-znode", (1,)):
        world.produce("moving-by-znode")
        row = {"topic": "moving-by-znode", "partition": 0, "replicas": [2]}
        world.ensemble.write("/admin/reassign_partitions", json.dumps({"version": 1, "partitions": [row]}))
        yield


# --- what the brokers do ----------------------------------------------------------------------------------------------


@contextmanager
def _slow(world: World) -> Iterator[None]:
    """Broker 2 comes back, and may fetch nearly nothing of what was written meanwhile."""
    with world.slow_topic("slow", (1, 2)):
        world.brokers.shut_down(2)
        try:
            world.produce("slow")
        finally:
            world.brokers.start_again(2)
        yield


@contextmanager
def _dead(world: World) -> Iterator[None]:
    node_id = world.other()
    world.brokers.shut_down(node_id)
    try:
        yield
    finally:
        world.brokers.start_again(node_id)
        world.wait_settled()


@contextmanager
def _generated(world: World) -> Iterator[None]:
    """A broker that has no `broker.id` gets one that is above reserved.broker.max.id."""
    world.brokers.single[GUEST] = {"broker.id": None}
    world.brokers.add(GUEST)
    wait_until("broker 1001 is registered", lambda: world.is_registered(1001), _GONE_TIMEOUT_S)
    try:
        yield
    finally:
        world.brokers.remove(GUEST)
        wait_until("broker 1001 is gone", lambda: not world.is_registered(1001), _GONE_TIMEOUT_S)


@contextmanager
def _older(world: World) -> Iterator[None]:
    """Settings that are possible only while brokers use ZooKeeper, or before 3.9; and no authorizer."""
    node_id = world.other()
    properties = world.brokers.properties(node_id)
    changes: dict[str, str | None] = {
        "inter.broker.protocol.version": "3.8",
        "control.plane.listener.name": "CONTROL",
        "listeners": f"{properties['listeners']},CONTROL://:9095",
        "advertised.listeners": f"{properties['advertised.listeners']},CONTROL://{world.at(node_id, 9095)}",
        "authorizer.class.name": None,
    }
    with world.restarted_with(node_id, changes):
        yield


@contextmanager
def _in_migration_mode(world: World) -> Iterator[None]:
    """A broker that was restarted before any controller of KRaft runs; it would stop only after five minutes."""
    node_id = world.other()
    world.brokers.single[node_id] = {
        "zookeeper.metadata.migration.enable": "true",
        "controller.quorum.voters": f"3000@127.0.0.1:{_CONTROLLER_PORT}",
        "controller.listener.names": "CONTROLLER",
    }
    world.start_anew(node_id)
    try:
        yield
    finally:
        del world.brokers.single[node_id]
        world.start_anew(node_id, at_once=True)
        world.wait_settled()


@contextmanager
def _no_plain_listener(world: World) -> Iterator[None]:
    """Neither clients nor brokers reach this broker without a password."""
    node_id = world.other()
    address = world.brokers.address(node_id)
    changes: dict[str, str | None] = {
        "listeners": f"SASL_PLAINTEXT://:{PORT},REPLICATION://:{REPLICATION_PORT}",
        "advertised.listeners": f"SASL_PLAINTEXT://{address}:{PORT},REPLICATION://{address}:{REPLICATION_PORT}",
        "listener.security.protocol.map": PROTOCOLS,
    }
    with world.restarted_with(node_id, changes):
        yield


@contextmanager
def _failed_directory(world: World) -> Iterator[None]:
    """A log directory that a broker cannot use any more, under its feet."""
    node_id = world.other()
    node, path = nodes.volume_of(world.quorum.namespace, world.brokers.pod_name(node_id))
    directory = f"{path}/{SECOND_DIRECTORY}"
    mode = nodes.on_node(node, "stat", "-c", "%a", directory).strip()
    nodes.on_node(node, "chmod", "000", directory)
    try:
        yield
    finally:
        nodes.on_node(node, "chmod", mode, directory)
        world.start_anew(node_id)
        world.wait_settled()


_BEHIND: Final = Said(object="^broker 2$", found=r"not in sync with 1 of its partitions", way_out="Wait until it is")
_ACCESS: Final = r"Set spec\.brokerAccess\.bootstrapServers"

CASES: Final = (
    _patched(
        "a release with faults",
        {"kafka": {"version": "3.9.0"}},
        Release=Said(object=r"^spec\.kafka\.version$", found=r"3\.9\.0 has faults", way_out=r"Set 3\.9\.1"),
    ),
    _patched(
        "a release that cannot migrate",
        {"kafka": {"version": "4.1.2"}},
        Release=Said(object=r"^spec\.kafka\.version$", found=r"4\.1\.2 cannot migrate", way_out=r"Set 3\.9\.1"),
    ),
    _patched(
        "a controller with the id of a broker",
        {"controllers": {"nodeIDs": [1, 3001, 3002]}},
        SharedID=Said(object="^broker 1$", found="the same id", way_out=r"spec\.controllers\.nodeIDs"),
    ),
    _patched(
        "another listener between brokers",
        {"zookeeper": {"interBrokerListener": {"name": "PLAINTEXT", "protocol": "PLAINTEXT"}}},
        InterBrokerListener=Said(
            object="^broker [12]$",
            found=r"listener REPLICATION \(SASL_PLAINTEXT\)",
            way_out=r"\{name: REPLICATION, protocol: SASL_PLAINTEXT\}",
        ),
    ),
    _patched(
        "controllers without an authorizer",
        {"controllers": {"config": {"authorizer.class.name": None}}},
        Authorizer=Said(
            object="^broker [12]$",
            found=f"{re.escape(ZOOKEEPER_AUTHORIZER)}, and the controllers would have none",
            way_out=re.escape(KRAFT_AUTHORIZER),
        ),
    ),
    _patched(
        "controllers whose znodes are their own",
        {"controllers": {"config": {"zookeeper.set.acl": "true"}}},
        ZNodeACLs=Said(
            object=r"^spec\.controllers\.config$", found="broker [12] does not have it", way_out="Remove it, or set it"
        ),
    ),
    _at_chroot(
        "a chroot that does not exist",
        "/nowhere",
        ZooKeeper=Said(
            object="/nowhere$", found="has no node of that path", way_out=r"spec\.zookeeper\.connect", unknown=True
        ),
    ),
    _at_chroot(
        "a chroot without a cluster",
        "/config",
        ClusterID=Said(object="^znode /cluster/id$", found="does not exist", way_out="Correct the chroot"),
        NoController=Said(object="^znode /controller$", found="does not exist", way_out="Repair"),
        Epoch=Said(object="^znode /controller_epoch$", found="does not exist", way_out="Repair"),
    ),
    Case(
        name="another cluster",
        cause=_other_cluster,
        named={
            "ClusterID": Said(
                object="^znode /cluster/id$",
                found=rf"it is \S{{22}}, and spec\.clusterID has {OTHER_CLUSTER}",
                way_out=r"Correct spec\.zookeeper\.connect",
            )
        },
    ),
    _patched(
        "a Secret that is not meant for this quorum",
        {"zookeeper": {"secretName": "zookeeper"}},
        ZooKeeper=Said(
            object="^ZooKeeper zk-1",
            found=r"is not known: .*Secret zookeeper of spec\.zookeeper does not exist, or its annotation",
            way_out="let the operator read the Secret",
            unknown=True,
        ),
    ),
    _left_behind(
        "what another attempt left",
        '{"version":0,"kraft_metadata_offset":1234,"kraft_controller_id":3000,"kraft_metadata_epoch":3,'
        '"kraft_controller_epoch":3}',
        found=r'left from an earlier attempt: \{.*"kraft_metadata_offset":1234',
    ),
    _left_behind("what nobody understands", '{"version":', found="it is malformed"),
    Case(
        name="a KRaft controller leads",
        cause=_kraft_leads,
        named={
            "ControllerIsKRaft": Said(
                object="^znode /controller$", found="KRaft controller 3000 leads", way_out="End that migration"
            )
        },
    ),
    Case(
        name="no broker may lead",
        cause=_nobody_may_lead,
        named={
            "NoController": Said(object="^znode /controller$", found="no broker is the controller", way_out="Repair"),
            "Rights": Said(
                object="^ZooKeeper's ACLs$",
                found="create and delete nodes below /,",
                way_out=r"spec\.zookeeper\.secretName",
            ),
        },
    ),
    Case(
        name="znodes of others",
        cause=_no_rights,
        named={
            "Rights": Said(
                object="^ZooKeeper's ACLs$",
                found="write /latest_producer_id_block|create and delete nodes below /kafka-acl,",
                way_out=r"spec\.zookeeper\.secretName",
            )
        },
    ),
    Case(
        name="a low epoch",
        cause=_low_epoch,
        named={
            "Epoch": Said(
                object="^znode /controller_epoch$",
                found=r"it is 0, and the state of a partition has \d+",
                way_out=r"Set it to \d+, and .*zookeeper-shell\.sh",
            )
        },
    ),
    Case(
        name="no epoch",
        cause=_no_epoch,
        named={"Epoch": Said(object="^znode /controller_epoch$", found="does not exist", way_out="Repair")},
    ),
    Case(
        name="an encrypted setting",
        cause=_encrypted,
        named={
            "EncodedSetting": Said(
                object=f"^broker 1: {re.escape(_JAAS)}$", found=r"password\.encoder\.secret", way_out="kafka-configs.sh"
            )
        },
    ),
    Case(name="a broker that is behind", cause=_slow, named={"NotInSync": _BEHIND}),
    Case(
        name="a partition that moves",
        cause=_moving,
        named={
            "Reassignment": Said(object="moving-0", found="being moved", way_out="Wait until it ends"),
            "NotInSync": _BEHIND,
        },
    ),
    Case(
        name="a partition that a znode moves",
        cause=_moving_by_znode,
        named={
            "Reassignment": Said(object="moving-by-znode-0", found="being moved", way_out="Wait until it ends"),
            "NotInSync": _BEHIND,
        },
    ),
    Case(
        name="brokers that want a password",
        cause=_no_login,
        named={
            "BrokerUnknown": Said(
                object="^the brokers$",
                found="the running settings are not known: (?!the brokers are being asked)",
                way_out=_ACCESS,
                unknown=True,
            )
        },
    ),
    Case(
        name="brokers of a KRaft cluster",
        cause=_kraft_broker,
        named={
            "ProcessRoles": Said(
                object="^broker 1$", found="process.roles is broker,controller", way_out="It does not use ZooKeeper"
            ),
            "BrokerUnknown": Said(
                object="^broker 2$", found="no broker that was asked lists it", way_out=_ACCESS, unknown=True
            ),
        },
    ),
    Case(
        name="a broker without an id of its own",
        cause=_generated,
        named={
            "ReservedID": Said(
                object="^broker 1001$",
                found=r"above reserved\.broker\.max\.id \(1000\)",
                way_out=r"broker\.id=1001 and broker\.id\.generation\.enable=false",
            )
        },
    ),
    Case(
        name="a dead broker",
        cause=_dead,
        named={
            "DeadBroker": Said(
                object="^broker [12]$", found=r"does not run, and has replicas \(one of \S+-\d+\)", way_out="Start it"
            )
        },
    ),
    Case(
        name="a broker of 3.8 with a listener for the controller",
        cause=_older,
        named={
            "BrokerRelease": Said(
                object="^broker [12]$", found=r"inter\.broker\.protocol\.version is 3\.8", way_out=r"3\.9"
            ),
            "ControlPlane": Said(
                object="^broker [12]$", found=r"control\.plane\.listener\.name is CONTROL", way_out="Remove it"
            ),
            "Authorizer": Said(
                object=r"^spec\.controllers\.config$", found="broker [12] has none", way_out="Remove it until"
            ),
        },
    ),
    Case(
        name="a broker in migration mode",
        cause=_in_migration_mode,
        named={
            "MigrationMode": Said(object="^broker [12]$", found="is true already", way_out="Remove it, and restart")
        },
    ),
    Case(
        name="a broker without a PLAINTEXT listener",
        cause=_no_plain_listener,
        named={
            "DirectoriesUnknown": Said(
                object="^broker [12]$", found="no PLAINTEXT listener", way_out="PLAINTEXT listener", unknown=True
            ),
            "BrokerUnknown": Said(
                object="^broker [12]$", found="no broker that was asked lists it", way_out=_ACCESS, unknown=True
            ),
        },
    ),
    Case(
        name="a log directory that failed",
        cause=_failed_directory,
        named={
            "OfflineDirectory": Said(
                object="^broker [12]$",
                found=f"log directory /data/{SECOND_DIRECTORY} .* is offline",
                way_out="Repair or remove it",
            ),
            "NotInSync": Said(object="^broker [12]$", found="not in sync with", way_out="Wait until it is"),
        },
    ),
    Case(
        name="ZooKeeper does not run",
        cause=_outage,
        named={
            "ZooKeeper": Said(
                object="^ZooKeeper zk-1", found="is not known: ", way_out="or repair ZooKeeper", unknown=True
            )
        },
    ),
)
