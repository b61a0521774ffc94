"""The CustomResourceDefinition of a kind, made from its models: as JSON, for `kubectl apply`, and for a chart."""

from dataclasses import dataclass
from typing import Any

import yaml

from kit.crd.model import Model
from kit.crd.rule import Rule
from kit.crd.structural import structural
from kit.kube.protocol import ResourceType

Json = dict[str, Any]

_KEEP = "helm.sh/resource-policy: keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of `kubectl get`. One that is `wide` is shown with `-o wide` only."""

    name: str
    path: str
    description: str
    kind: str = "string"
    wide: bool = False

    def as_json(self) -> Json:
        """As an entry of `additionalPrinterColumns`."""
        column: Json = {"name": self.name, "type": self.kind, "jsonPath": self.path, "description": self.description}
        return {**column, "priority": 1} if self.wide else column


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A kind. `source` is the directory of its models, for the reader of a generated file.

    `rules` apply to the whole resource; `subresources` lists those other than the status. Without categories,
    `kubectl get all` and the like do not list the kind.
    """

    resource: ResourceType
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    description: str
    spec: type[Model]
    status: type[Model]
    columns: tuple[Column, ...]
    source: str
    rules: tuple[Rule, ...] = ()
    subresources: Json | None = None

    @property
    def group(self) -> str:
        """The API group."""
        return self.resource.api_version.partition("/")[0]

    @property
    def version(self) -> str:
        """The one version that is served and stored."""
        return self.resource.api_version.partition("/")[2]

    @property
    def name(self) -> str:
        """The name of the definition's own object."""
        return f"{self.resource.plural}.{self.group}"

    @property
    def header(self) -> str:
        """The first line of a generated file."""
        return f"# Generated from {self.source} by `make crds`: change the models, not this file.\n"


def crd(kind: Definition) -> Json:
    """The whole definition, as JSON."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.name},
        "spec": {
            "group": kind.group,
            "names": {
                "kind": kind.resource.kind,
                "listKind": f"{kind.resource.kind}List",
                "plural": kind.resource.plural,
                "singular": kind.singular,
                **({"shortNames": list(kind.short_names)} if kind.short_names else {}),
                **({"categories": list(kind.categories)} if kind.categories else {}),
            },
            "scope": "Namespaced",
            "versions": [_version(kind)],
        },
    }


def _version(kind: Definition) -> Json:
    return {
        "name": kind.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}, **(kind.subresources or {})},
        "additionalPrinterColumns": [column.as_json() for column in kind.columns],
        "schema": {"openAPIV3Schema": _schema(kind)},
    }


def _schema(kind: Definition) -> Json:
    schema: Json = {
        "type": "object",
        "description": kind.description,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": structural(kind.spec.model_json_schema(mode="validation")),
            "status": structural(kind.status.model_json_schema(mode="validation")),
        },
    }
    rules = [rule.as_json() for rule in kind.rules]
    return {**schema, "x-kubernetes-validations": rules} if rules else schema


class _Dumper(yaml.SafeDumper):
    """YAML without anchors, lists indented below their keys."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - PyYAML's signature
        super().increase_indent(flow, indentless=False)


def manifest(kind: Definition) -> str:
    """The definition as YAML, for `kubectl apply`."""
    return kind.header + yaml.dump(crd(kind), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


def chart_template(kind: Definition, labels: str) -> str:
    """The definition as a template of a chart, whose template `labels` gives every object its labels.

    It is part of the release, so that upgrades change it. It is kept when the release is uninstalled, because every
    resource would be deleted with it.
    """
    body = manifest(kind).removeprefix(kind.header)
    if "{{" in body:
        raise ValueError("the definition contains {{, which helm would take for a template")
    keep = "{{- if .Values.crds.keep }}\n  annotations:\n    " + _KEEP + "\n{{- end }}\n"
    labelled = '  labels:\n    {{- include "' + labels + '" . | nindent 4 }}\n'
    named = f"  name: {kind.name}\n"
    head, _, tail = body.partition(named)
    return kind.header + "{{- if .Values.crds.install }}\n" + head + named + labelled + keep + tail + "{{- end }}\n"
