"""A disk that a person gives up: only the one that is named, once, and only while the quorum can do without it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from tests.golden.facts import facts
from tests.model.values import (
    NAME,
    SILENT,
    at_rest,
    desired,
    directory,
    key,
    looks,
    manual,
    minted,
    node,
    operation,
    revision,
    running,
    runtime,
    situation,
    started,
    stepping,
    view,
    with_pod,
    with_the_claim,
    without_pod,
)
from tests.plan.reading import every, only, planned, reasons, wait

from kafka_quorum.model.actions import DecideRecord, DeletePod, RecordChange, TakeToken, is_guarded
from kafka_quorum.model.admission import Admission, PodQuestion
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import IdentityRecord, with_disk_lost, with_revision, without_node
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.migration import STATIC_TO_DYNAMIC, MigrationKind, Reached
from kafka_quorum.model.names import HOLD, REPLACE, token_holder
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan, Severity
from kafka_quorum.plan.guards.rule2_given_up import is_replaced, may_give_up_disk, token_to_give_up
from kafka_quorum.plan.planner import plan
from kit.token import Token

THIRD = key(3001)
VOTERS = [key(3000), key(3001), key(3002)]
Changes: TypeAlias = Callable[[Observed], Observed]


def asking(target: ReplicaKey | None = THIRD, **changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """Three controllers, the disk of one of which a person gives up."""
    return desired(give_up=target, **changes)


def token(holder: str = "") -> Token:
    """The token of a look; nobody has it."""
    return Token(holder=holder, since="", resource_version="1")


def without_directory(node_id: int) -> ReplicaKey:
    """A word that names only the controller."""
    return ReplicaKey(node_id=NodeID(node_id), directory_id=None)


def refused(observed: Observed, wanted: Desired) -> str:
    """The guard's reason for its refusal; nothing is given up."""
    target = wanted.give_up
    assert target is not None
    verdict = may_give_up_disk(situation(desired=wanted, observed=observed), target)
    assert not verdict.allowed
    said = planned(observed, wanted)
    assert every(said, DecideRecord) == []
    return verdict.reason


def lagging(*ids: int) -> Observed:
    """A quorum at rest, except for these voters, which lag."""
    seen = view(VOTERS, behind=[key(node_id) for node_id in ids])
    return at_rest(quorum=Known(value=seen), memory=looks(seen))


# What is done


@pytest.mark.parametrize("node_id", [3000, 3001], ids=["the leader", "a follower"])
def test_a_healthy_disk_is_given_up(node_id: int) -> None:
    """The disk is retired, and its controller gets another claim, if it is the active one or a follower."""
    write = only(planned(at_rest(), asking(key(node_id))), DecideRecord)
    assert write.change is RecordChange.DISK_GIVEN_UP
    after = node(write.record, node_id)
    assert (after.generation, after.claim_uid, after.directory_id) == (2, None, None)
    assert after.retired == (directory(node_id),)
    assert is_guarded(write)


@pytest.mark.parametrize("how", [lambda look: look, lambda look: without_pod(look, 3001)], ids=["lags", "has no pod"])
def test_a_dead_disk_is_given_up(how: Changes) -> None:
    """A voter that lags, or does not run, is given up by the same word, also where the policy is Manual."""
    said = planned(how(lagging(3001)), asking(replacement=manual()))
    assert any(write.change is RecordChange.DISK_GIVEN_UP for write in every(said, DecideRecord))


def test_the_rest_is_as_with_a_lost_disk() -> None:
    """After that the pod on the retired disk is stopped, and the word has no further effect."""
    record = with_disk_lost(running(), NodeID(3001), new_claim=True)
    before = at_rest()
    observed = at_rest(record, pods=before.pods, quorum=before.quorum, memory=before.memory)
    said = planned(observed, asking())
    assert [action.pod.node_id for action in every(said, DeletePod)] == [3001]
    assert not {"ReplacingDisk", "ReplaceRefused"} & reasons(said)


@pytest.mark.parametrize(
    "record",
    [
        with_disk_lost(running(), NodeID(3001), new_claim=True),
        replace(running(), nodes=tuple(replace(of, retired=(directory(of.node_id, 5),)) for of in running().nodes)),
    ],
)
def test_the_word_acts_once(record: IdentityRecord) -> None:
    """A word that names a retired disk of the controller does nothing, however often it is read."""
    retired = node(record, 3001).retired[-1]
    target = ReplicaKey(node_id=NodeID(3001), directory_id=retired)
    of = situation(desired=asking(target), observed=at_rest(record))
    assert is_replaced(of, target)
    assert not {"ReplacingDisk", "ReplaceRefused"} & reasons(planned(at_rest(record), asking(target)))


def test_the_disk_of_a_removed_controller_is_done() -> None:
    """A word of a controller that was removed meanwhile is done, too, if the disk was its own."""
    gone = replace(running(4), nodes=running().nodes, former=())
    former = with_former(gone, 3003)
    of = situation(desired=asking(key(3003)), observed=at_rest(former))
    assert is_replaced(of, key(3003))
    assert not is_replaced(of, ReplicaKey(node_id=NodeID(3002), directory_id=directory(3003)))


def with_former(record: IdentityRecord, node_id: int) -> IdentityRecord:
    """The record after the removal of this controller."""
    of = node(running(4), node_id)
    before = replace(record, nodes=(*record.nodes, of))
    return without_node(before, of.node_id)


# What the word must say


@pytest.mark.parametrize(
    ("target", "named"),
    [
        (without_directory(3001), str(THIRD)),
        (key(3001, 2), str(THIRD)),
        (ReplicaKey(node_id=NodeID(3001), directory_id=directory(3002)), str(THIRD)),
        (key(3009), "3000, 3001, 3002"),
    ],
    ids=["no directory id", "an unknown disk", "another controller's disk", "no controller"],
)
def test_a_word_that_names_no_present_disk(target: ReplicaKey, named: str) -> None:
    """Nothing is given up unless the word names the present disk of a controller; the message says how to name it."""
    assert named in refused(at_rest(), asking(target))
    one = wait(planned(at_rest(), asking(target)), "ReplaceRefused")
    assert one.severity is Severity.HELD
    assert one.message.startswith("Did not replace")


def test_the_hold_comes_first() -> None:
    """A controller that a person holds is not replaced, and that is said."""
    wanted = asking(hold=Known(value=frozenset({NodeID(3001)})))
    assert HOLD in refused(at_rest(), wanted)
    assert "hold comes first" in wait(planned(at_rest(), wanted), "ReplaceRefused").message
    other = asking(hold=Known(value=frozenset({NodeID(3002)})))
    assert every(planned(at_rest(), other), DecideRecord)


def test_a_hold_that_cannot_be_read_comes_first() -> None:
    """Nothing is replaced while it is unknown which controllers are held."""
    assert HOLD in refused(at_rest(), asking(hold=Unknown(reason="no whole number")))


def test_a_controller_without_a_disk_yet() -> None:
    """While a controller gets a new disk, there is none that could be given up."""
    record = with_disk_lost(running(), NodeID(3001), new_claim=True)
    assert "nothing is left" in refused(at_rest(record), asking(key(3001, 7)))


# What the quorum must have


def migrating() -> Observed:
    """A quorum whose migration to dynamic voters has left the static ones."""
    reached = Reached(
        kind=MigrationKind.STATIC_TO_DYNAMIC, stage=STATIC_TO_DYNAMIC.stages[-1].name, release="4.4.0", image=""
    )
    return at_rest(replace(running(), migration=reached))


def foreign() -> Observed:
    """A quorum with a voter that nobody here made."""
    seen = view([*VOTERS, ReplicaKey(node_id=NodeID(9), directory_id=directory(9))])
    return at_rest(quorum=Known(value=seen), memory=looks(seen))


def uncommitted() -> Observed:
    """A quorum whose voter set is not committed."""
    seen = view(VOTERS, committed=False)
    return at_rest(quorum=Known(value=seen), memory=looks(seen))


def opened(**what: Any) -> Observed:  # noqa: ANN401 - whatever the field holds
    """A quorum with an open change."""
    look = at_rest()
    return replace(look, status=replace(look.status, **what))


@pytest.mark.parametrize(
    ("look", "named"),
    [
        (at_rest(quorum=SILENT), "no leader"),
        (lagging(3002), "1 of the 2"),
        (lagging(3000, 3001, 3002), "0 of the 2"),
        (at_rest(memory=Memory()), "0 of the 2"),
        (with_pod(at_rest(), 3002, deleting=True), "1 of the 2"),
        (with_the_claim(at_rest(), 3002, deleting=True), "1 of the 2"),
        (uncommitted(), "not committed"),
        (opened(open=operation(key(3002))), "not complete"),
        (opened(open=stepping("metadata.version", 29)), "feature level"),
        (migrating(), "migration"),
        (foreign(), "stale or foreign"),
        (at_rest(started()), "no leader"),
        (at_rest(minted()), "not started"),
    ],
    ids=[
        *("no leader", "another lags", "all lag", "not looked at", "another ends", "another disk goes", "uncommitted"),
        *("a voter change", "a feature step", "a migration", "a foreign voter", "no leader yet", "not started"),
    ],
)
def test_the_quorum_must_be_able_to_do_without_it(look: Observed, named: str) -> None:
    """Nothing is given up while something else changes, or while the others are no majority that keeps up."""
    target = key(3001)
    assert named in refused(look, asking(target))


def test_the_wait_ends_by_itself() -> None:
    """What time may end is progress, and named."""
    one = wait(planned(lagging(3002), asking()), "ReplacingDisk")
    assert (one.severity, one.node_id) == (Severity.PROGRESS, 3001)


@pytest.mark.parametrize(("count", "named"), [(1, "replicas to 3"), (2, "replicas to 3")])
def test_one_or_two_voters_keep_their_disks(count: int, named: str) -> None:
    """With one or two voters the others are never a majority: the message says how many controllers are needed."""
    record = running(count)
    target = key(2999 + count)
    assert named in refused(at_rest(record), asking(target, replicas=count, allow_interruption=True))


def test_five_voters_do_without_two() -> None:
    """Of five voters one may lag, and another one be given up: three of five are a majority."""
    record = running(5)
    voters = [of.key for of in record.nodes]
    seen = view(voters, behind=[key(3004)])
    look = at_rest(record, quorum=Known(value=seen), memory=looks(seen))
    said = may_give_up_disk(situation(desired=asking(replicas=5), observed=look), THIRD)
    assert said.allowed


def test_a_controller_that_a_roll_restarted_comes_back_first() -> None:
    """During a roll every controller that it has restarted keeps up before another one is given up."""
    target = revision(runtime(heap="1Gi"), number=2)
    record = with_revision(running(5), target.name, [NodeID(3004)])
    seen = view([of.key for of in record.nodes], behind=[key(3004)])
    look = at_rest(record, revisions=(revision(), target), quorum=Known(value=seen), memory=looks(seen))
    wanted = asking(replicas=5, runtime=runtime(heap="1Gi"))
    verdict = may_give_up_disk(situation(desired=wanted, observed=look), THIRD)
    assert not verdict.allowed
    assert "3004" in facts(verdict.reason)


def test_a_static_quorum_keeps_its_disks() -> None:
    """A static quorum would take an empty disk for the voter: nothing is given up by this word."""
    record = replace(running(), static=True)
    seen = replace(view(VOTERS), static=True)
    look = at_rest(record, quorum=Known(value=seen), memory=looks(seen))
    assert "static" in refused(look, asking())


def test_a_controller_that_leaves_is_not_replaced() -> None:
    """A controller that the spec does not list is removed with its disk, and not replaced."""
    look = at_rest(running(4))
    assert "does not list" in refused(look, asking(key(3003)))


# The token, and the new pod


@pytest.mark.usefixtures("real_token")
def test_the_token_is_taken_first() -> None:
    """A controller that keeps up is stopped by this, so that the quorum takes the token, and then gives up the disk."""
    free = at_rest(token=Known(value=token()))
    take = only(planned(free, asking()), TakeToken)
    assert take.permit.rule == "5-take-token"
    ours = at_rest(token=Known(value=token(holder=token_holder(NAME))))
    assert every(planned(ours, asking()), DecideRecord)


@pytest.mark.usefixtures("real_token")
@pytest.mark.parametrize(
    "seen", [Known(value=token(holder="pool/hot")), Unknown(reason="forbidden")], ids=["a pool has it", "unread"]
)
def test_a_pool_goes_first(seen: Known[Token] | Unknown) -> None:
    """While a pool has the token, or the Lease cannot be read, no healthy disk is given up, and that is said."""
    said = planned(at_rest(token=seen), asking())
    assert said.actions == ()
    assert wait(said, "DisruptionElsewhere").node_id == 3001


@pytest.mark.usefixtures("real_token")
def test_a_dead_disk_needs_no_token() -> None:
    """A voter that lags gives the quorum nothing: its disk is given up while a pool has the token."""
    look = replace(lagging(3001), token=Known(value=token(holder="pool/hot")))
    assert token_to_give_up(situation(desired=asking(), observed=look), THIRD) is None
    assert every(planned(look, asking()), DecideRecord)


def test_the_new_pod_is_asked_about_first() -> None:
    """The API server accepts the new pod in a dry run before anything is given up; after a refusal nothing is."""
    said = plan(asking(), at_rest(), now_s=0.0)
    question = PodQuestion(node_id=NodeID(3001), revision=revision().name)
    assert said.questions == (question,)
    assert said.actions == ()
    answer = Known(value=Admission(allowed=False, words="quota exceeded", current=True))
    after = plan(asking(), at_rest(admissions=((question, answer),)), now_s=0.0)
    assert after.actions == ()
    assert "quota exceeded" in wait(after, "ReplaceRefused").message


def test_a_missing_revision_is_waited_for() -> None:
    """If it cannot be read what the next pod is made from, nothing is given up."""
    said: Plan = planned(at_rest(revisions=()), asking())
    assert every(said, DecideRecord) == []


def test_while_paused_nothing_is_given_up() -> None:
    """A paused quorum gives up nothing."""
    assert planned(at_rest(), asking(paused=True)).actions == ()


def test_the_word_is_named_as_the_annotation() -> None:
    """The message of a word without a directory id names the annotation."""
    assert REPLACE in refused(at_rest(), asking(without_directory(3001)))
