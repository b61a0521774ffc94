"""Three controllers on loopback with answers that a test distorts, and a reconciler that asks them over the network."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from kio.schema.api_versions.v4 import response as api_versions
from kio.schema.describe_cluster.v1 import response as describe_cluster
from kio.schema.describe_quorum.v2 import response as describe_quorum
from kio.schema.errors import ErrorCode
from kio.static.primitive import i16, i32Timedelta, i64
from kio.static.protocol import ResponsePayload
from tests.clocks import MovingClock
from tests.kit.kube.recording import RecordingKube
from tests.model.values import CLUSTER, IDS, LEADER_NOW_MS, directory
from tests.observe.test_gather import api_server
from tests.serving import HOST, serving
from tests.test_reconcile import KEY, Bench, Ids
from tests.wire.fakes import ALL_VERSIONS, answer_to
from tests.wire.fakes import api_versions as versions_answer

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.ids import uuid_to_bytes
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.reconcile import PassResult, Reconciler
from kafka_quorum.settings import Settings
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.connection import Connection, Limits
from kafka_quorum.wire.requests.api_versions import API as API_VERSIONS
from kafka_quorum.wire.requests.describe_cluster import API as DESCRIBE_CLUSTER
from kafka_quorum.wire.requests.describe_quorum import API as DESCRIBE_QUORUM
from kafka_quorum.wire.requests.update_features import API as UPDATE_FEATURES
from kit.key import ObjectKey
from kit.report.report import PassReport

LEADER = 3000
PATIENCE_S = 10.0
"""For answers that arrive: a busy machine may be slow."""
IMPATIENCE_S = 0.5
"""For answers that do not arrive."""
Send = Callable[[bytes, bytes, asyncio.StreamWriter], Any]
"""From a request and its correct answer, with its length, to the bytes that are written instead."""
NO = ErrorCode.none


def replica(node_id: int, **changes: Any) -> describe_quorum.ReplicaState:  # noqa: ANN401 - whatever the field holds
    """A voter that is caught up."""
    values: dict[str, Any] = {
        "replica_id": node_id,
        "replica_directory_id": UUID(bytes=uuid_to_bytes(directory(node_id))),
        "log_end_offset": i64(100),
        "last_fetch_timestamp": i64(LEADER_NOW_MS),
        "last_caught_up_timestamp": i64(LEADER_NOW_MS),
    }
    return describe_quorum.ReplicaState(**values | changes)


def partition(**changes: Any) -> describe_quorum.PartitionData:  # noqa: ANN401 - whatever the field holds
    """The metadata log as the leader describes it."""
    values: dict[str, Any] = {
        "partition_index": 0,
        "error_code": NO,
        "error_message": None,
        "leader_id": LEADER,
        "leader_epoch": 7,
        "high_watermark": i64(100),
        "current_voters": tuple(map(replica, IDS)),
        "observers": (),
    }
    return describe_quorum.PartitionData(**values | changes)


def quorum(*rows: describe_quorum.PartitionData) -> describe_quorum.DescribeQuorumResponse:
    """A DescribeQuorum answer with these partitions of the metadata topic."""
    name: Any = "__cluster_metadata"
    topic = describe_quorum.TopicData(topic_name=name, partitions=rows)
    return describe_quorum.DescribeQuorumResponse(error_code=NO, error_message=None, topics=(topic,), nodes=())


def not_leading() -> describe_quorum.DescribeQuorumResponse:
    """The answer of every controller that does not lead."""
    row = partition(error_code=ErrorCode.not_leader_or_follower, leader_id=0, current_voters=(), high_watermark=i64(0))
    return quorum(row)


def cluster(**changes: Any) -> describe_cluster.DescribeClusterResponse:  # noqa: ANN401 - whatever the field holds
    """The cluster as the leader describes it."""
    rows: Any = tuple(
        describe_cluster.DescribeClusterBroker(broker_id=_any(node_id), host=HOST, port=_any(9093)) for node_id in IDS
    )
    values: dict[str, Any] = {
        "throttle_time": i32Timedelta.parse(timedelta(0)),
        "error_code": NO,
        "endpoint_type": 2,
        "cluster_id": CLUSTER,
        "brokers": rows,
    }
    return describe_cluster.DescribeClusterResponse(**values | changes)


def _any(value: object) -> Any:  # noqa: ANN401 - a number of kio's
    return value


def features(*rows: tuple[str, int, int], levels: tuple[tuple[str, int], ...] = ()) -> api_versions.ApiVersionsResponse:
    """An ApiVersions answer with these features, of a server on which no feature can be changed."""
    supported = tuple(
        api_versions.SupportedFeatureKey(name=name, min_version=i16(low), max_version=i16(high))
        for name, low, high in rows
    )
    finalized = tuple(
        api_versions.FinalizedFeatureKey(name=name, max_version_level=i16(level), min_version_level=i16(level))
        for name, level in levels
    )
    made = versions_answer({key: known for key, known in ALL_VERSIONS.items() if key != UPDATE_FEATURES.key})
    return replace(made, supported_features=supported, finalized_features=finalized, finalized_features_epoch=i64(3))


HONEST: Mapping[int, ResponsePayload] = {
    API_VERSIONS.key: features(("kraft.version", 0, 1), levels=(("kraft.version", 1),)),
    DESCRIBE_CLUSTER.key: cluster(),
    DESCRIBE_QUORUM.key: quorum(partition()),
}


@dataclass(slots=True)
class Controller:
    """One controller: `answers` by api key, and by api key what is written in place of an answer."""

    answers: dict[int, ResponsePayload] = field(default_factory=lambda: dict(HONEST))
    sends: dict[int, Send] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection to its end."""
        while True:
            (length,) = struct.unpack(">i", await reader.readexactly(4))
            request = await reader.readexactly(length)
            key = int.from_bytes(request[:2], "big")
            self.asked.append(key)
            honest = answer_to(request, self.answers[key]) if key in self.answers else b""
            sent = self.sends.get(key, _as_it_is)(request, honest, writer)
            if asyncio.iscoroutine(sent):
                await sent


def _as_it_is(_: bytes, honest: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(honest)


class Rerouted(KafkaControllers):
    """The real client, whose connections go to loopback."""

    def __init__(self, ports: Mapping[int, int], patience_s: float) -> None:
        """`ports` by node id; `patience_s` is the time to wait for an answer."""
        super().__init__(Limits(connect_timeout_s=patience_s, request_timeout_s=patience_s))
        self._ports = ports

    def _connection(self, endpoint: Endpoint) -> Connection:
        return super()._connection(replace(endpoint, host=HOST, port=self._ports[endpoint.node_id]))


@dataclass(slots=True)
class Scene:
    """A quorum of three between an API server that records everything and controllers on loopback."""

    kube: RecordingKube
    controllers: dict[int, Controller]
    reconciler: Reconciler
    clock: MovingClock
    seen: list[Observed] = field(default_factory=list)

    async def take(self, report: PassReport[Observed]) -> None:
        """Records the look of a pass."""
        assert report.key == KEY
        if report.seen is not None:
            self.seen.append(report.seen)

    def forget(self, key: ObjectKey) -> None:
        """Does nothing, because no resource disappears here."""

    async def run(self) -> PassResult:
        """Runs one pass, some seconds after the last one."""
        self.clock.seconds += 3
        return await self.reconciler.run_pass(KEY)


@asynccontextmanager
async def scene(*, followers_lead: bool = False, patience_s: float = PATIENCE_S) -> AsyncIterator[Scene]:
    """Controller 3000 leads; the others answer that they do not, unless all claim to lead."""
    controllers = {int(node_id): Controller() for node_id in IDS}
    for node_id, controller in controllers.items():
        if node_id != LEADER:
            own = quorum(partition(leader_id=node_id)) if followers_lead else not_leading()
            controller.answers[DESCRIBE_QUORUM.key] = own
    async with AsyncExitStack() as stack:
        for controller in controllers.values():
            controller.port = await stack.enter_async_context(serving(controller.serve))
        client = Rerouted({node_id: one.port for node_id, one in controllers.items()}, patience_s)
        bench = Bench(api_server())
        bench.resource()
        made = Scene(kube=bench.kube, controllers=controllers, reconciler=bench.reconciler, clock=MovingClock(100.0))
        made.reconciler = Reconciler(
            kube=bench.kube, controllers=client, clock=made.clock, ids=Ids(), settings=Settings(), subscribers=(made,)
        )
        assert (QUORUMS.plural, KEY.name) in bench.kube.objects
        try:
            yield made
        finally:
            await client.close()
