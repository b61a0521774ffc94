"""The engine of migrations: it enters the stage whose gate is open, writes it into the record, and does nothing else.

What a stage means follows from the record alone: the revision of the controllers (`model.nodes.target_runtime`), the
broker contract (`plan.facts.contract`), and the levels that may change (`plan.facts.migrating`). So an operator that is
killed anywhere goes on from the stage that is stored.
"""

from dataclasses import replace
from typing import Final

from kafka_quorum.model.actions import DecideRecord
from kafka_quorum.model.conformance import are_being_asked, why_brokers_hold
from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, with_migration, without_migration
from kafka_quorum.model.migration import Migration, Reached
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.plan import MigrationPlan, Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.migrations import authority, from_zookeeper, listeners, static_to_dynamic
from kafka_quorum.plan.migrations.way import Entry, Gate, Way
from kafka_quorum.plan.part import Part, merged

WAYS: Final[tuple[Way, ...]] = (authority.WAY, static_to_dynamic.WAY, listeners.WAY, *from_zookeeper.WAYS)
"""Every kind of migration, in the order in which they begin: only one at a time."""
_BY_KIND: Final = {way.migration.kind: way for way in WAYS}
MIGRATING: Final = "Migrating"
HELD: Final = "MigrationHeld"
AFTER: Final = "AfterMigration"
"""The spec asks for something that is not done yet: such a quorum is not Ready."""
NOT_BEGUN: Final = "NotBegun"
_NO_WAY_BACK: Final = "This stage cannot be reverted"


def migrations(situation: Situation) -> Part:
    """Begin, continue, revert or end a migration, or what it waits for."""
    record = situation.record
    if record.phase is not BootstrapPhase.STARTED:
        return Part()
    if record.migration is None:
        return _beginning(situation)
    way = _BY_KIND[record.migration.kind]
    index = record.migration.index
    back = way.backs[index]
    if back is not None and not way.asked(situation):
        return _reverting(situation, way, index, back)
    return _through(situation, way, way.gates[index], index + 1)


def frozen(situation: Situation) -> Part:
    """What the spec asks for, and what waits until the migration ends: another release, other voters."""
    record, desired = situation.record, situation.desired
    if record.migration is None:
        return Part()
    until = f"the migration {record.migration.migration.title} is under way, and this follows then"
    waits = []
    if desired.runtime.release != situation.runtime.release:
        waits.append(_follows(f"Waiting to roll out Kafka {desired.runtime.release}: {until}"))
    if situation.requested != record.node_ids:
        waits.append(_follows(f"Waiting to change the voters: {until}"))
    return Part(waits=tuple(waits))


def migration_plan(situation: Situation) -> MigrationPlan | None:
    """The migration that is under way, or the one that is requested and has not begun."""
    reached = situation.record.migration
    if reached is not None and situation.record.phase is not BootstrapPhase.STARTED:
        return MigrationPlan(
            kind=reached.kind.value,
            stage=0,
            stages=len(reached.migration.stages),
            name=NOT_BEGUN,
            sentence=f"the migration {reached.migration.title} has not begun: only the volumes are made",
            way_back=f"To take the request back, {reached.migration.way_out}",
        )
    if reached is not None:
        stage = reached.present
        return MigrationPlan(
            kind=reached.kind.value,
            stage=reached.index + 1,
            stages=len(reached.migration.stages),
            name=stage.name,
            sentence=stage.sentence,
            way_back=stage.way_back or _NO_WAY_BACK,
        )
    found = _next(situation)
    if found is None:
        return None
    migration, entry = found[0].migration, found[1]
    return MigrationPlan(
        kind=migration.kind.value,
        stage=0,
        stages=len(migration.stages),
        name=NOT_BEGUN,
        sentence=f"the migration {migration.title} has not begun, and nothing is changed",
        way_back=f"To take the request back, {migration.way_out}" if entry.stage == 0 else _NO_WAY_BACK,
    )


def _next(situation: Situation) -> tuple[Way, Entry] | None:
    """The first migration that this quorum needs, and where it begins."""
    if situation.record.phase is not BootstrapPhase.STARTED:
        return None
    due = ((way, way.entry(situation)) for way in WAYS)
    return next(((way, entry) for way, entry in due if entry is not None), None)


def _beginning(situation: Situation) -> Part:
    """Into the first migration that this quorum needs; the next one begins when this one has ended."""
    found = _next(situation)
    if found is None:
        return Part()
    way, entry = found
    return _through(situation, way, entry.gate, entry.stage)


def _through(situation: Situation, way: Way, gate: Gate, to: int) -> Part:
    """Through this gate to the stage at this place, or to the end of the migration."""
    verdict = gate.judge(situation)
    if isinstance(verdict, Refusal):
        acts = gate.acts(situation) or Part()
        return merged((acts, Part(verdicts=(verdict,), waits=_held_back(situation, gate, verdict))))
    record = _record_at(situation, way.migration, to)
    if gate.makes is not None:
        record = gate.makes(situation, record.migration)
    message = f"{_told(way.migration, to)}: {verdict.reason}"
    write = DecideRecord(record=record, change=gate.change, message=message, permit=verdict)
    return Part(exclusive=write, verdicts=(verdict,))


def _record_at(situation: Situation, migration: Migration, to: int) -> IdentityRecord:
    record = situation.record
    if to == len(migration.stages):
        change = None if record.migration is None else record.migration.listeners
        ended = without_migration(record)
        return ended if change is None else replace(ended, listener=change.new)
    name = migration.stages[to].name
    if record.migration is not None:
        return with_migration(record, replace(record.migration, kind=migration.kind, stage=name))
    made = _rolled_out(situation)
    reached = Reached(kind=migration.kind, stage=name, release=made.release, image=made.image)
    return with_migration(record, reached)


def _rolled_out(situation: Situation) -> Runtime:
    """What the controllers run: a migration that is entered in the middle must not keep a release that never ran."""
    applied = situation.observed.revision(situation.record.applied_revision)
    asked = situation.desired.runtime
    return asked if applied is None or applied.runtime.release == asked.release else applied.runtime


def _told(migration: Migration, to: int) -> str:
    if to == len(migration.stages):
        return f"the migration {migration.title} is complete"
    stage = migration.stages[to]
    return f"the migration {migration.title} is at stage {to + 1} of {len(migration.stages)} ({stage.sentence})"


def _reverting(situation: Situation, way: Way, index: int, back: Gate) -> Part:
    """Back to the stage before this one, or to where the migration began. If that is refused, it goes on."""
    verdict = back.judge(situation)
    if isinstance(verdict, Refusal) and way.turns is not None:  # it does not go on: a person wants to go back
        return Part(verdicts=(verdict,), waits=(_wait(HELD, verdict.reason, Severity.HELD),))
    if isinstance(verdict, Refusal) and way.waits_to_return:
        return Part(verdicts=(verdict,), waits=_held_back(situation, back, verdict))
    if isinstance(verdict, Refusal):
        part = _through(situation, way, way.gates[index], index + 1)
        return replace(part, verdicts=(verdict, *part.verdicts))
    record = situation.record
    if back.makes is not None:
        before = back.makes(situation, record.migration)
    elif way.turns is not None:
        before = _record_at(situation, *way.turns(situation, index))
    else:
        before = without_migration(record) if index == 0 else _record_at(situation, way.migration, index - 1)
    message = f"the migration {way.migration.title} is reverted: {verdict.reason}"
    write = DecideRecord(record=before, change=back.change, message=message, permit=verdict)
    return Part(exclusive=write, verdicts=(verdict,))


def _held_back(situation: Situation, gate: Gate, verdict: Refusal) -> tuple[Wait, ...]:
    """What is missing on brokers, or was never requested, waits for a person; all else needs time only."""
    if not gate.tells(situation):
        return ()
    if reason := gate.held(situation):
        return (_wait(reason, verdict.reason, Severity.HELD),)
    persons = (gate.lacks(situation), "" if are_being_asked(situation) else why_brokers_hold(situation))
    held = any(text and text in verdict.reason for text in persons)
    return (_wait(HELD if held else MIGRATING, verdict.reason, Severity.HELD if held else Severity.PROGRESS),)


def _follows(message: str) -> Wait:
    return replace(_wait(AFTER, message), delayed=True)


def _wait(reason: str, message: str, severity: Severity = Severity.PROGRESS) -> Wait:
    return Wait(severity=severity, reason=reason, message=message)
