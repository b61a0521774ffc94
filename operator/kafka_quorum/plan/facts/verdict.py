"""The verdict on a quorum that has no leader: is a majority of its disks lost, which log is best, what would be lost.

It divides the voters by their disks. A disk that was read is *present*, one of which there is evidence of its loss is
*lost*, and every other one is *unreachable*: it may come back, and may have more than the others. Only a person gives
an unreachable disk up.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from kafka_quorum.model.disk import Claimed, is_blank, is_gone
from kafka_quorum.model.disk_work import InspectDisk
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.journal import Candidate
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.nodes import node_of
from kafka_quorum.model.proposal import LossVerdict, VerdictKind
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.surveyed import EmptyDisk, Found, LogRead, Source, Survey
from kafka_quorum.model.voters import majority_of

_NEVER: Final = Unknown(reason="it was not read yet")


def sources(situation: Situation) -> tuple[Source, ...]:
    """Every disk that can be read: the present claims of controllers, and the seeds of the spec."""
    disks = ((node, situation.disk(node)) for node in situation.record.nodes)
    own = (
        Source(claim=disk.claim.name, claim_uid=disk.claim.uid, node_id=node.node_id)
        for node, disk in disks
        if isinstance(disk, Claimed) and node.formatted
    )
    seeds = (Source(claim=seed.claim, path=seed.path) for seed in situation.desired.recovery.seeds)
    return (*own, *seeds)


def surveys(situation: Situation) -> tuple[Survey, ...]:
    """What the inspectors reported of each of these disks."""
    return tuple(Survey(source=each, found=_found(situation, each)) for each in sources(situation))


def _found(situation: Situation, source: Source) -> Knowable[Found]:
    """A report counts only if it is of this disk: the cluster, and for a controller also its node and directory id."""
    if source.is_seed and (why := _why_not_mounted(situation, source)):
        return Unknown(reason=why)
    worker = situation.worker(InspectDisk(source=source))
    if worker is None or worker.deleting:
        return _NEVER
    if worker.report is None:
        return Unknown(reason=worker.why or f"pod {worker.name} has not reported yet")
    found = worker.report.found
    if isinstance(found, Unknown) or isinstance(found.value, EmptyDisk):
        return found
    why = _why_unusable(situation, source, found.value)
    return Unknown(reason=why) if why else found


def _why_not_mounted(situation: Situation, source: Source) -> str:
    """Why the claim of a seed is not mounted; empty if it may be."""
    return dict(situation.observed.seeds).get(source.claim, "its claim was not looked up yet")


def _why_unusable(situation: Situation, source: Source, log: LogRead) -> str:
    """Why this log cannot be used, in words; empty if it can."""
    record = situation.record
    if log.cluster_id != record.cluster_id:
        return f"it is of another cluster: its cluster id is {log.cluster_id}, not {record.cluster_id}"
    node = None if source.node_id is None else record.node(source.node_id)
    if node is not None and (log.node_id, log.directory_id) != (node.node_id, node.directory_id):
        has = f"it holds controller {log.node_id} with directory id {log.directory_id}"
        return f"{has}, and directory id {node.directory_id} was expected"
    if log.damaged_at is not None:
        return f"its log is damaged at offset {log.damaged_at}, with whole batches behind that"
    return ""


def candidates(found: Iterable[Survey]) -> tuple[tuple[Candidate, LogRead], ...]:
    """The logs that were read to their end, the best one first.

    Of equal ends, a controller's disk comes before a seed, and the lower node id first: less has to be moved.
    """
    logs = (
        (_candidate(survey.source, survey.found.value), survey.found.value)
        for survey in found
        if isinstance(survey.found, Known) and isinstance(survey.found.value, LogRead)
    )
    by_source = sorted(
        logs, key=lambda each: (each[0].source.is_seed, each[0].source.node_id or 0, each[0].source.claim)
    )
    return tuple(sorted(by_source, key=lambda each: each[0].end, reverse=True))


def _candidate(source: Source, log: LogRead) -> Candidate:
    return Candidate(
        source=source,
        server_id=log.node_id,
        directory_id=log.directory_id,
        end=log.end,
        checkpoint=log.checkpoint,
    )


def verdict(situation: Situation) -> LossVerdict:
    """What the disks show. A majority that could come back always comes first: then nothing has to be lost."""
    read = surveys(situation)
    logs = candidates(read)
    if why := _unsupported(situation, logs):
        return LossVerdict(kind=VerdictKind.UNSUPPORTED, message=why, surveys=read)
    if not logs:
        return _without_a_log(read)
    best, newest = logs[0]
    if (undecided := _why_not_judged(newest, read)) is not None:
        return undecided
    lost, unreachable, present = _divided(situation, newest.voters, read)
    facts = LossVerdict(
        kind=VerdictKind.READING,
        message="",
        surveys=read,
        voters=newest.voters,
        lost=lost,
        unreachable=unreachable,
        present=present,
        best=best,
        others=tuple(candidate for candidate, _ in logs[1:]),
        leader_epoch=max(log.highest_epoch for _, log in logs),
        watermark=situation.observed.watermark,
    )
    kind, message, loss = _judged(facts)
    return replace(facts, kind=kind, message=message, loss_at_least=loss)


def _why_not_judged(newest: LogRead, read: tuple[Survey, ...]) -> LossVerdict | None:
    """The verdict if the best log lists no voters, or a seed that may be better was not read; None otherwise."""
    if not newest.voters:
        text = "Did not plan a recovery: the best log lists no voters. Bring back the disks of a majority"
        return LossVerdict(kind=VerdictKind.UNSUPPORTED, message=text, surveys=read)
    seeds = ((each.source, each.found) for each in read if each.source.is_seed)
    unread = [f"{source} ({found.reason})" for source, found in seeds if isinstance(found, Unknown)]
    if unread:
        text = f"Waiting to read {'; '.join(unread)}. If it is not needed, remove it from spec.recovery.seeds"
        return LossVerdict(kind=VerdictKind.READING, message=text, surveys=read)
    return None


def _unsupported(situation: Situation, logs: tuple[tuple[Candidate, LogRead], ...]) -> str:
    record = situation.record
    static = record.static or any(log.kraft_version == 0 for _, log in logs)
    if static:
        why = "its voters are static (kraft.version 0), so they are in the configuration and not in the log"
        return f"Did not plan a recovery: {why}. Bring back the disks of a majority, or restore them from a backup"
    if record.migration is not None and record.migration.trust is None and record.migration.listeners is None:
        return f"Did not plan a recovery: the migration {record.migration.kind.value} has to end, or turn back, first"
    return ""


def _without_a_log(read: tuple[Survey, ...]) -> LossVerdict:
    unread = [f"{each.source} ({each.found.reason})" for each in read if isinstance(each.found, Unknown)]
    if unread:
        text = f"Waiting to read a log: {'; '.join(unread)}"
        return LossVerdict(kind=VerdictKind.READING, message=text, surveys=read)
    way_out = "List a copy of the metadata log in spec.recovery.seeds, such as the volume of a broker that is stopped"
    text = f"Did not plan a recovery: no disk of a controller holds a log. {way_out}"
    return LossVerdict(kind=VerdictKind.NO_CANDIDATE, message=text, surveys=read)


_Keys: TypeAlias = tuple[ReplicaKey, ...]


def _divided(situation: Situation, voters: _Keys, read: tuple[Survey, ...]) -> tuple[_Keys, _Keys, _Keys]:
    """The voters whose disks are lost, unreachable and present.

    A controller of the record may be a voter of a later set than that of the best log: it counts if it is unreachable.
    """
    by_node = {survey.source.node_id: survey.found for survey in read if not survey.source.is_seed}
    fates = {key: _fate(situation, key, by_node.get(key.node_id)) for key in sorted(voters, key=str)}
    lost, unreachable, present = (
        tuple(key for key, fate in fates.items() if fate == wanted) for wanted in ("lost", "unreachable", "present")
    )
    others = (node.key for node in situation.record.nodes if node.formatted and node.key not in voters)
    later = (key for key in others if _fate(situation, key, by_node.get(key.node_id)) == "unreachable")
    return lost, (*unreachable, *later), present


def _fate(situation: Situation, key: ReplicaKey, found: Knowable[Found] | None) -> str:
    node = situation.record.node(key.node_id)
    if key.directory_id in situation.record.retired:
        return "lost"
    if node is None or node.key != key:
        return _given_up(situation, key.node_id)
    if isinstance(found, Known):
        return "present" if isinstance(found.value, LogRead) else "lost"
    if is_gone(situation.observed, situation.disk(node)) or is_blank(situation.observed, node):
        return "lost"
    return _given_up(situation, key.node_id)


def _given_up(situation: Situation, node_id: NodeID) -> str:
    """A disk that cannot be reached may come back, unless a person says that it never runs again."""
    return "lost" if node_id in situation.desired.recovery.without else "unreachable"


def _judged(facts: LossVerdict) -> tuple[VerdictKind, str, int]:
    """The kind, the sentence, and the least number of records that are lost."""
    needed, voters = majority_of(len(facts.voters)), len(facts.voters)
    reachable = len(facts.present) + len(facts.unreachable)
    if len(facts.present) >= needed:
        have = f"{len(facts.present)} of {voters} voters have their disks, and {needed} are enough"
        text = f"Did not plan a recovery, because none is needed: {have}. Find out why their controllers do not run"
        return VerdictKind.NOT_NEEDED, text, 0
    missing = ", ".join(map(str, facts.unreachable))
    if reachable >= needed:
        way_out = "Bring these disks back, or list their controllers in spec.recovery.without if they are gone for good"
        text = f"Did not plan a recovery: a majority can still come back with the disks of {missing}. {way_out}"
        return VerdictKind.MAJORITY_MAY_RETURN, text, 0
    if facts.unreachable:
        way_out = "Bring them back, or list their controllers in spec.recovery.without"
        text = f"Did not plan a recovery: the disks of {missing} cannot be read, and may have more records. {way_out}"
        return VerdictKind.BETTER_DISK_MAY_RETURN, text, 0
    return _loss(facts, f"{len(facts.lost)} of {voters} voters lost their disks")


def _loss(facts: LossVerdict, first: str) -> tuple[VerdictKind, str, int]:
    known = facts.watermark
    if facts.best is None:
        raise ValueError("a loss is judged by the best log, and there is none")
    end, where = facts.best.end, f"The best log is on {facts.best.source} and ends at {facts.best.end}"
    if known is None:
        text = f"{first}. {where}. How many committed records came after that is not known"
        return VerdictKind.UNKNOWN_TAIL, text, 0
    seen = f"the last high watermark that was seen is offset {known.offset} in epoch {known.epoch}"
    # A leader commits nothing before the first record of its own epoch: a log without that epoch lacks at least one.
    loss = max(known.offset - end.offset, 1 if end.epoch < known.epoch else 0)
    if loss > 0:
        return (
            VerdictKind.PROVEN_LOSS,
            f"{first}. {where}, but {seen}: at least {loss} committed records are lost",
            loss,
        )
    tail = "no record is lost up to there, and what was committed after the last look is not known"
    return VerdictKind.NO_LOSS, f"{first}. {where}, and {seen}: {tail}", 0


def places(situation: Situation) -> Iterator[tuple[Source, str]]:
    """Every disk that may be read, with the Kubernetes node on which a pod mounts it already; empty for any."""
    for source in sources(situation):
        if source.is_seed and _why_not_mounted(situation, source):
            continue
        node = None if source.node_id is None else situation.record.node(source.node_id)
        yield source, "" if node is None else node_of(situation.observed, node)
