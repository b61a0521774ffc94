"""DescribeConfigs (32), asked of a broker: min.insync.replicas of topics, and the broker's own running settings.

A topic that is gone is no row, because its partitions are gone too. Any other error of a row is an error of the whole
answer, and so is a row that is missing. Values are cleaned: no line breaks or hidden characters pass.
"""

from collections.abc import Sequence
from typing import Final

from kio.schema.describe_configs.v4 import response as v4
from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource
from kio.schema.describe_configs.v4.response import DescribeConfigsResponse
from kio.schema.errors import ErrorCode
from kio.static.primitive import i8
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.brokers import ConfigEntry
from kafka_quorum.model.ids import NodeID
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import MAX_VALUE_BYTES, Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import at_least, once
from kit.text import clean

MAX_TOPICS: Final = 1_000
"""How many topics one request asks about."""
API: Final = Api(
    key=32,
    name="DescribeConfigs",
    ours=VersionRange(low=4, high=4),
    effect=Effect.READS,
    server="broker",
    answer_bytes=1024 * 1024,
    lists={
        (DescribeConfigsResponse, "results"): Bound(count=MAX_TOPICS, plural="resources"),
        (v4.DescribeConfigsResult, "configs"): Bound(count=2_000, plural="settings"),
    },
)
"""A topic's row takes 60 bytes and its name; a broker of 4.4 has 350 settings in 25 kB."""
TOPIC, BROKER = 2, 4
"""Kafka's types of a resource."""
MIN_ISR: Final = "min.insync.replicas"


def min_isr(topics: Sequence[str]) -> Request[dict[str, int]]:
    """The effective min.insync.replicas of these topics, at most `MAX_TOPICS`; a topic that is gone is absent."""

    def read(response: ResponsePayload) -> dict[str, int]:
        rows = _rows(typed(response, DescribeConfigsResponse), TOPIC, topics)
        found = {}
        for row in rows:
            if row.error_code is ErrorCode.unknown_topic_or_partition:
                continue
            accept(row.error_code, row.error_message)
            found[row.resource_name] = _number(row)
        return found

    return Request(api=API, build=lambda _: _message(TOPIC, topics, (MIN_ISR,)), read=read)


def of_broker(node_id: NodeID) -> Request[tuple[ConfigEntry, ...]]:
    """The running settings of the broker that is asked, which must have this id (INVALID_REQUEST from another one)."""

    def read(response: ResponsePayload) -> tuple[ConfigEntry, ...]:
        (row,) = _rows(typed(response, DescribeConfigsResponse), BROKER, (str(node_id),))
        accept(row.error_code, row.error_message)
        entries = tuple(map(_entry, row.configs))
        once("setting", [entry.name for entry in entries])
        if not entries:
            raise ValueError("a broker without settings is described")
        return entries

    return Request(api=API, build=lambda _: _message(BROKER, (str(node_id),), None), read=read)


def _message(kind: int, names: Sequence[str], keys: tuple[str, ...] | None) -> DescribeConfigsRequest:
    if not 0 < len(names) <= MAX_TOPICS:
        raise ValueError(f"{len(names)} resources are asked about, at most {MAX_TOPICS} can be")
    return DescribeConfigsRequest(
        resources=tuple(
            DescribeConfigsResource(resource_type=i8(kind), resource_name=name, configuration_keys=keys)
            for name in names
        )
    )


def _rows(answer: DescribeConfigsResponse, kind: int, names: Sequence[str]) -> tuple[v4.DescribeConfigsResult, ...]:
    """The rows of exactly these resources."""
    described = [(int(row.resource_type), row.resource_name) for row in answer.results]
    once("resource", [name for _, name in described])
    if sorted(described) != sorted((kind, name) for name in names):
        raise ValueError(f"{len(names)} resources were asked about, {len(described)} are described, or others")
    return answer.results


def _number(row: v4.DescribeConfigsResult) -> int:
    values = [entry.value for entry in row.configs if entry.name == MIN_ISR]
    if len(values) != 1 or values[0] is None or not values[0].isascii() or not values[0].isdigit():
        raise ValueError(f"{MIN_ISR} of topic {row.resource_name} is no number")
    return at_least(1, f"{MIN_ISR} of topic {row.resource_name}", int(values[0]))


def _entry(row: v4.DescribeConfigsResourceResult) -> ConfigEntry:
    hidden = row.value is None or row.is_sensitive
    return ConfigEntry(
        name=row.name,
        value=None if hidden else clean(row.value or "", max_chars=MAX_VALUE_BYTES),
        source=at_least(0, f"the source of {row.name}", row.config_source),
        read_only=row.read_only,
    )
