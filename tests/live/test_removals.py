"""RemoveRaftVoter's real answers, case by case of `answers.REMOVE_VOTER`, and the state of a quorum after them."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
import pytest_asyncio
from tests.live.answers import DURING_A_CHANGE, REMOVE_VOTER, Asked, Cluster, Removed, RemoveVoterCase, Second
from tests.live.broker_worlds import releases
from tests.live.jars import ensure_kafka
from tests.live.quorum import FATAL_REMOVAL, LiveNode, LiveQuorum, new_uuid
from tests.live.storage import NoInitialControllers
from tests.live.waiting import NeverHappenedError, wait_for

from kafka_quorum.errors import KafkaError, KafkaRefused, KafkaUnreachable
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.quorum import AddVoter, QuorumAnswer, RemoveVoter, Replica
from kafka_quorum.wire.admin import KafkaControllers

pytestmark = [pytest.mark.live, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

VOTERS, OBSERVER = (3000, 3001, 3002), 3003
_STEADY_S = 1.0
"""How long a leader must have led before a case begins, because the effects of another case may cost one more."""
_OLD_MEMORY_S = 30.0
"""How long controllers have to be three voters again, before all of them restart."""
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The controllers of a case by their roles."""

    leader: LiveNode
    first: LiveNode
    second: LiveNode


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Three voters and a caught-up observer; `whole` restores this after every case."""

    quorum: LiveQuorum
    controllers: KafkaControllers

    async def whole(self) -> Cast:
        """Waits until all of them run, all three are committed voters and fetch, and the observer has caught up.

        All controllers restart if one of them was frozen: a leader whose followers were frozen may have an old voter
        set in memory (`test_a_leader_that_lost_its_tail_misses_a_voter_change`). So may one whose followers were slow,
        on a busy machine: it refuses a caught-up observer as lagging for as long as it leads. They restart then, too.
        """
        if any(node.running.was_frozen for node in self.quorum.nodes.values()):
            self.kill_all()
        self.quorum.start(*(node for node in self.quorum.nodes.values() if node.running.exit_code is not None))
        voters = [self.quorum.nodes[NodeID(each)] for each in VOTERS]

        async def complete() -> bool | None:
            _, answer = await self.quorum.leader(self.controllers)
            for node in voters:
                if node.key not in keys(answer):
                    await self.add_again(node)
                    return None
            return True

        try:
            await wait_for("three voters", complete, deadline_s=_OLD_MEMORY_S)
        except NeverHappenedError as error:
            print(f"all restart: {error}; {await self.quorum.look(self.controllers)}")  # noqa: T201 - for a person
            self.kill_all()
            self.quorum.start(*self.quorum.nodes.values())
            await wait_for("three voters", complete)
        await self.quorum.observer_again(self.controllers, self.observer)
        seen: list[tuple[int, float, int]] = []

        async def all_fetch() -> QuorumAnswer | None:
            answer = await self.quorum.look(self.controllers)
            if answer is None or not {node.key for node in voters} <= keys(answer):
                seen.clear()
                return None
            now_ms, now_s = max(row.last_fetch_ms for row in answer.voters), time.monotonic()
            if not all(now_ms - row.last_fetch_ms < 1_000 for row in answer.voters):
                return None
            if not seen or seen[0][0] != answer.leader_epoch:
                seen[:] = [(answer.leader_epoch, now_s, own_row(answer).log_end_offset)]
            _, since_s, end = seen[0]
            committed = answer.high_watermark >= end  # the voter set of the first such answer, too
            return answer if committed and now_s - since_s >= _STEADY_S else None

        leader = self.quorum.nodes[(await wait_for("three voters that fetch", all_fetch)).leader_id]
        first, second = (node for node in voters if node is not leader)
        return Cast(leader=leader, first=first, second=second)

    def kill_all(self) -> None:
        """Ends every process, and with it what is only in memory."""
        for node in self.quorum.nodes.values():
            node.running.kill()

    async def add_again(self, node: LiveNode) -> None:
        """Makes it a voter again, after it has caught up, unless it is one: its removal was never committed."""
        await self.quorum.observer_again(self.controllers, node, or_voter=True)
        leader, answer = await self.quorum.leader(self.controllers)
        if node.key in keys(answer):
            return
        await self.controllers.add_voter(leader.endpoint, self.adding(node))

    @property
    def observer(self) -> LiveNode:
        """The one that is not a voter."""
        return self.quorum.nodes[NodeID(OBSERVER)]

    def adding(self, node: LiveNode) -> AddVoter:
        """A correct request to add it."""
        own = self.quorum.cluster_id
        return AddVoter(cluster_id=own, voter=node.key, listeners=(node.listener,), timeout_ms=10_000)

    def removing(self, voter: ReplicaKey) -> RemoveVoter:
        """A correct request to remove it."""
        return RemoveVoter(cluster_id=self.quorum.cluster_id, voter=voter)


def keys(answer: QuorumAnswer) -> set[ReplicaKey]:
    """The voter set."""
    return {row.key for row in answer.voters}


def own_row(answer: QuorumAnswer) -> Replica:
    """The leader's own row, among voters or observers."""
    (row,) = (row for row in (*answer.voters, *answer.observers) if row.key.node_id == answer.leader_id)
    return row


@asynccontextmanager
async def frozen(*nodes: LiveNode) -> AsyncIterator[None]:
    """Freezes them for a while."""
    for node in nodes:
        node.running.freeze()
    try:
        yield
    finally:
        for node in nodes:
            node.running.thaw()


def begun(quorum: LiveQuorum, controllers: KafkaControllers) -> World:
    """Formats and starts three voters and an observer."""
    voters, observer = [quorum.add_node(each) for each in VOTERS], quorum.add_node(OBSERVER)
    quorum.must_format(voters, quorum.initial_controllers(voters))
    quorum.must_format([observer], NoInitialControllers())
    quorum.start(*voters, observer)
    return World(quorum=quorum, controllers=controllers)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers) -> AsyncIterator[World]:
    """Starts one for all tests that freeze and kill."""
    quorum = new_quorum("removals")
    yield begun(quorum, controllers)
    quorum.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=[*releases("4.1.2"), "3.9.2"])
async def calm(
    request: pytest.FixtureRequest, new_quorum: Callable[[str], LiveQuorum], controllers: KafkaControllers
) -> AsyncIterator[World]:
    """Starts another one for the table, of every release, so that no change of another test is still in progress."""
    quorum = new_quorum("removal-answers")
    quorum.kafka = ensure_kafka(str(request.param))
    yield begun(quorum, controllers)
    quorum.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alone(new_quorum: Callable[[str], LiveQuorum]) -> AsyncIterator[LiveQuorum]:
    """A quorum of one."""
    quorum = new_quorum("alone")
    node = quorum.add_node(VOTERS[0])
    quorum.must_format([node], quorum.initial_controllers([node]))
    quorum.start(node)
    yield quorum
    quorum.close()


def key_of(removed: Removed, cast: Cast, observer: ReplicaKey) -> ReplicaKey:
    """The replica key in the request."""
    other = DirectoryID(new_uuid())
    keys_by_role = {
        Removed.LEADER: cast.leader.key,
        Removed.FIRST: cast.first.key,
        Removed.FIRST_OTHER_DIRECTORY: ReplicaKey(node_id=cast.first.node_id, directory_id=other),
        Removed.FIRST_ZERO_DIRECTORY: ReplicaKey(node_id=cast.first.node_id, directory_id=None),
        Removed.SECOND: cast.second.key,
        Removed.OBSERVER: observer,
        Removed.STRANGER: ReplicaKey(node_id=NodeID(3099), directory_id=other),
    }
    return keys_by_role[removed]


@asynccontextmanager
async def as_the_case_says(world: World, second: Second, node: LiveNode) -> AsyncIterator[None]:
    """Puts the second follower's process into the case's state, and back."""
    match second:
        case Second.RUNS:
            yield
        case Second.DEAD:
            node.running.kill()
            try:
                yield
            finally:
                world.quorum.start(node)


def met_the_defect(leader: LiveNode) -> bool:
    """Whether a leader of 3.9 ended by itself, because a removed voter still had to answer its heartbeat.

    Leaders send BeginQuorumEpoch to every voter each half of the fetch timeout (KAFKA-16536). A leader of 3.9 treats
    the answer of a replica that is no voter any more as a fatal fault. The kubelet would restart it.
    """
    if FATAL_REMOVAL not in leader.log.read_text():
        return False
    leader.running.wait()
    return True


async def outcome(controllers: KafkaControllers, asked: LiveNode, body: RemoveVoter) -> str | None:
    """Kafka's name of the error, None for success."""
    try:
        await controllers.remove_voter(asked.endpoint, body)
    except KafkaRefused as error:
        return error.name
    return None


@pytest.mark.parametrize("case", [case for case in REMOVE_VOTER if not case.alone], ids=lambda case: case.name)
async def test_remove_voter_is_answered_as_the_table_says(calm: World, case: RemoveVoterCase) -> None:
    """A real leader, or follower, answers each case as in the table, and changes its voter set only where listed."""
    for _ in range(_ATTEMPTS):
        cast = await calm.whole()
        try:
            await asked_once(calm, cast, case)
        except KafkaUnreachable:
            if not met_the_defect(cast.leader):
                raise
        else:
            return
    pytest.fail(f"the leader ended {_ATTEMPTS} times by itself")


async def asked_once(calm: World, cast: Cast, case: RemoveVoterCase) -> None:
    """Asks once, and compares the answer with the table."""
    before = keys((await calm.quorum.leader(calm.controllers))[1])
    own = calm.quorum.cluster_id
    body = RemoveVoter(
        cluster_id=own if case.cluster is Cluster.OWN else ClusterID(new_uuid()),
        voter=key_of(case.removed, cast, calm.observer.key),
    )
    asked = cast.leader if case.asked is Asked.LEADER else cast.first
    async with as_the_case_says(calm, case.second, cast.second):
        begin_s = time.monotonic()
        answered = await outcome(calm.controllers, asked, body)
        took_s = time.monotonic() - begin_s
        shown = None if case.refused else keys((await calm.quorum.leader(calm.controllers))[1])
        if case.refused:
            shown = keys(await calm.controllers.describe_quorum(cast.leader.endpoint))
    assert answered == case.refused
    assert shown == (before - {body.voter} if case.appended else before)
    assert case.at_least_s <= took_s < case.at_most_s


@pytest.mark.parametrize("case", [case for case in REMOVE_VOTER if case.alone], ids=lambda case: case.name)
async def test_the_last_voter_is_not_removed(
    alone: LiveQuorum, controllers: KafkaControllers, case: RemoveVoterCase
) -> None:
    """The only voter stays, and the error is that the voter does not exist."""
    leader, before = await alone.leader(controllers)
    answered = await outcome(controllers, leader, RemoveVoter(cluster_id=alone.cluster_id, voter=leader.key))
    assert answered == case.refused
    assert keys(await controllers.describe_quorum(leader.endpoint)) == keys(before)


# The quorum after a removal


async def test_a_leader_that_removes_itself_hands_over(world: World) -> None:
    """It answers success, then it is a follower, and one of the others leads within a moment."""
    cast = await world.whole()
    _, before = await world.quorum.leader(world.controllers)
    await world.controllers.remove_voter(cast.leader.endpoint, world.removing(cast.leader.key))
    begin_s = time.monotonic()
    with pytest.raises(KafkaRefused, match="NOT_LEADER_OR_FOLLOWER"):
        await world.controllers.describe_quorum(cast.leader.endpoint)
    again = await outcome(world.controllers, cast.leader, world.removing(cast.leader.key))
    assert again == "NOT_LEADER_OR_FOLLOWER"
    leader, answer = await world.quorum.leader(world.controllers)
    took_s = time.monotonic() - begin_s
    print(f"a leader that removed itself has a successor after {took_s:.2f} s")  # noqa: T201 - a figure for -s
    assert leader in (cast.first, cast.second)
    assert answer.leader_epoch > before.leader_epoch
    assert keys(answer) == keys(before) - {cast.leader.key}
    await world.quorum.observer(world.controllers, cast.leader.key)


async def test_a_leader_that_lost_its_tail_misses_a_voter_change(world: World) -> None:
    """A leader that truncated its log shows a removed voter, although the removal is acknowledged and in its log.

    Kafka reads each offset of the log for voter sets one time, and a truncation does not change that. So the leader
    misses a voter set below the end of the truncated tail. It acknowledges further removals without effect until its
    log is longer than that tail. The next removal has an effect.
    """
    cast = await world.whole()
    stale = cast.leader
    async with frozen(cast.first, cast.second):
        assert await outcome(world.controllers, stale, world.removing(stale.key)) == "REQUEST_TIMED_OUT"

    async def another_leads() -> QuorumAnswer | None:
        answer = await world.quorum.look(world.controllers)
        if answer is None or answer.leader_id == stale.node_id or answer.high_watermark < 0:
            return None
        return answer

    before = await wait_for("another leader", another_leads, pause_s=0.01)
    removed = world.quorum.nodes[before.leader_id]
    await world.controllers.remove_voter(removed.endpoint, world.removing(removed.key))
    (other,) = (node for node in (cast.first, cast.second) if node is not removed)
    other.running.kill()
    leader, answer = await world.quorum.leader(world.controllers)
    assert leader is stale
    assert keys(answer) == keys(before), "it shows the acknowledged removal, which is in its log"
    world.quorum.start(other)

    async def corrected() -> bool | None:
        answer = await world.controllers.describe_quorum(stale.endpoint)
        if keys(answer) == {stale.key, other.key}:
            return True
        await world.controllers.remove_voter(stale.endpoint, world.removing(removed.key))
        return None

    await wait_for("a removal that has an effect", corrected, pause_s=0.2)


async def test_a_leader_that_is_no_voter_stands_among_the_observers(world: World) -> None:
    """Until its own removal is committed it leads on, and its own row, with its clock, is among the observers."""
    cast = await world.whole()
    async with frozen(cast.first, cast.second):
        sending = asyncio.create_task(outcome(world.controllers, cast.leader, world.removing(cast.leader.key)))
        answer = await shown_without(cast.leader, cast.leader.key)
        assert await sending == "REQUEST_TIMED_OUT"
    assert keys(answer) == {cast.first.key, cast.second.key}
    assert own_row(answer) in answer.observers
    assert own_row(answer).last_fetch_ms >= max(row.last_fetch_ms for row in answer.voters)
    assert answer.high_watermark < own_row(answer).log_end_offset


async def shown_without(leader: LiveNode, voter: ReplicaKey) -> QuorumAnswer:
    """The first answer of this leader without a replica among the voters; on a separate connection."""
    watcher = KafkaControllers()

    async def shown() -> QuorumAnswer | None:
        answer = await watcher.describe_quorum(leader.endpoint)
        return None if voter in keys(answer) else answer

    try:
        return await wait_for(f"{leader.node_id} shows a set without {voter}", shown)
    finally:
        await watcher.close()


@pytest.mark.parametrize("first", ["a removal", "an add"])
async def test_during_a_change_every_other_one_is_refused(world: World, first: str) -> None:
    """While an add or a removal is uncommitted, adds and removals are refused at once, even of a non-voter."""
    cast = await world.whole()
    _, before = await world.quorum.leader(world.controllers)
    busy = KafkaControllers()

    async def change() -> None:
        if first == "an add":
            await busy.add_voter(cast.leader.endpoint, world.adding(world.observer))
        else:
            await busy.remove_voter(cast.leader.endpoint, world.removing(cast.first.key))

    async def shown() -> bool | None:
        answer = await world.controllers.describe_quorum(cast.leader.endpoint)
        return None if keys(answer) == keys(before) else True

    async with frozen(cast.first, cast.second):
        changing = asyncio.create_task(change())
        await wait_for("a changed voter set", shown)
        begin_s = time.monotonic()
        answers = [
            await outcome(world.controllers, cast.leader, world.removing(voter))
            for voter in (cast.first.key, cast.second.key, world.observer.key)
        ]
        with pytest.raises(KafkaRefused) as refusal:
            await world.controllers.add_voter(cast.leader.endpoint, world.adding(world.observer))
        took_s = time.monotonic() - begin_s
    await asyncio.gather(changing, return_exceptions=True)
    await busy.close()
    if first == "an add":
        await remove_again(world, world.observer.key)
    assert [*answers, refusal.value.name] == [DURING_A_CHANGE] * 4
    assert took_s < 1.0


async def remove_again(world: World, voter: ReplicaKey) -> None:
    """Makes it no voter again, whatever the outcome of an add was."""

    async def gone() -> bool | None:
        leader, answer = await world.quorum.leader(world.controllers)
        if voter not in keys(answer):
            return True
        await world.controllers.remove_voter(leader.endpoint, world.removing(voter))
        return None

    await wait_for(f"{voter} is no voter", gone)


async def test_a_removal_that_cannot_commit_costs_the_leader(world: World) -> None:
    """If a running voter of three is removed while another is stopped, there is no leader until that one runs again.

    The leader answers a repetition like the first request, so the answer cannot be distinguished from a refusal.
    """
    cast = await world.whole()
    _, before = await world.quorum.leader(world.controllers)
    cast.second.running.kill()
    body = world.removing(cast.first.key)
    assert await outcome(world.controllers, cast.leader, body) == "REQUEST_TIMED_OUT"
    stuck = await world.controllers.describe_quorum(cast.leader.endpoint)
    assert await outcome(world.controllers, cast.leader, body) == DURING_A_CHANGE
    assert keys(stuck) == keys(before) - {cast.first.key}
    assert stuck.high_watermark < own_row(stuck).log_end_offset

    async def no_leader() -> bool | None:
        return True if await world.quorum.look(world.controllers) is None else None

    begin_s = time.monotonic()
    await wait_for("no leader", no_leader)
    print(f"the leader gave up {time.monotonic() - begin_s:.2f} s after the answer")  # noqa: T201 - a figure for -s
    world.quorum.start(cast.second)
    _, after = await world.quorum.leader(world.controllers)
    assert keys(after) == keys(stuck)
    assert after.leader_epoch > stuck.leader_epoch
    assert await outcome(world.controllers, world.quorum.nodes[after.leader_id], body) == "VOTER_NOT_FOUND"


@pytest.mark.parametrize("end", ["kill", "terminate"])
async def test_a_leader_that_ends_during_a_removal_leaves_it_open(world: World, end: str) -> None:
    """A killed leader does not answer; a terminated one answers that it does not lead: the outcome is unknown."""
    cast = await world.whole()
    _, before = await world.quorum.leader(world.controllers)
    async with frozen(cast.first, cast.second):
        sending = asyncio.create_task(
            world.controllers.remove_voter(cast.leader.endpoint, world.removing(cast.first.key))
        )
        await shown_without(cast.leader, cast.first.key)
        if end == "kill":
            cast.leader.running.kill()
        else:
            cast.leader.running.terminate()
        with pytest.raises(KafkaError) as failure:
            await sending
    cast.leader.running.kill()
    world.quorum.start(cast.leader)
    _, after = await world.quorum.leader(world.controllers)
    assert failure.value.outcome_unknown
    if end == "kill":
        assert isinstance(failure.value, KafkaUnreachable)
    else:
        assert isinstance(failure.value, KafkaRefused)
        assert failure.value.name == "NOT_LEADER_OR_FOLLOWER"
    assert keys(after) in (keys(before), keys(before) - {cast.first.key})


async def test_what_a_new_leader_reports_of_others_begins_with_their_first_fetch(world: World) -> None:
    """On a new leader, voters have -1 until they fetch; observers, and removed voters, are not listed before."""
    cast = await world.whole()
    cast.leader.running.kill()
    looks: list[QuorumAnswer] = []

    async def observer_listed() -> QuorumAnswer | None:
        answer = await world.quorum.look(world.controllers)
        if answer is None or answer.leader_id == cast.leader.node_id:
            return None
        looks.append(answer)
        return answer if world.observer.key in {row.key for row in answer.observers} else None

    last = await wait_for("the observer at a new leader", observer_listed, pause_s=0.001)
    leader = world.quorum.nodes[last.leader_id]
    dead = cast.leader.key
    assert all(row.last_fetch_ms >= 0 for answer in looks for row in answer.observers)
    assert all(row.last_fetch_ms == -1 for answer in looks for row in answer.voters if row.key == dead)
    await world.quorum.leader(world.controllers)
    await world.controllers.remove_voter(leader.endpoint, world.removing(dead))
    answer = await world.controllers.describe_quorum(leader.endpoint)
    world.quorum.start(cast.leader)
    assert dead not in {row.key for row in (*answer.voters, *answer.observers)}


async def test_a_removed_voter_observes_on(world: World) -> None:
    """A removed voter is an observer with its stamps, and a second removal of its key finds no voter."""
    cast = await world.whole()
    before = await world.controllers.describe_quorum(cast.leader.endpoint)
    body = world.removing(cast.first.key)
    assert await outcome(world.controllers, cast.leader, body) is None
    after = await world.controllers.describe_quorum(cast.leader.endpoint)
    (old,) = (row for row in before.voters if row.key == cast.first.key)
    (new,) = (row for row in after.observers if row.key == cast.first.key)
    assert new.last_fetch_ms >= old.last_fetch_ms > 0
    assert await outcome(world.controllers, cast.leader, body) == "VOTER_NOT_FOUND"
    later = await world.quorum.observer(world.controllers, cast.first.key, fetched_after_ms=new.last_fetch_ms)
    assert cast.first.key not in keys(later)
