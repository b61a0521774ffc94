"""What a stop of brokers would do to each partition: the arithmetic of rules 10 and 11. Pure, and used by guards only.

Kafka keeps an acknowledged record on every member of the ISR. It answers a producer with acks=all only while the ISR
has `min.insync.replicas` members. Outside the ISR, the eligible leaders (ELR) have every acknowledged record too.
"""

from collections.abc import Iterator, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypeAlias

from kafka_brokers.model.observed import ClusterView
from kafka_quorum.model.brokers import Partition, TopicPartition
from kafka_quorum.model.ids import NodeID

NAMED_MAX: Final = 5
"""So many partitions are named in a message; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """A partition that speaks against a stop of a broker. `for_good`: no waiting ends it, a person must decide."""

    at: TopicPartition
    why: str
    for_good: bool = False


def objections(view: ClusterView, broker: NodeID, others: AbstractSet[NodeID]) -> Iterator[Objection]:
    """The partitions that a stop of this broker would harm, if `others` are stopped at the same time.

    In order: partitions that are harmed already, those that would be, those that no order of stops keeps available.
    """
    for partition in view.by_broker.get(broker, ()):
        found = _objection(view, partition, broker, others)
        if found is not None:
            yield found


def lasting(view: ClusterView, broker: NodeID) -> Iterator[Objection]:
    """The partitions that no order of stops keeps available, whatever else harms them now.

    One whose min ISR is not known may be such a one.
    """
    for partition in view.by_broker.get(broker, ()):
        min_isr, count = view.min_isr_of(partition), len(view.replicas_of(partition))
        if broker in partition.isr and (min_isr is None or count <= max(min_isr, 1)):
            yield _for_good(partition, min_isr, count)


def _for_good(partition: Partition, min_isr: int | None, count: int) -> Objection:
    known = "not known" if min_isr is None else f"{min_isr}: each stop makes it unavailable"
    why = f"it has {_replicas(count)}, and min.insync.replicas is {known}"
    return Objection(at=partition.at, why=why, for_good=True)


def _objection(
    view: ClusterView, partition: Partition, broker: NodeID, others: AbstractSet[NodeID]
) -> Objection | None:
    min_isr = view.min_isr_of(partition)
    if min_isr is None:
        return Objection(at=partition.at, why="its min.insync.replicas is not known")
    if _is_whole(view, partition, min_isr, others):
        return None
    rows = _of_member if broker in partition.isr else _of_outsider
    return next((found for holds, found in rows(view, partition, min_isr, broker, others) if holds), None)


def _is_whole(view: ClusterView, partition: Partition, min_isr: int, others: AbstractSet[NodeID]) -> bool:
    """Whether every replica is in the ISR, and one can be spared: most partitions are so, and this is quick."""
    count = len(partition.replicas)
    whole = partition.leader is not None and len(partition.isr) == count > max(min_isr, 1)
    return whole and partition.at not in view.targets and others.isdisjoint(partition.replicas)


_Row: TypeAlias = tuple[bool, Objection]


def _of_outsider(
    _: ClusterView, partition: Partition, min_isr: int, broker: NodeID, __: AbstractSet[NodeID]
) -> Iterator[_Row]:
    """A broker outside the ISR is needed where there is no leader, or too few members: it may become one."""
    at, eligible = partition.at, {*partition.elr, *partition.last_elr}
    leaderless = partition.leader is None and broker in eligible
    yield leaderless, Objection(at=at, why=f"it has no leader, and broker {broker} may be needed to lead it")
    why = f"it has {_members(partition)} and needs {min_isr}: broker {broker} can become one"
    yield len(partition.isr) < _reachable(partition, min_isr), Objection(at=at, why=why)


def _of_member(
    view: ClusterView, partition: Partition, min_isr: int, broker: NodeID, others: AbstractSet[NodeID]
) -> Iterator[_Row]:
    at, replicas, isr = partition.at, set(view.replicas_of(partition)), set(partition.isr)
    left = isr - {broker} - others
    leaderless = f"it has no leader, and broker {broker} may be needed to lead it"
    yield partition.leader is None, Objection(at=at, why=leaderless)
    too_few = len(isr) < _reachable(partition, min_isr)
    yield too_few, Objection(at=at, why=f"it has {_members(partition)} and needs {min_isr}")
    # Only after what waiting can end: a person who consents to this one does not consent to a stop before its time.
    yield len(replicas) <= max(min_isr, 1), _for_good(partition, min_isr, len(replicas))
    yield not left, Objection(at=at, why=f"broker {broker} is its only in-sync replica")
    why = f"it has {_members(partition)}, without broker {broker} {len(left)}, and needs {min_isr}"
    yield len(left) < min_isr, Objection(at=at, why=why)
    # When the running reassignment is done, only members among its target stay in the ISR.
    staying = isr & replicas
    harmed = broker in staying and len(staying) >= min_isr > len(staying & left)
    yield (
        harmed,
        Objection(at=at, why=f"its running reassignment would end with {len(staying & left)} in-sync replicas"),
    )


def _reachable(partition: Partition, min_isr: int) -> int:
    """So many members can be waited for: a partition with fewer replicas than min ISR never has as many."""
    return min(min_isr, len(partition.replicas))


def _members(partition: Partition) -> str:
    count = len(partition.isr)
    return "one in-sync replica" if count == 1 else f"{count} in-sync replicas"


def _replicas(count: int) -> str:
    return "one replica" if count == 1 else f"{count} replicas"


def waits_for(view: ClusterView, broker: NodeID) -> tuple[TopicPartition, ...]:
    """The partitions without a leader that this broker may lead when it is unfenced: a restart would delay them."""
    rows = view.by_broker.get(broker, ())
    eligible = (row.at for row in rows if row.leader is None and broker in {*row.isr, *row.elr, *row.last_elr})
    return tuple(sorted(eligible))


def share(view: ClusterView, one: NodeID, other: NodeID) -> bool:
    """Whether two brokers have a partition in common, now or when the running reassignments are done."""
    mine = view.by_broker.get(one, ())
    return any(other in partition.replicas or other in view.replicas_of(partition) for partition in mine)


def last_copies(view: ClusterView, broker: NodeID) -> tuple[Partition, ...]:
    """The partitions of which this broker may lead a copy that no other broker is known to have complete.

    Members of the ISR and eligible leaders have every acknowledged record. Of the others only those count that are
    unfenced: the disk of a broker that does not answer may be lost too. The last known eligible leaders may lead, and
    are not known to be complete. A broker that is none of these cannot lead, so nothing depends on its copy.
    """
    live = _live(view)
    found = []
    for partition in view.by_broker.get(broker, ()):
        complete = {*partition.isr, *partition.elr}
        candidates = complete or set(partition.last_elr)
        if (not candidates or broker in candidates) and not (complete - {broker}) & live:
            found.append(partition)
    return tuple(found)


def not_in_sync(view: ClusterView, broker: NodeID) -> tuple[Partition, ...]:
    """The partitions of this broker that it is not known to have whole: it is fenced, or not in their ISR."""
    rows, live = view.by_broker.get(broker, ()), broker in _live(view)
    return tuple(partition for partition in rows if broker not in partition.isr or not live)


def _live(view: ClusterView) -> set[NodeID]:
    return {row.node_id for row in view.registered if not row.fenced}


def counted(partitions: Sized) -> str:
    """How many partitions, in words."""
    count = len(partitions)
    return "one partition" if count == 1 else f"{count} partitions"


def named(partitions: tuple[TopicPartition, ...]) -> str:
    """The first few, and how many more there are. Kafka's own topics, such as `__consumer_offsets`, come last."""
    ordered = sorted(partitions, key=lambda at: (at.topic.startswith("__"), at))
    first = ", ".join(map(str, ordered[:NAMED_MAX]))
    more = len(partitions) - NAMED_MAX
    return f"{first} and {more} more" if more > 0 else first
