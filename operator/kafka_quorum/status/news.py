"""Which parts of a new status need an event: waits that begin, a spec that is refused, a quorum that degrades.

The status is compared with the one before it. So each appearance gets one event, from the operator that writes it, and
another event when it comes back.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from kafka_quorum.status.build import nodes_of, readable
from kafka_quorum.status.together import subject_of
from kit.report.notice import Notice

Json: TypeAlias = dict[str, Any]

_TOLD: Final = frozenset({"Degraded", "Held"})
"""The severities of waits that a person should read about; events of actions report progress."""


def news(old: Json, new: Json) -> tuple[Notice, ...]:
    """The notices, in the order of the status. Both are whole statuses; `old` may be empty, or not ours."""
    old = readable(old)
    return (*_waits(old, new), *_conditions(old, new))


def _waits(old: Json, new: Json) -> Iterator[Notice]:
    before = {subject for row in old.get("waits") or [] for subject in _subjects(row)}
    for row in new.get("waits") or []:
        if row["severity"] in _TOLD and not before.issuperset(_subjects(row)):
            warning = row["reason"] != "Paused"
            yield Notice(reason=row["reason"], message=row["message"], warning=warning, subject=_subject(row))


def _subject(row: Json) -> str:
    """The same text for one controller and for several: further controllers count on the event of the first."""
    message = str(row["message"])
    if row.get("nodeIDs"):
        return message.partition(": ")[2]
    return subject_of(row.get("nodeID"), message)


def _subjects(row: Json) -> list[tuple[str, str]]:
    return [(str(row.get("reason")), str(node)) for node in nodes_of(row)]


def _conditions(old: Json, new: Json) -> Iterator[Notice]:
    before, after = (_by_type(status) for status in (old, new))
    accepted, was = after.get("SpecAccepted", {}), before.get("SpecAccepted", {})
    faulty = accepted.get("status") == "False" and accepted.get("message") != was.get("message")
    scaled = accepted.get("reason") == "Autoscaled" and was.get("reason") != "Autoscaled"
    if faulty or scaled:
        yield Notice(reason=accepted["reason"], message=accepted["message"], warning=True)
    degraded, was = after.get("Degraded", {}), before.get("Degraded", {})
    waits = {row["reason"] for row in new.get("waits") or []} | {"ActionFailed"}  # those have their own events
    turned = degraded.get("status") == "True" and degraded.get("reason") != was.get("reason")
    if turned and (degraded["reason"] not in waits or degraded["reason"] == "NoLeader"):
        yield Notice(reason=degraded["reason"], message=degraded["message"], warning=True, subject=degraded["reason"])


def _by_type(status: Json) -> dict[str, Json]:
    return {str(row.get("type")): row for row in status.get("conditions") or []}
