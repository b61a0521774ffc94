"""Subscribers: each gets every report, none can stop another, and the log repeats no standing line."""

import logging

import pytest
from tests.clocks import MovingClock
from tests.kit.ends import WIDGETS
from tests.kit.kube.recording import RecordingKube

from kit.errors import KubeUnavailable, NotActing
from kit.ids import SystemIds
from kit.key import ObjectKey
from kit.leased import leased_kube
from kit.report.events import Events
from kit.report.log import Log
from kit.report.notice import Notice
from kit.report.report import Draft, Line, PassReport, Subscribers

KEY = ObjectKey(namespace="ns", name="w")
RESOURCE = {"metadata": {"name": "w", "namespace": "ns", "uid": "u"}}


def report(*lines: Line, standing: tuple[str, ...] | None = None) -> PassReport[int]:
    """The report of a pass with these lines."""
    return PassReport(key=KEY, resource=RESOURCE, seen=1, standing=standing, lines=lines)


class Told:
    """A subscriber that records its reports, and fails with `error` if there is one."""

    def __init__(self, error: Exception | None = None) -> None:
        """Starts without reports."""
        self.error = error
        self.taken: list[PassReport[int]] = []
        self.forgotten: list[ObjectKey] = []

    async def take(self, report: PassReport[int]) -> None:
        """Records the report."""
        self.taken.append(report)
        if self.error is not None:
            raise self.error

    def forget(self, key: ObjectKey) -> None:
        """Records the key."""
        self.forgotten.append(key)
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize(
    ("error", "level"), [(KeyError("a fault"), logging.ERROR), (KubeUnavailable("no answer"), logging.WARNING)]
)
async def test_one_that_fails_ends_no_other(error: Exception, level: int, caplog: pytest.LogCaptureFixture) -> None:
    """If a subscriber fails, the others still get the report, and the failure is logged under the resource's name."""
    first, failing, last = Told(), Told(error), Told()
    subscribers = Subscribers((first, failing, last))
    await subscribers.publish(report())
    subscribers.forget(KEY)
    for one in (first, failing, last):
        assert (one.taken, one.forgotten) == ([report()], [KEY])
    said = [row for row in caplog.records if row.levelno == level]
    assert said
    assert said[0].getMessage().startswith("ns/w: ")


async def test_what_stands_is_logged_when_it_is_new(caplog: pytest.LogCaptureFixture) -> None:
    """A standing line is logged once, and again when it comes back; other lines are logged every time."""
    caplog.set_level(logging.INFO)
    log = Log()
    for standing in (("a", "b"), ("a", "b"), None, ("b",), ("a", "b")):
        await log.take(report(Line(text="done", level=logging.WARNING), standing=standing))
    said = [row.getMessage().removeprefix("ns/w: ") for row in caplog.records]
    assert [text for text in said if text != "done"] == ["a", "b", "a"]
    assert said.count("done") == 5
    log.forget(KEY)
    await log.take(report(standing=("a", "b")))
    assert [row.getMessage() for row in caplog.records][-2:] == ["ns/w: a", "ns/w: b"]


async def test_events_without_the_lease_are_not_written_and_end_nothing() -> None:
    """Without the lease no event is written, and the other subscribers still get the report."""
    kube, held = RecordingKube(), False
    edge = leased_kube(kube, lambda: held)
    events = Events(edge, MovingClock(1.0), SystemIds(), WIDGETS, component="c", instance="i")
    draft: Draft[int] = Draft(key=KEY, resource=RESOURCE, notices=(Notice(reason="R", message="m"),))
    with pytest.raises(NotActing):
        await events.take(draft.ended())
    behind = Told()
    await Subscribers((events, behind)).publish(draft.ended())
    assert (kube.calls, len(behind.taken)) == ([], 1)
    held = True
    draft.notices = (Notice(reason="R", message="something else"),)
    await Subscribers((events,)).publish(draft.ended())
    assert [call.verb for call in kube.calls] == ["create"]


def test_a_draft_has_what_is_known_wherever_the_pass_ends() -> None:
    """A report has what its draft had when the pass ended, the duration of the pass, and its error."""
    draft: Draft[int] = Draft(key=KEY, resource=RESOURCE)
    draft.seen, draft.lines, draft.decided = 7, (Line(text="x"),), "a plan"
    error = KeyError("a fault")
    ended = draft.ended(took_s=1.5, error=error)
    assert (ended.seen, ended.lines, ended.took_s, ended.error) == (7, (Line(text="x"),), 1.5, error)
    assert ended.decided == "a plan"
