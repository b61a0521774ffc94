"""Schemas for kubeconform, without a cluster and without a network: one file for each kind, in a directory.

Those of Kubernetes and of the Prometheus operator come from `schemas.json.gz` (`export_schemas.py`), those of our own
kinds from `crds/`. They are strict: a field that a schema does not have is an error.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

Json = dict[str, Any]

STORED: Final = Path(__file__).with_name("schemas.json.gz")
OWN: Final = Path(__file__).resolve().parents[2] / "crds"
TEMPLATE: Final = "{{.Group}}_{{.ResourceAPIVersion}}_{{.ResourceKind}}.json"
"""How kubeconform finds the schema of a kind."""
_TEXT_OR_NUMBER: Final[Json] = {"anyOf": [{"type": "string"}, {"type": "number"}]}
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_DEFINITIONS: Final = "definitions.json"


def write(directory: Path) -> None:
    """Write the schema of every kind into this directory."""
    stored = json.loads(gzip.decompress(STORED.read_bytes()))
    definitions = {name: _strict(each) for name, each in stored["definitions"].items()}
    definitions[_QUANTITY] = _TEXT_OR_NUMBER
    _write(directory / _DEFINITIONS, {"definitions": definitions})
    for name, definition in stored["definitions"].items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            path = _path(directory, kind["group"], kind["version"], kind["kind"])
            _write(path, {"$ref": f"{_DEFINITIONS}#/definitions/{name}"})
    own = (yaml.safe_load(path.read_text()) for path in sorted(OWN.glob("*.yaml")))
    for crd in (*stored["crds"], *own):
        for version, schema in _of_crd(crd):
            _write(_path(directory, crd["spec"]["group"], version, crd["spec"]["names"]["kind"]), schema)


def _path(directory: Path, group: str, version: str, kind: str) -> Path:
    # kubeconform takes the version of the core group, such as v1, as its group, too.
    return directory / f"{group or version}_{version}_{kind.lower()}.json"


def _write(path: Path, schema: Json) -> None:
    path.write_text(json.dumps(schema))


def _of_crd(crd: Json) -> Iterator[tuple[str, Json]]:
    """Each version of a CustomResourceDefinition, with the schema of its objects."""
    for version in crd["spec"]["versions"]:
        schema = _strict(version["schema"]["openAPIV3Schema"])
        text = {"type": "string"}
        meta = {"$ref": f"{_DEFINITIONS}#/definitions/{_META}"}
        yield (
            version["name"],
            schema | {"properties": {**schema["properties"], "apiVersion": text, "kind": text, "metadata": meta}},
        )


def _strict(schema: Json) -> Json:
    """A schema of OpenAPI as one of JSON Schema that allows no other fields."""
    if schema.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string"):
        return _TEXT_OR_NUMBER
    made = {key: each for key, each in schema.items() if key not in ("format", "nullable", "default")}
    if "properties" in made:
        made["properties"] = {name: _strict(each) for name, each in made["properties"].items()}
        if "additionalProperties" not in made and not schema.get("x-kubernetes-preserve-unknown-fields"):
            made["additionalProperties"] = False
    for key in ("items", "additionalProperties", "not"):
        if isinstance(made.get(key), dict):
            made[key] = _strict(made[key])
    if schema.get("nullable") and isinstance(schema.get("type"), str):
        made["type"] = [schema["type"], "null"]
    return made
