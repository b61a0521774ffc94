"""What one concern contributes to a plan, and how contributions are combined."""

from collections.abc import Iterable
from dataclasses import dataclass

from kafka_quorum.model.actions import Action
from kafka_quorum.model.admission import PodQuestion
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.plan import Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Actions, waits and verdicts of one concern. `exclusive` is an action that must stand alone, if there is one.

    An `urgent` part completes what was begun: nothing acts beside it or before it.
    """

    exclusive: Action | None = None
    actions: tuple[Action, ...] = ()
    waits: tuple[Wait, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    questions: tuple[PodQuestion, ...] = ()
    urgent: bool = False


def merged(parts: Iterable[Part]) -> Part:
    """All parts as one; only the first exclusive action stays, because the others still exist in the next look."""
    listed = tuple(parts)
    return Part(
        exclusive=next((part.exclusive for part in listed if part.exclusive is not None), None),
        actions=tuple(action for part in listed for action in part.actions),
        waits=tuple(wait for part in listed for wait in part.waits),
        verdicts=tuple(verdict for part in listed for verdict in part.verdicts),
        questions=tuple(dict.fromkeys(question for part in listed for question in part.questions)),
        urgent=any(part.urgent for part in listed),
    )


def reported(part: Part) -> Part:
    """What a part reports, without its actions."""
    return Part(waits=part.waits, verdicts=part.verdicts)
