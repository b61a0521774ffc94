"""Which Kubernetes nodes look lost, and for how long Kubernetes and the quorum have agreed on it. Pure.

Time counts only between two looks that both agreed. Of a long gap, only the usual time of a look counts: an operator
that slept, or was cut off, has seen nothing meanwhile. A look that found no leader, or could not read the node, neither
adds nor resets anything.
"""

from dataclasses import replace
from typing import Final

from kafka_quorum.model.identity import BootstrapPhase, NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import LostNode, Memory
from kafka_quorum.model.nodes import node_of
from kafka_quorum.model.observed import Claim, Observed
from kafka_quorum.model.pods import PodRole

GAP_COUNTS_S: Final = 15.0
"""At most this much of the time between two looks counts as looked at."""


def suspects(observed: Observed) -> tuple[str, ...]:
    """The Kubernetes nodes to ask for: those of replicas that do not fetch, and of formatters.

    Without a leader it is unknown which replicas fetch: then those of pods that are being deleted, because these may
    never end, and those of pods that have not ended their work on a disk.
    """
    record = observed.record
    if record is None:
        return ()
    if record.phase is not BootstrapPhase.STARTED or isinstance(observed.quorum, Unknown):
        leaving = {pod.node_name for pod in observed.pods if pod.deleting}
        working = {worker.place for worker in observed.workers if worker.deleting or not worker.finished}
        return tuple(sorted((leaving | working) - {""}))
    view = observed.quorum.value
    of_nodes = (node_of(observed, node) for node in record.nodes if node.key not in view.live)
    of_pods = (
        pod.node_name
        for pod in observed.pods
        if pod.role is PodRole.FORMATTER
        or ReplicaKey(node_id=pod.node_id, directory_id=pod.directory_id) not in view.live
    )
    return tuple(sorted({name for name in (*of_nodes, *of_pods) if name}))


def unplaced(observed: Observed) -> tuple[Claim, ...]:
    """The claims whose volumes can show something about a place.

    Where is a replica that does not fetch, while no pod of it has a node? And can a formatter mount the volume beside a
    pod that is being deleted?
    """
    record = observed.record
    if record is None or record.phase is not BootstrapPhase.STARTED or isinstance(observed.quorum, Unknown):
        return ()
    live = observed.quorum.value.live
    silent = {node.claim_uid for node in record.nodes if node.key not in live and not node_of(observed, node)}
    ends = {node.claim_uid for node in record.nodes if not node.formatted and _pod_ends(observed, node)}
    return tuple(claim for claim in observed.claims if claim.uid in silent | ends and claim.volume)


def _pod_ends(observed: Observed, node: NodeIdentity) -> bool:
    return any(pod.deleting for pod in observed.pods_of(node.node_id, PodRole.KAFKA))


def agreed(observed: Observed, now_s: float) -> Memory:
    """What to remember of lost nodes. `now_s` is monotonic seconds of the operator's clock."""
    memory, record = observed.memory, observed.record
    match observed.quorum:
        case Unknown():
            return replace(memory, lost_nodes=tuple(replace(row, agreed_at_s=None) for row in memory.lost_nodes))
        case Known(value=view):
            nodes = () if record is None else record.nodes
            rows = (_row(observed, node, now_s) for node in nodes if node.key not in view.live)
            return replace(memory, lost_nodes=tuple(row for row in rows if row is not None))


def _row(observed: Observed, node: NodeIdentity, now_s: float) -> LostNode | None:
    """The row of a controller that does not fetch; None if its Kubernetes node is well, or it has none."""
    name = node_of(observed, node)
    known = (row for row in observed.memory.lost_nodes if (row.key, row.kube_node) == (node.key, name))
    before = next(known, None)
    seen = observed.kube_node(name)
    if isinstance(seen, Unknown):
        return replace(before, agreed_at_s=None) if before and name else None
    if seen.value.ready:
        return None
    if before is None:
        return LostNode(key=node.key, kube_node=name, for_s=0.0, agreed_at_s=now_s)
    since_s = now_s if before.agreed_at_s is None else before.agreed_at_s
    gap_s = min(max(now_s - since_s, 0.0), GAP_COUNTS_S)
    return replace(before, for_s=before.for_s + gap_s, agreed_at_s=now_s)
