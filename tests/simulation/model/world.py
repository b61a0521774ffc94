"""Everything around the operator in one value: API server, scheduler, kubelets, garbage collector, Kafka, time.

`step` lets half a second pass and moves each component once, in a fixed order. Accidents are methods; `faults.py`
decides when they happen.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.happened import Happened, KeeperBrokerStarted
from tests.simulation.model.kafka.broker_model import BrokerModel
from tests.simulation.model.kafka.brokers import Brokers
from tests.simulation.model.kafka.kraft_model import KraftModel
from tests.simulation.model.kafka.zookeeper import ZooKeeperModel
from tests.simulation.model.kubernetes.kube_model import KubeModel, claims_of
from tests.simulation.model.kubernetes.kubelet import Kubelet
from tests.simulation.model.kubernetes.machines import NAMES, Machines
from tests.simulation.model.kubernetes.pool_pods import LABEL_POOL, PoolPods
from tests.simulation.model.kubernetes.sandbox import Sandbox
from tests.simulation.model.kubernetes.services import Services
from tests.simulation.model.kubernetes.volumes import Volumes
from tests.simulation.model.zookeeper_owner import ZooKeeperOwner

from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, PODS, REVISIONS, SERVICES, Json, ResourceType
from kit.kube.secrets import SECRETS

if TYPE_CHECKING:
    from tests.simulation.model.kafka.bare_quorum import BareQuorum

    from kafka_quorum.model.observed import Observed

STEP_S: Final = 0.5
_OWNED: Final = (PODS, CLAIMS, CONFIG_MAPS, SERVICES, BUDGETS, REVISIONS, SECRETS)


class Witness(Protocol):
    """Judges each look of an operator at the moment of the look."""

    def saw(self, namespace: str, name: str, observed: "Observed") -> None:
        """A look at this quorum, as a pass has it."""


class World:
    """One Kubernetes cluster with everything that runs on it."""

    begun: ClassVar[list[Callable[["World"], None]]] = []
    """Called with each new world, for counts over many runs."""

    def __init__(self) -> None:
        """A cluster of five nodes, empty."""
        self.clock = VirtualClock()
        self.kube = KubeModel(self.clock)
        self.kraft = KraftModel(self.clock)
        self.brokers = Brokers(self.kraft)
        self.volumes = Volumes(self.kube, self.tell)
        self.machines = Machines(self.kube, self.clock)
        self.services = Services(self.kube)
        self.pools = BrokerModel(self.kraft, self.clock)
        pods = PoolPods(self.kube, self.pools, self.clock, self.volumes, self.tell)
        self.kubelet = Kubelet(self.kube, self.kraft, self.clock, self.volumes, self.tell, self.machines, pods)
        self.zookeeper = ZooKeeperModel(self.kraft, self.brokers, self.clock)
        self.zookeeper.started = lambda broker: self.tell(KeeperBrokerStarted(broker=broker))
        self.owner = ZooKeeperOwner(self.zookeeper, self.kube, self.clock)
        self.full = False
        """Whether no machine has room for another pod without a fixed machine."""
        self.steps = 0
        self.operator_away = False
        """Whether no operator runs."""
        self.unwatched = False
        """Whether the operator's watches miss what happens now."""
        self.certificates_may_end = False
        """Whether a scenario prevents their renewal: no operator, no right, a clock that is wrong."""
        self.refused: set[str] = set()
        """Types that the operator has no right to list."""
        self.listeners: list[Callable[[Happened], None]] = []
        self.lookers: list[Callable[[], None]] = []
        """Called after every step, also while a slow call of the operator waits."""
        self.bare: BareQuorum | None = None
        """The controllers that nobody manages, if there are any."""
        self.witness: Witness | None = None
        """Receives the looks of an operator."""
        self._later: list[tuple[int, Callable[[], None]]] = []
        self._clean_at = -1
        """The store's count of changes when the garbage collector last found nothing."""
        for hear in self.begun:
            hear(self)

    def step(self) -> None:
        """Let half a second pass."""
        self.steps += 1
        self.clock.advance(STEP_S)
        for entry in [entry for entry in self._later if entry[0] <= self.steps] if self._later else ():
            self._later.remove(entry)
            entry[1]()
        self.machines.step()
        self._schedule()
        self.kubelet.step()
        self._collect_garbage()
        self.services.step()
        self.kube.finish_claims()
        self.volumes.sweep()
        self.kraft.step()
        self.pools.step()
        self.kubelet.streams.group.step()
        self.owner.step()
        self.zookeeper.step()
        for look in self.lookers:
            look()

    def digest(self) -> tuple[object, ...]:
        """The state in which a fault makes a difference: without the time, and without the length of logs."""
        disks = tuple(
            (uid, volume.disk.serial, volume.disk.content, volume.disk.intent, volume.dead, volume.hidden)
            for uid, volume in sorted(self.volumes.by_claim.items())
        )
        processes = tuple(
            (
                one.key,
                one.leads,
                one.high_watermark >= 0,
                one.voters,
                one.history.next_offset > one.disk.end,
                self.kraft.uncommitted_change(one),
            )
            for one in self.kraft.processes
        )
        features = tuple((one.release, one.disk.image.levels) for one in self.kraft.processes)
        return len(self.kube.writes), disks, processes, features, self.zookeeper.digest()

    def machine_of(self, namespace: str, quorum: str, node_id: int) -> str:
        """The machine of a controller: its pod's, else its volume's; empty if it has none."""
        for pod in self._pods(namespace, quorum, node_id, ""):
            if node := pod["spec"].get("nodeName"):
                return str(node)
        for claim in self.claims(namespace, quorum, node_id):
            return self.volumes.by_claim[claim["metadata"]["uid"]].node
        return ""

    def lose_machine(self, name: str) -> None:
        """A machine is gone permanently, with its processes and its disks."""
        machine = self.machines.by_name[name]
        machine.alive, machine.gone = False, True
        self.kubelet.lose_machine(name)
        self.volumes.lose_machine(name)

    def switch_off(self, name: str) -> None:
        """A machine loses power: its processes end, and the disks on it wait."""
        self.machines.by_name[name].alive = False
        self.kubelet.lose_machine(name)

    def switch_on(self, name: str) -> None:
        """A machine has power again, unless it is gone permanently."""
        machine = self.machines.by_name[name]
        machine.alive = not machine.gone

    def later(self, steps: int, act: Callable[[], None]) -> None:
        """Do something after this number of steps: a request that is under way."""
        self._later.append((self.steps + steps, act))

    @property
    def pending(self) -> bool:
        """Whether a request is still under way, or a broker is being changed by its owner."""
        return bool(self._later) or self.owner.busy

    def tell(self, event: Happened) -> None:
        """Something happened: the listeners judge it at once."""
        for listener in self.listeners:
            listener(event)

    # The control plane

    def _schedule(self) -> None:
        for pod in self.kube.all(PODS):
            if pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
                continue
            problem = self._bind(pod)
            if problem:
                condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": problem}
                rows = pod["status"].get("conditions") or []
                others = [row for row in rows if row["type"] != condition["type"]]
                self.kube.put_status(PODS, pod, {"conditions": [condition, *others]})

    def _bind(self, pod: Json) -> str:
        """Give a pod its node, and its claims theirs; else write why not."""
        namespace = pod["metadata"]["namespace"]
        places = self._local_nodes(pod)
        if len(places) > 1:
            return f"its volumes are on {' and '.join(places)}, so no node can mount all of them"
        node = places[0] if places else ""
        for name in claims_of(pod):
            claim = self.kube.view(CLAIMS, namespace, name)
            problem = _why_not_mounted(name, claim)
            if claim is None or problem:
                return problem
            volume = self.volumes.by_claim.get(claim["metadata"]["uid"])
            if volume is None:
                node = node or self._choose(pod)
                if not node:
                    return "no node is ready, and takes pods"
                self.volumes.bind(claim, node)
            elif not volume.local:
                node = volume.node = node or self._choose(pod) or volume.node
        node = node or self._choose(pod)
        if self.full or not self.machines.takes_pods(node):
            return f"node {node or 'of any name'} is not ready, cordoned or full, or there is none that has the volume"
        self.kube.assign(namespace, pod["metadata"]["name"], node)
        return ""

    def _local_nodes(self, pod: Json) -> list[str]:
        """The nodes of the pod's volumes that cannot move."""
        claims = (self.kube.view(CLAIMS, pod["metadata"]["namespace"], name) for name in claims_of(pod))
        bound = (self.volumes.by_claim.get(claim["metadata"]["uid"]) for claim in claims if claim is not None)
        return sorted({volume.node for volume in bound if volume is not None and volume.local})

    def _choose(self, pod: Json) -> str:
        """The node with the fewest unfinished pods; nodes that the pod avoids by preference come last."""
        avoided = set(_avoided(pod))
        load = dict.fromkeys(NAMES, 0)
        for other in self.kube.all(PODS):
            name = other["spec"].get("nodeName")
            if name and other["status"].get("phase") not in ("Succeeded", "Failed"):
                load[name] += 1
        open_ = [name for name in NAMES if self.machines.takes_pods(name)]
        return min(open_, key=lambda name: (name in avoided, load[name], name), default="")

    def _collect_garbage(self) -> None:
        """The background collector: each step it deletes one object of an owner that is gone."""
        if self._clean_at == self.kube.changes:
            return
        uids = self.kube.uids()
        for resource in _OWNED:
            for item in self.kube.all(resource):
                owners = item["metadata"].get("ownerReferences") or []
                orphaned = owners and all(owner["uid"] not in uids for owner in owners)
                if orphaned and "deletionTimestamp" not in item["metadata"]:
                    self._remove(resource, item)
                    return
        self._clean_at = self.kube.changes

    def _remove(self, resource: ResourceType, item: Json) -> None:
        self.kube.delete(resource, item["metadata"]["namespace"], item["metadata"]["name"])

    # Accidents

    def sandbox(self, namespace: str, quorum: str, node_id: int, role: str) -> Sandbox | None:
        """The sandbox of a controller's pod or formatter."""
        for pod in self._pods(namespace, quorum, node_id, role):
            return self.kubelet.of_pod(namespace, pod["metadata"]["name"])
        return None

    def has_pods(self, namespace: str, quorum: str, node_id: int) -> bool:
        """Whether a controller has any pod."""
        return any(True for _ in self._pods(namespace, quorum, node_id, ""))

    def delete_pods(self, namespace: str, quorum: str, node_id: int, *, force: bool) -> bool:
        """A person deletes a controller's pods, or removes them without waiting for their node (`force`)."""
        found = list(self._pods(namespace, quorum, node_id, ""))
        for pod in found:
            if force:
                self.kube.remove(PODS, namespace, pod["metadata"]["name"])
            else:
                self._remove(PODS, pod)
        return bool(found)

    def evict_pods(self, namespace: str, quorum: str, node_id: int) -> bool:
        """The kubelet evicts a controller's pods: they end as Failed."""
        found = [
            self.kubelet.of_pod(namespace, p["metadata"]["name"]) for p in self._pods(namespace, quorum, node_id, "")
        ]
        running = [sandbox for sandbox in found if sandbox is not None and not sandbox.done]
        for sandbox in running:
            self.kubelet.fail(sandbox, "Evicted")
        return bool(running)

    def claims(self, namespace: str, quorum: str, node_id: int) -> Iterator[Json]:
        """A controller's claims that are bound."""
        wanted = f"{quorum}-{node_id}-"
        for claim in self.kube.all(CLAIMS):
            metadata = claim["metadata"]
            ours = metadata["namespace"] == namespace and metadata["name"].startswith(wanted)
            if ours and metadata["uid"] in self.volumes.by_claim:
                yield claim

    def _pods(self, namespace: str, quorum: str, node_id: int, role: str) -> Iterator[Json]:
        wanted = {"kafkaquorum.io/node-id": str(node_id)}
        if role:
            wanted["kafkaquorum.io/role"] = role
        for pod in list(self.kube.all(PODS)):
            labels = pod["metadata"].get("labels") or {}
            own = quorum in (labels.get("kafkaquorum.io/quorum"), labels.get(LABEL_POOL))
            if own and pod["metadata"]["namespace"] == namespace and wanted.items() <= labels.items():
                yield pod


def _why_not_mounted(name: str, claim: Json | None) -> str:
    """Why no pod can use a claim; empty if one can."""
    if claim is None:
        return f'persistentvolumeclaim "{name}" not found'
    if "deletionTimestamp" in claim["metadata"]:
        return f'persistentvolumeclaim "{name}" is being deleted'
    lost = claim["status"]["phase"] == "Lost"
    return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume' if lost else ""


def _avoided(pod: Json) -> Iterator[str]:
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    for term in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []:
        for expression in term["preference"].get("matchExpressions") or []:
            if expression["operator"] == "NotIn":
                yield from expression["values"]
