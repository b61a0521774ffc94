"""Mutants of what a resource says of itself: conditions that contradict each other, and texts that mislead."""

# ruff: noqa: E501 - the words of the source are not wrapped
from typing import Final

from tests.simulation.mutations import Edit, Mutant


def _mutant(name: str, shares: tuple[str, ...], *edits: tuple[str, str, str]) -> Mutant:
    made = tuple(Edit(file=file, old=old, new=new) for file, old, new in edits)
    return Mutant(name=name, rule="conditions", edits=made, shares=shares)


STATUS_MUTANTS: Final = (
    _mutant(
        "ready-beside-a-voter-change",
        ("scale-5-to-3-at-rest",),
        (
            "reconcile.py",
            "        if not begins or key in self._announced or not says_ready(resource):",
            "        if True:",
        ),
    ),
    _mutant(
        "ready-before-available",
        ("initial-3",),
        (
            "status/available.py",
            "        case Unknown() if not record.had_leader:",
            '        case Known() if not record.had_leader:\n            return _finding(Truth.FALSE, "NotStarted", "the quorum has had no leader yet")\n        case Unknown() if not record.had_leader:',
        ),
        ("status/ready.py", 'return ("Working", said_of(done, working)) if working else None', "return None"),
    ),
    _mutant(
        "ready-with-work-left",
        ("initial-3",),
        ("status/ready.py", 'return ("Working", said_of(done, working)) if working else None', "return None"),
    ),
    _mutant(
        "wanted-voters-are-counted",
        ("scale-4-to-3", "scale-3-to-5"),
        (
            "status/odd_voters.py",
            "            voters = len(view.committed_voters or ())",
            "            voters = done.desired.replicas",
        ),
    ),
    _mutant(
        "settled-without-an-identity",
        ("record-deleted", "record-and-status-gone"),
        (
            "status/features_settled.py",
            "    if look.record is None or isinstance(look.quorum, Unknown) or not look.finalized:",
            "    if not look.finalized:",
        ),
    ),
    _mutant(
        "an-unreadable-record-in-python",
        ("record-unreadable",),
        (
            "resources/stored.py",
            "that can be read ({error}): restore it",
            "that can be read ({error!r}): restore it",
        ),
    ),
    _mutant(
        "an-old-leader-looks-current",
        ("emptied-disk-of-leader", "active-controller-removed"),
        (
            "status/build.py",
            "    last = {name: value for name, value in before.items() if name not in _OF_A_LOOK}",
            "    last = dict(before)",
        ),
    ),
    _mutant(
        "the-problem-comes-last",
        ("spec-invalid-while-a-disk-is-lost",),
        ("status/doing.py", "    if accepted.truth is Truth.FALSE:", "    if False:"),
        ("status/doing.py", "    if degraded.truth is not Truth.TRUE:", "    if True:"),
    ),
    _mutant(
        "a-refused-spec-is-done",
        ("spec-never-valid",),
        (
            "status/refused.py",
            'type="Progressing", truth=Truth.FALSE, reason=reason',
            'type="Progressing", truth=Truth.FALSE, reason="Done"',
        ),
    ),
    _mutant(
        "done-whatever-is-missing",
        ("standalone-3",),
        ("status/progressing.py", "    if unready.truth is not Truth.TRUE:", "    if False:"),
        (
            "status/doing.py",
            '        shown = by_type["Ready"] if progressing.reason == "Done" else progressing',
            "        shown = progressing",
        ),
    ),
    _mutant(
        "a-removed-annotation-restarts",
        ("restarted-by-annotation",),
        (
            "model/nodes.py",
            "    if applied is not None and not runtime.restarted_at:",
            "    if False and applied is not None:",
        ),
    ),
)
