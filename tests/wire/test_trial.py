"""Trials: what TLS refuses though each certificate is well made, and ordinary chains, which are accepted."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from tests.kit.pki.made import CLIENT, EXPECTED, NOW, SERVER, TRUST, Made, certificate, files, intermediate, leaf, root

from kafka_quorum.wire.trial import why_refused
from kit.pki.bundle import Bundle, read_trust
from kit.pki.leaf import Expected, Leaf, read_leaf

_UNKNOWN: Final = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.99999.1"), b"\x05\x00")
_ELSEWHERE: Final = x509.NameConstraints([x509.DNSName("example.org")], None)
_HERE: Final = x509.NameConstraints([x509.DNSName("svc")], None)
_LAST: Final = x509.BasicConstraints(ca=True, path_length=0)
_OTHERS: Final = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "others")])
_OF_OTHERS: Final = x509.NameConstraints([x509.DNSName("svc"), x509.DirectoryName(_OTHERS)], None)
_ANY: Final = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE])
_CODE: Final = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING])


def between(*extensions: x509.ExtensionType) -> Made:
    """An intermediate authority with these extensions."""
    ca = None if any(isinstance(each, x509.BasicConstraints) for each in extensions) else True
    return certificate("between", by=root(), ca=ca, names=(), extensions=extensions)


def judged(*chain: Made, trust: Made | None = None, server: bool = True) -> str:
    """Why this chain is refused. The other checks accept it."""
    expected = EXPECTED if server else Expected(now=NOW, client=True)
    read = read_leaf(files("".join(each.pem for each in chain), chain[0].key_pem), expected)
    trusted = read_trust((trust or root()).pem, TRUST, NOW)
    assert isinstance(read, Leaf)
    assert isinstance(trusted, Bundle)
    return why_refused(read, trusted, server=server, client=True)


def below(above: Made, *more: Made, **how: x509.ExtensionType) -> tuple[Made, ...]:
    """A leaf, and the authorities above it."""
    return (certificate(by=above, extensions=tuple(how.values())), above, *more)


REFUSED: Final[dict[str, tuple[Callable[[], tuple[Made, ...]], str]]] = {
    "path length": (
        lambda: below(certificate("lower", by=between(_LAST), ca=True, names=()), between(_LAST)),
        "path length",
    ),
    "name constraints": (lambda: below(between(_ELSEWHERE)), "subtree"),
    "unknown critical extension": (lambda: below(between(_UNKNOWN)), "critical"),
    "unknown critical extension of the leaf": (
        lambda: (certificate(by=root(), extensions=(_UNKNOWN,)),),
        "critical",
    ),
    "extended usage of an authority": (lambda: below(between(_CODE)), "purpose"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_tls_refuses(name: str) -> None:
    """A chain that each peer refuses is refused before it is used, in OpenSSL's words."""
    chain, words = REFUSED[name]
    assert words in judged(*chain())


def test_what_tls_refuses_of_a_client() -> None:
    """The same rules hold for a client, but for extended usages of its authorities: Java does not ask for them."""
    client = certificate(by=between(_ELSEWHERE), extensions=(CLIENT,))
    assert "subtree" in judged(client, between(_ELSEWHERE), server=False)
    assert judged(certificate(by=between(SERVER), extensions=(CLIENT,)), between(SERVER), server=False) == ""
    assert judged(*below(between(SERVER))) == ""


HIDDEN: Final[dict[str, Callable[[], tuple[Made, ...]]]] = {
    "name constraints": lambda: below(between(SERVER, _ELSEWHERE)),
    "name constraints on the subject": lambda: below(between(SERVER, _OF_OTHERS)),
    "path length": lambda: below(
        certificate("lower", by=between(_LAST), ca=True, names=(), extensions=(SERVER,)), between(_LAST)
    ),
    "unknown critical extension": lambda: below(
        certificate("lower", by=between(_UNKNOWN), ca=True, names=(), extensions=(SERVER,)), between(_UNKNOWN)
    ),
    "name constraints above a leaf for anything": lambda: below(between(_ELSEWHERE), usage=_ANY),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_usage_hides_no_fault_of_a_client(name: str) -> None:
    """OpenSSL ends at the first fault: behind a usage, of which Java does not ask, the others are still found."""
    assert judged(*HIDDEN[name](), server=False)


USUAL: Final[dict[str, Callable[[], tuple[Made, ...]]]] = {
    "the last intermediate authority": lambda: below(between(SERVER, _LAST), usage=CLIENT),
    "name constraints that fit": lambda: below(between(SERVER, _HERE), usage=CLIENT),
    "with the root": lambda: below(between(SERVER), root(), usage=CLIENT),
    "a leaf for anything": lambda: below(between(), usage=_ANY),
    "RSA": lambda: (certificate(by=between(SERVER), kind="rsa2048", extensions=(CLIENT,)), between(SERVER)),
}


@pytest.mark.parametrize("name", USUAL)
def test_a_usage_alone_is_no_fault_of_a_client(name: str) -> None:
    """What Java accepts of a client is accepted."""
    assert judged(*USUAL[name](), server=False) == ""


def test_a_usage_of_a_trusted_authority_is_no_fault_of_a_client() -> None:
    """An intermediate authority for servers may be trusted itself, beside others and whenever it began."""
    above = between(SERVER)
    assert judged(certificate(by=above, extensions=(CLIENT,)), above, trust=above, server=False) == ""
    young = certificate("young", ca=True, names=(), extensions=(SERVER,), begins=timedelta(hours=-1))
    trusted = read_trust(root().pem + young.pem, TRUST, NOW)
    made = certificate(by=young, extensions=(CLIENT,))
    read = read_leaf(files(made.pem, made.key_pem), Expected(now=NOW, client=True))
    assert isinstance(read, Leaf)
    assert isinstance(trusted, Bundle)
    assert why_refused(read, trusted, server=False, client=True) == ""


ORDINARY: Final[dict[str, Callable[[], tuple[Made, ...]]]] = {
    "an authority alone": lambda: (certificate(by=root()),),
    "an intermediate authority": lambda: below(intermediate()),
    "with the root": lambda: below(intermediate(), root()),
    "the last intermediate authority": lambda: below(between(_LAST)),
    "name constraints that fit": lambda: below(between(_HERE)),
    "RSA": lambda: (certificate(by=root(), kind="rsa2048"),),
    "a wildcard": lambda: (certificate(by=root(), names=("*.demo-controllers.team.svc",)),),
    "both usages": lambda: below(
        intermediate(),
        usages=x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
    ),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_chains_are_accepted(name: str) -> None:
    """What company authorities and cert-manager issue is accepted, as a server and as a client."""
    assert judged(*ORDINARY[name]()) == ""


def test_a_client_alone_is_accepted() -> None:
    """A certificate for clients is not judged as a server."""
    assert judged(certificate(by=intermediate(), extensions=(CLIENT,)), intermediate(), server=False) == ""


def test_an_intermediate_authority_may_be_trusted() -> None:
    """Each trusted certificate counts by itself, without the root above it."""
    assert judged(*below(intermediate()), trust=intermediate()) == ""


def test_an_own_leaf_is_accepted_and_another_authority_is_not() -> None:
    """Our own authorities fit; a bundle without the authority refuses."""
    trusted = read_trust(root().pem, TRUST, NOW)
    assert isinstance(trusted, Bundle)
    assert why_refused(leaf(), trusted, server=True, client=True)


def test_ends_are_not_judged() -> None:
    """Ends are judged by the time of the operator's clock elsewhere."""
    made = certificate(by=root(), begins=timedelta(days=-9), ends=timedelta(days=-1))
    read = read_leaf(files(made.pem, made.key_pem), Expected(now=None))
    trusted = read_trust(root().pem, TRUST, NOW)
    assert isinstance(read, Leaf)
    assert isinstance(trusted, Bundle)
    assert why_refused(read, trusted, server=True, client=True) == ""
