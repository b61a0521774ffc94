"""Claims: created, bound, annotated, grown; those that were given up are retired, and deleted if the policy says so."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.looks import (
    changed_claim,
    changed_pod,
    claim,
    edited,
    look,
    partition,
    planned,
    ran,
    registered,
    situation,
    view,
    without_pod,
)
from tests.brokers.values import CLUSTER, OTHER_CLUSTER, broker, desired, directory, record

from kafka_brokers.model.actions import AnnotateClaim, CreateClaim, DeleteClaim, RecordChange, WriteRecord
from kafka_brokers.model.disks import PoolRecord, with_disk, without_broker, without_data
from kafka_brokers.model.observed import Claim, Observed
from kafka_brokers.model.plan import Part, Severity
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.guards.rule10_records import may_delete_volume
from kafka_brokers.plan.volumes import released, volumes
from kafka_quorum.model.brokers import Partition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.pods import Waiting

RAN = ran(record(), desired())
DELETE = desired({"retentionPolicy": {"whenScaled": "Delete"}})
RETAIN = desired({"retentionPolicy": {"whenScaled": "Retain"}})


def unbound(volumes_: int = 1) -> PoolRecord:
    """The record of three brokers whose volumes have no claims yet."""
    found = record(volumes=volumes_, formatted=False)
    for one in found.brokers:
        found = edited(found, one.node_id, disks=tuple(replace(disk, claim_uid=None) for disk in one.disks))
    return replace(found, resource_version="7")


def part_of(of: Observed, by: PoolDesired | None = None) -> Part:
    """What is done about the present volumes."""
    return volumes(situation(of, by))


def waited(part: Part) -> list[tuple[Severity, str, int | None]]:
    """Severity, reason and node id of each wait."""
    return [(one.severity, one.reason, one.node_id) for one in part.waits]


def test_each_new_volume_gets_a_claim_of_its_generation() -> None:
    """All of them at once, also of a volume that was given up before."""
    again = with_disk(broker(RAN, 1), without_data(broker(RAN, 1).disks[0], new_claim=True))
    of = replace(edited(unbound(2), 0), brokers=(broker(unbound(2)), again))
    made = [(one.node_id, one.index, one.generation) for one in part_of(look(of, claims=())).actions
            if isinstance(one, CreateClaim)]  # fmt: skip
    assert made == [(0, 0, 1), (0, 1, 1), (1, 0, 2)]


def test_a_claim_that_the_record_has_is_never_created_again() -> None:
    """Whether its data is lost is judged by rule 10: an empty claim of the same name would look like the volume."""
    assert part_of(look(RAN, claims=())) == Part()


def test_claims_of_new_volumes_are_bound_all_at_once_before_anything_else() -> None:
    """The record gets the uids of those that exist, and no claim is created meanwhile."""
    of = unbound()
    found = look(of, claims=tuple(claim(one, cluster_id=None) for one in of.brokers[:2]))
    part = part_of(found)
    assert part.actions == ()
    assert isinstance(part.exclusive, WriteRecord)
    assert part.exclusive.change is RecordChange.CLAIM_BOUND
    uids = [one.disks[0].claim_uid for one in part.exclusive.record.brokers]
    assert uids == ["new-0-0", "new-1-0", None]
    assert part.exclusive.record == edited(
        edited(of, 0, disks=(replace(broker(of).disks[0], claim_uid="new-0-0"),)),
        1,
        disks=(replace(broker(of, 1).disks[0], claim_uid="new-1-0"),),
    )


ODD: list[dict[str, Any]] = [
    {"deleting": True},
    {"retired": True},
    {"directory_id": directory(0, life=9)},
    {"cluster_id": OTHER_CLUSTER},
]


@pytest.mark.parametrize("changes", ODD, ids=["deleting", "retired", "with data", "another cluster"])
def test_a_claim_of_another_origin_is_never_taken_for_a_new_one(changes: dict[str, Any]) -> None:
    """It is told, neither bound nor used, and no second one is created under its name."""
    of = unbound()
    rows = tuple(claim(one, **changes) if one.node_id == 0 else claim(one) for one in of.brokers)
    assert part_of(look(of, claims=rows[:1])).exclusive is None
    bound = part_of(look(of, claims=rows)).exclusive
    assert isinstance(bound, WriteRecord)
    assert [one.disks[0].claim_uid for one in bound.record.brokers] == [None, "new-1-0", "new-2-0"]
    part = part_of(look(of, claims=rows[:1]))
    assert waited(part) == [(Severity.DEGRADED, "ForeignClaim", 0)]
    assert [one.node_id for one in part.actions if isinstance(one, CreateClaim)] == [1, 2]


def test_a_claim_with_another_uid_is_not_used() -> None:
    """A person made one of the same name: it is told, and neither annotated nor bound."""
    of = changed_claim(look(RAN), 1, uid="another", directory_id=None)
    assert (part_of(of).actions, part_of(of).exclusive) == ((), None)
    assert waited(part_of(of)) == [(Severity.DEGRADED, "ForeignClaim", 1)]


STALE: list[dict[str, Any]] = [{"directory_id": None}, {"cluster_id": None}, {"cluster_id": OTHER_CLUSTER}]


@pytest.mark.parametrize("changes", STALE)
def test_a_claim_gets_the_copy_of_the_identity_back(changes: dict[str, Any]) -> None:
    """The record decides; one that is right is left alone, and one on its way out."""
    of = changed_claim(look(RAN), 1, **changes)
    (action,) = part_of(of).actions
    assert isinstance(action, AnnotateClaim)
    assert (action.claim.node_id, action.directory_id, action.grow_to, action.retired) == (1, directory(1), None, False)
    assert part_of(changed_claim(of, 1, deleting=True)).actions == ()
    assert part_of(look(RAN)) == Part()


def test_a_volume_that_is_not_formatted_has_no_copy_to_lose() -> None:
    """A claim without annotations is not annotated before its directory id is known."""
    of = replace(record(formatted=False), resource_version="7")
    assert part_of(changed_claim(look(of), 1, cluster_id=None)) == Part()


def test_a_claim_grows_with_the_spec_and_never_shrinks() -> None:
    """The size of the spec is asked for if it is larger than what the claim requests."""
    for size, grown in (("20Gi", ["20Gi"] * 3), ("10Gi", []), ("5Gi", [])):
        wanted = desired({"storage": [{"size": size}]})
        assert part_of(look(RAN), wanted).actions == (), "the API server lets no claim grow before it is bound"
        bound = look(RAN)
        for node_id in range(3):
            bound = changed_claim(bound, node_id, volume="pv")
        part = part_of(bound, wanted)
        assert [one.grow_to for one in part.actions if isinstance(one, AnnotateClaim)] == grown
        assert all(one.directory_id == directory(one.claim.node_id) for one in part.actions
                   if isinstance(one, AnnotateClaim))  # fmt: skip


def test_a_volume_beyond_the_spec_keeps_its_size_and_its_copy() -> None:
    """A record has more volumes than an earlier spec that is followed again: only the copy is repaired."""
    two = ran(record(volumes=2), desired({"storage": [{"size": "1Gi"}, {"size": "1Gi"}]}))
    assert part_of(look(two), desired()) == Part()


# Volumes that were given up


def gone() -> tuple[PoolRecord, Claim]:
    """A record that has given up the first volume of broker 1 and has its successor, and the claim of before."""
    before = claim(broker(RAN, 1))
    after = replace(without_data(broker(RAN, 1).disks[0], new_claim=True), claim_uid="later")
    return edited(RAN, 1, disks=(after,)), before


def left() -> tuple[PoolRecord, Claim]:
    """A record that broker 2 has left, and its claim."""
    return without_broker(RAN, NodeID(2)), claim(broker(RAN, 2))


@pytest.mark.parametrize("case", [gone, left])
def test_what_was_given_up_is_marked_then_deleted_if_the_policy_says_so(
    case: Callable[[], tuple[PoolRecord, Claim]],
) -> None:
    """First the mark, with its directory id; then, with Delete and without a pod that uses it, the claim itself."""
    of, old = case()
    found = look(of, claims=(old,))
    (mark,) = released(situation(found, DELETE)).actions
    assert mark == AnnotateClaim(claim=old, directory_id=old.directory_id, retired=True)
    retired = replace(old, retired=True)
    marked = replace(found, claims=(retired,))
    (delete,) = released(situation(marked, DELETE)).actions
    assert isinstance(delete, DeleteClaim)
    assert delete.claim == retired
    assert released(situation(marked, RETAIN)) == Part()
    assert released(situation(marked, DELETE, repair_only=True)) == Part()
    assert released(situation(replace(found, claims=(replace(retired, deleting=True),)), DELETE)) == Part()


def test_a_claim_that_a_pod_uses_is_not_deleted() -> None:
    """The guard refuses, and says which pod."""
    of, old = gone()
    found = look(of, claims=(replace(old, retired=True),))
    rows = tuple(replace(one, claim_uids=(old.uid,)) if one.node_id == 1 else one for one in found.pods)
    part = released(situation(replace(found, pods=rows), DELETE))
    assert part.actions == ()
    assert [(one.rule, one.allowed) for one in part.verdicts] == [("10-delete-volume", False)]
    assert waited(part) == [(Severity.PROGRESS, "ClaimKept", 1)]


def test_a_claim_that_the_record_does_not_know_is_told_and_left_alone() -> None:
    """An old backup of the record must not delete what a newer one has: neither a mark nor a deletion."""
    two = PoolRecord(cluster_id=CLUSTER, brokers=RAN.brokers[:2], resource_version="7")
    of = look(two, claims=tuple(claim(one) for one in RAN.brokers), pods=())
    part = released(situation(of, DELETE))
    assert part.actions == ()
    assert waited(part) == [(Severity.DEGRADED, "UnknownClaim", 2)]
    assert not any(isinstance(one, DeleteClaim | AnnotateClaim) for one in planned(of, DELETE).actions)


def test_each_claim_is_judged_by_itself() -> None:
    """Unknown ones, those to be marked, and those on their way out keep no other from being deleted."""
    of = without_broker(without_broker(without_broker(RAN, NodeID(0)), NodeID(1)), NodeID(2))
    unknown = replace(claim(broker(RAN)), name="payments-9-d0-g1", node_id=NodeID(9), uid="unknown")
    rows = (
        unknown,
        replace(unknown, name="payments-8-d0-g1", node_id=NodeID(8), retired=True),
        replace(claim(broker(RAN)), retired=True, deleting=True),
        claim(broker(RAN, 1)),
        replace(claim(broker(RAN, 2)), retired=True),
    )
    part = released(situation(look(of, claims=rows, pods=()), DELETE))
    assert [(type(one), one.claim) for one in part.actions if isinstance(one, AnnotateClaim | DeleteClaim)] == [
        (AnnotateClaim, rows[3]),
        (DeleteClaim, rows[4]),
    ]
    assert waited(part) == [(Severity.DEGRADED, "UnknownClaim", 9), (Severity.PROGRESS, "ClaimKept", 8)]
    kept = released(situation(look(of, claims=rows, pods=()), RETAIN))
    assert [type(one) for one in kept.actions] == [AnnotateClaim]


def test_present_and_later_generations_are_never_released() -> None:
    """A later generation than that of the record is of a newer record: it is left alone too."""
    later = replace(claim(broker(RAN, 1)), name="payments-1-d0-g2", generation=2, retired=True)
    of = look(RAN)
    assert released(situation(replace(of, claims=(*of.claims, later)), DELETE)) == Part()
    retired = changed_claim(look(RAN), 1, retired=True)
    assert released(situation(without_pod(retired, 1), DELETE)) == Part()


def test_each_reason_against_a_deletion_counts_by_itself() -> None:
    """The guard allows what the record gave up, is marked, and nothing uses; each of these is needed."""
    of, old = gone()
    retired = replace(old, retired=True)
    found = look(of, claims=(retired,))
    assert may_delete_volume(found, retired).allowed
    user = replace(look(RAN).pods[1], claim_uids=(old.uid,))
    against = (
        (replace(found, record=None), retired),
        (replace(found, record=RAN), retired),
        (replace(found, record=PoolRecord(cluster_id=CLUSTER)), retired),
        (replace(found, pods=(user,)), retired),
        (found, old),
    )
    for other, one in against:
        verdict = may_delete_volume(other, one)
        assert (verdict.allowed, verdict.rule) == (False, "10-delete-volume")


def retired_beside(*rows: Partition, fenced: tuple[int, ...] = ()) -> tuple[Observed, Claim]:
    """A look at these partitions of the pool's brokers, and the marked claim that broker 1 had before."""
    of, old = gone()
    retired = replace(old, retired=True)
    seen = view(rows, [registered(node, fenced=node in fenced) for node in range(3)])
    return look(of, seen=seen, claims=(retired,)), retired


NEEDED = (
    (partition("t-0", [1, 2], [2], leader=None), (1, 2), "the only member of the ISR is fenced"),
    (partition("t-0", [1, 2], [], elr=[2]), (1, 2), "the eligible leader is fenced"),
    (partition("t-0", [1, 2], [], last_elr=[2]), (1,), "no replica is known to be complete"),
    (partition("t-0", [1], [1], leader=None), (1,), "broker 1 is the only replica, and is fenced"),
    (partition("t-0", [1, 2], [2]), (), "broker 1 catches up"),
)


@pytest.mark.parametrize(("row", "fenced", "why"), NEEDED)
def test_a_claim_is_kept_until_its_successor_has_everything(row: Partition, fenced: tuple[int, ...], why: str) -> None:
    """What was complete elsewhere when the volume was given up may be lost since: its data may be all that is left."""
    of, claim_ = retired_beside(row, fenced=fenced)
    verdict = may_delete_volume(of, claim_)
    assert (verdict.allowed, verdict.rule) == (False, "10-delete-volume"), why
    assert "one partition (t-0)" in verdict.reason
    part = released(situation(of, DELETE))
    assert part.actions == ()
    assert waited(part) == [(Severity.PROGRESS, "ClaimKept", 1)]
    assert claim_.directory_id is not None
    assert may_delete_volume(replace(of, accept_loss=frozenset({claim_.directory_id})), claim_).allowed
    for other in ("1", claim_.name, directory(1, life=9)):
        assert not may_delete_volume(replace(of, accept_loss=frozenset({other})), claim_).allowed
    bare = replace(claim_, directory_id=None)
    assert may_delete_volume(replace(of, accept_loss=frozenset({bare.name})), bare).allowed


NOT_NEEDED = (
    (partition("t-0", [1, 2], [2, 1]), ()),
    (partition("t-0", [1, 2], [1], leader=1), (2,)),
    (partition("t-0", [0, 2], [2], leader=None), (1, 2)),
)


@pytest.mark.parametrize(("row", "fenced"), NOT_NEEDED)
def test_a_claim_goes_once_its_successor_has_everything(row: Partition, fenced: tuple[int, ...]) -> None:
    """The broker is in sync on its new volume, with or without others; partitions of others do not matter."""
    of, claim_ = retired_beside(row, fenced=fenced)
    assert may_delete_volume(of, claim_).allowed


STRANGERS = (
    {"pods": ()},
    {"pods": look(RAN).pods},
    {"pods": changed_pod(look(gone()[0]), 1, deleting=True).pods},
    {"pods": changed_pod(look(gone()[0]), 1, container=Waiting(reason="", message="", last_exit=None)).pods},
    {"configs": ((NodeID(1), Unknown(reason="refused")),)},
    {"configs": ()},
)


@pytest.mark.parametrize("changes", STRANGERS)
def test_a_claim_is_kept_while_its_own_process_may_be_the_one_in_sync(changes: dict[str, Any]) -> None:
    """On a lost machine the process may run on, and reach the others again: it is in sync with this very volume."""
    of, claim_ = retired_beside(partition("t-0", [1, 2], [1, 2]))
    assert may_delete_volume(of, claim_).allowed
    verdict = may_delete_volume(replace(of, **changes), replace(claim_, uid="earlier"))
    assert (verdict.allowed, verdict.reason) == (False, "broker 1 does not answer from its present volume yet")
    none_of_it, _ = retired_beside(partition("t-0", [0, 2]))
    assert may_delete_volume(replace(none_of_it, **changes), replace(claim_, uid="earlier")).allowed


def test_a_claim_is_kept_while_the_partitions_are_not_known() -> None:
    """An answer that was not given does not say that nothing is needed; a broker that never ran has no data."""
    of, claim_ = retired_beside(partition("t-0", [1, 2], [2]))
    for unknown in (
        replace(of, cluster=Unknown(reason="timeout")),
        replace(of, leader=Unknown(reason="timeout")),
    ):
        assert "timeout" in may_delete_volume(unknown, claim_).reason
        assert unknown.record is not None
        never = replace(unknown, record=edited(unknown.record, 1, ran=False))
        assert may_delete_volume(never, replace(claim_, directory_id=None)).allowed
        assert not may_delete_volume(never, claim_).allowed  # a rebuilt record may not know that it has run
