"""The whole status of an application from one pass. Numbers that change with every look stay out of it."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from kafka_streams.model import names
from kafka_streams.model.plan import Severity, Wait
from kafka_streams.model.record import Change, Slot
from kafka_streams.model.way import NoWay, Reason, Step, Way
from kafka_streams.plan.facts import Situation
from kafka_streams.plan.gates import works
from kafka_streams.status.conditions import Pass, findings, sentence
from kit.conditions.finding import Finding, Truth
from kit.conditions.merge import merged, shortened
from kit.report.notice import Notice
from kit.text import cleaned

Json: TypeAlias = dict[str, Any]
_LISTED_MAX: Final = 100
_GRAVITY: Final = (Severity.PROGRESS, Severity.HELD, Severity.DEGRADED)
_TOLD: Final = frozenset({"Degraded", "Held"})
CANNOT_LOOK: Final = "CannotLook"


def build(done: Pass, old: Json, *, generation: int, now: str) -> Json:
    """The status to write. `old` gives the transition times and what this pass does not know."""
    found = findings(done)
    doing = _doing(found)
    situation = done.situation
    status: Json = {
        "observedGeneration": generation,
        "selector": f"{names.LABEL_APPLICATION}={done.name}",
        "doing": doing.reason,
        "message": shortened(doing.message),
        "conditions": merged(old.get("conditions") or (), found, generation=generation, now=now),
        "waits": _waits(done, old, now),
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
    return _without_empty(cleaned(_cut(status), max_chars=4096))


def _instance(situation: Situation, slot: Slot) -> Json:
    pod = situation.observed.pod(slot)
    made = None if pod is None else situation.observed.revision(pod.revision)
    why = next(works(situation, slot), None)
    return _without_empty(
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
    return _without_empty(
        {
            "start": str(change.start),
            "target": str(change.target),
            "kind": change.kind.value,
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
    return _without_empty(row | {"reasons": list(map(_reason, way.reasons))})


def _step(step: Step) -> Json:
    row: Json = {"release": str(step.release), "protocol": step.protocol.value, "upgradeFrom": step.upgrade_from}
    return _without_empty(row | {"wipe": step.wipe or None, "together": step.together or None})


def _reason(reason: Reason) -> Json:
    return {"text": reason.text, "source": reason.source}


def _without_empty(status: Json) -> Json:
    return {key: value for key, value in status.items() if value not in (None, [], {}, "")}


def _doing(found: Iterable[Finding]) -> Finding:
    """What a person should read first: an invalid spec, something broken, a decision of a person, work, or Done."""
    by_type = {finding.type: finding for finding in found}
    accepted, broken, progress = by_type["SpecAccepted"], by_type["Degraded"], by_type["Progressing"]
    if accepted.truth is Truth.FALSE:
        return accepted
    if broken.truth is Truth.TRUE:
        return broken
    ready = by_type["Ready"]
    if progress.reason == "Done" and ready.truth is not Truth.TRUE:
        return ready
    if progress.reason == "Done":
        return Finding(type="Doing", truth=Truth.TRUE, reason="Done", message=ready.message)
    return progress


def _waits(done: Pass, old: Json, now: str) -> list[Json]:
    """Each reason with its sentences, for all instances that it concerns, and since when it is waited for."""
    before = {row.get("reason"): row.get("since") for row in old.get("waits") or () if isinstance(row, dict)}
    rows: dict[str, list[Wait]] = {}
    for wait in done.plan.waits:
        rows.setdefault(wait.reason, []).append(wait)
    return [
        {
            "reason": reason,
            "severity": max(waits, key=lambda wait: _GRAVITY.index(wait.severity)).severity.value.capitalize(),
            **({"indexes": ids} if (ids := sorted({w.index for w in waits if w.index is not None})) else {}),
            "message": shortened(sentence(waits)),
            "since": before.get(reason) or now,
        }
        for reason, waits in rows.items()
    ]


def _cut(status: Json) -> Json:
    """Lists of at most `_LISTED_MAX` entries, with a note of how many are left out."""
    left_out = {
        key: len(value) - _LISTED_MAX
        for key, value in status.items()
        if isinstance(value, list) and len(value) > _LISTED_MAX
    }
    cut = {key: value[:_LISTED_MAX] if key in left_out else value for key, value in status.items()}
    return cut | ({"leftOut": left_out} if left_out else {})


def news(old: Json, new: Json) -> tuple[Notice, ...]:
    """The notices of a new status: what a person must read begins to be waited for, or a spec is refused."""
    before = {str(row.get("reason")) for row in old.get("waits") or () if isinstance(row, dict)}
    found = [
        Notice(reason=row["reason"], message=row["message"], warning=row["reason"] != "Paused", subject=row["reason"])
        for row in new.get("waits") or ()
        if row["severity"] in _TOLD and row["reason"] not in before
    ]
    return (*found, *_refusals(old, new))


def _refusals(old: Json, new: Json) -> Iterator[Notice]:
    was, now = _by_type(old).get("SpecAccepted", {}), _by_type(new).get("SpecAccepted", {})
    if now.get("status") == "False" and now.get("message") != was.get("message"):
        yield Notice(reason=now["reason"], message=now["message"], warning=True)


def _by_type(status: Json) -> dict[str, Json]:
    return {str(row.get("type")): row for row in status.get("conditions") or () if isinstance(row, dict)}


def blinded(old: Json, why: str, *, generation: int, now: str) -> Json:
    """The status `old` without what is unknown now. `now` is RFC 3339, `why` the last error as one clean line."""
    message = (
        f"Did not change anything: the operator cannot observe this application ({why}). "
        "The rest of this status may be out of date: status.lastLook is the time of the last look"
    )
    types = ("Ready", "Progressing", "Degraded", "SpecAccepted")
    truths = {name: Truth.TRUE if name == "Degraded" else Truth.UNKNOWN for name in types}
    found = tuple(
        Finding(type=name, truth=truth, reason=CANNOT_LOOK, message=message) for name, truth in truths.items()
    )
    return {
        **old,
        "observedGeneration": generation,
        "doing": CANNOT_LOOK,
        "message": shortened(message),
        "conditions": merged(old.get("conditions") or (), found, generation=generation, now=now),
    }
