"""The queries of the dashboards, asked of a real Prometheus that has every series of the catalogues for an hour."""

import time
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

import pytest

from harness import dashboards, prometheus
from harness.dashboards import Query
from harness.prometheus import Prometheus
from kafka_quorum.metrics import catalogue
from kafka_quorum.resources import jmx
from kit.metrics.metric import Label, Type

QUERIES: Final = [query for name in dashboards.NAMES for query in dashboards.queries(name)]
STEP_S: Final = 30
SAMPLES: Final = 120
VARIABLES: Final = {"namespace": "kafka", "quorum": "demo", "__rate_interval": "2m"}
_NODES: Final = ("3000", "3001", "3002")
_OPEN: Final = {"kafka_version": ("4.4.0", "4.1.2"), "node": _NODES, "reason": ("Rolling", "LostDisk")}
"""Values of labels whose values cannot be listed; any other one has two."""
_TARGETS: Final = tuple(
    (("job", "operator"), ("instance", f"10.0.0.{n}:8081"), ("pod", f"operator-{n}")) for n in (1, 2)
)

FIRST: Final = "kafka_quorum_acts_total"
"""A counter that also has a series with one sample, at the end: what it counts has happened for the first time."""

Labels = tuple[tuple[str, str], ...]


def _choices(label: Label) -> tuple[str, ...]:
    own = {"namespace": ("kafka", "other"), "quorum": ("demo",), "pool": ("demo",), "application": ("demo",)}
    return own.get(label.name) or label.values or _OPEN.get(label.name, ("one", "two"))


def _series() -> Iterator[tuple[str, Type, list[tuple[str, Labels]]]]:
    """Each metric with its type, and its series: their names and labels."""
    for metric in catalogue.ALL:
        chosen = product(*(_choices(label) for label in metric.labels))
        found = [tuple(zip(metric.label_names, each, strict=True)) for each in chosen]
        targets = _TARGETS if metric in catalogue.OPERATOR else _TARGETS[:1]
        all_labels = [(*labels, *target) for labels in found for target in targets]
        if metric.type is Type.HISTOGRAM:
            bounds = [*map(str, metric.buckets), "+Inf"]
            rows = [(f"{metric.name}_bucket", (*each, ("le", bound))) for each in all_labels for bound in bounds]
        else:
            rows = [(metric.name, each) for each in all_labels]
        yield metric.name, metric.type, rows
    yield from _of_libraries()


def _of_libraries() -> Iterator[tuple[str, Type, list[tuple[str, Labels]]]]:
    """The same of what the libraries of the operator and of the JMX agent add, and of Kafka's own metrics."""
    of_quorum: Labels = (("namespace", "kafka"), ("quorum", "demo"), ("job", "controllers"))
    of_nodes: list[Labels] = [(*of_quorum, ("node", node), ("instance", f"{node}:9404")) for node in _NODES]
    rows: list[tuple[str, Type, Iterable[Labels], Labels]] = [
        ("process_resident_memory_bytes", Type.GAUGE, (*_TARGETS, *of_nodes), ()),
        ("process_cpu_seconds_total", Type.COUNTER, (*_TARGETS, *of_nodes), ()),
        ("jvm_memory_used_bytes", Type.GAUGE, of_nodes, (("area", "heap"),)),
        ("jvm_gc_collection_seconds_sum", Type.COUNTER, of_nodes, (("gc", "G1"),)),
    ]
    for name, kind, targets, extra in rows:
        yield name, kind, [(name, (*each, *extra)) for each in targets]
    for shown in jmx.SHOWN:
        states: tuple[Labels, ...] = tuple((("state", state),) for state in shown.values) or ((),)
        kind = Type.COUNTER if shown.is_counter else Type.GAUGE
        yield shown.name, kind, [(shown.name, (*each, *state)) for each in of_nodes for state in states]


def _openmetrics(end_s: float) -> str:
    """Every series with a sample each `STEP_S`: gauges stay 1, counters grow by 1."""
    lines: list[str] = []
    for name, kind, rows in _series():
        lines.append(f"# TYPE {name.removesuffix('_total')} {'unknown' if name.endswith('_sum') else kind.value}")
        for series, labels in rows:
            text = ",".join(f'{label}="{value}"' for label, value in labels)
            for sample in range(SAMPLES):
                value = sample + 1 if kind is not Type.GAUGE else 1
                lines.append(f"{series}{{{text}}} {value} {end_s - (SAMPLES - 1 - sample) * STEP_S}")
        if name == FIRST:
            lines.append(f'{name}{{namespace="late",quorum="demo",act="DiskLost",result="done"}} 1 {end_s}')
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="module")
def end_s() -> float:
    """The time of the last samples, in Unix seconds."""
    return float(int(time.time()))


@pytest.fixture(scope="module")
def server(end_s: float, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus with all of it."""
    directory = tmp_path_factory.mktemp("prometheus")
    prometheus.from_openmetrics(_openmetrics(end_s), directory)
    with prometheus.running(directory, []) as found:
        yield found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("query", QUERIES, ids=[query.place for query in QUERIES])
def test_every_query_returns_series(query: Query, server: Prometheus, end_s: float) -> None:
    """A real Prometheus accepts the query and returns series, with every label that its legend or column shows."""
    asked = query.asked(VARIABLES)
    found = server.instant(asked, end_s) if query.instant else server.over(asked, end_s - 3600, end_s, 60)
    assert found, asked
    for series in found:
        assert query.legend_labels() <= set(series.labels), series.labels
        if query.rows:
            assert set(series.labels) <= query.labels() | query.new_labels()


def test_the_first_time_counts(server: Prometheus, end_s: float) -> None:
    """What happens for the first time is shown, although the series of its counter was not there before."""
    (acts,) = (query for query in QUERIES if (query.board, query.panel) == ("fleet", "Acts"))
    found = server.instant(acts.asked(VARIABLES | {"namespace": "late"}), end_s)
    assert [(each.labels["act"], each.values[0][1]) for each in found] == [("DiskLost", 1.0)]


def test_a_wrong_query_is_noticed(server: Prometheus, end_s: float) -> None:
    """What is no PromQL is refused with the words of Prometheus, and a metric that is not there has no series."""
    with pytest.raises(prometheus.NotAnsweredError, match="parse error"):
        server.instant("sum by (kafka_quorum_info", end_s)
    assert server.instant("kafka_quorum_information", end_s) == []
