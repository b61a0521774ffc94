"""Whether a stopped pod can be scheduled again: on its own Kubernetes node, where its volume may have to stay."""

from kafka_quorum.model.known import Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation


def nodes_of_next(situation: Situation) -> tuple[str, ...]:
    """The Kubernetes nodes of controllers that may be stopped on purpose: in a roll, or because they leave."""
    older = {node.node_id for node in situation.older}
    goes = older | {node.node_id for node in situation.record.nodes if node.node_id not in situation.wanted}
    pods = (pod for pod in situation.observed.pods if pod.role is PodRole.KAFKA and pod.node_id in goes)
    return tuple(sorted({pod.node_name for pod in pods if pod.running and pod.node_name}))


def why_no_place(observed: Observed, pod: Pod, *, keeps_up: bool) -> str:
    """Why the pod that replaces this one might not start, with the way out; empty if its Kubernetes node takes it.

    A node that is not ready counts only for a controller that `keeps_up` all the same: a stop would lose it for
    nothing.
    """
    name = pod.node_name
    seen = observed.kube_node(name)
    if isinstance(seen, Unknown):
        return f"it is not known whether its Kubernetes node {name} takes a new pod ({seen.reason})"
    if seen.value.cordoned:
        return f"its Kubernetes node {name} is cordoned, and its new pod may find no other. Uncordon that node"
    if keeps_up and not seen.value.ready:
        return f"its Kubernetes node {name} is not ready, and would not start its new pod. Bring that node back"
    return ""
