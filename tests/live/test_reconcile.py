"""The operator's own code creates, scales and repairs quorums of real Kafka, through real crashes.

Only the API server is a model. No step of a voter set may ever be more than one replica key.
"""

import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.live.cluster import LiveCluster
from tests.live.jars import Kafka
from tests.live.recorder import faults
from tests.live.voterlog import voter_sets
from tests.live.waiting import wait_for

from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.quorum import QuorumAnswer
from kafka_quorum.resources.properties import DATA_PATH, LOG_DIR
from kit.kube.protocol import CLAIMS, Json

pytestmark = [pytest.mark.live, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

THREE = {3000, 3001, 3002}


def spec(mode: str, node_ids: set[int]) -> Json:
    """A quorum of exactly these controllers."""
    return {
        "bootstrap": {"mode": mode},
        "kafka": {"version": "4.4.0"},
        "controllers": {"replicas": len(node_ids), "nodeIDs": sorted(node_ids)},
    }


def keys(answer: QuorumAnswer) -> set[ReplicaKey]:
    """The voter set."""
    return {row.key for row in answer.voters}


def check(cluster: LiveCluster) -> None:
    """Checks that no step of the voter set, seen or logged, was more than one change."""
    volumes = [cluster.kubelet.volume(claim["metadata"]["uid"]) for claim in cluster.kube.all(CLAIMS)]
    logs = [voter_sets(volume / LOG_DIR.removeprefix(f"{DATA_PATH}/")) for volume in volumes]
    assert cluster.recorder.answers > 0
    assert any(logs)
    assert faults(cluster.recorder.seen, logs) == []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveCluster]:
    """A quorum of three, made once: every test leaves three controllers, and names them in the spec."""
    cluster = LiveCluster(kafka, tmp_path_factory.mktemp("shared"))
    await cluster.open()
    cluster.apply(spec("InitialControllers", THREE))
    await cluster.ready(THREE)
    yield cluster
    await cluster.close()


@pytest_asyncio.fixture(loop_scope="module")
async def quorum(shared: LiveCluster) -> AsyncIterator[LiveCluster]:
    """The same, Ready, and checked afterwards."""
    await shared.ready(wanted(shared))
    yield shared
    check(shared)


def wanted(cluster: LiveCluster) -> set[int]:
    """The controllers in the spec."""
    return set(cluster.resource["spec"]["controllers"]["nodeIDs"])


def grown(cluster: LiveCluster, count: int) -> set[int]:
    """The controllers in the spec, and the next free ids."""
    ids = wanted(cluster)
    free = (node_id for node_id in range(3000, 3100) if node_id not in ids)
    return ids | {next(free) for _ in range(count)}


async def test_initial_controllers_are_the_voters_that_their_disks_say(quorum: LiveCluster) -> None:
    """The leader shows the replica keys of the three meta.properties, and all three run."""
    answer = await quorum.ready(wanted(quorum))
    assert keys(answer) == {quorum.key(node_id) for node_id in wanted(quorum)}


async def test_a_standalone_quorum_grows_and_survives_the_loss_of_its_first_disk(
    kafka: Kafka, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One becomes three, and the first disk of the quorum, the leader's, is replaced like any other."""
    cluster = LiveCluster(kafka, tmp_path_factory.mktemp("standalone"))
    await cluster.open()
    try:
        cluster.apply(spec("Standalone", THREE))
        await cluster.ready(THREE)
        await lose_and_heal(cluster, 3000)
        check(cluster)
    finally:
        await cluster.close()


async def lose_and_heal(cluster: LiveCluster, node_id: int) -> None:
    """Kafka is killed and its volume emptied; the same node id becomes a voter again, with another directory id."""
    lost, others = cluster.key(node_id), wanted(cluster) - {node_id}
    began_s = time.monotonic()
    processes = {other: cluster.process(other) for other in others}
    cluster.lose_disk(node_id)

    async def replaced() -> bool | None:
        answer = await cluster.look()
        return None if answer is None or lost in keys(answer) else True

    await wait_for(f"{lost} is no voter", replaced)
    answer = await cluster.ready(wanted(cluster))
    figures = f"a voter again after {time.monotonic() - began_s:.1f} s, {cluster.recorder.gap_s():.1f} s with one less"
    print(f"controller {node_id} lost its disk: {figures}")  # noqa: T201 - a figure for -s
    assert cluster.key(node_id) in keys(answer)
    assert {other: cluster.process(other) for other in others} == processes


async def test_a_lost_disk_of_a_follower_is_replaced(quorum: LiveCluster) -> None:
    """A lost disk of a follower is replaced without a restart of another controller."""
    answer = await quorum.ready(wanted(quorum))
    await lose_and_heal(quorum, max(wanted(quorum) - {int(answer.leader_id)}))


async def test_a_lost_disk_of_the_leader_is_replaced(quorum: LiveCluster) -> None:
    """A successor leads, and the disk is replaced as for a follower."""
    answer = await quorum.ready(wanted(quorum))
    await lose_and_heal(quorum, int(answer.leader_id))


async def test_three_to_five_to_three_with_the_leader_among_the_removed(quorum: LiveCluster) -> None:
    """Controllers that stay are never restarted; those that leave lose their pod and volume."""
    five = grown(quorum, 2)
    before = {node_id: quorum.process(node_id) for node_id in wanted(quorum)}
    quorum.apply(spec("InitialControllers", five))
    answer = await quorum.ready(five)
    assert {node_id: quorum.process(node_id) for node_id in before} == before
    leaving = {int(answer.leader_id), min(five - {int(answer.leader_id)})}
    staying = {node_id: quorum.process(node_id) for node_id in five - leaving}
    quorum.apply(spec("InitialControllers", five - leaving))
    after = await quorum.ready(five - leaving)
    assert after.leader_epoch > answer.leader_epoch

    async def released() -> bool | None:
        return True if quorum.claimed == five - leaving else None

    await wait_for("the volumes of the removed are released", released)
    assert {node_id: quorum.process(node_id) for node_id in staying} == staying


@pytest.mark.parametrize("change", ["an add", "a removal"])
async def test_leader_and_operator_die_during_a_change(quorum: LiveCluster, change: str) -> None:
    """If the leader is killed and the operator ends during a change, a new operator completes it."""
    three = wanted(quorum)
    four = grown(quorum, 1)
    quorum.apply(spec("InitialControllers", four))
    if change == "a removal":
        await quorum.ready(four)
        quorum.apply(spec("InitialControllers", three))

    await wait_for("an open operation", lambda: begun(quorum), pause_s=0.001)
    answer = await quorum.look()
    leader_id = max(three) if answer is None else int(answer.leader_id)
    quorum.process(leader_id).kill()
    await quorum.stop_operator()
    quorum.start_operator()
    if change == "an add":
        await quorum.ready(four)
        quorum.apply(spec("InitialControllers", three))
    await quorum.ready(three)


async def test_an_add_waits_for_a_follower_that_stands_still(quorum: LiveCluster) -> None:
    """If a follower freezes during an add, the add is done or waits with a reason; later it is completed."""
    answer = await quorum.ready(wanted(quorum))
    three, four = wanted(quorum), grown(quorum, 1)
    follower = quorum.process(max(three - {int(answer.leader_id)}))
    quorum.apply(spec("InitialControllers", four))
    await wait_for("an open operation", lambda: begun(quorum), pause_s=0.001)
    follower.freeze()
    try:

        async def added_or_held() -> bool | None:
            seen = await quorum.look()
            added = seen is not None and len(seen.voters) == len(four)
            return True if added or "(2 of 4, and 3 are needed)" in quorum.told() else None

        await wait_for("a voter more, or the reason why not", added_or_held)
    finally:
        follower.thaw()
    await quorum.ready(four)
    quorum.apply(spec("InitialControllers", three))
    await quorum.ready(three)


async def begun(cluster: LiveCluster) -> bool | None:
    """Whether a voter change is open."""
    return bool(cluster.operation) or None
