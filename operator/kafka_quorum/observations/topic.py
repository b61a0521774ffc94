"""Observations to a Kafka topic, through confluent-kafka: one message a line, keyed by the cluster id.

librdkafka keeps what it cannot deliver in a queue of bounded size, retries by itself, and finally gives a message up.
The topic's own retention bounds what is kept.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, cast

from kafka_quorum.observations.recorder import Line

_FLUSH_S: Final = 5.0
_BOUNDS: Final[Mapping[str, str | int]] = {
    "client.id": "kafka-quorum-operator",
    "enable.idempotence": "true",
    "compression.type": "zstd",
    "linger.ms": 200,
    "reconnect.backoff.max.ms": 60_000,  # every attempt that fails is a line of the log
    "queue.buffering.max.messages": 2000,
    "queue.buffering.max.kbytes": 8192,
    "message.timeout.ms": 300_000,
}


class TopicError(Exception):
    """Messages that were given up."""


class Producer(Protocol):
    """The part of confluent-kafka's producer that is used."""

    def produce(self, topic: str, value: bytes, key: bytes, *, on_delivery: Callable[[object, object], None]) -> None:
        """Put a message into the queue; BufferError if that is full."""

    def poll(self, timeout: float) -> int:
        """Run the callbacks for messages that were delivered or given up."""

    def flush(self, timeout: float) -> int:
        """Wait this long for everything in the queue; the answer is how many messages are left."""


def connect(bootstrap: str, properties: Mapping[str, str]) -> Producer:
    """A producer; `properties` are librdkafka's, and override all but the address (ImportError without the package)."""
    import confluent_kafka  # noqa: PLC0415 - an extra that may be missing

    quiet = logging.getLogger("kafka_quorum.observations.librdkafka")
    wanted = {**_BOUNDS, **properties, "bootstrap.servers": bootstrap}
    return cast("Producer", confluent_kafka.Producer(wanted, logger=quiet))


class Topic:
    """Lines into a topic."""

    def __init__(self, topic: str, bootstrap: str, properties: Mapping[str, str]) -> None:
        """The first line connects."""
        self._topic, self._bootstrap, self._properties = topic, bootstrap, properties
        self._producer: Producer | None = None
        self._given_up = 0
        self._reason = ""

    def __str__(self) -> str:
        """For messages."""
        return f"topic {self._topic} at {self._bootstrap}"

    def write(self, lines: Sequence[Line]) -> None:
        """Put these lines into the producer's queue. `TopicError` reports what was given up since the last call."""
        if self._producer is None:
            if not lines:
                return
            self._producer = connect(self._bootstrap, self._properties)
        for line in lines:
            try:
                self._producer.produce(self._topic, line.text, line.key.encode(), on_delivery=self._delivered)
            except BufferError:
                self._lost("the producer's queue is full")
        self._producer.poll(0)
        self._tell()

    def close(self) -> None:
        """Wait a short time for what is being sent."""
        if self._producer is not None:
            left = self._producer.flush(_FLUSH_S)
            if left:
                self._lost(f"{left} messages were not delivered in time")
            self._tell()

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self._lost(str(error))

    def _lost(self, reason: str) -> None:
        self._given_up += 1
        self._reason = reason

    def _tell(self) -> None:
        if self._given_up:
            count, self._given_up = self._given_up, 0
            raise TopicError(f"{count} given up: {self._reason}")
