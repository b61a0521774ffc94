"""What is read beside the looks of a migration: what, when, and that an error or an old read is Unknown."""

import asyncio
import base64
from dataclasses import replace

import pytest
from tests.brokers.edges import AnsweringBrokers
from tests.model.values import NAME, NAMESPACE, NO_STATUS, at_rest, desired, nothing
from tests.plan.beside import (
    ACCESS,
    BACK,
    BESIDE,
    DUAL,
    FINAL,
    LEADS,
    RETURN,
    STARTS,
    At,
    driver_of,
    keeper_of,
    look_at,
    new_record,
    wanted,
)
from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.api import ModelKube
from tests.simulation.model.kubernetes.kube_model import KubeModel

from kafka_quorum.errors import KafkaError, KafkaUnreachable, ZooKeeperDenied
from kafka_quorum.model.brokers import LogDirectory
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import USED_BY
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.zookeeper import (
    DriverSeen,
    GiveBack,
    SavedNodes,
    ZooKeeperAccess,
    ZooKeeperBroker,
    ZooKeeperSecret,
    ZooKeeperSeen,
)
from kafka_quorum.observe.zookeeper import AT_ONCE, EVERY_S, NO_KEEPERS, OLD_S, KeeperEdges, KeeperReads, migrates
from kit.errors import Fault
from kit.key import ObjectKey
from kit.kube.secrets import SECRETS

KEY = ObjectKey(namespace=NAMESPACE, name=NAME)


class Sources:
    """ZooKeeper and the controllers' metrics, as a test requires. `asked` has what each read asked for."""

    def __init__(self) -> None:
        """Everything answers."""
        self.found = keeper_of(STARTS)
        self.reports = driver_of(STARTS)
        self.fails: KafkaError | None = None
        self.fault: Exception | None = None
        self.held: asyncio.Event | None = None
        """Until it is set, no read ends."""
        self.asked: list[tuple[ZooKeeperAccess, ZooKeeperSecret, bool, bool]] = []
        self.scraped: list[tuple[str, int, int]] = []
        self.took_s = 0.0
        self.clock = VirtualClock()

    async def read(
        self, access: ZooKeeperAccess, secret: ZooKeeperSecret, *, rights: bool, states: bool
    ) -> ZooKeeperSeen:
        """What was prepared."""
        self.asked.append((access, secret, rights, states))
        self.clock.advance(self.took_s)
        if self.held is not None:
            await self.held.wait()
        if self.fault is not None:
            raise self.fault
        if self.fails is not None:
            raise self.fails
        return self.found

    async def give_back(self, access: ZooKeeperAccess, secret: ZooKeeperSecret, what: GiveBack) -> SavedNodes:
        """A look writes nothing."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is kept."""

    async def read_driver(self, host: str, port: int, node_id: NodeID) -> DriverSeen:
        """What was prepared."""
        self.scraped.append((host, port, node_id))
        if self.fails is not None:
            raise self.fails
        return self.reports


class SlowBrokers(AnsweringBrokers):
    """Brokers whose log directories are described after this many seconds."""

    def __init__(self, clock: VirtualClock, take_s: float) -> None:
        """A cluster at rest."""
        super().__init__()
        self.clock, self.take_s = clock, take_s

    async def describe_log_dirs(self, endpoint: Endpoint) -> tuple[LogDirectory, ...]:
        """Later."""
        self.clock.advance(self.take_s)
        return await super().describe_log_dirs(endpoint)


class Bench:
    """Reads with a clock, an API server and sources."""

    def __init__(self, *, log_dirs_take_s: float = 0.0) -> None:
        """Nothing was read."""
        self.clock = VirtualClock()
        self.model = KubeModel(self.clock)
        self.sources, self.brokers = Sources(), SlowBrokers(self.clock, log_dirs_take_s)
        edges = KeeperEdges(zookeepers=self.sources, drivers=self.sources, brokers=self.brokers)
        self.reads = KeeperReads(ModelKube(self.model), self.clock, edges)

    async def look(self, observed: Observed, spec: Desired | None = None) -> Observed:
        """One look, after which a read that it began has ended."""
        seen = await self.reads.look(KEY, spec or wanted(), observed, 9404)
        await asyncio.gather(*self.reads._tasks.values())
        return seen

    async def second(self, observed: Observed, spec: Desired | None = None) -> Observed:
        """What the look after a read shows."""
        await self.look(observed, spec)
        return await self.look(observed, spec)


def plain(at: At) -> Observed:
    """A look of this stage, in which nothing was read yet."""
    unread = Unknown(reason="")
    return replace(look_at(at), zookeeper=unread, driver=unread, log_dirs=unread)


def failing() -> KafkaError:
    """ZooKeeper refuses the client."""
    return ZooKeeperDenied(
        "zk-0 refused the user",
        fault=Fault.THEIRS,
        retry_safe=True,
        outcome_unknown=False,
    )


async def test_nothing_is_read_for_another_quorum() -> None:
    """A quorum of another mode, and one whose migration has ended, read no ZooKeeper and no metrics."""
    bench = Bench()
    for look, spec in (
        (at_rest(), desired()),
        (nothing(), desired()),
        (replace(plain(FINAL), record=replace(look_at(FINAL).record, migration=None)), wanted()),  # type: ignore[type-var]  # it has a record
    ):
        assert await bench.look(look, spec) == look
    assert (bench.sources.asked, bench.sources.scraped) == ([], [])


async def test_the_first_look_waits_for_no_read() -> None:
    """The first look has no answer yet; the next one has it."""
    bench = Bench()
    first = await bench.look(plain(STARTS))
    assert isinstance(first.zookeeper, Unknown)
    assert isinstance(first.log_dirs, Unknown)
    second = await bench.look(plain(STARTS))
    assert second.zookeeper == Known(value=keeper_of(STARTS))


@pytest.mark.parametrize(
    ("at", "rights", "states"),
    [(None, True, True), (STARTS, True, True), (DUAL, False, True), (RETURN, True, True), (LEADS, False, True)],
)
async def test_what_is_asked(at: At | None, *, rights: bool, states: bool) -> None:
    """Rights are proved until brokers are told something, and before controllers stop. States are always read."""
    bench = Bench()
    await bench.look(nothing() if at is None else plain(at))
    assert bench.sources.asked == [(ACCESS, ZooKeeperSecret(), rights, states)]


async def test_before_the_barrier_everything_is_asked() -> None:
    """While the volumes are made, the preflight still counts: rights and states are asked for."""
    bench = Bench()
    await bench.look(replace(nothing(), record=new_record(), status=NO_STATUS))
    assert [asked[2:] for asked in bench.sources.asked] == [(True, True)]


async def test_how_often() -> None:
    """A read begins again after a few seconds, or at once for another stage."""
    bench = Bench()
    await bench.look(plain(STARTS))
    await bench.look(plain(STARTS))
    assert len(bench.sources.asked) == 1
    bench.clock.advance(EVERY_S)
    await bench.look(plain(STARTS))
    assert len(bench.sources.asked) == 2
    await bench.look(plain(DUAL))
    assert len(bench.sources.asked) == 3


async def test_long_reads_follow_each_other() -> None:
    """However long a read takes, the next one ends before the last one is old: ZooKeeper stays known."""
    for took_s in (10.0, 20.0, 40.0, 60.0):
        bench, due_s = Bench(), 0.0
        bench.sources.held = asyncio.Event()
        for _ in range(150):
            running = len(bench.sources.asked)
            seen = await bench.reads.look(KEY, wanted(), plain(STARTS), 9404)
            await asyncio.sleep(0)
            if len(bench.sources.asked) > running:
                due_s = bench.clock.monotonic() + took_s
            bench.clock.advance(4.0)
            if bench.clock.monotonic() >= due_s and bench.sources.held is not None:
                bench.sources.held.set()
                await asyncio.gather(*bench.reads._tasks.values())
                bench.sources.held.clear()
            assert isinstance(seen.zookeeper, Known) or len(bench.sources.asked) == 1, f"a read of {took_s} s"
        assert len(bench.sources.asked) > 4


async def test_a_read_that_failed_is_soon_followed() -> None:
    """What a failed read took is a time limit, and no reason for a long pause; what a good one took is."""
    bench = Bench()
    bench.sources.clock, bench.sources.took_s = bench.clock, 8.0
    bench.sources.fails = failing()
    await bench.look(plain(STARTS))
    bench.clock.advance(EVERY_S - 1)
    await bench.look(plain(STARTS))
    assert len(bench.sources.asked) == 1
    bench.clock.advance(1)
    bench.sources.fails = None
    await bench.look(plain(STARTS))
    assert len(bench.sources.asked) == 2
    bench.clock.advance(4 * 8.0 - 1)
    await bench.look(plain(STARTS))
    assert len(bench.sources.asked) == 2
    bench.clock.advance(1)
    await bench.look(plain(STARTS))
    assert len(bench.sources.asked) == 3


async def test_a_broker_that_is_waited_for_delays_no_read() -> None:
    """The log directories of a broker that is stopped take long: ZooKeeper is read as often as before."""
    bench = Bench(log_dirs_take_s=4.0)
    await bench.look(plain(STARTS))
    bench.clock.advance(EVERY_S)
    await bench.look(plain(STARTS))
    assert len(bench.sources.asked) == 2


async def test_what_was_read_for_another_stage_is_no_answer() -> None:
    """After a step to another stage the last read counts no more, until the next one is there."""
    bench = Bench()
    await bench.second(plain(STARTS))
    seen = await bench.look(plain(DUAL))
    assert isinstance(seen.zookeeper, Unknown)
    assert isinstance((await bench.look(plain(DUAL))).zookeeper, Known)


async def test_what_was_read_before_the_leader_reported_is_no_answer() -> None:
    """A gate compares ZooKeeper with the leader: a read that is older than its state, or its election, is no answer."""
    bench, look = Bench(), plain(RETURN)
    assert isinstance(look.quorum, Known)
    assert isinstance((await bench.second(look)).zookeeper, Known)
    bench.sources.reports = driver_of(RETURN)  # until then it was in pre-migration
    assert isinstance((await bench.look(look)).zookeeper, Unknown)
    assert isinstance((await bench.look(look)).zookeeper, Known)
    answer = replace(look.quorum.value.answer, leader_epoch=6)
    elected = replace(look, quorum=Known(value=replace(look.quorum.value, answer=answer)))
    assert isinstance((await bench.look(elected)).zookeeper, Unknown)
    silent = replace(look, quorum=Unknown(reason="an election"))
    for each in (elected, silent, elected):
        assert isinstance((await bench.look(each)).zookeeper, Known)
    assert len(bench.sources.asked) == 3


async def test_an_old_read_is_no_answer() -> None:
    """A read that hangs leaves the last one: when that is old, ZooKeeper is Unknown."""
    bench = Bench()
    await bench.second(plain(STARTS))
    bench.clock.advance(OLD_S + 1)
    seen = await bench.look(plain(STARTS))
    assert isinstance(seen.zookeeper, Unknown)
    assert isinstance(seen.log_dirs, Unknown)


async def test_an_error_is_unknown() -> None:
    """An error of ZooKeeper or of the metrics is Unknown with its words, and never an empty answer."""
    bench = Bench()
    bench.sources.fails = failing()
    seen = await bench.second(plain(STARTS))
    for said in (seen.zookeeper, seen.driver):
        assert isinstance(said, Unknown)
        assert "refused the user" in said.reason
    assert isinstance(seen.log_dirs, Unknown)


async def test_a_fault_of_our_own_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """An error that nothing expects is in the log and in the reason, and is not repeated before its time."""
    bench = Bench()
    bench.sources.fault = UnicodeError("label too long")
    for _ in range(3):
        seen = (await bench.second(plain(STARTS))).zookeeper
        assert isinstance(seen, Unknown)
        assert "UnicodeError" in seen.reason
    assert len(bench.sources.asked) == 1
    assert "label too long" in caplog.text


async def test_the_driver_is_asked_at_the_leader() -> None:
    """The metrics of the leader's pod are read in every look, at the agent's port."""
    bench = Bench()
    seen = await bench.look(plain(STARTS))
    assert seen.driver == Known(value=driver_of(STARTS))
    assert bench.sources.scraped == [("10.0.0.1", 9404, 3000)]


async def test_no_leader_is_asked() -> None:
    """Without a leader, or without its pod, the driver is Unknown."""
    bench = Bench()
    look = plain(STARTS)
    for changed in (replace(look, quorum=Unknown(reason="none")), replace(look, pods=look.pods[1:])):
        assert isinstance((await bench.look(changed)).driver, Unknown)
    assert bench.sources.scraped == []


async def test_the_secret() -> None:
    """The Secret of the spec is read by its name; a missing one is Unknown, and names it."""
    bench = Bench()
    spec = wanted()
    assert spec.migrate is not None
    beside = replace(BESIDE, access=replace(ACCESS, secret_name="zk"))  # noqa: S106 - a name
    spec = replace(spec, migrate=replace(spec.migrate, beside=beside))
    seen = await bench.second(nothing(), spec)
    assert isinstance(seen.zookeeper, Unknown)
    assert "zk" in seen.zookeeper.reason
    texts = {"username": b"ada\n", "password": b"p", "other.jks": b"\xff\xfe"}  # other keys are not looked at
    data = {key: base64.b64encode(text).decode() for key, text in texts.items()}
    metadata = {"name": "zk", "namespace": NAMESPACE, "annotations": {USED_BY: f"KafkaQuorum/{NAME}"}}
    bench.model.seed((SECRETS.plural, NAMESPACE, "zk"), {"metadata": metadata, "data": data})
    bench.clock.advance(EVERY_S)
    await bench.look(nothing(), spec)
    assert bench.sources.asked[-1][1] == ZooKeeperSecret(username="ada", password="p")  # noqa: S106 - a sample


async def test_the_address_of_running_controllers() -> None:
    """The address that the controllers were started with is read, not a later one of the spec."""
    bench = Bench()
    spec = wanted()
    assert spec.migrate is not None
    beside = replace(BESIDE, access=ZooKeeperAccess(connect="elsewhere:2181"))
    await bench.look(plain(DUAL), replace(spec, migrate=replace(spec.migrate, beside=beside)))
    assert [asked[0] for asked in bench.sources.asked] == [ACCESS]


async def test_log_directories() -> None:
    """Every broker with a PLAINTEXT listener is asked; one without, or one that fails, is Unknown, not well."""
    bench = Bench()
    bad = LogDirectory(path="/d2", error="KAFKA_STORAGE_ERROR", total_bytes=-1, usable_bytes=-1, replicas=())
    well = replace(bad, path="/d1", error="")
    bench.brokers.directories = {1: (well, bad)}
    unreachable = KafkaUnreachable("gone", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)
    bench.brokers.errors[("describe_log_dirs", 2)] = unreachable
    listeners = {
        1: ("SSL://b:1", "PLAINTEXT://b:2"),
        2: ("PLAINTEXT://[::1]:9092",),
        3: ("SSL://b:1",),
        4: ("PLAINTEXT://b:x",),
    }
    brokers = tuple(ZooKeeperBroker(node_id=NodeID(id_), listeners=each) for id_, each in listeners.items())
    bench.sources.found = replace(bench.sources.found, brokers=brokers)
    seen = await bench.second(plain(STARTS))
    assert isinstance(seen.log_dirs, Known)
    found = seen.log_dirs.value
    assert found[NodeID(1)] == Known(value=("/d2 (KAFKA_STORAGE_ERROR)",))
    assert found[NodeID(2)] == Unknown(reason=str(unreachable))
    assert all(isinstance(found[NodeID(id_)], Unknown) for id_ in (3, 4))


async def test_many_brokers_are_asked_in_turns() -> None:
    """Whoever writes to ZooKeeper decides how many brokers there are, not how many connections the operator has."""
    bench, peak, running = Bench(), 0, 0

    class Slow(AnsweringBrokers):
        async def describe_log_dirs(self, _: Endpoint) -> tuple[LogDirectory, ...]:
            nonlocal peak, running
            running += 1
            peak = max(peak, running)
            await asyncio.sleep(0)
            running -= 1
            return ()

    registered = tuple(
        ZooKeeperBroker(node_id=NodeID(at), listeners=(f"PLAINTEXT://broker-{at}:9092",)) for at in range(500)
    )
    bench.sources.found = replace(keeper_of(STARTS), brokers=registered)
    edges = KeeperEdges(zookeepers=bench.sources, drivers=bench.sources, brokers=Slow())
    bench.reads = KeeperReads(ModelKube(bench.model), bench.clock, edges)
    seen = await bench.second(plain(STARTS))
    assert isinstance(seen.log_dirs, Known)
    assert len(seen.log_dirs.value) == 500
    assert peak == AT_ONCE


async def test_no_directories_after_the_controllers_stopped() -> None:
    """When a roll back has stopped the controllers, no log directory is asked for."""
    bench = Bench()
    seen = await bench.second(plain(LEADS))
    assert isinstance(seen.zookeeper, Known)
    assert isinstance(seen.log_dirs, Unknown)
    assert bench.brokers.asked_for("describe_log_dirs") == []


async def test_without_an_edge() -> None:
    """An operator that has no connection to ZooKeeper says so, for all three."""
    reads = KeeperReads(ModelKube(KubeModel(VirtualClock())), VirtualClock(), NO_KEEPERS)
    seen = await reads.look(KEY, wanted(), plain(STARTS), 9404)
    assert [isinstance(said, Unknown) for said in (seen.zookeeper, seen.driver, seen.log_dirs)] == [True] * 3


async def test_a_forgotten_quorum() -> None:
    """Of a resource that is gone nothing stays: the next one of its name begins anew."""
    bench = Bench()
    await bench.second(plain(STARTS))
    bench.reads.forget(KEY)
    assert isinstance((await bench.look(plain(STARTS))).zookeeper, Unknown)
    assert len(bench.sources.asked) == 2


def test_which_quorums_migrate() -> None:
    """Those of the mode, from before their record to the end of the migration, or of its roll back."""
    assert migrates(wanted(), None)
    assert not migrates(desired(), None)
    for at in (STARTS, FINAL, LEADS, BACK):
        assert migrates(wanted(), look_at(at).record)
    assert not migrates(desired(), at_rest().record)
