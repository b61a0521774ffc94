"""A measuring client: some times a second it changes metadata, reads it, and produces with `acks=all`; prints each gap.

A gap is the time between two answers of one kind. A request without a good answer is repeated with the next value, as
an application does. As a script (`PYTHONPATH=operator:e2e`, under `python3 e2e/testbed exec --` for the test-bed):
`.venv/bin/python -m harness.gaps --bootstrap HOST:PORT --hz 10`. It ends after `--seconds`, or with a signal, with a
line for each kind. `--access` names a JSON file with further properties of librdkafka, for TLS and SASL.
"""

import argparse
import json
import signal
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import confluent_kafka.admin
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from harness.client.topics import Topic, create

_ADMIN: Final[Any] = confluent_kafka.admin  # typed in part
TOPIC: Final = "gaps"
HZ: Final = 10.0
LEAST_S: Final = 0.5
WRITE, READ, PRODUCE = "metadata write", "metadata read", "produce"
KINDS: Final = (WRITE, READ, PRODUCE)
_KEY: Final = "retention.ms"
_FIRST: Final = 10**12
"""The value of the first write; the next ones count up."""
_CREATE_TIMEOUT_S = 120.0
_REQUEST_TIMEOUT_S = 10.0
_FLUSH_S = 30.0
_QUICK: Final[Mapping[str, Any]] = {
    "log_level": 0,
    "topic.metadata.refresh.interval.ms": 1000,
    "socket.connection.setup.timeout.ms": 2000,
    "reconnect.backoff.max.ms": 250,
}

# --- what is kept: pure ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time without an answer of this kind; `failed` requests were answered with an error meanwhile."""

    kind: str
    began_s: float
    took_s: float
    failed: int

    def __str__(self) -> str:
        """One line for a person."""
        began = datetime.fromtimestamp(self.began_s, UTC).isoformat(timespec="milliseconds")
        failures = f", {self.failed} failed" if self.failed else ""
        return f"{began} {self.kind}: no answer for {self.took_s:.2f} s{failures}"


@dataclass(slots=True)
class Lane:
    """The answers of one kind. A time without one that is longer than `least_s` is a gap. Seconds since 1970."""

    kind: str
    began_s: float
    least_s: float = LEAST_S
    gaps: list[Gap] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    longest_s: float = 0.0
    _last_s: float = 0.0
    _failed: int = 0

    def answered(self, asked_s: float, at_s: float) -> Gap | None:
        """Note a good answer; the gap that it ends, if there was one."""
        self.took_s.append(at_s - asked_s)
        return self._until(at_s)

    def failed(self, why: str) -> None:
        """Note a request without a good answer."""
        self._failed += 1
        self.failures[why] = self.failures.get(why, 0) + 1

    def ended(self, at_s: float) -> Gap | None:
        """The end of the measurement ends a gap, too: what is not answered until then has lasted so long at least."""
        return self._until(at_s)

    def _until(self, at_s: float) -> Gap | None:
        since_s = self._last_s or self.began_s
        self._last_s = max(at_s, since_s)
        length_s, count, self._failed = at_s - since_s, self._failed, 0
        self.longest_s = max(self.longest_s, length_s)
        if length_s <= self.least_s:
            return None
        self.gaps.append(Gap(kind=self.kind, began_s=since_s, took_s=length_s, failed=count))
        return self.gaps[-1]

    def __str__(self) -> str:
        """One line for a person."""
        rows = sorted(self.took_s)
        middle, late = (rows[int((len(rows) - 1) * part)] * 1000 if rows else float("nan") for part in (0.5, 0.99))
        bad = f"; failed: {self.failures}" if self.failures else ""
        return (
            f"{self.kind}: {len(rows)} answers, median {middle:.0f} ms, 99 % within {late:.0f} ms,"
            f" {len(self.gaps)} gaps over {self.least_s} s, the longest time {self.longest_s:.2f} s{bad}"
        )


def longest(gaps: Iterable[Gap], stops: Collection[tuple[float, float]]) -> tuple[float, float]:
    """The longest gap beside none of these times (since 1970), and the longest that lasted in one of them; 0 if none.

    While a broker stops, it answers no request that it has accepted: that gap is the broker's, not the controllers'.
    """
    lengths_s = {False: 0.0, True: 0.0}
    for gap in gaps:
        ended_s = gap.began_s + gap.took_s
        beside = any(gap.began_s <= end_s and began_s <= ended_s for began_s, end_s in stops)
        lengths_s[beside] = max(lengths_s[beside], gap.took_s)
    return lengths_s[False], lengths_s[True]


@dataclass(slots=True)
class Staleness:
    """For how long reads did not show a write that was acknowledged before they were asked."""

    longest_s: float = 0.0
    _numbers: list[int] = field(default_factory=list)
    _at_s: list[float] = field(default_factory=list)

    def written(self, number: int, at_s: float) -> None:
        """Note an acknowledgement. One write follows the other, so both go up."""
        self._at_s.append(at_s)
        self._numbers.append(number)

    def read(self, number: int, asked_s: float) -> None:
        """Note the value that a read at this time showed."""
        first_missed = bisect_right(self._numbers, number)
        if first_missed < len(self._numbers):
            self.longest_s = max(self.longest_s, asked_s - self._at_s[first_missed])


# --- the client -----------------------------------------------------------------------------------------------------


class Meter:
    """Measures between enter and exit. `way` has the properties of librdkafka, `bootstrap.servers` among them."""

    def __init__(self, way: Mapping[str, str], hz: float = HZ, least_s: float = LEAST_S, topic: str = TOPIC) -> None:
        """Nothing is sent before it is entered."""
        self._way: dict[str, Any] = {**_QUICK, **way}
        self._pause_s, self._topic, self._least_s = 1 / hz, topic, least_s
        self.lanes: dict[str, Lane] = {}
        self.stale = Staleness()
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._number = 0

    def __enter__(self) -> Self:
        """Create the topic, and begin."""
        admin = AdminClient(self._way)
        create(admin, (Topic(name=self._topic, partitions=1),), time.monotonic() + _CREATE_TIMEOUT_S)
        self.lanes = {kind: Lane(kind, time.time(), self._least_s) for kind in KINDS}
        for target in (self._write, self._read, self._produce):
            thread = threading.Thread(target=target, daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, and print a line for each kind."""
        self._ended.set()
        ended_s = time.time()
        for thread in self._threads:
            thread.join(_FLUSH_S + _REQUEST_TIMEOUT_S)
        for lane in self.lanes.values():
            _print(lane.ended(ended_s))
            print(lane, flush=True)
        print(f"reads did not show an acknowledged write for {self.stale.longest_s:.2f} s at most", flush=True)

    def _repeat(self, kind: str, act: Callable[[], None]) -> None:
        """Ask again and again: not earlier than the rate allows, and not before the last answer."""
        lane = self.lanes[kind]
        while not self._ended.is_set():
            asked_s = time.time()
            try:
                act()
                _print(lane.answered(asked_s, time.time()))
            except (KafkaException, TimeoutError) as error:  # the client never gives up a lost request
                lane.failed(_why(error))
            self._ended.wait(max(0.0, asked_s + self._pause_s - time.time()))

    def _write(self) -> None:
        admin = AdminClient(self._way)

        def act() -> None:
            self._number += 1
            number = self._number
            entry = _ADMIN.ConfigEntry(_KEY, str(_FIRST + number), incremental_operation=_ADMIN.AlterConfigOpType.SET)
            resource = _ADMIN.ConfigResource(_ADMIN.ResourceType.TOPIC, self._topic, incremental_configs=[entry])
            (answer,) = admin.incremental_alter_configs([resource], request_timeout=_REQUEST_TIMEOUT_S).values()
            answer.result(_REQUEST_TIMEOUT_S + 5)
            self.stale.written(number, time.time())

        self._repeat(WRITE, act)

    def _read(self) -> None:
        admin = AdminClient(self._way)

        def act() -> None:
            asked_s = time.time()
            resource = _ADMIN.ConfigResource(_ADMIN.ResourceType.TOPIC, self._topic)
            (answer,) = admin.describe_configs([resource], request_timeout=_REQUEST_TIMEOUT_S).values()
            value = answer.result(_REQUEST_TIMEOUT_S + 5)[_KEY].value
            self.stale.read(int(value) - _FIRST, asked_s)

        self._repeat(READ, act)

    def _produce(self) -> None:
        """Records are not sent one by one: each has its own acknowledgement, in order, and none is given up."""
        settings = {"acks": "all", "enable.idempotence": True, "linger.ms": 0, "message.timeout.ms": 0}
        producer, lane = Producer({**self._way, **settings}), self.lanes[PRODUCE]
        while not self._ended.is_set():
            asked_s = time.time()

            def answered(error: KafkaError | None, _: Message, asked_s: float = asked_s) -> None:
                if error is None:
                    _print(lane.answered(asked_s, time.time()))
                else:
                    lane.failed(error.name())

            try:
                producer.produce(self._topic, b"x", on_delivery=answered)
            except (BufferError, KafkaException) as error:
                lane.failed(_why(error))
            while (left_s := asked_s + self._pause_s - time.time()) > 0:
                producer.poll(left_s)
        producer.flush(_FLUSH_S)


def _why(error: Exception) -> str:
    cause = error.args[0] if error.args else None
    return cause.name() if isinstance(cause, KafkaError) else type(error).__name__


def _print(gap: Gap | None) -> None:
    if gap is not None:
        print(gap, flush=True)


def main() -> int:
    """Measure until the time is over, or a signal comes."""
    parser = argparse.ArgumentParser(prog="gaps", description="Prints the gaps in Kafka's answers.")
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--access", type=Path, help="a JSON file with further properties of librdkafka")
    parser.add_argument("--hz", type=float, default=HZ, help="requests of each kind per second")
    parser.add_argument("--least", type=float, default=LEAST_S, help="shorter gaps are not printed, in seconds")
    parser.add_argument("--seconds", type=float, help="by default until a signal comes")
    parser.add_argument("--topic", default=TOPIC)
    options = parser.parse_args()
    access: dict[str, str] = json.loads(options.access.read_text()) if options.access else {}
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    way = {"bootstrap.servers": options.bootstrap} | access
    with Meter(way, hz=options.hz, least_s=options.least, topic=options.topic):
        ended.wait(options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
