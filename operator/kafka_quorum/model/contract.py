"""The broker contract: what a quorum requires of every broker now (row B1). The quorum publishes it, brokers follow it.

It is stored in the ConfigMap `NAME-brokers`. Two kinds of brokers follow it: those of a `KafkaBrokerPool`, and those
that others manage. `revision` goes up when a setting changes in a way that a running broker must follow.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.zookeeper import ZooKeeperAccess

SECRET_PATH: Final = "/etc/kafka-quorum-tls"  # noqa: S105 - a directory
"""Where brokers of a pool mount the contract's Secret. Owners of other brokers may choose another directory."""
SASL_KEY: Final = "sasl.properties"
"""The key of that Secret with lines of properties: the user of a broker. They have a password, so no setting has it."""
SASL_MECHANISM: Final = "sasl.mechanism.controller.protocol"
"""A contract with this setting requires the lines of `SASL_KEY`."""


class Match(Enum):
    """How a broker's running setting is compared with the contract's."""

    EQUALS = "equals"
    """The same value."""
    SOME = "some"
    """A list that has at least one element in common: a first contact, such as the bootstrap servers."""
    HAS = "has"
    """A list, or a map, that has every element of the contract's, and may have others."""
    ONE_OF = "oneOf"
    """One of the contract's values, which are separated by commas; the first one is written into files."""
    FILE = "file"
    """A path, in any directory, to a file of this name."""
    UNSET = "unset"
    """Not set: the contract has no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One server property that the contract rules."""

    key: str
    value: str
    match: Match


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Controllers restart before any further broker, because the certificate of one ends at `ends_s` (Unix seconds).

    Pools begin no stop, and give the disruption token back when what they stopped is back; from `last_s` on, also
    while it is not.
    """

    ends_s: int
    last_s: int

    @property
    def over_s(self) -> int:
        """When it ends by itself: a margin after the certificate, because connections outlive one.

        A contract that nobody brings up to date holds no pool for ever.
        """
        return self.ends_s + 2 * (self.ends_s - self.last_s)

    def holds(self, now_s: float) -> bool:
        """Whether it has not ended by itself."""
        return now_s < self.over_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The contract as the ConfigMap holds it.

    `release` and `image` are what brokers of a pool shall run now: the quorum moves them after its controllers, and on
    the way back before them. `image` is empty if the operator's template decides. `controllers` are the addresses
    (`host:port`) at which the controllers answer, `controller_ids` the node ids that no broker may have. `secrets`
    are names of Secrets to mount. `next_step` is a sentence for a person: what the quorum waits for, or does next.
    """

    cluster_id: ClusterID
    release: str
    image: str
    revision: int
    settings: tuple[Setting, ...]
    controllers: tuple[str, ...]
    controller_ids: tuple[NodeID, ...]
    secrets: tuple[str, ...] = ()
    next_step: str = ""
    young: bool = False
    """There never was a leader: no broker can have registered, so no node id can have replicas."""
    resource_version: str = ""
    """Of the ConfigMap that it was read from; empty for one that is not stored yet."""
    base: tuple[str, ...] = ()
    """The addresses of the controllers when the revision last went up: a broker that follows it has one of these."""

    zookeeper: ZooKeeperAccess | None = None
    """Brokers use ZooKeeper now, at this address: `broker.id` instead of `process.roles` and `node.id`. None: KRaft."""
    certificates: int = 0
    """The generation of the certificate that brokers of a pool show, if no setting names its file; 0 otherwise."""
    given: bool = False
    """A person gives the certificates: a pool gets the one in the Secret that its own spec names, or none."""
    principals: tuple[str, ...] = ()
    """With `given`, the users of brokers and of the operator by their certificates; empty while they are not known.

    Otherwise they are those that the operator gives, or asks for.
    """
    certificate_ends: tuple[tuple[int, int], ...] = ()
    """Of the last generations of the brokers' certificates: the generation and its end (Unix seconds), in order."""
    turn: Turn | None = None
    """Set while a controller must restart before its certificate ends, and a pool has the disruption token."""

    def turn_at(self, now_s: float) -> Turn | None:
        """The controllers' turn, unless it has ended by itself."""
        return self.turn if self.turn is not None and self.turn.holds(now_s) else None

    def setting(self, key: str) -> Setting | None:
        """The setting of this key, if the contract rules it."""
        return next((setting for setting in self.settings if setting.key == key), None)

    def end_s_of(self, generation: int) -> int | None:
        """When a certificate of this generation ends, at the latest; None if that is not known."""
        return next((end_s for number, end_s in sorted(self.certificate_ends) if number >= generation), None)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files of the Secret that a broker loads."""
        return tuple(each.value for each in self.settings if each.match is Match.FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredContract:
    """The contract as it is stored. `adrift`: the ConfigMap lacks its labels or its owner, and has to be repaired."""

    contract: Contract
    adrift: bool = False
