"""Which disks were found without their data, by which runs of a script, and how fresh that evidence is."""

from typing import Final

from kafka_quorum.model.disk import BlankDisk
from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.nodes import has_disk_of, is_retired_disk, lacks_data
from kafka_quorum.model.observed import Claim, Observed, Pod, PodRole

BLANK_FOR_S: Final = 15.0
"""How far apart two runs must be that found a disk empty, with none between them that found anything else."""
FRESH_FOR_S: Final = 10.0
"""How old the last of these runs may be when a disk is given up: an older one says nothing of the disk as it is now."""
LOOKS_AGAIN_WITHIN_S: Final = 30.0
"""The kubelet's pauses grow to five minutes: a pod that has not looked for so long is made again, and looks at once.

The first pauses are 0, 10 and 20 s long. So a new pod's runs come to 15 s before one of its pauses is that long.
"""


def found_empty(observed: Observed, pod: Pod, node: NodeIdentity) -> bool:
    """Whether this pod, made for the node's present disk, did not find its data when it last looked.

    An earlier disk of this controller, which is retired, is as good as an empty one.
    """
    return has_disk_of(pod, node) and pod.report is not None and lacks_data(observed.record, pod, pod.report)


def looks_again(observed: Observed, node: NodeIdentity) -> bool:
    """Whether a pod that found no data runs its script once more at this moment: nothing is known to be better."""
    looking = {pod.uid for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if pod.report is None}
    return any(row.pod_uid in looking for row in rows_of(observed, node))


def is_blank(observed: Observed, node: NodeIdentity) -> bool:
    """Whether one pod, made for the node's present disk, found nothing there in two runs, far enough apart."""
    return any(row.for_s >= BLANK_FOR_S for row in rows_of(observed, node))


def has_earlier(observed: Observed, node: NodeIdentity) -> bool:
    """Whether the volume of this controller holds a disk that it had before, and that is retired."""
    pods = (pod for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if found_empty(observed, pod, node))
    return any(pod.report is not None and is_retired_disk(observed.record, pod, pod.report) for pod in pods)


def looks(observed: Observed, node: NodeIdentity) -> str:
    """What a disk without its data looks like, in words."""
    return "is not on its volume, which holds an earlier one" if has_earlier(observed, node) else "looks empty"


def is_gone(observed: Observed, claim: Claim | None) -> bool:
    """Whether there is no claim, or Kubernetes has said for long enough that its volume is lost."""
    return claim is None or (claim.lost and observed.memory.volume_lost_for_s(claim.uid) >= BLANK_FOR_S)


def is_fresh(observed: Observed, node: NodeIdentity) -> bool:
    """Whether one of those pods looked a moment ago."""
    rows = (row for row in rows_of(observed, node) if row.for_s >= BLANK_FOR_S)
    return any(row.age_s(observed.looked_at_s) <= FRESH_FOR_S for row in rows)


def rows_of(observed: Observed, node: NodeIdentity) -> tuple[BlankDisk, ...]:
    """What is remembered of the node's present disk, by pods in which Kafka does not run."""
    pods = (pod for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if not pod.running)
    this = (node.claim_uid, node.directory_id)
    rows = (row_of(observed, pod) for pod in pods)
    return tuple(row for row in rows if row is not None and (row.claim_uid, row.directory_id) == this)


def row_of(observed: Observed, pod: Pod) -> BlankDisk | None:
    """What is remembered of the runs of this pod that found its disk without its data; None if nothing is."""
    return next((row for row in observed.memory.blank_disks if row.pod_uid == pod.uid), None)
