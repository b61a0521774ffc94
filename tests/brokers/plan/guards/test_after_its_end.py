"""Rule 11 for a broker whose certificate has ended: what waits for its start is not waited for, all else is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

import pytest
from tests.brokers.looks import (
    NOW_S,
    at,
    changed_pod,
    edited,
    leader,
    look,
    nodes,
    partition,
    planned,
    pod,
    ran,
    registered,
    revision_of,
    view,
    with_view,
)
from tests.brokers.secured import SECRET, TRUST, mutual
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.actions import EvictPod, RecordChange, WriteRecord
from kafka_brokers.model.observed import Observed, Unreadable
from kafka_brokers.model.plan import Severity
from kafka_brokers.model.pool import PoolDesired, Unavailable
from kafka_brokers.plan.guards.rule11_stops import may_stop
from kafka_quorum.model.brokers import Partition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.pods import Waiting as Pending
from kit.token import Token

FIRST, SECOND, THIRD = (desired(contract=mutual(generation)) for generation in (1, 2, 3))
EARLIER: Final = revision_of(FIRST)
OURS: Final = Known(value=Token(holder="pool/payments", since="", resource_version="1"))
OUT_OF_SYNC: Final = (
    partition("orders-0", [0, 1, 2]),
    partition("orders-1", [2, 0, 1], [2, 1], leader=2),
    partition("orders-2", [1, 2, 0]),
)
"""Broker 2 leads a partition from which broker 0 could not fetch since it started again."""
Change: TypeAlias = Callable[[Observed], Observed]


def waiting(least: int = 3) -> Observed:
    """Broker 0 was stopped and runs with the second certificate; broker 2 has the first one, which has ended."""
    returned = edited(ran(record(), SECOND), 0, stopped=True)
    of = look(edited(returned, 2, revision=EARLIER.name), SECOND, old=(EARLIER,), least=least)
    of = replace(with_view(of, view(OUT_OF_SYNC, min_isr=2)), token=OURS)
    of = replace(
        _ending(of, -60, 600), secrets=((SECRET, Known(value=frozenset({"keystore-1.pem", "keystore-2.pem", TRUST}))),)
    )
    return changed_pod(of, 2, revision=EARLIER.name)


def may(of: Observed, *batch: int, wanted: PoolDesired = SECOND) -> tuple[bool, str]:
    """Whether these brokers may stop, and the sentence."""
    verdict = may_stop(wanted, of, nodes(batch), NOW_S)
    return verdict.allowed, verdict.reason


def test_a_broker_that_is_waited_for_in_vain_starts_again() -> None:
    """Broker 0 cannot come back before broker 2 starts again: so broker 2 is stopped, first in the record."""
    allowed, why = may(waiting(), 2)
    assert allowed
    assert "the certificate of broker 2 has ended" in why
    (action,) = planned(waiting(), SECOND).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.STOP_BEGUN
    after = replace(waiting(), record=replace(action.record, resource_version="8"))
    assert [one.pod.node_id for one in planned(after, SECOND).actions if isinstance(one, EvictPod)] == [2]


def _ending(of: Observed, first_s: int, second_s: int) -> Observed:
    """The two certificates end so many seconds after now."""
    ends = ((1, int(NOW_S) + first_s), (2, int(NOW_S) + second_s))
    return replace(of, contract=Known(value=replace(mutual(2), certificate_ends=ends)))


def _valid(of: Observed) -> Observed:
    return _ending(of, 60, 600)


def _just_ended(of: Observed) -> Observed:
    return _ending(of, -10, 600)


def _next_one_ended(of: Observed) -> Observed:
    return _ending(of, -60, -1)


def _no_secret(of: Observed) -> Observed:
    return replace(of, secrets=((SECRET, Known(value=frozenset({"keystore-1.pem", TRUST}))),))


def _led_by_another(of: Observed) -> Observed:
    rows = [partition("other-0", [1, 0], [1], leader=1), *OUT_OF_SYNC]
    return with_view(of, view(rows, min_isr={"orders": 2, "other": 1}))


def _needed_elsewhere(of: Observed) -> Observed:
    rows = [*OUT_OF_SYNC, partition("other-0", [1, 2, 3], [1, 2], leader=1)]
    return with_view(of, view(rows, min_isr=2))


def _fenced(of: Observed) -> Observed:
    rows = [registered(node, fenced=node == 0) for node in range(3)]
    return replace(with_view(of, view(OUT_OF_SYNC, rows, min_isr=2)), leader=Known(value=leader()))


def _does_not_follow(of: Observed) -> Observed:
    return replace(of, leader=Known(value=leader(observers_caught_up=frozenset(nodes((1, 2))))))


def _does_not_run(of: Observed) -> Observed:
    return replace(of, pods=tuple(pod for pod in of.pods if pod.node_id != 1))


def _held(of: Observed) -> Observed:
    return changed_pod(of, 2, held=True)


def _claim_goes(of: Observed) -> Observed:
    rows = (replace(one, deleting=True) if one.node_id == NodeID(2) else one for one in of.claims)
    return replace(of, claims=tuple(rows))


def _last_copy(of: Observed) -> Observed:
    return with_view(of, view([*OUT_OF_SYNC, partition("alone-0", [2])], min_isr=1))


def _no_leader(of: Observed) -> Observed:
    return replace(of, leader=Unknown(reason="nobody answers"))


def _somebody_answers(of: Observed) -> Observed:
    return replace(of, cluster=Unknown(reason="no answer in time"))


def _not_settled(of: Observed) -> Observed:
    return replace(of, leader=Known(value=leader(settled=False, voters_caught_up=2)))


def _of_others_may_have_ended(of: Observed) -> Observed:
    rows = [*OUT_OF_SYNC, partition("far-0", [9, 2], leader=9)]
    seen = view(rows, map(registered, (0, 1, 2, 9)), min_isr={"orders": 2, "far": 1})
    return replace(with_view(of, seen), leader=Known(value=leader()))


def _does_not_answer(of: Observed) -> Observed:
    rows = ((node, Unknown(reason="connection refused") if node == 1 else found) for node, found in of.configs)
    return replace(of, configs=tuple(rows))


@pytest.mark.parametrize(
    "change",
    [
        _not_settled,
        _of_others_may_have_ended,
        _does_not_answer,
        _valid,
        _just_ended,
        _next_one_ended,
        _no_secret,
        _led_by_another,
        _needed_elsewhere,
        _fenced,
        _does_not_follow,
        _does_not_run,
        _held,
        _claim_goes,
        _last_copy,
        _no_leader,
        _somebody_answers,
    ],
)
def test_what_others_can_end_is_waited_for(change: Change) -> None:
    """Whatever may change without a start of this broker is a reason to wait, and so is a person's word."""
    assert not may(change(waiting()), 2)[0]


def test_a_person_may_consent_to_its_own_partitions() -> None:
    """A partition that no order of stops keeps available needs the same consent as in every roll."""
    assert may(_last_copy(waiting()), 2, wanted=replace(SECOND, unavailable=Unavailable.ALLOW))[0]


def _too_few_replicas(of: Observed) -> Observed:
    return with_view(of, view([*OUT_OF_SYNC, partition("pair-0", [2, 0], [2], leader=2)], min_isr=2))


def _unknown_least(of: Observed) -> Observed:
    return with_view(of, view([*OUT_OF_SYNC, partition("alone-0", [2])], min_isr={"orders": 2}))


@pytest.mark.parametrize("change", [_last_copy, _too_few_replicas, _unknown_least])
def test_the_status_names_a_missing_consent(change: Change) -> None:
    """What waits does not hide what only a person can decide, also with a replica out of sync or min ISR unknown."""
    of = change(waiting())
    assert "spec.roll.unavailablePartitions: Allow" in may(of, 2)[1]
    (held,) = (one for one in planned(of, SECOND).waits if one.reason == "RollHeld")
    assert "spec.roll.unavailablePartitions: Allow" in held.message
    assert held.severity is Severity.HELD
    assert may(of, 2, wanted=replace(SECOND, unavailable=Unavailable.ALLOW))[0]


def test_a_pod_without_replicas_is_not_waited_for() -> None:
    """A pod of a new pool that finds no place has no partition; while the partitions are unknown it may have some."""
    never = Pending(reason="", message="", last_exit=None)
    peer = replace(pod(broker(record(), 1)), name="more-10-broker", node_id=NodeID(10), uid="p10", container=never)
    assert may(replace(waiting(), peers=(peer,)), 2)[0]
    unread = Unreadable(kind="Pod", name="other-7-broker", why="no object")
    assert "cannot be read" in may(replace(waiting(), peers_unreadable=(unread,)), 2)[1]
    allowed, why = may(replace(_all_ended(waiting()), peers=(peer,)), 0)
    assert not allowed
    assert "more-10-broker" in why


def _all_ended(of: Observed) -> Observed:
    """Broker 0 has not been stopped, and the certificates of all three have ended: nobody can be asked."""
    for node_id in (0, 1, 2):
        of = changed_pod(of, node_id, revision=EARLIER.name)
    return replace(of, record=ran(record(), FIRST), cluster=Unknown(reason="certificate has expired"))


def test_without_any_answer_one_starts_after_the_other() -> None:
    """If all certificates have ended, the partitions cannot be known: one broker starts again, and never two."""
    assert may(_all_ended(waiting()), 0)[0]
    assert not may(_all_ended(waiting()), 0, 1)[0]
    (action,) = planned(_all_ended(waiting(least=2)), SECOND).actions
    assert isinstance(action, WriteRecord)
    stopped = [one for one in action.record.brokers if one.stopped]
    assert [(one.node_id, one.outside, one.outside_unknown) for one in stopped] == [(0, (), True)]


def test_a_partition_that_had_no_leader_is_not_waited_for() -> None:
    """Nobody could be asked before the stop: a partition without a leader does not keep the token for ever."""
    (begun,) = planned(_all_ended(waiting(least=2)), SECOND).actions
    assert isinstance(begun, WriteRecord)
    of = begun.record
    for node_id in (1, 2):
        of = edited(of, node_id, revision=revision_of(SECOND).name)
    rows = (partition("orders-0", [0, 1, 2]), partition("dead-0", [0, 9], [9], leader=None))
    (back,) = planned(with_view(look(of, SECOND, least=3, token=OURS), view(rows, min_isr=1)), SECOND).actions
    assert isinstance(back, WriteRecord)
    assert back.change is RecordChange.BACK
    assert not any(one.stopped or one.outside_unknown for one in back.record.brokers)
    led = (rows[0], partition("dead-0", [0, 9], [9]))
    assert not planned(with_view(look(of, SECOND, least=3, token=OURS), view(led, min_isr=1)), SECOND).actions


def test_the_next_one_waits_until_the_first_can_be_asked() -> None:
    """Broker 0 runs with a renewed certificate and follows the metadata log: it will say how the partitions are."""
    of = changed_pod(_all_ended(waiting()), 0, revision=revision_of(SECOND).name)
    assert not may(of, 1)[0]


def test_two_brokers_whose_certificates_ended_do_not_stop_together() -> None:
    """Each waits for the other to run."""
    of = changed_pod(waiting(), 1, revision=EARLIER.name)
    assert not may(of, 1, 2)[0]


WIDE: Final = {"roll": {"maxUnavailable": 2}}
CHANGED: Final = desired({**WIDE, "config": {"auto.create.topics.enable": "false"}}, contract=mutual(2))


def beside_an_outdated_one(*rows: Partition, least: dict[str, int]) -> Observed:
    """Broker 2's certificate has ended; broker 1 has a renewed one, and is to restart only for a changed setting."""
    made = {0: revision_of(CHANGED), 1: revision_of(desired(WIDE, contract=mutual(2)))}
    made[2] = revision_of(desired(WIDE, contract=mutual(1)))
    of = ran(record(), CHANGED)
    for node_id, revision in made.items():
        of = edited(of, node_id, revision=revision.name)
    seen = with_view(look(of, CHANGED, old=(made[1], made[2]), least=3), view(rows, min_isr=least))
    seen = replace(_ending(seen, -60, 600), token=OURS, secrets=waiting().secrets)
    for node_id, revision in made.items():
        seen = changed_pod(seen, node_id, revision=revision.name)
    return seen


def test_a_broker_stops_beside_no_other_after_its_end() -> None:
    """The stop is that of broker 2 alone: nobody judged broker 1, which may not stop."""
    of = beside_an_outdated_one(
        partition("orders-0", [0, 1, 2]),
        partition("orders-1", [2, 0, 1], [2, 1], leader=2),
        partition("other-0", [1, 0], [1], leader=1),
        least={"orders": 2, "other": 1},
    )
    assert not may(of, 1, wanted=CHANGED)[0]
    assert may(of, 2, wanted=CHANGED)[0]
    assert not may(of, 2, 1, wanted=CHANGED)[0]
    (action,) = planned(of, CHANGED).actions
    assert isinstance(action, WriteRecord)
    assert [one.node_id for one in action.record.brokers if one.stopped] == [2]


def test_a_stop_of_two_is_called_off_for_the_one_that_may_not() -> None:
    """The ISR of what broker 1 leads shrank after the stop began: that broker 2's certificate ended is no excuse."""
    of = beside_an_outdated_one(
        partition("orders-0", [2, 0], [2], leader=2),
        partition("other-0", [1, 0], [1], leader=1),
        least={"orders": 1, "other": 1},
    )
    assert of.record is not None
    begun = of.record
    for node_id in (1, 2):
        begun = edited(begun, node_id, stopped=True, revision=revision_of(CHANGED).name)
    (action,) = planned(replace(of, record=begun), CHANGED).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.STOP_CALLED_OFF


def third(first: tuple[int, ...], of: Observed) -> Observed:
    """These brokers run with the second certificate, which has ended; the third one is valid."""
    ends = ((2, int(NOW_S) - 60), (3, int(NOW_S) + 600))
    files = frozenset({"keystore-2.pem", "keystore-3.pem", TRUST})
    of = replace(of, contract=Known(value=replace(mutual(3), certificate_ends=ends)), token=OURS)
    of = replace(of, secrets=((SECRET, Known(value=files)),))
    for node_id in first:
        of = changed_pod(of, node_id, revision=revision_of(SECOND).name)
    return of


def test_a_stop_that_was_begun_alone_is_not_called_off_for_those_that_wait() -> None:
    """All certificates have ended, and broker 0 was stopped before: the next stop ends in an eviction."""
    of = look(edited(ran(record(), SECOND), 0, stopped=True), THIRD, old=(revision_of(SECOND),), least=3)
    of = third((0, 1, 2), replace(of, cluster=Unknown(reason="certificate has expired")))
    (begun,) = planned(of, THIRD).actions
    assert isinstance(begun, WriteRecord)
    assert begun.change is RecordChange.STOP_BEGUN
    acts = planned(replace(of, record=replace(begun.record, resource_version="8")), THIRD).actions
    assert [one.pod.node_id for one in acts if isinstance(one, EvictPod)] == [0]


def test_a_stopped_broker_whose_certificate_ends_again_starts_again() -> None:
    """It waits for no ISR that it cannot enter: its stop begins again, and keeps what it has to come back to."""
    outside = (at("orders-9"),)
    rows = (partition("orders-0", [1, 0, 2], [1, 2]), partition("orders-1", [2, 1, 0], [2, 1]))
    known = edited(ran(record(), THIRD), 0, revision=revision_of(SECOND).name, stopped=True, outside=outside)
    of = third((0,), with_view(look(known, THIRD, old=(revision_of(SECOND),), least=3), view(rows, min_isr=2)))
    (begun,) = planned(of, THIRD).actions
    assert isinstance(begun, WriteRecord)
    (stopped,) = [one for one in begun.record.brokers if one.stopped]
    assert (stopped.node_id, stopped.outside, stopped.revision) == (0, outside, revision_of(THIRD).name)
    acts = planned(replace(of, record=replace(begun.record, resource_version="8")), THIRD).actions
    assert [one.pod.node_id for one in acts if isinstance(one, EvictPod)] == [0]
