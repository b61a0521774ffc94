"""IncrementalAlterConfigs (44): set or delete settings of one broker or topic (KIP-339).

All changes of one request are made, or none. A broker checks those of its own, passes them on to the active controller,
and refuses those of another broker. The active controller stores any setting of a broker without a check, except
`cordoned.log.dirs`, of which it only makes the list shorter: it is cordoned by the broker itself (measured).
"""

from collections.abc import Sequence
from typing import Final

from kio.schema.incremental_alter_configs.v1 import request as asked
from kio.schema.incremental_alter_configs.v1.response import IncrementalAlterConfigsResponse
from kio.static.primitive import i8
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.brokers import ConfigChange
from kafka_quorum.model.ids import NodeID
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import int32, once

API: Final = Api(key=44, name="IncrementalAlterConfigs", ours=VersionRange(low=1, high=1), effect=Effect.WRITES)
"""From 4.0 on; version 0 differs in nothing that is used."""
TOPIC, BROKER = 2, 4
"""Kafka's types of a resource."""
SET, DELETE = 0, 1
"""Kafka's operations; its two others append to a list and subtract from it, which cannot be repeated safely."""


def of_broker(node_id: NodeID, changes: Sequence[ConfigChange]) -> Request[None]:
    """Change dynamic settings of one broker; it may be stopped, and reads them when it starts."""
    return _request(BROKER, str(int32("node id", node_id)), changes)


def of_topic(topic: str, changes: Sequence[ConfigChange]) -> Request[None]:
    """Change settings of a topic."""
    return _request(TOPIC, topic, changes)


def _request(kind: int, name: str, changes: Sequence[ConfigChange]) -> Request[None]:
    def read(response: ResponsePayload) -> None:
        answer = typed(response, IncrementalAlterConfigsResponse)
        for row in answer.responses:
            accept(row.error_code, row.error_message)
        if [(int(row.resource_type), row.resource_name) for row in answer.responses] != [(kind, name)]:
            raise ValueError(f"{name} was to be changed, {len(answer.responses)} rows answer, or another one")

    return Request(api=API, build=lambda _: _message(kind, name, changes), read=read)


def _message(kind: int, name: str, changes: Sequence[ConfigChange]) -> asked.IncrementalAlterConfigsRequest:
    if not name or not changes:
        raise ValueError("no name or no change is given")
    once("setting", [change.name for change in changes])
    rows = tuple(
        asked.AlterableConfig(
            name=change.name, config_operation=i8(DELETE if change.value is None else SET), value=change.value
        )
        for change in changes
    )
    resource = asked.AlterConfigsResource(resource_type=i8(kind), resource_name=name, configs=rows)
    return asked.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
