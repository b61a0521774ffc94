"""Mutants of stored formats: a later version's objects are misread, and the accepted spec is lost."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

_OPERATION: Final = ("operation-of-a-later-version",)

LATER_MUTANTS: Final = (
    mutant(
        "unknown-operation-adds-a-voter",
        "stored",
        _OPERATION,
        (
            "operation_from",
            'return _read(row, str(type_)) if known else _unknown(row, f"{_WHERE} is of type {quoted(type_)}")',
            'return _read(row, str(type_) if known else "AddVoter")',
        ),
    ),
    mutant("unknown-operation-is-none", "stored", _OPERATION, ("_plan", "later_version(observed)", "()")),
    mutant(
        "unknown-operation-is-rewritten",
        "stored",
        _OPERATION,
        ("_operation", "isinstance(done.observed.status.open, UnknownOperation)", "False"),
    ),
    mutant(
        "record-of-a-later-schema-is-read",
        "stored",
        ("record-of-a-later-version",),
        ("_read_record", "formats.check(version, formats.RECORD, where)", "assert version"),
    ),
    mutant(
        "faults-bring-back-the-applied-spec",
        "stored",
        ("spec-invalid-after-it-grew",),
        ("judge", "applied if taken.accepted_spec is None else taken.accepted_spec", "applied"),
    ),
    mutant(
        "accepted-spec-is-not-carried",
        "stored",
        ("spec-invalid-after-it-grew",),
        ("Reconciler._pass", "taken.accepted if judged.faults else ...", "'' if judged.faults else ..."),
    ),
    mutant(
        "faults-bring-back-who-left",
        "stored",
        ("spec-invalid-while-it-shrinks",),
        ("asked", "situation.requested if situation.repair_only else situation.wanted", "situation.wanted"),
    ),
    mutant(
        "what-must-wait-keeps-all-waiting",
        "live",
        ("claim-taken-while-it-grows",),
        ("_finished", "None if observed.unreadable else part.exclusive", "part.exclusive"),
    ),
)
