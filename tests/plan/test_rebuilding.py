"""The record that follows from the copies: generations, retired disks, releases, revisions and modes."""

from dataclasses import replace

import pytest
from tests.golden.facts import mentions
from tests.model.values import (
    CLUSTER,
    IDS,
    NO_STATUS,
    OTHER_CLUSTER,
    at_rest,
    bound,
    claim,
    claim_uid,
    desired,
    directory,
    key,
    mirrored,
    node,
    revision,
    running,
    runtime,
    with_the_claim,
)
from tests.plan.reading import only, planned, wait

from kafka_quorum.model.actions import WriteRecord
from kafka_quorum.model.desired import BootstrapMode, Desired
from kafka_quorum.model.identity import (
    BootstrapPhase,
    FormatMode,
    FormerNode,
    IdentityRecord,
    mint,
    with_claim,
    with_disk_lost,
    with_report,
    without_node,
)
from kafka_quorum.model.names import RETIRED
from kafka_quorum.model.observed import Observed, Revision
from kafka_quorum.plan.facts.formats import format_of


def rebuilt(look: Observed) -> IdentityRecord:
    """The record that the plan rebuilds for a look without one."""
    return only(planned(replace(look, record=None)), WriteRecord).record


@pytest.mark.parametrize("mode", sorted(set(BootstrapMode) - {BootstrapMode.ADOPT}, key=str))
def test_forced_start_counts_pre_made_disks_as_formatted(mode: BootstrapMode) -> None:
    """If a copy shows Started, exactly the disks with a pre-made directory id count as formatted."""
    record = bound(mode=mode)
    write = only(planned(at_rest(record, status=mirrored(record, phase=BootstrapPhase.STARTED))), WriteRecord)
    assert write.record.phase is BootstrapPhase.STARTED
    assert [of.formatted for of in write.record.nodes] == [of.directory_id is not None for of in record.nodes]


def test_two_clusters_are_both_named() -> None:
    """The cluster ids of two clusters are listed in order, so that a person can choose."""
    said = planned(replace(with_the_claim(at_rest(), 3000, cluster_id=OTHER_CLUSTER), record=None))
    assert mentions(wait(said, "IdentityLost").message, ", ".join(sorted((CLUSTER, OTHER_CLUSTER))))


def test_release_is_the_oldest_that_a_revision_names() -> None:
    """Releases compare as numbers, and the spec's newer release is not the one of the format."""
    older, newer = revision(runtime(release="4.9.0")), revision(runtime(release="4.10.0"), number=2)
    look = replace(at_rest(revisions=(newer, older)), record=None)
    said = planned(look, desired(runtime=runtime(release="4.11.0")))
    assert only(said, WriteRecord).record.format.release == "4.9.0"


def test_without_a_revision_the_release_is_the_specs() -> None:
    """Without a revision, the release of the format is the spec's."""
    said = planned(replace(at_rest(revisions=()), record=None), desired(runtime=runtime(release="4.5.0")))
    assert only(said, WriteRecord).record.format.release == "4.5.0"


@pytest.mark.parametrize("most", [0, 1])
def test_revision_is_what_most_pods_run(most: int) -> None:
    """The revision that two of three pods have is the applied one, whatever its name and number are."""
    both = (revision(), revision(runtime(heap="1Gi"), number=2))
    look = at_rest(revisions=both)
    pods = (
        replace(look.pods[0], revision=both[1 - most].name),
        *(replace(one, revision=both[most].name) for one in look.pods[1:]),
    )
    assert rebuilt(replace(look, pods=pods)).applied_revision == both[most].name


def test_pods_of_an_unknown_revision_tell_nothing() -> None:
    """A revision that is gone is not applied, even if pods name it; the newest present one is."""
    look = at_rest()
    pods = tuple(replace(one, revision="alpha-gone") for one in look.pods)
    assert rebuilt(replace(look, pods=pods)).applied_revision == revision().name


def test_no_revision_at_all() -> None:
    """Without any revision none is applied; it is created from the spec later."""
    assert rebuilt(at_rest(revisions=(), pods=())).applied_revision is None


def test_claims_that_are_gone_were_the_first() -> None:
    """A controller that only the status lists, without a retired claim, had a claim of the first generation."""
    record = rebuilt(at_rest(claims=(), pods=()))
    assert [of.generation for of in record.nodes] == [1, 1, 1]


def test_behind_the_barrier_claims_alone_found_nothing() -> None:
    """Without a list of first voters, no controller after the barrier is rebuilt as a first voter."""
    record = rebuilt(at_rest(status=NO_STATUS))
    assert {of.mode for of in record.nodes} == {FormatMode.NO_INITIAL_CONTROLLERS}
    assert record.initial == ()


def test_before_the_barrier_claims_alone_tell_newcomers_from_first_voters() -> None:
    """Before the barrier, a controller with a pre-made directory id is a first voter; one without joins later."""
    record = bound(mode=BootstrapMode.STANDALONE)
    again = rebuilt(at_rest(record, status=NO_STATUS))
    assert [of.mode for of in again.nodes] == [of.mode for of in record.nodes]
    assert again.initial == (key(3000),)


def unreported() -> IdentityRecord:
    """The record of a static quorum whose disks have not reported their directory ids yet."""
    unknown = [replace(key(of), directory_id=None) for of in IDS]
    record = mint(CLUSTER, format_of(desired(bootstrap=BootstrapMode.STATIC)), unknown, ())
    for of in IDS:
        record = with_claim(record, of, claim_uid(of))
    return record


def twice_lost() -> IdentityRecord:
    """Controllers 3001 and 3002 are removed; 3002 had lost its first disk before."""
    lost = with_report(with_disk_lost(running(), IDS[2], new_claim=True), IDS[2], directory(3002, 2))
    return without_node(without_node(lost, IDS[2]), IDS[1])


def test_first_disk_joins_what_the_retired_claim_tells() -> None:
    """The last disk, from the retired claim, and the first disk, from the list of first voters, both stay retired."""
    record = twice_lost()
    second = replace(node(running(), 3002), generation=2, directory_id=directory(3002, 2), claim_uid="claim-3002-2")
    left = (
        claim(running(), node(running(), 3001), phase=RETIRED),
        claim(running(), second, phase=RETIRED),
    )
    look = at_rest(record)
    former = {each.node_id: each for each in rebuilt(replace(look, claims=(*look.claims, *left))).former}
    assert former == {each.node_id: each for each in record.former}
    assert former[IDS[2]] == FormerNode(node_id=IDS[2], generation=2, retired=(directory(3002), directory(3002, 2)))


def test_first_disks_of_several_removed_controllers() -> None:
    """Without any claim, the list of first voters still shows the directory ids that never run again."""
    record = without_node(without_node(running(), IDS[2]), IDS[1])
    former = rebuilt(at_rest(record)).former
    assert {each.node_id: (each.generation, each.retired) for each in former} == {
        3001: (1, (directory(3001),)),
        3002: (1, (directory(3002),)),
    }


def test_lost_first_disks_of_several_controllers() -> None:
    """Two controllers on their second disks each keep their own first disk as retired."""
    record = running()
    for node_id in IDS[1:]:
        record = with_report(with_disk_lost(record, node_id, new_claim=False), node_id, directory(node_id, 2))
    assert rebuilt(at_rest(record)).nodes == record.nodes


# Static quorums

STATIC = desired(bootstrap=BootstrapMode.STATIC)
PINNED = revision(runtime(static_voters=IDS))


def of_a_spec(look: Observed, spec: Desired) -> IdentityRecord:
    """The record that the plan rebuilds for a look without one, by this spec."""
    return only(planned(replace(look, record=None), spec), WriteRecord).record


@pytest.mark.parametrize(
    ("revisions", "spec", "static"),
    [
        ((PINNED,), desired(), True),
        ((PINNED,), STATIC, True),
        ((revision(),), desired(), False),
        ((revision(),), STATIC, False),
        ((), desired(), False),
        ((), STATIC, True),
    ],
    ids=["static", "static by both", "dynamic", "dynamic by now", "no revision", "no revision, static spec"],
)
def test_static_is_what_pods_are_made_from(revisions: tuple[Revision, ...], spec: Desired, *, static: bool) -> None:
    """A record is rebuilt as static if its pods have static voters; without any revision the spec's mode decides."""
    assert of_a_spec(at_rest(revisions=revisions, pods=()), spec).static is static


def test_a_lost_first_disk_of_a_static_quorum() -> None:
    """Behind the barrier, a static controller on its second disk is rebuilt as a newcomer, the others as first ones."""
    lost = with_report(with_disk_lost(running(), IDS[1], new_claim=False), IDS[1], directory(3001, 2))
    again = of_a_spec(at_rest(lost, revisions=(PINNED,)), STATIC)
    assert [of.mode for of in again.nodes] == [
        FormatMode.STATIC,
        FormatMode.NO_INITIAL_CONTROLLERS,
        FormatMode.STATIC,
    ]


def test_first_voters_of_a_static_quorum_that_forms() -> None:
    """Before the barrier, a first voter stays one although no disk has reported its directory id yet."""
    record = unreported()
    again = of_a_spec(at_rest(record), STATIC)
    assert (again.phase, again.initial) == (BootstrapPhase.FORMATTING, record.initial)


def test_first_voters_without_a_directory_id_behind_the_barrier() -> None:
    """Behind the barrier, a controller that only the list of first voters names needs a directory id there."""
    look = at_rest(unreported(), status=mirrored(unreported(), phase=BootstrapPhase.STARTED))
    gone = replace(look.status, controllers=look.status.controllers[:2])
    again = of_a_spec(replace(look, claims=look.claims[:2], status=gone), STATIC)
    assert [of.node_id for of in again.initial] == list(IDS[:2])
