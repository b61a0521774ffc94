"""What the operator asks of a Kafka controller. `admin` does it over the network, the simulation in memory."""

from typing import Protocol

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

    async def close(self) -> None:
        """Close every connection."""
