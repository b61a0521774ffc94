"""Rebuilds the identity record from its other copies, if the ConfigMap was lost."""

from dataclasses import replace
from typing import Final

from kafka_quorum.model.desired import BootstrapMode, Desired
from kafka_quorum.model.identity import (
    BootstrapPhase,
    FormatMode,
    FormerNode,
    IdentityRecord,
    NodeIdentity,
    with_retired,
)
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.names import RETIRED
from kafka_quorum.model.observed import Claim, Observed
from kafka_quorum.model.record_faults import fault_of
from kafka_quorum.plan.facts.formats import TOLD_BY_DISKS, format_of, of_oldest_release, somebody_started
from kafka_quorum.plan.identity.rebuilt_stage import rebuilt_listener, rebuilt_migration

_OPEN: Final = (
    "a recovery of a lost majority was open, and only the ConfigMap had its journal. Restore the ConfigMap from a "
    "backup of the time after the recovery began"
)


def forced_start(record: IdentityRecord) -> IdentityRecord:
    """The record after the barrier: every controller whose directory id is known counts as formatted."""
    nodes = tuple(replace(node, formatted=node.formatted or node.directory_id is not None) for node in record.nodes)
    return replace(record, phase=BootstrapPhase.STARTED, nodes=nodes)


def rebuilt_record(desired: Desired, observed: Observed) -> IdentityRecord | str:
    """The record that the copies agree on, or the reason why there is none."""
    clusters = {
        *(claim.cluster_id for claim in observed.claims if claim.cluster_id),
        *((observed.status.cluster_id,) if observed.status.cluster_id else ()),
    }
    if len(clusters) != 1:
        seen = ", ".join(sorted(clusters)) or "none"
        return f"its copies do not agree on one cluster id (they have: {seen}). Restore the ConfigMap from a backup"
    nodes = _OPEN if observed.status.recovering else _rebuilt_nodes(desired, observed)
    if isinstance(nodes, str):
        return nodes
    ids = {node.node_id for node in nodes}
    initial = _rebuilt_initial(observed, nodes)
    started = somebody_started(observed) or not initial or observed.status.ended
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
    migration = rebuilt_migration(desired, observed, record.applied_revision, started=started)
    if isinstance(migration, str):
        return migration
    listener = rebuilt_listener(observed, record.applied_revision, started=started)
    if isinstance(listener, str):
        return listener
    epoch = _rebuilt_epoch(observed)
    record = replace(record, migration=migration, listener=listener, recovery_epoch=epoch)
    if (fault := fault_of(record)) is not None:
        return f"its copies do not make a valid record ({fault}). Restore the ConfigMap from a backup"
    return _first_disks_retired(forced_start(record)) if started else record


def _rebuilt_epoch(observed: Observed) -> int:
    """The last recovery: that of the status, or of claims that one has retired, or of all claims that are in use.

    One claim alone may have an annotation that a person wrote, or restored: no disk would start in such an epoch.
    """
    kept = (claim.recovery for claim in observed.claims if claim.phase == RETIRED and claim.kept)
    in_use = min((claim.recovery for claim in observed.claims if claim.phase != RETIRED), default=0)
    return max(observed.status.recovery_epoch, in_use, *kept)


def _first_disks_retired(record: IdentityRecord) -> IdentityRecord:
    """Retires the disks of initial voters that no controller has: they were lost, or their controllers were removed."""
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
    # The list of initial voters keeps those that were removed: it is used only if nothing else names controllers.
    status = {entry.node_id: entry for entry in observed.status.controllers or observed.status.initial}
    found: list[NodeIdentity] = []
    for node_id in sorted({*newest, *status}):
        entry = status.get(node_id)
        claim = newest.get(node_id)
        from_claim = claim.directory_id if claim else None
        from_status = entry.directory_id if entry else None
        if from_claim and from_status and from_claim != from_status:
            both = f"the claim of controller {node_id} has directory id {from_claim}, but the status has {from_status}"
            return f"{both}. Restore the ConfigMap from a backup"
        directory = from_claim or from_status
        started = somebody_started(observed)
        found.append(
            NodeIdentity(
                node_id=node_id,
                generation=claim.generation if claim else former[node_id].generation + 1 if node_id in former else 1,
                claim_uid=claim.uid if claim else entry.claim_uid if entry else None,
                directory_id=DirectoryID(directory) if directory else None,
                mode=_rebuilt_format_mode(desired, observed, node_id, directory, claim),
                formatted=started and directory is not None,
                retired=former[node_id].retired if node_id in former else (),
                revision=None,
            )
        )
    return tuple(found)


def _rebuilt_former(observed: Observed) -> tuple[FormerNode, ...]:
    """The retired directory ids, from the claims that are marked as retired. They must not run again."""
    found: dict[NodeID, FormerNode] = {}
    for claim in observed.claims:
        if claim.phase == RETIRED:
            before = found.get(claim.node_id, FormerNode(node_id=claim.node_id, generation=0, retired=()))
            retired = (DirectoryID(claim.directory_id),) if claim.directory_id else ()
            generation = max(before.generation, claim.generation)
            found[claim.node_id] = replace(before, generation=generation, retired=(*before.retired, *retired))
    return tuple(found[node_id] for node_id in sorted(found))


def _rebuilt_format_mode(
    desired: Desired, observed: Observed, node_id: NodeID, directory: str | None, claim: Claim | None
) -> FormatMode:
    """How this disk was formatted: an initial voter's first disk is formatted differently from every later disk.

    Without a list of initial voters, a controller with a directory id before the barrier counts as one; so does one on
    its first claim while the quorum is static, because no voter joined it. In the modes in which the disk reports its
    own directory id, the id may be unknown before the barrier.
    """
    told, started = TOLD_BY_DISKS.get(desired.bootstrap), somebody_started(observed)
    forming = told is not None and not started
    if observed.status.initial:
        first = any(
            entry.node_id == node_id and (forming or entry.directory_id == directory)
            for entry in observed.status.initial
        )
    else:
        voted = told is not None and claim is not None and claim.generation == 1 and _rebuilt_static(desired, observed)
        first = forming or (directory is not None and (not started or voted))
    return (told or FormatMode.INITIAL_CONTROLLERS) if first else FormatMode.NO_INITIAL_CONTROLLERS


def _rebuilt_initial(observed: Observed, nodes: tuple[NodeIdentity, ...]) -> tuple[ReplicaKey, ...]:
    told = {node.node_id: node.key for node in nodes if node.mode in TOLD_BY_DISKS.values()}
    if observed.status.initial:
        return tuple(
            told.get(entry.node_id)
            or ReplicaKey(
                node_id=entry.node_id, directory_id=DirectoryID(entry.directory_id) if entry.directory_id else None
            )
            for entry in observed.status.initial
            if entry.directory_id is not None or entry.node_id in told
        )
    if somebody_started(observed):
        return ()
    return tuple(node.key for node in nodes if node.mode is not FormatMode.NO_INITIAL_CONTROLLERS)


def _rebuilt_static(desired: Desired, observed: Observed) -> bool:
    """Whether pods are made with static voters; without any revision, the mode in the spec decides."""
    applied = observed.revision(_rebuilt_revision(observed))
    return bool(applied.runtime.static_voters) if applied else desired.bootstrap in TOLD_BY_DISKS


def _rebuilt_mode(desired: Desired, initial: tuple[ReplicaKey, ...]) -> BootstrapMode:
    if desired.bootstrap in TOLD_BY_DISKS:
        return desired.bootstrap
    return BootstrapMode.STANDALONE if len(initial) == 1 else BootstrapMode.INITIAL_CONTROLLERS


def _rebuilt_release(desired: Desired, observed: Observed) -> str:
    """The oldest release of all revisions, because no disk was formatted with a later one."""
    oldest = of_oldest_release(observed.revisions)
    return oldest.runtime.release if oldest else desired.runtime.release


def _rebuilt_revision(observed: Observed) -> str | None:
    """The revision that most pods run from, or the newest one without pods. Pods are better evidence than numbers."""
    names = [pod.revision for pod in observed.pods if observed.revision(pod.revision) is not None]
    if names:
        return max(sorted(set(names)), key=names.count)
    newest = max(observed.revisions, key=lambda revision: revision.number, default=None)
    return newest.name if newest else None
