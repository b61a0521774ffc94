"""`plan`: what the operator would do next, or with an edited file; and the richer part of `explain`. Pure.

Both come from the operator's own planner, through two kinds of objects: it writes a `QuorumLook` for each quorum, and
answers a `PlanQuestion`. Nothing is touched. An operator without these kinds leaves `explain` with the status alone.
"""

import json
from datetime import datetime
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from kubectl_kq import reading
from kubectl_kq.ages import when
from kubectl_kq.answers import Answer, Found, NotRead, Why
from kubectl_kq.page import DONE, UNKNOWN, Cell, Column, Fact, Facts, Page, Section, Table

Json: TypeAlias = dict[str, Any]

GROUP: Final = "introspect.kafkaquorum.io"
_API: Final = f"/apis/{GROUP}/v1alpha1"
FILE_MAX_BYTES: Final = 1 << 20
_CODES: Final = {"Answered": DONE}
"""Another state means that it is not known what would be done, or that the manifest has errors."""


def look_path(namespace: str, name: str) -> str:
    """The path of the operator's last look at a quorum."""
    return f"{_API}/namespaces/{quote(namespace)}/quorumlooks/{quote(name)}"


def question_path(namespace: str, name: str) -> str:
    """The path of a question that was asked."""
    return f"{_API}/namespaces/{quote(namespace)}/planquestions/{quote(name)}"


def question(namespace: str, name: str, manifest: Json | None) -> Json:
    """The question what would be done next; with a manifest, what would be done with it."""
    spec: Json = {"quorum": name} | ({} if manifest is None else {"manifest": manifest})
    metadata = {"generateName": f"{name}-", "namespace": namespace}
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "PlanQuestion", "metadata": metadata, "spec": spec}


def manifest_of(text: str, name: str) -> Json | str:
    """The quorum of this name in what kubectl made of a file: JSON objects one after the other, or lists.

    A text says what is wrong with it.
    """
    listed: list[Json] = []
    decoder, rest = json.JSONDecoder(), text.strip()
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except (ValueError, RecursionError):
            return "kubectl did not make JSON of it"
        rest = rest[end:].strip()
        if isinstance(value, dict):
            listed += reading.items(value) if value.get("kind") == "List" else (value,)
    found = [each for each in listed if reading.at(each, "kind") == "KafkaQuorum" and reading.name(each) == name]
    return found[0] if len(found) == 1 else f"it has {len(found)} objects KafkaQuorum {name}: it must have one"


def is_answered(item: Json) -> bool:
    """Whether the operator has answered a question."""
    return reading.text(item, "status", "state") is not None


def plan_page(namespace: str, name: str, item: Json, now: datetime) -> Page:
    """The answer to a question."""
    status = reading.at(item, "status")
    state = reading.text(status, "state")
    changes = reading.at(status, "changes")
    listed = tuple(each for each in changes if isinstance(each, str)) if isinstance(changes, list) else ()
    facts = (
        Fact(key="namespace", label="Namespace", value=namespace),
        Fact(key="name", label="Quorum", value=name),
        Fact(key="state", label="State", value=state),
        Fact(key="message", label="Message", value=reading.text(status, "message")),
        Fact(key="lookedAt", label="Looked", value=when(reading.text(status, "lookedAt"), now)),
        *((Fact(key="changes", label="Changes", value=listed),) if listed else ()),
        Fact(key="older", label="To restart", value=reading.numbers(status, "older") or None),
    )
    sections: tuple[Section, ...] = (Facts(facts=facts), _errors(status), *sections_of(status))
    return Page(command="plan", sections=sections, code=_CODES.get(state or "", UNKNOWN))


def looked(answer: Answer, now: datetime) -> tuple[Section, ...]:
    """The sections of the operator's last look; a sentence if there is none to read."""
    if isinstance(answer, NotRead):
        why = {
            Why.NO_KIND: "this operator writes none",
            Why.MISSING: "the operator has not written it yet",
            Why.FORBIDDEN: "this user may not read it",
        }.get(answer.why, answer.words)
        message = f"What the operator would do next is not shown, because its look was not read: {why}"
        return (Facts(key="look", facts=(Fact(key="message", label="Look", value=message),)),)
    status = reading.at(answer.value, "status")
    facts = (
        Fact(key="state", label="Look", value=reading.text(status, "state")),
        Fact(key="lookedAt", label="First seen", value=when(reading.text(status, "lookedAt"), now)),
    )
    return (Facts(key="look", facts=facts), *sections_of(status))


def sections_of(status: object) -> tuple[Section, ...]:
    """What would be done, what is waited for, and which guards refuse it."""
    return (_acts(status), _waits(status), _guards(status))


def _acts(status: object) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            reading.text(row, "kind"),
            reading.number(row, "nodeID"),
            reading.text(row, "guard"),
            reading.text(row, "result"),
            reading.text(row, "message"),
            reading.text(row, "said"),
        )
        for row in reading.rows(status, "acts")
    )
    columns = (
        Column(key="kind", label="ACT"),
        Column(key="nodeID", label="CONTROLLER"),
        Column(key="guard", label="ALLOWED BY"),
        Column(key="result", label="RESULT"),
        Column(key="message", label="", below=True),
        Column(key="said", label="Result", below=True),
    )
    return Table(key="acts", title="Acts of one pass", columns=columns, rows=rows, empty="There is nothing to do now.")


def _waits(status: object) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            reading.text(row, "severity"),
            reading.text(row, "reason"),
            reading.number(row, "nodeID"),
            reading.text(row, "rule"),
            reading.text(row, "message"),
            "; ".join(reading.listed(row, "evidence")) or None,
        )
        for row in reading.rows(status, "waits")
    )
    columns = (
        Column(key="severity", label="SEVERITY"),
        Column(key="reason", label="REASON"),
        Column(key="nodeID", label="CONTROLLER"),
        Column(key="guard", label="REFUSED BY"),
        Column(key="message", label="", below=True),
        Column(key="evidence", label="Evidence", below=True),
    )
    return Table(key="plannedWaits", title="Waits of the planner", columns=columns, rows=rows)


def _guards(status: object) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (reading.text(row, "rule"), reading.text(row, "reason"))
        for row in reading.rows(status, "guards")
        if reading.flag(row, "allowed") is False
    )
    columns = (Column(key="guard", label="GUARD"), Column(key="reason", label="", below=True))
    return Table(key="refusals", title="Guards that refuse", columns=columns, rows=rows)


def _errors(status: object) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (reading.text(row, "field"), reading.text(row, "message")) for row in reading.rows(status, "errors")
    )
    columns = (Column(key="field", label="FIELD"), Column(key="message", label="", below=True))
    return Table(key="errors", title="Errors", columns=columns, rows=rows)


def found_name(answer: Answer) -> str | None:
    """The name of a question that was created."""
    return reading.text(answer.value, "metadata", "name") if isinstance(answer, Found) else None
