"""What the planner says of controllers that a person holds."""

from dataclasses import replace
from typing import Final

from kafka_quorum.model import held
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.situation import Situation

HELD_BACK: Final = "HeldBack"
"""Reason of a wait: something must be done to a controller, and a person holds it."""


def why_held(situation: Situation, node_id: NodeID) -> str:
    """Why nothing may be done to the pod and the disk of this controller, with the way out; empty if it is not held."""
    return held.why_held(situation.desired, node_id)


def why_some_held(situation: Situation) -> str:
    """Why an act on every controller waits for a person, with the way out; empty if none is held."""
    return held.why_some_held(situation.desired, situation.record.node_ids)


def is_held(situation: Situation, node_id: NodeID) -> bool:
    """Whether nothing may be done to the pod and the disk of this controller."""
    return held.is_held(situation.desired, node_id)


def held_back(wait: Wait) -> Wait:
    """The same wait, which only a person ends: it is that of an act on a controller that is held."""
    return replace(wait, severity=Severity.HELD, reason=HELD_BACK)


def unless_held(situation: Situation, wait: Wait) -> Wait:
    """This wait, or if its controller is held, the one that only a person ends. Guards refuse for a hold first."""
    return held_back(wait) if wait.node_id is not None and is_held(situation, wait.node_id) else wait
