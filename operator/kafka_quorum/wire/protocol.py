"""What the operator asks of a Kafka controller. `admin` does it over the network, the simulation in memory."""

from collections.abc import Sequence
from typing import Protocol

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


class Controllers(Protocol):
    """Requests to one controller each: they end within a deadline, and raise `KafkaError` on anything but success."""

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """Supported ranges and finalized levels, as this node reports them."""

    async def describe_cluster(self, endpoint: Endpoint) -> ClusterAnswer:
        """The cluster id that this node runs with, and the registered controllers."""

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """The quorum as the leader reports it; `KafkaRefused` NOT_LEADER_OR_FOLLOWER (6) from any other node."""

    async def add_voter(self, endpoint: Endpoint, request: AddVoter) -> None:
        """AddRaftVoter at the leader. Success means added; an error does not mean that it was not."""

    async def remove_voter(self, endpoint: Endpoint, request: RemoveVoter) -> None:
        """RemoveRaftVoter at the leader. Success means removed; an error does not mean that it was not."""

    async def update_feature(self, endpoint: Endpoint, request: UpdateFeature) -> None:
        """UpdateFeatures with one step at the active controller; `KafkaRefused` with the server's own words.

        An error at either level of the answer is an error. Unless it only validates, an error does not mean that the
        level was not changed.
        """

    async def register_controller(self, endpoint: Endpoint, request: RegisterController) -> None:
        """ControllerRegistration at the active controller, so that a removed controller's old ranges block nothing."""

    async def unregister_controller(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """UnregisterController at the active controller, from metadata.version 4.4 on (UNSUPPORTED_VERSION before).

        A controller that is not registered is a success: it may be sent again.
        """

    async def handshake(self, endpoint: Endpoint, *, sample: bool = False) -> Handshake:
        """Which certificate a listener with TLS serves, and whether it answers a client with this security.

        By as many handshakes as show every network thread of the listener; `sample`: by one.
        """

    async def reload_keystore(self, endpoint: Endpoint, node_id: NodeID, listener: str, path: str) -> None:
        """Ask the leader to let this controller load the certificate of this listener again.

        Success does not mean that it did: it may refuse what it finds there, and says so in its own log only. Each of
        its network threads loads by itself, within two seconds: the file must not change meanwhile. Leaders of 4.1.2
        and before refuse the setting (BROKER_ID_NOT_REGISTERED), because no controller is a broker.
        """

    async def scram_present(
        self, endpoint: Endpoint, users: Sequence[str], mechanism: ScramMechanism
    ) -> frozenset[str]:
        """Which of these users, one or more, have a credential of this mechanism. It changes nothing.

        Only the active controller answers (NOT_CONTROLLER from others), from metadata.version 3.5-IV2 on
        (UNSUPPORTED_VERSION before).
        """

    async def alter_scram(self, endpoint: Endpoint, change: ScramChange) -> None:
        """Make, replace or remove one credential, at the active controller. What is removed already is a success.

        An error does not mean that it was not changed.
        """

    async def close(self) -> None:
        """Close every connection."""
