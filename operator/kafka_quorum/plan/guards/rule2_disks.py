"""Rule 2: no directory id on a disk that is not its own, and none retired without evidence.

A directory id that is retired never runs again, on whatever disk. So a disk of a voter is given up only while the other
voters are a committed, caught-up majority: then nothing that the quorum has promised depends on it.
"""

from kafka_quorum.model.desired import Cure
from kafka_quorum.model.disk import (
    BLANK_FOR_S,
    FRESH_FOR_S,
    LOOKS_AGAIN_WITHIN_S,
    Present,
    found_empty,
    is_blank,
    is_fresh,
    is_gone,
    looks,
    looks_again,
    row_of,
)
from kafka_quorum.model.identity import BootstrapPhase, FormatMode, NodeIdentity
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.nodes import is_down, node_of
from kafka_quorum.model.permit import GiveUpFormatter, RetireDisk, RetireNode, Run
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.static import STATIC, takes_empty_disks
from kafka_quorum.plan.guards.claims import claim_is_ours
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless


@guard(Run)
def may_run(situation: Situation, node: NodeIdentity, *, mirrored: bool) -> Answer:
    """Rule 2: Kafka runs on a claim only with the directory id that was formatted there, and behind the barrier."""
    record = situation.record
    formatters = situation.observed.pods_of(node.node_id, PodRole.FORMATTER)
    holds = f"formatter {formatters[0].name} still holds" if formatters else ""
    static = record.static and node.mode is FormatMode.NO_INITIAL_CONTROLLERS
    first = f"controller {node.node_id}, whose new disk knows no voters, starts once"
    verdict = unless(
        (
            (
                record.phase is not BootstrapPhase.STARTED,
                f"controller {node.node_id} starts when every initial controller is formatted",
            ),
            (
                not node.formatted or node.directory_id is None,
                f"the disk of controller {node.node_id} is not formatted",
            ),
            (
                node.directory_id in record.retired,
                f"directory id {node.directory_id} is retired: its disk was lost, or its controller removed",
            ),
            (bool(formatters), f"{holds} the disk of controller {node.node_id}"),
            (static, f"{first} controller.quorum.voters is dropped: it would take itself for one of them"),
            (not mirrored, f"the identity of controller {node.node_id} is being written to status and claim first"),
        ),
        "",
    )
    return claim_is_ours(situation, node) if verdict.allowed else verdict


@guard(RetireNode)
def may_retire_node(situation: Situation, node: NodeIdentity) -> Answer:
    """Rule 2: the disk on a lost node is given up where Kubernetes and the quorum have agreed on it long enough.

    One voter at a time, and only while the others carry the quorum, which is committed: a node that is given up needs
    nobody's return. A disk whose replica is no voter, nor was one when the voter set was last committed, takes nothing
    away, and a stale vote of its own waits for its successor.
    """
    observed = situation.observed
    down = f"node {node_of(observed, node)} of controller {node.node_id} is down"
    if isinstance(observed.quorum, Unknown):
        return no(f"{down}, and it is not replaced while there is no leader: {observed.quorum.reason}")
    view, after_s = observed.quorum.value, situation.desired.replacement.lost_node_after_s
    stale = ", ".join(sorted(str(key) for key in view.voters - {other.key for other in situation.record.nodes}))
    others = view.votes.without(node.key)
    healthy, majority = len(others.healthy), others.majority
    votes = node.key in view.voters | (view.committed_voters or view.voters)
    way_out = "set spec.controllers.replacement.lostNode to Automatic, or bring the node back"
    return unless(
        (
            (node.key in view.live, f"replica {node.key} still fetches: its node is not lost"),
            (takes_empty_disks(situation), f"{down}, and {STATIC}"),
            (
                situation.desired.replacement.lost_node is Cure.MANUAL,
                f"{down}, and its replacement is Manual: {way_out}",
            ),
            (
                observed.memory.lost_for_s(node.key) < after_s,
                f"{down} and its replica does not fetch: after {after_s} s of both it is replaced on another node",
            ),
            (votes and bool(stale), f"{down}, and it is replaced once the stale voters {stale} are removed"),
            (votes and not view.committed, f"{down}, and it is replaced once the present voter set is committed"),
            (
                votes and not others.carries,
                f"{down}, and it is not replaced now: {healthy} other voters are caught up, and {majority} must be",
            ),
        ),
        f"{down} for {after_s} s, and its replica does not fetch",
    )


@guard(RetireDisk)
def may_retire_disk(situation: Situation, node: NodeIdentity) -> Answer:
    """Rule 2: a disk is given up only on evidence, only without its replica's fetches, and never the quorum with it.

    The evidence is a claim that is gone, a volume that Kubernetes reports as lost for some seconds, or a disk that was
    empty in two runs some seconds apart, the last of them a moment ago. A voter's disk stays until a majority of voters
    without it is caught up, and that is committed.
    """
    observed = situation.observed
    disk = f"the disk of controller {node.node_id}"
    pods = observed.pods_of(node.node_id, PodRole.KAFKA)
    if running := [pod.name for pod in pods if pod.running]:
        return no(f"Kafka runs in pod {running[0]}: {disk} is not lost")
    seen = any(found_empty(observed, pod, node) for pod in pods)
    state = situation.disk(node)
    has_volume = state.claim is not None and not state.claim.lost
    if has_volume and not seen and not looks_again(observed, node):
        return no(f"nothing says that {disk} is lost")
    if has_volume and not is_blank(observed, node):
        text = f"{disk} {looks(observed, node)}. It is given up if that is still so"
        return no(f"{text} when its pod has looked again, {BLANK_FOR_S:.0f} s later or more")
    if state.claim is not None and state.claim.lost and not is_gone(observed, state):
        text = f"the volume of claim {state.claim.name} is reported as lost. {disk[0].upper()}{disk[1:]} is given up"
        return no(f"{text} if that is still so {BLANK_FOR_S:.0f} s later")
    verdict = _may_do_without(situation, node)
    if verdict.allowed and has_volume and not (seen and is_fresh(observed, node)):
        text = f"{disk} {looks(observed, node)}, and that was seen some time ago"
        return no(f"{text}. It is given up if its pod finds the same now")
    return verdict


def is_look_due(situation: Situation, node: NodeIdentity, pod: Pod) -> bool:
    """Whether a pod that found its disk empty is to be replaced by one that looks at once.

    Only where nothing but a new look keeps the disk from being given up, and where the new pod may go to the same
    Kubernetes node. Each pod begins its own evidence: what the earlier one saw counts no more.
    """
    observed = situation.observed
    row = row_of(observed, pod)
    if row is None or pod.running or pod.deleting or not found_empty(observed, pod, node):
        return False
    now_s = observed.looked_at_s
    enough = row.for_s >= BLANK_FOR_S
    late = row.age_s(now_s) > FRESH_FOR_S if enough else now_s - row.last_seen_s > LOOKS_AGAIN_WITHIN_S
    if not isinstance(situation.disk(node), Present):
        return False  # this pod may be all that keeps its volume
    if not late or not _may_do_without(situation, node).allowed:
        return False
    match observed.kube_node(node_of(observed, node)):
        case Known(value=kube_node):
            return kube_node.ready and not kube_node.cordoned
        case Unknown():
            return False


def _may_do_without(situation: Situation, node: NodeIdentity) -> Answer:
    """Whether this disk, if it is lost, may be given up: by the policy, and because the other voters suffice."""
    observed = situation.observed
    disk = f"the disk of controller {node.node_id}"
    if takes_empty_disks(situation):
        return no(f"{disk} is lost, and {STATIC}")
    if isinstance(observed.quorum, Unknown):
        text = f"{disk} is lost, and is not replaced without a leader: a majority of the voters must run"
        return no(f"{text} ({observed.quorum.reason})")
    view = observed.quorum.value
    others = view.votes.without(node.key)
    healthy, majority = len(others.healthy), others.majority
    votes = node.key in view.voters | (view.committed_voters or view.voters)
    way_out = "set spec.controllers.replacement.lostDisk to Automatic to have it replaced"
    return unless(
        (
            (node.key in view.live, f"replica {node.key} still fetches: its disk is somewhere, and Kafka runs on it"),
            (
                situation.desired.replacement.lost_disk is Cure.MANUAL,
                f"{disk} is lost, and its replacement is Manual: {way_out}",
            ),
            (not view.committed, f"{disk} is lost, and is replaced once the present voter set is committed"),
            (
                votes and not others.carries,
                f"{disk} is lost, and waits: {healthy} other voters are caught up, and {majority} must be",
            ),
        ),
        f"{disk} (directory id {node.directory_id}) is lost",
    )


@guard(GiveUpFormatter)
def may_give_up_formatter(situation: Situation, pod: Pod) -> Answer:
    """Rule 2: a formatter whose end nothing can confirm is given up only with a claim that no controller uses.

    Whatever it still writes, it writes to a disk that no pod is ever made for.
    """
    used = any(node.claim_uid == pod.claim_uid for node in situation.record.nodes)
    lost = is_down(situation.observed, pod.node_name)
    return unless(
        (
            (not lost, f"formatter {pod.name} may still run on node {pod.node_name}"),
            (used, f"formatter {pod.name} holds claim {pod.claim_name}, which is a controller's disk"),
        ),
        f"node {pod.node_name} is down, and no controller uses claim {pod.claim_name}",
    )
