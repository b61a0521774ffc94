"""Rule 2: no directory id on a disk that is not its own, and none retired without evidence.

A retired directory id never runs again, on any disk. So a voter's disk is given up only while the other voters are a
committed, caught-up majority: then no committed record depends on it.
"""

from kafka_quorum.model.desired import Cure
from kafka_quorum.model.disk import (
    BLANK_FOR_S,
    FRESH_FOR_S,
    LOOKS_AGAIN_WITHIN_S,
    Claimed,
    found_empty,
    is_blank,
    is_evidence,
    is_fresh,
    is_gone,
    looks,
    looks_again,
    row_of,
)
from kafka_quorum.model.identity import BootstrapPhase, FormatMode, NodeIdentity
from kafka_quorum.model.journal import RecoveryStage
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.nodes import is_down, node_of
from kafka_quorum.model.permit import GiveUpFormatter, RetireDisk, RetireNode, Run
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.held import why_held
from kafka_quorum.plan.facts.static import STATIC, takes_empty_disks
from kafka_quorum.plan.guards.claims import claim_is_ours
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless


@guard(Run)
def may_run(situation: Situation, node: NodeIdentity, *, mirrored: bool) -> Answer:
    """Rule 2: Kafka runs on a claim only with the directory id that was formatted there, and only after the barrier."""
    record = situation.record
    formatters = situation.observed.pods_of(node.node_id, PodRole.FORMATTER)
    formatter = formatters[0].name if formatters else ""
    static = record.static and node.mode is FormatMode.NO_INITIAL_CONTROLLERS
    first = f"Waiting to start controller {node.node_id}"
    votes = "controller.quorum.voters is still set, so it would vote with an empty log"
    held = why_held(situation, node.node_id)
    verdict = unless(
        (
            (bool(held), f"Did not start controller {node.node_id}: {held}. Until then it does not run"),
            (
                record.phase is not BootstrapPhase.STARTED,
                f"{first}: not every initial controller is formatted yet",
            ),
            (bool(why := _why_not_in_recovery(situation, node)), f"{first}: {why}"),
            (record.overlay.stopped, f"Did not start controller {node.node_id}: the cluster goes back to ZooKeeper"),
            (
                not node.formatted or node.directory_id is None,
                f"{first}: its disk is not formatted yet",
            ),
            (
                node.directory_id in record.retired,
                (
                    f"Did not start controller {node.node_id}: directory id {node.directory_id} is retired, because "
                    "its disk was lost or its controller was removed"
                ),
            ),
            (bool(formatters), f"{first}: formatter {formatter} still uses its disk"),
            (static, f"{first} on its new disk: {votes}"),
            (not mirrored, f"{first}: the operator has to copy its directory id into the status and its claim first"),
        ),
        "",
    )
    return claim_is_ours(situation, node) if verdict.allowed else verdict


def _why_not_in_recovery(situation: Situation, node: NodeIdentity) -> str:
    """Why a recovery keeps this controller from a start; empty if none does. Only the survivor runs, at the end."""
    journal = situation.record.recovery
    if journal is None:
        return ""
    if journal.stage is not RecoveryStage.START:
        return f"recovery {journal.epoch} is at stage {journal.stage.value}"
    if node.node_id != journal.node_id:
        return f"recovery {journal.epoch} starts controller {journal.node_id} alone"
    if workers := situation.observed.workers:
        return f"pod {workers[0].name} may still write to a disk"
    return ""


@guard(RetireNode)
def may_retire_node(situation: Situation, node: NodeIdentity) -> Answer:
    """Rule 2: the disk on a lost node is given up if Kubernetes and the quorum have agreed on the loss long enough.

    One voter at a time, and only while the others carry the quorum, which is committed: a node that was given up may
    never return. A disk whose replica is no voter, and was none in the last committed voter set, can be given up
    without a loss. If the controller also has a stale vote, that vote stays until its successor is ready.
    """
    observed = situation.observed
    kube_node = f"Kubernetes node {node_of(observed, node)}"
    lost = f"controller {node.node_id}, whose {kube_node} is down"
    if held := why_held(situation, node.node_id):
        return no(f"Did not replace {lost}: {held}. Until then the quorum tolerates one failure less")
    if isinstance(observed.quorum, Unknown):
        return no(f"Waiting to replace {lost}: the quorum has no leader ({observed.quorum.reason})")
    view, after_s = observed.quorum.value, situation.desired.replacement.lost_node_after_s
    stale = ", ".join(sorted(str(key) for key in view.voters - {other.key for other in situation.record.nodes}))
    others = view.votes.without(node.key)
    healthy, majority = len(others.healthy), others.majority
    votes = node.key in view.voters | (view.committed_voters or view.voters)
    manual = "spec.controllers.replacement.lostNode is Manual. Set it to Automatic, or bring the Kubernetes node back"
    return unless(
        (
            (
                node.key in view.live,
                f"Did not give up replica {node.key}: it still fetches, so its Kubernetes node is not lost",
            ),
            (takes_empty_disks(situation), f"Did not replace {lost}: {STATIC}"),
            (
                situation.desired.replacement.lost_node is Cure.MANUAL,
                f"Did not replace {lost}: {manual}",
            ),
            (
                observed.memory.lost_for_s(node.key) < after_s,
                f"Waiting to replace {lost}: Kubernetes and the quorum must both report this for {after_s} s",
            ),
            (
                votes and bool(stale),
                f"Waiting to replace {lost}: stale or foreign voters {stale} must be removed first",
            ),
            (votes and not view.committed, f"Waiting to replace {lost}: the present voter set is not committed yet"),
            (
                votes and not others.carries,
                f"Waiting to replace {lost}: too few other voters are caught up ({healthy} of the {majority} needed)",
            ),
        ),
        f"{kube_node} of controller {node.node_id} was down for {after_s} s, and the replica does not fetch",
    )


@guard(RetireDisk)
def may_retire_disk(situation: Situation, node: NodeIdentity) -> Answer:
    """Rule 2: a disk is given up only on evidence, only if its replica does not fetch, and never with the quorum.

    The evidence is a claim that is gone, a volume that Kubernetes reports as lost for some seconds, or a disk that was
    empty in two runs. The two runs are some seconds apart, or both found nothing in the very place where the data was;
    and the last one was a moment ago. A voter's disk stays
    until the voters without it are a caught-up, committed majority.
    """
    observed = situation.observed
    disk = f"the disk of controller {node.node_id}"
    pods = observed.pods_of(node.node_id, PodRole.KAFKA)
    held, running = why_held(situation, node.node_id), ", ".join(pod.name for pod in pods if pod.running)
    costs = "Until then the quorum tolerates one failure less"
    rows = (
        (bool(held), f"Did not replace {disk}, which looks lost: {held}. {costs}"),
        (bool(running), f"Did not replace {disk}: Kafka runs in pod {running}"),
    )
    if not (first := unless(rows, "")).allowed:
        return first
    seen = any(found_empty(observed, pod, node) for pod in pods)
    state = situation.disk(node)
    has_volume = state.claim is not None and not state.claim.volume_gone
    if has_volume and not seen and not looks_again(observed, node):
        return no(f"Did not replace {disk}: there is no evidence that it is lost")
    if has_volume and not is_blank(observed, node):
        text = f"its pod must find that twice, at least {BLANK_FOR_S:.0f} s apart"
        return no(f"Waiting to replace {disk}, {looks(observed, node)}: {text}")
    if state.claim is not None and state.claim.volume_gone and not is_gone(observed, state):
        text = f"Kubernetes must report the volume of claim {state.claim.name} as lost for {BLANK_FOR_S:.0f} s"
        return no(f"Waiting to replace {disk}: {text}")
    verdict = _may_do_without(situation, node)
    if verdict.allowed and has_volume and not (seen and is_fresh(observed, node)):
        text = f"its pod found that more than {FRESH_FOR_S:.0f} s ago, and must look again"
        return no(f"Waiting to replace {disk}, {looks(observed, node)}: {text}")
    return verdict


def is_look_due(situation: Situation, node: NodeIdentity, pod: Pod) -> bool:
    """Whether a pod that found its disk empty is to be replaced by one that looks at once.

    This is so only if a new look is all that is missing for giving the disk up, and if the new pod can run on the same
    Kubernetes node. Each pod has its own evidence: what the earlier pod found counts no more.
    """
    observed = situation.observed
    row = row_of(observed, pod)
    if row is None or pod.running or pod.deleting or not found_empty(observed, pod, node):
        return False
    now_s = observed.looked_at_s
    late = row.age_s(now_s) > FRESH_FOR_S if is_evidence(row) else now_s - row.last_seen_s > LOOKS_AGAIN_WITHIN_S
    if not isinstance(situation.disk(node), Claimed):
        return False  # possibly only this pod still keeps its volume
    if not late or not _may_do_without(situation, node).allowed:
        return False
    match observed.kube_node(node_of(observed, node)):
        case Known(value=kube_node):
            return kube_node.ready and not kube_node.cordoned
        case Unknown():
            return False


def _may_do_without(situation: Situation, node: NodeIdentity) -> Answer:
    """Whether this disk, if it is lost, may be given up: the policy allows it, and the other voters suffice."""
    observed = situation.observed
    disk = f"the disk of controller {node.node_id}"
    if takes_empty_disks(situation):
        return no(f"Did not replace {disk}, which is lost: {STATIC}")
    if isinstance(observed.quorum, Unknown):
        text = "the quorum has no leader, and a majority of the voters must run"
        return no(f"Waiting to replace {disk}, which is lost: {text} ({observed.quorum.reason})")
    view = observed.quorum.value
    others = view.votes.without(node.key)
    healthy, majority = len(others.healthy), others.majority
    votes = node.key in view.voters | (view.committed_voters or view.voters)
    manual = "spec.controllers.replacement.lostDisk is Manual. Set it to Automatic to have the disk replaced"
    waiting = f"Waiting to replace {disk}, which is lost"
    return unless(
        (
            (
                node.key in view.live,
                f"Did not replace {disk}: it looks lost, but the replica {node.key} still fetches from the leader",
            ),
            (
                situation.desired.replacement.lost_disk is Cure.MANUAL,
                f"Did not replace {disk}, which is lost: {manual}",
            ),
            (not view.committed, f"{waiting}: the present voter set is not committed yet"),
            (
                votes and not others.carries,
                f"{waiting}: too few other voters are caught up ({healthy} of the {majority} needed)",
            ),
        ),
        f"{disk} (directory id {node.directory_id}) is lost",
    )


@guard(GiveUpFormatter)
def may_give_up_formatter(situation: Situation, pod: Pod) -> Answer:
    """Rule 2: a formatter whose end nothing can confirm is given up only with a claim that no controller uses.

    If it still writes, it writes to a disk for which no pod is ever made.
    """
    used = any(node.claim_uid == pod.claim_uid for node in situation.record.nodes)
    lost, held = is_down(situation.observed, pod.node_name), why_held(situation, pod.node_id)
    return unless(
        (
            (bool(held), f"Did not give up formatter {pod.name} of controller {pod.node_id}: {held}"),
            (not lost, f"Did not give up formatter {pod.name}: it may still run on Kubernetes node {pod.node_name}"),
            (used, f"Did not give up formatter {pod.name}: its claim {pod.claim_name} is the disk of a controller"),
        ),
        f"Kubernetes node {pod.node_name} is down, and no controller uses claim {pod.claim_name}",
    )
