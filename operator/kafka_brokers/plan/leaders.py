"""After restarts, the preferred leaders lead again (B9). Pure."""

from typing import Final

from kafka_brokers.model.actions import ElectPreferred
from kafka_brokers.model.plan import Part
from kafka_brokers.plan.facts import Situation

AT_ONCE: Final = 500


def preferred_leaders(situation: Situation) -> Part:
    """Ask for the preferred leaders, if nothing is stopped and the preferred replica is in the ISR."""
    view, leader = situation.view, situation.leader
    if situation.is_between_controllers:
        return Part()
    if view is None or leader is None or any(one.stopped or one.empty for one in situation.record.brokers):
        return Part()
    ours = {one.node_id for one in situation.record.brokers if not one.leaving}
    live = {row.node_id for row in view.registered if not row.fenced}
    found = tuple(
        partition.at
        for partition in view.partitions
        if partition.leader is not None
        and partition.replicas
        and partition.replicas[0] != partition.leader
        and partition.replicas[0] in ours & live & set(partition.isr)
        and partition.at not in view.targets
    )
    if not found:
        return Part()
    return Part(exclusive=ElectPreferred(leader=leader.endpoint, partitions=found[:AT_ONCE]))
