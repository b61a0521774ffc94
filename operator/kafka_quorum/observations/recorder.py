"""When an observation is written, and by what: a thread of its own, behind a bounded queue.

A pass only puts a line into the queue, which never waits. So a slow disk, object store or broker does not delay a
reconcile. What does not fit is dropped, counted and logged. A gap in the observations means unknown, never available.
"""

import json
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from kafka_quorum.model.observed import Observed
from kafka_quorum.observations.line import Json, news, observation
from kit.clock import Clock
from kit.key import ObjectKey
from kit.report.report import PassReport
from kit.seldom import Seldom

EVERY_S: Final = 60.0
"""How often an observation without news is written all the same: silence would be a gap."""
QUEUE_LINES: Final = 2000
_TAKE_LINES: Final = 200
_LINE_BYTES_MAX: Final = 256 * 1024
_IDLE_S: Final = 1.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An observation without a line break. `key` keeps those of one quorum in order; `new`: it must be stored soon."""

    key: str
    text: bytes
    new: bool


class Sink(Protocol):
    """Where lines go. Only the recorder's thread calls it, so it may wait; its exceptions are only logged."""

    def write(self, lines: Sequence[Line]) -> None:
        """Take these lines, and store what is due. Called at least once a second, with no lines if there are none."""

    def close(self) -> None:
        """Store everything that is still held."""


@dataclass(slots=True)
class _Last:
    news: Json
    at_s: float


@dataclass(slots=True)
class _Trouble:
    """The number of failures of a sink, and when they are logged."""

    count: int = 0
    warnings: Seldom = field(default_factory=Seldom)


class Recorder:
    """Takes looks on the event loop, and writes them from its thread. Without sinks it does nothing."""

    def __init__(self, sinks: Sequence[Sink], clock: Clock, *, queue_lines: int = QUEUE_LINES) -> None:
        """Start the thread if there is anything to write to."""
        self._sinks = tuple(sinks)
        self._clock = clock
        self._last: dict[tuple[str, str], _Last] = {}
        self._lines: queue.Queue[Line] = queue.Queue(maxsize=queue_lines)
        self._dropped = 0
        self._drops = Seldom()
        self._ending = threading.Event()
        self._trouble = {id(sink): _Trouble() for sink in self._sinks}
        self._thread = threading.Thread(target=self._run, name="observations", daemon=True)
        if self._sinks:
            self._thread.start()

    async def take(self, report: PassReport[Observed]) -> None:
        """Note the look of a pass, if there was one."""
        if report.seen is not None:
            self.saw(report.key.namespace, report.key.name, report.seen, at=report.seen_at)

    def saw(self, namespace: str, name: str, observed: Observed, *, at: datetime | None = None) -> None:
        """Note this look, if it has something new or a minute has passed. Neither waits nor raises.

        Its time is `at`, or else the present moment.
        """
        if not self._sinks or self._ending.is_set():
            return
        try:
            self._note(namespace, name, observed, at or self._clock.now())
        except Exception:
            logger.exception("%s/%s: this look could not be noted as an observation", namespace, name)

    def forget(self, key: ObjectKey) -> None:
        """The quorum is gone."""
        self._last.pop((key.namespace, key.name), None)

    def close(self, within_s: float) -> None:
        """Let the thread store what is held, and wait this long for it; a sink that hangs is abandoned."""
        if self._ending.is_set() or not self._sinks:
            return
        self._ending.set()
        self._thread.join(within_s)
        if self._thread.is_alive():
            logger.warning("observations: storing the last lines took longer than %g s: left", within_s)

    def _note(self, namespace: str, name: str, observed: Observed, at: datetime) -> None:
        seen = observation(namespace, name, observed, at)
        if seen is None:
            return
        now_s, told = self._clock.monotonic(), news(seen)
        last = self._last.get((namespace, name))
        new = last is None or last.news != told
        if last is not None and not new and now_s - last.at_s < EVERY_S:
            return
        text = json.dumps(seen, separators=(",", ":")).encode()
        if len(text) > _LINE_BYTES_MAX:
            self._drop(now_s, "longer than 256 KiB")
            return
        try:
            self._lines.put_nowait(Line(key=seen["clusterID"], text=text, new=new))
        except queue.Full:
            self._drop(now_s, "the queue is full")
            return
        self._last[namespace, name] = _Last(news=told, at_s=now_s)

    def _drop(self, now_s: float, why: str) -> None:
        self._dropped += 1
        if self._drops.is_due(now_s):
            logger.warning("observations: %d dropped so far (%s)", self._dropped, why)

    def _run(self) -> None:
        while not (self._ending.is_set() and self._lines.empty()):
            lines = self._take()
            for sink in self._sinks:
                self._guarded(sink, _writing(sink, lines))
        for sink in self._sinks:
            self._guarded(sink, sink.close)

    def _take(self) -> list[Line]:
        """The waiting lines, after at most a second and up to a bound."""
        lines: list[Line] = []
        try:
            lines.append(self._lines.get(timeout=0.05 if self._ending.is_set() else _IDLE_S))
            while len(lines) < _TAKE_LINES:
                lines.append(self._lines.get_nowait())
        except queue.Empty:
            pass
        return lines

    def _guarded(self, sink: Sink, act: Callable[[], None]) -> None:
        """One sink's fault affects neither another sink nor the operator: it is logged, and the thread goes on."""
        trouble = self._trouble[id(sink)]
        try:
            act()
        except Exception as error:  # noqa: BLE001 - drivers of stores raise anything
            trouble.count += 1
            if trouble.warnings.is_due(self._clock.monotonic()):
                logger.warning("observations: %s failed (%d times so far): %s", sink, trouble.count, error)


def _writing(sink: Sink, lines: Sequence[Line]) -> Callable[[], None]:
    return lambda: sink.write(lines)
