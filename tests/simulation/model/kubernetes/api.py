"""The API server for the operator's requests: `KubeApi` over the model, for callers that need no faults in between."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeVar

from tests.simulation.model.kubernetes.budgets import evict
from tests.simulation.model.kubernetes.kube_model import Items, KubeModel

from kit.kube.protocol import Chosen, Json, ResourceType

T = TypeVar("T")


class ModelKube:
    """Answers from the model, in the operator's name. Other tasks run first, as with any request."""

    def __init__(self, model: KubeModel) -> None:
        """Use this model."""
        self.model = model

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """One object or None."""
        return await self._ask(lambda: self.model.get(resource, namespace, name))

    async def list(
        self, resource: ResourceType, namespace: str, labels: Mapping[str, str], *, only: Chosen | None = None
    ) -> Items:
        """Every object of the type with all of these labels."""
        found = await self._ask(lambda: self.model.list(resource, namespace, labels))
        return [item for item in found if only is None or only(item)]

    async def create(self, resource: ResourceType, namespace: str, body: Json, *, dry_run: bool = False) -> Json:
        """Create, or ask for the answer to a creation."""
        return await self._ask(lambda: self.model.create(resource, namespace, body, dry_run=dry_run))

    async def replace(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Replace at a resource version."""
        return await self._ask(lambda: self.model.replace(resource, namespace, body))

    async def apply(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Server-side apply."""
        return await self._ask(lambda: self.model.apply(resource, namespace, body))

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
        """Merge patch."""
        return await self._ask(
            lambda: self.model.patch(resource, namespace, name, body, subresource=subresource, strategic=strategic)
        )

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
        """Delete exactly this object."""
        await self._ask(
            lambda: self.model.delete(
                resource, namespace, name, uid=uid, resource_version=resource_version, ended=ended, orphan=orphan
            )
        )

    async def evict(self, namespace: str, name: str, *, uid: str, resource_version: str, dry_run: bool = False) -> None:
        """Delete exactly this pod, unless a disruption budget forbids it."""
        await self._ask(
            lambda: evict(self.model, namespace, name, uid=uid, resource_version=resource_version, dry_run=dry_run)
        )

    async def _ask(self, request: Callable[[], T]) -> T:
        await asyncio.sleep(0)
        self.model.operator_writes = True
        try:
            return request()
        finally:
            self.model.operator_writes = False
