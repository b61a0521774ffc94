"""The soak: for how long all have been well at the present levels, counted by looks alone."""

from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import SILENT, key, node, pod, running, saying, speaking, view, with_pod

from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Memory, Soak
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import Waiting
from kafka_quorum.observe.soak import soaked

THREE = (key(3000), key(3001), key(3002))
NOW_S = 1000.0
STOPPED = Waiting(reason="ContainerCreating", message="", last_exit=None)


def look(before: Soak | None = None, *, written: Soak | None = None, epoch: int = 7, **changes: Any) -> Observed:  # noqa: ANN401 - as in `at_rest`
    """Three controllers that are well at this epoch, with these soaks in the memory and in the status."""
    seen = speaking(running(), saying(epoch=epoch), **changes)
    return replace(seen, memory=Memory(soak=before), status=replace(seen.status, soak=written))


def soak(healthy_s: float, seen_at_s: float | None = NOW_S, epoch: int = 7) -> Soak:
    """A soak of this length at this epoch."""
    return Soak(epoch=epoch, healthy_s=healthy_s, seen_at_s=seen_at_s)


def test_first_look() -> None:
    """The first look counts as zero, and the count begins there."""
    assert soaked(look(), NOW_S) == soak(0.0)


def test_time_between_two_good_looks() -> None:
    """The time between two looks counts if all were well at both."""
    assert soaked(look(soak(30.0, NOW_S - 4.0)), NOW_S) == soak(34.0)


@pytest.mark.parametrize(("gap_s", "counts_s"), [(15.0, 15.0), (16.0, 15.0), (3600.0, 15.0), (-5.0, 0.0)])
def test_long_gaps_are_capped(gap_s: float, counts_s: float) -> None:
    """Of a long gap only 15 s count; if the clock jumps back, nothing counts."""
    assert soaked(look(soak(30.0, NOW_S - gap_s)), NOW_S) == soak(30.0 + counts_s)


def test_gap_after_a_look_that_could_not_tell() -> None:
    """The time since a look without an answer does not count."""
    assert soaked(look(soak(30.0, None)), NOW_S) == soak(30.0)


def test_goes_on_from_the_status() -> None:
    """An operator that starts continues from the status, and does not count the time between."""
    assert soaked(look(written=soak(45.0, None)), NOW_S) == soak(45.0)


def test_memory_before_status() -> None:
    """The remembered soak has priority over the one in the status, which is rounded."""
    assert soaked(look(soak(48.0, NOW_S), written=soak(45.0, None)), NOW_S) == soak(48.0)


@pytest.mark.parametrize("where", ["memory", "status"])
def test_other_levels_begin_anew(where: str) -> None:
    """After a change of a level the soak begins again, whatever caused the change."""
    old = soak(50.0, NOW_S - 1.0, epoch=6)
    seen = look(old) if where == "memory" else look(written=old)
    assert soaked(seen, NOW_S) == soak(0.0)


UNWELL: dict[str, Observed] = {
    "a voter lags": look(soak(50.0), quorum=Known(value=view(THREE, behind=THREE[2:]))),
    "uncommitted": look(soak(50.0), quorum=Known(value=view(THREE, committed=False))),
    "changing": look(soak(50.0), quorum=Known(value=replace(view(THREE), committed_voters=frozenset(THREE[:2])))),
    "does not run": with_pod(look(soak(50.0)), 3001, container=STOPPED),
    "on its way out": with_pod(look(soak(50.0)), 3001, deleting=True),
    "no pod": replace(look(soak(50.0)), pods=look().pods[:2]),
    "no record": replace(look(soak(50.0)), record=None),
    "silent": replace(look(soak(50.0)), versions=(*look().versions[:2], (key(3002).node_id, Unknown(reason="busy")))),
    "other levels": replace(
        look(soak(50.0)), versions=(*look().versions[:2], (key(3002).node_id, Known(value=saying("4.1.2", epoch=6))))
    ),
}


@pytest.mark.parametrize("how", UNWELL)
def test_anything_else_begins_anew(how: str) -> None:
    """A look at which not all are well starts the soak over, and the time from it does not count."""
    assert soaked(UNWELL[how], NOW_S + 1.0) == soak(0.0, None)


def test_stray_observer_is_no_matter() -> None:
    """An observer that lags does not interrupt the soak: only voters and controllers count."""
    late = key(3003)
    seen = look(soak(30.0, NOW_S - 1.0), quorum=Known(value=view(THREE, (late,), behind=(late,))))
    assert soaked(seen, NOW_S) == soak(31.0)


def test_look_without_an_answer_says_nothing() -> None:
    """Without a leader, or without its levels, the soak is kept, but the time does not count."""
    assert soaked(replace(look(soak(30.0)), quorum=SILENT), NOW_S) == soak(30.0, None)
    busy = (key(3000).node_id, Unknown(reason="busy"))
    assert soaked(replace(look(soak(30.0)), versions=(busy, *look().versions[1:])), NOW_S) == soak(30.0, None)
    assert soaked(look(soak(30.0), epoch=-1), NOW_S) == soak(30.0, None)
    assert soaked(replace(look(), quorum=SILENT), NOW_S) is None
    assert soaked(replace(look(), versions=()), NOW_S) is None


def test_leader_at_epoch_zero() -> None:
    """Epoch 0 is an epoch like any other."""
    assert soaked(look(epoch=0), NOW_S) == soak(0.0, epoch=0)


def test_pod_of_another_role_is_none() -> None:
    """A formatter that runs does not count as a running controller."""
    seen = look(soak(50.0))
    formatter = replace(pod(running(), node(running(), 3001)), role=type(seen.pods[0].role).FORMATTER)
    pods = tuple(formatter if one.node_id == 3001 else one for one in seen.pods)
    assert soaked(replace(seen, pods=pods), NOW_S) == soak(0.0, None)
