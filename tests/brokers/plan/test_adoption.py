"""Adoption of the brokers of before: their claims are waited for, read, and never formatted, given up or deleted."""

from dataclasses import replace
from typing import Any, Final

from tests.brokers.looks import (
    ENDED,
    changed_claim,
    edited,
    formatter,
    leader,
    look,
    partition,
    planned,
    ran,
    registered,
    revision_of,
    view,
    without_pod,
)
from tests.brokers.values import CLUSTER, OTHER_CLUSTER, broker, desired, directory, record

from kafka_brokers.model.actions import (
    AnnotateClaim,
    CreateClaim,
    CreateFormatter,
    DeleteClaim,
    RecordChange,
    WriteRecord,
)
from kafka_brokers.model.disks import FormerBroker, PoolRecord, without_broker, without_data
from kafka_brokers.model.observed import ClusterView, DiskRow, DisksReport, Observed
from kafka_brokers.model.plan import Plan, Severity
from kafka_brokers.plan.facts import requested_ids
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.pods import DiskFound

ADOPTS: Final = desired({"adopt": True})
FRESH: Final = replace(record(formatted=False), resource_version="7")


def begun(of: PoolRecord = FRESH, **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """Claims that a person made for three earlier brokers; nobody can be asked for the partitions."""
    found = look(of, ADOPTS, pods=(), seen=view((), ()), least=0)
    found = replace(found, cluster=Unknown(reason="no broker runs yet"), leader=Unknown(reason="nobody leads"))
    claims = tuple(replace(one, cluster_id=None) for one in found.claims)
    return replace(found, **({"claims": claims} | changes))


def planned_for(of: Observed, *, adopt: bool = True) -> Plan:
    """The plan of a pool that adopts."""
    return planned(of, ADOPTS if adopt else desired())


def formatters(plan: Plan) -> list[int]:
    """The brokers that get a formatter."""
    return [one.node_id for one in plan.actions if isinstance(one, CreateFormatter)]


def unbound(*ids: int) -> PoolRecord:
    """The record, in which these brokers have no claim yet."""
    found = FRESH
    for node_id in ids:
        disks = tuple(replace(disk, claim_uid=None) for disk in broker(found, node_id).disks)
        found = edited(found, node_id, disks=disks)
    return found


def test_claims_are_waited_for() -> None:
    """No claim is created for a first volume; the one that exists is adopted meanwhile."""
    of = begun(unbound(1, 2))
    of = replace(of, claims=tuple(one for one in of.claims if one.node_id == 0))
    plan = planned_for(of)
    assert not [one for one in plan.actions if isinstance(one, CreateClaim)]
    assert [(wait.node_id, wait.severity) for wait in plan.waits if wait.reason == "WaitingForClaim"] == [
        (1, Severity.HELD),
        (2, Severity.HELD),
    ]
    assert formatters(plan) == [0]
    assert [one.node_id for one in planned_for(of, adopt=False).actions if isinstance(one, CreateClaim)] == [1, 2]


def test_a_claim_is_bound_and_may_be_replaced() -> None:
    """A person may correct a claim until its volume is adopted: the record follows, and nothing counts as lost."""
    of = changed_claim(begun(), 1, uid="another")
    (write,) = planned_for(of).actions
    assert isinstance(write, WriteRecord)
    assert write.change is RecordChange.CLAIM_BOUND
    assert broker(write.record, 1).disks[0].claim_uid == "another"
    gone = replace(begun(), claims=tuple(one for one in begun().claims if one.node_id != 1))
    plan = planned_for(gone)
    assert not [one for one in plan.actions if isinstance(one, WriteRecord | CreateClaim)]
    assert {wait.node_id for wait in plan.waits if wait.reason == "WaitingForClaim"} == {1}


def test_an_earlier_broker_that_runs_is_waited_for() -> None:
    """Its volume is read when it is gone from the cluster; the others' are read at once."""
    seen = view((), (registered(1), registered(9)))
    of = replace(begun(), cluster=Known(value=seen))
    plan = planned_for(of)
    assert formatters(plan) == [0, 2]
    assert any("earlier broker 1 still runs" in wait.message for wait in plan.waits)
    led = begun(leader=Known(value=leader(observers_caught_up=frozenset({2}))))
    assert formatters(planned_for(led)) == [0, 1]
    doubtful = ClusterView(
        source=seen.source,
        registered=(registered(0, fenced=True),),
        partitions=(),
        min_isr=(),
        reassignments=(),
        taken_at_s=0.0,
        doubtful=frozenset({broker(FRESH, 0).node_id}),
    )
    assert formatters(planned_for(replace(begun(), cluster=Known(value=doubtful)))) == [1, 2]


def test_an_earlier_broker_that_is_the_only_complete_replica_is_adopted() -> None:
    """Adoption formats nothing, so no record can be lost by it; a format would be refused."""
    rows = (partition("orders-0", [1], leader=None),)
    of = begun(cluster=Known(value=view(rows, (registered(9),))), leader=Known(value=leader()))
    of = replace(of, leader=Known(value=leader(observers_caught_up=frozenset(), observers=frozenset())))
    assert formatters(planned_for(of)) == [0, 1, 2]
    assert formatters(planned_for(of, adopt=False)) == [0, 2]


def said(of: int, **changes: Any) -> DisksReport:  # noqa: ANN401 - any field
    """The report of an adopted volume."""
    row = DiskRow(
        index=0,
        found=DiskFound.FORMATTED,
        cluster_id=CLUSTER,
        node_id=of,
        directory_id=directory(of),
    )
    return DisksReport(
        disks=(replace(row, **changes),), accepted=True, message="adopted", finished_at_s=1.0, adopted=True
    )


def reported(report: DisksReport) -> Observed:
    """A formatter of broker 1 has ended with this report."""
    pod = formatter(broker(FRESH, 1), revision_of(ADOPTS), finished=True, container=ENDED, report=report)
    return begun(pods=(pod,))


def test_an_adopted_broker_counts_as_one_that_ran() -> None:
    """It may have data: from now on rule 10 judges what happens to its volumes, whatever the spec says meanwhile."""
    for adopt in (True, False):
        (write,) = planned_for(reported(said(1)), adopt=adopt).actions
        assert isinstance(write, WriteRecord)
        adopted = broker(write.record, 1)
        assert (adopted.ran, adopted.disks[0].directory_id) == (True, directory(1))
        assert not broker(write.record, 0).ran


def test_a_report_about_another_disk_is_not_believed() -> None:
    """Another cluster or node id in the report binds nothing."""
    for report in (said(1, cluster_id=OTHER_CLUSTER), said(1, node_id=2), said(1, directory_id=None)):
        plan = planned_for(reported(report))
        assert not [one for one in plan.actions if isinstance(one, WriteRecord)]


def test_earlier_brokers_do_not_change_which_ids_are_requested() -> None:
    """Brokers that are registered with the ids of the spec are those that are adopted."""
    of = begun(replace(FRESH, brokers=()), cluster=Known(value=view((), map(registered, range(3)))))
    assert of.record is not None
    assert requested_ids(ADOPTS, of.record, of) == (0, 1, 2)
    assert requested_ids(desired(), of.record, of) == (3, 4, 5)
    plan = planned_for(replace(of, claims=()))
    assert [one.change for one in plan.actions if isinstance(one, WriteRecord)] == [RecordChange.BROKERS_ADDED]


def test_a_claim_that_the_pool_never_had_is_not_deleted() -> None:
    """Its broker is not requested any more before its volume was adopted: the claim stays, and is named."""
    former = FormerBroker(node_id=broker(FRESH, 2).node_id, generations=(1,), retired=())
    left = replace(FRESH, brokers=FRESH.brokers[:2], former=(former,))
    of = begun(left, claims=begun().claims)
    plan = planned_for(of)
    assert not [one for one in plan.actions if isinstance(one, DeleteClaim)]
    assert [wait.node_id for wait in plan.waits if wait.reason == "UnknownClaim"] == [2]


def test_a_volume_that_was_given_up_gets_a_new_claim() -> None:
    """A pool that adopts replaces a lost disk of an adopted broker as ever."""
    lost = without_data(broker(record(), 1).disks[0], new_claim=True)
    of = edited(ran(record(), ADOPTS), 1, disks=(lost,))
    found = without_pod(look(of, ADOPTS), 1)
    plan = planned(replace(found, claims=tuple(one for one in found.claims if one.node_id != 1)), ADOPTS)
    created = [one for one in plan.actions if isinstance(one, CreateClaim)]
    assert [(one.node_id, one.generation) for one in created] == [(1, 2)]


def test_a_claim_is_not_marked_before_its_volume_is_adopted() -> None:
    """A larger size in the spec writes nothing to it: with our mark it would be deleted when its broker leaves."""
    larger = desired({"adopt": True, "storage": [{"size": "20Gi"}], "retentionPolicy": {"whenScaled": "Delete"}})
    plan = planned(begun(), larger)
    assert not [one for one in plan.actions if isinstance(one, AnnotateClaim)]
    assert formatters(plan) == [0, 1, 2]
    ours = changed_claim(begun(), 1, cluster_id=CLUSTER, volume="pv")
    grown = [one for one in planned(ours, larger).actions if isinstance(one, AnnotateClaim)]
    assert [(one.claim.node_id, one.grow_to) for one in grown] == [(1, "20Gi")]


def test_a_node_id_that_comes_back_before_it_was_adopted() -> None:
    """It was taken out of the spec and put back: the claim that a person made for it counts, and no new one is made."""
    left = replace(without_broker(FRESH, broker(FRESH, 2).node_id), resource_version="8")
    (write,) = planned_for(begun(left, claims=begun().claims)).actions
    assert isinstance(write, WriteRecord)
    again = replace(write.record, resource_version="9")
    (bound,) = planned_for(begun(again, claims=begun().claims)).actions
    assert isinstance(bound, WriteRecord)
    assert broker(bound.record, 2).disks == broker(FRESH, 2).disks
    waits = planned_for(begun(again, claims=begun().claims[:2])).waits
    assert [wait.node_id for wait in waits if wait.reason == "WaitingForClaim"] == [2]
    adopted = replace(without_broker(record(), broker(FRESH, 2).node_id), resource_version="8")
    (write,) = planned_for(begun(adopted, claims=())).actions
    assert isinstance(write, WriteRecord)
    assert broker(write.record, 2).disks[0].generation == 2


def test_nobody_is_told_to_delete_a_claim_that_is_to_be_adopted() -> None:
    """A claim with annotations of another cluster, or of a volume that was given up: its volume may have all data."""
    for change in ({"cluster_id": OTHER_CLUSTER}, {"retired": True}):
        plan = planned_for(changed_claim(begun(unbound(1)), 1, **change))
        (wait,) = [one for one in plan.waits if one.reason == "ForeignClaim"]
        assert "keep the PersistentVolume" in wait.message
        assert "Delete" not in wait.message
