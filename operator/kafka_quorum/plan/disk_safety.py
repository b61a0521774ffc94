"""The guard of lost disks, and what counts as evidence of a loss. See `safety` for the other guards.

A directory id that is retired never runs again, on whatever disk. So a disk of a voter is given up only while the other
voters are a committed, caught-up majority: then nothing that the quorum has promised depends on it.
"""

from typing import Final

from kafka_quorum.model.desired import Cure
from kafka_quorum.model.disk import BlankDisk
from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.nodes import claim_of, has_disk_of, is_retired_disk, lacks_data, node_of
from kafka_quorum.model.observed import Claim, Observed, Pod, PodRole
from kafka_quorum.model.plan import Verdict
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.verdict import no, unless

BLANK_FOR_S: Final = 15.0
"""How far apart two runs must be that found a disk empty, with none between them that found anything else."""
FRESH_FOR_S: Final = 10.0
"""How old the last of these runs may be when a disk is given up: an older one says nothing of the disk as it is now."""
LOOKS_AGAIN_WITHIN_S: Final = 30.0
"""The kubelet's pauses grow to five minutes: a pod that has not looked for so long is made again, and looks at once.

The first pauses are 0, 10 and 20 s long. So a new pod's runs come to 15 s before one of its pauses is that long.
"""
STATIC: Final = (
    "the quorum is static: it would take an empty disk for the voter, whatever that had promised and written. A person "
    "must decide (docs/releases.md, Lost disks of a static quorum)"
)


def may_retire_disk(situation: Situation, node: NodeIdentity, claim: Claim | None) -> Verdict:
    """Rule 2: a disk is given up only on evidence, only without its replica's fetches, and never the quorum with it.

    The evidence is a claim that is gone, a volume that Kubernetes reports as lost for some seconds, or a disk that was
    empty in two runs some seconds apart, the last of them a moment ago. A voter's disk stays until a majority of voters
    without it is caught up, and that is committed.
    """
    observed = situation.observed
    rule = "2-retire-disk"
    disk = f"the disk of controller {node.node_id}"
    pods = observed.pods_of(node.node_id, PodRole.KAFKA)
    if running := [pod.name for pod in pods if pod.running]:
        return no(rule, f"Kafka runs in pod {running[0]}: {disk} is not lost")
    seen = any(found_empty(observed, pod, node) for pod in pods)
    has_volume = claim is not None and not claim.lost
    if has_volume and not seen and not looks_again(observed, node):
        return no(rule, f"nothing says that {disk} is lost")
    if has_volume and not is_blank(observed, node):
        text = f"{disk} {_looks(observed, node)}. It is given up if that is still so"
        return no(rule, f"{text} when its pod has looked again, {BLANK_FOR_S:.0f} s later or more")
    if claim is not None and claim.lost and not is_gone(observed, claim):
        text = f"the volume of claim {claim.name} is reported as lost. {disk[0].upper()}{disk[1:]} is given up"
        return no(rule, f"{text} if that is still so {BLANK_FOR_S:.0f} s later")
    verdict = _may_do_without(situation, node)
    if verdict.allowed and has_volume and not (seen and _is_fresh(observed, node)):
        text = f"{disk} {_looks(observed, node)}, and that was seen some time ago"
        return no(rule, f"{text}. It is given up if its pod finds the same now")
    return verdict


def is_look_due(situation: Situation, node: NodeIdentity, pod: Pod) -> bool:
    """Whether a pod that found its disk empty is to be replaced by one that looks at once.

    Only where nothing but a new look keeps the disk from being given up, and where the new pod may go to the same
    Kubernetes node. Each pod begins its own evidence: what the earlier one saw counts no more.
    """
    observed = situation.observed
    row = _row(observed, pod)
    if row is None or pod.running or pod.deleting or not found_empty(observed, pod, node):
        return False
    now_s = observed.looked_at_s
    enough = row.for_s >= BLANK_FOR_S
    late = row.age_s(now_s) > FRESH_FOR_S if enough else now_s - row.last_seen_s > LOOKS_AGAIN_WITHIN_S
    claim = claim_of(observed, node)
    if claim is None or claim.deleting or claim.lost:
        return False  # this pod may be all that keeps its volume
    if not late or not _may_do_without(situation, node).allowed:
        return False
    match observed.kube_node(node_of(observed, node)):
        case Known(value=kube_node):
            return kube_node.ready and not kube_node.cordoned
        case Unknown():
            return False


def _may_do_without(situation: Situation, node: NodeIdentity) -> Verdict:
    """Whether this disk, if it is lost, may be given up: by the policy, and because the other voters suffice."""
    observed = situation.observed
    rule = "2-retire-disk"
    disk = f"the disk of controller {node.node_id}"
    if takes_empty_disks(situation):
        return no(rule, f"{disk} is lost, and {STATIC}")
    if isinstance(observed.quorum, Unknown):
        text = f"{disk} is lost, and is not replaced without a leader: a majority of the voters must run"
        return no(rule, f"{text} ({observed.quorum.reason})")
    view = observed.quorum.value
    healthy, majority = len((view.voters & view.caught_up) - {node.key}), len(view.voters) // 2 + 1
    votes = node.key in view.voters | (view.committed_voters or view.voters)
    way_out = "set spec.controllers.replacement.lostDisk to Automatic to have it replaced"
    return unless(
        rule,
        (
            (node.key in view.live, f"replica {node.key} still fetches: its disk is somewhere, and Kafka runs on it"),
            (
                situation.desired.replacement.lost_disk is Cure.MANUAL,
                f"{disk} is lost, and its replacement is Manual: {way_out}",
            ),
            (not view.committed, f"{disk} is lost, and is replaced once the present voter set is committed"),
            (
                votes and healthy < majority,
                f"{disk} is lost, and waits: {healthy} other voters are caught up, and {majority} must be",
            ),
        ),
        f"{disk} (directory id {node.directory_id}) is lost",
    )


def takes_empty_disks(situation: Situation) -> bool:
    """Whether this is a static quorum; one whose voters have directory ids by now only has the setting left over."""
    return situation.record.static and (
        isinstance(situation.observed.quorum, Unknown) or situation.observed.quorum.value.static
    )


def found_empty(observed: Observed, pod: Pod, node: NodeIdentity) -> bool:
    """Whether this pod, made for the node's present disk, did not find its data when it last looked.

    An earlier disk of this controller, which is retired, is as good as an empty one.
    """
    return has_disk_of(pod, node) and pod.report is not None and lacks_data(observed.record, pod, pod.report)


def looks_again(observed: Observed, node: NodeIdentity) -> bool:
    """Whether a pod that found no data runs its script once more at this moment: nothing is known to be better."""
    looking = {pod.uid for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if pod.report is None}
    return any(row.pod_uid in looking for row in _rows(observed, node))


def is_blank(observed: Observed, node: NodeIdentity) -> bool:
    """Whether one pod, made for the node's present disk, found nothing there in two runs, far enough apart."""
    return any(row.for_s >= BLANK_FOR_S for row in _rows(observed, node))


def has_earlier(observed: Observed, node: NodeIdentity) -> bool:
    """Whether the volume of this controller holds a disk that it had before, and that is retired."""
    pods = (pod for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if found_empty(observed, pod, node))
    return any(pod.report is not None and is_retired_disk(observed.record, pod, pod.report) for pod in pods)


def _looks(observed: Observed, node: NodeIdentity) -> str:
    return "is not on its volume, which holds an earlier one" if has_earlier(observed, node) else "looks empty"


def is_gone(observed: Observed, claim: Claim | None) -> bool:
    """Whether there is no claim, or Kubernetes has said for long enough that its volume is lost."""
    return claim is None or (claim.lost and observed.memory.volume_lost_for_s(claim.uid) >= BLANK_FOR_S)


def _is_fresh(observed: Observed, node: NodeIdentity) -> bool:
    """Whether one of those pods looked a moment ago."""
    rows = (row for row in _rows(observed, node) if row.for_s >= BLANK_FOR_S)
    return any(row.age_s(observed.looked_at_s) <= FRESH_FOR_S for row in rows)


def _rows(observed: Observed, node: NodeIdentity) -> tuple[BlankDisk, ...]:
    """What is remembered of the node's present disk, by pods in which Kafka does not run."""
    pods = (pod for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if not pod.running)
    this = (node.claim_uid, node.directory_id)
    rows = (_row(observed, pod) for pod in pods)
    return tuple(row for row in rows if row is not None and (row.claim_uid, row.directory_id) == this)


def _row(observed: Observed, pod: Pod) -> BlankDisk | None:
    return next((row for row in observed.memory.blank_disks if row.pod_uid == pod.uid), None)
