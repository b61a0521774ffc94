"""CannotLook: the operator cannot look at the pool, so it is unknown whether the earlier status is still true. Pure."""

from typing import Any, Final, TypeAlias

from kit.conditions.finding import Finding, Truth
from kit.conditions.merge import merged, shortened

Json: TypeAlias = dict[str, Any]

REASON: Final = "CannotLook"
_TYPES: Final = ("Ready", "Available", "Progressing", "Degraded", "SpecAccepted")


def blinded(old: Json, why: str, *, generation: int, now: str) -> Json:
    """The status `old` without what is unknown now. `now` is RFC 3339, `why` the last error as one clean line."""
    message = (
        f"Did not change anything: the operator cannot observe this pool ({why}). "
        "The rest of this status may be out of date: status.lastLook is the time of the last look"
    )
    truths = {name: Truth.TRUE if name == "Degraded" else Truth.UNKNOWN for name in _TYPES}
    found = tuple(Finding(type=name, truth=truth, reason=REASON, message=message) for name, truth in truths.items())
    return {
        **old,
        "observedGeneration": generation,
        "doing": REASON,
        "message": shortened(message),
        "conditions": merged(old.get("conditions") or (), found, generation=generation, now=now),
    }
