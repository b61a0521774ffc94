"""The requests of `wire.brokers.Brokers`: the model answers at once, with Kafka's own error codes.

A broker answers by what it has read of the metadata log, which may be old; what changes the cluster, and the running
reassignments, are the active controller's. `tests/live/broker_answers.py` compares this with real servers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from kio.schema.errors import ErrorCode
from tests.simulation.model.kafka.broker import Broker
from tests.simulation.model.kafka.broker_controller import BrokerController, NotAcceptedError
from tests.simulation.model.kafka.broker_model import BrokerModel
from tests.simulation.model.kafka.cluster_image import CORDONED, ClusterImage, PartitionRow
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.kraft_api import ModelControllers, process_at, unreachable
from tests.simulation.model.kafka.kraft_model import KraftModel
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import supported
from tests.simulation.model.kafka.tls import ENDED, trust_in, why_refused

from kafka_quorum.errors import KafkaExpired, KafkaUnreachable
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
    Replica,
    TopicPartition,
)
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint, NodeVersions, QuorumAnswer
from kafka_quorum.model.security import Secured
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.refusals import refused

_RECORD_BYTES: Final = 100
_AT_START: Final = frozenset({"broker.rack", "listeners", "log.dirs", "node.id", "queued.max.requests"})
"""Some of the settings that a broker reads at its start only."""
_DISK_BYTES: Final = 10 * 2**30


def _api(key: int, name: str, low: int, high: int, effect: Effect = Effect.READS) -> Api:
    return Api(key=key, name=name, ours=VersionRange(low=low, high=high), effect=effect)


API_VERSIONS: Final = _api(18, "ApiVersions", 3, 4)
BROKERS: Final = _api(60, "DescribeCluster", 2, 2)
METADATA: Final = _api(3, "Metadata", 12, 12)
PARTITIONS: Final = _api(75, "DescribeTopicPartitions", 0, 0)
CONFIGS: Final = _api(32, "DescribeConfigs", 4, 4)
LOG_DIRS: Final = _api(35, "DescribeLogDirs", 4, 5)
REASSIGNMENTS: Final = _api(46, "ListPartitionReassignments", 0, 0)
REASSIGN: Final = _api(45, "AlterPartitionReassignments", 0, 1, Effect.WRITES)
ELECT: Final = _api(43, "ElectLeaders", 2, 2, Effect.WRITES)
ALTER_CONFIGS: Final = _api(44, "IncrementalAlterConfigs", 1, 1, Effect.WRITES)
UNREGISTER: Final = _api(64, "UnregisterBroker", 0, 0, Effect.WRITES)


class ModelBrokers:
    """Every broker and controller of the model, found by address or name."""

    def __init__(self, kraft: KraftModel, brokers: BrokerModel) -> None:
        """Answer for these models."""
        self._kraft, self._brokers = kraft, brokers
        self._controllers = ModelControllers(kraft)

    # Of one broker

    def versions(self, endpoint: Endpoint) -> NodeVersions:
        """Of a broker or a controller."""
        known = self._brokers.at(endpoint.host, endpoint.port) is not None
        process = self._broker(endpoint, API_VERSIONS).process if known else self._process(endpoint, API_VERSIONS)
        image = process.reported
        return NodeVersions(
            supported=supported(process.release), finalized=image.levels, finalized_epoch=image.changed_at
        )

    def quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """At a controller: DescribeQuorum."""
        process = self._process(endpoint, API_VERSIONS)
        return self._controllers.quorum(replace(endpoint, host=process.address, name=endpoint.certified_name))

    def brokers(self, endpoint: Endpoint) -> BrokersAnswer:
        """Every registered broker, as this broker has read it."""
        if self._kraft.at(endpoint.host, endpoint.port) is not None and not self._is_broker(endpoint):
            raise refused(endpoint, BROKERS, ErrorCode.mismatched_endpoint_type, "")
        broker = self._broker(endpoint, BROKERS)
        rows = sorted(broker.image.brokers.values(), key=lambda row: row.node_id)
        return BrokersAnswer(
            cluster_id=broker.process.cluster_id,
            brokers=tuple(
                RegisteredBroker(
                    node_id=row.node_id, host=row.host, port=row.port, rack=row.rack, fenced=row.fenced or row.stopping
                )
                for row in rows
            ),
        )

    def partitions(self, endpoint: Endpoint) -> tuple[Partition, ...]:
        """Every partition, as this broker has read it."""
        image = self._broker(endpoint, PARTITIONS).image
        return tuple(_shown(image, row) for _, row in sorted(image.partitions.items()))

    def metadata(self, endpoint: Endpoint, *, partitions: bool) -> MetadataAnswer:
        """The brokers that are not fenced, and every partition if asked for, as this broker has read them."""
        answer = self.brokers(endpoint)
        rows = tuple(row for row in answer.brokers if not row.fenced)
        return MetadataAnswer(
            cluster_id=answer.cluster_id,
            controller=rows[0].node_id if rows else None,
            brokers=rows,
            partitions=tuple(replace(row, elr=(), last_elr=()) for row in self.partitions(endpoint) if partitions),
        )

    def min_isr(self, endpoint: Endpoint, topics: Sequence[str]) -> dict[str, int]:
        """The effective setting of topics that exist, as this broker has read it."""
        image = self._broker(endpoint, CONFIGS).image
        return {topic: image.min_isr(topic) for topic in topics if topic in image.of_topic}

    def config(self, endpoint: Endpoint, node_id: NodeID) -> tuple[ConfigEntry, ...]:
        """The running settings of this very broker: dynamic ones before those of its file."""
        broker = self._broker(endpoint, CONFIGS)
        if broker.node_id != node_id:
            words = f"Unexpected broker id, expected {broker.node_id}, but received {node_id}"
            raise refused(endpoint, CONFIGS, ErrorCode.invalid_request, words)
        found = {name: (value, 4) for name, value in broker.properties.items()}
        found |= {name: (value, 3) for name, value in broker.image.of_all.items()}
        found |= {name: (value, 2) for name, value in broker.image.of_broker.get(node_id, {}).items()}
        return tuple(
            ConfigEntry(name=name, value=value, source=source, read_only=False)
            for name, (value, source) in sorted(found.items())
        )

    def log_dirs(self, endpoint: Endpoint) -> tuple[LogDirectory, ...]:
        """Its log directories, with the replicas in them."""
        broker = self._broker(endpoint, LOG_DIRS)
        cordoned = broker.image.of_broker.get(broker.node_id, {}).get(CORDONED) == "*"
        return tuple(self._directory(broker, index, disk, cordoned) for index, disk in enumerate(broker.disks))

    # Of the active controller

    def reassignments(self, endpoint: Endpoint) -> tuple[Reassignment, ...]:
        """Every running reassignment."""
        controller = self._active(endpoint, REASSIGNMENTS)
        rows = sorted(controller.image.partitions.items())
        return tuple(
            Reassignment(at=at, replicas=row.replicas, adding=row.adding, removing=row.removing)
            for at, row in rows
            if row.adding or row.removing
        )

    def reassign(self, endpoint: Endpoint, moves: Sequence[Move]) -> dict[TopicPartition, str]:
        """Each move on its own: what is refused is returned with its words."""
        controller, refusals = self._active(endpoint, REASSIGN), {}
        for move in moves:
            try:
                controller.reassign(move.at, move.replicas)
            except NotAcceptedError as error:
                if error.code != "NO_REASSIGNMENT_IN_PROGRESS":
                    refusals[move.at] = f"{error.code}: {error.words}"
        return refusals

    def elect_preferred(self, endpoint: Endpoint, partitions: Sequence[TopicPartition]) -> None:
        """Each partition's first replica leads, if it can."""
        controller = self._active(endpoint, ELECT)
        for at in partitions:
            controller.elect_preferred(at)

    def alter_broker(self, endpoint: Endpoint, node_id: NodeID, changes: Sequence[ConfigChange]) -> None:
        """Dynamic settings of one broker."""

        def change(image: ClusterImage) -> ClusterImage:
            settings = _with_changes(image.of_broker.get(node_id, {}), changes)
            return replace(image, of_broker={**image.of_broker, node_id: settings})

        self._judge_settings(endpoint, node_id, changes)
        self._active(endpoint, ALTER_CONFIGS).configure(change)

    def _judge_settings(self, endpoint: Endpoint, node_id: NodeID, changes: Sequence[ConfigChange]) -> None:
        """A broker judges changes of its own settings, and only those; a controller knows no log directories."""
        broker = self._brokers.at(endpoint.host, endpoint.port)
        if broker is None:
            if any(change.name == CORDONED and change.value is not None for change in changes):
                words = "Invalid value for cordoned.log.dirs: it must be a subset of log.dirs"
                raise refused(endpoint, ALTER_CONFIGS, ErrorCode.invalid_config, words)
            return
        if broker.node_id != node_id:
            words = f"Unexpected broker id, expected {broker.node_id}, but received {node_id}"
            raise refused(endpoint, ALTER_CONFIGS, ErrorCode.invalid_request, words)
        fixed = [change.name for change in changes if change.name in _AT_START]
        if fixed:
            words = f"Cannot update these configs dynamically: {', '.join(fixed)}"
            raise refused(endpoint, ALTER_CONFIGS, ErrorCode.invalid_request, words)

    def alter_topic(self, endpoint: Endpoint, topic: str, changes: Sequence[ConfigChange]) -> None:
        """Settings of one topic; UNKNOWN_TOPIC_OR_PARTITION."""
        controller = self._active(endpoint, ALTER_CONFIGS)
        if topic not in controller.image.of_topic:
            raise refused(endpoint, ALTER_CONFIGS, ErrorCode.unknown_topic_or_partition, "The topic does not exist.")

        def change(image: ClusterImage) -> ClusterImage:
            return replace(
                image, of_topic={**image.of_topic, topic: _with_changes(image.of_topic.get(topic, {}), changes)}
            )

        controller.configure(change)

    def unregister(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """Forget a registration; a broker that is not registered is a success, as the operator reads it."""
        controller = self._active(endpoint, UNREGISTER)
        if node_id in controller.image.brokers:
            controller.unregister(node_id)

    # Inside

    def _is_broker(self, endpoint: Endpoint) -> bool:
        return self._brokers.at(endpoint.host, endpoint.port) is not None

    def _broker(self, endpoint: Endpoint, api: Api) -> Broker:
        broker = self._brokers.at(endpoint.host, endpoint.port)
        if broker is None or not broker.serves or self._kraft.now_s < broker.process.up_s:
            raise unreachable(endpoint, api, "connection refused")
        if broker.process.frozen or broker.process.node in self._kraft.unseen:
            raise unreachable(endpoint, api, "the deadline passed")
        if broker.replicates_by_tls and (why := self._why_refused(broker, endpoint)):
            error = KafkaExpired if why == ENDED else KafkaUnreachable
            raise unreachable(endpoint, api, f"its certificate is not accepted: {why}", error)
        return broker

    def _why_refused(self, broker: Broker, endpoint: Endpoint) -> str:
        """Why the operator, which opens a connection for each look, does not accept a broker's certificate.

        The quorum's own client of brokers is modelled without its TLS.
        """
        tls = endpoint.security.tls if isinstance(endpoint.security, Secured) else None
        if tls is None or broker.process.tls is None:
            return ""
        now = self._kraft.true_now
        return why_refused(broker.process.tls.served, trust_in(tls.ca), now, endpoint.certified_name)

    def _process(self, endpoint: Endpoint, api: Api) -> Process:
        """A controller, by its address or, as the contract has it, by its name."""
        if self._kraft.at(endpoint.host, endpoint.port) is None:
            named = self._kraft.named(endpoint.host, endpoint.port)
            if named is not None and named.named_s <= self._kraft.now_s:
                endpoint = replace(endpoint, host=named.address, name=endpoint.certified_name)
        return process_at(self._kraft, endpoint, api)

    def _active(self, endpoint: Endpoint, api: Api) -> BrokerController:
        if self._brokers.at(endpoint.host, endpoint.port) is not None:
            return self._forwarded(endpoint, api)
        process = self._process(endpoint, api)
        controller = self._brokers.cluster(process.cluster_id).controller
        if controller.leader is not process:
            raise refused(endpoint, api, ErrorCode.not_controller, "")
        return controller

    def _forwarded(self, endpoint: Endpoint, api: Api) -> BrokerController:
        """A broker sends such a request on to the active controller."""
        process = self._broker(endpoint, api).process
        controller = self._brokers.cluster(process.cluster_id).controller
        leader = controller.leader
        if leader is None or not self._kraft.finds(process, leader):
            raise refused(endpoint, api, ErrorCode.request_timed_out, "")
        return controller

    def _directory(self, broker: Broker, index: int, disk: Disk, cordoned: bool) -> LogDirectory:  # noqa: FBT001
        path = f"/var/lib/kafka/data-{index}"
        if disk.meta is not None and disk.meta.directory_id in broker.broken:
            return LogDirectory(path=path, error="KAFKA_STORAGE_ERROR", total_bytes=-1, usable_bytes=-1, replicas=())
        leaders = {one.node_id: one for one in self._brokers.every()}
        rows = []
        for at, log in sorted(disk.replicas.items()):
            row = broker.image.partitions.get(at)
            leader = leaders.get(row.leader) if row is not None and row.leader is not None else None
            theirs = leader.log_of(at) if leader is not None else None
            lag = 0 if theirs is None else max(theirs.end - log.end, 0)
            rows.append(Replica(at=at, size_bytes=log.end * _RECORD_BYTES, lag=lag, future=False))
        used = sum(one.size_bytes for one in rows)
        return LogDirectory(
            path=path,
            error="",
            total_bytes=_DISK_BYTES,
            usable_bytes=_DISK_BYTES - used,
            replicas=tuple(rows),
            cordoned=cordoned,
        )


def _shown(image: ClusterImage, row: PartitionRow) -> Partition:
    leads = row.leader is not None and (broker := image.brokers.get(row.leader)) is not None and not broker.fenced
    return Partition(
        at=row.at,
        leader=row.leader if leads else None,
        leader_epoch=row.leader_epoch,
        replicas=row.replicas,
        isr=row.isr,
        elr=row.elr,
        last_elr=row.last_elr,
        offline=tuple(node for node in row.replicas if not image.is_acceptable(row, node)),
    )


def _with_changes(settings: Mapping[str, str], changes: Sequence[ConfigChange]) -> dict[str, str]:
    found = dict(settings)
    for change in changes:
        if change.value is None:
            found.pop(change.name, None)
        else:
            found[change.name] = change.value
    return found
