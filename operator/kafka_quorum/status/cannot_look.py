"""CannotLook: the operator cannot look at the quorum, so it is unknown whether the earlier status is still true.

It is no condition of a pass, because there was no pass: it takes precedence over every condition that needs a look. The
next pass that ends writes all conditions again. Until then `Ready` and `Available` are Unknown, never True.
"""

from typing import Any, Final, TypeAlias

from kafka_quorum.status.build import kept_identity, readable, types, unanswered
from kit.conditions.finding import Finding, Truth
from kit.conditions.merge import merged, shortened

Json: TypeAlias = dict[str, Any]

REASON: Final = "CannotLook"


def findings(why: str, old: Json) -> tuple[Finding, ...]:
    """Every condition that `old` has. `why` is the error that ended the last pass, as one clean line."""
    message = (
        f"Did not change anything: the operator cannot observe this quorum ({why}). "
        "The rest of this status may be out of date: the last look was at status.lastLook, or some minutes later"
    )
    truths = {name: Truth.TRUE if name == "Degraded" else Truth.UNKNOWN for name in types(old)}
    return tuple(Finding(type=name, truth=truth, reason=REASON, message=message) for name, truth in truths.items())


def blinded(old: Json, why: str, *, generation: int, now: str) -> Json:
    """The status `old` without what is unknown now. `now` is RFC 3339.

    Only SpecAccepted needs no look: it is kept if it was judged on this generation.
    """
    old = readable(old)
    rows = old.get("conditions") or []
    found = findings(why, old)
    stamped = merged(rows, found, generation=generation, now=now)
    judged = {row.get("type"): row for row in rows if row.get("observedGeneration") == generation}
    return {
        **old,
        "observedGeneration": generation,
        "doing": REASON,
        "message": shortened(found[0].message),
        "conditions": [judged.get("SpecAccepted", row) if row["type"] == "SpecAccepted" else row for row in stamped],
        **kept_identity(old),
        **(unanswered(old, now) or {"quorum": old.get("quorum") or {"summary": "?"}}),
    }
