"""What the operator does in a share of the simulation, one line for each run, and how two such files differ.

`python -m tests.simulation.trace --one-in 2000 --storms 60 > after.txt` performs every scenario without a fault, one of
2000 single faults and 60 storms. A line holds the run's name, a digest, the number of entries, and the entries
themselves: each planned action and each write request, with the simulated time in seconds and the essential arguments.
`--checkout DIR` does the same with the operator and the simulation of another checkout, and `--like FILE` performs the
runs that FILE names. `--compare before.txt after.txt` names the first entry of each run that differs. Equal files show
that a change of the source changed no action.

Sentences and the time of a look are no essential arguments, and neither are a status without an operation and events.
Values are written by the names of their classes and fields, so that a module may move. Nothing but the standard library
is imported at first: this file runs beside simulations that are divided differently.
"""

import argparse
import dataclasses
import functools
import hashlib
import importlib
import json
import logging
import os
import pkgutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeAlias

Entry: TypeAlias = tuple[float, str, dict[str, str]]
"""Simulated seconds; the action's class, or verb and kind of a request; its arguments."""
Traced: TypeAlias = dict[str, list[Entry]]

Foreign: TypeAlias = Any
"""A value from the checkout that performs the runs."""

UNESSENTIAL: Final = frozenset({"message", "judged_at_s", "permit"})
_REQUESTS: Final = {
    "KubeEdge": ("create", "replace", "apply", "patch", "delete", "evict"),
    "KafkaEdge": ("add_voter", "remove_voter", "update_feature", "register_controller", "unregister_controller"),
}
_SHORT: Final = 200
"""Longer texts are written as a digest."""
_ITSELF: Final = Path(__file__).resolve()


def main(arguments: list[str] | None = None) -> int:
    """Trace a share, or compare two files; 1 if these differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.trace", description=__doc__)
    parser.add_argument("run", nargs="*", help="runs by name, as failures print them, instead of a share")
    parser.add_argument("--one-in", type=int, default=0, metavar="N", help="a seeded share of the single faults, too")
    parser.add_argument("--storms", type=int, default=0, metavar="N", help="so many storms besides")
    parser.add_argument("--seed", type=int, default=0, help="which share, and which storms")
    parser.add_argument("--like", type=Path, metavar="FILE", help="the runs of this file")
    parser.add_argument("--whole", action="store_true", help="write long values as they are, without a digest")
    parser.add_argument("--checkout", type=Path, metavar="DIR", help="the operator and the simulation of this checkout")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FILE", help="compare two files, and run nothing")
    parser.add_argument("--only", choices=("actions", "requests"), help="compare only these")
    parser.add_argument("--without", nargs="+", default=[], metavar="ARGUMENT", help="compare without these arguments")
    chosen = parser.parse_args(arguments)
    if chosen.compare:
        before, after = (read(path.read_text()) for path in chosen.compare)
        return _report(before, after, only=chosen.only or "", without=frozenset(chosen.without))
    if chosen.checkout:
        return _elsewhere(chosen.checkout.resolve(), sys.argv[1:] if arguments is None else arguments)
    logging.disable(logging.CRITICAL)
    for name in _names(chosen):
        sys.stdout.write(f"{line(name, trace(name, whole=chosen.whole))}\n")
        sys.stdout.flush()
    return 0


def _elsewhere(checkout: Path, arguments: list[str]) -> int:
    """The same with the operator and the simulation of another checkout, in a process of its own."""
    place = arguments.index("--checkout")
    rest = arguments[:place] + arguments[place + 2 :]
    rest = [str(Path(one).resolve()) if Path(one).is_file() else one for one in rest]
    environment = os.environ | {"PYTHONPATH": f"{checkout / 'operator'}{os.pathsep}{checkout}"}
    sys.stdout.flush()
    return subprocess.run([sys.executable, str(_ITSELF), *rest], cwd=checkout, env=environment, check=False).returncode


def _names(chosen: argparse.Namespace) -> Iterable[str]:
    if chosen.run:
        return list(chosen.run)
    if chosen.like:
        return list(read(chosen.like.read_text()))
    names = [one.name for one in _module("scenarios").ALL]
    found: list[str] = (
        _module("explore").runs_of(names, one_in=chosen.one_in, seed=chosen.seed)
        if chosen.one_in
        else [f"{name}/no-fault" for name in names]
    )
    first = chosen.seed * chosen.storms
    return [*found, *(f"storm/{number}" for number in range(first, first + chosen.storms))]


@functools.cache
def _module(name: str) -> Foreign:
    """The module of the simulation with this name, in any of its packages."""
    package = importlib.import_module("tests.simulation")
    names = _modules(package.__path__, "tests.simulation.")
    found = sorted({one for one in names if one.rpartition(".")[2] == name})
    if len(found) != 1:
        raise ImportError(f"the simulation has {found or 'no module'} of the name {name}: exactly one is expected")
    return importlib.import_module(found[0])


def _modules(paths: Iterable[str], prefix: str) -> Iterator[str]:
    """The names of all modules below these paths; packages need no `__init__.py`."""
    for path in map(Path, paths):
        yield from (info.name for info in pkgutil.iter_modules([str(path)], prefix))
        for one in sorted(path.iterdir()):
            if one.is_dir() and not (one / "__init__.py").exists() and one.name.isidentifier():
                yield from _modules([str(one)], f"{prefix}{one.name}.")


# Performing a run


class Trace:
    """Notes down what the operators of one world at a time do."""

    def __init__(self, *, whole: bool) -> None:
        """Begin without entries."""
        self.entries: list[Entry] = []
        self.world: Foreign = None
        self._whole = whole

    def note(self, kind: str, arguments: Mapping[str, object]) -> None:
        """Add an entry of this moment."""
        told = {name: self._told(value) for name, value in arguments.items() if name not in UNESSENTIAL}
        at_s = 0.0 if self.world is None else round(self.world.clock.elapsed_s, 3)
        self.entries.append((at_s, kind, told))

    def planned(self, plan: Foreign) -> None:
        """The actions of a pass, after it."""
        for action in plan.actions if plan is not None else ():
            fields = {one.name: getattr(action, one.name) for one in dataclasses.fields(action)}
            self.note(type(action).__name__, fields)

    def request(self, method: str, given: Mapping[str, Foreign]) -> None:
        """A write request, as it is sent; a read is not noted."""
        if given.get("dry_run") or getattr(given.get("request"), "validate_only", False):
            return
        what = getattr(given.get("resource"), "plural", "")
        body = given.get("body")
        if what == "events":
            return
        if given.get("subresource") == "status" and what == "kafkaquorums":
            if not isinstance(body, Mapping) or "operation" not in body.get("status", {}):
                return
            body = {"status": {"operation": body["status"]["operation"]}}
        shown = {name: value for name, value in given.items() if name not in {"resource", "body"} and value}
        self.note(f"{method} {what}".strip(), shown | ({} if body is None else {"body": body}))

    def _told(self, value: object) -> str:
        text = json.dumps(plain(value), sort_keys=True, ensure_ascii=False)
        return text if self._whole or len(text) <= _SHORT else f"{_head(value)}#{_digest(text)}"


def _head(value: object) -> str:
    """The head of a long value: its class, and its name and uid if it has them."""
    named = [str(getattr(value, field)) for field in ("name", "uid") if hasattr(value, field)]
    if isinstance(value, Mapping):
        named.append(str((value.get("metadata") or {}).get("name", "")))
    return " ".join(filter(None, (type(value).__name__, *named)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def plain(value: Foreign) -> Foreign:
    """A value as JSON: classes and fields by name, sets in order, without unessential fields."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [one.name for one in dataclasses.fields(value) if one.name not in UNESSENTIAL]
        return {"": type(value).__name__} | {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(one) for key, one in value.items() if key not in UNESSENTIAL}
    if isinstance(value, set | frozenset):
        return sorted((plain(one) for one in value), key=lambda one: json.dumps(one, sort_keys=True))
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def trace(name: str, *, whole: bool = False) -> list[Entry]:
    """Perform one run, or one storm, and return what the operator did in it."""
    noted = Trace(whole=whole)
    world, checker = _module("world").World, _module("invariants").Checker
    undo = [_wrap(world, "__init__", functools.partial(_begins, noted))]
    undo.append(_wrap(checker, "__init__", functools.partial(_hears, noted)))
    for edge, module in (("KubeEdge", "kube_edge"), ("KafkaEdge", "kafka_edge")):
        cls = getattr(_module(module), edge)
        undo += [_wrap(cls, method, functools.partial(_sends, noted, method)) for method in _REQUESTS[edge]]
    try:
        _module("explore").any_replay(name)
    finally:
        for one in undo:
            one()
    return noted.entries


def _wrap(cls: type, name: str, around: Callable[[Foreign], Foreign]) -> Callable[[], None]:
    """Wrap a method, and return how to undo that."""
    original = cls.__dict__[name]
    setattr(cls, name, around(original))
    return lambda: setattr(cls, name, original)


def _begins(noted: Trace, original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def begin(world: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        original(world, *args, **kwargs)
        noted.world = world

    return begin


def _hears(noted: Trace, original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def begin(checker: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        original(checker, *args, **kwargs)
        hear = checker.planned

        def planned(plan: Foreign) -> None:
            noted.planned(plan)
            hear(plan)

        checker.planned = planned

    return begin


def _sends(noted: Trace, method: str, original: Callable[..., Awaitable[Foreign]]) -> Callable[..., Awaitable[Foreign]]:
    code = original.__code__
    names = code.co_varnames[1 : code.co_argcount]

    @functools.wraps(original)
    async def send(edge: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
        noted.request(method, dict(zip(names, args, strict=False)) | kwargs)
        return await original(edge, *args, **kwargs)

    return send


# Files, and the differences of two files


def line(name: str, entries: list[Entry]) -> str:
    """A run as a line: name, digest, number of entries and the entries, separated by tabs."""
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    return f"{name}\t{_digest(text)}\t{len(entries)}\t{text}"


def read(text: str) -> Traced:
    """The runs of a file; ValueError if a line is not a trace."""
    found: Traced = {}
    for number, one in enumerate(text.splitlines(), 1):
        parts = one.split("\t")
        if len(parts) != 4 or _digest(parts[3]) != parts[1]:
            raise ValueError(f"line {number} is no run, or was cut off: {one[:80]!r}")
        found[parts[0]] = [(at_s, kind, arguments) for at_s, kind, arguments in json.loads(parts[3])]
    return found


def difference(
    before: list[Entry], after: list[Entry], *, only: str = "", without: frozenset[str] = frozenset()
) -> str:
    """The first entry in which two runs differ, in words; empty if they are the same."""
    first, second = (list(_compared(one, only, without)) for one in (before, after))
    for index in range(max(len(first), len(second))):
        pair = [one[index] if index < len(one) else None for one in (first, second)]
        if pair[0] != pair[1]:
            return f"entry {index + 1}:\n    before: {_shown(pair[0])}\n    after:  {_shown(pair[1])}"
    return ""


def _compared(entries: list[Entry], only: str, without: frozenset[str]) -> Iterator[Entry]:
    for at_s, kind, arguments in entries:
        of = "actions" if kind[:1].isupper() else "requests"
        if only in {"", of}:
            yield at_s, kind, {name: value for name, value in arguments.items() if name not in without}


def _shown(entry: Entry | None) -> str:
    if entry is None:
        return "nothing"
    at_s, kind, arguments = entry
    return f"{at_s} s {kind}({', '.join(f'{name}={value}' for name, value in arguments.items())})"


def _report(before: Traced, after: Traced, *, only: str, without: frozenset[str]) -> int:
    """Report the differences of two files; 1 if there are any."""
    both = [name for name in before if name in after]
    differing = 0
    for name in both:
        if told := difference(before[name], after[name], only=only, without=without):
            differing += 1
            sys.stdout.write(f"{name}: {told}\n")
    alone = [f"only before: {name}" for name in before if name not in after]
    alone += [f"only after: {name}" for name in after if name not in before]
    entries = sum(len(before[name]) for name in both)
    lines = [*alone, f"{len(both) - differing} of {len(both)} runs are the same, {entries} entries before"]
    sys.stdout.write("".join(f"{one}\n" for one in lines))
    return 1 if differing or alone or not both else 0


if __name__ == "__main__":
    if sys.path and Path(sys.path[0]).resolve() == _ITSELF.parent:
        del sys.path[0]  # run as a file: the modules beside it belong to another checkout
    sys.exit(main())
