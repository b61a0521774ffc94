"""Mutants of a resource's own status: conditions that contradict each other, and texts that mislead."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

STATUS_MUTANTS: Final = (
    mutant(
        "ready-beside-a-voter-change",
        "conditions",
        ("scale-5-to-3-at-rest",),
        ("Reconciler._announcing", "not begins or key in self._announced or not says_ready(resource)", "True"),
        ("accepted_spec", "situation.observed.spec_kept", "True"),
    ),
    mutant(
        "ready-before-available",
        "conditions",
        ("initial-3",),
        (
            "available",
            "if record is None:\n    ...",
            (
                "if record is None:\n"
                "    ...\n"
                "if isinstance(done.observed.quorum, Known) and not record.had_leader:\n"
                '    return _finding(Truth.FALSE, "NotStarted", "the quorum has had no leader yet")'
            ),
        ),
        ("_unfinished", "('Working', said_of(done, working)) if working else None", "None"),
    ),
    mutant(
        "ready-with-work-left",
        "conditions",
        ("initial-3",),
        ("_unfinished", "('Working', said_of(done, working)) if working else None", "None"),
    ),
    mutant(
        "wanted-voters-are-counted",
        "conditions",
        ("scale-4-to-3", "scale-3-to-5"),
        ("odd_voter_count", "len(view.committed_voters or ())", "done.desired.replicas"),
    ),
    mutant(
        "settled-without-an-identity",
        "conditions",
        ("record-deleted", "record-and-status-gone"),
        (
            "features_settled",
            "look.record is None or isinstance(look.quorum, Unknown) or not look.finalized",
            "not look.finalized",
        ),
    ),
    mutant(
        "an-unreadable-record-in-python",
        "conditions",
        ("record-unreadable",),
        ("_read_record", 'f"{where}...{error}..."', 'f"{where}...{error!r}..."'),
    ),
    mutant(
        "an-old-leader-looks-current",
        "conditions",
        ("emptied-disk-of-leader", "active-controller-removed"),
        ("unanswered", "{name: value for name, value in before.items() if name not in _OF_A_LOOK}", "dict(before)"),
    ),
    mutant(
        "the-problem-comes-last",
        "conditions",
        ("spec-invalid-while-a-disk-is-lost",),
        ("of_conditions", "accepted.truth is Truth.FALSE", "False"),
        ("of_conditions", "degraded.truth is not Truth.TRUE", "True"),
    ),
    mutant(
        "a-refused-spec-is-done",
        "conditions",
        ("spec-never-valid",),
        (
            "_findings",
            'Finding(type="Progressing", truth=Truth.FALSE, reason=reason, message=message)',
            'Finding(type="Progressing", truth=Truth.FALSE, reason="Done", message=message)',
        ),
    ),
    mutant(
        "done-whatever-is-missing",
        "conditions",
        ("standalone-3",),
        ("_resting", "unready.truth is not Truth.TRUE", "False"),
        ("of_conditions", "by_type['Ready'] if progressing.reason == 'Done' else progressing", "progressing"),
    ),
    mutant(
        "a-removed-annotation-restarts",
        "conditions",
        ("restarted-by-annotation",),
        ("target_runtime", "applied is not None and not runtime.restarted_at", "False and applied is not None"),
    ),
)
