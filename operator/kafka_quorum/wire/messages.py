"""Between Kafka's messages and the model's values: what is asked, and what an answer says.

Nothing is sent here. Asking for a value that Kafka's types cannot hold, and an answer that is no answer to the question
(another topic, no partition, a cluster id that is no UUID), raise ValueError with a clause to be put into a sentence.
"""

import uuid
from collections.abc import Sequence
from datetime import timedelta

from kio.schema.add_raft_voter.v0.request import AddRaftVoterRequest as AddRaftVoterRequest0
from kio.schema.add_raft_voter.v0.request import Listener as Listener0
from kio.schema.add_raft_voter.v1.request import AddRaftVoterRequest as AddRaftVoterRequest1
from kio.schema.add_raft_voter.v1.request import Listener as Listener1
from kio.schema.api_versions.v4.request import ApiVersionsRequest
from kio.schema.api_versions.v4.response import ApiVersionsResponse
from kio.schema.controller_registration.v0 import request as controller_registration
from kio.schema.describe_cluster.v1.request import DescribeClusterRequest
from kio.schema.describe_cluster.v1.response import DescribeClusterResponse
from kio.schema.describe_quorum.v2 import request as describe_quorum
from kio.schema.describe_quorum.v2.response import DescribeQuorumResponse, PartitionData, ReplicaState
from kio.schema.remove_raft_voter.v0.request import RemoveRaftVoterRequest
from kio.schema.types import TopicName
from kio.schema.update_features.v1 import request as update_features_v1
from kio.schema.update_features.v2 import request as update_features_v2
from kio.static.primitive import i8, i16, i32, i32Timedelta, u16

from kafka_quorum.model.ids import (
    DirectoryID,
    NodeID,
    ReplicaKey,
    parse_cluster_id,
    uuid_from_bytes,
    uuid_to_bytes,
)
from kafka_quorum.model.quorum import (
    AddVoter,
    ClusterAnswer,
    FeatureRange,
    FinalizedFeature,
    NodeVersions,
    QuorumAnswer,
    RegisterController,
    RemoveVoter,
    Replica,
    UpdateFeature,
)
from kafka_quorum.wire.unregister import UnregisterControllerRequest

METADATA_TOPIC = "__cluster_metadata"
METADATA_PARTITION = 0
ENDPOINT_TYPE_CONTROLLER = 2
PLAINTEXT = 0
UPGRADE, SAFE_DOWNGRADE = 1, 2
"""Kafka's upgrade types; its third, the unsafe downgrade, is never asked for."""

CLIENT_SOFTWARE = "kafka-quorum-operator"
CLIENT_SOFTWARE_VERSION = "0.1.0"


def api_versions_request() -> ApiVersionsRequest:
    """Ask what this node speaks and supports, and which features are finalized."""
    return ApiVersionsRequest(client_software_name=CLIENT_SOFTWARE, client_software_version=CLIENT_SOFTWARE_VERSION)


def node_versions(response: ApiVersionsResponse) -> NodeVersions:
    """Features by name; a finalized feature has one level, its maximum.

    A node that has not loaded any metadata says so by epoch -1. Before 4.4 it names the lowest metadata.version that it
    supports beside it, which nobody has finalized: nothing of that is passed on.
    """
    epoch = _at_least(-1, "the epoch of the finalized features", response.finalized_features_epoch)
    supported = tuple(
        sorted(
            FeatureRange(name=row.name, min_level=int(row.min_version), max_level=int(row.max_version))
            for row in response.supported_features
        )
    )
    finalized = tuple(
        sorted(FinalizedFeature(name=row.name, level=int(row.max_version_level)) for row in response.finalized_features)
    )
    for each in supported:
        if not 0 <= each.min_level <= each.max_level:
            raise ValueError(f"feature {each.name} is supported from level {each.min_level} to {each.max_level}")
    for level in finalized:
        _at_least(0, f"the finalized level of {level.name}", level.level)
    _once("supported feature", [each.name for each in supported])
    _once("finalized feature", [each.name for each in finalized])
    return NodeVersions(supported=supported, finalized=finalized if epoch >= 0 else (), finalized_epoch=epoch)


def _at_least(least: int, what: str, value: int) -> int:
    """The number, if a server can mean it."""
    if value < least:
        raise ValueError(f"{what} is {value}")
    return int(value)


def _once(what: str, values: Sequence[object]) -> None:
    """Refuse a list that names something twice, or names nothing: it cannot be said which row would count."""
    seen: set[object] = set()
    for value in values:
        if value in seen or value == "":
            raise ValueError(f"{what} {value} is listed twice" if value else f"a {what} has no name")
        seen.add(value)


def describe_cluster_request() -> DescribeClusterRequest:
    """Ask which cluster this is, and which controllers are registered (KIP-919)."""
    return DescribeClusterRequest(
        include_cluster_authorized_operations=False, endpoint_type=i8(ENDPOINT_TYPE_CONTROLLER)
    )


def cluster_answer(response: DescribeClusterResponse) -> ClusterAnswer:
    """The rows called brokers are controllers, since controllers were asked for."""
    if response.endpoint_type != ENDPOINT_TYPE_CONTROLLER:
        raise ValueError(f"controllers were asked for, endpoints of type {response.endpoint_type} are described")
    ids = sorted(NodeID(_at_least(0, "a controller's id", row.broker_id)) for row in response.brokers)
    _once("controller", ids)
    return ClusterAnswer(cluster_id=parse_cluster_id(response.cluster_id), controller_ids=tuple(ids))


def describe_quorum_request() -> describe_quorum.DescribeQuorumRequest:
    """Ask who leads, who votes, and how far everyone is."""
    partition = describe_quorum.PartitionData(partition_index=i32(METADATA_PARTITION))
    topic = describe_quorum.TopicData(topic_name=TopicName(METADATA_TOPIC), partitions=(partition,))
    return describe_quorum.DescribeQuorumRequest(topics=(topic,))


def metadata_partition(response: DescribeQuorumResponse) -> PartitionData:
    """The one row that was asked for. Its error code comes before all else: a non-leader's says leader 0."""
    rows = [
        partition
        for topic in response.topics
        for partition in topic.partitions
        if (topic.topic_name, partition.partition_index) == (METADATA_TOPIC, METADATA_PARTITION)
    ]
    if len(rows) != 1:
        raise ValueError(f"{METADATA_TOPIC}-{METADATA_PARTITION} was asked for, {len(rows)} rows describe it")
    return rows[0]


def quorum_answer(partition: PartitionData) -> QuorumAnswer:
    """The leader's view; only of a row without an error code.

    What no leader of Kafka's can mean is refused: a voter that is listed twice, or a number below its "not known".
    """
    voters = tuple(_replica(row) for row in partition.current_voters)
    observers = tuple(_replica(row) for row in partition.observers)
    _once("voter", [row.key.node_id for row in voters])  # one voter a node id, whatever its disk (KIP-853)
    _once("observer", [row.key for row in observers])
    return QuorumAnswer(
        leader_id=NodeID(_at_least(0, "the leader's id", partition.leader_id)),
        leader_epoch=_at_least(0, "the leader's epoch", partition.leader_epoch),
        high_watermark=_at_least(-1, "the high watermark", partition.high_watermark),
        voters=voters,
        observers=observers,
    )


def _replica(row: ReplicaState) -> Replica:
    node_id = _at_least(0, "a replica's node id", row.replica_id)
    return Replica(
        key=ReplicaKey(node_id=NodeID(node_id), directory_id=directory_id(row.replica_directory_id)),
        log_end_offset=_at_least(-1, "a replica's log end", row.log_end_offset),
        last_fetch_ms=_at_least(-1, "the time of a replica's last fetch", row.last_fetch_timestamp),
        last_caught_up_ms=_at_least(-1, "the time at which a replica was caught up", row.last_caught_up_timestamp),
    )


def add_voter_request(request: AddVoter, version: int) -> AddRaftVoterRequest0 | AddRaftVoterRequest1:
    """KIP-853's request; version 1 is told to answer only when the new voter set is committed."""
    timeout = _timeout(request.timeout_ms)
    voter_id, directory = _int32("node id", request.voter.node_id), kio_uuid(request.voter.directory_id)
    if version == 0:
        return AddRaftVoterRequest0(
            cluster_id=request.cluster_id,
            timeout=timeout,
            voter_id=voter_id,
            voter_directory_id=directory,
            listeners=tuple(Listener0(name=row.name, host=row.host, port=_port(row.port)) for row in request.listeners),
        )
    return AddRaftVoterRequest1(
        cluster_id=request.cluster_id,
        timeout=timeout,
        voter_id=voter_id,
        voter_directory_id=directory,
        listeners=tuple(Listener1(name=row.name, host=row.host, port=_port(row.port)) for row in request.listeners),
        ack_when_committed=True,
    )


def remove_voter_request(request: RemoveVoter) -> RemoveRaftVoterRequest:
    """KIP-853's request, in its one version; it is answered when the new voter set is committed."""
    return RemoveRaftVoterRequest(
        cluster_id=request.cluster_id,
        voter_id=_int32("node id", request.voter.node_id),
        voter_directory_id=kio_uuid(request.voter.directory_id),
    )


def update_features_request(
    request: UpdateFeature, version: int
) -> update_features_v1.UpdateFeaturesRequest | update_features_v2.UpdateFeaturesRequest:
    """KIP-584's request with one step; a safe downgrade to level 0 disables the feature."""
    name, only = request.step.name, request.validate_only
    level, timeout = _int16(f"level of {name}", request.step.level), _timeout(request.timeout_ms)
    kind = i8(SAFE_DOWNGRADE if request.step.downgrade else UPGRADE)
    if version == 1:
        update1 = update_features_v1.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
        return update_features_v1.UpdateFeaturesRequest(timeout=timeout, feature_updates=(update1,), validate_only=only)
    update2 = update_features_v2.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
    return update_features_v2.UpdateFeaturesRequest(timeout=timeout, feature_updates=(update2,), validate_only=only)


def register_controller_request(request: RegisterController) -> controller_registration.ControllerRegistrationRequest:
    """KIP-919's request. The security protocol is said to be PLAINTEXT: nobody connects to who is removed."""
    listeners = tuple(
        controller_registration.Listener(
            name=row.name, host=row.host, port=_port(row.port), security_protocol=i16(PLAINTEXT)
        )
        for row in request.listeners
    )
    features = tuple(
        controller_registration.Feature(
            name=row.name,
            min_supported_version=_int16(f"level of {row.name}", row.min_level),
            max_supported_version=_int16(f"level of {row.name}", row.max_level),
        )
        for row in request.supported
    )
    return controller_registration.ControllerRegistrationRequest(
        controller_id=_int32("node id", request.node_id),
        incarnation_id=uuid.UUID(bytes=uuid_to_bytes(request.incarnation_id)),
        zk_migration_ready=False,
        listeners=listeners,
        features=features,
    )


def unregister_controller_request(node_id: NodeID) -> UnregisterControllerRequest:
    """Ask to forget a controller; Kafka has it since 4.4."""
    return UnregisterControllerRequest(controller_id=_int32("node id", node_id))


def _timeout(timeout_ms: int) -> i32Timedelta:
    return i32Timedelta.parse(timedelta(milliseconds=_int32("timeout", timeout_ms)))


def _int16(what: str, value: int) -> i16:
    if not isinstance(value, i16):
        raise ValueError(f"the {what} {value} does not fit into 16 bits")  # noqa: TRY004 - a value out of range
    return value


def _int32(what: str, value: int) -> i32:
    if not isinstance(value, i32):  # kio's types are ranges
        raise ValueError(f"the {what} {value} does not fit into 32 bits")  # noqa: TRY004 - a value out of range
    return value


def _port(port: int) -> u16:
    if not isinstance(port, u16):
        raise ValueError(f"{port} is not a port")  # noqa: TRY004 - a value out of range
    return port


def directory_id(value: uuid.UUID | None) -> DirectoryID | None:
    """A UUID of kio's in Kafka's notation; kio reads the zero UUID, which Kafka sends for "none", as None."""
    return None if value is None else DirectoryID(uuid_from_bytes(value.bytes))


def kio_uuid(value: DirectoryID | None) -> uuid.UUID | None:
    """A directory id as kio writes it (ValueError on what is no UUID); None becomes the zero UUID."""
    return None if value is None else uuid.UUID(bytes=uuid_to_bytes(value))
