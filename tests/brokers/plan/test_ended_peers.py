"""A broker of another pool whose certificate has ended: the disruption token is given to whom the others wait for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

import pytest
from tests.brokers.looks import (
    NOW_S,
    beside,
    changed_pod,
    edited,
    look,
    partition,
    planned,
    pod,
    ran,
    registered,
    revision_of,
    view,
    with_view,
    without_pod,
)
from tests.brokers.secured import SECRET, TRUST, mutual
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.actions import DeleteConfig, EvictPod, GiveToken, RecordChange, TakeToken, WriteRecord
from kafka_brokers.model.observed import Observed, PeersEnded
from kafka_brokers.plan.guards.rule11_stops import may_stop
from kafka_quorum.model.brokers import Partition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kit.token import Token

FIRST, SECOND = (desired(contract=mutual(generation)) for generation in (1, 2))
EARLIER: Final = revision_of(FIRST)
OURS: Final = Known(value=Token(holder="pool/payments", since="", resource_version="1"))
THEIRS: Final = Known(value=Token(holder="pool/more", since="", resource_version="2"))
FREE: Final = Known(value=Token(holder="", since="", resource_version="2"))
TEN: Final = NodeID(10)
PEER: Final = replace(pod(broker(record(), 1)), name="more-10-broker", node_id=TEN, uid="p10", replication_tls=True)
SHARED: Final = (partition("orders-0", [0, 1, 2]), partition("orders-1", [10, 0], [10], leader=10))
"""Broker 10 of another pool leads a partition from which broker 0 could not fetch since it started again."""
ENDED: Final = PeersEnded(every=frozenset({TEN}), renewed=frozenset({TEN}))
Change: TypeAlias = Callable[[Observed], Observed]


def seen(of: Observed, *rows: Partition, fenced: int = -1) -> Observed:
    """The look at these partitions, beside the other pool."""
    brokers = [registered(node, fenced=node == fenced) for node in (0, 1, 2, 10)]
    return with_view(of, view(rows, brokers, min_isr=1))


def waiting(token: Known[Token] = OURS, least: int = 3) -> Observed:
    """Broker 0 was stopped and serves again; it waits for a partition of broker 10, whose certificate has ended."""
    of = look(edited(ran(record(), SECOND), 0, stopped=True), SECOND, old=(EARLIER,), least=least)
    of = replace(seen(of, *SHARED), peers=(PEER,), peers_ended=ENDED, token=token)
    ends = ((1, int(NOW_S) - 60), (2, int(NOW_S) + 600))
    files = frozenset({"keystore-1.pem", "keystore-2.pem", TRUST})
    of = replace(of, contract=Known(value=replace(mutual(2), certificate_ends=ends)))
    return replace(of, secrets=((SECRET, Known(value=files)),))


def test_the_token_is_given_back_if_only_another_pool_can_end_the_wait() -> None:
    """The other pool needs it for the restart of broker 10, and the quorum for its own; the record keeps the stop."""
    (action,) = planned(waiting(), SECOND).actions
    assert isinstance(action, GiveToken)


def test_a_paused_pool_gives_it_back_as_well() -> None:
    """The restart that it waits for is another pool's."""
    (action,) = planned(waiting(), replace(SECOND, paused=True)).actions
    assert isinstance(action, GiveToken)


def test_an_end_that_nothing_replaces_keeps_the_token_from_nobody() -> None:
    """Broker 10 may have no later certificate: then its pool does not restart it, and the quorum goes on."""
    (action,) = planned(replace(waiting(), peers_ended=replace(ENDED, renewed=frozenset())), SECOND).actions
    assert isinstance(action, GiveToken)


def _not_ended(of: Observed) -> Observed:
    return replace(of, peers_ended=PeersEnded())


def _led_by_one_that_serves(of: Observed) -> Observed:
    return seen(of, *SHARED, partition("other-0", [1, 0], [1], leader=1))


def _without_a_leader(of: Observed) -> Observed:
    return seen(of, *SHARED, partition("dead-0", [10, 0], [10], leader=None))


def _fenced(of: Observed) -> Observed:
    return seen(of, *SHARED, fenced=0)


def _allows_one(of: Observed) -> Observed:
    """The disruption budget allows for the broker that is away."""
    return replace(of, support=waiting(least=2).support)


def _does_not_run(of: Observed) -> Observed:
    return without_pod(_allows_one(of), 0)


def _does_not_answer(of: Observed) -> Observed:
    rows = ((node, Unknown(reason="connection refused") if node == 0 else found) for node, found in of.configs)
    return replace(of, configs=tuple(rows))


def _is_not_stopped_yet(of: Observed) -> Observed:
    return changed_pod(of, 0, revision=EARLIER.name)


def _another_one_is_away(of: Observed) -> Observed:
    assert of.record is not None
    return without_pod(_allows_one(replace(of, record=edited(of.record, 1, stopped=True))), 1)


def _another_one_leaves(of: Observed) -> Observed:
    assert of.record is not None
    return replace(of, record=edited(of.record, 2, leaving=True, empty=True))


def _unknown_partitions(of: Observed) -> Observed:
    return replace(of, cluster=Unknown(reason="no answer in time"))


@pytest.mark.parametrize(
    "change",
    [
        _not_ended,
        _led_by_one_that_serves,
        _without_a_leader,
        _fenced,
        _does_not_run,
        _does_not_answer,
        _is_not_stopped_yet,
        _another_one_is_away,
        _another_one_leaves,
        _unknown_partitions,
    ],
)
def test_the_token_is_kept_while_anything_else_is_away(change: Change) -> None:
    """Two disruptions at once could take a partition below its min ISR: only that one wait is no disruption."""
    assert not any(isinstance(one, GiveToken) for one in planned(change(waiting()), SECOND).actions)


def test_without_the_token_the_pool_waits_and_names_the_way_out() -> None:
    """It takes nothing back, allows no eviction, and says whose restart ends the wait."""
    for token in (THEIRS, FREE):
        plan = planned(waiting(token, least=3), SECOND)
        assert all(isinstance(one, DeleteConfig) for one in plan.actions)
        (wait,) = (one for one in plan.waits if one.reason == "RestartingBroker")
        assert "KafkaBrokerPool more restarts it" in wait.message
        assert "delete pod more-10-broker" in wait.message


def test_evictions_of_the_waiting_pool_are_not_allowed_while_another_one_restarts() -> None:
    """Its budget allowed one for its own stop."""
    (action,) = planned(waiting(THEIRS, least=2), SECOND).actions
    assert getattr(action, "min_available", None) == 3


def test_the_stop_is_forgotten_when_the_broker_is_back_and_no_token_is_needed() -> None:
    """Broker 10 started again, and broker 0 fetched from it."""
    back = seen(waiting(FREE, least=3), SHARED[0], partition("orders-1", [10, 0], leader=10))
    (action,) = planned(back, SECOND).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.BACK


def test_a_stop_that_was_not_made_takes_the_token_again() -> None:
    """The token was given away, and the pod is outdated again: it is evicted only with the token."""
    acts = planned(_is_not_stopped_yet(waiting(FREE, least=3)), SECOND).actions
    assert not any(isinstance(one, EvictPod) for one in acts)
    assert any(isinstance(one, TakeToken) for one in acts)


def both_ended() -> Observed:
    """Broker 2 of this pool and broker 10 of the other one have ended, and each leads what broker 0 cannot fetch."""
    rows = (
        partition("orders-0", [0, 1, 2]),
        partition("orders-1", [10, 0, 2], [10, 2], leader=10),
        partition("orders-2", [2, 0, 10], [2, 10], leader=2),
    )
    of = changed_pod(waiting(), 2, revision=EARLIER.name)
    assert of.record is not None
    of = replace(of, record=edited(of.record, 2, revision=EARLIER.name))
    brokers = [registered(node) for node in (0, 1, 2, 10)]
    return with_view(of, view(rows, brokers, min_isr=2))


def test_brokers_of_two_pools_that_have_ended_do_not_wait_for_each_other() -> None:
    """What broker 10 leads waits for its start, as what broker 2 leads does for its own: one stops after the other."""
    of = both_ended()
    assert may_stop(SECOND, of, (NodeID(2),), NOW_S).allowed
    assert not may_stop(SECOND, of, (NodeID(1),), NOW_S).allowed
    (action,) = planned(of, SECOND).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.STOP_BEGUN


def test_a_peer_that_will_not_be_restarted_excuses_no_stop() -> None:
    """Without a later certificate broker 10 stays as it is, and what it leads needs broker 2."""
    of = replace(both_ended(), peers_ended=replace(ENDED, renewed=frozenset()))
    assert not may_stop(SECOND, of, (NodeID(2),), NOW_S).allowed


def test_the_other_pool_stops_its_broker_beside_one_that_waits() -> None:
    """Seen from the other pool: the broker that waits runs, and is out of the ISR anyway."""
    rows = (partition("orders-0", [0, 1]), partition("orders-1", [2, 10], [2], leader=2))
    brokers = [registered(node) for node in (0, 1, 2, 10)]
    of = look(edited(ran(record(), SECOND), 2, revision=EARLIER.name), SECOND, old=(EARLIER,), least=2)
    of = changed_pod(with_view(of, view(rows, brokers, min_isr=1)), 2, revision=EARLIER.name)
    of = beside(replace(of, contract=waiting().contract, secrets=waiting().secrets, token=FREE), PEER)
    assert may_stop(SECOND, of, (NodeID(2),), NOW_S).allowed
    away = replace(of, peers=(replace(PEER, deleting=True),))
    assert not may_stop(SECOND, away, (NodeID(2),), NOW_S).allowed
