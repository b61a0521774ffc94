"""Voters are added one at a time: the intent is written first, and a later look decides about its outcome."""

from dataclasses import replace

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    CLUSTER,
    IDS,
    NAME,
    NAMESPACE,
    SILENT,
    at_rest,
    bound,
    desired,
    directory,
    key,
    looks,
    mirrored,
    node,
    operation,
    revision,
    running,
    runtime,
    situation,
    started,
    support,
    view,
    with_pod,
)
from tests.plan.reading import degraded, every, only, planned, reasons, verdict, wait

from kafka_quorum.model.actions import (
    AddRaftVoter,
    BeginOperation,
    FinishOperation,
    RecordChange,
    WriteRecord,
)
from kafka_quorum.model.desired import ControllerListener
from kafka_quorum.model.identity import IdentityRecord, with_disk_lost, with_nodes, with_report
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.operation import VoterAddition
from kafka_quorum.model.quorum import Listener
from kafka_quorum.plan.voters.operation import membership

VOTERS = (key(3000), key(3001), key(3002))
FOURTH = key(3003)
FOUR = desired(replicas=4)


def joining(count: int = 1) -> IdentityRecord:
    """A running quorum of three, and further controllers that are formatted to join."""
    record = with_nodes(running(), [NodeID(3003 + index) for index in range(count)])
    nodes = tuple(
        of
        if of.formatted
        else replace(of, claim_uid=f"claim-{of.node_id}-1", directory_id=directory(of.node_id), formatted=True)
        for of in record.nodes
    )
    return replace(record, nodes=nodes)


def scene(
    *,
    voters: tuple[ReplicaKey, ...] = VOTERS,
    observers: tuple[ReplicaKey, ...] = (FOURTH,),
    behind: tuple[ReplicaKey, ...] = (),
    committed: bool = True,
    seen: int = 3,
    target: ReplicaKey | None = None,
    record: IdentityRecord | None = None,
) -> Observed:
    """Three voters and a caught-up observer; with `target` its addition is open."""
    known = record or joining()
    judged = view(voters, observers, behind=behind, committed=committed)
    if not committed:
        judged = replace(judged, committed_voters=frozenset(VOTERS))
    status = mirrored(known, open=operation(target) if target else None)
    kept = len(VOTERS) if target or not committed else len(voters) // 2 + 1
    look = at_rest(
        known, quorum=Known(value=judged), memory=looks(judged, seen), status=status, support=support(known, kept)
    )
    for of in known.nodes:
        is_voter = of.key in voters
        gate = "True" if is_voter and of.key in judged.caught_up else "False"
        look = with_pod(look, of.node_id, marked_voter=is_voter, gate=gate)
    return look


# The first leader


def test_first_leader_is_remembered() -> None:
    """The first leader is recorded first, because a later loss of a majority is then no failed bootstrap."""
    seen = view(VOTERS)
    look = at_rest(started(), quorum=Known(value=seen))
    write = only(planned(look), WriteRecord)
    assert (write.change, write.record.had_leader) == (RecordChange.FIRST_LEADER, True)


def test_waiting_for_the_first_leader() -> None:
    """While there is no leader, the wait gives the reason."""
    said = planned(at_rest(started(), quorum=SILENT))
    assert SILENT.reason in wait(said, "NoLeader").message


def test_no_leader_is_awaited_before_the_barrier() -> None:
    """Before the barrier no leader is waited for."""
    assert "NoLeader" not in reasons(planned(at_rest(bound())))


# Begin


def test_intent_first() -> None:
    """For a controller that caught up, the intent is written, and nothing is sent yet."""
    begin = only(planned(scene(), FOUR), BeginOperation)
    assert begin.change == VoterAddition(target=FOURTH)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"seen": 2}, "3-add-voter"),
        ({"behind": (FOURTH,)}, "3-add-voter"),
        ({"committed": False}, "4-one-change"),
        ({"behind": (VOTERS[2],)}, "3-add-voter"),
    ],
    ids=["two looks", "lags", "uncommitted", "projected majority"],
)
def test_not_begun(changes: dict[str, object], rule: str) -> None:
    """A guard that refuses holds the addition, and its reason is the message of the wait."""
    look = scene(**changes)  # type: ignore[arg-type]  # a table of its options
    plan_ = planned(look, FOUR)
    assert every(plan_, BeginOperation) == []
    refused = verdict(plan_, rule)
    assert (refused.allowed, refused.reason) == (False, wait(plan_, "AddingVoter").message)


def test_one_at_a_time() -> None:
    """Of several controllers that caught up, one is added."""
    record = joining(2)
    look = scene(record=record, observers=(key(3003), key(3004)))
    begin = only(planned(look, desired(replicas=5)), BeginOperation)
    assert begin.target == key(3003)


def test_second_candidate_if_the_first_lags() -> None:
    """A controller that lags does not hold the next one up."""
    look = scene(record=joining(2), observers=(key(3003), key(3004)), behind=(key(3003),))
    assert only(planned(look, desired(replicas=5)), BeginOperation).target == key(3004)


def test_not_wanted() -> None:
    """A controller that is not wanted leaves the record, and is not added."""
    write = only(planned(scene(), desired(replicas=3)), WriteRecord)
    assert write.change is RecordChange.NODES_REMOVED
    assert write.record.node_ids == IDS


def test_unformatted_is_no_candidate() -> None:
    """A controller that is not formatted is not added."""
    record = joining()
    record = replace(
        record, nodes=tuple(replace(of, formatted=False) if of.node_id == 3003 else of for of in record.nodes)
    )
    assert every(planned(scene(record=record), FOUR), BeginOperation) == []


def test_stale_voter_is_named() -> None:
    """After a lost disk the stale voter is reported, with the number of caught-up voters."""
    record = with_report(with_disk_lost(running(), IDS[1], new_claim=False), IDS[1], directory(3001, 2))
    look = scene(record=record, observers=(key(3001, 2),), behind=(key(3001), key(3001, 2)))
    said = planned(look)
    assert every(said, BeginOperation) == []
    stale = wait(said, "StaleVoter")
    assert facts(stale.message) == facts(key(3001), 2, 3)
    assert "The operator removes it" in stale.message
    assert mentions(wait(said, "ReplacingVoter").message, key(3001, 2))


def test_after_the_stale_voter_is_removed() -> None:
    """After a person removed the stale voter, the new disk is added without a further action of a person."""
    record = with_report(with_disk_lost(running(), IDS[1], new_claim=False), IDS[1], directory(3001, 2))
    look = scene(record=record, voters=(key(3000), key(3002)), observers=(key(3001, 2),))
    assert only(planned(look), BeginOperation).target == key(3001, 2)


def test_foreign_voter_is_named() -> None:
    """A voter outside the record is reported with a command for a person, and is left alone."""
    seen = view([*VOTERS, key(7)])
    said = planned(at_rest(quorum=Known(value=seen), support=support(running(), 3)))
    assert degraded(said) == {"ForeignVoter"}
    message = wait(said, "ForeignVoter").message
    assert str(key(7)) in message
    assert "--bootstrap-controller alpha-3000.alpha-controllers.kafka.svc:9093 remove-controller" in message
    assert f"--controller-id 7 --controller-directory-id {directory(7)}" in message
    assert said.actions == ()


def test_uncommitted_set_is_told() -> None:
    """An uncommitted voter set is waited for, even if no change of ours is open."""
    seen = replace(view(VOTERS, committed=False), committed_voters=frozenset(VOTERS))
    said = planned(at_rest(quorum=Known(value=seen), support=support(running(), 3)))
    assert reasons(said) == {"VoterSetUncommitted"}


# Continue


def test_request() -> None:
    """After the intent is written, the leader gets AddRaftVoter with cluster id, key, listener and the look's age."""
    send = only(planned(scene(target=FOURTH), FOUR), AddRaftVoter)
    assert send.leader.node_id == 3000
    assert (send.leader.host, send.leader.port) == ("10.0.0.1", 9093)
    assert (send.request.cluster_id, send.request.voter) == (CLUSTER, FOURTH)
    host = f"{NAME}-3003.{NAME}-controllers.{NAMESPACE}.svc"
    assert send.request.listeners == (Listener(name="CONTROLLER", host=host, port=9093),)
    assert send.judged_at_s == 50.0


def test_request_is_judged_again() -> None:
    """An open operation is judged on the present look: a guard that refuses now holds the request."""
    said = planned(scene(target=FOURTH, behind=(VOTERS[2],)), FOUR)
    assert said.actions == ()
    assert facts(wait(said, "AddingVoter").message) == facts(FOURTH, 3, 4, 2)
    assert facts(verdict(said, "3-add-voter").reason) == facts(FOURTH, 3, 4, 2)


def test_added_and_not_committed() -> None:
    """An addition that shows in the voter set is waited for until it is committed."""
    look = scene(target=FOURTH, voters=(*VOTERS, FOURTH), observers=(), committed=False)
    said = planned(look, FOUR)
    assert every(said, FinishOperation) == []
    assert every(said, AddRaftVoter) == []
    assert facts(wait(said, "AddingVoter").message) == facts(FOURTH)


def test_completed() -> None:
    """A committed change closes its operation, whatever caused it and whatever the answer was."""
    look = scene(target=FOURTH, voters=(*VOTERS, FOURTH), observers=())
    look = replace(look, support=support(joining(), 4))
    finish = only(planned(look, FOUR), FinishOperation)
    assert (finish.id, finish.reason) == ("op-1", "Completed")
    assert facts(finish.message) == facts(FOURTH)


@pytest.mark.parametrize(
    ("wanted", "target"),
    [(3, FOURTH), (4, key(3003, 9)), (4, key(3009))],
    ids=["not wanted", "another disk by now", "no such controller"],
)
def test_given_up(wanted: int, target: ReplicaKey) -> None:
    """A change that is not wanted any more, or whose disk is gone, is given up."""
    finish = only(planned(scene(target=target), desired(replicas=wanted)), FinishOperation)
    assert finish.reason == "GivenUp"


def test_open_operation_without_a_leader() -> None:
    """Without a leader an open operation is kept, because its outcome is unknown."""
    look = replace(scene(target=FOURTH), quorum=SILENT, memory=Memory())
    said = planned(look, FOUR)
    assert said.actions == ()
    assert str(FOURTH) in wait(said, "NoLeader").message


def test_request_goes_where_the_leader_listens() -> None:
    """The request goes to the port of the revision that the leader's pod was made from, whatever the spec lists now."""
    moved = revision(runtime(listener=ControllerListener(name="CONTROLLER", port=9999)))
    record = replace(joining(), applied_revision=moved.name)
    look = scene(target=FOURTH, record=record)
    asked = membership(situation(desired=FOUR, observed=replace(look, revisions=(moved,)), record=record)).exclusive
    assert isinstance(asked, AddRaftVoter)
    assert asked.leader.port == 9999


def test_yes_of_an_addition() -> None:
    """The permit of an addition counts the caught-up voters of the projected set, without the newcomer."""
    assert facts(verdict(planned(scene(), FOUR), "3-add-voter").reason) == facts(FOURTH, 3, 4)


def test_leader_without_a_pod() -> None:
    """A leader whose pod has no address gets no request."""
    look = with_pod(scene(target=FOURTH), 3000, ip="")
    said = planned(look, FOUR)
    assert said.actions == ()
    assert mentions(wait(said, "AddingVoter").message, 3000)


def test_open_operation_bars_others() -> None:
    """While one addition is open no other begins, even if its target lags."""
    look = scene(record=joining(2), observers=(key(3003), key(3004)), target=key(3003), behind=(key(3003),))
    said = planned(look, desired(replicas=5))
    assert said.actions == ()


def test_second_after_the_first() -> None:
    """From one voter to three: the second is added only if the third is caught up, and the third directly after it."""
    record = joining(0)
    alone = scene(record=record, voters=(key(3000),), observers=(key(3001), key(3002)))
    assert only(planned(alone), BeginOperation).target == key(3001)
    third_lags = scene(record=record, voters=(key(3000),), observers=(key(3001), key(3002)), behind=(key(3002),))
    assert every(planned(third_lags), BeginOperation) == []
    pair = replace(
        scene(record=record, voters=(key(3000), key(3001)), observers=(key(3002),)), support=support(record, 2)
    )
    assert only(planned(pair), BeginOperation).target == key(3002)
    assert node(record, 3002).key == key(3002)
