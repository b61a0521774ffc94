"""Requests to servers over kept connections: what the client for controllers and the one for brokers have in common.

One connection per endpoint is kept while it is used. Its security is part of the endpoint.
"""

import asyncio
from typing import ClassVar, TypeVar

from kafka_quorum.errors import KafkaProtocolError
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.api import Api, Effect
from kafka_quorum.wire.connection import Connection, Limits
from kafka_quorum.wire.refusals import refused
from kafka_quorum.wire.request import CodeError, Request
from kafka_quorum.wire.security import without_secrets
from kit.errors import Fault

IDLE_CONNECTION_S = 120.0
"""Longer than any tick of a quorum, shorter than the ten minutes after which Kafka itself closes an idle connection."""
MAX_KEPT = 1_000
"""How many connections are kept at most: a server could name thousands of others, and a process may open so many files.

Above that, the one that was not used for longest is closed. To open one again costs milliseconds.
"""

A = TypeVar("A")


class Sending:
    """A request ends within `limits` (plus its own timeout) and raises `KafkaError` on all but success.

    `one_user`: all requests to one address are those of one user, so another security there, or another name, replaces
    the former one. Its connection is closed as soon as no request uses it: a Secret that changed is not used any more.
    """

    one_user: ClassVar[bool] = True

    def __init__(self, limits: Limits | None = None) -> None:
        """Nothing is connected yet."""
        self._limits = limits or Limits()
        self._connections: dict[Endpoint, Connection] = {}

    async def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    async def _send(self, endpoint: Endpoint, request: Request[A]) -> A:
        """Send a request, and return what its answer says."""
        connection = self._connection(endpoint)
        try:
            return await connection.ask(request.api, request.build, request.read, extra_s=request.extra_s)
        except CodeError as error:
            words = without_secrets(endpoint.security, error.words)
            raise refused(endpoint, request.api, error.code, words) from None
        except ValueError as error:
            raise self._nonsense(endpoint, request.api, str(error)) from error

    def _connection(self, endpoint: Endpoint) -> Connection:
        """The kept connection to this endpoint. Long unused ones are closed here, because pods change addresses."""
        now_s = asyncio.get_running_loop().time()
        for other, connection in list(self._connections.items()):
            if other == endpoint or connection.busy:
                continue
            if now_s - connection.last_used_s > IDLE_CONNECTION_S or self._replaces(endpoint, other):
                connection.close()
                del self._connections[other]
        if endpoint not in self._connections:
            self._make_room()
            self._connections[endpoint] = Connection(endpoint=endpoint, limits=self._limits, last_used_s=now_s)
        return self._connections[endpoint]

    def _replaces(self, endpoint: Endpoint, other: Endpoint) -> bool:
        """Whether both are one listener, which is now asked in another way."""
        return self.one_user and (endpoint.host, endpoint.port) == (other.host, other.port)

    def _make_room(self) -> None:
        """Close what was not used for longest, if as many are kept as may be; one that is used now stays."""
        if len(self._connections) < MAX_KEPT:
            return
        idle = [(kept.last_used_s, at) for at, kept in self._connections.items() if not kept.busy]
        if idle:
            oldest = min(idle, key=lambda one: one[0])[1]
            self._connections.pop(oldest).close()

    def _nonsense(self, endpoint: Endpoint, api: Api, why: str) -> KafkaProtocolError:
        """An answer in valid form that cannot be the one to this question; its connection is not trusted any more."""
        connection = self._connections.get(endpoint)
        if connection is not None:
            connection.close()
        return KafkaProtocolError(
            f"{api.name} was answered by {api.server} {endpoint} with something else than was asked: {why}",
            fault=Fault.THEIRS,
            retry_safe=api.effect is Effect.READS,
            outcome_unknown=api.effect is Effect.WRITES,
        )
