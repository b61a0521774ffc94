"""What the benchmarks measure, and of which versions: this one, and the checkout that `BENCH_BESIDE` names."""

import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A checkout with its own environment. Commands of the one that is measured may take as long as they like."""

    name: str
    operator: Path
    python: str
    limit_s: float | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What its commands run in."""
        return {**os.environ, "PYTHONPATH": str(self.operator), "PYSPARK_PYTHON": self.python}

    @property
    def measured(self) -> bool:
        """Whether it is this one, which may not fail."""
        return self.limit_s is None


LIMIT_S: Final = float(os.environ.get("BENCH_LIMIT_S", "300"))
"""What a command of the other version may take, of the clock on the wall."""
_OURS: Final = Version(
    name="this version", operator=Path(__file__).resolve().parents[2] / "operator", python=sys.executable
)


def versions() -> tuple[Version, ...]:
    """This one, and the one beside it, if there is one; it has been set up with `make setup`."""
    if not (beside := os.environ.get("BENCH_BESIDE")):
        return (_OURS,)
    root = Path(beside).resolve()
    python = str(root / ".venv" / "bin" / "python")
    return _OURS, Version(name=root.name, operator=root / "operator", python=python, limit_s=LIMIT_S)


def children_s() -> float:
    """CPU seconds, user and system, of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def load() -> str:
    """The load of the machine, over one, five and fifteen minutes."""
    return ", ".join(f"{each:.1f}" for each in os.getloadavg())
