"""How many instances there are: the first record, more, and fewer. Pure."""

from dataclasses import replace

from kafka_quorum.model.known import Unknown
from kafka_quorum.model.permit import Permit
from kafka_streams.model import names
from kafka_streams.model.actions import RecordChange, StopPod, WriteRecord
from kafka_streams.model.application import Approve, Desired
from kafka_streams.model.observed import Observed, Revision
from kafka_streams.model.plan import Part, Severity, Wait, waiting
from kafka_streams.model.record import Record, Slot, with_slots
from kafka_streams.model.way import NoWay, Way
from kafka_streams.plan.facts import Situation, asked_way, contradicted
from kafka_streams.plan.guards.rule12_instances import may_remove, may_start_over
from kafka_streams.plan.upkeep import new_revision


def minted(desired: Desired, observed: Observed) -> Part:
    """The first record: the group must be empty, or two applications would share its work."""
    if isinstance(observed.group, Unknown):
        text = f"Waiting for the group {desired.application_id}: {observed.group.reason}"
        return waiting(Severity.PROGRESS, "GroupUnknown", text)
    group = observed.group.value
    if group.members:
        text = (
            f"Did not make any instance: group {desired.application_id} has {len(group.members)} members already, for"
            f" example at {group.members[0].host}. Stop them, adopt their StatefulSet or"
            " Deployment with spec.adopt, or take another application id"
        )
        return waiting(Severity.HELD, "GroupInUse", text)
    if observed.pods:  # one that starts would join the group beside another release
        text = (
            f"Did not make any instance: pod {observed.pods[0].name} is there, and no record says what it runs. Restore"
            " the record, or delete the pods of the application"
        )
        return waiting(Severity.HELD, "GroupInUse", text)
    runtime = desired.runtime
    name = names.revision_name(desired.name, runtime, "")
    new = new_revision(observed, name, Revision(name=name, number=0, runtime=runtime, upgrade_from=""))
    if new is not None:
        return Part(exclusive=new)
    # Claims without a record are of an earlier one: nothing says any more which release wrote their state.
    first = max((claim.generation for claim in observed.claims), default=0) + 1
    record = Record(
        application_id=desired.application_id,
        release=runtime.release,
        protocol=runtime.protocol,
        slots=tuple(Slot(index=index, revision=name, generation=first) for index in range(desired.replicas)),
    )
    text = f"{desired.replicas} instances of {runtime.release} are made"
    return Part(exclusive=WriteRecord(record=record, change=RecordChange.MINTED, message=text))


def scaled(situation: Situation) -> Part:
    """More instances come at once, fewer go one by one, the highest first; neither while a change is open."""
    surplus = _surplus(situation)
    if surplus is not None:
        return surplus
    record, wanted = situation.record, situation.desired.replicas
    if len(record.slots) == wanted:
        return Part()
    if record.change is not None:
        text = f"{wanted} instances are requested: their number changes when the open change is done"
        return waiting(Severity.PROGRESS, "ChangeOpen", text)
    if len(record.slots) > wanted:
        return _fewer(situation)
    if (said := contradicted(situation)) is not None:
        return waiting(Severity.HELD, "RecordDiffers", f"Did not add instances: {said}")
    return _more(situation) if record.slots else _anew(situation) or _more(situation)


def _anew(situation: Situation) -> Part | None:
    """What speaks against instances of the spec's release after there were none: what ran before may still be there."""
    record, runtime = situation.record, situation.desired.runtime
    if (runtime.release, runtime.protocol) == (record.release, record.protocol):
        return None
    way = asked_way(situation)
    if isinstance(way, Unknown):
        text = f"The way to {runtime.release} is not known yet: {way.reason}"
        return waiting(Severity.PROGRESS, "BrokersUnknown", text)
    if isinstance(way, NoWay) and way.offline is None:
        why = " ".join(reason.text for reason in way.reasons)
        return waiting(Severity.HELD, "NoWay", f"Did not make instances of {runtime.release}. {why}")
    if situation.desired.approve is Approve.MANUAL and (unsaid := _unapproved(situation, way)) is not None:
        return unsaid
    left = next((f"pod {pod.name} is not gone yet" for pod in situation.observed.pods), None)
    verdict = may_start_over(situation)
    if left is None and isinstance(verdict, Permit):
        return None
    text = f"Did not make instances of {runtime.release} yet: {left or verdict.reason}"
    return Part(waits=(Wait(severity=Severity.PROGRESS, reason="Stopped", message=text),), verdicts=(verdict,))


def _unapproved(situation: Situation, way: Way | NoWay) -> Part | None:
    """What a person has not said about a way yet. One that leads there offline only is approved by `spec.offlineTo`."""
    desired, release = situation.desired, situation.desired.runtime.release
    if isinstance(way, NoWay):
        if desired.offline_to == str(release):
            return None
        text = f"Did not make instances of {release}: it waits for approval. Set spec.offlineTo to {release}"
        return waiting(Severity.HELD, "OnlyOffline", text)
    approval = names.way_hash(way, str(situation.record.release))
    if desired.approved == approval:
        return None
    text = f"The way to {release} waits for approval: set spec.approved to {approval}"
    return waiting(Severity.HELD, "ApprovalNeeded", text)


def _more(situation: Situation) -> Part:
    record, wanted = situation.record, situation.desired.replicas
    if not record.slots:  # nothing runs: what comes is of the spec's release, whatever ran before
        runtime = situation.desired.runtime
        record = replace(record, release=runtime.release, protocol=runtime.protocol)
    revision = record.slots[0].revision if record.slots else situation.wanted
    if situation.observed.revision(revision) is None:
        return Part()
    have = {slot.index for slot in record.slots}
    first = max((claim.generation for claim in situation.observed.claims), default=0) + 1  # never state of before
    new = [Slot(index=index, revision=revision, generation=first) for index in range(wanted) if index not in have]
    text = f"instances {', '.join(str(slot.index) for slot in new)} are added"
    more = with_slots(record, *new)
    return Part(exclusive=WriteRecord(record=more, change=RecordChange.ADDED, message=text))


def _fewer(situation: Situation) -> Part:
    record, index = situation.record, situation.record.slots[-1].index
    verdict = may_remove(situation, index)
    if not isinstance(verdict, Permit):
        text = f"Did not remove instance {index}: {verdict.reason}"
        wait = Wait(severity=Severity.PROGRESS, reason="Gate", message=text, index=index)
        return Part(waits=(wait,), verdicts=(verdict,))
    fewer = replace(record, slots=record.slots[:-1])
    text = f"instance {index} leaves"
    action = WriteRecord(record=fewer, change=RecordChange.REMOVED, message=text, permit=verdict)
    return Part(exclusive=action, verdicts=(verdict,))


def _surplus(situation: Situation) -> Part | None:
    """A pod of an instance that is not in the record any more stops."""
    known = {slot.index for slot in situation.record.slots}
    for pod in situation.observed.pods:
        if pod.index in known or pod.deleting:
            continue
        verdict = may_remove(situation, pod.index)
        if isinstance(verdict, Permit):
            stop = StopPod(pod=pod, message=f"pod {pod.name} stops: its instance has left", permit=verdict)
            return Part(exclusive=stop, verdicts=(verdict,))
    return None
