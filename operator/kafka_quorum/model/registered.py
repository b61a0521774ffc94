"""Registered brokers as one look shows them, and what their owner has said about them.

Brokers are seen from three sides: as observers of the quorum, by asking brokers for the list, and by asking each one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable

Settings = Mapping[str, str | None]
"""The running settings of one broker by name; None for a value that is sensitive, or not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAccess:
    """How brokers of others are asked, as the spec requests it.

    `bootstrap_servers` are addresses (`host:port`), `secret_name` a Secret with client properties, both empty for none.
    `confirmed_revision` is the contract revision that a person confirms for brokers that cannot be asked; 0 for none.
    """

    bootstrap_servers: tuple[str, ...] = ()
    secret_name: str = ""
    confirmed_revision: int = 0


ASKING: Final = frozenset(
    {"the brokers are being asked", "the brokers were not asked yet", "its settings were not read yet"}
)
"""Reasons of an Unknown that the next read ends by itself: no person has to do anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSeen:
    """One registered broker. `metadata_max` is the highest metadata.version that it supports; None if it is unknown.

    `fenced` is None if it is unknown.
    """

    node_id: NodeID
    settings: Knowable[Settings]
    fenced: bool | None = None
    metadata_max: int | None = None
