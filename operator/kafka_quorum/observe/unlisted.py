"""Pods of the record's controllers whose labels were taken off or changed: they run, and do not count as absent."""

from collections.abc import Iterator
from typing import Final

from kafka_quorum.model import names
from kafka_quorum.model.identity import IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import Member
from kafka_quorum.model.observed import Unreadable
from kafka_quorum.model.pods import PodRole
from kafka_quorum.observe.readable import unreadable_from
from kafka_quorum.resources.meta import foreign_controller
from kit.kube.protocol import PODS, Json
from kit.kube.unlisted import Gets, unlisted, without_labels

_CONTROLLED: Final = "its ownerReferences list a controller that is not a KafkaQuorum. Remove that reference"


async def unlabelled(
    kube: Gets, namespace: str, quorum: str, record: IdentityRecord | None, listed: list[Json]
) -> tuple[Unreadable, ...]:
    """Each pod with the name of a controller's pod and other labels. Raises `KubeError`.

    Pods are asked for by name only for controllers whose disk is formatted and of which none was listed. Before that no
    pod of theirs runs Kafka, and the name keeps a second formatter from being created.
    """
    nodes = () if record is None else record.nodes
    wanted = {name: labels for node in nodes for name, labels in _pods(quorum, node)}
    groups = [[name for name, _ in _pods(quorum, node)] for node in nodes if node.formatted]
    missing = await unlisted(kube, PODS, namespace, groups, listed)
    # What has our labels and another controller is a stranger, and is told as one.
    own = [item for item in listed if item["metadata"]["name"] in wanted and foreign_controller(item) is None]
    found = ((item, _why(item, wanted[item["metadata"]["name"]])) for item in (*own, *missing))
    return tuple(unreadable_from("Pod", item, ValueError(why)) for item, why in found if why)


def _why(item: Json, labels: dict[str, str]) -> str:
    return _CONTROLLED if foreign_controller(item) is not None else without_labels(item, labels)


def _pods(quorum: str, node: NodeIdentity) -> Iterator[tuple[str, dict[str, str]]]:
    """The name and the labels of both pods that a controller may have."""
    member = Member(quorum, node.node_id)
    labels = {names.LABEL_QUORUM: quorum, names.LABEL_NODE: str(node.node_id)}
    yield names.pod_name(member, node.generation), {**labels, names.LABEL_ROLE: PodRole.KAFKA.value}
    yield names.formatter_name(member, node.generation), {**labels, names.LABEL_ROLE: PodRole.FORMATTER.value}
