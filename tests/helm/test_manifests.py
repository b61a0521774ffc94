"""What the chart renders, for every file of values in `helm/ci`: helm's lint, kubeconform, and promtool."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.alerts import promtool
from tests.helm import schemas
from tests.helm.test_spark_example import EXAMPLE

from helm import render

CI = sorted((render.ROOT / "helm" / "ci").glob("*.yaml"))
SERVED = tuple(f"monitoring.coreos.com/v1/{kind}" for kind in ("PodMonitor", "PrometheusRule", "ServiceMonitor"))
"""Kinds that the API server of a cluster with the Prometheus operator has."""
MANIFESTS = (render.TARGET, *sorted(set((render.ROOT / "e2e" / "examples").glob("*.yaml")) - {EXAMPLE}))
"""Manifests that users apply. That for Spark's operator has a test of its own: its kind has no schema here."""
_SOURCE = re.compile(r"^# Source: kafka-quorum-operator/templates/(\S+)$", re.MULTILINE)


@cache
def kubeconform() -> str:
    """The kubeconform command: `$KUBECONFORM`, that of the PATH, or that of the test-bed."""
    found = os.environ.get("KUBECONFORM") or shutil.which("kubeconform")
    if found:
        return found
    command = [sys.executable, str(render.ROOT / "e2e" / "testbed"), "kubeconform-binary"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the schema of every kind."""
    made = tmp_path_factory.mktemp("schemas")
    schemas.write(made)
    return made


def rendered(values: Path, *, monitored: bool) -> str:
    """The manifests with these values, of a cluster with the Prometheus operator, or of one without it."""
    served = [option for kind in SERVED for option in ("--api-versions", kind)] if monitored else []
    return render.template("--values", str(values), *served)


def conform(text: str, directory: Path) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """The summary of kubeconform over manifests, and what it does not accept."""
    location = f"{directory}/{schemas.TEMPLATE}"
    command = [kubeconform(), "-strict", "-summary", "-output", "json", "-schema-location", location]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)
    found = json.loads(done.stdout)
    assert bool(done.returncode) == bool(found["resources"]), done.stderr
    return found["summary"], found["resources"]


@pytest.mark.parametrize("values", CI, ids=lambda path: path.stem)
def test_lint_finds_nothing(values: Path) -> None:
    """`helm lint --strict` has no error and no warning for these values."""
    command = [render.helm(), "lint", "--strict", "--values", str(values), str(render.CHART)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "[WARNING]" not in result.stdout


@pytest.mark.parametrize("monitored", [False, True], ids=["plain", "monitored"])
@pytest.mark.parametrize("values", CI, ids=lambda path: path.stem)
def test_every_manifest_has_the_form_of_its_kind(values: Path, monitored: bool, directory: Path) -> None:  # noqa: FBT001
    """Kubeconform accepts every object with these values, and leaves none out."""
    text = rendered(values, monitored=monitored)
    summary, wrong = conform(text, directory)
    assert wrong == []
    assert summary["valid"] == len([item for item in yaml.safe_load_all(text) if item])
    assert summary["skipped"] == 0


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_every_manifest_of_the_repository_has_the_form_of_its_kind(path: Path, directory: Path) -> None:
    """Kubeconform accepts what users apply, resources of our own kinds among it."""
    summary, wrong = conform(path.read_text(), directory)
    assert wrong == []
    assert summary["skipped"] == 0


def test_every_template_is_rendered_by_some_values() -> None:
    """With the values in `helm/ci` every template of the chart renders objects, so none is left unchecked."""
    seen = {name for values in CI for name in _SOURCE.findall(rendered(values, monitored=True))}
    assert seen == {path.name for path in (render.CHART / "templates").glob("*.yaml")}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatas: {}\n", "datas"),
        (
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {maxUnavailable: []}\n",
            "maxUnavailable",
        ),
        ("apiVersion: example.org/v1\nkind: Novelty\nmetadata: {name: a}\n", "could not find schema"),
        (
            "apiVersion: kafkaquorum.io/v1alpha1\nkind: KafkaQuorum\nmetadata: {name: a}\nspec: {controler: {}}\n",
            "controler",
        ),
    ],
)
def test_a_wrong_manifest_is_noticed(wrong: str, words: str, directory: Path) -> None:
    """A field or kind that does not exist, or a value of a wrong type, is an error."""
    _, (found,) = conform(wrong, directory)
    assert words in found["msg"]


def groups(*options: str) -> list[dict[str, Any]]:
    """The groups of the PrometheusRule with these options."""
    items = [item for item in yaml.safe_load_all(render.template(*options)) if item]
    (rule,) = [item for item in items if item["kind"] == "PrometheusRule"]
    return list(rule["spec"]["groups"])


@pytest.mark.parametrize("values", [path for path in CI if path.stem != "minimal"], ids=lambda path: path.stem)
def test_promtool_accepts_the_alerts_of_the_chart(values: Path, tmp_path: Path) -> None:
    """The groups of the PrometheusRule are a valid rules file of Prometheus."""
    path = tmp_path / "rules.yaml"
    options = ("--api-versions", "monitoring.coreos.com/v1/PrometheusRule", "--values", str(values))
    path.write_text(yaml.safe_dump({"groups": groups(*options)}))
    assert "rules found" in promtool.checked(path)


def test_the_chart_has_the_alerts_of_the_rules_file() -> None:
    """Without values for alerts the PrometheusRule has exactly what the rules file has."""
    assert groups("--set", "alerts.enabled=true") == yaml.safe_load(promtool.RULES.read_text())["groups"]


def test_alerts_are_there_where_the_api_server_has_them() -> None:
    """By default the PrometheusRule is made if the API server has that kind, and left out otherwise."""
    served = ("--api-versions", "monitoring.coreos.com/v1/PrometheusRule")
    assert "kind: PrometheusRule" in render.template(*served)
    assert "kind: PrometheusRule" not in render.template()
    assert "kind: PrometheusRule" not in render.template(*served, "--set", "alerts.enabled=false")
    assert "kind: PrometheusRule" in render.template("--set", "alerts=null", *served)


def test_alerts_follow_the_values() -> None:
    """Severity, `for` and expression of an alert, labels of all, and the address of a section come from the values."""
    found = {rule["alert"]: rule for group in groups("--values", str(_ci("monitored"))) for rule in group["rules"]}
    own = promtool.rules()
    assert set(own) - set(found) == {"KafkaQuorumDiskReplaced", "KafkaQuorumHeldByPersonLong"}
    assert found["KafkaQuorumOfflinePartitions"]["labels"] == {"severity": "critical", "team": "kafka"}
    assert found["KafkaQuorumNoLeader"]["labels"] == {"severity": "critical", "team": "kafka"}
    assert found["KafkaQuorumNoLeader"]["annotations"]["runbook_url"].endswith("/alerts.md#kafkaquorumnoleader")
    assert found["KafkaQuorumNotLookedAt"]["for"] == "5m"
    assert "> 900" in found["KafkaQuorumNotLookedAt"]["expr"]
    assert (
        found["KafkaQuorumNotLookedAt"]["annotations"]["summary"]
        == own["KafkaQuorumNotLookedAt"]["annotations"]["summary"]
    )


@pytest.mark.parametrize(
    "option", ["alerts.disabled={KafkaQuorumNoLeadr}", "alerts.overrides.KafkaQuorumNoLeadr.for=1m"]
)
def test_a_wrong_name_of_an_alert_is_refused(option: str) -> None:
    """A name that no alert has ends the installation with that name, instead of having no effect."""
    with pytest.raises(subprocess.CalledProcessError) as caught:
        render.template("--set", f"alerts.enabled=true,{option}")
    assert "there is no alert KafkaQuorumNoLeadr" in caught.value.stderr


def _ci(name: str) -> Path:
    return render.ROOT / "helm" / "ci" / f"{name}.yaml"
