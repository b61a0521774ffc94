"""Voter changes in special cases: what counts for a majority, what an error hides, and what Kafka does not check."""

import asyncio
from collections.abc import Callable

import pytest
from tests.live.quorum import LiveNode, LiveQuorum
from tests.live.storage import NoInitialControllers
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.quorum import AddVoter, Listener, QuorumAnswer
from kafka_quorum.wire.admin import KafkaControllers

pytestmark = [pytest.mark.live, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

NewQuorum = Callable[[str], LiveQuorum]


async def voters_and_newcomer(
    quorum: LiveQuorum, controllers: KafkaControllers, voters: int
) -> tuple[LiveNode, list[LiveNode], LiveNode]:
    """Leader, followers, and a newcomer that has caught up as an observer."""
    nodes = [quorum.add_node(3000 + each) for each in range(voters)]
    newcomer = quorum.add_node(3000 + voters)
    quorum.must_format(nodes, quorum.initial_controllers(nodes))
    quorum.must_format([newcomer], NoInitialControllers())
    quorum.start(*nodes, newcomer)
    await quorum.observer(controllers, newcomer.key)
    leader, _ = await quorum.leader(controllers)
    return leader, [node for node in nodes if node is not leader], newcomer


def add_of(quorum: LiveQuorum, newcomer: LiveNode, listener: Listener | None = None) -> AddVoter:
    """An add of the newcomer, with its own listener unless another is given."""
    listeners = (listener or newcomer.listener,)
    return AddVoter(cluster_id=quorum.cluster_id, voter=newcomer.key, listeners=listeners, timeout_ms=5000)


def keys(answer: QuorumAnswer) -> set[ReplicaKey]:
    """The voter set."""
    return {row.key for row in answer.voters}


async def test_the_newcomer_counts_towards_its_own_majority(
    new_quorum: NewQuorum, controllers: KafkaControllers
) -> None:
    """If one of two voters is stopped, a third one can still be added, because two of three commit the change."""
    quorum = new_quorum("majority")
    leader, (follower,), newcomer = await voters_and_newcomer(quorum, controllers, 2)
    before = await controllers.describe_quorum(leader.endpoint)
    follower.running.kill()
    await controllers.add_voter(leader.endpoint, add_of(quorum, newcomer))
    answer = await controllers.describe_quorum(leader.endpoint)
    assert keys(answer) == keys(before) | {newcomer.key}
    assert answer.high_watermark > before.high_watermark
    quorum.close()


async def test_a_listener_of_another_node_is_taken(new_quorum: NewQuorum, controllers: KafkaControllers) -> None:
    """Kafka does not refuse a wrong address in an add, because it accepts any node that listens there."""
    quorum = new_quorum("listener")
    leader, (follower,), newcomer = await voters_and_newcomer(quorum, controllers, 2)
    await controllers.add_voter(leader.endpoint, add_of(quorum, newcomer, follower.listener))
    assert newcomer.key in keys(await controllers.describe_quorum(leader.endpoint))
    quorum.close()


async def test_a_timed_out_add_may_happen_all_the_same(new_quorum: NewQuorum, controllers: KafkaControllers) -> None:
    """If two of three voters are frozen, an add is REQUEST_TIMED_OUT, but the leader lists the newcomer as a voter.

    That set is not committed: the high watermark stays below the log end of the look. Both ends were observed: the
    leader commits it after the followers continue, or they elect another leader without it.
    """
    quorum = new_quorum("uncommitted")
    leader, followers, newcomer = await voters_and_newcomer(quorum, controllers, 3)
    before = await controllers.describe_quorum(leader.endpoint)
    watcher = KafkaControllers()  # on its own connection, because the add occupies the other one

    async def shows_the_newcomer() -> QuorumAnswer | None:
        answer = await watcher.describe_quorum(leader.endpoint)
        return answer if newcomer.key in keys(answer) else None

    for follower in followers:
        follower.running.freeze()
    try:
        looking = asyncio.create_task(wait_for("the newcomer among the voters", shows_the_newcomer))
        with pytest.raises(KafkaRefused) as refusal:
            await controllers.add_voter(leader.endpoint, add_of(quorum, newcomer))
        shown = await looking
    finally:
        for follower in followers:
            follower.running.thaw()
        await watcher.close()
    assert refusal.value.name == "REQUEST_TIMED_OUT"
    assert refusal.value.outcome_unknown
    assert keys(shown) == keys(before) | {newcomer.key}
    (own,) = (row for row in shown.voters if row.key == leader.key)
    assert shown.high_watermark < own.log_end_offset

    async def settled() -> QuorumAnswer | None:
        answer = await quorum.look(controllers)
        return answer if answer is not None and answer.high_watermark > shown.high_watermark else None

    after = await wait_for("a leader whose high watermark moves again", settled)
    assert keys(after) in (keys(before), keys(shown))
    quorum.close()
