"""What a later version of this operator stored, and this one cannot read: it is reported, and nothing is changed.

It is unknown what is half done there. Creating a pod, writing a record or adding a voter could undo it, or end it in a
way that the later version excludes. So nothing is done until a version that can read it acts.
"""

from typing import Final

from kafka_quorum.model.observed import Observed
from kafka_quorum.model.operation import UnknownOperation
from kafka_quorum.model.plan import LATER_FORMAT, UNKNOWN_OPERATION, Severity, Wait

_WAY_OUT: Final = "Run the operator version that began it, or a later one"


def later_version(observed: Observed) -> tuple[Wait, ...]:
    """The parts of the stored state that this version cannot read; empty if it can read all of it."""
    waits = [_wait(LATER_FORMAT, f"Did not change anything: {text}") for text in _texts(observed)]
    operation = observed.status.open
    if isinstance(operation, UnknownOperation):
        by = f" (begun by {operation.holder})" if operation.holder else ""
        text = f"Did not change anything: {operation.why}{by}, and this version of the operator cannot continue it"
        waits.append(_wait(UNKNOWN_OPERATION, f"{text}. {_WAY_OUT}"))
    return tuple(waits)


def _texts(observed: Observed) -> tuple[str, ...]:
    return (*(item.why for item in observed.unreadable if item.later), *observed.later)


def _wait(reason: str, message: str) -> Wait:
    return Wait(severity=Severity.DEGRADED, reason=reason, message=message)
