"""Which Kubernetes nodes look lost, and for how long Kubernetes and the quorum have agreed on it. Pure.

Time counts only between two looks that both agreed, and of a long gap only as much as a look should take: an operator
that slept, or was cut off, has seen nothing meanwhile. A look that found no leader says nothing, either way.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kafka_quorum.model.identity import BootstrapPhase, NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.nodes import is_down, node_of
from kafka_quorum.model.observed import Memory, Observed, PodRole, QuorumView

GAP_COUNTS_S: Final = 15.0
"""At most so much of the time between two looks counts as looked at."""


def suspects(observed: Observed) -> tuple[str, ...]:
    """The Kubernetes nodes of replicas that do not fetch: those worth asking for."""
    record = observed.record
    if record is None or record.phase is not BootstrapPhase.STARTED or not isinstance(observed.quorum, Known):
        return ()
    view = observed.quorum.value
    of_nodes = (node_of(observed, node) for node in record.nodes if node.key not in view.live)
    of_pods = (
        pod.node_name
        for pod in observed.pods
        if pod.role is PodRole.KAFKA and ReplicaKey(node_id=pod.node_id, directory_id=pod.directory_id) not in view.live
    )
    return tuple(sorted({name for name in (*of_nodes, *of_pods) if name}))


def agreed(observed: Observed, now_s: float) -> Memory:
    """What to remember of lost nodes. `now_s` is monotonic seconds of the operator's clock."""
    memory, record = observed.memory, observed.record
    match observed.quorum:
        case Unknown():
            return replace(memory, lost_nodes_at_s=now_s)
        case Known(value=view):
            lost = () if record is None else _lost(observed, record.nodes, view)
    gap_s = min(max(now_s - memory.lost_nodes_at_s, 0.0), GAP_COUNTS_S)
    known = dict(memory.lost_nodes)
    rows = tuple((key, known[key] + gap_s if key in known else 0.0) for key in lost)
    return replace(memory, lost_nodes=rows, lost_nodes_at_s=now_s)


def _lost(observed: Observed, nodes: Iterable[NodeIdentity], view: QuorumView) -> tuple[ReplicaKey, ...]:
    return tuple(node.key for node in nodes if node.key not in view.live and is_down(observed, node_of(observed, node)))
