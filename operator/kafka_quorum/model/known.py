"""Unknown is a value. A missing answer is `Unknown(reason)`, never an empty set, zero or `False` (rule 8)."""

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T", covariant=True)  # noqa: PLC0105 - a short name for the one type parameter here


@dataclass(frozen=True, slots=True, kw_only=True)
class Known(Generic[T]):
    """An answer that was received."""

    value: T


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """No answer, and why: one sentence that a person can read."""

    reason: str


Knowable: TypeAlias = Known[T] | Unknown
