"""Which brokers are registered and how they run: read beside the looks, rarely, and never taken for none if unknown."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.edges import AnsweringBrokers
from tests.model.certificates import authority, given_leaf
from tests.model.values import NAME, NAMESPACE, at_rest, desired, key, running, situation, view
from tests.plan.beside import DUAL, STARTS, keeper_of, look_at, wanted
from tests.plan.test_room import bundle
from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.api import ModelKube
from tests.simulation.model.kubernetes.kube_model import KubeModel

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.bundles import bundle_of, together
from kafka_quorum.model.contract import Contract, Match, Setting, StoredContract
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import OPERATOR
from kafka_quorum.model.names import LABEL_NODE, OF_QUORUM, USED_BY, brokers_tls_name, operator_tls_name
from kafka_quorum.model.pools import LABEL_POOL, REPLICATION_TLS
from kafka_quorum.model.quorum import Endpoint, NodeVersions
from kafka_quorum.model.registered import BrokerAccess, BrokerSeen, Settings
from kafka_quorum.model.security import PLAINTEXT, Security
from kafka_quorum.model.situation import Situation
from kafka_quorum.observe.brokers import EVERY_S, MOVING_S, SOON_S, BrokerEdges, BrokerReads
from kafka_quorum.resources.secrets import secret_object
from kafka_quorum.wire.security import tls_of
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
        self.fault: Exception | None = None
        self.asked: list[tuple[tuple[str, ...], dict[str, str]]] = []
        self.takes: Callable[[], None] = lambda: None

    async def read(
        self, bootstrap: tuple[str, ...], properties: Mapping[str, str]
    ) -> Mapping[NodeID, Knowable[Settings]]:
        """What was prepared."""
        self.asked.append((bootstrap, dict(properties)))
        if self.fault is not None:
            raise self.fault
        self.takes()
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

    def pod(self, node_id: int, **more: str) -> None:
        """A broker of a pool runs, or has ended."""
        labels = {OF_QUORUM: NAME, LABEL_NODE: str(node_id)}
        self.model.create(PODS, NAMESPACE, {"metadata": {"name": f"hot-{node_id}", "labels": labels}, "spec": {}})
        status = {"status": {"podIP": f"10.1.0.{node_id}", **more}}
        self.model.patch(PODS, NAMESPACE, f"hot-{node_id}", status, subresource="status")


def now(*observers: int, **wanted: Any) -> Situation:  # noqa: ANN401 - fields of the spec
    """A quorum with these brokers as observers."""
    record = running()
    seen = view([node.key for node in record.nodes], [key(each) for each in observers])
    return situation(desired(**wanted), at_rest(record, quorum=Known(value=seen)))


def contracted(*observers: int, value: str = "b") -> Situation:
    """The same, with a contract that requires `a=VALUE`."""
    contract = Contract(
        cluster_id=ClusterID("c"),
        release="4.4.0",
        image="",
        revision=1,
        settings=(Setting(key="a", value=value, match=Match.EQUALS),),
        controllers=(),
        controller_ids=(),
    )
    there = now(*observers)
    return replace(there, observed=replace(there.observed, contract=Known(value=StoredContract(contract=contract))))


async def reads_within(bench: Bench, of: Situation, duration_s: float, *, needed: bool = True) -> int:
    """How many reads begin in so many seconds of looks, one each second."""
    before = len(bench.answers.asked)
    for _ in range(int(duration_s)):
        await bench.look(of, needed=needed)
        bench.clock.advance(1.0)
    return len(bench.answers.asked) - before


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


async def test_brokers_with_tls_are_asked_by_name() -> None:
    """A broker whose REPLICATION has TLS is asked by its certified name with the operator's certificate."""
    bench = Bench()
    bench.pod(7)
    bench.pod(8)
    metadata = {"labels": {LABEL_POOL: "hot"}, "annotations": {REPLICATION_TLS: "true"}}
    bench.model.patch(PODS, NAMESPACE, "hot-8", {"metadata": metadata})
    seen = await bench.second(now(7, 8))
    assert isinstance(seen, Unknown)
    assert "Secret alpha-brokers-tls does not exist yet" in seen.reason
    assert bench.answers.asked == []
    for name, texts in (
        (brokers_tls_name(NAME), {"ca.crt": "trusted"}),
        (operator_tls_name(NAME), {"tls.crt": "shown", "tls.key": "hidden"}),
    ):
        body = secret_object(desired(), name, "certificate", texts, "", [])
        bench.model.create(SECRETS, NAMESPACE, body)
    bench.clock.advance(EVERY_S)
    await bench.second(now(7, 8))
    assert bench.answers.asked == [
        (("10.1.0.7:9091",), {}),
        (
            (f"hot-8.hot-brokers.{NAMESPACE}.svc:9091",),
            {
                "security.protocol": "SSL",
                "ssl.ca.pem": "trusted",
                "ssl.certificate.pem": "shown",
                "ssl.key.pem": "hidden",
            },
        ),
    ]


class Noting(AnsweringBrokers):
    """Brokers that note how they were reached."""

    reached: Security = PLAINTEXT

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """No features."""
        self.reached = endpoint.security
        return await AnsweringBrokers.api_versions(self, endpoint)


async def test_brokers_are_asked_while_authorities_are_changed() -> None:
    """Those of before and after are in the brokers' Secret together: more than one bundle that a person gives."""
    bench, brokers = Bench(), Noting()
    bench.reads = BrokerReads(ModelKube(bench.model), bench.clock, BrokerEdges(running=bench.answers, brokers=brokers))
    bench.pod(8)
    metadata = {"labels": {LABEL_POOL: "hot"}, "annotations": {REPLICATION_TLS: "true"}}
    bench.model.patch(PODS, NAMESPACE, "hot-8", {"metadata": metadata})
    both, shown = together(bundle("a", 225), bundle("b", 60), authority().certificate.pem), given_leaf(OPERATOR)
    for name, texts in (
        (brokers_tls_name(NAME), {"ca.crt": both}),
        (operator_tls_name(NAME), {"tls.crt": shown.chain_pem, "tls.key": shown.key.pem}),
    ):
        bench.model.create(SECRETS, NAMESPACE, secret_object(desired(), name, "certificate", texts, "", []))
    await bench.second(now(8))
    context = tls_of(brokers.reached)
    assert context is not None
    assert len(context.get_ca_certs()) == len(bundle_of(both).authorities)


async def test_a_pod_that_has_ended_is_not_asked() -> None:
    """Its address may be that of a broker of another cluster by now, whose answers would count for ours."""
    bench = Bench()
    bench.pod(1, phase="Failed")
    bench.pod(2, phase="Running")
    bench.answers.found = {NodeID(2): Known(value={"a": "b"})}
    await bench.second(now(1, 2), needed=True)
    assert bench.answers.asked == [(("10.1.0.2:9091",), {})]
    alone = Bench()
    alone.pod(1, phase="Failed")
    alone.answers.found = {NodeID(1): Known(value={"a": "b"})}
    assert isinstance(await alone.second(now(1), needed=True), Unknown)
    assert alone.answers.asked == []


async def test_brokers_of_others_are_asked_with_the_secret() -> None:
    """The spec's addresses are asked with the Secret's properties; without the Secret it is unknown who there is."""
    bench = Bench()
    bench.answers.found = {NodeID(1): Known(value={})}
    missing = await bench.second(now(broker_access=OTHERS), needed=True)
    assert isinstance(missing, Unknown)
    assert "client" in missing.reason
    data = {"sasl.username": "YWxpY2U="}
    annotations = {USED_BY: f"KafkaQuorum/{NAME}"}
    bench.model.create(SECRETS, NAMESPACE, {"metadata": {"name": "client", "annotations": annotations}, "data": data})
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


async def test_a_fault_of_our_own_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """An error that nothing expects is in the log and in the reason, and is not repeated before its time."""
    bench = Bench()
    bench.pod(1)
    bench.answers.fault = UnicodeError("label too long")
    for _ in range(3):
        seen = await bench.second(now(1), needed=True)
        assert isinstance(seen, Unknown)
        assert "UnicodeError" in seen.reason
    assert len(bench.answers.asked) == 1
    assert "label too long" in caplog.text


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


async def test_a_contract_of_before_is_another_question_too() -> None:
    """A migration that turns round has the settings of an earlier stage: what was read in that stage is no answer."""
    bench = Bench()
    bench.pod(1)
    look = look_at(DUAL)
    first, back = (_published(situation(wanted(), look), revision) for revision in (2, 4))
    await bench.second(first, needed=True)
    assert isinstance(await bench.look(back, needed=True), Unknown)
    bench.clock.advance(EVERY_S)
    assert isinstance(await bench.second(back, needed=True), Known)


def _published(of: Situation, revision: int) -> Situation:
    """The same settings are published under this revision."""
    stored = of.observed.contract
    assert isinstance(stored, Known)
    assert stored.value is not None
    contract = replace(stored.value.contract, revision=revision)
    kept = Known(value=replace(stored.value, contract=contract))
    return replace(of, observed=replace(of.observed, contract=kept))


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
    bench, there = Bench(), contracted(1)
    bench.pod(1)
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


async def test_brokers_that_change_are_asked_soon_if_an_act_waits() -> None:
    """Every 5 s while brokers follow a new contract one by one; every 30 s if none did for two minutes."""
    bench, there = Bench(), contracted(1, 2)
    bench.answers.found = {NodeID(1): Known(value={"a": "c"}), NodeID(2): Known(value={"a": "c"})}
    bench.pod(1)
    assert await reads_within(bench, there, MOVING_S) == MOVING_S / SOON_S
    await reads_within(bench, there, EVERY_S)
    assert await reads_within(bench, there, 4 * EVERY_S) == 4
    bench.answers.found[NodeID(1)] = Known(value={"a": "b"})
    await reads_within(bench, there, EVERY_S)
    assert await reads_within(bench, there, EVERY_S) == EVERY_S / SOON_S
    bench.answers.found[NodeID(2)] = Known(value={"a": "b"})
    await reads_within(bench, there, SOON_S)
    assert await reads_within(bench, there, 4 * EVERY_S) == 4


async def test_another_contract_is_asked_about_soon_if_an_act_waits() -> None:
    """The next stage of a migration begins some seconds after the brokers have what the last one required."""
    bench = Bench()
    bench.answers.found = {NodeID(1): Known(value={"a": "b"})}
    bench.pod(1)
    await bench.second(contracted(1), needed=True)
    bench.clock.advance(SOON_S)
    changed = contracted(1, value="c")
    assert isinstance(await bench.look(changed, needed=True), Unknown)
    assert isinstance(await bench.look(changed, needed=True), Known)


async def test_brokers_are_not_asked_soon_if_no_act_waits() -> None:
    """A broker that does not follow the contract is only reported: every 30 s is enough for the status."""
    bench = Bench()
    bench.answers.found = {NodeID(1): Known(value={"a": "c"})}
    bench.pod(1)
    assert await reads_within(bench, contracted(1), 4 * EVERY_S, needed=False) == 4


async def test_long_reads_follow_less_often() -> None:
    """A read that took 4 s is followed by the next one 20 s after it began."""
    bench, there = Bench(), contracted(1)
    bench.answers.found = {NodeID(1): Known(value={"a": "c"})}
    bench.answers.takes = lambda: bench.clock.advance(4.0)
    bench.pod(1)
    await bench.look(there, needed=True)
    begun_s = bench.clock.monotonic() - 4.0
    while len(bench.answers.asked) == 1:
        bench.clock.advance(1.0)
        await bench.look(there, needed=True)
    assert bench.clock.monotonic() - 4.0 - begun_s == 20.0


async def test_which_reads_are_awaited() -> None:
    """A look follows soon after a read that began early; not after one that begins as rarely as at rest."""
    bench, there = Bench(), contracted(1)
    bench.answers.found = {NodeID(1): Known(value={"a": "c"})}
    bench.pod(1)
    bench.reads.look(KEY, there, needed=True)
    assert bench.reads.is_awaited(KEY)
    await asyncio.gather(*bench.reads._tasks.values())
    assert not bench.reads.is_awaited(KEY)
    bench.clock.advance(EVERY_S)
    bench.reads.look(KEY, there, needed=False)
    assert not bench.reads.is_awaited(KEY)
    await asyncio.gather(*bench.reads._tasks.values())
    bench.reads.forget(KEY)
    assert not bench.reads.is_awaited(KEY)


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
