"""What the status says of a recovery: the disks, the verdict and the plan to approve; or how far an open one is."""

from typing import Any, Final, TypeAlias

from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.journal import Candidate, Journal
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.proposal import LossVerdict, Proposal, Tail
from kafka_quorum.model.recovery import taken_back
from kafka_quorum.model.surveyed import EmptyDisk, LogRead, Source, Survey
from kafka_quorum.status.finding import Pass
from kit.conditions.merge import shortened, without_none

Json: TypeAlias = dict[str, Any]

_WAITS: Final = ("Recovering", "RecoveryStuck")
_RECOVERED: Final = "Recovered"
_ABANDONED: Final = "Abandoned"


def recovery(done: Pass, old: Json) -> Json:
    """The row, while a recovery is requested or open, or what one kept is not released; nothing for other quorums.

    Without a record that can be read the row stays as it was: it says whether a recovery is open.
    """
    record = done.observed.record
    if record is None:
        return {"recovery": old["recovery"]} if "recovery" in old else {}
    row: Json = {}
    if record.recovery is not None:
        row = _open(done, record.recovery)
    elif done.plan.loss is not None:
        row = _judged(done.plan.loss, done.plan.proposal)
    elif record.recovery_epoch or done.observed.copies:
        row = {"stage": _RECOVERED if record.recovery_epoch else _ABANDONED, "message": _of_taken_back(done, record)}
    if not row:
        return {}
    kept = sorted(
        (
            *(claim.name for claim in done.observed.claims if claim.kept and claim.recovery),
            *(copy.name for copy in done.observed.copies),
        )
    )
    return {"recovery": without_none({"epoch": record.recovery_epoch or None, **row, "copies": kept or None})}


def _of_taken_back(done: Pass, record: IdentityRecord) -> str | None:
    """What to do with the copies of a recovery that a person or a leader ended before a disk was given up."""
    left = taken_back(record, done.observed.copies)
    if not left:
        return None
    names = " ".join(copy.name for copy in left)
    delete = f"kubectl -n {done.desired.namespace} delete pvc {names}"
    return shortened(f"Recovery {left[0].epoch} was taken back, and its copies are left. To delete them: {delete}")


def last_watermark(done: Pass) -> Json:
    """While no leader answers: the last high watermark, for an operator that starts now and finds no leader."""
    known = done.observed.watermark
    return {} if known is None else {"lastHighWatermark": known.offset, "lastLeaderEpoch": known.epoch}


def _open(done: Pass, journal: Journal) -> Json:
    waits = (wait.message for wait in done.plan.waits if wait.reason in _WAITS)
    paused = f"Recovery {journal.epoch} stands still: spec.paused is true. Set it to false to continue"
    goes_on = f"Recovery {journal.epoch} goes on with {journal.survivor.source}"
    return {
        "stage": journal.stage.value,
        "plan": journal.plan,
        "message": shortened(next(waits, paused if done.desired.paused else goes_on)),
        "survivor": str(journal.survivor.source),
        "controller": journal.node_id,
        "disks": [
            _disk(each.source, _log(each, best=each is journal.survivor)) for each in (journal.survivor, *journal.kept)
        ],
    }


def _judged(judged: LossVerdict, planned: Proposal | None) -> Json:
    return {
        "stage": "Inspecting" if planned is None else "Proposed",
        "verdict": judged.kind.value,
        "message": shortened(judged.message),
        "plan": None if planned is None else planned.hash,
        "lossAtLeast": judged.loss_at_least or None,
        "watermark": None if judged.watermark is None else judged.watermark.offset,
        "survivor": None if planned is None else str(planned.survivor.source),
        "controller": None if planned is None else planned.node_id,
        "steps": None if planned is None else [shortened(step) for step in planned.steps],
        "disks": [_of_survey(each, judged.best) for each in judged.surveys],
        "wouldBeLost": _would_be_lost(judged) or None,
    }


def _would_be_lost(judged: LossVerdict) -> list[Json]:
    """What each other log has more than the best one, and last, what no log shows."""
    rows = [_of_tail(tail) for tail in judged.tails]
    return rows + ([{"state": "Unknown", "message": shortened(judged.unknown)}] if judged.unknown else [])


def _of_tail(tail: Tail) -> Json:
    source, found = tail.work.source, tail.found
    row: Json = {"claimName": source.claim, "nodeID": source.node_id}
    if isinstance(found, Unknown):
        return without_none(row | {"state": "Unknown", "message": shortened(tail.message)})
    beyond = found.value
    parts: Json = {
        "state": "Known" if beyond.whole and not beyond.undecided else "AtLeast",
        "records": beyond.records,
        "firstOffset": beyond.first,
        "lastOffset": beyond.last,
        "committedAtLeast": tail.committed or None,
        "types": [{"type": kind, "records": records} for kind, records in beyond.types] or None,
        "topics": list(beyond.topics) or None,
        "topicsTotal": beyond.topics_total or None,
        "message": shortened(tail.message),
    }
    return without_none(row | parts)


def _of_survey(survey: Survey, best: Candidate | None) -> Json:
    source, found = survey.source, survey.found
    if isinstance(found, Unknown):
        return _disk(source, {"state": "Unknown", "reason": shortened(found.reason)})
    if isinstance(found.value, EmptyDisk):
        return _disk(source, {"state": "Empty"})
    is_best = best is not None and best.source == source
    return _disk(source, _log(found.value, best=is_best) | {"tornBytes": found.value.torn_bytes or None})


def _disk(source: Source, shown: Json) -> Json:
    return without_none({"claimName": source.claim, "nodeID": source.node_id} | shown)


def _log(log: LogRead | Candidate, *, best: bool) -> Json:
    return {
        "state": "Read",
        "directoryID": log.directory_id,
        "lastEpoch": log.end.epoch,
        "endOffset": log.end.offset,
        "checkpointOffset": None if log.checkpoint is None else log.checkpoint.offset,
        "best": True if best else None,
    }
