"""How far a value travels through the planner: the calls in which it is passed on, from `plan()`, function by function.

`PYTHONPATH=operator:. python -m tests.followed desired situation` prints the figures of each name, for the source below
`operator/`; `--source DIRECTORY` chooses another one, for example that of an earlier commit.

A call is followed if the value is one of its arguments by this name. Each function is entered once, and calls come in
the order of the source. A call of an attribute (`concern.part(…)`) goes to every function that a table of that module
lists under this name. A step is an entry after the first one. It is a return if it leads into another module, and one
that was left before.
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

START: Final = ("kafka_quorum.plan.planner", "plan")
Place: TypeAlias = tuple[str, str]
"""A module, and one of its functions."""


@dataclass(frozen=True, slots=True)
class Journey:
    """The functions that a value enters, in order."""

    places: tuple[Place, ...]

    @property
    def steps(self) -> int:
        """Every entry after the first one."""
        return len(self.places) - 1

    @property
    def returns(self) -> int:
        """The entries from another module into one that was left."""
        modules = [module for module, _ in self.places]
        moves = [index for index in range(1, len(modules)) if modules[index] != modules[index - 1]]
        return sum(modules[index] in modules[:index] for index in moves)


class Source:
    """The modules of a source root, with their functions and imports."""

    def __init__(self, root: Path) -> None:
        """Parses every module of the operator below this root."""
        paths = {".".join(path.relative_to(root).with_suffix("").parts): path for path in root.rglob("*.py")}
        self._trees = {
            name.removesuffix(".__init__"): ast.parse(path.read_text())
            for name, path in paths.items()
            if name.startswith("kafka_quorum.")
        }
        self._functions = {
            (module, node.name): node
            for module, tree in self._trees.items()
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
        }
        self._imports = {
            (module, alias.asname or alias.name): (str(node.module), alias.name)
            for module, tree in self._trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def follow(self, name: str, start: Place = START) -> Journey:
        """The journey of what has this name."""
        entered: dict[Place, None] = {}
        self._enter(start, name, entered)
        return Journey(tuple(entered))

    def _enter(self, place: Place, name: str, entered: dict[Place, None]) -> None:
        if place in entered:
            return
        entered[place] = None
        calls = [node for node in ast.walk(self._functions[place]) if isinstance(node, ast.Call)]
        for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
            given = (*call.args, *(keyword.value for keyword in call.keywords))
            if any(isinstance(value, ast.Name) and value.id == name for value in given):
                for called in self._called(place[0], call.func):
                    self._enter(called, name, entered)

    def _called(self, module: str, function: ast.expr) -> Iterator[Place]:
        if isinstance(function, ast.Name):
            own = (module, function.id)
            place = own if own in self._functions else self._imports.get(own, own)
            if place in self._functions:
                yield place
        elif isinstance(function, ast.Attribute):
            holder = function.value.id if isinstance(function.value, ast.Name) else ""
            place = (".".join(self._imports.get((module, holder), ())), function.attr)
            if place in self._functions:
                yield place
            else:
                yield from self._listed(module, function.attr)

    def _listed(self, module: str, column: str) -> Iterator[Place]:
        """The functions that the tables of a module have in this column."""
        tables = (node for node in self._trees[module].body if isinstance(node, ast.Assign | ast.AnnAssign))
        for keyword in (node for table in tables for node in ast.walk(table) if isinstance(node, ast.keyword)):
            if keyword.arg == column:
                yield from self._called(module, keyword.value)


def main() -> int:
    """Prints one line for each name."""
    parser = argparse.ArgumentParser(description="How far a value travels through the planner.")
    parser.add_argument("--source", type=Path, default=Path("operator"))
    parser.add_argument("names", nargs="+")
    given = parser.parse_args()
    source = Source(given.source)
    for name in given.names:
        journey = source.follow(name)
        sys.stdout.write(f"{name}: {journey.steps} steps, {journey.returns} returns\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
