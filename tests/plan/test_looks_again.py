"""A pod that found its disk empty is replaced to look again exactly if a new look is all that is missing."""

from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import (
    IDS,
    LOOKED_S,
    NOW_S,
    at_rest,
    blank,
    desired,
    empty_report,
    key,
    node,
    report,
    running,
    situation,
    view,
    with_pod,
)
from tests.plan.reading import every, planned

from kafka_quorum.model.actions import DeletePod
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import Running, Waiting
from kafka_quorum.plan.guards.rule2_disks import is_look_due

PAUSED = Waiting(reason="CrashLoopBackOff", message="", last_exit=None)
TWO_RUNS = {"unseen_s": LOOKED_S - 11.0}
"""Two runs far enough apart, of which the last one ended more than 10 s ago."""


def emptied(row: dict[str, float], **changes: Any) -> Observed:  # noqa: ANN401 - whatever the field holds
    """3001's script found its disk empty, and the kubelet pauses; `row` is what is remembered of its runs."""
    seen = view([key(of) for of in IDS], behind=[key(3001)])
    look = with_pod(at_rest(quorum=Known(value=seen)), 3001, container=PAUSED, report=empty_report(), gate="False")
    rows = tuple(replace(blank(one), **row) for one in look.pods if one.node_id == IDS[1])  # type: ignore[arg-type]
    return with_pod(replace(look, memory=replace(look.memory, blank_disks=rows)), 3001, **changes)


def due(look: Observed) -> bool:
    """Whether a new look at the disk of controller 3001 is due."""
    (pod,) = (one for one in look.pods if one.node_id == IDS[1])
    return is_look_due(situation(desired=desired(), observed=look), node(running(), 3001), pod)


def runs(apart_s: float, seen_s: float, age_s: float) -> dict[str, float]:
    """Runs this far apart; the last one was first seen, and ended, this long ago."""
    return {
        "first_s": NOW_S - apart_s,
        "last_s": NOW_S,
        "first_seen_s": LOOKED_S - seen_s - apart_s,
        "last_seen_s": LOOKED_S - seen_s,
        "unseen_s": LOOKED_S - age_s,
    }


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (runs(15.0, 0.0, 10.5), True),
        (runs(15.0, 0.0, 10.0), False),
        (runs(14.5, 0.0, 10.5), False),
        (runs(14.5, 30.5, 40.0), True),
        (runs(14.5, 30.0, 40.0), False),
    ],
    ids=["two runs, late", "two runs, just in time", "one run", "one run, late", "one run, just in time"],
)
def test_when_a_look_is_due(row: dict[str, float], *, expected: bool) -> None:
    """Evidence of 15 s is late after more than 10 s, and less evidence after more than 30 s without a run."""
    assert due(emptied(row)) is expected


@pytest.mark.parametrize(
    "changes",
    [
        {"container": Running(started_at="")},
        {"deleting": True},
        {"report": report(running(), node(running(), 3001))},
        {"report": None},
    ],
    ids=["Kafka runs", "is being deleted", "found its data", "looks now"],
)
def test_no_look_is_due(changes: dict[str, Any]) -> None:
    """No pod is replaced to look again if Kafka runs in it, if it goes, if it found its data, or if it looks now."""
    assert due(emptied(TWO_RUNS))
    look = emptied(TWO_RUNS, **changes)
    assert not due(look)
    assert every(planned(look), DeletePod) == []
