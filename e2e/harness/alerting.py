"""The shipped alerts, in a real Prometheus that scrapes the operator and the controllers: what fires, when, and why.

The series of a run can be written as a recording: what promtool evaluates again, without a cluster.
"""

import itertools
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from demo import NAMESPACE, RELEASE
from harness import prometheus
from harness.prometheus import Prometheus, Series
from harness.quorum import GROUP
from harness.shell import Json, wait_until
from testbed.config import PROJECT

RULES: Final = PROJECT / "helm" / "kafka-quorum-operator" / "rules" / "alerts.yaml"
RECORDED: Final = PROJECT / "tests" / "alerts" / "recorded"
INTERVAL_S: Final = 5
"""How often is scraped and evaluated here: the times of alerts are exact to about two of these."""
STEP_S: Final = 15
"""The time between two values of a recording."""
WRITE: Final = "RECORD_ALERTS"
"""The environment variable with which a run writes its recordings."""
_SCRAPED_S: Final = 60.0
_KEPT: Final = ("namespace", "quorum", "job", "pod")
_FIRING: Final = 'ALERTS{alertstate="firing"}'


_LABEL: Final = f"__meta_kubernetes_pod_label_{GROUP.replace('.', '_')}"


def _pods(namespaces: Iterable[str], port: str, relabel: list[Json]) -> Json:
    """The part of a scrape that finds the pods with this port."""
    kubernetes = {
        "role": "pod",
        "kubeconfig_file": os.environ["KUBECONFIG"],
        "namespaces": {"names": sorted(namespaces)},
    }
    only = {"source_labels": ["__meta_kubernetes_pod_container_port_name"], "regex": port, "action": "keep"}
    named = {"source_labels": ["__meta_kubernetes_pod_name"], "target_label": "pod"}
    placed = {"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"}
    return {
        "honor_labels": True,
        "kubernetes_sd_configs": [kubernetes],
        "relabel_configs": [only, named, placed, *relabel],
    }


def scraped(namespaces: Iterable[str]) -> list[Json]:
    """What is scraped: the operator, and the controllers in these namespaces, as the chart's PodMonitors do it."""
    of_release = {
        "source_labels": ["__meta_kubernetes_pod_label_app_kubernetes_io_instance"],
        "regex": RELEASE,
        "action": "keep",
    }
    of_controllers: list[Json] = [
        {"source_labels": [f"{_LABEL}_quorum"], "target_label": "quorum"},
        {"source_labels": [f"{_LABEL}_node_id"], "target_label": "node"},
    ]
    return [
        {"job_name": "operator", **_pods([NAMESPACE], "metrics", [of_release])},
        {"job_name": "controllers", **_pods(namespaces, "jmx", of_controllers)},
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alerting:
    """A Prometheus with the shipped rules, which watches one namespace since a time in Unix seconds."""

    prometheus: Prometheus
    namespace: str
    begun_s: float

    def firing(self) -> set[str]:
        """The alerts that fire now."""
        return {each.labels["alertname"] for each in self._ours(self.prometheus.instant(_FIRING, time.time()))}

    def wait_firing(self, alert: str, since_s: float, timeout_s: float) -> float:
        """Wait until an alert fires; returns the seconds since `since_s`, to the nearest evaluation."""

        def seen() -> list[float]:
            return [moment for moment in self.fired().get(alert, ()) if moment >= since_s]

        first = wait_until(f"{alert} fires", seen, timeout_s, poll_s=1.0)[0]
        print(f"{alert}: {first - since_s:.0f} s")
        return first - since_s

    def fired(self) -> dict[str, list[float]]:
        """Every alert that has fired, with the times, in Unix seconds, at which it was seen to fire."""
        rows = self._ours(self.prometheus.over(_FIRING, self.begun_s, time.time(), INTERVAL_S))
        found: dict[str, list[float]] = {}
        for row in rows:
            found.setdefault(row.labels["alertname"], []).extend(moment for moment, _ in row.values)
        return {alert: sorted(moments) for alert, moments in found.items()}

    def _ours(self, rows: Iterable[Series]) -> list[Series]:
        """Without the alerts about other namespaces: other scenarios may run beside this one."""
        return [row for row in rows if row.labels.get("namespace", NAMESPACE) in {self.namespace, NAMESPACE}]

    def record(self, name: str) -> None:
        """Write the series of this run, and what fired at each of their times, if the environment asks for it."""
        if os.environ.get(WRITE):
            RECORDED.mkdir(exist_ok=True)
            (RECORDED / f"{name}.yaml").write_text(recording(self, time.time()))


@contextmanager
def alerting(namespace: str) -> Iterator[Alerting]:
    """A Prometheus with the shipped rules, which has scraped an operator that acts."""
    with (
        tempfile.TemporaryDirectory() as home,
        prometheus.running(Path(home), scraped([namespace]), INTERVAL_S, [RULES]) as running,
    ):
        found = Alerting(prometheus=running, namespace=namespace, begun_s=time.time())

        def acts() -> bool:
            wanted = f'kafka_quorum_last_look_timestamp_seconds{{namespace="{namespace}"}}'
            return bool(running.instant(wanted, time.time()))

        wait_until("the quorum's metrics are scraped", acts, _SCRAPED_S)
        yield found


def used() -> list[str]:
    """The metrics that the rules use."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    words = " ".join(rule["expr"] for group in groups for rule in group["rules"])
    marks = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in words)
    return sorted({word for word in marks.split() if word.startswith("kafka_")})


def recording(run: Alerting, end_s: float) -> str:
    """The series that the rules use, in promtool's form, and the alerts that fired at each step."""
    begin_s = float(int(run.begun_s))
    query = f'{{__name__=~"{"|".join(used())}"}}'
    rows = run.prometheus.over(query, begin_s, end_s, STEP_S)
    ours = [row for row in rows if row.labels.get("namespace", NAMESPACE) in {run.namespace, NAMESPACE}]
    steps = int((end_s - begin_s) // STEP_S) + 1
    series = dict(sorted((_name(row, run.namespace), _values(row, begin_s, steps)) for row in ours))
    seen = {alert: moments[0] - begin_s for alert, moments in run.fired().items()}
    shown = {"interval": f"{STEP_S}s", "steps": steps, "first_seconds": {key: round(seen[key]) for key in sorted(seen)}}
    return yaml.safe_dump({**shown, "series": series}, sort_keys=False, width=10_000)


def _name(row: Series, namespace: str) -> str:
    """The series without labels that differ between runs."""
    labels = {key: value for key, value in row.labels.items() if key not in ("__name__", "instance")}
    if labels.get("namespace") == namespace:
        labels["namespace"] = "kafka"
    inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{row.labels['__name__']}{{{inside}}}"


def _values(row: Series, begin_s: float, steps: int) -> str:
    """The values at each step, repeated ones counted; times are those since the begin, as promtool counts."""
    shift = begin_s if "_timestamp_" in row.labels["__name__"] else 0.0
    known = {round((moment - begin_s) / STEP_S): value - shift for moment, value in row.values}
    texts = [f"{known[step]:.6g}" if step in known else "_" for step in range(steps)]
    # Without a mark promtool would show the last value for five minutes more, as Prometheus does after a lost scrape.
    ended = [now == "_" and before not in ("_", "") for before, now in itertools.pairwise(["", *texts])]
    marked = ["stale" if end else text for text, end in zip(texts, ended, strict=True)]
    runs = [(text, len(list(group))) for text, group in itertools.groupby(marked)]
    return " ".join(text if count == 1 else _repeated(text, count) for text, count in runs)


def _repeated(text: str, count: int) -> str:
    """`1x3` is four times 1 for promtool, and `_x3` is three gaps."""
    if text == "_":
        return f"_x{count}"
    return " ".join([text] * count) if text in ("nan", "inf", "-inf") else f"{text}x{count - 1}"
