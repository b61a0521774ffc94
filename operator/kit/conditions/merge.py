"""The one place that stamps conditions: a transition time changes if, and only if, the status does."""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from kit.conditions.finding import Finding
from kit.text import clean

Json: TypeAlias = dict[str, Any]
_MESSAGE_MAX_CHARS: Final = 2000


def merged(old: Iterable[Json], findings: Iterable[Finding], *, generation: int, now: str) -> list[Json]:
    """The conditions of the resource, in the order of the findings. `now` is RFC 3339."""
    before = {row.get("type"): row for row in old}
    return [_one(before.get(finding.type, {}), finding, generation, now) for finding in findings]


def _one(old: Json, finding: Finding, generation: int, now: str) -> Json:
    unchanged = old.get("status") == finding.truth.value
    return {
        "type": finding.type,
        "status": finding.truth.value,
        "reason": finding.reason,
        "message": shortened(finding.message),
        "observedGeneration": generation,
        "lastTransitionTime": old.get("lastTransitionTime", now) if unchanged else now,
    }


def shortened(message: str) -> str:
    """A message in the form that the status allows: one visible line of bounded length."""
    return clean(message, max_chars=_MESSAGE_MAX_CHARS)


def without_none(row: Json) -> Json:
    """The fields of a row that have a value: in a status, what is not known is absent."""
    return {name: value for name, value in row.items() if value is not None}
