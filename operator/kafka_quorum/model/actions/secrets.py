"""Actions on Secrets with certificates, and on listeners that load them. No action holds a key."""

from dataclasses import dataclass

from kafka_quorum.model.actions.record import NEVER
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.material import Holder, LeafSeen
from kafka_quorum.model.permit import EndAuthority, GiveUsers, Permit, Reload, ShowLeaf, required
from kafka_quorum.model.pools import PoolSeen
from kafka_quorum.model.quorum import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeAuthority:
    """Make the quorum's own authority, or the one that follows it; over exactly the Secret that was read (`version`).

    `asked_for` is the value of `renewCA`. `following`: the present one stays until every server trusts the new one.
    """

    name: str
    following: bool
    asked_for: str
    life_s: int
    version: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteAuthority:
    """The authority that follows is the only one that is trusted: it becomes the present one, the earlier one ends."""

    name: str
    sha256: str
    version: str
    message: str
    permit: Permit[EndAuthority]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, EndAuthority)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawAuthority:
    """The authority that follows is not wanted any more: the present one stays. What trusts both goes on to do so."""

    name: str
    sha256: str
    version: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeLeaf:
    """Write the Secret of a holder with a new leaf; over exactly the one that was read, or a new one.

    `authority` is the digest of the authority that signs it. With a `source` the leaf is that of this Secret, if its
    chain still has the digest `source_sha256`; with its own name as the source, the leaf stays and other files change.
    `trust` is the bundle beside it, in PEM. `before_ends_s` is as in `LeafSeen`.
    `listeners` are those for which the brokers' Secret has a user; with `keeps_login` and none of them it keeps the
    user that it has. `also` is an earlier generation whose file has the
    same leaf: the one that the contract names, if this Secret lacks it; 0 for none. `keeps` are names of files that
    brokers may load, so they stay if they are there. `trusts` are other bundles that have a file, in PEM.
    """

    name: str
    holder: Holder
    generation: int
    dns_names: tuple[str, ...]
    life_s: int
    authority: str
    trust: str
    before: LeafSeen | None
    listeners: tuple[str, ...] = ()
    keeps_login: bool = False
    before_ends_s: int = 0
    source: str = ""
    source_sha256: str = ""
    also: int = 0
    keeps: tuple[str, ...] = ()
    trusts: tuple[str, ...] = ()
    message: str
    permit: Permit[ShowLeaf]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, ShowLeaf)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLeaf:
    """Ask cert-manager for the leaf of this holder, by a Certificate of this name. It puts the key into a Secret.

    `pools` has the pool of this holder, if it is one: it has the names.
    """

    name: str
    holder: Holder
    pools: tuple[PoolSeen, ...] = ()
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeUsers:
    """Write the Secret with the users of these listeners; over exactly the one that was read, or a new one.

    Users that exist keep their passwords. New ones get random ones, or those of the Secret `source`.
    """

    name: str
    listeners: tuple[str, ...]
    source: str
    version: str
    message: str
    permit: Permit[GiveUsers]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, GiveUsers)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadListener:
    """Let one listener of one running controller load its certificate again, from the same file.

    The request goes to the leader: it reaches the controller with the metadata.
    """

    leader: Endpoint
    node_id: NodeID
    listener: str
    sha256: str
    message: str
    judged_at_s: float = NEVER
    permit: Permit[Reload]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, Reload)
