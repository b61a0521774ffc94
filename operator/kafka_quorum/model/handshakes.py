"""What a listener serves, and whether it accepts a client's certificate, as values: the result of one handshake.

These are the shapes that `wire.handshake` produces. A handshake proves what an annotation only claims: which
certificate the running process has loaded, and which authorities it trusts now.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """One certificate of a served chain. Texts are cleaned: they are for messages and for comparison, not for use.

    `sha256` is the digest of its DER, in lower-case hexadecimal digits without colons, and `serial` the number in the
    same form. `subject` and `issuer` are as Java writes a principal (RFC 2253, the most specific part first). Both
    times are whole seconds of Unix time. `dns_names` are the names of its extension; a common name does not count.
    `other_names` are those of other kinds, with their kinds (`IP:10.0.0.1`); a handshake does not show them.
    """

    sha256: str
    serial: str
    subject: str
    issuer: str
    not_before_s: int
    not_after_s: int
    dns_names: tuple[str, ...]
    other_names: tuple[str, ...] = ()

    @property
    def life_s(self) -> int:
        """From its begin to its end."""
        return self.not_after_s - self.not_before_s


def chain_digest(sha256s: Sequence[str]) -> str:
    """The digest of a chain, by those of its certificates; of one without issuers it is that of its certificate."""
    return sha256s[0] if len(sha256s) == 1 else hashlib.sha256(",".join(sha256s).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The handshake succeeded: the server has the key of the chain's first certificate, its name, and our trust.

    `chain` is what the server sent, the leaf first; only the leaf is proven to be the server's. `accepted`: it answered
    a request on this connection, so it accepts the client's certificate. `refused`: it said that it does not. If both
    are False, this is not known, and `why` is the reason, one clause. With TLS 1.3 a server refuses after the
    handshake.
    """

    chain: tuple[Certificate, ...]
    accepted: bool
    refused: bool = False
    why: str = ""

    @property
    def leaf(self) -> Certificate:
        """The server's own certificate."""
        return self.chain[0]

    @property
    def digest(self) -> str:
        """The digest of everything that was sent: a renewed intermediate authority is another chain."""
        return chain_digest([each.sha256 for each in self.chain])


class Failure(StrEnum):
    """Why a handshake did not succeed."""

    UNREACHABLE = "Unreachable"
    """No connection."""
    SILENT = "Silent"
    """A connection, and no byte within the deadline."""
    HALF = "Half"
    """Some bytes of a handshake, and not its end within the deadline."""
    ENDED = "Ended"
    """The server ended the connection within the handshake, and said no reason."""
    NO_TLS = "NoTLS"
    """It answers without TLS, or with something else."""
    NOT_TRUSTED = "NotTrusted"
    """No trusted authority has signed its certificate."""
    OTHER_NAME = "OtherName"
    """Its certificate is trusted, and is for another name."""
    EXPIRED = "Expired"
    """Its certificate, or that of its authority, is not valid now."""
    CLIENT_REFUSED = "ClientRefused"
    """It refuses the client's certificate, or misses one (TLS 1.2, where this is known within the handshake)."""
    NO_VERSION = "NoVersion"
    """It has no version of TLS, or no cipher, that is used here."""
    UNREADABLE = "Unreadable"
    """Its answer, or a certificate in it, is larger than what is read, or malformed."""
    OTHER = "Other"
    """TLS failed for a reason that has no name here; `why` has it."""
    UNUSABLE = "Unusable"
    """Our own side: the given trust, certificate, key or name cannot be used. Nothing was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotServed:
    """The handshake failed. `why` is one clause, with what to do where that is known."""

    failure: Failure
    why: str


Handshake: TypeAlias = Served | NotServed


def of_all_threads(found: Sequence[Handshake]) -> Handshake:
    """What some handshakes in turn prove together; there must be one at least.

    Each network thread of a listener loads its certificate and its trust by itself. So a failure of one is a failure,
    the oldest chain that is served counts, and a client is accepted if every thread accepts it.
    """
    for each in found:
        if isinstance(each, NotServed):
            return each
    served = [each for each in found if isinstance(each, Served)]
    oldest = min(served, key=lambda each: [(one.not_before_s, one.not_after_s) for one in each.chain])
    return Served(
        chain=oldest.chain,
        accepted=all(each.accepted for each in served),
        refused=any(each.refused for each in served),
        why=next((each.why for each in served if each.why), ""),
    )


def refuses_client(handshake: Handshake) -> bool:
    """Whether the server said that it does not accept the client's certificate; False if this is not known, too."""
    match handshake:
        case Served():
            return handshake.refused
        case NotServed():
            return handshake.failure is Failure.CLIENT_REFUSED
