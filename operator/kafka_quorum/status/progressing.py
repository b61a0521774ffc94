"""Progressing: what is being done now, or why nothing is: done, paused, held, or not supported."""

from kafka_quorum.model.plan import Severity
from kafka_quorum.status.finding import Finding, Pass, Truth, sentence


def progressing(done: Pass) -> Finding:
    """Whether the operator is at work on this quorum, and on what."""
    held, moving = done.first(Severity.HELD), done.first(Severity.PROGRESS)
    if held is not None and held.reason == "Paused":
        return _finding(Truth.FALSE, held.reason, held.message)
    if moving is not None:
        waits = tuple(wait for wait in done.plan.waits if wait.severity is not Severity.DEGRADED)
        return _finding(Truth.TRUE, moving.reason, sentence(waits))
    if done.plan.actions:
        return _working(done)
    still = held or done.first(Severity.DEGRADED)
    if still is not None:
        return _finding(Truth.FALSE, still.reason, still.message)
    return _finding(Truth.FALSE, "Done", "nothing is left to do")


def _working(done: Pass) -> Finding:
    failed = done.failed
    if failed is not None and not failed.held:
        return _finding(Truth.TRUE, "ActionFailed", f"will be tried again: {failed.message}")
    return _finding(Truth.TRUE, "Working", "; ".join(outcome.message for outcome in done.outcomes))


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type="Progressing", truth=truth, reason=reason, message=message)
