"""The two CustomResourceDefinitions, from the models: `python -m kafka_quorum.introspection.crd [--check]`."""

import sys
from pathlib import Path
from typing import Final

from kafka_quorum.introspection import reference
from kafka_quorum.introspection.kind import PLAN_QUESTIONS, QUORUM_LOOKS
from kafka_quorum.introspection.models import (
    PlanQuestionSpec,
    PlanQuestionStatus,
    QuorumLookSpec,
    QuorumLookStatus,
)
from kit.crd import definition
from kit.crd.definition import Column, Definition
from kit.crd.generate import generate

_SOURCE: Final = "operator/kafka_quorum/introspection"
_AGE: Final = Column(
    name="Age", path=".metadata.creationTimestamp", description="Since when the object exists.", kind="date"
)
LOOKS: Final = Definition(
    resource=QUORUM_LOOKS,
    singular="quorumlook",
    short_names=(),
    categories=(),
    description="The operator's last look at a KafkaQuorum, and the plan that it made from it. The operator alone "
    "writes it.",
    spec=QuorumLookSpec,
    status=QuorumLookStatus,
    columns=(
        Column(name="State", path=".status.state", description="The plan in one word."),
        Column(name="Act", path=".status.acts[0].kind", description="The first act of the plan."),
        Column(name="Wait", path=".status.waits[0].reason", description="The first thing that is waited for."),
        Column(name="Since", path=".status.lookedAt", description="When this was first seen.", kind="date"),
        Column(name="Leader", path=".status.observed.leaderID", description="The leader.", kind="integer", wide=True),
    ),
    source=_SOURCE,
)
QUESTIONS: Final = Definition(
    resource=PLAN_QUESTIONS,
    singular="planquestion",
    short_names=(),
    categories=(),
    description="A question to the operator: what would be done next with a KafkaQuorum, or with an edited manifest of "
    "it. Nothing is touched, and the object is deleted some minutes later.",
    spec=PlanQuestionSpec,
    status=PlanQuestionStatus,
    columns=(
        Column(name="Quorum", path=".spec.quorum", description="The KafkaQuorum that is asked about."),
        Column(name="State", path=".status.state", description="The answer in one word; empty before it is there."),
        Column(name="Act", path=".status.acts[0].kind", description="The first act that would come."),
        Column(name="Wait", path=".status.waits[0].reason", description="The first thing that would be waited for."),
        _AGE,
        Column(name="Message", path=".status.message", description="The answer in a sentence.", wide=True),
    ),
    source=_SOURCE,
)
KINDS: Final = (LOOKS, QUESTIONS)
_TEMPLATES: Final = {LOOKS.name: "crd-looks.yaml", QUESTIONS.name: "crd-questions.yaml"}


def targets(root: Path) -> dict[Path, str]:
    """Every generated file below the repository's root, and its required content."""
    templates, labels = root / "helm" / "kafka-quorum-operator" / "templates", "kafka-quorum-operator.labels"
    made = {root / "docs" / "reference-introspection.md": reference.page(tuple(map(definition.crd, KINDS)))}
    for kind in KINDS:
        made[root / "crds" / f"{kind.name}.yaml"] = definition.manifest(kind)
        made[templates / _TEMPLATES[kind.name]] = definition.chart_template(kind, labels)
    return made


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with `--check` report which of them differ from the models."""
    return generate(targets, arguments)


if __name__ == "__main__":
    sys.exit(main())
