"""What pools and applications have alike in a status: what is done, what is waited for, what is unknown. Pure.

The conditions are Ready, Progressing, Degraded and SpecAccepted, and others of a kind.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from kit.conditions.finding import Finding, Truth
from kit.conditions.merge import merged, shortened

Json: TypeAlias = dict[str, Any]
LISTED_MAX: Final = 100
"""The number of entries that a list in a status has at most."""
CANNOT_LOOK: Final = "CannotLook"


class Wait(Protocol):
    """Something that is waited for."""

    @property
    def severity(self) -> Enum:
        """What it means to the person who reads it; its value is one word."""

    @property
    def reason(self) -> str:
        """CamelCase, as in a condition."""

    @property
    def message(self) -> str:
        """What would end the wait."""


W = TypeVar("W", bound=Wait)


def sentence(waits: Iterable[Wait]) -> str:
    """All messages as one text, each once."""
    return "; ".join(dict.fromkeys(wait.message for wait in waits))


def doing(found: Iterable[Finding]) -> Finding:
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


def waits_of(
    waits: Iterable[W],
    old: Json,
    now: str,
    *,
    gravity: Sequence[Enum],
    numbers: str,
    number_of: Callable[[W], int | None],
) -> list[Json]:
    """Each reason with its sentences, for everything that it concerns, and since when it is waited for.

    `gravity` are the severities, the gravest last. `numbers` is the key of what a reason concerns. `now` is RFC 3339.
    """
    before = {row.get("reason"): row.get("since") for row in old.get("waits") or () if isinstance(row, dict)}
    rows: dict[str, list[W]] = {}
    for wait in waits:
        rows.setdefault(wait.reason, []).append(wait)
    return [
        {
            "reason": reason,
            "severity": str(max((one.severity for one in listed), key=gravity.index).value).capitalize(),
            **({numbers: ids} if (ids := sorted({n for one in listed if (n := number_of(one)) is not None})) else {}),
            "message": shortened(sentence(listed)),
            "since": before.get(reason) or now,
        }
        for reason, listed in rows.items()
    ]


def cut(status: Json) -> Json:
    """Lists of at most `LISTED_MAX` entries, with a note of how many are left out."""
    left_out = {
        key: len(value) - LISTED_MAX
        for key, value in status.items()
        if isinstance(value, list) and len(value) > LISTED_MAX
    }
    short = {key: value[:LISTED_MAX] if key in left_out else value for key, value in status.items()}
    return short | ({"leftOut": left_out} if left_out else {})


def without_empty(status: Json) -> Json:
    """The entries that say something."""
    return {key: value for key, value in status.items() if value not in (None, [], {}, "")}


def blinded(old: Json, why: str, *, what: str, types: Iterable[str], generation: int, now: str) -> Json:
    """The status `old` without what is unknown now. `now` is RFC 3339, `why` the last error as one clean line.

    `what` is the kind in a sentence, `types` are its conditions.
    """
    message = (
        f"Did not change anything: the operator cannot observe this {what} ({why}). "
        "The rest of this status may be out of date: the last look was at status.lastLook, or some minutes later"
    )
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
