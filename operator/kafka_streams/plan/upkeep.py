"""What is kept as the record says: revisions, claims, pods. Independent actions go together. Pure."""

from collections.abc import Iterator
from typing import Final

from kafka_quorum.model.permit import Permit, Verdict
from kafka_quorum.model.pods import NEVER_MADE, NOT_PULLED, Terminated, Waiting
from kafka_streams.model import names
from kafka_streams.model.actions import (
    Action,
    CreateClaim,
    CreateFile,
    CreatePod,
    CreateRevision,
    DeleteClaim,
    DeleteRevision,
    RecordChange,
    ReplacePod,
    WriteRecord,
)
from kafka_streams.model.observed import Observed, Pod, Revision
from kafka_streams.model.plan import Part, Severity, Wait
from kafka_streams.model.record import Slot, Stage, with_slots, with_state
from kafka_streams.plan.facts import Situation, bouncing, contradicted
from kafka_streams.plan.gates import against_back, idle
from kafka_streams.plan.guards.rule12_instances import may_drop

KEPT: Final = 10
"""How many revisions stay besides those in use: people look back at them."""
_AT_ONCE: Final = 20


def new_revision(observed: Observed, name: str, revision: Revision) -> CreateRevision | None:
    """The creation of a revision that does not exist yet, with the next number."""
    if observed.revision(name) is not None:
        return None
    number = max((one.number for one in observed.revisions), default=0) + 1
    made = Revision(name=name, number=number, runtime=revision.runtime, upgrade_from=revision.upgrade_from)
    return CreateRevision(revision=made)


def revisions(situation: Situation) -> Part:
    """The revision of the spec exists, and that of the present step."""
    wanted = [(situation.wanted, situation.desired.runtime, "")]
    change = situation.change
    if change is not None and (made := situation.revision_of(change.present)) is not None:
        wanted.append((*made, change.present.upgrade_from))
    found: dict[str, Action] = {}
    for name, runtime, value in wanted:
        revision = Revision(name=name, number=0, runtime=runtime, upgrade_from=value)
        if name not in found and (new := new_revision(situation.observed, name, revision)) is not None:
            found[name] = new
    return Part(exclusive=next(iter(found.values()), None))


def files(situation: Situation) -> Part:
    """A revision that pods are made from has its file of properties: without it they do not start."""
    used = {slot.revision for slot in situation.record.slots}
    lost = (
        revision
        for revision in situation.observed.revisions
        if revision.name in used
        and revision.runtime.properties is not None
        and revision.name not in situation.observed.files
    )
    return Part(actions=tuple(CreateFile(revision=revision) for revision in lost))


def old_revisions(situation: Situation) -> Part:
    """Delete what no instance, no pod, no step and no spec needs; never the newest ones.

    Those of a release that an open change may go back to stay, because pods would be made from them.
    """
    record, change = situation.record, situation.change
    releases = {record.release} | ({change.start, change.target} if change is not None else set())
    needed = {situation.wanted, *(slot.revision for slot in record.slots)}
    needed |= {pod.revision for pod in situation.observed.pods}
    newest = sorted(situation.observed.revisions, key=lambda one: (-one.number, one.name))
    for release in releases:
        made = [one.name for one in newest if one.runtime.release == release]
        needed |= set(made) if change is not None else set(made[:1])
    needed |= {one.name for one in newest[:KEPT]}
    old = [one for one in newest if one.name not in needed]
    deleted = (
        DeleteRevision(revision=one, file_uid=situation.observed.files.get(one.name, "")) for one in old[:_AT_ONCE]
    )
    return Part(actions=tuple(deleted))


def states(situation: Situation) -> Part:
    """An adopted claim that is gone with its pod is not created again by its name: its instance gets one of its own."""
    for slot in situation.record.slots:
        if not slot.claim or situation.observed.pod(slot) is not None or situation.observed.claim(slot) is not None:
            continue
        record = with_slots(situation.record, with_state(slot, wiped=True, highest=situation.highest(slot)))
        text = f"claim {slot.claim} is gone: instance {slot.index} restores its state into a new one"
        return Part(exclusive=WriteRecord(record=record, change=RecordChange.STATE_LOST, message=text))
    return Part()


def pods(situation: Situation) -> Part:
    """Each instance has a claim and a pod, made from its revision, unless the application is stopped."""
    change = situation.change
    if change is not None and change.stage is Stage.STOPPING:
        return Part()
    actions: list[Action] = []
    waits: list[Wait] = []
    said = contradicted(situation)
    for slot in situation.record.slots:
        pod = situation.observed.pod(slot)
        if pod is None and situation.observed.revision(slot.revision) is None:
            text = f"Did not create the pod of instance {slot.index}: its revision {slot.revision} is gone"
            waits.append(Wait(severity=Severity.HELD, reason="RevisionGone", message=text, index=slot.index))
        elif said is not None and (pod is None or (pod.revision != slot.revision and not pod.serves)):
            text = f"Did not create or replace the pod of instance {slot.index}: {said}"
            waits.append(Wait(severity=Severity.HELD, reason="RecordDiffers", message=text, index=slot.index))
        elif pod is None:
            made = _created(situation, slot)
            actions.extend([made] if made is not None else [])
            waits.append(_starts(slot.index, f"Instance {slot.index} starts"))
        elif pod.held and not pod.finished and _never_ran(situation, slot, pod):
            text = f"Did not replace pod {pod.name}: it has the annotation {names.HOLD}: remove it"
            waits.append(Wait(severity=Severity.HELD, reason="Held", message=text, index=slot.index))
        elif not pod.deleting and (pod.finished or _never_ran(situation, slot, pod)):
            actions.append(ReplacePod(pod=pod))
        else:
            waits.extend(_waits(situation, slot, pod))
    return Part(actions=tuple(actions), waits=tuple(waits))


def _never_ran(situation: Situation, slot: Slot, pod: Pod) -> bool:
    """Whether a pod is not what the record says, and takes no part: the record was corrected while nothing ran.

    While the group is not known, one that is not ready may take part, as any other.
    """
    other = (pod.revision, pod.generation) != (slot.revision, slot.generation)
    return other and bouncing(situation) is None and idle(situation, slot)


def _created(situation: Situation, slot: Slot) -> Action | None:
    revision = situation.observed.revision(slot.revision)
    if revision is None:
        return None
    if revision.runtime.state_path and situation.observed.claim(slot) is None:
        return CreateClaim(slot=slot)
    claim = situation.observed.claim(slot)
    return None if claim is not None and claim.deleting else CreatePod(slot=slot, revision=revision)


def _starts(index: int, text: str) -> Wait:
    return Wait(severity=Severity.PROGRESS, reason="Starting", message=text, index=index)


def _waits(situation: Situation, slot: Slot, pod: Pod) -> Iterator[Wait]:
    said, index = "", slot.index
    match None if pod.deleting else pod.container:  # one that is being stopped ends: that is no crash
        case Waiting(reason=reason) as kept if kept.init or reason in NEVER_MADE:
            text = f"Instance {index} does not start: {kept.words}"
            yield Wait(severity=Severity.DEGRADED, reason="PodStuck", message=text, index=index)
        case Waiting(reason=reason, message=message) if reason in NOT_PULLED:
            text = f"Instance {index} does not start: its image cannot be pulled ({message or reason})"
            yield Wait(severity=Severity.DEGRADED, reason="ImagePullFailed", message=text, index=index)
        case Waiting(last_exit=Terminated() as last) | (Terminated() as last):
            said = last.message.strip() or f"exit code {last.exit_code}"
            text = f"Instance {index} ended ({said}), and starts again{_way_back(situation, slot)}"
            yield Wait(severity=Severity.DEGRADED, reason="InstanceCrashes", message=text, index=index)
        case _ if pod.unschedulable:
            text = f"Instance {index} is not scheduled: {pod.unschedulable}"
            yield Wait(severity=Severity.DEGRADED, reason="Unschedulable", message=text, index=index)
        case _ if slot.away:
            why = next(against_back(situation, slot), "")
            if why:
                yield _starts(index, f"Waiting for instance {index}: {why}{_way_back(situation, slot)}")
        case _:
            pass


def _way_back(situation: Situation, slot: Slot) -> str:
    """How a person goes back, while a change is open."""
    change = situation.change
    if change is None or change.back or not slot.away:
        return ""
    start = change.start
    if change.stage is Stage.BOUNCING:
        return f". To go back, set release, image and template as they were for {start}; the others are untouched"
    word = "" if change.stops_all else f", and spec.offlineTo to {start}"
    return f". To go back, set release, image and template as they were for {start}{word}: then all stop first"


def claims(situation: Situation) -> Part:
    """Claims of earlier state are deleted, one at a time, when the instance works without them."""
    verdicts: list[Verdict] = []
    for claim in sorted(situation.observed.claims, key=lambda one: (one.index, one.generation)):
        slot = situation.record.slot(claim.index)
        if claim.deleting or (slot is not None and slot.generation <= claim.generation):
            continue
        verdict = may_drop(situation, claim)
        verdicts.append(verdict)
        if isinstance(verdict, Permit):
            return Part(actions=(DeleteClaim(claim=claim, permit=verdict),), verdicts=tuple(verdicts))
    return Part(verdicts=tuple(verdicts))
