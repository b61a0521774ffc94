"""What would be lost, as far as another log shows it: the records that it has, and that the best log does not have.

The best log is the longest one, so another log has such records for one of two reasons. It goes on in an earlier epoch,
behind the record at which the best log begins a later one; or it is damaged, with valid batches behind the damage. What
no log has is unknown, and is said to be.
"""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final

from kafka_quorum.model.disk_work import CompareDisk
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.proposal import LossVerdict, Tail, VerdictKind
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.surveyed import Beyond, EpochRange, LogRead, Source, Watermark

_SHOWN_TYPES: Final = 8
_SHOWN_TOPICS_MAX_CHARS: Final = 300
"""The room for names of topics in a sentence; the status lists more of them."""


def tails(
    situation: Situation, facts: LossVerdict, best: LogRead, others: Iterable[tuple[Source, LogRead]]
) -> tuple[Tail, ...]:
    """For each log that has, or may have, records that the best one does not have: what is known of them.

    A log whose last record is in the best log has nothing more, unless it is damaged. Nothing is compared if a majority
    of the voters have their disks: then nothing is lost.
    """
    if facts.kind is VerdictKind.NOT_NEEDED:
        return ()
    return tuple(
        _tail(situation, facts, best, source, log)
        for source, log in others
        if log.damaged_at is not None or (log.end.offset > 0 and best.has(log.end) is not True)
    )


def _tail(situation: Situation, facts: LossVerdict, best: LogRead, source: Source, log: LogRead) -> Tail:
    work = CompareDisk(source=source, epochs=best.epochs, end=best.end)
    found = _compared(situation, work, log)
    committed = committed_of(found.value, facts.watermark) if isinstance(found, Known) else 0
    return Tail(work=work, found=found, committed=committed, message=_message(facts, best, source, found, committed))


def _compared(situation: Situation, work: CompareDisk, log: LogRead) -> Knowable[Beyond]:
    """What the pod reported that compared this log; it counts only if the log is as it was when it was read."""
    worker = situation.worker(work)
    if worker is None or worker.deleting:
        return Unknown(reason="it was not compared with the best log yet")
    if worker.report is None:
        return Unknown(reason=worker.why or f"pod {worker.name} has not reported yet")
    beyond = worker.report.beyond
    if beyond is None:
        return Unknown(reason=worker.report.message or f"pod {worker.name} could not compare it")
    if beyond.end != log.end:
        ends = f"its log ended at {log.end} when it was read, and at {beyond.end} when it was compared"
        return Unknown(reason=f"{ends}. Set spec.recovery.inspect to false, and to true again")
    return Known(value=beyond)


def committed_of(beyond: Beyond, watermark: Watermark | None) -> int:
    """How many of these records were committed, at least, by the last high watermark.

    A log that has a record of the watermark's epoch shares everything before it with the leader of that epoch. So what
    it has below both this record and the watermark was committed.
    """
    if watermark is None:
        return 0
    own = [each.last + 1 for each in beyond.epochs if each.epoch == watermark.epoch]
    if not own:
        return 0
    limit = min(watermark.offset, *own)
    return sum(_below(each, limit) for each in beyond.epochs if each.epoch <= watermark.epoch)


def _below(records: EpochRange, limit: int) -> int:
    """How many of these records are below an offset, at least: of those at or above it, each may be one of them."""
    above = max(0, records.last + 1 - max(limit, records.first))
    room = max(0, min(limit, records.last + 1) - records.first)
    return min(room, max(0, records.records - above))


def _message(facts: LossVerdict, best: LogRead, source: Source, found: Knowable[Beyond], committed: int) -> str:
    if isinstance(found, Unknown):
        return f"It is not known whether {source} has records that the best log does not have: {found.reason}"
    return ". ".join(_sentences(facts, best, source, found.value, committed))


def _sentences(facts: LossVerdict, best: LogRead, source: Source, beyond: Beyond, committed: int) -> Iterator[str]:
    damaged = "" if beyond.whole else ", as far as it can be read"
    if beyond.records:
        least = "" if beyond.whole else "at least "
        where = f"offsets {beyond.first} to {beyond.last}, epoch {_epochs(beyond)}"
        what = f"has {least}{_counted(beyond.records)} that the best log does not have ({where})"
        yield f"{_capital(str(source))} {what}: {_types(beyond)}; topics: {_topics(beyond)}"
        if beyond.unread:
            yield f"{beyond.unread} of these records cannot be decoded, so more topics may be among them"
        yield _fate(facts, best, beyond, committed)
    elif not beyond.undecided:
        yield f"The best log has every record of {source}{damaged}"
    if beyond.undecided:
        start = f"offset {best.epochs[0].offset}" if best.epochs else "its end"
        why = f"its epochs before {start} were not reported"
        yield f"It is not known whether the best log has {_counted(beyond.undecided)} of {source}: {why}"


def _counted(records: int) -> str:
    return "1 record" if records == 1 else f"{records} records"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _epochs(beyond: Beyond) -> str:
    epochs = [each.epoch for each in beyond.epochs]
    return f"{epochs[0]}" if len(epochs) == 1 else f"{epochs[0]} to {epochs[-1]}" if epochs else "unknown"


def _types(beyond: Beyond) -> str:
    shown = beyond.types[:_SHOWN_TYPES]
    others = beyond.records - sum(records for _, records in shown)
    words = [f"{records} {kind}" for kind, records in shown]
    return ", ".join(words + ([f"{others} of other types"] if others > 0 else []))


def _topics(beyond: Beyond) -> str:
    if not beyond.topics_total:
        return "none" if beyond.whole and not beyond.unread else "none that can be read"
    ends = accumulate(len(each) for each in beyond.topics)
    shown = [each for each, end in zip(beyond.topics, ends, strict=True) if end <= _SHOWN_TOPICS_MAX_CHARS]
    others = beyond.topics_total - len(shown)
    return ", ".join((*shown, *((f"{others} more",) if others > 0 else ())))


def _fate(facts: LossVerdict, best: LogRead, beyond: Beyond, committed: int) -> str:
    """Whether these records were committed: only what is proven."""
    known = facts.watermark
    if committed and known is not None:
        seen = f"the last high watermark that was seen is offset {known.offset} in epoch {known.epoch}"
        return f"At least {committed} of them were committed, because {seen}"
    if beyond.epochs and beyond.epochs[-1].epoch < best.end.epoch:
        elected = f"The leader of epoch {best.end.epoch} was elected without them"
        return f"{elected}, so none of them was committed, unless voters had lost their disks before that"
    return "It is not known whether they were committed"


def unknown_of(facts: LossVerdict) -> str:
    """What no log shows that would be lost; empty if the verdict leads to no plan."""
    if not facts.kind.recoverable or facts.best is None:
        return ""
    end = facts.best.end
    listed = max((tail.committed for tail in facts.tails), default=0)
    if facts.loss_at_least > listed:
        found = "No log that was read has them"
        if listed:
            found = f"{listed} of them are in another log that was read, and no log has the others"
        least = f"At least {_counted(facts.loss_at_least)} that were committed are not in the best log"
        return f"{least}. {found}: their types and topics are not known"
    more = f"The lost disks may have had more committed records behind {end}, which would be lost"
    return f"{more}. No log that was read has them: their number, types and topics are not known"
