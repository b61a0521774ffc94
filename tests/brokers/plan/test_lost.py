"""Volumes and Kubernetes nodes that are lost: what shows it, what rule 10 refuses, and what is given up."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.looks import (
    CRASHES,
    ORDERS,
    changed_claim,
    changed_pod,
    edited,
    formatter,
    look,
    partition,
    planned,
    ran,
    refused,
    registered,
    situation,
    view,
    with_view,
    without_pod,
)
from tests.brokers.values import CONTRACT, POOL, broker, desired, directory, record

from kafka_brokers.model.actions import DeletePod, NoteEmpty, RecordChange, WriteRecord
from kafka_brokers.model.disks import BrokerIdentity
from kafka_brokers.model.found import FoundEmpty, Run, SinceEmpty
from kafka_brokers.model.names import ACCEPT_LOSS
from kafka_brokers.model.observed import BlankDisk, DisksReport, KubeNode, Memory, Observed, Unreadable
from kafka_brokers.model.permit import RetireBrokerDisk, RetireBrokerNode
from kafka_brokers.model.plan import Part
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.guards.rule10_records import may_retire_disk, may_retire_node
from kafka_brokers.plan.lost import lost
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.permit import Permit, Refusal
from kafka_quorum.model.pods import DiskFound, Waiting
from kafka_quorum.model.zookeeper import ZooKeeperAccess

RAN = ran(record(), desired())
MANUAL = desired({"replacement": {"lostDisk": "Manual", "lostNode": "Manual"}})
ONE = NodeID(1)
FENCED = [registered(0), registered(1, fenced=True), registered(2)]
SPARED = view([partition("t-0", [0, 1, 2], [0, 2]), partition("u-0", [1, 2], [2], elr=[1])], FENCED)
"""Broker 1 is fenced, and others have every acknowledged record."""
LAST = view([partition("t-0", [0, 1, 2], [0, 2]), partition("only-0", [1], [1])], FENCED)
"""Broker 1 is fenced, and has the only complete copy of a partition."""
DOWN: Knowable[KubeNode] = Known(value=KubeNode(name="worker-1", ready=False))


def part_of(of: Observed, by: PoolDesired | None = None) -> Part:
    """What is done about losses."""
    return lost(situation(of, by))


def retired(part: Part) -> WriteRecord:
    """The record that gives something up."""
    assert part.actions == ()
    assert isinstance(part.exclusive, WriteRecord), part
    return part.exclusive


def waiting(part: Part) -> list[tuple[str, int | None]]:
    """Reason and broker of what is waited for; nothing is given up."""
    assert (part.exclusive, part.actions) == (None, ())
    return [(one.reason, one.node_id) for one in part.waits]


def away(seen: Any = SPARED, **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """Broker 1 does not run, and its claim has these fields."""
    return changed_claim(changed_pod(with_view(look(RAN), seen), 1, container=CRASHES), 1, **changes)


def test_a_pool_at_rest_has_lost_nothing() -> None:
    """Nor has one whose broker is away, or whose claim is another one of the same name."""
    assert part_of(look(RAN)) == Part()
    assert part_of(away()) == Part()
    assert part_of(away(uid="another", volume_gone=True)) == Part()


GONE: list[dict[str, Any]] = [{"volume_gone": True}, {"deleting": True}, {"generation": 9}]


@pytest.mark.parametrize("changes", GONE, ids=["no volume", "deleted", "no claim"])
def test_a_lost_volume_gets_another_claim_and_never_its_id_again(changes: dict[str, Any]) -> None:
    """The next generation, without uid and directory id; the directory id of before is retired for ever."""
    action = retired(part_of(away(**changes)))
    assert action.change is RecordChange.DISK_LOST
    (disk,) = broker(action.record, 1).disks
    assert (disk.generation, disk.claim_uid, disk.directory_id) == (2, None, None)
    assert disk.retired == (directory(1),)
    assert action.record == edited(RAN, 1, disks=(disk,))


def test_only_the_lost_volume_of_several_is_given_up() -> None:
    """The others keep their claims and ids."""
    two = ran(record(volumes=2), desired())
    of = replace(look(two), claims=tuple(one for one in look(two).claims if (one.node_id, one.index) != (1, 1)))
    of = changed_pod(with_view(of, SPARED), 1, container=CRASHES)
    first, second = broker(retired(part_of(of)).record, 1).disks
    assert first == broker(two, 1).disks[0]
    others = tuple(replace(one, uid="x") if (one.node_id, one.index) == (1, 0) else one for one in of.claims)
    assert broker(retired(part_of(replace(of, claims=others))).record, 1).disks == (first, second)
    unbound = edited(two, 1, disks=(replace(first, claim_uid=None, directory_id=None), broker(two, 1).disks[1]))
    assert broker(retired(part_of(replace(of, record=unbound))).record, 1).disks[1] == second
    assert (second.generation, second.claim_uid, second.retired) == (2, None, (directory(1, 1),))


@pytest.mark.parametrize("changes", GONE, ids=["no volume", "deleted", "no claim"])
def test_the_only_complete_copy_is_not_given_up(changes: dict[str, Any]) -> None:
    """Rule 10: the records would be lost, so a person must accept it for this very data."""
    of = away(LAST, **changes)
    assert waiting(part_of(of)) == [("LostDisk", 1)]
    (verdict,) = part_of(of).verdicts
    assert (verdict.rule, verdict.allowed) == ("10-retire-disk", False)
    assert f"{ACCEPT_LOSS}={directory(1)}" in verdict.reason
    others = frozenset({directory(0), directory(1, life=2), "1", f"{POOL}-1-d0-g1"})
    assert waiting(part_of(replace(of, accept_loss=others))) == [("LostDisk", 1)]
    assert retired(part_of(replace(of, accept_loss=others | {directory(1)}))).change is RecordChange.DISK_LOST


def test_all_of_the_data_that_is_lost_must_be_accepted() -> None:
    """With two lost volumes of a broker both are named, and one of them alone accepts nothing."""
    of = with_view(look(ran(record(volumes=2), desired())), LAST)
    of = changed_pod(replace(of, claims=tuple(one for one in of.claims if one.node_id != 1)), 1, container=CRASHES)
    both = (directory(1, 0), directory(1, 1))
    (wait,) = part_of(replace(of, accept_loss=frozenset(both[:1]))).waits
    assert f"{ACCEPT_LOSS}={both[0]},{both[1]}" in wait.message
    assert retired(part_of(replace(of, accept_loss=frozenset(both)))).change is RecordChange.DISK_LOST


def test_data_that_was_given_up_is_not_given_up_again() -> None:
    """A claim that is lost before its format had no data: nobody has to accept its loss, too."""
    (disk,) = broker(RAN, 1).disks
    successor = replace(disk, generation=2, directory_id=None, retired=(directory(1),))
    of = replace(away(LAST, generation=9), record=edited(RAN, 1, disks=(successor,)))
    for seen in (of, replace(of, cluster=Unknown(reason="no broker runs yet"))):
        (last,) = broker(retired(part_of(seen)).record, 1).disks
        assert (last.generation, last.retired) == (3, (directory(1),))
    on_a_lost_node = replace(down(of, pod=False), record=of.record, claims=look(of.record).claims)
    on_a_lost_node = changed_claim(on_a_lost_node, 1, bound_to="worker-1")
    assert retired(part_of(on_a_lost_node)).change is RecordChange.NODE_LOST
    rebuilt = edited(RAN, 1, disks=(replace(successor, unproven=True),))
    assert waiting(part_of(replace(of, record=rebuilt))) == [("LostDisk", 1)]


def test_a_person_decides_if_the_policy_says_so() -> None:
    """With Manual nothing is replaced, except of a broker that has never run."""
    assert waiting(part_of(away(volume_gone=True), MANUAL)) == [("LostDisk", 1)]
    young = edited(RAN, 1, ran=False, disks=(replace(broker(RAN, 1).disks[0], directory_id=None),))
    of = replace(away(LAST, volume_gone=True), record=young)
    assert retired(part_of(of, MANUAL)).change is RecordChange.DISK_LOST


def test_a_volume_is_not_given_up_under_a_running_kafka() -> None:
    """A person deletes the pod; also if its broker is fenced."""
    for seen in (view(ORDERS), SPARED):
        of = changed_claim(with_view(look(RAN), seen), 1, volume_gone=True)
        assert waiting(part_of(of)) == [("LostDisk", 1)]


def test_losses_of_a_broker_that_leaves_are_its_drains() -> None:
    """It gets no new volumes."""
    assert part_of(replace(away(volume_gone=True), record=edited(RAN, 1, leaving=True))) == Part()


def test_losses_are_given_up_one_broker_after_the_other() -> None:
    """Each write is judged on a look of its own."""
    of = changed_pod(changed_claim(away(volume_gone=True), 2, volume_gone=True), 2, container=CRASHES)
    both = [registered(0), registered(1, fenced=True), registered(2, fenced=True)]
    of = with_view(of, view([partition("t-0", [0, 1, 2], [0])], both, min_isr=1))
    changed = retired(part_of(of)).record
    assert [one.disks[0].generation for one in changed.brokers] == [1, 2, 1]


def test_a_claim_that_cannot_be_read_is_not_called_gone() -> None:
    """A person who reads that would delete the pod, and with it perhaps the volume."""
    of = away(generation=9)
    unreadable = Unreadable(kind="PersistentVolumeClaim", name="payments-1-d0-g1", why="its size")
    assert part_of(replace(of, unreadable=(unreadable,))) == Part()
    assert (
        retired(part_of(replace(of, unreadable=(replace(unreadable, name="payments-0-d0-g1"),)))).change
        is RecordChange.DISK_LOST
    )


# The guards 10-retire-disk and 10-retire-node


ACCEPTED = frozenset({directory(1)})


def gives_up_disk(observed: Observed, identity: BrokerIdentity, evidence: str) -> Permit[RetireBrokerDisk] | Refusal:
    """The guard, for all volumes of a broker."""
    return may_retire_disk(observed, identity, identity.disks, evidence)


def gives_up_node(observed: Observed, identity: BrokerIdentity, evidence: str) -> Permit[RetireBrokerNode] | Refusal:
    """The same for those of a lost Kubernetes node."""
    return may_retire_node(observed, identity, identity.disks, evidence)


GUARDS = (gives_up_disk, gives_up_node)
AGAINST: list[tuple[Observed, bool]] = [
    (with_view(look(RAN), SPARED), True),
    (replace(with_view(look(RAN), SPARED), leader=Unknown(reason="timeout")), False),
    (replace(with_view(look(RAN), SPARED), cluster=Unknown(reason="timeout")), False),
    (with_view(look(RAN), view([partition("t-0", [0, 1, 2])])), False),
    (with_view(look(RAN), LAST), False),
    (replace(with_view(look(RAN), LAST), accept_loss=ACCEPTED), True),
    (replace(with_view(look(RAN), view(ORDERS)), accept_loss=ACCEPTED), False),
    (with_view(look(RAN), view([partition("t-0", [0, 2])], [registered(0), registered(2)])), True),
    (with_view(look(RAN), view([partition("t-0", [0, 1])], [registered(0, fenced=True), registered(2)])), False),
]


@pytest.mark.parametrize(("of", "allowed"), AGAINST)
def test_what_may_be_given_up(of: Observed, allowed: bool) -> None:  # noqa: FBT001
    """Only of a broker that is certainly out of contact, and whose records others have, or a person gave up."""
    for guard, rule in zip(GUARDS, ("10-retire-disk", "10-retire-node"), strict=True):
        verdict = guard(of, broker(RAN, 1), "it is lost")
        assert (verdict.rule, verdict.allowed) == (rule, allowed)
        assert "it is lost" in verdict.reason


def test_a_person_accepts_what_no_broker_is_left_to_say() -> None:
    """A single broker has lost its volume: the partitions stay unknown. A lost machine is not known to be lost."""
    unasked = replace(with_view(look(RAN), SPARED), cluster=Unknown(reason="no broker runs yet"))
    assert isinstance(unasked.leader, Known)
    heard = replace(unasked, leader=Known(value=replace(unasked.leader.value, observers=frozenset({ONE}))))
    unheard = replace(unasked, leader=Known(value=replace(unasked.leader.value, observers=frozenset({NodeID(0)}))))
    accepted = replace(unheard, accept_loss=ACCEPTED)
    migrates = replace(CONTRACT, zookeeper=ZooKeeperAccess(connect="zoo:2181"))
    for of, reason in (
        (unheard, f"accept the loss: annotate the KafkaBrokerPool with {ACCEPT_LOSS}={directory(1)}"),
        (replace(heard, accept_loss=ACCEPTED), "the quorum has heard from broker 1 in the last five minutes"),
        (replace(accepted, contract=Known(value=migrates)), "(no broker runs yet)"),
        (replace(accepted, contract=Unknown(reason="timeout")), "(no broker runs yet)"),
    ):
        verdict = gives_up_disk(of, broker(RAN, 1), "it is lost")
        assert not verdict.allowed
        assert verdict.reason.endswith(reason)
    assert gives_up_disk(accepted, broker(RAN, 1), "it is lost").allowed
    assert not gives_up_node(accepted, broker(RAN, 1), "it is lost").allowed


def test_a_broker_that_never_ran_has_nothing_to_lose() -> None:
    """Whatever is known of the cluster."""
    of = replace(look(RAN), leader=Unknown(reason="timeout"))
    for guard in GUARDS:
        assert guard(of, replace(broker(RAN, 1), ran=False), "it is lost").allowed


# Volumes that were found empty


BEGIN_S = 1_000_000.0
NEWEST = Run(container="kafka", number=5)


def report_of(*rows: DiskFound, run: Run | None = NEWEST) -> DisksReport:
    """What the newest run of the script found."""
    return refused(BEGIN_S + 15, *rows, run=run)


def note(node_s: float = 15.0, operator_s: float = 15.0, *, run: Run = NEWEST, index: int = 0) -> FoundEmpty:
    """A note of two runs that are so far apart, by the clocks of the Kubernetes node and of operators."""
    since = SinceEmpty(index=index, finished_at_s=BEGIN_S, noted_at_s=BEGIN_S + 1)
    end_s = BEGIN_S + 1 + operator_s
    return FoundEmpty(run=run, finished_at_s=BEGIN_S + node_s, noted_at_s=end_s, volumes=(since,))


def empty(of: Observed, noted: FoundEmpty | None = None, **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """The look after scripts of broker 1's pod have found its volume empty."""
    newest = noted or note()
    said = replace(report_of(), finished_at_s=newest.finished_at_s)
    return changed_pod(of, 1, **{"report": said, "noted": newest, **changes})


def test_an_emptied_volume_is_formatted_again_in_its_claim() -> None:
    """Two runs, 15 s apart, found it empty: its id is retired, its claim is used again."""
    (disk,) = broker(retired(part_of(empty(away()))).record, 1).disks
    assert (disk.generation, disk.claim_uid, disk.directory_id) == (1, "claim-1-0", None)
    assert disk.retired == (directory(1),)
    assert waiting(part_of(empty(away(LAST)))) == [("LostDisk", 1)]


NOT_YET: list[Observed] = [
    empty(away(), note(14.0)),
    empty(away(), note(operator_s=14.0)),
    empty(away(), note(index=1)),
]


@pytest.mark.parametrize("of", NOT_YET, ids=["the node's clock", "operators' clocks", "another volume"])
def test_an_empty_volume_is_waited_for(of: Observed) -> None:
    """Both clocks must say that the runs are far enough apart; the status says what is waited for."""
    (wait,) = part_of(of).waits
    assert (wait.reason, wait.node_id, part_of(of).exclusive) == ("LostDisk", 1, None)
    assert "looks as if volume 0 of broker 1 were empty" in wait.message
    assert "payments-1-broker" in wait.message


def test_what_is_no_evidence_of_an_emptied_volume() -> None:
    """A Kafka that runs by now, a volume that has no data yet, another claim's pod, a script that found something."""
    assert part_of(empty(with_view(look(RAN), SPARED))) == Part()
    young = edited(RAN, 1, disks=(replace(broker(RAN, 1).disks[0], directory_id=None),))
    assert part_of(replace(empty(away()), record=young)) == Part()
    assert part_of(empty(away(), claim_uids=("earlier",))) == Part()
    for found in set(DiskFound) - {DiskFound.EMPTY}:
        assert part_of(empty(away(), report=report_of(found))) == Part()
    assert part_of(empty(away(), report=None)) == Part()


def test_what_a_run_found_empty_is_noted_once() -> None:
    """Of each run, by its number; a run that is not known is not noted, and nothing is on a pod that is going."""
    later = Run(container="kafka", number=6)
    for of, noted in (
        (empty(away(), report=report_of(run=later)), True),
        (changed_pod(empty(away()), 1, noted=None), True),
        (empty(away(), report=report_of(run=Run(container="verify", number=5))), True),
        (empty(away(), note(14.0)), False),
        (changed_pod(empty(away(), report=report_of(run=None)), 1, noted=None), False),
        (empty(away(), report=report_of(run=later), deleting=True), False),
        (empty(away(), report=report_of(DiskFound.FORMATTED, run=later)), False),
    ):
        actions = part_of(of).actions
        assert [type(one) for one in actions] == ([NoteEmpty] if noted else [])


def test_a_broker_that_leaves_has_its_note_as_well() -> None:
    """Its volume is not replaced, and that it is empty must be known before it can leave."""
    of = changed_pod(empty(away()), 1, noted=None)
    part = part_of(replace(of, record=edited(RAN, 1, leaving=True)))
    assert ([type(one) for one in part.actions], part.exclusive) == ([NoteEmpty], None)


def test_formatters_of_the_same_claims_count_together_while_no_kafka_runs() -> None:
    """A formatter runs once; what one of earlier claims found does not count, nor any beside a Kafka that runs."""
    looks = formatter(broker(RAN, 1), container=CRASHES)
    of = without_pod(away(), 1)

    def with_row(claim_uids: tuple[str, ...], last_s: float = 115.0) -> Observed:
        row = BlankDisk(claim_uids=claim_uids, index=0, first_s=100.0, last_s=last_s, last_finished_at_s=1.0)
        return replace(of, pods=(*of.pods, looks), memory=Memory(blank=(row,)))

    assert retired(part_of(with_row(looks.claim_uids))).change is RecordChange.DISK_LOST
    assert part_of(with_row(looks.claim_uids, 114.0)) == Part()
    assert part_of(with_row(("earlier",))) == Part()
    running = with_view(look(RAN), SPARED)
    assert part_of(replace(with_row(looks.claim_uids), pods=(*running.pods, looks))) == Part()


# Kubernetes nodes


AFTER_S = float(desired().lost_node_after_s)


def down(of: Observed | None = None, *, for_s: float = AFTER_S, pod: bool = True) -> Observed:
    """Broker 1's Kubernetes node is down, for so long, and only it can reach the broker's volume."""
    base = changed_claim(of or with_view(look(RAN), SPARED), 1, bound_to="worker-1")
    base = base if pod else without_pod(base, 1)
    memory = Memory(node_down_s=((ONE, for_s),))
    return replace(base, kube_nodes=(("worker-1", DOWN),), memory=memory)


def test_the_pod_of_a_lost_node_is_deleted_first_and_its_volumes_are_given_up_then() -> None:
    """Kubernetes must not run it there any more before its volumes are replaced elsewhere."""
    part = part_of(down())
    (delete,) = part.actions
    assert isinstance(delete, DeletePod)
    assert (delete.pod.node_id, delete.force, delete.reason) == (1, True, "NodeLost")
    assert part.exclusive is None
    action = retired(part_of(down(pod=False)))
    assert action.change is RecordChange.NODE_LOST
    (disk,) = broker(action.record, 1).disks
    assert (disk.generation, disk.claim_uid, disk.retired) == (2, None, (directory(1),))


def test_a_formatter_on_a_lost_node_does_not_hold_volumes_that_others_can_reach() -> None:
    """Nothing else says where such a broker is: its formatter is deleted without the node, and another one is made."""
    disk = replace(broker(RAN, 1).disks[0], directory_id=None, retired=(directory(1),))
    of = edited(RAN, 1, disks=(disk,))
    there = formatter(
        broker(of, 1), container=Waiting(reason="", message="", last_exit=None), node_name="worker-1", deleting=True
    )
    seen = without_pod(with_view(look(of), SPARED), 1)
    seen = replace(seen, pods=(*seen.pods, there), kube_nodes=(("worker-1", DOWN),))
    assert waiting(part_of(seen)) == [("NodeDown", 1)]
    (delete,) = part_of(replace(seen, memory=Memory(node_down_s=((ONE, AFTER_S),)))).actions
    assert isinstance(delete, DeletePod)
    assert (delete.pod, delete.force) == (there, True)


def test_a_node_that_may_come_back_is_waited_for() -> None:
    """Before the policy's time, or with Manual, the pod and its volumes stay, and the status reports it."""
    assert waiting(part_of(down(for_s=AFTER_S - 1))) == [("NodeDown", 1)]
    assert waiting(part_of(down(), MANUAL)) == [("NodeDown", 1)]
    assert waiting(part_of(down(for_s=0.0))) == [("NodeDown", 1)]


def test_the_only_complete_copy_on_a_lost_node_is_waited_for() -> None:
    """Rule 10, as for a lost volume: neither the pod nor a volume is given up."""
    of = with_view(look(RAN), LAST)
    for pod in (True, False):
        part = part_of(down(of, pod=pod))
        assert waiting(part) == [("NodeDown", 1)]
        assert [(one.rule, one.allowed) for one in part.verdicts] == [("10-retire-node", False)]


def test_a_pod_is_not_forced_away_while_its_broker_may_serve() -> None:
    """Kubernetes calls the node down, and the broker is unfenced: it is cut off from Kubernetes only."""
    of = with_view(look(RAN), view(ORDERS))
    assert waiting(part_of(down(of))) == [("NodeDown", 1)]


NOT_DOWN: list[tuple[str, Knowable[KubeNode]]] = [
    ("worker-1", Known(value=KubeNode(name="worker-1", ready=True))),
    ("worker-1", Unknown(reason="timeout")),
    ("worker-9", DOWN),
]


@pytest.mark.parametrize("row", NOT_DOWN)
def test_a_node_that_is_not_certainly_down_gives_nothing_up(row: tuple[str, Knowable[KubeNode]]) -> None:
    """It is ready, or unknown, or another one."""
    assert part_of(replace(down(), kube_nodes=(row,))) == Part()


def test_volumes_that_other_nodes_can_reach_are_kept() -> None:
    """Only those that are bound to the lost node are given up; without any, the pod alone is deleted."""
    two = ran(record(volumes=2), desired())
    of = with_view(look(two), SPARED)
    bound = tuple(
        replace(one, bound_to="worker-1" if one.index == 0 else "") if one.node_id == 1 else one for one in of.claims
    )
    gone = replace(down(of, pod=False), claims=bound)
    first, second = broker(retired(part_of(gone)).record, 1).disks
    assert (first.generation, second) == (2, broker(two, 1).disks[1])
    last = replace(gone, cluster=Known(value=LAST))
    (verdict,) = part_of(last).verdicts
    assert verdict.reason.endswith(f"{ACCEPT_LOSS}={directory(1, 0)}")  # the other id stays in use
    assert retired(part_of(replace(last, accept_loss=frozenset({directory(1, 0)})))).change is RecordChange.NODE_LOST
    free = changed_claim(down(), 1, bound_to="")
    assert [type(one) for one in part_of(free).actions] == [DeletePod]
    assert part_of(changed_claim(down(pod=False), 1, bound_to="")) == Part()


def test_an_invalid_spec_still_repairs_losses() -> None:
    """With the policy of the last accepted one."""
    (action,) = planned(away(volume_gone=True), repair_only=True).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.DISK_LOST
