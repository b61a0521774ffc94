"""The recorder never blocks and never raises, and writes news at once and the rest once a minute."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from tests.clocks import MovingClock
from tests.model.values import IDS, at_rest, key, nothing, view

from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.observations.recorder import EVERY_S, Line, Recorder, Sink
from kit.key import ObjectKey

_PATIENCE_S = 10.0


class Kept:
    """A sink that keeps its lines, and can hang or fail."""

    def __init__(self) -> None:
        """Starts working."""
        self.lines: list[Line] = []
        self.closed = threading.Event()
        self.free = threading.Event()
        self.free.set()
        self.fault: Exception | None = None

    def write(self, lines: Sequence[Line]) -> None:
        """Keeps the lines."""
        self.free.wait(_PATIENCE_S)
        if self.fault is not None:
            raise self.fault
        self.lines += lines

    def close(self) -> None:
        """Records that it was closed."""
        self.closed.set()


@contextmanager
def recording(*sinks: Sink, queue_lines: int = 100) -> Iterator[tuple[Recorder, MovingClock]]:
    """A recorder that is closed at the end."""
    clock = MovingClock(5.0, start=datetime.fromtimestamp(0, tz=UTC))
    made = Recorder(sinks, clock, queue_lines=queue_lines)
    yield made, clock
    made.close(_PATIENCE_S)


def wait_for(condition: Callable[[], bool]) -> None:
    """Waits until it holds, or fails."""
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def silenced() -> Observed:
    """The quorum at rest, except for one voter that stopped fetching."""
    return at_rest(quorum=Known(value=view([key(number) for number in IDS], behind=[key(3001)])))


def test_news_at_once_and_the_rest_once_a_minute() -> None:
    """Looks without news give one line a minute; a change gives a line at once, marked as new."""
    sink = Kept()
    with recording(sink) as (recorder, clock):
        for _ in range(20):
            recorder.saw("kafka", "alpha", at_rest())
            clock.seconds += 1
        recorder.saw("kafka", "alpha", silenced())
        clock.seconds += EVERY_S
        recorder.saw("kafka", "alpha", silenced())
        recorder.saw("kafka", "beta", nothing())
    assert [line.new for line in sink.lines] == [True, True, False]
    assert [json.loads(line.text)["quorum"]["voters"][1]["live"] for line in sink.lines] == [True, False, False]
    assert {line.key for line in sink.lines} == {json.loads(line.text)["clusterID"] for line in sink.lines}
    assert sink.closed.is_set()


def test_a_quorum_that_was_forgotten_is_new_again() -> None:
    """After `forget` the next look at the quorum gives a new line."""
    sink = Kept()
    with recording(sink) as (recorder, _):
        recorder.saw("kafka", "alpha", at_rest())
        recorder.forget(ObjectKey(namespace="kafka", name="alpha"))
        recorder.saw("kafka", "alpha", at_rest())
    assert len(sink.lines) == 2


def test_a_sink_that_hangs_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    """While a sink hangs, lines wait up to a bound; more lines are dropped and logged once, and no call blocks."""
    sink = Kept()
    sink.free.clear()
    with recording(sink, queue_lines=5) as (recorder, clock):
        begun = time.monotonic()
        for _ in range(50):
            clock.seconds += 2 * EVERY_S / 50
            recorder.saw("kafka", "alpha", at_rest())
            recorder.saw("kafka", "alpha", silenced())
        assert time.monotonic() - begun < 2.0
        sink.free.set()
    assert 5 <= len(sink.lines) <= 11  # those in the queue, and those that the thread had taken before
    assert len(caplog.records) == 1


def test_closing_does_not_wait_for_a_sink_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    """Closing ends in time although a sink hangs, and the log reports the lines that are left."""
    sink = Kept()
    sink.free.clear()
    recorder = Recorder([sink], MovingClock(5.0, start=datetime.fromtimestamp(0, tz=UTC)))
    recorder.saw("kafka", "alpha", at_rest())
    begun = time.monotonic()
    recorder.close(0.2)
    assert time.monotonic() - begun < 2.0
    assert len(caplog.records) == 1
    sink.free.set()
    assert sink.closed.wait(_PATIENCE_S)


def test_a_sink_that_fails_is_told_once_and_keeps_no_other_from_its_lines(caplog: pytest.LogCaptureFixture) -> None:
    """A failing sink is logged once; the other sink gets every line, and the failing one too when it works again."""
    bad, good = Kept(), Kept()
    bad.fault = OSError("the disk is full")
    with recording(bad, good) as (recorder, _):
        for observed in (at_rest(), silenced(), at_rest()):
            recorder.saw("kafka", "alpha", observed)
            wait_for(recorder._lines.empty)
        wait_for(lambda: len(good.lines) == 3)
        bad.fault = None
        recorder.saw("kafka", "alpha", silenced())
    assert len(bad.lines) == 1
    assert len(good.lines) == 4
    assert len([row for row in caplog.records if "the disk is full" in row.message]) == 1


def test_what_cannot_be_noted_is_logged_and_no_more(caplog: pytest.LogCaptureFixture) -> None:
    """An error of the recorder itself is logged, and does not reach the pass."""
    sink = Kept()
    with recording(sink) as (recorder, _):
        recorder.saw("kafka", "alpha", None)  # type: ignore[arg-type]  # whatever goes wrong in there
    assert len(caplog.records) == 1
    assert sink.lines == []


def test_without_sinks_there_is_no_thread() -> None:
    """Without sinks there is no thread."""
    before = set(threading.enumerate())
    recorder = Recorder([], MovingClock(5.0, start=datetime.fromtimestamp(0, tz=UTC)))
    recorder.saw("kafka", "alpha", at_rest())
    assert set(threading.enumerate()) <= before
    recorder.close(_PATIENCE_S)
