"""OddVoterCount: an even number of voters is allowed, and this condition reports its cost."""

from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.voters import tolerated_by
from kafka_quorum.status.finding import Pass
from kit.conditions.finding import Finding, Truth


def odd_voter_count(done: Pass) -> Finding:
    """Whether the last committed voter set has an odd number of members; Unknown while none is known."""
    match done.observed.quorum:
        case Unknown(reason=reason):
            return _finding(Truth.UNKNOWN, "NoAnswer", f"no leader answers: {reason}")
        case Known(value=view) if done.observed.record is None or not view.committed_voters:
            return _finding(Truth.UNKNOWN, "NotCommitted", "no voter set is known to be committed yet")
        case Known(value=view):
            voters = len(view.committed_voters or ())
    requested = done.desired.replicas
    tolerated = tolerated_by(voters)
    changes = f". The spec requests {requested}" if requested != voters else ""
    if voters % 2:
        tolerates = "1 voter tolerates" if voters == 1 else f"{voters} voters tolerate"
        return _finding(Truth.TRUE, "Odd", f"{tolerates} the loss of {tolerated}{changes}")
    said = (
        f"{voters} voters tolerate the loss of {tolerated}, no more than {voters - 1} do, and each write needs one more"
    )
    ask = changes or f". Set spec.controllers.replicas to {voters - 1} or {voters + 1}"
    return _finding(Truth.FALSE, "Even", said + ask)


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type="OddVoterCount", truth=truth, reason=reason, message=message)
