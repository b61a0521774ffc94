"""The disruption token: no controller that serves is stopped without it, and it is given back when all serve again."""

from dataclasses import replace

import pytest
from tests.model.values import (
    NAME,
    UID,
    at_rest,
    desired,
    key,
    kube_nodes,
    mirrored,
    node,
    operation,
    pod,
    revision,
    running,
    runtime,
    situation,
    speaking,
    view,
    with_pod,
)
from tests.plan.reading import every, planned

from kafka_quorum.model import names
from kafka_quorum.model import permit as permits
from kafka_quorum.model.actions import DeletePod, GiveToken, RestartPod, TakeToken, WriteRecord
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import with_revision
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.names import token_holder
from kafka_quorum.model.observed import Observed, SupportObject
from kafka_quorum.model.operation import VoterRemoval, VoterReplacement
from kafka_quorum.model.permit import Refusal
from kafka_quorum.plan.guards.rule5_restarts import may_restart
from kafka_quorum.plan.releases.token import token_given_back
from kit.token import ABSENT, Token

pytestmark = pytest.mark.usefixtures("real_token")

OURS = Token(holder=token_holder(NAME), since="2026-01-01T00:00:00Z", resource_version="4")
THEIRS = replace(OURS, holder="pool/hot")
ENDS = replace(OURS, ends=True)
FREE = replace(OURS, holder="", since="")
UNREADABLE = Unknown(reason="leases is forbidden")
OTHER = runtime(heap="1Gi")
WANTED = desired(runtime=OTHER)


def known(token: Token) -> Knowable[Token]:
    """A token that was read."""
    return Known(value=token)


def rolling(token: Knowable[Token], moved: tuple[int, ...] = ()) -> Observed:
    """A quorum that has to restart, with this token; `moved` are already moved in the record."""
    record = with_revision(running(), revision(OTHER).name, map(NodeID, moved))
    config = names.config_name(NAME, revision(OTHER).inputs_hash, record.node_ids)
    object_ = SupportObject(
        kind="ConfigMap", name=config, uid="uid-of-config", owner_uid=UID, resource_version="30", facts=""
    )
    look = speaking(record, revisions=(revision(), revision(OTHER, number=2)), token=token)
    look = replace(look, support=(*look.support, *((object_,) if moved else ())))
    for node_id in moved:
        look = with_pod(look, node_id, revision=revision().name)
    return look


@pytest.mark.parametrize("token", [ABSENT, FREE], ids=["no Lease", "free"])
def test_taken_before_the_roll_moves_a_controller(token: Token) -> None:
    """The token comes first: neither the record nor a pod changes before it is held."""
    (action,) = planned(rolling(known(token)), WANTED).actions
    assert isinstance(action, TakeToken)
    assert action.seen == token


def test_the_roll_goes_on_with_it() -> None:
    """With the token the record moves, then the pod is stopped."""
    assert every(planned(rolling(known(OURS)), WANTED), WriteRecord)
    assert every(planned(rolling(known(OURS), (3001,)), WANTED), RestartPod)


@pytest.mark.parametrize("moved", [(), (3001,)])
def test_one_that_ends_is_taken_again(moved: tuple[int, ...]) -> None:
    """A request that frees it may be under way: it is taken again before a stop begins, or goes on."""
    (action,) = every(planned(rolling(known(ENDS), moved), WANTED), TakeToken)
    assert action.seen == ENDS
    assert not every(planned(rolling(known(ENDS), moved), WANTED), RestartPod)


def test_one_that_ends_is_given_back() -> None:
    """When nothing is to be stopped, what was begun is done."""
    assert planned(at_rest(token=known(ENDS))).actions == (GiveToken(seen=ENDS),)


@pytest.mark.parametrize("moved", [(), (3001,)])
@pytest.mark.parametrize("token", [known(THEIRS), UNREADABLE], ids=["a pool's", "unreadable"])
def test_held_without_it(token: Knowable[Token], moved: tuple[int, ...]) -> None:
    """While a pool has it, or the Lease cannot be read, nothing is stopped, and the wait says why."""
    said = planned(rolling(token, moved), WANTED)
    assert said.actions == ()
    (wait,) = said.waits
    assert wait.reason == "DisruptionElsewhere"
    assert ("pool/hot" if isinstance(token, Known) else "forbidden") in wait.message
    assert "alpha-disruption" in wait.message
    assert ("KafkaBrokerPool hot is paused" in wait.message) == isinstance(token, Known)
    assert said.requeue_s >= 5


@pytest.mark.parametrize("token", [known(FREE), known(THEIRS), UNREADABLE], ids=["free", "a pool's", "unreadable"])
def test_a_voter_that_lags_is_repaired_without_it(token: Knowable[Token]) -> None:
    """A lagging voter serves nothing: its restart waits for no token."""
    look = rolling(token, (3002,))
    behind = view([key(3000), key(3001), key(3002)], behind=[key(3002)])
    look = with_pod(replace(look, quorum=Known(value=behind)), 3002, gate="False")
    (action,) = planned(look, WANTED).actions
    assert isinstance(action, RestartPod)
    assert action.pod.node_id == 3002


def test_what_does_not_run_needs_no_token() -> None:
    """A controller without a running pod gets another revision at once."""
    verdict = may_restart(situation(WANTED, rolling(known(THEIRS))), node(running(), 3001), None)
    assert verdict.allowed


@pytest.mark.parametrize("token", [FREE, THEIRS])
def test_the_guard_of_a_restart(token: Token) -> None:
    """The guard itself refuses a stop without the token."""
    look = rolling(known(token))
    verdict = may_restart(situation(WANTED, look), node(running(), 3001), pod(running(), node(running(), 3001)))
    assert isinstance(verdict, Refusal)
    assert "token" in verdict.reason or "pool/hot" in verdict.reason


def test_a_hand_over_takes_it() -> None:
    """The leader of a pair is stopped with the token only."""
    wanted = desired(replicas=1, allow_interruption=True)
    record = running(2)
    pair = view([key(3001), key(3000)])
    look = at_rest(record, status=mirrored(record, open=operation(key(3001), VoterRemoval)))
    look = replace(look, quorum=Known(value=pair), token=known(FREE))
    (action,) = every(planned(look, wanted), TakeToken)
    assert action.permit.rule == permits.TakeToken.id
    (stop,) = planned(replace(look, token=known(OURS)), wanted).actions
    assert isinstance(stop, DeletePod)
    assert planned(replace(look, token=known(THEIRS)), wanted).actions == ()


@pytest.mark.parametrize("wanted", [desired(), desired(paused=True)], ids=["at rest", "paused"])
def test_given_back_when_all_serve(wanted: Desired) -> None:
    """When every voter is caught up and nothing is to be stopped, the token is given back, also while paused."""
    (action,) = planned(at_rest(token=known(OURS)), wanted).actions
    assert action == GiveToken(seen=OURS)


@pytest.mark.parametrize("token", [known(FREE), known(THEIRS), UNREADABLE])
def test_only_ours_is_given_back(token: Knowable[Token]) -> None:
    """A token that this quorum does not have, or may not have, is left alone."""
    assert planned(at_rest(token=token)).actions == ()


def test_kept_while_something_is_away() -> None:
    """While a voter lags, has been caught up in too few looks, or its pod does not serve, the token stays."""
    look = at_rest(token=known(OURS))
    behind = view([key(3000), key(3001), key(3002)], behind=[key(3002)])
    away = (
        replace(look, quorum=Known(value=behind)),
        replace(look, memory=replace(look.memory, caught_up_looks=())),
        with_pod(look, 3001, deleting=True),
        replace(look, quorum=Unknown(reason="no leader")),
    )
    for one in away:
        assert every(planned(one), GiveToken) == []


def test_given_back_when_a_roll_cannot_go_on() -> None:
    """A roll that waits for a person does not keep pools waiting."""
    look = rolling(known(OURS))
    cordoned = kube_nodes([name for name, _ in look.kube_nodes], cordoned=True)
    assert every(planned(replace(look, kube_nodes=cordoned), WANTED), GiveToken) == [GiveToken(seen=OURS)]


def test_kept_while_a_voter_is_replaced() -> None:
    """Between the removal of a stale vote and the addition of the new one every voter is caught up: it is kept."""
    look = at_rest(token=known(OURS))
    assert every(planned(look), GiveToken)
    change = operation(key(3001, 2), VoterReplacement)
    during = replace(look, status=replace(look.status, open=change))
    assert not token_given_back(situation(observed=during)).exclusive
    removal = replace(look, status=replace(look.status, open=operation(key(3001), VoterRemoval)))
    assert token_given_back(situation(observed=removal)).exclusive
