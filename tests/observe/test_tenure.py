"""For how long a leader has led, and which replicas its log may list as voters although it does not show them."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.model.values import CLUSTER, answer, key, permit

from kafka_quorum.model import actions as act
from kafka_quorum.model import permit as permits
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import QuorumView, Tenure
from kafka_quorum.model.plan import Outcome
from kafka_quorum.model.quorum import Endpoint, FeatureStep, QuorumAnswer, RemoveVoter
from kafka_quorum.observe.instances import FetchTimeout, FetchTimeouts
from kafka_quorum.observe.quorum import STEP_LATE_S, acknowledged, settles_after_s, step_until_s, view, without_answer

THREE = (key(3000), key(3001), key(3002))
NEW = key(3003)
FOUR = (*THREE, NEW)


def shows(*voters: ReplicaKey, epoch: int = 5, leader: int = 3000, **changes: Any) -> QuorumAnswer:  # noqa: ANN401 - whatever the field holds
    """The answer of this leader with these voters, committed."""
    ordered = sorted(voters, key=lambda one: one.node_id != leader)
    return answer(ordered, leader_epoch=epoch, **changes)


def look(
    said: QuorumAnswer, memory: Memory, at_s: float = 1.0, asked: ReplicaKey | None = None
) -> tuple[QuorumView, Memory]:
    """A look at this moment."""
    return view(said, memory, live_within_ms=2000, taken_at_s=at_s, settles_s=10.0, asked=asked)


def unsure_after(*answers: tuple[QuorumAnswer, ReplicaKey | None]) -> frozenset[ReplicaKey]:
    """What the last of these looks leaves in doubt."""
    memory, seen = Memory(), None
    for said, asked in answers:
        seen, memory = look(said, memory, asked=asked)
    assert seen is not None
    return seen.unsure


def acts(memory: Memory, actions: Iterable[tuple[ReplicaKey, bool]]) -> Memory:
    """The memory after requests to remove these voters, each of them acknowledged or not."""
    outcomes = [
        Outcome(
            action=act.RemoveRaftVoter(
                leader=Endpoint(node_id=NodeID(3000), host="alpha", port=9093),
                request=RemoveVoter(cluster_id=CLUSTER, voter=voter),
                judged_at_s=1.0,
                permit=permit(permits.RemoveVoter),
            ),
            done=done,
            unknown=not done,
            message="",
        )
        for voter, done in actions
    ]
    return acknowledged(memory, outcomes, 0.0)


@pytest.mark.parametrize("unknown", [True, False])
def test_a_step_without_an_answer_may_still_come(*, unknown: bool) -> None:
    """So may one of the operator before this one; one that was refused, or accepted, does not come once more."""
    send = act.StepFeature(
        leader=Endpoint(node_id=NodeID(3000), host="alpha", port=9093),
        step=FeatureStep(name="metadata.version", level=28),
        judged_at_s=1.0,
        permit=permit(permits.RaiseLevel),
    )
    began = Memory(step_until_s=step_until_s(Memory(), 100.0))
    assert began.step_until_s == step_until_s(began, 120.0) == 100.0 + STEP_LATE_S
    after = acknowledged(began, [Outcome(action=send, done=False, unknown=unknown, message="")], 120.0)
    assert after.step_until_s == (120.0 if unknown else 100.0) + STEP_LATE_S


# For how long a leader has led


def test_tenure_counts_from_the_first_look_in_one_epoch() -> None:
    """A look at the same leader in the same epoch continues the count, and a look without an answer does not end it."""
    memory, counted = Memory(), []
    for at_s, said in ((1.0, shows(*THREE)), (9.0, shows(*THREE)), (11.0, shows(*THREE))):
        seen, memory = look(said, without_answer(memory), at_s)
        counted.append((seen.tenure.for_s, seen.tenure.settled))
    assert counted == [(0.0, False), (8.0, False), (10.0, True)]


@pytest.mark.parametrize("changed", [{"epoch": 6}, {"leader": 3001}], ids=["another epoch", "another leader"])
def test_tenure_begins_again(changed: dict[str, int]) -> None:
    """Another leader, or the same one in another epoch, has not led yet."""
    _, memory = look(shows(*THREE), Memory(), 1.0)
    seen, _ = look(shows(*THREE, **changed), memory, 50.0)
    assert (seen.tenure.for_s, seen.tenure.settled) == (0.0, False)


def test_leaders_that_change_too_often_are_not_waited_for() -> None:
    """If no leader leads for long, the wait ends a minute later; after one that does it begins again."""
    memory, settled = Memory(), []
    for number in range(10):
        seen, memory = look(shows(*THREE, epoch=number), memory, 9.0 * number)
        settled.append(seen.tenure.settled)
    assert settled == [False] * 8 + [True] * 2
    seen, memory = look(shows(*THREE, epoch=9), memory, 91.0)
    assert seen.tenure.settled
    seen, memory = look(shows(*THREE, epoch=10), memory, 92.0)
    assert not seen.tenure.settled


def test_settling_time() -> None:
    """It is five times the longest fetch timeout with which any controller may run."""
    assert settles_after_s(FetchTimeouts()) == 10.0
    by_node = {
        NodeID(3000): FetchTimeout(least_ms=1000, most_ms=4000),
        NodeID(3001): FetchTimeout(least_ms=2000, most_ms=2000),
    }
    assert settles_after_s(FetchTimeouts(by_node=by_node)) == 20.0


@pytest.mark.parametrize(("settles_s", "sure_s"), [(10.0, 30.0), (50.0, 50.0)])
def test_sure_after(settles_s: float, sure_s: float) -> None:
    """A removal that no answer has confirmed counts after half a minute, and never before voters may change."""
    for for_s, sure in ((sure_s - 0.1, False), (sure_s, True)):
        assert Tenure(for_s=for_s, settles_after_s=settles_s).sure is sure


# What the log may list


def test_shown_by_an_earlier_leader() -> None:
    """A voter that a new leader does not show may be in its log; in a first look nothing is in doubt."""
    assert unsure_after((shows(*THREE), None)) == frozenset()
    assert unsure_after((shows(*FOUR), None), (shows(*THREE, epoch=6), None)) == {NEW}


def test_asked_for_under_an_earlier_leader() -> None:
    """So may a replica that an operation was to make a voter, also after that operation has ended."""
    assert unsure_after((shows(*THREE), NEW), (shows(*THREE, epoch=6), None)) == {NEW}


def test_a_leader_whose_set_changes_has_read_the_newest_one() -> None:
    """What it does not show after a change in its own epoch is not in its log; an uncommitted change shows nothing."""
    before = ((shows(*FOUR), None), (shows(*THREE, epoch=6), None))
    five = (*THREE, key(3004))
    assert unsure_after(*before, (shows(*five, epoch=6), None)) == frozenset()
    assert unsure_after(*before, (shows(*five, epoch=6, high_watermark=99), None)) == {NEW}
    assert unsure_after(*before, (shows(*five, epoch=7), None)) == {NEW}
    assert unsure_after((shows(*FOUR), None), (shows(*THREE), None), (shows(*THREE, epoch=6), None)) == frozenset()


def test_an_acknowledged_removal_is_committed() -> None:
    """A removal without an answer leaves a doubt, and an acknowledged one does not."""
    for done, doubt in ((True, frozenset[ReplicaKey]()), (False, frozenset({NEW}))):
        _, memory = look(shows(*FOUR), Memory())
        seen, _ = look(shows(*THREE, epoch=6), acts(memory, [(NEW, done)]))
        assert seen.unsure == doubt


def test_what_is_shown_again_is_in_doubt_again() -> None:
    """An old leader may write a removed voter again: what it shows counts from then on."""
    _, memory = look(shows(*FOUR), Memory())
    _, memory = look(shows(*FOUR, epoch=6), acts(memory, [(NEW, True)]))
    seen, _ = look(shows(*THREE, epoch=7), memory)
    assert seen.unsure == {NEW}
