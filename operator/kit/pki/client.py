"""What a client of others shows and trusts: texts of any kind that OpenSSL reads, but none that keeps it busy.

An owner of a Secret chooses these texts, and the event loop signs and verifies with what is in them. So a certificate
is not judged here, and a key may have another form than the one that Kafka reads: only sizes have limits. OpenSSL gets
exactly the blocks that were measured, written again.
"""

from typing import Final

from kit.parsing import Malformed
from kit.pki.der import SEQUENCE, elements, only
from kit.pki.keys import EXPONENT_MAX_BITS, RSA_MAX_BITS, RSA_OIDS, RSA_PUBLIC_MAX_BITS, has_large_numbers
from kit.pki.leaf import CHAIN_MAX
from kit.pki.pem import Block, NotPem, block, blocks

TRUSTED_MAX: Final = 256
"""Of authorities: the list of a browser has 150."""
TEXT_MAX_CHARS: Final = 256 * 1024
"""Of one key of a Secret."""
_CERTIFICATES: Final = ("CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE")
_KEY: Final = "PRIVATE KEY"
_ENCRYPTED: Final = "ENCRYPTED PRIVATE KEY"
_RSA: Final = "RSA PRIVATE KEY"
_VERSION, _OCTETS, _BITS = 0xA0, 0x04, 0x03
_PUBLIC: Final = 5
"""The place of the public key in a certificate without its version."""
_OTHERS_MAX_BYTES: Final = 1500
"""Of a key that is not RSA: DSA of 3072 bits has 1250, EC of 521 bits with a curve that is written out 700."""


def trusted(text: str, name: str = "ca.crt", most: int = TRUSTED_MAX, most_chars: int = TEXT_MAX_CHARS) -> str:
    """The certificates of this text and nothing else (`Malformed`: a clause that names the key of the Secret).

    Of a text that no Secret of others has, the caller says how many certificates and characters it may have.
    """
    found = _measured(text, name, most, most_chars)
    if not found:
        raise Malformed(f"{name} holds no certificate in PEM")
    return found


def shown(text: str, name: str = "tls.crt") -> str:
    """The same of the chain that a client shows; it may be empty."""
    return _measured(text, name, CHAIN_MAX)


def private(text: str, name: str = "tls.key") -> str:
    """The keys of this text, in the order and the form in which they are there (`Malformed`)."""
    found = [each for each in _blocks(text, name, "private key") if each.label.endswith(_KEY)]
    for each in found:
        if each.encrypted or each.label == _ENCRYPTED:
            raise Malformed(f"tls.crt and {name} cannot be used together (the key is encrypted)")
        try:
            large = _is_large_key(each)
        except (ValueError, IndexError):
            raise Malformed(f"{name} has a damaged key: put it there again") from None
        if large:
            ways = f"use RSA of at most {RSA_MAX_BITS} bits, or EC"
            raise Malformed(f"{name} has a key with which each connection would take too long: {ways}")
    return "".join(block(each.label, each.content) for each in found)


def _measured(text: str, name: str, most: int, most_chars: int = TEXT_MAX_CHARS) -> str:
    found = [each for each in _blocks(text, name, "certificate", most_chars) if each.label in _CERTIFICATES]
    if len(found) > most:
        raise Malformed(f"{name} has {len(found)} certificates, at most {most} are read: leave those in use there")
    for number, each in enumerate(found, start=1):
        try:
            large = _has_large_key(each.content)
        except (ValueError, IndexError):
            raise Malformed(f"{name} holds no certificate in PEM (number {number} is damaged)") from None
        if large:
            sizes = f"RSA has at most {RSA_PUBLIC_MAX_BITS} bits and an exponent of {EXPONENT_MAX_BITS} bits"
            raise Malformed(f"certificate {number} in {name} has a key that takes too long to verify with: {sizes}")
    return "".join(block(each.label, each.content) for each in found)


def _blocks(text: str, name: str, what: str, most_chars: int = TEXT_MAX_CHARS) -> list[Block]:
    if len(text) > most_chars:
        raise Malformed(f"{name} has {len(text)} characters, at most {most_chars} are read")
    try:
        return blocks(text)
    except NotPem as error:
        raise Malformed(f"{name} holds no {what} in PEM ({error})") from None


def _first(content: bytes) -> bytes:
    return list(elements(content))[0].content  # noqa: RUF015 - an IndexError


def _is_large_key(key: Block) -> bool:
    """Whether a signature with it takes long (`ValueError`, `IndexError`)."""
    if key.label == _RSA:
        return has_large_numbers(key.content)
    if key.label == _KEY:
        _, algorithm, content = list(elements(only(key.content, SEQUENCE)))[:3]
        if _first(algorithm.content) in RSA_OIDS:
            return has_large_numbers(only(content.whole, _OCTETS))
    return len(key.content) > _OTHERS_MAX_BYTES


def _has_large_key(der: bytes) -> bool:
    """Whether the check of a signature with a certificate's key takes long (`ValueError`, `IndexError`)."""
    body = _first(_first(der))  # a TRUSTED CERTIFICATE has more behind it
    public = [part for part in elements(body) if part.tag != _VERSION][_PUBLIC]
    algorithm, bits = list(elements(public.content))
    if _first(algorithm.content) not in RSA_OIDS:
        return len(public.whole) > _OTHERS_MAX_BYTES
    modulus, exponent = list(elements(only(only(bits.whole, _BITS)[1:], SEQUENCE)))
    return (
        len(modulus.content) > RSA_PUBLIC_MAX_BITS // 8 + 1
        or int.from_bytes(exponent.content[:_OTHERS_MAX_BYTES]).bit_length() > EXPONENT_MAX_BITS
    )
