"""The certificates of a quorum as a look showed them: what its Secrets have, without keys, and what its ports serve.

What pods mount is always composed by the operator: one Secret for each controller, one for the operator itself, one for
all brokers, and one for each pool. A leaf is a certificate with its key. Leafs are renewed together: each renewal is a
generation.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from kafka_quorum.model import names
from kafka_quorum.model.handshakes import Certificate, Handshake
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.pools import PoolSeen, pool_request_name, pool_tls_name
from kafka_quorum.model.trust import IssuerKind

_NONE: Final[Knowable[str]] = Unknown(reason="")
_NO_USERS: Final = Unknown(reason="")
_NO_POOLS: Final[Knowable[tuple[PoolSeen, ...]]] = Known(value=())


class Role(Enum):
    """Who shows a certificate. The values are the common names of their subjects."""

    CONTROLLERS = "controllers"
    OPERATOR = "operator"
    BROKERS = "brokers"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Holder:
    """Whose leaf it is: one controller's (`node_id`), the operator's, that of all brokers, or of those of one `pool`.

    `uid` is the pool's: with it its Secret is deleted.
    """

    role: str
    node_id: int = -1
    pool: str = ""
    uid: str = field(default="", compare=False)

    def secret(self, quorum: str) -> str:
        """The name of the Secret."""
        if self.role == Role.CONTROLLERS.value:
            return names.tls_name(quorum, self.node_id)
        if self.pool:
            return pool_tls_name(quorum, self.pool)
        return names.operator_tls_name(quorum) if self == OPERATOR else names.brokers_tls_name(quorum)

    def request(self, quorum: str) -> str:
        """The name of the Certificate with which cert-manager is asked, and of the Secret that it fills."""
        if self.pool:
            return pool_request_name(quorum, self.pool)
        own = str(self.node_id) if self.role == Role.CONTROLLERS.value else self.role
        return names.request_name(quorum, own)

    def __str__(self) -> str:
        """For sentences."""
        if self.role == Role.CONTROLLERS.value:
            return f"controller {self.node_id}"
        if self.pool:
            return f"pool {self.pool}"
        return "the operator" if self == OPERATOR else "the brokers"


OPERATOR: Final = Holder(role=Role.OPERATOR.value)
BROKERS: Final = Holder(role=Role.BROKERS.value)


def controller(node_id: NodeID) -> Holder:
    """The controller of this node id."""
    return Holder(role=Role.CONTROLLERS.value, node_id=node_id)


def pool(seen: PoolSeen) -> Holder:
    """The brokers of this pool: the same user as all brokers, with names of their own."""
    return Holder(role=Role.BROKERS.value, pool=seen.name, uid=seen.uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoritySeen:
    """An authority: its certificate in PEM, the digest of its DER, and when it begins and ends (Unix seconds)."""

    pem: str
    sha256: str
    not_before_s: int
    not_after_s: int

    @property
    def life_s(self) -> int:
        """From its begin to its end."""
        return self.not_after_s - self.not_before_s


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAuthorities:
    """The Secret with the quorum's own authority. `following` is the one that replaces it, while they are changed.

    `asked_for` is the value of `renewCA` that `following`, or else `present`, was made for; `asked_before` that of
    `present` beside one that follows. `version` is the resource version of the Secret; empty if there is none yet, and
    then there is no `present` either.
    """

    present: AuthoritySeen | None = None
    following: AuthoritySeen | None = None
    asked_for: str = ""
    asked_before: str = ""
    version: str = ""

    @property
    def wanted(self) -> AuthoritySeen | None:
        """The one that shall be trusted in the end."""
        return self.following or self.present


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafSeen:
    """The leaf in a Secret that the operator composed.

    `authority` is the digest of the known authority that signed it; empty if none of them did. `before_ends_s` is the
    end of the earliest leaf that its holder may still show as a client; 0 if this is the first one, or the end is not
    known. `files` are the Secret's keys, `version` is its resource version.
    """

    certificate: Certificate
    authority: str
    generation: int
    before_ends_s: int
    files: frozenset[str]
    version: str
    logs_in_at: frozenset[str] = frozenset()
    """Of the brokers' Secret: the listeners for which it has a user with a password."""
    issuer: IssuerKind = IssuerKind.SELF_SIGNED
    """Where the leaf comes from."""
    composed_s: int = 0
    """When a leaf of another issuer was put into this Secret (Unix seconds); 0 for the operator's own leafs."""
    chain_sha256: str = ""
    """The digest of its chain; empty if the chain is the certificate alone."""
    between: tuple[Certificate, ...] = ()
    """The intermediate authorities of its chain below the first one that is trusted."""
    anchors: frozenset[str] = frozenset()
    """The digests of those trusted: one, or several with the same key. Empty: `authority` alone."""

    sizes: tuple[tuple[str, int], ...] = ()
    """Of each of its keys: how many bytes the value has."""

    @property
    def digest(self) -> str:
        """What differs if the certificate, or an authority in its chain, is another one."""
        return self.chain_sha256 or self.certificate.sha256

    @property
    def ends_s(self) -> int:
        """When nobody accepts it any more: at its own end, or at that of an intermediate authority."""
        return min(each.not_after_s for each in (self.certificate, *self.between))


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersSeen:
    """The Secret with the users of SASL_SSL, without passwords: the listeners that it serves, and its version."""

    listeners: frozenset[str]
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A leaf that another issuer put into a Secret, after its checks.

    `authority` is one of `authorities`, the first. These are all known ones that signed it, and with which a handshake
    accepts it: one that is renewed with the same key has signed what the earlier one has, and may allow less or more.
    """

    secret: str
    certificate: Certificate
    authority: str
    authorities: frozenset[str]
    chain_sha256: str = ""

    @property
    def digest(self) -> str:
        """As in `LeafSeen`."""
        return self.chain_sha256 or self.certificate.sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSeen:
    """A Certificate of cert-manager that belongs to this quorum, and whether it asks for what is needed now."""

    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What one listener of one running controller showed, and when (monotonic seconds).

    `instance` is the container that showed it. `fresh`: it was not asked to load its certificate again since then.
    `whole`: each of its network threads has shown it, and not only one of them.
    """

    node_id: NodeID
    listener: str
    handshake: Handshake
    at_s: float
    instance: str
    fresh: bool = True
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """How one listener of one running controller answered a client whose leaf `authority` (its digest) has signed.

    `instance` is the container that answered: it loads what it trusts only when it starts.
    """

    node_id: NodeID
    listener: str
    authority: str
    handshake: Handshake
    instance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that a look showed of certificates.

    `own` is Unknown for a quorum whose issuer is another one. `given_trust` is the bundle of the issuer's Secret in
    canonical PEM, and `sources` are its leafs by holder; both Unknown with an own authority, or with what is wrong.
    """

    own: Knowable[OwnAuthorities]
    leafs: tuple[tuple[Holder, Knowable[LeafSeen | None]], ...]
    given_trust: Knowable[str] = _NONE
    sources: tuple[tuple[Holder, Knowable[Source]], ...] = ()
    refused: tuple[str, ...] = ()
    """What is wrong with Secrets of the issuer that were read: a sentence for each, with its way out."""
    pending: frozenset[Holder] = frozenset()
    """Whose certificate cert-manager has been asked for, and has not issued yet."""
    requests: tuple[tuple[Holder, Knowable[RequestSeen | None]], ...] = ()
    """With cert-manager, what it is asked for; None if it is not asked yet. Unknown with what is in the way."""
    other_issuer: bool = False
    """Whether the certificates in use are of another kind of issuer than the spec has: none is replaced."""
    shown: tuple[Shown, ...] = ()
    probed: tuple[Probed, ...] = ()
    users: Knowable[UsersSeen | None] = _NO_USERS
    """None if there is no Secret with users."""
    pools: Knowable[tuple[PoolSeen, ...]] = _NO_POOLS
    """The pools of this quorum; those that could not be listed are Unknown."""

    @property
    def known_pools(self) -> tuple[PoolSeen, ...]:
        """The pools, as far as they are known."""
        return self.pools.value if isinstance(self.pools, Known) else ()

    def leaf(self, holder: Holder) -> Knowable[LeafSeen | None]:
        """The leaf of this holder; Unknown if it was not read."""
        return next((seen for one, seen in self.leafs if one == holder), Unknown(reason="it was not read"))

    def known_leafs(self) -> Iterator[tuple[Holder, LeafSeen]]:
        """Those that exist and could be read."""
        for holder, seen in self.leafs:
            if isinstance(seen, Known) and seen.value is not None:
                yield holder, seen.value

    def leading_leafs(self, made: int) -> tuple[LeafSeen, ...]:
        """Those whose generations all others follow: of the controllers and the operator.

        More users may write those of brokers: they count only if nothing else shows a generation. `made` is the newest
        one that a controller is made for; 0 if that is not known.
        """
        known = tuple(self.known_leafs())
        leading = tuple(leaf for holder, leaf in known if holder.role != BROKERS.role)
        return leading if leading or made else tuple(leaf for _, leaf in known)

    @property
    def knows_leading(self) -> bool:
        """Whether the Secret of every controller and of the operator could be read."""
        return all(isinstance(seen, Known) for holder, seen in self.leafs if holder.role != BROKERS.role)

    def source(self, holder: Holder) -> Knowable[Source]:
        """What another issuer gave for this holder; Unknown without a reason with an own authority."""
        return next((seen for one, seen in self.sources if one == holder), Unknown(reason=""))

    @property
    def wanted_trust(self) -> Knowable[str]:
        """The bundle that everybody shall trust in the end, in PEM; Unknown until there is one."""
        if isinstance(self.own, Unknown):
            return self.given_trust
        wanted = self.own.value.wanted
        return Unknown(reason="the authority is not made yet") if wanted is None else Known(value=wanted.pem)
