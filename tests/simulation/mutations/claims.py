"""Mutants of stops that lose a disk, and of corrected pods: see `claim_scenarios`."""

from typing import Final

from tests.simulation.mutations.mutant import Mutant, mutant

CLAIM_MUTANTS: Final[tuple[Mutant, ...]] = (
    mutant(
        "one-claim-without-room-holds-all",
        "live",
        ("claims-refused-and-a-disk-lost", "claims-refused-and-rolled", "claims-refused-for-one-of-two"),
        ("ordered", "not _only_failed(upkeep, situation)", "True"),
    ),
    mutant(
        "a-claim-that-stays-holds-all",
        "live",
        ("claims-kept-and-a-disk-lost",),
        ("one_object", "('claim', claim.uid)", "()"),
    ),
    mutant(
        "what-failed-is-forgotten",
        "live",
        ("claims-refused-and-a-disk-lost",),
        ("Reconciler._pass", "frozenset(filter(None, failed))", "frozenset()"),
    ),
    mutant(
        "a-config-map-that-is-gone-is-waited-for",
        "live",
        ("config-map-of-a-formatter-gone", "config-map-of-a-pod-gone"),
        ("lacks_config", "pod.config_name not in present", "False"),
    ),
    mutant(
        "a-roll-takes-the-only-disk",
        "2, kept",
        ("claims-deleted-and-rolled-1",),
        ("_but_for_the_token", "why_kept(situation, node)", "''"),
    ),
    mutant(
        "a-claim-without-a-volume-is-well",
        "2, kept",
        ("volumes-lost-and-rolled",),
        ("why_going", 'f"claim {claim.name} has lost its volume"', "''"),
    ),
    mutant(
        "disks-that-go-are-counted",
        "2, kept",
        ("claims-deleted-and-rolled-3",),
        ("_stays", "node.key == key and not why_going(situation.disk(node), node)", "node.key == key"),
    ),
    mutant(
        "a-pair-is-made-with-a-disk-that-goes",
        "3, disks",
        ("pair-is-made-without-a-claim",),
        ("may_add_voter", "_why_going(observed, target)", "''"),
    ),
    mutant(
        "the-last-disk-that-stays-is-removed",
        "3, disks",
        ("shrinks-to-one-without-its-claim",),
        ("may_remove_voter", "target in view.shown and not remaining.only(staying).carries", "False"),
    ),
    mutant(
        "a-pair-hands-over-its-disk",
        "2, kept",
        ("pair-shrinks-without-its-claim",),
        ("hand_over_but_for_the_token", "bool(kept)", "False"),
    ),
    mutant(
        "a-corrected-pod-takes-its-disk",
        "2, kept",
        ("stuck-pod-without-its-claim",),
        ("_but_for_the_token", "why_kept(situation, node)", "''"),
        ("may_replace_pod", "if kept:\n    ...", "if False:\n    ..."),
    ),
    mutant(
        "all-that-are-stuck-at-once",
        "live",
        ("crash-beside-an-image-that-cannot-start",),
        ("_correct_stuck", "not verdicts[-1].allowed", "False"),
    ),
    mutant(
        "no-way-back-without-a-leader",
        "live",
        ("image-taken-back-without-a-leader",),
        ("_where_nothing_runs", "target == record.applied_revision and record.had_leader", "False"),
        ("_tries", "is_going(situation, node)", "False"),
    ),
    mutant(
        "no-way-back-behind-an-older-image",
        "live",
        ("refused-pod-behind-an-older-image",),
        (
            "_correct_pods",
            "Part(verdicts=(verdict,), waits=(wait,)), refused",
            "Part(verdicts=(verdict,), waits=(wait,)),",
        ),
    ),
)
