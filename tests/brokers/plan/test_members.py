"""Which brokers a pool has: the record that is made first, ids that join, leave and stay, and added volumes."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.looks import (
    ORDERS,
    claim,
    edited,
    leader,
    look,
    planned,
    ran,
    registered,
    revision_of,
    situation,
    view,
    with_view,
    without_pod,
)
from tests.brokers.secured import mutual
from tests.brokers.values import CLUSTER, CONTRACT, OTHER_CLUSTER, broker, desired, record

from kafka_brokers.model.actions import KeepSpec, RecordChange, WriteRecord
from kafka_brokers.model.disks import DiskIdentity, PoolRecord, with_brokers
from kafka_brokers.model.observed import Observed
from kafka_brokers.model.plan import Part, Plan, Severity
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.facts import requested_ids
from kafka_brokers.plan.members import members
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown

AT_REST = look()
NEW = look(record=None, claims=(), pods=(), record_owner_uid=None)
"""A pool of which nothing exists yet."""
YOUNG = look(PoolRecord(cluster_id=CLUSTER, resource_version="1"), claims=(), pods=(), seen=view((), ()))
"""A pool whose record has no broker yet, in a cluster without brokers."""


def write(of: Plan | Part) -> WriteRecord:
    """The only action, which writes the record."""
    actions = of.actions if isinstance(of, Plan) else tuple(filter(None, (of.exclusive, *of.actions)))
    (action,) = actions
    assert isinstance(action, WriteRecord), action
    return action


def wait_of(of: Plan | Part) -> tuple[Severity, str]:
    """Severity and reason of the only wait; nothing is done."""
    assert not of.actions
    assert isinstance(of, Plan) or of.exclusive is None
    (wait,) = of.waits
    return wait.severity, wait.reason


def requested(of: Observed, by: PoolDesired) -> tuple[int, ...]:
    """The node ids that the pool shall have."""
    assert of.record is not None
    return requested_ids(by, of.record, of)


UNSETTLED: list[tuple[Observed, Severity, str]] = [
    (replace(NEW, later=("ConfigMap x is of a later version",)), Severity.DEGRADED, "LaterFormat"),
    (replace(NEW, record_fault="ConfigMap x has no record"), Severity.DEGRADED, "RecordUnreadable"),
    (replace(NEW, contract=Unknown(reason="no contract")), Severity.PROGRESS, "WaitingForQuorum"),
    (replace(AT_REST, contract=Unknown(reason="no contract")), Severity.PROGRESS, "WaitingForQuorum"),
    (
        replace(AT_REST, contract=Known(value=replace(CONTRACT, cluster_id=OTHER_CLUSTER))),
        Severity.DEGRADED,
        "ClusterConflict",
    ),
    (
        replace(NEW, claims=(claim(broker(record()), cluster_id=OTHER_CLUSTER),)),
        Severity.DEGRADED,
        "ClusterConflict",
    ),
]


@pytest.mark.parametrize(("of", "severity", "reason"), UNSETTLED)
def test_nothing_is_done_before_the_record_is_there_and_fits(of: Observed, severity: Severity, reason: str) -> None:
    """A record or contract of another cluster, or that cannot be read, is reported, and nothing else is planned."""
    assert wait_of(planned(of)) == (severity, reason)


def test_a_later_format_is_not_called_a_damage() -> None:
    """What a later version wrote is kept for it, although this version cannot read it."""
    both = replace(NEW, later=("later",), record_fault="later")
    assert wait_of(planned(both)) == (Severity.DEGRADED, "LaterFormat")


def test_a_new_pool_gets_an_empty_record_of_the_cluster_of_its_contract() -> None:
    """The first write is the record, without brokers."""
    action = write(planned(NEW))
    assert action.change is RecordChange.MINTED
    assert (action.record.cluster_id, action.record.brokers, action.record.resource_version) == (CLUSTER, (), "")


def test_retired_claims_of_another_cluster_hold_nothing_up() -> None:
    """A claim that was given up is not used again, so its cluster does not matter."""
    old = claim(broker(record()), cluster_id=OTHER_CLUSTER, retired=True)
    assert write(planned(replace(NEW, claims=(old,)))).record.brokers == ()


def test_the_accepted_spec_is_stored_before_anything_that_follows_from_it() -> None:
    """Storing a new spec is the only action of a plan, for this version of the record; an invalid one is not stored."""
    five = desired({"replicas": 5})
    of = look(spec_kept=False)
    assert planned(of, five).actions == (KeepSpec(resource_version="7"),)
    assert not any(isinstance(one, KeepSpec) for one in planned(of, repair_only=True).actions)
    assert planned(look()).actions == ()


def test_brokers_that_are_missing_join_with_the_volumes_of_the_spec() -> None:
    """All of them at once, with the lowest free ids, and nothing is bound or formatted yet."""
    two = desired({"storage": [{"size": "1Gi"}, {"size": "2Gi"}]})
    action = write(planned(YOUNG, two))
    assert (action.change, action.record.node_ids) == (RecordChange.BROKERS_ADDED, (0, 1, 2))
    disks = {broker.disks for broker in action.record.brokers}
    assert disks == {(DiskIdentity(index=0), DiskIdentity(index=1))}
    assert not any(broker.ran for broker in action.record.brokers)


def test_brokers_that_no_certificate_has_room_for_do_not_join() -> None:
    """The spec was judged by ids that others turn out to have: nothing is created, and the message has a way out."""
    host = ".".join(("b-{id}", "a" * 60, "b" * 60, "c" * 60, "d" * 51, "org"))
    outside = {"name": "TLS", "port": 9094, "protocol": "SSL", "external": "LoadBalancer", "host": host}
    of = desired({"replicas": 100, "listeners": [outside]}, mutual())
    assert write(planned(YOUNG, of)).change is RecordChange.BROKERS_ADDED
    others = with_view(YOUNG, view((), [registered(each) for each in range(2000)]))
    found = members(situation(others, of))
    assert wait_of(found) == (Severity.DEGRADED, "CertificateFull")
    assert "Did not add brokers 2000, 2001" in found.waits[0].message
    assert "the names of 100 brokers" in found.waits[0].message
    assert "use shorter hosts, fewer listeners with {id}, or fewer brokers" in found.waits[0].message
    assert write(planned(others, desired({"replicas": 100}, mutual()))).change is RecordChange.BROKERS_ADDED


IDS: list[tuple[Observed, dict[str, Any], tuple[int, ...]]] = [
    (AT_REST, {"replicas": 2, "nodeIDs": [7, 5]}, (5, 7)),
    (AT_REST, {"replicas": 2}, (0, 1)),
    (AT_REST, {"replicas": 4, "firstNodeID": 10}, (0, 1, 2, 10)),
    (replace(YOUNG, contract=Known(value=replace(CONTRACT, controller_ids=(NodeID(0),)))), {"replicas": 2}, (1, 2)),
    (replace(YOUNG, taken_ids=((NodeID(1), "other"),)), {"replicas": 2}, (0, 2)),
    (
        with_view(YOUNG, view((), [registered(0, fenced=True), registered(2)])),
        {"replicas": 2},
        (1, 3),
    ),
    (
        replace(
            YOUNG,
            leader=Known(value=leader(observers_caught_up=frozenset(map(NodeID, [0])))),
            cluster=Unknown(reason="no broker runs yet"),
        ),
        {"replicas": 2},
        (1, 2),
    ),
]


@pytest.mark.parametrize(("of", "spec", "ids"), IDS)
def test_which_node_ids_a_pool_shall_have(of: Observed, spec: dict[str, Any], ids: tuple[int, ...]) -> None:
    """Exact ids; else those that it has, then free ones: not of controllers, other pools, or other servers."""
    assert requested(of, desired(spec)) == ids


def test_a_broker_that_leaves_is_replaced_before_it_is_taken_back() -> None:
    """Brokers that stay count before those that leave, whatever their ids are."""
    of = replace(AT_REST, record=edited(ran(record(), desired()), 0, leaving=True))
    assert requested(of, desired({"replicas": 2})) == (1, 2)
    assert requested(of, desired({"replicas": 3})) == (0, 1, 2)


def test_ids_of_the_pool_itself_are_not_taken_by_others() -> None:
    """A broker of the record may be registered."""
    assert requested(AT_REST, desired()) == (0, 1, 2)
    assert planned(AT_REST).waits == ()


TAKEN: list[Observed] = [
    replace(AT_REST, taken_ids=((NodeID(9), "other"),)),
    with_view(AT_REST, view(ORDERS, [*map(registered, range(3)), registered(9)])),
    with_view(AT_REST, view(ORDERS, [*map(registered, range(3)), registered(9, fenced=True)])),
    replace(AT_REST, leader=Known(value=leader(observers_caught_up=frozenset(map(NodeID, [0, 1, 2, 9]))))),
    replace(AT_REST, contract=Known(value=replace(CONTRACT, controller_ids=(NodeID(9),)))),
]


@pytest.mark.parametrize("of", TAKEN, ids=["a pool", "a broker", "a fenced broker", "an observer", "a controller"])
def test_an_id_of_others_does_not_join(of: Observed) -> None:
    """An exact id that is taken is reported, and no broker joins or leaves meanwhile."""
    exact = desired({"nodeIDs": [0, 1, 9]})
    assert wait_of(members(situation(of, exact))) == (Severity.DEGRADED, "NodeIDTaken")


def test_no_id_joins_while_those_of_another_pool_are_not_known() -> None:
    """The record of another pool that cannot be read may have any id: two brokers must not get the same one."""
    of = replace(AT_REST, draining=Unknown(reason="the record of another pool cannot be read"))
    found = members(situation(of, desired({"replicas": 4})))
    assert wait_of(found) == (Severity.DEGRADED, "NodeIDTaken")
    assert "(the record of another pool cannot be read)" in found.waits[0].message
    assert planned(of).waits == ()


def test_an_id_that_the_pool_has_is_not_judged_again() -> None:
    """A broker that has its volumes stays, even if a later pool or broker has the same id."""
    of = replace(AT_REST, taken_ids=((NodeID(1), "other"),))
    assert members(situation(of, desired({"nodeIDs": [0, 1, 2]}))) == Part()


def test_brokers_that_are_too_many_are_marked_and_keep_everything() -> None:
    """Only the mark changes: volumes, revision and whether they ran stay."""
    action = write(planned(AT_REST, desired({"replicas": 1})))
    assert action.change is RecordChange.LEAVING
    assert AT_REST.record is not None
    assert action.record == edited(edited(AT_REST.record, 1, leaving=True), 2, leaving=True)


def test_a_broker_that_is_wanted_again_stays() -> None:
    """The mark is removed, and the record notes that its moves must be undone; nothing else changes."""
    of = replace(AT_REST, record=edited(ran(record(), desired()), 2, leaving=True))
    action = write(planned(of))
    assert (action.change, action.record) == (RecordChange.STAYING, edited(ran(record(), desired()), 2, kept=True))


def test_an_invalid_spec_changes_no_membership() -> None:
    """The last accepted spec is used for repairs; it neither adds nor removes brokers."""
    plan = planned(YOUNG, repair_only=True)
    assert not any(isinstance(one, WriteRecord) for one in plan.actions)


JBOD = desired({"storage": [{"size": "10Gi"}, {"size": "10Gi"}]})


def test_a_new_volume_waits_until_its_broker_is_made_again() -> None:
    """A pod of the earlier revision has no place for it. A broker without a pod, or noted for the new one, has."""
    old = revision_of(desired())
    of = look(ran(record(), desired()), JBOD, old=(old,))
    of = replace(of, pods=tuple(replace(one, revision=old.name) for one in of.pods))
    assert members(situation(of, JBOD)) == Part()
    action = write(members(situation(without_pod(of, 1), JBOD)))
    assert action.change is RecordChange.VOLUME_ADDED
    assert [len(one.disks) for one in action.record.brokers] == [1, 2, 1]
    assert broker(action.record, 1).disks[1] == DiskIdentity(index=1)
    noted = replace(of, record=edited(ran(record(), desired()), 2, revision=revision_of(JBOD).name))
    assert [len(one.disks) for one in write(members(situation(noted, JBOD))).record.brokers] == [1, 1, 2]


def test_a_broker_that_leaves_gets_no_more_volumes() -> None:
    """It is drained with the volumes that it has."""
    of = edited(with_brokers(record(), [NodeID(3)], 1), 3, ran=True, leaving=True)
    of = replace(of, brokers=(broker(of, 3),), resource_version="7")
    found = look(of, JBOD, pods=())
    assert members(situation(found, replace(JBOD, node_ids=(), replicas=0))) == Part()
