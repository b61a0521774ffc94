"""What the API server refuses: changes of immutable fields, and pods that an admission plugin refuses.

Admission runs before the check of the name. A dry run of a pod whose name is taken is refused because of the pod, if
admission refuses it. Otherwise the answer is `AlreadyExists` (measured on Kubernetes).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tests.simulation.model.clock import VirtualClock

from kit.errors import KubeRefused
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, PODS, REVISIONS, Json, ResourceType
from kit.kube.secrets import SECRETS

Refuse: TypeAlias = Callable[[Json], str]
"""Why an object is refused; an empty text if it is not."""
_COUNTS: Final = {"minAvailable", "maxUnavailable"}


@dataclass(slots=True)
class PodAdmission:
    """The admission plugins that refuse pods, with their refusals; and quotas that refuse claims and Secrets."""

    clock: VirtualClock
    plugins: dict[str, Refuse] = field(default_factory=dict)
    quota: Refuse = lambda _: ""
    """Why a claim is refused."""
    secret_quota: Refuse = lambda _: ""
    """Why a Secret is refused."""
    keeper: Refuse = lambda _: ""
    """Why a claim may not be deleted."""
    changed_s: float = 0.0
    """When a plugin last changed its rules."""
    listeners: list[Callable[[Json], None]] = field(default_factory=list)
    """Called with every pod whose creation was refused."""

    def refuse(self, plugin: str, why: Refuse) -> None:
        """From now on this plugin refuses each object for which `why` returns a text."""
        self.plugins[plugin] = why
        self.changed_s = self.clock.elapsed_s

    def admit(self, resource: ResourceType, body: Json, *, dry_run: bool) -> None:
        """KubeRefused if a plugin refuses this pod, or a quota refuses this claim or this Secret."""
        name = body["metadata"]["name"]
        if resource.plural == CLAIMS.plural and (words := self.quota(body)):
            raise KubeRefused(f"persistentvolumeclaims {name!r} is forbidden: {words}")
        if resource.plural == SECRETS.plural and (words := self.secret_quota(body)):
            raise KubeRefused(f"secrets {name!r} is forbidden: {words}")
        for plugin in self.plugins.values() if resource.plural == PODS.plural else ():
            if words := plugin(body):
                for listener in () if dry_run else self.listeners:
                    listener(body)
                raise KubeRefused(f"pods {name!r} is forbidden: {words}")

    def part_with(self, resource: ResourceType, body: Json) -> None:
        """KubeRefused if a policy keeps this claim from being deleted."""
        if resource.plural == CLAIMS.plural and (words := self.keeper(body)):
            raise KubeRefused(f"persistentvolumeclaims {body['metadata']['name']!r} is forbidden: {words}")


def immutable(resource: ResourceType, old: Json, new: Json) -> None:
    """KubeRefused if an immutable field changes, or fields exclude each other."""
    name = old["metadata"]["name"]
    if resource.plural == CONFIG_MAPS.plural and old.get("immutable"):
        if old.get("data") != new.get("data") or not new.get("immutable"):
            raise KubeRefused(f"configmaps {name!r}: field is immutable when `immutable` is set")
    elif resource.plural == REVISIONS.plural and old.get("data") != new.get("data"):
        raise KubeRefused(f"controllerrevisions {name!r}: data: field is immutable")
    elif resource.plural == PODS.plural and old.get("spec") != new.get("spec"):
        raise KubeRefused(f"pods {name!r}: pod updates may not change fields other than a container's image")
    elif (
        resource.plural == BUDGETS.plural
        and {key for key, value in new["spec"].items() if value is not None} >= _COUNTS
    ):
        raise KubeRefused(
            f"poddisruptionbudgets {name!r} is invalid: minAvailable and maxUnavailable cannot be both set"
        )
    elif resource.plural == CLAIMS.plural and _fixed(old, old) != _fixed(new, old):
        raise KubeRefused(f"persistentvolumeclaims {name!r}: spec is immutable except resources.requests")


def _fixed(claim: Json, before: Json) -> Json:
    free = {"resources" if before.get("spec", {}).get("volumeName") else "volumeName"}
    return {field: value for field, value in claim.get("spec", {}).items() if field not in free}
