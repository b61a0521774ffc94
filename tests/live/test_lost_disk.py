"""Voters that die, lose their disks, or start on the wrong one."""

import shutil
from collections.abc import Callable

import pytest
from tests.live.quorum import LiveNode, LiveQuorum
from tests.live.storage import NoInitialControllers
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.quorum import QuorumAnswer
from kafka_quorum.wire.admin import KafkaControllers

pytestmark = [pytest.mark.live, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

NODES = (3000, 3001, 3002)
NewQuorum = Callable[[str], LiveQuorum]


def three_voters(quorum: LiveQuorum) -> list[LiveNode]:
    """Formats and starts three initial controllers."""
    nodes = [quorum.add_node(each) for each in NODES]
    quorum.must_format(nodes, quorum.initial_controllers(nodes))
    quorum.start(*nodes)
    return nodes


async def test_a_wiped_voter_comes_back_as_an_observer(new_quorum: NewQuorum, controllers: KafkaControllers) -> None:
    """Formatted again with -N it is an observer with its new directory id, and its old replica key stays a voter."""
    quorum = new_quorum("wiped")
    nodes = three_voters(quorum)
    leader, _ = await quorum.leader(controllers)
    lost = next(node for node in nodes if node is not leader)
    voters, old = {node.key for node in nodes}, lost.key
    lost.running.kill()
    quorum.wipe(lost)
    quorum.must_format([lost], NoInitialControllers())
    quorum.start(lost)
    answer = await quorum.observer(controllers, lost.key)
    assert lost.key != old
    assert {row.key for row in answer.voters} == voters
    assert [row.key for row in answer.observers] == [lost.key]
    stamps = {row.key: row.last_fetch_ms for row in answer.voters}
    assert stamps[old] < stamps[leader.key]
    quorum.close()


async def test_after_an_election_the_high_watermark_never_runs_ahead(
    new_quorum: NewQuorum, controllers: KafkaControllers
) -> None:
    """A new leader has a higher epoch, and reports -1 until it has a high watermark, never more than its log end."""
    quorum = new_quorum("election")
    nodes = three_voters(quorum)
    old, before = await quorum.leader(controllers)
    old.running.kill()
    looks: list[QuorumAnswer] = []

    async def recovered() -> QuorumAnswer | None:
        answer = await quorum.look(controllers)
        if answer is None:
            return None
        looks.append(answer)
        return answer if answer.high_watermark >= before.high_watermark else None

    await wait_for("a new leader with the old high watermark", recovered, pause_s=0.001)
    for answer in looks:
        (own,) = (row for row in answer.voters if row.key.node_id == answer.leader_id)
        assert answer.leader_id != old.node_id
        assert answer.leader_epoch > before.leader_epoch
        assert -1 <= answer.high_watermark <= own.log_end_offset
        assert {row.key for row in answer.voters} == {node.key for node in nodes}
    print(f"high watermark by look: {[answer.high_watermark for answer in looks]}")  # noqa: T201 - a figure for -s
    quorum.close()


async def test_a_minority_of_the_initial_controllers_has_no_leader(
    new_quorum: NewQuorum, controllers: KafkaControllers
) -> None:
    """One initial controller of three never leads; with a second one there is a leader, and the third stays a voter."""
    quorum = new_quorum("minority")
    nodes = [quorum.add_node(each) for each in NODES]
    quorum.must_format(nodes, quorum.initial_controllers(nodes))
    quorum.start(nodes[0])

    async def answers() -> bool | None:
        return bool((await controllers.api_versions(nodes[0].endpoint)).supported)

    await wait_for("the first controller", answers)
    with pytest.raises(KafkaError):
        await controllers.describe_quorum(nodes[0].endpoint)
    quorum.start(nodes[1])
    _, answer = await quorum.leader(controllers)
    assert {row.key for row in answer.voters} == {node.key for node in nodes}
    quorum.close()


async def test_kafka_does_not_start_on_an_emptied_directory(new_quorum: NewQuorum) -> None:
    """A server ends on an emptied, missing or wrong directory, because it never formats by itself."""
    quorum = new_quorum("emptied")
    node = quorum.add_node(3000)
    quorum.must_format([node], quorum.initial_controllers([node]))
    quorum.wipe(node)
    assert ended(quorum, node) == (1, "No readable meta.properties files found")
    shutil.rmtree(node.data)
    assert ended(quorum, node) == (1, "No readable meta.properties files found")
    quorum.must_format([node], quorum.initial_controllers([node]))
    quorum.write_config(node, node_id="3001")
    code, _ = ended(quorum, node)
    assert code != 0
    assert "Stored node id 3000 doesn't match previous node id 3001" in node.log.read_text()


def ended(quorum: LiveQuorum, node: LiveNode) -> tuple[int, str]:
    """How a server ends that cannot start, and whether its output has this text."""
    quorum.start(node)
    code, words = node.running.wait(60.0), "No readable meta.properties files found"
    return code, words if words in node.log.read_text() else ""


async def test_an_unresolvable_bootstrap_server_is_tolerated(
    new_quorum: NewQuorum, controllers: KafkaControllers
) -> None:
    """Controllers start, elect a leader and accept an observer although the first bootstrap servers have no address."""
    quorum = new_quorum("unresolvable")
    quorum.more_bootstrap_servers = ("no-such-host.invalid:9093", "nor-this-one.invalid:9093")
    node, newcomer = quorum.add_node(3000), quorum.add_node(3001)
    quorum.must_format([node], quorum.initial_controllers([node]))
    quorum.must_format([newcomer], NoInitialControllers())
    quorum.start(node, newcomer)
    answer = await quorum.observer(controllers, newcomer.key)
    assert [row.key for row in answer.voters] == [node.key]
    quorum.close()
