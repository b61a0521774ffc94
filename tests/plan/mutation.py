"""mutmut over the planner: every mutant of `plan/` is killed by its own tests, or its survival is explained.

`python -m tests.plan.mutation` copies the source and the planner's tests into a directory that mutmut understands, and
runs it there, beside the documents and the source that these tests read. A mutant that mypy refuses needs no test: mypy
runs with the strict settings of the source. The tests of this module are left out, because they run no function of the
planner. The survivors are compared with `survivors.toml`: each entry names functions, the lines before and after, and
why no test can distinguish them. The exit code is 1 if a survivor has no entry, or an entry has no survivor. Arguments
go to mutmut: `--max-children 1 'kafka_quorum.plan.guards.*'` tries the guards only, and then an entry may be without
its survivor.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from tests.plan.source import READ, ROOT

_EXPLAINED: Final = Path(__file__).with_name("survivors.toml")
_TESTS: Final = ("tests/plan", "tests/model")
_SHARED: Final = ("tests/conftest.py", "tests/golden/facts.py", "tests/kit/pki/made.py")
"""What these tests import from other directories."""
_KILLERS: Final = Path(__file__).with_name("killers.py")
_OWN: Final = ("test_mutation.py", "mutation.py", "killers.py", "survivors.toml")
_MYPY: Final = (sys.executable, "-m", "mypy", "--output=json", "src/kafka_quorum/plan")
_SURVIVED: Final = (0, 33)
_REFUSED_BY_MYPY: Final = 37
_SETTINGS: Final = f"""
[tool.mutmut]
source_paths = ["src"]
only_mutate = ["src/kafka_quorum/plan/**/*.py"]
also_copy = {json.dumps(sorted({"tests", *(name.split("/")[0] for name in READ)}))}
pytest_add_cli_args_test_selection = {json.dumps(list(_TESTS))}
type_check_command = {json.dumps(list(_MYPY))}
timeout_multiplier = 30.0

[tool.mypy]
strict = true
python_version = "3.11"
mypy_path = "src"
explicit_package_bases = true
namespace_packages = true
warn_unused_ignores = false  # mutmut writes some of its own
enable_error_code = ["exhaustive-match", "redundant-expr", "truthy-bool"]

[tool.pytest.ini_options]
addopts = "--import-mode=importlib -p no:randomly -p no:cacheprovider -p no:unraisableexception"
pythonpath = ["src", "."]
timeout = 120
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """A mutant that no test kills: its function, and its lines before and after the mutation."""

    function: str
    before: str
    after: str

    def __str__(self) -> str:
        """The text of an entry for `survivors.toml`, still without its explanation."""
        fields = {"function": self.function, "before": self.before, "after": self.after, "why": ""}
        return "\n".join(["[[survivor]]", *(f"{name} = {json.dumps(text)}" for name, text in fields.items())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why some mutants survive: `function` is a glob, `before` and `after` are regular expressions for the lines."""

    function: str
    before: str
    after: str
    why: str

    def covers(self, survivor: Survivor) -> bool:
        """Whether this is such a mutant."""
        return (
            fnmatchcase(survivor.function, self.function)
            and re.search(self.before, survivor.before) is not None
            and re.search(self.after, survivor.after) is not None
        )


def main() -> int:
    """Runs mutmut, and prints what is not explained."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        stage(directory)
        command = [sys.executable, str(_KILLERS), "run", *sys.argv[1:]]
        ended = subprocess.run(command, cwd=directory, env=alone(), check=False).returncode
        sys.stdout.write(f"\nmutmut ended with {ended}\n")
        return report(directory, whole=not any(argument.startswith("kafka_quorum.") for argument in sys.argv[1:]))


def alone() -> dict[str, str]:
    """The environment of a command in the copy: what it imports is found there, and not by a path from outside."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def report(directory: Path, *, whole: bool) -> int:
    """Compares the survivors with the explanations. A `whole` run tries every mutant and needs every entry."""
    codes = _codes(directory)
    survivors = [_survivor(directory, name) for name, code in codes.items() if code in _SURVIVED]
    explained = explanations()
    unknown = [one for one in survivors if not any(entry.covers(one) for entry in explained)]
    idle = [entry for entry in explained if whole and not any(entry.covers(one) for one in survivors)]
    counted = Counter(codes.values())
    tried, untried = len(codes) - counted[None], counted[None] if whole else 0
    sys.stdout.write("".join(f"survived, and nobody says why:\n{one}\n\n" for one in unknown))
    sys.stdout.write("".join(f"explained, and did not survive: {entry}\n\n" for entry in idle))
    sys.stdout.write(f"{untried} were not tried\n" if untried else "")
    sys.stdout.write(f"{counted[_REFUSED_BY_MYPY]} are refused by mypy, the others killed by a test\n")
    said = f"killed {tried - len(survivors)} of {tried}; {len(survivors) - len(unknown)} survivors explained"
    sys.stdout.write(f"{said}, {len(unknown)} not\n")
    return 1 if unknown or idle or untried or not tried else 0


def explanations() -> list[Explanation]:
    """Every entry of `survivors.toml`. A field that an entry omits matches anything."""
    rows = tomllib.loads(_EXPLAINED.read_text()).get("survivor", [])
    return [Explanation(**{"before": "", "after": "", **row}) for row in rows]


def stage(directory: Path) -> None:
    """Builds the layout that mutmut requires, with only what the planner's tests import and read."""
    kept = shutil.ignore_patterns("__pycache__", *_OWN)
    for package in ("kafka_quorum", "kit"):
        shutil.copytree(ROOT / "operator" / package, directory / "src" / package, ignore=kept, dirs_exist_ok=True)
    for part in _TESTS:
        shutil.copytree(ROOT / part, directory / part, ignore=kept, dirs_exist_ok=True)
    for name in (*_SHARED, *READ):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, directory / name, ignore=kept, dirs_exist_ok=True)
        else:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, directory / name)
    (directory / "pyproject.toml").write_text(_SETTINGS)


def _codes(directory: Path) -> dict[str, int | None]:
    """How the tests of every mutant ended; None for a mutant that was not tried."""
    found: dict[str, int | None] = {}
    for meta in sorted((directory / "mutants").rglob("*.meta")):
        found.update(json.loads(meta.read_text())["exit_code_by_key"])
    return found


def _survivor(directory: Path, name: str) -> Survivor:
    command = [sys.executable, "-m", "mutmut", "show", name]
    shown = subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout
    changed = [line for line in shown.splitlines() if line[:1] in "+-" and not line.startswith(("+++", "---"))]
    before, after = ("\n".join(line[1:].strip() for line in changed if line.startswith(sign)) for sign in "-+")
    function = name.rpartition("__mutmut_")[0].replace(".x_", ".", 1)
    return Survivor(function=function, before=before, after=after)


if __name__ == "__main__":
    sys.exit(main())
