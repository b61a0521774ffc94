"""The observed state of a widget: the resource and its parts, listed for this pass."""

from dataclasses import dataclass

from tests.kit.toy.model import WIDGETS

from kit.key import ObjectKey
from kit.kube.protocol import CONFIG_MAPS, Json, KubeApi

LABEL = "example.org/widget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One look: the names and uids of the parts, in order."""

    resource: Json
    parts: tuple[tuple[str, str], ...]


async def observe(kube: KubeApi, key: ObjectKey) -> Observed | None:
    """Observes the widget; None if it does not exist."""
    resource = await kube.get(WIDGETS, key.namespace, key.name)
    if resource is None:
        return None
    listed = await kube.list(CONFIG_MAPS, key.namespace, {LABEL: key.name})
    parts = sorted((item["metadata"]["name"], item["metadata"]["uid"]) for item in listed)
    return Observed(resource=resource, parts=tuple(parts))
