"""An authority that is renewed with the same key, and allows more names than before: when its leafs are used."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID
from tests.kit.pki.made import name, private_key
from tests.model.certificates import of_others, secured
from tests.model.values import IDS, NAME, NAMESPACE
from tests.observe.test_given import TimeOfDay, leaf_secret, the_look, with_given
from tests.observe.test_large_trust import small
from tests.observe.test_material import KEY
from tests.wire.answering import AnsweringControllers

from kafka_quorum.model.bundles import together
from kafka_quorum.model.certified import dns_names
from kafka_quorum.model.known import Known
from kafka_quorum.model.material import BROKERS, Material, controller
from kafka_quorum.observe.material import MaterialReads
from kit.kube.secrets import SECRETS
from kit.pki.certificate import Certificate, read_certificate
from kit.pki.keys import key_of
from kit.pki.leaf import Leaf
from kit.pki.names import DistinguishedName

_NOW: Final = TimeOfDay().now()
_DAY: Final = timedelta(days=1)
_HOSTS: Final = tuple(host for each in IDS for host in dns_names(of_others(), controller(each)))


def root(*allowed: str, ends: datetime = _NOW + 900 * _DAY) -> Certificate:
    """An authority: always of one name and one key, with names that it allows."""
    key, company = private_key(), name("company")
    builder = x509.CertificateBuilder(
        company, company, key.public_key(), x509.random_serial_number(), _NOW - 9 * _DAY, ends
    )
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    allows = x509.NameConstraints([x509.DNSName(each) for each in allowed], None)
    made = builder.add_extension(allows, critical=True).sign(key, hashes.SHA256())
    return read_certificate(made.public_bytes(Encoding.DER))


def leaf(role: str, *hosts: str) -> Leaf:
    """A leaf of this role, with these names, that the key of the authority signed."""
    key = private_key("secp384r1")
    subject = DistinguishedName(cn=role, ou=NAME, o=NAMESPACE).x509
    builder = x509.CertificateBuilder(
        name("company"), subject, key.public_key(), x509.random_serial_number(), _NOW - _DAY, _NOW + 90 * _DAY
    )
    builder = builder.add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, hosts))), critical=False)
    usages = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    made = builder.add_extension(usages, critical=False).sign(private_key(), hashes.SHA256())
    return Leaf(chain=(read_certificate(made.public_bytes(Encoding.DER)),), key=key_of(key))


def ordered(*, old_first: bool, ends: datetime = _NOW + 900 * _DAY) -> tuple[Certificate, Certificate]:
    """The authority, and the renewed one that allows more; which one is first in a bundle of both is chosen."""
    while True:
        old, new = root("svc", ends=ends), root("svc", "example.org")
        if (old.fingerprint < new.fingerprint) is old_first:
            return old, new


async def seen(given: str, used: str, *earlier: str) -> Material:
    """The look at a quorum whose servers trust this; the Secrets for controllers and brokers have wider names."""
    kube = with_given(given)
    for one in ("controllers", "brokers"):
        wide = leaf(one, *_HOSTS, "kafka.example.org")
        kube.put(SECRETS, leaf_secret(f"given-{one}", wide))
    taken = await the_look()
    (made,) = taken.revisions
    revisions = [replace(made, runtime=secured(trust=used))]
    revisions += [replace(made, name=f"alpha-{each}", runtime=secured(trust=pem)) for each, pem in enumerate(earlier)]
    reads = MaterialReads(kube, TimeOfDay(), AnsweringControllers())
    found, _ = await reads.look(KEY, replace(taken, revisions=tuple(revisions)), of_others())
    assert found is not None
    return found


def authorities(of: Material, who: object = None) -> frozenset[str] | str:
    """The authorities of a source, or why it is not used."""
    found = of.source(who or controller(IDS[0]))  # type: ignore[arg-type]  # a holder
    return found.value.authorities if isinstance(found, Known) else found.reason


async def test_a_leaf_that_only_the_renewed_authority_allows_is_one_of_that_authority() -> None:
    """The earlier one verifies the signature, and refuses the names: with it the leaf is not used."""
    old, new = ordered(old_first=False)
    found = await seen(new.pem, old.pem)
    assert authorities(found) == authorities(found, BROKERS) == frozenset({new.fingerprint})


async def test_a_leaf_that_both_allow_is_one_of_both() -> None:
    """Authorities with the same key that allow the same names may each be trusted: the leaf need not wait."""
    one, other = root("svc", "example.org"), root("svc", "example.org")
    found = await seen(other.pem, one.pem)
    assert authorities(found) == frozenset({one.fingerprint, other.fingerprint})
    source = found.source(controller(IDS[0]))
    assert isinstance(source, Known)
    assert source.value.authority == one.fingerprint


@pytest.mark.parametrize("where", ["in the bundle", "beside it", "in an earlier revision", "among many others"])
async def test_a_leaf_that_the_operator_would_refuse_is_not_served(where: str) -> None:
    """OpenSSL takes the first of both: no server shows a leaf that this one refuses. Clients may show it to Java."""
    old, new = ordered(old_first=True)
    both = together(old.pem, new.pem)
    found = await {
        "in the bundle": lambda: seen(both, both),
        "beside it": lambda: seen(new.pem, old.pem),
        "in an earlier revision": lambda: seen(new.pem, new.pem, old.pem),
        "among many others": lambda: seen(new.pem, new.pem, old.pem, *map(small, "abcdefghi")),
    }[where]()
    words = authorities(found)
    assert isinstance(words, str)
    assert "is refused" in words
    assert "subtree" in words
    if where != "in the bundle":
        assert authorities(found, BROKERS) == frozenset({new.fingerprint})
        assert "give the new authority another key" in words


async def test_an_authority_that_has_ended_refuses_nothing() -> None:
    """OpenSSL passes over an authority that has ended: an earlier revision that has it disturbs nobody."""
    old, new = ordered(old_first=True, ends=_NOW - _DAY)
    assert authorities(await seen(new.pem, new.pem, old.pem)) == frozenset({new.fingerprint})
