"""Which brokers the pool has: the record is made, brokers join it, and those that shall leave are marked. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from kafka_brokers.model.actions import KeepSpec, RecordChange, WriteRecord
from kafka_brokers.model.disks import (
    BrokerIdentity,
    DiskIdentity,
    FormerBroker,
    PoolRecord,
    changed,
    with_brokers,
    with_disk,
)
from kafka_brokers.model.observed import Claim, Observed
from kafka_brokers.model.plan import Part, Severity, waits
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.model.room import why_no_room
from kafka_brokers.plan.facts import Situation, registered_elsewhere
from kafka_brokers.plan.replication import lacking_users, replication_tls
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.ids import DirectoryID, NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.plan import LATER_FORMAT


def unsettled(desired: PoolDesired, observed: Observed) -> Part | None:
    """What is done about the record before anything else is planned; None if it is there and fits."""
    if observed.later:
        return waits(Severity.DEGRADED, LATER_FORMAT, f"Did not change anything: {observed.later[0]}")
    if observed.record_fault:
        return waits(Severity.DEGRADED, "RecordUnreadable", f"Did not change anything: {observed.record_fault}")
    if isinstance(observed.contract, Unknown):
        text = f"Waiting for quorum {desired.quorum}: {observed.contract.reason}"
        return waits(Severity.PROGRESS, "WaitingForQuorum", text)
    cluster_id, record = observed.contract.value.cluster_id, observed.record
    if record is None:
        return _made(desired, observed, observed.contract.value)
    if record.cluster_id != cluster_id:
        text = (
            f"Did not change anything: the volumes of this pool are of cluster {record.cluster_id}, and quorum "
            f"{desired.quorum} has cluster id {cluster_id}. Correct spec.quorum, or delete this pool"
        )
        return waits(Severity.DEGRADED, "ClusterConflict", text)
    return None


def _made(desired: PoolDesired, observed: Observed, contract: Contract) -> Part:
    """A new record, or one that is rebuilt from the copies in the claims of an earlier one."""
    cluster_id, claims = contract.cluster_id, [claim for claim in observed.claims if not claim.retired]
    foreign = next((claim for claim in claims if claim.cluster_id not in (None, cluster_id)), None)
    if foreign is not None:
        text = (
            f"Did not change anything: the record of this pool is missing, and claim {foreign.name} is of cluster "
            f"{foreign.cluster_id}, not {cluster_id}. Restore ConfigMap and claims of one cluster"
        )
        return waits(Severity.DEGRADED, "ClusterConflict", text)
    tls = replication_tls(desired, observed, contract, rebuilt=bool(claims))
    if isinstance(tls, Unknown):
        text = f"Waiting to begin: it is not known whether the brokers of quorum {desired.quorum} replicate with TLS"
        return waits(Severity.PROGRESS, "WaitingForQuorum", f"{text} ({tls.reason})")
    if lacks := lacking_users(desired, contract, replication_tls=tls.value):
        return waits(Severity.HELD, "WaitingForUsers", f"Waiting to begin: {lacks}")
    had_data = {claim.node_id for claim in observed.claims if claim.retired and claim.directory_id}
    found = (replace(one, ran=one.ran or one.node_id in had_data) for one in _from_claims(claims))
    brokers = tuple(_whole(desired, observed, broker) for broker in found)
    former = _former(observed.claims, {broker.node_id for broker in brokers})
    record = PoolRecord(cluster_id=cluster_id, brokers=brokers, former=former, replication_tls=tls.value)
    kept = f", with brokers {_ids(record.node_ids)} from their claims" if claims else ""
    message = f"the pool has its record, for cluster {cluster_id}{kept}"
    return Part(exclusive=WriteRecord(record=record, change=RecordChange.MINTED, message=message))


def _from_claims(claims: list[Claim]) -> tuple[BrokerIdentity, ...]:
    """The brokers whose claims exist: of each volume the last generation. A formatted one may have run."""
    found: dict[NodeID, BrokerIdentity] = {}
    for claim in sorted(claims, key=lambda one: one.generation):
        disk = DiskIdentity(
            index=claim.index,
            generation=claim.generation,
            claim_uid=claim.uid,
            directory_id=DirectoryID(claim.directory_id) if claim.directory_id else None,
        )
        before = found.get(claim.node_id, BrokerIdentity(node_id=claim.node_id, disks=()))
        ran = before.ran or claim.directory_id is not None
        found[claim.node_id] = replace(with_disk(before, disk), ran=ran)
    return tuple(found[node_id] for node_id in sorted(found))


def _whole(desired: PoolDesired, observed: Observed, broker: BrokerIdentity) -> BrokerIdentity:
    """The broker with every volume that the spec, its pods and its claims show it to have.

    If it has run, a volume without a claim, or without a copy of its directory id, may have had data: it is `unproven`.
    """
    node_id = broker.node_id
    own = [claim for claim in observed.claims if claim.node_id == node_id]
    counts = [len(pod.claim_uids) for pod in observed.pods if pod.node_id == node_id]
    count = max([len(desired.volumes), *counts, *(claim.index + 1 for claim in own)])
    for index in range(count):
        last = max((claim.generation for claim in own if claim.index == index), default=0)
        disk = broker.disk(index) or DiskIdentity(index=index, generation=last + 1)
        broker = with_disk(broker, replace(disk, unproven=broker.ran and not disk.formatted))
    return broker


def _former(claims: tuple[Claim, ...], present: set[NodeID]) -> tuple[FormerBroker, ...]:
    """The brokers that have retired claims only: an id that comes back gets other claims, and other directory ids."""
    retired = [claim for claim in claims if claim.retired and claim.node_id not in present]
    found = []
    for node_id in sorted({claim.node_id for claim in retired}):
        own = [claim for claim in retired if claim.node_id == node_id]
        last = [
            max((claim.generation for claim in own if claim.index == index), default=1)
            for index in range(max(claim.index for claim in own) + 1)
        ]
        ids = tuple(sorted({DirectoryID(claim.directory_id) for claim in own if claim.directory_id}))
        found.append(FormerBroker(node_id=node_id, generations=tuple(last), retired=ids))
    return tuple(found)


def kept(situation: Situation) -> Part:
    """The present spec, which is valid, is stored as the last accepted one."""
    if situation.observed.spec_kept:
        return Part()
    return Part(exclusive=KeepSpec(resource_version=situation.record.resource_version))


def members(situation: Situation) -> Part:
    """Brokers join and leave the record, and get the volumes that the spec lists."""
    record, requested = situation.record, situation.requested
    if conflict := _conflict(situation, requested):
        return waits(Severity.DEGRADED, "NodeIDTaken", conflict)
    added = tuple(node_id for node_id in requested if record.broker(node_id) is None)
    if added and (full := _no_room(situation, added)):
        return waits(Severity.DEGRADED, "CertificateFull", full)
    if added:
        changed_record = with_brokers(record, added, len(situation.desired.volumes), adopt=situation.desired.adopt)
        message = f"brokers {_ids(added)} join the pool"
        return Part(exclusive=WriteRecord(record=changed_record, change=RecordChange.BROKERS_ADDED, message=message))
    leaving = tuple(one for one in record.brokers if one.node_id not in requested and not one.leaving)
    if leaving:
        message = f"brokers {_ids(one.node_id for one in leaving)} shall leave the pool"
        return Part(exclusive=_marked(record, leaving, RecordChange.LEAVING, message))
    staying = tuple(one for one in record.brokers if one.node_id in requested and one.leaving)
    if staying:
        message = f"brokers {_ids(one.node_id for one in staying)} shall stay in the pool after all"
        return Part(exclusive=_marked(record, staying, RecordChange.STAYING, message))
    return _volumes(situation)


def _conflict(situation: Situation, requested: tuple[NodeID, ...]) -> str:
    """Who else has a node id that the pool shall have; empty if nobody."""
    taken = dict(situation.observed.taken_ids)
    contract = situation.observed.contract
    controllers = contract.value.controller_ids if isinstance(contract, Known) else ()
    elsewhere = registered_elsewhere(situation.observed, situation.record)
    added = [node_id for node_id in requested if situation.record.broker(node_id) is None]
    for node_id in added:
        if node_id in taken:
            return f"Did not add broker {node_id}: pool {taken[node_id]} has this node id. Choose another one"
        if node_id in elsewhere and not situation.desired.adopt:
            return f"Did not add broker {node_id}: another broker is registered with this node id. Choose another one"
        if node_id in controllers:
            return f"Did not add broker {node_id}: a controller of the quorum has this node id. Choose another one"
    others = situation.observed.draining
    if added and isinstance(others, Unknown):
        return f"Did not add brokers {_ids(added)}: it is not known which node ids other pools have ({others.reason})"
    return ""


def _no_room(situation: Situation, added: tuple[NodeID, ...]) -> str:
    """Why the certificate cannot have these brokers, too; empty if it can. A spec is judged without all ids."""
    desired = situation.desired
    hosts = [each.host for each in desired.runtime.listeners if each.encrypted and each.host]
    if not hosts:
        return ""
    why = why_no_room(desired.namespace, desired.name, hosts, {*situation.record.node_ids, *added})
    return f"Did not add brokers {_ids(added)}: {why}" if why else ""


def _marked(record: PoolRecord, brokers: tuple[BrokerIdentity, ...], change: RecordChange, message: str) -> WriteRecord:
    """Brokers leave, or stay after all: one that was stopped for good then starts again, and is waited for."""
    leaves = change is RecordChange.LEAVING
    for broker in brokers:
        stopped = broker.stopped or (broker.empty and not leaves)
        kept = broker.ran and not leaves
        record = changed(
            record, replace(broker, leaving=leaves, kept=kept, empty=broker.empty and leaves, stopped=stopped)
        )
    return WriteRecord(record=record, change=change, message=message)


def _volumes(situation: Situation) -> Part:
    """A spec with more volumes: each broker gets them, one after the other, when its pod is made again."""
    count = len(situation.desired.volumes)
    for broker in situation.record.brokers:
        if len(broker.disks) >= count or broker.leaving:
            continue
        if situation.observed.broker_pod(broker.node_id) is not None and broker.revision != situation.target:
            continue  # its roll comes first: a running pod cannot get another volume
        indexes = [index for index in range(count) if broker.disk(index) is None]
        for index in indexes:
            broker = with_disk(broker, DiskIdentity(index=index))  # noqa: PLW2901 - built up volume by volume
        message = f"broker {broker.node_id} gets {len(indexes)} more volumes"
        record = changed(situation.record, broker)
        return Part(exclusive=WriteRecord(record=record, change=RecordChange.VOLUME_ADDED, message=message))
    return Part()


def _ids(node_ids: Iterable[NodeID]) -> str:
    return ", ".join(map(str, node_ids))
