"""Settings that Kafka changes without a restart are set on each broker, and removed when the spec drops them. Pure."""

from typing import Final

from kafka_brokers.model.actions import Action, AlterConfig
from kafka_brokers.model.plan import Part
from kafka_brokers.plan.facts import Situation
from kafka_quorum.model.brokers import ConfigChange, ConfigEntry
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known

_OF_BROKER: Final = 2
"""Kafka's number for a setting that was changed for one broker."""
_OWNED: Final = ("cordoned.log.dirs", "leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Dynamic settings that other concerns rule."""


def settings(situation: Situation) -> Part:
    """One change for each broker whose dynamic settings differ from the spec's."""
    leader, view = situation.leader, situation.view
    if leader is None or view is None or situation.repair_only:
        return Part()
    actions: list[Action] = []
    for broker in situation.record.brokers:
        entries = situation.observed.config(broker.node_id)
        if not isinstance(entries, Known) or situation.observed.fenced(broker.node_id) is not False:
            continue
        changes = _changes(situation, entries.value)
        if changes:
            message = f"broker {broker.node_id} has {_text(changes)} without a restart"
            actions.append(_alter(situation, broker.node_id, changes, message))
    return Part(actions=tuple(actions))


def _alter(situation: Situation, node_id: NodeID, changes: tuple[ConfigChange, ...], message: str) -> AlterConfig:
    leader = situation.leader
    if leader is None:
        raise ValueError("settings are changed only while a leader is known")
    return AlterConfig(leader=leader.endpoint, node_id=node_id, changes=changes, message=message)


def _changes(situation: Situation, entries: tuple[ConfigEntry, ...]) -> tuple[ConfigChange, ...]:
    """What must be set, and what was set and is not asked for any more."""
    asked = dict(situation.desired.dynamic)
    present = {entry.name: entry.value for entry in entries if entry.source == _OF_BROKER}
    new = [ConfigChange(name=name, value=value) for name, value in asked.items() if present.get(name) != value]
    old = [ConfigChange(name=name, value=None) for name in sorted(present) if name not in asked and name not in _OWNED]
    return (*new, *old)


def _text(changes: tuple[ConfigChange, ...]) -> str:
    words = (f"{one.name} removed" if one.value is None else f"{one.name}={one.value}" for one in changes)
    return ", ".join(words)
