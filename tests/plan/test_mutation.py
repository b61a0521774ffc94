"""The explanations of surviving mutants can be parsed and give a reason; comparing them needs mutmut."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests.plan import mutation
from tests.plan.mutation import Explanation, Survivor
from tests.plan.source import OPERATOR

SURVIVOR = Survivor(
    function="kafka_quorum.plan.pods._ends",
    before='text = f"waits until pod {pod.name} is gone"',
    after="text = None",
)


def test_every_explanation_says_why() -> None:
    """Each entry has a glob of the planner, two regular expressions, a reason, and patterns of its own."""
    found = mutation.explanations()
    assert found
    for entry in found:
        assert entry.function.startswith("kafka_quorum.plan.")
        re.compile(entry.before)
        re.compile(entry.after)
        assert len(entry.why.split()) > 3
    patterns = [(entry.function, entry.before, entry.after) for entry in found]
    assert len(set(patterns)) == len(patterns)


@pytest.mark.parametrize(
    ("function", "before", "after", "covered"),
    [
        ("kafka_quorum.plan.*", "", "", True),
        ("kafka_quorum.plan.pods._ends", r"^text = ", r"None$", True),
        ("kafka_quorum.plan.disks.*", "", "", False),
        ("kafka_quorum.plan.pods.*", r"^message = ", "", False),
        ("kafka_quorum.plan.pods.*", "", r"XX", False),
    ],
    ids=["any", "all three", "another file", "other lines before", "other lines after"],
)
def test_explanation_covers(function: str, before: str, after: str, *, covered: bool) -> None:
    """An entry covers a survivor if its function, the lines before and the lines after all fit."""
    entry = Explanation(function=function, before=before, after=after, why="because")
    assert entry.covers(SURVIVOR) is covered


def test_survivor_is_told_as_an_entry() -> None:
    """A survivor without an explanation is printed as an entry of `survivors.toml`."""
    assert str(SURVIVOR).splitlines() == [
        "[[survivor]]",
        'function = "kafka_quorum.plan.pods._ends"',
        'before = "text = f\\"waits until pod {pod.name} is gone\\""',
        'after = "text = None"',
        'why = ""',
    ]


def test_what_is_staged_has_what_it_imports(tmp_path: Path) -> None:
    """The copy in which the tests run has every module of the tests that they import."""
    mutation.stage(tmp_path)
    trees = [ast.parse(path.read_text()) for path in (tmp_path / "tests").rglob("*.py")]
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules = {str(node.module) for node in imports if str(node.module).startswith("tests.")}
    assert "tests.model.values" in modules
    paths = {tmp_path / name.replace(".", "/") for name in modules}
    assert [path for path in paths if not path.is_dir() and not path.with_suffix(".py").exists()] == []


def test_what_is_staged_has_what_it_reads(tmp_path: Path) -> None:
    """Every staged test can be collected in the copy, and those that read files pass there."""
    mutation.stage(tmp_path)
    staged = sorted((tmp_path / "tests").rglob("*.py"))
    assert {path.name for path in staged if "__file__" in path.read_text()} == {"source.py"}
    readers = [path.stem for path in staged if "from tests.plan.source import" in path.read_text()]
    assert {"test_documented", "test_guards", "test_order"} <= set(readers)
    wanted = f"({' or '.join(readers)}) and not mypy"  # which takes seconds, and reads what the others read
    command = [sys.executable, "-m", "pytest", "-q", "tests/plan", "tests/model", "-k", wanted]
    ended = subprocess.run(command, cwd=tmp_path, env=mutation.alone(), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
    assert int(re.findall(r"(\d+) passed", ended.stdout)[0]) > len(readers)


def functions(directory: Path) -> Iterator[tuple[str, str]]:
    """The name by which mutmut calls each function of the planner, and its source without layout."""
    for path in sorted((directory / "kafka_quorum" / "plan").rglob("*.py")):
        module = ".".join(path.relative_to(directory).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield f"{module}.{node.name}", ast.get_source_segment(path.read_text(), node) or ""


@pytest.mark.parametrize("entry", mutation.explanations(), ids=lambda entry: f"{entry.function} {entry.before}")
def test_every_explanation_is_of_the_present_source(entry: Explanation) -> None:
    """Each entry names a function that there is, and lines before the mutation that this function has."""
    named = [text for name, text in functions(OPERATOR.parent) if fnmatchcase(name, entry.function)]
    lines = (line.strip() for text in named for line in text.splitlines())
    assert any(re.search(entry.before, line) for line in lines)
