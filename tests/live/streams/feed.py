"""Records for a counting application, all the time, and the comparison of its counts with what was produced.

There are so many keys that a key hardly comes back while a task moves: a count that is lost there is not hidden by the
next record of the same key. At the end every key comes once more, so each count is read from the store again.
"""

import random
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from tests.live.waiting import NeverHappenedError

KEYS: Final = 50_000
RECORDS_S: Final = 250
_TICK_S: Final = 0.1
_READ_S: Final = 60.0


class Feed:
    """A thread that produces records with known keys until it is stopped; only acknowledged records count."""

    def __init__(self, bootstrap: str, topic: str, *, seed: int = 1) -> None:
        """Starts it."""
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        )
        self._topic, self._random = topic, random.Random(seed)
        self._ending, self._paused = threading.Event(), threading.Event()
        self.produced: Counter[str] = Counter()
        self.failures: list[str] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ending.is_set():
            if not self._paused.is_set():
                self._send(f"k{self._random.randrange(KEYS)}" for _ in range(int(RECORDS_S * _TICK_S)))
            time.sleep(_TICK_S)

    def _send(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._producer.produce(self._topic, key=key, value=b"", on_delivery=self._delivered)
        self._producer.poll(0)

    def pause(self) -> None:
        """No more records until `resume`, after those of the present tick."""
        self._paused.set()
        time.sleep(2 * _TICK_S)

    def resume(self) -> None:
        """Goes on."""
        self._paused.clear()

    def burst(self, count: int) -> None:
        """Produces one record for each of as many new keys, while the feed is paused."""
        self._send(f"new{index}" for index in range(count))
        assert self._producer.flush(_READ_S) == 0, "the burst is not acknowledged"

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
            return
        key = message.key()
        assert isinstance(key, bytes)
        self.produced[key.decode()] += 1

    def stop(self) -> None:
        """Ends it, and waits for the last acknowledgements (AssertionError)."""
        self._ending.set()
        self._thread.join(_READ_S)
        assert not self._thread.is_alive(), "the feed did not end"
        assert self._producer.flush(_READ_S) == 0, "the last records are not acknowledged"
        assert not self.failures, self.failures[:3]

    def finish(self) -> None:
        """Ends it with one record more for each key that was produced (AssertionError)."""
        self.stop()
        self._send(sorted(self.produced))
        self.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How far the counts are from what was produced, over all keys."""

    lost: int
    doubled: int
    keys: int

    @property
    def exact(self) -> bool:
        """Every count is right."""
        return self.lost == 0 and self.doubled == 0


def compare(produced: Counter[str], counted: dict[str, int]) -> Difference:
    """By key: lost where the count is too low or missing, doubled where it is too high."""
    wrong = {key: counted.get(key, 0) - produced[key] for key in produced.keys() | counted.keys()}
    return Difference(
        lost=sum(-each for each in wrong.values() if each < 0),
        doubled=sum(each for each in wrong.values() if each > 0),
        keys=sum(each != 0 for each in wrong.values()),
    )


def counts(bootstrap: str, topic: str, partitions: int) -> dict[str, int]:
    """The last count of each key in the output (NeverHappenedError)."""
    config = {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer({**config, "enable.partition.eof": True, "isolation.level": "read_committed"})
    try:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        found: dict[str, int] = {}
        ended: set[int] = set()
        end_s = time.monotonic() + _READ_S
        while len(ended) < partitions:
            if time.monotonic() > end_s:
                raise NeverHappenedError(f"the end of {topic}: not within {_READ_S:g} s")
            for message in consumer.consume(5000, 0.5):
                _take(message, found, ended)
        return found
    finally:
        consumer.close()


def _take(message: Message, found: dict[str, int], ended: set[int]) -> None:
    error, partition = message.error(), message.partition()
    assert partition is not None
    if error is not None:
        if error.code() != KafkaError._PARTITION_EOF:
            raise AssertionError(str(error))
        ended.add(partition)
        return
    key, value = message.key(), message.value()
    assert isinstance(key, bytes)
    assert isinstance(value, bytes)
    (found[key.decode()],) = struct.unpack(">q", value)
