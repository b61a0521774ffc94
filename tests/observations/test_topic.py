"""The Kafka sink: one message a line, bounded, with errors for lost messages; against librdkafka's own broker."""

from collections.abc import Callable

import pytest

from kafka_quorum.observations import topic as topics
from kafka_quorum.observations.recorder import Line
from kafka_quorum.observations.topic import Topic, TopicError

Delivered = Callable[[object, object], None]


class Scripted:
    """A producer that treats every message as the test requires."""

    def __init__(self) -> None:
        """Starts delivering."""
        self.sent: list[tuple[str, bytes, bytes]] = []
        self.full = False
        self.error: object = None
        self.left = 0
        self._waiting: list[Delivered] = []

    def produce(self, topic: str, value: bytes, key: bytes, *, on_delivery: Delivered) -> None:
        """Queues the message."""
        if self.full:
            raise BufferError("queue full")
        self.sent.append((topic, key, value))
        self._waiting.append(on_delivery)

    def poll(self, timeout: float) -> int:
        """Reports the result of every queued message."""
        assert timeout == 0
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call(self.error, None)
        return len(waiting)

    def flush(self, timeout: float) -> int:
        """The number of messages that are left."""
        assert timeout > 0
        return self.left


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """The producer of every topic of the test."""
    made = Scripted()
    monkeypatch.setattr(topics, "connect", lambda *_: made)
    return made


def test_a_message_a_line(scripted: Scripted) -> None:
    """A message is keyed by the cluster, so that the lines of a quorum keep their order."""
    sink = Topic("looks", "kafka:9092", {})
    sink.write([])
    sink.write([Line(key="c1", text=b"{}", new=True)])
    sink.close()
    assert scripted.sent == [("looks", b"c1", b"{}")]


def test_what_is_given_up_is_told(scripted: Scripted) -> None:
    """A full queue, a failed message and a late message each raise an error once."""
    sink = Topic("looks", "kafka:9092", {})
    scripted.full = True
    with pytest.raises(TopicError, match=r"\b1\b"):
        sink.write([Line(key="c", text=b"{}", new=True)])
    scripted.full, scripted.error = False, "the broker said no"
    with pytest.raises(TopicError, match=r"\b2\b.*the broker said no"):
        sink.write([Line(key="c", text=b"{}", new=True)] * 2)
    sink.write([])
    scripted.left = 4
    with pytest.raises(TopicError, match=r"\b4\b"):
        sink.close()


def test_the_real_producer_delivers() -> None:
    """confluent-kafka accepts our properties, and its built-in broker accepts our messages."""
    producer = topics.connect("127.0.0.1:1", {"test.mock.num.brokers": "1"})
    delivered: list[object] = []
    producer.produce("looks", b"{}", b"c", on_delivery=lambda error, _: delivered.append(error))
    assert producer.flush(30.0) == 0
    assert delivered == [None]
