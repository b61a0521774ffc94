"""What a drain copies is limited: which brokers and topics, and when the limits are removed (B6). Pure.

Kafka limits replication by two settings together: a rate of each broker, and for each topic the replicas that it counts
for. Only replicas that a drain moves are listed, so a broker that catches up after a restart is not slowed down.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kafka_brokers.model.actions import EndThrottle
from kafka_brokers.model.disks import BrokerIdentity, PoolRecord, Throttle
from kafka_brokers.model.observed import ClusterView
from kafka_brokers.model.plan import Part
from kafka_brokers.model.pool import Drain
from kafka_brokers.plan.facts import Situation
from kafka_quorum.model.brokers import ConfigChange, Move
from kafka_quorum.model.ids import NodeID

RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Of a broker, in bytes per second."""
REPLICAS: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Of a topic: `PARTITION:BROKER` with commas between them."""
TOPICS_MAX: Final = 200
"""With more of them, those that nothing moves any more are released before the next moves begin."""


def next_to_leave(record: PoolRecord) -> BrokerIdentity | None:
    """The broker that leaves next: one that is empty already, else the one with the highest id."""
    gone = [one for one in record.brokers if one.leaving]
    return next((one for one in gone if one.empty), max(gone, key=lambda one: one.node_id, default=None))


def throttle_for(view: ClusterView, moves: Iterable[Move], bytes_per_s: int, before: Throttle | None) -> Throttle:
    """What is limited while these moves run, in addition to what is limited already."""
    listed = tuple(moves)
    replicas = {row.at: row.replicas for row in view.partitions}
    nodes = {node for move in listed for node in (*(move.replicas or ()), *replicas.get(move.at, ()))}
    known = {row.node_id for row in view.registered}
    return Throttle(
        bytes_per_s=bytes_per_s,
        brokers=tuple(sorted((nodes & known) | set(before.brokers if before else ()))),
        topics=tuple(sorted({move.at.topic for move in listed} | set(before.topics if before else ()))),
    )


def rates(view: ClusterView, throttle: Throttle) -> tuple[tuple[NodeID, tuple[ConfigChange, ...]], ...]:
    """The rate of every registered broker that takes part."""
    changes = tuple(ConfigChange(name=name, value=str(throttle.bytes_per_s)) for name in RATES)
    return tuple((node_id, changes) for node_id in throttle.brokers if view.broker(node_id) is not None)


def limited(view: ClusterView, moves: Iterable[Move]) -> tuple[tuple[str, tuple[ConfigChange, ...]], ...]:
    """For each topic of these moves, the replicas that copy or are copied to: of these moves, and of running ones."""
    listed = tuple(moves)
    replicas = {row.at: row.replicas for row in view.partitions}
    rows = [(move.at, replicas.get(move.at, ()), move.replicas or ()) for move in listed]
    topics = {move.at.topic for move in listed}
    rows += [
        (row.at, tuple(node for node in row.replicas if node not in row.adding), row.target)
        for row in view.reassignments
        if row.at.topic in topics
    ]
    found = []
    for topic in sorted(topics):
        of_topic = sorted((row for row in rows if row[0].topic == topic), key=lambda row: row[0])
        sources = (f"{at.index}:{node}" for at, old, _ in of_topic for node in old)
        targets = (f"{at.index}:{node}" for at, old, new in of_topic for node in new if node not in old)
        values = (",".join(sources), ",".join(targets))
        changes = (ConfigChange(name=name, value=value) for name, value in zip(REPLICAS, values, strict=True))
        found.append((topic, tuple(changes)))
    return tuple(found)


def throttles(situation: Situation) -> Part:
    """Remove the limits when the drain is over, and of many topics those that nothing moves any more."""
    throttle, view, leader = situation.record.throttle, situation.view, situation.leader
    if throttle is None or view is None or leader is None:
        return Part()
    running = {row.at.topic for row in view.reassignments}
    idle = tuple(topic for topic in throttle.topics if topic not in running)
    goes_on = _goes_on(situation, view)
    over = not goes_on and len(idle) == len(throttle.topics)
    many = goes_on and len(throttle.topics) > TOPICS_MAX and bool(idle)
    if not (over or many):
        return Part()
    rest = None if over else replace(throttle, topics=tuple(one for one in throttle.topics if one in running))
    present = {row.at.topic for row in view.partitions}
    brokers = tuple(node for node in throttle.brokers if view.broker(node) is not None) if over else ()
    end = EndThrottle(
        leader=leader.endpoint,
        brokers=brokers,
        topics=tuple(topic for topic in idle if topic in present),
        record=situation.record.with_throttle(rest),
    )
    return Part(exclusive=end)


def _goes_on(situation: Situation, view: ClusterView) -> bool:
    """Whether more moves of the present drain may begin."""
    broker = next_to_leave(situation.record)
    if broker is None or situation.repair_only or situation.desired.drain is not Drain.AUTOMATIC:
        return False
    return broker.node_id in view.by_broker
