"""What the status says of a migration: its stage, what is missing for the next one, and how to revert it."""

from typing import Any, Final, TypeAlias

from kafka_quorum.model.beside import driver, is_from_zookeeper, keeper
from kafka_quorum.model.known import Known
from kafka_quorum.model.migration import Keeper, MigrationKind
from kafka_quorum.status.finding import Pass
from kit.conditions.merge import shortened, without_none

Json: TypeAlias = dict[str, Any]

_MISSING: Final = (
    *("Preflight", "MigrationHeld", "Migrating", "DualWrite", "RolledBack", "ControllersStop"),
    *("FeatureBlocked", "Soaking", "SteppingFeature", "Paused"),
)
"""The waits that say what is missing; the first one that there is."""


def migration(done: Pass, old: Json) -> Json:
    """The migration that is under way, or is requested; nothing if there is none.

    One that has not begun is known by the levels that the leader reports. Without a report the row stays as it was, and
    without a record that can be read, too.
    """
    planned = done.plan.migration
    if done.observed.record is None:
        return {"migration": old["migration"]} if "migration" in old else {}
    if planned is None:
        silent = not isinstance(done.observed.quorum, Known) or not done.observed.finalized
        return {"migration": old["migration"]} if silent and not _has_begun(old) and "migration" in old else {}
    row = {
        "kind": planned.kind,
        "stage": planned.stage,
        "stages": planned.stages,
        "name": planned.name,
        "message": planned.sentence,
        "missing": _missing(done),
        "revert": planned.way_back,
    } | _from_zookeeper(done)
    return {"migration": {name: value for name, value in row.items() if value != ""}}


def preflight(done: Pass) -> Json:
    """What is in the way of a migration from ZooKeeper, until its controllers run."""
    found = done.plan.preflight
    if found is None:
        return {}
    rows = [
        {
            "code": each.code,
            "object": shortened(each.object),
            "found": shortened(each.found),
            "wayOut": shortened(each.way_out),
            "unknown": each.unknown or None,
        }
        for each in found
    ]
    return {
        "preflight": {
            "passed": not found,
            "blockers": [{name: value for name, value in row.items() if value is not None} for row in rows],
        }
    }


def _from_zookeeper(done: Pass) -> Json:
    """Both sides of a migration from ZooKeeper: Kafka's own state, and what ZooKeeper has."""
    situation = done.situation
    if situation is None or not is_from_zookeeper(situation):
        return {}
    said, seen, reached = driver(situation), keeper(situation), situation.record.migration
    row: Json = {
        "rollBackPossible": reached is not None
        and reached.kind is MigrationKind.ZOOKEEPER_TO_KRAFT
        and reached.present.controllers.keeper is not Keeper.NONE
    }
    if isinstance(said, str):
        row |= {"state": f"Unknown: {said}"}
    else:
        row |= {"state": said.state.name, "lagRecords": said.lag, "brokersInMigration": said.migrating}
    if not isinstance(seen, str):
        leads = seen.controller
        kind = "" if leads is None else " (KRaft)" if leads.kraft_epoch is not None else " (ZooKeeper)"
        row["zookeeperController"] = "none" if leads is None else f"{leads.node_id}{kind}"
        row["brokersInZooKeeper"] = len(seen.registered)
    if reached is not None and reached.saved is not None:
        saved = {"controller": reached.saved.controller, "controllerEpoch": reached.saved.controller_epoch}
        row["savedNodes"] = {
            name: value for name, value in {**saved, "migration": reached.saved.migration}.items() if value
        }
    return without_none(row)


def _has_begun(old: Json) -> bool:
    """Whether the row says that a stage was reached: whether that is still so, the record says."""
    return bool((old.get("migration") or {}).get("stage"))


def _missing(done: Pass) -> str:
    waits = [wait for wait in done.plan.waits if not wait.delayed]
    return next((wait.message for reason in _MISSING for wait in waits if wait.reason == reason), "")
