"""Whether a disk was given the time to be read. One that was not is neither lost nor out of reach."""

from collections.abc import Iterator
from typing import Final

from kafka_quorum.model.disk import Claimed
from kafka_quorum.model.disk_work import InspectDisk, Worker, report_of
from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.journal import Journal
from kafka_quorum.model.nodes import is_down, node_of, revision_of
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.surveyed import LogRead, Source

READS_WITHIN_S: Final = 120.0
"""How long a pod that reads a disk may take to start. An image is pulled in this time, and a volume attached."""
PLACED_WITHIN_S: Final = 15.0
"""How long no Kubernetes node may be able to run it: the only one that has the disk is off, or takes no pods."""


def source_of(situation: Situation, node: NodeIdentity) -> Source | None:
    """The present disk of a controller, if it has one that can be read."""
    disk = situation.disk(node)
    if not isinstance(disk, Claimed) or not node.formatted:
        return None
    return Source(claim=disk.claim.name, claim_uid=disk.claim.uid, node_id=node.node_id)


def place_of(situation: Situation, source: Source) -> str:
    """The Kubernetes node on which a controller's disk is in use, or must be; empty for any, and for a seed."""
    node = None if source.node_id is None else situation.record.node(source.node_id)
    return "" if node is None else node_of(situation.observed, node)


def revision_for(situation: Situation, source: Source) -> Revision | None:
    """What says how a pod that reads a disk is scheduled and confined: that of its controller, or the applied one."""
    record, observed = situation.record, situation.observed
    node = None if source.node_id is None else record.node(source.node_id)
    return observed.revision(record.applied_revision) if node is None else revision_of(observed, record, node)


def is_out_of_reach(situation: Situation, worker: Worker | None) -> bool:
    """Whether a pod had the chance to read its disk: it has ended, its machine is down, or it does not start.

    A pod that runs is still reading. One that is not there, is being deleted, or ended before it ran has read nothing.
    """
    if worker is None or worker.deleting:
        return False
    if is_down(situation.observed, worker.place):
        return True
    if worker.finished:
        return not worker.never_ran
    limit_s = PLACED_WITHIN_S if worker.unschedulable else READS_WITHIN_S
    return not worker.running and situation.now_s - worker.created_at_s > limit_s


def may_still_be_read(situation: Situation, node: NodeIdentity) -> bool:
    """Whether a controller has a disk whose pod has not had the chance to read it."""
    source = source_of(situation, node)
    return source is not None and not is_out_of_reach(situation, situation.worker(InspectDisk(source=source)))


def because(worker: Worker | None) -> str:
    """What keeps a pod from starting, in brackets; empty if nothing is known."""
    return "" if worker is None or not worker.why else f" ({worker.why})"


# Whether a log that was read can be used


def why_foreign(situation: Situation, source: Source, log: LogRead) -> str:
    """Why this log is not the one that was expected, in words; empty if it is."""
    record = situation.record
    if log.cluster_id != record.cluster_id:
        return f"it is of another cluster: its cluster id is {log.cluster_id}, not {record.cluster_id}"
    node = None if source.node_id is None else record.node(source.node_id)
    if node is not None and (log.node_id, log.directory_id) != (node.node_id, node.directory_id):
        has = f"it holds controller {log.node_id} with directory id {log.directory_id}"
        return f"{has}, and directory id {node.directory_id} was expected"
    return ""


def why_unusable(situation: Situation, source: Source, log: LogRead) -> str:
    """Why this log cannot be used, in words; empty if it can."""
    if log.damaged_at is None:
        return why_foreign(situation, source, log)
    damaged = f"its log is damaged at offset {log.damaged_at}, with whole batches behind that"
    return why_foreign(situation, source, log) or damaged


# In a recovery


def why_no_seed(situation: Situation, journal: Journal) -> str:
    """Why the seed that survives is not mounted, with the way out; empty if it may be, or if none is needed."""
    source = journal.survivor.source
    return dict(situation.observed.seeds).get(source.claim, "") if source.is_seed else ""


def given_up(situation: Situation, journal: Journal) -> Iterator[tuple[InspectDisk, Worker | None]]:
    """The disks that the plan gives up although they have claims, and the pods that read them again."""
    planned = {each.source for each in journal.disks}
    for node in situation.record.nodes:
        source = source_of(situation, node)
        if source is not None and source not in planned:
            work = InspectDisk(source=source)
            yield work, situation.worker(work)


def returned(situation: Situation, journal: Journal) -> Iterator[str]:
    """The disks that the plan gives up, and that were read after all.

    A log that is damaged, or another one than expected, does not count: `without` gave up a disk that was read, and its
    log is found each time.
    """
    for work, worker in given_up(situation, journal):
        report = report_of(worker)
        log = None if report is None else report.log
        if log is not None and why_unusable(situation, work.source, log):
            continue
        if log is not None and log.end.offset > 0:  # one that never fetched has nothing
            yield f"{work.source} can be read again, and its log ends at {log.end}"


def unread(situation: Situation, journal: Journal) -> Iterator[str]:
    """The disks to be given up of which it is not certain yet that they cannot be read."""
    for work, worker in given_up(situation, journal):
        if worker is None or worker.deleting:
            yield f"{work.source} is read once more"
        elif not is_out_of_reach(situation, worker):
            yield f"{work.source} is read once more{because(worker)}"
