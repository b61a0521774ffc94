"""For how long an application processed nothing: the gaps between the records that it writes, by their append time."""

import itertools
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaError, TopicPartition

GAP_S: Final = 1.0
"""A shorter gap is no stop: records come, and are committed, several times a second."""
_READ_S: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """`total_s`: the seconds of all gaps of all partitions that are longer than `GAP_S`; `longest_s`: the longest."""

    total_s: float
    longest_s: float

    def __str__(self) -> str:
        """For a person."""
        return f"{self.total_s:.1f} s without processing over all partitions, at most {self.longest_s:.1f} s in one"


def idle(times_s: Mapping[int, Iterable[float]], since_s: float, until_s: float) -> Idle:
    """The gaps within a window, in seconds since 1970. A partition without a record in it was idle all the time."""
    gaps = []
    for times in times_s.values():
        within = [since_s, *sorted(one for one in times if since_s < one < until_s), until_s]
        gaps += [later - earlier for earlier, later in itertools.pairwise(within)]
    long = [gap for gap in gaps if gap > GAP_S]
    return Idle(total_s=sum(long), longest_s=max(long, default=0.0))


def append_times(bootstrap: str, topic: str, partitions: int) -> dict[int, list[float]]:
    """When each record of a topic with LogAppendTime came, in seconds since 1970, by partition (TimeoutError)."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "idle", "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    found: dict[int, list[float]] = defaultdict(list)
    ended: set[int] = set()
    deadline_s = time.monotonic() + _READ_S
    try:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        while len(ended) < partitions:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"the end of {topic} was not reached in {_READ_S:g} s")
            for message in consumer.consume(5000, 0.5):
                partition, error = message.partition() or 0, message.error()
                if error is None:
                    found[partition].append(message.timestamp()[1] / 1000)
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its public name
                    ended.add(partition)
    finally:
        consumer.close()
    return dict(found)
