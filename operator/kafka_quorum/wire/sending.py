"""Requests to servers over kept connections: what the client for controllers and the one for brokers have in common.

One connection per endpoint is kept while it is used. Its security is part of the endpoint.
"""

import asyncio
import resource
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, Final, TypeAlias, TypeVar

from kafka_quorum.errors import KafkaProtocolError, KafkaRefused, KafkaUnreachable
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.api import Api, Effect
from kafka_quorum.wire.connection import Connection, Limits
from kafka_quorum.wire.refusals import refused
from kafka_quorum.wire.request import CodeError, Request
from kafka_quorum.wire.security import without_secrets
from kit.errors import Fault

IDLE_CONNECTION_S = 120.0
"""How long an unused connection is kept: longer than the time between two looks at a quorum of a small fleet, between
which only its leader is asked."""
MANY_IDLE_S = 25.0
"""The same while there are `MANY`: longer than two glances at a leader are apart, and no more.

Then followers are connected to anew in each look, which costs less than the memory of their connections: with TLS, some
75 KiB each.
"""
MANY = 400
MAX_KEPT = 1_000
"""How many connections to servers are kept at most that other servers name: one could name thousands.

Above that, the one that was not used for longest is closed. To open one again costs milliseconds.
"""
OWN_MAX_KEPT: Final = 12_000
"""The same for controllers, whose addresses are those of our pods: three for each of thousands of quorums."""
_FILES: Final = 65_536
_SHARE: Final = 0.75
"""The share of the files that this process may open which connections to controllers may take."""


def allow_files() -> None:
    """Let this process open as many files as it may, within reason: a container often begins with a limit of 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def own_max_kept() -> int:
    """How many connections to controllers are kept at most."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return OWN_MAX_KEPT if soft == resource.RLIM_INFINITY else min(OWN_MAX_KEPT, int(soft * _SHARE))


A = TypeVar("A")
ANSWERED, REFUSED, UNANSWERED, GARBLED, UNSENT, ENDED = (
    *("answered", "refused", "unanswered", "garbled", "unsent", "ended"),
)
RESULTS: Final = (ANSWERED, REFUSED, UNANSWERED, GARBLED, UNSENT, ENDED)
"""How a request ends: as asked; with an error code; without an answer; with something else; before it was sent; or
nobody waits for the answer any more."""
Seen: TypeAlias = Callable[[str, str, float], None]
"""Is called for each request that has ended: the name of the request, its result, and how many seconds it took."""


class Sending:
    """A request ends within `limits` (plus its own timeout) and raises `KafkaError` on all but success.

    `one_user`: all requests to one address are those of one user, so another security there, or another name, replaces
    the former one. Its connection is closed as soon as no request uses it: a Secret that changed is not used any more.
    """

    one_user: ClassVar[bool] = True

    def __init__(self, limits: Limits | None = None, seen: Seen | None = None) -> None:
        """Nothing is connected yet."""
        self._limits = limits or Limits()
        self._seen = seen
        self._connections: OrderedDict[Endpoint, Connection] = OrderedDict()
        """In the order of their last use, so that none but the oldest is looked at: there may be thousands."""
        self._at: dict[tuple[str, int], set[Endpoint]] = {}
        """The endpoints of each listener that have a connection."""

    async def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._at.clear()

    async def _send(self, endpoint: Endpoint, request: Request[A]) -> A:
        """Send a request, and return what its answer says."""
        with self._noted(request.api):
            return await self._answered(endpoint, request)

    async def _answered(self, endpoint: Endpoint, request: Request[A]) -> A:
        connection = self._connection(endpoint)
        try:
            return await connection.ask(request.api, request.build, request.read, extra_s=request.extra_s)
        except CodeError as error:
            words = without_secrets(endpoint.security, error.words)
            raise refused(endpoint, request.api, error.code, words) from None
        except ValueError as error:
            raise self._nonsense(endpoint, request.api, str(error)) from error

    @contextmanager
    def _noted(self, api: Api) -> Iterator[None]:
        """Measures a request, and passes on how it ended, whatever that is."""
        loop = asyncio.get_running_loop()
        began_s, result = loop.time(), ENDED
        try:
            yield
            result = ANSWERED
        except Exception as error:
            result = _result_of(error)
            raise
        finally:
            if self._seen is not None:
                self._seen(api.name, result, loop.time() - began_s)

    def _connection(self, endpoint: Endpoint) -> Connection:
        """The kept connection to this endpoint. Long unused ones are closed here, because pods change addresses."""
        now_s = asyncio.get_running_loop().time()
        kept = self._connections.get(endpoint)
        if kept is not None:
            self._connections.move_to_end(endpoint)
        self._close_unused(endpoint, now_s)
        self._close_replaced(endpoint)
        if kept is None:
            self._make_room()
            kept = Connection(endpoint=endpoint, limits=self._limits, last_used_s=now_s)
            self._connections[endpoint] = kept
            self._at.setdefault((endpoint.host, endpoint.port), set()).add(endpoint)
        return kept

    def _close_unused(self, wanted: Endpoint, now_s: float) -> None:
        """Close those that were not used for long, from the oldest on. One that waits for an answer is in use."""
        for _ in range(len(self._connections)):
            other, connection = next(iter(self._connections.items()))
            most_s = MANY_IDLE_S if len(self._connections) > MANY else IDLE_CONNECTION_S
            if other == wanted or now_s - connection.last_used_s <= most_s:
                return
            if connection.busy:
                self._connections.move_to_end(other)
            else:
                self._drop(other)

    def _close_replaced(self, endpoint: Endpoint) -> None:
        """Close other connections to this listener, which is now asked in another way."""
        if self.one_user:
            for other in self._at.get((endpoint.host, endpoint.port), set()) - {endpoint}:
                if not self._connections[other].busy:
                    self._drop(other)

    def _make_room(self) -> None:
        """Close what was not used for longest, if as many are kept as may be; one that is used now stays."""
        if len(self._connections) >= self._most_kept():
            idle = (at for at, kept in self._connections.items() if not kept.busy)
            if (oldest := next(idle, None)) is not None:
                self._drop(oldest)

    def _most_kept(self) -> int:
        return MAX_KEPT

    def _drop(self, endpoint: Endpoint) -> None:
        self._connections.pop(endpoint).close()
        listener = (endpoint.host, endpoint.port)
        self._at[listener].discard(endpoint)
        if not self._at[listener]:
            del self._at[listener]

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


def _result_of(error: Exception) -> str:
    match error:
        case KafkaRefused():
            return REFUSED
        case KafkaUnreachable():
            return UNANSWERED
        case KafkaProtocolError(fault=fault):
            return UNSENT if fault is Fault.OURS else GARBLED
        case _:
            return UNSENT
