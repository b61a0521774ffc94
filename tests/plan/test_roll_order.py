"""Which controller of a roll is next, if some of them do not run, lag, or are moved by the record already."""

from dataclasses import replace
from typing import Any

from tests.model.values import (
    desired,
    key,
    kube_nodes,
    looks,
    revision,
    running,
    runtime,
    situation,
    speaking,
    view,
    with_pod,
)
from tests.plan.reading import wait

from kafka_quorum.model.actions import RecordChange, WriteRecord
from kafka_quorum.model.identity import with_revision
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import Waiting
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.releases.rolls import roll

LARGER = runtime(heap="1Gi")
NEW = revision(LARGER, number=2)
STARTS = Waiting(reason="ContainerCreating", message="", last_exit=None)


def rolling(voters: int, *moved: int, behind: tuple[int, ...] = ()) -> Observed:
    """A roll to a larger heap; the record has moved some controllers, and none of them runs from it yet."""
    keys = [key(3000 + index) for index in range(voters)]
    seen = view(keys, behind=[key(of) for of in behind])
    record = with_revision(running(voters), NEW.name, map(NodeID, moved))
    look = speaking(record, revisions=(revision(), NEW), quorum=Known(value=seen), memory=looks(seen))
    for of in moved:
        look = with_pod(look, of, revision=revision().name)
    return look


def next_of(look: Observed, **changes: Any) -> Part:  # noqa: ANN401 - whatever a spec holds
    """What the roll does next."""
    return roll(situation(desired=desired(runtime=LARGER, **changes), observed=look))


def moved_by(part: Part) -> set[int]:
    """The controllers of the new revision, by the record that the roll writes."""
    assert isinstance(part.exclusive, WriteRecord)
    assert part.exclusive.change is RecordChange.ROLL
    return {int(of.node_id) for of in part.exclusive.record.nodes if of.revision == NEW.name}


def test_a_controller_that_does_not_run_is_moved_beside_one_that_runs() -> None:
    """While a moved controller still runs from the old revision, one that does not run gets the new one too."""
    look = with_pod(rolling(3, 3001, behind=(3002,)), 3002, container=STARTS, gate="False")
    assert moved_by(next_of(look)) == {3001, 3002}


def test_a_controller_that_has_just_stopped_is_moved_first() -> None:
    """A controller that does not run counts as lagging at once, even if the leader has not noticed that yet."""
    look = with_pod(rolling(3, 3001), 3002, container=STARTS, gate="False")
    assert moved_by(next_of(look)) == {3001, 3002}


def test_of_two_that_lag_the_moved_one_is_first() -> None:
    """Of two lagging controllers, the one that the record has moved is restarted first, whatever its id is."""
    look = rolling(5, 3004, behind=(3003, 3004))
    questions = next_of(look, replicas=5).questions
    assert [question.node_id for question in questions] == [3004]


def test_a_controller_that_ends_on_a_lost_node_delays_no_other() -> None:
    """A moved controller that ends on a node that is down keeps no other one that does not run from the revision."""
    look = rolling(3, 3001, behind=(3001, 3002))
    look = with_pod(look, 3001, container=STARTS, deleting=True)
    look = with_pod(look, 3002, container=STARTS, gate="False")
    held = next_of(look)
    assert (held.exclusive, wait(held, "Rolling").node_id) == (None, 3002)
    down = replace(look, kube_nodes=kube_nodes(["worker-3001"], ready=False))
    assert moved_by(next_of(down)) == {3001, 3002}
