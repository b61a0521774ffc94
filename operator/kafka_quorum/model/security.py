"""How connections to Kafka's servers are secured, as part of each endpoint: two quorums or applications may differ.

Passwords and keys are in these values, and in no text of them. They come from Secrets, and are compared: another
content of a Secret is another endpoint, and so another connection.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Plaintext:
    """Kafka's PLAINTEXT: no encryption, no authentication."""


class Mechanism(StrEnum):
    """How a user proves a password, by Kafka's names."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Tls:
    """PEM: the authorities that are trusted, one or more, and the client's certificate with its key; or neither.

    `bundles` says how many bundles the operator has put together in `ca`, each of which it had read before: `ca` has
    the limits of all of them together. 0: others gave `ca`, in one Secret.
    """

    ca: str = field(repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    bundles: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sasl:
    """A user and a password."""

    mechanism: Mechanism
    username: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    """Kafka's SSL (`tls`), SASL_PLAINTEXT (`sasl`) or SASL_SSL (both)."""

    tls: Tls | None = None
    sasl: Sasl | None = None


Security: TypeAlias = Plaintext | Secured
PLAINTEXT: Final = Plaintext()
