"""To another authority: both are trusted, then the new one signs, then only the new one is trusted.

It turns to another authority, or back, by beginning again with all of them: nothing that is trusted is cut meanwhile.
"""

from dataclasses import replace
from typing import Final

from kafka_quorum.model.actions import RecordChange
from kafka_quorum.model.bundles import bundle_of, together
from kafka_quorum.model.identity import IdentityRecord, with_migration
from kafka_quorum.model.known import Known
from kafka_quorum.model.migration import AUTHORITY, Reached, TrustChange
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.room import why_no_room
from kafka_quorum.plan.guards.rule7_migrations import may_begin_migration
from kafka_quorum.plan.guards.rule13_authority import may_drop_old, may_end_change, may_trust_new, may_turn_trust
from kafka_quorum.plan.migrations.way import Answered, Entry, Gate, Way


def _wanted(situation: Situation) -> str:
    """The bundle that shall be trusted in the end; empty while it is not known."""
    material = situation.observed.material
    wanted = None if material is None else material.wanted_trust
    return wanted.value if isinstance(wanted, Known) else ""


def _applied(situation: Situation) -> str:
    """The bundle that the controllers trust; empty if they have none, or it is not known."""
    made = situation.observed.revision(situation.record.applied_revision)
    return made.runtime.trust if made is not None and made.runtime.encrypted else ""


def _same(one: str, other: str) -> bool:
    return bundle_of(one).fingerprints == bundle_of(other).fingerprints


def _begin(situation: Situation) -> Answered:
    return may_begin_migration(situation, AUTHORITY.title, _lacks(situation))


def _lacks(situation: Situation) -> str:
    """What has no room; empty if everything has."""
    change = TrustChange(before=_applied(situation), after=_wanted(situation))
    return why_no_room(situation, change) if change.before and change.after else ""


def _begun(situation: Situation, reached: Reached | None) -> IdentityRecord:
    return _to(situation, reached, _applied(situation))


def _turned(situation: Situation, reached: Reached | None) -> IdentityRecord:
    trust = None if reached is None else reached.trust
    return _to(situation, reached, "" if trust is None else together(trust.before, trust.after))


def _to(situation: Situation, reached: Reached | None, before: str) -> IdentityRecord:
    """The first stage of a change from these authorities to the wanted ones."""
    wanted = _wanted(situation)
    if reached is None or not wanted or not before:  # the guard has read them
        raise ValueError("the authorities were not read")
    change = TrustChange(before=before, after=wanted)
    return with_migration(situation.record, replace(reached, stage=AUTHORITY.stages[0].name, trust=change))


def _entry(situation: Situation) -> Entry | None:
    wanted, applied = _wanted(situation), _applied(situation)
    if not wanted or not applied or _same(wanted, applied):
        return None
    return Entry(stage=0, gate=_INTO)


def _asked(situation: Situation) -> bool:
    """Whether the authority that it leads to is still the wanted one; unknown is no other one."""
    reached, wanted = situation.record.migration, _wanted(situation)
    trust = None if reached is None else reached.trust
    return trust is None or not wanted or _same(wanted, trust.after)


_INTO: Final = Gate(judge=_begin, change=RecordChange.MIGRATION_BEGUN, lacks=_lacks, makes=_begun)
_TURN: Final = Gate(judge=may_turn_trust, change=RecordChange.AUTHORITY_TURNED, makes=_turned)

WAY: Final = Way(
    migration=AUTHORITY,
    entry=_entry,
    asked=_asked,
    gates=(
        Gate(judge=may_trust_new, change=RecordChange.NEW_SIGNS),
        Gate(judge=may_drop_old, change=RecordChange.OLD_DROPPED),
        Gate(judge=may_end_change, change=RecordChange.AUTHORITY_CHANGED),
    ),
    backs=(_TURN, _TURN, None),
)
