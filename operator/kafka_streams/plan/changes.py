"""Which change begins, turns round, or stops everything: what a person asks for becomes an act (S1 S2 S5). Pure."""

from dataclasses import replace

from kafka_quorum.model.known import Unknown
from kafka_quorum.model.permit import Permit
from kafka_streams.model import names
from kafka_streams.model.actions import RecordChange, StopPod, WriteRecord
from kafka_streams.model.application import Approve
from kafka_streams.model.plan import Part, Severity, Wait, waiting
from kafka_streams.model.record import Change, Record, Slot, Stage
from kafka_streams.model.way import Kind, NoWay, Reason, Step, Way
from kafka_streams.plan.bounces import wiped
from kafka_streams.plan.facts import Situation, asked_way
from kafka_streams.plan.guards.rule12_instances import (
    may_begin,
    may_keep_stopping,
    may_start_over,
    may_start_together,
    may_step,
    may_stop_all,
    may_turn_round,
)


def begins(situation: Situation) -> Part:
    """A change begins if the spec asks for something else than what the instances are made from."""
    record, runtime = situation.record, situation.desired.runtime
    if record.change is not None or all(slot.revision == situation.wanted for slot in record.slots):
        return Part()
    if (again := _over(situation)) is not None:
        return again
    if (runtime.release, runtime.protocol) == (record.release, record.protocol):
        same = Reason(text="The release stays the same.", source="the spec")
        step = Step(release=runtime.release, protocol=runtime.protocol)
        return _begin(situation, Way(kind=Kind.ONE_BOUNCE, steps=(step,), reasons=(same,)))
    return _other_release(situation)


def _other_release(situation: Situation) -> Part:
    record, runtime, way = situation.record, situation.desired.runtime, asked_way(situation)
    if isinstance(way, Unknown):
        text = f"The way to {runtime.release} is not known yet: {way.reason}"
        return waiting(Severity.PROGRESS, "BrokersUnknown", text)
    if isinstance(way, NoWay):
        return _offline(situation, way)
    approval = names.way_hash(way, str(record.release))
    if situation.desired.approve is Approve.MANUAL and situation.desired.approved != approval:
        text = f"The way to {runtime.release} waits for approval: set spec.approved to {approval}"
        return waiting(Severity.HELD, "ApprovalNeeded", text)
    return _begin(situation, way)


def _over(situation: Situation) -> Part | None:
    """An application of which nothing runs starts from the spec: an image that never worked is corrected so."""
    verdict = may_start_over(situation)
    if not isinstance(verdict, Permit):
        return None
    record, runtime = situation.record, situation.desired.runtime
    same = runtime.release == record.release and runtime.protocol == record.protocol
    way = None if same else asked_way(situation)
    if isinstance(way, Unknown) or (isinstance(way, NoWay) and way.offline is None):
        return None
    steps = () if way is None else way.steps if isinstance(way, Way) else (way.offline.steps if way.offline else ())
    slots = tuple(
        replace(
            slot,
            revision=situation.wanted,
            generation=slot.generation + any(wiped(situation, slot, step) for step in steps),
            away=False,
            left=(),
            marks=None,
        )
        for slot in record.slots
    )
    new = replace(record, slots=slots, release=runtime.release, protocol=runtime.protocol)
    text = f"all instances start from {situation.wanted}: {verdict.reason}"
    action = WriteRecord(record=new, change=RecordChange.CORRECTED, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def _begin(situation: Situation, way: Way) -> Part:
    record = situation.record
    verdict = may_begin(situation)
    if not isinstance(verdict, Permit):
        text = f"Did not begin the change to {situation.desired.runtime.release}: {verdict.reason}"
        return Part(waits=(Wait(severity=Severity.PROGRESS, reason="Gate", message=text),), verdicts=(verdict,))
    new = replace(record, change=_change(situation, way, Stage.BOUNCING))
    text = f"the change from {record.release} to {situation.desired.runtime.release} begins: {way.reasons[0].text}"
    action = WriteRecord(record=new, change=RecordChange.BEGUN, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def _change(situation: Situation, way: Way, stage: Stage) -> Change:
    record, runtime = situation.record, situation.desired.runtime
    return Change(
        start=record.release,
        target=runtime.release,
        start_protocol=record.protocol,
        target_protocol=runtime.protocol,
        kind=way.kind,
        steps=way.steps,
        stage=stage,
    )


def _offline(situation: Situation, way: NoWay) -> Part:
    """No way while instances run: it is refused with the reason, or done offline if a person says so."""
    verdict = may_stop_all(situation, way)
    if not isinstance(verdict, Permit) or way.offline is None:
        why = " ".join(reason.text for reason in way.reasons)
        text = f"Did not begin the change to {situation.desired.runtime.release}. {why}"
        if way.offline is not None:
            text += f" Otherwise {verdict.reason}"
        wait = Wait(severity=Severity.HELD, reason="NoWay" if way.offline is None else "OnlyOffline", message=text)
        return Part(waits=(wait,), verdicts=(verdict,))
    new = replace(situation.record, change=_change(situation, way.offline, Stage.STOPPING))
    text = f"all instances stop for {situation.desired.runtime.release}: {verdict.reason}"
    action = WriteRecord(record=new, change=RecordChange.STOPPING_ALL, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def turns(situation: Situation) -> Part:
    """An open change, and a spec that asks for another release than its target: it goes back, or waits for a person."""
    change, runtime = situation.change, situation.desired.runtime
    if change is None or (runtime.release, runtime.protocol) == (change.target, change.target_protocol):
        return Part()
    verdict = may_turn_round(situation, change)
    if not isinstance(verdict, Permit):
        text = f"Did not change to {runtime.release}: {verdict.reason}. Set the spec back to one of them"
        return Part(
            waits=(Wait(severity=Severity.HELD, reason="ChangeOpen", message=text),),
            verdicts=(verdict,),
        )
    if change.stage is Stage.STOPPING:
        new = replace(situation.record, change=None)
        text = f"the application starts again with {change.start}: {verdict.reason}"
    else:
        new = replace(situation.record, change=turned(change))
        text = f"the change goes back from {change.target} to {change.start}: {verdict.reason}"
    action = WriteRecord(record=new, change=RecordChange.TURNED, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def turned(change: Change) -> Change:
    """The change back, or forward again. From a second bounce it leads back over `upgrade.from`.

    An instance that has not been reached yet runs what the last step asks for already, and is not touched.
    """
    reverse = replace(
        change,
        start=change.target,
        target=change.start,
        start_protocol=change.target_protocol,
        target_protocol=change.start_protocol,
        step=0,
        forward=() if change.back else change.steps,
    )
    last = Step(release=change.start, protocol=change.start_protocol, wipe=True)
    if change.kind is Kind.OFFLINE:
        steps = change.forward or (replace(last, together=True),)
        return replace(reverse, steps=steps, stage=Stage.STOPPING)
    marked = change.steps[: change.step]  # what every instance has had: upgrade.from, before it is left
    steps = change.forward or (*reversed(marked), last)
    return replace(reverse, kind=Kind.TWO_BOUNCES if len(steps) > 1 else Kind.ONE_BOUNCE, steps=steps)


def offline(situation: Situation) -> Part:
    """An offline change that is open: all stop, the group becomes empty, all start."""
    change = situation.change
    if change is None or change.stage is Stage.BOUNCING:
        return Part()
    made = situation.revision_of(change.present)
    if made is None or situation.observed.revision(made[0]) is None:
        return Part()
    return _stopping(situation, made[0]) if change.stage is Stage.STOPPING else _starting(situation, change, made[0])


def _stopping(situation: Situation, name: str) -> Part:
    running = [pod for pod in situation.observed.pods if not pod.deleting]
    if running:
        permit = may_keep_stopping(situation)
        if not isinstance(permit, Permit):
            return Part(verdicts=(permit,))
        stops = tuple(
            StopPod(pod=pod, message=f"pod {pod.name} stops with all others", permit=permit) for pod in running
        )
        return Part(actions=stops, verdicts=(permit,))
    verdict = may_start_together(situation)
    if not isinstance(verdict, Permit):
        text = f"All instances are stopped. Waiting: {verdict.reason}"
        return Part(waits=(Wait(severity=Severity.PROGRESS, reason="Stopped", message=text),), verdicts=(verdict,))
    change = situation.record.change
    if change is None:
        return Part()
    slots = tuple(_restarted(situation, slot, change, name) for slot in situation.record.slots)
    new = replace(situation.record, slots=slots, change=replace(change, stage=Stage.STARTING))
    text = f"all instances start with {change.target}: {verdict.reason}"
    action = WriteRecord(record=new, change=RecordChange.STARTING, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def _restarted(situation: Situation, slot: Slot, change: Change, name: str) -> Slot:
    wipes = wiped(situation, slot, change.present)
    marks = situation.committed
    return replace(slot, revision=name, generation=slot.generation + wipes, away=True, left=(), marks=marks)


def _starting(situation: Situation, change: Change, name: str) -> Part:
    """All of them come back, and then the change is done."""
    outdated = [slot for slot in situation.record.slots if slot.revision != name]
    if outdated:
        return _corrected(situation, name)
    verdict = may_step(situation, change, name)
    if not isinstance(verdict, Permit):
        text = f"Waiting until all instances run {change.target}: {verdict.reason}"
        return Part(waits=(Wait(severity=Severity.PROGRESS, reason="Starting", message=text),), verdicts=(verdict,))
    slots = tuple(replace(slot, away=False, left=(), marks=None) for slot in situation.record.slots)
    done: Record = replace(
        situation.record, slots=slots, change=None, release=change.target, protocol=change.target_protocol
    )
    text = f"every instance runs {change.target}"
    action = WriteRecord(record=done, change=RecordChange.DONE, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def _corrected(situation: Situation, name: str) -> Part:
    """What instances are made from was changed while none of them runs yet."""
    verdict = may_start_over(situation)
    if not isinstance(verdict, Permit):
        text = f"Did not start the instances from {name}: {verdict.reason}"
        return Part(waits=(Wait(severity=Severity.HELD, reason="Starting", message=text),), verdicts=(verdict,))
    slots = tuple(replace(slot, revision=name) for slot in situation.record.slots)
    text = f"all instances start from {name}: {verdict.reason}"
    new = replace(situation.record, slots=slots)
    action = WriteRecord(record=new, change=RecordChange.CORRECTED, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))
