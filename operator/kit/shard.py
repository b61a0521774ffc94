"""A share of all resources of a kind: those that a label selector selects. The others do not exist for this operator.

Several operators divide a cluster's resources among them this way (`docs/install.md`, Several operators). A resource
whose labels change leaves one operator and comes to another: for a moment both may act, which is safe as it is whenever
two operators act at once (`docs/safety.md`).
"""

from typing import Any

from kit.kube.protocol import Json, KubeApi, ResourceType
from kit.selector import Selector


class _Share:
    """An API server where resources of one kind that are not selected cannot be found."""

    def __init__(self, kube: KubeApi, resource: ResourceType, selector: Selector) -> None:
        self._kube = kube
        self._resource = resource
        self._selector = selector

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the methods of the edge, with any arguments
        return getattr(self._kube, name)

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """Read one object; None if there is none, or if it belongs to another operator."""
        found = await self._kube.get(resource, namespace, name)
        if found is None or resource != self._resource or self._selector.selects(found["metadata"].get("labels")):
            return found
        return None


def share_of(kube: KubeApi, resource: ResourceType, selector: Selector) -> KubeApi:
    """The same API server without the resources of this kind that are not selected; all of it for an empty selector."""
    return _Share(kube, resource, selector) if selector.requirements else kube
