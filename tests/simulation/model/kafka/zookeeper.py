"""ZooKeeper beside KRaft: znodes, elections of brokers, and the driver of the migration (KIP-866).

It has what the operator's decisions need. Metadata records are numbers: each one that a client was told is stored must
be on the side that leads. The driver runs in the leading controller. It claims `/controller`, copies what ZooKeeper
has, then writes to both sides, ZooKeeper a moment later. The facts are in docs/zookeeper-measured.md.

If `/migration` says that metadata was copied, the driver copies nothing, and makes ZooKeeper equal to the metadata log.
With the log of another quorum, the cluster is lost (strimzi#11262).
"""

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kafka.brokers import Brokers
from tests.simulation.model.kafka.keeper_image import KeeperImage
from tests.simulation.model.kafka.kraft_model import KraftModel
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.zookeeper_broker import PORT, KeeperBroker, Mode, settings_of

from kafka_quorum.errors import ZooKeeperChanged, ZooKeeperUnreachable
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.zookeeper import (
    ControllerNode,
    DriverState,
    EpochNode,
    GiveBack,
    MigrationNode,
    ZooKeeperBroker,
    ZooKeeperSeen,
)
from kit.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

CLUSTER: Final = ClusterID("MkU3OEVBNTcwNTJENDM2Qg")
RELEASE: Final = "3.9.2"
ASSIGNED: Final = "orders-0"
WRITE_STEPS: Final = 4
"""A client changes metadata every other second, unless a scenario changes that."""
_ELECTION_S: Final = 1.0
_LED: Final = (DriverState.MIGRATION, DriverState.POST_MIGRATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What else a read of ZooKeeper may show: what is in the way of a migration."""

    denied: tuple[str, ...] = ()
    encoded: tuple[str, ...] = ()
    reassigning: tuple[str, ...] = ()


class ZooKeeperModel:
    """One ZooKeeper with the brokers of one cluster; without a cluster id there is none."""

    def __init__(self, kraft: KraftModel, brokers: Brokers, clock: VirtualClock) -> None:
        """Begin without a cluster."""
        self._kraft, self._observers, self._clock = kraft, brokers, clock
        self.cluster_id = ClusterID("")
        self.controller: ControllerNode | None = None
        self.epoch = EpochNode(epoch=0, version=0)
        self.migration: MigrationNode | None = None
        self.records: frozenset[int] = frozenset()
        """The metadata records that ZooKeeper has."""
        self.state_epoch = 0
        self.brokers: list[KeeperBroker] = []
        self.assigned: set[NodeID] = set()
        self.extras = Extras()
        self.unseen = False
        """The operator does not reach ZooKeeper; all others do."""
        self.away = False
        """Nobody reaches ZooKeeper."""
        self.lags = False
        """The driver does not come to write to ZooKeeper."""
        self.compares = False
        """A controller that was elected claims ZooKeeper, and does not come to write: it compares everything first."""
        self.write_steps = WRITE_STEPS
        """A client changes metadata once in this number of steps."""
        self.acknowledged: frozenset[int] = frozenset()
        """What clients were told is stored."""
        self._asked: frozenset[int] = frozenset()
        """What clients have sent to KRaft, and were not answered for."""
        self.broken: list[tuple[str, str]] = []
        """What must not happen, whatever the cause, with its rule."""
        self.started: Callable[[KeeperBroker], None] = lambda _: None
        """Called when a broker has started."""
        self._told: set[tuple[str, str]] = set()
        self._steps, self._next = 0, 1
        self._activated: tuple[str, int] = ("", -1)
        self._recovered: set[str] = set()
        self._claimed, self._compared = -1, -1
        self._writers: set[str] = set()
        """The processes that have written metadata to ZooKeeper."""
        self._free_s = 0.0

    def begin(self, cluster_id: ClusterID, node_ids: tuple[int, ...]) -> None:
        """A cluster of these brokers runs, and has metadata."""
        self.cluster_id = cluster_id
        self.brokers = [KeeperBroker(node_id=NodeID(one), settings=settings_of(one)) for one in node_ids]
        self.assigned = {NodeID(one) for one in node_ids}
        self._elect()

    # What others see

    def seen(self, *, states: bool, rights: bool = True) -> ZooKeeperSeen:
        """One complete read; without `rights` it proves none, and without `states` it reads no partition's."""
        listed = (ZooKeeperBroker(node_id=one.node_id, listeners=(f"PLAINTEXT://{one.address}",)) for one in self._zk())
        return ZooKeeperSeen(
            cluster_id=self.cluster_id,
            controller=self.controller,
            controller_epoch=self.epoch,
            migration=self.migration,
            brokers=tuple(listed),
            assigned=dict.fromkeys(sorted(self.assigned), ASSIGNED),
            topics=1,
            partitions=1,
            state_epoch=self.state_epoch if states else None,
            behind={} if states else None,
            denied=self.extras.denied if rights else (),
            encoded=self.extras.encoded,
            reassigning=self.extras.reassigning,
        )

    def give_back(self, what: GiveBack) -> None:
        """The transaction of a roll back: it compares what was seen, and does all of it or nothing."""
        for path, before, now in (
            ("/controller", what.controller, self.controller),
            ("/controller_epoch", what.controller_epoch, self.epoch),
            ("/migration", what.migration, self.migration),
        ):
            stays = before is None and isinstance(now, ControllerNode) and now.kraft_epoch is None
            if before != now and not stays:
                raise ZooKeeperChanged(
                    f"{path} has changed", fault=Fault.THEIRS, retry_safe=True, outcome_unknown=False
                )
        if what.epoch is not None and self.leads and what.controller is None:
            told = "/controller_epoch is written under a controller of ZooKeeper, which stays"
            self._break("7, epochs", f"{told}: every write of its own fails from now on")
        if what.epoch is not None:
            self.epoch = EpochNode(epoch=what.epoch, version=self.epoch.version + 1)
        if what.controller is not None:
            self.controller, self._free_s = None, self._clock.elapsed_s
        if what.migration is not None:
            self.migration = None

    def touch(self) -> None:
        """Another broker becomes the controller, or another writer changes the epoch."""
        self.epoch = EpochNode(epoch=self.epoch.epoch + 1, version=self.epoch.version + 1)

    def unreachable(self, *, writes: bool) -> ZooKeeperUnreachable:
        """What a client without a connection gets."""
        return ZooKeeperUnreachable(
            "ZooKeeper zk-0:2181/kafka did not answer", fault=Fault.PATH, retry_safe=not writes, outcome_unknown=writes
        )

    def serves(self, broker: KeeperBroker) -> bool:
        """Whether a broker answers."""
        return broker.runs and broker.up_s <= self._clock.elapsed_s

    def broker(self, node_id: int) -> KeeperBroker:
        """The broker of this id."""
        return next(one for one in self.brokers if one.node_id == node_id)

    @property
    def leads(self) -> bool:
        """Whether a broker leads by ZooKeeper's election."""
        found = self.controller
        return found is not None and found.kraft_epoch is None and found.node_id in {one.node_id for one in self._zk()}

    @property
    def kraft(self) -> KeeperImage | None:
        """What the metadata log of the cluster says as committed; None without a log."""
        done = self._kraft.committed.get(self.cluster_id)
        return done[-1].image.keeper if done else None

    @property
    def kraft_leads(self) -> Process | None:
        """The controller of KRaft that the brokers follow, if one does."""
        leader = self._kraft.leader_of(self.cluster_id)
        return leader if leader is not None and leader.committed.keeper.state in _LED else None

    def controllers(self) -> list[Process]:
        """The controllers that run, listening or not."""
        return [one for one in self._kraft.processes if one.cluster_id == self.cluster_id and not one.broker]

    def digest(self) -> tuple[object, ...]:
        """The state in which a fault makes a difference."""
        controller = None if self.controller is None else (self.controller.node_id, self.controller.kraft_epoch)
        copied = None if self.migration is None else self.migration.copied
        state = None if self.kraft is None else self.kraft.state
        brokers = tuple((one.mode, one.runs) for one in self.brokers)
        return controller, copied, state, brokers, self.away, self.unseen

    def lag(self, process: Process) -> int | None:
        """ZkWriteBehindLag of a controller: 0 until this process has written metadata, whatever ZooKeeper lacks."""
        keeper = process.committed.keeper
        if not process.migrates:
            return None
        dual = keeper.state is DriverState.MIGRATION and process.incarnation in self._writers
        return len(keeper.records - self.records) if dual else 0

    # Brokers

    def stop(self, broker: KeeperBroker) -> None:
        """A broker stops; what it registered in ZooKeeper is gone, and what it registered in KRaft stays."""
        broker.runs = False
        if broker.process is not None:
            self._observers.stop(int(broker.node_id))
            broker.process = None

    def start(self, broker: KeeperBroker, after_s: float) -> None:
        """A broker starts with its settings. In migration mode it is an observer too, and begins an empty log."""
        broker.runs, broker.up_s = True, self._clock.elapsed_s + after_s
        if broker.mode is Mode.MIGRATES:
            self._observers.forget(int(broker.node_id))
        if broker.mode is not Mode.PLAIN:
            broker.process = self._observers.start(int(broker.node_id), RELEASE, self.cluster_id)
        self.started(broker)

    def _zk(self) -> list[KeeperBroker]:
        """The brokers that are registered in ZooKeeper."""
        return [one for one in self.brokers if one.mode is not Mode.KRAFT and self.serves(one)]

    # One round

    def step(self) -> None:
        """Elections of brokers, the driver, a client, and what is true now."""
        if not self.cluster_id:
            return
        self._steps += 1
        self._elect()
        leader = self._kraft.leader_of(self.cluster_id)
        if leader is not None and leader.high_watermark >= 0:
            self._activate(leader)
            self._register(leader)
        if not self.away:
            self._recover()
            if leader is not None and leader.high_watermark >= 0 and leader.migrates and not self.lags:
                self._drive(leader)
        if self._steps % self.write_steps == 0:
            self._write(leader)
        self._judge()

    def _elect(self) -> None:
        """A broker becomes the controller if none leads. KRaft's claim stays until it is deleted."""
        if self.away:
            return
        leads, there = self.controller, [one.node_id for one in self._zk()]
        if leads is not None and leads.kraft_epoch is None and leads.node_id not in there:
            self.controller, self._free_s = None, self._clock.elapsed_s
        waited = self._clock.elapsed_s - self._free_s >= _ELECTION_S or not self._steps
        if self.controller is not None or not there or not waited:
            return
        self.touch()
        if self.epoch.epoch < self.state_epoch:
            told = f"broker {there[0]} leads in epoch {self.epoch.epoch}, and a partition has {self.state_epoch}"
            self._break("7, epochs", f"{told}: its leader cannot be changed (KAFKA-20488)")
        self.controller = _claim(there[0], None, self.epoch)

    def _recover(self) -> None:
        """Each controller reads `/migration` at its start, and creates it if it does not exist."""
        for one in self.controllers():
            if one.migrates and self._kraft.is_up(one) and one.incarnation not in self._recovered:
                self._recovered.add(one.incarnation)
                if self.migration is None:
                    self.migration = MigrationNode(version=0, raw='{"version":0,"kraft_metadata_offset":-1}')

    def _activate(self, leader: Process) -> None:
        """What a leader writes first: the state at the beginning, or the end of the migration."""
        epoch, keeper = (leader.incarnation, leader.disk.epoch), leader.disk.image.keeper
        if self._activated == epoch:
            return
        self._activated = epoch
        if keeper.state is None:
            state = DriverState.PRE_MIGRATION if leader.migrates else DriverState.NONE
            self._append(leader, "state", replace(keeper, state=state))
        elif keeper.state is DriverState.MIGRATION and not leader.migrates:
            self._append(leader, "the end of the migration", replace(keeper, state=DriverState.POST_MIGRATION))

    def _register(self, leader: Process) -> None:
        """Brokers in migration mode and KRaft brokers register."""
        keeper = leader.disk.image.keeper
        due = {
            one.node_id: one.mode is Mode.MIGRATES
            for one in self.brokers
            if one.mode is not Mode.PLAIN and self.serves(one)
        }
        if any(keeper.brokers.get(node_id) != migrates for node_id, migrates in due.items()):
            brokers = MappingProxyType({**keeper.brokers, **due})
            self._append(leader, "brokers", replace(keeper, brokers=brokers))

    def _drive(self, leader: Process) -> None:
        keeper, epoch = leader.committed.keeper, leader.disk.epoch
        if keeper.state is DriverState.PRE_MIGRATION and leader.disk.image.keeper.state is DriverState.PRE_MIGRATION:
            if self._all_ready(leader) and self._all_registered(keeper):
                self._claim(leader)
                copied = self.migration is not None and self.migration.copied
                records = keeper.records if copied else self.records
                begun = replace(leader.disk.image.keeper, state=DriverState.MIGRATION, records=records)
                self._append(leader, "the copy", begun)
            return
        if keeper.state is not DriverState.MIGRATION:
            return
        if self._claimed != epoch:
            self._claim(leader)
        mine = self.controller is not None and self.controller.kraft_epoch == epoch
        if not mine or (self.compares and self._compared != epoch):
            return
        self._compared = epoch
        if gone := self.records - keeper.records:
            self._break("7, records", f"the driver deletes records in ZooKeeper that KRaft never had: {_first(gone)}")
        if keeper.records != self.records or self.migration is None or not self.migration.copied:
            self.records, self.state_epoch = keeper.records, max(self.state_epoch, epoch)
            self._writers.add(leader.incarnation)
            before = -1 if self.migration is None else self.migration.version
            self.migration = MigrationNode(
                version=before + 1,
                raw=f'{{"kraft_controller_id":{leader.meta.node_id},"kraft_controller_epoch":{epoch}}}',
                kraft_controller_id=leader.meta.node_id,
                kraft_controller_epoch=epoch,
                kraft_metadata_offset=leader.high_watermark,
                kraft_metadata_epoch=epoch,
            )

    def _all_ready(self, leader: Process) -> bool:
        """Whether every controller has registered with the setting of the migration."""
        ready = {one.meta.node_id for one in self.controllers() if one.migrates and self._kraft.is_up(one)}
        return {key.node_id for key in leader.voters} <= ready

    def _all_registered(self, keeper: KeeperImage) -> bool:
        wanted = {one.node_id for one in self._zk()} | self.assigned
        return all(keeper.brokers.get(node_id) is True for node_id in wanted)

    def _claim(self, leader: Process) -> None:
        self._claimed = leader.disk.epoch
        self.touch()
        self.controller = _claim(leader.meta.node_id, leader.disk.epoch, self.epoch)

    def _append(self, leader: Process, what: str, keeper: KeeperImage) -> None:
        self._kraft.append(leader, what, keeper=keeper)

    def _write(self, leader: Process | None) -> None:
        """A client changes metadata, at whoever leads."""
        if self.leads and not self.away:
            self.records |= {self._next}
            self.acknowledged |= {self._next}
            self.state_epoch = max(self.state_epoch, self.epoch.epoch)
            self._next += 1
        elif leader is not None and leader.high_watermark >= 0 and leader.committed.keeper.state in _LED:
            keeper = leader.disk.image.keeper
            self._asked |= {self._next}
            self._append(leader, f"metadata {self._next}", replace(keeper, records=keeper.records | {self._next}))
            self._next += 1

    def _judge(self) -> None:
        """What is acknowledged, who leads, and whether who leads has everything."""
        keeper = self.kraft
        done = self._asked & keeper.records if keeper is not None else frozenset()
        self.acknowledged |= done
        self._asked -= done
        leader = self.kraft_leads
        if self.leads and leader is not None:
            self._break("7, two sides", f"broker {self.controller and self.controller.node_id} and {leader.key} lead")
        if self.leads and (lost := self.acknowledged - self.records):
            self._break("7, records", f"a broker leads by ZooKeeper, which lacks acknowledged records: {_first(lost)}")
        if leader is not None and keeper is not None and (lost := self.acknowledged - keeper.records):
            self._break("7, records", f"KRaft leads, and lacks acknowledged records: {_first(lost)}")

    def _break(self, rule: str, text: str) -> None:
        if (rule, text[:40]) not in self._told:
            self._told.add((rule, text[:40]))
            self.broken.append((rule, text))

    def claim_by(self, node_id: int, kraft_epoch: int) -> None:
        """A KRaft controller of another quorum claims the cluster."""
        self.touch()
        self.controller = _claim(NodeID(node_id), kraft_epoch, self.epoch)

    def free(self, node_id: int) -> None:
        """A person removes the claim of this controller, if it is there."""
        if self.controller is not None and self.controller.node_id == node_id:
            self.controller, self._free_s = None, self._clock.elapsed_s

    def forget_quorum(self) -> None:
        """The quorum has ended: another attempt begins with a new metadata log."""
        self._kraft.committed.pop(self.cluster_id, None)
        self._kraft.led_since_s.pop(self.cluster_id, None)
        self._activated, self._claimed, self._compared, self._asked = ("", -1), -1, -1, frozenset()


def _claim(node_id: NodeID, kraft_epoch: int | None, epoch: EpochNode) -> ControllerNode:
    return ControllerNode(
        node_id=node_id,
        kraft_epoch=kraft_epoch,
        ephemeral=kraft_epoch is None,
        version=0,
        raw=f'{{"brokerid":{node_id},"kraftControllerEpoch":{-1 if kraft_epoch is None else kraft_epoch},'
        f'"timestamp":"{epoch.version}"}}',
    )


def _first(records: frozenset[int]) -> str:
    return f"{len(records)}, the first is {min(records)}"


BOOTSTRAP: Final = tuple(f"broker-{one}:{PORT}" for one in (1, 2, 3))
