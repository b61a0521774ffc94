"""The plan of one pass, as a data flow: whose quorum is it → what disks → what pods → which voters.

An exclusive action stands alone; independent creations go together; an act on the quorum is planned only when nothing
else is left to do. With an invalid spec (`repair_only`) pods and disks are still kept, and nothing is changed.
"""

from dataclasses import replace

from kafka_quorum.model.actions import (
    Action,
    DeletePod,
    MarkPod,
    RecordChange,
    WriteRecord,
    stamped,
    stops_kafka,
)
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import with_nodes
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan, Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan import (
    admission,
    disks,
    ghosts,
    leaving,
    levels,
    lost_disks,
    membership,
    revisions,
    rolls,
    support,
)
from kafka_quorum.plan.identity import assess
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.pods import marks, pods
from kafka_quorum.plan.unbound import unbound

_SOON_S = 0.4
"""When something is under way: two no-op records come every second, so each look sees the log move."""
_LATER_S = 5.0
"""When a person, or the cluster, must do something first; watches wake us earlier."""
_TICK_S = 10.0


def plan(desired: Desired, observed: Observed, *, now_s: float, repair_only: bool = False) -> Plan:
    """What to do now. `now_s` is wall-clock seconds since the epoch, compared with the kubelet's stamps only."""
    if desired.paused:
        text = "spec.paused is true: nothing is created, changed or repaired until it is false"
        return _finished(Part(waits=(Wait(severity=Severity.HELD, reason="Paused", message=text),)), observed)
    settled = assess(desired, observed, repair_only=repair_only)
    if isinstance(settled, Part):
        return _finished(settled, observed)
    situation = Situation(
        desired=desired, observed=observed, record=settled.record, now_s=now_s, repair_only=repair_only
    )
    planned = _finished(_of_record(situation), observed, soaks_s=levels.soak_left_s(situation))
    return replace(planned, features=levels.plans(situation))


def _of_record(situation: Situation) -> Part:
    observed, repair_only = situation.observed, situation.repair_only
    changes = admission.moved(situation) if repair_only else merged((_nodes(situation), revisions.revisions(situation)))
    held = () if repair_only else (*revisions.unsupported(situation), *_static(situation))
    reformat = not repair_only and revisions.format_pending(situation)
    upkeep = merged(
        (
            Part(waits=(*held, *unbound(situation))),
            changes,
            membership.first_leader(situation),
            levels.seen(situation),
            lost_disks.lost(situation),
            leaving.lost_nodes(situation),
            leaving.removed(situation),
            disks.claims(situation),
            support.support(situation),
            disks.formatting(situation, create=not reformat),
            pods(situation),
            leaving.released(situation, delete=not repair_only),
            marks(situation),
            Part(waits=(*membership.stale_waits(situation), *_strangers(observed))),
        )
    )
    upkeep = _without_marks_of_what_goes(upkeep)
    voters = membership.membership(situation)
    if membership.is_second_half(voters, observed):
        return merged((Part(waits=upkeep.waits, verdicts=upkeep.verdicts), voters))
    if observed.status.feature_operation is not None:
        voters = _silent(voters)
    later = _releases(situation, voters)
    if upkeep.exclusive is not None or upkeep.actions:
        voters, later = (_silent(part) for part in (voters, later))
    # While a change is open, what it waits for is what a person should read first.
    open_ = observed.status.operation is not None
    return merged((voters, upkeep, later) if open_ else (upkeep, voters, later))


def _releases(situation: Situation, voters: Part) -> Part:
    """What is done when the voters are as they should be: rolls, then ghosts and feature levels, then larger claims.

    A feature step that is open comes before all of that, and before the voters: it is a matter of two looks.
    """
    if situation.observed.status.feature_operation is not None:
        return levels.given_up(situation.observed) if situation.repair_only else levels.step(situation)
    if situation.repair_only:
        return Part()
    parts = (
        levels.turned_dynamic(situation),
        rolls.roll(situation),
        ghosts.ghosts(situation, in_the_way=True),
        levels.step(situation),
        ghosts.ghosts(situation, in_the_way=False),
        disks.growth(situation),
    )
    return merged(map(_silent, parts)) if voters.exclusive is not None else _one_by_one(parts)


def _one_by_one(parts: tuple[Part, ...]) -> Part:
    """The first of these that has something to do or to ask, with what all of them say."""
    acting = next((part for part in parts if part.exclusive is not None or part.actions or part.questions), None)
    return merged(part if part is acting else _silent(part) for part in parts)


def _silent(part: Part) -> Part:
    """What a part says, without what it would do."""
    return Part(waits=part.waits, verdicts=part.verdicts)


def _static(situation: Situation) -> tuple[Wait, ...]:
    """A static quorum's voters stand in the properties of all its nodes: they change when it is dynamic."""
    record = situation.record
    if not record.static or situation.requested == record.node_ids:
        return ()
    way_out = "name kraft.version 1 in spec.kafka.features.levels first"
    text = f"the voters of a static quorum do not change: {way_out}"
    return (Wait(severity=Severity.HELD, reason="StaticQuorum", message=text),)


def _strangers(observed: Observed) -> tuple[Wait, ...]:
    """Objects that carry our labels, and that this operator did not make."""
    if not observed.strangers:
        return ()
    listed = ", ".join(map(str, observed.strangers))
    text = f"objects with this quorum's labels are not this operator's, and are left alone: {listed}. Remove the labels"
    return (Wait(severity=Severity.DEGRADED, reason="ForeignObject", message=text),)


def _without_marks_of_what_goes(part: Part) -> Part:
    """A pod that is deleted is not marked beside it: the mark would change the version that the deletion names."""
    going = {action.pod.uid for action in part.actions if isinstance(action, DeletePod)}
    kept = (action for action in part.actions if not (isinstance(action, MarkPod) and action.pod.uid in going))
    return replace(part, actions=tuple(kept))


def _nodes(situation: Situation) -> Part:
    record = situation.record
    added = [node_id for node_id in situation.wanted if node_id not in record.node_ids]
    if not added:
        return Part()
    message = f"controllers {', '.join(map(str, added))} are wanted, and will join one by one"
    write = WriteRecord(record=with_nodes(record, added), change=RecordChange.NODES_ADDED, message=message)
    return Part(exclusive=write)


def _finished(part: Part, observed: Observed, soaks_s: float = 0.0) -> Plan:
    """The plan, in which each guarded action carries the time of the look that it was judged by."""
    chosen = _one_stop(part.actions) if part.exclusive is None else (part.exclusive,)
    actions = tuple(stamped(action, observed.looked_at_s) for action in chosen)
    return Plan(
        actions=actions,
        waits=part.waits,
        verdicts=part.verdicts,
        requeue_s=_requeue_s(part.waits, soaks_s, unproven=_unproven(observed)),
        questions=part.questions,
    )


def _one_stop(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """Of the actions that stop a pod in which Kafka runs only the first: each was judged as if it were the only one."""
    first = next((action for action in actions if stops_kafka(action)), None)
    return tuple(action for action in actions if action is first or not stops_kafka(action))


def _unproven(observed: Observed) -> bool:
    return isinstance(observed.quorum, Known) and bool(observed.quorum.value.unproven)


def _requeue_s(waits: tuple[Wait, ...], soaks_s: float, *, unproven: bool) -> float:
    """When to look again. A soak may take days: it is looked at less often, and when it is over."""
    if unproven:
        return _SOON_S
    moving = {wait.reason for wait in waits if wait.severity is Severity.PROGRESS}
    if moving == {levels.SOAKING}:
        return min(max(soaks_s, _SOON_S), _LATER_S)
    if moving:
        return _SOON_S
    return _LATER_S if waits else _TICK_S
