"""Whose quorum is this? Settled before anything else: minted once, rebuilt from its copies, or stopped by a conflict.

The ConfigMap decides. A copy that is missing, or whose phase lags, is repaired from it (`Started` beats `Formatting`);
only differing cluster ids, directory ids or claim uids stop the operator, which then names both. Where the ConfigMap is
gone, the copies rebuild it: Kafka pods are made only after every copy says `Started`, so a single copy that still says
`Formatting`, in a quorum without Kafka pods, proves that none ever ran.
"""

from dataclasses import dataclass, replace
from typing import Final

from kafka_quorum.api.features import KRAFT
from kafka_quorum.model.actions import MintIdentity, RecordChange, WriteRecord
from kafka_quorum.model.desired import BootstrapMode, Desired
from kafka_quorum.model.identity import (
    BootstrapPhase,
    Format,
    FormatMode,
    FormerNode,
    IdentityRecord,
    NodeIdentity,
    fault_of,
    with_retired,
)
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.names import RETIRED, claim_name
from kafka_quorum.model.nodes import initial_node_ids, requested_node_ids
from kafka_quorum.model.observed import Claim, Observed, PodRole
from kafka_quorum.model.plan import EARLIER_RESOURCE, IDENTITY_CONFLICT, Severity, Wait
from kafka_quorum.plan.forgotten import forgotten
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.rolling_safety import release_numbers
from kafka_quorum.plan.safety import may_adopt, may_mint

_TOLD_BY_DISKS: Final = {BootstrapMode.STATIC: FormatMode.STATIC, BootstrapMode.ADOPT: FormatMode.ADOPTED}
"""Quorums that begin with static voters, or may have them, and whose disks tell their directory ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The record is there, and no copy contradicts it."""

    record: IdentityRecord


def assess(desired: Desired, observed: Observed, *, repair_only: bool) -> Settled | Part:
    """The settled record, or what must happen (or stop) before there is one."""
    if waits := _older_resource(desired, observed):
        return Part(waits=waits)
    if observed.record_fault:
        return _stop("IdentityUnreadable", observed.record_fault)
    record = observed.record
    if record is None:
        return _without_record(desired, observed, repair_only=repair_only)
    if conflicts := _conflicts(desired, observed, record):
        return _stop(IDENTITY_CONFLICT, "; ".join(conflicts))
    if record.phase is BootstrapPhase.FORMATTING and _somebody_started(observed):
        message = "a copy of the identity, or a pod, says that the quorum has started: so it has"
        return Part(exclusive=WriteRecord(record=_forced_start(record), change=RecordChange.REBUILT, message=message))
    return Settled(record=record)


def format_of(desired: Desired) -> Format:
    """What the initial disks are formatted with."""
    static = desired.bootstrap in _TOLD_BY_DISKS  # it begins at kraft.version 0, whatever it becomes
    features = tuple(each for each in desired.features if not (static and each.name == KRAFT))
    return Format(mode=desired.bootstrap, release=desired.runtime.release, features=features)


def _without_record(desired: Desired, observed: Observed, *, repair_only: bool) -> Part:
    if desired.bootstrap is BootstrapMode.ADOPT and not _is_known(observed):
        return _adopted(desired, observed, repair_only=repair_only)
    verdict = may_mint(observed)
    if verdict.allowed and repair_only:
        return Part(verdicts=(verdict,))
    if verdict.allowed:
        wanted = requested_node_ids(desired, None)
        initial = initial_node_ids(desired, wanted)
        action = MintIdentity(
            cluster_id=desired.cluster_id,
            format=format_of(desired),
            initial=initial,
            others=tuple(node_id for node_id in wanted if node_id not in initial),
        )
        return Part(exclusive=action, verdicts=(verdict,))
    rebuilt = _rebuilt(desired, observed)
    if isinstance(rebuilt, str):
        stopped = _stop("IdentityLost", f"the identity ConfigMap is gone, and {rebuilt}")
        return replace(stopped, verdicts=(verdict,))
    message = "the identity ConfigMap was gone: rebuilt from the status, the claims and the pods"
    action_ = WriteRecord(record=rebuilt, change=RecordChange.REBUILT, message=message)
    return Part(exclusive=action_, verdicts=(verdict,))


def _is_known(observed: Observed) -> bool:
    """Whether any copy of an identity of ours is there: then it is rebuilt from them, and not told by the disks."""
    return observed.status.cluster_id is not None or any(claim.cluster_id is not None for claim in observed.claims)


def _adopted(desired: Desired, observed: Observed, *, repair_only: bool) -> Part:
    """Take over the claims that somebody has prepared; their disks say who they are before anything runs on them."""
    verdict = may_adopt(desired, observed)
    if repair_only:
        return Part(verdicts=(verdict,))
    if not verdict.allowed:
        wait = Wait(severity=Severity.HELD, reason="AdoptWaits", message=verdict.reason)
        return Part(verdicts=(verdict,), waits=(wait,))
    action = MintIdentity(cluster_id=desired.cluster_id, format=format_of(desired), initial=desired.node_ids, others=())
    return Part(exclusive=action, verdicts=(verdict,))


def _older_resource(desired: Desired, observed: Observed) -> tuple[Wait, ...]:
    """Objects that an older resource of this name owns are on their way out: waited for, never adopted."""
    owned = [
        *((f"claim {claim.name}", claim.owner_uid) for claim in observed.claims),
        *((f"pod {pod.name}", pod.owner_uid) for pod in observed.pods),
        *((f"{item.kind} {item.name}", item.owner_uid) for item in observed.support),
        ("the identity ConfigMap", observed.record_owner_uid),
    ]
    foreign = [name for name, owner in owned if owner is not None and owner != desired.uid]
    if not foreign:
        return ()
    message = f"waits until what an earlier resource of this name owned is gone: {', '.join(foreign)}"
    return (Wait(severity=Severity.PROGRESS, reason=EARLIER_RESOURCE, message=message),)


def _conflicts(desired: Desired, observed: Observed, record: IdentityRecord) -> list[str]:
    found: list[str] = []
    if desired.cluster_id not in (None, record.cluster_id):
        way_out = f"remove spec.clusterID, or set it to {record.cluster_id}"
        found.append(f"spec.clusterID is {desired.cluster_id}, but the volumes hold {record.cluster_id}: {way_out}")
    if observed.status.cluster_id not in (None, record.cluster_id):
        found.append(f"status.clusterID is {observed.status.cluster_id}, the record's is {record.cluster_id}")
    for claim in observed.claims:
        found.extend(_claim_conflicts(desired, record, claim))
    initial = {key.node_id: key.directory_id for key in record.initial}
    for entry in observed.status.initial:
        if entry.node_id not in initial or _another(entry.directory_id, initial[entry.node_id]):
            both = f"{entry.directory_id} instead of {initial.get(entry.node_id)}"
            found.append(f"status.bootstrap.initialControllers names {entry.node_id} with directory id {both}")
    for entry in observed.status.controllers:
        node = record.node(entry.node_id)
        if node is not None and _differs(node, entry.directory_id):
            both = f"{entry.directory_id} instead of {node.directory_id}"
            found.append(f"status.controllers has controller {entry.node_id} with directory id {both}")
    return [*found, *forgotten(observed, record)]


def _claim_conflicts(desired: Desired, record: IdentityRecord, claim: Claim) -> list[str]:
    found: list[str] = []
    if claim.cluster_id not in (None, record.cluster_id):
        found.append(f"claim {claim.name} is of cluster {claim.cluster_id}, the record is of {record.cluster_id}")
    node = record.node(claim.node_id)
    if node is None or claim.name != claim_name(desired.name, node):
        return found
    if node.claim_uid is not None and claim.uid != node.claim_uid:
        way_out = (
            "a claim that was made anew, or restored, is not this controller's disk: delete it, or restore the record"
        )
        found.append(f"claim {claim.name} has uid {claim.uid}, the record's has {node.claim_uid} ({way_out})")
    elif _differs(node, claim.directory_id):
        both = f"{claim.directory_id} instead of {node.directory_id}"
        found.append(f"claim {claim.name} is annotated with directory id {both}")
    return found


def _differs(node: NodeIdentity, copy: str | None) -> bool:
    """A copy that names a retired directory id only lags; one that names another is a contradiction."""
    return copy is not None and node.directory_id is not None and copy != node.directory_id and copy not in node.lost


def _another(copy: str | None, directory_id: str | None) -> bool:
    """Whether both are known and differ: a static voter has none before its format, and loses it with its disk."""
    return copy is not None and directory_id is not None and copy != directory_id


def _somebody_started(observed: Observed) -> bool:
    return (
        observed.status.phase is BootstrapPhase.STARTED
        or any(claim.phase == BootstrapPhase.STARTED.value for claim in observed.claims)
        or any(pod.role is PodRole.KAFKA for pod in observed.pods)
    )


def _forced_start(record: IdentityRecord) -> IdentityRecord:
    nodes = tuple(replace(node, formatted=node.formatted or node.directory_id is not None) for node in record.nodes)
    return replace(record, phase=BootstrapPhase.STARTED, nodes=nodes)


def _rebuilt(desired: Desired, observed: Observed) -> IdentityRecord | str:
    """The record that the copies add up to, or what stands against it."""
    clusters = {
        *(claim.cluster_id for claim in observed.claims if claim.cluster_id),
        *((observed.status.cluster_id,) if observed.status.cluster_id else ()),
    }
    if len(clusters) != 1:
        seen = ", ".join(sorted(clusters)) or "none"
        return f"its copies do not name one cluster id (they name: {seen}): restore the ConfigMap from a backup"
    nodes = _rebuilt_nodes(desired, observed)
    if isinstance(nodes, str):
        return nodes
    ids = {node.node_id for node in nodes}
    initial = _rebuilt_initial(observed, nodes)
    started = _somebody_started(observed) or not initial
    record = IdentityRecord(
        cluster_id=ClusterID(clusters.pop()),
        phase=BootstrapPhase.STARTED if started else BootstrapPhase.FORMATTING,
        format=replace(
            format_of(desired), mode=_rebuilt_mode(desired, initial), release=_rebuilt_release(desired, observed)
        ),
        static=_rebuilt_static(desired, observed),
        initial=initial,
        nodes=nodes,
        applied_revision=_rebuilt_revision(observed),
        had_leader=started,
        resource_version="",
        former=tuple(each for each in _rebuilt_former(observed) if each.node_id not in ids),
    )
    if (fault := fault_of(record)) is not None:
        return f"its copies do not make a record ({fault}): restore the ConfigMap from a backup"
    return _first_disks_retired(_forced_start(record)) if started else record


def _first_disks_retired(record: IdentityRecord) -> IdentityRecord:
    """Disks of first voters that nobody has any more: they were lost, or their controllers removed."""
    present = {node.key for node in record.nodes}
    for key in record.initial:
        if key not in present and key.directory_id is not None and key.directory_id not in record.retired:
            record = with_retired(record, key.node_id, key.directory_id)
    return record


def _rebuilt_nodes(desired: Desired, observed: Observed) -> tuple[NodeIdentity, ...] | str:
    newest: dict[NodeID, Claim] = {}
    for known in sorted(observed.claims, key=lambda claim: claim.generation):
        if known.phase != RETIRED:
            newest[known.node_id] = known
    former = {each.node_id: each for each in _rebuilt_former(observed)}
    # The list of the first voters stays when one of them is removed: it names controllers only where no other does.
    status = {entry.node_id: entry for entry in observed.status.controllers or observed.status.initial}
    found: list[NodeIdentity] = []
    for node_id in sorted({*newest, *status}):
        entry = status.get(node_id)
        claim = newest.get(node_id)
        from_claim = claim.directory_id if claim else None
        from_status = entry.directory_id if entry else None
        if from_claim and from_status and from_claim != from_status:
            return f"the claim of controller {node_id} has directory id {from_claim}, the status {from_status}"
        directory = from_claim or from_status
        started = _somebody_started(observed)
        found.append(
            NodeIdentity(
                node_id=node_id,
                generation=claim.generation if claim else former[node_id].generation + 1 if node_id in former else 1,
                claim_uid=claim.uid if claim else entry.claim_uid if entry else None,
                directory_id=DirectoryID(directory) if directory else None,
                mode=_rebuilt_format_mode(desired, observed, node_id, directory),
                formatted=started and directory is not None,
                lost=former[node_id].lost if node_id in former else (),
                revision=None,
            )
        )
    return tuple(found)


def _rebuilt_former(observed: Observed) -> tuple[FormerNode, ...]:
    """What claims that are marked as retired tell: directory ids that may never run again."""
    found: dict[NodeID, FormerNode] = {}
    for claim in observed.claims:
        if claim.phase == RETIRED:
            before = found.get(claim.node_id, FormerNode(node_id=claim.node_id, generation=0, lost=()))
            lost = (DirectoryID(claim.directory_id),) if claim.directory_id else ()
            generation = max(before.generation, claim.generation)
            found[claim.node_id] = replace(before, generation=generation, lost=(*before.lost, *lost))
    return tuple(found[node_id] for node_id in sorted(found))


def _rebuilt_format_mode(desired: Desired, observed: Observed, node_id: NodeID, directory: str | None) -> FormatMode:
    """A first voter on its first disk; without a list of them, whoever has a pre-made id before the barrier is one.

    A first disk that tells its own id has none before it is known: until the barrier falls it needs none.
    """
    told, started = _TOLD_BY_DISKS.get(desired.bootstrap), _somebody_started(observed)
    forming = told is not None and not started
    if observed.status.initial:
        first = any(
            entry.node_id == node_id and (forming or entry.directory_id == directory)
            for entry in observed.status.initial
        )
    else:
        first = forming or (directory is not None and not started)
    return (told or FormatMode.INITIAL_CONTROLLERS) if first else FormatMode.NO_INITIAL_CONTROLLERS


def _rebuilt_initial(observed: Observed, nodes: tuple[NodeIdentity, ...]) -> tuple[ReplicaKey, ...]:
    told = {node.node_id: node.key for node in nodes if node.mode in _TOLD_BY_DISKS.values()}
    if observed.status.initial:
        return tuple(
            told.get(entry.node_id)
            or ReplicaKey(
                node_id=entry.node_id, directory_id=DirectoryID(entry.directory_id) if entry.directory_id else None
            )
            for entry in observed.status.initial
            if entry.directory_id is not None or entry.node_id in told
        )
    if _somebody_started(observed):
        return ()
    return tuple(node.key for node in nodes if node.mode is not FormatMode.NO_INITIAL_CONTROLLERS)


def _rebuilt_static(desired: Desired, observed: Observed) -> bool:
    """Whether pods are made with static voters; without any revision the mode of the spec tells."""
    applied = observed.revision(_rebuilt_revision(observed))
    return bool(applied.runtime.static_voters) if applied else desired.bootstrap in _TOLD_BY_DISKS


def _rebuilt_mode(desired: Desired, initial: tuple[ReplicaKey, ...]) -> BootstrapMode:
    if desired.bootstrap in _TOLD_BY_DISKS:
        return desired.bootstrap
    return BootstrapMode.STANDALONE if len(initial) == 1 else BootstrapMode.INITIAL_CONTROLLERS


def _rebuilt_release(desired: Desired, observed: Observed) -> str:
    """The oldest release that a revision names: what the disks were formatted with was none that came later."""
    releases = [revision.runtime.release for revision in observed.revisions]
    return min(releases, key=release_numbers, default=desired.runtime.release)


def _rebuilt_revision(observed: Observed) -> str | None:
    """The revision that most pods run, else the newest; pods tell better than numbers."""
    names = [pod.revision for pod in observed.pods if observed.revision(pod.revision) is not None]
    if names:
        return max(sorted(set(names)), key=names.count)
    newest = max(observed.revisions, key=lambda revision: revision.number, default=None)
    return newest.name if newest else None


def _stop(reason: str, message: str) -> Part:
    return Part(waits=(Wait(severity=Severity.DEGRADED, reason=reason, message=f"nothing is done: {message}"),))
