"""Questions about nodes for plan and status: which are requested, what they are made from, which are stale.

Controllers start at 3000: brokers share the id space, and start lower.
"""

from dataclasses import replace
from typing import Final

from kafka_quorum.model.certified import with_trust
from kafka_quorum.model.desired import (
    BesideZooKeeper,
    BootstrapMode,
    ControllerListener,
    Desired,
    OtherListener,
    Protocol,
    Runtime,
)
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.migration import FoundBy, Keeper, Listens
from kafka_quorum.model.names import JMX_PORT, config_name, format_config_name
from kafka_quorum.model.observed import Claim, Observed, QuorumView, Revision
from kafka_quorum.model.pods import DiskFound, DiskReport, Pod, PodRole
from kit.stamps import seconds_of

FIRST_NODE_ID: Final = 3000
_PATIENT: Final = {"controller.quorum.fetch.timeout.ms": "5000", "controller.quorum.election.timeout.ms": "2000"}
"""Beside ZooKeeper an election interrupts the copy of the metadata, and ends the controller that copies: on a busy
machine Kafka's 2 s and 1 s are too short (measured on 3.9.2). What the spec sets counts."""


def requested_node_ids(desired: Desired, record: IdentityRecord | None) -> tuple[NodeID, ...]:
    """The exact set if the spec names one; else the existing ids, the lowest free ones added, the highest removed."""
    if desired.node_ids:
        return tuple(sorted(desired.node_ids))
    present = list(record.node_ids) if record is not None else []
    candidate = FIRST_NODE_ID
    while len(present) < desired.replicas:
        if candidate not in present:
            present.append(NodeID(candidate))
        candidate += 1
    return tuple(sorted(present)[: desired.replicas])


def target_runtime(desired: Desired, observed: Observed, record: IdentityRecord, now_s: float = 0.0) -> Runtime:
    """What every pod shall be made from: the spec, and what the stage of a migration lays over it.

    During a migration the release stays that of its beginning. An image for that release is the spec's at any time:
    one that cannot be pulled any more can be replaced, and stays when the spec asks for another release.

    The listener of a quorum that has started stays what it is. A restart that was requested once stays part of it. So
    removing the annotation restarts nothing; tools that replace a whole object remove it. This holds during a restart,
    too: it goes on. Otherwise the controllers already restarted would get the earlier value, and restart once more.
    """
    runtime, applied = desired.runtime, observed.revision(record.applied_revision)
    begun = record.migration if record.phase is BootstrapPhase.STARTED else None
    if (reached := begun) is not None and runtime.release != reached.release:
        image = reached.image
        if applied is not None and applied.runtime.release == reached.release:
            image = applied.runtime.image
        runtime = replace(runtime, release=reached.release, image=image)
    if record.overlay.found_by is FoundBy.VOTERS:
        runtime = replace(runtime, static_voters=record.node_ids)
    runtime = replace(runtime, measured=record.overlay.measured)
    if record.overlay.keeper is Keeper.MIGRATES:
        config = tuple(sorted({**_PATIENT, **dict(runtime.config)}.items()))
        runtime = replace(runtime, zookeeper=_beside(desired, applied, record), config=config)
    if applied is not None and not runtime.restarted_at:
        runtime = replace(runtime, restarted_at=_last_restart(applied, observed, record))
    runtime = _with_listeners(runtime, desired, applied, record)
    if any(each.port == JMX_PORT for each in runtime.listeners):
        runtime = replace(runtime, jmx=False)  # until a migration has moved the listener away from this port
    return with_trust(runtime, desired, observed, record, now_s)


def _with_listeners(runtime: Runtime, desired: Desired, applied: Revision | None, record: IdentityRecord) -> Runtime:
    """The same runtime with its listener, or with both while they are changed."""
    change = None if record.migration is None else record.migration.listeners
    if change is None:
        return replace(runtime, listener=_listener(desired, applied, record))
    match record.overlay.listens:
        case Listens.OLD_FIRST | Listens.PRESENT:
            return replace(runtime, listener=change.old, other=OtherListener(listener=change.new))
        case Listens.NEW_FIRST:
            return replace(runtime, listener=change.old, other=OtherListener(listener=change.new, preferred=True))
        case Listens.NEW:
            return replace(runtime, listener=change.new)


def _listener(desired: Desired, applied: Revision | None, record: IdentityRecord) -> ControllerListener:
    """The listener of a quorum that has started stays what it is: only a migration changes it.

    A record that does not say is of a quorum that began with PLAINTEXT. A spec that does not say how the listener is
    secured changes nothing at all.
    """
    asked = desired.runtime.listener
    if record.listener is not None:
        return record.listener
    if record.phase is BootstrapPhase.STARTED:
        return replace(asked, protocol=Protocol.PLAINTEXT) if applied is None else applied.runtime.listener
    if applied is None or desired.says_protocol:
        return asked
    return replace(asked, protocol=applied.runtime.listener.protocol)


def _beside(desired: Desired, applied: Revision | None, record: IdentityRecord) -> BesideZooKeeper | None:
    """The ZooKeeper of a quorum that has started stays the one that it is: another one may be another cluster."""
    if record.phase is BootstrapPhase.STARTED and applied is not None and applied.runtime.zookeeper is not None:
        return applied.runtime.zookeeper
    return None if desired.migrate is None else desired.migrate.beside


def _last_restart(applied: Revision, observed: Observed, record: IdentityRecord) -> str:
    """The latest requested restart that has begun: that of the applied revision, or of a controller's own."""
    begun = (observed.revision(node.revision) for node in record.nodes)
    asked = [revision.runtime.restarted_at for revision in (applied, *begun) if revision is not None]
    return max(filter(None, asked), key=seconds_of, default="")


def older_than(observed: Observed, record: IdentityRecord, target: str) -> tuple[NodeIdentity, ...]:
    """The controllers that are not made from this revision yet, by the record or by a pod that exists."""
    return tuple(
        node
        for node in record.nodes
        if (node.revision or record.applied_revision) != target
        or any(pod.revision != target for pod in observed.pods_of(node.node_id, PodRole.KAFKA))
    )


def initial_node_ids(desired: Desired) -> tuple[NodeID, ...]:
    """The first voters of a quorum without a record: every controller that the spec requests, or only the lowest."""
    requested = requested_node_ids(desired, None)
    return requested[:1] if desired.bootstrap is BootstrapMode.STANDALONE else requested


def initial_nodes(record: IdentityRecord) -> tuple[NodeIdentity, ...]:
    """The nodes of the first voters, in any state of their disks."""
    ids = {key.node_id for key in record.initial}
    return tuple(node for node in record.nodes if node.node_id in ids)


def all_initial_formatted(record: IdentityRecord) -> bool:
    """Whether no initial format is left to do: every first voter is formatted, or the quorum has started."""
    return record.phase is BootstrapPhase.STARTED or all(node.formatted for node in initial_nodes(record))


def revision_of(observed: Observed, record: IdentityRecord, node: NodeIdentity) -> Revision | None:
    """The revision that this node's pod is made from: its own, else the applied one."""
    return observed.revision(node.revision) or observed.revision(record.applied_revision)


def config_of(quorum: str, record: IdentityRecord, revision: Revision, *, initial: bool = False) -> str:
    """The config map with which pods are made from this revision now; the one for an initial format if `initial`."""
    if initial:
        return format_config_name(quorum, revision.inputs_hash, record.node_ids)
    return config_name(quorum, revision.inputs_hash, record.node_ids, record.recovery_epoch)


def is_outdated(observed: Observed, record: IdentityRecord, node: NodeIdentity, made_from: str) -> bool:
    """Whether a pod was made from another revision than `revision_of` gives for this node now."""
    revision = revision_of(observed, record, node)
    return revision is not None and made_from != revision.name


def node_of(observed: Observed, node: NodeIdentity) -> str:
    """The Kubernetes node of a controller: its pod's, or the only one that can reach its volume; else empty.

    A pod that waits for a Kubernetes node has none. A pod that has ended is not counted.
    """
    if node.claim_uid is None:
        return ""
    pods = (pod for pod in observed.pods if pod.node_id == node.node_id and pod.claim_uid == node.claim_uid)
    if name := next((pod.node_name for pod in pods if pod.scheduled and not pod.finished), ""):
        return name
    claim = claim_of(observed, node)
    return claim.bound_to if claim is not None else ""


def claim_of(observed: Observed, node: NodeIdentity) -> Claim | None:
    """The claim of a controller's present disk, by its uid."""
    return next((claim for claim in observed.claims if claim.uid == node.claim_uid), None)


def has_disk_of(pod: Pod, node: NodeIdentity) -> bool:
    """Whether a pod was made for the present disk of its controller."""
    return pod.directory_id == node.directory_id and pod.claim_uid == node.claim_uid


def is_down(observed: Observed, kube_node: str) -> bool:
    """Whether Kubernetes reports that this node of its own is not ready, or gone. Unknown is not a yes."""
    match observed.kube_node(kube_node):
        case Known(value=found):
            return not found.ready
        case Unknown():
            return False


def lacks_data(record: IdentityRecord | None, pod: Pod, report: DiskReport) -> bool:
    """Whether a script did not find the data that its pod was made for: the disk was empty, or an earlier one."""
    return report.found is DiskFound.EMPTY or is_retired_disk(record, pod, report)


def is_retired_disk(record: IdentityRecord | None, pod: Pod, report: DiskReport) -> bool:
    """Whether a script found a disk that this same controller had before, and that the record has retired."""
    node = record.node(pod.node_id) if record is not None else None
    if record is None or node is None or report.found is not DiskFound.FORMATTED:
        return False
    same = (report.cluster_id, report.node_id) == (record.cluster_id, node.node_id)
    return same and report.directory_id in node.retired


def is_former_claim(record: IdentityRecord, claim: Claim) -> bool:
    """Whether the record had a claim of this node id and generation before, and does not have it any more."""
    node = record.node(claim.node_id)
    former = next((each for each in record.former if each.node_id == claim.node_id), None)
    last = node.generation - 1 if node is not None else former.generation if former is not None else 0
    return 1 <= claim.generation <= last


def is_foreign(record: IdentityRecord, key: ReplicaKey) -> bool:
    """Whether a replica has neither a node id of this quorum nor a directory id that it ever retired."""
    return record.node(key.node_id) is None and key.directory_id not in record.retired


def stale_voters(record: IdentityRecord, view: QuorumView) -> tuple[ReplicaKey, ...]:
    """Voters that are not a controller of the record: mostly retired disks."""
    own = {node.key for node in record.nodes}
    return tuple(sorted((key for key in view.voters if key not in own), key=str))
