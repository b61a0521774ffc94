"""A plan for an application: what to do now, what is waited for and why, and what the guards answered."""

from collections.abc import Iterable
from dataclasses import dataclass

from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.plan import Severity
from kafka_streams.model.actions import Action
from kafka_streams.model.way import NoWay, Way

__all__ = ["Part", "Plan", "Severity", "Wait", "merged", "waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Something that is waited for. `reason` is CamelCase for a condition, `message` says what would end the wait."""

    severity: Severity
    reason: str
    message: str
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Actions, waits and verdicts of one concern. `exclusive` is an action that must stand alone, if there is one."""

    exclusive: Action | None = None
    actions: tuple[Action, ...] = ()
    waits: tuple[Wait, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The result of planning: pure data. `way` is how the requested release is reached; None if it is reached.

    `hash` names the way, for a person who approves it.
    """

    actions: tuple[Action, ...]
    waits: tuple[Wait, ...]
    verdicts: tuple[Verdict, ...]
    requeue_s: float
    way: Way | NoWay | None = None
    hash: str = ""


def merged(parts: Iterable[Part]) -> Part:
    """All parts as one; only the first exclusive action stays, because the others still exist in the next look."""
    listed = tuple(parts)
    return Part(
        exclusive=next((part.exclusive for part in listed if part.exclusive is not None), None),
        actions=tuple(action for part in listed for action in part.actions),
        waits=tuple(wait for part in listed for wait in part.waits),
        verdicts=tuple(verdict for part in listed for verdict in part.verdicts),
    )


def waiting(severity: Severity, reason: str, message: str, index: int | None = None) -> Part:
    """A part that only waits."""
    return Part(waits=(Wait(severity=severity, reason=reason, message=message, index=index),))
