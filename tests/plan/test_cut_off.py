"""The way out when the authority's key is lost and the certificates end, and what is no reason for it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.model.certificates import (
    AUTHORITY_S,
    LEAF_S,
    authority_seen,
    leaf_seen,
    looked,
    material,
    recorded,
    secured,
    served,
    wanted,
    with_leaf,
)
from tests.model.values import IDS, LOOKED_S, NOW_S, SILENT, situation
from tests.plan.test_authority import BOTH, NEW, OLD, TRUSTED, at, seen_at

from kafka_quorum.model.actions import ComposeLeaf, MakeAuthority
from kafka_quorum.model.bundles import bundle_of
from kafka_quorum.model.cutoff import accept_nobody
from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.handshakes import Failure, NotServed
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import Material, OwnAuthorities, controller
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.security.certificates import certificates

RECORD = recorded()
LOST = Known(value=OwnAuthorities(present=authority_seen(2), version="9"))
ENDED_S = NOW_S + LEAF_S
EXPIRED = NotServed(failure=Failure.EXPIRED, why="it has expired")


def ended(seen: Material, *made: Runtime, record: IdentityRecord = RECORD, **changes: Any) -> Situation:  # noqa: ANN401
    """No leader answers when every certificate has ended."""
    fields: dict[str, Any] = {"quorum": SILENT, "taken_at_s": LOOKED_S} | changes
    look = replace(looked(record, seen, *made), **fields)
    return situation(wanted(), look, record, now_s=ENDED_S)


def signers(of: Situation) -> set[str]:
    """The authorities that sign certificates of controllers now."""
    return {
        one.authority for one in certificates(of).actions if isinstance(one, ComposeLeaf) and one.holder.node_id > 0
    }


def trusts(of: Situation) -> frozenset[str]:
    """What is trusted next."""
    return frozenset(bundle_of(of.runtime.trust).fingerprints)


ALL = frozenset({authority_seen(1).sha256, authority_seen(2).sha256})
SIGNS = {authority_seen(2).sha256}


def test_a_lost_key_and_certificates_that_have_ended() -> None:
    """The wanted authority joins the one whose key is gone, and signs at once."""
    found = ended(material(RECORD, own=LOST))
    assert trusts(found) == ALL
    assert signers(found) == SIGNS


def test_it_goes_on_when_a_leader_is_found() -> None:
    """When the first controllers are back, the last one still gets the same trust and its certificate."""
    seen = material(RECORD, own=LOST)
    for node_id in IDS[:2]:
        seen = with_leaf(seen, controller(node_id), leaf_seen(controller(node_id), of=2, at_s=ENDED_S, generation=2))
    look = looked(RECORD, seen)
    found = situation(wanted(), look, RECORD, now_s=ENDED_S)
    assert trusts(found) == ALL
    assert signers(found) == SIGNS


def _valid(of: Material) -> Material:
    third = controller(IDS[2])
    return with_leaf(of, third, leaf_seen(third, at_s=ENDED_S))


def _unread(of: Material) -> Material:
    unread = Unknown(reason="it was not read")
    return replace(of, leafs=tuple((one, unread if one == controller(IDS[2]) else seen) for one, seen in of.leafs))


@pytest.mark.parametrize(
    "found",
    [
        ended(_valid(material(RECORD, own=LOST))),
        ended(_unread(material(RECORD, own=LOST))),
        ended(with_leaf(material(RECORD, own=LOST), controller(IDS[2]), None)),
        ended(material(RECORD, own=LOST), quorum=looked(RECORD, None).quorum),
        ended(material(RECORD, own=Unknown(reason="it was not read"))),
        ended(material(RECORD, own=Known(value=OwnAuthorities()))),
        ended(material(RECORD)),
        ended(
            material(RECORD, own=Known(value=OwnAuthorities(present=authority_seen(1), following=authority_seen(2))))
        ),
    ],
    ids=("one is valid", "one is unread", "one is lost", "a leader", "unread key", "no key", "the key", "both keys"),
)
def test_without_certainty_nothing_else_is_trusted(found: Situation) -> None:
    """What may be valid, a leader, and a key that is still there keep the trust as it is."""
    assert trusts(found) == {authority_seen(1).sha256}
    assert not signers(found) & SIGNS


@pytest.mark.parametrize(("age_s", "proven"), [(0.0, True), (31.0, False)])
def test_a_lost_secret_needs_a_handshake(age_s: float, proven: bool) -> None:  # noqa: FBT001 - a column
    """Without its Secret, a handshake of the last half minute shows that a controller's certificate has ended."""
    shown = (replace(served(IDS[2], handshake=EXPIRED), at_s=LOOKED_S - age_s),)
    found = ended(with_leaf(material(RECORD, own=LOST, shown=shown), controller(IDS[2]), None))
    assert (trusts(found) == ALL) is proven


def test_nothing_is_known_without_secrets() -> None:
    """A look without them, or a quorum without trust, is never cut off."""
    look = replace(looked(RECORD, None), quorum=SILENT)
    assert not accept_nobody(look, RECORD, OLD, ENDED_S)
    assert not accept_nobody(replace(look, material=material(RECORD, own=LOST)), RECORD, "", ENDED_S)


@pytest.mark.parametrize(
    ("age_s", "made", "signed"),
    [
        (LEAF_S, TRUSTED[BOTH], SIGNS),
        (LEAF_S * 0.9, TRUSTED[BOTH], SIGNS),
        (LEAF_S * 0.7, TRUSTED[BOTH], set()),
        (LEAF_S * 0.9, OLD, set()),
    ],
    ids=("ended", "ends before a roll could follow", "lives", "a controller trusts the earlier one only"),
)
def test_a_lost_key_while_both_are_trusted(age_s: float, made: str, signed: set[str]) -> None:
    """Brokers that do not follow keep the new authority from signing only until the certificates end."""
    record = at(BOTH)
    seen = replace(seen_at(BOTH, record), own=LOST)
    look = looked(record, seen, secured(trust=TRUSTED[BOTH]), secured(trust=made))
    pods = (replace(look.pods[0], revision=look.revisions[1].name), *look.pods[1:])
    found = situation(wanted(), replace(look, pods=pods), record, now_s=NOW_S + age_s)
    assert signers(found) == signed


def test_a_clock_that_is_ahead_destroys_no_authority() -> None:
    """A leader, or a certificate that is served, shows that the authority has not ended."""
    late_s = NOW_S + AUTHORITY_S + 60
    seen = material(RECORD)
    look = looked(RECORD, seen)
    shown = replace(look, quorum=SILENT, material=replace(seen, shown=tuple(served(each) for each in IDS)))
    for each, replaced in ((look, False), (shown, False), (replace(look, quorum=SILENT), True)):
        found = situation(wanted(), each, RECORD, now_s=late_s)
        made = [one for one in certificates(found).actions if isinstance(one, MakeAuthority) and not one.following]
        assert bool(made) is replaced


def test_a_leader_keeps_what_is_trusted() -> None:
    """An authority that has ended by the operator's clock stays trusted while a leader answers."""
    seen = material(RECORD, own=LOST)
    late_s = NOW_S + AUTHORITY_S + 60
    assert situation(wanted(), looked(RECORD, seen), RECORD, now_s=late_s).runtime.trust == OLD
    silent = replace(looked(RECORD, seen), quorum=SILENT)
    assert situation(wanted(), silent, RECORD, now_s=late_s).runtime.trust == NEW
