"""An API server that records its requests, and answers or fails as a test requires."""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.api import ModelKube
from tests.simulation.model.kubernetes.kube_model import Items, Key, KubeModel

from kit.kube.protocol import PODS, Chosen, Json, ResourceType


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


class Objects(MutableMapping[tuple[str, str], Json]):
    """The stored objects by plural and name, for a test to read and to change in place."""

    def __init__(self, model: KubeModel) -> None:
        """Opens this model."""
        self._model = model
        self._handed: dict[Key, tuple[Json, Json]] = {}

    def __getitem__(self, place: tuple[str, str]) -> Json:
        """The object itself: a change of it is stored before the next request."""
        key = self._key(place)
        if key not in self._handed:
            self._handed[key] = (self._model.read(key), self._model.read(key))
        return self._handed[key][0]

    def __setitem__(self, place: tuple[str, str], body: Json) -> None:
        """Stores an object."""
        plural, name = place
        known = [key for key in self._model.places() if (key[0], key[2]) == place]
        key = known[0] if known else (plural, body["metadata"].get("namespace", ""), name)
        self._handed.pop(key, None)
        self._model.seed(key, body)

    def __delitem__(self, place: tuple[str, str]) -> None:
        """Deletes an object."""
        key = self._key(place)
        self._handed.pop(key, None)
        self._model.forget(key)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Every plural and name."""
        return iter([(plural, name) for plural, _, name in self._model.places()])

    def __len__(self) -> int:
        """The number of stored objects."""
        return len(self._model.places())

    def flush(self) -> None:
        """Stores what a test changed in place. Objects that the test still holds are not stored any more."""
        handed, self._handed = self._handed, {}
        for key, (body, before) in handed.items():
            if body != before:
                self._model.seed(key, body)

    def _key(self, place: tuple[str, str]) -> Key:
        found = next((key for key in self._model.places() if (key[0], key[2]) == place), None)
        if found is None:
            raise KeyError(place)
        return found


class RecordingKube(ModelKube):
    """The simulation's API server, which records its requests; requests of a verb and plural raise their `errors`."""

    def __init__(
        self,
        objects: Mapping[tuple[str, str], Json] | None = None,
        errors: dict[tuple[str, str], Exception] | None = None,
    ) -> None:
        """Starts with these objects."""
        super().__init__(KubeModel(VirtualClock()))
        self.objects = Objects(self.model)
        self.objects.update(objects or {})
        self.errors = {} if errors is None else errors
        self.calls: list[Call] = []

    def put(self, resource: ResourceType, item: Json) -> None:
        """Stores an object, so that reads find it."""
        self.objects[resource.plural, item["metadata"]["name"]] = item

    def writes(self) -> list[Call]:
        """The requests that change something."""
        return [call for call in self.calls if call.verb not in ("get", "list", "dry-run", "ask-evict")]

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """Records a read by name."""
        assert bool(namespace) is resource.namespaced
        self._called(Call(verb="get", plural=resource.plural, name=name))
        return await super().get(resource, namespace, name)

    async def list(
        self, resource: ResourceType, namespace: str, labels: Mapping[str, str], *, only: Chosen | None = None
    ) -> Items:
        """Records a list by labels."""
        assert namespace
        self._called(Call(verb="list", plural=resource.plural, name="", options=tuple(labels.items())))
        return await super().list(resource, namespace, labels, only=only)

    async def create(self, resource: ResourceType, namespace: str, body: Json, *, dry_run: bool = False) -> Json:
        """Records a creation, or a dry run of one."""
        assert namespace == body["metadata"]["namespace"]
        verb, name = "dry-run" if dry_run else "create", body["metadata"].get("name", "")
        self._called(Call(verb=verb, plural=resource.plural, name=name, body=body))
        return await super().create(resource, namespace, body, dry_run=dry_run)

    async def replace(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Records a replacement."""
        assert namespace == body["metadata"]["namespace"]
        self._called(Call(verb="replace", plural=resource.plural, name=body["metadata"]["name"], body=body))
        return await super().replace(resource, namespace, body)

    async def apply(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Records a server-side apply."""
        assert namespace == body["metadata"]["namespace"]
        self._called(Call(verb="apply", plural=resource.plural, name=body["metadata"]["name"], body=body))
        return await super().apply(resource, namespace, body)

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
        """Records a patch."""
        assert namespace
        options = (("subresource", subresource), ("strategic", strategic))
        self._called(Call(verb="patch", plural=resource.plural, name=name, body=body, options=options))
        return await super().patch(resource, namespace, name, body, subresource=subresource, strategic=strategic)

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
        """Records a deletion."""
        assert namespace
        options = (
            ("uid", uid),
            ("resource_version", resource_version),
            *((("ended", ended),) if ended else ()),
            *((("orphan", True),) if orphan else ()),
        )
        self._called(Call(verb="delete", plural=resource.plural, name=name, options=options))
        await super().delete(
            resource, namespace, name, uid=uid, resource_version=resource_version, ended=ended, orphan=orphan
        )

    async def evict(self, namespace: str, name: str, *, uid: str, resource_version: str, dry_run: bool = False) -> None:
        """Records an eviction, or the question whether it would be allowed."""
        assert namespace
        options = (("uid", uid), ("resource_version", resource_version))
        self._called(Call(verb="ask-evict" if dry_run else "evict", plural=PODS.plural, name=name, options=options))
        await super().evict(namespace, name, uid=uid, resource_version=resource_version, dry_run=dry_run)

    def _called(self, call: Call) -> None:
        self.objects.flush()
        self.calls.append(call)
        error = self.errors.get((call.verb, call.plural))
        if error is not None:
            raise error
