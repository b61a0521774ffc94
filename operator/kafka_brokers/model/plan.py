"""A plan for a pool: what to do now, what is waited for and why, and what the guards answered."""

from collections.abc import Iterable
from dataclasses import dataclass

from kafka_brokers.model.actions import Action
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.plan import Severity, Wait

__all__ = ["Outcome", "Part", "Plan", "Severity", "Wait", "merged", "waits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Actions, waits and verdicts of one concern. `exclusive` is an action that must stand alone, if there is one."""

    exclusive: Action | None = None
    actions: tuple[Action, ...] = ()
    waits: tuple[Wait, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The result of planning: pure data. `requeue_s` is when to look again if nothing happens before."""

    actions: tuple[Action, ...]
    waits: tuple[Wait, ...]
    verdicts: tuple[Verdict, ...]
    requeue_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one action: it was done, or `unknown` (it may have been done), or `held` (nothing is wrong)."""

    action: Action
    done: bool
    unknown: bool
    message: str
    held: bool = False


def merged(parts: Iterable[Part]) -> Part:
    """All parts as one; only the first exclusive action stays, because the others still exist in the next look."""
    listed = tuple(parts)
    return Part(
        exclusive=next((part.exclusive for part in listed if part.exclusive is not None), None),
        actions=tuple(action for part in listed for action in part.actions),
        waits=tuple(wait for part in listed for wait in part.waits),
        verdicts=tuple(verdict for part in listed for verdict in part.verdicts),
    )


def waits(severity: Severity, reason: str, message: str, node_id: NodeID | None = None) -> Part:
    """A part that only waits."""
    return Part(waits=(Wait(severity=severity, reason=reason, message=message, node_id=node_id),))
