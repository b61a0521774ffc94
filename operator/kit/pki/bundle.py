"""A bundle: the certificates of the authorities that are trusted, in one canonical text; sums and differences.

Java trusts every certificate of a trust store by itself, whatever it may be: leafs and certificates that have ended,
too. Readers here are stricter. A leaf in a trust store is one server that is trusted beside all authorities, and an
authority that has ended is one that OpenSSL refuses and Java does not.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kit.pki.certificate import Certificate
from kit.pki.faults import Faults, MaterialFault, Place, Problem, fault, shown
from kit.pki.reading import Limits, read_certificates, use_faults

BUNDLE_MAX_CHARS: Final = 256 * 1024
BUNDLE_MAX: Final = 50
_LIMITS: Final = Limits(
    chars=BUNDLE_MAX_CHARS,
    certificates=BUNDLE_MAX,
    key="remove it, and use it no longer, because a trust store is not secret",
    many="leave only the authorities in use there",
)
STORED_MAX_CHARS: Final = 1024 * 1024
"""Of what was read before and put together: no object of Kubernetes has more."""
STORED_MAX: Final = 8 * BUNDLE_MAX
_STORED: Final = Limits(chars=STORED_MAX_CHARS, certificates=STORED_MAX, key=_LIMITS.key, many=_LIMITS.many)
_DIGEST_CHARS: Final = 16


@dataclass(frozen=True, slots=True)
class Bundle:
    """Authorities without repetition, in the order of their fingerprints: `bundle` makes it. Equal sets are equal."""

    authorities: tuple[Certificate, ...] = ()

    @property
    def pem(self) -> str:
        """The canonical text: certificates and nothing else."""
        return "".join(each.pem for each in self.authorities)

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits of the content, for names of files."""
        return hashlib.sha256(self.pem.encode()).hexdigest()[:_DIGEST_CHARS]

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Those of all authorities."""
        return tuple(each.fingerprint for each in self.authorities)

    @property
    def first_end(self) -> datetime | None:
        """When the first authority ends; None if there is none."""
        return min((each.not_after for each in self.authorities), default=None)

    def __or__(self, other: "Bundle") -> "Bundle":
        """The authorities of both."""
        return bundle((*self.authorities, *other.authorities))

    def __sub__(self, other: "Bundle") -> "Bundle":
        """The authorities that the other one does not have."""
        gone = set(other.fingerprints)
        return bundle(each for each in self.authorities if each.fingerprint not in gone)

    def trusts(self, chain: tuple[Certificate, ...]) -> bool:
        """Whether an authority of this bundle issued a certificate of a linked chain, or is itself in it.

        Ends, names and purposes are not judged.
        """
        known = set(self.fingerprints)
        return any(
            each.fingerprint in known or any(each.issued_by(authority) for authority in self.authorities)
            for each in chain
        )


def bundle(authorities: Iterable[Certificate]) -> Bundle:
    """A bundle of these authorities."""
    found = {each.fingerprint: each for each in authorities}
    return Bundle(tuple(found[key] for key in sorted(found)))


def read_trust(content: str | bytes, place: Place, now: datetime | None) -> Bundle | Faults:
    """The authorities of this text, or what is wrong with it. `now` None: their ends are not judged."""
    return _read(content, place, now, _LIMITS)


def read_stored(text: str, place: Place) -> Bundle | Faults:
    """The same of bundles that were read before, and put together since then. Their ends are not judged."""
    return _read(text, place, None, _STORED)


def _read(content: str | bytes, place: Place, now: datetime | None, limits: Limits) -> Bundle | Faults:
    found = read_certificates(content, place, limits)
    if isinstance(found, Faults):
        return found
    faults = tuple(wrong for each in found for wrong in _faults(each, place, now))
    return Faults(faults) if faults else bundle(found)


def _faults(certificate: Certificate, place: Place, now: datetime | None) -> Iterator[MaterialFault]:
    if not certificate.authority:
        words = f"has a certificate that is no authority, of {shown(certificate.subject)}: trust its issuer instead"
        yield fault(Problem.NO_AUTHORITY, place, words)
    yield from use_faults(certificate, now, place)
