"""The guard of lost disks, and what counts as evidence of a loss. See `safety` for the other guards.

A directory id that is retired never runs again, on whatever disk. So a disk of a voter is given up only while the other
voters are a committed, caught-up majority: then nothing that the quorum has promised depends on it.
"""

from typing import Final

from kafka_quorum.model.desired import Cure, Desired
from kafka_quorum.model.identity import IdentityRecord, NodeIdentity
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.observed import Claim, DiskFound, Observed, Pod, PodRole
from kafka_quorum.model.plan import Verdict
from kafka_quorum.plan.verdict import no, unless

BLANK_FOR_S: Final = 15.0
"""How far apart two runs must be that found a disk empty, with none between them that found anything else."""
STATIC: Final = (
    "the quorum is static: it would take an empty disk for the voter, whatever that had promised and written. A person "
    "must decide (docs/releases.md, Lost disks of a static quorum)"
)


def may_retire_disk(
    desired: Desired, observed: Observed, record: IdentityRecord, node: NodeIdentity, claim: Claim | None
) -> Verdict:
    """Rule 2: a disk is given up only on evidence, only without its replica's fetches, and never the quorum with it.

    The evidence is a claim that is gone, a volume that Kubernetes reports as lost, or a disk that was empty in two runs
    some seconds apart. A voter's disk stays until a majority of voters without it is caught up, and that is committed.
    """
    rule = "2-retire-disk"
    pods = observed.pods_of(node.node_id, PodRole.KAFKA)
    if running := [pod.name for pod in pods if pod.running]:
        return no(rule, f"Kafka runs in pod {running[0]}: the disk of controller {node.node_id} is not lost")
    if claim is not None and not claim.lost and not any(found_empty(pod, node) for pod in pods):
        return no(rule, f"nothing says that the disk of controller {node.node_id} is lost")
    if claim is not None and not claim.lost and not is_blank(observed, node):
        text = f"the disk of controller {node.node_id} looks empty. It is given up if it is still empty"
        return no(rule, f"{text} when its pod has looked again, {BLANK_FOR_S:.0f} s later or more")
    disk = f"the disk of controller {node.node_id}"
    if takes_empty_disks(observed, record):
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
            (desired.replacement.lost_disk is Cure.MANUAL, f"{disk} is lost, and its replacement is Manual: {way_out}"),
            (not view.committed, f"{disk} is lost, and is replaced once the present voter set is committed"),
            (
                votes and healthy < majority,
                f"{disk} is lost, and waits: {healthy} other voters are caught up, and {majority} must be",
            ),
        ),
        f"{disk} (directory id {node.directory_id}) is lost",
    )


def takes_empty_disks(observed: Observed, record: IdentityRecord) -> bool:
    """Whether this is a static quorum; one whose voters have directory ids by now only has the setting left over."""
    return record.static and (isinstance(observed.quorum, Unknown) or observed.quorum.value.static)


def found_empty(pod: Pod, node: NodeIdentity) -> bool:
    """Whether this pod, made for the node's present disk, found nothing there when it last looked."""
    same_disk = pod.claim_uid == node.claim_uid and pod.directory_id == node.directory_id
    return same_disk and pod.report is not None and pod.report.found is DiskFound.EMPTY


def is_blank(observed: Observed, node: NodeIdentity) -> bool:
    """Whether one pod, made for the node's present disk, found nothing there in two runs, far enough apart."""
    pods = {pod.uid for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if not pod.running}
    this = (node.claim_uid, node.directory_id)
    rows = (row for row in observed.memory.blank_disks if row.pod_uid in pods)
    return any((row.claim_uid, row.directory_id) == this and row.for_s >= BLANK_FOR_S for row in rows)
