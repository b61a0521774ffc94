"""Pods of the record's controllers whose labels were taken off or changed: they run, and do not count as absent."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from kafka_quorum.model import names
from kafka_quorum.model.identity import IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import Member
from kafka_quorum.model.observed import Unreadable
from kafka_quorum.model.pods import PodRole
from kafka_quorum.observe.readable import unreadable_from
from kafka_quorum.resources.meta import foreign_controller
from kit.kube.protocol import Json
from kit.kube.unlisted import Gets, divided, name_of, sorted_out, without_labels
from kit.text import MESSAGE_MAX_CHARS, clean

_CONTROLLED: Final = "its ownerReferences list a controller that is not a KafkaQuorum. Remove that reference"


async def unlabelled(
    kube: Gets, namespace: str, quorum: str, record: IdentityRecord | None, listed: list[Json]
) -> tuple[list[Json], tuple[Unreadable, ...]]:
    """Pods with the names of controllers' pods: those that got their labels since the list, and those without them.

    Raises `KubeError`. Pods are asked for by name only for controllers of which none was listed, and whose disk is
    formatted. Before that no pod of theirs runs Kafka, and the name keeps a second formatter from being created. The
    pod of the disk before may run, because a disk that is given up is recorded before its pod is deleted.
    """
    nodes = () if record is None else record.nodes
    wanted = {name: labels for node in nodes for name, labels in (*_pods(quorum, node), *_before(quorum, node))}
    # What has our labels and another controller is a stranger, unless it has the name of a pod that may run Kafka.
    servers = {name for node in nodes for name in _servers(quorum, node)}
    own, strange = divided(listed, lambda item: foreign_controller(item) is None or name_of(item) in servers)
    groups = _asked_together(quorum, nodes, {name_of(item) for item in own})
    back, bad = await sorted_out(
        kube, namespace, groups, own, strange, lambda item: _why(item, wanted.get(name_of(item)))
    )
    return back, tuple(_unreadable(item, why) for item, why in bad)


def _asked_together(quorum: str, nodes: Iterable[NodeIdentity], listed: set[str]) -> Iterator[list[str]]:
    for node in nodes:
        present = [name for name, _ in _pods(quorum, node)]
        if node.formatted:
            yield present
        if listed.isdisjoint(present):
            yield from ([name] for name, _ in _before(quorum, node))


def _why(item: Json, labels: dict[str, str] | None) -> str:
    """Nothing of a pod that is none of this record's controllers."""
    if labels is None:
        return ""
    return _CONTROLLED if foreign_controller(item) is not None else without_labels(item, labels)


def _unreadable(item: Json, why: str) -> Unreadable:
    """A command that is cut somewhere is of no use."""
    return replace(unreadable_from("Pod", item, ValueError(why)), why=clean(why, max_chars=MESSAGE_MAX_CHARS))


def _pods(quorum: str, node: NodeIdentity) -> Iterator[tuple[str, dict[str, str]]]:
    """The name and the labels of both pods that a controller may have."""
    member, labels = _member(quorum, node)
    yield names.pod_name(member, node.generation), {**labels, names.LABEL_ROLE: PodRole.KAFKA.value}
    yield names.formatter_name(member, node.generation), {**labels, names.LABEL_ROLE: PodRole.FORMATTER.value}


def _servers(quorum: str, node: NodeIdentity) -> Iterator[str]:
    """The names of the pods in which this controller may run."""
    if node.formatted:
        yield names.pod_name(_member(quorum, node)[0], node.generation)
    yield from (name for name, _ in _before(quorum, node))


def _before(quorum: str, node: NodeIdentity) -> Iterator[tuple[str, dict[str, str]]]:
    """The same of the pod that ran on the disk before the present one."""
    if node.generation > 1:
        member, labels = _member(quorum, node)
        yield names.pod_name(member, node.generation - 1), {**labels, names.LABEL_ROLE: PodRole.KAFKA.value}


def _member(quorum: str, node: NodeIdentity) -> tuple[Member, dict[str, str]]:
    labels = {names.LABEL_QUORUM: quorum, names.LABEL_NODE: str(node.node_id)}
    return Member(quorum, node.node_id), labels
