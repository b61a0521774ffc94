"""Work grows linearly with what is observed. It is counted in calls, because time depends on the machine."""

import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

from tests.model.values import NOW_S, answer, answering, at_rest, desired, key, running, saying

from kafka_quorum.api.properties import DEFAULT_FETCH_TIMEOUT_MS
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.quorum import FeatureRange
from kafka_quorum.observations.line import observation
from kafka_quorum.observe import quorum
from kafka_quorum.observe.instances import FetchTimeouts
from kafka_quorum.plan.planner import plan
from kafka_quorum.status.build import build
from kafka_quorum.status.finding import Pass
from kit.clock import SystemClock

SMALL, LARGE = 500, 5000


def calls_of(act: Callable[[], object]) -> int:
    """The number of calls that an act makes, including comparisons and hashes."""
    count = 0

    def counted(_: FrameType, event: str, __: Any) -> None:  # noqa: ANN401 - whatever is called
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count


def passed(observers: int, voters: int = 3) -> None:
    """Three looks at a quorum with this many replicas; a plan, a status and an observation of the last look."""
    keys = [key(3000 + number) for number in range(voters)]
    said = answer(keys, [key(10_000 + number) for number in range(observers)])
    memory, seen = Memory(), at_rest()
    for number in range(3):
        moved = replace(
            said, voters=tuple(replace(row, last_fetch_ms=row.last_fetch_ms + number) for row in said.voters)
        )
        chosen = quorum.leader_of({said.leader_id: Known(value=moved)}, FetchTimeouts())
        assert isinstance(chosen, Known)
        view, memory = quorum.view(
            chosen.value,
            memory,
            live_within_ms=DEFAULT_FETCH_TIMEOUT_MS,
            taken_at_s=float(number),
            settles_s=quorum.settles_after_s(FetchTimeouts()),
        )
        seen = replace(seen, quorum=Known(value=view), memory=memory)
    judged(seen)


def judged(seen: Observed) -> None:
    """A plan, a status and an observation."""
    planned = plan(desired(), seen, now_s=NOW_S)
    done = Pass(desired=desired(), observed=seen, plan=planned, outcomes=(), faults=())
    build(done, {}, generation=1, now="2026-01-01T00:00:00Z")
    assert observation("kafka", "alpha", seen, SystemClock().now()) is not None


def test_ten_times_the_observers_are_ten_times_the_work() -> None:
    """From 500 to 5,000 observers, the most that is read, the calls of three looks and a plan grow about ten times."""
    passed(10)  # what is built only once is built now
    small, large = calls_of(lambda: passed(SMALL)), calls_of(lambda: passed(LARGE))
    assert large < 12 * small, (small, large)


def test_voters_stay_cheap_at_their_bound() -> None:
    """With 64 voters, the most that is read, a pass makes fewer calls than one with 5,000 observers."""
    assert calls_of(lambda: passed(0, voters=64)) < calls_of(lambda: passed(LARGE))


def test_ten_times_the_features_are_ten_times_the_work() -> None:
    """A status with 640 features costs about ten times one with 64, although an answer has at most 64."""

    def featured(count: int) -> None:
        ranges = tuple(FeatureRange(name=f"feature-{number}", min_level=0, max_level=1) for number in range(count))
        judged(replace(at_rest(), versions=answering(running(), said=replace(saying(), supported=ranges))))

    featured(1)
    nothing, small, large = (calls_of(lambda count=count: featured(count)) for count in (1, 64, 640))  # type: ignore[misc]
    assert large - nothing < 12 * (small - nothing), (nothing, small, large)
