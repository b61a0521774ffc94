"""What makes a stored identity record impossible: an id that Kafka does not allow, too many entries, a contradiction.

A person who may edit a ConfigMap, a claim or a status can write such text into a copy of the record.
"""

from collections.abc import Iterable
from typing import Final

from kafka_quorum.model import journal
from kafka_quorum.model.identity import IdentityRecord, with_migration
from kafka_quorum.model.ids import DirectoryID, id_fault
from kafka_quorum.model.migration import MigrationKind
from kit.parsing import INT32_MAX, quoted

_NODES_MAX: Final = 256
_FORMER_MAX: Final = 4096
_LEVELS_MAX: Final = 64


def fault_of(record: IdentityRecord) -> str | None:
    """What makes a record impossible, in words; None if nothing does."""
    nodes, former = record.nodes, record.former
    if len(nodes) > _NODES_MAX or len(record.initial) > _NODES_MAX:
        return f"it has {max(len(nodes), len(record.initial))} controllers, at most {_NODES_MAX} can be"
    retired = [directory for node in nodes for directory in node.retired]
    retired += [directory for each in former for directory in each.retired]
    if len(former) > _FORMER_MAX or len(retired) > _FORMER_MAX or len(record.levels) > _LEVELS_MAX:
        return f"it has more than {_FORMER_MAX} former controllers or disks, or more than {_LEVELS_MAX} levels"
    ids = [*record.node_ids, *(key.node_id for key in record.initial), *(each.node_id for each in former)]
    if len(set(record.node_ids)) != len(nodes):
        return "it has a controller twice"
    if wrong := [node_id for node_id in ids if not 0 <= node_id <= INT32_MAX]:
        return f"it has the node id {quoted(wrong[0])}"
    return _directories_fault(record, retired) or _migration_fault(record) or _recovery_fault(record)


def _migration_fault(record: IdentityRecord) -> str | None:
    """What contradicts the stage of the migration."""
    reached = record.migration
    if reached is not None and (reached.kind is MigrationKind.AUTHORITY) != (reached.trust is not None):
        return f"its migration is {reached.kind.value}, and the authorities of one do not fit"
    if reached is None or with_migration(record, reached).static == record.static:
        return None
    return f"its migration is at stage {reached.stage}, and static is {str(record.static).lower()}"


def _directories_fault(record: IdentityRecord, retired: Iterable[DirectoryID]) -> str | None:
    """The first cluster id or directory id that Kafka does not allow."""
    directories = [
        *(node.directory_id for node in record.nodes),
        *(key.directory_id for key in record.initial),
        *retired,
    ]
    return id_fault(record.cluster_id, directories)


def _recovery_fault(record: IdentityRecord) -> str | None:
    """What contradicts the open recovery."""
    if not 0 <= record.recovery_epoch <= INT32_MAX:
        return f"it has recovery epoch {quoted(record.recovery_epoch)}"
    if not 0 <= record.recoveries_taken_back <= INT32_MAX:
        return f"it counts {quoted(record.recoveries_taken_back)} recoveries that led back"
    if record.recovery is None:
        return None
    if record.recovery.epoch != record.recovery_epoch or record.recovery.cluster_id != record.cluster_id:
        return f"its recovery {record.recovery.epoch} is not the one of its epoch {record.recovery_epoch}"
    if record.node(record.recovery.node_id) is None:
        return f"it has no controller {record.recovery.node_id}, which its recovery continues with"
    return journal.fault_of(record.recovery)
