"""Disks that one pod's script has found without data in every run, since when, and which volumes are lost. Pure.

One look at a blank volume proves nothing: its data may come back. So the first and the last run that found no data are
remembered. They are forgotten when a run finds something else, or cannot read the disk, or Kafka runs, or no look was
taken for a while.

Data comes back where something else stood in for its volume: a directory below a mount point, or another volume. So the
place of the data is remembered as well, while it is there. Runs that find nothing in this very place are counted.
"""

from dataclasses import replace
from typing import Final

from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import BlankDisk, DataPlace, GoneVolume, Memory
from kafka_quorum.model.nodes import lacks_data
from kafka_quorum.model.observed import Claim, Observed
from kafka_quorum.model.pods import DiskFound, DiskReport, Pod, PodRole

STARTED_AFTER_S: Final = 5.0
"""A container that runs for longer than this runs Kafka: the script before it takes a moment."""
FORGOTTEN_AFTER_S: Final = 30.0
"""After a longer time without a look it is unknown what ran meanwhile: the evidence begins again."""
GAP_COUNTS_S: Final = 10.0
"""At most this much of the time between two looks at a lost volume counts."""


def remembered(observed: Observed, now_s: float) -> Memory:
    """What to remember of disks. `now_s` is when the objects began to be listed, in monotonic seconds."""
    rows = (_row(observed, pod, now_s) for pod in observed.pods if pod.role is PodRole.KAFKA)
    return replace(
        observed.memory,
        blank_disks=tuple(row for row in rows if row is not None),
        data_places=_places(observed),
        gone_volumes=tuple(_gone(observed, claim, now_s) for claim in observed.claims if claim.volume_gone),
    )


def _row(observed: Observed, pod: Pod, now_s: float) -> BlankDisk | None:
    """What this look adds for one pod; None unless its newest run found its disk without its data."""
    before = _before(observed, pod, now_s)
    if pod.running:
        return None if before is None or _fetches(observed, pod) else _ran(before, pod, now_s)
    if pod.report is None:
        return before and replace(before, instance="", looked_s=now_s)  # it looks again at this moment
    if not lacks_data(observed.record, pod, pod.report) or pod.report.finished_at_s <= 0:
        return None
    ended_s, emptied = pod.report.finished_at_s, _is_emptied(observed, pod, pod.report)
    if before is None or ended_s < before.last_s:  # the node's clock was set back: its earlier stamps count no more
        return BlankDisk(
            pod_uid=pod.uid,
            claim_uid=pod.claim_uid,
            directory_id=pod.directory_id,
            first_s=ended_s,
            last_s=ended_s,
            first_seen_s=now_s,
            last_seen_s=now_s,
            looked_s=now_s,
            run=pod.report.run,
            emptied_runs=int(emptied),
        )
    seen = replace(before, instance="", looked_s=now_s)
    known = bool(pod.report.run and before.run)
    if pod.report.run == before.run if known else ended_s == before.last_s:  # stamps are whole seconds, runs shorter
        return seen
    runs = before.emptied_runs + 1 if emptied else 0
    times = replace(seen, last_s=ended_s, last_seen_s=now_s, unseen_s=before.looked_s)
    return replace(times, run=pod.report.run, emptied_runs=runs)


def _is_emptied(observed: Observed, pod: Pod, report: DiskReport) -> bool:
    """Whether a run that can be told from others found nothing in the very place where the data of this pod was."""
    if report.found is not DiskFound.EMPTY or not report.place or not report.run:
        return False
    this = (pod.claim_uid, pod.directory_id, report.place)
    return any((row.claim_uid, row.directory_id, row.place) == this for row in observed.memory.data_places)


def _places(observed: Observed) -> tuple[DataPlace, ...]:
    """The places of the data on all present claims: what was seen last counts."""
    present = {claim.uid for claim in observed.claims}
    places = {(row.claim_uid, row.directory_id): row for row in observed.memory.data_places}
    for pod in observed.pods:
        report = pod.report
        if pod.role is not PodRole.KAFKA or report is None or not report.accepted or pod.directory_id is None:
            continue
        this = (pod.claim_uid, pod.directory_id)
        if report.directory_id == pod.directory_id and report.place:
            places[this] = DataPlace(claim_uid=pod.claim_uid, directory_id=pod.directory_id, place=report.place)
        else:
            places.pop(this, None)  # its data was seen, and nothing shows where
    return tuple(row for row in places.values() if row.claim_uid in present)


def _before(observed: Observed, pod: Pod, now_s: float) -> BlankDisk | None:
    this = (pod.uid, pod.claim_uid, pod.directory_id)
    known = (row for row in observed.memory.blank_disks if (row.pod_uid, row.claim_uid, row.directory_id) == this)
    before = next(known, None)
    return before if before is not None and now_s - before.looked_s <= FORGOTTEN_AFTER_S else None


def _ran(before: BlankDisk, pod: Pod, now_s: float) -> BlankDisk | None:
    """For a moment only the script runs. A container that runs for longer runs Kafka, and so has its disk.

    Until that is known, the runs before it do not count as those of an emptied disk.
    """
    if pod.instance != before.instance:
        return replace(before, instance=pod.instance, runs_since_s=now_s, looked_s=now_s, emptied_runs=0)
    return None if now_s - before.runs_since_s > STARTED_AFTER_S else replace(before, looked_s=now_s)


def _fetches(observed: Observed, pod: Pod) -> bool:
    key = ReplicaKey(node_id=pod.node_id, directory_id=pod.directory_id)
    return isinstance(observed.quorum, Known) and key in observed.quorum.value.live


def _gone(observed: Observed, claim: Claim, now_s: float) -> GoneVolume:
    """What this look adds for a claim whose volume is lost; when the volume is back, the phase is `Bound` again."""
    before = next((row for row in observed.memory.gone_volumes if row.claim_uid == claim.uid), None)
    if before is None:
        return GoneVolume(claim_uid=claim.uid, for_s=0.0, seen_s=now_s)
    gap_s = min(max(now_s - before.seen_s, 0.0), GAP_COUNTS_S)
    return replace(before, for_s=before.for_s + gap_s, seen_s=now_s)
