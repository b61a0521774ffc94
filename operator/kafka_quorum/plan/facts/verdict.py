"""The verdict on a quorum that has no leader: is a majority of its disks lost, which log is best, what would be lost.

It divides the voters by their disks. A disk that was read is *present*, one of which there is evidence of its loss is
*lost*, and every other one is *unreachable*: it may come back, and may have more than the others. Only a person gives
an unreachable disk up.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from kafka_quorum.model.disk import Deleting, is_blank, is_gone
from kafka_quorum.model.disk_work import InspectDisk, report_of
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.journal import Candidate
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.names import LOG_NAME, RETIRED
from kafka_quorum.model.proposal import LossVerdict, VerdictKind
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.surveyed import EmptyDisk, Found, LogRead, Source, Survey, Watermark
from kafka_quorum.model.voters import majority_of
from kafka_quorum.plan.facts.reach import because, may_still_be_read, place_of, source_of, why_foreign, why_unusable
from kafka_quorum.plan.facts.tails import tails, unknown_of

_KRAFT_VERSION: Final = 1
"""The only level at which the voter set is in the log, in the form that is rewritten."""
LEADER_EPOCH_MAX: Final = 2**31 - 1 - 2 * 1000
"""The highest leader epoch of a disk with which the new voter set can be written, 1000 epochs later."""
_SEED_IT: Final = f"list it in spec.recovery.seeds, with path {LOG_NAME}, to have it read"
_NEVER: Final = Unknown(reason="it was not read yet")


def sources(situation: Situation) -> tuple[Source, ...]:
    """Every disk that can be read: the present claims of controllers, and the seeds of the spec."""
    own = (source_of(situation, node) for node in situation.record.nodes)
    seeds = (Source(claim=seed.claim, path=seed.path) for seed in situation.desired.recovery.seeds)
    return (*(each for each in own if each is not None), *seeds)


def surveys(situation: Situation) -> tuple[Survey, ...]:
    """What the inspectors reported of each of these disks."""
    read = (Survey(source=each, found=_found(situation, each)) for each in sources(situation))
    return (*read, *_going(situation))


def _going(situation: Situation) -> Iterator[Survey]:
    """The disks whose claims are being deleted: no pod can mount them any more, and only one that runs holds them."""
    way_out = "Copy what is on it, or set the reclaim policy of its volume to Retain, before its pod ends"
    for node in situation.record.nodes:
        disk = situation.disk(node)
        if isinstance(disk, Deleting) and node.formatted:
            source = Source(claim=disk.claim.name, claim_uid=disk.claim.uid, node_id=node.node_id)
            yield Survey(source=source, found=Unknown(reason=f"its claim is being deleted. {way_out}"))


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
    why = why_unusable(situation, source, found.value)
    return Unknown(reason=why) if why else found


def _why_not_mounted(situation: Situation, source: Source) -> str:
    """Why the claim of a seed is not mounted; empty if it may be."""
    return dict(situation.observed.seeds).get(source.claim, "its claim was not looked up yet")


def _damaged(situation: Situation) -> Iterator[tuple[Source, LogRead]]:
    """The logs that cannot be used because they are damaged."""
    for source in sources(situation):
        report = report_of(situation.worker(InspectDisk(source=source)))
        log = None if report is None else report.log
        if log is not None and log.damaged_at is not None and not why_foreign(situation, source, log):
            yield source, log


def candidates(found: Iterable[Survey]) -> tuple[tuple[Candidate, LogRead], ...]:
    """The logs that were read to their end, the best one first.

    Of equal ends, a controller's disk comes before a seed, and the lower node id first: less has to be moved.
    """
    logs = (
        (_candidate(survey.source, survey.found.value), survey.found.value)
        for survey in found
        if isinstance(survey.found, Known) and isinstance(survey.found.value, LogRead)
        if survey.found.value.end.offset > 0  # a controller that never fetched has nothing
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
        return _without_a_log(situation, read)
    best, newest = logs[0]
    if (undecided := _why_not_judged(newest, read)) is not None:
        return undecided
    lost, unreachable, present, unread = _divided(situation, newest.voters, read)
    if unread and len(present) < majority_of(len(newest.voters)):
        named = ", ".join(f"{key}{_because(situation, key)}" for key in unread)
        text = f"Waiting to read the disks of {named}: spec.recovery.without lists them, and they may still be readable"
        return LossVerdict(kind=VerdictKind.READING, message=text, surveys=read)
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
    kind, message, loss = _judged(facts, newest)
    message += _retired_disks(situation, newest.voters) if kind.recoverable else ""
    judged = replace(facts, kind=kind, message=message, loss_at_least=loss)
    others = (*((candidate.source, log) for candidate, log in logs[1:]), *_damaged(situation))
    judged = replace(judged, tails=tails(situation, judged, newest, others))
    return replace(judged, unknown=unknown_of(judged))


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
    newest = logs[0][1] if logs else None
    if newest is not None and newest.kraft_version > _KRAFT_VERSION:
        level = (
            f"the best log has kraft.version {newest.kraft_version}, and this version rewrites {_KRAFT_VERSION} only"
        )
        return f"Did not plan a recovery: {level}. Install a version of the operator that knows it"
    if (epoch := max((log.highest_epoch for _, log in logs), default=0)) > LEADER_EPOCH_MAX:
        return f"Did not plan a recovery: a disk has seen leader epoch {epoch}, and no higher one can be written"
    if record.static or (newest is not None and newest.kraft_version < _KRAFT_VERSION):
        why = "its voters are static (kraft.version 0), so they are in the configuration and not in the log"
        return f"Did not plan a recovery: {why}. Bring back the disks of a majority, or restore them from a backup"
    if record.migration is not None and record.migration.trust is None and record.migration.listeners is None:
        return f"Did not plan a recovery: the migration {record.migration.kind.value} has to end, or turn back, first"
    return ""


def _without_a_log(situation: Situation, read: tuple[Survey, ...]) -> LossVerdict:
    going = {each.source: each.found for each in _going(situation)}
    unread = {each.source: each.found.reason for each in read if isinstance(each.found, Unknown)}
    if waiting := [f"{source} ({reason})" for source, reason in unread.items() if source not in going]:
        text = f"Waiting to read a log: {'; '.join(waiting)}"
        return LossVerdict(kind=VerdictKind.READING, message=text, surveys=read)
    way_out = "List a copy of the metadata log in spec.recovery.seeds, such as the volume of a broker that is stopped"
    held = "".join(f". Not read: {source} ({reason})" for source, reason in unread.items())
    first = "Did not plan a recovery: no disk of a controller holds a log that can be read"
    text = f"{first}. {way_out}{held}{_retired_disks(situation, ())}{_copies(situation)}"
    return LossVerdict(kind=VerdictKind.NO_CANDIDATE, message=text, surveys=read)


_Keys: TypeAlias = tuple[ReplicaKey, ...]


def _divided(situation: Situation, voters: _Keys, read: tuple[Survey, ...]) -> tuple[_Keys, _Keys, _Keys, _Keys]:
    """The voters whose disks are lost, unreachable and present, and those that must still be read.

    A controller of the record may be a voter of a later set than that of the best log: it counts if it is unreachable,
    or must still be read.
    """
    by_node = {survey.source.node_id: survey.found for survey in read if not survey.source.is_seed}
    fates = {key: _fate(situation, key, by_node.get(key.node_id)) for key in sorted(voters, key=str)}
    lost, unreachable, present = (
        tuple(key for key, fate in fates.items() if fate == wanted) for wanted in ("lost", "unreachable", "present")
    )
    others = [node.key for node in situation.record.nodes if node.formatted and node.key not in voters]
    fates |= {key: _fate(situation, key, by_node.get(key.node_id)) for key in others}
    later = (key for key in others if fates[key] == "unreachable")
    unread = tuple(key for key, fate in fates.items() if fate == "unread")
    return lost, (*unreachable, *later), present, unread


def _fate(situation: Situation, key: ReplicaKey, found: Knowable[Found] | None) -> str:
    node = situation.record.node(key.node_id)
    if key.directory_id in situation.record.retired:
        return "lost"
    if node is None or node.key != key:
        return _given_up(situation, key.node_id)
    if isinstance(found, Known) and isinstance(found.value, LogRead):
        return "present"
    if is_gone(situation.observed, situation.disk(node)) or is_blank(situation.observed, node):
        return "lost"
    return _given_up(situation, key.node_id)


def _because(situation: Situation, key: ReplicaKey) -> str:
    """What keeps the pod that reads this disk from starting, in brackets; empty if nothing is known."""
    node = situation.record.node(key.node_id)
    source = None if node is None else source_of(situation, node)
    return "" if source is None else because(situation.worker(InspectDisk(source=source)))


def _given_up(situation: Situation, node_id: NodeID) -> str:
    """A disk that cannot be reached may come back, unless a person says that it never runs again.

    That word counts for a disk that was given the time to be read: one that can be read always counts.
    """
    if node_id not in situation.desired.recovery.without:
        return "unreachable"
    node = situation.record.node(node_id)
    return "unread" if node is not None and may_still_be_read(situation, node) else "lost"


def _judged(facts: LossVerdict, newest: LogRead) -> tuple[VerdictKind, str, int]:
    """The kind, the sentence, and the least number of records that are lost."""
    needed, voters = majority_of(len(facts.voters)), len(facts.voters)
    reachable = len(facts.present) + len(facts.unreachable)
    if len(facts.present) >= needed:
        have = f"{len(facts.present)} of {voters} voters have their disks, and {needed} are enough"
        text = f"Did not plan a recovery, because none is needed: {have}. Find out why their controllers do not run"
        return VerdictKind.NOT_NEEDED, text, 0
    missing = ", ".join(_named(facts, key) for key in facts.unreachable)
    if reachable >= needed:
        way_out = "Bring these disks back, or list their controllers in spec.recovery.without if they are gone for good"
        text = f"Did not plan a recovery: a majority can still come back with the disks of {missing}. {way_out}"
        return VerdictKind.MAJORITY_MAY_RETURN, text, 0
    if facts.unreachable:
        way_out = "Bring them back, or list their controllers in spec.recovery.without"
        text = f"Did not plan a recovery: the disks of {missing} were not read, and may have more records. {way_out}"
        return VerdictKind.BETTER_DISK_MAY_RETURN, text, 0
    return _loss(facts, newest, f"{len(facts.lost)} of {voters} voters lost their disks")


def _named(facts: LossVerdict, key: ReplicaKey) -> str:
    """A voter whose disk is missing; with what was found there, if that is no proof of its loss."""
    found = next((each.found for each in facts.surveys if each.source.node_id == key.node_id), None)
    empty = isinstance(found, Known) and isinstance(found.value, EmptyDisk)
    return f"{key} (its volume looks empty: is it mounted?)" if empty else str(key)


def _retired_disks(situation: Situation, voters: Collection[ReplicaKey]) -> str:
    """Names claims that still hold a retired disk of one of these voters; of any voter if none are given."""
    directories = {key.directory_id for key in voters}
    seeds = {seed.claim for seed in situation.desired.recovery.seeds}
    old = [
        claim.name
        for claim in situation.observed.claims
        if claim.phase == RETIRED and claim.directory_id is not None and claim.name not in seeds
        if not directories or claim.directory_id in directories
    ]
    return f". Claim {old[0]} holds a retired disk of a voter, which may have more records: {_SEED_IT}" if old else ""


def _copies(situation: Situation) -> str:
    """Names the claims with copies that earlier recoveries made."""
    seeds = {seed.claim for seed in situation.desired.recovery.seeds}
    names = [copy.name for copy in situation.observed.copies if copy.name not in seeds and not copy.deleting]
    return f". Claim {names[0]} holds a copy that a recovery made: {_SEED_IT}" if names else ""


def _loss(facts: LossVerdict, newest: LogRead, first: str) -> tuple[VerdictKind, str, int]:
    known = facts.watermark
    if facts.best is None:
        raise ValueError("a loss is judged by the best log, and there is none")
    where = f"The best log is on {facts.best.source} and ends at {facts.best.end}"
    if known is None:
        text = f"{first}. {where}. How many committed records came after that is not known"
        return VerdictKind.UNKNOWN_TAIL, text, 0
    seen = f"the last high watermark that was seen is offset {known.offset} in epoch {known.epoch}"
    has, loss = _missing(newest, known)
    if loss > 0:
        return (
            VerdictKind.PROVEN_LOSS,
            f"{first}. {where}{has}, but {seen}: at least {loss} committed records are lost",
            loss,
        )
    tail = "no record is lost up to there, and what was committed after the last look is not known"
    return VerdictKind.NO_LOSS, f"{first}. {where}, and {seen}: {tail}", 0


def _missing(newest: LogRead, known: Watermark) -> tuple[str, int]:
    """How many committed records the best log lacks, at least, and the words that say why if its end does not.

    A leader commits nothing before the first record of its own epoch, so a log without that epoch lacks at least one.
    A log that goes on in a later epoch has of the watermark's epoch only what is before that.
    """
    end = newest.end
    if end.epoch <= known.epoch:
        return "", max(known.offset - end.offset, 1 if end.epoch < known.epoch else 0)
    until = newest.until(known.epoch)
    if until is None:  # every epoch that was reported is a later one, and begins behind them
        first = newest.epochs[0].offset if newest.epochs else end.offset
        loss = max(known.offset - first, 0)
        later = f", and its epoch {newest.epochs[0].epoch} begins at offset {first}" if newest.epochs and loss else ""
        return later, loss
    lacks = all(start.epoch != known.epoch for start in newest.epochs)
    loss = max(known.offset - until, 1 if lacks else 0)
    return (f", and its records up to epoch {known.epoch} end at offset {until}" if loss else ""), loss


def places(situation: Situation) -> Iterator[tuple[Source, str]]:
    """Every disk that may be read, with the Kubernetes node on which a pod mounts it already; empty for any."""
    for source in sources(situation):
        if source.is_seed and _why_not_mounted(situation, source):
            continue
        yield source, place_of(situation, source)
