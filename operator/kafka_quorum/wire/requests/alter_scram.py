"""AlterUserScramCredentials (51): make, replace and remove credentials of SCRAM, and ask who has one (KIP-554).

Controllers list DescribeUserScramCredentials, and answer UNKNOWN_SERVER_ERROR to it: they have no handler (measured on
3.9.2, 4.1.2 and 4.4.0). A broker answers from its own image, which may be old. So the active controller is asked by
this request, in a form that Kafka always refuses, user by user, without a change.
"""

from collections.abc import Sequence
from typing import Final

from kio.schema.alter_user_scram_credentials.v0.request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kio.schema.alter_user_scram_credentials.v0.response import AlterUserScramCredentialsResponse
from kio.schema.errors import ErrorCode
from kio.static.primitive import i8, i32
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.scram import ScramChange, ScramCredential, ScramMechanism, ScramRemoval
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import Bound
from kafka_quorum.wire.request import CodeError, Request, accept, typed
from kafka_quorum.wire.requests.describe_scram import MAX_USERS
from kafka_quorum.wire.values import int32, once

API: Final = Api(
    key=51,
    name="AlterUserScramCredentials",
    ours=VersionRange(low=0, high=0),
    effect=Effect.WRITES,
    lists={(AlterUserScramCredentialsResponse, "results"): Bound(count=MAX_USERS, plural="users")},
)
PRESENT: Final = Api(key=51, name="AlterUserScramCredentials (question only)", ours=API.ours, effect=Effect.READS)
"""The same request as one that changes nothing: it may always be sent again, and has no unknown outcome."""
_NEVER_VALID: Final = i32(0)
"""A number of iterations that no release accepts."""


def request(change: ScramChange) -> Request[None]:
    """Make, replace or remove one credential, at the active controller. What is removed already counts as removed.

    One user each: Kafka answers each user by itself, so a list could be done in part.
    """

    def read(response: ResponsePayload) -> None:
        rows = _rows(response, (change.user,))
        code, words = rows[change.user]
        if not (isinstance(change, ScramRemoval) and code is ErrorCode.resource_not_found):
            accept(code, words)

    return Request(api=API, build=lambda _: message(change), read=read)


def present(users: Sequence[str], mechanism: ScramMechanism) -> Request[frozenset[str]]:
    """Which of these users, one or more, have a credential of this mechanism, as the active controller knows.

    Each user is named twice, to be removed and to be made with a number of iterations that is never valid. For both
    reasons Kafka changes nothing; it answers RESOURCE_NOT_FOUND for a user without this credential, and
    DUPLICATE_RESOURCE for the others. Any other answer is an error of the whole.
    """

    def read(response: ResponsePayload) -> frozenset[str]:
        rows = _rows(response, users)
        for code, words in rows.values():
            if code is ErrorCode.none:
                raise ValueError("a question was answered like a change")
            if code not in {ErrorCode.duplicate_resource, ErrorCode.resource_not_found}:
                raise CodeError(code, words)
        return frozenset(user for user, (code, _) in rows.items() if code is ErrorCode.duplicate_resource)

    return Request(api=PRESENT, build=lambda _: question(users, mechanism), read=read)


def message(change: ScramChange) -> AlterUserScramCredentialsRequest:
    """The request with this change."""
    once("user", [change.user])
    if isinstance(change, ScramRemoval):
        removal = ScramCredentialDeletion(name=change.user, mechanism=i8(change.mechanism))
        return AlterUserScramCredentialsRequest(deletions=(removal,), upsertions=())
    return AlterUserScramCredentialsRequest(deletions=(), upsertions=(_upsertion(change),))


def question(users: Sequence[str], mechanism: ScramMechanism) -> AlterUserScramCredentialsRequest:
    """The request that only asks."""
    if not 0 < len(users) <= MAX_USERS:
        raise ValueError(f"{len(users)} users are asked about, and 1 to {MAX_USERS} can be")
    once("user", users)
    kind = i8(mechanism)
    return AlterUserScramCredentialsRequest(
        deletions=tuple(ScramCredentialDeletion(name=user, mechanism=kind) for user in users),
        upsertions=tuple(
            ScramCredentialUpsertion(name=user, mechanism=kind, iterations=_NEVER_VALID, salt=b"", salted_password=b"")
            for user in users
        ),
    )


def _upsertion(made: ScramCredential) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=made.user,
        mechanism=i8(made.mechanism),
        iterations=int32("number of iterations", made.iterations),
        salt=made.salt,
        salted_password=made.salted_password,
    )


def _rows(response: ResponsePayload, users: Sequence[str]) -> dict[str, tuple[ErrorCode, str | None]]:
    """The answers about exactly these users."""
    rows = typed(response, AlterUserScramCredentialsResponse).results
    if sorted(row.user for row in rows) != sorted(users):
        raise ValueError(f"{len(users)} users were named, and {len(rows)} are answered, or others")
    return {row.user: (row.error_code, row.error_message) for row in rows}
