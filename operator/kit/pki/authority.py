"""Authorities and what they issue. Keys are EC on P-256, which every client and every server has.

A certificate begins some minutes before `now`, because clocks differ, and never before or after its authority.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from kit.pki.bundle import read_trust
from kit.pki.certificate import Certificate, read_certificate
from kit.pki.faults import Faults, MaterialFault, Place, Problem, fault
from kit.pki.keys import Key, PrivateKey, key_of, read_key
from kit.pki.leaf import Leaf
from kit.pki.names import DistinguishedName

SKEW: Final = timedelta(minutes=5)
_SIGNED_WITH: Final = hashes.SHA256()


class CannotIssue(ValueError):
    """What was requested cannot be issued. The message is one clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """The certificate of an authority, and its key."""

    certificate: Certificate
    key: Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """For whom and for what a leaf is issued."""

    subject: DistinguishedName
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    life_s: int
    server: bool
    client: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Dice:
    """What is random in a certificate. A test gives its own."""

    key: Callable[[], ec.EllipticCurvePrivateKey] = lambda: ec.generate_private_key(ec.SECP256R1())
    serial: Callable[[], int] = x509.random_serial_number


DICE: Final = Dice()


def make_authority(subject: DistinguishedName, now: datetime, life_s: int, dice: Dice = DICE) -> Authority:
    """A new authority that signs leafs and no other authority (`CannotIssue`)."""
    begins, ends = _span(now, life_s)
    key = dice.key()
    public = key.public_key()
    made = (
        x509.CertificateBuilder(subject.x509, subject.x509, public, dice.serial(), begins, ends)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(key, _SIGNED_WITH, ecdsa_deterministic=True)
    )
    return Authority(certificate=read_certificate(made.public_bytes(Encoding.DER)), key=key_of(key))


def read_authority(crt: str | bytes, key: str | bytes, owner: str, now: datetime | None) -> Authority | Faults:
    """The authority in `ca.crt` and `ca.key` of a Secret, or its faults. `now` None: its ends are not judged."""
    place, own = Place(owner=owner, key="ca.crt"), Place(owner=owner, key="ca.key")
    found, private = read_trust(crt, place, now), read_key(key, own)
    faults = found.all if isinstance(found, Faults) else ()
    if isinstance(private, MaterialFault):
        return Faults((*faults, private))
    if isinstance(found, Faults):
        return found
    if len(found.authorities) > 1:
        words = "has more than one certificate: leave the one of ca.key there"
        return Faults((fault(Problem.TOO_MANY, place, words),))
    (certificate,) = found.authorities
    if certificate.public_key != private.public:
        words = "is not the key of ca.crt: put both of one authority there"
        return Faults((fault(Problem.OTHER_KEY, own, words),))
    return Authority(certificate=certificate, key=private)


def issue(authority: Authority, request: Request, now: datetime, dice: Dice = DICE) -> Leaf:
    """A leaf with a new key (`CannotIssue`). Its chain is itself: the other side trusts the authority."""
    issuer, signer = _signer(authority)
    begins, ends = _span(now, request.life_s)
    begins, ends = max(begins, issuer.not_valid_before_utc), min(ends, issuer.not_valid_after_utc)
    if not issuer.not_valid_before_utc <= now < issuer.not_valid_after_utc:
        raise CannotIssue("the authority has expired, or is not valid yet")
    purposes = _purposes(request)
    key = dice.key()
    public = key.public_key()
    builder = (
        x509.CertificateBuilder(issuer.subject, request.subject.x509, public, dice.serial(), begins, ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(_authority_key(issuer), critical=False)
    )
    names = _alternative(request)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    deterministic = True if isinstance(signer, ec.EllipticCurvePrivateKey) else None  # RFC 6979: of EC only
    made = builder.sign(signer, _SIGNED_WITH, ecdsa_deterministic=deterministic)
    return Leaf(chain=(read_certificate(made.public_bytes(Encoding.DER)),), key=key_of(key))


def _signer(authority: Authority) -> tuple[x509.Certificate, PrivateKey]:
    """The authority as the library has it. Its key was checked when it was read."""
    if not authority.certificate.authority:
        raise CannotIssue("the certificate of the authority is not that of an authority")
    if authority.certificate.public_key != authority.key.public:
        raise CannotIssue("the authority's key is not that of its certificate")
    signer = load_pem_private_key(authority.key.pem.encode(), None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(signer, PrivateKey):
        raise CannotIssue("the authority's key is neither RSA nor EC")
    return x509.load_der_x509_certificate(authority.certificate.der), signer


def _span(now: datetime, life_s: int) -> tuple[datetime, datetime]:
    if life_s <= 0:
        raise CannotIssue(f"a life of {life_s} s is not positive")
    begin = now.replace(microsecond=0)
    try:
        return begin - SKEW, begin + timedelta(seconds=life_s)
    except OverflowError:
        raise CannotIssue(f"a life of {life_s} s ends after the year 9999") from None


def _purposes(request: Request) -> list[x509.ObjectIdentifier]:
    wanted = (
        (request.server, ExtendedKeyUsageOID.SERVER_AUTH),
        (request.client, ExtendedKeyUsageOID.CLIENT_AUTH),
    )
    purposes = [purpose for asked, purpose in wanted if asked]
    if not purposes:
        raise CannotIssue("a leaf must be for a server, a client, or both")
    return purposes


def _alternative(request: Request) -> list[x509.GeneralName]:
    try:
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in dict.fromkeys(request.names)]
        addresses = [x509.IPAddress(ip_address(each)) for each in dict.fromkeys(request.addresses)]
    except ValueError:
        raise CannotIssue("a host name is not ASCII, or an address is none") from None
    return [*names, *addresses]


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _authority_key(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """The issuer's own identifier of its key, if it has one: a given authority may have made it in another way."""
    try:
        own = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key())  # type: ignore[arg-type]
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)
