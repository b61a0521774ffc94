"""DescribeUserScramCredentials (50): which users have a credential of SCRAM, without salts and keys (KIP-554)."""

from collections.abc import Sequence
from typing import Final

from kio.schema.describe_user_scram_credentials.v0 import response as v0
from kio.schema.describe_user_scram_credentials.v0.request import DescribeUserScramCredentialsRequest, UserName
from kio.schema.describe_user_scram_credentials.v0.response import DescribeUserScramCredentialsResponse
from kio.schema.errors import ErrorCode
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.scram import ScramEntry
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import at_least, once

MAX_USERS: Final = 1_000
"""How many users one request names."""
_MECHANISMS: Final = 16
"""Kafka has two."""
API: Final = Api(
    key=50,
    name="DescribeUserScramCredentials",
    ours=VersionRange(low=0, high=0),
    effect=Effect.READS,
    server="broker",
    lists={
        (DescribeUserScramCredentialsResponse, "results"): Bound(count=MAX_USERS, plural="users"),
        (v0.DescribeUserScramCredentialsResult, "credential_infos"): Bound(count=_MECHANISMS, plural="credentials"),
    },
)
"""A user takes 10 bytes and the name, and 5 for each credential."""


def request(users: Sequence[str]) -> Request[tuple[ScramEntry, ...]]:
    """The credentials of exactly these users, one or more; a user without any is in no row.

    Without names Kafka would describe every user, which could be any number.
    """

    def read(response: ResponsePayload) -> tuple[ScramEntry, ...]:
        answer = typed(response, DescribeUserScramCredentialsResponse)
        accept(answer.error_code, answer.error_message)
        for row in answer.results:
            if row.error_code is not ErrorCode.resource_not_found:
                accept(row.error_code, row.error_message)
        described = [row.user for row in answer.results]
        if sorted(described) != sorted(users):
            raise ValueError(f"{len(users)} users were asked about, {len(described)} are described, or others")
        return tuple(sorted(entry for row in answer.results for entry in _entries(row)))

    return Request(api=API, build=lambda _: _message(users), read=read)


def _message(users: Sequence[str]) -> DescribeUserScramCredentialsRequest:
    if not 0 < len(users) <= MAX_USERS:
        raise ValueError(f"{len(users)} users are asked about, and 1 to {MAX_USERS} can be")
    once("user", users)
    return DescribeUserScramCredentialsRequest(users=tuple(UserName(name=each) for each in users))


def _entries(row: v0.DescribeUserScramCredentialsResult) -> list[ScramEntry]:
    missing = row.error_code is ErrorCode.resource_not_found
    once(f"mechanism of user {row.user}", [int(each.mechanism) for each in row.credential_infos])
    if missing is bool(row.credential_infos):
        raise ValueError(f"user {row.user} is {'missing, with' if missing else 'there, without'} credentials")
    return [
        ScramEntry(
            user=row.user,
            mechanism=at_least(1, f"a mechanism of user {row.user}", each.mechanism),
            iterations=at_least(1, f"the iterations of user {row.user}", each.iterations),
        )
        for each in row.credential_infos
    ]
