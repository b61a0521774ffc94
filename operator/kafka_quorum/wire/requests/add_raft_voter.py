"""AddRaftVoter (80): adds a voter (KIP-853). Success means added; an error does not mean that it was not."""

from typing import Final

from kio.schema.add_raft_voter.v0.request import AddRaftVoterRequest as AddRaftVoterRequest0
from kio.schema.add_raft_voter.v0.request import Listener as Listener0
from kio.schema.add_raft_voter.v0.response import AddRaftVoterResponse as AddRaftVoterResponse0
from kio.schema.add_raft_voter.v1.request import AddRaftVoterRequest as AddRaftVoterRequest1
from kio.schema.add_raft_voter.v1.request import Listener as Listener1
from kio.schema.add_raft_voter.v1.response import AddRaftVoterResponse as AddRaftVoterResponse1
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.quorum import AddVoter
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.request import Request, accept, unexpected
from kafka_quorum.wire.values import int32, kio_uuid, port_number, timeout

API: Final = Api(key=80, name="AddRaftVoter", ours=VersionRange(low=0, high=1), effect=Effect.WRITES)
"""Version 1, since 4.2, can answer before the change is committed, which is not used."""


def request(body: AddVoter) -> Request[None]:
    """Add a voter, at the leader."""
    return Request(api=API, build=lambda version: message(body, version), read=_read, extra_s=body.timeout_ms / 1000)


def _read(response: ResponsePayload) -> None:
    if not isinstance(response, AddRaftVoterResponse0 | AddRaftVoterResponse1):
        raise unexpected(response)
    accept(response.error_code, response.error_message)


def message(request: AddVoter, version: int) -> AddRaftVoterRequest0 | AddRaftVoterRequest1:
    """KIP-853's request; version 1 requests an answer only when the new voter set is committed."""
    answer_within = timeout(request.timeout_ms)
    voter_id, directory = int32("node id", request.voter.node_id), kio_uuid(request.voter.directory_id)
    if version == 0:
        return AddRaftVoterRequest0(
            cluster_id=request.cluster_id,
            timeout=answer_within,
            voter_id=voter_id,
            voter_directory_id=directory,
            listeners=tuple(
                Listener0(name=row.name, host=row.host, port=port_number(row.port)) for row in request.listeners
            ),
        )
    return AddRaftVoterRequest1(
        cluster_id=request.cluster_id,
        timeout=answer_within,
        voter_id=voter_id,
        voter_directory_id=directory,
        listeners=tuple(
            Listener1(name=row.name, host=row.host, port=port_number(row.port)) for row in request.listeners
        ),
        ack_when_committed=True,
    )
