"""Authorities and leafs: what they have, for how long they are valid, and who accepts them."""

import ssl
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from tests.kit.pki.made import CONTROLLERS, DAY_S, EXPECTED, HOST, NOW, OWNER, authority, files, leaf

from kit.pki.authority import (
    SKEW,
    Authority,
    CannotIssue,
    Dice,
    Request,
    issue,
    make_authority,
    read_authority,
)
from kit.pki.certificate import Certificate
from kit.pki.faults import Faults, Problem
from kit.pki.leaf import read_leaf
from kit.pki.material import keystore
from kit.pki.names import DistinguishedName

CA = DistinguishedName(cn="authority", ou="demo", o="team")


def request(*, life_s: int = DAY_S, server: bool = True, client: bool = True) -> Request:
    """A request for a leaf."""
    names = (HOST, f"{HOST}.cluster.local")
    addresses = ("127.0.0.1", "fd00::1")
    return Request(subject=CONTROLLERS, names=names, addresses=addresses, life_s=life_s, server=server, client=client)


def parsed(certificate: Certificate) -> x509.Certificate:
    """The certificate as the library has it."""
    return x509.load_der_x509_certificate(certificate.der)


def test_an_authority_signs_leafs_only() -> None:
    """An authority is one, critically, with a path of length 0, and its key signs certificates and nothing else."""
    found = parsed(authority().certificate).extensions
    constraints = found.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical
    assert constraints.value == x509.BasicConstraints(ca=True, path_length=0)
    usage = found.get_extension_for_class(x509.KeyUsage)
    assert usage.critical
    assert (usage.value.key_cert_sign, usage.value.crl_sign, usage.value.digital_signature) == (True, True, False)
    assert authority().certificate.authority


def test_a_leaf_has_what_was_requested() -> None:
    """A leaf has the requested subject, names, addresses and purposes, and names the key of its issuer."""
    made = issue(authority(), request(), NOW)
    names = {f"DNS:{HOST}", f"DNS:{HOST}.cluster.local", "IP:127.0.0.1", "IP:fd00::1"}
    found = made.certificate
    assert found.principal == "CN=controllers,OU=demo,O=team" == CONTROLLERS.principal
    assert found.names == names
    assert (found.server, found.client, found.signs, found.authority) == (True, True, True, False)
    assert found.issued_by(authority().certificate)
    assert not found.issued_by(authority("other").certificate)
    own = parsed(found).extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    above = parsed(authority().certificate).extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    assert own.key_identifier == above.digest


@pytest.mark.parametrize(("server", "client"), [(True, False), (False, True)])
def test_a_leaf_is_for_nothing_else(server: bool, client: bool) -> None:  # noqa: FBT001 - parametrized
    """A leaf for one purpose is not for the other one."""
    made = issue(authority(), request(server=server, client=client), NOW).certificate
    assert (made.server, made.client) == (server, client)


@pytest.mark.parametrize("since_s", [0, 1, 299, 300, 301, 2 * DAY_S])
@pytest.mark.parametrize("life_s", [1, DAY_S, 20 * DAY_S])
def test_a_leaf_lies_within_its_authority(since_s: int, life_s: int) -> None:
    """A leaf begins before now and ends as requested, but never before or after its authority."""
    above = make_authority(CA, NOW, 10 * DAY_S).certificate, NOW + timedelta(seconds=since_s)
    made = make_authority(CA, NOW, 10 * DAY_S)
    now = above[1]
    found = issue(made, request(life_s=life_s), now).certificate
    assert found.not_before == max(made.certificate.not_before, now - SKEW)
    assert found.not_after == min(made.certificate.not_after, now + timedelta(seconds=life_s))
    assert found.not_before <= now < found.not_after


def test_serials_and_keys_are_random() -> None:
    """Two leafs of one request have different serials, keys and fingerprints; serials are positive, of 20 bytes."""
    made = [issue(authority(), request(), NOW) for _ in range(20)]
    assert len({each.certificate.serial for each in made}) == 20
    assert len({each.key.public for each in made}) == 20
    assert len({each.certificate.fingerprint for each in made}) == 20
    assert all(0 < int(each.certificate.serial, 16) < 1 << 160 for each in made)


def test_chance_comes_from_outside() -> None:
    """With the same key and serial, the same certificate body comes out."""
    key = ec.generate_private_key(ec.SECP256R1())
    dice = Dice(key=lambda: key, serial=lambda: 0xABCDEF)
    first, second = (issue(authority(), request(), NOW, dice) for _ in range(2))
    assert first.certificate.serial == "abcdef"
    assert parsed(first.certificate).tbs_certificate_bytes == parsed(second.certificate).tbs_certificate_bytes
    assert first.key == second.key


@pytest.mark.parametrize("life_s", [0, -1, 10**12])
def test_a_life_without_an_end_is_refused(life_s: int) -> None:
    """A life that is not positive, or ends after the year 9999, cannot be issued."""
    with pytest.raises(CannotIssue, match=str(life_s)):
        make_authority(CA, NOW, life_s)
    with pytest.raises(CannotIssue, match=str(life_s)):
        issue(authority(), request(life_s=life_s), NOW)


@pytest.mark.parametrize("now", [NOW + timedelta(days=3650), NOW - timedelta(days=1)], ids=["after", "before"])
def test_an_authority_issues_within_its_life_only(now: datetime) -> None:
    """An authority that has ended, or has not begun, issues nothing."""
    with pytest.raises(CannotIssue, match="expired"):
        issue(authority(), request(), now)


def test_what_is_no_request_is_refused() -> None:
    """Nothing is issued without a purpose, for a wrong name or address, or by a leaf or with another key."""
    with pytest.raises(CannotIssue, match="server, a client"):
        issue(authority(), request(server=False, client=False), NOW)
    for wrong in (
        Request(subject=CONTROLLERS, names=("dämon",), life_s=1, server=True, client=True),
        Request(subject=CONTROLLERS, addresses=("10.0.0",), life_s=1, server=True, client=True),
    ):
        with pytest.raises(CannotIssue, match="ASCII"):
            issue(authority(), wrong, NOW)
    low = leaf()
    with pytest.raises(CannotIssue, match="not that of an authority"):
        issue(Authority(certificate=low.certificate, key=low.key), request(), NOW)
    with pytest.raises(CannotIssue, match="not that of its certificate"):
        issue(Authority(certificate=authority().certificate, key=low.key), request(), NOW)


def test_what_is_stored_is_read_again() -> None:
    """An authority and a leaf are the same after their texts were read."""
    made, low = authority(), leaf()
    assert read_authority(made.certificate.pem, made.key.pem, OWNER, NOW) == made
    assert read_leaf(files(low.chain_pem, low.key.pem), EXPECTED) == low


def test_a_stored_authority_with_faults_is_none() -> None:
    """Another key, two certificates, a leaf and an ended authority are faults, each of its kind."""
    made, low = authority(), leaf()
    two = made.certificate.pem + authority("other").certificate.pem
    for crt, key, now, problem in (
        (made.certificate.pem, low.key.pem, NOW, Problem.OTHER_KEY),
        (two, made.key.pem, NOW, Problem.TOO_MANY),
        (low.chain_pem, low.key.pem, NOW, Problem.NO_AUTHORITY),
        (made.certificate.pem, made.key.pem, NOW + timedelta(days=3651), Problem.EXPIRED),
        (made.certificate.pem, "", NOW, Problem.NO_KEY),
        ("", "", NOW, Problem.NO_CERTIFICATE),
    ):
        found = read_authority(crt, key, OWNER, now)
        assert isinstance(found, Faults)
        assert problem in found.problems


def test_openssl_accepts_both_sides(tmp_path: Path) -> None:
    """OpenSSL, which Python uses, makes a connection of mutual TLS with a leaf on both sides, checking the name."""
    own = tmp_path / "keystore.pem"
    own.write_text(keystore(leaf()))
    contexts = [ssl.SSLContext(each) for each in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)]
    for context in contexts:
        context.load_verify_locations(cadata=authority().certificate.pem)
        context.load_cert_chain(own)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    contexts[0].verify_mode = ssl.CERT_REQUIRED
    pipes = [ssl.MemoryBIO() for _ in range(2)]
    server = contexts[0].wrap_bio(pipes[0], pipes[1], server_side=True)
    client = contexts[1].wrap_bio(pipes[1], pipes[0], server_hostname=HOST)
    waiting = [client, server]
    for _ in range(5):
        for each in list(waiting):
            try:
                each.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(each)
    assert waiting == []
    assert server.getpeercert(binary_form=True) == leaf_der(own)


def leaf_der(file: Path) -> bytes:
    """The certificate in a key store."""
    text = file.read_text()
    return ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN CERTIFICATE") :])


def test_no_text_of_a_value_has_a_key() -> None:
    """Keys are in no representation of authorities and leafs."""
    low = leaf()
    lines = {line for key in (low.key.pem, authority().key.pem) for line in key.splitlines()[1:-1]}
    assert len(lines) >= 4
    assert not any(line in repr((low, authority())) for line in lines)
    assert all(first != second for first, second in pairwise(sorted(lines)))
