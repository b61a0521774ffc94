"""How a guard is written, of quorums and of brokers: a function that answers yes or no with a sentence.

The answer becomes a `Permit` of the guard's class, or a `Refusal`. A guard that is not registered yields no permit, and
without one its action cannot be constructed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

from kafka_quorum.model.permit import Guard, Permit, Refusal

P = ParamSpec("P")
G = TypeVar("G", bound=Guard)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Yes or no, and one sentence."""

    allowed: bool
    reason: str


def registering(
    guards: dict[str, str], of: type[G]
) -> Callable[[Callable[P, Answer]], Callable[P, Permit[G] | Refusal]]:
    """Register the decorated function as this guard among these. Raises `ValueError` if there is one already."""

    def registered(function: Callable[P, Answer]) -> Callable[P, Permit[G] | Refusal]:
        if of.id in guards:
            raise ValueError(f"guard {of.id} is registered twice: in {guards[of.id]} and in {function.__module__}")
        guards[of.id] = function.__module__

        @wraps(function)
        def judged(*args: P.args, **kwargs: P.kwargs) -> Permit[G] | Refusal:
            answer = function(*args, **kwargs)
            if answer.allowed:
                return Permit(rule=of.id, reason=answer.reason)
            return Refusal(rule=of.id, reason=answer.reason)

        return judged

    return registered


def yes(reason: str) -> Answer:
    """It may be done."""
    return Answer(allowed=True, reason=reason)


def no(reason: str) -> Answer:
    """It may not be done, or not now; the reason says what would change that."""
    return Answer(allowed=False, reason=reason)


def unless(objections: Iterable[tuple[bool, str]], reason: str) -> Answer:
    """No, with the first objection that is true; otherwise yes, with this reason."""
    objection = next((text for holds, text in objections if holds), None)
    return yes(reason) if objection is None else no(objection)
