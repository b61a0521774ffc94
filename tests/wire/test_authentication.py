"""SASL on a kept connection, with servers that answer as badly as they can."""

import asyncio
import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from kio.schema.describe_quorum.v2.response import DescribeQuorumResponse
from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v2.response import SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse
from kio.static.primitive import i64Timedelta
from tests.wire.captures import capture
from tests.wire.fakes import ALL_VERSIONS, Do, FakeServer, Reply, answer_to, api_versions, framed, running

from kafka_quorum.errors import KafkaDenied, KafkaError, KafkaProtocolError, KafkaRefused, KafkaUnreachable
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Mechanism, Sasl, Secured, Tls
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.connection import Connection, Limits
from kafka_quorum.wire.requests import describe_quorum

HANDSHAKE, AUTHENTICATE, DESCRIBE = 17, 36, 55
PASSWORD = "marker-of-the-password"  # noqa: S105 - a test's own
VERSIONS = {**ALL_VERSIONS, HANDSHAKE: (0, 1), AUTHENTICATE: (0, 2)}
PATIENT = Limits(connect_timeout_s=20.0, request_timeout_s=20.0)
"""For answers that arrive: a busy machine may be slow."""
IMPATIENT = Limits(connect_timeout_s=1.0, request_timeout_s=0.5)
DESCRIBED = capture("describe_quorum_v2").answer
NEVER = timedelta(0)


def handshaken(request: bytes, code: ErrorCode = ErrorCode.none, mechanisms: tuple[str, ...] = ()) -> bytes:
    """An answer to SaslHandshake."""
    return answer_to(request, SaslHandshakeResponse(error_code=code, mechanisms=mechanisms))


def authenticated(
    request: bytes, data: bytes = b"", code: ErrorCode = ErrorCode.none, lifetime: timedelta = NEVER
) -> bytes:
    """An answer to SaslAuthenticate, whose words have the password."""
    return answer_to(
        request,
        SaslAuthenticateResponse(
            error_code=code,
            error_message=f"no user with {PASSWORD}" if code is not ErrorCode.none else None,
            auth_bytes=data,
            session_lifetime=i64Timedelta.parse(lifetime),
        ),
    )


@dataclass(slots=True)
class SaslServer:
    """A server that has SCRAM-SHA-256 and PLAIN, and everything of a user's keys; `odd` answers replace its own."""

    said: list[bytes] = field(default_factory=list)
    lifetime: timedelta = NEVER
    odd: dict[int, Callable[[bytes], Reply]] = field(default_factory=dict)
    """By api key; SaslAuthenticate's second message has the key -36."""

    def answer(self, request: bytes) -> Reply:
        """One request."""
        key = int.from_bytes(request[:2], "big")
        if key == HANDSHAKE:
            self.said.clear()
        elif key == AUTHENTICATE and self.said:
            self.said.append(request)
            key = -AUTHENTICATE
        if key in self.odd:
            return self.odd[key](request)
        if key == HANDSHAKE:
            return handshaken(request)
        if key == AUTHENTICATE:
            challenge = self._challenge(request) if b"n,,n=" in request else b""
            return authenticated(request, challenge, lifetime=self.lifetime)
        if key == -AUTHENTICATE:
            return authenticated(request, self._signature(), lifetime=self.lifetime)
        return framed(request[4:8] + DESCRIBED[4:])

    def _challenge(self, request: bytes) -> bytes:
        found = re.search(rb"n,,(n=[^,]*,r=([A-Za-z0-9_-]+))", request)
        assert found is not None
        self.said = [found[1], b"r=" + found[2] + b"more,s=c2FsdA==,i=4096"]
        return self.said[1]

    def _signature(self) -> bytes:
        # `said`: the client's first message, the challenge, and the second request
        first, challenge, request = self.said
        found = re.search(rb"(c=biws,r=[^,]+),p=", request)
        assert found is not None
        salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), b"salt", 4096)
        said = b",".join((first, challenge, found[1]))
        return b"v=" + base64.b64encode(hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), said, "sha256"))


def secured(server: FakeServer, mechanism: Mechanism = Mechanism.SCRAM_SHA_256) -> Endpoint:
    """The server, with a user."""
    sasl = Sasl(mechanism=mechanism, username="ada", password=PASSWORD)
    return replace(server.endpoint, security=Secured(sasl=sasl))


def fake(server: SaslServer) -> FakeServer:
    """Listens for it."""
    return FakeServer(server.answer, lambda request: answer_to(request, api_versions(VERSIONS)))


async def describe(connection: Connection) -> object:
    """A request that reads."""
    return await connection.call(describe_quorum.API, lambda _: describe_quorum.message())


async def failure(
    server: SaslServer, mechanism: Mechanism = Mechanism.SCRAM_SHA_256, limits: Limits = PATIENT
) -> KafkaError:
    """The error of a request, after which the connection is not used again, and which has no secret in it."""
    async with running(fake(server)) as listening:
        connection = Connection(endpoint=secured(listening, mechanism), limits=limits)
        with pytest.raises(KafkaError) as failed:
            await describe(connection)
        assert DESCRIBE not in listening.api_keys, "the request was sent without authentication"
        assert connection._session is None
        assert PASSWORD not in f"{failed.value} {failed.value!r} {connection!r}"
        assert not failed.value.outcome_unknown
        return failed.value


@pytest.mark.parametrize("mechanism", [Mechanism.PLAIN, Mechanism.SCRAM_SHA_256])
async def test_a_connection_authenticates_once(mechanism: Mechanism) -> None:
    """Versions, handshake and messages of the mechanism come first, and only once for many requests."""
    async with running(fake(SaslServer())) as server:
        connection = Connection(endpoint=secured(server, mechanism), limits=PATIENT)
        await describe(connection)
        await describe(connection)
        steps = 1 if mechanism is Mechanism.PLAIN else 2
        assert server.api_keys == [18, HANDSHAKE, *[AUTHENTICATE] * steps, DESCRIBE, DESCRIBE]
        clear = b"\0ada\0" + PASSWORD.encode()
        assert any(clear in request for request in server.requests) is (mechanism is Mechanism.PLAIN)
        assert any(PASSWORD.encode() in request for request in server.requests) is (mechanism is Mechanism.PLAIN)
        connection.close()


async def test_a_session_that_ends_is_made_again() -> None:
    """Before a session's lifetime has ended, the next request opens another connection, without an error."""
    server = SaslServer(lifetime=timedelta(milliseconds=200))
    async with running(fake(server)) as listening:
        connection = Connection(endpoint=secured(listening), limits=PATIENT)
        await describe(connection)
        session = connection._session
        assert session is not None
        assert session.ends_s is not None
        assert session.ends_s - asyncio.get_running_loop().time() < 0.2
        async with asyncio.timeout(10):
            while session.usable:  # noqa: ASYNC110 - the clock is what is waited for
                await asyncio.sleep(0.01)
        await describe(connection)
        assert listening.connections == 2
        connection.close()


@pytest.mark.parametrize("mechanism", [Mechanism.PLAIN, Mechanism.SCRAM_SHA_256])
async def test_a_user_that_is_refused(mechanism: Mechanism) -> None:
    """The message names the mechanism, Kafka's error and what to correct; the server's own words are not shown."""
    refusal = {AUTHENTICATE: lambda request: authenticated(request, code=ErrorCode.sasl_authentication_failed)}
    failed = await failure(SaslServer(odd=refusal), mechanism)  # type: ignore[arg-type]  # a narrower reply
    assert isinstance(failed, KafkaDenied)
    assert f"({mechanism.value}, SASL_AUTHENTICATION_FAILED)" in str(failed)
    assert "correct the Secret" in str(failed)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (ErrorCode.unsupported_sasl_mechanism, "it has GSSAPI, PLAIN"),
        (ErrorCode.illegal_sasl_state, "no SASL"),
        (ErrorCode.unknown_server_error, "UNKNOWN_SERVER_ERROR"),
    ],
)
async def test_a_mechanism_that_is_refused(code: ErrorCode, words: str) -> None:
    """Each refusal of the handshake has its own words."""
    refusal = {HANDSHAKE: lambda request: handshaken(request, code, ("GSSAPI", "PLAIN"))}
    failed = await failure(SaslServer(odd=refusal))  # type: ignore[arg-type]  # a narrower reply
    assert isinstance(failed, KafkaDenied)
    assert words in str(failed)


Script = Callable[[bytes], Reply]
HOSTILE: dict[str, tuple[int, Script]] = {
    "no SCRAM": (AUTHENTICATE, lambda request: authenticated(request, b"hello")),
    "our own message": (AUTHENTICATE, lambda request: authenticated(request, request[-40:])),
    "an endless computation": (
        AUTHENTICATE,
        lambda request: authenticated(
            request, b"r=" + request[request.index(b",r=") + 3 :].rstrip(b"\0") + b"x,s=c2FsdA==,i=2000000000"
        ),
    ),
    "a large challenge": (AUTHENTICATE, lambda request: authenticated(request, bytes(200_000))),
    "an impostor": (-AUTHENTICATE, lambda request: authenticated(request, b"v=" + base64.b64encode(bytes(32)))),
    "no signature": (-AUTHENTICATE, authenticated),
    "a lifetime before now": (
        -AUTHENTICATE,
        lambda request: authenticated(request, lifetime=timedelta(milliseconds=-1)),
    ),
    "a lifetime without end": (
        -AUTHENTICATE,
        lambda request: framed(request[4:8] + b"\0" + b"\0\0" + b"\0" + b"\x01" + b"\x7f" + b"\xff" * 7 + b"\0"),
    ),
    "half an answer": (AUTHENTICATE, lambda request: framed(request[4:8] + b"\0\0")),
    "an unknown code": (AUTHENTICATE, lambda request: framed(request[4:8] + b"\0\x7f\x7f\0\x01" + bytes(9))),
    "a huge frame": (HANDSHAKE, lambda _: b"\x7f\xff\xff\xff"),
    "too many mechanisms": (
        HANDSHAKE,
        lambda request: handshaken(request, ErrorCode.unsupported_sasl_mechanism, tuple("a" * 99)),
    ),
    "a mechanism that cannot be shown": (
        HANDSHAKE,
        lambda request: handshaken(request, ErrorCode.unsupported_sasl_mechanism, ("a\nb",)),
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_server(name: str) -> None:
    """Whatever it sends, the request is not sent, and the error is one of Kafka's protocol."""
    key, script = HOSTILE[name]
    failed = await failure(SaslServer(odd={key: script}))
    assert isinstance(failed, KafkaProtocolError), failed


@pytest.mark.parametrize("key", [HANDSHAKE, AUTHENTICATE, -AUTHENTICATE])
@pytest.mark.parametrize("what", [Do.NOTHING, Do.CLOSE])
async def test_a_server_that_is_silent_or_hangs_up(key: int, what: Do) -> None:
    """The request ends in time, at each step, and the error says at what it was."""
    limits = IMPATIENT if what is Do.NOTHING else PATIENT
    failed = await failure(SaslServer(odd={key: lambda _: what}), limits=limits)
    assert isinstance(failed, KafkaUnreachable)
    assert "authenticating" in str(failed)


async def test_a_server_of_an_old_release() -> None:
    """A server that does not have our version of a request of SASL gets no message of ours with a secret."""
    old = {**VERSIONS, AUTHENTICATE: (0, 1)}
    server = FakeServer(SaslServer().answer, lambda request: answer_to(request, api_versions(old)))
    async with running(server) as listening:
        connection = Connection(endpoint=secured(listening, Mechanism.PLAIN), limits=PATIENT)
        with pytest.raises(KafkaDenied, match="SaslAuthenticate"):
            await describe(connection)
        assert listening.api_keys == [18]


async def test_a_server_that_repeats_the_password() -> None:
    """In any later error message of the server the password is replaced."""
    answer = describe_quorum_refused(f"{PASSWORD} is the password")
    server = SaslServer(odd={DESCRIBE: lambda request: answer_to(request, answer)})
    async with running(fake(server)) as listening:
        controllers = KafkaControllers(PATIENT)
        with pytest.raises(KafkaRefused) as failed:
            await controllers.describe_quorum(secured(listening, Mechanism.PLAIN))
        await controllers.close()
    assert "*** is the password" in str(failed.value)
    assert PASSWORD not in f"{failed.value!r} {failed.value.server_message}"


def describe_quorum_refused(words: str) -> DescribeQuorumResponse:
    """An answer with an error."""
    return DescribeQuorumResponse(
        error_code=ErrorCode.cluster_authorization_failed, error_message=words, topics=(), nodes=()
    )


async def test_another_password_is_another_connection() -> None:
    """The same address with another content of the Secret gets a connection of its own."""
    async with running(fake(SaslServer())) as server:
        controllers = KafkaControllers(PATIENT)
        one = replace(secured(server, Mechanism.PLAIN), node_id=NodeID(3001))  # as the captured answer has it
        other = replace(
            one,
            security=Secured(sasl=Sasl(mechanism=Mechanism.PLAIN, username="ada", password="new")),  # noqa: S106
        )
        for endpoint in (one, one, other):
            await controllers.describe_quorum(endpoint)
        assert server.connections == 2
        assert any(b"\0ada\0new" in request for request in server.requests)
        await controllers.close()


def test_no_text_of_an_endpoint_has_a_secret() -> None:
    """Neither its name nor its representation shows a password, a key, or a user's name."""
    sasl = Sasl(mechanism=Mechanism.PLAIN, username="marker-1", password="marker-2")  # noqa: S106 - a test's own
    security = Secured(tls=Tls(ca="marker-3", certificate="marker-4", key="marker-5"), sasl=sasl)
    endpoint = replace(FakeServer().endpoint, security=security)
    assert "marker" not in f"{endpoint} {endpoint!r} {security}"
