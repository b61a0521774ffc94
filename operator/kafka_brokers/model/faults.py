"""What makes a stored record impossible. A person who may edit a ConfigMap can write such text into it."""

from collections.abc import Iterator
from typing import Final

from kafka_brokers.model.disks import BrokerIdentity, PoolRecord
from kafka_quorum.model.ids import id_fault
from kit.parsing import INT32_MAX, quoted
from kit.text import NAME_MAX_CHARS, is_clean

BROKERS_MAX: Final = 256
VOLUMES_MAX: Final = 64
FORMER_MAX: Final = 4096
OUTSIDE_MAX: Final = 100_000


def fault_of(record: PoolRecord) -> str | None:
    """The first fault of a record, as a clause; None if it has none: an id that Kafka does not allow, or too many."""
    return next(_faults(record), None)


def _faults(record: PoolRecord) -> Iterator[str]:
    if len(record.brokers) > BROKERS_MAX:
        yield f"it has {len(record.brokers)} brokers, at most {BROKERS_MAX} can be"
    if len(set(record.node_ids)) != len(record.brokers):
        yield "it has a broker twice"
    retired = [directory for each in record.former for directory in each.retired]
    retired += [directory for broker in record.brokers for disk in broker.disks for directory in disk.retired]
    if len(record.former) > FORMER_MAX or len(retired) > FORMER_MAX:
        yield f"it has more than {FORMER_MAX} former brokers or disks"
    ids = [*record.node_ids, *(each.node_id for each in record.former)]
    yield from (f"it has the node id {quoted(node_id)}" for node_id in ids if not 0 <= node_id <= INT32_MAX)
    generations = [generation for each in record.former for generation in each.generations]
    yield from (f"it has the generation {quoted(each)}" for each in generations if not 0 <= each <= INT32_MAX)
    topics = record.throttle.topics if record.throttle is not None else ()
    if len(topics) > OUTSIDE_MAX:
        yield f"it limits more than {OUTSIDE_MAX} topics"
    yield from (
        f"it limits the topic {quoted(each)}" for each in topics if not is_clean(each, max_chars=NAME_MAX_CHARS)
    )
    for broker in record.brokers:
        yield from _broker_faults(broker)
    present = [disk.directory_id for broker in record.brokers for disk in broker.disks if disk.directory_id]
    if len(set(present)) != len(present):
        yield "two volumes have the same directory id"
    if fault := id_fault(record.cluster_id, (*present, *retired)):
        yield fault


def _broker_faults(broker: BrokerIdentity) -> Iterator[str]:
    where = f"broker {broker.node_id}"
    indexes = [disk.index for disk in broker.disks]
    if not broker.disks or len(broker.disks) > VOLUMES_MAX or indexes != list(range(len(indexes))):
        yield f"{where} has the volumes {quoted(str(indexes[:VOLUMES_MAX]))}, which must count from 0"
    yield from (
        f"volume {disk.index} of {where} has the generation {quoted(disk.generation)}"
        for disk in broker.disks
        if not 1 <= disk.generation <= INT32_MAX
    )
    if len(broker.outside) > OUTSIDE_MAX:
        yield f"{where} has more than {OUTSIDE_MAX} partitions"
    yield from (
        f"{where} has the partition {quoted(str(at))}"
        for at in broker.outside
        if not is_clean(at.topic, max_chars=NAME_MAX_CHARS) or not 0 <= at.index <= INT32_MAX
    )
