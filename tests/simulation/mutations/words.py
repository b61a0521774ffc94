"""Mutants of what a person says: holds that do not hold, and disks that are given up too early or again and again."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

WORD_MUTANTS: Final = (
    mutant(
        "held-controllers-restart",
        "5, held",
        ("hold-in-a-roll", "hold-begins-in-a-roll"),
        ("_but_for_the_token", "why_held(situation, node.node_id)", "''"),
    ),
    mutant(
        "held-controllers-start",
        "5, held",
        ("hold-without-its-pod",),
        ("may_run", "bool(held)", "False"),
    ),
    mutant(
        "held-disks-are-replaced",
        "5, held",
        ("hold-with-a-killed-pod", "hold-with-a-lost-disk"),
        ("may_retire_disk", "bool(held)", "False"),
        ("may_replace_pod", "why_held(situation, pod.node_id)", "''"),
        ("may_run", "bool(held)", "False"),
    ),
    mutant(
        "held-votes-are-removed",
        "5, held",
        ("hold-of-one-that-leaves",),
        ("may_remove_voter", "bool(held)", "False"),
        ("_stays_by_hold", "is_held(situation, target.node_id)", "False"),
    ),
    mutant(
        "held-retired-pods-are-stopped",
        "5, held",
        ("replace-and-hold-half-way",),
        ("may_stop_retired", "why_held(situation, pod.node_id)", "''"),
    ),
    mutant(
        "a-hold-that-cannot-be-read-holds-nothing",
        "5, held",
        ("hold-that-cannot-be-read",),
        (
            "why_held",
            "if isinstance(desired.hold, Unknown):\n    ...",
            "if isinstance(desired.hold, Unknown):\n    return ''",
        ),
    ),
    mutant(
        "the-hold-does-not-come-first",
        "5, held",
        ("replace-what-is-held",),
        ("why_never", "bool(held := why_held(situation, target.node_id))", "bool(held := '')"),
    ),
    mutant(
        "given-up-without-a-majority",
        "given up",
        ("replace-while-another-is-down",),
        (
            "_may_do_without_disk",
            "target in view.voters and not votes.carries",
            "False",
        ),
    ),
    mutant(
        "given-up-without-the-token",
        "5, token",
        ("replace-waits-for-a-pool", "replace-a-healthy-follower"),
        ("may_give_up_disk", "holds_token(situation)", "True"),
        ("token_to_give_up", "holds_token(situation)", "True"),
    ),
    mutant(
        "the-word-names-any-disk",
        "given up",
        ("replace-a-healthy-follower", "replace-an-unknown-disk"),
        ("why_never", "target != node.key", "False"),
        ("is_replaced", "any(target.directory_id in retired for retired in (now, *before))", "False"),
    ),
    mutant(
        "the-active-one-waits-for-a-person-until-its-end",
        "13, ended",
        ("tls-hold-until-a-certificate-ends",),
        ("_is_kept", "why_held(situation, node.node_id)", "''"),
    ),
)
