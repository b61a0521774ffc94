"""The log as a subscriber: what stands when it is new, and every line of news."""

import logging

from kit.key import ObjectKey
from kit.report.report import PassReport

logger = logging.getLogger(__name__)


class Log:
    """Writes the log of passes. What it remembers only keeps it from repeating itself."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._standing: dict[ObjectKey, tuple[str, ...]] = {}

    async def take(self, report: PassReport[object]) -> None:
        """Log what stands and did not stand before, then the news."""
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
