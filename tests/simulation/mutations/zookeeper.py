"""Mutants of the migration from ZooKeeper and of its roll back: each guard's conditions, and the order of the stops."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

ZOOKEEPER_MUTANTS: Final = (
    # The barrier
    mutant(
        "controllers-start-without-a-preflight",
        "7, preflight",
        ("zookeeper-blocked-by-a-stale-migration", "zookeeper-late-a-stale-migration"),
        ("may_start", "why_not_beside(situation)", "''"),
    ),
    mutant(
        "controllers-start-with-a-stale-migration",
        "7, records",
        ("zookeeper-blocked-by-a-stale-migration",),
        ("_znodes", "(left := seen.migration) is not None", "(left := seen.migration) is not None and False"),
    ),
    mutant(
        "controllers-start-while-they-are-to-go-back",
        "7, preflight",
        ("zookeeper-rolled-back-before-the-start",),
        ("why_not_beside", "migrate.roll_back", "False"),
    ),
    mutant(
        "a-dry-run-makes-a-quorum",
        "7, preflight",
        ("zookeeper-dry-run",),
        ("may_mint_beside", "migrate.dry_run", "False"),
    ),
    # There
    mutant(
        "brokers-migrate-before-every-controller-is-ready",
        "7, modes",
        ("zookeeper-a-late-controller",),
        ("may_copy_metadata", "bool(why := _why_controllers(situation))", "bool(why := '')"),
    ),
    mutant(
        "brokers-migrate-with-something-in-the-way",
        "7, preflight",
        ("zookeeper-before-the-brokers-an-offline-directory", "zookeeper-before-the-brokers-a-reassignment"),
        ("may_copy_metadata", "bool(why := why_preflight(situation))", "bool(why := '')"),
    ),
    mutant(
        "brokers-leave-zookeeper-before-the-copy",
        "7, modes",
        ("zookeeper-zookeepertokraft-brokers-a-lag", "zookeeper-parked"),
        ("may_leave_zookeeper", "bool(why := why_not_dual(situation))", "bool(why := '')"),
        ("may_leave_zookeeper", "bool(why := _why_not_all_migrate(situation, seen))", "bool(why := '')"),
    ),
    mutant(
        "brokers-leave-zookeeper-one-by-one",
        "7, modes",
        ("zookeeper-zookeepertokraft-brokers-a-held-broker", "zookeeper-parked"),
        ("may_leave_zookeeper", "bool(why := _why_brokers(situation))", "bool(why := '')"),
        ("may_leave_zookeeper", "bool(why := why_not_dual(situation))", "bool(why := '')"),
        ("may_leave_zookeeper", "bool(why := _why_not_all_migrate(situation, seen))", "bool(why := '')"),
    ),
    mutant(
        "zookeeper-is-given-up-before-every-broker-left-it",
        "7, given up",
        ("zookeeper-finalizes-at-once",),
        ("may_finalize", "bool(why := why_brokers_left(situation))", "bool(why := '')"),
    ),
    mutant(
        "zookeeper-is-given-up-unasked",
        "7, given up",
        ("zookeeper-parked",),
        ("may_finalize", "migrate is None or not migrate.finalize", "False"),
    ),
    mutant(
        "the-migration-ends-before-every-controller-left-zookeeper",
        "7, given up",
        ("zookeeper-zookeepertokraft-finalize-the-leader-killed", "zookeeper-to-the-end"),
        ("may_be_finalized", "bool(why := _why_controllers(situation))", "bool(why := '')"),
        (
            "may_be_finalized",
            "bool(why := why_not_in(situation, DriverState.POST_MIGRATION))",
            "bool(why := '')",
        ),
    ),
    # Back
    mutant(
        "controllers-stop-under-kraft-brokers",
        "7, modes",
        ("zookeeper-back-from-dual-write",),
        ("may_stop_controllers", "bool(why := why_kraft_brokers(situation))", "bool(why := '')"),
        ("may_stop_controllers", "not seen.registered", "False"),
        ("may_stop_controllers", '"" if early else _why_not_all_migrate(situation, seen)', '""'),
    ),
    mutant(
        "controllers-stop-before-zookeeper-has-everything",
        "7, records",
        ("zookeeper-back-with-a-long-lag",),
        ("may_stop_controllers", "bool(dual)", "False"),
        ("why_lags", "why_not_dual(situation, most_lag=0)", "''"),
    ),
    mutant(
        "controllers-stop-with-records-that-zookeeper-lacks",
        "7, records",
        ("zookeeper-back-with-a-long-lag",),
        ("may_stop_controllers", "why_not_dual(situation, most_lag=0)", "why_not_dual(situation)"),
        ("why_lags", "why_not_dual(situation, most_lag=0)", "''"),
    ),
    mutant(
        "controllers-stop-before-a-new-leader-has-written",
        "7, records",
        ("zookeeper-back-with-a-new-leader",),
        ("_why_not_written", "left.kraft_metadata_epoch != epoch", "False"),
    ),
    mutant(
        "controllers-stop-whatever-was-committed-since",
        "7, records",
        ("zookeeper-back-with-a-lag-after-the-first-stop",),
        ("may_stop_controllers", "why_lags(situation)", "''"),
    ),
    mutant(
        "controllers-stop-during-an-election",
        "7, records",
        ("zookeeper-back-with-a-lag-and-no-leader",),
        ("why_lags", "_may_elect(situation)", "False"),
    ),
    mutant(
        "controllers-stop-by-what-brokers-said-before",
        "7, modes",
        ("zookeeper-back-with-a-broker-of-the-page-before",),
        ("may_stop_controllers", '"" if early else _why_not_all_migrate(situation, seen)', '""'),
    ),
    mutant(
        "the-leader-stops-first",
        "7, records",
        (
            "zookeeper-back-from-dual-write",
            "zookeeper-back-from-some-kraft-brokers",
            "zookeeper-backtozookeeper-controllersstop-a-lag",
        ),
        ("stopped", "pod.node_id != leader", "pod.node_id == leader"),
    ),
    mutant(
        "the-znodes-are-deleted-under-controllers",
        "7, given back",
        ("zookeeper-back-with-a-silent-node", "zookeeper-back-from-dual-write"),
        ("may_give_back", "bool(pods)", "False"),
    ),
    mutant(
        "the-claim-of-another-quorum-is-deleted",
        "7, given back",
        ("zookeeper-back-with-a-foreign-claim",),
        ("may_give_back", "foreign", "False"),
    ),
    mutant(
        "the-copy-of-another-quorum-is-deleted",
        "7, given back",
        ("zookeeper-back-beside-a-stale-migration",),
        ("may_give_back", "others", "False"),
    ),
    mutant(
        "a-broken-znode-is-deleted",
        "7, given back",
        ("zookeeper-back-with-a-broken-znode",),
        ("may_give_back", "faulty", "False"),
    ),
    mutant(
        "the-epoch-is-not-raised",
        "7, epochs",
        ("zookeeper-back-after-elections",),
        ("to_give_back", "highest + 1 if low else None", "None"),
    ),
    mutant(
        "migration-is-not-deleted",
        "live",
        ("zookeeper-back-from-dual-write",),
        (
            "to_give_back",
            "GiveBack(controller=ends, migration=left, controller_epoch=epoch, epoch=highest + 1 if low else None)",
            "GiveBack(controller=ends, migration=None, controller_epoch=epoch, epoch=highest + 1 if low else None)",
        ),
    ),
    mutant(
        "a-controller-of-zookeeper-is-deleted",
        "live",
        ("zookeeper-back-from-running-controllers",),
        ("to_give_back", "leads if kraft is not None or low else None", "leads"),
    ),
    mutant(
        "the-roll-back-goes-on-with-its-znode",
        "7, given back",
        ("zookeeper-back-from-running-controllers",),
        ("may_let_zookeeper_lead", "seen.migration is not None", "False"),
    ),
    mutant(
        "the-roll-back-ends-before-the-brokers",
        "7, modes",
        ("zookeeper-back-from-dual-write",),
        ("may_end_quorum", "bool(why := why_brokers_hold(situation))", "bool(why := '')"),
    ),
    mutant(
        "a-roll-back-begins-again-at-once",
        "live",
        ("zookeeper-back-from-dual-write",),
        ("may_attempt_again", "migrate is None or migrate.roll_back", "False"),
    ),
    mutant(
        "another-attempt-before-the-claims-are-retired",
        "2",
        ("zookeeper-again-while-it-ends",),
        ("may_attempt_again", "bool(used)", "False"),
        ("may_attempt_again", "observed.status.phase is BootstrapPhase.STARTED", "False"),
    ),
    mutant(
        "a-roll-back-without-the-brokers",
        "7, modes",
        ("zookeeper-back-from-some-brokers", "zookeeper-back-from-dual-write"),
        ("_turns", "index == 0 and not has_begun(situation)", "True"),
    ),
    mutant(
        "a-roll-back-asks-brokers-for-migration-mode-beside-a-stale-migration",
        "7, records",
        ("zookeeper-back-beside-a-stale-migration",),
        ("has_begun", "said.state is DriverState.MIGRATION or ...", "True"),
    ),
    # A record that is made again
    mutant(
        "a-lost-record-forgets-the-roll-back",
        "live",
        (
            "zookeeper-backtozookeeper-controllersstop-the-record-lost",
            "zookeeper-backtozookeeper-brokersreturn-the-record-lost",
            "zookeeper-controllersstop-forgotten",
        ),
        ("_by_contract", "0 if runs else 1", "0"),
    ),
    mutant(
        "a-lost-record-starts-controllers-that-a-roll-back-stopped",
        "7, records",
        ("zookeeper-brokersleave-forgotten-by-all", "zookeeper-brokersleave-forgotten"),
        ("rebuilt_migration", "not (turned or runs)", "False"),
        ("_turned", "asked or observed.status.migration in ...", "asked"),
    ),
    mutant(
        "a-lost-record-forgets-the-migration",
        "7, given up",
        ("zookeeper-zookeepertokraft-dualwrite-the-record-lost", "zookeeper-zookeepertokraft-brokers-the-record-lost"),
        ("rebuilt_migration", "desired.bootstrap is not BootstrapMode.ZOOKEEPER", "True"),
        ("rebuilt_migration", "applied is None or not applied.runtime.measured", "True"),
    ),
    mutant(
        "a-lost-record-gives-zookeeper-up",
        "7, given up",
        ("zookeeper-zookeepertokraft-dualwrite-the-record-lost",),
        ("_by_contract", "_at(ZOOKEEPER_TO_KRAFT, 2, release)", "_at(ZOOKEEPER_TO_KRAFT, 3, release)"),
    ),
    mutant(
        "a-lost-record-lets-brokers-go-on",
        "7, modes",
        (
            "zookeeper-zookeepertokraft-brokers-the-record-lost",
            "zookeeper-zookeepertokraft-controllers-the-record-lost",
        ),
        ("_by_contract", "_at(ZOOKEEPER_TO_KRAFT, 1, release)", "_at(ZOOKEEPER_TO_KRAFT, 2, release)"),
    ),
)
