"""Another listener of the controllers: another name and port, and perhaps another security protocol, online."""

from dataclasses import replace
from functools import partial
from typing import Final

from kafka_quorum.model.actions import RecordChange
from kafka_quorum.model.desired import ControllerListener
from kafka_quorum.model.identity import IdentityRecord, with_migration
from kafka_quorum.model.migration import LISTENERS, ListenerChange, Reached
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.guards.rule7_listeners import (
    may_begin_listeners,
    may_drop_listener,
    may_end_listeners,
    may_prefer,
    may_return,
    may_send_brokers,
    what_listeners_lack,
)
from kafka_quorum.plan.migrations.way import Answered, Entry, Gate, Way


def asked_listener(situation: Situation) -> ControllerListener:
    """The listener that the spec asks for. How it is secured may be left to what there is."""
    asked = situation.desired.runtime.listener
    if situation.desired.says_protocol:
        return asked
    reached = situation.record.migration
    change = None if reached is None else reached.listeners
    present = situation.runtime.listener if change is None else change.new
    return replace(asked, protocol=present.protocol)


def _change(situation: Situation) -> ListenerChange:
    reached = situation.record.migration
    if reached is None or reached.listeners is None:
        raise ValueError("no change of listeners is under way")
    return reached.listeners


def _begun(situation: Situation, reached: Reached | None) -> IdentityRecord:
    """The record with both listeners, from which everything else follows."""
    if reached is None:
        raise ValueError("the change of listeners has no stage")
    change = ListenerChange(old=situation.runtime.listener, new=asked_listener(situation))
    return with_migration(situation.record, replace(reached, listeners=change))


def _asked(situation: Situation) -> bool:
    return asked_listener(situation) == _change(situation).new


def _entry(situation: Situation) -> Entry | None:
    if asked_listener(situation) == situation.runtime.listener:
        return None
    return Entry(stage=0, gate=_INTO)


def _lacks(situation: Situation) -> str:
    return what_listeners_lack(situation, asked_listener(situation))


def _begin(situation: Situation) -> Answered:
    return may_begin_listeners(situation, asked_listener(situation))


def _send(situation: Situation) -> Answered:
    return may_send_brokers(situation, _change(situation))


def _prefer(situation: Situation) -> Answered:
    return may_prefer(situation, _change(situation))


def _drop(situation: Situation) -> Answered:
    return may_drop_listener(situation, _change(situation))


def _end(situation: Situation) -> Answered:
    return may_end_listeners(situation, _change(situation))


def _return(index: int, situation: Situation) -> Answered:
    return may_return(situation, _change(situation), index)


_INTO: Final = Gate(judge=_begin, change=RecordChange.BEGIN_LISTENERS, lacks=_lacks, makes=_begun)
WAY: Final = Way(
    migration=LISTENERS,
    entry=_entry,
    asked=_asked,
    gates=(
        Gate(judge=_send, change=RecordChange.BROKERS_TO_LISTENER),
        Gate(judge=_prefer, change=RecordChange.PREFER_LISTENER),
        Gate(judge=_drop, change=RecordChange.DROP_LISTENER),
        Gate(judge=_end, change=RecordChange.LISTENERS_CHANGED),
    ),
    backs=tuple(
        Gate(judge=partial(_return, index), change=RecordChange.RETURN_TO_LISTENER)
        for index in range(len(LISTENERS.stages))
    ),
    waits_to_return=True,
)
