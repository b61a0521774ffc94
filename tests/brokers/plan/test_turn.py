"""Controllers whose certificates end soon come first: a pool begins no stop, and gives the disruption token back."""

from dataclasses import replace
from typing import Final

import pytest
from tests.brokers.looks import NOW_S, changed_pod, edited, look, planned, ran, revision_of, without_pod
from tests.brokers.values import CONTRACT, desired, record

from kafka_brokers.model.actions import Action, ApplyBudget, EvictPod, GiveToken, RecordChange, TakeToken, WriteRecord
from kafka_brokers.model.observed import Observed, Unreadable
from kafka_brokers.model.plan import Plan, Severity
from kafka_brokers.plan.guards.rule11_stops import may_stop
from kafka_brokers.plan.order import key_of
from kafka_quorum.model.contract import Turn
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kit.token import ABSENT, Token

OURS: Final = Known(value=Token(holder="pool/payments", since="", resource_version="1"))
FREE: Final = Known(value=ABSENT)
QUORUMS: Final = Known(value=Token(holder="quorum/events", since="", resource_version="1"))
NEW: Final = desired({"config": {"auto.create.topics.enable": "false"}})
OLD: Final = revision_of(desired())
EARLY: Final = Turn(ends_s=int(NOW_S) + 1000, last_s=int(NOW_S) + 500)
LATE: Final = Turn(ends_s=int(NOW_S) + 400, last_s=int(NOW_S))
OVER: Final = Turn(ends_s=int(NOW_S) - 1000, last_s=int(NOW_S) - 1500)


def outdated(turn: Turn | None, token: Known[Token] = OURS, *stopped: int, **fields: object) -> Observed:
    """Pods run from the revision before the present one. The stop of these brokers was noted."""
    found = ran(record(), desired())
    for node_id in stopped:
        found = edited(found, node_id, stopped=True, revision=revision_of(NEW).name, **fields)
    ours, held = token == OURS, turn is not None and turn.holds(NOW_S)
    away = len(stopped) if stopped and ours else int(not held and not stopped)
    of = look(found, NEW, old=(OLD,), least=3 - away, token=token)
    of = replace(of, contract=Known(value=replace(CONTRACT, turn=turn)))
    return replace(of, pods=tuple(replace(one, revision=OLD.name) for one in of.pods))


def acts(of: Plan) -> list[type[Action]]:
    """What is done."""
    return [type(one) for one in of.actions]


@pytest.mark.parametrize("turn", [EARLY, LATE])
def test_no_stop_begins_and_the_token_is_given_back(turn: Turn) -> None:
    """Between two restarts of a roll a pool has the token, and nothing of it is away: the controllers get it."""
    assert acts(planned(outdated(None), NEW)) == [WriteRecord]
    plan = planned(outdated(turn), NEW)
    assert acts(plan) == [GiveToken]
    (wait,) = (one for one in plan.waits if one.reason == "RollHeld")
    assert wait.severity is Severity.PROGRESS
    assert "the controllers restart first" in wait.message


@pytest.mark.parametrize("token", [FREE, QUORUMS])
def test_the_token_is_not_taken_again(token: Known[Token]) -> None:
    """It stays free for the quorum, and no drain of a Kubernetes node evicts a broker."""
    plan = planned(outdated(EARLY, token), NEW)
    assert acts(plan) == []
    assert acts(planned(outdated(None, FREE), NEW)) == [TakeToken]
    loose = look(of=ran(record(), desired()), desired=NEW, old=(OLD,), least=2, token=token)
    (budget,) = planned(replace(loose, contract=Known(value=replace(CONTRACT, turn=EARLY))), NEW).actions
    assert isinstance(budget, ApplyBudget)
    assert budget.min_available == len(record().brokers)


def test_a_stop_that_was_noted_and_not_begun_is_called_off() -> None:
    """The pod still runs: so nothing is away, and the token goes to the controllers in the next look."""
    assert acts(planned(outdated(None, OURS, 1), NEW)) == [EvictPod]
    (action,) = planned(outdated(EARLY, OURS, 1), NEW).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.STOP_CALLED_OFF


def test_a_broker_that_is_away_is_waited_for_and_the_status_says_for_how_long() -> None:
    """Its pod starts: half of the time before the end is for it."""
    of = outdated(EARLY, OURS, 1)
    plan = planned(without_pod(of, 1), NEW, failed=frozenset({"CreatePod 1"}))
    assert GiveToken not in acts(plan)
    (wait,) = (one for one in plan.waits if "disruption token" in one.message)
    assert (wait.reason, wait.severity, wait.node_id) == ("RestartingBroker", Severity.PROGRESS, 1)
    assert "brokers 1 were stopped" in wait.message


def test_in_the_end_the_token_is_given_away_although_a_broker_is_away() -> None:
    """A quorum that is lost is worse. The record keeps the stop, and no other broker stops."""
    of = starting(LATE)
    assert acts(planned(of, NEW)) == [GiveToken]
    free = replace(of, token=FREE)
    assert acts(planned(free, NEW)) == [ApplyBudget]
    assert not may_stop(NEW, free, (NodeID(0),), NOW_S).allowed


def starting(turn: Turn) -> Observed:
    """Broker 1 was stopped, and its new pod runs, and is not unfenced yet."""
    of = outdated(turn, OURS, 1)
    of = replace(of, pods=tuple(replace(one, revision=revision_of(NEW).name) for one in of.pods))
    assert isinstance(of.cluster, Known)
    rows = tuple(replace(row, fenced=row.fenced or row.node_id == 1) for row in of.cluster.value.registered)
    of = replace(of, cluster=Known(value=replace(of.cluster.value, registered=rows)))
    return changed_pod(of, 1, gate="False")


def test_a_broker_that_is_away_may_be_stopped_again_to_bring_it_back() -> None:
    """It serves nothing. But the pool takes no token for that, and forgets no stop."""
    of = starting(EARLY)
    of = changed_pod(of, 1, revision=OLD.name)
    assert acts(planned(of, NEW)) == [EvictPod]
    plan = planned(replace(of, token=FREE), NEW)
    assert acts(plan) == [ApplyBudget]
    assert any(one.reason == "RollHeld" and "restart first" in one.message for one in plan.waits)
    tight = look(of.record, NEW, old=(OLD,), least=3, token=FREE)
    assert acts(planned(replace(of, token=FREE, support=tight.support), NEW)) == []


def test_a_paused_pool_gives_it_away_too() -> None:
    """A pause must not cost the quorum. Until then the status says when."""
    paused = replace(NEW, paused=True)
    assert acts(planned(starting(LATE), paused)) == [GiveToken]
    plan = planned(starting(EARLY), paused)
    assert acts(plan) == []
    assert any("If they are not back" in one.message for one in plan.waits)


def test_a_turn_that_is_over_holds_nothing() -> None:
    """Nobody brings the contract up to date: brokers restart as ever."""
    assert acts(planned(outdated(OVER), NEW)) == [WriteRecord]


def test_in_the_end_nothing_else_comes_first() -> None:
    """Neither an eviction that a disruption budget refuses, nor a write that fails, nor an object that is not read."""
    evicts = changed_pod(starting(EARLY), 1, revision=OLD.name)
    assert acts(planned(evicts, NEW)) == [EvictPod]
    evicts = changed_pod(starting(LATE), 1, revision=OLD.name)
    (given,) = planned(evicts, NEW).actions
    assert isinstance(given, GiveToken)
    assert acts(planned(evicts, NEW, failed=frozenset({key_of(given)}))) == [EvictPod]
    of = outdated(LATE, OURS, 1)
    new = (replace(one, revision=revision_of(NEW).name) if one.node_id == 1 else one for one in of.pods)
    assert acts(planned(replace(of, pods=tuple(new)), NEW, failed=frozenset({"WriteRecord"}))) == [GiveToken]
    bad = (Unreadable(kind="Pod", name="payments-2-broker", why="it has no node id", later=False),)
    for failed in (frozenset[str](), frozenset({key_of(given)})):
        assert acts(planned(replace(evicts, unreadable=bad), NEW, failed=failed)) == [GiveToken]
    for turn in (EARLY, None):
        assert acts(planned(replace(outdated(turn), unreadable=bad), NEW)) == []
