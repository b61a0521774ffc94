"""Available: a live, caught-up majority with a leader. Missing data is Unknown, never False."""

from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.status.finding import Finding, Pass, Truth


def available(done: Pass) -> Finding:
    """Whether the quorum can commit metadata now."""
    record = done.observed.record
    if record is None or not record.had_leader:
        return _finding(Truth.FALSE, "NotStarted", "the quorum has had no leader yet")
    match done.observed.quorum:
        case Unknown(reason=reason):
            return _finding(Truth.UNKNOWN, "NoAnswer", f"no leader can be asked: {reason}")
        case Known(value=view):
            healthy, voters = len(view.voters & view.shown), len(view.voters)
            said = f"controller {view.answer.leader_id} leads, {healthy} of {voters} voters are caught up"
            if healthy > voters // 2:
                return _finding(Truth.TRUE, "MajorityCaughtUp", said)
            return _finding(Truth.FALSE, "MajorityLags", said)


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type="Available", truth=truth, reason=reason, message=message)
