"""The edges of a pool of three brokers at rest, for tests to change: an API server, and brokers that answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tests.brokers.looks import ORDERS, ran, registered, revision_of
from tests.brokers.values import CLUSTER, CONTRACT, IDS, NAMESPACE, POOL, QUORUM, desired, record, resource
from tests.kit.kube.recording import RecordingKube
from tests.model import values as controllers

from kafka_brokers.kind import POOLS
from kafka_brokers.model import names
from kafka_brokers.model.contracted import first_contact
from kafka_brokers.model.disks import PoolRecord
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.resources import objects, pods
from kafka_brokers.resources.stored import accepted_text, record_object, revision_object
from kafka_quorum.errors import KafkaRefused, KafkaUnreachable
from kafka_quorum.model.brokers import (
    BrokersAnswer,
    ConfigChange,
    ConfigEntry,
    LogDirectory,
    MetadataAnswer,
    Move,
    Partition,
    Reassignment,
    TopicPartition,
)
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint, NodeVersions, QuorumAnswer
from kafka_quorum.resources.contract import contract_object
from kit.errors import Fault
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, NODES, PODS, REVISIONS, SERVICES

Json = dict[str, Any]
EMPTY: Final = LogDirectory(path="/d", error="", total_bytes=1, usable_bytes=1, replicas=())
ADDRESSES: Final = tuple(f"events-{node}.events-controllers.kafka.svc:9093" for node in (3000, 3001, 3002))
REACHED: Final = replace(CONTRACT, controllers=ADDRESSES)
"""The contract, with the addresses of all three controllers."""


def refused(name: str = "NOT_LEADER_OR_FOLLOWER", words: str = "") -> KafkaRefused:
    """A server's refusal."""
    return KafkaRefused(
        f"refused with {name}: {words}",
        code=6,
        name=name,
        server_message=words,
        fault=Fault.THEIRS,
        retry_safe=True,
        outcome_unknown=False,
    )


def unreachable(words: str = "no answer") -> KafkaUnreachable:
    """No answer."""
    return KafkaUnreachable(words, fault=Fault.PATH, retry_safe=True, outcome_unknown=False)


def quorum(observers: Sequence[int] = IDS, **changes: Any) -> QuorumAnswer:  # noqa: ANN401 - any field
    """The leader's answer: every voter and observer is caught up."""
    voters = [controllers.key(node) for node in (3000, 3001, 3002)]
    return controllers.answer(voters, [controllers.key(node) for node in observers], **changes)


def behind(said: QuorumAnswer, node_id: int, *, fetched_ms: int = 0, caught_up_ms: int = 60_000) -> QuorumAnswer:
    """The answer, in which this replica fetched, and was caught up, so many milliseconds ago."""

    def later(row: Any) -> Any:  # noqa: ANN401 - a replica
        if row.key.node_id != node_id:
            return row
        now_ms = controllers.LEADER_NOW_MS
        return replace(row, last_fetch_ms=now_ms - fetched_ms, last_caught_up_ms=now_ms - caught_up_ms)

    return replace(said, voters=tuple(map(later, said.voters)), observers=tuple(map(later, said.observers)))


@dataclass(slots=True)
class AnsweringBrokers:
    """`Brokers` of a cluster at rest. `errors` raises instead, by request and node id; `asked` has every request."""

    quorums: dict[int, QuorumAnswer] = field(default_factory=lambda: {3000: quorum()})
    cluster: BrokersAnswer = field(
        default_factory=lambda: BrokersAnswer(cluster_id=CLUSTER, brokers=tuple(map(registered, IDS)))
    )
    partitions: tuple[Partition, ...] = ORDERS
    caches: dict[int, MetadataAnswer] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=lambda: {"orders": 2})
    moving: tuple[Reassignment, ...] = ()
    configs: dict[int, tuple[ConfigEntry, ...]] = field(default_factory=dict)
    directories: dict[int, tuple[LogDirectory, ...]] = field(default_factory=dict)
    errors: dict[tuple[str, int], Exception] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)

    def _ask(self, name: str, endpoint: Endpoint) -> None:
        self.asked.append((name, endpoint.node_id))
        error = self.errors.get((name, endpoint.node_id))
        if error is not None:
            raise error

    def asked_for(self, name: str) -> list[int]:
        """The servers that got this request, in order."""
        return [node_id for one, node_id in self.asked if one == name]

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """No features."""
        self._ask("api_versions", endpoint)
        return NodeVersions(supported=(), finalized=(), finalized_epoch=1)

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """The test's answer; a controller without one does not lead."""
        self._ask("describe_quorum", endpoint)
        found = self.quorums.get(endpoint.node_id)
        if found is None:
            raise refused()
        return found

    async def describe_brokers(self, endpoint: Endpoint) -> BrokersAnswer:
        """The test's answer."""
        self._ask("describe_brokers", endpoint)
        return self.cluster

    async def describe_partitions(self, endpoint: Endpoint) -> tuple[Partition, ...]:
        """The test's answer."""
        self._ask("describe_partitions", endpoint)
        return self.partitions

    async def metadata(self, endpoint: Endpoint, *, partitions: bool = True) -> MetadataAnswer:
        """The test's answer of this broker; by default what `cluster` and `partitions` say, with broker 0 leading."""
        self._ask("metadata" if partitions else "metadata of brokers", endpoint)
        rows = tuple(row for row in self.cluster.brokers if not row.fenced)
        default = MetadataAnswer(
            cluster_id=self.cluster.cluster_id, controller=NodeID(0), brokers=rows, partitions=self.partitions
        )
        found = self.caches.get(endpoint.node_id, default)
        return found if partitions else replace(found, partitions=())

    async def min_isr(self, endpoint: Endpoint, topics: Sequence[str]) -> dict[str, int]:
        """The test's answer about these topics."""
        self._ask("min_isr", endpoint)
        return {topic: self.least[topic] for topic in topics if topic in self.least}

    async def describe_broker_config(self, endpoint: Endpoint, node_id: NodeID) -> tuple[ConfigEntry, ...]:
        """The test's answer of this very broker."""
        assert endpoint.node_id == node_id
        self._ask("describe_broker_config", endpoint)
        return self.configs.get(node_id, ())

    async def describe_log_dirs(self, endpoint: Endpoint) -> tuple[LogDirectory, ...]:
        """The test's answer, or an empty directory."""
        self._ask("describe_log_dirs", endpoint)
        return self.directories.get(endpoint.node_id, (EMPTY,))

    async def reassignments(self, endpoint: Endpoint) -> tuple[Reassignment, ...]:
        """The test's answer."""
        self._ask("reassignments", endpoint)
        return self.moving

    async def reassign(self, endpoint: Endpoint, moves: Sequence[Move]) -> dict[TopicPartition, str]:
        """Every move begins."""
        self._ask(f"reassign {len(moves)}", endpoint)
        return {}

    async def elect_preferred(self, endpoint: Endpoint, partitions: Sequence[TopicPartition]) -> None:
        """Asked for, and not done."""
        self._ask(f"elect_preferred {len(partitions)}", endpoint)

    async def alter_broker_config(self, endpoint: Endpoint, node_id: NodeID, changes: Sequence[ConfigChange]) -> None:
        """Noted, and not done."""
        self._ask(f"alter_broker_config {node_id} {len(changes)}", endpoint)

    async def alter_topic_config(self, endpoint: Endpoint, topic: str, changes: Sequence[ConfigChange]) -> None:
        """Noted, and not done."""
        self._ask(f"alter_topic_config {topic} {len(changes)}", endpoint)

    async def unregister_broker(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """Noted, and not done."""
        self._ask(f"unregister_broker {node_id}", endpoint)

    async def close(self) -> None:
        """Nothing to close."""


def contract_of(contract: Contract = REACHED) -> Json:
    """The ConfigMap of a contract."""
    of = controllers.desired(name=QUORUM, namespace=NAMESPACE)
    return _stored(contract_object(of, contract))


def api_server(spec: Json | None = None, of: PoolRecord | None = None, contract: Contract = REACHED) -> RecordingKube:
    """A pool of three brokers at rest, as the API server stores it."""
    wanted = desired(spec, contract)
    known = of or ran(record(volumes=len(wanted.volumes)), wanted)
    revision = revision_of(wanted)
    whole = resource(spec)
    kube = RecordingKube()
    kube.put(POOLS, whole)
    kube.put(CONFIG_MAPS, contract_of(contract))
    accepted = accepted_text(whole["spec"])
    kube.put(CONFIG_MAPS, _stored(record_object(wanted, replace(known, resource_version="5"), accepted)))
    kube.put(REVISIONS, _stored(revision_object(wanted, revision, whole["spec"])))
    kube.put(CONFIG_MAPS, _stored(objects.config(wanted, revision, known.node_ids, first_contact(REACHED))))
    for body in objects.services(wanted, wanted.runtime, known.node_ids):
        kube.put(SERVICES, _stored(body))
    kube.put(BUDGETS, _stored(objects.budget(wanted, len(known.brokers) - 1)))
    for broker in known.brokers:
        for disk in broker.disks:
            claim = _stored(objects.claim(wanted, known, broker, disk))
            claim["metadata"]["uid"] = disk.claim_uid
            claim["status"] = {"phase": "Bound"}
            kube.put(CLAIMS, claim)
        kube.put(PODS, pod_of(wanted, known, broker.node_id))
        node = {"metadata": {"name": f"worker-{broker.node_id}"}}
        kube.put(NODES, {**node, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    return kube


def pod_of(wanted: PoolDesired, known: PoolRecord, node_id: int) -> Json:
    """A pod that runs this broker, ready."""
    revision = revision_of(wanted)
    broker = known.broker(NodeID(node_id))
    assert broker is not None
    config = objects.config_name(wanted, revision, known.node_ids, first_contact(REACHED))
    body = _stored(pods.kafka(wanted, known, broker, revision, config=config, pull_policy="IfNotPresent"))
    body["spec"]["nodeName"] = f"worker-{node_id}"
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    ended = {"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}}
    body["status"] = {
        "phase": "Running",
        "podIP": f"10.0.0.{node_id + 1}",
        "hostIP": f"192.168.0.{node_id + 1}",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": names.UNFENCED_GATE, "status": "True"}],
        "initContainerStatuses": [{"name": "verify", "state": ended}],
        "containerStatuses": [{"name": "kafka", "state": running, "ready": True, "restartCount": 0}],
    }
    return body


def pod_name(node_id: int) -> tuple[str, str]:
    """Where the pod of a broker is stored."""
    return PODS.plural, names.pod_name(POOL, NodeID(node_id))


RECORD: Final = (CONFIG_MAPS.plural, names.record_name(POOL))
"""Where the record is stored."""


def _stored(body: Json) -> Json:
    """The object as an API server returns it."""
    return {**body, "metadata": {"uid": f"uid-{body['metadata']['name']}", **body["metadata"]}}
