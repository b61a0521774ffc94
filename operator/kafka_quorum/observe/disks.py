"""Which disks one pod's script has found empty in every run, and since when. Pure.

One look at a blank volume proves nothing: it may come back. So the first and the last run that found it empty are
remembered, until a run finds something else, or cannot read the disk, or Kafka runs.
"""

from dataclasses import replace

from kafka_quorum.model.disk import BlankDisk
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import DiskFound, Observed, Pod, PodRole


def blank(observed: Observed) -> Memory:
    """What to remember of disks that look blank."""
    rows = (_row(observed, pod) for pod in observed.pods if pod.role is PodRole.KAFKA)
    return replace(observed.memory, blank_disks=tuple(row for row in rows if row is not None))


def _row(observed: Observed, pod: Pod) -> BlankDisk | None:
    """What this look adds for one pod; None where its newest run did not find its disk empty."""
    this = (pod.uid, pod.claim_uid, pod.directory_id)
    known = (row for row in observed.memory.blank_disks if (row.pod_uid, row.claim_uid, row.directory_id) == this)
    before = next(known, None)
    if pod.running:  # for a moment the script alone runs; Kafka, once it runs, fetches
        return None if _fetches(observed, pod) else before
    if pod.report is None:
        return before  # it looks again at this moment
    if pod.report.found is not DiskFound.EMPTY or pod.report.finished_at_s <= 0:
        return None
    ended_s = pod.report.finished_at_s
    if before is None or ended_s < before.last_s:  # the node's clock was set back: what it said before counts no more
        return BlankDisk(
            pod_uid=pod.uid,
            claim_uid=pod.claim_uid,
            directory_id=pod.directory_id,
            first_s=ended_s,
            last_s=ended_s,
        )
    return replace(before, last_s=ended_s)


def _fetches(observed: Observed, pod: Pod) -> bool:
    key = ReplicaKey(node_id=pod.node_id, directory_id=pod.directory_id)
    return isinstance(observed.quorum, Known) and key in observed.quorum.value.live
