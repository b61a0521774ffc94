"""An operator's edge to Kubernetes: `KubeApi` over the model."""

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tests.simulation.model.happened import (
    BrokerStop,
    ClaimDeleted,
    Created,
    Happened,
    InstanceStop,
    PodDeleted,
    RevisionDeleted,
    StateDropped,
    StopSent,
)
from tests.simulation.model.kubernetes.budgets import evict, with_ready
from tests.simulation.model.kubernetes.kube_model import Items
from tests.simulation.model.kubernetes.pool_pods import LABEL_POOL
from tests.simulation.model.kubernetes.streams_pods import LABEL_APPLICATION, LABEL_INSTANCE
from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.rights import granted
from tests.simulation.runs.edges import Edge
from tests.simulation.runs.faults import Call

from kafka_quorum.model.names import INPUTS_HASH
from kit.errors import KubeRefused, KubeUnavailable
from kit.kube.protocol import CLAIMS, PODS, REVISIONS, Chosen, Json, ResourceType
from kit.kube.secrets import SECRETS
from kit.selector import EVERYTHING, Selector

T = TypeVar("T")
_IDENTITY = ("name", "namespace", "uid", "resourceVersion")


class KubeEdge(Edge):
    """`KubeApi` over the model."""

    side = "kube"

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """One object or None."""
        _check("get", resource)
        await self.life.turn()
        kube = self.world.kube
        return self._kube(
            "get",
            resource,
            name,
            lambda: self._got(resource, namespace, name),
            stale=lambda: kube.stale_get(resource, namespace, name),
            fickle=kube.written_lately(resource, namespace, name),
        )

    async def list(
        self, resource: ResourceType, namespace: str, labels: Mapping[str, str], *, only: Chosen | None = None
    ) -> list[Json]:
        """Every object with these labels."""
        _check("list", resource)
        await self.life.turn()
        kube = self.world.kube
        found = self._kube(
            "list",
            resource,
            "",
            lambda: self._listed(resource, namespace, labels),
            stale=lambda: kube.stale_list(resource, namespace, labels),
            fickle=kube.written_lately(resource, namespace, ""),
        )
        return [item for item in found if only is None or only(item)]

    async def each_metadata(
        self, resource: ResourceType, namespace: str, selector: Selector = EVERYTHING, *, label: str = ""
    ) -> AsyncGenerator[Json, None]:
        """What identifies every selected object of the one namespace that there is, with this label of it."""
        _check("list", resource)
        await self.life.turn()
        kube, place = self.world.kube, namespace or NAMESPACE
        items = self._kube(
            "list-all",
            resource,
            "",
            lambda: self._listed(resource, place, {}),
            stale=lambda: kube.stale_list(resource, place, {}),
            fickle=kube.written_lately(resource, place, ""),
        )
        for one in (item["metadata"] for item in items):
            labels = one.get("labels") or {}
            if selector.selects(labels):
                yield {name: one.get(name) for name in _IDENTITY} | {"labels": {label: labels.get(label)}}

    def _got(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        if resource == SECRETS and resource.plural in self.world.refused:
            raise KubeRefused(f"{resource.plural} {name!r} is forbidden: the account has no right to get it")
        return self.world.kube.get(resource, namespace, name)

    def _listed(self, resource: ResourceType, namespace: str, labels: Mapping[str, str]) -> Items:
        if resource.plural in self.world.refused:
            raise KubeRefused(f"{resource.plural} is forbidden: the account has no right to list it")
        found = self.world.kube.list(resource, namespace, labels)
        return list(map(with_ready, found)) if resource == PODS else found

    async def create(self, resource: ResourceType, namespace: str, body: Json, *, dry_run: bool = False) -> Json:
        """Create, or ask for the answer to a creation."""
        _check("create", resource)
        asked = self.world.steps
        await self.life.turn()
        if dry_run:
            kube = self.world.kube
            return self._kube(
                "dry-run", resource, _name(body), lambda: kube.create(resource, namespace, body, dry_run=True)
            )

        def act() -> Json:
            created = self.world.kube.create(resource, namespace, body)
            late = self.world.steps > asked
            self.world.tell(Created(plural=resource.plural, body=created, late=late))
            return created

        return self._kube("create", resource, _name(body), act, writes=True)

    async def replace(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Replace."""
        _check("update", resource)
        await self.life.turn()
        kube, name = self.world.kube, _name(body)
        return self._kube(
            "replace",
            resource,
            name,
            lambda: kube.replace(resource, namespace, body),
            writes=True,
            touch=lambda: kube.touch(resource, namespace, name),
        )

    async def apply(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Server-side apply."""
        _check("patch", resource)
        await self.life.turn()
        kube = self.world.kube
        return self._kube("apply", resource, _name(body), lambda: kube.apply(resource, namespace, body), writes=True)

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
        _check("patch", resource, subresource)
        await self.life.turn()
        kube = self.world.kube
        conditional = "resourceVersion" in body.get("metadata", {})
        return self._kube(
            "patch",
            resource,
            name,
            lambda: kube.patch(resource, namespace, name, body, subresource=subresource, strategic=strategic),
            writes=True,
            touch=(lambda: kube.touch(resource, namespace, name)) if conditional else None,
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
        """Delete exactly this object. The rules judge the stop of a pod when it is sent, whatever its result."""
        _check("delete", resource)
        asked = self.world.steps
        if resource == PODS:
            self._stop_sent(namespace, name, resource_version, evicted=False)
        await self.life.turn()
        kube = self.world.kube

        def act() -> None:
            gone = self._what_goes(resource, namespace, name, asked)
            kube.delete(
                resource, namespace, name, uid=uid, resource_version=resource_version, ended=ended, orphan=orphan
            )
            if gone is not None:
                self.world.tell(gone)

        touch = (lambda: kube.touch(resource, namespace, name)) if resource_version else None
        self._kube("delete", resource, name, act, writes=True, touch=touch)

    async def evict(self, namespace: str, name: str, *, uid: str, resource_version: str, dry_run: bool = False) -> None:
        """Evict exactly this pod, or ask for the answer to its eviction."""
        _check("create", PODS, "eviction")
        asked, kube = self.world.steps, self.world.kube
        request = partial(evict, kube, namespace, name, uid=uid, resource_version=resource_version)
        if dry_run:
            await self.life.turn()
            return self._kube("ask-evict", PODS, name, partial(request, dry_run=True))
        self._stop_sent(namespace, name, resource_version, evicted=True)
        await self.life.turn()

        def act() -> None:
            gone = self._pod_goes(namespace, name, asked, evicted=True)
            request()
            self.world.tell(gone)

        touch = partial(kube.touch, PODS, namespace, name)
        return self._kube("evict", PODS, name, act, writes=True, touch=touch)

    def _stop_sent(self, namespace: str, name: str, resource_version: str | None, *, evicted: bool) -> None:
        """Report a stop that can take effect: a stop that names an older version is refused whenever it arrives."""
        self.life.check()
        pod = self.world.kube.view(PODS, namespace, name)
        if pod is None or resource_version not in (None, pod["metadata"]["resourceVersion"]):
            return
        stop = self._pod_goes(namespace, name, self.world.steps, evicted=evicted)
        self.world.tell(StopSent(stop=stop) if isinstance(stop, PodDeleted) else replace(stop, sent=True))

    def _what_goes(self, resource: ResourceType, namespace: str, name: str, asked: int) -> Happened | None:
        """What a deletion of this object removes, as it is just before."""
        world = self.world
        if resource == CLAIMS:
            volume = world.volumes.by_claim.get(world.volumes.claim_uid(namespace, name) or "")
            labels = ((world.kube.view(CLAIMS, namespace, name) or {}).get("metadata") or {}).get("labels") or {}
            if LABEL_APPLICATION in labels:
                serial = volume.disk.serial if volume else 0
                index, generation = int(labels[LABEL_INSTANCE]), int(name.rpartition("-g")[2])
                late = world.steps > asked
                return StateDropped(claim=name, index=index, generation=generation, serial=serial, late=late)
            return ClaimDeleted(name=name, disk=volume.disk if volume else None)
        if resource == REVISIONS:
            return RevisionDeleted(namespace=namespace, name=name, late=world.steps > asked)
        return self._pod_goes(namespace, name, asked) if resource == PODS else None

    def _pod_goes(
        self, namespace: str, name: str, asked: int, *, evicted: bool = False
    ) -> PodDeleted | BrokerStop | InstanceStop:
        sandbox, late = self.world.kubelet.of_pod(namespace, name), self.world.steps > asked
        labels = ((self.world.kube.view(PODS, namespace, name) or {}).get("metadata") or {}).get("labels") or {}
        if LABEL_APPLICATION in labels:
            uid = str((self.world.kube.view(PODS, namespace, name) or {"metadata": {"uid": ""}})["metadata"]["uid"])
            instance, index = sandbox.streams if sandbox else None, int(labels[LABEL_INSTANCE])
            return InstanceStop(pod=name, uid=uid, index=index, process=instance, sent=False, late=late)
        if pool := labels.get(LABEL_POOL):
            broker = sandbox.broker if sandbox else None
            return BrokerStop(
                namespace=namespace, pool=pool, pod=name, broker=broker, evicted=evicted, sent=False, late=late
            )
        quorum, process = (sandbox.quorum, sandbox.process) if sandbox else ("", None)
        annotations = ((self.world.kube.view(PODS, namespace, name) or {}).get("metadata") or {}).get("annotations")
        return PodDeleted(
            namespace=namespace,
            quorum=quorum,
            name=name,
            process=process,
            inputs=str((annotations or {}).get(INPUTS_HASH, "")),
            evicted=evicted,
            late=late,
        )

    def _kube(
        self,
        verb: str,
        resource: ResourceType,
        name: str,
        act: Callable[[], T],
        *,
        writes: bool = False,
        stale: Callable[[], T] | None = None,
        touch: Callable[[], None] | None = None,
        fickle: bool = False,
    ) -> T:
        conditional = touch is not None
        call = Call(verb=verb, what=resource.plural, name=name, writes=writes, conditional=conditional, fickle=fickle)
        text = f"{call}: the connection broke"
        return self.course(call, act, failure=lambda: KubeUnavailable(text), stale=stale, touch=touch)


def _name(body: Json) -> str:
    return str(body["metadata"].get("name", ""))


def _check(verb: str, resource: ResourceType, subresource: str = "") -> None:
    """Raise what no pass expects if the chart does not grant this request to the operator."""
    if not granted(verb, resource, subresource):
        what = f"{resource.plural}/{subresource}" if subresource else resource.plural
        raise AssertionError(f"the chart grants no right to {verb} {what}")
