"""Bundles: one canonical text for each set of authorities, sums and differences, and what is not trusted."""

import random
from datetime import timedelta
from itertools import product

import pytest
from tests.kit.pki.made import NOW, OWNER, TRUST, authority, certificate, intermediate, leaf, root

from kit.pki.bundle import BUNDLE_MAX, BUNDLE_MAX_CHARS, Bundle, bundle, read_trust
from kit.pki.certificate import Certificate
from kit.pki.faults import Faults, Problem
from kit.pki.leaf import read_chain

NAMES = ("a", "b", "c", "d")


def certificates() -> list[Certificate]:
    """Four authorities."""
    return [authority(name).certificate for name in NAMES]


def test_a_set_has_one_text() -> None:
    """Order, repetition, comments and line breaks of the text change neither the bundle nor its digest."""
    dice = random.Random(5)
    first = bundle(certificates())
    for _ in range(20):
        chosen = certificates() + dice.choices(certificates(), k=2)
        dice.shuffle(chosen)
        text = "".join(f"# {each.subject}\n{each.pem}" for each in chosen).replace("\n", "\r\n")
        found = read_trust(text, TRUST, NOW)
        assert isinstance(found, Bundle)
        assert (found, found.pem, found.digest) == (first, first.pem, first.digest)
    assert first.pem.count("BEGIN CERTIFICATE") == len(NAMES)
    assert first.pem.count("BEGIN") == len(NAMES)


def test_bundles_are_sets() -> None:
    """Union and difference are those of the sets of certificates, for all pairs of subsets of four authorities."""
    subsets = [{n for n in range(4) if mask >> n & 1} for mask in range(16)]
    made = {frozenset(each): bundle(certificates()[n] for n in each) for each in subsets}
    for (left, first), (right, second) in product(made.items(), repeat=2):
        assert first | second == made[left | right]
        assert first - second == made[left - right]
    assert len({each.digest for each in made.values()}) == 16


def test_ends_and_fingerprints() -> None:
    """A bundle says when its first authority ends; an empty one has no end."""
    short = certificate("short", ca=True, names=(), ends=timedelta(days=3))
    found = read_trust(short.pem + root().pem, TRUST, NOW)
    assert isinstance(found, Bundle)
    assert found.first_end == NOW + timedelta(days=3)
    assert Bundle().first_end is None
    assert list(found.fingerprints) == sorted(each.fingerprint for each in found.authorities)


def test_whom_a_bundle_trusts() -> None:
    """A bundle trusts a chain that one of its authorities issued at any place, and no other one."""
    low = certificate(by=intermediate())
    chain = read_chain(low.pem + intermediate().pem, TRUST)
    alone = read_chain(low.pem, TRUST)
    assert isinstance(chain, tuple)
    assert isinstance(alone, tuple)
    of_root, of_intermediate = (read_trust(each.pem, TRUST, NOW) for each in (root(), intermediate()))
    assert isinstance(of_root, Bundle)
    assert isinstance(of_intermediate, Bundle)
    assert of_root.trusts(chain)
    assert of_intermediate.trusts(chain)
    assert of_intermediate.trusts(alone)
    assert not of_root.trusts(alone)
    assert not bundle(certificates()).trusts(chain)
    assert not Bundle().trusts(chain)
    assert bundle([authority().certificate]).trusts(leaf().chain)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", Problem.NO_CERTIFICATE),
        ("no certificate\n", Problem.NO_CERTIFICATE),
        (root().pem + root().key_pem, Problem.OTHER_BLOCK),
        (root().pem + "-----BEGIN X509 CRL-----\nQQ==\n-----END X509 CRL-----\n", Problem.OTHER_BLOCK),
        (root().pem.replace("CERTIFICATE", "TRUSTED CERTIFICATE"), Problem.OTHER_BLOCK),
        (root().pem + leaf().chain_pem, Problem.NO_AUTHORITY),
        (certificate("plain").pem, Problem.NO_AUTHORITY),
        (root().pem * (BUNDLE_MAX + 1), Problem.TOO_MANY),
        (root().pem + "#" * BUNDLE_MAX_CHARS, Problem.TOO_LARGE),
        (root().pem[:-40], Problem.NOT_PEM),
        (certificate("weak", ca=True, names=(), kind="rsa1024").pem, Problem.WEAK_KEY),
        ("-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n", Problem.BAD_CERTIFICATE),
    ],
)
def test_what_is_not_trusted(text: str, problem: Problem) -> None:
    """Each wrong trust store has one fault of its kind, which names the Secret."""
    found = read_trust(text, TRUST, NOW)
    assert isinstance(found, Faults)
    assert found.problems == {problem}
    assert all(f"ca.crt of {OWNER} " in each.message for each in found.all)


def test_ends_are_judged_if_a_time_is_given() -> None:
    """An authority that ended is a fault in a given text, and none in one that is stored already."""
    old = certificate("old", ca=True, names=(), begins=timedelta(days=-2), ends=timedelta(days=-1))
    found = read_trust(root().pem + old.pem, TRUST, NOW)
    assert isinstance(found, Faults)
    assert found.problems == {Problem.EXPIRED}
    assert isinstance(read_trust(root().pem + old.pem, TRUST, None), Bundle)
