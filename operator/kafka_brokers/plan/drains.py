"""Where the replicas of a broker that leaves go: to racks without one, to brokers with few. Pure, and deterministic."""

from collections import Counter

from kafka_brokers.model.observed import ClusterView
from kafka_quorum.model.brokers import Move, Partition
from kafka_quorum.model.ids import NodeID


def moves_from(view: ClusterView, node_id: NodeID, leaving: frozenset[int], most: int) -> tuple[tuple[Move, ...], str]:
    """At most so many moves of partitions that are not moving yet; and why one is impossible, empty if none is.

    The new replica takes the place of the old one in the order, so that the preferred leaders of others stay.
    """
    load = Counter(replica for partition in view.partitions for replica in view.replicas_of(partition))
    racks = {row.node_id: row.rack for row in view.registered}
    able = sorted(row.node_id for row in view.registered if not row.fenced and row.node_id not in leaving)
    found: list[Move] = []
    impossible = ""
    for partition in sorted(view.by_broker.get(node_id, ()), key=lambda row: row.at):
        if partition.at in view.targets or node_id not in partition.replicas:
            continue
        other = _place(partition, node_id, able, racks, load)
        if other is None:
            count = len(partition.replicas)
            impossible = (
                f"partition {partition.at} has {count} replicas, and there are not enough other unfenced brokers for "
                "them. Add brokers, or lower its number of replicas"
            )
            continue
        load[other] += 1
        replicas = tuple(other if replica == node_id else replica for replica in partition.replicas)
        found.append(Move(at=partition.at, replicas=replicas))
        if len(found) >= most:
            break
    return tuple(found), impossible


def _place(
    partition: Partition, node_id: NodeID, able: list[NodeID], racks: dict[NodeID, str], load: "Counter[NodeID]"
) -> NodeID | None:
    """The broker that gets the replica: in a rack without one of the partition, if there is one; then the emptiest."""
    used = {racks.get(replica, "") for replica in partition.replicas if replica != node_id}
    candidates = [one for one in able if one not in partition.replicas]
    return min(candidates, key=lambda one: (racks.get(one, "") in used, load[one], one), default=None)
