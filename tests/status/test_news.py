"""Which changes of the status are events: each problem once, and again when it returns."""

from dataclasses import replace

import pytest
from tests.golden.facts import facts
from tests.model.values import SILENT, at_rest, desired
from tests.status.passes import done

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.status.build import build
from kafka_quorum.status.finding import Pass
from kafka_quorum.status.news import news
from kit.kube.protocol import Json

NOW = "2026-01-01T00:00:00Z"


def stuck(*node_ids: int, reason: str = "PodStuck", severity: Severity = Severity.DEGRADED) -> Pass:
    """A pass in which the pods of these controllers do not start."""
    waits = tuple(
        Wait(severity=severity, reason=reason, message=f"pod alpha-{node}-g1 does not start", node_id=NodeID(node))
        for node in node_ids
    )
    passed = done()
    return replace(passed, plan=replace(passed.plan, waits=waits))


def written(of: Pass, old: Json | None = None) -> Json:
    """The status of a pass."""
    return build(of, old or {}, generation=1, now=NOW)


@pytest.mark.parametrize("reason", ["FormatFailed", "PodStuck", "PodUnschedulable", "LostDisk"])
def test_problem_is_a_warning_once(reason: str) -> None:
    """A new problem is a Warning; while it lasts it is none, and when it returns it is one again."""
    rest, first = written(done()), written(stuck(3000, reason=reason))
    (notice,) = news(rest, first)
    assert (notice.reason, notice.warning, facts(notice.message)) == (reason, True, facts("alpha-3000-g1"))
    assert news(first, written(stuck(3000, reason=reason), first)) == ()
    assert news(first, written(done(), first)) == ()
    assert news(rest, first) == (notice,)


def test_ten_controllers_are_one_event() -> None:
    """A problem of ten controllers is one event, and later controllers are counted on it."""
    rest, one, ten = written(done()), written(stuck(3000)), written(stuck(*range(3000, 3010)))
    (first,), (grown,) = news(rest, one), news(one, ten)
    assert first.series == grown.series
    assert grown.message.startswith("controllers 3000, 3001, 3002,")
    assert len(ten["waits"]) == 1
    assert ten["waits"][0]["nodeIDs"] == list(range(3000, 3010))


def test_since_survives_the_grouping() -> None:
    """A controller that joins a wait does not change its start time."""
    one = written(stuck(3000))
    grown = build(stuck(3000, 3001), one, generation=1, now="2026-01-01T00:10:00Z")
    assert grown["waits"][0]["since"] == NOW
    left = build(stuck(3001), grown, generation=1, now="2026-01-01T00:20:00Z")
    assert (left["waits"][0]["nodeID"], left["waits"][0]["since"]) == (3001, NOW)


def test_progress_is_no_event_of_its_own() -> None:
    """Progress alone is no event, because its actions are events."""
    assert news({}, written(stuck(3000, reason="Starting", severity=Severity.PROGRESS))) == ()


def test_pause_is_no_warning() -> None:
    """A pause is an event, but no Warning."""
    (notice,) = news(written(done()), written(done(at_rest(), desired(paused=True))))
    assert (notice.reason, notice.warning) == ("Paused", False)


def test_lost_leader_is_a_warning() -> None:
    """The loss of the leader is one Warning."""
    rest, silent = written(done()), written(done(at_rest(quorum=SILENT)))
    assert [(notice.reason, notice.warning) for notice in news(rest, silent)] == [("NoLeader", True)]
    assert news(silent, silent) == ()


def test_autoscaler_is_a_warning() -> None:
    """Replicas that an autoscaler sets are accepted, and reported as one Warning."""
    rest, scaled = written(done()), written(replace(done(), autoscaler="an autoscaler set the replicas"))
    (notice,) = news(rest, scaled)
    assert (notice.reason, notice.warning) == ("Autoscaled", True)
    row = next(row for row in scaled["conditions"] if row["type"] == "SpecAccepted")
    assert (row["status"], row["reason"]) == ("True", "Autoscaled")
    assert news(scaled, scaled) == ()
