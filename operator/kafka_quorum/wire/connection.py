"""One kept connection per controller: made on demand, versions negotiated, requests one after another, all with limits.

A request ends in an answer or in a `KafkaError` that says whether the server may have acted on it. For a request that
writes, it may have from the moment at which its first byte may have left. A connection is used again only if it is
known to be in order.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from kio.schema.api_versions.v0 import ApiVersionsResponse as ApiVersionsResponse0
from kio.schema.api_versions.v4 import ApiVersionsResponse
from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from kafka_quorum.errors import (
    KafkaDenied,
    KafkaExpired,
    KafkaProtocolError,
    KafkaUnreachable,
    KafkaVersionUnsupported,
)
from kafka_quorum.model.handshakes import Failure
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Sasl
from kafka_quorum.wire import codec
from kafka_quorum.wire.apart import apart
from kafka_quorum.wire.api import Api, Effect, ServerVersions, VersionRange, common_version
from kafka_quorum.wire.authentication import DeniedError, authenticate
from kafka_quorum.wire.bounds import MAX_ANSWER_BYTES
from kafka_quorum.wire.channel import Channel, ChannelLostError, open_channel
from kafka_quorum.wire.codec import CodecError
from kafka_quorum.wire.frame import FrameError
from kafka_quorum.wire.refusals import refused
from kafka_quorum.wire.requests import api_versions, sasl_authenticate, sasl_handshake
from kafka_quorum.wire.security import sasl_of, tls_of
from kafka_quorum.wire.tls import failure_of, tls_words
from kit.errors import Fault
from kit.kept import Kept
from kit.parsing import Malformed, quoted

A = TypeVar("A")
_VERSIONS: Final = Kept[tuple[tuple[int, int, int], ...], ServerVersions](10_000, lambda rows, _: len(rows))
"""Thousands of servers support the same versions: then all connections have one table."""
_LIFETIME_USED: Final = 0.9
"""How much of the lifetime that a server gives a session is used: after it, the server closes the connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long and how much; `connect_timeout_s` and `request_timeout_s` bound one call together."""

    connect_timeout_s: float = 2.0
    request_timeout_s: float = 5.0
    max_waiting: int = 32
    """How many requests to one server may wait for earlier ones: a look sends two, an act one."""


@dataclass(slots=True)
class _Attempt:
    """One call under way: its progress decides what an error means."""

    endpoint: Endpoint
    api: Api
    doing: str = "waiting for earlier requests to end"
    sent: bool = False

    def unreachable(self, why: str, failure: Failure = Failure.OTHER) -> KafkaUnreachable:
        error = KafkaExpired if failure is Failure.EXPIRED else KafkaUnreachable
        return error(
            f"{self.api.name} to {self.api.server} {self.endpoint} was not answered: {why}",
            fault=Fault.PATH,
            retry_safe=self.api.effect is Effect.READS or not self.sent,
            outcome_unknown=self.api.effect is Effect.WRITES and self.sent,
        )

    def garbled(self, why: str) -> KafkaProtocolError:
        return KafkaProtocolError(
            f"{self.api.name} to {self.api.server} {self.endpoint} was not answered by Kafka's protocol: {why}",
            fault=Fault.THEIRS,
            retry_safe=self.api.effect is Effect.READS,
            outcome_unknown=self.api.effect is Effect.WRITES and self.sent,
        )

    def unwritable(self, why: str) -> KafkaProtocolError:
        return KafkaProtocolError(
            f"{self.api.name} to {self.api.server} {self.endpoint} was not sent: {why}",
            fault=Fault.OURS,
            retry_safe=False,
            outcome_unknown=False,
        )

    def denied(self, why: str) -> KafkaDenied:
        return KafkaDenied(
            f"{self.api.name} was not sent to {self.api.server} {self.endpoint}: {why}",
            fault=Fault.OURS,
            retry_safe=False,
            outcome_unknown=False,
        )

    def no_common_version(self, theirs: VersionRange | None) -> KafkaVersionUnsupported:
        known = f"versions {theirs}" if theirs else "no version"
        return KafkaVersionUnsupported(
            f"{self.api.name} was not sent to {self.api.server} {self.endpoint}: it supports {known} of it,"
            f" this operator {self.api.ours}",
            fault=Fault.THEIRS,
            retry_safe=False,
            outcome_unknown=False,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """A channel with the versions that its server supports, on which the client is authenticated if it has to be.

    `ends_s` is when it has to authenticate again, by the event loop's clock; None for never.
    """

    channel: Channel
    versions: ServerVersions
    ends_s: float | None

    @property
    def usable(self) -> bool:
        """Whether a request can be sent now."""
        return self.channel.usable and (self.ends_s is None or asyncio.get_running_loop().time() < self.ends_s)


@dataclass(slots=True, kw_only=True)
class Connection:
    """The connection to one controller. Many tasks may use `call` at once; they wait for one another."""

    endpoint: Endpoint
    limits: Limits = field(default_factory=Limits)
    last_used_s: float = 0.0
    """By the event loop's clock; to close what has not been used for long."""
    _session: _Session | None = None
    _waiting: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def call(self, api: Api, build: Callable[[int], RequestPayload], *, extra_s: float = 0.0) -> ResponsePayload:
        """As `ask`, for the whole answer, with any error code."""
        return await self.ask(api, build, lambda answer: answer, extra_s=extra_s)

    async def ask(
        self,
        api: Api,
        build: Callable[[int], RequestPayload],
        understand: Callable[[ResponsePayload], A],
        *,
        extra_s: float = 0.0,
    ) -> A:
        """Send the result of `build` for the common version, and return what `understand` makes of the answer.

        `extra_s` is time that the server itself may take. Raises KafkaError, and the errors of `understand`, which is
        pure: for a large answer it runs in another thread.
        """
        attempt = _Attempt(self.endpoint, api)
        if self._waiting >= self.limits.max_waiting:
            raise attempt.unreachable(f"{self._waiting} requests wait for an answer already")
        deadline_s = self.limits.connect_timeout_s + self.limits.request_timeout_s + extra_s
        self.last_used_s = asyncio.get_running_loop().time()
        self._waiting += 1
        try:
            async with asyncio.timeout(deadline_s), self._turn:
                session = await self._ready(attempt)
                return await self._exchange(attempt, session, build, understand)
        except TimeoutError:
            raise attempt.unreachable(f"{deadline_s:g} s had passed while {attempt.doing}") from None
        finally:
            self._waiting -= 1

    @property
    def busy(self) -> bool:
        """Whether a request is being made, or waits to be made."""
        return self._waiting > 0

    def close(self) -> None:
        """Drop the connection; the next call makes a new one."""
        if self._session is not None:
            self._session.channel.abort()
            self._session = None

    async def _ready(self, attempt: _Attempt) -> _Session:
        """The kept session if it is in order, else a new one."""
        if self._session is not None and self._session.usable:
            return self._session
        self.close()
        channel = await self._connect(attempt)
        try:
            versions = await self._negotiate(attempt, channel)
            sasl = sasl_of(self.endpoint.security)
            ends_s = None if sasl is None else await self._authenticate(attempt, channel, versions, sasl)
        except BaseException:
            channel.abort()
            raise
        self._session = _Session(channel=channel, versions=versions, ends_s=ends_s)
        return self._session

    async def _connect(self, attempt: _Attempt) -> Channel:
        attempt.doing = "connecting"
        at, limits = self.endpoint, self.limits
        try:
            tls = tls_of(at.security)
        except Malformed as error:
            raise attempt.denied(f"{error}; correct the Secret") from None
        try:
            async with asyncio.timeout(limits.connect_timeout_s) as connecting:
                return await open_channel(at.host, at.port, tls=tls, name=at.name)
        except ssl.SSLError as error:
            raise attempt.unreachable(tls_words(error, at.certified_name), failure_of(error)) from None
        except OSError as error:  # TimeoutError is one, from the kernel as well as from the deadline
            if connecting.expired():
                raise attempt.unreachable(f"no connection within {limits.connect_timeout_s:g} s") from None
            why = error.strerror or str(error) or "the server ended it"
            raise attempt.unreachable(f"no connection{' with TLS' if tls else ''} ({why})") from error
        except ValueError as error:  # before the name is looked up: a label above 63 characters, or an empty one
            raise attempt.unreachable(f"{quoted(at.certified_name)} is no host name ({error})") from error
        except OverflowError as error:  # for an address; for a name it is an OSError
            raise attempt.unreachable(f"{at.port} is no port") from error

    async def _negotiate(self, attempt: _Attempt, channel: Channel) -> ServerVersions:
        """Which versions the server supports; a too-old ApiVersions is enough to find out."""
        attempt.doing = "negotiating versions"
        answer = await self._ask(attempt, channel, api_versions.message())
        try:
            response = codec.decode_api_versions(answer)
        except CodecError as error:
            raise attempt.garbled(str(error)) from error
        self._check_negotiation(response)
        rows = tuple((int(row.api_key), int(row.min_version), int(row.max_version)) for row in response.api_keys)
        return _VERSIONS.of(rows, lambda: {key: VersionRange(low=low, high=high) for key, low, high in rows})

    async def _authenticate(
        self, attempt: _Attempt, channel: Channel, versions: ServerVersions, sasl: Sasl
    ) -> float | None:
        """Authenticate, and return when to do so again, by the event loop's clock; None for never."""
        attempt.doing = "authenticating"
        began_s = asyncio.get_running_loop().time()
        for api in (sasl_handshake.API, sasl_authenticate.API):
            if common_version(api, versions) is None:
                raise attempt.denied(f"it has no version {api.ours} of {api.name}")

        async def ask(request: RequestPayload) -> ResponsePayload:
            answer = await self._ask(attempt, channel, request)
            return codec.decode_response(int(request.__api_key__), int(request.__version__), answer)

        try:
            lifetime_s = await authenticate(sasl, ask)
        except DeniedError as error:
            raise attempt.denied(str(error)) from None
        except (CodecError, ValueError) as error:
            raise attempt.garbled(str(error)) from None
        return began_s + lifetime_s * _LIFETIME_USED if lifetime_s else None

    def _check_negotiation(self, response: ApiVersionsResponse0 | ApiVersionsResponse) -> None:
        fine = ErrorCode.unsupported_version if isinstance(response, ApiVersionsResponse0) else ErrorCode.none
        if response.error_code is not fine:
            raise refused(self.endpoint, api_versions.API, response.error_code, None)

    async def _exchange(
        self,
        attempt: _Attempt,
        session: _Session,
        build: Callable[[int], RequestPayload],
        understand: Callable[[ResponsePayload], A],
    ) -> A:
        version = common_version(attempt.api, session.versions)
        if version is None:
            raise attempt.no_common_version(session.versions.get(attempt.api.key))
        try:
            request = build(version)
        except ValueError as error:
            raise attempt.unwritable(str(error)) from error
        attempt.doing = "waiting for the answer"
        answer = await self._ask(attempt, session.channel, request, counts=True)
        attempt.doing = "reading the answer"
        try:
            key = attempt.api.key
            return await apart(len(answer), lambda: understand(codec.decode_response(key, version, answer)))
        except CodecError as error:
            self.close()
            raise attempt.garbled(str(error)) from error

    async def _ask(
        self, attempt: _Attempt, channel: Channel, request: RequestPayload, *, counts: bool = False
    ) -> bytes:
        """`counts`: this is the request itself, no preparation, so from its first byte on it may have an effect."""

        def encode(correlation_id: int) -> bytes:
            message = codec.encode_request(request, correlation_id)
            attempt.sent = counts
            return message

        most = attempt.api.answer_bytes if counts else MAX_ANSWER_BYTES
        try:
            return await channel.ask(encode, most)
        except CodecError as error:
            raise attempt.unwritable(str(error)) from error
        except FrameError as error:
            raise attempt.garbled(str(error)) from error
        except ChannelLostError as error:
            raise attempt.unreachable(f"{error} while {attempt.doing}") from error
