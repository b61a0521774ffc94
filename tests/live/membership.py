"""Voter changes that the operator's own client does not offer, to set the scene for a test."""

from kio.schema.remove_raft_voter.v0.request import RemoveRaftVoterRequest
from kio.schema.remove_raft_voter.v0.response import RemoveRaftVoterResponse
from kio.static.primitive import i32

from kafka_quorum.model.ids import ClusterID, ReplicaKey
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.codec import Api, Effect, VersionRange, error_name
from kafka_quorum.wire.connection import Connection
from kafka_quorum.wire.messages import kio_uuid

REMOVE_RAFT_VOTER = Api(key=81, name="RemoveRaftVoter", ours=VersionRange(low=0, high=0), effect=Effect.WRITES)


async def remove_voter(endpoint: Endpoint, cluster_id: ClusterID, voter: ReplicaKey) -> str:
    """RemoveRaftVoter at the leader; Kafka's name of the outcome, `NONE` for success."""
    request = RemoveRaftVoterRequest(
        cluster_id=cluster_id,
        voter_id=i32(voter.node_id),
        voter_directory_id=kio_uuid(voter.directory_id),
    )
    connection = Connection(endpoint=endpoint)
    try:
        response = await connection.call(REMOVE_RAFT_VOTER, lambda _: request)
    finally:
        connection.close()
    if not isinstance(response, RemoveRaftVoterResponse):
        raise TypeError(f"a {type(response).__name__} came")
    return error_name(response.error_code)
