"""The PodMonitor for Kafka's own metrics: where it is rendered, which pods it finds, which labels their series get."""

import re
import subprocess
from typing import Any

import pytest
from tests.helm.test_chart import only, rendered
from tests.model.values import revision, runtime
from tests.resources.test_pods import kafka

PLACE = "metrics.controllers.podMonitor"
KNOWN = ("--api-versions", "monitoring.coreos.com/v1/PodMonitor")
NAME = "kafka-quorum-operator-controllers"


def monitors(*options: str) -> list[dict[str, Any]]:
    """The PodMonitors for controllers that the chart renders."""
    return [item for item in rendered(*options) if item["kind"] == "PodMonitor" and item["metadata"]["name"] == NAME]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ((), 0),
        (KNOWN, 1),
        ((*KNOWN, "--set", f"{PLACE}.enabled=false"), 0),
        (("--set", f"{PLACE}.enabled=true"), 1),
        ((*KNOWN, "--set", "metrics=null"), 1),
    ],
    ids=["no CRD", "a CRD", "off", "on without a look", "values of an earlier release"],
)
def test_where_it_is(options: tuple[str, ...], count: int) -> None:
    """It is rendered where the API server has PodMonitors, unless the values say otherwise."""
    assert len(monitors(*options)) == count


def test_which_pods_it_finds() -> None:
    """It selects the labels and the port of a controller's pod with metrics, in the served namespaces or in all."""
    (found,) = monitors(*KNOWN)
    pod, other = kafka(of=revision(runtime(jmx=True))), kafka()
    labels = pod["metadata"]["labels"]
    selector = found["spec"]["selector"]
    assert selector["matchLabels"].items() <= labels.items()
    assert all(row["operator"] == "Exists" and row["key"] in labels for row in selector["matchExpressions"])
    (endpoint,) = found["spec"]["podMetricsEndpoints"]
    ports = [[port["name"] for port in each["spec"]["containers"][0]["ports"]] for each in (pod, other)]
    assert [endpoint["port"] in names for names in ports] == [True, False]
    assert found["spec"]["namespaceSelector"] == {"any": True}
    (served,) = monitors(*KNOWN, "--set", "watchNamespaces={kafka,events}")
    assert served["spec"]["namespaceSelector"] == {"matchNames": ["kafka", "events"]}
    (named,) = monitors(*KNOWN, "--set", "watchNamespaces={kafka}", "--set", f"{PLACE}.namespaces={{other}}")
    assert named["spec"]["namespaceSelector"] == {"matchNames": ["other"]}


def test_labels_of_series() -> None:
    """Series get the namespace, the quorum and the node id: Prometheus' names of the labels that a pod has."""
    (endpoint,) = only(rendered(*KNOWN), "PodMonitor", NAME)["spec"]["podMetricsEndpoints"]
    labels = {
        f"__meta_kubernetes_pod_label_{re.sub('[^a-zA-Z0-9]', '_', key)}": value
        for key, value in kafka(of=revision(runtime(jmx=True)))["metadata"]["labels"].items()
    } | {"__meta_kubernetes_namespace": "kafka"}
    made = {row["targetLabel"]: labels[row["sourceLabels"][0]] for row in endpoint["relabelings"]}
    assert made == {"namespace": "kafka", "quorum": "alpha", "node": "3000"}


def test_values() -> None:
    """Labels and times come from the values; a value of another form is refused."""
    options = ("--set", f"{PLACE}.labels.release=prometheus", "--set", f"{PLACE}.interval=1m")
    (found,) = monitors(*KNOWN, *options)
    assert found["metadata"]["labels"]["release"] == "prometheus"
    assert found["spec"]["podMetricsEndpoints"][0]["interval"] == "1m"
    for wrong in ("enabled=maybe", "interval=soon", "namespaces={A}", "other=1"):
        with pytest.raises(subprocess.CalledProcessError):
            rendered("--set", f"{PLACE}.{wrong}")
