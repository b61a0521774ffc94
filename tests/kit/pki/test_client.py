"""What a client of others shows and trusts: every kind that OpenSSL reads, and no size that keeps the loop busy."""

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat, PublicFormat
from tests.kit.pki.made import certificate, intermediate, key_pem, leaf, private_key, root
from tests.kit.pki.random_names import encoded

from kit.parsing import Malformed
from kit.pki.client import TEXT_MAX_CHARS, TRUSTED_MAX, private, shown, trusted
from kit.pki.der import only
from kit.pki.leaf import CHAIN_MAX
from kit.pki.pem import block

RSA = "06092a864886f70d0101010500"
X500_RSA = "0604550801010500"


def rsa_numbers(n_bits: int, prime_bits: int) -> bytes:
    """Numbers of these lengths in PKCS#1, and nothing else of a key."""
    lengths = (1, n_bits, 17, n_bits, *[prime_bits] * 5)
    return encoded(0x30, b"".join(encoded(0x02, b"\x01" * (length // 8 or 1)) for length in lengths))


def pkcs8(numbers: bytes, algorithm: str = RSA) -> str:
    """The same in PKCS#8."""
    kind = encoded(0x30, bytes.fromhex(algorithm))
    return block("PRIVATE KEY", encoded(0x30, b"\x02\x01\0" + kind + encoded(0x04, numbers)))


def with_public(public: bytes) -> str:
    """A certificate that nobody signed, with this public key."""
    made = root().crt
    own = made.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    body = only(made.tbs_certificate_bytes, 0x30).replace(own, public)
    return block("CERTIFICATE", encoded(0x30, encoded(0x30, body)))


def rsa_public(bits: int, exponent: int = 65537, algorithm: str = RSA) -> bytes:
    """A public key of this size."""
    n, e = ((1 << bits) - 1).to_bytes(bits // 8 + 1), exponent.to_bytes(exponent.bit_length() // 8 + 1)
    numbers = encoded(0x30, encoded(0x02, n) + encoded(0x02, e))
    return encoded(0x30, encoded(0x30, bytes.fromhex(algorithm)) + encoded(0x03, b"\0" + numbers))


@pytest.mark.parametrize("kind", ["ec", "secp224r1", "secp521r1", "rsa1024", "rsa2048", "rsa4096", "dsa", "ed25519"])
def test_keys_of_all_kinds_and_forms_are_kept(kind: str) -> None:
    """A server of others decides what it accepts."""
    forms = [PrivateFormat.PKCS8] if kind == "ed25519" else [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL]
    for form in forms:
        text = key_pem(private_key(kind), form)
        assert private(f"Bag Attributes: é\n{text}") == text


@pytest.mark.parametrize(
    "text",
    [
        pkcs8(rsa_numbers(4200, 2100)),
        pkcs8(rsa_numbers(4096, 4000)),
        pkcs8(rsa_numbers(16384, 8192), X500_RSA),
        block("RSA PRIVATE KEY", rsa_numbers(16384, 8192)),
        pkcs8(encoded(0x30, b"\0" * 1500), "06072a8648ce3804010500"),
        block("DSA PRIVATE KEY", encoded(0x30, b"\0" * 1500)),
    ],
    ids=["4200 bits", "a long prime", "of X.500", "PKCS#1", "DSA", "DSA of OpenSSL"],
)
def test_a_key_that_takes_long_is_refused(text: str) -> None:
    """Alone, or behind another one; nothing of it is in the sentence."""
    for each in (text, key_pem(private_key("ec")) + text):
        with pytest.raises(
            Malformed, match=r"tls\.key has a key with which each connection would take too long"
        ) as said:
            private(each)
        assert text.splitlines()[1] not in str(said.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (key_pem(private_key("ec"), password=b"abcd"), "the key is encrypted"),
        (block("PRIVATE KEY", b"no key"), "damaged"),
        (block("RSA PRIVATE KEY", b"\x30\x03\x02\x01\x00x"), "damaged"),
        ("-----BEGIN PRIVATE KEY-----\n", "no private key in PEM"),
        (" " * (TEXT_MAX_CHARS + 1), "characters"),
    ],
)
def test_a_key_that_cannot_be_used(text: str, words: str) -> None:
    """Each has its sentence."""
    with pytest.raises(Malformed, match=words):
        private(text)


def test_certificates_of_all_kinds_are_kept() -> None:
    """Nothing is judged but size: leafs, old ones, DSA; other blocks and text around them are left out."""
    several = root().pem + intermediate().pem + leaf().chain_pem + certificate("own", kind="dsa").pem
    assert trusted(f"# é\n{several}{key_pem(private_key())}") == several
    assert shown(several) == several
    assert trusted(with_public(rsa_public(8192)))
    assert (shown(""), private("")) == ("", "")
    old = block("X509 CERTIFICATE", root().crt.public_bytes(Encoding.DER))
    assert trusted(old) == old
    assert trusted(block("TRUSTED CERTIFICATE", root().crt.public_bytes(Encoding.DER) + b"\x30\0"))


@pytest.mark.parametrize(
    "public",
    [
        rsa_public(8208),
        rsa_public(2048, (1 << 33) - 1),
        rsa_public(3072, (1 << 3000) - 1, X500_RSA),
        rsa_public(3072, (1 << 3000) - 1, "06092a864886f70d01010a3000"),
        encoded(0x30, encoded(0x30, bytes.fromhex("06072a8648ce3804010500")) + encoded(0x03, b"\0" * 1500)),
    ],
    ids=["8208 bits", "an exponent of 33 bits", "of X.500", "PSS", "DSA"],
)
def test_a_certificate_that_takes_long_is_refused(public: bytes) -> None:
    """One is enough, wherever it is."""
    with pytest.raises(Malformed, match=r"certificate 2 in ca\.crt has a key that takes too long to verify with"):
        trusted(root().pem + with_public(public))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no certificate"),
        (key_pem(private_key()), "no certificate"),
        (block("CERTIFICATE", b"none"), "number 1 is damaged"),
        (block("CERTIFICATE", b"\x30\0"), "number 1 is damaged"),
        (root().pem * (TRUSTED_MAX + 1), f"{TRUSTED_MAX + 1} certificates"),
    ],
)
def test_trust_that_cannot_be_used(text: str, words: str) -> None:
    """Each has its sentence."""
    with pytest.raises(Malformed, match=words):
        trusted(text)


def test_a_chain_has_a_limit() -> None:
    """That of Java."""
    assert shown(root().pem * CHAIN_MAX)
    with pytest.raises(Malformed, match="11 certificates"):
        shown(root().pem * (CHAIN_MAX + 1))


def test_the_numbers_of_this_test_are_those_of_keys() -> None:
    """What is made by hand here is encoded as the library does it."""
    public = rsa.RSAPublicNumbers(65537, (1 << 2048) - 1).public_key()
    assert rsa_public(2048) == public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
