"""The CRD: the committed files agree with the models, and clients find what they depend on."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.api.schemas import nodes

from kafka_quorum.api import crd, reference
from kafka_quorum.settings import PodException
from kit.crd.definition import chart_template, manifest

ROOT = Path(__file__).resolve().parents[2]


def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = crd.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def test_committed_files_are_those_of_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    """`crds/`, the chart and the reference page are those that the models generate."""
    assert crd.main(["--check", "--root", str(ROOT)]) == 0, capsys.readouterr().err


def test_a_stale_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--check` fails before the files are written, names them, and passes afterwards."""
    root = ["--root", str(tmp_path)]
    assert crd.main(["--check", *root]) == 1
    assert "run `make crds`" in capsys.readouterr().err
    assert crd.main(root) == 0
    assert crd.main(["--check", *root]) == 0


def test_every_field_has_a_description() -> None:
    """`kubectl explain` answers for every field of spec and status."""
    bare = [
        path
        for part in ("spec", "status")
        for path, node in nodes(_schema()["properties"][part], part)
        if "description" not in node
        and not path.endswith("[]")
        and not path.startswith("spec.controllers.template.spec.")
    ]
    assert bare == []


def test_defaults_fill_in_everything_that_is_optional() -> None:
    """Every default of the models is in the CRD, so that an object and its operator never differ about one."""
    without = [
        path
        for path, node in nodes(_schema()["properties"]["spec"], "spec")
        if "default" not in node and "[]" not in path and not path.startswith("spec.controllers.template.spec.")
    ]
    assert without == ["spec", "spec.kafka", "spec.kafka.version", "spec.controllers.allowInterruption"]


def test_the_schema_is_structural() -> None:
    """The schema has nothing of pydantic that the API server refuses."""
    text = yaml.safe_dump(_schema())
    assert not [word for word in ("$ref", "$defs", "anyOf", "title:", "const:", "prefixItems") if word in text]
    assert "additionalProperties: false" not in text
    assert all("type" in node or "x-kubernetes-int-or-string" in node for _, node in nodes(_schema(), ""))


def test_names_are_those_of_the_design() -> None:
    """Group, version, kind, short name and scale paths are fixed, because a change would orphan existing objects."""
    definition = crd.crd()["spec"]
    assert (definition["group"], definition["versions"][0]["name"]) == ("kafkaquorum.io", "v1alpha1")
    assert (definition["names"]["kind"], definition["names"]["shortNames"]) == ("KafkaQuorum", ["kq"])
    assert definition["names"]["categories"] == ["kafka"]
    assert definition["versions"][0]["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.controllers.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }


def test_every_rule_has_a_sentence_with_a_way_out() -> None:
    """Every rule has a message with a way out, because a rule without one answers with CEL."""
    rules = [rule for _, node in nodes(_schema(), "") for rule in node.get("x-kubernetes-validations", [])]
    assert len(rules) > 40
    assert all(len(rule["message"]) > 30 and "\n" not in rule["message"] for rule in rules)


def test_the_reference_says_what_the_policy_for_pods_refuses() -> None:
    """Each limited field and each exception of the policy is on the page."""
    page = reference.page(crd.crd())
    words = (
        "valueFrom",
        "runAsNonRoot",
        "seccompProfile",
        "serviceAccountName",
        "pod-template-hash",
        "podPolicy.allow",
    )
    assert [word for word in (*words, *PodException) if f"{word}`" not in page] == []


def test_client_side_apply_can_hold_the_definition() -> None:
    """`kubectl apply` keeps a copy in an annotation, which has 256 KiB."""
    assert len(manifest(crd.KIND)) < 200_000


def test_the_module_runs_as_a_command(tmp_path: Path) -> None:
    """`python -m kafka_quorum.api.crd` writes its files below its working directory."""
    command = [sys.executable, "-m", "kafka_quorum.api.crd"]
    environment = {"PYTHONPATH": str(ROOT / "operator"), "PYTHONWARNINGS": "error"}
    subprocess.run(command, check=True, cwd=tmp_path, env=environment, timeout=60, capture_output=True)
    assert (tmp_path / "crds" / f"{crd.NAME}.yaml").read_text() == manifest(crd.KIND)
    assert (tmp_path / "helm/kafka-quorum-operator/templates/crd.yaml").read_text() == chart_template(
        crd.KIND, "kafka-quorum-operator.labels"
    )
    assert "spec.controllers.replicas" in (tmp_path / "docs/reference.md").read_text()
