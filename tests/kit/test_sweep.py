"""The sweep finds what no watch reported."""

from tests.clocks import MovingClock
from tests.kit.ends import WIDGETS

from kit.errors import KubeUnavailable
from kit.key import ObjectKey
from kit.kube.protocol import Json, ResourceType
from kit.selector import EVERYTHING, Selector, parse
from kit.sweep import Sweep


class Listing:
    """Widgets by namespace."""

    def __init__(self, **generations: int) -> None:
        """`a` is the widget `a` in namespace `a`."""
        self.generations = generations
        self.fault: Exception | None = None
        self.asked: list[str] = []
        self.selectors = set[str]()

    async def list_metadata(
        self, resource: ResourceType, namespace: str, selector: Selector = EVERYTHING
    ) -> tuple[Json, ...]:
        """The metadata of the widgets in this namespace, or of all."""
        assert resource == WIDGETS
        self.asked.append(namespace)
        self.selectors.add(selector.text)
        if self.fault is not None:
            raise self.fault
        return tuple(
            {"name": name, "namespace": name, "uid": "u", "generation": generation}
            for name, generation in self.generations.items()
            if namespace in ("", name)
        )


def key(name: str) -> ObjectKey:
    """The widget of that name."""
    return ObjectKey(namespace=name, name=name)


async def test_resources_without_a_loop_are_woken() -> None:
    """A resource without a loop is woken; one that has a loop is left alone."""
    woken: list[ObjectKey] = []
    sweep = Sweep(Listing(a=1, b=1), MovingClock(10.0), WIDGETS, (), lambda: [key("a")], woken.append)
    await sweep.once()
    assert woken == [key("b")]
    await sweep.once()
    assert woken == [key("b"), key("b")]


async def test_a_changed_spec_wakes() -> None:
    """A generation that differs from the last sweep's wakes a resource that has a loop, once."""
    woken: list[ObjectKey] = []
    listing = Listing(a=1)
    sweep = Sweep(listing, MovingClock(10.0), WIDGETS, (), lambda: [key("a")], woken.append)
    await sweep.once()
    listing.generations["a"] = 2
    await sweep.once()
    await sweep.once()
    assert woken == [key("a")]


async def test_a_resource_that_is_not_found_any_more_is_woken() -> None:
    """A resource with a loop is woken once if it was found and is missing now, or is missing for the second time."""
    woken: list[ObjectKey] = []
    listing = Listing(a=1, b=1)
    sweep = Sweep(listing, MovingClock(10.0), WIDGETS, (), lambda: [key("a"), key("c")], woken.append)
    await sweep.once()
    woken.clear()
    del listing.generations["a"]
    listing.generations |= {"b": 1}
    await sweep.once()
    await sweep.once()
    assert woken.count(key("b")) == 2
    assert sorted(one.name for one in woken if one != key("b")) == ["a", "c"]


async def test_what_is_lost_is_reported_as_lost() -> None:
    """A resource that is not found any more is not woken if there is something else to do with it."""
    woken, lost, listing = list[ObjectKey](), list[ObjectKey](), Listing(a=1)
    sweep = Sweep(listing, MovingClock(10.0), WIDGETS, (), lambda: [key("a")], woken.append, lost=lost.append)
    await sweep.once()
    del listing.generations["a"]
    await sweep.once()
    assert (woken, lost) == ([], [key("a")])


async def test_only_selected_resources_are_searched_for() -> None:
    """The selector of a share is sent with each search."""
    listing = Listing(a=1)
    await Sweep(listing, MovingClock(10.0), WIDGETS, ("a", "b"), list, lambda _: None, parse("shard=a")).once()
    assert listing.selectors == {"shard=a"}


async def test_a_search_that_fails_is_an_attempt() -> None:
    """A failed search changes nothing and counts as an attempt, because the probe checks whether searches continue."""
    listing, clock, woken = Listing(a=1), MovingClock(10.0), list[ObjectKey]()
    sweep = Sweep(listing, clock, WIDGETS, ("a", "b"), list, woken.append)
    listing.fault = KubeUnavailable("no answer")
    clock.seconds += 50
    assert sweep.age_s == 50
    await sweep.once()
    assert (sweep.age_s, woken) == (0, [])
    listing.fault = None
    await sweep.once()
    assert woken == [key("a")]
    assert listing.asked[-2:] == ["a", "b"]
