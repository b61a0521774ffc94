"""The first record through a new Kafka: a topic is created, a record produced to it with `acks=all`, and consumed.

The client is in this process, so the start of a pod is not part of the time. It tries again until it succeeds, as an
application does.
"""

import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from harness.access import PLAIN, Access
from harness.client.topics import Topic, create

_TOPIC = Topic(name="first")
_TIMEOUT_S = 180.0
_VALUE = b"first"


def seconds_until_consumed(bootstrap: str, started_s: float, access: Access = PLAIN) -> float:
    """Seconds since `started_s` (monotonic) until the first record was consumed (AssertionError if it never is)."""
    deadline = started_s + _TIMEOUT_S
    settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0, **access.settings()}
    create(AdminClient(settings), (_TOPIC,), deadline)
    producer = Producer({**settings, "acks": "all", "enable.idempotence": True, "linger.ms": 0})
    producer.produce(_TOPIC.name, _VALUE)
    consumer = Consumer({**settings, "group.id": "first", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(_TOPIC.name, 0, OFFSET_BEGINNING)])
    try:
        while time.monotonic() < deadline:
            producer.poll(0)
            message = consumer.poll(0.05)
            if message is not None and message.error() is None and message.value() == _VALUE:
                return time.monotonic() - started_s
    finally:
        consumer.close()
    raise AssertionError(f"no record was consumed after {_TIMEOUT_S:.0f} s")
