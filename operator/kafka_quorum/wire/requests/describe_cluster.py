"""DescribeCluster (60): which cluster this is, and which controllers are registered (KIP-919)."""

from typing import Final

from kio.schema.describe_cluster.v1.request import DescribeClusterRequest
from kio.schema.describe_cluster.v1.response import DescribeClusterResponse
from kio.static.primitive import i8
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.ids import NodeID, parse_cluster_id
from kafka_quorum.model.quorum import ClusterAnswer
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import at_least, once

MAX_CONTROLLERS: Final = 256
"""The limit of registered ones: below metadata.version 4.4 those that were removed stay registered."""
API: Final = Api(
    key=60,
    name="DescribeCluster",
    ours=VersionRange(low=1, high=1),
    effect=Effect.READS,
    lists={(DescribeClusterResponse, "brokers"): Bound(count=MAX_CONTROLLERS, plural="controllers")},
)
"""Version 0 cannot ask for controllers; version 2 adds nothing about them."""
ENDPOINT_TYPE_CONTROLLER: Final = 2


def request() -> Request[ClusterAnswer]:
    """The cluster id that this node runs with, and the registered controllers."""
    sent = message()
    return Request(api=API, build=lambda _: sent, read=_read)


def _read(response: ResponsePayload) -> ClusterAnswer:
    answer = typed(response, DescribeClusterResponse)
    accept(answer.error_code, answer.error_message)
    return cluster_answer(answer)


def message() -> DescribeClusterRequest:
    """Ask which cluster this is, and which controllers are registered (KIP-919)."""
    return DescribeClusterRequest(
        include_cluster_authorized_operations=False, endpoint_type=i8(ENDPOINT_TYPE_CONTROLLER)
    )


def cluster_answer(response: DescribeClusterResponse) -> ClusterAnswer:
    """The rows called brokers are controllers, because controllers were requested."""
    if response.endpoint_type != ENDPOINT_TYPE_CONTROLLER:
        raise ValueError(f"controllers were asked for, endpoints of type {response.endpoint_type} are described")
    ids = sorted(NodeID(at_least(0, "a controller's id", row.broker_id)) for row in response.brokers)
    once("controller", ids)
    return ClusterAnswer(cluster_id=parse_cluster_id(response.cluster_id), controller_ids=tuple(ids))
