"""The two definitions: the committed files agree with the models, and clients find what they depend on."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.api.schemas import nodes

from kafka_quorum.introspection import crd, models
from kit.crd.definition import Definition
from kit.crd.definition import crd as definition_of

ROOT = Path(__file__).resolve().parents[2]


def _schema(kind: Definition) -> dict[str, Any]:
    schema: dict[str, Any] = definition_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
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


@pytest.mark.parametrize("kind", crd.KINDS, ids=lambda kind: kind.singular)
def test_the_schema_is_structural_and_described(kind: Definition) -> None:
    """Each field has a description, and the schema has nothing of pydantic that the API server refuses."""
    text = yaml.safe_dump(_schema(kind))
    assert not [word for word in ("$ref", "$defs", "anyOf", "title:", "const:", "prefixItems") if word in text]
    assert all("type" in node for _, node in nodes(_schema(kind), ""))
    assert [
        path
        for part in ("spec", "status")
        for path, node in nodes(_schema(kind)["properties"][part], part)
        if "description" not in node and not path.endswith("[]")
    ] == []


def test_names_are_fixed() -> None:
    """Group, version and names are fixed, because clients depend on them; a status is written by its own right."""
    for kind, plural in zip(crd.KINDS, ("quorumlooks", "planquestions"), strict=True):
        made = definition_of(kind)["spec"]
        assert (made["group"], made["names"]["plural"]) == ("introspect.kafkaquorum.io", plural)
        assert (made["scope"], made["versions"][0]["name"]) == ("Namespaced", "v1alpha1")
        assert made["versions"][0]["subresources"] == {"status": {}}
        assert {"shortNames", "categories"}.isdisjoint(made["names"])


def test_a_manifest_is_stored_as_it_is_written() -> None:
    """The API server prunes nothing of a manifest: the operator names what does not belong there."""
    manifest = _schema(crd.QUESTIONS)["properties"]["spec"]["properties"]["manifest"]
    assert manifest["x-kubernetes-preserve-unknown-fields"] is True
    assert {"properties", "additionalProperties"}.isdisjoint(manifest)


def test_a_question_names_a_quorum() -> None:
    """The quorum is required, and has the form of a name."""
    with pytest.raises(ValueError, match="quorum"):
        models.PlanQuestionSpec.model_validate({})
    with pytest.raises(ValueError, match="quorum"):
        models.PlanQuestionSpec.model_validate({"quorum": "../x"})
