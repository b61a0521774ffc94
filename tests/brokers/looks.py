"""Looks at a pool of three brokers, for tests of guards, planner and status: at rest, and changed as tests require."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from tests.brokers import values
from tests.brokers.values import CONTRACT, IDS, POOL, UID

from kafka_brokers.model import names
from kafka_brokers.model.contracted import first_contact
from kafka_brokers.model.disks import BrokerIdentity, PoolRecord, changed
from kafka_brokers.model.found import Run
from kafka_brokers.model.observed import (
    Claim,
    ClusterView,
    DiskRow,
    DisksReport,
    Leader,
    Observed,
    Pod,
    Revision,
    Support,
)
from kafka_brokers.model.plan import Plan
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.facts import Situation
from kafka_brokers.plan.planner import plan
from kafka_brokers.resources import objects
from kafka_quorum.model.brokers import ConfigEntry, Partition, Reassignment, RegisteredBroker, TopicPartition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known
from kafka_quorum.model.pods import DiskFound, Running, Terminated, Waiting
from kafka_quorum.model.quorum import Endpoint
from kit.token import ABSENT

IMAGE: Final = "apache/kafka:4.4.0"
NOW_S: Final = 1_000_000.0
LOOKED_AT_S: Final = 500.0
LEADER: Final = Endpoint(node_id=NodeID(3000), host="events-3000", port=9093)
RUNS: Final = Running(started_at="2026-01-01T00:00:00Z", container="c1")
CRASHES: Final = Waiting(reason="CrashLoopBackOff", message="", last_exit=None)
ENDED: Final = Terminated(exit_code=0, reason="Completed", message="", finished_at="")


def at(name: str) -> TopicPartition:
    """`orders-0` as a value."""
    topic, _, index = name.rpartition("-")
    return TopicPartition(topic=topic, index=int(index))


def nodes(ids: Iterable[int]) -> tuple[NodeID, ...]:
    """Node ids."""
    return tuple(map(NodeID, ids))


def partition(
    name: str,
    replicas: Sequence[int],
    isr: Sequence[int] | None = None,
    *,
    leader: int | None = -1,
    elr: Sequence[int] = (),
    last_elr: Sequence[int] = (),
) -> Partition:
    """A partition that is led by the first member of its ISR, which is all replicas, unless a test says otherwise."""
    members = nodes(replicas if isr is None else isr)
    led = (members[0] if members else None) if leader == -1 else leader
    return Partition(
        at=at(name),
        leader=None if led is None else NodeID(led),
        leader_epoch=3,
        replicas=nodes(replicas),
        isr=members,
        elr=nodes(elr),
        last_elr=nodes(last_elr),
    )


def reassignment(name: str, replicas: Sequence[int], *, adding: Sequence[int], removing: Sequence[int]) -> Reassignment:
    """A running reassignment."""
    return Reassignment(at=at(name), replicas=nodes(replicas), adding=nodes(adding), removing=nodes(removing))


def registered(node_id: int, *, rack: str = "", fenced: bool = False) -> RegisteredBroker:
    """A registration."""
    return RegisteredBroker(node_id=NodeID(node_id), host=f"b{node_id}", port=9091, rack=rack, fenced=fenced)


def view(
    partitions: Iterable[Partition] = (),
    brokers: Iterable[RegisteredBroker] | None = None,
    *,
    min_isr: int | dict[str, int] = 2,
    reassignments: Iterable[Reassignment] = (),
) -> ClusterView:
    """One look at the cluster; brokers 0 to 2 are unfenced unless a test says otherwise."""
    rows = tuple(partitions)
    topics = {row.at.topic for row in rows}
    least = min_isr if isinstance(min_isr, dict) else dict.fromkeys(topics, min_isr)
    return ClusterView(
        source=NodeID(0),
        registered=tuple(map(registered, IDS)) if brokers is None else tuple(brokers),
        partitions=rows,
        min_isr=tuple(sorted(least.items())),
        reassignments=tuple(reassignments),
        taken_at_s=LOOKED_AT_S,
    )


ORDERS: Final = tuple(partition(f"orders-{index}", [(index + place) % 3 for place in range(3)]) for index in range(3))
"""Three partitions on three brokers, each of which leads one."""


def leader(**changes: Any) -> Leader:  # noqa: ANN401 - any field
    """A leader whose three voters are caught up."""
    known = Leader(
        endpoint=LEADER,
        epoch=7,
        observers=frozenset(IDS),
        observers_caught_up=frozenset(IDS),
        settled=True,
        voters=3,
        voters_caught_up=3,
    )
    return replace(known, **changes)


def revision_of(desired: PoolDesired, *, number: int = 1) -> Revision:
    """The revision that a spec asks for."""
    return replace(values.revision(desired.runtime), number=number)


def ran(of: PoolRecord, desired: PoolDesired, *ids: int) -> PoolRecord:
    """The record, in which these brokers (all by default) have run from the spec's revision."""
    for broker in of.brokers:
        if not ids or broker.node_id in ids:
            of = changed(of, replace(broker, ran=True, revision=revision_of(desired).name))
    return replace(of, resource_version="7")


def edited(of: PoolRecord, node_id: int, **changes: Any) -> PoolRecord:  # noqa: ANN401 - any field
    """The record with these fields of one broker."""
    return changed(of, replace(values.broker(of, node_id), **changes))


def claim(broker: BrokerIdentity, index: int = 0, **changes: Any) -> Claim:  # noqa: ANN401 - any field
    """The claim of a volume, as the record has it."""
    disk = broker.disks[index]
    known = Claim(
        name=names.claim_name(POOL, broker.node_id, index, disk.generation),
        uid=disk.claim_uid or f"new-{broker.node_id}-{index}",
        resource_version="3",
        node_id=broker.node_id,
        index=index,
        generation=disk.generation,
        owner_uid=None,
        deleting=False,
        volume_gone=False,
        cluster_id=values.CLUSTER,
        directory_id=disk.directory_id,
        requested_bytes=10 * 1024**3,
    )
    return replace(known, **changes)


def claims(of: PoolRecord) -> tuple[Claim, ...]:
    """The claims of a record."""
    return tuple(claim(broker, disk.index) for broker in of.brokers for disk in broker.disks)


def pod(broker: BrokerIdentity, revision: Revision | None = None, **changes: Any) -> Pod:  # noqa: ANN401 - any field
    """A pod that runs this broker, ready, on the volumes of the record."""
    node_id = broker.node_id
    known = Pod(
        name=names.pod_name(POOL, node_id),
        uid=f"pod-{node_id}",
        resource_version="5",
        formats=False,
        node_id=node_id,
        owner_uid=UID,
        deleting=False,
        finished=False,
        claim_uids=tuple(disk.claim_uid or "" for disk in broker.disks),
        directory_ids=tuple(disk.directory_id or "" for disk in broker.disks),
        revision=(revision or values.revision()).name,
        config_name="",
        ip=f"10.0.0.{node_id}",
        host_ip="",
        node_name=f"worker-{node_id}",
        unschedulable="",
        container=RUNS,
        report=None,
        gate="True",
        ready=True,
    )
    return replace(known, **changes)


def formatter(broker: BrokerIdentity, revision: Revision | None = None, **changes: Any) -> Pod:  # noqa: ANN401 - any
    """A formatter that was made for the volumes of the record, and runs."""
    generations = tuple(disk.generation for disk in broker.disks)
    known = pod(broker, revision, formats=True, uid=f"format-{broker.node_id}", gate="", ready=False)
    return replace(known, name=names.formatter_name(POOL, broker.node_id, generations), **changes)


def refused(finished_at_s: float, *found: DiskFound, run: Run | None = None) -> DisksReport:
    """The report of a script that found its volumes so, by index, and refused them; one empty volume by default."""
    disks = tuple(
        DiskRow(index=index, found=one, cluster_id=None, node_id=None, directory_id=None)
        for index, one in enumerate(found or (DiskFound.EMPTY,))
    )
    return DisksReport(disks=disks, accepted=False, message="", finished_at_s=finished_at_s, run=run)


def pods(of: PoolRecord, revision: Revision | None = None) -> tuple[Pod, ...]:
    """A pod for each broker."""
    return tuple(pod(broker, revision) for broker in of.brokers)


def beside(of: Observed, *peers: Pod) -> Observed:
    """The look with these pods of other pools, whose processes have answered."""
    answers = tuple((peer.process, Known(value=None)) for peer in peers)
    return replace(of, peers=peers, memory=replace(of.memory, peers=answers))


def with_view(of: Observed, seen: ClusterView) -> Observed:
    """The look at this cluster, whose unfenced brokers follow the metadata log."""
    live = frozenset(row.node_id for row in seen.registered if not row.fenced)
    led = leader(observers_caught_up=live, observers=live)
    return replace(of, cluster=Known(value=seen), leader=Known(value=led))


def changed_pod(of: Observed, node_id: int, **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """The look with these fields of a broker's pod."""
    rows = (replace(one, **changes) if one.node_id == node_id and not one.formats else one for one in of.pods)
    return replace(of, pods=tuple(rows))


def without_pod(of: Observed, node_id: int) -> Observed:
    """The look without a broker's pod."""
    return replace(of, pods=tuple(one for one in of.pods if one.node_id != node_id or one.formats))


def changed_claim(of: Observed, node_id: int, **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """The look with these fields of a broker's claims."""
    return replace(of, claims=tuple(replace(one, **changes) if one.node_id == node_id else one for one in of.claims))


def support(of: PoolRecord, desired: PoolDesired, revisions: Sequence[Revision], *, least: int) -> tuple[Support, ...]:
    """The services, budget, config maps and revisions as the planner wants them."""
    bodies = [
        *objects.services(desired, desired.runtime, of.node_ids),
        objects.budget(desired, least),
        *(objects.config(desired, one, of.node_ids, first_contact(CONTRACT)) for one in revisions),
    ]
    rows = [(body["kind"], body["metadata"]["name"], _facts(body)) for body in bodies]
    rows += [("ControllerRevision", one.name, "") for one in revisions]
    return tuple(
        Support(kind=kind, name=name, uid=f"uid-{name}", resource_version="1", owner_uid=UID, facts=facts)
        for kind, name, facts in rows
    )


def _facts(body: dict[str, Any]) -> str:
    return objects.facts_of(body) if body["kind"] != "ConfigMap" else ""


def look(
    of: PoolRecord | None = None,
    desired: PoolDesired | None = None,
    *,
    seen: ClusterView | None = None,
    old: Sequence[Revision] = (),
    least: int = 2,
    **changes: Any,  # noqa: ANN401 - any field
) -> Observed:
    """A look at a pool at rest: everything is as the spec asks, and the partitions are those of `ORDERS`."""
    asked = desired or values.desired()
    found = of if of is not None else ran(values.record(), asked)
    target = revision_of(asked, number=len(old) + 1)
    revisions = (*old, target)
    present = seen or view(ORDERS)
    live = frozenset(row.node_id for row in present.registered if not row.fenced)
    entries: Knowable[tuple[ConfigEntry, ...]] = Known(value=())
    known = Observed(
        contract=Known(value=CONTRACT),
        record=found,
        record_owner_uid=None,
        record_fault="",
        claims=claims(found),
        pods=pods(found, target),
        support=support(found, asked, revisions, least=least),
        revisions=revisions,
        token=Known(value=ABSENT),
        leader=Known(value=leader(observers_caught_up=live, observers=live)),
        cluster=Known(value=present),
        configs=tuple((broker.node_id, entries) for broker in found.brokers),
        looked_at_s=LOOKED_AT_S,
        pool=values.POOL,
        uid=UID,
    )
    return replace(known, **changes)


def situation(of: Observed, desired: PoolDesired | None = None, *, repair_only: bool = False) -> Situation:
    """The situation of a look."""
    assert of.record is not None
    return Situation(
        desired=desired or values.desired(),
        observed=of,
        record=of.record,
        image=IMAGE,
        now_s=NOW_S,
        repair_only=repair_only,
    )


def planned(of: Observed, desired: PoolDesired | None = None, **named: Any) -> Plan:  # noqa: ANN401 - as the planner
    """The plan of a look."""
    return plan(desired or values.desired(), of, image=IMAGE, now_s=NOW_S, **named)


def new_spec() -> PoolDesired:
    """A spec whose revision differs from that of the default one."""
    return values.desired({"config": {"auto.create.topics.enable": "false"}})
