"""Rules 10 and 11 on ground truth: what an act of ours loses, and which partitions it makes unavailable.

An act is judged at the moment when it is sent, by everything that was true in the last two seconds. What accidents took
is not the operator's fault: a record that is gone counts only if fewer copies were lost by accident than min ISR.
"""

import json
import re
from collections import Counter
from typing import Final

from tests.simulation.model.happened import (
    BrokerFormatted,
    BrokerStarted,
    BrokerStop,
    Created,
    DiskLost,
    Fail,
    Moved,
    OfBrokers,
    PodDeleted,
    Unregistered,
)
from tests.simulation.model.kafka.broker import Broker
from tests.simulation.model.kafka.broker_model import Cluster
from tests.simulation.model.kafka.cluster_image import PartitionRow
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.replica_log import ReplicaLog
from tests.simulation.model.kubernetes.kube_model import Written, claims_of, seen
from tests.simulation.model.kubernetes.pool_pods import LABEL_NODE, LABEL_POOL, LABEL_ROLE
from tests.simulation.model.kubernetes.volumes import Volume
from tests.simulation.model.world import World
from tests.simulation.rules.pool_away import PoolAway, cut_off
from tests.simulation.rules.pool_data import PoolData
from tests.simulation.rules.pool_glances import PoolGlance, PoolGlances

from kafka_brokers.kind import POOLS
from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID
from kafka_quorum.model.names import contract_name
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, LEASES, PODS, Json

HELD: Final = "11, held"
TOGETHER: Final = "11, together"
LEADERLESS: Final = "11, leaderless"
LEAVES: Final = "10, leaves"
FORMATS: Final = "10, formats"
POOLS_BY_KNOWLEDGE: Final = frozenset({"11", HELD, TOGETHER, LEADERLESS, LEAVES, FORMATS})
_FORMAT_S: Final = 8.0
"""The longest time from the decision to format a disk to the format."""
_ROLL_S: Final = 60.0
"""How long a controller restarts after the one before it in the same roll."""
_LEASE: Final = "-disruption"
_RECORD: Final = "-broker-disks"
_ACCEPT_LOSS: Final = "kafkaquorum.io/accept-loss"


class PoolRules:
    """Judges what happens to pools."""

    def __init__(self, world: World, fail: Fail) -> None:
        """Judge by this world, and report the rule and what happened to `fail`."""
        self._world, self._fail = world, fail
        self._glances = PoolGlances(world)
        self._data = PoolData(world)
        self._away = PoolAway(world, self._glances)
        self._formatted_on: dict[DirectoryID, int] = {}
        self._ran_on: dict[NodeID, set[str]] = {}
        """The directory ids with which each broker started last."""
        self._spoiled: Counter[TopicPartition] = Counter()
        """How many complete copies of a partition accidents have taken."""
        self._lost: set[TopicPartition] = set()
        self._ours: set[int] = set()
        """Serial numbers of disks whose claims the operator deleted."""
        self._saved_s = float("-inf")
        """When a controller was stopped last because its quorum would have been lost."""
        world.pools.deleted.append(self._deleted)
        world.kube.watchers.append(self._written)

    def look(self) -> None:
        """Judge the present state: after every step of the world."""
        self._glances.look()
        self._away.look()
        used: dict[int, Broker] = {}
        for broker in self._world.pools.every():
            for disk in broker.disks:
                if used.setdefault(disk.serial, broker) is not broker:
                    self._fail("2", f"two processes of broker {broker.node_id} run on disk {disk.serial}")
        for cluster_id, cluster in self._data.clusters():
            for at in cluster.acked:
                self._kept(cluster_id, at)

    def hear(self, event: OfBrokers) -> None:
        """Judge one thing that happened to a pool."""
        match event:
            case BrokerStop():
                self._stopped(event)
            case BrokerFormatted():
                self._formatted(event)
            case BrokerStarted():
                self._started(event)
            case Unregistered():
                self._unregistered(event)
            case Moved():
                pass  # Kafka itself keeps what a reassignment moves: what is deleted at its end is judged then

    # Rule 10

    def _kept(self, cluster_id: ClusterID, at: TopicPartition) -> None:
        """Every acknowledged record is on some disk, and its leader has it, whatever the operator did."""
        cluster = self._world.pools.cluster(cluster_id)
        leader = self._leader(cluster_id, cluster, at)
        log = leader.log_of(at) if leader is not None else None
        gone = not self._data.is_kept(cluster, at)
        cut = log is not None and not log.has(cluster.acked[at])
        if (gone or cut) and at not in self._lost:
            self._lost.add(at)
            image = self._glances.of(cluster_id)[-1].image
            row = image.partitions.get(at)
            needed = 1 if row is None else max(1, min(image.min_isr(at.topic), len(row.replicas)))
            if self._spoiled[at] < needed:
                how = "no disk has" if gone else f"leader {leader.node_id if leader else ''} does not have"
                self._fail("10", f"{how} every acknowledged record of {at}, and accidents took {self._spoiled[at]}")

    def _leader(self, cluster_id: ClusterID, cluster: Cluster, at: TopicPartition) -> Broker | None:
        """The broker that leads in the committed epoch: one that thaws leads an older epoch, until it hears of it."""
        row = self._glances.of(cluster_id)[-1].image.partitions.get(at)
        leader = self._world.pools.leader_of(cluster, at)
        present = leader is not None and row is not None and leader.leads[at].epoch >= row.leader_epoch
        return leader if present else None

    def disk_lost(self, event: DiskLost) -> None:
        """A disk is gone: by an accident, unless the operator deleted its claim."""
        if event.serial not in self._ours:
            self._spoiled.update(event.replicas)

    def claim_deleted(self, name: str, disk: Disk | None) -> None:
        """The operator deleted a claim."""
        if disk is None:
            return
        self._ours.add(disk.serial)
        for at in self._data.last_copies(disk):
            self._fail("10", f"claim {name} is deleted, with the only complete copy of {at}")

    def _deleted(self, at: TopicPartition, broker: Broker, disk: Disk, log: ReplicaLog) -> None:
        """A broker deleted a replica, because the partition left it."""
        cluster = self._world.pools.cluster(broker.process.cluster_id)
        acked = cluster.acked.get(at, [])
        if acked and log.has(acked) and not self._data.copies(cluster, at):
            self._fail("10", f"{at} left broker {broker.node_id} (disk {disk.serial}) with its only complete copy")

    def _formatted(self, event: BrokerFormatted) -> None:
        self._formatted_on[event.meta.directory_id] = event.serial
        node, cluster_id = event.meta.node_id, event.meta.cluster_id
        cluster = self._world.pools.cluster(cluster_id)
        if self._is_accepted(event.pool, node):
            return
        there = [one for one in self._own_disks(node) if one.serial != event.serial]
        for at, acked in cluster.acked.items():
            if not acked or any(at in disk.replicas for disk in there):
                continue
            if all(_hangs_on(moment, at, node) for moment in self._glances.of(cluster_id, _FORMAT_S)):
                self._fail(FORMATS, f"pod {event.pod} formats a disk of broker {node}, the only eligible one of {at}")

    def _written(self, written: Written) -> None:
        """The operator wrote a record: it gives up no disk whose data can be read, or can be read again."""
        plural, _, name = written.key
        if plural != CONFIG_MAPS.plural or not name.endswith(_RECORD) or not written.by_operator:
            return
        before = seen(written.before)
        given_up = _retired(seen(written.after)) - _retired(before) - _of_former(before)
        for volume in self._world.volumes.by_claim.values():
            meta = volume.disk.meta
            machine = self._world.machines.by_name[volume.node]
            gone = volume.dead or volume.away or not machine.heard or self._is_deleted(volume)
            if meta is not None and meta.directory_id in given_up and not gone:
                self._fail("2, data", f"the disk of claim {volume.claim} is given up, and has its data")

    def _is_deleted(self, volume: Volume) -> bool:
        claim = self._world.kube.view(CLAIMS, volume.namespace, volume.claim)
        return claim is None or "deletionTimestamp" in claim["metadata"] or claim["status"].get("phase") == "Lost"

    def _own_disks(self, node: NodeID) -> list[Disk]:
        disks = self._data.disks().values()
        return [one for one in disks if one.meta is not None and one.meta.node_id == node]

    def _is_accepted(self, pool: str, node: NodeID) -> bool:
        """Whether a person gave up what this broker ran on last: its data, or claims of it that are gone."""
        marks = (self._resource(pool).get("metadata") or {}).get("annotations") or {}
        given_up = str(marks.get(_ACCEPT_LOSS, "")).split(",")
        claims = re.compile(rf"{re.escape(pool)}-{node}-d\d+-g\d+")
        return any(one in self._ran_on.get(node, ()) or claims.fullmatch(one) for one in given_up)

    def _unregistered(self, event: Unregistered) -> None:
        node = event.node_id
        for cluster_id, cluster in self._world.pools.clusters.items():
            if cluster.broker(node) is not None:
                self._fail(LEAVES, f"broker {node} is unregistered while it runs")
            moments = self._glances.of(cluster_id)
            for row in moments[-1].image.of_node(node):
                if all(node in _replicas(moment, row.at) for moment in moments):
                    self._fail(LEAVES, f"broker {node} is unregistered, and is a replica of {row.at}")

    # Rule 11

    def _stopped(self, event: BrokerStop) -> None:
        pod = self._world.kube.view(PODS, event.namespace, event.pod)
        broker = event.broker
        if broker is None:
            return
        if not event.sent:  # it has its effect
            self._away.add(event.pool, broker)
            return
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return
        self._judge_disks(event, broker, pod)
        moments, node = self._glances.of(broker.process.cluster_id), broker.node_id
        if not any(moment.led for moment in moments):
            self._fail(LEADERLESS, f"broker {node} is stopped while the quorum has no leader")
        gone, shut = self._away.nodes, cut_off(self._world)
        for row in moments[-1].image.of_node(node):
            if node in shut and (row.leader is None or row.leader in shut):
                continue  # replicas that are missing there come back after its start, and not before
            if all(_breaks(moment, row.at, node, gone) for moment in moments):
                self._fail("11", f"broker {node} is stopped, and {row.at} becomes unavailable: {_told(row)}")
            elif not self._allowed(event.pool) and all(_has_no_order(one, row.at, node) for one in moments):
                self._fail(HELD, f"broker {node} is stopped without consent, and {row.at} cannot do without it")
        self._judge_token(event.pool, node, live=all(node in moment.live for moment in moments))
        for text in self._away.against(event.pool, broker, self._at_most(event.pool), shut):
            self._fail(TOGETHER, f"broker {node} is stopped {text}")

    def _judge_token(self, pool: str, node: NodeID, *, live: bool) -> None:
        """A broker that serves is not stopped while something else holds the disruption token."""
        lease = next((one for one in self._world.kube.all(LEASES) if one["metadata"]["name"].endswith(_LEASE)), {})
        holder = str((lease.get("spec") or {}).get("holderIdentity") or "")
        if live and holder not in ("", f"pool/{pool}"):
            self._fail(TOGETHER, f"broker {node} is stopped while {holder} holds the disruption token")

    def quorum_stopped(self, stop: PodDeleted) -> None:
        """A controller of the quorum is stopped by the operator: while no broker is away, or to save the quorum."""
        if stop.process is not None and self._away.disrupted and not self._saves_quorum(stop):
            away = ", ".join(map(str, sorted(self._away.disrupted)))
            self._fail(TOGETHER, f"pod {stop.name} is stopped before brokers {away} are back")

    def _saves_quorum(self, stop: PodDeleted) -> bool:
        """Whether a controller's certificate is about to end, and the contract has told the pools; or did a moment ago.

        The roll that was begun for it goes on with the others.
        """
        item = self._world.kube.view(CONFIG_MAPS, stop.namespace, contract_name(stop.quorum)) or {"data": {}}
        turn = json.loads(item["data"].get("contract.json", "{}")).get("turn")
        now, now_s = self._world.clock.now().timestamp(), self._world.clock.elapsed_s
        shown = [one.tls.shown.not_after.timestamp() for one in self._world.kraft.processes if one.tls is not None]
        if turn is not None and turn["last_s"] <= now and min(shown) <= turn["ends_s"] + 1:
            self._saved_s = now_s
        return now_s - self._saved_s <= _ROLL_S

    def _judge_disks(self, event: BrokerStop, broker: Broker, pod: Json) -> None:
        """A stop must not take the last copy with it: a claim that is being deleted goes with its pod."""
        going = []
        for name in claims_of(pod):
            claim = self._world.kube.view(CLAIMS, event.namespace, name)
            if claim is None or "deletionTimestamp" in claim["metadata"] or claim["status"].get("phase") == "Lost":
                going.append(name)
        if not going:
            return
        for disk in broker.disks:
            for at in self._data.last_copies(disk):
                self._fail("10", f"pod {event.pod} is stopped, and the only complete copy of {at} goes with its disk")

    def _resource(self, pool: str) -> Json:
        return next((body for body in self._world.kube.all(POOLS) if body["metadata"]["name"] == pool), {})

    def _allowed(self, pool: str) -> bool:
        roll = (self._resource(pool).get("spec") or {}).get("roll") or {}
        return bool(roll.get("unavailablePartitions") == "Allow")

    def _at_most(self, pool: str) -> int:
        roll = (self._resource(pool).get("spec") or {}).get("roll") or {}
        return int(roll.get("maxUnavailable") or 1)

    # Rule 2, and names

    def _started(self, event: BrokerStarted) -> None:
        self._away.started(event.broker)
        self._ran_on[event.broker.node_id] = {str(one.meta.directory_id) for one in event.broker.disks if one.meta}
        for disk in event.broker.disks:
            directory = disk.meta.directory_id if disk.meta else DirectoryID("")
            if self._formatted_on.get(directory) != disk.serial:
                self._fail("2", f"broker {event.broker.node_id} runs on disk {disk.serial}, which is not {directory}")

    def created(self, event: Created) -> None:
        """A claim or a pod of a pool was created."""
        plural, body = event.plural, event.body
        name, labels = str(body["metadata"]["name"]), body["metadata"]["labels"]
        pool = labels[LABEL_POOL]
        if plural == CLAIMS.plural and not re.fullmatch(rf"{re.escape(pool)}-\d+-d\d+-g\d+", name):
            self._fail("names", f"claim {name} does not carry node id, volume and generation")
        if plural != PODS.plural:
            return
        if labels.get(LABEL_ROLE) == "broker" and body["spec"].get("hostname") != f"{pool}-{labels[LABEL_NODE]}":
            self._fail("names", f"pod {name} has host name {body['spec'].get('hostname')}")
        if event.late:
            return
        own = set(claims_of(body))
        for other in self._world.kube.list(PODS, str(body["metadata"]["namespace"]), {LABEL_POOL: pool}):
            if other["metadata"]["name"] != name and own & set(claims_of(other)):
                self._fail("one user of a claim", f"pod {name} is made while {other['metadata']['name']} is there")


def _retired(record: Json | None) -> set[str]:
    """The directory ids that a record gives up, of brokers that stay in the pool."""
    if record is None:
        return set()
    body = json.loads(record["data"]["disks.json"])
    return {one for broker in body["brokers"] for disk in broker["disks"] for one in disk["retired"]}


def _of_former(record: Json | None) -> set[str]:
    """The directory ids of brokers that have left the pool: they stay retired if such a broker comes back."""
    former = [] if record is None else json.loads(record["data"]["disks.json"])["former"]
    return {one for broker in former for one in broker["retired"]}


def _replicas(moment: PoolGlance, at: TopicPartition) -> tuple[NodeID, ...]:
    row = moment.image.partitions.get(at)
    return () if row is None else row.replicas


def _hangs_on(moment: PoolGlance, at: TopicPartition, node: NodeID) -> bool:
    """Whether no other broker may lead this partition with everything that was acknowledged."""
    row = moment.image.partitions.get(at)
    if row is None or node not in row.replicas:
        return False
    eligible = {*row.isr, *row.elr}
    return eligible == {node} or (not eligible and row.last_elr == (node,))


def _breaks(moment: PoolGlance, at: TopicPartition, node: NodeID, gone: frozenset[NodeID]) -> bool:
    """Whether the partition could stay available, and does not without this broker, and those that are away."""
    row = moment.image.partitions.get(at)
    if row is None or node not in row.replicas:
        return False
    least = moment.min_isr(row)
    if len(row.target) <= least:
        return False
    if row.leader is None:
        return node in (*row.elr, *row.last_elr)
    before = moment.in_sync(row) - gone
    after = before - {node}
    falls = node in before and len(before) >= least > len(after)
    staying = before & set(row.target)  # the ISR when the running reassignment is done
    falls = falls or (node in staying and len(staying) >= least > len(staying - {node}))
    return falls or (row.leader == node and not after)


def _has_no_order(moment: PoolGlance, at: TopicPartition, node: NodeID) -> bool:
    """Whether this partition is available, and no order of restarts could keep it so."""
    row = moment.image.partitions.get(at)
    if row is None or node not in row.isr or row.leader is None:
        return False
    least = moment.min_isr(row)
    return len(row.target) <= least and len(moment.in_sync(row)) >= min(least, len(row.replicas))


def _told(row: PartitionRow) -> str:
    return f"leader {row.leader}, ISR {row.isr}, replicas {row.replicas}, ELR {row.elr}"
