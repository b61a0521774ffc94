"""The topics that a client creates and uses: read from JSON, made with Kafka's own client."""

import json
import time
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

_PAUSE_S = 0.5
_REQUEST_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic. With `assignment` (the brokers of each partition) the counts follow from it."""

    name: str
    partitions: int = 1
    replication: int = 3
    min_isr: int = 2
    config: dict[str, str] = field(default_factory=dict)
    assignment: tuple[tuple[int, ...], ...] = ()

    @property
    def lanes(self) -> tuple[str, ...]:
        """The names of its partitions."""
        return tuple(f"{self.name}-{index}" for index in range(len(self.assignment) or self.partitions))


def read_topics(text: str) -> tuple[Topic, ...]:
    """The topics of a JSON list."""
    rows = json.loads(text)
    return tuple(Topic(**(row | {"assignment": tuple(map(tuple, row.get("assignment", ())))})) for row in rows)


def create(client: AdminClient, topics: tuple[Topic, ...], deadline_s: float) -> None:
    """Create those that are missing; repeats until Kafka accepts each of them (TimeoutError after the deadline)."""
    missing, why = {topic.name: topic for topic in topics}, ""
    while missing:
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"did not create {', '.join(missing)}: {why}")
        answers = client.create_topics([_new(topic) for topic in missing.values()], request_timeout=_REQUEST_TIMEOUT_S)
        for name, answer in answers.items():
            try:
                answer.result(_REQUEST_TIMEOUT_S + 5)
            except (KafkaException, TimeoutError) as error:
                why = str(error)
                if not _exists(error):
                    continue
            del missing[name]
        time.sleep(_PAUSE_S if missing else 0)


def _exists(error: Exception) -> bool:
    cause = error.args[0] if error.args else None
    return isinstance(cause, KafkaError) and cause.code() == KafkaError.TOPIC_ALREADY_EXISTS


def _new(topic: Topic) -> NewTopic:
    config = {"min.insync.replicas": str(topic.min_isr), "retention.ms": "-1", **topic.config}
    if topic.assignment:
        brokers = [list(row) for row in topic.assignment]
        return NewTopic(topic.name, num_partitions=len(brokers), replica_assignment=brokers, config=config)
    return NewTopic(topic.name, num_partitions=topic.partitions, replication_factor=topic.replication, config=config)
