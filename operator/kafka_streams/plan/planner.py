"""The plan of one pass over an application. Pure: no clock, no random number, no I/O."""

from dataclasses import replace
from typing import Final

from kafka_quorum.model.known import Unknown
from kafka_streams.model import names
from kafka_streams.model.actions import CreateClaim, CreatePod, KeepSpec, WriteRecord, stamped
from kafka_streams.model.application import Desired
from kafka_streams.model.observed import Observed
from kafka_streams.model.plan import Part, Plan, Severity, Wait, merged, waiting
from kafka_streams.model.way import NoWay, Way
from kafka_streams.plan.adoption import adopting, adopts
from kafka_streams.plan.bounces import bounces, strays
from kafka_streams.plan.changes import begins, offline, turns
from kafka_streams.plan.facts import Situation, asked_way
from kafka_streams.plan.instances import minted, scaled
from kafka_streams.plan.review import review
from kafka_streams.plan.upkeep import claims, files, old_revisions, pods, revisions, states

_SOON_S: Final = 0.5
_LATER_S: Final = 5.0
_TICK_S: Final = 10.0


def plan(desired: Desired, observed: Observed, *, repair_only: bool = False) -> Plan:
    """What to do now. With `repair_only`, `desired` is the last accepted spec: no change begins or goes on."""
    if observed.record_fault or observed.unreadable:
        said = (observed.record_fault, *observed.unreadable)
        waits = tuple(Wait(severity=Severity.DEGRADED, reason="Unreadable", message=text) for text in said if text)
        return _finished(Part(waits=waits), observed, None)
    if observed.record is None:
        part = _paused() if desired.paused else (minted if desired.adopt is None else adopts)(desired, observed)
        return replace(_finished(part, observed, None), adoption=review(desired, observed))
    situation = Situation(desired=desired, observed=observed, record=observed.record)
    if desired.application_id != observed.record.application_id:
        text = (
            f"spec.applicationID was {observed.record.application_id}, and cannot change: the state and the offsets"
            " belong to it. Make another resource for another application"
        )
        return _finished(waiting(Severity.HELD, "ApplicationIDChanged", text), observed, None)
    part = _paused() if desired.paused else _next(situation, repair_only=repair_only)
    planned = _finished(part, observed, _way(situation))
    return replace(planned, adoption=review(desired, observed)) if _untouched(situation) else planned


def _untouched(situation: Situation) -> bool:
    """Whether the record has an adoption of which nothing else is done."""
    adoption, source = situation.record.adoption, situation.observed.source
    workload = None if source is None else source.workload
    return adoption is not None and workload is not None and not workload.deleting and workload.uid == adoption.uid


def _next(situation: Situation, *, repair_only: bool) -> Part:
    """An adoption that is open goes before everything: until it is done, no pod may be created or stopped."""
    open_one = adopting(situation, repair_only=repair_only)
    if open_one is not None:
        return open_one
    part = _ordered(situation, repair_only=repair_only)
    if situation.desired.adopt is None or situation.record.adoption is not None:
        return part
    text = f"Did not adopt {situation.desired.adopt}: this application has instances of its own. Remove spec.adopt"
    return merged((waiting(Severity.HELD, "AdoptionRefused", text), part))


def _ordered(situation: Situation, *, repair_only: bool) -> Part:
    """Upkeep first. A change acts only if upkeep has nothing to do, or nothing that it can do; one act at a time."""
    if repair_only:
        return merged((states(situation), pods(situation)))
    kept = (_kept(situation), revisions(situation), states(situation), files(situation), pods(situation))
    upkeep = merged(kept)
    if upkeep.exclusive is None and not upkeep.actions:
        return merged((upkeep, _changing(situation)))
    return _or_another(situation, upkeep) if _refused(situation, upkeep) else upkeep


def _refused(situation: Situation, upkeep: Part) -> bool:
    """Whether all that upkeep has to do is what the API server refused when it was last asked."""
    refused = situation.observed.memory.refused
    return upkeep.exclusive is None and all(
        isinstance(one, CreatePod | CreateClaim) and one.slot.revision in refused for one in upkeep.actions
    )


def _or_another(situation: Situation, upkeep: Part) -> Part:
    """What cannot be made is asked for again, unless a person has asked for something else by now."""
    part = _changing(situation)
    if isinstance(part.exclusive, WriteRecord):
        return merged((replace(upkeep, actions=()), part))
    return merged((upkeep, replace(part, exclusive=None, actions=())))


def _changing(situation: Situation) -> Part:
    """The first of these that has something to do."""
    parts: list[Part] = []
    for concern in (turns, offline, bounces, strays, scaled, begins, claims, old_revisions):
        part = concern(situation)
        parts.append(part)
        if (
            part.exclusive is not None
            or part.actions
            or (concern is turns and any(wait.reason == "ChangeOpen" for wait in part.waits))
        ):
            break
    return merged(parts)


def _kept(situation: Situation) -> Part:
    """The present spec is stored as the last accepted one."""
    if situation.observed.spec_kept:
        return Part()
    return Part(exclusive=KeepSpec(resource_version=situation.record.resource_version))


def _way(situation: Situation) -> Way | NoWay | None:
    """The way to what the spec asks for, while nothing is under way to it."""
    record, runtime = situation.record, situation.desired.runtime
    if record.change is not None or (runtime.release, runtime.protocol) == (record.release, record.protocol):
        return None
    way = asked_way(situation)
    return None if isinstance(way, Unknown) else way


def _paused() -> Part:
    text = "Did not change or repair anything: spec.paused is true. Set it to false to continue"
    return Part(waits=(Wait(severity=Severity.HELD, reason="Paused", message=text),))


def _finished(part: Part, observed: Observed, way: Way | NoWay | None) -> Plan:
    """The plan, in which each guarded action carries the time of the look that it was judged by."""
    chosen = part.actions if part.exclusive is None else (part.exclusive,)
    start = "" if observed.record is None else str(observed.record.release)
    return Plan(
        actions=tuple(stamped(action, observed.looked_at_s) for action in chosen),
        waits=part.waits,
        verdicts=part.verdicts,
        requeue_s=_requeue_s(part.waits),
        way=way,
        hash=names.way_hash(way, start) if isinstance(way, Way) else "",
    )


def _requeue_s(waits: tuple[Wait, ...]) -> float:
    if any(wait.severity is Severity.PROGRESS for wait in waits):
        return _SOON_S
    return _LATER_S if waits else _TICK_S
