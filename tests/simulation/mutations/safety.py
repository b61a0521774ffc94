"""Mutants of the safety rules: the changed function, the rule that this breaks, the runs that must notice it."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

_LOST_DISKS: Final = ("lost-disk-of-follower", "emptied-disk-of-leader", "lost-disk-of-bootstrap-node")
_SLOW_FORMAT: Final = tuple(f"initial-3/step:{step}:node-off:3001" for step in (6, 7, 8, 9))
"""The machine of one formatter has no power for a while."""

MUTANTS: Final = (
    # 1: the barrier, and no initial format behind it
    mutant(
        "kafka-before-the-barrier",
        "1",
        _SLOW_FORMAT,
        ("may_run", "record.phase is not BootstrapPhase.STARTED", "False"),
        ("pods", "if record.phase is not BootstrapPhase.STARTED:\n    return Part()", ""),
    ),
    mutant(
        "barrier-falls-early",
        "1",
        _SLOW_FORMAT,
        (
            "may_start",
            "[str(node.node_id) for node in initial if not node.formatted]",
            "[str(node.node_id) for node in initial[:1] if not node.formatted]",
        ),
        ("may_start", "f'{quorum}-format-'", "'nothing-'"),
        ("with_started", "if missing:\n    ...", "if missing and not record.nodes:\n    ..."),
    ),
    mutant(
        "initial-format-for-a-lost-disk",
        "1",
        _LOST_DISKS,
        (
            "with_disk_lost",
            (
                "_changed(record, node_id, generation=..., claim_uid=..., directory_id=None,"
                " mode=FormatMode.NO_INITIAL_CONTROLLERS, formatted=False, retired=...)"
            ),
            (
                "_changed(record, node_id, generation=..., claim_uid=..., directory_id=node.directory_id,"
                " formatted=False, retired=...)"
            ),
        ),
        ("may_format_initial", "situation.record.phase is not BootstrapPhase.FORMATTING", "False"),
        ("may_format_initial", "[pod.name for pod in situation.observed.pods if pod.role is PodRole.KAFKA]", "[]"),
        ("_reported", "report.directory_id in node.retired", "False"),
    ),
    # 2: a directory id only on its own disk
    mutant(
        "any-claim-of-that-name",
        "2",
        ("restored-from-a-snapshot", "another-claim"),
        ("disk_of", "claim.uid != node.claim_uid", "False"),
        ("unsettled", "conflicts_with(desired, observed, record)", "[]"),
    ),
    mutant(
        "zombies-are-given-up",
        "2",
        ("zombie", "partitioned-node"),
        ("may_retire_node", "node.key in view.live", "False"),
        (
            "agreed",
            "(_row(observed, node, now_s) for node in nodes if node.key not in view.live)",
            "(_row(observed, node, now_s) for node in nodes)",
        ),
        (
            "suspects",
            "(node_of(observed, node) for node in record.nodes if node.key not in view.live)",
            "(node_of(observed, node) for node in record.nodes)",
        ),
        ("_fetches", "isinstance(observed.quorum, Known) and node.key in observed.quorum.value.live", "False"),
    ),
    mutant(
        "labels-make-things-ours",
        "6",
        ("strangers",),
        ("is_claim", "parts is not None and parts[0].pool == quorum and foreign_controller(item) is None", "True"),
        (
            "is_config",
            "names.is_config_name(quorum, ...) and foreign_controller(item) is None",
            "True or names.is_config_name(quorum, ...) and foreign_controller(item) is None",
        ),
    ),
    mutant(
        "a-label-makes-a-revision-ours",
        "6",
        ("strangers",),
        (
            "is_revision",
            "names.is_revision_name(quorum, ...)",
            "True or names.is_revision_name(quorum, ...)",
        ),
    ),
    mutant(
        "orphans-stay-orphans",
        "live",
        ("orphaned-and-applied-again",),
        (
            "_is_orphan",
            "any((item.kind, item.name, item.owner_uid) == (kind, name, None) for item in observed.support)",
            "False and any((item.kind, item.name, item.owner_uid) == (kind, name, None) for item in observed.support)",
        ),
    ),
    mutant(
        "lost-labels-stay-lost",
        "live",
        ("labels-lost",),
        ("_annotations", "claim.labelled", "True"),
    ),
    mutant(
        "a-volume-is-where-it-was-first-wanted",
        "2, data",
        ("attachable-volume-of-a-lost-node",),
        ("node_of", "claim.bound_to", "claim.selected_node"),
    ),
    mutant(
        "unreadable-is-empty",
        "2, data",
        ("disk-unreadable-of-follower", "disk-unreadable-of-leader"),
        ("_parse_report", "body['found']", "body['found'].replace('unreadable', 'empty')"),
    ),
    mutant(
        "one-blank-look-is-a-loss",
        "2, data",
        ("disk-blank-of-follower", "disk-blank-of-leader"),
        ("is_blank", "(is_evidence(row) for row in rows_of(observed, node))", "rows_of(observed, node)"),
        (
            "is_fresh",
            "(row for row in rows_of(observed, node) if is_evidence(row))",
            "(row for row in rows_of(observed, node))",
        ),
        (
            "is_fresh",
            "row.age_s(observed.looked_at_s) <= FRESH_FOR_S",
            "row.age_s(observed.looked_at_s) <= FRESH_FOR_S or row.for_s == 0",
        ),
    ),
    mutant(
        "two-blank-looks-are-never-told-apart",
        "2, data",
        ("disk-blank-of-follower", "disk-blank-of-leader"),
        ("may_retire_disk", "has_volume and not is_blank(observed, node)", "False"),
        ("may_retire_disk", "verdict.allowed", "False"),
    ),
    mutant(
        "old-looks-at-a-blank-disk-count",
        "2, data",
        ("two-of-three-blank-for-40-s", "two-of-three-blank-for-80-s"),
        ("may_retire_disk", "verdict.allowed", "False"),
    ),
    mutant(
        "nobody-looks-again-at-an-empty-disk",
        "live",
        ("two-of-three-blank-and-one-empty",),
        ("_looks_again", "not is_look_due(situation, node, pod)", "True"),
    ),
    mutant(
        "a-disk-that-comes-back-is-foreign-for-ever",
        "live",
        ("given-up-and-back",),
        ("_failed_formatter", "report is not None and is_retired_disk(observed.record, pod, report)", "False"),
    ),
    mutant(
        "an-emptied-disk-held-nobody",
        "6",
        ("two-of-three-blank/step:87:node-killed:3001",),
        ("may_delete_claim", "bool(stale)", "False"),
    ),
    mutant(
        "a-volume-is-lost-at-once",
        "2, data",
        ("volume-away-for-a-moment",),
        (
            "is_gone",
            "disk.claim.volume_gone and observed.memory.volume_gone_for_s(disk.claim.uid) >= BLANK_FOR_S",
            "disk.claim.volume_gone",
        ),
    ),
    mutant(
        "a-disk-is-given-up-without-a-majority",
        "2, data",
        ("two-of-three-blank", "the-only-disk-blank"),
        (
            "_may_do_without",
            "if isinstance(observed.quorum, Unknown):\n    ...",
            "if isinstance(observed.quorum, Unknown):\n    return unless((), disk)",
        ),
    ),
    mutant(
        "old-pod-on-a-new-disk",
        "2",
        _LOST_DISKS,
        ("_why_replace", "not has_disk_of(pod, node)", "False"),
    ),
    # 3: a live, caught-up majority
    mutant(
        "newcomers-need-not-catch-up",
        "3",
        ("scale-1-to-3~node-off",),
        ("may_add_voter", "target not in view.caught_up or looks < CAUGHT_UP_LOOKS", "False"),
    ),
    mutant(
        "a-pair-without-a-third",
        "3",
        ("standalone-3~node-killed", "scale-1-to-3~node-killed"),
        ("may_add_voter", "alone and wanted > PAIR and not second", "False"),
    ),
    mutant(
        "added-without-a-majority",
        "3",
        ("scale-3-to-5~node-off",),
        ("may_add_voter", "healthy < majority", "False"),
    ),
    mutant(
        "removed-without-a-majority",
        "3",
        ("scale-3-to-1~frozen",),
        ("may_remove_voter", "not remaining.carries", "False"),
        ("may_remove_voter", "target in view.shown and not remaining.only(staying).carries", "False"),
    ),
    mutant(
        "the-leader-of-a-pair-removes-itself",
        "3",
        ("scale-3-to-1",),
        ("may_remove_leader", "leads and len(view.voters) == PAIR", "False"),
    ),
    mutant(
        "a-pair-is-interrupted-without-leave",
        "3",
        ("pair-not-to-be-interrupted",),
        ("hand_over_but_for_the_token", "not situation.desired.allow_interruption", "False"),
    ),
    mutant(
        "everybody-is-caught-up",
        "3",
        ("scale-3-to-5~emptied-and-killed",),
        ("_recent", "within_ms", "within_ms * 1000"),
    ),
    mutant(
        "a-voter-that-is-down-goes-at-once",
        "3, fewer",
        ("follower-removed-while-it-is-down",),
        ("fewer", "len(without.voters) >= len(situation.wanted)", "True"),
    ),
    # 4: one voter change at a time
    mutant(
        "finished-before-it-is-committed",
        "4",
        ("scale-3-to-5~appended", "scale-5-to-3~appended"),
        ("_ended", "not view.committed", "False"),
        ("may_change_voters", "not view.committed", "False"),
    ),
    mutant(
        "an-open-change-is-begun-again",
        "4",
        ("scale-3-to-5",),
        (
            "membership",
            "_begin(situation, view) if operation is None else _continue(situation, view, operation)",
            "_begin(situation, view)",
        ),
    ),
    # 5: no restart of a voter that runs
    mutant(
        "running-pods-are-replaced",
        "5",
        ("initial-1", "initial-3"),
        ("may_replace_pod", "pod.running and not pod.finished", "False"),
        ("_why_replace", "revision is not None and pod.revision != revision.name", "pod.gate == 'True'"),
    ),
    mutant(
        "a-deletion-names-no-pod",
        "5",
        ("emptied-disk-of-follower~late-effect", "emptied-disk-of-follower~long-after", "initial-3~long-after"),
        (
            "Executor._stop",
            "self._kube.delete(..., ..., ..., uid=uid, resource_version=version, ended=ended)",
            'self._kube.delete(..., ..., ..., uid="", resource_version=None, ended=ended)',
        ),
    ),
    # 6: no volume of a voter
    mutant(
        "claims-of-voters-are-released",
        "6",
        ("lost-node", "lost-node-of-leader"),
        ("may_delete_claim", "claim.directory_id is not None and claim.directory_id in voting", "False"),
        ("may_delete_claim", "bool(stale)", "False"),
    ),
    mutant(
        "only-the-live-vote",
        "6",
        ("lost-node", "lost-node-of-leader"),
        ("may_delete_claim", "view.voters | (view.committed_voters or view.voters)", "view.live"),
        ("may_delete_claim", "bool(stale)", "False"),
    ),
    mutant(
        "voters-change-soon-after-an-election",
        "6",
        ("lost-tail-and-one-fewer",),
        ("may_change_voters", "not tenure.settled", "False"),
    ),
    mutant(
        "every-leader-shows-the-newest-voters",
        "6",
        ("long-lost-tail-and-another",),
        ("may_drop_node", "node.key in view.unsure and not view.tenure.sure", "False"),
        ("may_delete_claim", "bool(unsure) and not view.tenure.sure", "False"),
    ),
    # 7: no older image
    # 8: unknown is not empty
    mutant(
        "traces-are-no-reason",
        "8",
        ("record-deleted", "record-and-status-gone", "retained-and-applied-again"),
        ("may_mint", "if traces:\n    ...", "if False:\n    ..."),
    ),
    mutant(
        "an-unreadable-record-is-none",
        "8",
        ("record-unreadable",),
        ("_record", "str(error)", "''"),
    ),
    mutant(
        "no-answer-is-no-voter",
        "8",
        ("scale-3-to-1~node-cut", "removal-called-off~node-cut", "scale-5-to-3~node-cut"),
        ("may_drop_node", "no", "yes"),
    ),
    # 9: no --release-version
    mutant(
        "first-voters-with-a-release",
        "9",
        ("initial-1",),
        (
            "format_arguments",
            '"--initial-controllers", ..., *flags',
            '"--initial-controllers", ..., "--release-version", "4.4", *flags',
        ),
    ),
    mutant(
        "newcomers-with-a-release",
        "9",
        ("standalone-3",),
        ("format_arguments", "'--no-initial-controllers',", "'--no-initial-controllers', '--release-version', '4.4'"),
    ),
    # Endings that a quorum must reach
    mutant(
        "a-planner-that-does-nothing",
        "live",
        ("initial-1",),
        ("_finished", "together(part.actions) if exclusive is None else (exclusive,)", "()"),
    ),
    mutant(
        "operations-stay-open",
        "live",
        ("scale-3-to-5",),
        ("_ended", 'Part(exclusive=FinishOperation(id=operation.id, reason="Completed", message=...))', "Part()"),
    ),
    mutant(
        "removed-controllers-stay",
        "live",
        ("scale-5-to-3",),
        ("removed", "merged(_drop(situation, node) for node in unwanted)", "Part()"),
    ),
    mutant(
        "lost-disks-stay-lost",
        "live",
        _LOST_DISKS,
        ("lost", "*retired, *leaving", "leaving"),
    ),
    mutant(
        "lost-nodes-are-waited-for",
        "live",
        ("lost-node",),
        (
            "Executor._stop",
            "force or pod.role is PodRole.FORMATTER and isinstance(pod.container, Terminated)",
            "pod.role is PodRole.FORMATTER and isinstance(pod.container, Terminated)",
        ),
    ),
    mutant(
        "the-future-is-recent",
        "live",
        ("lost-node-while-scaling~clock-back", "lost-node~clock-back"),
        ("_recent", "abs(now_ms - stamp(row))", "now_ms - stamp(row)"),
    ),
    mutant(
        "a-lost-newcomer-waits-for-itself",
        "live",
        ("two-lost-disks-of-five~node-deleted", "lost-node~node-deleted"),
        ("may_retire_node", "votes and bool(stale)", "bool(stale)"),
    ),
    mutant(
        "removals-are-given-up-at-once",
        "live",
        ("scale-5-to-3",),
        (
            "_left_to_do",
            "removal(situation, view, target) if unwanted and target in view.voters and not back else None",
            "None",
        ),
    ),
    # 5 and 7: rolls and levels
    mutant(
        "raised-before-the-roll-is-over",
        "7",
        ("levels-named-while-rolling",),
        ("may_raise", "bool(older)", "False"),
        ("_unsettled", "bool(lagging)", "False"),
        ("_unsoaked", "healthy_s < needed_s", "False"),
    ),
    mutant(
        "steps-are-not-validated",
        "7",
        ("lagging-broker", "levels-explicit"),
        ("may_raise", "_refusal(observed, step, change)", "()"),
        ("questions", "tuple(dict.fromkeys(found))", "()"),
    ),
    mutant(
        "the-active-controller-goes-first",
        "5",
        ("roll-config",),
        ("_but_for_the_token", "leads and bool(older)", "False"),
        ("_turn", "_leads(observed, node)", "not _leads(observed, node)"),
    ),
    mutant(
        "cordoned-nodes-do-not-matter",
        "5, no place",
        ("roll-with-a-cordoned-node", "pair-on-a-cordoned-node"),
        ("_but_for_the_token", "bool(no_place)", "False"),
    ),
    mutant(
        "a-leader-hands-over-from-a-cordoned-node",
        "5, no place",
        ("leader-of-a-pair-hands-over-on-a-cordoned-node",),
        ("hand_over_but_for_the_token", "bool(no_place)", "False"),
    ),
    mutant(
        "revisions-in-use-are-deleted",
        "revisions",
        ("edited-many-times",),
        ("old_revisions", "_in_use(situation)", "set()"),
    ),
    mutant(
        "the-oldest-release-is-forgotten",
        "live",
        ("edited-many-times",),
        ("old_revisions", "oldest is not None", "False"),
    ),
    mutant(
        "revisions-are-kept-for-ever",
        "live",
        ("edited-many-times",),
        ("old_revisions", "deleted[:_AT_ONCE]", "()"),
    ),
    mutant(
        "brokers-do-not-count",
        "7",
        ("lagging-broker",),
        ("_refusal", "not check.allowed", "False"),
    ),
    mutant(
        "a-new-level-soaks-no-more",
        "7",
        ("soaked-for-long",),
        (
            "soaked",
            "before is None or before.epoch != epoch or not _well(observed)",
            "before is None or not _well(observed)",
        ),
    ),
    mutant(
        "two-restart-at-once",
        "5",
        ("roll-config", "roll-with-a-node-off", "roll-version-hold"),
        ("_but_for_the_token", "key in view.voters and bool(waits_for)", "False"),
        ("_but_for_the_token", "len(steady) < majority", "len(steady) < 0"),
        ("_go", "len(voters) > 1", "False"),
        ("_turns", "not moved", "True"),
    ),
    mutant(
        "images-may-be-older-than-the-levels",
        "7",
        ("image-older-than-the-levels", "older-image"),
        ("may_run_image", "_unreadable(known.get(level.name), level.name, level.level)", "None"),
    ),
    mutant(
        "ghosts-may-live",
        "7",
        ("ghosts-below-4.4", "ghost-at-4.4", "lagging-broker"),
        ("may_cure_ghost", "runs is not None", "False"),
        ("may_cure_ghost", "situation.record.node(node_id) is not None", "False"),
        ("may_cure_ghost", "not ours", "False"),
        ("_ghosts", "if record.node(node_id) is not None:\n    continue", ""),
        ("may_cure_ghost", "bool(pods)", "False"),
    ),
    mutant(
        "levels-are-lowered-in-any-order",
        "live",
        ("downgrade-of-two",),
        ("wants", "reversed(_ordered(open_))", "_ordered(open_)"),
    ),
    mutant(
        "only-the-first-step-down-is-validated",
        "live",
        ("downgrade-refused-below",),
        ("_judge", "may_lower(situation, asked, want.whole)", "may_lower(situation, asked, asked)"),
    ),
    mutant(
        "removed-controllers-stay-registered",
        "live",
        ("scale-4-to-3",),
        ("other_ghosts", "_ghosts(situation, in_the_way=False)", "Part()"),
    ),
    mutant(
        "kept-volumes-are-not-marked",
        "live",
        ("scale-5-to-3-retained",),
        ("_release", "retired and claim.phase != RETIRED", "False"),
    ),
    mutant(
        "static-voters-are-dropped-early",
        "7",
        ("static-to-dynamic",),
        ("may_drop_static", "view.static", "False"),
        ("may_drop_static", "bool(behind)", "False"),
    ),
    mutant(
        "3.9-is-believed",
        "7",
        ("static-3.9-to-dynamic",),
        ("may_raise", "bool(static)", "False"),
        ("may_drop_static", "view.static", "False"),
        ("may_begin_migration", "bool(lacks)", "False"),
    ),
    mutant(
        "a-roll-goes-on-behind-a-sick-pod",
        "5",
        ("image-that-lies", "image-that-cannot-start-corrected"),
        ("_held", "misreported(situation, release)", "None"),
    ),
    mutant(
        "a-static-disk-is-given-up",
        "static",
        ("static-lost-disk", "static-emptied-disk"),
        ("_may_do_without", "takes_empty_disks(situation)", "False"),
    ),
    # What the API server refuses
    mutant(
        "stopped-without-a-dry-run",
        "5",
        ("refused-pod-set-back-3", "refused-pod-set-back-1"),
        ("_go", "held is not None", "held is not None and not node.node_id"),
    ),
    mutant(
        "without-a-pod-it-keeps-its-revision",
        "live",
        ("refused-after-the-dry-run-1", "every-pod-refused-in-a-roll"),
        ("_moved", "answer.allowed", "False"),
    ),
    mutant(
        "nulls-reach-the-pod",
        "live",
        ("nulls-in-the-template",),
        (
            "template_of",
            "without_nulls(json.loads(template_spec))",
            "json.loads(template_spec)",
        ),
        ("pod_security", "{name: value for name, value in template.items() if value is not None}", "dict(template)"),
    ),
    mutant(
        "refusals-are-forgotten",
        "live",
        ("refused-after-the-dry-run-1", "every-pod-refused-in-a-roll"),
        ("PodAdmission.learn", "dict(left[-_REMEMBERED:])", "{}"),
    ),
    mutant(
        "applied-before-a-pod-has-run",
        "live",
        ("refused-after-the-dry-run-1",),
        (
            "_correct_pods",
            "not situation.older and _has_run(situation.observed, situation.target)",
            "not situation.older",
        ),
    ),
)
