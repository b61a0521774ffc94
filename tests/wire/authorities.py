"""Certificates for tests, made in memory: authorities, leaves of any name and time, and some that nobody would sign."""

import datetime as dt
import ipaddress
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID, ObjectIdentifier
from tests.serving import HOST

from kafka_quorum.model.security import Secured, Tls

NOW: Final = dt.datetime.now(tz=dt.UTC).replace(microsecond=0)
DAY: Final = dt.timedelta(days=1)
PAST: Final = (NOW - 3 * DAY, NOW - DAY)
FUTURE: Final = (NOW + DAY, NOW + 3 * DAY)
_SAN: Final = ObjectIdentifier("2.5.29.17")


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A certificate with its key, and the chain above it that a server sends, too."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    above: tuple[x509.Certificate, ...] = ()

    @property
    def pem(self) -> str:
        """The chain, the leaf first."""
        return "".join(pem(each) for each in (self.certificate, *self.above))

    @property
    def key_pem(self) -> str:
        """PKCS#8."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    @property
    def keystore(self) -> str:
        """One file for Kafka: the key, then the chain."""
        return self.key_pem + self.pem

    def server(self, *, clients: str = "") -> ssl.SSLContext:
        """The server's half of TLS; with `clients` it requires a certificate of these authorities."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as home:
            path = Path(home) / "keystore.pem"
            path.write_text(self.keystore)
            context.load_cert_chain(path)
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=clients)
        return context


@dataclass(slots=True)
class Authority:
    """Signs certificates; with `by`, it is an intermediate one."""

    name: str = "ca"
    by: "Authority | None" = None
    times: tuple[dt.datetime, dt.datetime] = (NOW - DAY, NOW + DAY)
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    certificate: x509.Certificate = field(init=False)

    def __post_init__(self) -> None:
        """Sign the authority's own certificate."""
        signer = self.by or self
        issuer = signer.certificate.subject if self.by else subject(self.name)
        building = _begun(subject(self.name), issuer, self.key, self.times)
        building = building.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.certificate = building.sign(signer.key, hashes.SHA256())

    @property
    def pem(self) -> str:
        """Its certificate."""
        return pem(self.certificate)

    def leaf(
        self,
        name: str = "controllers",
        *,
        dns: Sequence[str] = (),
        addresses: Sequence[str] = (HOST,),
        times: tuple[dt.datetime, dt.datetime] = (NOW - DAY, NOW + DAY),
        raw_names: bytes | None = None,
        unit: str = "",
    ) -> Leaf:
        """A leaf of this subject and these names; `raw_names` is the extension's value, as no library writes it."""
        key = ec.generate_private_key(ec.SECP256R1())
        building = _begun(subject(name, unit), self.certificate.subject, key, times)
        names: list[x509.GeneralName] = [x509.DNSName(each) for each in dns]
        names += [x509.IPAddress(ipaddress.ip_address(each)) for each in addresses]
        if raw_names is not None:
            building = building.add_extension(x509.UnrecognizedExtension(_SAN, raw_names), critical=False)
        elif names:
            building = building.add_extension(x509.SubjectAlternativeName(names), critical=False)
        above, at = [], self
        while at.by is not None:
            above.append(at.certificate)
            at = at.by
        return Leaf(certificate=building.sign(self.key, hashes.SHA256()), key=key, above=tuple(above))

    def trusting(self, client: Leaf | None = None) -> Secured:
        """Trust in this authority alone, as a client with this leaf or with none."""
        if client is None:
            return Secured(tls=Tls(ca=self.pem))
        return Secured(tls=Tls(ca=self.pem, certificate=client.pem, key=client.key_pem))


def subject(name: str, unit: str = "") -> x509.Name:
    """A distinguished name as ours: CN, OU, O."""
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if unit:
        parts = [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "kafka"),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
            *parts,
        ]
    return x509.Name(parts)


def pem(certificate: x509.Certificate) -> str:
    """In PEM."""
    return certificate.public_bytes(Encoding.PEM).decode()


def _begun(
    named: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    times: tuple[dt.datetime, dt.datetime],
) -> x509.CertificateBuilder:
    building = x509.CertificateBuilder().subject_name(named).issuer_name(issuer).public_key(key.public_key())
    building = building.serial_number(x509.random_serial_number())
    return building.not_valid_before(times[0]).not_valid_after(times[1])
