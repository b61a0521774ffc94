"""Adoption: disks of a quorum of another origin report their own identity, and are never written to."""

from dataclasses import replace

import pytest
from tests.golden.facts import mentions
from tests.model.values import (
    CLUSTER,
    IDS,
    NAME,
    at_rest,
    claim,
    desired,
    key,
    minted,
    mirrored,
    node,
    nothing,
    pod,
    revision,
)
from tests.plan.reading import degraded, only, planned, verdict, wait

from kafka_quorum.model.actions import CreateClaim, MintIdentity
from kafka_quorum.model.desired import BootstrapMode
from kafka_quorum.model.identity import (
    BootstrapPhase,
    FormatMode,
    IdentityRecord,
    mint,
    with_claim,
    with_report,
    without_claim,
)
from kafka_quorum.model.ids import ClusterID, DirectoryID
from kafka_quorum.model.observed import Claim, Observed
from kafka_quorum.plan.facts.formats import format_of

WANTED = desired(bootstrap=BootstrapMode.ADOPT, cluster_id=ClusterID(CLUSTER), node_ids=IDS)


def adopted() -> IdentityRecord:
    """The record as adoption creates it: node ids, and no directory id yet."""
    unknown = [replace(key(node_id), directory_id=None) for node_id in IDS]
    return mint(ClusterID(CLUSTER), format_of(WANTED), unknown, ())


def prepared() -> tuple[Claim, ...]:
    """Three claims as a person prepares them: names and labels, and nothing of ours on them."""
    record = minted()
    bare = (claim(record, node(record, node_id)) for node_id in IDS)
    return tuple(replace(one, cluster_id=None, directory_id=None, phase=None) for one in bare)


def look(claims: tuple[Claim, ...]) -> Observed:
    """A look that has only these claims."""
    return replace(nothing(), claims=claims)


def test_all_disks_at_once() -> None:
    """When every claim is there, the record is created with the spec's cluster id and only the listed controllers."""
    action = only(planned(look(prepared()), WANTED), MintIdentity)
    assert (action.cluster_id, action.initial, action.others) == (CLUSTER, IDS, ())
    assert action.format.mode is BootstrapMode.ADOPT


@pytest.mark.parametrize(
    ("observed", "named"),
    [
        (look(prepared()[1:]), f"{NAME}-3000-g1"),
        (look((replace(prepared()[0], deleting=True), *prepared()[1:])), f"{NAME}-3000-g1"),
        (look((*prepared(), replace(prepared()[0], name=f"{NAME}-3007-g1"))), f"{NAME}-3007-g1"),
        (
            replace(look(prepared()), pods=(pod(minted(), node(minted(), 3000)),)),
            f"{NAME}-3000-g1",
        ),
        (nothing(), f"{NAME}-3000-g1 {NAME}-3001-g1 {NAME}-3002-g1"),
    ],
    ids=["one missing", "one going", "one too many", "a pod", "none"],
)
def test_nothing_less(observed: Observed, named: str) -> None:
    """Missing disks, other disks, or disks that are in use create no identity."""
    said = planned(observed, WANTED)
    assert said.actions == ()
    assert mentions(wait(said, "AdoptWaits").message, named)
    assert not verdict(said, "8-adopt").allowed


@pytest.mark.parametrize("copies", ["both", "status", "claims"])
def test_a_known_quorum_is_rebuilt_instead(copies: str) -> None:
    """Nothing is adopted where the status or a claim carries our identity: this quorum was adopted before."""
    observed = replace(at_rest(), record=None)
    if copies == "status":
        observed = replace(observed, claims=tuple(replace(one, cluster_id=None) for one in observed.claims))
    if copies == "claims":
        observed = replace(observed, status=replace(observed.status, cluster_id=None))
    said = planned(observed, WANTED)
    assert not [one for one in said.actions if isinstance(one, MintIdentity)]
    assert "8-adopt" not in {one.rule for one in said.verdicts}


def test_the_record_of_one() -> None:
    """An adopted record is static and has had leaders. A disk's report sets the directory id of its first voter."""
    record = adopted()
    assert record.static
    assert record.had_leader
    assert record.phase is BootstrapPhase.FORMATTING
    told = with_report(record, IDS[0], DirectoryID("AAAAAAAAAAAAAAAAAAAAAw"))
    assert told.node(IDS[0]) is not None
    assert told.initial[0].directory_id == "AAAAAAAAAAAAAAAAAAAAAw"
    assert without_claim(told, IDS[0]).initial[0].directory_id is None
    assert {of.mode for of in record.nodes} == {FormatMode.ADOPTED}


def test_no_claim_is_made_in_place_of_one() -> None:
    """A claim that disappears before its disk was read is not recreated: the new disk would be empty."""
    record = adopted()
    for one in prepared()[1:]:
        record = with_claim(record, one.node_id, one.uid)
    record = replace(record, applied_revision=revision().name)
    observed = replace(look(prepared()[1:]), record=record, status=mirrored(record), revisions=(revision(),))
    said = planned(observed, WANTED)
    assert not [one for one in said.actions if isinstance(one, CreateClaim)]
    assert mentions(wait(said, "AdoptWaits").message, f"{NAME}-3000-g1")
    assert "AdoptWaits" in degraded(said)
