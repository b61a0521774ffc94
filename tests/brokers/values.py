"""A pool, its contract, its record and its revision, for tests."""

from dataclasses import replace
from typing import Any

from kafka_brokers.api.validation import validate
from kafka_brokers.model.disks import BrokerIdentity, DiskIdentity, PoolRecord, changed, with_brokers
from kafka_brokers.model.names import inputs_hash, revision_name
from kafka_brokers.model.observed import Revision
from kafka_brokers.model.pool import BrokerRuntime, PoolDesired
from kafka_quorum.model.contract import Contract, Match, Setting
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, uuid_from_bytes

Json = dict[str, Any]

POOL = "payments"
QUORUM = "events"
NAMESPACE = "kafka"
UID = "pool-uid"
CLUSTER = ClusterID("4L6g3nShT-eMCtK--X86sw")
OTHER_CLUSTER = ClusterID("AAAAAAAAQACAAAAAAAAABg")
IDS = (NodeID(0), NodeID(1), NodeID(2))
CONTRACT = Contract(
    cluster_id=CLUSTER,
    release="4.4.0",
    image="",
    revision=1,
    settings=(
        Setting(key="controller.listener.names", value="CONTROLLER", match=Match.EQUALS),
        Setting(
            key="controller.quorum.bootstrap.servers",
            value="events-3000.events-controllers.kafka.svc:9093,events-3001.events-controllers.kafka.svc:9093",
            match=Match.SOME,
        ),
        Setting(key="controller.quorum.voters", value="", match=Match.UNSET),
        Setting(key="listener.security.protocol.map", value="CONTROLLER:PLAINTEXT", match=Match.HAS),
    ),
    controllers=("events-3000.events-controllers.kafka.svc:9093",),
    controller_ids=(NodeID(3000), NodeID(3001), NodeID(3002)),
)


def directory(node_id: int, index: int = 0, life: int = 1) -> DirectoryID:
    """The directory id of a volume; another one for each life."""
    return DirectoryID(uuid_from_bytes(bytes([life, index, 0, 0]) + node_id.to_bytes(12, "big")))


def resource(spec: Json | None = None, *, name: str = POOL, **metadata: Any) -> Json:  # noqa: ANN401 - any JSON
    """A valid resource, with these fields of its spec replaced."""
    return {
        "apiVersion": "kafkaquorum.io/v1alpha1",
        "kind": "KafkaBrokerPool",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": UID, "generation": 1, **metadata},
        "spec": {"quorum": QUORUM, **(spec or {})},
    }


def desired(spec: Json | None = None, contract: Contract = CONTRACT) -> PoolDesired:
    """What a valid spec asks for."""
    found = validate(resource(spec), contract)
    assert isinstance(found, PoolDesired), found
    return found


def revision(runtime: BrokerRuntime | None = None, *, image: str = "apache/kafka:4.4.0") -> Revision:
    """The revision of a runtime."""
    of = runtime or desired().runtime
    hash_ = inputs_hash(of)
    return Revision(name=revision_name(POOL, hash_), number=1, image=image, inputs_hash=hash_, runtime=of)


def record(*, volumes: int = 1, formatted: bool = True) -> PoolRecord:
    """The record of three brokers, with claims, formatted or not."""
    found = with_brokers(PoolRecord(cluster_id=CLUSTER), IDS, volumes)
    for broker in found.brokers:
        disks = tuple(_disk(broker.node_id, disk, formatted=formatted) for disk in broker.disks)
        found = changed(found, replace(broker, disks=disks))
    return found


def broker(of: PoolRecord, node_id: int = 0) -> BrokerIdentity:
    """One broker of a record."""
    found = of.broker(NodeID(node_id))
    assert found is not None
    return found


def _disk(node_id: NodeID, disk: DiskIdentity, *, formatted: bool) -> DiskIdentity:
    known = directory(node_id, disk.index) if formatted else None
    return replace(disk, claim_uid=f"claim-{node_id}-{disk.index}", directory_id=known)
