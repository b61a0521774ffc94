"""Since when a container runs: by the operator's clock, from the start of the container."""

from dataclasses import replace

from tests.model.values import at_rest, with_pod

from kafka_quorum.model.pods import Running, Waiting
from kafka_quorum.observe.running import runs_since


def test_a_container_runs_since_the_first_look_that_showed_it() -> None:
    """The time stays while the same container runs, changes after a restart, and is gone while none runs."""
    look = at_rest()
    first = runs_since(look, 10.0)
    assert {row.at_s for row in first} == {10.0}
    look = replace(look, memory=replace(look.memory, runs_since=first))
    assert runs_since(look, 50.0) == first
    restarted = with_pod(look, 3001, container=Running(started_at="", container="1 other"))
    assert sorted(row.at_s for row in runs_since(restarted, 50.0)) == [10.0, 10.0, 50.0]
    stopped = with_pod(look, 3001, container=Waiting(reason="CrashLoopBackOff", message="", last_exit=None))
    assert len(runs_since(stopped, 50.0)) == 2
