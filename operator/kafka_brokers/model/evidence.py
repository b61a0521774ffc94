"""What one pod's script found empty in runs that follow each other: a note on the pod, which outlives its operator.

The kubelet counts the runs of each container of a pod. Two runs whose numbers follow each other have none between them
that could have found something else, whether an operator looked or not.
"""

from kafka_brokers.model.found import FoundEmpty, Run, SinceEmpty
from kafka_brokers.model.observed import DisksReport, Pod
from kafka_quorum.model.pods import DiskFound


def follows(run: Run, earlier: Run) -> bool:
    """Whether no run of this container is between the two."""
    return run.container == earlier.container and run.number == earlier.number + 1


def empty_in(report: DisksReport) -> tuple[int, ...]:
    """The volumes that a report shows as empty."""
    return tuple(row.index for row in report.disks if row.found is DiskFound.EMPTY)


def is_news(pod: Pod) -> bool:
    """Whether the newest report of a pod is to be noted: of a run that is known, and not noted yet."""
    report = pod.report
    if report is None or report.run is None or report.finished_at_s <= 0 or not empty_in(report):
        return False
    return pod.noted is None or pod.noted.run != report.run


def noted(pod: Pod, now_s: float) -> FoundEmpty:
    """The note of a pod's newest report, at `now_s` (since the epoch). Raises `ValueError` if it is no news.

    A volume that the run before found empty too keeps its begin.
    """
    report, before = pod.report, pod.noted
    if not is_news(pod) or report is None or report.run is None:
        raise ValueError(f"pod {pod.name} has found nothing that is to be noted")
    known = {row.index: row for row in before.volumes} if before is not None and follows(report.run, before.run) else {}
    new = (SinceEmpty(index=at, finished_at_s=report.finished_at_s, noted_at_s=now_s) for at in empty_in(report))
    return FoundEmpty(
        run=report.run,
        finished_at_s=report.finished_at_s,
        noted_at_s=now_s,
        volumes=tuple(known.get(row.index, row) for row in new),
    )


def empty_for_s(pod: Pod, index: int) -> float:
    """How far apart the first and the newest run are that found a volume empty, without another finding between them.

    In seconds, as far as runs are noted: the lesser of what the clock of the Kubernetes node and those of the operators
    say. 0 if the newest run found something else, or others are between it and the noted ones.
    """
    report, note = pod.report, pod.noted
    if report is None or report.run is None or note is None or index not in empty_in(report):
        return 0.0
    if report.run != note.run and not follows(report.run, note.run):
        return 0.0
    since = next((row for row in note.volumes if row.index == index), None)
    if since is None:
        return 0.0
    return min(note.finished_at_s - since.finished_at_s, note.noted_at_s - since.noted_at_s)
