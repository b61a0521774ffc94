"""Which objects a command reads, where they are, and what became of each question. Pure; `kubectl` does the reading.

Every object is asked for by itself and at the same time as the others: one that does not answer is a row, and the rest
is shown. No Secret is ever read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from kubectl_kq import reading
from kubectl_kq.answers import Answer, Found, NotRead, Why
from kubectl_kq.page import Cell, Column, Table

Json: TypeAlias = dict[str, Any]

GROUP: Final = "kafkaquorum.io"
API: Final = f"/apis/{GROUP}/v1alpha1"
OPERATOR_NAMESPACE: Final = "kafka-quorum-system"
_LABEL_QUORUM: Final = f"{GROUP}/quorum"
_OPERATOR: Final = "app.kubernetes.io/name=kafka-quorum-operator"
_LISTED_MAX: Final = 500
"""Of a list, so many objects are read at most."""


class Source(Enum):
    """What can be read; the value is its name for people and programs."""

    QUORUM = "KafkaQuorum"
    POOLS = "KafkaBrokerPools"
    PODS = "Pods"
    CLAIMS = "PersistentVolumeClaims"
    RECORD = "identity ConfigMap"
    CONTRACT = "brokers ConfigMap"
    BUDGET = "PodDisruptionBudget"
    TOKEN = "disruption Lease"  # noqa: S105 - the name of an object
    EVENTS = "Events"
    REVISIONS = "ControllerRevisions"
    OPERATOR = "operator's Pods"
    DEPLOYMENTS = "operator's Deployments"
    WARNINGS = "Warning Events"
    NODES = "Kubernetes nodes"


OPTIONAL: Final = frozenset({Source.TOKEN, Source.OPERATOR, Source.DEPLOYMENTS, Source.NODES})
"""What the rights of a namespace do not cover: if it is forbidden, that is shown and is no failure."""


def paths(namespace: str, name: str, operator_namespace: str = OPERATOR_NAMESPACE) -> dict[Source, str]:
    """The path of each source but the Kubernetes nodes, which are known only after the pods."""
    core, ours = f"/api/v1/namespaces/{quote(namespace)}", f"{API}/namespaces/{quote(namespace)}"
    named = quote(name)
    about = f"involvedObject.kind=KafkaQuorum,involvedObject.name={name}"
    return {
        Source.QUORUM: f"{ours}/kafkaquorums/{named}",
        Source.POOLS: f"{ours}/kafkabrokerpools?limit={_LISTED_MAX}",
        Source.PODS: f"{core}/pods?{_selected(f'{_LABEL_QUORUM}={name}')}",
        Source.CLAIMS: f"{core}/persistentvolumeclaims?{_selected(f'{_LABEL_QUORUM}={name}')}",
        Source.RECORD: f"{core}/configmaps/{named}-identity",
        Source.CONTRACT: f"{core}/configmaps/{named}-brokers",
        Source.BUDGET: f"/apis/policy/v1/namespaces/{quote(namespace)}/poddisruptionbudgets/{named}-voters",
        Source.TOKEN: f"/apis/coordination.k8s.io/v1/namespaces/{quote(namespace)}/leases/{named}-disruption",
        Source.EVENTS: f"{core}/events?fieldSelector={quote(about, safe='')}&limit={_LISTED_MAX}",
        Source.REVISIONS: (
            f"/apis/apps/v1/namespaces/{quote(namespace)}/controllerrevisions?{_selected(f'{_LABEL_QUORUM}={name}')}"
        ),
        Source.OPERATOR: f"/api/v1/namespaces/{quote(operator_namespace)}/pods?{_selected(_OPERATOR)}",
        Source.DEPLOYMENTS: (
            f"/apis/apps/v1/namespaces/{quote(operator_namespace)}/deployments?{_selected(_OPERATOR)}"
        ),
        Source.WARNINGS: f"{core}/events?fieldSelector={quote('type=Warning', safe='')}&limit={_LISTED_MAX}",
    }


def all_quorums(namespace: str) -> str:
    """The path of every quorum of a namespace."""
    return f"{API}/namespaces/{quote(namespace)}/kafkaquorums?limit={_LISTED_MAX}"


def node_path(name: str) -> str:
    """The path of one Kubernetes node."""
    return f"/api/v1/nodes/{quote(name)}"


def _selected(selector: str) -> str:
    return f"labelSelector={quote(selector, safe='')}&limit={_LISTED_MAX}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was read for one command about one quorum. `nodes` has an answer for each Kubernetes node that was read."""

    namespace: str
    name: str
    operator_namespace: str = OPERATOR_NAMESPACE
    answers: Mapping[Source, Answer]
    nodes: Mapping[str, Answer] = field(default_factory=dict)

    def answer(self, source: Source) -> Answer:
        """The answer of a source."""
        return self.answers.get(source) or NotRead(why=Why.FAILED, words="it was not asked for")

    def object(self, source: Source) -> Json | None:
        """The object or list of a source; None if it was not read."""
        answer = self.answer(source)
        return answer.value if isinstance(answer, Found) else None

    def items(self, source: Source) -> tuple[Json, ...] | None:
        """The objects of a list; None if it was not read."""
        found = self.object(source)
        return None if found is None else reading.items(found)

    def pods(self, role: str) -> dict[int, tuple[Json, ...]] | None:
        """The pods of a role (`controller`, `formatter`) by node id; None if they were not read."""
        listed = self.items(Source.PODS)
        if listed is None:
            return None
        found: dict[int, tuple[Json, ...]] = {}
        for pod in listed:
            labels = reading.texts(pod, "metadata", "labels")
            node = labels.get(f"{GROUP}/node-id", "")
            if labels.get(f"{GROUP}/role") == role and node.isdecimal() and node.isascii():
                found[int(node)] = (*found.get(int(node), ()), pod)
        return found

    def pools(self) -> tuple[Json, ...] | None:
        """The pools of this quorum."""
        listed = self.items(Source.POOLS)
        return (
            None
            if listed is None
            else tuple(each for each in listed if reading.at(each, "spec", "quorum") == self.name)
        )


def not_read(answers: Iterable[tuple[str, Answer]], *, absent: frozenset[str] = frozenset()) -> Table:
    """A table with everything that was not read. What is in `absent` may be missing without a word."""
    rows: list[tuple[Cell, ...]] = [
        (what, answer.why.value, answer.words)
        for what, answer in answers
        if isinstance(answer, NotRead) and not (answer.why in {Why.MISSING, Why.NO_KIND} and what in absent)
    ]
    columns = (
        Column(key="what", label="WHAT"),
        Column(key="why", label="WHY"),
        Column(key="words", label="", below=True),
    )
    return Table(key="notRead", title="Not read", columns=columns, rows=tuple(rows))


def is_failure(source: Source, answer: Answer) -> bool:
    """Whether something is unknown that the rights of a namespace's viewer show."""
    if isinstance(answer, Found):
        return False
    return not (answer.why is Why.FORBIDDEN and source in OPTIONAL) and answer.why not in {Why.MISSING, Why.NO_KIND}
