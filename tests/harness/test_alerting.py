"""Recordings of series for promtool: repeated values, ends and times."""

from pathlib import Path

import pytest
import yaml
from tests.alerts import promtool

from harness import alerting
from harness.prometheus import Series

BEGIN_S = 1_000_000.0


def row(*values: float | None, name: str = "kafka_quorum_voters_present") -> Series:
    """A series with a value at each step; None is none."""
    known = tuple((BEGIN_S + step * alerting.STEP_S, value) for step, value in enumerate(values) if value is not None)
    return Series(labels={"__name__": name, "namespace": "scenario-1", "instance": "10.0.0.1:8081"}, values=known)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((3.0, 3.0, 3.0), "3x2"),
        ((3.0, 2.0, 2.0), "3 2x1"),
        ((None, 3.0, None, None, None, 3.0), "_ 3 stale _x2 3"),
        ((float("nan"), float("nan")), "nan nan"),
        ((0.125, 1e6), "0.125 1e+06"),
    ],
)
def test_values_are_written_as_promtool_reads_them(values: tuple[float | None, ...], text: str) -> None:
    """Repeated values are counted, a series that ends has the mark of its end, and gaps stay gaps."""
    assert alerting._values(row(*values), BEGIN_S, len(values)) == text


def test_times_are_counted_from_the_begin() -> None:
    """A time in Unix seconds becomes one since the begin of the recording, as promtool's clock begins at 0."""
    looked = row(BEGIN_S - 5, BEGIN_S + 10, name="kafka_quorum_last_look_timestamp_seconds")
    assert alerting._values(looked, BEGIN_S, 2) == "-5 10"


def test_names_say_nothing_of_the_run() -> None:
    """A recording has neither the namespace of the scenario nor an address."""
    assert alerting._name(row(1.0), "scenario-1") == 'kafka_quorum_voters_present{namespace="kafka"}'


def test_promtool_reads_a_recording(tmp_path: Path) -> None:
    """What is written is valid for promtool, with every kind of value in it."""
    values = alerting._values(row(3.0, 3.0, None, None, float("nan"), float("nan"), 0.5), BEGIN_S, 7)
    case = {
        "interval": "15s",
        "input_series": [{"series": alerting._name(row(1.0), "scenario-1"), "values": values}],
        "promql_expr_test": [
            {
                "expr": "kafka_quorum_voters_present",
                "eval_time": "90s",
                "exp_samples": [{"labels": 'kafka_quorum_voters_present{namespace="kafka"}', "value": 0.5}],
            },
            {"expr": "kafka_quorum_voters_present", "eval_time": "30s"},
        ],
    }
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump({"evaluation_interval": "15s", "tests": [case]}))
    assert "SUCCESS" in promtool.tested(path)


def test_the_metrics_of_the_rules_are_recorded() -> None:
    """Every metric of an expression is asked of Prometheus, and no other one."""
    words = " ".join(rule["expr"] for rule in promtool.rules().values())
    assert all(name in words for name in alerting.used())
    assert {"kafka_quorum_leader_id", "kafka_controller_active"} <= set(alerting.used())
