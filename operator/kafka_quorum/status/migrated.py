"""MigratedFromZooKeeper: how far a quorum came that began beside ZooKeeper. Only such quorums have this condition."""

from typing import Final

from kafka_quorum.model.desired import BootstrapMode
from kafka_quorum.model.migration import Keeper
from kafka_quorum.model.plan import Severity
from kafka_quorum.status.finding import Pass
from kit.conditions.finding import Finding, Truth

TYPE: Final = "MigratedFromZooKeeper"
_TELLS = ("Preflight", "DualWrite", "RolledBack", "MigrationHeld", "Migrating", "ControllersStop")


def migrated(done: Pass) -> Finding | None:
    """Whether the migration has ended. `DualWrite`: it is parked, and a person decides between its two ends."""
    record = done.observed.record
    mode = done.desired.bootstrap if record is None else record.format.mode
    if mode is not BootstrapMode.ZOOKEEPER:
        return None
    late = _too_late(done)
    if record is not None and record.migration is None:
        return _finding(Truth.TRUE, "Finalized", f"the controllers do not use ZooKeeper any more{late}")
    waits = [wait for reason in _TELLS for wait in done.plan.waits if wait.reason == reason]
    if waits:
        return _finding(Truth.FALSE, waits[0].reason, f"{waits[0].message}{late}")
    if record is None or record.migration is None:
        held = done.first(Severity.HELD) or done.first(Severity.DEGRADED)
        return _finding(Truth.FALSE, "NotBegun", held.message if held else "the migration has not begun")
    return _finding(Truth.FALSE, record.migration.stage, f"{record.migration.present.sentence}{late}")


def _too_late(done: Pass) -> str:
    """A roll back that was asked for after ZooKeeper was given up, as a clause; empty if there is none."""
    record, migrate = done.observed.record, done.desired.migrate
    if record is None or migrate is None or not migrate.roll_back:
        return ""
    reached = record.migration
    over = reached is None or reached.present.controllers.keeper is Keeper.NONE
    return ". spec.zookeeper.rollBack has no effect: ZooKeeper was given up before" if over else ""


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type=TYPE, truth=truth, reason=reason, message=message)
