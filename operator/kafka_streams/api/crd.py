"""The CustomResourceDefinition, made from the models: `python -m kafka_streams.api.crd [--check]`."""

import sys
from pathlib import Path
from typing import Any, Final

from kafka_streams.api import reference, rules
from kafka_streams.api.spec import KafkaStreamsApplicationSpec
from kafka_streams.api.status import KafkaStreamsApplicationStatus
from kafka_streams.kind import APPLICATIONS
from kit.crd import definition
from kit.crd.definition import Column, Definition
from kit.crd.generate import generate

Json = dict[str, Any]

_READY: Final = '.status.conditions[?(@.type=="Ready")].status'
KIND: Final = Definition(
    resource=APPLICATIONS,
    singular="kafkastreamsapplication",
    short_names=("ksa",),
    categories=("kafka",),
    description="A Kafka Streams application, whose pods are upgraded safely between releases.",
    spec=KafkaStreamsApplicationSpec,
    status=KafkaStreamsApplicationStatus,
    columns=(
        Column(name="Ready", path=_READY, description="Whether every instance runs what the spec says, and works."),
        Column(name="Instances", path=".status.summary", description="Instances that work, of all instances."),
        Column(name="Release", path=".status.release", description="The Kafka Streams release that they run."),
        Column(name="Doing", path=".status.doing", description="The problem, if there is one; else what is under way."),
        Column(
            name="Age",
            path=".metadata.creationTimestamp",
            description="Since when the resource exists.",
            kind="date",
        ),
        Column(name="Group", path=".status.group", description="The state of the group.", wide=True),
        Column(
            name="Looked",
            path=".status.lastLook",
            description="When the operator last looked at it.",
            kind="date",
            wide=True,
        ),
        Column(name="Message", path=".status.message", description="The sentence that belongs to Doing.", wide=True),
    ),
    source="operator/kafka_streams/api",
    rules=(rules.NAME_TOO_LONG, rules.NAME_NO_LABEL),
    subresources={
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    },
)

NAME: Final = KIND.name


def crd() -> Json:
    """The whole definition, as JSON."""
    return definition.crd(KIND)


def targets(root: Path) -> dict[Path, str]:
    """Every generated file below the repository's root, and its required content."""
    template = definition.chart_template(KIND, "kafka-quorum-operator.labels")
    return {
        root / "crds" / f"{KIND.name}.yaml": definition.manifest(KIND),
        root / "helm" / "kafka-quorum-operator" / "templates" / "crd-streams.yaml": template,
        root / "docs" / "reference-streams.md": reference.page(crd()),
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with `--check` report which of them differ from the models."""
    return generate(targets, arguments)


if __name__ == "__main__":
    sys.exit(main())
