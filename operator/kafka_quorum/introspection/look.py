"""The status of a `QuorumLook`: a look and its plan, as a pass reported them. Pure."""

from typing import Final

from kafka_quorum.introspection.rows import Json, bounded, error_rows, observed_row, plan_rows
from kafka_quorum.report import Decided

REFUSED: Final = "Refused"
"""The spec never was valid: the operator has asked no controller."""
INVALID: Final = "Invalid"
"""The spec is not valid, and the operator repairs by the last accepted one."""
ACTING: Final = "Acting"
WAITING: Final = "Waiting"
AT_REST: Final = "AtRest"


def look(decided: Decided) -> Json:
    """The status without its time, so that equal looks are equal values."""
    status: Json = {"observedGeneration": int(decided.taken.resource["metadata"].get("generation", 0))}
    if decided.faults:
        status["errors"] = error_rows(decided.faults)
    done = decided.done
    if done is None:
        return bounded({"state": REFUSED, **status})
    acts, waits = bool(done.plan.actions), bool(done.plan.waits)
    state = INVALID if decided.faults else ACTING if acts else WAITING if waits else AT_REST
    rows = plan_rows(done.plan, done.outcomes, done.observed)
    return bounded({"state": state, **status, "observed": observed_row(done.observed), **rows})
