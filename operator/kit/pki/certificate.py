"""One certificate as a value: who it is for, who issued it, until when, and under which names."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Final, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from kit.kept import Kept
from kit.pki.der import SEQUENCE, NotDer, elements, only
from kit.pki.keys import is_costly, is_weak, kind_fault
from kit.pki.names import NoPrincipal, name_of, principal
from kit.pki.pem import block

_ISSUED: Final = Kept[bytes, bool](most=8192)
"""Who issued whom, by the digests of both: it never changes. One look at a quorum asks for some of them many times."""
Extension = TypeVar("Extension", bound=x509.ExtensionType)

LABEL: Final = "CERTIFICATE"
NAMES_MAX: Final = 400
"""The limit of the names in one certificate; one of ours has about five. Its Secret has room for two of this size."""
NAMES_MAX_CHARS: Final = 24 * 1024
"""The limit of all names together in a certificate of ours. With `NAMES_MAX` of them it takes less than the 32 KiB that
Java reads of one message of a handshake, and in PEM less than `CHAIN_MAX_CHARS`."""
OURS: Final = (
    ValueError,
    TypeError,
    OverflowError,
    UnsupportedAlgorithm,
    InvalidSignature,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)
"""What the library raises for damaged input; tests/kit/pki/test_mutated.py looks for others."""
_VERSION: Final = 0xA0
_BEFORE_SUBJECT: Final = 4
"""Serial, signature algorithm, issuer and validity; a version comes before them if it is not the first one."""
_WEAK_HASHES: Final = (hashes.MD5, hashes.SHA1)
_KINDS: Final[dict[type[x509.GeneralName], str]] = {
    x509.DNSName: "DNS",
    x509.IPAddress: "IP",
    x509.UniformResourceIdentifier: "URI",
    x509.RFC822Name: "email",
}
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")


class BadCertificate(ValueError):
    """Bytes that are no certificate. The message is one clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What was read. Times are UTC, in whole seconds; `names` are as Java compares them, with their kinds."""

    der: bytes = field(repr=False)
    subject: str
    issuer: str
    serial: str
    not_before: datetime
    not_after: datetime
    names: frozenset[str]
    authority: bool
    """Whether it may sign certificates."""
    signs: bool
    """Whether its key may be used for a handshake."""
    server: bool
    client: bool
    public_key: bytes = field(repr=False)
    key_fault: str
    """Why Java or this operator does not use its kind of key, as a clause; empty if it does."""
    weak_key: bool
    costly_key: bool
    """Whether its key is never used to check a signature, because that takes too long."""
    weak_signature: bool

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the encoded certificate, in hexadecimal digits."""
        return sha256(self.der).hexdigest()

    @property
    def pem(self) -> str:
        """One block, and nothing else."""
        return block(LABEL, self.der)

    @property
    def principal(self) -> str:
        """Its subject as a user of a server (`NoPrincipal`)."""
        return principal(_names(self.der)[1])

    def issued_by(self, other: "Certificate") -> bool:
        """Whether the other one's key signed this one, and its name is that of the issuer."""
        if other.costly_key:
            return False
        return _ISSUED.of(sha256(self.der).digest() + sha256(other.der).digest(), lambda: _issued(self.der, other.der))

    def covers(self, name: str) -> bool:
        """Whether a host name or an IP address (`IP:10.0.0.1`) is one of its names.

        A wildcard stands for the whole left-most label, with two labels or more behind it: what RFC 6125, OpenSSL and
        Java accept alike. Java alone accepts a wildcard at other places, and OpenSSL refuses one before a single label.
        """
        if name.startswith("IP:"):
            return name in self.names
        wanted = name.lower().rstrip(".")
        return any(_matches(wanted, each.removeprefix("DNS:").lower()) for each in self.names if each[:4] == "DNS:")


def read_certificate(der: bytes) -> Certificate:
    """The certificate in these bytes (`BadCertificate`)."""
    try:
        found = _parsed(der)
        issuer, subject = map(name_of, _names(der))
        usage = _extension(found.extensions, x509.KeyUsage)
        constraints = _extension(found.extensions, x509.BasicConstraints)
        extended = _extension(found.extensions, x509.ExtendedKeyUsage)
        purposes = None if extended is None else set(extended)
        general = {ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
        return Certificate(
            der=der,
            subject=subject,
            issuer=issuer,
            serial=f"{found.serial_number:x}",
            not_before=found.not_valid_before_utc,
            not_after=found.not_valid_after_utc,
            names=_alternative(_extension(found.extensions, x509.SubjectAlternativeName)),
            authority=constraints is not None and constraints.ca and (usage is None or usage.key_cert_sign),
            signs=usage is None or usage.digital_signature,
            server=purposes is None or bool(purposes & (general | {ExtendedKeyUsageOID.SERVER_AUTH})),
            client=purposes is None or bool(purposes & (general | {ExtendedKeyUsageOID.CLIENT_AUTH})),
            public_key=found.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
            key_fault=kind_fault(found.public_key(), found.public_key_algorithm_oid),
            weak_key=is_weak(found.public_key()),
            costly_key=is_costly(found.public_key()),
            weak_signature=isinstance(found.signature_hash_algorithm, _WEAK_HASHES),
        )
    except (NoPrincipal, NotDer) as error:
        raise BadCertificate(str(error)) from None
    except OURS:
        raise BadCertificate("it cannot be read as a certificate") from None


def _issued(der: bytes, by: bytes) -> bool:
    try:
        _parsed(der).verify_directly_issued_by(_parsed(by))
    except OURS:
        return False
    return True


def _parsed(der: bytes) -> x509.Certificate:
    return x509.load_der_x509_certificate(der)


def _names(der: bytes) -> tuple[bytes, bytes]:
    """Issuer and subject as they are encoded: the library would encode them again."""
    certificate = next(iter(elements(only(der, SEQUENCE))), None)
    if certificate is None:
        raise NotDer("it has no content")
    parts = [part for part in elements(certificate.content) if part.tag != _VERSION]
    if len(parts) <= _BEFORE_SUBJECT:
        raise NotDer("it is cut off")
    return parts[2].whole, parts[_BEFORE_SUBJECT].whole


def _extension(extensions: x509.Extensions, kind: type[Extension]) -> Extension | None:
    try:
        return extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _alternative(names: x509.SubjectAlternativeName | None) -> frozenset[str]:
    return frozenset(map(_alternative_name, names or ()))


def _alternative_name(name: x509.GeneralName) -> str:
    match name:
        case x509.DNSName() | x509.IPAddress() | x509.UniformResourceIdentifier() | x509.RFC822Name():
            return f"{_KINDS[type(name)]}:{name.value}"
        case x509.DirectoryName():
            return f"directory:{name_of(name.value.public_bytes())}"
        case x509.RegisteredID():
            return f"OID:{name.value.dotted_string}"
        case x509.OtherName():
            return f"other:{name.type_id.dotted_string}#{name.value.hex()}"
        case _:
            raise ValueError("an alternative name is of an unknown kind")


def _matches(wanted: str, pattern: str) -> bool:
    if not pattern.startswith("*."):
        return wanted == pattern
    label, _, parent = wanted.partition(".")
    return parent == pattern[2:] and "." in parent and _LABEL.fullmatch(label) is not None
