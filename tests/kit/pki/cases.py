"""Material that is refused: each with its fault, and with what Kafka on Java does with the same files.

tests/kit/pki asks our readers, tests/live asks Kafka's and Java's own classes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, auto
from functools import cache, partial
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import PrivateFormat
from tests.kit.pki.made import (
    CLIENT,
    SERVER,
    Made,
    certificate,
    intermediate,
    key_pem,
    leaf,
    private_key,
    root,
    with_sha1,
)

from kit.pki.faults import Problem
from kit.pki.leaf import CHAIN_MAX

DAY: Final = timedelta(days=1)


class Java(Enum):
    """What Kafka does with the files."""

    DOES_NOT_LOAD = auto()
    """Its key store is not loaded."""
    REFUSES_SERVER = auto()
    """It is loaded; a client refuses the server."""
    REFUSES_CLIENT = auto()
    """It is loaded; the server refuses the client."""
    ACCEPTS = auto()
    """It works, and we are stricter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`trusted` is what the other side trusts; our root if it is empty."""

    crt: str | bytes = field(repr=False)
    key: str | bytes = field(repr=False)
    problem: Problem
    java: Java
    trusted: str = field(default="", repr=False)


def of(made: Made, problem: Problem, java: Java, *, key: str = "") -> Case:
    """A certificate with its key, in PKCS#8 unless it is given."""
    return Case(crt=made.pem, key=key or made.key_pem, problem=problem, java=java)


def usage(*, signature: bool) -> x509.KeyUsage:
    """A key usage with digitalSignature or without it."""
    return x509.KeyUsage(
        digital_signature=signature,
        content_commitment=False,
        key_encipherment=not signature,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _of_kind(kind: str, java: Java) -> Case:
    return of(certificate(by=root(), kind=kind), Problem.KEY_KIND, java)


def long_chain(certificates: int) -> tuple[Made, str]:
    """A leaf and its chain of this length, without the root."""
    above, text = root(), ""
    for number in range(certificates - 1):
        above = certificate(f"intermediate {number}", by=above, ca=True, names=())
        text = above.pem + text
    low = certificate(by=above)
    return low, low.pem + text


def _too_long() -> Case:
    made, text = long_chain(CHAIN_MAX + 1)
    return Case(crt=text, key=made.key_pem, problem=Problem.TOO_MANY, java=Java.REFUSES_SERVER)


def _sha1() -> Case:
    old = certificate("old", ca=True, names=(), kind="rsa2048")
    made = with_sha1(old, certificate(by=old))
    return Case(
        crt=made.pem,
        key=made.key_pem,
        problem=Problem.WEAK_SIGNATURE,
        java=Java.ACCEPTS,
        trusted=old.pem + root().pem,
    )


def keys() -> Iterator[tuple[str, Callable[[], Case]]]:
    """Keys of wrong forms and kinds."""
    rsa = certificate(by=root(), kind="rsa2048")
    plain = certificate(by=root())
    yield (
        "PKCS#1",
        lambda: of(
            rsa,
            Problem.KEY_FORMAT,
            Java.DOES_NOT_LOAD,
            key=key_pem(rsa.key, PrivateFormat.TraditionalOpenSSL),
        ),
    )
    yield (
        "SEC1",
        lambda: of(
            plain,
            Problem.KEY_FORMAT,
            Java.DOES_NOT_LOAD,
            key=key_pem(plain.key, PrivateFormat.TraditionalOpenSSL),
        ),
    )
    yield (
        "encrypted PKCS#8",
        lambda: of(plain, Problem.ENCRYPTED, Java.DOES_NOT_LOAD, key=key_pem(plain.key, password=b"secret")),
    )
    yield (
        "encrypted SEC1",
        lambda: of(
            plain,
            Problem.ENCRYPTED,
            Java.DOES_NOT_LOAD,
            key=key_pem(plain.key, PrivateFormat.TraditionalOpenSSL, b"secret"),
        ),
    )
    yield (
        "OpenSSH",
        lambda: of(plain, Problem.KEY_FORMAT, Java.DOES_NOT_LOAD, key=key_pem(plain.key, PrivateFormat.OpenSSH)),
    )
    for kind in ("ed25519", "ed448"):
        yield kind, partial(_of_kind, kind, Java.DOES_NOT_LOAD)
    for kind in ("secp256k1", "secp224r1", "brainpoolP256r1"):
        yield kind, partial(_of_kind, kind, Java.REFUSES_SERVER)
    yield "dsa", lambda: of(certificate(by=root(), kind="dsa"), Problem.KEY_KIND, Java.REFUSES_SERVER)
    yield "rsa1024", lambda: of(certificate(by=root(), kind="rsa1024"), Problem.WEAK_KEY, Java.ACCEPTS)
    yield "no key", lambda: Case(crt=plain.pem, key="", problem=Problem.NO_KEY, java=Java.DOES_NOT_LOAD)
    yield "two keys", lambda: of(plain, Problem.MANY_KEYS, Java.DOES_NOT_LOAD, key=plain.key_pem + rsa.key_pem)
    yield (
        "another key",
        lambda: of(plain, Problem.OTHER_KEY, Java.REFUSES_SERVER, key=key_pem(private_key("secp384r1"))),
    )
    yield "another key of the same kind", lambda: of(plain, Problem.OTHER_KEY, Java.REFUSES_SERVER, key=leaf().key.pem)
    yield (
        "a certificate as key",
        lambda: Case(crt=plain.pem, key=plain.pem, problem=Problem.NO_KEY, java=Java.DOES_NOT_LOAD),
    )
    yield (
        "parameters beside the key",
        lambda: of(
            plain,
            Problem.OTHER_BLOCK,
            Java.ACCEPTS,
            key="-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + plain.key_pem,
        ),
    )
    yield (
        "a damaged key",
        lambda: of(
            plain,
            Problem.BAD_KEY,
            Java.DOES_NOT_LOAD,
            key="-----BEGIN PRIVATE KEY-----\nMIGHAg==\n-----END PRIVATE KEY-----\n",
        ),
    )
    yield "half a key", lambda: of(plain, Problem.NOT_PEM, Java.DOES_NOT_LOAD, key=plain.key_pem[:90])
    yield (
        "NUL in the key",
        lambda: of(plain, Problem.NOT_PEM, Java.DOES_NOT_LOAD, key=plain.key_pem.replace("\n", "\n\0", 2)),
    )


def certificates() -> Iterator[tuple[str, Callable[[], Case]]]:
    """Certificates that are wrong for a server or a client of Kafka."""
    plain = certificate(by=root())
    yield (
        "no certificate",
        lambda: Case(crt="", key=plain.key_pem, problem=Problem.NO_CERTIFICATE, java=Java.DOES_NOT_LOAD),
    )
    yield (
        "a key beside the certificate",
        lambda: Case(
            crt=plain.pem + plain.key_pem, key=plain.key_pem, problem=Problem.OTHER_BLOCK, java=Java.DOES_NOT_LOAD
        ),
    )
    yield "an authority", lambda: of(certificate(by=root(), ca=True), Problem.AUTHORITY, Java.ACCEPTS)
    yield (
        "expired",
        lambda: of(certificate(by=root(), begins=-2 * DAY, ends=-DAY), Problem.EXPIRED, Java.REFUSES_SERVER),
    )
    yield (
        "not yet valid",
        lambda: of(certificate(by=root(), begins=DAY, ends=2 * DAY), Problem.NOT_YET_VALID, Java.REFUSES_SERVER),
    )
    yield "no names", lambda: of(certificate(by=root(), names=()), Problem.NAMES, Java.REFUSES_SERVER)
    yield (
        "another name",
        lambda: of(
            certificate(by=root(), names=("demo-3001.demo-controllers.team.svc",)), Problem.NAMES, Java.REFUSES_SERVER
        ),
    )
    yield (
        "a wildcard for two labels",
        lambda: of(certificate(by=root(), names=("*.team.svc",)), Problem.NAMES, Java.REFUSES_SERVER),
    )
    yield (
        "a wildcard in the second label",
        lambda: of(certificate(by=root(), names=("demo-3000.*.team.svc",)), Problem.NAMES, Java.ACCEPTS),
    )
    yield (
        "a wildcard for a part of a label",
        lambda: of(certificate(by=root(), names=("demo-*.demo-controllers.team.svc",)), Problem.NAMES, Java.ACCEPTS),
    )
    yield (
        "for clients only",
        lambda: of(certificate(by=root(), extensions=(CLIENT,)), Problem.PURPOSE, Java.REFUSES_SERVER),
    )
    yield (
        "for servers only",
        lambda: of(certificate(by=root(), extensions=(SERVER,)), Problem.PURPOSE, Java.REFUSES_CLIENT),
    )
    yield (
        "not for signatures",
        lambda: of(certificate(by=root(), extensions=(usage(signature=False),)), Problem.PURPOSE, Java.REFUSES_SERVER),
    )
    yield "signed with SHA-1", _sha1
    yield (
        "a damaged certificate",
        lambda: Case(
            crt="-----BEGIN CERTIFICATE-----\nMIIBAA==\n-----END CERTIFICATE-----\n",
            key=plain.key_pem,
            problem=Problem.BAD_CERTIFICATE,
            java=Java.DOES_NOT_LOAD,
        ),
    )


def chains() -> Iterator[tuple[str, Callable[[], Case]]]:
    """Chains that are out of order, or are none."""
    low = certificate(by=intermediate())

    def chain(*made: Made, problem: Problem, java: Java) -> Callable[[], Case]:
        crt = "".join(each.pem for each in made)
        return lambda: Case(crt=crt, key=low.key_pem, problem=problem, java=java)

    order, broken = Problem.CHAIN_ORDER, Problem.CHAIN_BROKEN
    yield "out of order", chain(low, root(), intermediate(), problem=order, java=Java.DOES_NOT_LOAD)
    yield "the authority first", chain(intermediate(), low, problem=Problem.OTHER_KEY, java=Java.DOES_NOT_LOAD)
    yield "without a link", chain(low, root(), problem=broken, java=Java.DOES_NOT_LOAD)
    yield "too long", _too_long
    yield "twice the leaf", chain(low, low, intermediate(), problem=order, java=Java.DOES_NOT_LOAD)
    impostor = certificate("intermediate", ca=True, names=(), kind="secp384r1")
    yield "an impostor", chain(low, impostor, problem=broken, java=Java.REFUSES_SERVER)
    leafs = certificate("intermediate", by=root(), ca=False, names=(), kind="secp521r1", ends=200 * DAY)
    yield "a leaf that signs", chain(low, leafs, problem=broken, java=Java.REFUSES_SERVER)


@cache
def cases() -> dict[str, Callable[[], Case]]:
    """All cases by name."""
    return dict(keys()) | dict(certificates()) | dict(chains())
