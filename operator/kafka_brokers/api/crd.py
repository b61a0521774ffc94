"""The CustomResourceDefinition, made from the models: `python -m kafka_brokers.api.crd [--check]`."""

import sys
from pathlib import Path
from typing import Any, Final

from kafka_brokers.api import reference, rules
from kafka_brokers.api.spec import KafkaBrokerPoolSpec
from kafka_brokers.api.status import KafkaBrokerPoolStatus
from kafka_brokers.kind import POOLS
from kit.crd import definition
from kit.crd.definition import Column, Definition
from kit.crd.generate import generate

Json = dict[str, Any]

_READY: Final = '.status.conditions[?(@.type=="Ready")].status'
KIND: Final = Definition(
    resource=POOLS,
    singular="kafkabrokerpool",
    short_names=("kbp",),
    categories=("kafka",),
    description="A pool of Kafka brokers that follow a KafkaQuorum.",
    spec=KafkaBrokerPoolSpec,
    status=KafkaBrokerPoolStatus,
    columns=(
        Column(
            name="Ready",
            path=_READY,
            description="Whether every requested broker is unfenced, and in the ISR of all of its partitions.",
        ),
        Column(name="Brokers", path=".status.summary", description="Brokers that are back, of all brokers."),
        Column(name="Release", path=".status.release", description="The Kafka release that the brokers run."),
        Column(name="Doing", path=".status.doing", description="The problem, if there is one; else what is under way."),
        Column(
            name="Age",
            path=".metadata.creationTimestamp",
            description="Since when the resource exists.",
            kind="date",
        ),
        Column(name="Quorum", path=".spec.quorum", description="The KafkaQuorum that they follow.", wide=True),
        Column(
            name="Looked",
            path=".status.lastLook",
            description="When the operator last looked at it.",
            kind="date",
            wide=True,
        ),
        Column(name="Message", path=".status.message", description="The sentence that belongs to Doing.", wide=True),
    ),
    source="operator/kafka_brokers/api",
    rules=(rules.NAME_TOO_LONG, rules.NAME_NO_LABEL, rules.NAME_AND_LISTENERS, rules.NODE_IDS_COUNT),
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
        root / "helm" / "kafka-quorum-operator" / "templates" / "crd-brokers.yaml": template,
        root / "docs" / "reference-brokers.md": reference.page(crd()),
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with `--check` report which of them differ from the models."""
    return generate(targets, arguments)


if __name__ == "__main__":
    sys.exit(main())
