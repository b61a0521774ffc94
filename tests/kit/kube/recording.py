"""An API server that notes what it is asked, and answers or fails as a test says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kit.errors import KubeAlreadyExists
from kit.kube.protocol import PODS, Json, ResourceType


def merge(old: Any, patch: Any) -> Any:  # noqa: ANN401 - any JSON
    """A JSON merge patch (RFC 7396) as the API server applies it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. `options` are the keyword arguments that differ from their defaults."""

    verb: str
    plural: str
    name: str
    body: Json | None = None
    options: tuple[tuple[str, Any], ...] = ()

    def option(self, name: str) -> Any:  # noqa: ANN401 - as it was given
        """An option of the request, or None."""
        return dict(self.options).get(name)


@dataclass(slots=True)
class RecordingKube:
    """`KubeApi` that checks nothing: reads find `objects`, requests of a verb and plural raise their `errors`."""

    objects: dict[tuple[str, str], Json] = field(default_factory=dict)
    errors: dict[tuple[str, str], Exception] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    serial: int = 1000

    def put(self, resource: ResourceType, item: Json) -> None:
        """Make an object that reads find."""
        self.objects[resource.plural, item["metadata"]["name"]] = item

    def writes(self) -> list[Call]:
        """The requests that change something."""
        return [call for call in self.calls if call.verb not in ("get", "list", "dry-run")]

    def _called(self, call: Call) -> Json:
        self.calls.append(call)
        error = self.errors.get((call.verb, call.plural))
        if error is not None:
            raise error
        return call.body or {}

    def _stored(self, call: Call) -> Json:
        body = self._called(call)
        self.serial += 1
        metadata = {"uid": f"uid-{self.serial}", **body["metadata"], "resourceVersion": str(self.serial)}
        self.objects[call.plural, call.name] = {**body, "metadata": metadata}
        return self.objects[call.plural, call.name]

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """Find an object by name."""
        assert bool(namespace) is resource.namespaced
        self._called(Call(verb="get", plural=resource.plural, name=name))
        return self.objects.get((resource.plural, name))

    async def list(self, resource: ResourceType, namespace: str, labels: Mapping[str, str]) -> list[Json]:
        """Find objects by labels."""
        assert namespace
        self._called(Call(verb="list", plural=resource.plural, name="", options=tuple(labels.items())))
        return [
            item
            for (plural, _), item in self.objects.items()
            if plural == resource.plural and labels.items() <= item["metadata"].get("labels", {}).items()
        ]

    async def create(self, resource: ResourceType, namespace: str, body: Json, *, dry_run: bool = False) -> Json:
        """Note a creation; a dry run of what is there finds the name taken, as the API server does."""
        assert namespace == body["metadata"]["namespace"]
        if dry_run:
            name = body["metadata"]["name"]
            self._called(Call(verb="dry-run", plural=resource.plural, name=name, body=body))
            if (resource.plural, name) in self.objects:
                raise KubeAlreadyExists(f"{resource.plural} {name!r} already exists")
            return body
        return self._stored(Call(verb="create", plural=resource.plural, name=body["metadata"]["name"], body=body))

    async def replace(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Note a replacement."""
        assert namespace == body["metadata"]["namespace"]
        return self._stored(Call(verb="replace", plural=resource.plural, name=body["metadata"]["name"], body=body))

    async def apply(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Note an application."""
        assert namespace == body["metadata"]["namespace"]
        return self._stored(Call(verb="apply", plural=resource.plural, name=body["metadata"]["name"], body=body))

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
        """Note a patch; of an object that is there the answer is the patched object, at a new version."""
        assert namespace
        options = (("subresource", subresource), ("strategic", strategic))
        self._called(Call(verb="patch", plural=resource.plural, name=name, body=body, options=options))
        present = self.objects.get((resource.plural, name))
        if present is None:
            return body
        patched: Json = merge(present, body)
        patched["metadata"]["resourceVersion"] = f"{present['metadata']['resourceVersion']}1"
        self.objects[resource.plural, name] = patched
        return patched

    async def delete(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str | None = None,
        ended: bool = False,
    ) -> None:
        """Note a deletion."""
        assert namespace
        options = (("uid", uid), ("resource_version", resource_version), *((("ended", ended),) if ended else ()))
        self._called(Call(verb="delete", plural=resource.plural, name=name, options=options))
        self.objects.pop((resource.plural, name), None)

    async def evict(self, namespace: str, name: str, *, uid: str, resource_version: str) -> None:
        """Note an eviction."""
        assert namespace
        options = (("uid", uid), ("resource_version", resource_version))
        self._called(Call(verb="evict", plural=PODS.plural, name=name, options=options))
        self.objects.pop((PODS.plural, name), None)
