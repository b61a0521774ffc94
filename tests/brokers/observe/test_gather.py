"""One look: which servers are asked, what is asked of them, and what is remembered of their settings."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.edges import REACHED, AnsweringBrokers, api_server, contract_of, pod_name, quorum, unreachable
from tests.brokers.looks import NOW_S, edited, partition, ran, registered
from tests.brokers.values import CLUSTER, NAMESPACE, POOL, desired, record
from tests.clocks import MovingClock
from tests.kit.kube.recording import RecordingKube

from kafka_brokers.model import names
from kafka_brokers.model.disks import PoolRecord
from kafka_brokers.model.observed import Memory, Observed
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.observe.gather import CONFIGS_S, observe
from kafka_brokers.observe.snapshot import snapshot
from kafka_brokers.plan.facts import CHANGED, CORDON
from kafka_brokers.plan.guards.rule11_stops import may_stop
from kafka_quorum.errors import KafkaExpired
from kafka_quorum.model.brokers import BrokersAnswer, ConfigEntry
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.zookeeper import ZooKeeperAccess
from kit.errors import Fault, KubeUnavailable
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, NODES, PODS, VOLUMES

SPEC = desired()
RAN = ran(record(), SPEC)
CLAIM = (CLAIMS.plural, "payments-1-d0-g1")
FENCED = BrokersAnswer(cluster_id=CLUSTER, brokers=(registered(0), registered(1, fenced=True), registered(2)))


async def looked(
    kube: RecordingKube, brokers: AnsweringBrokers, memory: Memory | None = None, *, now_s: float = 100.0,
    by: PoolDesired = SPEC,
) -> Observed:  # fmt: skip
    """One look."""
    clock = MovingClock(now_s)
    taken = await snapshot(kube, NAMESPACE, POOL, clock)
    assert taken is not None
    return await observe(kube, brokers, clock, taken, by, memory or Memory())


def asked_of(brokers: AnsweringBrokers) -> list[int]:
    """The brokers whose settings were asked for."""
    return brokers.asked_for("describe_broker_config")


def of_record(of: PoolRecord) -> RecordingKube:
    """A pool with this record."""
    return api_server(of=of)


async def test_without_a_contract_nobody_is_asked() -> None:
    """The leader and the partitions are unknown."""
    kube, brokers = api_server(), AnsweringBrokers()
    del kube.objects[CONFIG_MAPS.plural, "events-brokers"]
    seen = await looked(kube, brokers)
    assert (brokers.asked, type(seen.leader), type(seen.cluster)) == ([], Unknown, Unknown)


async def test_a_pod_that_does_not_serve_is_not_asked() -> None:
    """Nor one without an address."""
    kube, brokers = api_server(), AnsweringBrokers()
    kube.objects[pod_name(0)]["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]}
    kube.objects[pod_name(1)]["status"]["podIP"] = "not an address"
    seen = await looked(kube, brokers)
    assert isinstance(seen.cluster, Known)
    assert seen.cluster.value.source == 2
    assert asked_of(brokers) == [2]
    assert [type(answer) for _, answer in seen.configs] == [Unknown, Unknown, Known]


async def test_the_look_is_as_old_as_its_first_question() -> None:
    """Guards count from there."""
    kube, brokers, clock = api_server(), AnsweringBrokers(), MovingClock(100.0)
    taken = await snapshot(kube, NAMESPACE, POOL, clock)
    assert taken is not None
    clock.seconds += 7
    seen = await observe(kube, brokers, clock, taken, SPEC, Memory())
    assert (seen.looked_at_s, taken.taken_at_s) == (107.0, 100.0)


async def test_settings_are_remembered_at_rest_and_for_thirty_seconds() -> None:
    """Then they are asked for again."""
    kube, brokers = api_server(), AnsweringBrokers()
    first = await looked(kube, brokers)
    assert asked_of(brokers) == [0, 1, 2]
    second = await looked(kube, brokers, first.memory, now_s=100.0 + CONFIGS_S)
    assert asked_of(brokers) == [0, 1, 2]
    assert second.configs == first.configs
    await looked(kube, brokers, first.memory, now_s=100.1 + CONFIGS_S)
    assert len(asked_of(brokers)) == 6


BUSY: list[PoolRecord] = [edited(RAN, 1, stopped=True), edited(RAN, 1, leaving=True)]


@pytest.mark.parametrize("of", BUSY, ids=["stopped", "leaving"])
async def test_settings_are_asked_for_in_every_look_while_brokers_stop(of: PoolRecord) -> None:
    """The answer is the proof that a broker runs now."""
    kube, brokers = of_record(of), AnsweringBrokers()
    first = await looked(kube, brokers)
    await looked(kube, brokers, first.memory)
    assert len(asked_of(brokers)) == 6


async def test_settings_are_asked_for_again_before_they_are_acted_upon() -> None:
    """A broker that did not answer, has another setting than the spec, or is cordoned; also before a roll."""
    rolled = desired({"config": {"auto.create.topics.enable": "false"}})
    dynamic = desired({"config": {"message.max.bytes": "5"}})
    cordon = (ConfigEntry(name=CORDON, value="*", source=CHANGED, read_only=False),)
    silent = AnsweringBrokers(errors={("describe_broker_config", 1): unreachable()})
    for brokers, by in (
        (AnsweringBrokers(), rolled),
        (AnsweringBrokers(), dynamic),
        (AnsweringBrokers(configs={1: cordon}), SPEC),
        (silent, SPEC),
    ):
        kube = api_server()
        first = await looked(kube, brokers, by=by)
        await looked(kube, brokers, first.memory, by=by)
        assert len(asked_of(brokers)) == 6


async def test_other_brokers_than_those_remembered_are_asked() -> None:
    """One has become unfenced, or is gone."""
    kube, brokers = api_server(), AnsweringBrokers(cluster=FENCED)
    first = await looked(kube, brokers)
    assert asked_of(brokers) == [0, 2]
    brokers.cluster = AnsweringBrokers().cluster
    await looked(kube, brokers, first.memory)
    assert asked_of(brokers) == [0, 2, 0, 1, 2]


async def test_another_container_of_a_broker_is_asked_itself() -> None:
    """The session of the process before keeps it unfenced, and its next process follows the metadata log at once."""
    kube, brokers = api_server(), AnsweringBrokers()
    first = await looked(kube, brokers)
    assert may_stop(SPEC, first, (NodeID(0),), NOW_S).allowed
    kube.objects[pod_name(1)]["status"]["containerStatuses"][0]["containerID"] = "next"
    silent = AnsweringBrokers(errors={("describe_broker_config", 1): unreachable()})
    second = await looked(kube, silent, first.memory, now_s=105.0)
    assert may_stop(SPEC, second, (NodeID(0),), NOW_S).reason.startswith("broker 1 does not answer at this moment")


def beside_another_pool(container: str = "one") -> RecordingKube:
    """A pool beside broker 9 of another one, which runs in this container."""
    kube = api_server()
    body = deepcopy(kube.objects[pod_name(1)])
    body["metadata"] |= {"name": "other-9-broker", "uid": "p9", "ownerReferences": []}
    body["metadata"]["labels"] |= {names.LABEL_NODE: "9", names.LABEL_POOL: "other"}
    body["status"]["containerStatuses"][0]["containerID"] = container
    kube.put(PODS, body)
    return kube


def with_nine(**more: Any) -> AnsweringBrokers:  # noqa: ANN401 - any field
    """Broker 9 is registered, too."""
    cluster = BrokersAnswer(cluster_id=CLUSTER, brokers=tuple(map(registered, (0, 1, 2, 9))))
    return AnsweringBrokers(cluster=cluster, **more)


async def test_brokers_of_other_pools_are_asked_whether_they_answer() -> None:
    """At rest once in thirty seconds, and again if one did not answer, or another container of it runs."""
    brokers = with_nine()
    first = await looked(beside_another_pool(), brokers)
    (peer,) = first.peers
    assert first.answers(peer) == Known(value=None)
    await looked(beside_another_pool(), brokers, first.memory)
    assert brokers.asked_for("api_versions") == [9]
    await looked(beside_another_pool("two"), brokers, first.memory)
    assert brokers.asked_for("api_versions") == [9, 9]
    silent = with_nine(errors={("api_versions", 9): unreachable()})
    second = await looked(beside_another_pool(), silent)
    assert isinstance(second.answers(peer), Unknown)
    await looked(beside_another_pool(), silent, second.memory)
    assert silent.asked_for("api_versions") == [9, 9]


async def test_a_certificate_that_has_ended_is_no_silence() -> None:
    """Such a broker refuses every new connection, and may run all the same."""
    error = KafkaExpired("ended", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)
    seen = await looked(beside_another_pool(), with_nine(errors={("api_versions", 9): error}))
    assert seen.answers(seen.peers[0]) == Known(value=None)


async def test_settings_are_not_remembered_as_answers_when_nothing_is_known() -> None:
    """A look without partitions has no settings either."""
    kube, brokers = api_server(), AnsweringBrokers()
    first = await looked(kube, brokers)
    brokers.quorums = {}
    assert (await looked(kube, brokers, first.memory)).configs == ()


async def test_directories_are_asked_of_brokers_that_leave_without_partitions() -> None:
    """Only of those: an answer has every replica of a broker."""
    brokers = AnsweringBrokers(partitions=(partition("t-0", [0, 1]),), least={"t": 1})
    seen = await looked(of_record(edited(edited(RAN, 1, leaving=True), 2, leaving=True)), brokers)
    assert [node for node, _ in seen.log_dirs] == [2]
    never = edited(RAN, 2, leaving=True, ran=False)
    assert (await looked(of_record(never), brokers)).log_dirs == ()
    assert (await looked(of_record(RAN), brokers)).log_dirs == ()


# Kubernetes nodes


async def test_nodes_are_asked_for_only_where_they_decide_something() -> None:
    """Not at rest; those of brokers that are fenced, not registered, or unknown, and of pods that may be stopped."""
    assert (await looked(api_server(), AnsweringBrokers())).kube_nodes == ()
    fenced = await looked(api_server(), AnsweringBrokers(cluster=FENCED))
    assert [name for name, _ in fenced.kube_nodes] == ["worker-1"]
    unknown = await looked(api_server(), AnsweringBrokers(quorums={}))
    assert len(unknown.kube_nodes) == 3
    rolled = desired({"config": {"auto.create.topics.enable": "false"}})
    outdated = await looked(api_server(), AnsweringBrokers(), by=rolled)
    assert len(outdated.kube_nodes) == 3
    racks = {"rack": {"topologyKey": "zone"}}
    assert len((await looked(api_server(racks), AnsweringBrokers(), by=desired(racks))).kube_nodes) == 3


async def test_a_node_that_is_gone_is_not_ready_and_one_without_an_answer_is_unknown() -> None:
    """An error is no "no"."""
    kube, brokers = api_server(), AnsweringBrokers(cluster=FENCED)
    del kube.objects[NODES.plural, "worker-1"]
    ((_, gone),) = (await looked(kube, brokers)).kube_nodes
    assert isinstance(gone, Known)
    assert not gone.value.ready
    kube.errors["get", NODES.plural] = KubeUnavailable("no answer")
    ((_, unknown),) = (await looked(kube, brokers)).kube_nodes
    assert isinstance(unknown, Unknown)


async def test_what_a_node_says() -> None:
    """Ready only with that condition; its labels; whether it takes new pods."""
    kube, brokers = api_server(), AnsweringBrokers(cluster=FENCED)
    node = kube.objects[NODES.plural, "worker-1"]
    node["metadata"]["labels"] = {"zone": "a", "odd": 7}
    node["spec"] = {"unschedulable": True}
    node["status"] = {}
    ((_, found),) = (await looked(kube, brokers)).kube_nodes
    assert isinstance(found, Known)
    assert (found.value.ready, found.value.cordoned, found.value.labels) == (False, True, (("zone", "a"),))


async def test_the_only_node_that_reaches_a_volume_is_known_for_suspects() -> None:
    """Of a local volume; not of one that any node reaches, nor if the volume cannot be read."""
    kube, brokers = api_server(), AnsweringBrokers(cluster=FENCED)
    for node in range(3):
        kube.objects[CLAIMS.plural, f"payments-{node}-d0-g1"]["spec"]["volumeName"] = f"pv-{node}"
        terms = [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [f"worker-{node}"]}]}
        ]
        affinity = {"required": {"nodeSelectorTerms": terms}}
        kube.put(
            VOLUMES, {"metadata": {"name": f"pv-{node}"}, "spec": {"local": {"path": "/d"}, "nodeAffinity": affinity}}
        )
    seen = await looked(kube, brokers)
    assert [one.bound_to for one in seen.claims] == ["", "worker-1", ""]
    kube.errors["get", VOLUMES.plural] = KubeUnavailable("no answer")
    assert [one.bound_to for one in (await looked(kube, brokers)).claims] == ["", "", ""]
    del kube.errors["get", VOLUMES.plural]
    del kube.objects[VOLUMES.plural, "pv-1"]
    assert [one.bound_to for one in (await looked(kube, brokers)).claims] == ["", "", ""]


async def test_the_memory_is_that_of_this_look() -> None:
    """What needs several looks is counted here, whether the pass acts or not."""
    kube, brokers = api_server(), AnsweringBrokers(cluster=FENCED)
    del kube.objects[NODES.plural, "worker-1"]
    first = await looked(kube, brokers)
    second = await looked(kube, brokers, first.memory, now_s=110.0)
    assert second.memory.node_down_for_s(NodeID(1)) == pytest.approx(10.0, abs=0.01)
    assert (second.memory.looked_s, replace(second.memory).configs_s) == (110.0, 100.0)
    assert isinstance((await looked(kube, AnsweringBrokers(quorums={3000: quorum([])}))).cluster, Unknown)


async def test_a_broker_in_contact_ends_what_was_counted_of_its_node() -> None:
    """Its node is not asked for then, and may be silent all the time."""
    kube, brokers = api_server(), AnsweringBrokers(cluster=FENCED)
    del kube.objects[NODES.plural, "worker-1"]
    seen = await looked(kube, brokers)
    seen = await looked(kube, brokers, seen.memory, now_s=110.0)
    seen = await looked(kube, AnsweringBrokers(), seen.memory, now_s=120.0)
    assert seen.memory.node_down_for_s(NodeID(1)) == 0.0
    seen = await looked(kube, brokers, seen.memory, now_s=130.0)
    assert seen.memory.node_down_for_s(NodeID(1)) < 1.0


async def test_brokers_with_zookeeper_are_asked_for_their_caches() -> None:
    """The contract decides: without a KRaft leader, a look of every cache shows all that a stop depends on."""
    brokers = AnsweringBrokers(quorums={})
    contract = replace(REACHED, release="3.9.2", zookeeper=ZooKeeperAccess(connect="zoo:2181"))
    kube = api_server(contract=contract)
    seen = await looked(kube, brokers, by=desired(contract=contract))
    assert isinstance(seen.leader, Known)
    assert isinstance(seen.cluster, Known)
    assert brokers.asked_for("metadata") == [0, 1, 2]
    assert {"describe_quorum", "describe_partitions", "describe_brokers"}.isdisjoint(
        {name for name, _ in brokers.asked}
    )
    assert may_stop(desired(), seen, (NodeID(0),), NOW_S).allowed


async def test_brokers_of_3_9_are_asked_for_their_caches_until_none_runs() -> None:
    """After the release rose, pods of the earlier one are not asked what they cannot answer."""
    brokers, kube = AnsweringBrokers(), api_server(contract=replace(REACHED, release="3.9.2"))
    kube.put(CONFIG_MAPS, contract_of(REACHED))
    await looked(kube, brokers)
    assert brokers.asked_for("metadata") == [0, 1, 2]
    assert brokers.asked_for("describe_quorum") == [3000, 3001, 3002]
