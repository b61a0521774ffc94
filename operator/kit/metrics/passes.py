"""Counts the passes over a kind of resource, and how long they took."""

import asyncio
from typing import Final

from prometheus_client import Counter, Histogram

from kit.errors import NotActing, OperatorError
from kit.key import ObjectKey
from kit.report.report import PassReport

DONE, FAILED, FAULT, ENDED, IDLE, UNCHANGED = "done", "failed", "fault", "ended", "idle", "unchanged"
RESULTS: Final = (DONE, FAILED, FAULT, ENDED, IDLE, UNCHANGED)
"""How a pass ends: it decided; an error ended it; a fault of the operator did; the lease or the process ended; nothing
was decided, and nothing was wrong; nothing was new, so that no look was needed."""


class PassMetrics:
    """A subscriber of passes."""

    def __init__(self, kind: str, passes: Counter, seconds: Histogram) -> None:
        """`kind` is the value of the label; every result begins at zero."""
        self._results = {result: passes.labels(kind, result) for result in RESULTS}
        self._seconds = seconds.labels(kind)

    async def take(self, report: PassReport[object]) -> None:
        """Count a pass."""
        if not report.withdrawn:
            self._results[result_of(report)].inc()
            self._seconds.observe(report.took_s)

    def unchanged(self) -> None:
        """Count a pass that found nothing new, and so has no report."""
        self._results[UNCHANGED].inc()

    def forget(self, key: ObjectKey) -> None:
        """Nothing is remembered of one resource."""


def result_of(report: PassReport[object]) -> str:
    """How this pass ended."""
    match report.error:
        case None:
            return IDLE if report.status is None else DONE
        case NotActing() | asyncio.CancelledError() | GeneratorExit() | KeyboardInterrupt() | SystemExit():
            return ENDED
        case OperatorError():
            return FAILED
        case _:
            return FAULT
