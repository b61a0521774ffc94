"""The guards of Streams applications: `@guard(StopInstance)` registers a function (`kafka_quorum.model.registry`)."""

from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from kafka_quorum.model.permit import Guard, Permit, Refusal
from kafka_quorum.model.registry import Answer, no, registering, unless, yes

__all__ = ["GUARDS", "Answer", "guard", "no", "unless", "yes"]

P = ParamSpec("P")
G = TypeVar("G", bound=Guard)

GUARDS: Final[dict[str, str]] = {}
"""The module of every registered guard, by its id; the simulation proves that each has allowed and refused."""


def guard(of: type[G]) -> Callable[[Callable[P, Answer]], Callable[P, Permit[G] | Refusal]]:
    """Register the decorated function as this guard. Raises `ValueError` if there is one already."""
    return registering(GUARDS, of)
