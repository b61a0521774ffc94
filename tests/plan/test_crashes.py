"""A Kafka that ended: the kubelet restarts a revision that has run, and any other revision may be replaced."""

from dataclasses import replace

import pytest
from tests.model.values import (
    IDS,
    SILENT,
    at_rest,
    desired,
    key,
    looks,
    node,
    pod,
    revision,
    running,
    runtime,
    situation,
    view,
    with_pod,
)

from kafka_quorum.model.identity import with_revision
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import ContainerState, Running, Terminated, Waiting
from kafka_quorum.plan.facts.podstate import has_crashed
from kafka_quorum.plan.guards.rule5_restarts import may_restart
from kafka_quorum.plan.releases.revisions import revisions

LARGER = runtime(heap="1Gi")
NEW = revision(LARGER, number=2)
OTHER = revision(runtime(heap="2Gi"), number=3)
SPEC = desired(runtime=LARGER)
CRASHED = Terminated(exit_code=1, reason="Error", message="", finished_at="")


def paused(ran_s: float) -> Waiting:
    """The kubelet pauses after a container that ran for this long."""
    return Waiting(reason="CrashLoopBackOff", message="", last_exit=replace(CRASHED, ran_s=ran_s))


def recreated(look: Observed) -> bool:
    """Whether controller 3001, in which Kafka does not run, may be recreated from the new revision."""
    assert look.record is not None
    return may_restart(situation(desired=SPEC, observed=look), node(look.record, 3001), None).allowed


@pytest.mark.parametrize(
    ("container", "crashed"),
    [
        (CRASHED, True),
        (paused(60.0), True),
        (paused(59.9), False),
        (Waiting(reason="CrashLoopBackOff", message="", last_exit=None), False),
        (Running(started_at=""), False),
    ],
    ids=["ended", "ended after a minute", "ended before", "never ran", "runs"],
)
def test_crashed(container: ContainerState, *, crashed: bool) -> None:
    """A container that ended, or that ran for a minute before the kubelet's pause, has crashed."""
    assert has_crashed(pod(running(), node(running(), 3001), container=container)) is crashed


@pytest.mark.parametrize(
    ("had_leader", "of", "allowed"),
    [(True, revision().name, False), (True, OTHER.name, True), (False, revision().name, True)],
    ids=["applied revision", "another revision", "before the first leader"],
)
def test_a_crash_without_a_leader(of: str, *, had_leader: bool, allowed: bool) -> None:
    """Without a leader, a crashed controller keeps the applied revision, if a quorum has had a leader with it."""
    record = replace(running(), had_leader=had_leader)
    look = at_rest(record, quorum=SILENT, revisions=(revision(), NEW, OTHER))
    assert recreated(with_pod(look, 3001, container=CRASHED, revision=of)) is allowed


def test_a_crash_during_a_roll() -> None:
    """A controller that crashes on the applied revision is not corrected, even if the others run from the new one."""
    record = with_revision(running(), NEW.name, [IDS[0], IDS[2]])
    seen = view([key(of) for of in IDS], behind=[key(3001)])
    look = at_rest(record, quorum=Known(value=seen), memory=looks(seen), revisions=(revision(), NEW))
    look = with_pod(look, 3001, container=CRASHED, gate="False")
    assert recreated(look), "the guard allows it, so that only the roll decides"
    assert revisions(situation(desired=SPEC, observed=look)).exclusive is None
    stuck = with_pod(look, 3001, container=paused(1.0))
    assert revisions(situation(desired=SPEC, observed=stuck)).exclusive is not None
