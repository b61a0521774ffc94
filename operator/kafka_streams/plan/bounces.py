"""An open change, while instances restart one after the other: the next stop, the next step, the end. Pure."""

from dataclasses import replace

from kafka_quorum.model.permit import Permit, Verdict
from kafka_streams.model.actions import RecordChange, StopPod, WriteRecord
from kafka_streams.model.plan import Part, Severity, Wait, waiting
from kafka_streams.model.record import Change, Slot, Stage, with_slots, with_state
from kafka_streams.model.release import StreamsRelease
from kafka_streams.model.way import Step
from kafka_streams.plan.facts import Situation, astray, bouncing, differs
from kafka_streams.plan.gates import against_back
from kafka_streams.plan.guards.rule12_instances import may_step, may_stop
from kafka_streams.plan.matrix import checkpoints_differ


def bounces(situation: Situation) -> Part:
    """The next act of an open change; nothing if none is open."""
    change = bouncing(situation)
    if change is None:
        return Part()
    made = situation.revision_of(change.present)
    if made is None:
        text = f"It is not known what instances of {change.present.release} are made from: their revision is gone"
        return waiting(Severity.HELD, "RevisionGone", text)
    name, _ = made
    begun = _begun(situation)
    if begun is not None:
        return begun
    slot = next(iter(_order(situation, name)), None)
    return _stop(situation, change, slot, name) if slot is not None else _next(situation, change, name)


def _order(situation: Situation, name: str) -> list[Slot]:
    """First an instance that is away, then those that do not take part as they shall, then by place, the highest first.

    A pod that is not what the record says, as one of a late request, would keep all other instances from being stopped.
    """

    def rank(slot: Slot) -> tuple[bool, bool, bool, int]:
        pod = situation.observed.pod(slot)
        return (not slot.away, pod is not None and pod.serves, not _differs(situation, slot), -slot.index)

    asked = (slot for slot in situation.record.slots if slot.revision != name or _differs(situation, slot))
    return sorted(asked, key=rank)


def _differs(situation: Situation, slot: Slot) -> bool:
    """Whether an instance that is not being restarted has a pod that the record does not say."""
    pod = situation.observed.pod(slot)
    if pod is None or pod.deleting or slot.away:
        return False
    return (pod.revision, pod.generation) != (slot.revision, slot.generation)


def _begun(situation: Situation) -> Part | None:
    """An instance that was stopped: its old pod goes, its new one comes, and it is back."""
    for slot in situation.record.slots:
        if not slot.away:
            continue
        pod = situation.observed.pod(slot)
        if pod is not None and not pod.deleting and (pod.revision, pod.generation) != (slot.revision, slot.generation):
            verdict = may_stop(situation, slot)
            if not isinstance(verdict, Permit):
                return _refused(slot, verdict)
            text = f"pod {pod.name} stops: instance {slot.index} starts again from {slot.revision}"
            return Part(exclusive=StopPod(pod=pod, message=text, permit=verdict), verdicts=(verdict,))
        if next(against_back(situation, slot), None) is None:
            record = with_slots(situation.record, replace(slot, away=False, left=(), marks=None, adopted=""))
            text = f"instance {slot.index} is back: it is in the group, which is stable and processes records"
            return Part(exclusive=WriteRecord(record=record, change=RecordChange.BACK, message=text))
        made = situation.revision_of(situation.record.change.present) if situation.record.change else None
        if made is not None and slot.revision == made[0]:
            return Part()  # `upkeep` reports what it waits for
    return None


def _stop(situation: Situation, change: Change, slot: Slot, name: str) -> Part:
    """Note that an instance stops, and what its next pod is made from, before its pod is touched."""
    if situation.observed.revision(name) is None:
        return Part()
    verdict = may_stop(situation, slot)
    if not isinstance(verdict, Permit):
        return _refused(slot, verdict)
    wipes = wiped(situation, slot, change.present)
    stopped = replace(
        with_state(slot, wiped=wipes, highest=situation.highest(slot)),
        revision=name,
        away=True,
        left=tuple(sorted({*slot.left, *situation.members_of(slot)})),
        marks=situation.committed if slot.marks is None else slot.marks,
    )
    empty = ", with an empty state directory" if wipes else ""
    text = f"instance {slot.index} stops, and starts again from {name}{_of(change)}{empty}"
    record = with_slots(situation.record, stopped)
    action = WriteRecord(record=record, change=RecordChange.STOPPING, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def strays(situation: Situation) -> Part:
    """A pod that takes part, and is not what the record says, stops like any other; of another release it is told."""
    change = situation.change
    if change is not None and change.stage is Stage.STOPPING:
        return Part()
    for slot in situation.record.slots:
        pod = situation.observed.pod(slot)
        if pod is None or not astray(situation, slot):
            continue
        made = situation.observed.revision(pod.revision)
        release = situation.release_of(slot)
        if change is None and (made is None or made.runtime.release != release):
            runs = "an unknown release" if made is None else str(made.runtime.release)
            text = f"Did not touch it: {differs(situation, pod, runs, release)}"
            return waiting(Severity.HELD, "RecordDiffers", text, slot.index)
        verdict = may_stop(situation, slot)
        if not isinstance(verdict, Permit):
            return _refused(slot, verdict)
        text = f"pod {pod.name} stops: instance {slot.index} starts again from {slot.revision}"
        return Part(exclusive=StopPod(pod=pod, message=text, permit=verdict), verdicts=(verdict,))
    return Part()


def wiped(situation: Situation, slot: Slot, step: Step) -> bool:
    """Whether an instance loses its local state in this step: it was made from another line than the step's."""
    release = situation.release_of(slot)
    return step.wipe and (release is None or release.line != step.release.line)


def unreadable(wrote: StreamsRelease, reads: StreamsRelease) -> bool:
    """Whether local state of one release must not be read by another: a later one wrote it, or checkpoints differ."""
    return reads.line < wrote.line or checkpoints_differ(wrote.line, reads.line)


def _of(change: Change) -> str:
    step = f"step {change.step + 1} of {len(change.steps)}"
    value = change.present.upgrade_from
    return f" ({step}{f', upgrade.from={value}' if value else ''})"


def _refused(slot: Slot, verdict: Verdict) -> Part:
    wait = Wait(
        severity=Severity.PROGRESS,
        reason="Gate",
        message=f"Did not stop instance {slot.index}: {verdict.reason}",
        index=slot.index,
    )
    return Part(waits=(wait,), verdicts=(verdict,))


def _next(situation: Situation, change: Change, name: str) -> Part:
    """Every instance runs what the step says: the next step, or the end."""
    verdict = may_step(situation, change, frozenset({name}))
    if not isinstance(verdict, Permit):
        said = "the change is done" if change.last else "the next bounce begins"
        text = f"Waiting until {said}: {verdict.reason}"
        return Part(waits=(Wait(severity=Severity.PROGRESS, reason="Gate", message=text),), verdicts=(verdict,))
    if change.last:
        record = replace(situation.record, change=None, release=change.target, protocol=change.target_protocol)
        text = f"every instance runs {change.target}"
        action = WriteRecord(record=record, change=RecordChange.DONE, message=text, permit=verdict)
    else:
        record = replace(situation.record, change=replace(change, step=change.step + 1))
        text = f"bounce {change.step + 1} of {len(change.steps)} is done: {verdict.reason}"
        action = WriteRecord(record=record, change=RecordChange.STEPPED, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))
