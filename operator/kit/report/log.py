"""The log as a subscriber: lasting statements when they are new, and every line of news."""

import logging

from kit.key import ObjectKey
from kit.report.report import PassReport

logger = logging.getLogger(__name__)


class Log:
    """Writes the log of passes. What it remembers only keeps it from repeating itself."""

    def __init__(self) -> None:
        """Nothing is logged yet."""
        self._standing: dict[ObjectKey, tuple[str, ...]] = {}

    async def take(self, report: PassReport[object]) -> None:
        """Log the lasting statements that are new, then the news."""
        if report.standing is not None:
            before = set(self._standing.get(report.key, ()))
            self._standing[report.key] = report.standing
            for text in report.standing:
                if text not in before:
                    logger.info("%s: %s", report.key, text)
        for line in report.lines:
            logger.log(line.level, "%s: %s", report.key, line.text)

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone."""
        self._standing.pop(key, None)
