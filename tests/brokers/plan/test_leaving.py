"""Brokers that leave: held or drained within limits, proved empty, stopped, unregistered; and what calls that off."""

from dataclasses import replace

from tests.brokers.looks import (
    NOW_S,
    at,
    changed_claim,
    changed_pod,
    edited,
    formatter,
    look,
    partition,
    planned,
    ran,
    reassignment,
    registered,
    view,
    with_view,
    without_pod,
)
from tests.brokers.values import CONTRACT, broker, desired, record

from kafka_brokers.model.actions import (
    CreateFormatter,
    DeletePod,
    EndThrottle,
    GiveToken,
    MovePartitions,
    RecordChange,
    TakeToken,
    Unregister,
    WriteRecord,
)
from kafka_brokers.model.disks import Throttle
from kafka_brokers.model.observed import ClusterView, KubeNode, Memory, Observed
from kafka_brokers.model.plan import Plan, Severity
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.throttles import TOPICS_MAX, limited
from kafka_quorum.model.brokers import LogDirectory, Move, Replica
from kafka_quorum.model.contract import Turn
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.pods import Waiting
from kit.token import Token

TWO = desired({"replicas": 2, "drain": "Automatic"})
HOLD = desired({"replicas": 2, "drain": "Hold"})
OURS = Known(value=Token(holder="pool/payments", since="", resource_version="1"))
LEAVES = edited(ran(record(), TWO), 2, leaving=True)
FOUR = [registered(node) for node in range(4)]
PENDING = Waiting(reason="", message="", last_exit=None)
NOTHING = LogDirectory(path="/d", error="", total_bytes=1, usable_bytes=1, replicas=())


def held_by(*rows: object, **named: object) -> ClusterView:
    """A cluster of three brokers of the pool and a foreign one."""
    return view(rows, FOUR, **named)  # type: ignore[arg-type]


def only(of: Plan) -> object:
    """The only action."""
    (action,) = of.actions
    return action


def leaving(seen: ClusterView, *, throttle: Throttle | None = None, least: int = 3, **changes: object) -> Observed:
    """A look at a pool whose broker 2 leaves."""
    of = replace(LEAVES, throttle=throttle)
    return look(of, TWO, seen=seen, least=least, **changes)  # type: ignore[arg-type]


MOVABLE = held_by(partition("t-0", [2, 0, 1]))


def limit(*topics: str, brokers: tuple[int, ...] = (0, 1, 2, 3)) -> Throttle:
    """The limits of a drain."""
    return Throttle(bytes_per_s=52_428_800, brokers=tuple(map(NodeID, brokers)), topics=topics)


def test_partitions_are_named_and_held() -> None:
    """With Hold nothing is moved, and the partitions are named."""
    plan = planned(look(LEAVES, HOLD, seen=MOVABLE, least=2), HOLD)
    assert not plan.actions
    (wait,) = (one for one in plan.waits if one.reason == "BrokerNotEmpty")
    assert (wait.severity, "t-0" in wait.message) == (Severity.HELD, True)


def test_a_drain_notes_its_limits_then_sets_them_and_moves() -> None:
    """The record has what will be limited before it is; the moves carry the settings that are set before them."""
    write = only(planned(leaving(MOVABLE, least=2), TWO))
    assert isinstance(write, WriteRecord)
    assert (write.change, write.record.throttle) == (RecordChange.THROTTLED, limit("t"))
    move = only(planned(leaving(MOVABLE, throttle=limit("t"), least=2), TWO))
    assert isinstance(move, MovePartitions)
    assert move.moves == (Move(at=at("t-0"), replicas=(NodeID(3), NodeID(0), NodeID(1))),)
    assert {node for node, _ in move.rates} == {0, 1, 2, 3}
    assert {change.value for _, changes in move.rates for change in changes} == {"52428800"}
    ((topic, (sources, targets)),) = move.limited
    assert (topic, sources.value, targets.value) == ("t", "0:2,0:0,0:1", "0:3")


def test_replicas_of_moves_that_run_stay_limited() -> None:
    """The setting of a topic is replaced as a whole: it lists the running moves of the topic, too."""
    running = reassignment("t-1", [2, 0, 3], adding=[3], removing=[2])
    seen = held_by(partition("t-0", [2, 0]), partition("t-1", [2, 0, 3], [2, 0]), reassignments=[running])
    ((_, (sources, targets)),) = limited(seen, [Move(at=at("t-0"), replicas=(NodeID(3), NodeID(0)))])
    assert (sources.value, targets.value) == ("0:2,0:0,1:2,1:0", "0:3,1:3")


def test_the_limits_are_removed_after_the_last_move() -> None:
    """Before the broker is stopped, whichever operator runs then; a topic that is gone meanwhile is not asked."""
    done = held_by(partition("t-0", [3, 0, 1]))
    end = only(planned(leaving(done, throttle=limit("t", "gone"), least=2), TWO))
    assert isinstance(end, EndThrottle)
    assert (end.topics, end.brokers, end.record.throttle) == (("t",), (0, 1, 2, 3), None)


def test_the_limits_stay_while_moves_run_or_follow() -> None:
    """A drain that goes on keeps them, so that they are not set and removed in turn."""
    running = reassignment("t-0", [2, 0, 1, 3], adding=[3], removing=[2])
    seen = held_by(partition("t-0", [2, 0, 1, 3], [2, 0, 1]), reassignments=[running])
    assert not any(isinstance(one, EndThrottle) for one in planned(leaving(seen, throttle=limit("t")), TWO).actions)
    stays = look(replace(ran(record(), desired()), throttle=limit("t")), seen=seen)
    assert not any(isinstance(one, EndThrottle) for one in planned(stays).actions)


def test_the_limits_are_removed_if_the_broker_stays_after_all() -> None:
    """And with an invalid spec, too."""
    of = look(replace(ran(record(), desired()), throttle=limit("t")), seen=MOVABLE)
    assert isinstance(only(planned(of)), EndThrottle)
    assert isinstance(only(planned(of, repair_only=True)), EndThrottle)


def test_limits_of_many_topics_are_released_in_between() -> None:
    """The record of a drain of thousands of topics stays small."""
    many = tuple(f"t{number}" for number in range(TOPICS_MAX + 1))
    rows = [partition(f"{name}-0", [3, 0]) for name in many[1:]]
    seen = held_by(partition("t0-0", [2, 0, 1]), *rows)
    end = only(planned(leaving(seen, throttle=limit(*many), least=3), TWO))
    assert isinstance(end, EndThrottle)
    assert (end.brokers, end.record.throttle) == ((), limit())


def test_a_drain_that_is_impossible_says_why() -> None:
    """Three replicas on three brokers have no other place."""
    (wait,) = (one for one in planned(look(LEAVES, TWO), TWO).waits if one.reason == "BrokerNotEmpty")
    assert "not enough other unfenced brokers" in wait.message


EMPTY = held_by(partition("t-0", [3, 0, 1]))
PROVED = ((NodeID(2), Known(value=(NOTHING,))),)


def test_an_empty_broker_is_stopped_with_the_token_only() -> None:
    """First the token, then the record, then the stop for good."""
    assert isinstance(only(planned(leaving(EMPTY, least=2, log_dirs=PROVED), TWO)), TakeToken)
    ends = Known(value=replace(OURS.value, ends=True))
    assert isinstance(only(planned(leaving(EMPTY, least=2, log_dirs=PROVED, token=ends), TWO)), TakeToken)
    write = only(planned(leaving(EMPTY, least=2, log_dirs=PROVED, token=OURS), TWO))
    assert isinstance(write, WriteRecord)
    assert write.change is RecordChange.EMPTY
    stops = look(edited(LEAVES, 2, empty=True), TWO, seen=EMPTY, least=1, log_dirs=PROVED, token=OURS)
    delete = only(planned(stops, TWO))
    assert isinstance(delete, DeletePod)
    assert delete.pod.node_id == 2


def test_an_empty_broker_waits_for_controllers_whose_certificates_end() -> None:
    """Its stop needs the token, so the controllers restart first: the pool takes no token, and gives its own back."""
    turn = Turn(ends_s=int(NOW_S) + 1000, last_s=int(NOW_S) + 500)
    first = Known(value=replace(CONTRACT, turn=turn))
    plan = planned(leaving(EMPTY, least=3, log_dirs=PROVED, contract=first), TWO)
    assert plan.actions == ()
    assert any("the controllers restart first" in one.message for one in plan.waits)
    given = only(planned(leaving(EMPTY, least=3, log_dirs=PROVED, contract=first, token=OURS), TWO))
    assert isinstance(given, GiveToken)


def test_what_is_left_in_a_directory_holds_the_stop() -> None:
    """A replica in a log directory, a failed directory, or no answer is no proof."""
    stray = replace(NOTHING, replicas=(Replica(at=at("t-0"), size_bytes=1, lag=0, future=False),))
    for answer in (Known(value=(stray,)), Known(value=(replace(NOTHING, error="KAFKA_STORAGE"),)), Unknown(reason="?")):
        plan = planned(leaving(EMPTY, least=2, log_dirs=((NodeID(2), answer),), token=OURS), TWO)
        assert not any(isinstance(one, WriteRecord | DeletePod) for one in plan.actions)


def test_a_topic_that_arrives_calls_the_stop_off() -> None:
    """A broker that has replicas again runs on, and is drained again."""
    stops = look(edited(LEAVES, 2, empty=True), TWO, seen=MOVABLE, least=1, token=OURS)
    write = only(planned(stops, TWO))
    assert isinstance(write, WriteRecord)
    assert (write.change, broker(write.record, 2).empty) == (RecordChange.STOP_CALLED_OFF, False)


def test_unregistered_after_its_session_then_dropped() -> None:
    """A stopped broker is unregistered when it is fenced, and leaves the record when Kafka has forgotten it."""
    gone = without_pod(look(edited(LEAVES, 2, empty=True), TWO, least=1, token=OURS), 2)
    rows = [partition("t-0", [3, 0, 1])]
    others = [registered(0), registered(1), registered(3)]
    still = with_view(gone, view(rows, [*others, registered(2)]))
    assert not any(isinstance(one, Unregister) for one in planned(still, TWO).actions)
    fenced = with_view(gone, view(rows, [*others, registered(2, fenced=True)]))
    assert isinstance(only(planned(fenced, TWO)), Unregister)
    write = only(planned(with_view(gone, view(rows, others)), TWO))
    assert isinstance(write, WriteRecord)
    assert (write.change, write.record.node_ids) == (RecordChange.REMOVED, (0, 1))
    assert [each.node_id for each in write.record.former] == [2]


def test_a_broker_without_its_volume_leaves_all_the_same() -> None:
    """Its directories can never be asked: no partition has it, and it is fenced."""
    seen = view(
        [partition("t-0", [3, 0, 1])], [registered(0), registered(1), registered(3), registered(2, fenced=True)]
    )
    of = changed_pod(leaving(seen, least=2, token=OURS), 2, container=PENDING, gate="False")
    of = replace(of, claims=tuple(one for one in of.claims if one.node_id != 2))
    write = only(planned(of, TWO))
    assert isinstance(write, WriteRecord)
    assert write.change is RecordChange.EMPTY


def test_a_broker_on_a_lost_kubernetes_node_leaves_all_the_same() -> None:
    """The same for a node that Kubernetes reports as down, and not for one that is only slow to answer."""
    seen = view(
        [partition("t-0", [3, 0, 1])], [registered(0), registered(1), registered(3), registered(2, fenced=True)]
    )
    of = changed_pod(leaving(seen, least=2, token=OURS), 2, gate="False")
    assert not any(isinstance(one, WriteRecord) for one in planned(of, TWO).actions)
    kept = changed_pod(leaving(seen, least=3, token=OURS), 2, gate="False")
    down = replace(kept, kube_nodes=(("worker-2", Known(value=KubeNode(name="worker-2", ready=False))),))
    assert any(isinstance(one, WriteRecord) for one in planned(down, TWO).actions)


DOWN = (("worker-2", Known(value=KubeNode(name="worker-2", ready=False))),)
GONE = view([partition("t-0", [3, 0, 1])], [registered(0), registered(1), registered(3), registered(2, fenced=True)])


def test_a_broker_that_a_person_holds_is_not_stopped_for_good() -> None:
    """It is drained, and waits for that person; a stop that was noted is called off. A lost one cannot be kept."""
    held = changed_pod(leaving(EMPTY, least=3, log_dirs=PROVED, token=OURS), 2, held=True)
    plan = planned(held, TWO)
    assert isinstance(only(plan), GiveToken)
    (wait,) = (one for one in plan.waits if one.node_id == 2)
    assert (wait.severity, wait.reason) == (Severity.HELD, "RollHeld")
    assert "pod payments-2-broker has the annotation kafkaquorum.io/hold" in wait.message
    stops = look(edited(LEAVES, 2, empty=True), TWO, seen=EMPTY, least=1, log_dirs=PROVED, token=OURS)
    off = only(planned(changed_pod(stops, 2, held=True), TWO))
    assert isinstance(off, WriteRecord)
    assert off.change is RecordChange.STOP_CALLED_OFF
    moved = planned(changed_pod(leaving(MOVABLE, throttle=limit("t"), least=3), 2, held=True), TWO)
    assert isinstance(only(moved), MovePartitions)
    assert {one.severity for one in moved.waits if one.reason == "Draining"} == {Severity.PROGRESS}
    gone = changed_pod(leaving(GONE, least=3, token=OURS, kube_nodes=DOWN), 2, held=True, gate="False")
    assert isinstance(only(planned(gone, TWO)), WriteRecord)


def test_a_held_broker_says_roll_held_only_if_it_waits_for_that_person() -> None:
    """Its machine is lost, and its session has not ended; or a move to it has begun: both need time only."""
    going = partition("t-0", [3, 0, 1])
    comes = held_by(going, reassignments=[reassignment("t-0", [3, 0, 2], adding=[2], removing=[1])])
    for of, why in (
        (leaving(EMPTY, least=3, token=OURS, kube_nodes=DOWN), "its session has not ended"),
        (leaving(comes, least=3, log_dirs=PROVED, token=OURS), "running reassignments name broker 2"),
    ):
        (wait,) = (one for one in planned(changed_pod(of, 2, held=True), TWO).waits if one.node_id == 2)
        assert (wait.severity, wait.reason) == (Severity.PROGRESS, "Draining")
        assert why in wait.message


def test_a_broker_that_no_node_takes_leaves_if_the_node_of_its_volume_is_lost() -> None:
    """Its pod waits for ever for a machine that is gone; while that machine is there, the directories are asked."""
    of = changed_pod(leaving(GONE, least=2, token=OURS), 2, container=PENDING, node_name="", gate="False")
    of = changed_claim(of, 2, bound_to="worker-2")
    assert not any(isinstance(one, WriteRecord) for one in planned(of, TWO).actions)
    write = next(one for one in planned(replace(of, kube_nodes=DOWN), TWO).actions if isinstance(one, WriteRecord))
    assert write.change is RecordChange.EMPTY


def ends_on_a_lost_node(for_s: float, by: PoolDesired = TWO) -> Plan:
    """The plan for broker 2, which was empty and is being stopped, when its node has been down for so long."""
    of = edited(LEAVES, 2, empty=True)
    seen = look(of, TWO, seen=GONE, least=1, token=OURS, kube_nodes=DOWN)
    seen = changed_pod(seen, 2, deleting=True, gate="False")
    return planned(replace(seen, memory=Memory(node_down_s=((NodeID(2), for_s),))), by)


def test_the_pod_of_a_broker_that_leaves_does_not_wait_for_a_lost_node_for_ever() -> None:
    """Once the node is lost by the policy, the pod is deleted without it; before, and with Manual, it waits."""
    actions = ends_on_a_lost_node(float(TWO.lost_node_after_s)).actions
    found = [(one.pod.node_id, one.force, one.reason) for one in actions if isinstance(one, DeletePod)]
    assert found == [(2, True, "NodeLost")]
    manual = desired({"replicas": 2, "drain": "Automatic", "replacement": {"lostNode": "Manual"}})
    for plan in (ends_on_a_lost_node(1.0), ends_on_a_lost_node(1e6, manual)):
        assert not any(isinstance(one, DeletePod) for one in plan.actions)
        assert ("NodeDown", 2) in [(one.reason, one.node_id) for one in plan.waits]


def test_the_formatter_of_a_broker_that_leaves_does_not_wait_for_a_lost_node_for_ever() -> None:
    """The same for a broker that never ran: nothing but its formatter keeps it."""
    young = edited(ran(record(), TWO), 2, ran=False, revision=None, leaving=True)
    of = without_pod(look(young, TWO, seen=GONE, least=1, kube_nodes=DOWN), 2)
    stuck = formatter(broker(young, 2), container=PENDING, node_name="worker-2", deleting=True)
    memory = Memory(node_down_s=((NodeID(2), float(TWO.lost_node_after_s)),))
    plan = planned(replace(of, pods=(*of.pods, stuck), memory=memory), TWO)
    assert [(one.force, one.pod.name) for one in plan.actions if isinstance(one, DeletePod)] == [(True, stuck.name)]


def test_a_broker_that_never_ran_leaves_at_once() -> None:
    """Its formatter that waits for a Kubernetes node is deleted, and no other one is made."""
    young = edited(ran(record(), TWO), 2, ran=False, revision=None, leaving=True)
    disk = replace(broker(young, 2).disks[0], directory_id=None)
    young = edited(young, 2, disks=(disk,))
    of = without_pod(look(young, TWO, seen=view([partition("t-0", [0, 1])], FOUR[:2], min_isr=1), least=1), 2)
    waits = replace(of, pods=(*of.pods, formatter(broker(young, 2), container=PENDING)))
    delete = only(planned(waits, TWO))
    assert isinstance(delete, DeletePod)
    assert delete.pod.formats
    plan = planned(of, TWO)
    assert not any(isinstance(one, CreateFormatter) for one in plan.actions)
    write = only(plan)
    assert isinstance(write, WriteRecord)
    assert write.change is RecordChange.REMOVED
