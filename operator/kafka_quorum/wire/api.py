"""What is known of a request before it is sent: Kafka's key and name, the versions that we use, and its effect."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from kio.static.protocol import RequestPayload, ResponsePayload

from kafka_quorum.wire.bounds import MAX_ANSWER_BYTES, Bound


class Effect(Enum):
    """What a request does to the quorum."""

    READS = "reads"
    WRITES = "writes"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRange:
    """Versions of one request, both ends included."""

    low: int
    high: int

    def __str__(self) -> str:
        """As in Kafka's own tables: `0-2`."""
        return f"{self.low}-{self.high}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A request that this operator can send.

    `lists` are the bounds of the lists in its answers, by class and field. `own` are the classes of a request that kio
    does not have: request and answer, by version. `server` is the word for the server in messages. `answer_bytes` is
    the limit of one answer.
    """

    key: int
    name: str
    ours: VersionRange
    effect: Effect
    lists: Mapping[tuple[type, str], Bound] = field(default_factory=dict, compare=False, repr=False)
    server: str = "controller"
    answer_bytes: int = MAX_ANSWER_BYTES
    own: Mapping[int, tuple[type[RequestPayload], type[ResponsePayload]]] = field(
        default_factory=dict, compare=False, repr=False
    )


ServerVersions: TypeAlias = Mapping[int, VersionRange]
"""By api key, from a server's ApiVersions answer."""


def common_version(api: Api, server: ServerVersions) -> int | None:
    """The highest version that both sides support, None if there is none.

    For any other version, a controller closes the connection without an answer.
    """
    theirs = server.get(api.key)
    if theirs is None:
        return None
    highest = min(api.ours.high, theirs.high)
    return highest if highest >= max(api.ours.low, theirs.low) else None
