"""Mutants of migrations: the gates of the stages, and what stays while one is under way."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

MIGRATION_MUTANTS: Final = (
    mutant(
        "a-migration-begins-in-a-roll",
        "7",
        ("migration-asked-in-a-roll",),
        ("may_begin_migration", "not everywhere(situation)", "False"),
    ),
    mutant(
        "brokers-drop-the-voters-before-the-controllers",
        "7",
        ("static-to-dynamic", "migration-controllers-the-leader-killed"),
        ("may_leave_controllers", "bool(older)", "False"),
        ("may_leave_controllers", "not everywhere(situation)", "False"),
    ),
    mutant(
        "a-migration-ends-without-the-brokers",
        "7",
        ("migration-with-a-pool", "migration-waits-for-a-held-broker"),
        ("may_end_at_brokers", "why_brokers_hold(situation)", "''"),
    ),
    mutant(
        "another-release-in-a-migration",
        "7",
        ("migration-controllers-another-release", "migration-brokers-another-release"),
        ("target_runtime", "(reached := begun) is not None and runtime.release != reached.release", "False"),
    ),
    mutant(
        "other-voters-in-a-migration",
        "7",
        ("migration-controllers-other-voters", "migration-brokers-other-voters"),
        ("_may_change_voters", "record.migration is None", "True"),
    ),
    mutant(
        "other-levels-in-a-migration",
        "7",
        ("migration-beside-another-level",),
        ("may_step", "name in reached.present.levels", "True"),
    ),
    mutant(
        "a-request-is-never-taken-back",
        "live",
        ("migration-raiselevel-the-request-taken-back",),
        ("migrations", "not way.asked(situation)", "False"),
    ),
    mutant(
        "the-contract-keeps-the-voters",
        "live",
        ("migration-with-a-pool",),
        ("overlay_of_brokers", "reached.present.brokers", "STATIC"),
    ),
)
