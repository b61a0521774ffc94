"""Mutants of what an act needs as evidence: a majority, a live voter, a lost node, and a look that is fresh."""

from typing import Final

from tests.simulation.mutations.mutant import Mutant, mutant

EVIDENCE_MUTANTS: Final[tuple[Mutant, ...]] = (
    # A disk is given up without a committed, caught-up majority of the others
    mutant(
        "a-disk-is-given-up-during-a-voter-change",
        "given up",
        ("disk-lost-while-a-voter-is-added",),
        ("_may_do_without", "not view.committed", "False"),
    ),
    mutant(
        "a-disk-is-given-up-beside-one-that-lags",
        "2, data",
        ("blank-beside-one-that-lags",),
        ("_may_do_without", "votes and not others.carries", "False"),
    ),
    # A disk is emptied if its own root directory was found empty twice; anything else may be in its place
    mutant(
        "an-empty-directory-anywhere-is-an-emptied-disk",
        "2, data",
        ("disk-blank-of-follower", "disk-blank-of-leader"),
        ("_is_emptied", "(row.claim_uid, row.directory_id, row.place) == this", "True"),
    ),
    mutant(
        "the-place-of-the-data-is-where-a-script-looked-last",
        "2, data",
        ("disk-blank-of-follower", "disk-blank-of-leader"),
        ("_places", "not report.accepted", "False"),
        ("_places", "report.directory_id == pod.directory_id and report.place", "report.place"),
    ),
    mutant(
        "a-disk-is-emptied-that-was-listed-as-empty-once",
        "2, data",
        ("listed-as-empty-for-a-moment",),
        ("is_evidence", "row.emptied_runs >= EMPTIED_RUNS", "row.emptied_runs >= 1"),
        (
            "is_fresh",
            "row.age_s(observed.looked_at_s) <= FRESH_FOR_S",
            "row.age_s(observed.looked_at_s) <= FRESH_FOR_S or row.for_s == 0",
        ),
    ),
    mutant(
        "an-emptied-disk-is-waited-for-as-a-hidden-one",
        "live",
        ("emptied-disk-is-given-up-soon",),
        ("is_evidence", "row.emptied_runs >= EMPTIED_RUNS", "False"),
    ),
    # A formatter beside a pod that has refused the disk for good
    mutant(
        "a-formatter-beside-a-pod-that-is-not-deleted",
        "one user of a claim",
        tuple(f"emptied-disk-of-follower/call:{call}:error" for call in range(390, 398)),  # one deletes the pod
        ("refused_for_good", "pod.deleting", "True"),
        ("_pod_ends", "pod.deleting", "True"),
    ),
    mutant(
        "a-formatter-waits-for-a-pod-that-refused",
        "live",
        ("formatted-beside-a-pod-that-lingers",),
        ("_why_not_newcomer", "not refused_for_good(situation, node, pod)", "True"),
    ),
    mutant(
        "a-token-that-is-taken-late-is-not-looked-for",
        "live",
        ("roll-taken-back-as-it-begins/call:350:late-effect", "roll-taken-back-as-it-begins/call:350:long-after"),
        ("token", "not concerns and now_s < due_s", "not concerns"),
    ),
    # Live: by the timeout that the leader runs with
    mutant(
        "live-by-the-default-timeout",
        "given up",
        ("frozen-on-a-silent-node-at-30s",),
        ("look", "timeouts.of(chosen.value.leader_id).most_ms", "2000"),
    ),
    mutant(
        "every-controller-runs-with-the-default-timeout",
        "given up",
        ("frozen-on-a-silent-node-at-30s",),
        ("fetch_timeouts", "None if revision is None else _configured(revision)", "2000"),
    ),
    # Caught up: within a short window, whatever the fetch timeout is
    mutant(
        "caught-up-for-ten-seconds",
        "3",
        ("moved-beside-one-that-lags-for-seconds",),
        ("_caught_up", "CAUGHT_UP_WITHIN_MS", "10000"),
    ),
    # A lost node: a pod that waits for a Kubernetes node has none
    mutant(
        "a-pending-pod-is-a-lost-node",
        "2, data",
        ("attachable-volume-of-a-lost-node",),
        ("is_down", "return False", "return not kube_node"),
        (
            "_row",
            "observed.kube_node(name)",
            "observed.kube_node(name) if name else Known(value=type('Nowhere', (), {'ready': False}))",
        ),
    ),
    mutant(
        "a-lost-node-is-given-up-at-once",
        "live",
        ("node-off-for-less-than-is-allowed",),
        ("may_retire_node", "observed.memory.lost_for_s(node.key) < after_s", "False"),
    ),
    # A claim is identified by its name and the uid in the record, and never by its labels
    mutant(
        "a-claim-is-whose-labels-it-has",
        "live",
        ("labels-of-another-controller", "labels-of-another-newcomer"),
        (
            "claim_from",
            "names.claim_parts(metadata['name'])",
            (
                "(Member(metadata['labels'][names.LABEL_QUORUM], NodeID(int(metadata['labels'][names.LABEL_NODE]))),"
                " names.claim_parts(metadata['name'])[1])"
            ),
        ),
    ),
    mutant(
        "a-claim-with-other-labels-is-gone",
        "live",
        ("labels-of-another-quorum",),
        ("_confirmed", "([claim] for claim in _claim_names(name, record))", "()"),
    ),
    # The age of the look, checked again within one act
    mutant(
        "a-step-on-an-old-answer",
        "7, validated",
        ("step-on-an-old-answer",),
        (
            "Executor._change_features",
            "if cluster.cluster_id != record.cluster_id:\n    ...\nself._fresh(action.judged_at_s)",
            "if cluster.cluster_id != record.cluster_id:\n    ...",
        ),
    ),
    mutant(
        "shown-on-an-old-look",
        "live",
        ("shown-on-an-old-look",),
        ("Executor._pod", "self._check_age(action)", ""),
    ),
    mutant(
        "loosened-on-an-old-look",
        "live",
        ("budget-loosened-on-an-old-look",),
        ("Executor._apply", "self._check_age(action)", ""),
    ),
)
