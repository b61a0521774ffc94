"""The requests of `protocol.Controllers`, over the network.

One connection per controller is kept while it is used. What an answer means is decided in a fixed order: error codes
first, top level before partition, then whether the answer is the one to this question, and only then its values.
Whose answer it is: only a leader names itself, so DescribeQuorum checks that against the node that was asked. An
address may have passed to another pod, and another quorum's leader has to be an error, not a look at ours.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import TypeVar

from kio.schema.add_raft_voter.v0.response import AddRaftVoterResponse as AddRaftVoterResponse0
from kio.schema.add_raft_voter.v1.response import AddRaftVoterResponse as AddRaftVoterResponse1
from kio.schema.api_versions.v4.response import ApiVersionsResponse
from kio.schema.controller_registration.v0.response import ControllerRegistrationResponse
from kio.schema.describe_cluster.v1.response import DescribeClusterResponse
from kio.schema.describe_quorum.v2.response import DescribeQuorumResponse
from kio.schema.errors import ErrorCode
from kio.schema.remove_raft_voter.v0.response import RemoveRaftVoterResponse
from kio.schema.update_features.v1.response import UpdateFeaturesResponse as UpdateFeaturesResponse1
from kio.schema.update_features.v2.response import UpdateFeaturesResponse as UpdateFeaturesResponse2
from kio.static.protocol import ResponsePayload

from kafka_quorum.errors import KafkaProtocolError
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import (
    AddVoter,
    ClusterAnswer,
    Endpoint,
    NodeVersions,
    QuorumAnswer,
    RegisterController,
    RemoveVoter,
    UpdateFeature,
)
from kafka_quorum.wire import codec, messages
from kafka_quorum.wire.codec import Api, Effect
from kafka_quorum.wire.connection import Connection, Limits
from kafka_quorum.wire.refusals import refused
from kafka_quorum.wire.unregister import CONTROLLER_ID_NOT_REGISTERED, UnregisterControllerResponse
from kit.errors import Fault

IDLE_CONNECTION_S = 120.0
"""Longer than any tick of a quorum, shorter than the ten minutes after which Kafka itself closes an idle connection."""

R = TypeVar("R", bound=ResponsePayload)
V = TypeVar("V")


class KafkaControllers:
    """Every method ends within `limits` (plus a request's own timeout) and raises `KafkaError` on all but success."""

    def __init__(self, limits: Limits | None = None, tls: ssl.SSLContext | None = None) -> None:
        """`tls` serves every connection; None is PLAINTEXT."""
        self._limits = limits or Limits()
        self._tls = tls
        self._connections: dict[Endpoint, Connection] = {}

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """Supported ranges and finalized levels, as this node has them."""
        request = messages.api_versions_request()
        connection = self._connection(endpoint)
        response = await connection.call(codec.API_VERSIONS, lambda _: request)
        answer = self._typed(endpoint, codec.API_VERSIONS, response, ApiVersionsResponse)
        self._accept(endpoint, codec.API_VERSIONS, answer.error_code, None)
        return self._understood(endpoint, codec.API_VERSIONS, lambda: messages.node_versions(answer))

    async def describe_cluster(self, endpoint: Endpoint) -> ClusterAnswer:
        """The cluster id that this node runs with, and the registered controllers."""
        api, request = codec.DESCRIBE_CLUSTER, messages.describe_cluster_request()
        response = await self._connection(endpoint).call(api, lambda _: request)
        answer = self._typed(endpoint, api, response, DescribeClusterResponse)
        self._accept(endpoint, api, answer.error_code, answer.error_message)
        return self._understood(endpoint, api, lambda: messages.cluster_answer(answer))

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """The quorum as the leader sees it; `KafkaRefused` NOT_LEADER_OR_FOLLOWER (6) from any other node."""
        api, request = codec.DESCRIBE_QUORUM, messages.describe_quorum_request()
        response = await self._connection(endpoint).call(api, lambda _: request)
        answer = self._typed(endpoint, api, response, DescribeQuorumResponse)
        self._accept(endpoint, api, answer.error_code, answer.error_message)
        partition = self._understood(endpoint, api, lambda: messages.metadata_partition(answer))
        self._accept(endpoint, api, partition.error_code, partition.error_message)
        if int(partition.leader_id) != endpoint.node_id:
            raise self._nonsense(endpoint, api, f"node {partition.leader_id} answers as the leader there")
        return self._understood(endpoint, api, lambda: messages.quorum_answer(partition))

    async def add_voter(self, endpoint: Endpoint, request: AddVoter) -> None:
        """AddRaftVoter at the leader. Success means added; an error does not mean that it was not."""
        api = codec.ADD_RAFT_VOTER
        response = await self._connection(endpoint).call(
            api,
            lambda version: messages.add_voter_request(request, version),
            extra_s=request.timeout_ms / 1000,
        )
        if not isinstance(response, AddRaftVoterResponse0 | AddRaftVoterResponse1):
            raise self._nonsense(endpoint, api, f"a {type(response).__name__} came")
        self._accept(endpoint, api, response.error_code, response.error_message)

    async def remove_voter(self, endpoint: Endpoint, request: RemoveVoter) -> None:
        """RemoveRaftVoter at the leader. Success means removed; an error does not mean that it was not."""
        api = codec.REMOVE_RAFT_VOTER
        response = await self._connection(endpoint).call(api, lambda _: messages.remove_voter_request(request))
        answer = self._typed(endpoint, api, response, RemoveRaftVoterResponse)
        self._accept(endpoint, api, answer.error_code, answer.error_message)

    async def update_feature(self, endpoint: Endpoint, request: UpdateFeature) -> None:
        """UpdateFeatures with one step at the active controller; `KafkaRefused` with the server's own words.

        Unless it only validates, an error does not mean that the level was not changed.
        """
        api = codec.VALIDATE_FEATURES if request.validate_only else codec.UPDATE_FEATURES
        response = await self._connection(endpoint).call(
            api,
            lambda version: messages.update_features_request(request, version),
            extra_s=request.timeout_ms / 1000,
        )
        if not isinstance(response, UpdateFeaturesResponse1 | UpdateFeaturesResponse2):
            raise self._nonsense(endpoint, api, f"a {type(response).__name__} came")
        self._accept(endpoint, api, response.error_code, response.error_message)
        if isinstance(response, UpdateFeaturesResponse1):
            for result in response.results:
                self._accept(endpoint, api, result.error_code, result.error_message)

    async def register_controller(self, endpoint: Endpoint, request: RegisterController) -> None:
        """ControllerRegistration at the active controller: what a removed controller supports is not in the way."""
        api = codec.CONTROLLER_REGISTRATION
        response = await self._connection(endpoint).call(api, lambda _: messages.register_controller_request(request))
        answer = self._typed(endpoint, api, response, ControllerRegistrationResponse)
        self._accept(endpoint, api, answer.error_code, answer.error_message)

    async def unregister_controller(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """UnregisterController at the active controller; one that is not registered is a success.

        A server that does not know the request (before 4.4) is `KafkaVersionUnsupported`, and nothing is sent.
        """
        api = codec.UNREGISTER_CONTROLLER
        response = await self._connection(endpoint).call(api, lambda _: messages.unregister_controller_request(node_id))
        answer = self._typed(endpoint, api, response, UnregisterControllerResponse)
        if answer.error_code != CONTROLLER_ID_NOT_REGISTERED:
            code = self._understood(endpoint, api, lambda: ErrorCode(answer.error_code))
            self._accept(endpoint, api, code, answer.error_message)

    async def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _connection(self, endpoint: Endpoint) -> Connection:
        """The kept connection to this endpoint. What nobody has used for long is closed here: pods change addresses."""
        now_s = asyncio.get_running_loop().time()
        for other, connection in list(self._connections.items()):
            if other != endpoint and now_s - connection.last_used_s > IDLE_CONNECTION_S and not connection.busy:
                connection.close()
                del self._connections[other]
        if endpoint not in self._connections:
            self._connections[endpoint] = Connection(
                endpoint=endpoint, limits=self._limits, tls=self._tls, last_used_s=now_s
            )
        return self._connections[endpoint]

    def _accept(self, endpoint: Endpoint, api: Api, code: ErrorCode, server_message: str | None) -> None:
        """Go on only without an error code."""
        if code is not ErrorCode.none:
            raise refused(endpoint, api, code, server_message)

    def _typed(self, endpoint: Endpoint, api: Api, response: ResponsePayload, wanted: type[R]) -> R:
        """The answer, as the type that the one version which we speak has."""
        if not isinstance(response, wanted):
            raise self._nonsense(endpoint, api, f"a {type(response).__name__} came")
        return response

    def _understood(self, endpoint: Endpoint, api: Api, read: Callable[[], V]) -> V:
        """What `read` makes of the answer."""
        try:
            return read()
        except ValueError as error:
            raise self._nonsense(endpoint, api, str(error)) from error

    def _nonsense(self, endpoint: Endpoint, api: Api, why: str) -> KafkaProtocolError:
        """An answer in good form that cannot be the one to this question; its connection is not to be trusted."""
        connection = self._connections.get(endpoint)
        if connection is not None:
            connection.close()
        return KafkaProtocolError(
            f"{api.name} was answered by controller {endpoint} with something else than was asked: {why}",
            fault=Fault.THEIRS,
            retry_safe=api.effect is Effect.READS,
            outcome_unknown=api.effect is Effect.WRITES,
        )
