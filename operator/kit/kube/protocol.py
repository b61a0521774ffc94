"""What an operator asks of the Kubernetes API server. `client` does it over the network, the simulation in memory.

Objects are JSON dictionaries, as the API server writes them. Every method ends within a deadline, and raises one of the
`KubeError` types of `kit.errors`. After `KubeUnavailable` it is unknown whether a write happened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Json: TypeAlias = dict[str, Any]
Chosen: TypeAlias = Callable[[Json], bool]
"""Whether an object is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceType:
    """A resource type of the API server: `api_version` is `v1` or `GROUP/VERSION`. Most live in a namespace."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True


PODS = ResourceType(api_version="v1", kind="Pod", plural="pods")
CLAIMS = ResourceType(api_version="v1", kind="PersistentVolumeClaim", plural="persistentvolumeclaims")
CONFIG_MAPS = ResourceType(api_version="v1", kind="ConfigMap", plural="configmaps")
SERVICES = ResourceType(api_version="v1", kind="Service", plural="services")
BUDGETS = ResourceType(api_version="policy/v1", kind="PodDisruptionBudget", plural="poddisruptionbudgets")
REVISIONS = ResourceType(api_version="apps/v1", kind="ControllerRevision", plural="controllerrevisions")
STATEFUL_SETS = ResourceType(api_version="apps/v1", kind="StatefulSet", plural="statefulsets")
DEPLOYMENTS = ResourceType(api_version="apps/v1", kind="Deployment", plural="deployments")
REPLICA_SETS = ResourceType(api_version="apps/v1", kind="ReplicaSet", plural="replicasets")
SCALERS = ResourceType(api_version="autoscaling/v2", kind="HorizontalPodAutoscaler", plural="horizontalpodautoscalers")
NODES = ResourceType(api_version="v1", kind="Node", plural="nodes", namespaced=False)
VOLUMES = ResourceType(api_version="v1", kind="PersistentVolume", plural="persistentvolumes", namespaced=False)
LEASES = ResourceType(api_version="coordination.k8s.io/v1", kind="Lease", plural="leases")
EVENTS = ResourceType(api_version="v1", kind="Event", plural="events")


class KubeApi(Protocol):
    """Requests to the API server, each of one object or one list."""

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """One object; None only if the server answered that there is none. `namespace`: empty for cluster types."""

    async def list(
        self, resource: ResourceType, namespace: str, labels: Mapping[str, str], *, only: Chosen | None = None
    ) -> list[Json]:
        """Every object with all of these labels, read from the store and not from a cache.

        Without a namespace, those of all namespaces. With `only`, those of which it is true: the others count towards
        no limit, because nobody keeps them.
        """

    async def create(self, resource: ResourceType, namespace: str, body: Json, *, dry_run: bool = False) -> Json:
        """Create; `KubeAlreadyExists` if the name is taken.

        `dry_run` stores nothing and answers as the creation would. Admission and validation come before the name. So
        `KubeAlreadyExists` means that nothing else is refused (measured on 1.34).
        """

    async def replace(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Replace the object in `body`; `KubeConflict` if its `metadata.resourceVersion` is not the present one."""

    async def apply(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Server-side apply as this operator's field manager, which also takes fields that others own.

        With `metadata.resourceVersion` in `body` it is conditional (`KubeConflict`).
        """

    async def patch(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: Json,
        *,
        subresource: str = "",
        strategic: bool = False,
    ) -> Json:
        """Merge patch; `strategic` for built-in types, which merges conditions by their type.

        With `metadata.resourceVersion` or `metadata.uid` in `body` it is conditional (`KubeConflict`).

        `subresource` is empty, or `status`.
        """

    async def delete(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str | None = None,
        ended: bool = False,
        orphan: bool = False,
    ) -> None:
        """Delete exactly this: `KubeConflict` if uid or resource version differ, `KubeNotFound` if it is gone.

        `ended` is for a pod in which nothing runs, or whose node is lost: it is deleted at once, without waiting for a
        node. `orphan` lets go of what it owns: that stays without this owner. The object exists until this is done.
        """

    async def evict(self, namespace: str, name: str, *, uid: str, resource_version: str, dry_run: bool = False) -> None:
        """Evict exactly this pod: `KubeHeld` if a disruption budget does not allow it now; else as `delete`.

        The API server counts a disruption before it checks uid and resource version. If they differ, the budget is
        blocked for two minutes, and every drain with it. A dry run, which counts nothing, raises the same errors.
        """
