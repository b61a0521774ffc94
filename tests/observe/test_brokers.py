"""Which brokers are registered and how they run: read beside the looks, rarely, and never taken for none if unknown."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.model.values import NAME, NAMESPACE, at_rest, desired, key, running, situation, view
from tests.plan.beside import STARTS, keeper_of
from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.api import ModelKube
from tests.simulation.model.kubernetes.kube_model import KubeModel

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.contract import Contract, Match, Setting, StoredContract
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.names import LABEL_NODE, OF_QUORUM
from kafka_quorum.model.registered import BrokerAccess, BrokerSeen, Settings
from kafka_quorum.model.situation import Situation
from kafka_quorum.observe.brokers import EVERY_S, BrokerEdges, BrokerReads
from kit.errors import Fault
from kit.key import ObjectKey
from kit.kube.protocol import PODS
from kit.kube.secrets import SECRETS

KEY = ObjectKey(namespace=NAMESPACE, name=NAME)
OTHERS = BrokerAccess(bootstrap_servers=("broker:9092",), secret_name="client")  # noqa: S106 - a name


class Answers:
    """Brokers that answer, or fail, as a test requires."""

    def __init__(self) -> None:
        """No broker is there."""
        self.found: dict[NodeID, Knowable[Settings]] = {}
        self.fails = False
        self.asked: list[tuple[tuple[str, ...], dict[str, str]]] = []

    async def read(
        self, bootstrap: tuple[str, ...], properties: Mapping[str, str]
    ) -> Mapping[NodeID, Knowable[Settings]]:
        """What was prepared."""
        self.asked.append((bootstrap, dict(properties)))
        if self.fails:
            raise KafkaUnreachable("no broker answered", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)
        return dict(self.found)

    async def close(self) -> None:
        """Nothing is kept."""


class Bench:
    """Reads with a clock, an API server and brokers."""

    def __init__(self) -> None:
        """Nothing is there."""
        self.clock = VirtualClock()
        self.model = KubeModel(self.clock)
        self.answers = Answers()
        self.reads = BrokerReads(ModelKube(self.model), self.clock, BrokerEdges(running=self.answers))

    async def look(self, of: Situation, *, needed: bool = False) -> Knowable[tuple[BrokerSeen, ...]]:
        """One look, after which a read that it began has ended."""
        seen = self.reads.look(KEY, of, needed=needed)
        await asyncio.gather(*self.reads._tasks.values())
        return seen

    async def second(self, of: Situation, *, needed: bool = False) -> Knowable[tuple[BrokerSeen, ...]]:
        """What the look after a read shows."""
        await self.look(of, needed=needed)
        return await self.look(of, needed=needed)

    def pod(self, node_id: int) -> None:
        """A broker of a pool runs."""
        labels = {OF_QUORUM: NAME, LABEL_NODE: str(node_id)}
        self.model.create(PODS, NAMESPACE, {"metadata": {"name": f"hot-{node_id}", "labels": labels}, "spec": {}})
        status = {"status": {"podIP": f"10.1.0.{node_id}"}}
        self.model.patch(PODS, NAMESPACE, f"hot-{node_id}", status, subresource="status")


def now(*observers: int, **wanted: Any) -> Situation:  # noqa: ANN401 - fields of the spec
    """A quorum with these brokers as observers."""
    record = running()
    seen = view([node.key for node in record.nodes], [key(each) for each in observers])
    return situation(desired(**wanted), at_rest(record, quorum=Known(value=seen)))


async def test_a_quorum_without_brokers() -> None:
    """Without observers, pools and addresses there is no broker, as soon as that was looked up."""
    bench = Bench()
    assert isinstance(await bench.look(now(), needed=True), Unknown)
    assert await bench.look(now(), needed=True) == Known(value=())
    assert bench.answers.asked == []


async def test_an_observer_that_cannot_be_asked_is_unknown() -> None:
    """An observer that is no controller is a broker: Unknown while nobody can be asked."""
    seen = await Bench().second(now(1))
    assert isinstance(seen, Known)
    (one,) = seen.value
    assert one.node_id == 1
    assert isinstance(one.settings, Unknown)


async def test_brokers_of_pools_are_asked_without_access() -> None:
    """Any pod of a pool is a first contact; a broker that no broker lists stays Unknown."""
    bench = Bench()
    bench.pod(1)
    bench.answers.found = {NodeID(1): Known(value={"a": "b"})}
    seen = await bench.second(now(1, 2), needed=True)
    assert isinstance(seen, Known)
    assert [(one.node_id, isinstance(one.settings, Known)) for one in seen.value] == [(1, True), (2, False)]
    assert bench.answers.asked == [(("10.1.0.1:9091",), {})]


async def test_brokers_of_others_are_asked_with_the_secret() -> None:
    """The spec's addresses are asked with the Secret's properties; without the Secret it is unknown who there is."""
    bench = Bench()
    bench.answers.found = {NodeID(1): Known(value={})}
    missing = await bench.second(now(broker_access=OTHERS), needed=True)
    assert isinstance(missing, Unknown)
    assert "client" in missing.reason
    data = {"sasl.username": "YWxpY2U="}
    bench.model.create(SECRETS, NAMESPACE, {"metadata": {"name": "client"}, "data": data})
    bench.clock.advance(EVERY_S)
    seen = await bench.second(now(broker_access=OTHERS), needed=True)
    assert isinstance(seen, Known)
    assert bench.answers.asked == [(("broker:9092",), {"sasl.username": "alice"})]


async def test_a_failed_read_is_not_an_empty_one() -> None:
    """If no broker answers, it is unknown which brokers there are, also if the quorum shows no observer."""
    bench = Bench()
    bench.pod(1)
    bench.answers.fails = True
    assert isinstance(await bench.second(now(), needed=True), Unknown)


async def test_read_rarely() -> None:
    """At rest brokers are read once; while something depends on them, every 30 s at the most."""
    bench = Bench()
    bench.pod(1)
    for _ in range(20):
        await bench.look(now())
        bench.clock.advance(10)
    assert len(bench.answers.asked) == 1
    for _ in range(6):
        await bench.look(now(), needed=True)
        bench.clock.advance(10)
    assert len(bench.answers.asked) == 3


async def test_an_old_read_is_no_answer_for_an_act() -> None:
    """What was read long ago is shown, and does not allow an act."""
    bench = Bench()
    bench.pod(1)
    bench.answers.found = {NodeID(1): Known(value={})}
    assert isinstance(await bench.second(now()), Known)
    bench.clock.advance(1000)
    assert isinstance(await bench.look(now()), Known)
    assert isinstance(await bench.look(now(), needed=True), Unknown)


async def test_another_contract_is_another_question() -> None:
    """After a change of what there is, an act waits for a read that was begun after it."""
    bench = Bench()
    bench.pod(1)
    await bench.second(now(1), needed=True)
    changed = now(1, 2)
    assert isinstance(await bench.look(changed, needed=True), Unknown)
    bench.clock.advance(EVERY_S)
    assert isinstance(await bench.second(changed, needed=True), Known)
    assert isinstance(await bench.look(replace(changed), needed=True), Known)


async def test_a_broker_that_did_not_answer_is_asked_again() -> None:
    """Although nothing depends on it: else the status would keep what was true when it restarted."""
    bench = Bench()
    bench.pod(1)
    bench.answers.found = {NodeID(1): Unknown(reason="it is starting")}
    await bench.second(now(1))
    bench.clock.advance(EVERY_S)
    await bench.look(now(1))
    asked = len(bench.answers.asked)
    bench.answers.found = {NodeID(1): Known(value={})}
    bench.clock.advance(EVERY_S)
    await bench.look(now(1))
    bench.clock.advance(EVERY_S)
    await bench.look(now(1))
    assert (asked, len(bench.answers.asked)) == (2, 3)


async def test_a_broker_that_must_be_changed_is_asked_again() -> None:
    """Although nothing depends on it: else the status would name it after its owner changed it. Afterwards never."""
    bench = Bench()
    bench.pod(1)
    wanted = Setting(key="a", value="b", match=Match.EQUALS)
    contract = Contract(
        cluster_id=ClusterID("c"),
        release="4.4.0",
        image="",
        revision=1,
        settings=(wanted,),
        controllers=(),
        controller_ids=(),
    )
    there = now(1)
    there = replace(there, observed=replace(there.observed, contract=Known(value=StoredContract(contract=contract))))
    counts = []
    for value in ("c", "b", "b", "b"):
        bench.answers.found = {NodeID(1): Known(value={"a": value})}
        await bench.look(there)
        counts.append(len(bench.answers.asked))
        bench.clock.advance(EVERY_S)
    assert counts == [1, 2, 2, 2]


async def test_a_broker_that_no_other_lists_is_asked_again() -> None:
    """A broker that was away when the others were asked is read when it is back."""
    bench = Bench()
    bench.pod(1)
    bench.answers.found = {NodeID(1): Known(value={})}
    await bench.look(now(1, 2))
    bench.clock.advance(EVERY_S)
    bench.answers.found = {NodeID(1): Known(value={}), NodeID(2): Known(value={})}
    seen = await bench.second(now(1, 2))
    assert isinstance(seen, Known)
    assert all(isinstance(one.settings, Known) for one in seen.value)
    bench.clock.advance(EVERY_S)
    await bench.look(now(1, 2))
    assert len(bench.answers.asked) == 2


async def test_why_a_broker_is_not_known() -> None:
    """A broker that is not listed is named with the place that shows it: the quorum, or ZooKeeper."""
    bench = Bench()
    bench.pod(1)
    bench.answers.found = {NodeID(1): Known(value={})}
    asked = now(1, 7)
    keeper = replace(keeper_of(STARTS), brokers=(), assigned={NodeID(8): "orders-3"})
    asked = replace(asked, observed=replace(asked.observed, zookeeper=Known(value=keeper)))
    seen = await bench.second(asked)
    assert isinstance(seen, Known)
    reasons = {one.node_id: one.settings.reason for one in seen.value if isinstance(one.settings, Unknown)}
    assert set(reasons) == {7, 8}
    assert "observer of the quorum" in reasons[NodeID(7)]
    assert reasons[NodeID(8)].startswith("ZooKeeper")
