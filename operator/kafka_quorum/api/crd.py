"""The CustomResourceDefinition, made from the models: `python -m kafka_quorum.api.crd [--check]`.

The API server takes structural schemas only. What pydantic writes is brought into that form here: references inlined,
optional fields unwrapped, titles dropped, closed objects left to the API server's own pruning.
"""

import argparse
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from kafka_quorum.api import reference, rules
from kafka_quorum.api.spec import KafkaQuorumSpec
from kafka_quorum.api.status import KafkaQuorumStatus

Json = dict[str, Any]

GROUP: Final = "kafkaquorum.io"
VERSION: Final = "v1alpha1"
PLURAL: Final = "kafkaquorums"
NAME: Final = f"{PLURAL}.{GROUP}"
HEADER: Final = "# Generated from operator/kafka_quorum/api by `make crds`: change the models, not this file.\n"
KEEP: Final = "helm.sh/resource-policy: keep"

_DROPPED = frozenset({"title", "$defs", "additionalProperties"})


def crd() -> Json:
    """The whole definition, as JSON."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": "KafkaQuorum",
                "listKind": "KafkaQuorumList",
                "plural": PLURAL,
                "singular": "kafkaquorum",
                "shortNames": ["kq"],
                "categories": ["kafka"],
            },
            "scope": "Namespaced",
            "versions": [_version()],
        },
    }


def _version() -> Json:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.controllers.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        "additionalPrinterColumns": _columns(),
        "schema": {"openAPIV3Schema": _schema()},
    }


def _columns() -> list[Json]:
    ready = '.status.conditions[?(@.type=="Ready")]'
    return [
        _column("Ready", f"{ready}.status", "Whether every desired controller is a committed, caught-up voter."),
        _column("Voters", ".status.quorum.summary", "Healthy voters of all voters."),
        _column("Release", ".spec.kafka.version", "The Kafka release that is asked for."),
        _column("Metadata", ".status.metadataVersion", "The finalized metadata.version."),
        _column("Doing", ".status.doing", "The problem, if there is one; else what is under way."),
        _column("Age", ".metadata.creationTimestamp", "Since when the resource exists.", kind="date"),
        _column("Looked", ".status.lastLook", "When the operator last looked at it.", kind="date", wide=True),
        _column("Leader", ".status.quorum.leaderID", "The active controller.", kind="integer", wide=True),
        _column("Cluster ID", ".status.clusterID", "Kafka's cluster id.", wide=True),
        _column("Message", ".status.message", "The sentence that belongs to Doing.", wide=True),
    ]


def _column(name: str, path: str, description: str, *, kind: str = "string", wide: bool = False) -> Json:
    column: Json = {"name": name, "type": kind, "jsonPath": path, "description": description}
    return {**column, "priority": 1} if wide else column


def _schema() -> Json:
    return {
        "type": "object",
        "description": "A KRaft controller quorum of Apache Kafka.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": structural(KafkaQuorumSpec.model_json_schema(mode="validation")),
            "status": structural(KafkaQuorumStatus.model_json_schema(mode="validation")),
        },
        "x-kubernetes-validations": [
            rule.as_json()
            for rule in (
                rules.NAME_TOO_LONG,
                rules.NAME_NO_LABEL,
                rules.CLUSTER_ID_CHANGED,
                rules.STORAGE_CLASS_CHANGED,
            )
        ],
    }


def structural(model_schema: Json) -> Json:
    """A pydantic schema in the structural form that the API server takes."""
    return _clean(model_schema, model_schema.get("$defs", {}))


def _clean(node: Json, definitions: dict[str, Json]) -> Json:
    if "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        return _clean({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions)
    if "anyOf" in node:
        return _clean(
            {**_one_of(node["anyOf"]), **{key: value for key, value in node.items() if key != "anyOf"}}, definitions
        )
    cleaned = {key: value for key, value in node.items() if key not in _DROPPED}
    if cleaned.get("default", 0) is None:
        del cleaned["default"]
    if "const" in cleaned:
        cleaned["enum"] = [cleaned.pop("const")]
    if isinstance(node.get("additionalProperties"), dict):
        cleaned["additionalProperties"] = _clean(node["additionalProperties"], definitions)
    if "properties" in node:
        cleaned["properties"] = {name: _clean(child, definitions) for name, child in node["properties"].items()}
    if "items" in node:
        cleaned["items"] = _clean(node["items"], definitions)
    if cleaned.get("type") == "integer":
        cleaned.setdefault("format", "int64")
    return cleaned


def _one_of(branches: list[Json]) -> Json:
    """What stands for a union: its only member besides null, or Kubernetes' own integer-or-string."""
    present = [branch for branch in branches if branch.get("type") != "null"]
    if len(present) == 1:
        return present[0]
    if {branch.get("type") for branch in present} == {"integer", "string"}:
        return {"x-kubernetes-int-or-string": True}
    raise ValueError(f"no structural schema for {branches}")


class _Dumper(yaml.SafeDumper):
    """YAML without anchors, lists indented below their keys."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - PyYAML's signature
        super().increase_indent(flow, indentless=False)


def manifest() -> str:
    """The definition as YAML, for `kubectl apply`."""
    return HEADER + yaml.dump(crd(), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


def chart_template() -> str:
    """The definition as a template of the chart.

    Part of the release, so that it follows upgrades; kept when that is uninstalled, so that no quorum goes with it.
    """
    body = manifest().removeprefix(HEADER)
    if "{{" in body:
        raise ValueError("the definition contains {{, which helm would take for a template")
    keep = "{{- if .Values.crds.keep }}\n  annotations:\n    " + KEEP + "\n{{- end }}\n"
    labels = '  labels:\n    {{- include "kafka-quorum-operator.labels" . | nindent 4 }}\n'
    named = f"  name: {NAME}\n"
    head, _, tail = body.partition(named)
    return HEADER + "{{- if .Values.crds.install }}\n" + head + named + labels + keep + tail + "{{- end }}\n"


def targets(root: Path) -> dict[Path, str]:
    """Every generated file below the repository's root, and what it must hold."""
    return {
        root / "crds" / f"{NAME}.yaml": manifest(),
        root / "helm" / "kafka-quorum-operator" / "templates" / "crd.yaml": chart_template(),
        root / "docs" / "reference.md": reference.page(crd()),
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with `--check` say which of them differ from the models."""
    parser = argparse.ArgumentParser(description="Generate the CustomResourceDefinition from the models.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing; 1 if a file differs")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the repository's root; default: here")
    options = parser.parse_args(arguments)
    stale = [path for path, text in targets(options.root).items() if not path.is_file() or path.read_text() != text]
    for path in stale:
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(targets(options.root)[path])
        sys.stderr.write(f"{path} {'differs from the models: run `make crds`' if options.check else 'written'}\n")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
