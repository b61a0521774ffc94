"""Kafka's answers of one look: who leads, and what a broker that is caught up knows. Unknown is not empty."""

import asyncio
from dataclasses import replace

import pytest
from tests.brokers.edges import REACHED, AnsweringBrokers, behind, quorum, refused, unreachable
from tests.brokers.looks import ORDERS, nodes, reassignment, registered
from tests.brokers.values import CLUSTER, CONTRACT, IDS, OTHER_CLUSTER
from tests.clocks import MovingClock
from tests.model.values import LEADER_NOW_MS

from kafka_brokers.model.observed import ClusterView, Leader
from kafka_brokers.observe import kafka
from kafka_brokers.observe.kafka import Asked, ask, controllers_of
from kafka_brokers.observe.quorum import leader_of
from kafka_brokers.plan.facts import CHANGED, endpoint_of
from kafka_quorum.errors import KafkaExpired
from kafka_quorum.model.brokers import BrokersAnswer, ConfigEntry
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint, QuorumAnswer
from kit.errors import Fault

SERVERS = {node: endpoint_of(node, f"10.0.0.{node + 1}") for node in IDS}
CONTROLLERS = controllers_of(REACHED)


async def asked(brokers: AnsweringBrokers, servers: dict[NodeID, Endpoint] | None = None) -> Asked:
    """The answers of one look that begins at second 100."""
    return await ask(brokers, CONTROLLERS, SERVERS if servers is None else servers, CLUSTER, MovingClock(100.0))


def led(of: Asked) -> Leader:
    """The leader, which is known."""
    assert isinstance(of.leader, Known), of.leader
    return of.leader.value


def seen(of: Asked) -> ClusterView:
    """The partitions, which are known."""
    assert isinstance(of.cluster, Known), of.cluster
    return of.cluster.value


def why(of: Asked) -> str:
    """Why the partitions are not known."""
    assert isinstance(of.cluster, Unknown), of.cluster
    return of.cluster.reason


def test_controllers_are_found_by_the_contract() -> None:
    """Ids and addresses in the same order; an address without a port is nobody's."""
    assert CONTROLLERS[NodeID(3001)] == Endpoint(
        node_id=NodeID(3001), host="events-3001.events-controllers.kafka.svc", port=9093
    )
    odd = replace(CONTRACT, controllers=("host", "host:port", ":9093", "[::1]:9093"), controller_ids=IDS)
    assert controllers_of(odd) == {}
    sixth = replace(odd, controller_ids=(*IDS, NodeID(3)))
    assert controllers_of(sixth) == {NodeID(3): Endpoint(node_id=NodeID(3), host="[::1]", port=9093)}


async def test_one_look_at_everything() -> None:
    """Every partition and broker, running reassignments from the leader, and min ISR of every topic."""
    running = reassignment("orders-0", [0, 1, 2], adding=[2], removing=[0])
    brokers = AnsweringBrokers(moving=(running,))
    found = await asked(brokers)
    view = seen(found)
    assert (view.partitions, view.registered) == (ORDERS, tuple(map(registered, IDS)))
    assert (view.reassignments, view.min_isr, view.source, view.taken_at_s) == ((running,), (("orders", 2),), 0, 100.0)
    leader = led(found)
    assert (leader.endpoint, leader.settled, leader.voters) == (CONTROLLERS[NodeID(3000)], True, 3)
    assert leader.observers_caught_up == leader.observers == frozenset(IDS)
    assert found.at_s == 100.0
    assert brokers.asked_for("reassignments") == [3000]


async def test_a_cluster_without_topics_is_known() -> None:
    """No topic is asked about, and nothing is unknown."""
    brokers = AnsweringBrokers(partitions=())
    assert seen(await asked(brokers)).partitions == ()
    assert brokers.asked_for("min_isr") == []


async def test_only_a_broker_that_is_caught_up_is_asked() -> None:
    """A broker that lags behind the metadata log would show old ISRs: the next one is asked."""
    for said in (behind(quorum(), 0), behind(quorum(), 0, fetched_ms=2_001, caught_up_ms=0), quorum([1, 2])):
        brokers = AnsweringBrokers(quorums={3000: said})
        assert seen(await asked(brokers)).source == 1
        assert brokers.asked_for("describe_partitions") == [1]


async def test_nobody_is_caught_up() -> None:
    """Then the partitions are unknown, and no broker is asked."""
    said = quorum()
    for node in IDS:
        said = behind(said, node)
    brokers = AnsweringBrokers(quorums={3000: said})
    assert "caught up" in why(await asked(brokers))
    assert brokers.asked_for("describe_partitions") == []
    assert why(await asked(AnsweringBrokers(), {})) == "no broker runs yet"
    others = AnsweringBrokers(quorums={3000: quorum([7, 8])})
    assert "caught up" in why(await asked(others))


PARTS = (("describe_brokers", 0), ("describe_partitions", 0), ("min_isr", 0))


@pytest.mark.parametrize("part", PARTS)
async def test_a_part_that_is_not_answered_makes_all_of_it_unknown(part: tuple[str, int]) -> None:
    """The next broker is asked for everything; if it does not answer either, nothing is known."""
    for error in (unreachable("lost"), refused("KAFKA_STORAGE_ERROR")):
        brokers = AnsweringBrokers(errors={part: error})
        assert seen(await asked(brokers)).source == 1
        brokers.errors[part[0], 1] = unreachable("also lost")
        assert "also lost" in why(await asked(brokers))
        assert 2 not in brokers.asked_for("describe_partitions")
        assert isinstance((await asked(brokers)).leader, Known)


async def test_a_broker_whose_certificate_has_ended_does_not_count_as_asked() -> None:
    """Brokers of another pool refuse at once: the next ones are asked, those of this pool first."""
    ended = KafkaExpired("has expired", fault=Fault.THEIRS, retry_safe=True, outcome_unknown=False)
    brokers = AnsweringBrokers(errors={("describe_partitions", node): ended for node in (0, 1)})
    assert seen(await asked(brokers)).source == 2
    first = AnsweringBrokers()
    both = nodes((0, 1))
    clock = MovingClock(100.0)
    assert seen(await ask(first, CONTROLLERS, SERVERS, CLUSTER, clock, peers=frozenset(both))).source == 2
    brokers.errors["describe_partitions", 2] = ended
    assert why(await asked(brokers)) == "has expired; has expired"


async def test_without_the_running_reassignments_nothing_is_known() -> None:
    """What a partition will become decides whether a broker may stop."""
    brokers = AnsweringBrokers(errors={("reassignments", 3000): unreachable("lost")})
    assert "lost" in why(await asked(brokers))


async def test_a_broker_of_another_cluster_is_not_believed() -> None:
    """An address can be another server's by now."""
    other = BrokersAnswer(cluster_id=OTHER_CLUSTER, brokers=())
    assert "another cluster" in why(await asked(AnsweringBrokers(cluster=other)))


async def test_a_topic_that_is_gone_meanwhile_has_no_min_isr() -> None:
    """It is absent, not zero: rule 11 refuses what it does not know."""
    view = seen(await asked(AnsweringBrokers(least={})))
    assert view.min_isr_of(ORDERS[0]) is None


# Who leads


async def test_no_controller_leads() -> None:
    """Neither the leader nor the partitions are known; each controller's reason is told."""
    brokers = AnsweringBrokers(quorums={}, errors={("describe_quorum", 3001): unreachable("no route")})
    found = await asked(brokers)
    assert isinstance(found.leader, Unknown)
    assert "3000: not the leader" in found.leader.reason
    assert "3001: no route" in found.leader.reason
    assert why(found) == found.leader.reason
    assert brokers.asked_for("describe_partitions") == []
    nobody = await ask(brokers, {}, SERVERS, CLUSTER, MovingClock(1.0))
    assert nobody.leader == Unknown(reason="no controller is known")


async def test_controllers_that_do_not_answer_are_not_waited_for_long() -> None:
    """After the leader has answered, the others have a second."""

    class Slow(AnsweringBrokers):
        async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
            if endpoint.node_id != 3000:
                await asyncio.Event().wait()
            return await AnsweringBrokers.describe_quorum(self, endpoint)

    found = await asyncio.wait_for(asked(Slow()), timeout=20)
    assert led(found).endpoint.node_id == 3000


def leads(*answers: QuorumAnswer) -> Knowable[Leader]:
    """The leader by these answers, of controllers 3000 and following."""
    said: dict[NodeID, Knowable[QuorumAnswer]] = {NodeID(3000 + n): Known(value=a) for n, a in enumerate(answers)}
    return leader_of(said, CONTROLLERS)


def test_the_highest_epoch_leads() -> None:
    """One that was the leader before, and does not know it yet, is not believed."""
    newer = replace(quorum(), leader_epoch=6, leader_id=NodeID(3001))
    for answers in ((quorum(), newer), (newer, quorum())):
        found = leads(*answers)
        assert isinstance(found, Known)
        assert (found.value.endpoint.node_id, found.value.epoch) == (3001, 6)


def test_a_leader_without_a_majority_is_no_leader() -> None:
    """Cut off, it answers for a while with what it last knew."""
    alone = behind(behind(quorum(), 3001, fetched_ms=2_001), 3002, fetched_ms=60_000)
    assert isinstance(leads(alone), Unknown)
    two = leads(behind(quorum(), 3001, fetched_ms=2_001))
    assert isinstance(two, Known)
    assert (two.value.settled, two.value.voters_caught_up, two.value.voters) == (False, 2, 3)


def test_a_leader_at_an_unknown_address_is_no_leader() -> None:
    """Nothing can be asked of it."""
    assert isinstance(leads(replace(quorum(), leader_id=NodeID(9))), Unknown)


def test_voters_that_lag_unsettle_the_quorum() -> None:
    """In contact, and not caught up: no broker stops then. The leader's own stamp does not count."""
    lags = leads(behind(quorum(), 3002, caught_up_ms=2_001))
    assert isinstance(lags, Known)
    assert (lags.value.settled, lags.value.voters_caught_up) == (False, 2)
    own = leads(behind(quorum(), 3000, caught_up_ms=60_000))
    assert isinstance(own, Known)
    assert own.value.settled


STAMPS = ((0, 0, True), (2_000, 2_000, True), (2_001, 0, False), (0, 2_001, False), (-1, 0, False), (0, -1, False))


@pytest.mark.parametrize(("fetched_ms", "caught_up_ms", "follows"), STAMPS)
def test_who_follows_the_metadata_log(fetched_ms: int, caught_up_ms: int, follows: bool) -> None:  # noqa: FBT001
    """At most 2 s ago by the leader's clock, and never in the future."""
    found = leads(behind(quorum(), 1, fetched_ms=fetched_ms, caught_up_ms=caught_up_ms))
    assert isinstance(found, Known)
    assert (NodeID(1) in found.value.observers_caught_up) is follows
    assert NodeID(1) in found.value.observers


def test_stamps_that_are_not_known_are_not_recent() -> None:
    """-1 means never; nor does a leader without its own stamp show anybody in contact."""
    never = behind(quorum(), 1, fetched_ms=LEADER_NOW_MS + 1, caught_up_ms=LEADER_NOW_MS + 1)
    found = leads(never)
    assert isinstance(found, Known)
    assert NodeID(1) not in found.value.observers_caught_up
    assert isinstance(leads(behind(quorum(), 3000, fetched_ms=LEADER_NOW_MS + 1)), Unknown)


# Settings and directories


def entry(name: str, source: int = CHANGED, value: str = "1") -> ConfigEntry:
    """A setting."""
    return ConfigEntry(name=name, value=value, source=source, read_only=False)


async def test_settings_are_asked_of_each_broker_itself() -> None:
    """What was changed while it ran, and what matters whoever set it; one that does not answer is unknown."""
    rows = (entry("a"), entry("b", 4), entry("cordoned.log.dirs", 5), entry("num.io.threads", 5))
    brokers = AnsweringBrokers(configs={0: rows}, errors={("describe_broker_config", 1): unreachable("lost")})
    found = dict(await kafka.configs(brokers, {node: SERVERS[node] for node in IDS[:2]}, IDS))
    assert found[NodeID(0)] == Known(value=(rows[0], *rows[2:]))
    assert found[NodeID(1)] == Unknown(reason="lost")
    assert isinstance(found[NodeID(2)], Unknown)
    assert list(found) == list(IDS)


async def test_directories_are_asked_of_each_broker_itself() -> None:
    """One that does not run, or does not answer, has unknown directories, and not empty ones."""
    brokers = AnsweringBrokers(errors={("describe_log_dirs", 1): unreachable("lost")})
    found = dict(await kafka.log_dirs(brokers, {node: SERVERS[node] for node in IDS[:2]}, IDS))
    assert isinstance(found[NodeID(0)], Known)
    assert found[NodeID(1)] == Unknown(reason="lost")
    assert isinstance(found[NodeID(2)], Unknown)
