"""Whether a pod has refused its disk for good: then a formatter need not wait until that pod is gone."""

from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.nodes import claim_of
from kafka_quorum.model.pods import DiskFound, Pod
from kafka_quorum.model.situation import Situation


def refused_for_good(situation: Situation, node: NodeIdentity, pod: Pod) -> bool:
    """Whether this pod can never run Kafka on the disk that a formatter makes of this volume.

    Its script compares the disk with the directory id for which the pod was made, at every start of a container. That
    id is retired, the script's newest run found an empty disk, and a format brings another id. The pod is being
    deleted, so its kubelet starts no container of it any more. Both pods mount the volume only if it is bound to the
    Kubernetes node of this pod: a volume that would have to move waits for its end.
    """
    claim = claim_of(situation.observed, node)
    return (
        pod.deleting
        and not pod.running
        and pod.directory_id in node.retired
        and pod.report is not None
        and pod.report.found is DiskFound.EMPTY
        and claim is not None
        and pod.claim_uid == claim.uid
        and bool(claim.bound_to)
        and claim.bound_to == pod.node_name
    )
