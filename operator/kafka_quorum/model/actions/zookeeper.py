"""The one act on ZooKeeper: a roll back gives it back to a controller of its own (KIP-866)."""

from dataclasses import dataclass

from kafka_quorum.model.actions.record import NEVER
from kafka_quorum.model.permit import GiveBackZooKeeper, Permit, required
from kafka_quorum.model.zookeeper import GiveBack, ZooKeeperAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveBackNodes:
    """Delete `/controller` and `/migration` and raise the epoch, in one transaction that compares every version."""

    access: ZooKeeperAccess
    what: GiveBack
    judged_at_s: float = NEVER
    permit: Permit[GiveBackZooKeeper]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, GiveBackZooKeeper)
