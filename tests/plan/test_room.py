"""Authorities that the brokers' Secret has no room for: a change to them neither begins nor turns."""

import base64
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any, Final

import pytest
from cryptography import x509
from tests.kit.pki.made import certificate
from tests.model.certificates import (
    copied,
    given_leaf,
    given_material,
    looked,
    of_others,
    recorded,
    secured,
    with_leaf,
)
from tests.model.values import revision, situation

from kafka_quorum.model.actions import ComposeLeaf, DecideRecord, RecordChange
from kafka_quorum.model.bundles import bundle_of, together
from kafka_quorum.model.identity import with_migration
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import BROKERS, LeafSeen, pool
from kafka_quorum.model.migration import AUTHORITY, MigrationKind, Reached, TrustChange
from kafka_quorum.model.names import trust_file
from kafka_quorum.model.permit import Permit, Refusal
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pools import PoolSeen
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.room import ROOM
from kafka_quorum.plan.guards.rule13_authority import may_turn_trust
from kafka_quorum.plan.migrations.engine import HELD, migrations
from kafka_quorum.plan.security.certificates import certificates
from kafka_quorum.resources.secrets import Logins, leaf_object

KIB: Final = 1024
LIMIT: Final = 1024 * KIB
"""Of the data of one Secret, which the API server enforces."""
_UNKNOWN: Final = x509.ObjectIdentifier("1.3.6.1.4.1.99999.1")


@cache
def bundle(name: str, kib: int) -> str:
    """A bundle of about this size, with ten authorities."""
    padding = x509.UnrecognizedExtension(_UNKNOWN, b"x" * (kib * KIB * 3 // 40 - 350))
    made = [certificate(f"{name}-{each}", ca=True, names=(), extensions=(padding,)) for each in range(10)]
    found = together("".join(each.pem for each in made))
    assert abs(len(found) - kib * KIB) < kib * 40
    return found


def with_files(*trusts: str, **more: int) -> LeafSeen:
    """The brokers' Secret, whose newest trust is the first one."""
    sizes = {trust_file(each): len(each) for each in trusts} | {"ca.crt": len(trusts[0])} | more
    return copied(BROKERS, sizes=tuple(sizes.items()), files=frozenset(sizes))


def asked(old: str, new: str, brokers: Knowable[LeafSeen | None] | None = None, **changes: Any) -> Situation:  # noqa: ANN401 - any field
    """A quorum at rest whose issuer gives other authorities."""
    made = secured(trust=old)
    record = recorded(made)
    material = given_material(record, given_trust=Known(value=new), **changes)
    seen = Known(value=with_files(old)) if brokers is None else brokers
    rows = tuple((one, seen if one == BROKERS else each) for one, each in material.leafs)
    return situation(of_others(), looked(record, replace(material, leafs=rows), made), record)


def begins(at_: Situation) -> str:
    """Why the change does not begin, in the words of the one wait that a person ends; empty if it begins."""
    part = migrations(at_)
    if isinstance(part.exclusive, DecideRecord):
        assert part.exclusive.change is RecordChange.MIGRATION_BEGUN
        return ""
    (wait,) = part.waits
    assert (wait.reason, wait.severity) == (HELD, Severity.HELD)
    return wait.message


@pytest.mark.parametrize("kib", [169, 255])
def test_a_change_without_room_does_not_begin(kib: int) -> None:
    """The sentence says what is too large, how large it may be, and what to do."""
    words = begins(asked(bundle("a", kib), bundle("b", kib)))
    assert "Secret alpha-brokers-tls would need" in words
    assert f"{ROOM // KIB} KiB is the most. Give fewer or smaller authorities" in words


def test_from_a_large_bundle_to_a_small_one() -> None:
    """A quorum that trusts the largest bundle that may be given can change to a small one, and from that to another."""
    large, small, other = bundle("a", 255), bundle("b", 20), bundle("c", 20)
    assert begins(asked(large, small)) == ""
    assert begins(asked(small, other, Known(value=with_files(small, large, together(large, small))))) == ""


def test_what_brokers_may_still_load_counts() -> None:
    """Files that earlier changes left are kept, and take room. So do those of a Secret that was not read."""
    old, new, earlier = bundle("a", 90), bundle("b", 90), bundle("c", 250)
    assert begins(asked(old, new)) == ""
    assert begins(asked(old, new, Known(value=with_files(old, earlier, together(old, earlier))))) != ""
    assert begins(asked(old, new, Known(value=with_files(old, keystore=500 * KIB)))) != ""
    assert begins(asked(old, new, Known(value=None))) == ""
    assert begins(asked(bundle("a", 60), bundle("b", 60), Unknown(reason="not read"))) == ""
    assert begins(asked(bundle("a", 120), bundle("b", 120), Unknown(reason="not read"))) != ""


def test_the_secret_of_a_pool_needs_room_too() -> None:
    """A pool's Secret has the same files as the brokers' one, and may have kept others."""
    old, new, earlier = bundle("a", 90), bundle("b", 90), bundle("c", 250)
    seen = PoolSeen(name="events", uid="u1", names=())
    at_ = asked(old, new, pools=Known(value=(seen,)))
    material = at_.observed.material
    assert material is not None
    full = Known(value=with_files(old, earlier, together(old, earlier)))
    rows = (*material.leafs, (pool(seen), full))
    words = begins(replace(at_, observed=replace(at_.observed, material=replace(material, leafs=rows))))
    assert "alpha-brokers-tls.events" in words


def test_a_secret_with_room_for_it_is_written() -> None:
    """Round after round of changes that may begin: the Secret stays below the limit of the API server."""
    spec, trusts = of_others(), [bundle(name, 80) for name in "abcdef"]
    body = leaf_object(spec, BROKERS, given_leaf(BROKERS), trusts[0], 1, None, 0)
    for old, new in pairwise(trusts):
        both = together(old, new)
        assert begins(asked(old, new, Known(value=read(body)))) == ""
        for trust, named in ((both, (old, both)), (new, (old, both, new)), (new, (new,))):
            logins = Logins(keeps=tuple(map(trust_file, named)), trusts=() if named == (new,) else (old, both))
            body["metadata"]["resourceVersion"] = "1"
            body = leaf_object(spec, BROKERS, given_leaf(BROKERS), trust, 1, body, 0, logins)
            assert sum(len(base64.b64decode(each)) for each in body["data"].values()) < LIMIT


def read(body: Any) -> LeafSeen:  # noqa: ANN401 - an object
    """This Secret as a look has it."""
    sizes = tuple((key, len(base64.b64decode(each))) for key, each in body["data"].items())
    return copied(BROKERS, sizes=sizes)


def test_a_change_turns_only_to_what_has_room() -> None:
    """It turns back, which needs nothing more, also where there is little room; to a third bundle only if it fits."""
    old, new = bundle("a", 140), bundle("b", 140)

    def turning(to: str) -> Permit[Any] | Refusal:
        both = together(old, new)
        made = secured(trust=both)
        change = TrustChange(before=old, after=new)
        stage = AUTHORITY.stages[0].name
        reached = Reached(
            kind=MigrationKind.AUTHORITY, stage=stage, release=made.release, image=made.image, trust=change
        )
        record = replace(with_migration(recorded(made), reached), applied_revision=revision(made).name)
        seen = with_leaf(
            given_material(record, given_trust=Known(value=to)), BROKERS, with_files(both, old, k=99 * KIB)
        )
        return may_turn_trust(situation(of_others(), looked(record, seen, made), record))

    assert turning(old).allowed
    refused = turning(bundle("c", 100))
    assert isinstance(refused, Refusal)
    assert "would need" in refused.reason


def test_a_full_secret_keeps_no_certificate_from_its_renewal() -> None:
    """Authorities without room for a change are trusted as before, and certificates are renewed."""
    at_ = asked(bundle("a", 255), bundle("b", 255))
    material = at_.observed.material
    assert material is not None
    missing = replace(at_, observed=replace(at_.observed, material=with_leaf(material, BROKERS, None)))
    assert begins(missing) != ""
    assert bundle_of(missing.runtime.trust).fingerprints
    sources = [
        (one, Known(value=replace(each.value, authorities=frozenset(bundle_of(bundle("a", 255)).fingerprints))))
        for one, each in material.sources
        if isinstance(each, Known)
    ]
    seen = replace(with_leaf(material, BROKERS, None), sources=tuple(sources))
    made = certificates(replace(at_, observed=replace(at_.observed, material=seen))).actions
    assert BROKERS in {one.holder for one in made if isinstance(one, ComposeLeaf)}
