"""Credentials of SCRAM: the requests byte by byte, a question that changes nothing, and answers that are refused."""

import io
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.alter_user_scram_credentials.v0 import request as alter_v0
from kio.schema.alter_user_scram_credentials.v0.response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from kio.schema.describe_user_scram_credentials.v0.response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kio.schema.errors import ErrorCode
from kio.static.primitive import i8, i32, i32Timedelta
from kio.static.protocol import ResponsePayload
from tests.wire import test_admin as controllers
from tests.wire import test_broker_admin as brokers
from tests.wire.fakes import FakeServer
from tests.wire.test_features import sent

from kafka_quorum.errors import KafkaProtocolError, KafkaRefused
from kafka_quorum.model.scram import ScramCredential, ScramEntry, ScramMechanism, ScramRemoval
from kafka_quorum.wire import codec
from kafka_quorum.wire.requests import alter_scram, describe_scram

AT_ONCE = i32Timedelta.parse(timedelta(0))
SHA_512 = ScramMechanism.SHA_512
ADA = ScramCredential(user="ada", mechanism=SHA_512, iterations=8192, salt=b"salt", salted_password=b"salted")
REMOVED = ScramRemoval(user="ada", mechanism=SHA_512)
NO, GONE, TWICE = ErrorCode.none, ErrorCode.resource_not_found, ErrorCode.duplicate_resource


def altered(**codes: ErrorCode) -> AlterUserScramCredentialsResponse:
    """An answer about these users."""
    rows = (
        AlterUserScramCredentialsResult(user=user, error_code=code, error_message="w") for user, code in codes.items()
    )
    return AlterUserScramCredentialsResponse(throttle_time=AT_ONCE, results=tuple(rows))


def described(*rows: DescribeUserScramCredentialsResult, code: ErrorCode = NO) -> DescribeUserScramCredentialsResponse:
    """An answer of a broker."""
    return DescribeUserScramCredentialsResponse(
        throttle_time=AT_ONCE, error_code=code, error_message=None, results=rows
    )


def row(
    user: str, *mechanisms: int, code: ErrorCode = NO, iterations: int = 8192
) -> DescribeUserScramCredentialsResult:
    """What a broker says of one user."""
    infos = tuple(CredentialInfo(mechanism=i8(each), iterations=i32(iterations)) for each in mechanisms)
    return DescribeUserScramCredentialsResult(user=user, error_code=code, error_message=None, credential_infos=infos)


def body(message: Any) -> bytes:  # noqa: ANN401 - a request of any kind
    """The bytes after the header: key, version, correlation id, client id, tagged fields."""
    encoded = codec.encode_request(message, 7)
    client = int.from_bytes(encoded[8:10], "big")
    return io.BytesIO(encoded[10 + client + 1 :]).read()


def test_a_credential_byte_by_byte() -> None:
    """One upsertion: no deletion, the name, mechanism 2, iterations, salt and salted password, as Kafka has it."""
    assert body(alter_scram.message(ADA)) == (
        b"\x01" + b"\x02" + b"\x04ada" + b"\x02" + b"\x00\x00\x20\x00" + b"\x05salt" + b"\x07salted" + b"\x00" + b"\x00"
    )


def test_a_removal_byte_by_byte() -> None:
    """One deletion: the name and the mechanism."""
    assert body(alter_scram.message(REMOVED)) == b"\x02" + b"\x04ada" + b"\x02" + b"\x00" + b"\x01" + b"\x00"


def test_a_question_names_each_user_twice() -> None:
    """Two reasons to refuse each user: it is named twice, and the number of iterations is never valid."""
    made = alter_scram.question(("ada", "bob"), SHA_512)
    assert [each.name for each in made.deletions] == [each.name for each in made.upsertions] == ["ada", "bob"]
    assert {(each.iterations, each.salt, each.salted_password) for each in made.upsertions} == {(0, b"", b"")}


@pytest.mark.parametrize("users", [(), ("ada", "ada"), ("",), tuple(map(str, range(1001)))])
def test_users_that_are_not_asked_about(users: tuple[str, ...]) -> None:
    """No user, one twice, one without a name, and too many are refused before anything is sent."""
    with pytest.raises(ValueError, match="user"):
        alter_scram.question(users, SHA_512)
    with pytest.raises(ValueError, match="user"):
        describe_scram.request(users).build(0)


async def test_a_change_is_sent_as_it_is() -> None:
    """A credential that is accepted has reached the server; its salt and password are in no text of it."""
    async with controllers.asking(server := controllers.saying(altered(ada=NO))) as client:
        await client.alter_scram(server.endpoint, ADA)
    request = sent(server)
    assert isinstance(request, alter_v0.AlterUserScramCredentialsRequest)
    assert [(each.name, each.salted_password) for each in request.upsertions] == [("ada", b"salted")]
    assert "salt" not in repr(ADA)


async def test_what_is_removed_already_is_a_success() -> None:
    """A removal may be sent again."""
    async with controllers.asking(server := controllers.saying(altered(ada=GONE))) as client:
        await client.alter_scram(server.endpoint, REMOVED)


@pytest.mark.parametrize(
    ("code", "unknown"),
    [
        (ErrorCode.unacceptable_credential, False),
        (ErrorCode.unsupported_version, False),
        (ErrorCode.cluster_authorization_failed, False),
        (ErrorCode.not_controller, True),
        (ErrorCode.unknown_server_error, True),
        (GONE, True),
    ],
)
async def test_a_refused_change(code: ErrorCode, unknown: bool) -> None:  # noqa: FBT001 - a column of the table
    """An error counts as "no" only if the server decides it before it writes."""
    async with controllers.asking(server := controllers.saying(altered(ada=code))) as client:
        with pytest.raises(KafkaRefused) as failure:
            await client.alter_scram(server.endpoint, ADA)
    assert failure.value.outcome_unknown is unknown


async def test_who_has_a_credential() -> None:
    """Kafka's refusal of each user says whether there is one."""
    async with controllers.asking(server := controllers.saying(altered(bob=TWICE, ada=GONE))) as client:
        assert await client.scram_present(server.endpoint, ("ada", "bob"), SHA_512) == {"bob"}


@pytest.mark.parametrize(
    "code", [ErrorCode.not_controller, ErrorCode.unsupported_version, ErrorCode.unknown_server_error]
)
async def test_an_error_is_no_absence(code: ErrorCode) -> None:
    """One user with any other error makes the whole answer an error, and the question may be asked again."""
    async with controllers.asking(server := controllers.saying(altered(ada=GONE, bob=code))) as client:
        with pytest.raises(KafkaRefused) as failure:
            await client.scram_present(server.endpoint, ("ada", "bob"), SHA_512)
    assert (failure.value.retry_safe, failure.value.outcome_unknown) == (True, False)


Ask = Callable[[Any, Any], Awaitable[object]]


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda c, at: c.scram_present(at, ("ada",), SHA_512), altered()),
        (lambda c, at: c.scram_present(at, ("ada",), SHA_512), altered(eve=GONE)),
        (lambda c, at: c.scram_present(at, ("ada",), SHA_512), altered(ada=GONE, eve=GONE)),
        (lambda c, at: c.scram_present(at, ("ada",), SHA_512), altered(ada=NO)),
        (lambda c, at: c.alter_scram(at, ADA), altered()),
        (lambda c, at: c.alter_scram(at, ADA), altered(eve=NO)),
        (lambda c, at: c.alter_scram(at, REMOVED), altered(ada=NO, eve=NO)),
        (lambda c, at: c.alter_scram(at, ADA), altered(**{"ada": NO, "x" * 300: NO})),
        (lambda c, at: c.alter_scram(at, ADA), altered(**{f"u{index}": NO for index in range(1001)})),
    ],
)
async def test_hostile_answers_of_a_controller(ask: Ask, answer: ResponsePayload) -> None:
    """An answer about other users, too many, or of a change that was not asked for, is no answer."""
    async with controllers.asking(server := controllers.saying(answer)) as client:
        with pytest.raises(KafkaProtocolError):
            await ask(client, server.endpoint)


async def of_broker(*answers: ResponsePayload) -> object:
    """What a broker is read to say of ada and bob."""

    async def ask(client: Any, server: FakeServer) -> object:  # noqa: ANN401 - a client for brokers
        return await client.describe_scram(server.endpoint, ("ada", "bob"))

    found: object = await brokers.asked(ask, *answers)
    return found


async def test_what_a_broker_describes() -> None:
    """Every credential by user and mechanism; a user without any is in no row."""
    found = await of_broker(described(row("bob", code=GONE), row("ada", 2, 1)))
    assert found == tuple(ScramEntry(user="ada", mechanism=kind, iterations=8192) for kind in (1, 2))


@pytest.mark.parametrize(
    "answer",
    [
        described(),
        described(row("ada", 2), row("eve", 2)),
        described(row("ada", 2), row("bob")),
        described(row("ada", 2), row("bob", 2, code=GONE)),
        described(row("ada", 2, 2), row("bob", 1)),
        described(row("ada", 0), row("bob", 1)),
        described(row("ada", 1, iterations=0), row("bob", 1)),
        described(row("ada", *range(1, 30)), row("bob", 1)),
    ],
)
async def test_hostile_answers_of_a_broker(answer: ResponsePayload) -> None:
    """Other users, contradictions, mechanisms twice or without a number: no answer, and never an absent user."""
    with pytest.raises(KafkaProtocolError):
        await of_broker(answer)


@pytest.mark.parametrize(
    "answer",
    [
        described(code=ErrorCode.cluster_authorization_failed),
        described(row("ada", 2), row("bob", code=ErrorCode.unknown_server_error)),
    ],
)
async def test_errors_of_a_broker(answer: ResponsePayload) -> None:
    """An error at either level is an error of the whole."""
    with pytest.raises(KafkaRefused):
        await of_broker(answer)
