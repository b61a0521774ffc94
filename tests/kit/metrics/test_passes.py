"""How passes are counted, and the conditions of any kind of resource."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from tests.clocks import START, MovingClock
from tests.kit.metrics.scraped import Samples, of, samples

from kit.errors import KubeUnavailable, NotActing
from kit.key import ObjectKey
from kit.metrics.conditions import ConditionMetrics
from kit.metrics.library import counter, histogram
from kit.metrics.metric import NAMESPACE, Label, Metric, Type
from kit.metrics.passes import RESULTS, PassMetrics
from kit.report.report import PassReport

KEY = ObjectKey(namespace="ns", name="a")
RESOURCE = {"metadata": {"name": "a", "namespace": "ns"}}
_KIND = Label(name="kind", bound="kinds")
PASSES = Metric(
    name="passes_total", type=Type.COUNTER, help="Passes.", labels=(_KIND, Label(name="result", bound="results"))
)
SECONDS = Metric(
    name="pass_seconds", type=Type.HISTOGRAM, help="Took.", unit="seconds", labels=(_KIND,), buckets=(1.0, 5.0)
)
_OWN = (NAMESPACE, Label(name="widget", bound="names"))
CONDITION = Metric(
    name="widget_condition",
    type=Type.GAUGE,
    help="A condition.",
    labels=(*_OWN, Label(name="condition", bound="conditions", values=("Ready", "Degraded"))),
)
LOOKED = Metric(name="widget_last_look_timestamp_seconds", type=Type.GAUGE, help="When.", labels=_OWN)
STATUS = {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Degraded", "status": "False"}]}


@pytest.mark.parametrize(
    ("error", "status", "result"),
    [
        (None, STATUS, "done"),
        (None, None, "idle"),
        (KubeUnavailable("no answer"), None, "failed"),
        (KubeUnavailable("no answer"), STATUS, "failed"),
        (NotActing("lapsed"), None, "ended"),
        (asyncio.CancelledError(), None, "ended"),
        (KeyError("a fault"), None, "fault"),
    ],
)
async def test_a_pass_has_one_result(
    error: BaseException | None, status: dict[str, object] | None, result: str
) -> None:
    """A pass is counted once, by what ended it, and its seconds once."""
    own = CollectorRegistry()
    counting = PassMetrics("Widget", counter(PASSES, own), histogram(SECONDS, own))
    await counting.take(PassReport(key=KEY, resource=RESOURCE, status=status, error=error, took_s=2.0))
    await counting.take(PassReport(key=KEY, resource=RESOURCE, status=STATUS, withdrawn=True))
    counting.forget(KEY)
    found = samples(generate_latest(own).decode())
    assert {each: of(found, "passes_total", kind="Widget", result=each) for each in RESULTS} == {
        each: [1.0 if each == result else 0.0] for each in RESULTS
    }
    assert of(found, "pass_seconds_count", kind="Widget") == [1.0]
    assert of(found, "pass_seconds_bucket", kind="Widget", le="5.0") == [1.0]
    assert of(found, "pass_seconds_bucket", kind="Widget", le="1.0") == [0.0]


def test_a_pass_without_a_look_is_counted_by_itself() -> None:
    """It has a result of its own, and no seconds."""
    own = CollectorRegistry()
    PassMetrics("Widget", counter(PASSES, own), histogram(SECONDS, own)).unchanged()
    found = samples(generate_latest(own).decode())
    assert of(found, "passes_total", kind="Widget", result="unchanged") == [1.0]
    assert of(found, "pass_seconds_count", kind="Widget") == [0.0]


class Bench:
    """The conditions of widgets."""

    def __init__(self) -> None:
        """Starts with the lease."""
        self.clock, self.acting = MovingClock(), True
        self.metrics = ConditionMetrics(CONDITION, LOOKED, self.clock, lambda: self.acting)

    async def take(self, **report: object) -> None:
        """The report of a pass."""
        await self.metrics.take(PassReport(key=KEY, resource=RESOURCE, **report))  # type: ignore[arg-type]

    def scrape(self) -> Samples:
        """What a scrape has now."""
        return samples("".join(self.metrics.series.taken()(False)))  # noqa: FBT003 - the format


async def test_conditions_are_those_of_the_status() -> None:
    """True is 1, False is 0, and Unknown is -1; a type that is not of the kind has no series."""
    bench = Bench()
    odd = {"conditions": [*STATUS["conditions"], {"type": "Odd", "status": "True"}, {"type": "Ready", "status": "x"}]}
    await bench.take(status=odd, seen_at=START)
    found = bench.scrape()
    assert len(found) == 3
    assert of(found, "widget_condition", condition="Ready") == [1.0]
    assert of(found, "widget_condition", condition="Degraded") == [0.0]
    assert of(found, "widget_last_look_timestamp_seconds") == [START.timestamp()]
    await bench.take(status={"conditions": [{"type": "Ready", "status": "Unknown"}]}, withdrawn=True)
    found = bench.scrape()
    assert of(found, "widget_condition") == [-1.0]
    assert of(found, "widget_last_look_timestamp_seconds") == [START.timestamp()]


async def test_a_pass_without_a_status_changes_nothing() -> None:
    """A pass that ended early leaves the values of the last look, until they are too old: then they are unknown."""
    bench = Bench()
    await bench.take(status=STATUS)
    await bench.take(error=KubeUnavailable("no answer"))
    assert of(bench.scrape(), "widget_condition", condition="Ready") == [1.0]
    bench.clock.seconds = 1000
    assert of(bench.scrape(), "widget_condition") == [-1.0, -1.0]


async def test_a_resource_that_is_being_deleted_has_no_series() -> None:
    """Its series end as soon as its deletion is seen, and when it is gone."""
    bench = Bench()
    await bench.take(status=STATUS)
    going = {"metadata": {**RESOURCE["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    await bench.metrics.take(PassReport(key=KEY, resource=going))
    assert bench.scrape() == {}
    await bench.take(status=STATUS)
    bench.metrics.forget(KEY)
    assert bench.scrape() == {}


async def test_without_the_lease_nothing_is_taken() -> None:
    """What a pass reports after the lease has lapsed is not shown when it is held again."""
    bench = Bench()
    bench.acting = False
    await bench.take(status=STATUS)
    bench.acting = True
    assert bench.scrape() == {}
    await bench.take(status=STATUS)
    bench.metrics.clear()
    assert bench.scrape() == {}
