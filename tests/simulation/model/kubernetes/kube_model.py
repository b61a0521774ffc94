"""The Kubernetes API server in memory: its stored objects, its refusals, and the state before the last write.

It keeps the promises of the real one on which the operator depends: a resource version per write, and none for a write
that changes nothing; a uid per creation; preconditions; a separate status; claims that stay while a scheduled pod names
them; pods that stay until their kubelet releases them; immutable config maps and revisions. It does not distinguish
callers. `runs/edges.py` puts faults between it and the operator, and `world.py` moves the rest of the cluster.
"""

import marshal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.admission import PodAdmission, immutable
from tests.simulation.model.kubernetes.merging import merge_conditions, merged

from kafka_brokers.kind import POOLS
from kafka_quorum.introspection.kind import PLAN_QUESTIONS, QUORUM_LOOKS
from kafka_quorum.kind import QUORUMS
from kafka_streams.kind import APPLICATIONS
from kit.errors import KubeAlreadyExists, KubeConflict, KubeNotFound, KubeRefused
from kit.kube.protocol import BUDGETS, CLAIMS, PODS, SERVICES, Json, ResourceType

Key = tuple[str, str, str]
"""Plural, namespace and name."""
Items: TypeAlias = list[Json]
"""The answer to a list request; the class below has a method with the name `list`."""

_OURS = (QUORUMS, POOLS, APPLICATIONS, QUORUM_LOOKS, PLAN_QUESTIONS)
_WITH_STATUS = frozenset(one.plural for one in (*_OURS, PODS, CLAIMS, BUDGETS, SERVICES))
_KINDS_BY_PLURAL = {one.plural: one for one in (QUORUMS, POOLS, APPLICATIONS)}
_SYSTEM_METADATA = tuple(
    "uid creationTimestamp deletionTimestamp generation namespace name resourceVersion".split()  # noqa: SIM905 - short
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One write in the store: the object before and after, None if there was or is none."""

    key: Key
    by_operator: bool
    at_s: float
    labels: Mapping[str, str]
    before: bytes | None
    after: bytes | None


def copied(body: Json) -> Json:
    """A deep copy of JSON."""
    return cast("Json", marshal.loads(marshal.dumps(body)))  # noqa: S302 - our own bytes


ORPHAN: Final = "orphan"
"""The finalizer of an object whose dependents are released before it goes."""
LATELY_S: Final = 3.0
"""How late an answer with the state before the last write may be."""


class KubeModel:
    """One API server with its store. Every method is atomic."""

    def __init__(self, clock: VirtualClock) -> None:
        """Begin with an empty store."""
        self._clock = clock
        self._objects: dict[Key, bytes] = {}
        self._views: dict[Key, Json] = {}
        """The same objects for reading: the cluster's components share them, and change nothing in them."""
        self._listed: dict[str, tuple[Key, ...]] = {}
        """The keys of a type in order, of types whose keys have not changed since they were asked."""
        self._uids_now: frozenset[str] | None = None
        """The uids of everything, if no object has come or gone since they were asked."""
        self.changes = 0
        """How often the store has changed: as long as it does not, whatever is read from it stays the same."""
        self._version = 1000
        self._uids = 0
        self.operator_writes = False
        """Set while a request of the operator is carried out."""
        self.writes: list[Written] = []
        self.watchers: list[Callable[[Written], None]] = []
        self.admission = PodAdmission(clock)

    # What the operator may request

    def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """One object or None."""
        return loaded(self._objects.get((resource.plural, namespace, name)))

    def view(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """One object or None, for reading only."""
        return self._views.get((resource.plural, namespace, name))

    def list(self, resource: ResourceType, namespace: str, labels: Mapping[str, str]) -> Items:
        """Every object of the type with all of these labels, by name."""
        return [
            _must(self._objects[key])
            for key in self._keys(resource.plural)
            if key[1] == namespace and labels.items() <= (self._views[key]["metadata"].get("labels") or {}).items()
        ]

    def create(self, resource: ResourceType, namespace: str, body: Json, *, dry_run: bool = False) -> Json:
        """Create, with a uid, a version and the defaults that the server sets; as a dry run, store nothing."""
        body = copied(body)
        metadata = body.setdefault("metadata", {})
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = f"{metadata['generateName']}{self._uids + 1:05d}"
        name = metadata.get("name")
        if not name:
            raise KubeRefused(f"{resource.kind}: name or generateName is required")
        key = (resource.plural, namespace, name)
        self.admission.admit(resource, {**body, "metadata": {**metadata, "namespace": namespace}}, dry_run=dry_run)
        if key in self._objects:
            raise KubeAlreadyExists(f"{resource.plural} {name!r} already exists")
        if dry_run:
            return body
        if metadata.get("namespace", namespace) != namespace:
            raise KubeRefused(f"{resource.plural} {name!r}: the namespace of the object is not that of the request")
        self._uids += 1
        metadata |= {
            "namespace": namespace,
            "uid": f"uid-{self._uids:04d}",
            "creationTimestamp": self._clock.stamp(),
            "generation": 1,
        }
        metadata.pop("resourceVersion", None)
        body |= {"apiVersion": resource.api_version, "kind": resource.kind}
        if resource.plural in _WITH_STATUS:
            body.pop("status", None)
        _defaults(resource, body)
        return self._store(key, body)

    def replace(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Replace everything but the status, at the resource version in the body."""
        name = body.get("metadata", {}).get("name", "")
        old = self._viewed(resource, namespace, name)
        if not body["metadata"].get("resourceVersion"):
            raise KubeRefused(f"{resource.plural} {name!r}: metadata.resourceVersion must be specified for an update")
        _match(resource, old, body["metadata"])
        return self._update(resource, old, copied(body), status=False)

    def apply(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Server-side apply, forced: created if absent, else merged into what is there."""
        name = body["metadata"]["name"]
        old = self.view(resource, namespace, name)
        if old is None:
            return self.create(resource, namespace, body)
        _match(resource, old, body["metadata"])
        return self._update(resource, old, merged(old, copied(body)), status=False)

    def patch(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: Json,
        *,
        subresource: str = "",
        strategic: bool = False,
    ) -> Json:
        """Merge patch of the object, or of its status alone; `strategic` merges conditions by their type."""
        if subresource not in {"", "status"}:
            raise KubeRefused(f"{resource.plural} have no subresource {subresource!r} here")
        old = self._viewed(resource, namespace, name)
        _match(resource, old, body.get("metadata", {}))
        body = copied(body)
        if strategic:
            merge_conditions(old, body)
        return self._update(resource, old, merged(old, body), status=subresource == "status")

    def delete(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        resource_version: str | None = None,
        ended: bool = False,
        orphan: bool = False,
    ) -> None:
        """Delete at once, or, if another component still holds the object, mark it for deletion.

        With `orphan` it stays until the garbage collector has released what it owns.
        """
        old = self._require(resource, namespace, name)
        self.check(resource, old, uid=uid, resource_version=resource_version)
        self.admission.part_with(resource, old)
        if orphan and ORPHAN not in old["metadata"].get("finalizers", []):
            old["metadata"]["finalizers"] = [*old["metadata"].get("finalizers", []), ORPHAN]
        if self._held(resource, old) and not ended:
            if "deletionTimestamp" not in old["metadata"]:
                old["metadata"]["deletionTimestamp"] = self._clock.stamp()
                self._store((resource.plural, namespace, name), old)
            return
        self.remove(resource, namespace, name)

    def check(self, resource: ResourceType, found: Json, *, uid: str, resource_version: str | None) -> None:
        """KubeConflict if an object does not have the uid or version that a request names."""
        wanted = {"uid": uid, "resourceVersion": resource_version}
        _match(resource, found, {key: value for key, value in wanted.items() if value})

    # What the cluster does with the store

    def remove(self, resource: ResourceType, namespace: str, name: str) -> None:
        """Remove an object from the store, even if it is held."""
        key = (resource.plural, namespace, name)
        before = self._objects.pop(key)
        del self._views[key]
        self._came_or_went(key)
        self._version += 1
        self._wrote(key, before, None)

    def places(self) -> tuple[Key, ...]:
        """Every place with an object."""
        return tuple(self._objects)

    def read(self, key: Key) -> Json:
        """A copy of the object."""
        return _must(self._objects[key])

    def seed(self, key: Key, body: Json) -> None:
        """Put an object there as it is, for a test that begins with it; missing identity fields are generated."""
        body = copied(body)
        metadata = body["metadata"]
        self._version += 1
        metadata.setdefault("uid", f"uid-of-{key[2]}")
        metadata.setdefault("generation", 1)
        metadata.setdefault("resourceVersion", str(self._version))
        if key[1]:
            metadata.setdefault("namespace", key[1])
        raw = marshal.dumps(body)
        self._objects[key], self._views[key] = raw, viewed(raw)
        self._came_or_went(key)

    def forget(self, key: Key) -> None:
        """Remove an object, for a test that begins without it."""
        del self._objects[key], self._views[key]
        self._came_or_went(key)

    def put_status(self, resource: ResourceType, body: Json, status: Json) -> Json:
        """Write a status as a component of the cluster does: no precondition."""
        metadata = body["metadata"]
        return self.patch(resource, metadata["namespace"], metadata["name"], {"status": status}, subresource="status")

    def assign(self, namespace: str, name: str, node: str) -> None:
        """Bind a pod to a node, as the scheduler does."""
        key = (PODS.plural, namespace, name)
        pod = _must(self._objects[key])
        pod["spec"]["nodeName"] = node
        pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]
        self._store(key, pod)

    def touch(self, resource: ResourceType, namespace: str, name: str) -> None:
        """Another writer changes the object: its resource version increases."""
        old = self.get(resource, namespace, name)
        if old is not None:
            old["metadata"].setdefault("annotations", {})["simulation/touched"] = str(self._version)
            self._store((resource.plural, namespace, name), old)

    def all(self, resource: ResourceType) -> Iterator[Json]:
        """All objects of a type in any namespace, for reading only."""
        for key in self._keys(resource.plural):
            if key in self._views:
                yield self._views[key]

    def uids(self) -> frozenset[str]:
        """The uids of everything that exists."""
        if self._uids_now is None:
            self._uids_now = frozenset(str(body["metadata"]["uid"]) for body in self._views.values())
        return self._uids_now

    def snapshot(self) -> dict[Key, Json]:
        """Every object there is."""
        return {key: _must(raw) for key, raw in sorted(self._objects.items())}

    # Reads of the state before the last write of a type

    def written_lately(self, resource: ResourceType, namespace: str, name: str) -> bool:
        """Whether the object (with an empty name: any of the type) was written in the last seconds."""
        for written in reversed(self.writes):
            if self._clock.elapsed_s - written.at_s > LATELY_S:
                return False
            if written.key[:2] == (resource.plural, namespace) and name in ("", written.key[2]):
                return True
        return False

    def stale_get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """The object as it was one write ago."""
        key = (resource.plural, namespace, name)
        for written in reversed(self.writes):
            if written.key == key:
                return loaded(written.before)
        return self.get(resource, namespace, name)

    def stale_list(self, resource: ResourceType, namespace: str, labels: Mapping[str, str]) -> Items:
        """The list as it was before the last write of this type."""
        objects = dict(self._objects)
        for written in reversed(self.writes):
            if written.key[:2] == (resource.plural, namespace):
                if written.before is None:
                    objects.pop(written.key, None)
                else:
                    objects[written.key] = written.before
                break
        return _selected(objects, resource, namespace, labels)

    # Inside

    def _require(self, resource: ResourceType, namespace: str, name: str) -> Json:
        found = self.get(resource, namespace, name)
        if found is None:
            raise KubeNotFound(f"{resource.plural} {name!r} not found")
        return found

    def _viewed(self, resource: ResourceType, namespace: str, name: str) -> Json:
        found = self.view(resource, namespace, name)
        if found is None:
            raise KubeNotFound(f"{resource.plural} {name!r} not found")
        return found

    def _keys(self, plural: str) -> tuple[Key, ...]:
        if plural not in self._listed:
            self._listed[plural] = tuple(sorted(key for key in self._views if key[0] == plural))
        return self._listed[plural]

    def _came_or_went(self, key: Key) -> None:
        """There is another object now, or one less."""
        self._listed.pop(key[0], None)
        self._uids_now = None
        self.changes += 1

    def _update(self, resource: ResourceType, old: Json, new: Json, *, status: bool) -> Json:
        metadata = old["metadata"]
        if status:
            new = {**old, "metadata": dict(metadata), "status": new.get("status", {})}
        else:
            if resource.plural in _WITH_STATUS and ("status" in old or "status" in new):
                new["status"] = old.get("status", {})
            new_metadata = new["metadata"] = dict(new.get("metadata") or {})
            for field in _SYSTEM_METADATA:
                new_metadata.pop(field, None)
                if field in metadata:
                    new_metadata[field] = metadata[field]
            new |= {"apiVersion": resource.api_version, "kind": resource.kind}
            immutable(resource, old, new)
            if new.get("spec") != old.get("spec"):
                new_metadata["generation"] = metadata["generation"] + 1
        return self._store((resource.plural, metadata["namespace"], metadata["name"]), new)

    def _store(self, key: Key, body: Json) -> Json:
        before = self._objects.get(key)
        if before is not None and _same(self._views[key], body):
            return _must(before)
        self._version += 1
        body["metadata"]["resourceVersion"] = str(self._version)
        after = marshal.dumps(body)
        self._objects[key], self._views[key] = after, viewed(after)
        self.changes += 1
        if before is None:
            self._came_or_went(key)
        self._wrote(key, before, after)
        return _must(after)

    def _wrote(self, key: Key, before: bytes | None, after: bytes | None) -> None:
        body = self._views.get(key) or viewed(before or b"")
        written = Written(
            key=key,
            by_operator=self.operator_writes,
            at_s=self._clock.elapsed_s,
            labels=body["metadata"].get("labels") or {},
            before=before,
            after=after,
        )
        self.writes.append(written)
        for watcher in self.watchers:
            watcher(written)

    def _held(self, resource: ResourceType, body: Json) -> bool:
        if resource.plural == PODS.plural:
            return bool(body.get("spec", {}).get("nodeName"))
        if resource.plural == CLAIMS.plural:
            return self.claim_in_use(body["metadata"]["namespace"], body["metadata"]["name"])
        return bool(body["metadata"].get("finalizers"))

    def finish_claims(self) -> Items:
        """Remove deleted claims that no pod uses any more, as the claim controller does; returns them."""
        deleted = [claim for claim in self.all(CLAIMS) if "deletionTimestamp" in claim["metadata"]]
        gone = []
        for claim in deleted:
            namespace, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
            if not self.claim_in_use(namespace, name):
                self.remove(CLAIMS, namespace, name)
                gone.append(claim)
        return gone

    def claim_in_use(self, namespace: str, name: str) -> bool:
        """Whether a scheduled pod names this claim: such a claim stays after its deletion."""
        return any(
            pod["metadata"]["namespace"] == namespace and name in claims_of(pod)
            for pod in self.all(PODS)
            if pod.get("spec", {}).get("nodeName")
        )


def claims_of(pod: Json) -> list[str]:
    """The names of the claims that a pod mounts."""
    volumes = pod.get("spec", {}).get("volumes") or []
    return [v["persistentVolumeClaim"]["claimName"] for v in volumes if "persistentVolumeClaim" in v]


def loaded(raw: bytes | None) -> Json | None:
    """A copy of the JSON behind a stored object."""
    return None if raw is None else _must(raw)


def seen(raw: bytes | None) -> Json | None:
    """The JSON behind a stored object, for reading only: all readers share it."""
    return None if raw is None else viewed(raw)


@lru_cache(maxsize=2000)
def viewed(raw: bytes) -> Json:
    """The same of an object that is there."""
    return _must(raw)


def _must(raw: bytes) -> Json:
    return cast("Json", marshal.loads(raw))  # noqa: S302 - our own bytes


def _selected(
    objects: Mapping[Key, bytes], resource: ResourceType, namespace: str, labels: Mapping[str, str]
) -> list[Json]:
    keys = sorted(key for key in objects if key[0] == resource.plural and key[1] == namespace)
    bodies = (_must(objects[key]) for key in keys)
    return [body for body in bodies if labels.items() <= (body["metadata"].get("labels") or {}).items()]


def _same(old: Json, new: Json) -> bool:
    versions = old["metadata"].get("resourceVersion"), new["metadata"].get("resourceVersion")
    if versions[0] == versions[1]:
        return old == new
    return old == {**new, "metadata": {**new["metadata"], "resourceVersion": versions[0]}}


def _match(resource: ResourceType, old: Json, wanted: Mapping[str, Any]) -> None:
    for field in ("uid", "resourceVersion"):
        value = wanted.get(field)
        if value and value != old["metadata"][field]:
            raise KubeConflict(
                f"{resource.plural} {old['metadata']['name']!r}: {field} is {old['metadata'][field]}, not {value}"
            )


def _defaults(resource: ResourceType, body: Json) -> None:
    if resource.plural == PODS.plural:
        body["status"] = {"phase": "Pending"}
    elif resource.plural == CLAIMS.plural:
        body["status"] = {"phase": "Pending"}
        body["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]
    elif resource.plural in _KINDS_BY_PLURAL:
        body.setdefault("spec", {})
