"""The requests of `protocol.Controllers`, over the network; each module of `requests` has one request and its answer.

One connection per controller is kept while it is used. Its security is part of the endpoint.
"""

import asyncio
from typing import TypeVar

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
from kafka_quorum.wire.api import Api, Effect
from kafka_quorum.wire.connection import Connection, Limits
from kafka_quorum.wire.refusals import refused
from kafka_quorum.wire.request import CodeError, Request
from kafka_quorum.wire.requests import (
    add_raft_voter,
    api_versions,
    controller_registration,
    describe_cluster,
    describe_quorum,
    remove_raft_voter,
    unregister_controller,
    update_features,
)
from kit.errors import Fault

IDLE_CONNECTION_S = 120.0
"""Longer than any tick of a quorum, shorter than the ten minutes after which Kafka itself closes an idle connection."""

A = TypeVar("A")


class KafkaControllers:
    """Every method ends within `limits` (plus a request's own timeout) and raises `KafkaError` on all but success."""

    def __init__(self, limits: Limits | None = None) -> None:
        """Nothing is connected yet."""
        self._limits = limits or Limits()
        self._connections: dict[Endpoint, Connection] = {}

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """Supported ranges and finalized levels, as this node reports them."""
        return await self._send(endpoint, api_versions.request())

    async def describe_cluster(self, endpoint: Endpoint) -> ClusterAnswer:
        """The cluster id that this node runs with, and the registered controllers."""
        return await self._send(endpoint, describe_cluster.request())

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """The quorum as the leader reports it; `KafkaRefused` NOT_LEADER_OR_FOLLOWER (6) from any other node."""
        return await self._send(endpoint, describe_quorum.request(endpoint.node_id))

    async def add_voter(self, endpoint: Endpoint, request: AddVoter) -> None:
        """AddRaftVoter at the leader. Success means added; an error does not mean that it was not."""
        await self._send(endpoint, add_raft_voter.request(request))

    async def remove_voter(self, endpoint: Endpoint, request: RemoveVoter) -> None:
        """RemoveRaftVoter at the leader. Success means removed; an error does not mean that it was not."""
        await self._send(endpoint, remove_raft_voter.request(request))

    async def update_feature(self, endpoint: Endpoint, request: UpdateFeature) -> None:
        """UpdateFeatures with one step at the active controller; `KafkaRefused` with the server's own words.

        Unless it only validates, an error does not mean that the level was not changed.
        """
        await self._send(endpoint, update_features.request(request))

    async def register_controller(self, endpoint: Endpoint, request: RegisterController) -> None:
        """ControllerRegistration at the active controller, so that a removed controller's old ranges block nothing."""
        await self._send(endpoint, controller_registration.request(request))

    async def unregister_controller(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """UnregisterController at the active controller; one that is not registered is a success.

        A server that does not support the request (before 4.4) is `KafkaVersionUnsupported`, and nothing is sent.
        """
        await self._send(endpoint, unregister_controller.request(node_id))

    async def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    async def _send(self, endpoint: Endpoint, request: Request[A]) -> A:
        """Send a request, and return what its answer says."""
        response = await self._connection(endpoint).call(request.api, request.build, extra_s=request.extra_s)
        try:
            return request.read(response)
        except CodeError as error:
            raise refused(endpoint, request.api, error.code, error.words) from None
        except ValueError as error:
            raise self._nonsense(endpoint, request.api, str(error)) from error

    def _connection(self, endpoint: Endpoint) -> Connection:
        """The kept connection to this endpoint. Long unused ones are closed here, because pods change addresses."""
        now_s = asyncio.get_running_loop().time()
        for other, connection in list(self._connections.items()):
            if other != endpoint and now_s - connection.last_used_s > IDLE_CONNECTION_S and not connection.busy:
                connection.close()
                del self._connections[other]
        if endpoint not in self._connections:
            self._connections[endpoint] = Connection(endpoint=endpoint, limits=self._limits, last_used_s=now_s)
        return self._connections[endpoint]

    def _nonsense(self, endpoint: Endpoint, api: Api, why: str) -> KafkaProtocolError:
        """An answer in valid form that cannot be the one to this question; its connection is not trusted any more."""
        connection = self._connections.get(endpoint)
        if connection is not None:
            connection.close()
        return KafkaProtocolError(
            f"{api.name} was answered by controller {endpoint} with something else than was asked: {why}",
            fault=Fault.THEIRS,
            retry_safe=api.effect is Effect.READS,
            outcome_unknown=api.effect is Effect.WRITES,
        )
