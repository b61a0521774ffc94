"""Pods of the record's brokers whose labels were taken off or changed: they run, and do not count as absent."""

from collections.abc import Callable, Iterator
from typing import Final

from kafka_brokers.model import names
from kafka_brokers.model.disks import BrokerIdentity, PoolRecord
from kafka_brokers.resources.meta import foreign_controller
from kit.kube.protocol import PODS, Json
from kit.kube.unlisted import Gets, unlisted, without_labels

_CONTROLLED: Final = "its ownerReferences list a controller that is not a KafkaBrokerPool. Remove that reference"


async def unlabelled(
    kube: Gets, namespace: str, pool: str, quorum: str, record: PoolRecord | None, listed: list[Json]
) -> list[tuple[Json, str]]:
    """Each pod with the name of a broker's pod and other labels, and what is wrong. Raises `KubeError`.

    Pods are asked for by name only for brokers that are formatted and of which none was listed. Before that no pod of
    theirs runs Kafka, and the name keeps a second formatter from being created.
    """
    brokers = () if record is None else record.brokers
    wanted = {name: labels for broker in brokers for name, labels in _pods(pool, quorum, broker)}
    groups = [[name for name, _ in _pods(pool, quorum, broker)] for broker in brokers if broker.formatted]
    missing = await unlisted(kube, PODS, namespace, groups, listed)
    own = [item for item in listed if item["metadata"]["name"] in wanted and foreign_controller(item) is None]
    found = ((item, _why(item, wanted[item["metadata"]["name"]])) for item in (*own, *missing))
    return [(item, why) for item, why in found if why]


def _why(item: Json, labels: dict[str, str]) -> str:
    return _CONTROLLED if foreign_controller(item) is not None else without_labels(item, labels)


def as_error(found: list[tuple[Json, str]]) -> Callable[[Json], None]:
    """What parses these pods: each raises what is wrong with it (`ValueError`)."""
    whys = {item["metadata"]["name"]: why for item, why in found}

    def parse(item: Json) -> None:
        raise ValueError(whys[item["metadata"]["name"]])

    return parse


def _pods(pool: str, quorum: str, broker: BrokerIdentity) -> Iterator[tuple[str, dict[str, str]]]:
    """The name and the labels of both pods that a broker may have."""
    labels = {
        names.LABEL_POOL: pool,
        names.LABEL_OF_QUORUM: quorum,
        names.LABEL_NODE: str(broker.node_id),
    }
    generations = tuple(disk.generation for disk in broker.disks)
    yield names.pod_name(pool, broker.node_id), {**labels, names.LABEL_ROLE: names.BROKER_ROLE}
    formatter = names.formatter_name(pool, broker.node_id, generations)
    yield formatter, {**labels, names.LABEL_ROLE: names.FORMATTER_ROLE}
