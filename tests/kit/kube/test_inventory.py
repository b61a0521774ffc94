"""An inventory confirms exactly what exists unchanged."""

from collections.abc import AsyncGenerator, Callable

import pytest
from tests.clocks import MovingClock
from tests.kit.ends import WIDGETS

from kit.errors import KubeRefused
from kit.key import ObjectKey
from kit.kube.inventory import Inventory, digest_of, take, together
from kit.kube.protocol import CLAIMS, PODS, Json, ResourceType
from kit.selector import EVERYTHING, Selector

LABEL = "example.org/widget"
KEY = ObjectKey(namespace="a", name="w")


def one(name: str, version: str = "1", owner: str = "w", **more: str) -> Json:
    """The metadata of an object of the widget `owner`."""
    return {
        "name": name,
        "namespace": "a",
        "uid": f"uid-{name}",
        "resourceVersion": version,
        "labels": {LABEL: owner},
    } | more


class Store:
    """A widget with two pods and a claim, and another widget's pod."""

    def __init__(self) -> None:
        """Everything exists."""
        self.items: dict[str, list[Json]] = {
            WIDGETS.plural: [one("w", "7")],
            PODS.plural: [one("p1"), one("p2", "5"), one("p3", owner="other")],
            CLAIMS.plural: [one("p1")],
        }
        self.refused = ""
        self.asked: list[tuple[str, str, str]] = []

    async def each_metadata(
        self, resource: ResourceType, namespace: str, selector: Selector = EVERYTHING, *, label: str = ""
    ) -> AsyncGenerator[Json, None]:
        """What exists of this type."""
        self.asked.append((resource.plural, namespace, selector.text))
        if resource.plural == self.refused:
            raise KubeRefused("forbidden")
        assert label in ("", LABEL)
        for item in self.items[resource.plural]:
            if selector.selects(item["labels"]):
                yield item

    def parts(self) -> bytes:
        """What a resource that lists its own objects now remembers."""
        return together(
            digest_of(kind, item)
            for kind in (CLAIMS, PODS)
            for item in self.items[kind.plural]
            if item["labels"][LABEL] == "w"
        )


async def taken(store: Store, namespace: str = "", wanted: frozenset[ObjectKey] = frozenset({KEY})) -> Inventory | None:
    """An inventory."""
    return await take(store, MovingClock(40.0), WIDGETS, (PODS, CLAIMS), LABEL, namespace, wanted)


async def test_what_is_unchanged_is_confirmed() -> None:
    """A resource whose objects exist unchanged is confirmed, as of the begin, by one list of each kind."""
    store = Store()
    found = await taken(store)
    assert found is not None
    assert found.confirms(KEY, {"metadata": one("w", "7")}, store.parts())
    assert found.began_s == 40.0
    assert store.asked == [("widgets", "", ""), ("pods", "", LABEL), ("persistentvolumeclaims", "", LABEL)]


def _changed(store: Store) -> None:
    store.items["pods"][0]["resourceVersion"] = "2"


def _made_again(store: Store) -> None:
    store.items["pods"][0]["uid"] = "another"


def _gone(store: Store) -> None:
    del store.items["pods"][0]


def _one_more(store: Store) -> None:
    store.items["persistentvolumeclaims"].append(one("p9"))


def _of_another_kind(store: Store) -> None:
    store.items["persistentvolumeclaims"].append(store.items["pods"].pop(1))


def _relabelled(store: Store) -> None:
    store.items["pods"][0]["labels"] = {}


def _given_to_another(store: Store) -> None:
    store.items["pods"][2]["labels"] = {LABEL: "w"}


def _resource_changed(store: Store) -> None:
    store.items["widgets"][0]["resourceVersion"] = "8"


def _resource_gone(store: Store) -> None:
    store.items["widgets"].clear()


@pytest.mark.parametrize(
    "change",
    [
        _changed,
        _made_again,
        _gone,
        _one_more,
        _of_another_kind,
        _relabelled,
        _given_to_another,
        _resource_changed,
        _resource_gone,
    ],
)
async def test_whatever_differs_is_not_confirmed(change: Callable[[Store], None]) -> None:
    """An object that changed, was made again, came, went or got another label confirms nothing of its resource."""
    store = Store()
    before = store.parts()
    change(store)
    found = await taken(store)
    assert found is not None
    assert not found.confirms(KEY, {"metadata": one("w", "7")}, before)


@pytest.mark.parametrize("refused", ["widgets", "pods", "persistentvolumeclaims"])
async def test_a_list_that_fails_confirms_nothing(refused: str) -> None:
    """If one kind cannot be listed, there is no inventory."""
    store = Store()
    store.refused = refused
    assert await taken(store) is None


async def test_one_namespace_is_listed() -> None:
    """An operator of some namespaces lists in one of them at a time."""
    store = Store()
    await taken(store, "a")
    assert {namespace for _, namespace, _ in store.asked} == {"a"}


async def test_only_what_is_wanted_is_kept() -> None:
    """Whoever labels objects for a resource that is not remembered takes no memory."""
    found = await taken(Store(), wanted=frozenset())
    assert found is not None
    assert (found.versions, found.parts) == ({}, {})


async def test_too_many_objects_confirm_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a limit of objects with the label, whoever made them, every resource lists its own again."""
    monkeypatch.setattr("kit.kube.inventory.OBJECTS_MAX", 4)
    assert await taken(Store()) is not None
    monkeypatch.setattr("kit.kube.inventory.OBJECTS_MAX", 3)
    assert await taken(Store()) is None
