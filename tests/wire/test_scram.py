"""SCRAM by the examples of its RFCs, and with challenges that no honest server sends."""

import base64
import hashlib
import hmac

import pytest

from kafka_quorum.wire.scram import ITERATIONS, MAX_BYTES, Scram
from kit.parsing import Malformed

NONCE = "rOprNGfwEbeRWgbNEkqO"
CHALLENGE = f"r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"


def pencil(algorithm: str = "sha256", nonce: str = NONCE, *, username: str = "user") -> Scram:
    """The client of the RFCs' examples."""
    return Scram(algorithm=algorithm, username=username, password="pencil", client_nonce=nonce)  # noqa: S106


def test_the_example_of_rfc_7677() -> None:
    """SCRAM-SHA-256, byte by byte."""
    client = pencil()
    assert client.first() == f"n,,n=user,r={NONCE}".encode()
    assert (
        client.respond(CHALLENGE.encode())
        == (f"c=biws,r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").encode()
    )
    client.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_the_example_of_rfc_5802() -> None:
    """The same steps with SHA-1, byte by byte."""
    client = pencil("sha1", "fyko+d2lbbFgONRv9qkxdawL")
    challenge = b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096"
    assert client.respond(challenge) == (
        b"c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="
    )
    client.verify(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=")


def test_sha_512_with_a_server_that_has_only_the_stored_keys() -> None:
    """A server's half, written from the RFC, accepts the proof, and its signature is accepted."""
    salt, password, nonce = b"salt", b"pencil", "abc"
    salted = hashlib.pbkdf2_hmac("sha512", password, salt, 8192)
    stored = hashlib.sha512(hmac.digest(salted, b"Client Key", "sha512")).digest()
    server_key = hmac.digest(salted, b"Server Key", "sha512")
    client = pencil("sha512", nonce)
    first = client.first().removeprefix(b"n,,")
    challenge = b"r=abcdef,s=" + base64.b64encode(salt) + b",i=8192"
    without_proof, _, proof = client.respond(challenge).partition(b",p=")
    said = b",".join((first, challenge, without_proof))
    signature = hmac.digest(stored, said, "sha512")
    key = bytes(one ^ other for one, other in zip(base64.b64decode(proof), signature, strict=True))
    assert hashlib.sha512(key).digest() == stored
    client.verify(b"v=" + base64.b64encode(hmac.digest(server_key, said, "sha512")))


def test_a_name_with_the_separators_of_the_protocol() -> None:
    """A comma and an equals sign in a name are written as the RFC requires."""
    assert pencil(username="a=b,c").first() == f"n,,n=a=3Db=2Cc,r={NONCE}".encode()


@pytest.mark.parametrize(
    "challenge",
    [
        "",
        "x" * (MAX_BYTES + 1),
        "é",
        CHALLENGE.replace(NONCE, "another"),
        f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        CHALLENGE.replace("s=W22ZaJ0SNY7soEsUEjb6gQ==", "s=W22"),
        CHALLENGE.replace("i=4096", f"i={ITERATIONS[0] - 1}"),
        CHALLENGE.replace("i=4096", f"i={ITERATIONS[-1] + 1}"),
        CHALLENGE.replace("i=4096", "i=9999999999"),
        CHALLENGE.replace("i=4096", "i=04096"),
        f"m=ext,{CHALLENGE}",
        f"{CHALLENGE}\nr=x",
    ],
    ids=range(12),
)
def test_challenges_that_are_refused(challenge: str) -> None:
    """A challenge of another form, without our nonce, or that asks for too little or too much work, is refused."""
    client = pencil()
    with pytest.raises(Malformed) as failure:
        client.respond(challenge.encode())
    assert "pencil" not in str(failure.value)


@pytest.mark.parametrize("answer", [b"", b"e=invalid-proof", b"v=", b"v=AAAA", b"v=6rriTRBi23WpRR/wtup+mMhUZUn"])
def test_a_server_without_the_password_is_noticed(answer: bytes) -> None:
    """Only the one signature is accepted, and none before the challenge was answered."""
    client = pencil()
    for _ in range(2):
        with pytest.raises(Malformed, match=r"does not prove|base64"):
            client.verify(answer)
        client.respond(CHALLENGE.encode())
    with pytest.raises(Malformed):
        pencil().verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
