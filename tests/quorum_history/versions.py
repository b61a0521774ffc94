"""The versions that the benchmarks measure: this one, and the checkout that `BENCH_BESIDE` names."""

import os
import resource
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A checkout with its own environment. Commands of the measured version have no time limit."""

    name: str
    operator: Path
    python: str
    limit_s: float | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its commands."""
        return {**os.environ, "PYTHONPATH": str(self.operator), "PYSPARK_PYTHON": self.python}

    @property
    def measured(self) -> bool:
        """Whether it is this version, which must not fail."""
        return self.limit_s is None


LIMIT_S: Final = float(os.environ.get("BENCH_LIMIT_S", "300"))
"""The wall-clock limit for a command of the other version."""
_OURS: Final = Version(
    name="this version", operator=Path(__file__).resolve().parents[2] / "operator", python=sys.executable
)


def versions() -> tuple[Version, ...]:
    """This version, and the other one if there is one; it was set up with `make setup`."""
    if not (beside := os.environ.get("BENCH_BESIDE")):
        return (_OURS,)
    root = Path(beside).resolve()
    python = str(root / ".venv" / "bin" / "python")
    return _OURS, Version(name=root.name, operator=root / "operator", python=python, limit_s=LIMIT_S)


def children_s() -> float:
    """CPU seconds, user and system, of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class SessionCpu:
    """CPU seconds of all processes of a session, also of those that no process waits for: Spark's Python workers.

    The processes are read five times a second, so the last fifth of a second of each may be missing.
    """

    def __init__(self, session: int) -> None:
        """`session` is the id of the process that leads the session."""
        self._session = session
        self._ticks: dict[tuple[int, int], int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Starts to read."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops reading."""
        self._over.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """The seconds until now."""
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")

    def _run(self) -> None:
        while not self._over.wait(0.2):
            for path in Path("/proc").glob("[0-9]*/stat"):
                with suppress(OSError):
                    self._look(int(path.parent.name), path.read_text())

    def _look(self, process: int, stat: str) -> None:
        fields = stat.rpartition(")")[2].split()
        if int(fields[3]) == self._session:
            self._ticks[process, int(fields[19])] = int(fields[11]) + int(fields[12])


def load() -> str:
    """The load of the machine over one, five and fifteen minutes."""
    return ", ".join(f"{each:.1f}" for each in os.getloadavg())
