"""Mutants name functions and syntax trees: every one of them fits the source, and changes it."""

import ast
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.simulation import mutants
from tests.simulation.mutants import ALL, Fate, sources
from tests.simulation.mutations.edits import Edit, MisfitError, edited
from tests.simulation.mutations.mutant import Mutant

_SOURCES = {
    "a.py": (
        "class Gate:\n"
        "    def may(self, view, node):  # whether it may\n"
        "        if view.voters:\n"
        "            raise ValueError(f'{node} is no voter ({view}): wait')\n"
        "        self.count = 1\n"
        "        return no('3', f'{node} waits')\n"
    ),
    "b.py": "def may(view):\n    return (view.live\n        and view.voters)\n",
}


def _one(function: str, old: str, new: str) -> str:
    (text,) = edited(_SOURCES, (Edit(function=function, old=old, new=new),)).values()
    return text


@pytest.mark.parametrize("mutant", ALL, ids=lambda one: one.name)
def test_every_mutant_fits(mutant: Mutant) -> None:
    """Each edit of a mutant matches exactly one place, and the new source differs and compiles."""
    changed = edited(sources(), mutant.edits)
    assert changed
    for path, text in changed.items():
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(sources()[path]))
        compile(text, path, "exec")


def test_names_are_unique() -> None:
    """Mutants have unique names."""
    assert len({one.name for one in ALL}) == len(ALL)


@pytest.mark.parametrize(
    ("function", "old", "new", "expected"),
    [
        ("may", "view.live and view.voters", "False", "return False"),
        ("Gate.may", "if view.voters:\n    ...", "if False:\n    ...", "if False:\n            raise ValueError"),
        ("Gate.may", "no('3', ...)", "yes('3', ...)", "return yes('3', f'{node} waits')"),
        ("Gate.may", 'f"{node}...{view}..."', 'f"{node}...{view!r}..."', "f'{node} is no voter ({view!r}): wait'"),
        ("Gate.may", "self.count = 1", "self.count = 2", "self.count = 2"),
    ],
)
def test_an_edit(function: str, old: str, new: str, expected: str) -> None:
    """An edit ignores the layout, and keeps the match of a wildcard."""
    assert expected in _one(function, old, new)


def test_statements_that_are_dropped() -> None:
    """Dropped statements are gone, and a body that becomes empty is still valid."""
    assert "count" not in _one("Gate.may", "self.count = 1", "")
    assert "if view.voters:\n            pass" in _one("Gate.may", "raise ValueError(...)", "")


@pytest.mark.parametrize(
    ("function", "old"),
    [("Gate.may", "view.live"), ("Gate.may", "view"), ("may", "node"), ("nobody", "view")],
)
def test_an_edit_that_does_not_fit(function: str, old: str) -> None:
    """An edit that matches nowhere or twice is refused with its function's name."""
    with pytest.raises(MisfitError, match=function):
        _one(function, old, "False")


def test_several_edits_of_one_module() -> None:
    """Each edit of a module starts from the result of the one before it."""
    edits = (
        Edit(function="Gate.may", old="self.count = 1", new="self.count = 2"),
        Edit(function="Gate.may", old="self.count = 2", new="self.count = 3"),
    )
    assert "self.count = 3" in edited(_SOURCES, edits)["a.py"]


def test_a_run_that_fails_anyway_kills_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that killed a mutant, and also fails with the unchanged source, is named."""
    monkeypatch.setattr(mutants, "_tree", lambda directory: directory)
    monkeypatch.setattr(mutants, "_said", lambda _, runs: f"KILLED {runs}: rule 3" if "storm/7" in runs else "LIVES")
    fates = [Fate(name=run, killed=True, how="rule 3", run=run) for run in ("storm/6", "storm/7")]
    fates.append(Fate(name="alive", killed=False, how="LIVES"))
    with ThreadPoolExecutor(1) as pool:
        (fault,) = mutants._unsound(fates, pool)
    assert "storm/7" in fault
