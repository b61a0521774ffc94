"""Edits of the operator's source by syntax tree: each names a part of a function, in any place and layout.

An edit names a function by its qualified name (`Executor.execute`, `may_start`, `outer.inner`), which may be in any
module below `operator/`, and names the expression or statements in it that are replaced. It fits if it matches exactly
once in all of the source. Layout, comments and the module do not matter.

A pattern is Python. `...` in the place of an expression stands for any expression, in the place of a statement for one
statement or more, and `"..."` for any text, also within an f-string. Each wildcard of the replacement stands for the
match of the pattern's wildcard at the same position.
"""

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

_BLOCKS: Final = ("body", "orelse", "finalbody")
_ANY_TEXT: Final = "..."
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Part: TypeAlias = ast.AST | list[ast.stmt]
"""The match of a `...`."""


class MisfitError(Exception):
    """An edit that does not match exactly once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The replacement of expressions or statements in a function; an empty replacement drops the statements.

    No module below `without` is meant: the operator has three kinds of resources, with functions of the same names.
    """

    function: str
    old: str
    new: str
    without: tuple[str, ...] = ("kafka_brokers/", "kafka_streams/")


def edited(sources: Mapping[str, str], edits: tuple[Edit, ...]) -> dict[str, str]:
    """The modules that these edits change, by path, with their new text. `MisfitError` if an edit does not fit."""
    trees: dict[str, ast.Module] = {}
    for edit in edits:
        path, tree = _applied(edit, {path: trees.get(path) or ast.parse(text) for path, text in _naming(edit, sources)})
        trees[path] = tree
    return {path: f"{ast.unparse(ast.fix_missing_locations(tree))}\n" for path, tree in trees.items()}


def _naming(edit: Edit, sources: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The sources in which the function may be."""
    name = f"def {edit.function.rpartition('.')[2]}("
    return ((path, text) for path, text in sources.items() if name in text and not path.startswith(edit.without))


def _applied(edit: Edit, trees: Mapping[str, ast.Module]) -> tuple[str, ast.Module]:
    """The one module that the edit changes, and its new text."""
    found = [
        (path, name, place)
        for path, tree in trees.items()
        for name, function in functions_of(tree)
        if name == edit.function
        for place in _places(edit, function)
    ]
    if len(found) != 1:
        where = ", ".join(f"{path} line {place.line}" for path, _, place in found) or "nowhere"
        raise MisfitError(f"{edit.function}: {edit.old!r} is {where} below operator/; exactly one place is expected")
    path, _, place = found[0]
    place.replace(edit.new)
    return path, trees[path]


def functions_of(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function of a module, with its qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not isinstance(node, ast.ClassDef):
                yield prefix + node.name, node
            yield from functions_of(node, f"{prefix}{node.name}.")
        else:
            yield from functions_of(node, prefix)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The place of a match: a field of a node, its items if it is a list, and the match of each `...`."""

    parent: ast.AST
    field: str
    start: int | None
    length: int
    line: int
    stood_for: tuple[Part, ...]

    def replace(self, new: str) -> None:
        """Put the replacement there."""
        made = _filled(ast.parse(new).body, list(copy.deepcopy(self.stood_for)), new)
        if self.start is None:
            setattr(self.parent, self.field, _expression(made))
            return
        items = getattr(self.parent, self.field)
        among_statements = bool(items) and isinstance(items[0], ast.stmt)
        items[self.start : self.start + self.length] = made if among_statements else [_expression(made)]
        if not items and self.field == "body":
            items.append(ast.Pass())


def _places(edit: Edit, function: Function) -> Iterator[_Place]:
    old, new = ast.parse(edit.old).body, ast.parse(edit.new).body
    if len(old) == len(new) == 1 and isinstance(old[0], ast.Expr) and isinstance(new[0], ast.Expr):
        yield from _expressions(old[0].value, function)
    else:
        yield from _statements(old, function)


def _expressions(pattern: ast.expr, function: Function) -> Iterator[_Place]:
    for parent in ast.walk(function):
        for field, value in ast.iter_fields(parent):
            several = isinstance(value, list)
            for index, node in enumerate(value if several else [value]):
                stood_for: list[Part] = []
                if isinstance(node, ast.expr) and _matches(pattern, node, stood_for):
                    start = index if several else None
                    place = (parent, field, start, 1, node.lineno)
                    yield _place(place, stood_for)


def _statements(pattern: list[ast.stmt], function: Function) -> Iterator[_Place]:
    for parent in ast.walk(function):
        for field in _BLOCKS:
            block = getattr(parent, field, None)
            if not isinstance(block, list):
                continue
            for start in range(len(block) - len(pattern) + 1):
                stood_for: list[Part] = []
                if _all_match(pattern, block[start : start + len(pattern)], stood_for):
                    place = (parent, field, start, len(pattern), block[start].lineno)
                    yield _place(place, stood_for)


def _place(place: tuple[ast.AST, str, int | None, int, int], stood_for: list[Part]) -> _Place:
    parent, field, start, length, line = place
    return _Place(parent=parent, field=field, start=start, length=length, line=line, stood_for=tuple(stood_for))


def _is_any(node: object) -> bool:
    return isinstance(node, ast.Constant) and node.value in {..., _ANY_TEXT}


def _matches(pattern: object, value: object, stood_for: list[Part]) -> bool:
    """Whether a value has the pattern's form; records the match of each `...`."""
    if isinstance(pattern, ast.Constant) and isinstance(value, ast.expr) and _is_any(pattern):
        stood_for.append(value)
        return pattern.value is ... or (isinstance(value, ast.Constant) and isinstance(value.value, str))
    if isinstance(pattern, ast.AST):
        return type(pattern) is type(value) and all(
            _matches(one, getattr(value, field), stood_for) for field, one in ast.iter_fields(pattern)
        )
    if isinstance(pattern, list):
        return isinstance(value, list) and _all_match(pattern, value, stood_for)
    return type(pattern) is type(value) and pattern == value


def _all_match(pattern: list[ast.stmt], value: list[ast.stmt], stood_for: list[Part]) -> bool:
    if pattern and isinstance(pattern[-1], ast.Expr) and _is_any(pattern[-1].value) and len(value) >= len(pattern):
        rest = value[len(pattern) - 1 :]
        if not _all_match(pattern[:-1], value[: len(pattern) - 1], stood_for):
            return False
        stood_for.append(rest)
        return True
    return len(pattern) == len(value) and all(
        _matches(one, other, stood_for) for one, other in zip(pattern, value, strict=True)
    )


class _Filler(ast.NodeTransformer):
    """Puts the matches of a pattern's `...` into the replacement, in order."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        """One wildcard statement matches several statements."""
        if _is_any(node.value) and self.parts:
            part = self.parts.pop(0)
            return part if isinstance(part, list) else ast.copy_location(ast.Expr(value=part), node)  # type: ignore[arg-type]
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """A wildcard expression matches one expression."""
        if _is_any(node) and self.parts:
            part = self.parts.pop(0)
            if isinstance(part, list):
                raise MisfitError("a `...` that stood for statements cannot be an expression")
            return part
        return node


def _filled(new: list[ast.stmt], parts: list[Part], text: str) -> list[ast.stmt]:
    wanted = sum(_is_any(node) for one in new for node in ast.walk(one))
    if wanted not in {0, len(parts)}:
        raise MisfitError(f"{text!r} has {wanted} of the pattern's {len(parts)} `...`: all or none are expected")
    return ast.fix_missing_locations(_Filler(parts).visit(ast.Module(body=new, type_ignores=[]))).body  # type: ignore[no-any-return]


def _expression(made: list[ast.stmt]) -> ast.expr:
    if len(made) != 1 or not isinstance(made[0], ast.Expr):
        raise MisfitError("an expression is replaced by an expression")
    return made[0].value
