"""Every sentence of the operator's source, read from its syntax tree: what users see in statuses, events, logs, errors.

A sentence is a string of more than one word. Names that are bound in the same function are replaced by their values, so
that a sentence with several parts is read as a whole. All other values are `{placeholders}`. Docstrings, field
descriptions (docs/reference.md shows them), CEL and shell scripts are left out.

`python -m tests.golden.sentences` writes `sentences.txt` again; `make sentences` calls it.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Final, TypeAlias, TypeGuard, cast

GOLDEN: Final = Path(__file__).with_name("sentences.txt")
SOURCE: Final = Path(__file__).parents[2] / "operator"
PACKAGES: Final = ("kafka_brokers", "kafka_quorum", "kafka_streams", "kit")
NOT_READ: Final = frozenset(
    {
        "kafka_brokers/api/crd.py",
        "kafka_brokers/api/reference.py",  # docs/reference-brokers.md has the descriptions of the fields
        "kafka_brokers/api/spec.py",
        "kafka_brokers/api/status.py",
        "kafka_brokers/plan/order.py",
        "kafka_brokers/resources/scripts.py",
        "kafka_quorum/api/reference.py",  # docs/reference.md is its golden file, and has the descriptions of the fields
        "kafka_quorum/api/spec.py",
        "kafka_quorum/api/status.py",
        "kafka_quorum/api/crd.py",
        "kafka_quorum/introspection/crd.py",
        "kafka_quorum/introspection/models.py",
        "kafka_quorum/introspection/reference.py",  # docs/reference-introspection.md has the descriptions of the fields
        "kafka_quorum/plan/order.py",  # names of concerns, as docs/architecture.md lists them
        "kafka_quorum/resources/zookeeper.py",
        "kafka_quorum/resources/scripts.py",  # shell scripts; other modules turn their reports into sentences
        "kafka_streams/api/crd.py",
        "kafka_streams/api/reference.py",  # docs/reference-streams.md has the descriptions of the fields
        "kafka_streams/api/spec.py",
        "kafka_streams/api/status.py",
        "kit/crd/definition.py",  # what `make crds` generates
        "kit/crd/generate.py",
        "kit/crd/page.py",
    }
)
SENTENCE_OF: Final = {
    "no": (0, "reason"),
    "yes": (0, "reason"),
    "Answer": (None, "reason"),
    "Admission": (None, "words"),
    "AlterConfig": (None, "message"),
    "CancelMoves": (None, "message"),
    "ComposeLeaf": (None, "message"),
    "CureGhost": (None, "message"),
    "DecideRecord": (None, "message"),
    "DeleteClaim": (None, "message"),
    "DeleteCopy": (None, "message"),
    "DeletePod": (None, "message"),
    "DeleteWorker": (None, "message"),
    "Tail": (None, "message"),
    "EvictPod": (None, "message"),
    "FieldFault": (None, "message"),
    "Finding": (None, "message"),
    "FinishOperation": (None, "message"),
    "Line": (None, "text"),
    "LossVerdict": (None, "message"),
    "MakeAuthority": (None, "message"),
    "MakeUsers": (None, "message"),
    "RemoveScramUser": (None, "message"),
    "SetScramUser": (None, "message"),
    "MarkPod": (None, "message"),
    "MaterialFault": (None, "message"),
    "MovePartitions": (None, "message"),
    "Notice": (None, "message"),
    "Outcome": (None, "message"),
    "Permit": (None, "reason"),
    "PromoteAuthority": (None, "message"),
    "WithdrawAuthority": (None, "message"),
    "Refusal": (None, "reason"),
    "RequestLeaf": (None, "message"),
    "ReloadListener": (None, "message"),
    "RestartPod": (None, "message"),
    "StopPod": (None, "message"),
    "TakeToken": (None, "message"),
    "Rule": (1, "message"),
    "Unknown": (None, "reason"),
    "Wait": (None, "message"),
    "WriteRecord": (None, "message"),
    "Wrong": (None, "message"),
    "fault": (2, "words"),
}
"""The constructors of sentences, and where the sentence is: its position, if it may have one, and its name."""

_NOT_SENTENCES: Final = frozenset({"description", "expression", "title", "pattern", "prefix"})
"""Arguments with CEL, shapes, or words that are shown elsewhere."""
_CODE: Final = re.compile(r"[A-Z][A-Za-z]+")
_WORDS: Final = re.compile(r"[A-Za-z}'\])][,:;]? [A-Za-z{'(\[]")
_MOST: Final = 8
"""The most readings of one sentence; if there are more, its parts are listed."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Block: TypeAlias = list[ast.stmt]


class CannotReadError(ValueError):
    """A sentence is built in a way that this module cannot read."""


class Module:
    """The syntax tree of a module, with the parent of each node."""

    def __init__(self, path: Path, source: str) -> None:
        """Reads the module."""
        self.path = path
        self.tree = ast.parse(source)
        self.parent = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.constants = dict(pair for statement in self.tree.body for pair in _assignments(statement))
        self.used: set[ast.expr] = set()
        """The nodes that were read as a part of a sentence."""
        self.assigned: dict[tuple[Function | None, str], list[tuple[ast.stmt, ast.expr]]] = {}
        self.loads: dict[tuple[Function | None, str], list[ast.Name]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self.loads.setdefault((self.function(node), node.id), []).append(node)
            for name, value in _assignments(node):
                rows = self.assigned.setdefault((self.function(node), name), [])
                rows.append((cast("ast.stmt", node), value))

    def up(self, node: ast.AST) -> Iterator[ast.AST]:
        """The node and its parents, from inside out."""
        at: ast.AST | None = node
        while at is not None:
            yield at
            at = self.parent.get(at)

    def function(self, node: ast.AST) -> Function | None:
        """The function around a node."""
        return next((each for each in self.up(node) if isinstance(each, Function)), None)

    def uses(self, function: Function | None, name: str) -> Iterator[ast.Name]:
        """Where a name is read: a constant of the module in any function, any other name in its own."""
        if function is not None:
            return iter(self.loads.get((function, name), ()))
        return (use for (_, each), uses in self.loads.items() if each == name for use in uses)

    def name(self, node: ast.AST) -> str:
        """The functions and classes around a node, as a path; empty at the level of the module."""
        return ".".join(reversed([each.name for each in self.up(node) if isinstance(each, Function | ast.ClassDef)]))

    def block(self, statement: ast.AST) -> tuple[ast.AST, Block]:
        """The statement that contains a node, and its block."""
        owner = self.parent[statement]
        blocks = (value for _, value in ast.iter_fields(owner) if isinstance(value, list))
        return owner, next(block for block in blocks if statement in block)


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement binds, each to one expression."""
    match node:
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            pairs = zip(names, values, strict=True)
            yield from ((name.id, value) for name, value in pairs if isinstance(name, ast.Name))
        case _:
            return


# From an expression to its readings


def readings(module: Module, node: ast.expr, *, depth: int = 0) -> tuple[str, ...] | None:
    """The possible values of a string, with placeholders; None if the expression is no string that is written here."""
    match node:
        case ast.Constant(value=str(text)):
            found: tuple[str, ...] | None = (text,)
        case ast.JoinedStr(values=values):
            found = _joined([_part(module, value, depth) for value in values])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            sides = [readings(module, side, depth=depth) for side in (left, right)]
            if sides == [None, None]:
                return None
            found = _joined([side or (_placeholder(at),) for side, at in zip(sides, (left, right), strict=True)])
        case ast.IfExp(body=body, orelse=orelse):
            found = _either(module, (body, orelse), depth)
        case ast.BoolOp(values=values):
            found = _either(module, values, depth)
        case ast.Name(id=name) if depth < 4:
            found = _either(module, _bound(module, node, name), depth + 1)
        case _:
            return None
    if found is not None:
        module.used.add(node)
    return found


def _part(module: Module, value: ast.expr, depth: int) -> tuple[str, ...]:
    if isinstance(value, ast.FormattedValue):
        return readings(module, value.value, depth=depth) or (_placeholder(value.value),)
    return readings(module, value, depth=depth) or ("",)


def _joined(parts: list[tuple[str, ...]]) -> tuple[str, ...]:
    rows = tuple(dict.fromkeys("".join(each) for each in product(*parts)))
    return rows if len(rows) <= _MOST else ("".join(part[0] for part in parts), *rows[1 - _MOST :])


def _either(module: Module, nodes: Sequence[ast.expr], depth: int) -> tuple[str, ...] | None:
    found = [readings(module, each, depth=depth) for each in nodes]
    if not any(found):
        return None
    texts = (texts or (_placeholder(each),) for texts, each in zip(found, nodes, strict=True))
    return tuple(dict.fromkeys(text for each in texts for text in each))


def _placeholder(node: ast.expr) -> str:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[ast.Name(id=name)]):
            text = name
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            text = f"{name}()"
        case ast.Subscript(value=ast.Name(id=name)):
            text = name
        case ast.Name() | ast.Attribute():
            text = ast.unparse(node)
        case _:
            text = "…"
    return "{" + text + "}"


def _bound(module: Module, use: ast.Name, name: str) -> list[ast.expr]:
    """The possible values of a name where it is used: the last assignment on each path to it."""
    function = module.function(use)
    if function is None:
        return [module.constants[name]] if name in module.constants else []
    around = set(module.up(use))
    assigned = sorted(module.assigned.get((function, name), ()), key=lambda each: -each[0].lineno)
    found = []
    for statement, value in assigned:
        owner, block = module.block(statement)
        if statement.lineno >= use.lineno or statement in around:
            continue
        through = owner in around and any(each in around for each in block)
        if not through and (owner in around or isinstance(block[-1], ast.Return | ast.Raise | ast.Continue)):
            continue  # another branch, or one that does not lead here
        found.append(value)
        if through:
            return found
    if not assigned and name in module.constants:
        return [module.constants[name]]
    return found


# From a module to its sentences


def rows(module: Module) -> Iterator[tuple[str, str, str]]:
    """Each sentence of a module: function, label (guard and answer, or reason), text."""
    _refuse_what_cannot_be_read(module)
    wholes = [node for node in ast.walk(module.tree) if isinstance(node, ast.expr) and _is_whole(module, node)]
    found = [(node, texts) for node in wholes if (texts := readings(module, node)) is not None]
    for node, texts in sorted(found, key=lambda each: (each[0].lineno, each[0].col_offset)):
        if node in module.used and _is_part(module, node):
            continue
        for text in texts:
            if _WORDS.search(text) and re.search("[a-z]{2}", re.sub("{[^}]*}", "", text)):
                yield module.name(node), _label(module, node), " ".join(text.split())


def _is_whole(module: Module, node: ast.expr) -> bool:
    """Whether this is a whole string, not a part of one, a docstring, or a text that no person reads."""
    around = module.parent[node]
    if isinstance(
        around, ast.JoinedStr | ast.FormattedValue | ast.IfExp | ast.BoolOp | ast.Expr | ast.Compare | ast.Subscript
    ):
        return isinstance(around, ast.IfExp) and node is around.test
    if isinstance(around, ast.BinOp) and isinstance(around.op, ast.Add):
        return False
    if any(isinstance(each, ast.keyword) and each.arg in _NOT_SENTENCES for each in module.up(node)):
        return False
    if any(_is_call_of(each, "Field", "compile", "getLogger", "Literal") for each in module.up(node)):
        return False
    return not (isinstance(around, ast.AnnAssign) and node is around.annotation)


def _is_part(module: Module, node: ast.expr) -> bool:
    """Whether a string is bound to a name through which another sentence was read."""
    statement = module.parent[node]
    if isinstance(statement, ast.Tuple):
        statement = module.parent[statement]
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    function = module.function(node)
    names = [name for name, value in _assignments(statement) if value is node]
    return any(use in module.used for name in names for use in module.uses(function, name))


def _label(module: Module, node: ast.expr) -> str:
    function = module.function(node)
    decorators = function.decorator_list if function else ()
    guards = (each.args[0] for each in decorators if _is_call_of(each, "guard"))
    words = [_guards().get(name, name) for name in map(ast.unparse, guards)]
    around = next(
        (each for each in module.up(module.parent[node]) if not isinstance(each, ast.keyword | ast.IfExp)), None
    )
    if isinstance(around, ast.Call):
        if words and _is_call_of(around, "yes", "unless"):
            words.append("allows")
        given = [*around.args, *(each.value for each in around.keywords if each.arg in {"reason", "change"})]
        words.extend(code for each in given if (code := _code(module, each)))
    elif isinstance(around, ast.Tuple):
        words.extend(code for each in around.elts if (code := _code(module, each)))
    return " ".join(dict.fromkeys(words))


def _code(module: Module, node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)) if _CODE.fullmatch(text):
            return text
        case ast.Name(id=name) if name.isupper() and name in module.constants:
            return _code(module, module.constants[name])
        case ast.Name(id=name) if name.isupper():
            return name
        case ast.Attribute(value=ast.Name(id="RecordChange"), attr=name):
            return name
        case _:
            return ""


def _is_call_of(node: ast.AST, *names: str) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    return name in names


def _guards() -> dict[str, str]:
    from kafka_brokers.model import permit as of_brokers  # noqa: PLC0415 - only the ids
    from kafka_quorum.model import permit as of_quorums  # noqa: PLC0415

    every = {**vars(of_brokers), **vars(of_quorums)}.items()
    return {name: each.id for name, each in every if isinstance(each, type) and hasattr(each, "id")}


# What must be readable


def _refuse_what_cannot_be_read(module: Module) -> None:
    """Raises `CannotReadError` if a sentence is built in any other way."""
    for node in ast.walk(module.tree):
        where = f"{module.path}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left):
            raise CannotReadError(f"{where}: a sentence is formatted with %: write an f-string")
        if _is_call_of(node, "format") and isinstance(node.func, ast.Attribute) and _is_text(node.func.value):
            raise CannotReadError(f"{where}: a sentence is formatted with str.format: write an f-string")
        if isinstance(node, ast.AugAssign) and _is_text(node.value) and _WORDS.search(ast.unparse(node.value)):
            raise CannotReadError(f"{where}: a sentence grows by +=: give each part a name, and put them together once")
        if isinstance(node, ast.Call) and (sentence := _sentence_of(node)) is not None and not _is_readable(sentence):
            raise CannotReadError(f"{where}: {ast.unparse(sentence)} is no sentence that can be read from the source")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _sentence_of(call: ast.Call) -> ast.expr | None:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name not in SENTENCE_OF:
        return None
    at, keyword = SENTENCE_OF[name]
    named = next((each.value for each in call.keywords if each.arg == keyword), None)
    return named if named is not None or at is None or len(call.args) <= at else call.args[at]


def _is_readable(node: ast.expr) -> bool:
    """Whether a sentence is written here, or comes from its origin: a name, an attribute, a call."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr() | ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right) | ast.IfExp(body=left, orelse=right):
            return _is_readable(left) and _is_readable(right)
        case ast.BoolOp(values=values):
            return all(map(_is_readable, values))
        case _:
            return False


def rendered() -> str:
    """The file: modules, and in each the sentences of its functions."""
    lines = []
    for package in PACKAGES:
        for path in sorted((SOURCE / package).rglob("*.py")):
            name = path.relative_to(SOURCE).as_posix()
            if name in NOT_READ:
                continue
            found = tuple(dict.fromkeys(rows(Module(path, path.read_text()))))
            labelled = {(function, text) for function, label, text in found if label}
            functions: dict[str, list[str]] = {}
            for function, label, text in found:
                if label or (function, text) not in labelled:
                    functions.setdefault(function, []).append(f"    {f'[{label}] ' if label else ''}{text}")
            if functions:
                lines += ["", f"# {name}"]
            for function, texts in functions.items():
                lines += [f"  {function or '(module)'}", *texts]
    return "\n".join(lines[1:]) + "\n"


if __name__ == "__main__":
    GOLDEN.write_text(rendered())
