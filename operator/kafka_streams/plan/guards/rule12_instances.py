"""Rule 12: at most one instance is away by an act of ours, and instances that run together understand each other."""

from collections.abc import Iterator

from kafka_quorum.model.known import Unknown
from kafka_quorum.model.names import GROUP
from kafka_streams.model.observed import Claim, Pod
from kafka_streams.model.permit import (
    BeginChange,
    DropState,
    KeepStopping,
    NextStep,
    RemoveInstance,
    StartOver,
    StartTogether,
    StopAll,
    StopInstance,
    TurnRound,
)
from kafka_streams.model.record import Change, Slot, Stage
from kafka_streams.model.way import NoWay
from kafka_streams.plan.facts import Situation, astray, contradicted, takes_part
from kafka_streams.plan.gates import (
    against_back,
    against_stop,
    group_settled,
    idle,
    leaving,
    serves_from_another,
    versions_agree,
    works,
)
from kafka_streams.plan.guards.registry import Answer, guard, no, unless, yes

_HOLD = f"{GROUP}/hold"


@guard(BeginChange)
def may_begin(situation: Situation) -> Answer:
    """A change begins while the application is well: what is wrong before would look like the change's fault."""
    if situation.change is not None:
        return no("another change is open")
    said = next(_not_well(situation, patching=situation.desired.runtime.release == situation.record.release), None)
    return no(said) if said is not None else yes("every instance takes part, and the group is settled")


def _not_well(situation: Situation, *, patching: bool) -> Iterator[str]:
    """What is wrong already. Instances that do not work may be what a new image of the same release repairs.

    One of them, or several that are lost already; one that takes part from another revision counts as well.
    """
    ill = [slot for slot in situation.record.slots if next(works(situation, slot), None) is not None]
    if patching and len(ill) > 1:
        ill = [slot for slot in ill if not idle(situation, slot) and not serves_from_another(situation, slot)]
        patching = not ill
    for slot in situation.record.slots:
        if slot.away:
            yield from against_back(situation, slot)
    if not patching:
        for slot in ill:
            yield from works(situation, slot)
    yield from group_settled(situation)


@guard(StopInstance)
def may_stop(situation: Situation, slot: Slot) -> Answer:
    """One instance stops, to start again from another revision. One that does not take part is no loss."""
    change = situation.change
    if astray(situation, slot):
        return _astray(situation, slot)
    if change is None or change.stage is not Stage.BOUNCING:
        return no("no change is open in which instances restart one after the other")
    value, made = change.present.upgrade_from, situation.runtime_of(change.present.release)
    if value and made is not None and not made.takes_upgrade_from:
        return no(f"it needs upgrade.from={value}, and spec.upgradeFrom names no variable and no config map: set one")
    others = next((other for other in situation.record.slots if other.index != slot.index and other.away), None)
    if others is not None:
        said = next(against_back(situation, others), "")
        return no(f"instance {others.index} was stopped before, and is not back yet{': ' if said else ''}{said}")
    if slot.away or (change.same_release and idle(situation, slot)):
        return _again(situation, slot)
    return unless(
        ((True, text) for text in against_stop(situation, slot)),
        f"every other instance takes part, and the group is settled without instance {slot.index} for a moment",
    )


def _astray(situation: Situation, slot: Slot) -> Answer:
    """A pod that is not what the record says, though no instance restarts now: the others take part without it."""
    pod = situation.observed.pod(slot)
    if pod is not None and pod.held:
        return no(f"pod {pod.name} has the annotation {_HOLD}: remove it")
    said = next(_others(situation, slot), None)
    return yes(f"every instance but {slot.index} takes part") if said is None else no(said)


def _again(situation: Situation, slot: Slot) -> Answer:
    """One that was stopped by us, and is not back, or is lost: only what takes part and is the last to do so stays."""
    pod = situation.observed.pod(slot)
    if pod is not None and pod.held:
        return no(f"pod {pod.name} has the annotation {_HOLD}: remove it")
    if situation.group is not None and not situation.members_of(slot):
        stopped = "was stopped by us, and " if slot.away else ""
        return yes(f"instance {slot.index} {stopped}does not take part")
    said = next(_others(situation, slot), None)
    return yes(f"every instance but {slot.index} takes part") if said is None else no(said)


def _others(situation: Situation, slot: Slot) -> Iterator[str]:
    """What speaks against all others taking part. A pod is ready, and has members, before the group settles with it."""
    others = [other for other in situation.record.slots if other.index != slot.index]
    yield from leaving(situation)
    for other in others:
        yield from works(situation, other, from_any=True)
    if others or not slot.away:
        yield from group_settled(situation)


@guard(NextStep)
def may_step(situation: Situation, change: Change, revisions: frozenset[str]) -> Answer:
    """A step ends when every instance runs what it says, is back, and the members show what the step is for.

    `revisions` are what instances may run from then.
    """
    for slot in situation.record.slots:
        if slot.revision not in revisions:
            return no(f"instance {slot.index} does not run from {' or '.join(sorted(revisions))} yet")
        said = next(against_back(situation, slot), None)
        if said is not None:
            return no(said)
    if change.last:
        return unless(((True, text) for text in versions_agree(situation)), "every member uses what it supports")
    return yes(f"every instance runs {change.present.release} with upgrade.from={change.present.upgrade_from}")


@guard(StopAll)
def may_stop_all(situation: Situation, way: NoWay) -> Answer:
    """All instances stop because a person said so, for this release, and an offline way leads there."""
    runtime = situation.desired.runtime
    held = next((pod.name for pod in situation.observed.pods if pod.held), None)
    return unless(
        (
            (way.offline is None, "no offline way leads there either"),
            (
                situation.desired.offline_to != str(runtime.release),
                f"the application would stop: set spec.offlineTo to {runtime.release} to allow that",
            ),
            (situation.change is not None, "another change is open"),
            (held is not None, f"pod {held} has the annotation {_HOLD}: remove it"),
        ),
        f"spec.offlineTo allows it for {runtime.release}",
    )


@guard(KeepStopping)
def may_keep_stopping(situation: Situation, pod: Pod) -> Answer:
    """The record says that all stop: each of them does, until the spec asks for what ran before.

    If no person has said that, but none took part when it was decided, then only while that is so.
    """
    change = situation.change
    if pod.held:
        return no(f"pod {pod.name} has the annotation {_HOLD}: remove it")
    if change is None or change.stage is not Stage.STOPPING:
        return no("the application is not being stopped")
    if not change.stops_all and situation.group is None:
        return no(f"the group is not known: {situation.silent}")
    if not change.stops_all and takes_part(situation, pod):
        return no(f"pod {pod.name} takes part, and no person has said that all stop")
    return yes("all instances stop")


@guard(RemoveInstance)
def may_remove(situation: Situation, index: int) -> Answer:
    """An instance leaves: its work goes to the others, which all take part."""
    if situation.change is not None:
        return no("a change is open: the number of instances stays until it is done")
    slot = situation.record.slot(index)
    held = next((pod.name for pod in situation.observed.pods if pod.index == index and pod.held), None)
    if held is not None:
        return no(f"pod {held} has the annotation {_HOLD}: remove it")
    if (said := next(leaving(situation), None)) is not None:
        return no(said)
    if slot is None:
        serves = any(pod.index == index and pod.serves for pod in situation.observed.pods)
        said = next(group_settled(situation), None) if serves else None
        return yes(f"instance {index} is not in the record any more") if said is None else no(said)
    if len(situation.record.slots) == 1:
        return yes("no instance is requested")
    return unless(
        ((True, text) for text in against_stop(situation, slot)), f"the others take over from instance {index}"
    )


@guard(StartOver)
def may_start_over(situation: Situation, lost: Slot | None = None) -> Answer:
    """Instances that do not run start from something else, all of them: the group is empty.

    `lost` is one of those that start together: it gets something else of their release, whatever the others do.
    """
    if lost is not None:
        return _lost(situation, lost)
    if (said := contradicted(situation)) is not None:
        return no(said)
    group = situation.group
    if group is None:
        return no(f"the group is not known: {situation.silent}")
    if not group.empty:
        return no(f"the group is not empty: it is {group.state.value}, with {len(group.members)} members")
    running = next((pod.name for pod in situation.observed.pods if pod.serves), None)
    return no(f"pod {running} is ready") if running is not None else yes("no instance is ready or in the group")


def _lost(situation: Situation, slot: Slot) -> Answer:
    """One that starts with all others, and takes no part, has no work to lose."""
    change, pod = situation.change, situation.observed.pod(slot)
    if change is None or change.stage is not Stage.STARTING:
        return no("the instances do not start together")
    if pod is not None and pod.held:
        return no(f"pod {pod.name} has the annotation {_HOLD}: remove it")
    lost = idle(situation, slot)
    return yes(f"instance {slot.index} does not take part") if lost else no(f"instance {slot.index} may take part")


@guard(StartTogether)
def may_start_together(situation: Situation) -> Answer:
    """After all have stopped: no pod is left, and the group is empty."""
    group, change = situation.group, situation.change
    if change is None or change.stage is not Stage.STOPPING:
        return no("the application was not stopped")
    if situation.observed.pods:
        return no(f"pod {situation.observed.pods[0].name} is not gone yet")
    if group is None:
        return no(f"the group is not known: {situation.silent}")
    if not group.empty:
        some = f"{len(group.members)} members" if group.members else f"state {group.state.value}"
        return no(f"the group is not empty yet: {some}. A member that was stopped stays until its session ends")
    return yes("no pod is left, and the group is empty")


@guard(TurnRound)
def may_turn_round(situation: Situation, change: Change) -> Answer:
    """An open change goes back where it came from: a person set the spec back.

    Instances that start together with its target stop for that. If no person has said that all stop, and one takes
    part by now, this needs a word, too.
    """
    runtime = situation.desired.runtime
    if (runtime.release, runtime.protocol) != (change.start, change.start_protocol):
        said = "only these two can be asked for. Set the spec back to one of them"
        return no(f"a change from {change.start} to {change.target} is open: {said}")
    if change.stage is Stage.STARTING and not change.stops_all and situation.desired.offline_to != str(change.start):
        at_work = next((pod.name for pod in situation.observed.pods if takes_part(situation, pod)), None)
        if at_work is not None or situation.group is None:
            why = f"the group is not known: {situation.silent}" if at_work is None else f"pod {at_work} takes part"
            return no(f"{why}, and all would stop: wait, or set spec.offlineTo to {change.start} to allow that")
    unread = next((slot.index for slot in situation.record.slots if situation.release_of(slot) is None), None)
    if unread is not None:
        return no(f"it is not known what instance {unread} is made from: its revision is gone")
    return yes(f"the spec asks for {change.start} again")


@guard(DropState)
def may_drop(situation: Situation, claim: Claim) -> Answer:
    """A claim of earlier state goes when its instance works with other state, and no change is open."""
    slot = situation.record.slot(claim.index)
    if slot is not None and slot.generation <= claim.generation:
        return no(f"instance {claim.index} uses it")
    if any(pod.index == claim.index and pod.generation == claim.generation for pod in situation.observed.pods):
        return no("a pod uses it")
    if isinstance(situation.observed.group, Unknown):
        return no(f"the group is not known: {situation.silent}")
    said = None if slot is None else next(against_back(situation, slot), None)
    return yes("its instance works with other state") if said is None else no(said)
