"""When a restarted voter is caught up: its stamp outlives its process, for as long as the fetch timeout allows.

With a fetch timeout of 10 s as the window, a stamp shows a voter as caught up before its process has fetched anything.
So the operator uses its own rule: a short window, and a stamp that this container has earned.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

import pytest
import pytest_asyncio
from tests.live.quorum import LiveQuorum
from tests.live.waiting import wait_for

from kafka_quorum.api.properties import FETCH_TIMEOUT
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.quorum import QuorumAnswer, Replica
from kafka_quorum.observe.instances import Instances
from kafka_quorum.observe.quorum import view
from kafka_quorum.wire.admin import KafkaControllers

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]

_TIMEOUT_MS: Final = 10_000


@pytest_asyncio.fixture
async def quorum(new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers) -> AsyncIterator[LiveQuorum]:
    """Three voters with a long fetch timeout."""
    made = new_quorum("catching-up")
    made.config = {FETCH_TIMEOUT: str(_TIMEOUT_MS)}
    nodes = [made.add_node(node_id) for node_id in (3000, 3001, 3002)]
    made.must_format(nodes, made.initial_controllers(nodes))
    made.start(*nodes)
    await made.leader(controllers)
    yield made
    made.close()


def now_ms(answer: QuorumAnswer) -> int:
    """The leader's present time."""
    return next(row.last_fetch_ms for row in answer.voters if row.key.node_id == answer.leader_id)


def row_of(answer: QuorumAnswer, key: ReplicaKey) -> Replica:
    """The row of a voter."""
    return next(row for row in answer.voters if row.key == key)


async def test_stamp_outlives_its_process(quorum: LiveQuorum, controllers: KafkaControllers) -> None:
    """By the fetch timeout a restarted voter is caught up before its first fetch; by the operator's rule after it."""
    leader, answer = await quorum.leader(controllers)
    node = next(one for one in quorum.nodes.values() if one is not leader)
    keys = {one.key for one in quorum.nodes.values()}
    before = {key: f"{key} first" for key in keys}
    after = {**before, node.key: "another container"}
    memory, ages_ms = Memory(), []

    async def look(instances: dict[ReplicaKey, str]) -> tuple[QuorumAnswer, bool, bool]:
        """The answer, and whether the voter is caught up: by the fetch timeout, and by the operator's rule."""
        nonlocal memory
        said = await controllers.describe_quorum(leader.endpoint)
        seen = Instances(own=frozenset(quorum.nodes), running=instances)
        found, memory = view(said, memory, live_within_ms=_TIMEOUT_MS, taken_at_s=0.0, settles_s=0.0, instances=seen)
        by_timeout = now_ms(said) - row_of(said, node.key).last_caught_up_ms <= _TIMEOUT_MS
        return said, by_timeout, node.key in found.caught_up

    async def caught_up() -> bool | None:
        said, _, ours = await look(before)
        ages_ms.append(now_ms(said) - row_of(said, node.key).last_caught_up_ms)
        return True if ours and len(ages_ms) >= 40 else None

    await wait_for("a follower that is caught up", caught_up)
    node.running.kill()
    quorum.start(node)
    answer, by_timeout, ours = await look(after)
    first_seen_ms, stamp_ms = now_ms(answer), row_of(answer, node.key).last_caught_up_ms
    assert (by_timeout, ours) == (True, False)
    misread = 1
    while True:
        answer, by_timeout, ours = await look(after)
        earned = row_of(answer, node.key).last_caught_up_ms > first_seen_ms
        assert earned or not ours, "caught up by a stamp that the new process has not earned"
        if ours:
            break
        misread += by_timeout and row_of(answer, node.key).last_fetch_ms <= first_seen_ms
        await asyncio.sleep(0.05)
    assert misread > 1
    print(  # noqa: T201 - a measurement
        f"\nstamps of a follower at most {max(ages_ms)} ms old; after its restart {misread} looks would have called it "
        f"caught up before its first fetch; caught up {now_ms(answer) - first_seen_ms} ms after it was first seen, "
        f"{now_ms(answer) - stamp_ms} ms after its last stamp"
    )
