"""What belongs to another operator does not exist for this one."""

from collections.abc import Mapping
from typing import cast

from tests.kit.ends import WIDGETS

from kit.kube.protocol import PODS, Json, KubeApi, ResourceType
from kit.selector import EVERYTHING, parse
from kit.shard import share_of

_OBJECTS: dict[str, Json] = {
    "mine": {"metadata": {"name": "mine", "labels": {"shard": "a"}}},
    "other": {"metadata": {"name": "other", "labels": {"shard": "b"}}},
    "bare": {"metadata": {"name": "bare"}},
}


class Store:
    """Objects by name, of any kind."""

    async def get(self, _resource: ResourceType, _namespace: str, name: str) -> Json | None:
        """One of them."""
        return _OBJECTS.get(name)

    async def list(
        self, _resource: ResourceType, _namespace: str, _labels: Mapping[str, str], **_: object
    ) -> list[Json]:
        """All of them."""
        return list(_OBJECTS.values())


STORE = cast("KubeApi", Store())


async def test_only_selected_resources_are_found() -> None:
    """A resource of the kind that is not selected is missing, and one that is selected is there."""
    share = share_of(STORE, WIDGETS, parse("shard=a"))
    found = {name: await share.get(WIDGETS, "kafka", name) for name in (*_OBJECTS, "none")}
    assert found == {"mine": _OBJECTS["mine"], "other": None, "bare": None, "none": None}


async def test_other_kinds_are_found() -> None:
    """An object of another kind needs no label: pods and claims have none of a share."""
    share = share_of(STORE, WIDGETS, parse("shard=a"))
    assert await share.get(PODS, "kafka", "other") == _OBJECTS["other"]
    assert len(await share.list(PODS, "kafka", {})) == 3


def test_without_a_selector_nothing_is_between() -> None:
    """An empty selector leaves the edge as it is."""
    assert share_of(STORE, WIDGETS, EVERYTHING) is STORE
