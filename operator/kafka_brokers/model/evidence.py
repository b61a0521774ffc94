"""What one pod's script found empty in runs that follow each other: a note on the pod, which outlives its operator.

The kubelet counts the runs of each container of a pod. Two runs whose numbers follow each other have no run of this
container between them that could have found something else, whether an operator looked or not. The other container with
a script may have run between them: when a sandbox is replaced, the init container runs again before Kafka's own one.
Or Kafka has run between two runs of the init container, each in another sandbox.

The count of a container begins again if the kubelet has lost what it counts by: of init containers with their sandbox,
of all with a machine that is installed anew. So a run is known by its end, too, and soon follows the one before it.
"""

from typing import Final

from kafka_brokers.model.found import FoundEmpty, SinceEmpty
from kafka_brokers.model.observed import DisksReport, Pod
from kafka_quorum.model.pods import DiskFound

FOLLOWS_WITHIN_S: Final = 600.0
"""How much later than the run before it a run may end: a kubelet pauses for up to five minutes between them."""


def follows(report: DisksReport, note: FoundEmpty) -> bool:
    """Whether no run of this container is between the noted one and that of the report."""
    run, earlier = report.run, note.run
    if run is None or run.container != earlier.container:
        return False
    return run.number == earlier.number + 1 and 0 <= report.finished_at_s - note.finished_at_s <= FOLLOWS_WITHIN_S


def is_noted(report: DisksReport, note: FoundEmpty) -> bool:
    """Whether the noted run is that of the report. Stamps of notes are whole seconds, as those of kubelets."""
    return report.run == note.run and int(report.finished_at_s) == int(note.finished_at_s)


def _was_found(pod: Pod, since: SinceEmpty) -> bool:
    """Whether the pod's other script, or Kafka, found anything else on a volume, in the second of this run or later."""
    other = pod.beside
    return other is not None and other.finished_at_s >= since.finished_at_s and since.index not in empty_in(other)


def empty_in(report: DisksReport) -> tuple[int, ...]:
    """The volumes that a report shows as empty."""
    return tuple(row.index for row in report.disks if row.found is DiskFound.EMPTY)


def is_news(pod: Pod) -> bool:
    """Whether the newest report of a pod is to be noted: of a run that is known, and not noted yet."""
    report = pod.report
    if report is None or report.run is None or report.finished_at_s <= 0 or not empty_in(report):
        return False
    return pod.noted is None or not is_noted(report, pod.noted)


def noted(pod: Pod, now_s: float) -> FoundEmpty:
    """The note of a pod's newest report, at `now_s` (since the epoch). Raises `ValueError` if it is no news.

    A volume that the run before found empty too keeps its begin, if nothing else found its data since then. One that
    was noted in the future, by an operator with another clock, begins again: it would count as nothing until then.
    """
    report, before = pod.report, pod.noted
    if not is_news(pod) or report is None or report.run is None:
        raise ValueError(f"pod {pod.name} has found nothing that is to be noted")
    rows = before.volumes if before is not None and follows(report, before) else ()
    known = {row.index: row for row in rows if row.noted_at_s <= now_s and not _was_found(pod, row)}
    ended_s = report.finished_at_s
    volumes = (
        known.get(index) or SinceEmpty(index=index, finished_at_s=ended_s, noted_at_s=now_s)
        for index in empty_in(report)
    )
    return FoundEmpty(run=report.run, finished_at_s=ended_s, noted_at_s=now_s, volumes=tuple(volumes))


def empty_for_s(pod: Pod, index: int) -> float:
    """How far apart the first and the newest run are that found a volume empty, without another finding between them.

    In seconds, as far as runs are noted: the lesser of what the clock of the Kubernetes node and those of the operators
    say. 0 if the newest run found something else, or others may be between it and the noted ones.
    """
    report, note = pod.report, pod.noted
    if report is None or report.run is None or note is None or index not in empty_in(report):
        return 0.0
    if not is_noted(report, note) and not follows(report, note):
        return 0.0
    since = next((row for row in note.volumes if row.index == index), None)
    if since is None or _was_found(pod, since):
        return 0.0
    return min(note.finished_at_s - since.finished_at_s, note.noted_at_s - since.noted_at_s)
