"""Metrics of the process as objects of the library: counters, histograms, and gauges that are read for each scrape."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from kit.metrics.metric import Metric
from kit.metrics.series import unit_of

Reading: TypeAlias = tuple[Metric, tuple[str, ...], float]
"""A gauge of the process: its metric, the values of all its labels, and the number."""


def registry() -> CollectorRegistry:
    """A registry with what the library knows of the process and of Python; times of creation are left out."""
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
    made = CollectorRegistry(auto_describe=False)
    prometheus_client.ProcessCollector(registry=made)
    prometheus_client.PlatformCollector(registry=made)
    prometheus_client.GCCollector(registry=made)
    return made


def counter(metric: Metric, into: CollectorRegistry) -> Counter:
    """A counter of the catalogue."""
    return Counter(metric.name, metric.help, metric.label_names, registry=into)


def histogram(metric: Metric, into: CollectorRegistry) -> Histogram:
    """A histogram of the catalogue."""
    return Histogram(
        metric.name, metric.help, metric.label_names, unit=unit_of(metric), buckets=metric.buckets, registry=into
    )


class Gauges(Collector):
    """Gauges that are read for each scrape: on the event loop, because what they show changes there."""

    def __init__(
        self, metrics: Iterable[Metric], read: Callable[[], Iterable[Reading]], into: CollectorRegistry
    ) -> None:
        """`read` gives the present values of these metrics."""
        self._metrics = tuple(metrics)
        self._read = read
        self._rows: tuple[Reading, ...] = ()
        into.register(self)

    def take(self) -> None:
        """Read the values of this moment."""
        self._rows = tuple(self._read())

    def collect(self) -> Iterator[Family]:
        """The values that were read last."""
        rows = self._rows
        for metric in self._metrics:
            family = GaugeMetricFamily(metric.name, metric.help, labels=metric.label_names, unit=unit_of(metric))
            for _, labels, value in (row for row in rows if row[0] is metric):
                family.add_metric(labels, value)
            yield family
