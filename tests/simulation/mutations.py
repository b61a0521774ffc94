"""The table of mutants: which words of the source are changed, which rule that breaks, and which runs must notice."""

# ruff: noqa: E501 - the words of the source are not wrapped
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Words that stand exactly once in a file of the operator, and what takes their place."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One deliberate fault. `rule` is a safety rule's number, or `live`; `shares` are as in `mutants.texts_of`."""

    name: str
    rule: str
    edits: tuple[Edit, ...]
    shares: tuple[str, ...]


def _mutant(name: str, rule: str, shares: tuple[str, ...], *edits: tuple[str, str, str]) -> Mutant:
    made = tuple(Edit(file=file, old=old, new=new) for file, old, new in edits)
    return Mutant(name=name, rule=rule, edits=made, shares=shares)


_SAFETY: Final = "plan/safety.py"
_DISKS: Final = "plan/disk_safety.py"
_ROLLING: Final = "plan/rolling_safety.py"
_LOST_DISKS: Final = ("lost-disk-of-follower", "emptied-disk-of-leader", "lost-disk-of-bootstrap-node")
_SLOW_FORMAT: Final = tuple(f"initial-3/step:{step}:node-off:3001" for step in (6, 7, 8, 9))
"""The machine of one formatter is without power for a while."""

MUTANTS: Final = (
    # 1: the barrier, and no initial format behind it
    _mutant(
        "kafka-before-the-barrier",
        "1",
        _SLOW_FORMAT,
        (
            _SAFETY,
            '                record.phase is not BootstrapPhase.STARTED,\n                f"controller {node.node_id} starts when',
            '                False,\n                f"controller {node.node_id} starts when',
        ),
        (
            "plan/pods.py",
            "    if record.phase is not BootstrapPhase.STARTED:\n        return Part()\n    nodes",
            "    nodes",
        ),
    ),
    _mutant(
        "barrier-falls-early",
        "1",
        _SLOW_FORMAT,
        (
            _SAFETY,
            "for node in initial if not node.formatted]",
            "for node in initial[:1] if not node.formatted]",
        ),
        (_SAFETY, 'item.name.startswith(f"{quorum}-format-")', 'item.name.startswith("nothing-")'),
        ("model/identity.py", "    if missing:\n        raise", "    if missing and not record.nodes:\n        raise"),
    ),
    _mutant(
        "initial-format-for-a-lost-disk",
        "1",
        _LOST_DISKS,
        (
            "model/identity.py",
            "        mode=FormatMode.NO_INITIAL_CONTROLLERS,\n        formatted=False,\n        lost=(*node.lost, *retired),",
            "        formatted=False,\n        lost=(*node.lost, *retired),",
        ),
        (
            "model/identity.py",
            "        directory_id=None,\n        formatted=False",
            "        directory_id=node.directory_id,\n        formatted=False",
        ),
        (_SAFETY, "if record.phase is not BootstrapPhase.FORMATTING:", "if False:"),
        (_SAFETY, "if kafka := [pod.name for pod in observed.pods if pod.role is PodRole.KAFKA]:", "if kafka := []:"),
        ("plan/disks.py", "or report.directory_id in node.lost:", "or False:"),
    ),
    # 2: a directory id only on its own disk
    _mutant(
        "any-claim-of-that-name",
        "2",
        ("restored-from-a-snapshot", "another-claim"),
        (_SAFETY, "    if claim.uid != node.claim_uid:", "    if False:"),
        ("plan/identity.py", "    if conflicts := _conflicts(desired, observed, record):", "    if conflicts := []:"),
    ),
    _mutant(
        "zombies-are-given-up",
        "2",
        ("zombie", "partitioned-node"),
        (
            _SAFETY,
            '(node.key in view.live, f"replica {node.key} still fetches: its node',
            '(False, f"replica {node.key} still fetches: its node',
        ),
        ("observe/nodes.py", "for node in nodes if node.key not in view.live)", "for node in nodes)"),
        ("observe/nodes.py", "for node in record.nodes if node.key not in view.live)", "for node in record.nodes)"),
    ),
    _mutant(
        "labels-make-things-ours",
        "6",
        ("strangers",),
        (
            "observe/belonging.py",
            "    return parts is not None and parts[0] == quorum and foreign_controller(item) is None",
            "    return True",
        ),
        (
            "observe/belonging.py",
            "    return names.is_config_name(quorum, item",
            "    return True or names.is_config_name(quorum, item",
        ),
    ),
    _mutant(
        "orphans-stay-orphans",
        "live",
        ("orphaned-and-applied-again",),
        (
            "plan/support.py",
            "    return any((item.kind, item.name, item.owner_uid) == (kind, name, None)",
            "    return False and any((item.kind, item.name, item.owner_uid) == (kind, name, None)",
        ),
    ),
    _mutant(
        "lost-labels-stay-lost",
        "live",
        ("labels-lost",),
        ("plan/disks.py", "    labelled = claim.labelled or", "    labelled = True or"),
    ),
    _mutant(
        "a-volume-is-where-it-was-first-wanted",
        "2, data",
        ("attachable-volume-of-a-lost-node",),
        (
            "model/nodes.py",
            "    return claim.bound_to if claim is not None",
            "    return claim.selected_node if claim is not None",
        ),
    ),
    _mutant(
        "unreadable-is-empty",
        "2, data",
        ("disk-unreadable-of-follower", "disk-unreadable-of-leader"),
        (
            "observe/objects.py",
            'found = DiskFound(body["found"])',
            'found = DiskFound(body["found"].replace("unreadable", "empty"))',
        ),
    ),
    _mutant(
        "one-blank-look-is-a-loss",
        "2, data",
        ("disk-blank-of-follower", "disk-blank-of-leader"),
        (_DISKS, "any(row.for_s >= BLANK_FOR_S for row in _rows(observed, node))", "any(_rows(observed, node))"),
        (_DISKS, "_rows(observed, node) if row.for_s >= BLANK_FOR_S)", "_rows(observed, node))"),
        (_DISKS, "<= FRESH_FOR_S for row in rows)", "<= FRESH_FOR_S or row.for_s == 0 for row in rows)"),
    ),
    _mutant(
        "two-blank-looks-are-never-told-apart",
        "2, data",
        ("disk-blank-of-follower", "disk-blank-of-leader"),
        (_DISKS, "    if has_volume and not is_blank(observed, node):", "    if False:"),
        (_DISKS, "    if verdict.allowed and has_volume", "    if False and has_volume"),
    ),
    _mutant(
        "old-looks-at-a-blank-disk-count",
        "2, data",
        ("two-of-three-blank-for-40-s", "two-of-three-blank-for-80-s"),
        (_DISKS, "    if verdict.allowed and has_volume", "    if False and has_volume"),
    ),
    _mutant(
        "nobody-looks-again-at-an-empty-disk",
        "live",
        ("two-of-three-blank-and-one-empty",),
        ("plan/pods.py", "    if not is_look_due(desired, observed, record, node, pod):", "    if True:"),
    ),
    _mutant(
        "a-disk-that-comes-back-is-foreign-for-ever",
        "live",
        ("given-up-and-back",),
        (
            "plan/disks.py",
            "    if report is not None and is_retired_disk(observed.record, pod, report):",
            "    if False:",
        ),
    ),
    _mutant(
        "an-emptied-disk-held-nobody",
        "6",
        ("two-of-three-blank/step:87:node-killed:3001",),
        (_SAFETY, "(bool(stale), f", "(False, f"),
    ),
    _mutant(
        "a-volume-is-lost-at-once",
        "2, data",
        ("volume-away-for-a-moment",),
        (_DISKS, " and observed.memory.volume_lost_for_s(claim.uid) >= BLANK_FOR_S)", ")"),
    ),
    _mutant(
        "a-disk-is-given-up-without-a-majority",
        "2, data",
        ("two-of-three-blank", "the-only-disk-blank"),
        (
            _DISKS,
            "    if isinstance(observed.quorum, Unknown):\n        text",
            "    if isinstance(observed.quorum, Unknown):\n        return yes(rule, disk)\n        text",
        ),
        (
            _DISKS,
            "from kafka_quorum.plan.verdict import no, unless",
            "from kafka_quorum.plan.verdict import no, unless, yes",
        ),
    ),
    _mutant(
        "old-pod-on-a-new-disk",
        "2",
        _LOST_DISKS,
        (
            "plan/pods.py",
            "    if not has_disk_of(pod, node):",
            "    if False:",
        ),
    ),
    # 3: a live, caught-up majority
    _mutant(
        "newcomers-need-not-catch-up",
        "3",
        ("scale-1-to-3~node-off",),
        (_SAFETY, "    if target not in view.caught_up or looks < CAUGHT_UP_LOOKS:", "    if False:"),
    ),
    _mutant(
        "a-pair-without-a-third",
        "3",
        ("standalone-3~node-killed", "scale-1-to-3~node-killed"),
        (_SAFETY, "        if wanted > 2 and not second:", "        if wanted > 9 and not second:"),
    ),
    _mutant(
        "added-without-a-majority",
        "3",
        ("scale-3-to-5~node-off",),
        (
            _SAFETY,
            '    if healthy < majority:\n        needs = f"{majority} of {len(view.voters) + 1}',
            '    if False:\n        needs = f"{majority} of {len(view.voters) + 1}',
        ),
    ),
    _mutant(
        "removed-without-a-majority",
        "3",
        ("scale-3-to-1~frozen",),
        (
            _SAFETY,
            '(healthy < majority, f"{target} is not removed now: {needs}"),',
            '(False, f"{target} is not removed now: {needs}"),',
        ),
    ),
    _mutant(
        "the-leader-of-a-pair-removes-itself",
        "3",
        ("scale-3-to-1",),
        (_SAFETY, "    if leads and len(view.voters) == 2:", "    if False:"),
    ),
    _mutant(
        "a-pair-is-interrupted-without-leave",
        "3",
        ("pair-not-to-be-interrupted",),
        (_SAFETY, "                not desired.allow_interruption,", "                False,"),
    ),
    _mutant(
        "everybody-is-caught-up",
        "3",
        ("scale-3-to-5~emptied-and-killed",),
        ("observe/quorum.py", "abs(now_ms - stamp(row)) <= within_ms", "abs(now_ms - stamp(row)) <= within_ms * 1000"),
    ),
    _mutant(
        "a-voter-that-is-down-goes-at-once",
        "3, fewer",
        ("follower-removed-while-it-is-down",),
        ("plan/membership.py", "    if len(without.voters) >= len(scene.wanted):", "    if scene.wanted:"),
    ),
    # 4: one voter change at a time
    _mutant(
        "finished-before-it-is-committed",
        "4",
        ("scale-3-to-5~appended", "scale-5-to-3~appended"),
        ("plan/membership.py", "    if done and not view.committed:", "    if done and False:"),
        (
            _SAFETY,
            '    if not view.committed:\n        return no(rule, f"the change',
            '    if False:\n        return no(rule, f"the change',
        ),
    ),
    _mutant(
        "an-open-change-is-begun-again",
        "4",
        ("scale-3-to-5",),
        (
            "plan/membership.py",
            "            return _continue(scene, operation) if operation is not None else _begin(scene)",
            "            return _begin(scene)",
        ),
    ),
    # 5: no restart of a voter that runs
    _mutant(
        "running-pods-are-replaced",
        "5",
        ("initial-1", "initial-3"),
        (_SAFETY, "    if pod.running and not pod.finished:", "    if False:"),
        (
            "plan/pods.py",
            "    if revision is not None and pod.revision != revision.name:",
            '    if pod.gate == "True":',
        ),
    ),
    _mutant(
        "a-deletion-names-no-pod",
        "5",
        ("emptied-disk-of-follower~late-effect", "emptied-disk-of-follower~long-after", "initial-3~long-after"),
        (
            "act/execute.py",
            "PODS, namespace, pod.name, uid=uid, resource_version=version, ended=ended",
            'PODS, namespace, pod.name, uid="", resource_version=None, ended=ended',
        ),
    ),
    # 6: no volume of a voter
    _mutant(
        "claims-of-voters-are-released",
        "6",
        ("lost-node", "lost-node-of-leader"),
        (
            _SAFETY,
            "                claim.directory_id is not None and claim.directory_id in voting,",
            "                False,",
        ),
    ),
    _mutant(
        "only-the-live-vote",
        "6",
        ("lost-node", "lost-node-of-leader"),
        (
            _SAFETY,
            "voting = {key.directory_id for key in view.voters | (view.committed_voters or view.voters)}",
            "voting = {key.directory_id for key in view.live}",
        ),
    ),
    # 7: no older image
    # 8: unknown is not empty
    _mutant(
        "traces-are-no-reason",
        "8",
        ("record-deleted", "record-and-status-gone", "retained-and-applied-again"),
        (_SAFETY, "    if traces:", "    if False:"),
    ),
    _mutant(
        "an-unreadable-record-is-none",
        "8",
        ("record-unreadable",),
        ("observe/gather.py", "        return None, str(error)", '        return None, ""'),
    ),
    _mutant(
        "no-answer-is-no-voter",
        "8",
        ("scale-3-to-1~node-cut", "removal-called-off~node-cut", "scale-5-to-3~node-cut"),
        (
            _SAFETY,
            '    if isinstance(observed.quorum, Unknown):\n        return no(rule, f"controller {node.node_id} is removed once',
            '    if isinstance(observed.quorum, Unknown):\n        return yes(rule, f"controller {node.node_id} is removed once',
        ),
    ),
    # 9: no --release-version
    _mutant(
        "first-voters-with-a-release",
        "9",
        ("initial-1",),
        (
            "resources/pods.py",
            "initial_controllers(desired, record, revision), *flags)",
            'initial_controllers(desired, record, revision), "--release-version", "4.4", *flags)',
        ),
    ),
    _mutant(
        "newcomers-with-a-release",
        "9",
        ("standalone-3",),
        (
            "resources/pods.py",
            '        return ("--no-initial-controllers",)',
            '        return ("--no-initial-controllers", "--release-version", "4.4")',
        ),
    ),
    # Where a quorum has to get
    _mutant(
        "a-planner-that-does-nothing",
        "live",
        ("initial-1",),
        (
            "plan/planner.py",
            "    chosen = _one_stop(part.actions) if part.exclusive is None else (part.exclusive,)",
            "    chosen = ()",
        ),
    ),
    _mutant(
        "operations-stay-open",
        "live",
        ("scale-3-to-5",),
        (
            "plan/membership.py",
            '        return Part(exclusive=FinishOperation(id=operation.id, reason="Completed", message=text))',
            "        return Part()",
        ),
    ),
    _mutant(
        "removed-controllers-stay",
        "live",
        ("scale-5-to-3",),
        (
            "plan/leaving.py",
            "    return merged(_drop(observed, record, node) for node in unwanted)",
            "    return Part()",
        ),
    ),
    _mutant(
        "lost-disks-stay-lost",
        "live",
        _LOST_DISKS,
        (
            "plan/lost_disks.py",
            "    return merged((*retired, *leaving))",
            "    return merged(leaving)",
        ),
    ),
    _mutant(
        "lost-nodes-are-waited-for",
        "live",
        ("lost-node",),
        ("act/execute.py", "                ended = force or (", "                ended = ("),
    ),
    _mutant(
        "the-future-is-recent",
        "live",
        ("lost-node-while-scaling~clock-back", "lost-node~clock-back"),
        ("observe/quorum.py", "abs(now_ms - stamp(row)) <= within_ms", "now_ms - stamp(row) <= within_ms"),
    ),
    _mutant(
        "a-lost-newcomer-waits-for-itself",
        "live",
        ("two-lost-disks-of-five~node-deleted", "lost-node~node-deleted"),
        (_SAFETY, '            (votes and bool(stale), f"{down}', '            (bool(stale), f"{down}'),
    ),
    _mutant(
        "removals-are-given-up-at-once",
        "live",
        ("scale-5-to-3",),
        (
            "plan/membership.py",
            "        return _remove(scene, target) if unwanted and target in view.voters else None",
            "        return None",
        ),
    ),
    # 5 and 7: rolls and levels
    _mutant(
        "raised-before-the-roll-is-over",
        "7",
        ("levels-named-while-rolling",),
        (_ROLLING, "            (bool(older), f", "            (False, f"),
        (_ROLLING, "    yield bool(lagging), f", "    yield False, f"),
        (_ROLLING, "    yield healthy_s < needed_s, f", "    yield False, f"),
    ),
    _mutant(
        "steps-are-not-validated",
        "7",
        ("lagging-broker", "levels-explicit"),
        (
            _ROLLING,
            "            *_refusal(observed, step, first),\n            *_unsoaked(desired, observed, first),\n        ),\n        _vouched(observed, record, step),\n    )\n\n\ndef may_lower",
            "            *_unsoaked(desired, observed, first),\n        ),\n        _vouched(observed, record, step),\n    )\n\n\ndef may_lower",
        ),
        ("plan/levels.py", "    return tuple(dict.fromkeys(found))", "    return ()"),
    ),
    _mutant(
        "the-active-controller-goes-first",
        "5",
        ("roll-config",),
        (_ROLLING, "            (leads and bool(older), f", "            (False, f"),
        (
            "plan/rolls.py",
            "    return _leads(observed, node), not _lags",
            "    return not _leads(observed, node), not _lags",
        ),
    ),
    _mutant(
        "brokers-do-not-count",
        "7",
        ("lagging-broker",),
        (_ROLLING, "            yield not check.allowed, f", "            yield False, f"),
    ),
    _mutant(
        "a-new-level-soaks-no-more",
        "7",
        ("soaked-for-long",),
        ("observe/soak.py", "before is None or before.epoch != epoch or not _well", "before is None or not _well"),
    ),
    _mutant(
        "two-restart-at-once",
        "5",
        ("roll-config", "roll-with-a-node-off", "roll-version-hold"),
        (_ROLLING, "            (key in view.voters and bool(waits_for), f", "            (False, f"),
        (
            _ROLLING,
            "len(view.voters) > _PAIR and len(steady) < majority",
            "len(view.voters) > _PAIR and len(steady) < 0",
        ),
        ("plan/rolls.py", "evict=len(voters) > 1", "evict=False"),
        ("plan/rolls.py", "for node in ranked if not moved or", "for node in ranked if True or"),
    ),
    _mutant(
        "images-may-be-older-than-the-levels",
        "7",
        ("image-older-than-the-levels", "older-image"),
        (
            _ROLLING,
            "            if level.level and (why := _unreadable(known.get(level.name), level.name, level.level)) is not None:",
            "            if level.level and (why := None) is not None:",
        ),
    ),
    _mutant(
        "ghosts-may-live",
        "7",
        ("ghosts-below-4.4", "ghost-at-4.4", "lagging-broker"),
        (_ROLLING, "            (runs is not None, f", "            (False, f"),
        (_ROLLING, "            (record.node(node_id) is not None, f", "            (False, f"),
        (_ROLLING, "            (not ours, f", "            (False, f"),
        ("plan/ghosts.py", "        if record.node(node_id) is not None:\n            continue\n", ""),
        (_ROLLING, '            (bool(pods), f"the registration', '            (False, f"the registration'),
    ),
    _mutant(
        "static-voters-are-dropped-early",
        "7",
        ("static-to-dynamic",),
        (_ROLLING, "            (view.static, f", "            (False, f"),
        (_ROLLING, "            (bool(behind), f", "            (False, f"),
    ),
    _mutant(
        "3.9-is-believed",
        "7",
        ("static-3.9-to-dynamic",),
        (_ROLLING, "            (bool(static), f", "            (False, f"),
        (_ROLLING, "            (view.static, f", "            (False, f"),
    ),
    _mutant(
        "a-roll-goes-on-behind-a-sick-pod",
        "5",
        ("image-that-lies", "image-that-cannot-start-corrected"),
        (
            "plan/rolls.py",
            "        if (lie := _misreported(answer.value, claimed, release)) is not None:",
            "        if (lie := None) is not None:",
        ),
    ),
    _mutant(
        "a-static-disk-is-given-up",
        "static",
        ("static-lost-disk", "static-emptied-disk"),
        (
            _DISKS,
            '    if takes_empty_disks(observed, record):\n        return no(rule, f"{disk}',
            '    if False:\n        return no(rule, f"{disk}',
        ),
    ),
    # What the API server refuses
    _mutant(
        "stopped-without-a-dry-run",
        "5",
        ("refused-pod-set-back-3", "refused-pod-set-back-1"),
        ("plan/rolls.py", "    if held is not None:", "    if held is not None and not node.node_id:"),
    ),
    _mutant(
        "without-a-pod-it-keeps-its-revision",
        "live",
        ("refused-after-the-dry-run-1", "every-pod-refused-in-a-roll"),
        (
            "plan/admission.py",
            "            case Known(value=answer) if answer.allowed:\n                return _move(",
            "            case Known(value=answer) if False:\n                return _move(",
        ),
    ),
    _mutant(
        "nulls-reach-the-pod",
        "live",
        ("nulls-in-the-template",),
        (
            "resources/pods.py",
            "without_nulls(json.loads(revision.runtime.template_spec))",
            "json.loads(revision.runtime.template_spec)",
        ),
        (
            "api/podpolicy.py",
            "{name: value for name, value in template.items() if value is not None}",
            "dict(template)",
        ),
    ),
    _mutant(
        "refusals-are-forgotten",
        "live",
        ("refused-after-the-dry-run-1", "every-pod-refused-in-a-roll"),
        ("act/admission.py", "dict(left[-_REMEMBERED:])", "{}"),
    ),
    _mutant(
        "applied-before-a-pod-has-run",
        "live",
        ("refused-after-the-dry-run-1",),
        ("plan/revisions.py", " and _has_run(observed, name):", ":"),
    ),
)
