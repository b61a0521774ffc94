"""An idempotent producer and a consumer that run until they are stopped, and the reading of everything at the end."""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from harness.client.ledger import Acknowledged, Lane, Read

_OPEN_MAX = 2000
"""So many records of a partition wait at most; while they do, no other is sent."""
_FLUSH_S = 120.0
_AT_ONCE = 1000
_WAIT_S = 10.0
_QUIET: Final[dict[str, Any]] = {"log_level": 3, "topic.metadata.refresh.interval.ms": 10_000}


class Streams:
    """Producer and consumer of these partitions, each in a thread. `bytes_` is the size of a value.

    `way` has the properties of librdkafka with which a client reaches Kafka, `bootstrap.servers` among them.
    """

    def __init__(self, way: Mapping[str, str], lanes: tuple[str, ...], interval_s: float, bytes_: int) -> None:
        """Nothing is sent before `start`."""
        self._way, self._interval_s, self._bytes = dict(way), interval_s, bytes_
        self.lanes: dict[str, Lane] = {name: Lane() for name in lanes}
        self.replaced: list[str] = []
        """Why a producer that could not go on was replaced by another one."""
        self._sending, self._reading = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self.broken: list[str] = []
        """Errors that ended a thread: there must be none."""

    def start(self) -> None:
        """Start both."""
        for target in (self._produce, self._consume):
            thread = threading.Thread(target=self._guarded, args=(target,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Wait for the acknowledgements of what was sent, and for the consumer to read up to them."""
        self._sending.set()
        self._threads[0].join(_FLUSH_S + _WAIT_S)
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline and not all(map(_up_to_date, self.lanes.values())):
            time.sleep(0.1)
        self._reading.set()
        self._threads[1].join(_WAIT_S)

    def _guarded(self, target: Callable[[], None]) -> None:
        try:
            target()
        except Exception as error:
            self.broken.append(f"{target.__name__}: {error!r}")
            raise

    # --- produce ----------------------------------------------------------------------------------------------------

    def _produce(self) -> None:
        producer, due_s = self._producer(), time.monotonic()
        while not self._sending.is_set():
            try:
                for name, lane in self.lanes.items():
                    if lane.open < _OPEN_MAX:
                        self._send(producer, name, lane)
                due_s = max(due_s + self._interval_s, time.monotonic() - 1)
                while (left_s := due_s - time.monotonic()) > 0:
                    producer.poll(left_s)  # returns at the first answer
            except KafkaException as error:
                self._give_up(producer, error)
                producer = self._producer()
        try:
            producer.flush(_FLUSH_S)
        except KafkaException as error:
            self._give_up(producer, error)

    def _give_up(self, producer: Producer, error: KafkaException) -> None:
        """A fatal error: an idempotent producer that lost its place. What it still had may be in the log or not."""
        self.replaced.append(str(error))
        with contextlib.suppress(KafkaException):
            producer.purge()
            producer.flush(_WAIT_S)
        for lane in self.lanes.values():
            answered = {row.sequence for row in lane.acknowledged} | lane.failed.keys()
            lane.failed |= {number: str(error) for number in range(lane.sent) if number not in answered}

    def _producer(self) -> Producer:
        return Producer(
            {
                **_QUIET,
                "log_level": 7,
                "debug": "eos",  # what the idempotent producer does after an error
                **self._way,
                "enable.idempotence": True,
                "acks": "all",
                # With more than one, librdkafka 2 may begin a new epoch when a leader changes, and send a record of
                # another partition twice: https://github.com/confluentinc/librdkafka/issues/4953, seen here once.
                "max.in.flight": 1,
                "linger.ms": 0,
                "message.timeout.ms": 0,  # a record waits without limit: it is never given up by the client
            }
        )

    def _send(self, producer: Producer, name: str, lane: Lane) -> None:
        topic, _, index = name.rpartition("-")
        sequence = lane.sent

        def answered(error: KafkaError | None, message: Message) -> None:
            offset = message.offset()
            if error is not None or offset is None or offset < 0:
                lane.failed[sequence] = str(error)
            else:
                lane.acknowledged.append(Acknowledged(sequence=sequence, offset=offset, at_s=time.time()))

        value = str(sequence).zfill(self._bytes).encode()
        producer.produce(topic, value, partition=int(index), on_delivery=answered)
        lane.sent += 1

    # --- consume ----------------------------------------------------------------------------------------------------

    def _consume(self) -> None:
        consumer = _consumer(self._way, self.lanes)
        while not self._reading.is_set():
            for message in consumer.consume(_AT_ONCE, 0.1):
                if message.error() is None:
                    self.lanes[_lane(message)].consumed.append(_row(message))
        consumer.close()


def read_back(way: Mapping[str, str], lanes: dict[str, Lane], timeout_s: float) -> dict[str, list[Read]]:
    """Every record that is in each partition now (TimeoutError if that takes longer)."""
    deadline = time.monotonic() + timeout_s
    consumer = _consumer(way, lanes)
    ends = {name: _end(consumer, name, deadline) for name in lanes}
    found: dict[str, list[Read]] = {name: [] for name in lanes}
    left = {name for name, end in ends.items() if end > 0}
    while left:
        if time.monotonic() > deadline:
            raise TimeoutError(f"did not read {', '.join(sorted(left))} to the end")
        for message in consumer.consume(_AT_ONCE, 0.5):
            if message.error() is None:
                found[_lane(message)].append(_row(message))
        left = {name for name in left if not found[name] or found[name][-1].offset < ends[name] - 1}
    consumer.close()
    return found


def _consumer(way: Mapping[str, str], lanes: dict[str, Lane]) -> Consumer:
    """A consumer at the beginning of each of these partitions."""
    consumer = Consumer(
        {
            **_QUIET,
            **way,
            "group.id": "client",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "check.crcs": True,
        }
    )
    consumer.assign([_partition(name) for name in lanes])
    return consumer


def _end(consumer: Consumer, name: str, deadline: float) -> int:
    """The offset behind the last record that is in a partition now."""
    while True:
        try:
            found = consumer.get_watermark_offsets(_partition(name), timeout=_WAIT_S)
        except KafkaException:
            found = None
        if found is not None:
            return int(found[1])
        if time.monotonic() > deadline:
            raise TimeoutError(f"the end of {name} is not known")


def _partition(name: str) -> TopicPartition:
    topic, _, index = name.rpartition("-")
    return TopicPartition(topic, int(index), OFFSET_BEGINNING)


def _lane(message: Message) -> str:
    return f"{message.topic()}-{message.partition()}"


def _row(message: Message) -> Read:
    offset, value = message.offset(), message.value()
    if offset is None or value is None:
        raise ValueError(f"a record without offset or value in {_lane(message)}")
    return Read(offset=offset, sequence=int(value))


def _up_to_date(lane: Lane) -> bool:
    """Whether the consumer has read the last acknowledged record."""
    if not lane.acknowledged:
        return True
    return bool(lane.consumed) and lane.consumed[-1].offset >= max(row.offset for row in lane.acknowledged[-100:])
