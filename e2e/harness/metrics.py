"""What the operator's pods show to Prometheus, read over the network of the pods."""

import urllib.request
from collections.abc import Callable, Iterable

from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from harness.quorum import Quorum
from harness.shell import Json

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
_PORT = 8081
_ANSWER_S = 10.0
_read: Callable[[str], Iterable[Metric]] = text_string_to_metric_families


def scrape(pod: Json) -> Samples:
    """Every sample that this pod shows, as Prometheus asks for it."""
    url = f"http://{pod['status']['podIP']}:{_PORT}/metrics"
    request = urllib.request.Request(url, headers={"Accept": "application/openmetrics-text;version=1.0.0"})
    with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:  # noqa: S310 - as above
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in _read(text)
        for sample in family.samples
    }


def of(found: Samples, name: str, **labels: str) -> list[float]:
    """The values of a metric with at least these labels."""
    return [value for (each, has), value in found.items() if each == name and set(labels.items()) <= has]


def of_quorum(found: Samples, quorum: Quorum, name: str, **labels: str) -> list[float]:
    """The values of a metric of this quorum, whose name begins with `kafka_quorum_`."""
    return of(found, f"kafka_quorum_{name}", namespace=quorum.namespace, quorum=quorum.name, **labels)


def names(found: Samples, quorum: Quorum) -> set[str]:
    """The names of all metrics that this quorum has a series of."""
    own = {("namespace", quorum.namespace), ("quorum", quorum.name)}
    return {name for name, labels in found if own <= labels}
