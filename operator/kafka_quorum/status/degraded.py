"""Degraded: something is lost or broken, named, with what would cure it."""

from kafka_quorum.model.known import Known
from kafka_quorum.model.plan import Severity
from kafka_quorum.status.finding import Finding, Pass, Truth, sentence


def degraded(done: Pass) -> Finding:
    """Whether something is lost or broken."""
    waits = tuple(wait for wait in done.plan.waits if wait.severity is Severity.DEGRADED)
    if waits:
        return _finding(Truth.TRUE, waits[0].reason, sentence(waits))
    failed = done.failed
    if failed is not None and not failed.unknown and not failed.held:
        return _finding(Truth.TRUE, "ActionFailed", failed.message)
    record = done.observed.record
    if record is not None and record.had_leader:
        if not isinstance(done.observed.quorum, Known):
            return _finding(Truth.TRUE, "NoLeader", f"no leader can be asked: {done.observed.quorum.reason}")
        view = done.observed.quorum.value
        lagging = sorted(str(key) for key in view.voters - view.shown)
        if lagging:
            return _finding(Truth.TRUE, "VotersLag", f"voters that are down, or lag: {', '.join(lagging)}")
    return _finding(Truth.FALSE, "Healthy", "nothing is lost or broken")


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type="Degraded", truth=truth, reason=reason, message=message)
