"""From static to dynamic (KIP-853): kraft.version 1, then no server has `controller.quorum.voters` any more."""

from typing import Final

from kafka_quorum.api.features import KRAFT
from kafka_quorum.model.actions import RecordChange
from kafka_quorum.model.migration import STATIC_TO_DYNAMIC
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.migrating import runs_static
from kafka_quorum.plan.guards.rule7_migrations import (
    may_begin_migration,
    may_drop_static,
    may_end_at_brokers,
    may_leave_controllers,
    may_revert_level,
    what_static_voters_lack,
)
from kafka_quorum.plan.guards.rule7_releases import too_old_for_dynamic
from kafka_quorum.plan.migrations.way import Answered, Entry, Gate, Way


def _begin(situation: Situation) -> Answered:
    return may_begin_migration(situation, STATIC_TO_DYNAMIC.title, too_old_for_dynamic(situation))


def _is_raised(situation: Situation) -> bool:
    """Whether the leader reports kraft.version 1: before that the feature step reports what is missing."""
    return situation.present.get(KRAFT, 0) >= 1


_INTO_FIRST: Final = Gate(judge=_begin, change=RecordChange.MIGRATION_BEGUN, lacks=too_old_for_dynamic)
_OUT_OF_FIRST: Final = Gate(
    judge=may_drop_static, change=RecordChange.DYNAMIC, tells=_is_raised, lacks=what_static_voters_lack
)


def _asked(situation: Situation) -> bool:
    return any(each.name == KRAFT and each.level >= 1 for each in situation.desired.features)


def _entry(situation: Situation) -> Entry | None:
    """The first stage if the level is to be raised; the second if it is raised, and the setting is still there.

    An adopted quorum may be dynamic already. Versions before migrations were stored may have begun this one.
    """
    record = situation.record
    if record.static:
        if _is_raised(situation):
            return Entry(stage=1, gate=_OUT_OF_FIRST)
        return Entry(stage=0, gate=_INTO_FIRST) if _asked(situation) and situation.present else None
    rests = situation.requested == record.node_ids and situation.observed.status.operation is None
    return Entry(stage=1, gate=_OUT_OF_FIRST) if rests and runs_static(situation) else None


WAY: Final = Way(
    migration=STATIC_TO_DYNAMIC,
    entry=_entry,
    asked=_asked,
    gates=(
        _OUT_OF_FIRST,
        Gate(judge=may_leave_controllers, change=RecordChange.MIGRATION_STAGE),
        Gate(judge=may_end_at_brokers, change=RecordChange.MIGRATION_DONE),
    ),
    backs=(Gate(judge=may_revert_level, change=RecordChange.MIGRATION_REVERTED), None, None),
)
