"""RemoveRaftVoter (81): removes a voter (KIP-853). Success means removed; an error does not mean that it was not."""

from typing import Final

from kio.schema.remove_raft_voter.v0.request import RemoveRaftVoterRequest
from kio.schema.remove_raft_voter.v0.response import RemoveRaftVoterResponse
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.quorum import RemoveVoter
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import int32, kio_uuid

API: Final = Api(key=81, name="RemoveRaftVoter", ours=VersionRange(low=0, high=0), effect=Effect.WRITES)
"""There is one version, in every release that has dynamic quorums."""


def request(body: RemoveVoter) -> Request[None]:
    """Remove a voter, at the leader."""
    return Request(api=API, build=lambda _: message(body), read=_read)


def _read(response: ResponsePayload) -> None:
    answer = typed(response, RemoveRaftVoterResponse)
    accept(answer.error_code, answer.error_message)


def message(request: RemoveVoter) -> RemoveRaftVoterRequest:
    """KIP-853's request, in its one version; it is answered when the new voter set is committed."""
    return RemoveRaftVoterRequest(
        cluster_id=request.cluster_id,
        voter_id=int32("node id", request.voter.node_id),
        voter_directory_id=kio_uuid(request.voter.directory_id),
    )
