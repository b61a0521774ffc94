"""The machines of the Kubernetes nodes: running or not, reachable or not, and how Kubernetes reacts.

The node controller marks a node as not ready when its kubelet is silent. Some time later it marks the pods on it for
deletion. Their kubelet would have to confirm that, so they stay until it does, or until they are deleted by force.
Without its node's object a pod is garbage. Times are shorter than Kubernetes' own, so that more happens in a run.
"""

from dataclasses import dataclass
from typing import Final

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.kube_model import KubeModel

from kit.kube.protocol import NODES, PODS, Json

NAMES: Final = ("node-a", "node-b", "node-c", "node-d", "node-e")
ZONES: Final = 3
GRACE_S: Final = 4.0
EVICT_S: Final = 8.0


@dataclass(slots=True, kw_only=True)
class Machine:
    """One machine. `gone`: permanently. `cut_off`: its kubelet has no API server; its processes run on."""

    name: str
    alive: bool = True
    gone: bool = False
    cut_off: bool = False
    heard_s: float = 0.0
    back_s: float = -1e9
    """When it reported again, after it was silent."""
    cordoned_s: float | None = None
    """When it was cordoned."""

    @property
    def heard(self) -> bool:
        """Whether its kubelet runs, and reaches the API server."""
        return self.alive and not self.cut_off


class Machines:
    """Every machine, and its node object."""

    def __init__(self, kube: KubeModel, clock: VirtualClock) -> None:
        """Every machine is up."""
        self._kube, self._clock = kube, clock
        self.by_name = {name: Machine(name=name) for name in NAMES}
        for name in NAMES:
            self._register(name)

    def step(self) -> None:
        """Kubelets report or are silent; the node controller and the pod garbage collector react."""
        for machine in self.by_name.values():
            if machine.heard:
                if self._clock.elapsed_s - machine.heard_s > 1.0:
                    machine.back_s = self._clock.elapsed_s
                machine.heard_s = self._clock.elapsed_s
            silent_s = self._clock.elapsed_s - machine.heard_s
            self._mark(machine, ready=silent_s <= GRACE_S)
            if silent_s > EVICT_S:
                self._evict(machine.name)
        present = {node["metadata"]["name"] for node in self._kube.all(NODES)}
        for pod in list(self._kube.all(PODS)):
            if (node := pod["spec"].get("nodeName")) and node not in present:
                self._kube.remove(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])

    def is_ready(self, name: str) -> bool:
        """Whether pods are scheduled there."""
        node = self._kube.view(NODES, "", name)
        return node is not None and any(row["status"] == "True" for row in node["status"]["conditions"])

    def takes_pods(self, name: str) -> bool:
        """Whether pods are scheduled there: it is ready, and not cordoned."""
        return self.is_ready(name) and self.by_name[name].cordoned_s is None

    def takes_no_pods_s(self, name: str) -> float:
        """For how long readers could see that a node takes no new pods; 0 if it takes pods."""
        machine, now_s = self.by_name[name], self._clock.elapsed_s
        cordoned_s = now_s if machine.cordoned_s is None else machine.cordoned_s
        return max(now_s - cordoned_s, now_s - machine.heard_s - GRACE_S, 0.0)

    def cordon(self, name: str, *, cordoned: bool) -> None:
        """A person cordons a node, or uncordons it."""
        self.by_name[name].cordoned_s = self._clock.elapsed_s if cordoned else None
        if self._kube.view(NODES, "", name) is not None:
            self._kube.patch(NODES, "", name, {"spec": {"unschedulable": cordoned or None}})

    def delete(self, name: str) -> None:
        """A person, or a cloud's controller, deletes the node object."""
        if self._kube.get(NODES, "", name) is not None:
            self._kube.remove(NODES, "", name)

    def _mark(self, machine: Machine, *, ready: bool) -> None:
        node = self._kube.view(NODES, "", machine.name)
        if node is None:
            if machine.heard:  # its kubelet registers it again
                self._register(machine.name)
            return
        condition = _condition("True" if ready else "Unknown")
        if node["status"]["conditions"] != [condition]:
            self._kube.patch(NODES, "", machine.name, {"status": {"conditions": [condition]}})

    def _register(self, name: str) -> None:
        number = NAMES.index(name)
        labels = {"topology.kubernetes.io/zone": f"zone-{number % ZONES + 1}", "kubernetes.io/hostname": name}
        addresses = [{"type": "InternalIP", "address": f"192.168.0.{number + 1}"}]
        status = {"conditions": [_condition("True")], "addresses": addresses}
        body = {"metadata": {"name": name, "labels": labels}, "status": status}
        self._kube.create(NODES, "", body)
        self.by_name[name].cordoned_s = None

    def _evict(self, name: str) -> None:
        for pod in list(self._kube.all(PODS)):
            metadata = pod["metadata"]
            if pod["spec"].get("nodeName") == name and "deletionTimestamp" not in metadata:
                self._kube.delete(PODS, metadata["namespace"], metadata["name"])


def _condition(status: str) -> Json:
    return {"type": "Ready", "status": status}
