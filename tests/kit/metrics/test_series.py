"""The series of resources: what is scraped of them, when they end, and that both formats are valid."""

import pytest
from tests.clocks import MovingClock
from tests.kit.metrics.scraped import Samples, of, samples

from kit.key import ObjectKey
from kit.metrics.metric import NAMESPACE, Label, Metric, Type
from kit.metrics.series import FRESH_FOR_S, ResourceSeries, Since

_OWN = (NAMESPACE, Label(name="widget", bound="the name of the widget"))
SIZE = Metric(name="widget_size_bytes", type=Type.GAUGE, help="How large it is.", unit="bytes", labels=_OWN)
STATE = Metric(
    name="widget_state", type=Type.GAUGE, help="Its state.", labels=(*_OWN, Label(name="state", bound="states"))
)
TURNS = Metric(name="widget_turns_total", type=Type.COUNTER, help="How often it turned.", labels=_OWN)
AGE = Metric(name="widget_age_seconds", type=Type.GAUGE, help="How old it is.", unit="seconds", labels=_OWN)
A, B = ObjectKey(namespace="ns", name="a"), ObjectKey(namespace="ns", name="b")


class Bench:
    """Series, their clock, and whether this operator holds the lease."""

    def __init__(self) -> None:
        """Starts with the lease, and without a resource."""
        self.clock = MovingClock()
        self.acting = True
        self.series = ResourceSeries((SIZE, STATE, TURNS, AGE), self.clock, lambda: self.acting)

    def scrape(self, *, openmetrics: bool = False) -> Samples:
        """What a scrape has now."""
        text = "".join(self.series.taken()(openmetrics))
        return samples(text + "# EOF\n" if openmetrics else text, openmetrics=openmetrics)


@pytest.mark.parametrize("openmetrics", [False, True])
def test_a_scrape_has_every_value_in_both_formats(openmetrics: bool) -> None:  # noqa: FBT001 - a column of the table
    """The parsers of the library read back each value of each resource, with its labels, in both formats."""
    bench = Bench()
    bench.series.put(A, [(SIZE, (), 12), (STATE, ("on",), 1), (STATE, ("off",), 0), (TURNS, (), 3)], ())
    bench.series.put(B, [(SIZE, (), -1.5), (TURNS, (), 4e15)], ())
    found = bench.scrape(openmetrics=openmetrics)
    assert len(found) == 6
    assert of(found, "widget_size_bytes", namespace="ns", widget="a") == [12.0]
    assert of(found, "widget_state", widget="a", state="on") == [1.0]
    assert of(found, "widget_state", widget="a", state="off") == [0.0]
    assert of(found, "widget_turns_total", widget="b") == [4e15]


def test_a_name_cannot_end_its_label() -> None:
    """Quotes, backslashes and line breaks in a value stay inside it."""
    bench, odd = Bench(), 'a"} 1\nwidget_size_bytes{widget="b\\'
    bench.series.put(ObjectKey(namespace="ns", name=odd), [(SIZE, (), 1), (STATE, (odd,), 1)], ())
    found = bench.scrape()
    assert set(found.values()) == {1.0}
    assert len(of(found, "widget_size_bytes", widget=odd)) == 1
    assert len(of(found, "widget_state", widget=odd, state=odd)) == 1


def test_a_pass_replaces_all_of_a_resource() -> None:
    """A series that the last pass did not have is gone, and those of other resources stay."""
    bench = Bench()
    bench.series.put(A, [(STATE, ("on",), 1), (SIZE, (), 1)], ())
    bench.series.put(B, [(SIZE, (), 2)], ())
    bench.series.put(A, [(STATE, ("off",), 1)], ())
    found = bench.scrape()
    assert of(found, "widget_state") == [1.0]
    assert of(found, "widget_state", state="off") == [1.0]
    assert of(found, "widget_size_bytes") == [2.0]


def test_series_end_with_their_resource_and_with_the_lease() -> None:
    """A resource that is gone has no series, nor has any without the lease; what was forgotten does not come back."""
    bench = Bench()
    bench.series.put(A, [(SIZE, (), 1)], ())
    bench.series.put(B, [(SIZE, (), 2)], ())
    bench.series.drop(A)
    assert of(bench.scrape(), "widget_size_bytes") == [2.0]
    bench.acting = False
    assert bench.scrape() == {}
    bench.series.clear()
    bench.acting = True
    assert bench.scrape() == {}


def test_an_old_look_is_not_shown() -> None:
    """When no look has followed for five minutes, only what is said of an unknown resource is shown."""
    bench = Bench()
    bench.series.put(A, [(SIZE, (), 1), (STATE, ("on",), 1)], [(STATE, ("on",), -1)])
    bench.clock.seconds = FRESH_FOR_S
    assert of(bench.scrape(), "widget_state") == [1.0]
    bench.clock.seconds += 1
    labels = {"namespace": "ns", "widget": "a", "state": "on"}
    assert bench.scrape() == {("widget_state", frozenset(labels.items())): -1.0}


def test_ages_grow_between_passes() -> None:
    """An age is computed when it is scraped."""
    bench = Bench()
    bench.clock.seconds = 10
    bench.series.put(A, [(AGE, (), Since(4.0))], ())
    bench.clock.seconds = 17
    assert of(bench.scrape(), "widget_age_seconds") == [13.0]


def test_a_scrape_is_of_one_moment() -> None:
    """Passes after the beginning of a scrape do not change it, so a resource is never half old and half new."""
    bench = Bench()
    bench.series.put(A, [(SIZE, (), 1), (TURNS, (), 1)], ())
    taken = bench.series.taken()
    bench.series.put(A, [(SIZE, (), 2), (TURNS, (), 2)], ())
    bench.series.put(B, [(SIZE, (), 9)], ())
    assert set(samples("".join(taken(False))).values()) == {1.0}  # noqa: FBT003 - the format
