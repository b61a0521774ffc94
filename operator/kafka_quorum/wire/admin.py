"""The requests of `protocol.Controllers`, over the network; one module of `requests` for each request."""

from collections.abc import Sequence

from kafka_quorum.model.brokers import ConfigChange
from kafka_quorum.model.handshakes import Handshake
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
from kafka_quorum.model.scram import ScramChange, ScramMechanism
from kafka_quorum.wire.handshake import TURNS, probe_threads
from kafka_quorum.wire.requests import (
    add_raft_voter,
    alter_configs,
    alter_scram,
    api_versions,
    controller_registration,
    describe_cluster,
    describe_quorum,
    remove_raft_voter,
    unregister_controller,
    update_features,
)
from kafka_quorum.wire.sending import Sending, own_max_kept


class KafkaControllers(Sending):
    """Every method ends within `limits` (plus a request's own timeout) and raises `KafkaError` on all but success."""

    def _most_kept(self) -> int:
        return own_max_kept()

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

    async def handshake(self, endpoint: Endpoint, *, sample: bool = False) -> Handshake:
        """Which certificate a listener with TLS serves, and whether it answers a client with this security.

        Several handshakes, so that every network thread of the listener is seen; the oldest certificate counts. One if
        a `sample` is enough.
        """
        return await probe_threads(endpoint, self._limits, turns=1 if sample else TURNS)

    async def reload_keystore(self, endpoint: Endpoint, node_id: NodeID, listener: str, path: str) -> None:
        """Ask the leader to let this controller load the certificate of this listener again.

        Success does not mean that it did: it may refuse what it finds there, and says so in its own log only. Each of
        its network threads loads by itself, within two seconds: the file must not change meanwhile. In a dynamic quorum
        leaders before 4.3 refuse the setting (BROKER_ID_NOT_REGISTERED), because no controller is a broker.
        """
        key = f"listener.name.{listener.lower()}.ssl.keystore.location"
        await self._send(endpoint, alter_configs.of_broker(node_id, (ConfigChange(name=key, value=path),)))

    async def scram_present(
        self, endpoint: Endpoint, users: Sequence[str], mechanism: ScramMechanism
    ) -> frozenset[str]:
        """Which of these users have a credential of this mechanism, as the active controller knows. Changes nothing."""
        return await self._send(endpoint, alter_scram.present(users, mechanism))

    async def alter_scram(self, endpoint: Endpoint, change: ScramChange) -> None:
        """Make, replace or remove one credential, at the active controller. What is removed already is a success.

        An error does not mean that it was not changed.
        """
        await self._send(endpoint, alter_scram.request(change))
