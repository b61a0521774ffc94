"""CannotLook: the operator cannot look at the quorum, so nothing that the status said before is known to be true now.

It is no condition of a pass, because there was none: it takes precedence over every condition that depends on a look.
The next pass that ends writes all conditions again. Until then `Ready` and `Available` are Unknown, never True.
"""

from typing import Any, Final, TypeAlias

from kafka_quorum.status.build import unanswered
from kafka_quorum.status.finding import Finding, Truth
from kafka_quorum.status.merge import merged, shortened

Json: TypeAlias = dict[str, Any]

REASON: Final = "CannotLook"
_UNKNOWN: Final = ("Ready", "Available", "Progressing", "FeaturesSettled", "OddVoterCount")
"""The conditions that only a look can support; those of the spec stay as they are."""


def findings(why: str) -> tuple[Finding, ...]:
    """Every condition that depends on a look. `why` is the error that ended the last pass, one clean line."""
    message = (
        f"The operator cannot look at this quorum, and does nothing for it: {why}. "
        "Nothing else in this status is known to be true now; status.lastLook is the time of the last look"
    )
    unknown = (Finding(type=name, truth=Truth.UNKNOWN, reason=REASON, message=message) for name in _UNKNOWN)
    return *unknown, Finding(type="Degraded", truth=Truth.TRUE, reason=REASON, message=message)


def blinded(old: Json, why: str, *, generation: int, now: str) -> Json:
    """The status `old` with what cannot be known any more taken back. `now` is RFC 3339."""
    rows = old.get("conditions") or []
    stamped = {row["type"]: row for row in merged(rows, findings(why), generation=generation, now=now)}
    order = dict.fromkeys([*(str(row.get("type")) for row in rows), *stamped])
    before = {str(row.get("type")): row for row in rows}
    return {
        **old,
        "conditions": [stamped.get(name) or before[name] for name in order],
        "doing": REASON,
        "message": shortened(findings(why)[0].message),
        **unanswered(old, now),
    }
