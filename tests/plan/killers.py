"""mutmut, which tries first the tests that killed the last mutants of the same module.

Run as a script in the directory that `mutation.py` builds. mutmut gives every test of a function to pytest again for
each of its mutants, in no order, and pytest collects them all before the first one runs. Most mutants fall to one of
the few tests that killed their neighbours, and these are collected in a tenth of the time. A mutant that they do not
kill gets all of its tests, so the verdict is the same.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
from mutmut.__main__ import cli
from mutmut.runners.harness import PytestRunner
from mutmut.utils.file_utils import change_cwd

_KILLED: Final = 1
"""The exit code of pytest if a test failed."""
_TRIED_FIRST: Final = 12
_HISTORY: Final = Path("killers").resolve()


class _Killer:
    """Stores which test failed, as pytest reports it."""

    def __init__(self) -> None:
        self.test: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.test = report.nodeid


def _killers_first(self: PytestRunner, *, mutant_name: str | None, tests: Iterable[str]) -> int:
    every = set(tests)
    history = _HISTORY / (mutant_name or "none").partition(".x")[0]
    known = history.read_text().splitlines() if history.exists() else []
    likely = [test for test in dict.fromkeys(reversed(known)) if test in every][:_TRIED_FIRST]
    for chosen in ([likely] if likely else []) + [sorted(every)]:
        killer = _Killer()
        with change_cwd("mutants"):
            code = int(self.execute_pytest(self._pytest_args_regular_run(chosen), plugins=[killer]))
        if code == _KILLED:
            break
    if killer.test is not None:
        with history.open("a") as file:
            file.write(f"{killer.test}\n")
    return code


if __name__ == "__main__":
    _HISTORY.mkdir(exist_ok=True)
    PytestRunner.run_tests = _killers_first  # type: ignore[method-assign]  # mutmut offers no other way
    cli()
