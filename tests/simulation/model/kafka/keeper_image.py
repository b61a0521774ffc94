"""What the metadata log says of a migration from ZooKeeper (KIP-866): state, records, and registered brokers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import DriverState


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperImage:
    """The combined content of all records of a migration.

    `state` is None before the first leader wrote one. `records` are metadata records of the cluster, by number.
    `brokers` has every registered broker, stopped ones too, and whether it is registered in migration mode.
    """

    state: DriverState | None = None
    records: frozenset[int] = frozenset()
    brokers: Mapping[NodeID, bool] = field(default_factory=lambda: MappingProxyType({}))


NO_KEEPER: Final = KeeperImage()
