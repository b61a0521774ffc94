"""Mutants of the recovery of a lost majority: its guards, and what keeps old disks from a start."""

from typing import Final

from tests.simulation.mutations.mutant import Mutant, mutant

RECOVERY_MUTANTS: Final[tuple[Mutant, ...]] = (
    mutant(
        "a-plan-begins-that-nobody-approved",
        "live",
        ("another-plan-is-approved",),
        ("may_begin_recovery", "asked.plan != planned.hash", "False"),
    ),
    mutant(
        "a-majority-that-may-return-is-given-up",
        "live",
        ("majority-returns",),
        ("_given_up", "node_id not in situation.desired.recovery.without", "False"),
    ),
    mutant(
        "disks-are-given-up-without-copies",
        "14, early",
        ("majority-lost-5",),
        ("may_retire_others", "(*unread(situation, journal), *uncopied(situation, journal))", "()"),
    ),
    mutant(
        "the-others-are-not-retired",
        "live",
        ("majority-lost-3",),
        ("retired", "node.node_id != journal.node_id or journal.survivor.source.is_seed", "False"),
    ),
    mutant(
        "controllers-run-during-a-recovery",
        "live",
        ("majority-lost-3",),
        ("_why_not_in_recovery", "journal.stage is not RecoveryStage.START", "False"),
        ("pods", "not _may_exist(record)", "False"),
    ),
    mutant(
        "a-pod-is-made-for-no-recovery",
        "live",
        ("majority-lost-3",),
        (
            "_container",
            "[{'name': 'KQ_RECOVERY', 'value': str(record.recovery_epoch)}] if record.recovery_epoch else []",
            "[]",
        ),
    ),
    mutant(
        "a-pod-without-its-label-is-absent",
        "live",
        ("a-survivor-without-its-label",),
        ("_asked_together", "node.formatted", "False"),
    ),
    mutant(
        "a-pod-that-comes-late-is-waited-for",
        "live",
        ("a-pod-comes-while-disks-are-copied", "a-pod-comes-before-the-rewrite"),
        ("_late", "merged(...) if late else None", "None"),
    ),
    mutant(
        "a-pod-of-before-the-recovery-stays",
        "live",
        ("a-pod-comes-before-the-start",),
        ("_why_replace", "known and is_of_earlier_identity(situation, pod)", "False"),
    ),
    mutant(
        "the-survivor-counts-as-late",
        "14, stops",
        ("majority-lost-3",),
        ("_late", "(RecoveryStage.STOP, RecoveryStage.START)", "(RecoveryStage.STOP,)"),
        ("may_stop_for_recovery", "journal.stage is RecoveryStage.START", "False"),
    ),
    mutant(
        "disks-are-copied-while-kafka-runs",
        "14, early",
        ("majority-lost-3",),
        ("_stop", "if observed.pods:\n    return ...", "pass"),
        ("why_ours_may_write", "if observed.pods:\n    return ...", "pass"),
    ),
    mutant(
        "the-recovery-never-ends",
        "live",
        ("majority-lost-3",),
        ("may_end_recovery", "view.answer.high_watermark < least", "True"),
    ),
    mutant(
        "what-comes-back-is-not-read",
        "committed records",
        ("lagging-survivor-copy",),
        ("given_up", "source is not None and source not in planned", "False"),
    ),
    mutant(
        "what-was-read-again-counts-for-nothing",
        "committed records",
        ("lagging-survivor-copy",),
        ("returned", "log is not None and log.end.offset > 0", "False"),
    ),
    mutant(
        "pods-on-dead-machines-are-waited-for",
        "live",
        ("machines-off-for-good",),
        ("_removed", "worker.only_reads and is_down(situation.observed, worker.place)", "False"),
    ),
    mutant(
        "a-lost-survivor-is-waited-for",
        "live",
        ("survivor-is-lost",),
        ("survivor_gone", "journal.stage in REVERSIBLE or node is None or node.claim_uid is None", "True"),
    ),
    mutant(
        "a-hold-counts-only-at-the-beginning",
        "live",
        ("held-in-a-recovery",),
        ("may_retire_others", "bool(held := why_some_held(situation))", "(held := why_some_held(situation)) is None"),
    ),
    mutant(
        "an-approval-of-an-earlier-spec-counts",
        "live",
        ("taken-back-in-an-invalid-spec",),
        ("may_retire_others", "situation.repair_only", "False"),
    ),
    mutant(
        "a-newcomer-makes-the-voters-static",
        "live",
        ("newcomer-without-records",),
        ("candidates", "survey.found.value.end.offset > 0", "True"),
        ("_unsupported", "logs[0][1]", "logs[-1][1]"),
    ),
    mutant(
        "copies-go-without-a-word",
        "live",
        ("majority-lost-5",),
        ("_released", "situation.desired.recovery.released", "situation.record.recovery_epoch"),
        (
            "may_release",
            "epoch == 0 or situation.desired.recovery.released != epoch or epoch > record.recovery_epoch",
            "False",
        ),
    ),
)
