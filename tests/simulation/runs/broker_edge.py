"""An operator's edge to brokers: `Brokers` over the model. A stale answer is the last answer to the same question."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from tests.simulation.model.happened import Moved, Unregistered
from tests.simulation.model.kafka import broker_api as apis
from tests.simulation.model.kafka.broker_api import ModelBrokers
from tests.simulation.model.kafka.kraft_api import unreachable
from tests.simulation.runs.edges import Edge, Life, Wire
from tests.simulation.runs.faults import Call

from kafka_quorum.errors import KafkaError, KafkaUnreachable
from kafka_quorum.model.brokers import (
    BrokersAnswer,
    ConfigChange,
    ConfigEntry,
    LogDirectory,
    MetadataAnswer,
    Move,
    Partition,
    Reassignment,
    RegisteredBroker,
    TopicPartition,
)
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint, NodeVersions, QuorumAnswer
from kafka_quorum.wire.api import Api, Effect
from kafka_quorum.wire.requests import describe_quorum
from kit.errors import Fault

T = TypeVar("T")
VOTERS: Final = "controller.quorum.voters"
"""Kafka reports it as empty where it is not set; the model's brokers report what their files have."""


class BrokerEdge(Edge):
    """`Brokers` over the model."""

    side = "kafka"

    def __init__(self, wire: Wire, life: Life) -> None:
        """One incarnation's edge."""
        super().__init__(wire, life)
        self._model = ModelBrokers(wire.world.kraft, wire.world.pools)
        self._last: dict[tuple[str, Endpoint, object], Any] = {}

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """ApiVersions."""
        return await self._read(apis.API_VERSIONS, endpoint, lambda: self._model.versions(endpoint))

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """DescribeQuorum."""
        return await self._read(describe_quorum.API, endpoint, lambda: self._model.quorum(endpoint))

    async def describe_brokers(self, endpoint: Endpoint) -> BrokersAnswer:
        """DescribeCluster."""
        return await self._read(apis.BROKERS, endpoint, lambda: self._model.brokers(endpoint))

    async def describe_partitions(self, endpoint: Endpoint) -> tuple[Partition, ...]:
        """DescribeTopicPartitions."""
        return await self._read(apis.PARTITIONS, endpoint, lambda: self._model.partitions(endpoint))

    async def metadata(self, endpoint: Endpoint, *, partitions: bool = True) -> MetadataAnswer:
        """Metadata."""
        act = partial(self._model.metadata, endpoint, partitions=partitions)
        return await self._read(apis.METADATA, endpoint, act, about=partitions)

    async def min_isr(self, endpoint: Endpoint, topics: Sequence[str]) -> dict[str, int]:
        """DescribeConfigs of topics."""
        names = tuple(sorted(set(topics)))
        return await self._read(apis.CONFIGS, endpoint, lambda: self._model.min_isr(endpoint, names), about=names)

    async def describe_broker_config(self, endpoint: Endpoint, node_id: NodeID) -> tuple[ConfigEntry, ...]:
        """DescribeConfigs of this broker."""
        return await self._read(apis.CONFIGS, endpoint, lambda: self._model.config(endpoint, node_id), about=node_id)

    async def describe_log_dirs(self, endpoint: Endpoint) -> tuple[LogDirectory, ...]:
        """DescribeLogDirs."""
        return await self._read(apis.LOG_DIRS, endpoint, lambda: self._model.log_dirs(endpoint))

    async def reassignments(self, endpoint: Endpoint) -> tuple[Reassignment, ...]:
        """ListPartitionReassignments."""
        return await self._read(apis.REASSIGNMENTS, endpoint, lambda: self._model.reassignments(endpoint))

    async def reassign(self, endpoint: Endpoint, moves: Sequence[Move]) -> dict[TopicPartition, str]:
        """AlterPartitionReassignments."""
        self.life.check()
        self.world.tell(Moved(endpoint=endpoint, moves=tuple(moves)))
        return await self._write(apis.REASSIGN, endpoint, lambda: self._model.reassign(endpoint, moves))

    async def elect_preferred(self, endpoint: Endpoint, partitions: Sequence[TopicPartition]) -> None:
        """ElectLeaders."""
        await self._write(apis.ELECT, endpoint, lambda: self._model.elect_preferred(endpoint, partitions))

    async def alter_broker_config(self, endpoint: Endpoint, node_id: NodeID, changes: Sequence[ConfigChange]) -> None:
        """IncrementalAlterConfigs of a broker."""
        act = partial(self._model.alter_broker, endpoint, node_id, changes)
        await self._write(apis.ALTER_CONFIGS, endpoint, act)

    async def alter_topic_config(self, endpoint: Endpoint, topic: str, changes: Sequence[ConfigChange]) -> None:
        """IncrementalAlterConfigs of a topic."""
        await self._write(apis.ALTER_CONFIGS, endpoint, lambda: self._model.alter_topic(endpoint, topic, changes))

    async def unregister_broker(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """UnregisterBroker. The rules judge it when it is sent, whatever its result."""
        self.life.check()
        self.world.tell(Unregistered(endpoint=endpoint, node_id=node_id))
        await self._write(apis.UNREGISTER, endpoint, lambda: self._model.unregister(endpoint, node_id))

    async def close(self) -> None:
        """There is nothing to close."""

    async def _read(self, api: Api, endpoint: Endpoint, ask: Callable[[], T], *, about: object = None) -> T:
        await self.life.turn()
        key = (api.name, endpoint, about)
        before: T | None = self._last.get(key)

        def act() -> T:
            answer = ask()
            self._last[key] = answer
            return answer

        call = _call(api, endpoint, fickle=before is not None)
        stale: Callable[[], T] | None = None if before is None else partial(_same, before)
        return self.course(call, act, failure=partial(unreachable, endpoint, api, "no answer"), stale=stale)

    async def _write(self, api: Api, endpoint: Endpoint, act: Callable[[], T]) -> T:
        await self.life.turn()
        return self.course(_call(api, endpoint), act, failure=partial(unreachable, endpoint, api, "no answer"))


class RunningEdge:
    """`RunningSettings` over an edge to brokers: those that one of the addresses lists, each asked itself."""

    def __init__(self, edge: BrokerEdge) -> None:
        """The edge of one incarnation."""
        self._edge = edge

    async def read(
        self,
        bootstrap: tuple[str, ...],
        properties: Mapping[str, str],  # noqa: ARG002 - a model needs none
    ) -> Mapping[NodeID, Knowable[Mapping[str, str | None]]]:
        """The settings of every registered broker; a fenced one, or one without an answer, is Unknown."""
        last: KafkaError | None = None
        for address in bootstrap:
            host, _, port = address.rpartition(":")
            try:
                listed = await self._edge.describe_brokers(Endpoint(node_id=NodeID(-1), host=host, port=int(port)))
            except KafkaError as error:
                last = error
                continue
            return {row.node_id: await self._settings(row) for row in listed.brokers}
        raise last or KafkaUnreachable("no address", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)

    async def _settings(self, row: RegisteredBroker) -> Knowable[Mapping[str, str | None]]:
        if row.fenced:
            return Unknown(reason="it is fenced")
        endpoint = Endpoint(node_id=row.node_id, host=row.host, port=row.port)
        try:
            entries = await self._edge.describe_broker_config(endpoint, row.node_id)
        except KafkaError as error:
            return Unknown(reason=str(error))
        return Known(value={VOTERS: "", **{entry.name: entry.value for entry in entries}})

    async def close(self) -> None:
        """There is nothing to close."""


def _call(api: Api, endpoint: Endpoint, *, fickle: bool = False) -> Call:
    """The call; its target is a broker or a controller."""
    return Call(
        verb=api.name,
        what="broker",
        name=str(endpoint.node_id),
        writes=api.effect is Effect.WRITES,
        fickle=fickle,
    )


def _same(answer: T) -> T:
    return answer
