"""What the cluster does with services that are reached from outside: node ports, and addresses of load balancers."""

from typing import Final

from tests.simulation.model.kubernetes.kube_model import KubeModel

from kit.kube.protocol import SERVICES, Json

_FIRST_PORT: Final = 30000
_SLOW_STEPS: Final = 4
"""How long a load balancer takes to get its address."""
_CLEANUP_STEPS: Final = 120
"""How long it takes to be taken down: a minute."""
_CLEANUP: Final = "service.kubernetes.io/load-balancer-cleanup"
"""The finalizer that keeps its service so long (KEP-980)."""


class Services:
    """Every service."""

    def __init__(self, kube: KubeModel) -> None:
        """Begin with no port in use."""
        self._kube = kube
        self._next = _FIRST_PORT
        self._waiting: dict[str, int] = {}
        self._ending: dict[str, int] = {}
        self.balances = True
        """Whether there is something that gives load balancers an address."""

    def step(self) -> None:
        """Give ports to services that lack them, and addresses to load balancers after a while."""
        for service in list(self._kube.all(SERVICES)):
            spec = service.get("spec") or {}
            if "deletionTimestamp" in service["metadata"]:
                self._cleans_up(service)
                continue
            if spec.get("type") in ("NodePort", "LoadBalancer"):
                self._ports(service)
            if spec.get("type") == "LoadBalancer" and self.balances:
                self._address(service)

    def _cleans_up(self, service: Json) -> None:
        """Take a load balancer down, which takes a while; then its service may go."""
        metadata = service["metadata"]
        steps = self._ending[metadata["uid"]] = self._ending.get(metadata["uid"], 0) + 1
        if self.balances and steps > _CLEANUP_STEPS:
            self._kube.remove(SERVICES, metadata["namespace"], metadata["name"])

    def _ports(self, service: Json) -> None:
        rows = service["spec"].get("ports") or []
        if all(row.get("nodePort") for row in rows):
            return
        made = []
        for row in rows:
            if not row.get("nodePort"):
                self._next += 1
            made.append(row if row.get("nodePort") else {**row, "nodePort": self._next})
        metadata = service["metadata"]
        self._kube.patch(SERVICES, metadata["namespace"], metadata["name"], {"spec": {"ports": made}})

    def _address(self, service: Json) -> None:
        if ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress"):
            return
        if _CLEANUP not in (service["metadata"].get("finalizers") or ()):
            where = service["metadata"]["namespace"], service["metadata"]["name"]
            self._kube.patch(SERVICES, *where, {"metadata": {"finalizers": [_CLEANUP]}})
        uid = str(service["metadata"]["uid"])
        self._waiting[uid] = self._waiting.get(uid, 0) + 1
        if self._waiting[uid] > _SLOW_STEPS:
            number = len(self._waiting)
            self._kube.put_status(SERVICES, service, {"loadBalancer": {"ingress": [{"ip": f"203.0.113.{number}"}]}})
