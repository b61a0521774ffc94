"""The CustomResourceDefinition, made from the models: `python -m kafka_quorum.api.crd [--check]`."""

import sys
from pathlib import Path
from typing import Any, Final

from kafka_quorum.api import reference, rules
from kafka_quorum.api.spec import KafkaQuorumSpec
from kafka_quorum.api.status import KafkaQuorumStatus
from kafka_quorum.kind import QUORUMS
from kit.crd import definition
from kit.crd.definition import Column, Definition
from kit.crd.generate import generate

Json = dict[str, Any]

_READY: Final = '.status.conditions[?(@.type=="Ready")].status'
KIND: Final = Definition(
    resource=QUORUMS,
    singular="kafkaquorum",
    short_names=("kq",),
    categories=("kafka",),
    description="A KRaft controller quorum of Apache Kafka.",
    spec=KafkaQuorumSpec,
    status=KafkaQuorumStatus,
    columns=(
        Column(
            name="Ready",
            path=_READY,
            description="Whether every desired controller is a committed, caught-up voter.",
        ),
        Column(name="Voters", path=".status.quorum.summary", description="Healthy voters of all voters."),
        Column(name="Release", path=".spec.kafka.version", description="The Kafka release that is asked for."),
        Column(name="Metadata", path=".status.metadataVersion", description="The finalized metadata.version."),
        Column(name="Doing", path=".status.doing", description="The problem, if there is one; else what is under way."),
        Column(
            name="Age",
            path=".metadata.creationTimestamp",
            description="Since when the resource exists.",
            kind="date",
        ),
        Column(
            name="Looked",
            path=".status.lastLook",
            description="When the operator last looked at it.",
            kind="date",
            wide=True,
        ),
        Column(
            name="Leader",
            path=".status.quorum.leaderID",
            description="The active controller.",
            kind="integer",
            wide=True,
        ),
        Column(name="Cluster ID", path=".status.clusterID", description="Kafka's cluster id.", wide=True),
        Column(name="Message", path=".status.message", description="The sentence that belongs to Doing.", wide=True),
    ),
    source="operator/kafka_quorum/api",
    rules=(
        rules.NAME_TOO_LONG,
        rules.NAME_NO_LABEL,
        rules.CLUSTER_ID_CHANGED,
        rules.STORAGE_CLASS_CHANGED,
        rules.JMX_PORT_TAKEN,
    ),
    subresources={
        "scale": {
            "specReplicasPath": ".spec.controllers.replicas",
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
        root / "helm" / "kafka-quorum-operator" / "templates" / "crd.yaml": template,
        root / "docs" / "reference.md": reference.page(crd()),
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with `--check` report which of them differ from the models."""
    return generate(targets, arguments)


if __name__ == "__main__":
    sys.exit(main())
