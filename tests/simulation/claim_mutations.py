"""Mutants of stops that take a disk along, and of pods that are corrected: see `claim_scenarios`."""

from typing import Final

from tests.simulation.mutations import Edit, Mutant


def _mutant(name: str, rule: str, shares: tuple[str, ...], *edits: tuple[str, str, str]) -> Mutant:
    made = tuple(Edit(file=file, old=old, new=new) for file, old, new in edits)
    return Mutant(name=name, rule=rule, edits=made, shares=shares)


_KEPT: Final = "plan/kept_disks.py"

CLAIM_MUTANTS: Final[tuple[Mutant, ...]] = (
    _mutant(
        "a-roll-takes-the-only-disk",
        "2, kept",
        ("claims-deleted-and-rolled-1",),
        ("plan/rolling_safety.py", "(kept := why_kept(desired, observed, record, node)):", '(kept := ""):'),
    ),
    _mutant(
        "a-claim-without-a-volume-is-well",
        "2, kept",
        ("volumes-lost-and-rolled",),
        (_KEPT, 'has lost its volume" if claim.lost else', 'has lost its volume" if claim.deleting else'),
    ),
    _mutant(
        "disks-that-go-are-counted",
        "2, kept",
        ("claims-deleted-and-rolled-3",),
        (_KEPT, "node.key == key and not _fate(observed, node)", "node.key == key"),
    ),
    _mutant(
        "a-pair-hands-over-its-disk",
        "2, kept",
        ("pair-shrinks-without-its-claim",),
        ("plan/safety.py", "            (bool(kept), f", "            (False, f"),
    ),
    _mutant(
        "a-corrected-pod-takes-its-disk",
        "2, kept",
        ("stuck-pod-without-its-claim",),
        ("plan/rolling_safety.py", "(kept := why_kept(desired, observed, record, node)):", '(kept := ""):'),
        ("plan/safety.py", "    if kept:\n", "    if False:\n"),
    ),
    _mutant(
        "all-that-are-stuck-at-once",
        "live",
        ("crash-beside-an-image-that-cannot-start",),
        ("plan/revisions.py", "                if not verdicts[-1].allowed:", "                if False:"),
    ),
    _mutant(
        "no-way-back-without-a-leader",
        "live",
        ("image-taken-back-without-a-leader",),
        (
            "plan/rolling_safety.py",
            "    if target == record.applied_revision and record.had_leader:",
            "    if False:",
        ),
        ("plan/rolling_safety.py", "    if is_going(observed, node):", "    if False:"),
    ),
    _mutant(
        "no-way-back-behind-an-older-image",
        "live",
        ("refused-pod-behind-an-older-image",),
        ("plan/revisions.py", "waits=(wait,)), refused))", "waits=(wait,)),))"),
    ),
)
