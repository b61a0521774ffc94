"""Certificates and keys of any kind, right and wrong, for tests: what `kit.pki` itself never makes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from math import gcd
from typing import Any, Final, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kit.pki.authority import Authority, Request, issue, make_authority
from kit.pki.faults import Place
from kit.pki.leaf import Expected, Leaf, LeafFiles
from kit.pki.names import DistinguishedName

NOW: Final = datetime.now(UTC).replace(microsecond=0)
"""Java and Kafka judge certificates by the time of the machine, so tests that ask them cannot choose another one."""
DAY_S: Final = 86_400
HOST: Final = "demo-3000.demo-controllers.team.svc"
OWNER: Final = "Secret team/demo"
TRUST: Final = Place(owner=OWNER, key="ca.crt")
CONTROLLERS: Final = DistinguishedName(cn="controllers", ou="demo", o="team")
EXPECTED: Final = Expected(now=NOW, server=True, client=True, names=(HOST,))
SERVER: Final = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
CLIENT: Final = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])

_SHA256_RSA: Final = bytes.fromhex("06092a864886f70d01010b")
_SHA1_RSA: Final = bytes.fromhex("06092a864886f70d010105")

AnyKey: TypeAlias = Any
"""Each kind of key has a type of its own in the library."""


@cache
def authority(cn: str = "authority") -> Authority:
    """An authority of ours."""
    return make_authority(DistinguishedName(cn=cn, ou="demo", o="team"), NOW, 3650 * DAY_S)


def leaf(*, of: Authority | None = None, names: tuple[str, ...] = (HOST,), life_s: int = 365 * DAY_S) -> Leaf:
    """A leaf of ours."""
    request = Request(subject=CONTROLLERS, names=names, life_s=life_s, server=True, client=True)
    return issue(of or authority(), request, NOW)


def files(crt: str | bytes, key: str | bytes) -> LeafFiles:
    """Two files of one Secret."""
    return LeafFiles(owner=OWNER, tls_crt=crt, tls_key=key)


@cache
def private_key(kind: str = "ec") -> AnyKey:
    """A key of this kind, made once: `rsa1024`, `secp256k1`, `dsa`, `ed25519` and the like."""
    match kind:
        case "dsa":
            return dsa.generate_private_key(2048)
        case "ed25519":
            return ed25519.Ed25519PrivateKey.generate()
        case "ed448":
            return ed448.Ed448PrivateKey.generate()
        case "ec":
            return ec.generate_private_key(ec.SECP256R1())
        case _ if kind.startswith("rsa"):
            return rsa.generate_private_key(65537, int(kind[3:4] + kind[4:]))
        case _:
            curves = (ec.SECP256K1, ec.SECP224R1, ec.SECP384R1, ec.SECP521R1, ec.BrainpoolP256R1)
            return ec.generate_private_key(next(each() for each in curves if each.name == kind))


@cache
def rsa_with_long_exponent() -> AnyKey:
    """A right key, of which the public exponent is as long as the modulus: each check of a signature takes long."""
    of, d = private_key("rsa2048").private_numbers(), 65537
    order = (of.p - 1) * (of.q - 1)
    while gcd(d, order) != 1:
        d += 2
    public = rsa.RSAPublicNumbers(pow(d, -1, order), of.public_numbers.n)
    made = rsa.RSAPrivateNumbers(of.p, of.q, d, d % (of.p - 1), d % (of.q - 1), of.iqmp, public)
    return made.private_key(unsafe_skip_rsa_key_validation=True)


def key_pem(key: AnyKey, form: PrivateFormat = PrivateFormat.PKCS8, password: bytes = b"") -> str:
    """A key in PEM, in any form, encrypted with a password if there is one."""
    how: KeySerializationEncryption = BestAvailableEncryption(password) if password else NoEncryption()
    return str(key.private_bytes(Encoding.PEM, form, how).decode())


def name(cn: str) -> x509.Name:
    """A name of one part."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, cn)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A certificate and its key, of the library."""

    crt: x509.Certificate
    key: AnyKey = field(repr=False)

    @property
    def pem(self) -> str:
        """The certificate."""
        return self.crt.public_bytes(Encoding.PEM).decode()

    @property
    def key_pem(self) -> str:
        """The key in PKCS#8."""
        return key_pem(self.key)


def certificate(
    cn: str = "controllers",
    *,
    by: Made | None = None,
    kind: str = "ec",
    begins: timedelta = timedelta(days=-1),
    ends: timedelta = timedelta(days=30),
    ca: bool | None = None,
    extensions: Sequence[x509.ExtensionType] = (),
    names: tuple[str, ...] = (HOST,),
) -> Made:
    """A certificate with these properties, signed by itself if `by` is None."""
    key = rsa_with_long_exponent() if kind == "long-exponent" else private_key(kind)
    own = name(cn)
    issuer = own if by is None else by.crt.subject
    builder = x509.CertificateBuilder(
        issuer, own, key.public_key(), x509.random_serial_number(), NOW + begins, NOW + ends
    )
    if ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(map(x509.DNSName, names)), critical=False)
    for each in extensions:
        builder = builder.add_extension(each, critical=isinstance(each, x509.UnrecognizedExtension))
    signed = builder.sign(key if by is None else by.key, hashes.SHA256())
    return Made(crt=signed, key=key)


def with_sha1(by: Made, made: Made) -> Made:
    """The certificate as this authority with an RSA key signs it with SHA-1, which the library does no longer."""
    body = made.crt.tbs_certificate_bytes.replace(_SHA256_RSA, _SHA1_RSA)
    signed = by.key.sign(body, padding.PKCS1v15(), hashes.SHA1())  # noqa: S303 - what is to be refused
    algorithm = _element(0x30, _SHA1_RSA + b"\x05\x00")
    der = _element(0x30, body + algorithm + _element(0x03, b"\0" + signed))
    return Made(crt=x509.load_der_x509_certificate(der), key=made.key)


def _element(tag: int, content: bytes) -> bytes:
    size = len(content)
    return bytes([tag, size] if size < 0x80 else [tag, 0x82, size >> 8, size & 0xFF]) + content


@cache
def root() -> Made:
    """An authority of others."""
    return certificate("root", ca=True, names=(), kind="secp384r1", ends=timedelta(days=300))


@cache
def intermediate() -> Made:
    """An authority that the root issued."""
    return certificate("intermediate", by=root(), ca=True, names=(), kind="secp521r1", ends=timedelta(days=200))
