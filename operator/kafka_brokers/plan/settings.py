"""Settings that Kafka changes without a restart are set on each broker, and removed when the spec drops them. Pure."""

from typing import Final

from kafka_brokers.api.properties import thread_counts
from kafka_brokers.model.actions import Action, AlterConfig
from kafka_brokers.model.plan import Part
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.facts import CHANGED, CORDON, Situation
from kafka_quorum.model.brokers import ConfigChange, ConfigEntry
from kafka_quorum.model.known import Known

_OWNED: Final = (CORDON, "leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Dynamic settings that other concerns rule."""
_DIGITS: Final = 7


def settings(situation: Situation) -> Part:
    """One change for each broker whose dynamic settings differ from the spec's."""
    if situation.leader is None or situation.view is None or situation.repair_only:
        return Part()
    actions: list[Action] = []
    for broker in situation.record.brokers:
        entries, endpoint = situation.observed.config(broker.node_id), situation.endpoint(broker.node_id)
        fenced = situation.observed.fenced(broker.node_id)
        if not isinstance(entries, Known) or endpoint is None or fenced is not False:
            continue
        changes = changes_of(situation.desired, entries.value)
        if changes:
            message = f"broker {broker.node_id} has {_text(changes)} without a restart"
            actions.append(AlterConfig(broker=endpoint, node_id=broker.node_id, changes=changes, message=message))
    return Part(actions=tuple(actions))


def changes_of(desired: PoolDesired, entries: tuple[ConfigEntry, ...]) -> tuple[ConfigChange, ...]:
    """What must be set, and what was set and is not asked for any more."""
    asked = dict(desired.dynamic)
    present = {entry.name: entry.value for entry in entries if entry.source == CHANGED}
    now = {entry.name: entry.value for entry in entries}
    new = [
        ConfigChange(name=name, value=step(name, now.get(name), value))
        for name, value in asked.items()
        if present.get(name) != value
    ]
    old = [ConfigChange(name=name, value=None) for name in sorted(present) if name not in asked and name not in _OWNED]
    return (*new, *old)


def step(name: str, present: str | None, asked: str) -> str:
    """The next value: a running broker changes a number of threads by a factor of two at most (measured)."""
    if name not in thread_counts() or not _is_count(present) or not _is_count(asked):
        return asked
    now, goal = int(present or 0), int(asked)
    return str(min(goal, now * 2) if goal > now else max(goal, -(-now // 2)))


def _is_count(text: str | None) -> bool:
    return text is not None and text.isascii() and text.isdigit() and 0 < len(text) < _DIGITS and int(text) > 0


def _text(changes: tuple[ConfigChange, ...]) -> str:
    words = (f"{one.name} removed" if one.value is None else f"{one.name}={one.value}" for one in changes)
    return ", ".join(words)
