"""One KafkaQuorum in its own namespace, and every way to look at it: status, objects, disks, Kafka itself."""

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from harness import nodes
from harness.access import PLAIN, Access, to_controllers
from harness.controllers import ControllerAccess
from harness.page import Page, page_of
from harness.shell import Json, get, items, kubectl, run, secret_texts, wait_until
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.quorum import Endpoint, NodeVersions, QuorumAnswer
from kafka_quorum.wire.admin import KafkaControllers

READY_TIMEOUT_S = 120.0
PORT = 9093
_SMALL: Json = {
    "kafka": {"version": "4.4.0"},
    "controllers": {"replicas": 3, "storage": {"size": "1Gi"}, "jvm": {"heap": "128Mi"}},
}
GROUP = "kafkaquorum.io"
T = TypeVar("T")


def merged(base: Json, patch: Json) -> Json:
    """A merge patch applied to a copy."""
    result = copy.deepcopy(base)
    for key, value in patch.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else copy.deepcopy(value)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    """A quorum by namespace and name."""

    namespace: str
    name: str

    # --- acts of a person -------------------------------------------------------------------------------------------

    def apply(self, spec: Json | None = None, *, labels: Json | None = None) -> None:
        """Apply a small quorum of three with `spec` merged into it, and with these labels."""
        body = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "KafkaQuorum",
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": labels or {}},
            "spec": merged(_SMALL, spec or {}),
        }
        kubectl("apply", "-f", "-", stdin=json.dumps(body))

    def patch(self, spec: Json) -> None:
        """Merge into the spec."""
        self._kubectl("patch", "kq", self.name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def patch_status(self, status: Json) -> None:
        """Merge into the status, as another operator does."""
        patch = json.dumps({"status": status})
        self._kubectl("patch", "kq", self.name, "--type=merge", "--subresource=status", "-p", patch)

    def delete(self, *, wait: bool = True) -> None:
        """Delete the resource."""
        self._kubectl("delete", "kq", self.name, f"--wait={str(wait).lower()}")

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Wait like a person: `kubectl wait --for=condition=Ready`."""
        limit = f"--timeout={timeout_s:.0f}s"
        self._kubectl("wait", "--for=condition=Ready", f"kq/{self.name}", limit, timeout_s=timeout_s + 10)

    def delete_pod(self, name: str) -> None:
        """Delete a pod, and wait until this pod is gone."""
        self._kubectl("delete", "pod", name, timeout_s=90)

    def delete_claim(self, name: str) -> None:
        """Request the deletion of a claim: it goes when no pod uses it any more."""
        self._kubectl("delete", "pvc", name, "--wait=false")

    # --- the resource ---------------------------------------------------------------------------------------------

    def resource(self) -> Json:
        """The whole resource; empty if it is gone."""
        return get(self.namespace, "kq", self.name)

    def status(self) -> Json:
        """Its status."""
        found: Json = self.resource().get("status") or {}
        return found

    def condition(self, type_: str) -> Json:
        """One condition; empty if it is not there."""
        return next((row for row in self.status().get("conditions", []) if row["type"] == type_), {})

    def wait_condition(
        self, type_: str, status: str, reason: str | None = None, timeout_s: float = READY_TIMEOUT_S
    ) -> Json:
        """Wait for a condition's status (and reason); returns it."""

        def probe() -> Json | None:
            row = self.condition(type_)
            return row if row.get("status") == status and reason in (None, row.get("reason")) else None

        return wait_until(f"{self.name} is {type_}={status} {reason or ''}", probe, timeout_s)

    def controller(self, node_id: int) -> Json:
        """One row of `status.controllers`."""
        return next((row for row in self.status().get("controllers", []) if row["nodeID"] == node_id), {})

    # --- its objects ----------------------------------------------------------------------------------------------

    def record(self) -> Json:
        """The identity in the ConfigMap; empty if there is none."""
        found = get(self.namespace, "configmap", f"{self.name}-identity")
        return json.loads(found["data"]["record.json"]) if found else {}

    def accepted(self) -> Json:
        """The last accepted spec that the operator has stored; empty if there is none."""
        found = get(self.namespace, "configmap", f"{self.name}-identity")
        text = (found.get("data") or {}).get("accepted-spec.json")
        return dict(json.loads(text)["spec"]) if text else {}

    def pods(self, role: str = "controller") -> dict[int, Json]:
        """Pods that are not in deletion, by node id."""
        selector = f"{GROUP}/quorum={self.name},{GROUP}/role={role}"
        found = items(self.namespace, "pods", "-l", selector)
        alive = (pod for pod in found if "deletionTimestamp" not in pod["metadata"])
        return {int(pod["metadata"]["labels"][f"{GROUP}/node-id"]): pod for pod in alive}

    def claims(self) -> dict[str, Json]:
        """Claims by name."""
        found = items(self.namespace, "pvc", "-l", f"{GROUP}/quorum={self.name}")
        return {claim["metadata"]["name"]: claim for claim in found}

    def running(self) -> dict[int, tuple[str, int, str]]:
        """The values that any restart changes: of each pod the uid, the restarts and the container's id."""
        found = {}
        for node_id, pod in self.pods().items():
            rows = pod.get("status", {}).get("containerStatuses") or [{}]
            found[node_id] = (pod["metadata"]["uid"], rows[0].get("restartCount", 0), rows[0].get("containerID", ""))
        return found

    def events(self) -> list[tuple[str, str]]:
        """Reason and message of every event about the resource, in the order of writing."""
        return [(row["reason"], row.get("message", "")) for row in self.event_objects()]

    def event_objects(self) -> list[Json]:
        """The events themselves, in the same order: stamps have whole seconds only, versions give the order."""
        ours = (row for row in items(self.namespace, "events") if row["involvedObject"].get("kind") == "KafkaQuorum")
        return sorted(ours, key=lambda row: int(row["metadata"]["resourceVersion"]))

    def images(self) -> dict[int, str]:
        """Kafka's image in each controller's pod."""
        return {node_id: pod["spec"]["containers"][0]["image"] for node_id, pod in self.pods().items()}

    def properties(self) -> dict[int, str]:
        """The server properties of each controller's pod."""
        found = {}
        for node_id, pod in self.pods().items():
            (name,) = (row["configMap"]["name"] for row in pod["spec"]["volumes"] if "configMap" in row)
            found[node_id] = get(self.namespace, "configmap", name)["data"][f"{node_id}.properties"]
        return found

    # --- its disks ------------------------------------------------------------------------------------------------

    def disks(self) -> dict[str, dict[str, str]]:
        """`meta.properties` of every claim."""
        return {claim: nodes.meta_properties(self.namespace, claim) for claim in self.claims()}

    def wipe(self, claim: str) -> None:
        """Empty the volume of a claim."""
        nodes.wipe(self.namespace, claim)

    # --- Kafka ----------------------------------------------------------------------------------------------------

    def describe(self) -> QuorumAnswer | None:
        """The leader's answer to DescribeQuorum; None without a leader."""
        return asyncio.run(_describe(self._endpoints()))

    def voters(self) -> frozenset[str]:
        """The voters as Kafka names them, `3000-DIRECTORY`; empty without a leader."""
        answer = self.describe()
        return frozenset(str(row.key) for row in answer.voters) if answer else frozenset()

    def observers(self) -> frozenset[str]:
        """The observers, in the same form."""
        answer = self.describe()
        return frozenset(str(row.key) for row in answer.observers) if answer else frozenset()

    def versions(self) -> dict[int, NodeVersions]:
        """What each running controller reports as supported and as finalized."""
        return asyncio.run(_answers(self._endpoints(), KafkaControllers.api_versions))

    def levels(self) -> dict[str, int]:
        """The finalized levels, from the controller with the latest ones."""
        rows = self.versions().values()
        latest = max(rows, key=lambda row: row.finalized_epoch, default=None)
        return {row.name: row.level for row in latest.finalized} if latest else {}

    def cluster_ids(self) -> frozenset[str]:
        """The cluster ids in the answers of the running controllers."""
        rows = asyncio.run(_answers(self._endpoints(), KafkaControllers.describe_cluster))
        return frozenset(str(row.cluster_id) for row in rows.values())

    def registered(self) -> set[int]:
        """The controllers that any running one still shows as registered, including those that are gone."""
        rows = asyncio.run(_answers(self._endpoints(), KafkaControllers.describe_cluster))
        return {int(node_id) for row in rows.values() for node_id in row.controller_ids}

    def page(self) -> Page | None:
        """What it publishes for brokers; None before it does."""
        found = get(self.namespace, "configmap", f"{self.name}-brokers")
        return page_of(found) if found else None

    def access(self) -> Access:
        """The way to its controllers that it publishes for brokers."""
        page = self.page()
        return PLAIN if page is None else to_controllers(page, secret_texts(self.namespace, page.secrets))

    def _endpoints(self) -> tuple[Endpoint, ...]:
        access = ControllerAccess(self.namespace, self.name)
        found = (access.endpoint(pod) for pod in self.pods().values())
        return tuple(each for each in found if each is not None)

    def _kubectl(self, *arguments: str, timeout_s: float = 60.0) -> str:
        return kubectl("-n", self.namespace, *arguments, timeout_s=timeout_s)

    def report(self) -> str:
        """What a person looks at first when a scenario fails."""
        parts = []
        where = ("kubectl", "-n", self.namespace)
        pods = items(self.namespace, "pods")
        looks: list[tuple[str, ...]] = [
            ("get", "kq", self.name, "-o", "yaml"),
            ("get", "pods,pvc,pdb,configmaps", "-o", "wide"),
            ("get", "events", "--sort-by=.metadata.creationTimestamp"),
            *(("logs", pod["metadata"]["name"], "--all-containers", "--tail=25") for pod in pods),
        ]
        for look in looks:
            _, output, errors = run(*where, *look)
            parts.append(f"$ kubectl {' '.join(look)}\n{output}{errors}")
        return "\n".join(parts)


async def _describe(endpoints: Iterable[Endpoint]) -> QuorumAnswer | None:
    controllers = KafkaControllers()
    best: QuorumAnswer | None = None
    for endpoint in endpoints:
        try:
            answer = await controllers.describe_quorum(endpoint)
        except KafkaError:
            continue
        if best is None or answer.leader_epoch > best.leader_epoch:
            best = answer
    await controllers.close()
    return best


async def _answers(
    endpoints: Iterable[Endpoint], ask: Callable[[KafkaControllers, Endpoint], Awaitable[T]]
) -> dict[int, T]:
    """The answers of all controllers that answer."""
    controllers = KafkaControllers()
    found = {}
    for endpoint in endpoints:
        try:
            found[int(endpoint.node_id)] = await ask(controllers, endpoint)
        except KafkaError:
            continue
    await controllers.close()
    return found
