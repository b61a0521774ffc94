"""Progressing: what is being done now, or why nothing is: done, paused, held, or not supported."""

from typing import Final

from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.status.finding import Pass, sentence
from kafka_quorum.status.lag import lag_of
from kafka_quorum.status.ready import ready, said_of, work
from kit.conditions.finding import Finding, Truth

_OF_FEATURES: Final = frozenset({"FeatureBlocked", "DowngradeRefused", "MigrationHeld", "DualWrite", "Holding"})
"""Waits that a quorum may have for weeks: voters that are starting are shown before them."""

_LATER: Final = frozenset({"CertificatesPause"})
"""Waits for a moment: nothing is done before it, and the quorum is Ready."""


def progressing(done: Pass) -> Finding:
    """Whether the operator is at work on this quorum, and on what. `Done` only if the quorum is Ready."""
    held, moving = done.first(Severity.HELD), _moving(done)
    if held is not None and held.reason == "Paused":
        return _finding(Truth.FALSE, held.reason, held.message)
    if moving is not None:
        waits = (wait for wait in done.plan.waits if wait.severity is not Severity.DEGRADED)
        return _finding(Truth.TRUE, moving.reason, sentence(waits))
    if work(done):
        return _working(done)
    return _resting(done)


def _resting(done: Pass) -> Finding:
    """Nothing is done and nothing moves: it waits for a person, something is lost, it needs time, or all is done."""
    still, starting = done.first(Severity.HELD) or done.first(Severity.DEGRADED), lag_of(done).starting
    if still is not None and not (starting and still.reason in _OF_FEATURES):
        return _finding(Truth.FALSE, still.reason, still.message)
    if starting:
        text = f"Waiting for voters to catch up after their start: {', '.join(map(str, starting))}"
        return _finding(Truth.TRUE, "Starting", text)
    unready = ready(done)
    if unready.truth is not Truth.TRUE:
        return _finding(Truth.FALSE, unready.reason, unready.message)
    if (later := done.first(Severity.PROGRESS)) is not None:
        return _finding(Truth.FALSE, later.reason, later.message)
    return _finding(Truth.FALSE, "Done", "nothing is left to do")


def _moving(done: Pass) -> Wait | None:
    """The first wait for something that is under way."""
    moving = (wait for wait in done.plan.waits if wait.severity is Severity.PROGRESS)
    return next((wait for wait in moving if wait.reason not in _LATER), None)


def _working(done: Pass) -> Finding:
    failed = done.failed
    if failed is not None:
        return _finding(Truth.TRUE, "ActionFailed", f"Trying again: {failed.message}")
    return _finding(Truth.TRUE, "Working", said_of(done, work(done)))


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type="Progressing", truth=truth, reason=reason, message=message)
