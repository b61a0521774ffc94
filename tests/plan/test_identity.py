"""The identity: minted once, rebuilt from the copies that are left, or stopped with both sides named."""

from dataclasses import replace

import pytest
from tests.golden.facts import mentions
from tests.model.values import (
    CLUSTER,
    IDS,
    NO_STATUS,
    OTHER_CLUSTER,
    UID,
    at_rest,
    bound,
    claim,
    desired,
    directory,
    key,
    mirrored,
    node,
    nothing,
    pod,
    revision,
    running,
    runtime,
    started,
    with_the_claim,
)
from tests.plan.reading import degraded, only, planned, reasons, verdict, wait

from kafka_quorum.model.actions import MintIdentity, RecordChange, WriteRecord
from kafka_quorum.model.desired import BootstrapMode, Desired, FeatureLevel
from kafka_quorum.model.identity import (
    BootstrapPhase,
    FormatMode,
    IdentityRecord,
    with_claim,
    with_disk_lost,
    with_nodes,
    with_report,
    without_node,
)
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import RETIRED
from kafka_quorum.model.observed import Observed, RecordedController

FORMATTING, STARTED = BootstrapPhase.FORMATTING, BootstrapPhase.STARTED


def without_record(observed: Observed) -> Observed:
    """The same look without the identity ConfigMap."""
    return replace(observed, record=None)


def rebuilt(observed: Observed, spec: Desired | None = None) -> IdentityRecord:
    """The record that the plan rebuilds from what is left."""
    write = only(planned(observed, spec), WriteRecord)
    assert write.change is RecordChange.REBUILT
    assert write.record.resource_version == ""
    return write.record


def test_mint_says_what_to_format_with() -> None:
    """A new identity has the release, the levels and the cluster id of the spec."""
    levels = (FeatureLevel(name="metadata.version", level=27),)
    mint = only(planned(nothing(), desired(cluster_id=CLUSTER, features=levels)), MintIdentity)
    assert mint.cluster_id == CLUSTER
    assert (mint.format.release, mint.format.features) == ("4.4.0", levels)


# Conflicts


CONFLICTS = {
    "status cluster id": (at_rest(status=mirrored(running(), cluster_id=OTHER_CLUSTER)), (OTHER_CLUSTER, CLUSTER)),
    "claim cluster id": (with_the_claim(at_rest(), 3001, cluster_id=OTHER_CLUSTER), (OTHER_CLUSTER, CLUSTER)),
    "claim directory id": (
        with_the_claim(at_rest(), 3001, directory_id=directory(3001, 5)),
        (directory(3001, 5), directory(3001)),
    ),
    "claim uid": (with_the_claim(at_rest(), 3001, uid="another"), ("another", "claim-3001-1")),
    "status directory id": (
        at_rest(
            status=mirrored(
                running(),
                controllers=(RecordedController(node_id=IDS[1], directory_id=directory(3001, 5), claim_uid=None),),
            )
        ),
        (directory(3001, 5), directory(3001)),
    ),
    "initial controllers": (
        at_rest(
            status=mirrored(
                running(),
                initial=(RecordedController(node_id=IDS[1], directory_id=directory(3001, 5), claim_uid=None),),
            )
        ),
        (directory(3001, 5), directory(3001)),
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_conflict(case: str) -> None:
    """Copies that contradict each other stop everything, and the message names both sides."""
    observed, named = CONFLICTS[case]
    said = planned(replace(observed, pods=observed.pods[1:]))
    assert said.actions == ()
    message = wait(said, "IdentityConflict").message
    for side in named:
        assert side in message


def test_spec_cluster_id_conflict() -> None:
    """A cluster id in the spec that the volumes do not have stops everything; the message names the field."""
    said = planned(at_rest(), desired(cluster_id=OTHER_CLUSTER))
    assert said.actions == ()
    message = wait(said, "IdentityConflict").message
    assert mentions(message, "spec.clusterID")
    assert OTHER_CLUSTER in message
    assert CLUSTER in message


def test_unreadable_record() -> None:
    """A record that cannot be read stops everything, because it is not the same as no record."""
    said = planned(replace(nothing(), record_fault="ConfigMap alpha-identity holds no identity record"))
    assert said.actions == ()
    assert "alpha-identity" in wait(said, "IdentityUnreadable").message


@pytest.mark.parametrize(
    "copy",
    [
        with_the_claim(at_rest(), 3001, cluster_id=None, directory_id=None, phase=None),
        with_the_claim(at_rest(), 3001, phase=FORMATTING.value),
        at_rest(status=NO_STATUS),
        at_rest(status=mirrored(running(), phase=FORMATTING)),
        at_rest(status=mirrored(running(), controllers=())),
    ],
    ids=["claim bare", "claim lags", "status erased", "status lags", "no controllers"],
)
def test_missing_copies_are_no_conflict(copy: Observed) -> None:
    """A copy that is missing, or whose phase lags, is repaired from the record and stops nothing."""
    said = planned(copy)
    assert degraded(said) == set()
    assert not any(isinstance(action, WriteRecord) for action in said.actions)


def test_copy_of_a_retired_disk_lags() -> None:
    """A status that still names a retired directory id only lags behind the record."""
    lost = with_report(with_disk_lost(running(), IDS[1], new_claim=False), IDS[1], directory(3001, 2))
    old = mirrored(running())
    said = planned(at_rest(lost, status=old, claims=at_rest().claims))
    assert "IdentityConflict" not in reasons(said)


# Started has priority over Formatting


@pytest.mark.parametrize("copy", ["status", "claim", "pod"])
def test_started_beats_formatting(copy: str) -> None:
    """If one copy, or one Kafka pod, shows Started, the record passes the barrier, and nothing else is done."""
    record = replace(started(), phase=FORMATTING)
    look = at_rest(record)
    if copy == "status":
        look = replace(look, status=mirrored(record, phase=STARTED))
    elif copy == "claim":
        look = with_the_claim(look, 3002, phase=STARTED.value)
    else:
        look = replace(look, pods=(pod(record, node(record, 3001)),))
    write = only(planned(look), WriteRecord)
    assert write.record.phase is STARTED
    assert all(of.formatted for of in write.record.nodes)


# An older resource of the same name


@pytest.mark.parametrize("kind", ["claim", "pod", "support", "record"])
def test_older_resource(kind: str) -> None:
    """While objects of an earlier resource are left, the operator waits: it creates nothing and adopts nothing."""
    observed = at_rest(support=())
    if kind == "claim":
        observed = with_the_claim(observed, 3000, owner_uid="uid-of-an-earlier-alpha")
    elif kind == "pod":
        observed = replace(observed, pods=tuple(replace(one, owner_uid="earlier") for one in observed.pods))
    elif kind == "record":
        observed = replace(observed, record_owner_uid="earlier")
    else:
        item = replace(at_rest().support[0], owner_uid="earlier")
        observed = replace(observed, support=(item,))
    said = planned(observed)
    assert said.actions == ()
    assert reasons(said) == {"EarlierResourceEnds"}


def test_older_resource_beats_conflict() -> None:
    """An object of an earlier resource is no conflict, even if it is of another cluster."""
    observed = with_the_claim(at_rest(), 3000, owner_uid="earlier", cluster_id=OTHER_CLUSTER)
    assert reasons(planned(observed)) == {"EarlierResourceEnds"}


def test_own_objects_are_not_older() -> None:
    """An object that this resource owns is not an earlier resource's."""
    observed = with_the_claim(at_rest(), 3000, owner_uid=UID)
    assert "EarlierResourceEnds" not in reasons(planned(observed))


# The record is gone


def test_rebuilt_behind_the_barrier() -> None:
    """The record of a running quorum is rebuilt unchanged from status, claims and pods."""
    record = rebuilt(without_record(at_rest()))
    before = running()
    assert (record.cluster_id, record.phase, record.initial) == (CLUSTER, STARTED, before.initial)
    assert record.nodes == before.nodes
    assert record.applied_revision == before.applied_revision
    assert record.had_leader


def test_rebuilt_says_why_it_did_not_mint() -> None:
    """The refusal of the guard that prevents a second identity is part of the plan."""
    assert not verdict(planned(without_record(at_rest())), "8-mint").allowed


def test_rebuilt_from_claims_alone() -> None:
    """Without the status too, the claims are enough to rebuild a running quorum, and it is not formatted again."""
    record = rebuilt(without_record(at_rest(status=NO_STATUS, pods=(), support=())))
    assert record.phase is STARTED
    assert [of.key for of in record.nodes] == [key(node_id) for node_id in IDS]
    assert all(of.formatted for of in record.nodes)


def test_rebuilt_from_status_alone() -> None:
    """With every claim gone, the record is rebuilt from the status, with the uids of the lost claims."""
    record = rebuilt(without_record(at_rest(claims=(), pods=())))
    assert (record.phase, record.cluster_id) == (STARTED, CLUSTER)
    assert [of.claim_uid for of in record.nodes] == ["claim-3000-1", "claim-3001-1", "claim-3002-1"]


def test_rebuilt_before_the_barrier() -> None:
    """Before the barrier the pre-made keys are rebuilt unchanged."""
    record = rebuilt(without_record(at_rest(bound())))
    assert record.phase is FORMATTING
    assert record.initial == bound().initial
    assert record.nodes == bound().nodes


def test_rebuilt_from_claims_before_the_barrier() -> None:
    """Before the barrier the claims alone are enough to rebuild the pre-made keys."""
    record = rebuilt(without_record(at_rest(bound(), status=NO_STATUS)))
    assert record.phase is FORMATTING
    assert record.initial == bound().initial


@pytest.mark.parametrize("phase", [FORMATTING, STARTED])
def test_rebuilt_standalone(phase: BootstrapPhase) -> None:
    """Controllers that join a standalone quorum are rebuilt as newcomers, not as first voters."""
    record = bound(mode=BootstrapMode.STANDALONE)
    if phase is STARTED:
        record = started(mode=BootstrapMode.STANDALONE)
    again = rebuilt(without_record(at_rest(record)))
    assert again.phase is phase
    assert again.initial == (key(3000),)
    assert again.format.mode is BootstrapMode.STANDALONE
    assert [of.mode for of in again.nodes] == [
        FormatMode.INITIAL_CONTROLLERS,
        FormatMode.NO_INITIAL_CONTROLLERS,
        FormatMode.NO_INITIAL_CONTROLLERS,
    ]


def test_rebuilt_without_a_status_while_static() -> None:
    """The first claims of a static quorum are those of its voters: their controllers may start again."""
    voters = runtime(static_voters=running().node_ids)
    look = without_record(at_rest(status=NO_STATUS, revisions=(revision(voters),)))
    look = replace(look, pods=tuple(replace(one, revision=revision(voters).name) for one in look.pods))
    record = rebuilt(look, desired(bootstrap=BootstrapMode.STATIC))
    assert record.static
    assert {one.mode for one in record.nodes} == {FormatMode.STATIC}
    second = replace(node(running(), 3001), generation=2, claim_uid="claim-3001-2")
    look = replace(look, claims=(*look.claims, claim(running(), second)))
    again = rebuilt(look, desired(bootstrap=BootstrapMode.STATIC))
    assert node(again, 3001).mode is FormatMode.NO_INITIAL_CONTROLLERS


def test_rebuilt_after_a_lost_disk() -> None:
    """A first voter with a lost, not yet reformatted disk is rebuilt as a newcomer."""
    lost = with_disk_lost(running(), IDS[1], new_claim=False)
    look = at_rest(lost, claims=tuple(claim(lost, of) for of in lost.nodes))
    record = rebuilt(without_record(look))
    assert (node(record, 3001).mode, node(record, 3001).formatted) == (FormatMode.NO_INITIAL_CONTROLLERS, False)


def test_rebuilt_after_a_replaced_disk() -> None:
    """A first voter on a replaced disk keeps its new directory id; the list of first voters keeps the old one."""
    lost = with_report(with_disk_lost(running(), IDS[1], new_claim=False), IDS[1], directory(3001, 2))
    record = rebuilt(without_record(at_rest(lost)))
    assert node(record, 3001).directory_id == directory(3001, 2)
    assert record.initial == running().initial


def test_rebuilt_takes_the_newest_claim() -> None:
    """If a controller has claims of two generations, the rebuilt record has the newer one."""
    second = replace(node(running(), 3001), generation=2, claim_uid="claim-3001-2")
    look = at_rest(status=NO_STATUS)
    look = replace(look, claims=(*look.claims, claim(running(), second)))
    assert node(rebuilt(without_record(look)), 3001).claim_uid == "claim-3001-2"


def test_rebuilt_keeps_what_most_pods_run() -> None:
    """The applied revision is the one of most pods, not the newest."""
    newer = revision(runtime(heap="1Gi"), number=2)
    look = at_rest()
    pods = (replace(look.pods[0], revision=newer.name), *look.pods[1:])
    record = rebuilt(without_record(replace(look, pods=pods, revisions=(revision(), newer))))
    assert record.applied_revision == revision().name


def test_rebuilt_without_pods_takes_the_newest_revision() -> None:
    """Without pods the newest revision is the applied one."""
    newer = revision(runtime(heap="1Gi"), number=2)
    record = rebuilt(without_record(at_rest(pods=(), revisions=(newer, revision()))))
    assert record.applied_revision == newer.name


@pytest.mark.parametrize(
    ("look", "named"),
    [
        (with_the_claim(at_rest(), 3000, cluster_id=OTHER_CLUSTER), f"{CLUSTER} {OTHER_CLUSTER}"),
        (
            with_the_claim(at_rest(), 3000, directory_id=directory(3000, 2)),
            f"{directory(3000, 2)} {directory(3000)}",
        ),
        (
            replace(
                at_rest(status=NO_STATUS),
                claims=tuple(replace(one, cluster_id=None) for one in at_rest().claims),
            ),
            "",
        ),
        (at_rest(status=NO_STATUS, claims=()), ""),
    ],
    ids=["two clusters", "two directory ids", "bare claims", "pods alone"],
)
def test_not_rebuilt(look: Observed, named: str) -> None:
    """Copies that do not give one identity rebuild nothing, and nothing is formatted."""
    said = planned(without_record(look))
    assert said.actions == ()
    assert mentions(wait(said, "IdentityLost").message, named)
    assert not verdict(said, "8-mint").allowed


def test_adopted_by_a_new_resource() -> None:
    """A resource that is recreated over retained claims finds its old quorum, by the record or by the claims."""
    anew = desired(uid="uid-of-alpha-again")
    look = at_rest(status=NO_STATUS, pods=(), support=(), revisions=())
    kept = planned(look, anew)
    assert degraded(kept) == set()
    assert not any(isinstance(action, MintIdentity) for action in kept.actions)
    claims_alone = planned(without_record(look), anew)
    assert only(claims_alone, WriteRecord).record.cluster_id == CLUSTER


def test_invalid_spec_rebuilds_too() -> None:
    """A lost record is rebuilt even while the spec is invalid, because this is a repair."""
    said = planned(without_record(at_rest()), repair_only=True)
    assert only(said, WriteRecord).change is RecordChange.REBUILT


def test_exactly_one_record_comes_of_it() -> None:
    """A rebuilt record agrees with the copies that it was rebuilt from: the next look plans nothing."""
    record = replace(rebuilt(without_record(at_rest())), resource_version="2")
    assert planned(at_rest(record)).actions == ()


def test_more_nodes_than_claims() -> None:
    """A controller that only the status lists is part of the rebuilt record."""
    status = mirrored(
        running(),
        controllers=(
            *mirrored(running()).controllers,
            RecordedController(node_id=NodeID(3003), directory_id=None, claim_uid=None),
        ),
    )
    record = rebuilt(without_record(at_rest(status=status)))
    assert record.node_ids == (*IDS, 3003)
    assert not node(record, 3003).formatted


def test_rebuilt_after_a_lost_disk_remembers_it() -> None:
    """The rebuilt record finds the directory id of a lost disk in the list of first voters, so it never runs again."""
    lost = with_disk_lost(running(), IDS[1], new_claim=False)
    assert rebuilt(without_record(at_rest(lost))).nodes == lost.nodes
    again = with_report(lost, IDS[1], directory(3001, 2))
    assert rebuilt(without_record(at_rest(again))).nodes == again.nodes


SMALLER = without_node(running(), IDS[2])


@pytest.mark.parametrize("retained", [True, False])
def test_rebuilt_after_a_removal(*, retained: bool) -> None:
    """A removed controller stays removed, with or without its claim, and its directory id stays retired."""
    look = at_rest(SMALLER)
    if retained:
        left = claim(running(), node(running(), 3002), phase=RETIRED)
        look = replace(look, claims=(*look.claims, left))
    record = rebuilt(without_record(look))
    assert record.node_ids == IDS[:2]
    assert record.nodes == SMALLER.nodes
    assert record.former == SMALLER.former


def test_rebuilt_after_a_removal_and_a_return() -> None:
    """A controller that returned has its present claim, and the retired claim shows its retired directory id."""
    again = with_report(with_claim(with_nodes(SMALLER, [IDS[2]]), IDS[2], "claim-3002-2"), IDS[2], directory(3002, 2))
    look = at_rest(again)
    left = claim(running(), node(running(), 3002), phase=RETIRED)
    record = rebuilt(without_record(replace(look, claims=(left, *look.claims))))
    of = node(record, 3002)
    assert (of.generation, of.directory_id, of.retired) == (2, directory(3002, 2), (directory(3002),))
    assert record.former == ()


def test_rebuilt_from_retired_claims_and_several_losses() -> None:
    """Every retired claim of a removed controller counts: the highest generation, and all directory ids."""
    of = node(running(), 3002)
    first = claim(running(), of, phase=RETIRED)
    second = claim(running(), replace(of, generation=2, directory_id=directory(3002, 2)), phase=RETIRED)
    look = at_rest(SMALLER)
    (former,) = rebuilt(without_record(replace(look, claims=(*look.claims, second, first)))).former
    assert (former.node_id, former.generation) == (3002, 2)
    assert set(former.retired) == {directory(3002), directory(3002, 2)}


def test_retired_claim_of_a_lost_node_is_not_taken_up() -> None:
    """While a controller on a lost Kubernetes node has no new claim yet, its retired claim is not used again."""
    lost = with_disk_lost(running(), IDS[2], new_claim=True)
    left = claim(running(), node(running(), 3002), phase=RETIRED)
    look = at_rest(lost)
    of = node(rebuilt(without_record(replace(look, claims=(*look.claims, left)))), 3002)
    assert (of.generation, of.claim_uid, of.directory_id) == (2, None, None)
    assert of.retired == (directory(3002),)


def test_copies_that_name_what_the_id_had_before_only_lag() -> None:
    """For a controller that returned, the copies of its earlier disk are no conflict."""
    again = with_report(with_claim(with_nodes(SMALLER, [IDS[2]]), IDS[2], "claim-3002-2"), IDS[2], directory(3002, 2))
    look = at_rest(again, status=mirrored(running()))
    left = claim(running(), node(running(), 3002), phase=RETIRED)
    said = planned(replace(look, claims=(*look.claims, left)))
    assert "IdentityConflict" not in degraded(said)


def test_static_format_has_no_kraft_version() -> None:
    """A static quorum is created at kraft.version 0, whatever level the spec lists."""
    levels = (FeatureLevel(name="kraft.version", level=1), FeatureLevel(name="metadata.version", level=27))
    static = only(planned(nothing(), desired(bootstrap=BootstrapMode.STATIC, features=levels)), MintIdentity)
    assert static.format.features == levels[1:]
    assert only(planned(nothing(), desired(features=levels)), MintIdentity).format.features == levels


@pytest.mark.parametrize(
    ("in_status", "conflict"), [(None, False), (directory(3001), False), (directory(3001, 2), True)]
)
def test_static_copy_without_a_directory_id(in_status: str | None, *, conflict: bool) -> None:
    """The list of first voters may lack the directory id of a static voter; a different one is a conflict."""
    look = at_rest()
    entry = replace(look.status.initial[1], directory_id=in_status)
    status = replace(look.status, initial=(look.status.initial[0], entry, look.status.initial[2]))
    assert ("IdentityConflict" in reasons(planned(replace(look, status=status)))) is conflict
