"""From ZooKeeper to KRaft, and back (KIP-866, rows Z3 to Z7).

A quorum beside ZooKeeper is born in the first stage. It parks in the third, in which ZooKeeper is kept up to date,
until a person decides. Up to there it turns round into a migration of its own, whose end is the end of the quorum.
"""

from dataclasses import replace
from typing import Final

from kafka_quorum.model.actions import GiveBackNodes, RecordChange
from kafka_quorum.model.attempts import attempted_again
from kafka_quorum.model.beside import (
    has_begun,
    keeper,
    to_give_back,
    to_save,
    why_behind,
    why_kraft_brokers,
    why_not_dual,
)
from kafka_quorum.model.conformance import are_being_asked
from kafka_quorum.model.identity import IdentityRecord, with_migration
from kafka_quorum.model.migration import (
    BACK_TO_ZOOKEEPER,
    LEFT_ZOOKEEPER_ALONE,
    ZOOKEEPER_TO_KRAFT,
    Migration,
    Reached,
)
from kafka_quorum.model.permit import Permit
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.preflight import why_preflight
from kafka_quorum.plan.guards.rule7_zookeeper import (
    may_attempt_again,
    may_be_finalized,
    may_copy_metadata,
    may_end_quorum,
    may_finalize,
    may_give_back,
    may_leave_zookeeper,
    may_let_zookeeper_lead,
    may_roll_back,
    may_stop_controllers,
    why_brokers_left,
)
from kafka_quorum.plan.migrations.way import Entry, Gate, Way
from kafka_quorum.plan.part import Part

PARKED: Final = "DualWrite"
"""The reason of the wait for a person who decides between the end of the migration and its roll back."""
ROLLED_BACK: Final = "RolledBack"


def _not_entered(_: Situation) -> Entry | None:
    """A quorum is born in this migration, or its record is rebuilt in it: it never begins later."""
    return None


def _goes_on(situation: Situation) -> bool:
    migrate = situation.desired.migrate
    return migrate is None or not migrate.roll_back


def _parked(situation: Situation) -> str:
    """Parked only if nothing but the decision is missing."""
    migrate = situation.desired.migrate
    decided = migrate is not None and migrate.finalize
    missing = why_brokers_left(situation) or why_not_dual(situation) or why_behind(situation)
    return "" if decided or missing else PARKED


def _turns(situation: Situation, index: int) -> tuple[Migration, int]:
    """The roll back begins with the brokers. Before they were told anything, only the controllers end.

    If their owner was early, they are in migration mode all the same, and this quorum has begun to copy. No broker is
    asked for migration mode beside a /migration of others: with it the driver would delete every topic in ZooKeeper.
    """
    return (LEFT_ZOOKEEPER_ALONE, 0) if index == 0 and not has_begun(situation) else (BACK_TO_ZOOKEEPER, 0)


def _saved(situation: Situation, reached: Reached | None) -> IdentityRecord:
    """The texts of the znodes are stored before they are deleted."""
    seen = keeper(situation)
    if reached is None or isinstance(seen, str):  # the guard has read ZooKeeper
        raise ValueError("ZooKeeper was not read")
    return with_migration(situation.record, replace(reached, saved=reached.saved or to_save(seen)))


def _give_back(situation: Situation) -> Part | None:
    """Delete the znodes, again and again until they are gone: the transaction compares what was seen."""
    seen, migrate = keeper(situation), situation.desired.migrate
    if isinstance(seen, str) or migrate is None:
        return None
    what = to_give_back(seen)
    if what.controller is None and what.migration is None:
        return None
    verdict = may_give_back(situation)
    if not isinstance(verdict, Permit):
        return Part(verdicts=(verdict,))
    beside = situation.runtime.zookeeper or migrate.beside
    return Part(exclusive=GiveBackNodes(access=beside.access, what=what, permit=verdict), verdicts=(verdict,))


def _begun_again(situation: Situation, _: Reached | None) -> IdentityRecord:
    return attempted_again(situation.record)


def _rests(situation: Situation) -> str:
    """Rolled back, and nobody asks for another attempt."""
    migrate = situation.desired.migrate
    again = migrate is not None and not migrate.roll_back and not migrate.dry_run
    return "" if again else ROLLED_BACK


def _away(situation: Situation) -> str:
    """Which brokers their owner must bring back to ZooKeeper; empty while they are only being asked."""
    return "" if are_being_asked(situation) else why_kraft_brokers(situation)


_BACK: Final = Gate(judge=may_roll_back, change=RecordChange.ROLL_BACK)
_STOP: Final = Gate(judge=may_give_back, change=RecordChange.GIVE_BACK, makes=_saved)
_LEADS: Final = Gate(judge=may_let_zookeeper_lead, change=RecordChange.ZOOKEEPER_LEADS, acts=_give_back)
_END: Final = Gate(judge=may_end_quorum, change=RecordChange.END_QUORUM)
_AGAIN: Final = Gate(judge=may_attempt_again, change=RecordChange.ATTEMPT_AGAIN, held=_rests, makes=_begun_again)

WAYS: Final = (
    Way(
        migration=ZOOKEEPER_TO_KRAFT,
        entry=_not_entered,
        asked=_goes_on,
        gates=(
            Gate(judge=may_copy_metadata, change=RecordChange.COPY_METADATA, lacks=why_preflight),
            Gate(judge=may_leave_zookeeper, change=RecordChange.LEAVE_ZOOKEEPER),
            Gate(judge=may_finalize, change=RecordChange.FINALIZE, held=_parked),
            Gate(judge=may_be_finalized, change=RecordChange.FINALIZED),
        ),
        backs=(_BACK, _BACK, _BACK, None),
        turns=_turns,
    ),
    Way(
        migration=BACK_TO_ZOOKEEPER,
        entry=_not_entered,
        asked=lambda _: True,
        gates=(
            Gate(judge=may_stop_controllers, change=RecordChange.STOP_CONTROLLERS, lacks=_away),
            _STOP,
            _LEADS,
            _END,
            _AGAIN,
        ),
        backs=(None,) * 5,
    ),
    Way(
        migration=LEFT_ZOOKEEPER_ALONE,
        entry=_not_entered,
        asked=lambda _: True,
        gates=(_STOP, _LEADS, _AGAIN),
        backs=(None,) * 3,
    ),
)
