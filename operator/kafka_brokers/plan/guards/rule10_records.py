"""Rule 10: no acknowledged record is lost by an act of ours.

A broker that starts on an empty volume, under a node id that is the only complete replica of a partition, could lead
that partition with nothing in it. So such a volume is only replaced if a person accepts the loss.
"""

from collections.abc import Iterator

from kafka_brokers.model.disks import BrokerIdentity, DiskIdentity
from kafka_brokers.model.names import ACCEPT_LOSS, HOLD
from kafka_brokers.model.observed import Claim, ClusterView, Leader, Observed
from kafka_brokers.model.permit import (
    DeleteBrokerVolume,
    LeaveEmpty,
    MoveReplicas,
    RetireBrokerDisk,
    RetireBrokerNode,
)
from kafka_brokers.plan.facts import MIGRATION_ENABLE
from kafka_brokers.plan.guards.accepted import acceptance, data_of, data_on, is_accepted
from kafka_brokers.plan.guards.availability import counted, last_copies, named, not_in_sync
from kafka_brokers.plan.guards.registry import Answer, guard, no, unless, yes
from kafka_quorum.model.brokers import LogDirectory, Move
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown


@guard(RetireBrokerDisk)
def may_retire_disk(
    observed: Observed, broker: BrokerIdentity, disks: tuple[DiskIdentity, ...], evidence: str
) -> Answer:
    """Volumes without their data are given up, and formatted again. `evidence` says how they were found to be lost.

    If no broker is left that knows the partitions, as with a single one, a person may accept what is not known.
    """
    if _had_none(disks):
        return yes(f"{evidence}, and its data was given up before")
    data = data_of(observed, broker, disks)
    if broker.ran and isinstance(observed.leader, Known) and isinstance(observed.cluster, Unknown):
        begins = f"{evidence}, {_unknown(observed.cluster)}"
        return _unasked(observed, observed.leader.value, broker.node_id, data, begins)
    return _retire(observed, broker, data, evidence)


@guard(RetireBrokerNode)
def may_retire_node(
    observed: Observed, broker: BrokerIdentity, disks: tuple[DiskIdentity, ...], evidence: str
) -> Answer:
    """These volumes of a broker are given up with its lost Kubernetes node."""
    if _had_none(disks):
        return yes(f"{evidence}, and the data of its volumes was given up before")
    return _retire(observed, broker, data_of(observed, broker, disks), evidence)


def _had_none(disks: tuple[DiskIdentity, ...]) -> bool:
    """Whether the data of these volumes was given up before, and nothing was formatted in its place yet."""
    return bool(disks) and all(disk.retired and not (disk.formatted or disk.unproven) for disk in disks)


def _retire(observed: Observed, broker: BrokerIdentity, data: tuple[str, ...], evidence: str) -> Answer:
    node_id = broker.node_id
    if not broker.ran:
        return yes(f"{evidence}, and broker {node_id} has never run")
    if isinstance(observed.leader, Unknown):
        return no(f"{evidence}, but it is not known who leads the quorum ({observed.leader.reason})")
    if isinstance(observed.cluster, Unknown):
        return no(f"{evidence}, {_unknown(observed.cluster)}")
    accepted = is_accepted(observed, data)
    against = _against(observed.cluster.value, node_id, evidence, "" if accepted else acceptance(data))
    return unless(against, _reason(evidence, accepted))


def _unknown(cluster: Unknown) -> str:
    return f"but the partitions are not known ({cluster.reason})"


def _unasked(observed: Observed, leader: Leader, node_id: NodeID, data: tuple[str, ...], begins: str) -> Answer:
    """Brokers with ZooKeeper do not fetch the metadata log, so nothing shows there that one is not in contact."""
    contract = observed.contract
    if isinstance(contract, Unknown) or contract.value.zookeeper or contract.value.setting(MIGRATION_ENABLE):
        return no(begins)
    way_out = f"If no broker is left that knows them, {acceptance(data)}"
    return unless(
        (
            (not is_accepted(observed, data), f"{begins}. {way_out}"),
            (
                node_id in leader.observers,
                f"{begins}, and the quorum has heard from broker {node_id} in the last five minutes",
            ),
        ),
        _reason(begins, accepted=True),
    )


def _reason(evidence: str, accepted: bool) -> str:  # noqa: FBT001 - a private helper with one caller
    if accepted:
        return f"{evidence}, and a person accepted what is lost with it ({ACCEPT_LOSS})"
    return f"{evidence}, and other brokers have every acknowledged record of its partitions"


def _against(view: ClusterView, node_id: NodeID, evidence: str, way_out: str) -> Iterator[tuple[bool, str]]:
    yield view.in_contact(node_id), f"{evidence}, but broker {node_id} is unfenced: it is in contact"
    lost = tuple(partition.at for partition in last_copies(view, node_id))
    text = (
        f"{evidence}, and no other broker is known to have every acknowledged record of {counted(lost)} "
        f"({named(lost)}): they would be lost. Bring the volume back, or delete these topics, or {way_out}"
    )
    yield bool(lost and way_out), text


@guard(MoveReplicas)
def may_move(observed: Observed, node_id: NodeID, moves: tuple[Move, ...]) -> Answer:
    """Replicas are moved away from a broker that leaves: each partition keeps its number of replicas.

    None is moved to a broker that leaves as well, whichever pool it belongs to: two drains would never end.
    """
    if isinstance(observed.leader, Unknown):
        return no(f"it is not known who leads the quorum ({observed.leader.reason})")
    if isinstance(observed.cluster, Unknown):
        return no(f"the partitions are not known ({observed.cluster.reason})")
    if isinstance(observed.draining, Unknown):
        return no(f"it is not known which brokers of other pools leave ({observed.draining.reason})")
    return unless(
        (*_against_moves(observed.cluster.value, node_id, moves), *_against_targets(observed, moves)),
        f"broker {node_id} leaves, and others take over",
    )


def _against_moves(view: ClusterView, node_id: NodeID, moves: tuple[Move, ...]) -> Iterator[tuple[bool, str]]:
    present = {partition.at: partition for partition in view.partitions}
    live = {row.node_id for row in view.registered if not row.fenced}
    for move in moves:
        partition, target = present.get(move.at), move.replicas or ()
        if partition is None:
            yield True, f"partition {move.at} is not known"
            continue
        yield move.at in view.targets, f"partition {move.at} is being reassigned already"
        kept = set(target) & set(partition.replicas)
        wrong = len(set(target)) != len(target) or len(target) != len(partition.replicas) or node_id in target
        yield wrong, f"partition {move.at} would not keep its {len(partition.replicas)} replicas"
        yield not (set(target) - kept) <= live, f"partition {move.at} would get a broker that is not unfenced"


def _against_targets(observed: Observed, moves: tuple[Move, ...]) -> Iterator[tuple[bool, str]]:
    leaving = leaving_ids(observed)
    present = (
        {} if isinstance(observed.cluster, Unknown) else {row.at: row for row in observed.cluster.value.partitions}
    )
    for move in moves:
        before = present[move.at].replicas if move.at in present else ()
        gone = sorted((set(move.replicas or ()) - set(before)) & leaving)
        yield bool(gone), f"partition {move.at} would get broker {gone[0] if gone else ''}, which leaves"


def leaving_ids(observed: Observed) -> frozenset[NodeID]:
    """The brokers that get no replicas, because they leave this pool, or another one of the cluster."""
    brokers = () if observed.record is None else observed.record.brokers
    others = frozenset[NodeID]() if isinstance(observed.draining, Unknown) else observed.draining.value
    return others | {one.node_id for one in brokers if one.leaving}


def why_held(observed: Observed, node_id: NodeID) -> str:
    """Why a person keeps this broker from stopping for good, as a clause; empty if the pod has no such annotation."""
    pod = observed.broker_pod(node_id)
    if pod is None or not pod.held:
        return ""
    return f"pod {pod.name} has the annotation {HOLD}: remove it, and broker {node_id} stops for good"


@guard(LeaveEmpty)
def may_leave(
    observed: Observed, broker: BrokerIdentity, log_dirs: Knowable[tuple[LogDirectory, ...]], *, stopped: bool
) -> Answer:
    """A broker leaves: no partition has it as a replica, and while it ran its directories had none either (B6).

    `stopped`: its pod is gone, after it was proved empty. Then its directories cannot be asked any more.
    """
    node_id = broker.node_id
    if not broker.ran:
        return yes(f"broker {node_id} has never run")
    if isinstance(observed.leader, Unknown):
        return no(f"it is not known who leads the quorum ({observed.leader.reason})")
    if isinstance(observed.cluster, Unknown):
        return no(f"the partitions are not known ({observed.cluster.reason})")
    view = observed.cluster.value
    if has := _has(view, node_id):
        return no(has)
    if (kept := why_held(observed, node_id)) and not stopped:
        return no(kept)
    return _after_its_stop(view, node_id) if stopped else _of_directories(node_id, log_dirs)


def _has(view: ClusterView, node_id: NodeID) -> str:
    """What the cluster's metadata still has on this broker, as a clause; empty if nothing."""
    rows = tuple(sorted(partition.at for partition in view.by_broker.get(node_id, ())))
    if rows:
        return f"broker {node_id} has {counted(rows)} ({named(rows)})"
    adding = tuple(row.at for row in view.reassignments if node_id in (*row.replicas, *row.adding))
    return f"running reassignments name broker {node_id} ({named(adding)})" if adding else ""


def _after_its_stop(view: ClusterView, node_id: NodeID) -> Answer:
    if view.in_contact(node_id):
        return no(f"broker {node_id} is still unfenced: its session has not ended")
    return yes(f"no partition has broker {node_id} as a replica, and it does not run")


def _of_directories(node_id: NodeID, log_dirs: Knowable[tuple[LogDirectory, ...]]) -> Answer:
    if isinstance(log_dirs, Unknown):
        return no(f"the log directories of broker {node_id} are not known ({log_dirs.reason})")
    found = log_dirs.value
    failed = next((directory for directory in found if directory.error), None)
    if failed is not None:
        return no(f"log directory {failed.path} of broker {node_id} reports {failed.error}")
    left = tuple(sorted({replica.at for directory in found for replica in directory.replicas}))
    if left:
        return no(f"the log directories of broker {node_id} still have {counted(left)} ({named(left)})")
    return yes(f"no partition has broker {node_id} as a replica, and its log directories are empty")


@guard(DeleteBrokerVolume)
def may_delete_volume(observed: Observed, claim: Claim) -> Answer:
    """A claim is deleted: the record has given up its volume, no pod uses it, and its data is not needed any more."""
    record = observed.record
    if record is None:
        return no("the record of the pool is missing")
    broker = record.broker(claim.node_id)
    disk = None if broker is None else broker.disk(claim.index)
    present = disk is not None and disk.generation == claim.generation
    unknown = f"the record does not say that the volume of claim {claim.name} was given up"
    users = [pod.name for pod in observed.pods if claim.uid in pod.claim_uids]
    return unless(
        (
            (present, f"claim {claim.name} is the present one of broker {claim.node_id}"),
            (not record.gave_up(claim.node_id, claim.index, claim.generation), unknown),
            (bool(users), f"pod {users[0] if users else ''} uses claim {claim.name}"),
            (not claim.retired, f"claim {claim.name} is not marked as retired yet"),
            (bool(needed := _may_be_needed(observed, broker, claim)), needed),
        ),
        f"the volume of claim {claim.name} was given up, and nothing uses it",
    )


def _may_be_needed(observed: Observed, broker: BrokerIdentity | None, claim: Claim) -> str:
    """Why the data of a volume that was given up may still be needed, as a clause; empty if it is not.

    It was given up when others had every acknowledged record. They may be lost before its successor has them, and a
    server that is dead counts as unfenced until its session ends. So it is kept until the broker itself is back: in a
    pod with the successor of this volume, because the process on a lost machine may reach the others again.
    """
    never_had_data = broker is not None and not broker.ran and claim.directory_id is None
    data = data_on(claim)
    if never_had_data or is_accepted(observed, data):
        return ""
    if isinstance(observed.leader, Unknown):
        return f"it is not known who leads the quorum ({observed.leader.reason})"
    if isinstance(observed.cluster, Unknown):
        return f"the partitions are not known ({observed.cluster.reason})"
    view = observed.cluster.value
    rows = tuple(partition.at for partition in not_in_sync(view, claim.node_id))
    if not rows:
        strange = broker is not None and claim.node_id in view.by_broker and not _serves(observed, broker, claim.index)
        return f"broker {claim.node_id} does not answer from its present volume yet" if strange else ""
    return (
        f"broker {claim.node_id} is not in the ISR of {counted(rows)} ({named(rows)}), and its earlier volume may have "
        "the last copy of them. It is deleted when the broker is back in sync. Or delete these topics, or "
        f"{acceptance(data)}"
    )


def _serves(observed: Observed, broker: BrokerIdentity, index: int) -> bool:
    """Whether the broker that the cluster lists is the one in its pod, on the present volume of this index."""
    pod, disk = observed.broker_pod(broker.node_id), broker.disk(index)
    present = pod is not None and pod.serves and disk is not None and disk.claim_uid in pod.claim_uids
    return present and isinstance(observed.config(broker.node_id), Known)
