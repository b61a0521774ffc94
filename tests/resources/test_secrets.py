"""What is read from Secrets with certificates, and what is refused: of others, altered, or no text."""

import base64
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from tests.model.certificates import LEAF_S, authority, leaf, wanted
from tests.model.values import IDS, NAME, NAMESPACE, NOW_S

from kafka_quorum.model.bundles import together
from kafka_quorum.model.desired import VolumeFate
from kafka_quorum.model.material import BROKERS, OPERATOR, Holder, controller, pool
from kafka_quorum.model.names import GENERATION_MAX, keystore_file, keystore_generation, trust_file
from kafka_quorum.model.pools import PoolSeen, certified_names, why_no_name
from kafka_quorum.resources.secrets import (
    Logins,
    StoredAuthorities,
    authorities_from,
    authorities_object,
    leaf_from,
    leaf_object,
    texts_of,
)
from kit.kube.protocol import Json
from kit.parsing import Malformed
from kit.pki.authority import Request, issue
from kit.pki.bundle import Bundle
from kit.pki.certificate import NAMES_MAX, NAMES_MAX_CHARS
from kit.pki.names import DistinguishedName

FIRST = controller(IDS[0])
KNOWN = Bundle((authority(1).certificate,))


def stored(body: Json, **data: str) -> Json:
    """A Secret as the API server has it, with other texts."""
    texts = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in data.items()}
    metadata = {**body["metadata"], "resourceVersion": "7"}
    return {**body, "metadata": metadata, "data": {**body["data"], **texts}}


def of(holder: Holder, generation: int = 3) -> Json:
    """A holder's Secret."""
    return leaf_object(wanted(), holder, leaf(holder), KNOWN.pem, generation, None, 17)


@pytest.mark.parametrize("holder", [FIRST, OPERATOR, BROKERS], ids=str)
def test_a_leaf_is_read_as_it_was_written(holder: Holder) -> None:
    """Every number and the authority come back, and the look has no key."""
    seen, read = leaf_from(stored(of(holder)), wanted(), holder, KNOWN)
    assert (seen.generation, seen.before_ends_s, seen.version) == (3, 17, "7")
    assert seen.authority == KNOWN.fingerprints[0]
    assert seen.certificate.sha256 == leaf(holder).certificate.fingerprint
    assert read.key.pem not in repr(seen)


@pytest.mark.parametrize("labels", [("a" * 60, "a" * 60, "a" * 59, "a" * 59), ("a" * 46,)], ids=["longest", "most"])
def test_the_largest_certificate_of_a_pool_is_read_as_it_was_written(labels: tuple[str, ...]) -> None:
    """Whatever hosts a pool has: the names are bounded, so that Java accepts the certificate, too (32 KiB)."""
    hosts = [".".join((f"b{{id}}{each}", *labels, "org")) for each in "pqrstuvw"]
    assert not any(map(why_no_name, hosts))
    seen = PoolSeen(name="events", uid="u1", names=certified_names(NAMESPACE, "events", hosts, range(1000, 1100)))
    assert NAMES_MAX_CHARS - 253 < sum(map(len, seen.names)) <= NAMES_MAX_CHARS or len(seen.names) == NAMES_MAX
    subject = DistinguishedName(cn="brokers", ou="n" * 63, o="n" * 63)
    request = Request(subject=subject, names=seen.names, life_s=LEAF_S, server=True, client=True)
    made = issue(authority(), request, datetime.fromtimestamp(NOW_S, UTC))
    assert len(made.certificate.der) < 32_000
    body = leaf_object(wanted(), pool(seen), made, KNOWN.pem, 3, None, 17)
    assert leaf_from(stored(body), wanted(), pool(seen), KNOWN)[0].certificate.dns_names == seen.names


def test_a_generation_has_nine_digits_at_most() -> None:
    """No file name has more of it, and no renewal gets there: a person has written it, and reads the way out."""
    assert leaf_from(stored(of(FIRST), generation="999999999"), wanted(), FIRST)[0].generation == GENERATION_MAX
    assert keystore_generation(keystore_file(GENERATION_MAX)) == GENERATION_MAX
    for text in ("1000000000", "253402300799"):
        with pytest.raises(Malformed) as refusal:
            leaf_from(stored(of(FIRST), generation=text), wanted(), FIRST)
        said = f"key generation of Secret {FIRST.secret(NAME)} is '{text}', and no whole number up to 999999999"
        assert said in str(refusal.value)
        assert "delete the Secret, and it is made again" in str(refusal.value)
    late = stored(of(FIRST), **{"before-ends": "253402300799"})
    assert leaf_from(late, wanted(), FIRST)[0].before_ends_s == 253_402_300_799


def test_an_unknown_authority_has_no_digest() -> None:
    """A leaf that no known authority signed is seen as such."""
    assert leaf_from(stored(of(FIRST)), wanted(), FIRST, Bundle((authority(2).certificate,)))[0].authority == ""


@pytest.mark.parametrize(
    "texts",
    [
        {"keystore_pem": "no key"},
        {"keystore_pem": ""},
        {"generation": "3x"},
        {"generation": "٣"},
        {"generation": "9999999999999999999"},
        {"before-ends": "253402300800"},
        {"generation": ""},
        {"before-ends": "9" * 40},
        {"keystore_pem": leaf(OPERATOR).key.pem + leaf(FIRST).chain_pem},
    ],
    ids=[
        "no key",
        "empty",
        "no number",
        "other digits",
        "19 digits",
        "after 9999",
        "no generation",
        "too long",
        "another key",
    ],
)
def test_an_altered_leaf_is_refused(texts: dict[str, str]) -> None:
    """What a person altered is refused, and the sentence has nothing of a key."""
    with pytest.raises(Malformed) as refusal:
        leaf_from(stored(of(FIRST), **texts), wanted(), FIRST, KNOWN)
    assert leaf(OPERATOR).key.pem.splitlines()[1] not in str(refusal.value)


def test_another_quorums_secret_is_refused() -> None:
    """A Secret without our label, or that a controller of another kind owns, is not ours."""
    body = stored(of(FIRST))
    bare = {**body, "metadata": {**body["metadata"], "labels": {}}}
    owner = {"apiVersion": "v1", "kind": "Thing", "name": "x", "uid": "x", "controller": True}
    foreign = {**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}
    for item in (bare, foreign):
        with pytest.raises(Malformed, match=f"{NAME}-3000-tls"):
            texts_of(item, NAME)


def test_a_value_that_is_no_text() -> None:
    """Bytes that are no text are refused, and not shown."""
    body = stored(of(FIRST))
    with pytest.raises(Malformed, match="no text"):
        texts_of({**body, "data": {"keystore.pem": base64.b64encode(b"\xff\xfe").decode()}}, NAME)


def test_authorities_are_read_as_they_were_written() -> None:
    """Both authorities come back, and what a look has of them has no key."""
    written = authorities_object(
        wanted(), f"{NAME}-ca", StoredAuthorities(present=authority(1), following=authority(2), asked_for="again")
    )
    found = authorities_from(stored(written), wanted())
    assert (found.present, found.following, found.asked_for) == (authority(1), authority(2), "again")
    assert found.signer(authority(2).certificate.fingerprint) == authority(2)
    assert found.signer("ab") is None
    assert authority(1).key.pem.splitlines()[1] not in repr(found.seen)


def test_the_authority_goes_with_the_volumes() -> None:
    """If the volumes are kept, so is the authority: the controllers on them trust it. Leafs go with the resource."""
    one = StoredAuthorities(present=authority(1))
    kept = authorities_object(wanted(), f"{NAME}-ca", one)
    assert not kept["metadata"]["ownerReferences"]
    deleted = wanted(storage=replace(wanted().storage, when_deleted=VolumeFate.DELETE))
    assert authorities_object(deleted, f"{NAME}-ca", one)["metadata"]["ownerReferences"]
    assert of(FIRST)["metadata"]["ownerReferences"]
    assert kept["metadata"]["namespace"] == NAMESPACE


def test_old_files_of_brokers_go() -> None:
    """The brokers' Secret keeps the last files only: it never grows without end."""
    body = of(BROKERS, 1)
    for generation in range(2, 9):
        body = leaf_object(wanted(), BROKERS, leaf(BROKERS), KNOWN.pem, generation, stored(body), 0)
    stores = sorted(key for key in body["data"] if key.startswith("keystore-"))
    assert stores == ["keystore-6.pem", "keystore-7.pem", "keystore-8.pem"]


def files_of(body: Json, kind: str) -> set[str]:
    """The files of this kind in the brokers' Secret."""
    return {key for key in body["data"] if key.startswith(kind)}


def test_a_named_keystore_stays_as_long_as_it_is_named_and_a_while_after() -> None:
    """The file of the contract stays through many renewals, and through the next contract; then it goes."""
    body = of(BROKERS, 1)
    for generation, named in [(2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 6), (8, 6), (9, 6), (10, 6)]:
        logins = Logins(keeps=(keystore_file(named),))
        body = leaf_object(wanted(), BROKERS, leaf(BROKERS), KNOWN.pem, generation, stored(body), 0, logins)
        assert keystore_file(named) in files_of(body, "keystore-")
        assert keystore_file(1) in files_of(body, "keystore-")
    for generation in range(11, 40):
        logins = Logins(keeps=(keystore_file(generation - 1),))
        body = leaf_object(wanted(), BROKERS, leaf(BROKERS), KNOWN.pem, generation, stored(body), 0, logins)
    assert files_of(body, "keystore-") == {keystore_file(each) for each in range(35, 40)}


@pytest.mark.parametrize("first", range(1, 6))
def test_files_with_authorities_stay_by_age(first: int) -> None:
    """Whatever their digests are: the files of the last stages stay, and there are never more than a few."""
    pems = [authority(number).certificate.pem for number in range(first, first + 4)]
    stages = [each for old, new in pairwise(pems) for each in (old, together(old, new))]
    body: Json | None = None
    for number, trust in enumerate(stages, start=1):
        before = None if body is None else stored(body)
        body = leaf_object(wanted(), BROKERS, leaf(BROKERS), trust, number, before, 0)
        assert files_of(body, "trust-") == {trust_file(each) for each in stages[max(0, number - 4) : number]}


def test_a_secret_of_an_earlier_version_keeps_its_files() -> None:
    """It has no order of its files: none of those with authorities goes, and what is written has an order."""
    trusts = [authority(number).certificate.pem for number in range(1, 4)]
    old = stored(of(BROKERS), **{trust_file(each): each for each in trusts})
    del old["data"]["named"]
    body = leaf_object(wanted(), BROKERS, leaf(BROKERS), authority(4).certificate.pem, 2, old, 0)
    assert files_of(body, "trust-") >= {trust_file(each) for each in trusts}
    assert texts_of(stored(body), NAME)["named"].endswith(trust_file(authority(4).certificate.pem))


def test_only_files_of_the_operator_are_kept_by_name() -> None:
    """A broker may report any path: no other key is kept for it, and no file is made."""
    old = stored(of(BROKERS), sasl_properties="a password", other="x")
    logins = Logins(keeps=("sasl.properties", "other", "keystore-9.pem"))
    body = leaf_object(wanted(), BROKERS, leaf(BROKERS), KNOWN.pem, 4, old, 0, logins)
    assert not {"sasl.properties", "other", "keystore-9.pem"} & set(body["data"])


def test_other_authorities_have_a_file_too() -> None:
    """A Secret that is made again during a change of authorities has the files of the stages before."""
    other = authority(2).certificate.pem
    body = leaf_object(wanted(), BROKERS, leaf(BROKERS), KNOWN.pem, 1, None, 0, Logins(trusts=(other, "")))
    assert files_of(body, "trust-") == {trust_file(other), trust_file(KNOWN.pem)}
