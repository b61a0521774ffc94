"""Private keys: which kinds are used, how a given one is read, and the one form in which it is written again.

Kafka's PEM store loads one PKCS#8 key of RSA, DSA or EC. With DSA, and with EC on any but three curves, every handshake
fails. RSA below 2048 bits works, and is refused as too weak. (tests/live/test_pki.py)

An owner of a Secret chooses the key, and checking the primes of an RSA key takes long: 0.3 s with 4096 bits, 7 s with
8192. The library does it without letting other threads run, so no thread would help. So kind and size are read first,
and other keys are never parsed. Primes are not checked: only that the numbers of a key belong to each other, which
takes microseconds and finds every damage. An owner who chooses numbers that are no primes has a weak key.

A public key is chosen by the issuer of a certificate. With RSA the exponent decides what the check of one signature
costs: 0.1 ms with 65537, 8 ms with one of 3071 bits.
"""

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
)
from cryptography.x509.oid import PublicKeyAlgorithmOID

from kit.pki.der import SEQUENCE, NotDer, elements, only
from kit.pki.faults import MaterialFault, Place, Problem, fault
from kit.pki.pem import Block, NotPem, block, blocks

KEY_MAX_CHARS: Final = 16 * 1024
"""Longer than the PEM of any key that is used, with comments."""
RSA_MIN_BITS: Final = 2048
RSA_MAX_BITS: Final = 4096
"""Of private keys; that of an authority without its key may be longer."""
RSA_PUBLIC_MAX_BITS: Final = 8192
EXPONENT_MAX_BITS: Final = 32
"""Of public exponents. Nearly every key has 65537, of 17 bits; Go's TLS reads none above 31 bits."""
CURVES: Final = ("secp256r1", "secp384r1", "secp521r1")

_LABEL: Final = "PRIVATE KEY"
_ENCRYPTED: Final = "ENCRYPTED PRIVATE KEY"
_OTHERS: Final = {"RSA PRIVATE KEY": "PKCS#1", "EC PRIVATE KEY": "SEC1", "DSA PRIVATE KEY": "OpenSSL's DSA"}
_OCTETS: Final = 0x04
_OIDS: Final = {
    "rsa": bytes.fromhex("2a864886f70d010101"),
    "pss": bytes.fromhex("2a864886f70d01010a"),
    "ec": bytes.fromhex("2a8648ce3d0201"),
    "dsa": bytes.fromhex("2a8648ce380401"),
}
RSA_OIDS: Final = frozenset({_OIDS["rsa"], _OIDS["pss"], bytes.fromhex("55080101")})
"""As OpenSSL knows them: the last one is that of X.500."""
_PRIMES: Final = slice(4, 6)
"""Of the numbers of an RSA key: version, modulus, both exponents, the two primes and what follows from them."""
_OPENSSH: Final = "OPENSSH PRIVATE KEY"
_KINDS: Final = "use RSA of 2048 to 4096 bits, or EC with P-256, P-384 or P-521"

_PSS: Final = f"is bound to RSASSA-PSS, which Kafka does not read: {_KINDS}"
_DSA: Final = f"is DSA, which TLS 1.3 does not have: {_KINDS}"
_NEITHER: Final = f"is neither RSA nor EC, and Kafka does not read it: {_KINDS}"

PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key in the form that Kafka reads: one PKCS#8 block; and its public half, to be compared."""

    pem: str = field(repr=False)
    public: bytes = field(repr=False)


def key_of(private: PrivateKey) -> Key:
    """A key that the library has, written as PKCS#8."""
    return Key(
        pem=block(_LABEL, private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())),
        public=private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
    )


def kind_fault(public: object, oid: x509.ObjectIdentifier | None = None) -> str:
    """Why this kind of key is not used, as a clause with the way out; empty if it is used."""
    if oid == PublicKeyAlgorithmOID.RSASSA_PSS:
        return _PSS
    match public:
        case rsa.RSAPublicKey():
            return _rsa_fault(public)
        case ec.EllipticCurvePublicKey():
            return (
                ""
                if public.curve.name in CURVES
                else f"is EC with {public.curve.name}, which Java's TLS does not use: {_KINDS}"
            )
        case dsa.DSAPublicKey():
            return _DSA
        case _:
            return _NEITHER


def _rsa_fault(public: rsa.RSAPublicKey) -> str:
    if is_costly(public):
        most = f"{RSA_PUBLIC_MAX_BITS} bits, or has a public exponent of more than {EXPONENT_MAX_BITS} bits"
        return f"is RSA of more than {most}, so each check of a signature takes too long: {_KINDS}, and 65537"
    return f"is RSA of {public.key_size} bits, which is too weak: {_KINDS}" if is_weak(public) else ""


def is_costly(public: object) -> bool:
    """Whether checking one signature with this key takes too long, so none is checked. DSA is used nowhere."""
    if not isinstance(public, rsa.RSAPublicKey):
        return isinstance(public, dsa.DSAPublicKey)
    return public.key_size > RSA_PUBLIC_MAX_BITS or public.public_numbers().e.bit_length() > EXPONENT_MAX_BITS


def is_weak(public: object) -> bool:
    """Whether the kind of a key is used, and only its length is not."""
    return isinstance(public, rsa.RSAPublicKey) and public.key_size < RSA_MIN_BITS


def read_key(content: str | bytes, place: Place) -> Key | MaterialFault:
    """The one key of this text, or what is wrong with it. Nothing of the text is in a fault."""
    if len(content) > KEY_MAX_CHARS:
        return fault(Problem.TOO_LARGE, place, f"has {len(content)} characters, at most {KEY_MAX_CHARS} are read")
    try:
        found = blocks(content)
    except NotPem as error:
        return fault(Problem.NOT_PEM, place, f"cannot be read: {error}")
    keys = [each for each in found if each.label.endswith(_LABEL)]
    if not keys:
        way = "put the PKCS#8 key there, with its line BEGIN PRIVATE KEY"
        return fault(Problem.NO_KEY, place, f"has no private key: {way}")
    if len(keys) > 1:
        return fault(Problem.MANY_KEYS, place, f"has {len(keys)} private keys: leave the one of the certificate")
    return _read(keys[0], place) if len(found) == 1 else _others(keys[0], place)


def _others(key: Block, place: Place) -> MaterialFault:
    """A second block beside the key; a wrong form of the key is the more helpful answer."""
    wrong = _form(key, place)
    return wrong or fault(Problem.OTHER_BLOCK, place, "has other blocks beside the key: leave the key alone there")


def _form(key: Block, place: Place) -> MaterialFault | None:
    convert = f"openssl pkcs8 -topk8 -nocrypt -in {place.key} -out pkcs8.key"
    if key.encrypted or key.label == _ENCRYPTED:
        words = f"has an encrypted key, and there is no password for it: write it without one, with `{convert}`"
        return fault(Problem.ENCRYPTED, place, words)
    if key.label in _OTHERS:
        words = f"has a key in the form {_OTHERS[key.label]}, and Kafka reads PKCS#8: convert it with `{convert}`"
        return fault(Problem.KEY_FORMAT, place, words)
    if key.label == _OPENSSH:
        way = f"`ssh-keygen -p -N '' -m PKCS8 -f {place.key}`"
        words = f"has a key in OpenSSH's form, and Kafka reads PKCS#8: convert it with {way}"
        return fault(Problem.KEY_FORMAT, place, words)
    if key.label != _LABEL:
        words = f"has a key in a form that Kafka does not read: convert it with `{convert}`"
        return fault(Problem.KEY_FORMAT, place, words)
    return None


def _read(key: Block, place: Place) -> Key | MaterialFault:
    wrong = _form(key, place)
    if wrong is not None:
        return wrong
    try:
        kind = _unparsed_fault(key.content)
        if kind:
            return fault(Problem.KEY_KIND, place, f"has a key that {kind}")
        private = _private(key.content)
    except UnsupportedAlgorithm:
        return fault(Problem.KEY_KIND, place, f"has a key of an unknown kind, or with a curve of its own: {_KINDS}")
    except (ValueError, TypeError, OverflowError):  # NotDer is a ValueError
        return fault(Problem.BAD_KEY, place, "has a damaged key: put the PKCS#8 key there again")
    public = private.public_key()
    kind = kind_fault(public)
    if kind or not isinstance(private, PrivateKey):
        weak = is_weak(public)
        return fault(Problem.WEAK_KEY if weak else Problem.KEY_KIND, place, f"has a key that {kind}")
    return key_of(private)


def _private(der: bytes) -> PrivateKeyTypes:
    """The key of these bytes (`ValueError` if its numbers do not belong to each other, and what the library raises)."""
    private = load_der_private_key(der, None, unsafe_skip_rsa_key_validation=True)
    if isinstance(private, rsa.RSAPrivateKey) and not _belong(private.private_numbers()):
        raise ValueError("the numbers are not those of one key")
    return private


def _belong(key: rsa.RSAPrivateNumbers) -> bool:
    """Whether the numbers of an RSA key are those of one key, so that each of them can be calculated with."""
    n, e = key.public_numbers.n, key.public_numbers.e
    if key.p * key.q != n or min(key.p, key.q, e) < 3 or not (n & e & 1) or not 0 < key.d < n:  # noqa: PLR2004
        return False
    parts = ((key.p, key.dmp1), (key.q, key.dmq1))
    inverse = key.q * key.iqmp % key.p == 1 and 0 < key.iqmp < key.p
    return inverse and all(key.d % (prime - 1) == part and part * e % (prime - 1) == 1 for prime, part in parts)


def has_large_numbers(der: bytes) -> bool:
    """Whether an RSA key in PKCS#1 has more than `RSA_MAX_BITS`, or one long prime (`NotDer`)."""
    numbers = list(elements(only(der, SEQUENCE)))
    most = RSA_MAX_BITS // 8 + 1
    long = any(len(each.content) > most for each in numbers)
    return long or any(len(each.content) > most // 2 + 1 for each in numbers[_PRIMES])


def _unparsed_fault(der: bytes) -> str:
    """Why a PKCS#8 key is not parsed, as a clause: its kind, or the size of its numbers (`NotDer`)."""
    parts = list(elements(only(der, SEQUENCE)))
    if len(parts) <= len(("version", "algorithm")):
        raise NotDer("a key has no content")
    algorithm = next(elements(parts[1].content), None)
    oid = b"" if algorithm is None else algorithm.content
    if oid == _OIDS["rsa"]:
        if has_large_numbers(only(parts[2].whole, _OCTETS)):
            return f"is RSA of more than {RSA_MAX_BITS} bits, or of unequal primes: {_KINDS}"
        return ""
    if oid == _OIDS["ec"]:
        return ""
    return _DSA if oid == _OIDS["dsa"] else _PSS if oid == _OIDS["pss"] else _NEITHER
