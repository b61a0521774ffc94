"""The explanations of mutants that survive can be read, and say something; `mutation.py` needs mutmut to hold them."""

import ast
import re
from pathlib import Path

import pytest
from tests.plan import mutation
from tests.plan.mutation import Explanation, Survivor

SURVIVOR = Survivor(
    function="kafka_quorum.plan.pods._ends",
    before='text = f"waits until pod {pod.name} is gone"',
    after="text = None",
)


def test_every_explanation_says_why() -> None:
    """Each entry has a glob of the planner, two regular expressions, and a sentence of its own."""
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
    """What is not explained yet is printed in the form of the file that explains it."""
    assert str(SURVIVOR).splitlines() == [
        "[[survivor]]",
        'function = "kafka_quorum.plan.pods._ends"',
        'before = "text = f\\"waits until pod {pod.name} is gone\\""',
        'after = "text = None"',
        'why = ""',
    ]


def test_what_is_staged_has_what_it_imports(tmp_path: Path) -> None:
    """The tests run in a copy, and no module of the tests that they import is missing there."""
    mutation.stage(tmp_path)
    trees = [ast.parse(path.read_text()) for path in (tmp_path / "tests").rglob("*.py")]
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules = {str(node.module) for node in imports if str(node.module).startswith("tests.")}
    assert "tests.model.values" in modules
    paths = {tmp_path / name.replace(".", "/") for name in modules}
    assert [path for path in paths if not path.is_dir() and not path.with_suffix(".py").exists()] == []
