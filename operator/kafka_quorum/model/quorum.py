"""What the controllers say of their quorum, in values: DescribeQuorum, ApiVersions and DescribeCluster answers.

These are the shapes that `wire` produces and that `observe` judges; a simulation produces the same ones.
"""

from dataclasses import dataclass

from kafka_quorum.model.ids import ClusterID, NodeID, ReplicaKey
from kafka_quorum.model.security import PLAINTEXT, Security


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a controller listens, and how a connection to it is secured. `node_id` is whom we expect there."""

    node_id: NodeID
    host: str
    port: int
    security: Security = PLAINTEXT

    def __str__(self) -> str:
        """For messages: `3000 at 10.244.1.7:9093`."""
        return f"{self.node_id} at {self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A listener that a voter advertises: name (`CONTROLLER`), host and port."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One row of DescribeQuorum. Both stamps are the leader's clock, in milliseconds; -1 means never or not told.

    The leader's own row carries the leader's present time as its last fetch.
    """

    key: ReplicaKey
    log_end_offset: int
    last_fetch_ms: int
    last_caught_up_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumAnswer:
    """DescribeQuorum as the leader answers it (a non-leader's answer is an error, not a value).

    `voters` is the current set, which may not be committed yet; `high_watermark` is -1 until the leader knows it.
    """

    leader_id: NodeID
    leader_epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FeatureRange:
    """A feature and the levels of it that a node supports (KIP-584)."""

    name: str
    min_level: int
    max_level: int


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FinalizedFeature:
    """A feature and the level at which the cluster has it (KIP-584)."""

    name: str
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeVersions:
    """What one node supports, and what it believes to be finalized.

    `finalized_epoch` is -1 before the node knows any finalized feature.
    """

    supported: tuple[FeatureRange, ...]
    finalized: tuple[FinalizedFeature, ...]
    finalized_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAnswer:
    """DescribeCluster asked of a controller (KIP-919): the cluster's id and the registered controllers' ids."""

    cluster_id: ClusterID
    controller_ids: tuple[NodeID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddVoter:
    """The body of an AddRaftVoter request (KIP-853). `cluster_id` is always sent: a foreign quorum refuses it."""

    cluster_id: ClusterID
    voter: ReplicaKey
    listeners: tuple[Listener, ...]
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVoter:
    """The body of a RemoveRaftVoter request (KIP-853). `cluster_id` is always sent: a foreign quorum refuses it.

    Kafka has no timeout in it: the leader waits for the commit as long as its own request timeout says (2 s).
    """

    cluster_id: ClusterID
    voter: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FeatureStep:
    """One change of one finalized level. `downgrade` asks for a safe, lossless one; unsafe ones are never asked for."""

    name: str
    level: int
    downgrade: bool = False

    def __str__(self) -> str:
        """For messages: `metadata.version 28`."""
        return f"{self.name} {self.level}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFeature:
    """The body of an UpdateFeatures request (KIP-584) with one step; `validate_only` changes nothing."""

    step: FeatureStep
    validate_only: bool
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterController:
    """The body of a ControllerRegistration request (KIP-919), as a controller sends it of itself when it starts.

    `incarnation_id` is a UUID in Kafka's notation. Sent by the operator only in place of a controller that is removed.
    Without the listener at which controllers are asked, DescribeCluster shows the registration no more, although it is
    there and counts: it would not be noticed before the next release.
    """

    node_id: NodeID
    incarnation_id: str
    listeners: tuple[Listener, ...]
    supported: tuple[FeatureRange, ...]
