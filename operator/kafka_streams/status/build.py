"""The whole status of an application from one pass. Numbers that change with every look stay out of it."""

from functools import partial
from typing import Any, Final, TypeAlias

from kafka_streams.model import names
from kafka_streams.model.plan import Severity
from kafka_streams.model.record import Change, Slot
from kafka_streams.model.way import NoWay, Reason, Step, Way
from kafka_streams.plan.facts import Situation
from kafka_streams.plan.gates import works
from kafka_streams.status.conditions import Pass, findings
from kit.conditions import whole
from kit.conditions.merge import merged, shortened
from kit.conditions.whole import LISTED_MAX, cut, doing, waits_of, without_empty
from kit.text import cleaned

Json: TypeAlias = dict[str, Any]


def build(done: Pass, old: Json, *, generation: int, now: str) -> Json:
    """The status to write. `old` gives the transition times and what this pass does not know."""
    found = findings(done)
    first = doing(found)
    situation = done.situation
    status: Json = {
        "observedGeneration": generation,
        "selector": f"{names.LABEL_APPLICATION}={done.name}",
        "doing": first.reason,
        "message": shortened(first.message),
        "conditions": merged(old.get("conditions") or (), found, generation=generation, now=now),
        "waits": waits_of(
            done.plan.waits, old, now, gravity=tuple(Severity), numbers="indexes", number_of=lambda wait: wait.index
        ),
        "adoption": _adoption(done),
    }
    if situation is not None:
        record = situation.record
        well = sum(next(works(situation, slot), None) is None for slot in record.slots)
        summary = f"{well}/{done.replicas}" if situation.group is not None else f"?/{done.replicas}"
        status |= {
            "replicas": len(record.slots),
            "summary": summary,
            "release": str(record.release),
            "group": situation.group.state.value if situation.group is not None else "Unknown",
            "instances": [_instance(situation, slot) for slot in record.slots],
            "way": _way(situation, done),
            "change": None if record.change is None else _change(situation, record.change),
        }
    return without_empty(cleaned(cut(status), max_chars=4096))


def _adoption(done: Pass) -> Json | None:
    """The plan of an adoption before anything is touched, and then how far it is."""
    record, planned = done.observed.record, done.plan.adoption
    adoption = None if record is None else record.adoption
    asked = adoption or (done.desired.adopt if done.desired is not None and record is None else None)
    if asked is None:
        return None
    stage = "Planned" if adoption is None else "Adopted" if adoption.done else "Adopting"
    row: Json = {"kind": asked.kind.value, "name": asked.name, "stage": stage}
    if planned is not None:
        row |= {"hash": planned.hash, "steps": list(planned.steps), "warnings": list(planned.warnings)}
        row["objections"] = [*planned.objections, *planned.pending]
    return without_empty({key: value[:LISTED_MAX] if isinstance(value, list) else value for key, value in row.items()})


def _instance(situation: Situation, slot: Slot) -> Json:
    pod = situation.observed.pod(slot)
    made = None if pod is None else situation.observed.revision(pod.revision)
    why = next(works(situation, slot), None)
    return without_empty(
        {
            "index": slot.index,
            "podName": None if pod is None else pod.name,
            "release": None if made is None else str(made.runtime.release),
            "revision": None if pod is None else pod.revision,
            "upgradeFrom": None if made is None else made.upgrade_from,
            "works": None if situation.group is None else why is None,
            "reason": why,
        }
    )


def _change(situation: Situation, change: Change) -> Json:
    made = situation.revision_of(change.present)
    done = 0 if made is None else sum(slot.revision == made[0] and not slot.away for slot in situation.record.slots)
    return without_empty(
        {
            "start": str(change.start),
            "target": str(change.target),
            "kind": change.shown.value,
            "stage": change.stage.value,
            "step": change.step + 1,
            "steps": len(change.steps),
            "upgradeFrom": change.present.upgrade_from,
            "back": change.back or None,
            "done": done,
        }
    )


def _way(situation: Situation, done: Pass) -> Json | None:
    way = done.plan.way
    if way is None:
        return None
    row: Json = {"start": str(situation.record.release), "target": str(situation.desired.runtime.release)}
    match way:
        case Way():
            row |= {"kind": way.kind.value, "hash": done.plan.hash, "steps": list(map(_step, way.steps))}
            row["noReturn"] = list(map(_reason, way.no_return))
        case NoWay():
            row |= {"kind": "None", "bridge": way.bridge}
            if way.offline is not None:
                row |= {"kind": way.offline.kind.value, "steps": list(map(_step, way.offline.steps))}
                row["noReturn"] = list(map(_reason, way.offline.no_return))
    return without_empty(row | {"reasons": list(map(_reason, way.reasons))})


def _step(step: Step) -> Json:
    row: Json = {"release": str(step.release), "protocol": step.protocol.value, "upgradeFrom": step.upgrade_from}
    return without_empty(row | {"wipe": step.wipe or None, "together": step.together or None})


def _reason(reason: Reason) -> Json:
    return {"text": reason.text, "source": reason.source}


blinded: Final = partial(whole.blinded, what="application", types=("Ready", "Progressing", "Degraded", "SpecAccepted"))
"""The status of an application without what is unknown now."""
