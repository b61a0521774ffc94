"""Counts of explorations, at the end of a run: the standard output of pytest's workers is not shown."""

from collections.abc import Callable

import pytest
from tests.simulation.runs.tally import Tally

Shows = Callable[[Tally], None]
_COUNTS = "counts"


@pytest.fixture
def shows(record_property: Callable[[str, object], None]) -> Shows:
    """Shows the counts of a tally at the end of the run, whether the test passes or fails."""
    return lambda tally: record_property(_COUNTS, tally.report())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the counts of every test that has some."""
    reports = (report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, []))
    for report in reports:
        for name, text in report.user_properties if report.when == "call" else ():
            if name == _COUNTS:
                terminalreporter.section(report.nodeid, sep="-")
                terminalreporter.write_line(text)
