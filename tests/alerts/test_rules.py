"""The alerts: promtool's checks, cases in which each fires and is silent, and names that exist."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.alerts import promtool

_TEXT = (Path(__file__).parent / "cases.yaml").read_text()
CASES: dict[str, list[dict[str, Any]]] = yaml.load(_TEXT, yaml.BaseLoader)  # noqa: S506 - texts: 0x20 is no number
RULES = promtool.rules()
DOCS = (promtool.ROOT / "docs" / "alerts.md").read_text()


def test_promtool_finds_nothing() -> None:
    """`promtool check rules`, with every lint, accepts the file."""
    assert f"{len(RULES)} rules found" in promtool.checked(promtool.RULES)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "interval", sorted({case.get("every", promtool.INTERVAL) for each in CASES.values() for case in each})
)
def test_each_alert_fires_when_it_must_and_only_then(interval: str, tmp_path: Path) -> None:
    """In each case exactly the alerts of the case fire, by the rules as they are shipped."""
    path = tmp_path / "cases.yaml"
    path.write_text(yaml.safe_dump(promtool.as_tests(CASES, interval)))
    assert "SUCCESS" in promtool.tested(path)


@pytest.mark.parametrize("alert", sorted(RULES))
def test_each_alert_has_both_kinds_of_cases(alert: str) -> None:
    """For each alert there is a time at which it fires, and one at which its series exist and it is silent."""
    cases = CASES[alert]
    assert any(case.get("fires") for case in cases)
    assert any(case.get("silent") or set(case.get("also", {})) - set(case.get("fires", ())) for case in cases)


def test_no_case_is_left_over() -> None:
    """Every case belongs to an alert."""
    assert set(CASES) == set(RULES)


@pytest.mark.parametrize("alert", sorted(RULES))
def test_each_alert_says_what_a_person_needs(alert: str) -> None:
    """It has a severity, one sentence as summary, a description and a command; `for` is not repeated in words."""
    rule = RULES[alert]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert set(rule["annotations"]) == {"summary", "description", "runbook"}
    assert re.fullmatch(r"[A-Z].*[.]", rule["annotations"]["summary"])
    assert rule["annotations"]["runbook"].startswith("kubectl ")
    assert rule["annotations"]["description"].endswith(".")


@pytest.mark.parametrize("alert", sorted(RULES))
def test_each_alert_is_explained(alert: str) -> None:
    """docs/alerts.md has a section for each alert, which runbook_url points to, with its severity and its `for`."""
    rule = RULES[alert]
    found = re.search(rf"^### {alert}\n\n(.+?)(?=^##|\Z)", DOCS, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/alerts.md has no section {alert}"
    waits = f"`for` {rule['for']}" if "for" in rule else "at once"
    assert found[1].startswith(f"*{rule['labels']['severity']}, {waits}.* ")


def test_no_explanation_is_left_over() -> None:
    """Every section about an alert in docs/alerts.md belongs to one."""
    assert set(re.findall(r"^### (Kafka\w+)$", DOCS, re.MULTILINE)) == set(RULES)
