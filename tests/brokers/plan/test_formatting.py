"""Formatters: when one is made, which reports are believed, and when one is deleted or looks again."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.looks import (
    ENDED,
    RUNS,
    changed_claim,
    changed_pod,
    edited,
    formatter,
    leader,
    look,
    new_spec,
    partition,
    planned,
    ran,
    registered,
    revision_of,
    situation,
    view,
    with_view,
    without_pod,
)
from tests.brokers.values import CLUSTER, CONTRACT, OTHER_CLUSTER, POOL, broker, desired, directory, record

from kafka_brokers.model.actions import CreateFormatter, CreatePod, DeletePod, RecordChange, WriteRecord
from kafka_brokers.model.disks import PoolRecord
from kafka_brokers.model.observed import BlankDisk, DiskRow, DisksReport, Memory, Observed, Pod
from kafka_brokers.model.plan import Part, Severity
from kafka_brokers.plan.formatting import formatting
from kafka_brokers.plan.guards.rule2_disks import goes_with, may_format, may_replace_pod, may_run
from kafka_quorum.model.brokers import Partition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.pods import DiskFound, Waiting

RAN = ran(record(), desired())
PENDING = Waiting(reason="", message="", last_exit=None)


def young(volumes: int = 1) -> PoolRecord:
    """The record of three brokers whose volumes have claims, and are not formatted."""
    return replace(record(volumes=volumes, formatted=False), resource_version="7")


def blank(volumes: int = 1) -> Observed:
    """A pool whose volumes exist, and nothing else; nobody has asked for the partitions, because no broker runs."""
    of = look(young(volumes), pods=(), seen=view((), ()), least=0)
    return replace(of, cluster=Unknown(reason="no broker runs yet"))


def row(broker_id: int, index: int = 0, **changes: Any) -> DiskRow:  # noqa: ANN401 - any field
    """A formatted volume."""
    known = DiskRow(
        index=index,
        found=DiskFound.FORMATTED,
        cluster_id=CLUSTER,
        node_id=broker_id,
        directory_id=directory(broker_id, index),
    )
    return replace(known, **changes)


def report(*rows: DiskRow, accepted: bool = True) -> DisksReport:
    """A report of these volumes."""
    return DisksReport(disks=rows, accepted=accepted, message="as expected", finished_at_s=10.0)


def ended(of: PoolRecord, node_id: int, said: DisksReport | None, **changes: Any) -> Pod:  # noqa: ANN401 - any field
    """A formatter of the present revision that has ended with this report."""
    revision = revision_of(desired())
    known = formatter(broker(of, node_id), revision, finished=True, container=ENDED, report=said)
    return replace(known, **changes)


def part_of(of: Observed, *, repair_only: bool = False) -> Part:
    """What is done about formats."""
    return formatting(situation(of, repair_only=repair_only))


def made(of: Observed) -> list[int]:
    """The brokers that get a formatter."""
    return [one.node_id for one in part_of(of).actions if isinstance(one, CreateFormatter)]


def test_each_broker_with_new_volumes_gets_one_formatter_of_the_present_revision() -> None:
    """All at once, away from the Kubernetes nodes of the others' volumes; none while its config map is missing."""
    of = changed_claim(changed_claim(blank(), 0, selected_node="a"), 1, selected_node="b")
    of = replace(of, claims=(*of.claims, replace(of.claims[2], generation=9, selected_node="x", retired=True)))
    actions = [one for one in part_of(of).actions if isinstance(one, CreateFormatter)]
    assert [(one.node_id, one.avoid_nodes) for one in actions] == [(0, ("b",)), (1, ("a",)), (2, ("a", "b"))]
    assert {one.revision.name for one in actions} == {revision_of(desired()).name}
    assert {one.permit.rule for one in actions} == {"1-format-broker"}
    without = replace(of, support=tuple(one for one in of.support if one.kind != "ConfigMap"))
    assert made(without) == []
    assert made(replace(of, revisions=())) == []


def test_a_broker_has_one_formatter_at_a_time() -> None:
    """None beside one that exists, and none for volumes that are formatted."""
    of = replace(blank(), pods=(formatter(broker(young(), 1)),))
    assert made(of) == [0, 2]
    assert made(look(RAN)) == []
    assert {one.reason for one in part_of(of).waits} == {"Formatting"}


def test_what_formatters_report_is_noted_for_all_brokers_at_once() -> None:
    """The record has the directory ids before any pod may run on them; nothing else is done in that pass."""
    of = young(2)
    pods = tuple(ended(of, node, report(row(node), row(node, 1))) for node in (0, 2))
    part = part_of(replace(blank(2), pods=pods))
    assert isinstance(part.exclusive, WriteRecord)
    assert part.exclusive.change is RecordChange.FORMATTED
    ids = [[disk.directory_id for disk in one.disks] for one in part.exclusive.record.brokers]
    assert ids == [[directory(0, 0), directory(0, 1)], [None, None], [directory(2, 0), directory(2, 1)]]
    assert not any(one.ran for one in part.exclusive.record.brokers)


OTHERS: list[tuple[str, DisksReport | None, dict[str, Any]]] = [
    ("no report", None, {}),
    ("not accepted", report(row(1), row(1, 1), accepted=False), {}),
    ("still running", report(row(1), row(1, 1)), {"finished": False}),
    ("other claims", report(row(1), row(1, 1)), {"claim_uids": ("claim-1-0", "earlier")}),
    ("half of it", report(row(1)), {}),
    ("empty", report(row(1), row(1, 1, found=DiskFound.EMPTY)), {}),
    ("unreadable", report(row(1), row(1, 1, found=DiskFound.UNREADABLE)), {}),
    ("another cluster", report(row(1), row(1, 1, cluster_id=OTHER_CLUSTER)), {}),
    ("another broker", report(row(1), row(1, 1, node_id=2)), {}),
    ("no id", report(row(1), row(1, 1, directory_id=None)), {}),
    ("an empty id", report(row(1), row(1, 1, directory_id="")), {}),
    ("a retired id", report(row(1), row(1, 1, directory_id=directory(1, life=7))), {}),
]


@pytest.mark.parametrize(("said", "changes"), [rest for _, *rest in OTHERS], ids=[name for name, *_ in OTHERS])
def test_a_report_about_anything_else_is_not_believed(said: DisksReport | None, changes: dict[str, Any]) -> None:
    """Only an accepted report of all present volumes, with new ids of this cluster and broker, is noted."""
    first, second = broker(young(2), 1).disks
    of = edited(young(2), 1, disks=(replace(first, retired=(directory(1, life=7),)), second))
    pod = ended(of, 1, said, **changes)
    assert part_of(replace(blank(2), record=of, pods=(pod,))).exclusive is None
    good = ended(of, 1, report(row(1), row(1, 1)))
    assert part_of(replace(blank(2), record=of, pods=(good,))).exclusive is not None


def test_a_volume_that_was_formatted_before_keeps_its_id() -> None:
    """Beside a new volume, the report must show the one of before: another id there is not believed."""
    first, second = broker(record(volumes=2), 1).disks
    of = edited(young(2), 1, disks=(first, replace(second, directory_id=None)))
    for found, noted in ((directory(1, 0), True), (directory(1, 0, life=5), False)):
        pod = ended(of, 1, report(row(1, directory_id=found), row(1, 1)), directory_ids=(first.directory_id or "", ""))
        part = part_of(replace(blank(2), record=of, pods=(pod,)))
        assert (part.exclusive is not None) is noted


def test_a_report_is_not_noted_twice() -> None:
    """The formatter of formatted volumes is deleted, before a pod runs on them."""
    pod = ended(RAN, 1, report(row(1)))
    of = without_pod(look(RAN), 1)
    part = part_of(replace(of, pods=(*of.pods, pod)))
    assert part.exclusive is None
    assert [one.pod for one in part.actions if isinstance(one, DeletePod)] == [pod]
    actions = planned(replace(of, pods=(*of.pods, pod))).actions
    assert not any(isinstance(one, CreatePod) for one in actions)


def test_a_formatter_that_ended_without_a_report_is_tried_again() -> None:
    """It is deleted; one that runs, or is deleted already, is left alone."""
    of = blank()
    failed = ended(young(), 1, None)
    (delete,) = (one for one in part_of(replace(of, pods=(failed,))).actions if isinstance(one, DeletePod))
    assert (delete.pod, delete.permit.rule, delete.force) == (failed, "2-replace-broker-pod", False)
    for pod in (formatter(broker(young(), 1)), replace(failed, deleting=True)):
        assert not any(isinstance(one, DeletePod) for one in part_of(replace(of, pods=(pod,))).actions)


def test_what_a_formatter_refuses_waits_for_a_person() -> None:
    """Another attempt would find the same: it stays, is told, and goes when its volumes or its revision change."""
    of, refused = young(), report(row(1, found=DiskFound.PARTIAL), accepted=False)
    pod = ended(of, 1, refused)
    part = part_of(replace(blank(), pods=(pod,)))
    assert not any(isinstance(one, DeletePod) for one in part.actions)
    assert [(one.severity, one.node_id) for one in part.waits if one.reason == "FormatRefused"] == [
        (Severity.DEGRADED, 1)
    ]
    for other in (
        replace(pod, claim_uids=("earlier",)),
        replace(pod, directory_ids=("earlier",)),
        replace(pod, revision="payments-broker-0000000000"),
    ):
        deleted = part_of(replace(blank(), pods=(other,))).actions
        assert [one.pod for one in deleted if isinstance(one, DeletePod)] == [other]


def test_a_formatter_that_found_data_gone_looks_again_after_a_while() -> None:
    """15 s after it found a volume empty that has data by the record, not before, and not for another's evidence."""
    pod = ended(young(), 1, report(row(1, found=DiskFound.EMPTY), accepted=False))
    for key, looked_s, deleted in (
        (pod.claim_uids, 115.0, True),
        (pod.claim_uids, 114.0, False),
        (("x",), 200, False),
    ):
        seen = BlankDisk(claim_uids=key, index=0, first_s=100, last_s=100, last_finished_at_s=1, looked_s=looked_s)
        of = replace(blank(), pods=(pod,), memory=Memory(blank=(seen,)))
        assert any(isinstance(one, DeletePod) for one in part_of(of).actions) is deleted


def test_a_formatter_that_has_not_begun_yet_is_left_alone() -> None:
    """It waits for its Kubernetes node; one of a broker that leaves before it ever ran is deleted, if no Kafka runs."""
    pod = formatter(broker(young(), 1), container=PENDING)
    of = replace(blank(), pods=(pod,))
    assert not any(isinstance(one, DeletePod) for one in part_of(of).actions)
    dropped = replace(of, record=edited(young(), 1, leaving=True))
    assert [one.pod for one in part_of(dropped).actions if isinstance(one, DeletePod)] == [pod]
    runs_ = replace(dropped, pods=(replace(pod, container=RUNS),))
    assert not any(isinstance(one, DeletePod) for one in part_of(runs_).actions)


def test_a_formatter_of_claims_that_were_given_up_goes() -> None:
    """Its volume may not exist any more, so that it would never begin, and would keep the next one away."""
    pod = formatter(broker(young(), 1), container=PENDING)
    of = replace(blank(), pods=(replace(pod, claim_uids=("earlier", *pod.claim_uids[1:])),))
    assert [one.pod for one in part_of(of).actions if isinstance(one, DeletePod)] == list(of.pods)
    runs_ = replace(of, pods=(replace(of.pods[0], container=RUNS),))
    assert not any(isinstance(one, DeletePod) for one in part_of(runs_).actions)


def test_a_broker_that_leaves_before_it_ran_gets_no_formatter() -> None:
    """One that ran gets its lost volume back first: its replicas are still to be moved."""
    of = blank()
    dropped = replace(of, record=edited(young(), 1, leaving=True))
    assert made(dropped) == [0, 2]
    assert [one.node_id for one in part_of(dropped).waits] == [0, 2]
    assert made(replace(of, record=edited(young(), 1, leaving=True, ran=True), cluster=Known(value=view((), ())))) == [
        0,
        1,
        2,
    ]


def test_repair_formats_from_the_revision_of_the_broker() -> None:
    """An invalid spec makes no new revision: the broker's own is used."""
    old = revision_of(desired())
    lost = edited(young(), 1, ran=True, revision=old.name)
    of = replace(look(lost, new_spec(), old=(old,), pods=(), least=0), cluster=KNOWN.cluster)
    of = replace(of, revisions=(old,))
    part = formatting(situation(of, new_spec(), repair_only=True))
    assert [(one.node_id, one.revision) for one in part.actions if isinstance(one, CreateFormatter)] == [(1, old)]


def given_up(*rows: Partition, fenced: bool = True, **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """Broker 1 has run, and its volume was given up; a formatter has formatted the next one."""
    disk = replace(broker(RAN, 1).disks[0], directory_id=None, retired=(directory(1, life=7),))
    of = edited(RAN, 1, disks=(disk,))
    seen = view(rows, [registered(0), registered(1, fenced=fenced), registered(2, fenced=True)])
    found = without_pod(with_view(look(of), seen), 1)
    return replace(found, pods=(*found.pods, ended(of, 1, report(row(1)))), **changes)


SHARED, PAIR = partition("t-0", [0, 1], [0]), partition("t-0", [1, 2], [1], leader=None)
CAME_BACK: list[tuple[Observed, str]] = [
    (given_up(SHARED, fenced=False), "broker 1 is unfenced: it may still run on a volume that was given up"),
    (given_up(PAIR), "a volume of broker 1 that was given up may have the last copy of one partition (t-0)"),
    (given_up(PAIR, accept_loss=frozenset({directory(1, life=6), "1"})), f"accept-loss={directory(1, life=7)}"),
]


@pytest.mark.parametrize(("of", "why"), CAME_BACK)
def test_a_new_volume_is_not_used_while_the_one_before_is_needed_after_all(of: Observed, why: str) -> None:
    """A process on a lost machine may come back, and be the last one with every record: no empty broker may lead."""
    part = part_of(of)
    assert part.exclusive is None
    assert [(one.severity, one.reason) for one in part.waits] == [(Severity.DEGRADED, "LostDisk")]
    assert why in part.waits[0].message
    without = replace(of, pods=tuple(one for one in of.pods if not one.formats))
    assert formats(without) == (False, formats(without)[1])
    assert why in formats(without)[1]
    assert [(one.severity, one.reason) for one in part_of(without).waits] == [(Severity.DEGRADED, "LostDisk")]


USED: list[Observed] = [
    given_up(SHARED),
    given_up(PAIR, accept_loss=frozenset({directory(1, life=7)})),
    given_up(PAIR, cluster=Unknown(reason="nobody answers")),
]


@pytest.mark.parametrize("of", USED)
def test_a_new_volume_is_used_if_nothing_shows_that_the_one_before_is_needed(of: Observed) -> None:
    """Others have everything, a person accepted the loss, or no more is known than when it was given up."""
    part = part_of(of)
    assert isinstance(part.exclusive, WriteRecord)
    assert part.exclusive.change is RecordChange.FORMATTED
    assert formats(replace(of, pods=tuple(one for one in of.pods if not one.formats)))[0]


def test_a_further_volume_of_the_only_replica_is_used() -> None:
    """It never had data: what its broker leads alone is on the other volumes."""
    of = given_up(PAIR)
    assert of.record is not None
    disk = replace(broker(of.record, 1).disks[0], retired=())
    assert isinstance(part_of(replace(of, record=edited(of.record, 1, disks=(disk,)))).exclusive, WriteRecord)


def test_a_refusal_is_told_while_it_holds_only() -> None:
    """Not of a formatter that runs again, that accepted, or whose broker is formatted by now; those are replaced."""
    refused = report(row(1, found=DiskFound.PARTIAL), accepted=False)
    pod = ended(young(), 1, refused)
    strange = ended(young(), 1, report(row(1, cluster_id=OTHER_CLUSTER)))
    for of, one in (
        (blank(), replace(pod, finished=False, container=RUNS)),
        (blank(), strange),
        (without_pod(look(RAN), 1), ended(RAN, 1, refused)),
    ):
        part = part_of(replace(of, pods=(one,)))
        assert not any(wait.reason == "FormatRefused" for wait in part.waits)
        deleted = [act.pod for act in part.actions if isinstance(act, DeletePod)]
        assert deleted == ([one] if one.finished else [])


# The guards 1-format-broker, 2-run-broker and 2-replace-broker-pod


def formats(of: Observed, node_id: int = 1) -> tuple[bool, str]:
    """The answer of the guard."""
    assert of.record is not None
    verdict = may_format(of, broker(of.record, node_id))
    assert verdict.rule == "1-format-broker"
    return verdict.allowed, verdict.reason


UNBOUND = edited(young(), 1, disks=(replace(broker(young(), 1).disks[0], claim_uid=None),))
KNOWN = look(young(), pods=(), seen=view((), [registered(0)]), least=0)
NO_FORMAT: list[tuple[Observed, str]] = [
    (replace(blank(), record=UNBOUND), "has no claim yet"),
    (replace(blank(), claims=()), "is gone"),
    (changed_claim(blank(), 1, uid="another"), "is not the one in the record"),
    (changed_claim(blank(), 1, deleting=True), "is being deleted"),
    (changed_claim(blank(), 1, volume_gone=True), "has lost its volume"),
    (replace(blank(), pods=(look(RAN).pods[1],)), "must be gone before a formatter"),
    (without_pod(look(RAN), 1), "is formatted already"),
    (replace(blank(), leader=Known(value=leader(observers_caught_up=frozenset({NodeID(1)})))), "is in contact"),
    (with_view(KNOWN, view((), [registered(0), registered(1)])), "is in contact"),
    (
        replace(
            with_view(KNOWN, view((), [registered(0), registered(1)])),
            leader=Known(value=leader(observers_caught_up=frozenset())),
        ),
        "is unfenced",
    ),
    (
        with_view(KNOWN, view([partition("t-0", [1])], [registered(0), registered(1, fenced=True)])),
        "have every acknowledged record of one partition (t-0)",
    ),
    (replace(blank(), leader=Unknown(reason="timeout")), "the partitions are not known"),
    (replace(blank(), record=edited(young(), 2, ran=True)), "the partitions are not known"),
]


@pytest.mark.parametrize(("of", "why"), NO_FORMAT)
def test_what_speaks_against_a_format(of: Observed, why: str) -> None:
    """A volume that is not ours for certain, a pod that uses it, or a node id that the cluster knows."""
    allowed, reason = formats(of)
    assert not allowed
    assert why in reason


FORMAT: list[Observed] = [
    blank(),
    KNOWN,
    with_view(KNOWN, view([partition("t-0", [0])], [registered(0), registered(1, fenced=True)])),
    replace(blank(), leader=Unknown(reason="no leader yet"), contract=Known(value=replace(CONTRACT, young=True))),
    replace(
        with_view(KNOWN, view([partition("t-0", [1])], [registered(0), registered(1, fenced=True)])),
        accept_loss=frozenset({f"{POOL}-1-d0-g1"}),
    ),
    # one that ran here, and lost its volume, was judged by rule 10
    replace(with_view(KNOWN, view([partition("t-0", [1])], [registered(0)])), record=edited(young(), 1, ran=True)),
]


@pytest.mark.parametrize("of", FORMAT)
def test_what_may_be_formatted(of: Observed) -> None:
    """New volumes of an id without replicas, or whose loss a person accepted."""
    assert formats(of)[0]


def runs(of: Observed) -> tuple[bool, str]:
    """The answer of the guard."""
    assert of.record is not None
    verdict = may_run(of, broker(of.record, 1))
    assert verdict.rule == "2-run-broker"
    return verdict.allowed, verdict.reason


AWAY = without_pod(look(RAN), 1)
NO_RUN: list[tuple[Observed, str]] = [
    (replace(AWAY, record=edited(RAN, 1, disks=broker(young(), 1).disks)), "is not formatted yet"),
    (replace(AWAY, record=edited(RAN, 1, disks=())), "is not formatted yet"),
    (replace(AWAY, claims=AWAY.claims[:1]), "is gone"),
    (changed_claim(AWAY, 1, uid="another"), "is not the one in the record"),
    (changed_claim(AWAY, 1, deleting=True), "is being deleted"),
    (changed_claim(AWAY, 1, volume_gone=True), "has lost its volume"),
    (replace(AWAY, pods=(*AWAY.pods, formatter(broker(RAN, 1)))), "must be gone first"),
    (replace(AWAY, record=edited(RAN, 1, ran=False)), "the record does not say yet"),
]


@pytest.mark.parametrize(("of", "why"), NO_RUN)
def test_what_speaks_against_a_start(of: Observed, why: str) -> None:
    """A broker runs on its own formatted volumes only, and never beside a formatter."""
    assert runs(AWAY)[0]
    allowed, reason = runs(of)
    assert not allowed
    assert why in reason
    assert not any(isinstance(one, CreatePod) and one.node_id == 1 for one in planned(of).actions)


def test_a_running_pod_is_replaced_only_if_its_broker_is_certainly_fenced() -> None:
    """Without Kafka in it there is nothing to lose; unknown is no yes."""
    pod = look(RAN).pods[0]
    assert may_replace_pod(pod, Known(value=True)).allowed
    for fenced in (Known(value=False), Unknown(reason="timeout")):
        verdict = may_replace_pod(pod, fenced)
        assert (verdict.allowed, verdict.rule) == (False, "2-replace-broker-pod")
        assert may_replace_pod(replace(pod, container=ENDED), fenced).allowed


GOES: list[tuple[dict[str, Any], bool]] = [
    ({}, False),
    ({"deleting": True}, True),
    ({"volume_gone": True}, True),
    ({"uid": "another"}, True),
    ({"generation": 7}, True),
]


@pytest.mark.parametrize(("changes", "gone"), GOES)
def test_whose_volumes_go_with_a_pod(changes: dict[str, Any], gone: bool) -> None:  # noqa: FBT001
    """A claim that is deleted, lost or replaced is held by the pod alone; of claims that it does not hold none is."""
    of = changed_claim(look(RAN), 1, **changes)
    assert bool(goes_with(of, of.pods[1])) is gone
    assert not goes_with(of, of.pods[0])
    assert not goes_with(of, replace(of.pods[1], claim_uids=("earlier",)))
    assert not goes_with(replace(of, record=None), of.pods[1])
    assert not goes_with(changed_pod(of, 1), replace(of.pods[1], node_id=NodeID(9)))
