"""Available: a leader with a live, caught-up majority. Missing data is Unknown, never False."""

from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.voters import VoterSet
from kafka_quorum.status.finding import IDENTITY_MISSING, Pass
from kit.conditions.finding import Finding, Truth


def available(done: Pass) -> Finding:
    """Whether the quorum can commit metadata now."""
    record = done.observed.record
    if record is None:
        return _without_record(done)
    if record.overlay.stopped:
        return _finding(Truth.FALSE, "RollingBack", "the controllers are stopped: the cluster goes back to ZooKeeper")
    match done.observed.quorum:
        case Unknown() if not record.had_leader:
            return _finding(Truth.FALSE, "NotStarted", "the quorum has had no leader yet")
        case Unknown(reason=reason):
            return _finding(Truth.UNKNOWN, "NoAnswer", f"no leader answers: {reason}")
        case Known(value=view):
            votes = VoterSet(view.voters, view.shown)
            healthy, voters = len(votes.healthy), len(view.voters)
            said = f"controller {view.answer.leader_id} leads, {healthy} of {voters} voters are caught up"
            if votes.carries:
                return _finding(Truth.TRUE, "MajorityCaughtUp", said)
            return _finding(Truth.FALSE, "MajorityLags", said)


def _without_record(done: Pass) -> Finding:
    """Nothing was formatted yet, or the identity is lost: then no answer is known to come from this quorum."""
    broken = done.first(Severity.DEGRADED)
    if broken is not None:
        return _finding(Truth.UNKNOWN, broken.reason, broken.message)
    if done.observed.record_fault:
        return _finding(Truth.UNKNOWN, "IdentityUnreadable", done.observed.record_fault)
    if done.observed.status.cluster_id is not None:
        return _finding(Truth.UNKNOWN, "IdentityMissing", IDENTITY_MISSING)
    return _finding(Truth.FALSE, "NotStarted", "the quorum has no identity yet: nothing is formatted")


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type="Available", truth=truth, reason=reason, message=message)
