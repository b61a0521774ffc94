"""Each log record is one line, whatever text it quotes."""

import json
import logging
import sys

import pytest

from kit.logs import LINE_MAX_CHARS, JsonFormatter, TextFormatter

HOSTILE = "refused\n2026-01-01 00:00:00,000 INFO    kafka_quorum: all is well\x1b[2J\x00\u202e" + "x" * 10_000


def record(message: str, *, error: Exception | None = None) -> logging.LogRecord:
    """A record as a logger makes it."""
    trace = None
    if error is not None:
        try:
            raise error
        except type(error):
            trace = sys.exc_info()
    return logging.LogRecord("kit.loops", logging.WARNING, __file__, 1, "%s: %s", ("ns/demo", message), trace)


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()], ids=["text", "json"])
def test_a_record_is_one_visible_bounded_line(formatter: logging.Formatter) -> None:
    """No line break, terminal sequence or bidirectional character of a quoted text reaches the log."""
    line = formatter.format(record(HOSTILE))
    assert line.isprintable()
    assert len(line) < LINE_MAX_CHARS + 200
    assert "ns/demo: refused 2026-01-01" in line


def test_a_traceback_cannot_imitate_a_record() -> None:
    """Every line of a traceback has a margin, and a traceback is bounded."""
    lines = TextFormatter().format(record("fault", error=ValueError(HOSTILE))).split("\n")
    assert len(lines) > 2
    assert all(line.startswith("    | ") for line in lines[1:])
    assert all(line.isprintable() for line in lines)
    assert len("".join(lines)) < 25_000
    many = TextFormatter().format(record("fault", error=ValueError("\n" * 100_000)))
    assert many.count("\n") < 250


def test_a_traceback_in_json() -> None:
    """The traceback is one field of the line, without control characters other than its own line breaks."""
    row = json.loads(JsonFormatter().format(record("fault", error=ValueError(HOSTILE))))
    assert all(line.isprintable() for line in row["traceback"].split("\n"))
    assert row["message"] == "ns/demo: fault"
