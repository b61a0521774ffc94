"""One request as `admin` sends it: its message in a version, and the content of its answer.

An answer is read in a fixed order: error codes first, top level before partition; then whether it is the answer to this
question; and only then its values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from kafka_quorum.wire.api import Api

A_co = TypeVar("A_co", covariant=True)
R = TypeVar("R", bound=ResponsePayload)


class CodeError(Exception):
    """The answer carries an error code. `words` are the server's own."""

    def __init__(self, code: ErrorCode, words: str | None) -> None:
        """Keep both."""
        super().__init__(code.name)
        self.code = code
        self.words = words


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[A_co]):
    """`build` makes the message of a version: ValueError for a value that Kafka's types cannot hold.

    `read` returns the content of the answer. It raises `CodeError`. It raises ValueError (a clause, to be put into a
    sentence) for an answer in valid form that cannot be the one to this question. `extra_s` is time that the server may
    take.
    """

    api: Api
    build: Callable[[int], RequestPayload]
    read: Callable[[ResponsePayload], A_co]
    extra_s: float = 0.0


def typed(response: ResponsePayload, wanted: type[R]) -> R:
    """The answer, as the type of the one version that we use (ValueError)."""
    if not isinstance(response, wanted):
        raise unexpected(response)
    return response


def unexpected(response: ResponsePayload) -> ValueError:
    """An answer of a type that was not asked for."""
    return ValueError(f"a {type(response).__name__} came")


def accept(code: ErrorCode, words: str | None) -> None:
    """Go on only without an error code (CodeError)."""
    if code is not ErrorCode.none:
        raise CodeError(code, words)
