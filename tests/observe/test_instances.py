"""Container and fetch timeout of each controller, read from the present pods and not from the spec."""

from dataclasses import replace

import pytest
from tests.model.values import IDS, at_rest, key, node, pod, revision, running, runtime, with_pod

from kafka_quorum.api.properties import FETCH_TIMEOUT
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.pods import Pod, Running, Waiting
from kafka_quorum.observe.instances import FetchTimeout, fetch_timeouts, instances_of

RECORD = running()
PODS = at_rest().pods


def timing_out(text: str, number: int) -> Revision:
    """A revision with this fetch timeout."""
    return revision(runtime(config=((FETCH_TIMEOUT, text),)), number=number)


SHORT, LONG, BAD = timing_out("5000", 2), timing_out("30000", 3), timing_out("2s", 4)
ALL = (revision(), SHORT, LONG, BAD)


def timeout(of: Revision | str, revisions: tuple[Revision, ...] = ALL) -> FetchTimeout:
    """The fetch timeout of controller 3001, if its pod was made from this revision."""
    name = of if isinstance(of, str) else of.name
    return fetch_timeouts(with_pod(at_rest(), 3001, revision=name).pods, revisions).of(IDS[1])


def exactly(timeout_ms: int) -> FetchTimeout:
    """A fetch timeout that is known."""
    return FetchTimeout(least_ms=timeout_ms, most_ms=timeout_ms)


def test_timeout_of_the_pods_own_revision() -> None:
    """A controller has the fetch timeout of its own pod's revision, whatever revision the others have."""
    assert timeout(revision()) == exactly(2000)
    assert timeout(SHORT) == exactly(5000)
    assert fetch_timeouts(with_pod(at_rest(), 3001, revision=LONG.name).pods, ALL).of(IDS[0]) == exactly(2000)


@pytest.mark.parametrize("made_from", [BAD, "gone", ""], ids=["unreadable", "gone", "none"])
def test_timeout_that_cannot_be_read(made_from: Revision | str) -> None:
    """If the timeout cannot be read, the lower bound is the shortest known one, the upper bound the longest."""
    assert timeout(made_from) == FetchTimeout(least_ms=2000, most_ms=30_000)
    assert timeout(made_from, ()) == exactly(2000)


def test_timeout_without_a_pod() -> None:
    """Without a pod the timeout is between all known ones; with two pods between those two."""
    assert fetch_timeouts((), ALL).of(IDS[1]) == FetchTimeout(least_ms=2000, most_ms=30_000)
    twice = (replace(PODS[1], revision=SHORT.name), replace(PODS[1], name="other", revision=LONG.name))
    assert fetch_timeouts(twice, ALL).of(IDS[1]) == FetchTimeout(least_ms=5000, most_ms=30_000)


def instance(of: Pod) -> str | None:
    """The container of controller 3001."""
    return instances_of((of,), RECORD).of(key(3001))


def test_every_start_is_another_instance() -> None:
    """Another pod, another container or another start is another instance; an unchanged one is the same."""
    plain = pod(RECORD, node(RECORD, 3001), container=Running(started_at="12:00", container="0 c-1"))
    starts = (
        plain,
        replace(plain, uid="another"),
        replace(plain, container=Running(started_at="12:00", container="1 c-2")),
        replace(plain, container=Running(started_at="12:01", container="0 c-1")),
    )
    assert len({instance(one) for one in starts}) == 4
    assert instance(plain) == instance(replace(plain, resource_version="21"))


def test_instances_of_what_runs_here() -> None:
    """Our controllers that do not run or are being deleted have no instance; replicas of others have an unknown one."""
    waits = Waiting(reason="CrashLoopBackOff", message="", last_exit=None)
    assert instance(replace(PODS[1], container=waits)) is None
    assert instance(replace(PODS[1], deleting=True)) is None
    assert instances_of((), RECORD).of(key(3001)) is None
    assert instances_of((), None).of(key(3001)) == ""
    assert instances_of(PODS, RECORD).of(key(4000)) == ""
    left = replace(PODS[1], node_id=NodeID(4000))
    assert instances_of((left,), RECORD).of(key(4000)) is None
    assert instances_of(PODS, RECORD).of(key(3001, 2)) is None
