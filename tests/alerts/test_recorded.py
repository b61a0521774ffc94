"""The rules over series that a real Prometheus recorded from the real operator: what fired there fires here.

`e2e/scenarios/test_alerts.py` writes the recordings, with `RECORD_ALERTS=1`.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.alerts import promtool

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.yaml"))
_TOLERANCE_S = 45
"""There it was evaluated every 5 s, here every 15 s, and an instant may fall between two scrapes."""


def as_test(recording: dict[str, Any]) -> promtool.Json:
    """A recording as promtool's test file: each alert by itself around its time, and all of them at the end."""
    step_s = int(recording["interval"].removesuffix("s"))
    end = f"{(recording['steps'] - 1) * step_s}s"
    first: dict[str, int] = recording["first_seconds"]
    expected = [
        _at(f'max by (alertname) (ALERTS{{alertstate="firing",alertname="{alert}"}})', at_s, alerts)
        for alert, first_s in first.items()
        for at_s, alerts in ((first_s - _TOLERANCE_S, ()), (first_s + _TOLERANCE_S, (alert,)))
        if at_s >= 0
    ]
    ever = 'max by (alertname) (max_over_time(ALERTS{alertstate="firing"}[2h]))'
    return {
        "rule_files": [str(promtool.RULES)],
        "evaluation_interval": recording["interval"],
        "tests": [
            {
                "interval": recording["interval"],
                "input_series": [{"series": name, "values": values} for name, values in recording["series"].items()],
                "promql_expr_test": [*expected, _at(ever, end, sorted(first))],
            }
        ],
    }


def _at(expression: str, at: int | str, alerts: Iterable[str]) -> promtool.Json:
    samples = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in alerts]
    return {"expr": expression, "eval_time": f"{at}s" if isinstance(at, int) else at, "exp_samples": samples}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_what_fired_on_a_real_cluster_fires_here(path: Path, tmp_path: Path) -> None:
    """Over recorded series the rules fire exactly what they fired on the cluster, each at about its time."""
    written = tmp_path / "recorded.yaml"
    written.write_text(yaml.safe_dump(as_test(yaml.safe_load(path.read_text()))))
    assert "SUCCESS" in promtool.tested(written)


def test_every_scenario_of_alerts_is_recorded() -> None:
    """What a scenario records is among the recordings, and there is no recording of anything else."""
    scenarios = (Path(__file__).parents[2] / "e2e/scenarios/test_alerts.py").read_text()
    recorded = re.findall(r'\.record\("([a-z-]+)"\)', scenarios)
    assert sorted(recorded) == [path.stem for path in RECORDED]


def test_a_healthy_quorum_is_among_the_recordings() -> None:
    """There are recordings in which nothing fired, and recordings in which something did."""
    fired = {path.stem: bool(yaml.safe_load(path.read_text())["first_seconds"]) for path in RECORDED}
    assert set(fired.values()) == {True, False}
