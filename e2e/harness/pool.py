"""One KafkaBrokerPool of a quorum, and every way to look at it: status, objects, disks, Kafka itself."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._metadata import ClusterMetadata

from harness.controllers import ControllerAccess
from harness.quorum import GROUP, Quorum, merged
from harness.shell import Json, get, items, kubectl, run, wait_until
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.pools import REPLICATION_TLS, broker_host
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.broker_admin import KafkaBrokers

READY_TIMEOUT_S = 240.0
REPLICATION_PORT: Final = 9091
CLIENT_PORT: Final = 9092
HOLD: Final = f"{GROUP}/hold"
_SMALL: Json = {
    "replicas": 3,
    "storage": [{"size": "1Gi"}],
    "jvm": {"heap": "256Mi"},
    "config": {"default.replication.factor": "3"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A pool by its quorum and its name."""

    quorum: Quorum
    name: str = "brokers"

    @property
    def namespace(self) -> str:
        """The namespace of the pool and of its quorum."""
        return self.quorum.namespace

    @property
    def bootstrap(self) -> str:
        """Where clients in the cluster begin."""
        return f"{self.name}-bootstrap.{self.namespace}.svc:{CLIENT_PORT}"

    # --- acts of a person -------------------------------------------------------------------------------------------

    def body(self, spec: Json | None = None) -> Json:
        """A small pool of three with `spec` merged into it."""
        return {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "KafkaBrokerPool",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": merged({"quorum": self.quorum.name, **_SMALL}, spec or {}),
        }

    def apply(self, spec: Json | None = None) -> None:
        """Apply a small pool of three with `spec` merged into it."""
        kubectl("apply", "-f", "-", stdin=json.dumps(self.body(spec)))

    def patch(self, spec: Json) -> None:
        """Merge into the spec."""
        self._kubectl("patch", "kbp", self.name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def scale(self, replicas: int) -> None:
        """Scale like a person."""
        self._kubectl("scale", f"kbp/{self.name}", f"--replicas={replicas}")

    def hold(self, node_id: int) -> None:
        """Hold a broker: it is not stopped while this annotation stays."""
        self._kubectl("annotate", "pod", self.pods()[node_id]["metadata"]["name"], f"{HOLD}=true")

    def release(self, node_id: int) -> None:
        """Hold it no longer."""
        self._kubectl("annotate", "pod", self.pods()[node_id]["metadata"]["name"], f"{HOLD}-")

    def delete_pod(self, node_id: int) -> str:
        """Delete a broker's pod gracefully, and wait until this pod is gone; returns its uid."""
        metadata = self.pods()[node_id]["metadata"]
        self._kubectl("delete", "pod", metadata["name"], timeout_s=400)
        return str(metadata["uid"])

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Wait until the present spec is Ready, like `kubectl wait --for=condition=Ready`."""

        def ready() -> bool:
            resource = self.resource()
            rows = resource.get("status", {}).get("conditions", [])
            row: Json = next((row for row in rows if row["type"] == "Ready"), {})
            fresh = bool(row) and row.get("observedGeneration") == resource["metadata"]["generation"]
            return fresh and row["status"] == "True"

        wait_until(f"pool {self.name} is Ready", ready, timeout_s)

    # --- the resource -----------------------------------------------------------------------------------------------

    def resource(self) -> Json:
        """The whole resource; empty if it is gone."""
        return get(self.namespace, "kbp", self.name)

    def status(self) -> Json:
        """Its status."""
        found: Json = self.resource().get("status") or {}
        return found

    def conditions(self) -> dict[str, Json]:
        """Its conditions, by type."""
        return {row["type"]: row for row in self.status().get("conditions", [])}

    def wait_told(self, *words: str, timeout_s: float = 120.0) -> Json:
        """Wait until one condition's message has all of these words; returns it."""

        def probe() -> Json | None:
            rows = self.conditions().values()
            return next((row for row in rows if all(word.lower() in row["message"].lower() for word in words)), None)

        found = wait_until(f"a condition of pool {self.name} says {words}", probe, timeout_s)
        print(f"{found['type']}={found['status']} {found['reason']}: {found['message']}", flush=True)
        return found

    def events(self) -> list[tuple[str, str]]:
        """Reason and message of every event about the pool, in the order of writing."""
        rows = (
            row for row in items(self.namespace, "events") if row["involvedObject"].get("kind") == "KafkaBrokerPool"
        )
        ours = (row for row in rows if row["involvedObject"]["name"] == self.name)
        ordered = sorted(ours, key=lambda row: int(row["metadata"]["resourceVersion"]))
        return [(row["reason"], row.get("message", "")) for row in ordered]

    # --- its objects ------------------------------------------------------------------------------------------------

    def pods(self, role: str = "broker") -> dict[int, Json]:
        """Pods that are not in deletion, by node id."""
        found = items(self.namespace, "pods", "-l", f"{GROUP}/pool={self.name},{GROUP}/role={role}")
        alive = (pod for pod in found if "deletionTimestamp" not in pod["metadata"])
        return {int(pod["metadata"]["labels"][f"{GROUP}/node-id"]): pod for pod in alive}

    def claims(self) -> dict[str, Json]:
        """Claims by name."""
        found = items(self.namespace, "pvc", "-l", f"{GROUP}/pool={self.name}")
        return {claim["metadata"]["name"]: claim for claim in found}

    def claims_of(self, node_id: int) -> list[str]:
        """The names of a broker's claims, in order."""
        rows = self.claims().items()
        return sorted(name for name, row in rows if row["metadata"]["labels"].get(f"{GROUP}/node-id") == str(node_id))

    def running(self) -> dict[int, tuple[str, int]]:
        """The values that any restart changes: of each pod the uid and the restarts."""
        found = {}
        for node_id, pod in self.pods().items():
            rows = pod.get("status", {}).get("containerStatuses") or [{}]
            found[node_id] = (pod["metadata"]["uid"], rows[0].get("restartCount", 0))
        return found

    def images(self) -> dict[int, str]:
        """Kafka's image in each broker's pod."""
        return {node_id: pod["spec"]["containers"][0]["image"] for node_id, pod in self.pods().items()}

    # --- Kafka ------------------------------------------------------------------------------------------------------

    def client(self, **settings: str | float) -> AdminClient:
        """A client that begins at the pool's service."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0, **settings})

    def metadata(self) -> ClusterMetadata:
        """What a broker answers about brokers and partitions."""
        return wait_until("a broker answers", self._metadata, 60)

    def brokers(self) -> set[int]:
        """The brokers of the cluster that are not fenced, those of other pools too."""
        return set(self.metadata().brokers)

    def registered(self) -> set[int]:
        """Every registered broker, fenced ones and those of other pools too; the log's observers list ends later."""
        return wait_until("a broker lists the registrations", self._registered, 60)

    def _registered(self) -> set[int]:
        return asyncio.run(_registered(self.endpoints().values()))

    def endpoints(self) -> dict[int, Endpoint]:
        """Where the operator asks each broker that has an address, and as whom."""
        access = ControllerAccess(self.namespace, self.quorum.name)
        found = {}
        for node_id, pod in self.pods().items():
            if not (address := pod["status"].get("podIP")):
                continue
            at = Endpoint(node_id=NodeID(node_id), host=address, port=REPLICATION_PORT)
            if (pod["metadata"].get("annotations") or {}).get(REPLICATION_TLS) == "true":
                name = broker_host(self.namespace, self.name, node_id)
                at = replace(at, security=access.security(), name=name)
            found[node_id] = at
        return found

    def leaders(self) -> dict[str, int]:
        """The leader of each partition."""
        topics = self.metadata().topics.values()
        return {f"{topic.topic}-{row.id}": row.leader for topic in topics for row in topic.partitions.values()}

    def replicas(self) -> dict[str, tuple[list[int], list[int]]]:
        """The replicas of each partition, the preferred leader first, and its ISR, sorted."""
        topics = self.metadata().topics.values()
        rows = ((f"{topic.topic}-{row.id}", row) for topic in topics for row in topic.partitions.values())
        return {name: (list(row.replicas), sorted(row.isrs)) for name, row in rows}

    def assert_in_sync(self) -> None:
        """Wait until every replica of every partition is in sync, and every preferred leader leads."""

        def restored() -> bool:
            led = self.leaders()
            return all(
                sorted(replicas) == isr and led.get(name) == replicas[0]
                for name, (replicas, isr) in self.replicas().items()
            )

        wait_until("every partition is in sync and led by its preferred leader", restored, 90, 1.0)

    def _metadata(self) -> ClusterMetadata | None:
        try:
            return self.client().list_topics(timeout=5)
        except KafkaException:
            return None

    def _kubectl(self, *arguments: str, timeout_s: float = 60.0) -> str:
        return kubectl("-n", self.namespace, *arguments, timeout_s=timeout_s)

    def report(self) -> str:
        """What a person looks at first when a scenario fails; the quorum's report has the namespace's objects."""
        parts = []
        for look in (
            ("get", "kbp", self.name, "-o", "yaml"),
            ("get", "configmap,lease,controllerrevision", "-o", "yaml"),
        ):
            _, output, errors = run("kubectl", "-n", self.namespace, *look)
            parts.append(f"$ kubectl {' '.join(look)}\n{output}{errors}")
        return "\n".join(parts)


async def _registered(endpoints: Iterable[Endpoint]) -> set[int]:
    """The registered brokers as the first of these that answers knows them; empty if none answers."""
    brokers = KafkaBrokers()
    try:
        for endpoint in endpoints:
            try:
                answer = await brokers.describe_brokers(endpoint)
            except KafkaError:
                continue
            return {int(row.node_id) for row in answer.brokers}
    finally:
        await brokers.close()
    return set()
