"""What the status says of a migration: its stage, what is missing for the next one, and how to revert it."""

from typing import Any, Final, TypeAlias

from kafka_quorum.model.known import Known
from kafka_quorum.status.finding import Pass

Json: TypeAlias = dict[str, Any]

_MISSING: Final = ("MigrationHeld", "Migrating", "FeatureBlocked", "Soaking", "SteppingFeature", "Paused")
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
    }
    return {"migration": {name: value for name, value in row.items() if value != ""}}


def _has_begun(old: Json) -> bool:
    """Whether the row says that a stage was reached: whether that is still so, the record says."""
    return bool((old.get("migration") or {}).get("stage"))


def _missing(done: Pass) -> str:
    waits = [wait for wait in done.plan.waits if not wait.delayed]
    return next((wait.message for reason in _MISSING for wait in waits if wait.reason == reason), "")
