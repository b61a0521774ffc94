"""The plan of one pass, as a data flow: whose quorum is it → what disks → what pods → which voters.

An exclusive action stands alone; independent creations go together; an act on the quorum is planned only when nothing
else is left to do. With an invalid spec (`repair_only`) pods and disks are still kept, and nothing is changed.
"""

from dataclasses import replace

from kafka_quorum.model.actions import (
    Action,
    DeletePod,
    KeepSpec,
    MarkPod,
    RecordChange,
    WriteRecord,
    stamped,
    stops_kafka,
)
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import IdentityRecord, with_nodes
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.nodes import target_revision, wanted_node_ids
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan, Severity, Wait
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
from kafka_quorum.plan.later import later_version
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
    if stopped := (*_paused(desired), *later_version(observed)):
        return _finished(Part(waits=stopped), observed)
    settled = assess(desired, observed, repair_only=repair_only)
    if isinstance(settled, Part):
        return _finished(settled, observed)
    part = _of_record(desired, observed, settled.record, now_s=now_s, repair_only=repair_only)
    planned = _finished(part, observed, soaks_s=levels.soak_left_s(desired, observed))
    return replace(planned, features=levels.plans(desired, observed, settled.record))


def _paused(desired: Desired) -> tuple[Wait, ...]:
    text = "spec.paused is true: nothing is created, changed or repaired until it is false"
    return (Wait(severity=Severity.HELD, reason="Paused", message=text),) if desired.paused else ()


def _of_record(
    desired: Desired, observed: Observed, record: IdentityRecord, *, now_s: float, repair_only: bool
) -> Part:
    wanted = record.node_ids if repair_only or record.static else wanted_node_ids(desired, record)
    target = target_revision(desired, observed, record)
    changes = (
        admission.moved(observed, record, target)
        if repair_only
        else merged((_nodes(record, wanted), revisions.revisions(desired, observed, record)))
    )
    held = () if repair_only else (*revisions.unsupported(desired, observed, record), *_static(desired, record))
    reformat = not repair_only and revisions.format_pending(desired, observed, record)
    upkeep = merged(
        (
            Part(waits=(*held, *unbound(desired, observed, record))),
            changes,
            membership.first_leader(observed, record),
            levels.seen(observed, record),
            lost_disks.lost(desired, observed, record, wanted),
            leaving.lost_nodes(desired, observed, record, wanted),
            leaving.removed(observed, record, wanted),
            disks.claims(desired, observed, record, wanted),
            support.support(desired, observed, record),
            Part() if repair_only else _kept_spec(observed, record),
            disks.formatting(desired, observed, record, now_s=now_s, create=not reformat),
            pods(desired, observed, record, wanted),
            leaving.released(desired, observed, record, delete=not repair_only),
            marks(observed, record),
            Part(waits=(*membership.stale_waits(record, observed), *_strangers(observed))),
        )
    )
    upkeep = _without_marks_of_what_goes(upkeep)
    voters = membership.membership(desired, observed, record, wanted)
    if membership.is_second_half(voters, observed):
        return merged((Part(waits=upkeep.waits, verdicts=upkeep.verdicts), voters))
    if observed.status.feature_operation is not None:
        voters = _silent(voters)
    later = _releases(desired, observed, record, voters, repair_only=repair_only)
    if upkeep.exclusive is not None or upkeep.actions:
        voters, later = (_silent(part) for part in (voters, later))
    # While a change is open, what it waits for is what a person should read first.
    open_ = observed.status.operation is not None
    return merged((voters, upkeep, later) if open_ else (upkeep, voters, later))


def _releases(desired: Desired, observed: Observed, record: IdentityRecord, voters: Part, *, repair_only: bool) -> Part:
    """What is done when the voters are as they should be: rolls, then ghosts and feature levels, then larger claims.

    A feature step that is open comes before all of that, and before the voters: it is a matter of two looks.
    """
    if observed.status.feature_operation is not None:
        return levels.given_up(observed) if repair_only else levels.step(desired, observed, record)
    if repair_only:
        return Part()
    parts = (
        levels.turned_dynamic(observed, record),
        rolls.roll(desired, observed, record),
        ghosts.ghosts(desired, observed, record, in_the_way=True),
        levels.step(desired, observed, record),
        ghosts.ghosts(desired, observed, record, in_the_way=False),
        disks.growth(desired, observed, record),
    )
    return merged(map(_silent, parts)) if voters.exclusive is not None else _one_by_one(parts)


def _one_by_one(parts: tuple[Part, ...]) -> Part:
    """The first of these that has something to do or to ask, with what all of them say."""
    acting = next((part for part in parts if part.exclusive is not None or part.actions or part.questions), None)
    return merged(part if part is acting else _silent(part) for part in parts)


def _silent(part: Part) -> Part:
    """What a part says, without what it would do."""
    return Part(waits=part.waits, verdicts=part.verdicts)


def _static(desired: Desired, record: IdentityRecord) -> tuple[Wait, ...]:
    """A static quorum's voters stand in the properties of all its nodes: they change when it is dynamic."""
    if not record.static or wanted_node_ids(desired, record) == record.node_ids:
        return ()
    way_out = "name kraft.version 1 in spec.kafka.features.levels first"
    text = f"the voters of a static quorum do not change: {way_out}"
    return (Wait(severity=Severity.HELD, reason="StaticQuorum", message=text),)


def _kept_spec(observed: Observed, record: IdentityRecord) -> Part:
    """The spec is stored as the last accepted one before anything is done to the quorum because of it."""
    return Part() if observed.spec_kept else Part(actions=(KeepSpec(resource_version=record.resource_version),))


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


def _nodes(record: IdentityRecord, wanted: tuple[NodeID, ...]) -> Part:
    added = [node_id for node_id in wanted if node_id not in record.node_ids]
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
