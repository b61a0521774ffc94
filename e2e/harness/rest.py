"""The operator's consumption while nothing happens, counted from outside.

Requests: a FlowSchema for the operator's account alone; its counter in the API server's metrics counts each of its
requests, watches included. CPU and memory: the kernel's account of its process, read on its node.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from demo import NAMESPACE, RELEASE
from harness import operator
from harness.nodes import on_node
from harness.shell import Json, kubectl

_FLOW = "kafka-quorum-operator-counted"
_METRIC = "apiserver_flowcontrol_dispatched_requests_total"
_TICKS_PER_S = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """The consumption: requests a minute, thousandths of a core, mebibytes resident at the end."""

    requests_per_minute: float
    cpu_millicores: float
    memory_mib: float

    def values(self) -> Json:
        """For JSON."""
        return asdict(self)


@contextmanager
def counted_requests() -> Iterator[None]:
    """While this lasts the API server counts the operator's requests separately."""
    account = {"kind": "ServiceAccount", "serviceAccount": {"name": RELEASE, "namespace": NAMESPACE}}
    rules = {
        "subjects": [account],
        "resourceRules": [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
        ],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    body = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": _FLOW},
        "spec": {
            "priorityLevelConfiguration": {"name": "workload-high"},
            "matchingPrecedence": 500,
            "rules": [rules],
        },
    }
    kubectl("apply", "-f", "-", stdin=json.dumps(body))
    try:
        yield
    finally:
        kubectl("delete", "flowschema", _FLOW)


def measure(duration_s: float) -> Used:
    """Measure for this duration: CPU and memory of the acting operator, which must stay the same process."""
    pod = operator.wait_acting()
    node, process = pod["spec"]["nodeName"], _process(pod)
    before, cpu_before_s, began_s = _requests(), _cpu_s(node, process), time.monotonic()
    time.sleep(duration_s)  # the duration itself is the divisor of the measurement
    after, cpu_after_s, passed_s = _requests(), _cpu_s(node, process), time.monotonic() - began_s
    assert operator.holder() == pod["metadata"]["name"], "another operator acts now"
    return Used(
        requests_per_minute=(after - before) * 60 / passed_s,
        cpu_millicores=(cpu_after_s - cpu_before_s) * 1000 / passed_s,
        memory_mib=_resident_mib(node, process),
    )


def _process(pod: Json) -> int:
    identity = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
    rows = on_node(pod["spec"]["nodeName"], "ctr", "-n", "k8s.io", "tasks", "ls").splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith(identity))


def _requests() -> int:
    lines = kubectl("get", "--raw", "/metrics").splitlines()
    counted = (line for line in lines if line.startswith(_METRIC) and f'flow_schema="{_FLOW}"' in line)
    return sum(int(float(line.rpartition(" ")[2])) for line in counted)


def _cpu_s(node: str, process: int) -> float:
    fields = on_node(node, "cat", f"/proc/{process}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _resident_mib(node: str, process: int) -> float:
    lines = on_node(node, "cat", f"/proc/{process}/status").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
