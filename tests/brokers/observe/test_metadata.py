"""Brokers of 3.9, in ZooKeeper mode too: every cache is asked, and the worst counts. Unknown is not empty."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from tests.brokers.edges import REACHED, AnsweringBrokers, behind, quorum, refused, unreachable
from tests.brokers.looks import ORDERS, partition, reassignment, registered
from tests.brokers.values import CLUSTER, CONTRACT, IDS, OTHER_CLUSTER, desired, revision
from tests.clocks import MovingClock

from kafka_brokers.model.observed import ClusterView, Leader
from kafka_brokers.observe.kafka import Asked, controllers_of
from kafka_brokers.observe.metadata import ask, does_zookeeper_lead, is_needed
from kafka_brokers.plan.facts import MIGRATION_ENABLE, endpoint_of
from kafka_quorum.model.brokers import MetadataAnswer, Partition
from kafka_quorum.model.contract import Contract, Match, Setting
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.zookeeper import ZooKeeperAccess
from kafka_quorum.settings import Settings

SERVERS = {node: endpoint_of(node, f"10.0.0.{node + 1}") for node in IDS}
CONTROLLERS = controllers_of(REACHED)
ZOOKEEPER = ZooKeeperAccess(connect="zoo:2181")


def cache(
    partitions: Iterable[Partition] = ORDERS,
    ids: Sequence[int] = IDS,
    *,
    controller: int | None = 0,
    cluster_id: str = CLUSTER,
) -> MetadataAnswer:
    """What one broker has in its cache."""
    return MetadataAnswer(
        cluster_id=cluster_id,  # type: ignore[arg-type]  # a valid one
        controller=None if controller is None else NodeID(controller),
        brokers=tuple(map(registered, ids)),
        partitions=tuple(partitions),
    )


def silent(*ids: int) -> dict[tuple[str, int], Exception]:
    """The errors of brokers that do not answer."""
    return {(name, node): unreachable() for name in ("metadata", "metadata of brokers") for node in ids}


async def asked(
    brokers: AnsweringBrokers, servers: dict[NodeID, Endpoint] | None = None, *, zookeeper: bool = True
) -> Asked:
    """The answers of one look that begins at second 100."""
    found = SERVERS if servers is None else servers
    return await ask(brokers, CONTROLLERS, found, CLUSTER, MovingClock(100.0), zookeeper_leads=zookeeper)


def seen(of: Asked) -> ClusterView:
    """The partitions, which are known."""
    assert isinstance(of.cluster, Known), of.cluster
    return of.cluster.value


def led(of: Asked) -> Leader:
    """The leader, which is known."""
    assert isinstance(of.leader, Known), of.leader
    return of.leader.value


def why(of: Asked) -> str:
    """Why the leader is not known."""
    assert isinstance(of.leader, Unknown), of.leader
    return of.leader.reason


async def test_one_look_in_zookeeper_mode() -> None:
    """ZooKeeper's controller leads, the brokers that answer are in contact, and no KRaft controller is asked."""
    moving = reassignment("orders-0", [0, 1, 2], adding=[2], removing=[0])
    brokers = AnsweringBrokers(moving=(moving,))
    found = await asked(brokers)
    view, leader = seen(found), led(found)
    assert (view.partitions, view.registered) == (ORDERS, tuple(map(registered, IDS)))
    assert (view.reassignments, view.min_isr, view.doubtful) == ((moving,), (("orders", 2),), frozenset())
    assert (view.taken_at_s, found.at_s) == (100.0, 100.0)
    assert (leader.endpoint, leader.settled) == (SERVERS[NodeID(0)], True)
    assert leader.observers_caught_up == frozenset(IDS)
    assert brokers.asked_for("metadata of brokers") == brokers.asked_for("metadata") == list(IDS)
    assert brokers.asked_for("describe_quorum") == []
    assert brokers.asked_for("describe_partitions") == brokers.asked_for("describe_brokers") == []


class Silent(AnsweringBrokers):
    """Some brokers never answer."""

    async def metadata(self, endpoint: Endpoint, *, partitions: bool = True) -> MetadataAnswer:
        """Not that of 2, of the pool, nor that of 7."""
        if endpoint.node_id in (2, 7):
            await asyncio.sleep(60)
        return await super().metadata(endpoint, partitions=partitions)


async def test_brokers_that_never_answer_leave_no_look_too_old() -> None:
    """A firewall may drop what is sent to another broker, while a node of the pool is away."""
    ids = (*IDS, 7, 8)
    brokers = Silent(caches={node: cache(ids=ids) for node in ids})
    begun_s = asyncio.get_running_loop().time()
    found = await asked(brokers)
    assert asyncio.get_running_loop().time() - begun_s < Settings().look_max_age_s * 0.75
    assert led(found).observers_caught_up == frozenset({0, 1, 8})


async def test_a_member_of_the_isr_is_one_in_every_cache() -> None:
    """A cache with a smaller ISR counts, and the highest leader epoch decides who leads, whoever has it."""
    old = partition("orders-0", [0, 1, 2])
    new = replace(partition("orders-0", [0, 1, 2], [1, 2]), leader_epoch=4)
    brokers = AnsweringBrokers(caches={0: cache([old]), 1: cache([new]), 2: cache([old])})
    (row,) = seen(await asked(brokers)).partitions
    assert (row.leader, row.isr, row.leader_epoch, row.replicas) == (1, (1, 2), 4, (0, 1, 2))
    late = replace(new, isr=(NodeID(0), NodeID(1), NodeID(2)))
    brokers.caches[1], brokers.caches[2] = cache([late]), cache([replace(old, isr=(NodeID(0),), leader=None)])
    (row,) = seen(await asked(brokers)).partitions
    assert (row.leader, row.isr) == (1, (0,))


async def test_two_leaders_of_one_epoch_are_none() -> None:
    """Caches that contradict each other show no leader; replicas are those of any of them."""
    rows = [replace(partition("orders-0", [0, 1]), leader=NodeID(0)), partition("orders-0", [1, 2], [1])]
    brokers = AnsweringBrokers(caches={0: cache(rows[:1]), 1: cache(rows[1:]), 2: cache(rows[:1])})
    (row,) = seen(await asked(brokers)).partitions
    assert (row.leader, row.replicas, row.isr) == (None, (0, 1, 2), (1,))


async def test_a_partition_that_one_cache_lacks_is_there() -> None:
    """A cache without a partition says nothing about it: a new topic is not offline."""
    brokers = AnsweringBrokers(caches={2: cache(ORDERS[:1])})
    assert seen(await asked(brokers)).partitions == ORDERS


async def test_a_broker_that_some_list_is_doubtful() -> None:
    """It counts as fenced, and nothing may be done to it that needs a fenced broker; one that nobody lists is gone."""
    brokers = AnsweringBrokers(caches={0: cache(ids=(0, 1)), 1: cache(ids=(0, 1)), 2: cache()})
    view = seen(await asked(brokers))
    assert view.doubtful == frozenset({2})
    assert [row.fenced for row in view.registered] == [False, False, True]
    assert view.in_contact(NodeID(2))
    brokers.errors = silent(2)
    view = seen(await asked(brokers))
    assert [row.node_id for row in view.registered] == [0, 1]
    assert not view.in_contact(NodeID(2))


async def test_a_broker_that_does_not_list_itself_counts_for_nothing() -> None:
    """A broker that has just started has an empty cache: the others' caches count, and it is not in contact."""
    brokers = AnsweringBrokers(caches={2: cache((), ())})
    found = await asked(brokers)
    assert seen(found).partitions == ORDERS
    assert led(found).observers_caught_up == frozenset({0, 1})
    alone = await asked(brokers, {NodeID(2): SERVERS[NodeID(2)]})
    assert isinstance(alone.cluster, Unknown)
    assert "does not list broker 2" in alone.cluster.reason
    nobody = await asked(brokers, {})
    assert isinstance(nobody.cluster, Unknown)
    assert why(nobody) == "no broker runs yet"


@pytest.mark.parametrize("zookeeper", [True, False])
async def test_less_than_half_of_the_brokers_show_nothing(zookeeper: bool) -> None:  # noqa: FBT001 - a parameter
    """A controller of ZooKeeper that lost its session answers for ever as before: alone it says nothing of others."""
    brokers = AnsweringBrokers(caches={2: cache(ids=(0, 2), controller=2)}, errors=silent(0, 1))
    found = await asked(brokers, zookeeper=zookeeper)
    assert isinstance(found.cluster, Unknown)
    assert "1 of the 2 brokers that are listed answer" in found.cluster.reason
    assert "Without these: 0. Repair them, or let the operator reach their listener" in found.cluster.reason
    assert isinstance(found.leader, Unknown) == zookeeper
    brokers.caches[2] = cache(ids=(2,), controller=2)  # the sessions of the others have ended
    assert [row.node_id for row in seen(await asked(brokers, zookeeper=zookeeper)).registered] == [2]


async def test_a_broker_that_is_behind_the_metadata_log_counts_for_nothing() -> None:
    """It does not fetch any more, and answers: it is not in contact, and what its cache has is not believed."""
    old = [partition("orders-0", [0, 1, 2])]
    new = [partition("orders-0", [0, 1, 2], [0, 1])]
    brokers = AnsweringBrokers(
        quorums={3000: behind(quorum(), 2, fetched_ms=60_000)},
        caches={0: cache(new), 1: cache(new), 2: cache(old)},
    )
    found = await asked(brokers, zookeeper=False)
    assert led(found).observers_caught_up == frozenset({0, 1})
    assert seen(found).partitions == tuple(new)
    assert not seen(found).doubtful
    brokers.errors = silent(0, 1)
    found = await asked(brokers, zookeeper=False)
    assert isinstance(found.cluster, Unknown)
    assert "up to date with the metadata log" in found.cluster.reason
    assert led(found).observers_caught_up == frozenset({0, 1})


async def test_a_broker_that_is_listed_for_ever_and_serves_nothing_is_fenced() -> None:
    """Brokers in migration mode list a fenced one of their kind for ever; one that may serve is not fenced by that."""
    away = [partition("orders-0", [0, 1, 2], [0, 1]), partition("orders-1", [2], [2], leader=None)]
    brokers = AnsweringBrokers(
        quorums={3000: behind(quorum(), 2, fetched_ms=60_000)},
        caches={0: cache(away), 1: cache(away)},
        errors=silent(2),
    )
    view = seen(await asked(brokers, zookeeper=False))
    assert [row.fenced for row in view.registered] == [False, False, True]
    assert not view.in_contact(NodeID(2))
    brokers.caches[1] = cache(away, ids=(0, 1))  # a KRaft broker: its cache has no fenced broker
    view = seen(await asked(brokers, zookeeper=False))
    assert (view.doubtful, view.in_contact(NodeID(2))) == (frozenset(), False)
    for serves in (partition("orders-1", [2], [2]), partition("orders-1", [0, 2])):
        brokers.caches = {node: cache([away[0], serves]) for node in (0, 1)}
        assert seen(await asked(brokers, zookeeper=False)).in_contact(NodeID(2))
    brokers.caches = {node: cache(away) for node in (0, 1)}
    brokers.quorums = {3000: quorum()}  # it fetches
    assert seen(await asked(brokers, zookeeper=False)).in_contact(NodeID(2))


async def test_brokers_of_others_are_asked_too() -> None:
    """A broker of no pool is asked where the others list it; it is in contact if it answers itself."""
    ids = (*IDS, 7)
    brokers = AnsweringBrokers(caches={int(node): cache(ids=ids) for node in ids})
    found = await asked(brokers)
    assert led(found).observers_caught_up == frozenset(ids)
    assert brokers.asked_for("metadata of brokers") == brokers.asked_for("metadata") == [*IDS, 7]
    brokers.errors = silent(7)
    found = await asked(brokers)
    assert led(found).observers_caught_up == frozenset(IDS)
    assert seen(found).in_contact(NodeID(7))


async def test_of_many_brokers_five_are_asked_for_partitions() -> None:
    """All are asked who they list, so all are in contact; the controller's cache is among those that are read whole."""
    ids = tuple(map(NodeID, range(8)))
    servers = {node: endpoint_of(node, f"10.0.1.{node + 1}") for node in ids}
    brokers = AnsweringBrokers(caches={int(node): cache(ids=ids, controller=7) for node in ids})
    found = await asked(brokers, servers)
    assert brokers.asked_for("metadata of brokers") == list(ids)
    assert brokers.asked_for("metadata") == [7, 0, 1, 2, 3]
    assert seen(found).partitions == ORDERS
    assert led(found).observers_caught_up == frozenset(ids)
    brokers.errors = {("metadata", int(node)): unreachable() for node in ids}
    found = await asked(brokers, servers)
    assert isinstance(found.cluster, Unknown)
    some = {node: servers[node] for node in ids[:3]}
    brokers = AnsweringBrokers(caches={int(node): cache(ids=ids) for node in ids})
    assert led(await asked(brokers, some)).observers_caught_up == frozenset(ids)
    assert brokers.asked_for("metadata") == [0, 1, 2, 3, 4]
    assert brokers.asked_for("metadata of brokers") == list(range(8))


class Slow(AnsweringBrokers):
    """Brokers whose partitions take so many seconds to be read."""

    def __init__(self, clock: MovingClock, each_s: float) -> None:
        """All of them have the same cache, and broker 1 is the controller."""
        super().__init__(caches={int(node): cache(controller=1) for node in IDS})
        self._clock, self._each_s = clock, each_s

    async def metadata(self, endpoint: Endpoint, *, partitions: bool = True) -> MetadataAnswer:
        """The answer, after these seconds."""
        self._clock.seconds += self._each_s if partitions else 0.0
        return await super().metadata(endpoint, partitions=partitions)


@pytest.mark.parametrize(("each_s", "read"), [(0.1, [1, 0, 2]), (0.4, [1, 0]), (0.9, [1])])
async def test_of_many_partitions_fewer_caches_are_read(each_s: float, read: list[int]) -> None:
    """One processor reads them: with all of them the look would be too old for every stop. The controller's is one."""
    clock = MovingClock(100.0)
    brokers = Slow(clock, each_s)
    found = await ask(brokers, CONTROLLERS, SERVERS, CLUSTER, clock, zookeeper_leads=True)
    assert brokers.asked_for("metadata") == read
    assert seen(found).partitions == ORDERS
    assert led(found).observers_caught_up == frozenset(IDS)
    assert clock.monotonic() - found.at_s < 1.2


async def test_a_cache_that_cannot_be_read_whole_is_left_out() -> None:
    """The next one is read in its place; without any nothing is known, although all say whom they list."""
    brokers = AnsweringBrokers(errors={("metadata", 0): unreachable()})
    found = await asked(brokers)
    assert (brokers.asked_for("metadata"), seen(found).partitions) == ([0, 1, 2], ORDERS)
    brokers.errors = {("metadata", node): unreachable() for node in IDS}
    found = await asked(brokers)
    assert isinstance(found.cluster, Unknown)
    assert "which partitions there are" in found.cluster.reason


async def test_brokers_of_pools_are_read_first() -> None:
    """A broker of others may hide topics from the operator; those of pools must not (`api.checks`)."""
    ids = tuple(map(NodeID, range(10)))
    servers = {node: endpoint_of(node, f"10.0.1.{node + 1}") for node in ids[4:]}
    brokers = AnsweringBrokers(caches={int(node): cache(ids=ids, controller=1) for node in ids})
    assert seen(await asked(brokers, servers)).partitions == ORDERS
    assert brokers.asked_for("metadata") == [1, 4, 5, 6, 7]


async def test_a_broker_of_another_cluster_makes_all_of_it_unknown() -> None:
    """An address may belong to another cluster by now."""
    brokers = AnsweringBrokers(caches={1: cache(cluster_id=OTHER_CLUSTER)})
    found = await asked(brokers)
    assert isinstance(found.cluster, Unknown)
    assert OTHER_CLUSTER in found.cluster.reason


@pytest.mark.parametrize(
    ("controllers", "words"),
    [((0, 1, 0), "0, 1"), ((None, 0, 0), "0, none"), ((None, None, None), "none"), ((7, 7, 7), "does not answer")],
)
async def test_brokers_that_disagree_about_the_controller(controllers: Sequence[int | None], words: str) -> None:
    """Without one controller that every cache names, and that answers, nobody leads."""
    found = {node: cache(controller=one) for node, one in enumerate(controllers)}
    assert words in why(await asked(AnsweringBrokers(caches=found)))


async def test_while_brokers_migrate_the_kraft_leader_counts() -> None:
    """A controller of the quorum leads, and the brokers that answer are in contact beside those that fetch its log."""
    caches = {int(node): cache(controller=node) for node in IDS}
    brokers = AnsweringBrokers(quorums={3000: quorum([1])}, caches=caches)
    leader = led(await asked(brokers, zookeeper=False))
    assert leader.endpoint == CONTROLLERS[NodeID(3000)]
    assert leader.observers_caught_up == frozenset(IDS)
    brokers.caches[1] = cache(controller=None)
    assert why(await asked(brokers, zookeeper=False)) == "broker 1 knows no active controller"
    brokers.quorums.clear()
    assert "no controller answers as the leader" in why(await asked(brokers, zookeeper=False))


async def test_reassignments_are_asked_of_who_answers() -> None:
    """In ZooKeeper mode only the controller answers; without an answer of any broker nothing is known."""
    refusal = refused("NOT_CONTROLLER")
    brokers = AnsweringBrokers(
        caches={int(node): cache(controller=2) for node in IDS},
        errors={("reassignments", node): refusal for node in (0, 1)},
    )
    found = await asked(brokers)
    assert seen(found).source == 2
    assert brokers.asked_for("reassignments") == [2]
    brokers.errors["reassignments", 2] = unreachable("lost")
    found = await asked(brokers)
    assert isinstance(found.cluster, Unknown)
    assert "lost" in found.cluster.reason


async def test_without_min_isr_nothing_is_known() -> None:
    """Two brokers are asked, one after the other; no topic is asked about if there is none."""
    brokers = AnsweringBrokers(errors={("min_isr", 0): unreachable("lost")})
    assert seen(await asked(brokers)).min_isr == (("orders", 2),)
    brokers.errors["min_isr", 1] = unreachable("lost too")
    found = await asked(brokers)
    assert isinstance(found.cluster, Unknown)
    assert "lost too" in found.cluster.reason
    empty = AnsweringBrokers(partitions=())
    assert seen(await asked(empty)).partitions == ()
    assert empty.asked_for("min_isr") == []


def contract(enabled: str | None, *, zookeeper: bool, release: str = "3.9.2") -> Contract:
    """A contract of a migration."""
    settings = () if enabled is None else (Setting(key=MIGRATION_ENABLE, value=enabled, match=Match.EQUALS),)
    access = ZOOKEEPER if zookeeper else None
    return replace(CONTRACT, release=release, settings=(*CONTRACT.settings, *settings), zookeeper=access)


def test_who_leads_follows_from_the_contract() -> None:
    """ZooKeeper's controller leads before the migration, and after a roll back to before it."""
    assert does_zookeeper_lead(contract("false", zookeeper=True))
    assert does_zookeeper_lead(contract(None, zookeeper=True))
    assert not does_zookeeper_lead(contract("true", zookeeper=True))
    assert not does_zookeeper_lead(contract("false", zookeeper=False))


def test_brokers_of_3_9_are_asked_for_their_caches() -> None:
    """As long as the contract has 3.9, or a pod runs it; with later releases one broker is asked, as ever."""
    old = revision(replace(desired().runtime, release="3.9.2"))
    new = revision(desired().runtime)
    assert is_needed(contract(None, zookeeper=False), ())
    assert is_needed(contract(None, zookeeper=False, release="4.1.2"), (new, old))
    assert not is_needed(contract(None, zookeeper=False, release="4.1.2"), (new,))
