"""The identity of a quorum: which cluster, how far its bootstrap got, and which disk belongs to which node id.

There are three copies: an owner-less ConfigMap, the resource's status, and annotations of the claims. The ConfigMap
decides and is written first, by compare-and-swap. This module holds the value and its only transitions, as pure
functions. Nothing here may lead back from `STARTED`: after the barrier no initial format exists any more (rule 1). The
one exception is in `attempts`: a quorum whose cluster went back to ZooKeeper holds nothing any more (KIP-866).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from kafka_quorum.model.desired import BootstrapMode, ControllerListener, FeatureLevel, Protocol
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.journal import Journal
from kafka_quorum.model.migration import (
    PLAIN,
    ROLLED_BACK,
    STATIC,
    ZOOKEEPER_TO_KRAFT,
    FoundBy,
    MigrationKind,
    Overlay,
    Reached,
)
from kafka_quorum.model.quorum import FinalizedFeature


class BootstrapPhase(Enum):
    """The barrier. `FORMATTING`: no controller has ever run. `STARTED`: one may have."""

    FORMATTING = "Formatting"
    STARTED = "Started"


class FormatMode(Enum):
    """How a disk is formatted: with the initial voters, or for an observer."""

    INITIAL_CONTROLLERS = "InitialControllers"
    NO_INITIAL_CONTROLLERS = "NoInitialControllers"
    STATIC = "Static"
    """With `controller.quorum.voters` in the properties and no voters on the disk; Kafka makes the directory id."""
    ADOPTED = "Adopted"
    """Not formatted by this operator: the disk of a controller that was there before, which is only read."""


_FORMATS: Final = {
    BootstrapMode.STATIC: FormatMode.STATIC,
    BootstrapMode.ZOOKEEPER: FormatMode.STATIC,
    BootstrapMode.ADOPT: FormatMode.ADOPTED,
}
TOLD_LATER: Final = frozenset(_FORMATS)
"""Modes whose disks report their directory ids."""
_TOLD_LATER: Final = frozenset(_FORMATS.values())
"""Formats whose directory ids are not made beforehand, but reported by the disk; their quorums are or may be static."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIdentity:
    """One node id and the disk that belongs to it.

    `directory_id` is pre-made for initial controllers, and None for others until their formatter reports it.
    `formatted` says that a formatter has reported. `retired` lists the directory ids that this node had before: none of
    them may ever run again. It is stored as `lost`. `generation` counts the node's claims, `revision` names the
    ControllerRevision that its pod is made from (None: the fleet's).
    """

    node_id: NodeID
    generation: int
    claim_uid: str | None
    directory_id: DirectoryID | None
    mode: FormatMode
    formatted: bool
    retired: tuple[DirectoryID, ...]
    revision: str | None

    @property
    def key(self) -> ReplicaKey:
        """The replica that this node is now."""
        return ReplicaKey(node_id=self.node_id, directory_id=self.directory_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerNode:
    """A node id that was removed. `generation` is that of its last claim, `retired` are all its directory ids."""

    node_id: NodeID
    generation: int
    retired: tuple[DirectoryID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """What every initial disk was, or will be, formatted with. `release` is the image's, `features` explicit levels."""

    mode: BootstrapMode
    release: str
    features: tuple[FeatureLevel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityRecord:
    """The record as the ConfigMap holds it.

    `initial` are the replica keys of the first voters, fixed when the record was minted. `applied_revision` names the
    ControllerRevision that new pods are made from. `had_leader` is set when a leader is first seen: before that, a lost
    majority means that the bootstrap has failed. `resource_version` guards the next write; it is empty for a record
    that is not stored yet. `former` are removed nodes: an id that comes back gets a new claim and a new directory id.
    `static` says that the controllers need `controller.quorum.voters`: kraft.version 1 is not yet seen on every one.
    `levels` are the finalized levels as they were last seen: an image must support them while no controller answers.
    `migration` is the migration that is under way, and the stage that it has reached. `listener` is the controllers'
    listener of a quorum that has started; None for one that has PLAINTEXT since it began, as all had at first.
    `recovery` is the recovery of a lost majority that is open, `recovery_epoch` the number of the last one that began.
    `recoveries_taken_back` counts those that led back: no approval of before them counts any more.
    """

    cluster_id: ClusterID
    phase: BootstrapPhase
    format: Format
    initial: tuple[ReplicaKey, ...]
    nodes: tuple[NodeIdentity, ...]
    applied_revision: str | None
    had_leader: bool
    resource_version: str
    former: tuple[FormerNode, ...] = ()
    static: bool = False
    levels: tuple[FinalizedFeature, ...] = ()
    migration: Reached | None = None
    listener: ControllerListener | None = None
    recovery: Journal | None = None
    recovery_epoch: int = 0
    recoveries_taken_back: int = 0

    def node(self, node_id: NodeID) -> NodeIdentity | None:
        """The node of this id, if there is one."""
        return next((node for node in self.nodes if node.node_id == node_id), None)

    @property
    def overlay(self) -> Overlay:
        """What is laid over the spec of the controllers: by the stage of a migration, or by what the quorum is."""
        if self.migration is None:
            return STATIC if self.static else PLAIN
        laid = self.migration.present.controllers
        found_by = FoundBy.VOTERS if self.static else FoundBy.BOOTSTRAP
        return laid if self.migration.trust is None else replace(laid, found_by=found_by)

    @property
    def has_ended(self) -> bool:
        """Whether the cluster went back to ZooKeeper, and this quorum ended."""
        return self.migration is not None and self.migration.stage == ROLLED_BACK

    @property
    def node_ids(self) -> tuple[NodeID, ...]:
        """Every node id that has a disk, in order."""
        return tuple(node.node_id for node in self.nodes)

    @property
    def retired(self) -> frozenset[DirectoryID]:
        """Directory ids that may never run again: their disks were lost, or their controllers removed."""
        retired = (*(node.retired for node in self.nodes), *(each.retired for each in self.former))
        return frozenset(directory for directories in retired for directory in directories)


def mint(
    cluster_id: ClusterID, format_: Format, initial: Iterable[ReplicaKey], others: Iterable[NodeID]
) -> IdentityRecord:
    """A new quorum's record: the initial controllers with their pre-made keys, and further nodes that will join."""
    keys, mode = tuple(initial), _FORMATS.get(format_.mode, FormatMode.INITIAL_CONTROLLERS)
    first = (
        NodeIdentity(
            node_id=key.node_id,
            generation=1,
            claim_uid=None,
            directory_id=key.directory_id,
            mode=mode,
            formatted=False,
            retired=(),
            revision=None,
        )
        for key in keys
    )
    return IdentityRecord(
        cluster_id=cluster_id,
        phase=BootstrapPhase.FORMATTING,
        format=format_,
        migration=from_zookeeper(format_.release) if format_.mode is BootstrapMode.ZOOKEEPER else None,
        static=mode in _TOLD_LATER,
        initial=keys,
        nodes=_ordered((*first, *(_newcomer(node_id) for node_id in others))),
        applied_revision=None,
        had_leader=mode is FormatMode.ADOPTED,  # an adopted quorum had one: a lost majority is no failed bootstrap
        resource_version="",
    )


def from_zookeeper(release: str) -> Reached:
    """A quorum beside ZooKeeper is born in the first stage of its migration."""
    first = ZOOKEEPER_TO_KRAFT.stages[0].name
    return Reached(kind=MigrationKind.ZOOKEEPER_TO_KRAFT, stage=first, release=release, image="")


def with_nodes(record: IdentityRecord, added: Iterable[NodeID]) -> IdentityRecord:
    """Add nodes, to be formatted without initial controllers; a node id that was here before gets another claim."""
    before = {each.node_id: each for each in record.former}
    new = tuple(_newcomer(node_id, before.get(node_id)) for node_id in added)
    ids = {node.node_id for node in new}
    kept = tuple(each for each in record.former if each.node_id not in ids)
    return replace(record, nodes=_ordered((*record.nodes, *new)), former=kept)


def without_node(record: IdentityRecord, node_id: NodeID) -> IdentityRecord:
    """Remove a node that is not a voter any more: its directory id is retired for ever."""
    node = _require(record, node_id)
    present = () if node.directory_id is None else (node.directory_id,)
    gone = FormerNode(node_id=node_id, generation=node.generation, retired=(*node.retired, *present))
    former = tuple(sorted((*record.former, gone), key=lambda each: each.node_id))
    return replace(record, nodes=tuple(each for each in record.nodes if each.node_id != node_id), former=former)


def with_claim(record: IdentityRecord, node_id: NodeID, claim_uid: str) -> IdentityRecord:
    """Note the uid of the claim of a node's present generation."""
    return _changed(record, node_id, claim_uid=claim_uid)


def without_claim(record: IdentityRecord, node_id: NodeID) -> IdentityRecord:
    """Before the barrier a lost disk never ran: the next generation's claim gets the same pre-made directory id."""
    node = _require(record, node_id)
    if record.phase is BootstrapPhase.STARTED and node.formatted:
        raise ValueError(f"controller {node_id} may have run: its disk is lost, not merely unformatted")
    without = _changed(record, node_id, generation=node.generation + 1, claim_uid=None, formatted=False)
    return _with_key(without, node_id, None) if node.mode in _TOLD_LATER else without


def with_report(record: IdentityRecord, node_id: NodeID, directory_id: DirectoryID) -> IdentityRecord:
    """Note the directory id that a formatter has reported for the node's claim."""
    formatted = _changed(record, node_id, formatted=True)
    return _with_key(formatted, node_id, directory_id)


def with_disk_lost(record: IdentityRecord, node_id: NodeID, *, new_claim: bool) -> IdentityRecord:
    """After the barrier: the directory id is retired for ever, and the next format is without initial controllers.

    `new_claim` says that the claim is gone too; else the emptied volume is used again.
    """
    node = _require(record, node_id)
    retired = () if node.directory_id is None else (node.directory_id,)
    return _changed(
        record,
        node_id,
        generation=node.generation + 1 if new_claim else node.generation,
        claim_uid=None if new_claim else node.claim_uid,
        directory_id=None,
        mode=FormatMode.NO_INITIAL_CONTROLLERS,
        formatted=False,
        retired=(*node.retired, *retired),
    )


def with_retired(record: IdentityRecord, node_id: NodeID, directory_id: DirectoryID) -> IdentityRecord:
    """Retire a disk that this node id had before all others, and that no controller has now: it never runs again."""
    node = record.node(node_id)
    if node is not None:
        return _changed(record, node_id, retired=(directory_id, *node.retired))
    known = (each for each in record.former if each.node_id == node_id)
    before = next(known, FormerNode(node_id=node_id, generation=1, retired=()))
    others = (each for each in record.former if each.node_id != node_id)
    return replace(record, former=(*others, replace(before, retired=(directory_id, *before.retired))))


def with_started(record: IdentityRecord, listener: ControllerListener) -> IdentityRecord:
    """Pass the barrier: every initial controller is formatted. ValueError if one is not.

    From here on the listener is the record's: the spec alone changes it no more.
    """
    initial = {key.node_id for key in record.initial}
    missing = [node.node_id for node in record.nodes if node.node_id in initial and not node.formatted]
    if missing:
        raise ValueError(f"initial controllers {missing} have not reported: the quorum must not start")
    migration = record.migration
    if migration is not None:  # the release could be corrected until now
        migration = replace(migration, release=record.format.release)
    secured = listener if listener.protocol is not Protocol.PLAINTEXT else None
    return replace(record, phase=BootstrapPhase.STARTED, migration=migration, listener=secured)


def with_revision(record: IdentityRecord, name: str, node_ids: Iterable[NodeID]) -> IdentityRecord:
    """Set the revision that the pods of these nodes are made from."""
    chosen = frozenset(node_ids)
    nodes = tuple(replace(node, revision=name) if node.node_id in chosen else node for node in record.nodes)
    return replace(record, nodes=nodes)


def with_levels(record: IdentityRecord, levels: tuple[FinalizedFeature, ...]) -> IdentityRecord:
    """The finalized levels as they are now."""
    return replace(record, levels=levels)


def with_migration(record: IdentityRecord, reached: Reached) -> IdentityRecord:
    """Note the stage that a migration has reached; whether the quorum is static follows from it.

    A change of authorities leaves that as it is.
    """
    if reached.kind is MigrationKind.AUTHORITY:
        return replace(record, migration=reached)
    static = reached.present.controllers.found_by is FoundBy.VOTERS
    return replace(record, migration=reached, static=static)


def without_migration(record: IdentityRecord) -> IdentityRecord:
    """Note that no migration is under way: it has ended, or was reverted to where it began."""
    return replace(record, migration=None)


def _newcomer(node_id: NodeID, before: FormerNode | None = None) -> NodeIdentity:
    return NodeIdentity(
        node_id=node_id,
        generation=before.generation + 1 if before else 1,
        claim_uid=None,
        directory_id=None,
        mode=FormatMode.NO_INITIAL_CONTROLLERS,
        formatted=False,
        retired=before.retired if before else (),
        revision=None,
    )


def _require(record: IdentityRecord, node_id: NodeID) -> NodeIdentity:
    node = record.node(node_id)
    if node is None:
        raise ValueError(f"the record has no controller {node_id}")
    return node


def _changed(record: IdentityRecord, node_id: NodeID, **changes: object) -> IdentityRecord:
    node = replace(_require(record, node_id), **changes)  # type: ignore[arg-type]  # the callers are above
    return replace(record, nodes=tuple(node if old.node_id == node_id else old for old in record.nodes))


def _with_key(record: IdentityRecord, node_id: NodeID, directory_id: DirectoryID | None) -> IdentityRecord:
    """Set the node's directory id; if only the disk shows it, it becomes the initial one as well."""
    node = _require(record, node_id)
    changed = _changed(record, node_id, directory_id=directory_id)
    if node.mode not in _TOLD_LATER:
        return changed
    key = ReplicaKey(node_id=node_id, directory_id=directory_id)
    return replace(changed, initial=tuple(key if old.node_id == node_id else old for old in record.initial))


def _ordered(nodes: Iterable[NodeIdentity]) -> tuple[NodeIdentity, ...]:
    return tuple(sorted(nodes, key=lambda node: node.node_id))
