"""What is remembered between looks: volumes that formatters found empty, and Kubernetes nodes that are down. Pure."""

from dataclasses import replace
from typing import Final

from kafka_brokers.model.disks import BrokerIdentity
from kafka_brokers.model.evidence import empty_in
from kafka_brokers.model.observed import BlankDisk, Memory, Observed, Pod
from kafka_brokers.plan.lost import place_of
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known

FORGOTTEN_AFTER_S: Final = 30.0
"""After a longer time without a look it is unknown what ran meanwhile: the evidence begins again."""
LOOK_MAX_S: Final = 15.0
"""The longest time between two looks that counts: what was not looked at is not known."""


def remembered(observed: Observed, before: Memory, now_s: float) -> Memory:
    """The memory after this look."""
    blank = tuple(row for pod in observed.pods if pod.formats for row in _blank(pod, before, now_s))
    blank += _between_formatters(observed, before, now_s)
    down = _down(observed, before, now_s)
    return replace(observed.memory, blank=blank, node_down_s=down, looked_s=now_s)


def _between_formatters(observed: Observed, before: Memory, now_s: float) -> tuple[BlankDisk, ...]:
    """What a formatter found that is gone, until the next one looks."""
    present = {pod.claim_uids for pod in observed.pods if pod.formats}
    rows = (row for row in before.blank if row.claim_uids not in present)
    return tuple(row for row in rows if now_s - row.looked_s <= FORGOTTEN_AFTER_S)


def _blank(pod: Pod, before: Memory, now_s: float) -> list[BlankDisk]:
    """A row for each volume that formatters of these claims find empty, kept while none of them finds anything else.

    A formatter runs once, so another one has to look again. While it runs there is no report: that is no finding.
    """
    old = [row for row in before.blank if row.claim_uids == pod.claim_uids]
    old = [row for row in old if now_s - row.looked_s <= FORGOTTEN_AFTER_S]
    if pod.report is None or pod.running:
        return [replace(row, looked_s=now_s) for row in old]
    rows = {row.index: row for row in old}
    finished_s = pod.report.finished_at_s
    found = []
    for index in empty_in(pod.report):
        new = BlankDisk(
            claim_uids=pod.claim_uids,
            index=index,
            first_s=now_s,
            last_s=now_s,
            last_finished_at_s=finished_s,
            looked_s=now_s,
        )
        earlier = rows.get(index, new)
        if finished_s > earlier.last_finished_at_s:  # another run found the same
            found.append(replace(new, first_s=earlier.first_s))
        else:
            found.append(replace(earlier, looked_s=now_s))
    return found


def _down(observed: Observed, before: Memory, now_s: float) -> tuple[tuple[NodeID, float], ...]:
    """For how long Kubernetes (not ready, or gone) and the quorum (fenced) have agreed, between looks that both did.

    A look at which one of them is not known neither counts nor resets.
    """
    record = observed.record
    if record is None:
        return ()
    since_s = min(max(now_s - before.looked_s, 0.0), LOOK_MAX_S) if before.looked_s else 0.0
    found = []
    for broker in record.brokers:
        earlier_s = before.node_down_for_s(broker.node_id)
        agreed = _agreed(observed, broker)
        if agreed is None and earlier_s:
            found.append((broker.node_id, earlier_s))
        elif agreed:
            found.append((broker.node_id, earlier_s + since_s if _was_down(before, broker.node_id) else 0.001))
    return tuple(found)


def _was_down(before: Memory, node_id: NodeID) -> bool:
    return node_id in dict(before.node_down_s)


def _agreed(observed: Observed, broker: BrokerIdentity) -> bool | None:
    """Whether both say that the broker's Kubernetes node is down; None if one is not known, and the other says so.

    The quorum has never heard of a broker that has never run: then Kubernetes alone decides.
    """
    node_id = broker.node_id
    name = place_of(observed, broker)
    if not name:
        return False
    node, fenced = observed.kube_node(name), observed.fenced(node_id) if broker.ran else True
    ready = node.value.ready if isinstance(node, Known) else None
    if ready or fenced is False:  # of a broker in contact, the node is not asked for
        return False
    return None if ready is None or fenced is None else True
