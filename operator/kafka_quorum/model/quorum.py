"""The controllers' answers about their quorum, as values: DescribeQuorum, ApiVersions and DescribeCluster.

These are the shapes that `wire` produces and that `observe` judges; a simulation produces the same ones.
"""

from dataclasses import dataclass

from kafka_quorum.model.ids import ClusterID, NodeID, ReplicaKey
from kafka_quorum.model.security import PLAINTEXT, Security


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a controller listens, and how a connection to it is secured. `node_id` is the controller expected there.

    `name` is the host name that the server's certificate must have; empty: `host`, to which the connection goes anyway.
    So a pod is asked at its address, which is in no certificate.
    """

    node_id: NodeID
    host: str
    port: int
    security: Security = PLAINTEXT
    name: str = ""

    @property
    def certified_name(self) -> str:
        """The name or address that TLS requires of the server's certificate."""
        return self.name or self.host

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
    """One row of DescribeQuorum. Both stamps are of the leader's clock, in milliseconds; -1 means never, or not known.

    The leader's own row carries the leader's present time as its last fetch.
    """

    key: ReplicaKey
    log_end_offset: int
    last_fetch_ms: int
    last_caught_up_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumAnswer:
    """DescribeQuorum as the leader answers it (a non-leader's answer is an error, not a value).

    `voters` is the current set, which may not be committed yet; `high_watermark` is -1 while the leader does not have
    it.
    """

    leader_id: NodeID
    leader_epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]
    listeners: tuple[tuple[NodeID, tuple[Listener, ...]], ...] = ()
    """The listeners of each voter, as the leader's voter set has them; empty if the answer has none."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FeatureRange:
    """A feature and the levels of it that a node supports (KIP-584)."""

    name: str
    min_level: int
    max_level: int


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FinalizedFeature:
    """A feature and its finalized level in the cluster (KIP-584)."""

    name: str
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeVersions:
    """The levels that one node supports, and those that it reports as finalized.

    `finalized_epoch` is -1 while the node has no finalized feature.
    """

    supported: tuple[FeatureRange, ...]
    finalized: tuple[FinalizedFeature, ...]
    finalized_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAnswer:
    """DescribeCluster, asked of a controller (KIP-919): the cluster's id and the ids of the registered controllers."""

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

    The request has no timeout: the leader waits for the commit up to its own request timeout (2 s).
    """

    cluster_id: ClusterID
    voter: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FeatureStep:
    """One change of one finalized level. `downgrade` requests a safe, lossless one; unsafe ones are never requested."""

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
    """The body of a ControllerRegistration request (KIP-919), as a starting controller sends it about itself.

    `incarnation_id` is a UUID in Kafka's notation. The operator sends it only in place of a controller that is removed.
    The listener at which controllers are asked must be part of it. Without it, DescribeCluster does not show the
    registration, although it exists and counts: the next release would be the first to show the problem.
    """

    node_id: NodeID
    incarnation_id: str
    listeners: tuple[Listener, ...]
    supported: tuple[FeatureRange, ...]
