"""Log lines: one line a record, with any quoted text. This is the last place at which such text can be cleaned."""

import json
import logging
from datetime import UTC, datetime
from typing import Final

from kit.text import clean

LINE_MAX_CHARS: Final = 4000
"""The limit of one message; a guard's reason with every voter in it is shorter."""
_TRACEBACK_MAX_CHARS: Final = 20_000
_TRACEBACK_MAX_LINES: Final = 200


def _message(record: logging.LogRecord) -> str:
    return clean(record.getMessage(), max_chars=LINE_MAX_CHARS)


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    """The lines of a traceback, each cleaned: the text of an exception may hold line breaks of its own."""
    if not record.exc_info:
        return []
    lines = formatter.formatException(record.exc_info)[:_TRACEBACK_MAX_CHARS].splitlines()[:_TRACEBACK_MAX_LINES]
    return [" " * (len(line) - len(line.lstrip(" "))) + clean(line, max_chars=LINE_MAX_CHARS) for line in lines]


class TextFormatter(logging.Formatter):
    """Time, level, logger and message; a traceback follows in lines of its own, which no message can imitate."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and one behind `    | ` for each of a traceback."""
        time = self.formatTime(record)
        line = f"{time} {record.levelname:<7} {record.name}: {_message(record)}"
        return "\n".join((line, *(f"    | {each}" for each in _traceback(self, record))))


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, logger, message, and the traceback if there is one."""
        row = {
            "time": datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
        }
        if lines := _traceback(self, record):
            row["traceback"] = "\n".join(lines)
        return json.dumps(row)
