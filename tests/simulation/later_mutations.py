"""Mutants of stored formats: what a later version left behind is taken for something else, and the accepted spec is lost."""

# ruff: noqa: E501 - the words of the source are not wrapped
from typing import Final

from tests.simulation.mutations import Edit, Mutant


def _mutant(name: str, shares: tuple[str, ...], *edits: tuple[str, str, str]) -> Mutant:
    made = tuple(Edit(file=file, old=old, new=new) for file, old, new in edits)
    return Mutant(name=name, rule="stored", edits=made, shares=shares)


_OPERATION: Final = ("operation-of-a-later-version",)

LATER_MUTANTS: Final = (
    _mutant(
        "unknown-operation-adds-a-voter",
        _OPERATION,
        (
            "resources/intent.py",
            'return _read(row, str(type_)) if known else _unknown(row, f"{_WHERE} is of type {quoted(type_)}")',
            'return _read(row, str(type_) if known else "AddVoter")',
        ),
    ),
    _mutant(
        "unknown-operation-is-none",
        _OPERATION,
        (
            "plan/planner.py",
            "    if stopped := (*_paused(desired), *later_version(observed)):",
            "    if stopped := _paused(desired):",
        ),
    ),
    _mutant(
        "unknown-operation-is-rewritten",
        _OPERATION,
        (
            "status/build.py",
            "    if operation is None or isinstance(done.observed.status.open, UnknownOperation):",
            "    if operation is None:",
        ),
    ),
    _mutant(
        "record-of-a-later-schema-is-read",
        ("record-of-a-later-version",),
        ("resources/stored.py", "    formats.check(version, formats.RECORD, where)\n", "    assert version\n"),
    ),
    _mutant(
        "faults-bring-back-the-applied-spec",
        ("spec-invalid-after-it-grew",),
        (
            "judge.py",
            "    last = applied if taken.accepted.spec is None else taken.accepted.spec",
            "    last = applied",
        ),
    ),
    _mutant(
        "accepted-spec-is-not-carried",
        ("spec-invalid-after-it-grew",),
        (
            "reconcile.py",
            "        accepted = taken.accepted.text if judged.faults else accepted_text(",
            '        accepted = "" if judged.faults else accepted_text(',
        ),
    ),
)
