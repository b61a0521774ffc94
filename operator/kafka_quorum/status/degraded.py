"""Degraded: something is lost or broken, named, with what would repair it."""

from kafka_quorum.model.known import Known
from kafka_quorum.model.plan import Severity
from kafka_quorum.status.finding import Pass, sentence
from kafka_quorum.status.lag import lag_of
from kit.conditions.finding import Finding, Truth


def degraded(done: Pass) -> Finding:
    """Whether something is lost or broken. Unknown while the operator is paused and there is no leader to ask."""
    waits = tuple(wait for wait in done.plan.waits if wait.severity is Severity.DEGRADED)
    if waits:
        return _finding(Truth.TRUE, waits[0].reason, sentence(waits))
    if done.observed.record_fault:
        return _finding(Truth.TRUE, "IdentityUnreadable", done.observed.record_fault)
    if (failed := done.refused) is not None:
        return _finding(Truth.TRUE, "ActionFailed", failed.message)
    return _of_quorum(done)


def _of_quorum(done: Pass) -> Finding:  # noqa: PLR0911 - one answer for each state
    record = done.observed.record
    if record is None:
        recorded = done.observed.status.cluster_id is not None
        if done.desired.paused and recorded:
            text = "the identity ConfigMap does not exist, and nothing is examined while spec.paused is true"
            return _finding(Truth.UNKNOWN, "Paused", text)
        return _finding(Truth.FALSE, "Healthy", "nothing is lost or broken: nothing is formatted yet")
    if record.overlay.stopped:
        return _finding(Truth.FALSE, "Healthy", "nothing is lost or broken: the controllers are stopped on purpose")
    if not isinstance(done.observed.quorum, Known):
        if record.had_leader:
            return _finding(Truth.TRUE, "NoLeader", f"no leader answers: {done.observed.quorum.reason}")
        return _finding(Truth.FALSE, "Healthy", "nothing is lost or broken: the quorum has not started yet")
    lag = lag_of(done)
    if lag.faulty:
        behind = ", ".join(map(str, lag.faulty))
        some = f"{len(lag.faulty)} of {len(done.observed.quorum.value.voters)} voters not running, or lagging"
        text = f"{some}: {behind}. Look at their pods and Kubernetes nodes"
        return _finding(Truth.TRUE, "VotersLag", text)
    return _finding(Truth.FALSE, "Healthy", "nothing is lost or broken")


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type="Degraded", truth=truth, reason=reason, message=message)
