"""Which change begins, turns round, or stops everything: what a person asks for becomes an act (S1 S2 S5). Pure."""

from dataclasses import replace

from kafka_quorum.model.known import Unknown
from kafka_quorum.model.permit import Permit
from kafka_streams.model import names
from kafka_streams.model.actions import RecordChange, StopPod, WriteRecord
from kafka_streams.model.application import Approve
from kafka_streams.model.plan import Part, Severity, Wait, merged, waiting
from kafka_streams.model.record import Change, Record, Slot, Stage, with_slots, with_state
from kafka_streams.model.way import Kind, NoWay, Reason, Step, Way
from kafka_streams.plan.bounces import unreadable, wiped
from kafka_streams.plan.facts import Situation, asked_way, takes_part
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
    if (runtime.release, runtime.protocol) == (record.release, record.protocol):
        if (again := _over(situation)) is not None:
            return again
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
    value = next((step.upgrade_from for step in way.steps if step.upgrade_from), "")
    if value and not runtime.takes_upgrade_from:
        text = (
            f"Did not begin the change to {runtime.release}: the first bounce needs upgrade.from={value}, and"
            " spec.upgradeFrom names neither a variable nor a config map. Set one of them"
        )
        return waiting(Severity.HELD, "NoUpgradeFrom", text)
    approval = names.way_hash(way, str(record.release))
    if situation.desired.approve is Approve.MANUAL and situation.desired.approved != approval:
        text = f"The way to {runtime.release} waits for approval: set spec.approved to {approval}"
        return waiting(Severity.HELD, "ApprovalNeeded", text)
    return _together(situation, way) or _begin(situation, way)


def _together(situation: Situation, way: Way) -> Part | None:
    """Nothing runs, so no instance is lost: what may still start stops first, then all start with the other release."""
    verdict = may_start_over(situation)
    if not isinstance(verdict, Permit):
        return None
    runtime = situation.desired.runtime
    wipe = any(step.wipe for step in way.steps)
    step = Step(release=runtime.release, protocol=runtime.protocol, wipe=wipe, together=True)
    stopped = replace(way, steps=(step,))  # of its own kind, because no person has said that all stop
    new = replace(situation.record, change=_change(situation, stopped, Stage.STOPPING))
    text = f"all instances start with {runtime.release}: {verdict.reason}"
    action = WriteRecord(record=new, change=RecordChange.CORRECTED, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def _over(situation: Situation) -> Part | None:
    """An application of which nothing runs starts from the spec: an image that never worked is corrected so."""
    verdict = may_start_over(situation)
    if not isinstance(verdict, Permit):
        return None
    slots = tuple(
        replace(slot, revision=situation.wanted, away=False, left=(), marks=None) for slot in situation.record.slots
    )
    new = replace(situation.record, slots=slots)
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
        otherwise = f" Otherwise {verdict.reason}" if way.offline is not None else ""
        text = f"Did not begin the change to {situation.desired.runtime.release}. {why}{otherwise}"
        wait = Wait(severity=Severity.HELD, reason="NoWay" if way.offline is None else "OnlyOffline", message=text)
        return Part(waits=(wait,), verdicts=(verdict,))
    new = replace(situation.record, change=_change(situation, way.offline, Stage.STOPPING))
    text = f"all instances stop for {situation.desired.runtime.release}: {verdict.reason}"
    action = WriteRecord(record=new, change=RecordChange.STOPPING_ALL, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def turns(situation: Situation) -> Part:
    """An open change, and a spec that asks for another release than its target: it goes back, or waits for a person."""
    record, change, runtime = situation.record, situation.change, situation.desired.runtime
    if change is None or (runtime.release, runtime.protocol) == (change.target, change.target_protocol):
        return Part()
    verdict = may_turn_round(situation, change)
    if not isinstance(verdict, Permit):
        text = f"Did not change to {runtime.release}: {verdict.reason}"
        if change.stage is Stage.STARTING and runtime.release == change.start:  # it goes on to its end meanwhile
            return Part(waits=(Wait(severity=Severity.PROGRESS, reason="Gate", message=text),), verdicts=(verdict,))
        return Part(
            waits=(Wait(severity=Severity.HELD, reason="ChangeOpen", message=text),),
            verdicts=(verdict,),
        )
    if change.stage is Stage.STOPPING:
        new = replace(record, change=_unstopped(situation, change))
        text = f"the application starts again with {change.start}: {verdict.reason}"
    else:
        back = turned(change, plain=_plain(situation, change))
        said = situation.desired.offline_to == str(change.start) and back.stage is Stage.STOPPING
        new = replace(record, change=replace(back, kind=Kind.OFFLINE) if said else back)
        text = f"the change goes back from {change.target} to {change.start}: {verdict.reason}"
    action = WriteRecord(record=new, change=RecordChange.TURNED, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def _unstopped(situation: Situation, change: Change) -> Change | None:
    """What is open if instances do not stop for a change any more: what they had begun before, if anything."""
    record = situation.record
    same = (record.release, record.protocol) == (change.start, change.start_protocol)
    return None if same else _resumed(change)


def _resumed(change: Change) -> Change:
    """An offline change that was turned back and is not to be any more: the instances are made from its target."""
    step = Step(release=change.start, protocol=change.start_protocol, together=True)
    return replace(
        change,
        start=change.target,
        target=change.start,
        start_protocol=change.target_protocol,
        target_protocol=change.start_protocol,
        steps=(step,),
        stage=Stage.STARTING,
        step=0,
        forward=(),
    )


def _plain(situation: Situation, change: Change) -> bool:
    """Whether an instance runs the target without `upgrade.from` already: also in a first bounce, if it was resumed."""
    pods = {pod.revision for pod in situation.observed.pods if not pod.finished}
    made = (situation.observed.revision(name) for name in pods | {slot.revision for slot in situation.record.slots})
    return any(one is not None and one.runtime.release == change.target and not one.upgrade_from for one in made)


def turned(change: Change, *, plain: bool) -> Change:
    """The change back, or forward again. If an instance is `plain` already, it leads back over `upgrade.from`.

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
    wipe = unreadable(change.target, change.start)
    last = Step(release=change.start, protocol=change.start_protocol, wipe=wipe)
    if change.stage is not Stage.BOUNCING:
        steps = change.forward or (replace(last, together=True),)
        return replace(reverse, steps=steps, stage=Stage.STOPPING)
    marked = change.steps[: -1 if plain else change.step]  # upgrade.from, before the target is left
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
    if change.stage is Stage.STARTING:
        return _starting(situation, change, made[0])
    return _called_off(situation, change) or _stopping(situation, made[0])


def _called_off(situation: Situation, change: Change) -> Part | None:
    """What was to stop because no instance took part goes on if one does by now: no person has said that all stop."""
    back = next((pod for pod in situation.observed.pods if takes_part(situation, pod)), None)
    if change.stops_all or back is None:
        return None
    text = f"instance {back.index} takes part by now, so the others start with {change.start} again"
    new = replace(situation.record, change=_unstopped(situation, change))
    action = WriteRecord(record=new, change=RecordChange.CALLED_OFF, message=text)
    return Part(exclusive=action)


def _stopping(situation: Situation, name: str) -> Part:
    running = [pod for pod in situation.observed.pods if not pod.deleting]
    if running:
        permits = [(pod, may_keep_stopping(situation, pod)) for pod in running]
        stops = tuple(
            StopPod(pod=pod, message=f"pod {pod.name} stops with all others", permit=permit)
            for pod, permit in permits
            if isinstance(permit, Permit)
        )
        waits = tuple(
            Wait(
                severity=Severity.HELD if pod.held else Severity.PROGRESS,
                reason="Held" if pod.held else "Gate",
                message=f"Did not stop a pod: {permit.reason}",
            )
            for pod, permit in permits
            if not isinstance(permit, Permit)
        )
        return Part(actions=stops, waits=waits, verdicts=tuple(permit for _, permit in permits))
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
    kept = with_state(slot, wiped=wiped(situation, slot, change.present), highest=situation.highest(slot))
    return replace(kept, revision=name, away=True, left=(), marks=situation.committed)


def _starting(situation: Situation, change: Change, name: str) -> Part:
    """All of them come back, and then the change is done."""
    made = frozenset(slot.revision for slot in situation.record.slots) or frozenset({name})
    verdict = may_step(situation, change, made)  # what the spec says by now may follow one instance at a time
    if not isinstance(verdict, Permit):
        corrected = _corrected(situation, name)
        text = f"Waiting until all instances run {change.target}: {verdict.reason}"
        wait = Wait(severity=Severity.PROGRESS, reason="Starting", message=text)
        return merged((corrected, Part(waits=(wait,) if corrected.exclusive is None else (), verdicts=(verdict,))))
    slots = tuple(replace(slot, away=False, left=(), marks=None, adopted="") for slot in situation.record.slots)
    done: Record = replace(
        situation.record, slots=slots, change=None, release=change.target, protocol=change.target_protocol
    )
    text = f"every instance runs {change.target}"
    action = WriteRecord(record=done, change=RecordChange.DONE, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def _corrected(situation: Situation, name: str) -> Part:
    """What instances are made from was changed while they start: all get it if none runs yet, or else the lost ones."""
    late = tuple(slot for slot in situation.record.slots if slot.revision != name)
    verdict = may_start_over(situation) if late else None
    if isinstance(verdict, Permit):
        new = with_slots(situation.record, *(replace(slot, revision=name) for slot in late))
        text = f"all instances start from {name}: {verdict.reason}"
        action = WriteRecord(record=new, change=RecordChange.CORRECTED, message=text, permit=verdict)
        return Part(exclusive=action, verdicts=(verdict,))
    waits: list[Wait] = []
    for slot in late:
        pod, verdict = situation.observed.pod(slot), may_start_over(situation, slot)
        if isinstance(verdict, Permit):
            new = with_slots(situation.record, replace(slot, revision=name))
            text = f"instance {slot.index} starts from {name}: {verdict.reason}"
            action = WriteRecord(record=new, change=RecordChange.CORRECTED, message=text, permit=verdict)
            return Part(exclusive=action, verdicts=(verdict,))
        if pod is not None and pod.held:
            text = f"Did not start instance {slot.index} from {name}: {verdict.reason}"
            waits.append(Wait(severity=Severity.HELD, reason="Held", message=text, index=slot.index))
    return Part(waits=tuple(waits))
