"""Rule 11: which brokers may stop now, and when one that was stopped is back."""

from dataclasses import replace

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from tests.brokers.looks import (
    NOW_S,
    ORDERS,
    at,
    beside,
    changed_claim,
    changed_pod,
    edited,
    leader,
    look,
    nodes,
    partition,
    pod,
    ran,
    reassignment,
    registered,
    view,
    with_view,
    without_pod,
)
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.observed import Observed, Unreadable
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.guards.rule11_stops import is_back, may_stop, outside_of
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.pods import Running

WIDE = desired({"roll": {"maxUnavailable": 2}})


def refusal(of: Observed, *batch: int, by: PoolDesired | None = None) -> str:
    """Why these may not stop together; empty if they may."""
    answer = may_stop(by or desired(), of, nodes(batch or (0,)), NOW_S)
    return "" if answer.allowed else answer.reason


def test_a_broker_of_a_pool_at_rest_may_stop() -> None:
    """Every other broker runs, and every partition has a member to spare."""
    answer = may_stop(desired(), look(), nodes([0]), NOW_S)
    assert answer.allowed
    assert answer.rule == "11-stop-broker"


AT_REST = look()
STOPPED = replace(AT_REST, record=edited(ran(record(), desired()), 1, stopped=True))
UNKNOWN: list[tuple[Observed, str]] = [
    (replace(AT_REST, leader=Unknown(reason="no controller answers")), "it is not known who leads the quorum"),
    (replace(AT_REST, leader=Known(value=leader(settled=False, voters_caught_up=2))), "2 of 3 voters"),
    (replace(AT_REST, cluster=Unknown(reason="no broker runs yet")), "the partitions are not known"),
    (STOPPED, "broker 1 was stopped before, and is not back yet"),
    (changed_pod(AT_REST, 0, held=True), "has the annotation kafkaquorum.io/hold"),
    (changed_pod(AT_REST, 1, deleting=True), "broker 1 does not run, or is stopping"),
    (without_pod(AT_REST, 1), "broker 1 does not run, or is stopping"),
    (
        with_view(AT_REST, view(ORDERS, [registered(0), registered(1), registered(2, fenced=True)])),
        "broker 2 is fenced and has replicas",
    ),
    (
        with_view(AT_REST, view(ORDERS, [registered(0), registered(1)])),
        "broker 2 has replicas and is not registered",
    ),
]


@pytest.mark.parametrize(("of", "why"), UNKNOWN)
def test_what_speaks_against_any_stop(of: Observed, why: str) -> None:
    """The quorum, other brokers, a person, and the volumes of the broker itself are asked first."""
    assert why in refusal(of)


MANUAL = desired({"replacement": {"lostDisk": "Manual"}})
GOING: list[tuple[Observed, str]] = [
    (changed_claim(AT_REST, 0, deleting=True), "is being deleted: its volume would be gone with pod payments-0-broker"),
    (changed_claim(AT_REST, 0, volume_gone=True), "has lost its volume"),
    (replace(AT_REST, claims=AT_REST.claims[1:]), "the claim of volume 0 of broker 0 is gone"),
]


@pytest.mark.parametrize(("of", "why"), GOING)
def test_a_volume_that_goes_with_its_pod(of: Observed, why: str) -> None:
    """It is given up with the pod if that may be done unattended, and others have every acknowledged record."""
    assert refusal(of) == ""
    assert why in refusal(of, by=MANUAL)


def test_a_fenced_broker_without_replicas_holds_nobody_up() -> None:
    """A registration that is left behind, or a broker that joins, has nothing to come back to."""
    brokers = [*map(registered, range(3)), registered(9, fenced=True)]
    assert refusal(with_view(AT_REST, view(ORDERS, brokers))) == ""


def test_a_foreign_broker_that_is_away_holds_a_stop_up() -> None:
    """A broker of others with replicas counts like one of ours."""
    rows = (*ORDERS, partition("others-0", [9, 1, 2], [1, 2]))
    brokers = [*map(registered, range(3)), registered(9, fenced=True)]
    assert "broker 9 is fenced" in refusal(with_view(AT_REST, view(rows, brokers)))


def test_a_stopping_pod_of_another_pool_holds_a_stop_up() -> None:
    """A broker of another pool that is drained from its Kubernetes node is unfenced for some seconds more."""
    rows = (*ORDERS, partition("shared-0", [7, 1, 2]))
    brokers = [*map(registered, range(3)), registered(7)]
    peer = replace(pod(broker(record())), node_id=NodeID(7), name="other-7-broker")
    of = beside(with_view(AT_REST, view(rows, brokers)), peer)
    assert refusal(of) == ""
    assert "pod other-7-broker of another pool" in refusal(replace(of, peers=(replace(peer, deleting=True),)))


def test_a_pod_of_another_pool_that_cannot_be_read_holds_a_stop_up() -> None:
    """It may be stopping, as one that can be read would show."""
    unread = Unreadable(kind="Pod", name="other-7-broker", why="no object")
    said = refusal(replace(AT_REST, peers_unreadable=(unread,)))
    assert "pod other-7-broker of another pool cannot be read (no object): it may be stopping" in said


def test_a_broker_of_another_pool_that_does_not_answer_is_not_relied_on() -> None:
    """Its process has ended and the next one starts: it follows the metadata log, and its session keeps it unfenced."""
    rows = (*ORDERS, partition("shared-0", [7, 1, 2]))
    brokers = [*map(registered, range(3)), registered(7)]
    peer = replace(pod(broker(record())), node_id=NodeID(7), name="other-7-broker")
    of = beside(with_view(AT_REST, view(rows, brokers)), peer)
    silent = replace(of, memory=replace(of.memory, peers=((peer.process, Unknown(reason="no answer")),)))
    words = "broker 7 of another pool does not answer at this moment"
    assert f"{words} (no answer)" in refusal(silent)
    assert isinstance(peer.container, Running)
    later = replace(peer, container=replace(peer.container, container="another"))
    assert words in refusal(replace(of, peers=(later,)))
    without = [partition("own-0", [0, 1, 2])]
    assert refusal(with_view(silent, view(without, brokers))) == ""


def test_a_newcomer_without_replicas_holds_nobody_up() -> None:
    """A broker that has no partition yet may start while others restart."""
    rows = [partition("t-0", [0, 1], [0, 1])]
    of = without_pod(with_view(AT_REST, view(rows, min_isr=1)), 2)
    assert refusal(of, 0) == ""


def test_a_batch_stays_within_what_the_spec_allows() -> None:
    """At most `maxUnavailable` stop together."""
    rows = [partition("t-0", [0, 3, 4]), partition("u-0", [1, 3, 4])]
    of = look(seen=view(rows, [registered(node) for node in range(5)]))
    assert "at most 1 may stop together" in refusal(of, 0, 1)
    assert refusal(of, 0, 1, by=WIDE) == ""


def test_a_batch_shares_neither_partition_nor_differs_in_rack() -> None:
    """Two brokers stop together only in one rack, and without a common partition."""
    rows = [partition("t-0", [0, 3, 4]), partition("u-0", [1, 3, 4])]
    racks = look(seen=view(rows, [registered(node, rack=f"r{node}") for node in range(5)]))
    assert "different racks" in refusal(racks, 0, 1, by=WIDE)
    shared = look(seen=view([*rows, partition("v-0", [0, 1, 3, 4])], [registered(node) for node in range(5)]))
    assert "have a partition in common" in refusal(shared, 0, 1, by=WIDE)


LASTING = look(seen=view([*ORDERS, partition("logs-0", [0]), partition("pairs-0", [0, 1])]))


def test_partitions_that_no_order_keeps_available_wait_for_a_person() -> None:
    """RF 1, and RF 2 with min ISR 2, are counted and named, with what to do, until the spec consents."""
    said = refusal(LASTING)
    assert "2 partitions of broker 0 available (logs-0, pairs-0)" in said
    assert "spec.roll.unavailablePartitions: Allow" in said
    assert refusal(LASTING, by=desired({"roll": {"unavailablePartitions": "Allow"}})) == ""


def test_a_consent_does_not_shorten_what_ends_by_itself() -> None:
    """With the consent, the second replica of a pair is still waited for."""
    of = look(seen=view([partition("pairs-0", [0, 1], [0])]))
    assert "pairs-0" in refusal(of, by=desired({"roll": {"unavailablePartitions": "Allow"}}))


def test_a_consent_does_not_give_up_a_volume() -> None:
    """The only copy of a partition of RF 1 is not stopped while its claim is being deleted."""
    of = changed_claim(LASTING, 0, deleting=True)
    assert "gone with pod" in refusal(of, by=desired({"roll": {"unavailablePartitions": "Allow"}}))


def back(of: Observed, node_id: int = 0) -> tuple[bool, str]:
    """Whether a broker of the look's record is back."""
    assert of.record is not None
    return is_back(of, broker(of.record, node_id))


GONE = replace(AT_REST, record=edited(ran(record(), desired()), 0, stopped=True))


def seen(of: Observed, *rows: object, **named: object) -> Observed:
    """The look with these partitions."""
    return with_view(of, view(rows, **named))  # type: ignore[arg-type]


NOT_BACK: list[tuple[Observed, str]] = [
    (without_pod(GONE, 0), "broker 0 does not run yet"),
    (changed_pod(GONE, 0, deleting=True), "broker 0 does not run yet"),
    (replace(GONE, cluster=Unknown(reason="no broker answers")), "the partitions are not known"),
    (with_view(GONE, view(ORDERS, [registered(1), registered(2)])), "not registered"),
    (with_view(GONE, view(ORDERS, [registered(0, fenced=True)])), "broker 0 is fenced"),
    (replace(GONE, configs=()), "broker 0 does not answer itself yet"),
    (seen(GONE, partition("t-0", [0, 1, 2], [1, 2])), "not back in the ISR of one partition (t-0)"),
]


@pytest.mark.parametrize(("of", "why"), NOT_BACK)
def test_what_is_missing_until_a_broker_is_back(of: Observed, why: str) -> None:
    """Running, registered, unfenced and answering are not enough: the memberships count, too."""
    is_, said = back(of)
    assert not is_
    assert why in said


def test_a_broker_that_was_not_stopped_needs_no_answer_of_its_own() -> None:
    """For the status of a broker that runs on, one lost answer is no restart."""
    assert back(replace(AT_REST, configs=()))[0]


def test_memberships_that_it_did_not_have_are_not_waited_for() -> None:
    """A partition in whose ISR the broker was not before its stop does not hold the roll up."""
    rows = [partition("t-0", [0, 1, 2], [1, 2]), partition("u-0", [0, 1, 2])]
    assert outside_of(view(rows), NodeID(0)) == (at("t-0"),)
    outside = replace(GONE, record=edited(ran(record(), desired()), 0, stopped=True, outside=(at("t-0"),)))
    assert back(seen(outside, *rows))[0]
    assert not back(seen(GONE, *rows))[0]


def test_a_partition_that_is_moved_away_is_not_waited_for() -> None:
    """A running reassignment that removes the broker does not need it back."""
    row = partition("t-0", [0, 1, 2, 3], [1, 2, 3])
    moving = reassignment("t-0", [0, 1, 2, 3], adding=[3], removing=[0])
    assert back(seen(GONE, row, reassignments=[moving]))[0]


@seed(12)
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=8))
def test_a_broker_is_not_back_while_a_membership_of_before_is_missing(rows: list[tuple[bool, bool, bool]]) -> None:
    """For any partitions: before the stop (replica, member), and now (member)."""
    before = [partition(f"t{n}-0", [0, 1] if has else [1], [0, 1] if has and was else [1]) for n, (has, was, _) in
              enumerate(rows)]  # fmt: skip
    now = [partition(f"t{n}-0", [0, 1] if has else [1], [0, 1] if has and is_ else [1]) for n, (has, _, is_) in
           enumerate(rows)]  # fmt: skip
    outside = outside_of(view(before), NodeID(0))
    of = replace(GONE, record=edited(ran(record(), desired()), 0, stopped=True, outside=outside))
    missing = any(has and was and not is_ for has, was, is_ in rows)
    assert back(seen(of, *now))[0] is not missing
