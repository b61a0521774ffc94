"""promtool over the alerts: cases of the test-bed's own short form become its test files."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parents[2]
RULES: Final = ROOT / "helm" / "kafka-quorum-operator" / "rules" / "alerts.yaml"
INTERVAL: Final = "30s"
QUORUM: Final = {"namespace": "kafka", "quorum": "demo"}
_OF_OPERATOR: Final = {"namespace": "kafka-quorum-system", "job": "operator", "pod": "operator-0"}
_OPERATOR: Final = "kafka_quorum_operator_"
_FOLLOWERS: Final = ("kafka_broker_pool_", "kafka_streams_application_")
_ALWAYS: Final = f"{_OPERATOR}build_info"
"""Without this series the alert about an absent operator fires, so every case has it."""

Json = dict[str, Any]


@cache
def promtool() -> str:
    """The promtool command: `$PROMTOOL`, that of the PATH, or that of the test-bed."""
    found = os.environ.get("PROMTOOL") or shutil.which("promtool")
    if found:
        return found
    command = [sys.executable, str(ROOT / "e2e" / "testbed"), "promtool-binary"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def checked(path: Path) -> str:
    """The output of `promtool check rules`; AssertionError with its words if it finds a fault."""
    return _succeed("check", "rules", "--lint=all", "--lint-fatal", str(path))


def tested(path: Path) -> str:
    """The output of `promtool test rules`; AssertionError with the differences if a test fails."""
    return _succeed("test", "rules", str(path))


def _succeed(*arguments: str) -> str:
    done = subprocess.run([promtool(), *arguments], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rules() -> dict[str, Json]:
    """Every alert of the rules file by its name."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    found = [rule for group in groups for rule in group["rules"]]
    named = {rule["alert"]: rule for rule in found}
    assert len(named) == len(found), "two alerts have one name"
    return named


def series(name: str) -> str:
    """The name of a series with the labels that each of its kind has; labels of the case count before them."""
    metric, _, inside = name.partition("{")
    given = dict(re.findall(r'(\w+)="([^"]*)"', inside))
    if metric.startswith(_OPERATOR):
        common = _OF_OPERATOR
    elif metric.startswith(_FOLLOWERS):
        common = {"namespace": QUORUM["namespace"]}
    else:
        common = QUORUM
    labels = {**common, **given}
    return metric + "{" + ",".join(f'{key}="{value}"' for key, value in sorted(labels.items())) + "}"


def as_tests(cases: Mapping[str, Iterable[Json]], interval: str) -> Json:
    """The cases of alerts with this time between their values, as one test file of promtool."""
    chosen = [
        (alert, case) for alert, each in cases.items() for case in each if case.get("every", INTERVAL) == interval
    ]
    return {
        "rule_files": [str(RULES)],
        "evaluation_interval": interval,
        "tests": [_test(alert, case, interval) for alert, case in chosen],
    }


def _test(alert: str, case: Json, interval: str) -> Json:
    values = {series(name): str(value) for name, value in case["series"].items()}
    if not any(name.startswith(_ALWAYS) for name in values):
        values[series(_ALWAYS)] = "1x5000"
    labels = case.get("labels", {})
    expected: dict[str, list[str]] = {at: [] for at in case.get("silent", ())}
    for at, others in case.get("also", {}).items():
        expected[at] = [firing(other, labels) for other in others]
    for at in case.get("fires", ()):
        expected[at] = [*expected.get(at, []), firing(alert, labels, case["series"])]
    return {
        "name": f"{alert}: {case['it']}",
        "interval": interval,
        "input_series": [{"series": name, "values": text} for name, text in values.items()],
        "promql_expr_test": [
            {
                "expr": 'ALERTS{alertstate="firing"}',
                "eval_time": at,
                "exp_samples": [{"labels": label, "value": 1} for label in labels],
            }
            for at, labels in expected.items()
        ],
    }


def firing(alert: str, labels: Mapping[str, str], of: Iterable[str] = ()) -> str:
    """The series by which Prometheus shows that an alert fires."""
    rule = rules()[alert]
    if any(name.startswith(_OPERATOR) for name in of):
        common = {} if "absent(" in rule["expr"] else {"namespace": _OF_OPERATOR["namespace"], "job": "operator"}
    elif any(name.startswith(_FOLLOWERS) for name in of):
        common = {"namespace": QUORUM["namespace"]}
    else:
        common = QUORUM
    shown = {"alertname": alert, "alertstate": "firing", **rule["labels"], **common, **labels}
    return "ALERTS{" + ",".join(f'{key}="{value}"' for key, value in sorted(shown.items())) + "}"
