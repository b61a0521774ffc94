"""MigratedFromZooKeeper: how far a quorum came that began beside ZooKeeper. Only such quorums have this condition."""

from kafka_quorum.model.desired import BootstrapMode
from kafka_quorum.model.plan import Severity
from kafka_quorum.status.finding import Pass
from kit.conditions.finding import Finding, Truth

_TELLS = ("Preflight", "DualWrite", "RolledBack", "MigrationHeld", "Migrating", "ControllersStop")


def migrated(done: Pass) -> Finding | None:
    """Whether the migration has ended. `DualWrite`: it is parked, and a person decides between its two ends."""
    record = done.observed.record
    mode = done.desired.bootstrap if record is None else record.format.mode
    if mode is not BootstrapMode.ZOOKEEPER:
        return None
    if record is not None and record.migration is None:
        return _finding(Truth.TRUE, "Finalized", "the controllers do not use ZooKeeper any more")
    waits = [wait for reason in _TELLS for wait in done.plan.waits if wait.reason == reason]
    if waits:
        return _finding(Truth.FALSE, waits[0].reason, waits[0].message)
    if record is None or record.migration is None:
        held = done.first(Severity.HELD) or done.first(Severity.DEGRADED)
        return _finding(Truth.FALSE, "NotBegun", held.message if held else "the migration has not begun")
    return _finding(Truth.FALSE, record.migration.stage, record.migration.present.sentence)


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type="MigratedFromZooKeeper", truth=truth, reason=reason, message=message)
