"""Events: in order, each news once, repetitions counted, and bounded in number."""

from dataclasses import dataclass, field
from functools import partial

import pytest
from tests.clocks import MovingClock
from tests.kit.ends import WIDGETS
from tests.kit.kube.recording import RecordingKube

from kit.errors import KubeNotFound, KubeUnavailable
from kit.key import ObjectKey
from kit.kube.protocol import Json
from kit.report.events import Events
from kit.report.notice import Notice

NAME, NAMESPACE, UID = "alpha", "kafka", "uid-alpha"
RESOURCE: Json = {"metadata": {"name": NAME, "namespace": NAMESPACE, "uid": UID}}
NEWS = Notice(reason="PodCreated", message="controller 3000 starts")
STUCK = Notice(reason="PodStuck", message="pod alpha-3000-g1 does not start", warning=True)


class SameIds:
    """An id source that does not prevent equal names."""

    def uuid_bytes(self) -> bytes:
        """Always the same bytes."""
        return b"\xff" * 16


@dataclass
class Desk:
    """An API server and the events that are written to it."""

    kube: RecordingKube = field(default_factory=RecordingKube)
    clock: MovingClock = field(default_factory=partial(MovingClock, zero_s=7000.0))
    events: Events = field(init=False)

    def __post_init__(self) -> None:
        """Connects the parts."""
        self.events = Events(self.kube, self.clock, SameIds(), WIDGETS, component="widget-operator", instance="h" * 500)

    async def write(self, *notices: Notice) -> None:
        """Writes events for these notices."""
        await self.events.write(RESOURCE, notices)

    @property
    def created(self) -> list[Json]:
        """The bodies of the created events."""
        return [call.body for call in self.kube.calls if call.verb == "create" and call.body]

    @property
    def counts(self) -> list[int]:
        """Each count that was written to an existing event."""
        return [call.body["count"] for call in self.kube.calls if call.verb == "patch" and call.body]


@pytest.mark.parametrize(("warning", "type_"), [(False, "Normal"), (True, "Warning")])
async def test_event(*, warning: bool, type_: str) -> None:
    """An event names the resource by uid and its reason, and its text fits the API server's limits."""
    desk = Desk()
    await desk.write(Notice(reason="PodCreated", message="x" * 5000, warning=warning))
    (body,) = desk.created
    assert (body["type"], body["reason"], body["count"]) == (type_, "PodCreated", 1)
    assert body["involvedObject"]["uid"] == UID
    assert len(body["message"]) == 1000
    assert len(body["reportingInstance"]) == 128


async def test_names_and_stamps_are_in_order() -> None:
    """Events of one moment have ascending names and stamps, because kubectl lists by name and sorts by stamps."""
    desk = Desk()
    await desk.write(*(Notice(reason="PodCreated", message=str(number)) for number in range(20)))
    desk.clock.seconds += 0.5
    await desk.write(NEWS)
    names = [body["metadata"]["name"] for body in desk.created]
    stamps = [body["eventTime"] for body in desk.created]
    assert names == sorted(set(names))
    assert stamps == sorted(set(stamps))
    assert all(len(name) == len(names[0]) for name in names)
    assert desk.created[-1]["lastTimestamp"] == "2026-01-01T00:00:00Z"
    assert desk.created[-1]["eventTime"] == "2026-01-01T00:00:00.500000Z"


async def test_clock_that_goes_back_keeps_the_order() -> None:
    """If the wall clock is set back, news still have later names than older ones."""
    desk = Desk()
    await desk.write(NEWS)
    desk.clock.seconds -= 60
    await desk.write(STUCK)
    first, second = desk.created
    assert first["metadata"]["name"] < second["metadata"]["name"]


async def test_repetition_is_counted() -> None:
    """The same news within ten minutes is counted on its event, at most every ten seconds."""
    desk = Desk()
    for _ in range(100):
        await desk.write(STUCK)
        desk.clock.seconds += 1
    assert len(desk.created) == 1
    assert desk.counts == [11, 21, 31, 41, 51, 61, 71, 81, 91]


async def test_repetition_has_the_newest_sentence() -> None:
    """Notices with one subject are one event, which has the newest sentence."""
    desk = Desk()
    await desk.write(Notice(reason="PodStuck", message="controllers 3000", subject="<id>"))
    desk.clock.seconds += 20
    await desk.write(Notice(reason="PodStuck", message="controllers 3000, 3001", subject="<id>"))
    (call,) = (call for call in desk.kube.calls if call.verb == "patch")
    assert call.body == {"count": 2, "message": "controllers 3000, 3001", "lastTimestamp": "2026-01-01T00:00:20Z"}
    assert call.name == desk.created[0]["metadata"]["name"]


async def test_later_news_are_new() -> None:
    """News that come again after ten quiet minutes are a new event."""
    desk = Desk()
    await desk.write(STUCK)
    desk.clock.seconds += 601
    await desk.write(STUCK)
    assert len(desk.created) == 2
    assert desk.counts == []


async def test_expired_event_is_written_again() -> None:
    """If an event has expired, the repetition is written as a new event."""
    desk = Desk()
    await desk.write(STUCK)
    desk.clock.seconds += 20
    desk.kube.errors["patch", "events"] = KubeNotFound("gone")
    await desk.write(STUCK)
    assert len(desk.created) == 2


async def test_failure_is_logged_only(caplog: pytest.LogCaptureFixture) -> None:
    """An event that cannot be written is only logged, and the next one is still written."""
    desk = Desk()
    desk.kube.errors["create", "events"] = KubeUnavailable("timed out")
    await desk.write(STUCK, NEWS)
    assert [row.getMessage().count("timed out") for row in caplog.records] == [1, 1]
    assert [call.verb for call in desk.kube.calls] == ["create", "create"]


async def test_flood_is_bounded() -> None:
    """Different news without end are bounded: three hundred at once, then one every two seconds."""
    desk = Desk()
    for number in range(600):
        await desk.write(Notice(reason="ActionFailed", message=f"failure {number}", warning=True))
        desk.clock.seconds += 0.1
    assert 300 <= len(desk.created) <= 330


async def test_forgotten_resource_begins_anew() -> None:
    """For a resource that was deleted and applied again, its news are written again."""
    desk = Desk()
    await desk.write(STUCK)
    desk.events.forget(ObjectKey(namespace=NAMESPACE, name=NAME))
    await desk.write(STUCK)
    assert len(desk.created) == 2


@pytest.mark.parametrize("unit", ["ä", "😀", "aß", "水 ", "x…"])
@pytest.mark.parametrize("repeated", [200, 400, 5000])
async def test_a_message_fits_in_bytes(unit: str, repeated: int) -> None:
    """A message has at most 1,024 bytes in any script, and is cut between two characters."""
    desk = Desk()
    news = Notice(reason="PodStuck", message=unit * repeated, warning=True)
    await desk.write(news)
    desk.clock.seconds += 60
    await desk.write(news)
    messages = [call.body["message"] for call in desk.kube.calls if call.body]
    assert len(messages) == 2
    for message in messages:
        assert len(message.encode()) <= 1024
        assert (unit * repeated).startswith(message.removesuffix("…"))
        assert len(message.encode()) > 1000 or message == (unit * repeated).strip()
