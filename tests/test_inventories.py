"""What all quorums have is listed together, by namespace, and only for what is remembered."""

from collections.abc import AsyncGenerator

from tests.clocks import MovingClock
from tests.test_reconcile import KEY, Bench, at_rest

from kafka_quorum import inventories
from kafka_quorum.observe.snapshot import KINDS
from kafka_quorum.settings import Settings
from kit.errors import KubeRefused
from kit.kube.protocol import Json, ResourceType
from kit.selector import EVERYTHING, Selector


class Listing:
    """Lists what a bench has stored, and nothing in namespaces that are refused."""

    def __init__(self, bench: Bench, refused: str = "-") -> None:
        """`refused` is a namespace in which nothing may be listed."""
        self.bench, self.refused = bench, refused
        self.asked: list[tuple[str, str]] = []

    async def each_metadata(
        self, resource: ResourceType, namespace: str, selector: Selector = EVERYTHING, *, label: str = ""
    ) -> AsyncGenerator[Json, None]:
        """What exists of this type."""
        self.asked.append((namespace, resource.plural))
        if self.refused == namespace:
            raise KubeRefused("forbidden")
        for (plural, _), item in self.bench.kube.objects.items():
            labels = item["metadata"].get("labels") or {}
            if plural == resource.plural and selector.selects(labels):
                yield item["metadata"] | {"labels": {label: labels.get(label)}}


async def remembered() -> Bench:
    """A quorum whose objects are remembered, and nearly too old."""
    bench = await at_rest()
    await bench.run()
    taken = bench.reconciler.objects.of(KEY)
    assert taken is not None
    bench.clock.seconds += taken.taken_at_s + Settings().resync_s - 1 - bench.clock.monotonic()
    return bench


async def test_what_is_remembered_is_confirmed() -> None:
    """One list of each kind keeps the objects of a quorum fresh."""
    bench = await remembered()
    listing = Listing(bench)
    await inventories.once(listing, bench.clock, bench.reconciler.objects, ())
    assert listing.asked == [("", kind) for kind in ("kafkaquorums", *(each.plural for each in KINDS))]
    bench.clock.seconds += Settings().resync_s - 1
    assert bench.reconciler.objects.of(KEY) is not None


async def test_a_namespace_that_cannot_be_listed_keeps_no_other_from_being_confirmed() -> None:
    """The objects of its quorums are read again as they grow old, and those of others are not."""
    for refused, fresh in (("elsewhere", True), (KEY.namespace, False)):
        bench = await remembered()
        other = await remembered()
        objects, taken = bench.reconciler.objects, other.reconciler.objects.of(KEY)
        assert taken is not None
        objects.keep(type(KEY)(namespace="elsewhere", name="q"), taken)
        await inventories.once(Listing(bench, refused), bench.clock, objects, ("elsewhere", KEY.namespace))
        bench.clock.seconds += Settings().resync_s - 1
        assert (objects.of(KEY) is not None) is fresh


async def test_nothing_is_listed_for_nothing() -> None:
    """While no objects are remembered, or only such as were asked for by name, no request is sent."""
    bench = Bench()
    listing = Listing(bench)
    await inventories.once(listing, MovingClock(), bench.reconciler.objects, ())
    assert listing.asked == []
