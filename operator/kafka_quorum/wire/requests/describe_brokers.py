"""DescribeCluster 2 (60), asked of a broker: every registered broker, fenced ones too (KIP-1073).

Without a row's fenced mark, a stopped broker would look like one that was never there. So no lower version is used.
"""

from typing import Final

from kio.schema.describe_cluster.v2.request import DescribeClusterRequest
from kio.schema.describe_cluster.v2.response import DescribeClusterBroker, DescribeClusterResponse
from kio.static.primitive import i8
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.brokers import BrokersAnswer, RegisteredBroker
from kafka_quorum.model.ids import NodeID, parse_cluster_id
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_BROKERS, Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import at_least, once

API: Final = Api(
    key=60,
    name="DescribeCluster",
    ours=VersionRange(low=2, high=2),
    effect=Effect.READS,
    server="broker",
    answer_bytes=1024 * 1024,
    lists={(DescribeClusterResponse, "brokers"): Bound(count=MAX_BROKERS, plural="brokers")},
)
"""Kafka 4.0 and later. A row takes 30 bytes and its names: 5,000 of 200 bytes each are within the limit."""
ENDPOINT_TYPE_BROKER: Final = 1


def request() -> Request[BrokersAnswer]:
    """Every registered broker as this broker knows it."""
    sent = DescribeClusterRequest(
        include_cluster_authorized_operations=False,
        endpoint_type=i8(ENDPOINT_TYPE_BROKER),
        include_fenced_brokers=True,
    )
    return Request(api=API, build=lambda _: sent, read=_read)


def _read(response: ResponsePayload) -> BrokersAnswer:
    answer = typed(response, DescribeClusterResponse)
    accept(answer.error_code, answer.error_message)
    if answer.endpoint_type != ENDPOINT_TYPE_BROKER:
        raise ValueError(f"brokers were asked for, endpoints of type {answer.endpoint_type} are described")
    brokers = tuple(sorted(map(_broker, answer.brokers)))
    once("broker", [row.node_id for row in brokers])
    return BrokersAnswer(cluster_id=parse_cluster_id(answer.cluster_id), brokers=brokers)


def _broker(row: DescribeClusterBroker) -> RegisteredBroker:
    return RegisteredBroker(
        node_id=NodeID(at_least(0, "a broker's id", row.broker_id)),
        host=row.host,
        port=at_least(-1, "a broker's port", row.port),
        rack=row.rack or "",
        fenced=row.is_fenced,
    )
