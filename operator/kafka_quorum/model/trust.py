"""What a spec says of trust: who issues certificates, how long they live, and who has all rights."""

from dataclasses import dataclass, field
from enum import Enum


class IssuerKind(Enum):
    """Where the certificates of a quorum come from."""

    SELF_SIGNED = "SelfSigned"
    """The operator has an authority for this quorum."""
    CERT_MANAGER = "CertManager"
    SECRET = "Secret"  # noqa: S105 - a kind
    """Somebody else makes them, and puts them into Secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerRef:
    """An issuer of cert-manager."""

    name: str = ""
    kind: str = "Issuer"
    group: str = "cert-manager.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """The issuer, with the names of the Secrets that somebody else fills; empty if the operator makes them."""

    kind: IssuerKind = IssuerKind.SELF_SIGNED
    ref: IssuerRef = field(default_factory=IssuerRef)
    controllers_secret: str = ""
    operator_secret: str = ""
    brokers_secret: str = ""
    trust_secret: str = ""

    @property
    def own(self) -> bool:
        """Whether the operator itself has the authority."""
        return self.kind is IssuerKind.SELF_SIGNED


_DAY_S = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustPolicy:
    """`spec.security`. `renew_before_s` 0 means a third of the life. `authorizer`: Kafka's StandardAuthorizer runs."""

    issuer: Issuer = field(default_factory=Issuer)
    leaf_s: int = 365 * _DAY_S
    authority_s: int = 10 * 365 * _DAY_S
    renew_before_s: int = 0
    renew_authority: str = ""
    users_secret: str = ""
    scram_users_secret: str = ""
    """The Secret with the brokers' users of SCRAM; empty and the operator does not look after any."""
    authorizer: bool = False
    super_users: tuple[str, ...] = ()

    def renew_before(self, life_s: float) -> float:
        """How long before the end of a certificate with this life it is renewed, in seconds."""
        return self.renew_before_s if 0 < self.renew_before_s < life_s else life_s / 3

    def renewal_s(self, end_s: float, life_s: float, part: float = 1.0) -> float:
        """When only this part of the time for a renewal is left before this end of a certificate with this life."""
        return end_s - self.renew_before(life_s) * part
