"""DIGEST-MD5 as RFC 2831 has it."""

import pytest

from kafka_quorum.wire.digest_md5 import Digest
from kit.parsing import Malformed

CHALLENGE = b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8'


def rfc() -> Digest:
    """The client of the RFC's example (section 4)."""
    return Digest(
        username="chris",
        password="secret",  # noqa: S106 - the RFC's
        client_nonce="OA6MHXh6VqTrRk",
        uri="imap/elwood.innosoft.com",
    )


def test_the_example_of_the_rfc() -> None:
    """The answer and the server's proof are those of the RFC's own example."""
    digest = rfc()
    assert digest.respond(CHALLENGE) == (
        b'username="chris",realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",nc=00000001,cnonce="OA6MHXh6VqTrRk",'
        b'digest-uri="imap/elwood.innosoft.com",qop=auth,response=d388dad90d4bbd760a152321f2143af7,charset=utf-8'
    )
    digest.verify(b"rspauth=ea40f60335c427b5527b84dbabcdfffd")


@pytest.mark.parametrize(
    "answer", [b"", b"rspauth=", b"rspauth=ea40f60335c427b5527b84dbabcdfffe", b"\xff", b"x" * 3000]
)
def test_a_server_without_the_password_is_refused(answer: bytes) -> None:
    """A proof that the server could not make with the password is refused."""
    digest = rfc()
    digest.respond(CHALLENGE)
    with pytest.raises(Malformed):
        digest.verify(answer)


def test_a_proof_before_the_challenge_is_refused() -> None:
    """An empty proof is not accepted from a server that sent no challenge."""
    with pytest.raises(Malformed):
        rfc().verify(b'rspauth=""')


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        b"nonce",
        b'realm="a",qop="auth",algorithm=md5-sess',
        b'nonce="a",qop="auth-conf",algorithm=md5-sess',
        b'nonce="a",qop="auth",algorithm=sha',
        b'nonce="a,algorithm=md5-sess',
        b'nonce="' + b"a" * 3000 + b'",algorithm=md5-sess',
        b"\xff=1",
    ],
)
def test_a_challenge_that_cannot_be_answered(challenge: bytes) -> None:
    """Another algorithm, protection of messages, and what is no challenge are refused, without the password."""
    with pytest.raises(Malformed) as failure:
        rfc().respond(challenge)
    assert "secret" not in str(failure.value)


def test_quotes_in_names_are_escaped() -> None:
    """A user's quotes and backslashes stay within the quotation marks, and no representation shows the password."""
    digest = Digest(username='a"b\\c', password="hidden", client_nonce="n")  # noqa: S106
    assert rb'username="a\"b\\c"' in digest.respond(CHALLENGE)
    assert "hidden" not in repr(digest)
