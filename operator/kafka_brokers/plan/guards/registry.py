"""How a guard of brokers is written: a function that answers yes or no with a sentence, registered under its class."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from kafka_quorum.model.permit import Guard, Permit, Refusal

P = ParamSpec("P")
G = TypeVar("G", bound=Guard)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Yes or no, and one sentence."""

    allowed: bool
    reason: str


GUARDS: Final[dict[str, str]] = {}
"""The module of every registered guard, by its id; the simulation proves that each has allowed and refused."""


def guard(of: type[G]) -> Callable[[Callable[P, Answer]], Callable[P, Permit[G] | Refusal]]:
    """Register the decorated function as this guard. Raises `ValueError` if there is one already."""

    def registered(function: Callable[P, Answer]) -> Callable[P, Permit[G] | Refusal]:
        if of.id in GUARDS:
            raise ValueError(f"guard {of.id} is registered twice: in {GUARDS[of.id]} and in {function.__module__}")
        GUARDS[of.id] = function.__module__

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
