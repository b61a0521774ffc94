"""Voters are removed one at a time: replaced ones first, then dead ones, then live ones, and the leader last."""

from dataclasses import replace
from typing import Any

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    CLUSTER,
    IDS,
    NOW_S,
    SILENT,
    at_rest,
    desired,
    directory,
    formatter,
    key,
    kube_nodes,
    looks,
    manual,
    mirrored,
    node,
    operation,
    pod,
    running,
    runtime,
    situation,
    support,
    view,
    with_pod,
    without_pod,
)
from tests.plan.reading import every, only, planned, reasons, verdict, wait

from kafka_quorum.model.actions import (
    AddRaftVoter,
    BeginOperation,
    DeletePod,
    FinishOperation,
    RemoveRaftVoter,
    WriteRecord,
)
from kafka_quorum.model.admission import Admission
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import (
    IdentityRecord,
    with_claim,
    with_disk_lost,
    with_nodes,
    with_report,
    without_node,
)
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.operation import VoterAddition, VoterChange, VoterRemoval, VoterReplacement
from kafka_quorum.model.plan import Plan, Severity
from kafka_quorum.model.pods import Waiting
from kafka_quorum.plan.guards.rule3_voters import may_hand_over
from kafka_quorum.plan.planner import plan

FIVE = tuple(key(3000 + index) for index in range(5))
REMOVE, REPLACE = VoterRemoval, VoterReplacement
DOWN = Waiting(reason="CrashLoopBackOff", message="", last_exit=None)
ONE = desired(replicas=1, allow_interruption=True)


def lost_disk(record: IdentityRecord, node_id: int) -> IdentityRecord:
    """A controller came back on its second disk, after its first one was lost."""
    return with_report(with_disk_lost(record, NodeID(node_id), new_claim=False), NodeID(node_id), directory(node_id, 2))


def scene(
    record: IdentityRecord,
    voters: tuple[ReplicaKey, ...],
    observers: tuple[ReplicaKey, ...] = (),
    *,
    behind: tuple[ReplicaKey, ...] = (),
    committed: bool = True,
    seen: int = 3,
    doing: tuple[type[VoterChange], ReplicaKey] | None = None,
    kept: int | None = None,
) -> Observed:
    """A quorum with nothing else to do: the first voter leads, `doing` is the open change, the budget is `kept`."""
    judged = view(voters, observers, behind=behind, committed=committed)
    if not committed:
        judged = replace(judged, committed_voters=frozenset(FIVE[:3]))
    open_ = operation(doing[1], doing[0]) if doing else None
    settled = len(judged.committed_voters or ())
    if kept is None:
        kept = settled if doing or not committed or len(voters) <= 2 else len(voters) // 2 + 1
    look = at_rest(
        record,
        quorum=Known(value=judged),
        memory=looks(judged, seen),
        status=mirrored(record, open=open_),
        support=support(record, kept),
    )
    for of in record.nodes:
        gate = "True" if of.key in voters and of.key in judged.caught_up else "False"
        look = with_pod(look, of.node_id, marked_voter=of.key in voters, gate=gate)
    return look


def begun(said: Plan) -> tuple[type[VoterChange], ReplicaKey]:
    """The change that the plan begins."""
    begin = only(said, BeginOperation)
    return type(begin.change), begin.target


def of(replicas: int, *ids: int, **changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """This many controllers, or exactly these."""
    return desired(replicas=replicas, node_ids=tuple(NodeID(each) for each in ids), **changes)


# The order


@pytest.mark.parametrize(
    ("leader", "target"),
    [(3000, 3004), (3001, 3004), (3004, 3003), (3003, 3004)],
    ids=["the lowest leads", "another leads", "the highest leads", "the next leads"],
)
def test_highest_first_and_the_leader_last(leader: int, target: int) -> None:
    """From five to three, the highest id is removed first, unless it leads."""
    voters = (key(leader), *(each for each in FIVE if each.node_id != leader))
    assert begun(planned(scene(running(5), voters), of(3))) == (REMOVE, key(target))


def test_leader_goes_when_it_is_the_last_to_go() -> None:
    """The active controller itself is removed when no other unwanted voter is left."""
    look = scene(running(3), (key(3002), key(3000), key(3001)))
    assert begun(planned(look, of(2))) == (REMOVE, key(3002))


def test_only_voter_hands_over() -> None:
    """To exchange the only voter, the new one is added, the old leader restarts, and then it is removed."""
    record = with_nodes(running(1), [NodeID(3007)])
    record = with_report(with_claim(record, NodeID(3007), "claim-3007-1"), NodeID(3007), directory(3007))
    wanted = of(1, 3007, allow_interruption=True)
    assert begun(planned(scene(record, (key(3000),), (key(3007),), kept=0), wanted)) == (VoterAddition, key(3007))
    handed = only(planned(scene(record, (key(3000), key(3007)), kept=1), wanted), DeletePod)
    assert (handed.pod.node_id, handed.reason, handed.force) == (3000, "LeaderHandsOver", False)
    assert begun(planned(scene(record, (key(3007), key(3000)), kept=1), wanted)) == (REMOVE, key(3000))


def test_dead_before_live() -> None:
    """An unwanted voter that lags is removed before those that do not, under any leader."""
    look = scene(running(5), FIVE, behind=(key(3003),))
    assert begun(planned(look, of(3))) == (REMOVE, key(3003))


def test_dead_before_adds() -> None:
    """A dead, unwanted voter is removed before a newcomer is added."""
    record = with_nodes(running(4), [NodeID(3009)])
    record = with_report(with_claim(record, NodeID(3009), "claim-3009-1"), NodeID(3009), directory(3009))
    look = scene(record, FIVE[:4], (key(3009),), behind=(key(3003),))
    assert begun(planned(look, of(4, 3000, 3001, 3002, 3009))) == (REMOVE, key(3003))


def swapped(*, ready: bool, down: bool = True, doing: tuple[type[VoterChange], ReplicaKey] | None = None) -> Plan:
    """Controllers 3000 to 3002, and 3009, which replaces 3002. `down` is about 3002, `ready` about 3009."""
    record = with_nodes(running(), [NodeID(3009)])
    record = with_report(with_claim(record, NodeID(3009), "claim-3009-1"), NodeID(3009), directory(3009))
    behind = (*((key(3002),) if down else ()), *(() if ready else (key(3009),)))
    look = scene(record, FIVE[:3], (key(3009),), behind=behind, doing=doing)
    return planned(look, of(3, 3000, 3001, 3009))


def test_voter_that_is_down_stays_until_its_successor_is_ready() -> None:
    """An unwanted voter that is down may come back, so it is removed only when its successor can be added."""
    said = swapped(ready=False)
    assert said.actions == ()
    assert mentions(wait(said, "RemovingVoter").message, 3009)
    assert begun(swapped(ready=True)) == (REMOVE, key(3002))


def test_voter_that_is_back_stays_until_its_successor_is_ready() -> None:
    """A removal is given up if its voter is up again before the successor is ready."""
    finish = only(swapped(ready=False, down=False, doing=(REMOVE, key(3002))), FinishOperation)
    assert finish.reason == "GivenUp"
    assert facts(finish.message) == facts(key(3002), 3009)


def test_request_to_remove_waits_for_a_successor_too() -> None:
    """A removal that was begun is not sent while the voter is down and no successor is ready any more."""
    said = swapped(ready=False, doing=(REMOVE, key(3002)))
    assert said.actions == ()
    assert isinstance(only(swapped(ready=True, doing=(REMOVE, key(3002))), RemoveRaftVoter), RemoveRaftVoter)


def test_voters_more_than_wanted_need_no_successor() -> None:
    """A dead voter beyond the wanted number is removed at once, because it needs no successor."""
    assert begun(planned(scene(running(4), FIVE[:4], behind=(key(3003),)), of(3))) == (REMOVE, key(3003))
    record = with_nodes(running(4), [NodeID(3009)])
    record = with_report(with_claim(record, NodeID(3009), "claim-3009-1"), NodeID(3009), directory(3009))
    look = scene(record, FIVE[:4], (key(3009),), behind=(key(3003), key(3009)))
    assert begun(planned(look, of(3, 3000, 3001, 3009))) == (REMOVE, key(3003))


def test_replacement_before_all() -> None:
    """The replacement of a lost disk has priority over every change of the scale."""
    record = lost_disk(running(5), 3001)
    look = scene(record, FIVE, (key(3001, 2),), behind=(key(3001),))
    assert begun(planned(look, of(3))) == (REPLACE, key(3001, 2))


def test_replacement_before_the_dead() -> None:
    """The replacement of a lost disk has priority over a dead, unwanted voter too."""
    record = lost_disk(running(5), 3001)
    look = scene(record, FIVE, (key(3001, 2),), behind=(key(3001), key(3004)))
    assert begun(planned(look, of(4))) == (REPLACE, key(3001, 2))


def test_replacement_that_lags_holds_no_dead_voter_up() -> None:
    """While the successor of a lost disk still lags, a dead voter is removed first."""
    record = lost_disk(running(5), 3001)
    look = scene(record, FIVE, (key(3001, 2),), behind=(key(3001), key(3001, 2), key(3004)))
    said = planned(look, of(4))
    assert begun(said) == (REMOVE, key(3004))
    assert wait(said, "ReplacingVoter").node_id == 3001


def test_live_removals_wait_for_a_replacement() -> None:
    """While a new disk is no voter yet, live voters stay, because the vote of the lost disk is of no use."""
    record = lost_disk(running(5), 3001)
    look = scene(record, FIVE, (key(3001, 2),), behind=(key(3001), key(3001, 2)))
    said = planned(look, of(3))
    assert said.actions == ()
    assert wait(said, "ReplacingVoter").node_id == 3001


@pytest.mark.parametrize("formatted", [True, False], ids=["catches up", "is being formatted"])
def test_live_removals_wait_for_newcomers(*, formatted: bool) -> None:
    """When one controller is exchanged for another, the old one stays until the new one is a voter."""
    record = with_nodes(running(), [NodeID(3009)])
    newcomers: tuple[ReplicaKey, ...] = ()
    if formatted:
        record = with_report(with_claim(record, NodeID(3009), "claim-3009-1"), NodeID(3009), directory(3009))
        newcomers = (key(3009),)
    else:
        record = with_claim(record, NodeID(3009), "claim-3009-1")
    look = scene(record, FIVE[:3], newcomers, behind=newcomers)
    if not formatted:
        look = replace(look, pods=(*look.pods, formatter(record, node(record, 3009))))
    said = planned(look, of(3, 3000, 3001, 3009))
    assert said.actions == ()
    assert wait(said, "RemovingController").node_id == 3002


def test_removed_one_by_one() -> None:
    """From five to one in four removals, the highest ids first and the leader last.

    The leader of the last pair hands over first, because it does not remove itself from a pair.
    """
    voters: tuple[ReplicaKey, ...] = (key(3002), key(3000), key(3001), key(3003), key(3004))
    gone: list[int] = []
    record = running(5)
    wanted = of(1, allow_interruption=True)
    while len(voters) > 1:
        kept = 1 if len(voters) == 2 else None
        said = planned(scene(record, voters, kept=kept), wanted)
        if every(said, DeletePod):
            assert (only(said, DeletePod).pod.node_id, gone) == (3002, [3004, 3003, 3001])
            voters = voters[::-1]
            said = planned(scene(record, voters, kept=kept), wanted)
        type_, target = begun(said)
        assert type_ == REMOVE
        gone.append(target.node_id)
        voters = tuple(each for each in voters if each != target)
        record = without_node(record, target.node_id)
    assert gone == [3004, 3003, 3001, 3002]


# The leader of a pair


@pytest.mark.parametrize("doing", [None, (REMOVE, key(3001))], ids=["not begun", "begun when another led"])
def test_leader_of_a_pair_hands_over(doing: tuple[type[VoterChange], ReplicaKey] | None) -> None:
    """The leader of a pair is not asked to remove itself: its pod is deleted, and nothing else is done."""
    pair = (key(3001), key(3000))
    look = scene(running(2), pair, doing=doing, kept=2 if doing else 1)
    handed = only(planned(look, of(1, allow_interruption=True)), DeletePod)
    assert (handed.pod.node_id, handed.reason) == (3001, "LeaderHandsOver")
    assert facts(handed.message) == facts("alpha-3001-g1", key(3000), key(3001))


@pytest.mark.parametrize("doing", [None, (REMOVE, key(3001))], ids=["not begun", "open"])
def test_leader_of_a_pair_on_a_cordoned_node_stays(doing: tuple[type[VoterChange], ReplicaKey] | None) -> None:
    """The leader of a pair on a cordoned Kubernetes node stays, because its new pod might not be scheduled."""
    look = scene(running(2), (key(3001), key(3000)), doing=doing, kept=2 if doing else 1)
    said = planned(replace(look, kube_nodes=kube_nodes(["worker-3001"], cordoned=True)), ONE)
    assert said.actions == ()
    assert facts(wait(said, "RemovingVoter").message) == facts(key(3001), key(3000), "worker-3001")
    assert every(planned(replace(look, kube_nodes=kube_nodes(["worker-3001"])), ONE), DeletePod)


@pytest.mark.parametrize("doing", [None, (REMOVE, key(3001))], ids=["not begun", "open"])
def test_leader_of_a_pair_that_may_not_go_yet(doing: tuple[type[VoterChange], ReplicaKey] | None) -> None:
    """While another guard holds the removal, the wait gives that guard's reason, and the leader does not restart."""
    look = scene(running(2), (key(3001), key(3000)), committed=False, doing=doing)
    said = planned(look, ONE)
    assert said.actions == ()
    assert facts(wait(said, "RemovingVoter").message) == facts(key(3001))


def test_leader_of_a_pair_does_not_hand_over_to_a_lost_disk() -> None:
    """The leader stays if the other voter is on a lost disk that fetches again: only a retired replica would vote."""
    record = lost_disk(running(2), 3000)
    look = scene(record, (key(3001), key(3000)), (key(3000, 2),), kept=1)
    said = planned(look, ONE)
    assert said.actions == ()
    assert mentions(wait(said, "ReplacingVoter").message, key(3000))


def test_who_stops_a_stale_voter_that_fetches() -> None:
    """The wait names the pod that the operator will stop, or reports that no pod of ours runs the replica."""
    record = lost_disk(running(2), 3000)
    look = scene(record, (key(3001), key(3000)), (key(3000, 2),), kept=1)
    elsewhere = replace(look, pods=tuple(one for one in look.pods if one.directory_id != key(3000).directory_id))
    assert facts(wait(planned(elsewhere, ONE), "ReplacingVoter").message) == facts(key(3000))
    earlier = pod(running(2), node(running(2), 3000), name="alpha-3000-earlier")
    here = wait(planned(replace(elsewhere, pods=(*elsewhere.pods, earlier)), ONE), "ReplacingVoter").message
    assert facts(here) == facts(key(3000), "alpha-3000-earlier")
    assert "operator stops" in here


def test_leader_of_a_pair_needs_leave_to_hand_over() -> None:
    """If a pair must not be interrupted, its leader stays, and the wait names the field that decides."""
    said = planned(scene(running(2), (key(3001), key(3000))), of(1, allow_interruption=False))
    assert said.actions == ()
    held = wait(said, "RemovingVoter")
    assert held.severity is Severity.HELD
    assert mentions(held.message, "spec.controllers.allowInterruption")
    assert verdict(said, "3-hand-over").reason == held.message


@pytest.mark.parametrize("of_whom", [3000, 3001], ids=["the other's pod", "its own pod"])
@pytest.mark.parametrize("how", ["goes", "does not run"])
def test_leader_of_a_pair_hands_over_to_a_pod_that_runs(of_whom: int, how: str) -> None:
    """While a pod of either voter is being deleted, or does not run, the leader does not hand over."""
    look = scene(running(2), (key(3001), key(3000)), kept=1)
    changes: dict[str, Any] = {"deleting": True} if how == "goes" else {"container": DOWN}
    look = with_pod(look, of_whom, **changes)
    assert not any(action.reason == "LeaderHandsOver" for action in every(planned(look, ONE), DeletePod))


def test_leader_of_a_pair_hands_over_by_the_pod_that_runs() -> None:
    """If the leader has two pods, the one that is not being deleted is restarted."""
    look = scene(running(2), (key(3001), key(3000)), kept=1)
    ending = replace(look.pods[1], name="alpha-3001-g0", uid="earlier", deleting=True)
    handed = only(planned(replace(look, pods=(ending, *look.pods)), ONE), DeletePod)
    assert handed.pod.name == "alpha-3001-g1"


def test_leader_of_a_pair_does_not_remove_itself() -> None:
    """The guard refuses, and names the leader and its successor."""
    said = planned(scene(running(2), (key(3001), key(3000)), kept=1), ONE)
    assert facts(verdict(said, "3-remove-leader").reason) == facts(key(3001), key(3000), key(3001), key(3000))


def test_leader_of_a_pair_whose_pod_would_not_come_back_stays() -> None:
    """A removed controller that leads again is not stopped, because its pod would not be recreated."""
    pair = (key(3001), key(3000))
    record = without_node(running(2), NodeID(3001))
    look = scene(record, pair, kept=1)
    again = pod(running(2), node(running(2), 3001), gate="False", marked_voter=False)
    said = planned(replace(look, pods=(*look.pods, again)), ONE)
    assert said.actions == ()
    assert facts(wait(said, "RemovingVoter").message) == facts(3001, key(3001), "spec.controllers.replicas")


def test_leader_of_a_pair_without_its_revision_stays() -> None:
    """A controller whose ControllerRevision is gone is not stopped, because its pod could not be recreated."""
    look = replace(scene(running(2), (key(3001), key(3000)), kept=1), revisions=())
    judged = may_hand_over(situation(desired=ONE, observed=look), view((key(3001), key(3000))), key(3001))
    assert not judged.allowed
    assert facts(judged.reason) == facts(3001)


def test_leader_of_a_pair_stops_when_its_new_pod_is_accepted() -> None:
    """The API server is asked about the new pod before the present one is stopped; a refusal keeps the present one."""
    look = scene(running(2), (key(3001), key(3000)), kept=1)
    asked = plan(ONE, look, now_s=NOW_S)
    assert [question.node_id for question in asked.questions] == [3001]
    assert asked.actions == ()
    no = Known(value=Admission(allowed=False, words="no such class", current=True))
    refused = ((question, no) for question in asked.questions)
    kept = plan(ONE, replace(look, admissions=tuple(refused)), now_s=NOW_S)
    assert kept.actions == ()
    assert "no such class" in wait(kept, "RestartHeld").message


def test_hand_over_is_judged_on_its_own() -> None:
    """The guard refuses a hand-over with an uncommitted set or a lagging follower, whatever other guards decided."""
    pair = (key(3001), key(3000))
    for look in (scene(running(2), pair, committed=False), scene(running(2), pair, behind=(key(3000),))):
        assert isinstance(look.quorum, Known)
        assert not may_hand_over(situation(desired=ONE, observed=look), look.quorum.value, key(3001)).allowed


def test_follower_of_a_pair_is_removed_at_once() -> None:
    """The follower of a pair is removed without a hand-over, because the leader commits this alone."""
    look = scene(running(2), (key(3000), key(3001)), kept=1)
    assert begun(planned(look, ONE)) == (REMOVE, key(3001))


# What holds a removal


@pytest.mark.parametrize(
    ("voters", "behind", "wanted", "said"),
    [
        (3, (3001,), 2, "voters that stay are caught up (1 of 2, and 2 are needed)"),
        (4, (3001, 3002), 3, "voters that stay are caught up (1 of 3, and 2 are needed)"),
        (5, (3000, 3001), 3, "voters that stay are caught up (2 of 4, and 3 are needed)"),
    ],
)
def test_held(voters: int, behind: tuple[int, ...], wanted: int, said: str) -> None:
    """A removal that would leave no caught-up majority does not begin, and the wait gives the numbers."""
    record = running(voters)
    leader = next(each for each in FIVE if each.node_id not in behind)
    keys = (leader, *(each for each in FIVE[:voters] if each != leader))
    look = scene(record, keys, behind=tuple(key(each) for each in behind))
    plan_ = planned(look, of(wanted))
    assert every(plan_, BeginOperation) == []
    highest = key(3000 + voters - 1)
    assert any(facts(each.message) == facts(highest, said) for each in plan_.waits), plan_.waits


def test_held_by_an_uncommitted_set() -> None:
    """An uncommitted voter set is waited for before the next removal."""
    plan_ = planned(scene(running(), FIVE[:3], committed=False), of(2))
    assert every(plan_, BeginOperation) == []
    assert "RemovingVoter" in reasons(plan_)


# From intent to end


def test_request() -> None:
    """After the intent is written, the leader gets RemoveRaftVoter with cluster id, replica key and the look's age."""
    send = only(planned(scene(running(), FIVE[:3], doing=(REMOVE, key(3002))), of(2)), RemoveRaftVoter)
    assert (send.leader.node_id, send.leader.host, send.leader.port) == (3000, "10.0.0.1", 9093)
    assert (send.request.cluster_id, send.request.voter) == (CLUSTER, key(3002))
    assert send.judged_at_s == 50.0


def test_removed_and_not_committed() -> None:
    """A removal that shows in the voter set is waited for until it is committed; the pod runs on."""
    look = scene(running(), FIVE[:2], (key(3002),), committed=False, doing=(REMOVE, key(3002)))
    said = planned(look, of(2))
    assert said.actions == ()
    assert facts(wait(said, "RemovingVoter").message) == facts(key(3002))


def test_completed() -> None:
    """A committed removal closes its operation, whatever caused it."""
    look = scene(running(), FIVE[:2], (key(3002),), doing=(REMOVE, key(3002)))
    finish = only(planned(look, of(2)), FinishOperation)
    assert (finish.reason, facts(finish.message)) == ("Completed", facts(key(3002)))


def test_scaled_back_while_a_removal_is_open() -> None:
    """If the controller is wanted again before its removal, the change is given up, and nothing is sent."""
    finish = only(planned(scene(running(), FIVE[:3], doing=(REMOVE, key(3002)))), FinishOperation)
    assert finish.reason == "GivenUp"
    assert facts(finish.message) == facts(key(3002))


def test_scaled_back_behind_a_removal() -> None:
    """If the controller is wanted again after its removal, the change is closed first, then it is added again."""
    after = (FIVE[:2], (key(3002),))
    finish = only(planned(scene(running(), *after, doing=(REMOVE, key(3002)))), FinishOperation)
    assert finish.reason == "Completed"
    assert begun(planned(scene(running(), *after))) == (VoterAddition, key(3002))


def test_held_removal_says_first_what_it_waits_for() -> None:
    """The wait of an open change is the first one, because `status.operation.waitingFor` shows it."""
    look = scene(running(), (key(3000), key(3002), key(3001)), behind=(key(3001),), doing=(REMOVE, key(3002)))
    said = planned(look, of(2))
    assert said.actions == ()
    assert said.waits[0].reason == "RemovingVoter"
    assert said.waits[0].message == verdict(said, "3-remove-voter").reason


def test_invalid_spec_removes_nobody() -> None:
    """Under an invalid spec no voter is removed, and an open removal that is not done is given up."""
    assert planned(scene(running(), FIVE[:3]), of(2), repair_only=True).actions == ()
    open_ = scene(running(), FIVE[:3], doing=(REMOVE, key(3002)))
    assert only(planned(open_, of(2), repair_only=True), FinishOperation).reason == "GivenUp"


def test_invalid_spec_brings_nobody_back() -> None:
    """Under an invalid spec, an unwanted controller of the record is not added as a voter again."""
    look = scene(running(4), FIVE[:3], FIVE[3:4])
    assert planned(look, of(3), repair_only=True).actions == ()
    assert begun(planned(look, of(4), repair_only=True)) == (VoterAddition, key(3003))


def test_without_a_leader_nothing_is_removed() -> None:
    """Without a leader an open removal is kept, because its outcome is unknown."""
    look = replace(scene(running(), FIVE[:3], doing=(REMOVE, key(3002))), quorum=SILENT, memory=Memory())
    said = planned(look, of(2))
    assert said.actions == ()
    assert str(key(3002)) in wait(said, "NoLeader").message


# A lost disk


REPLACED = lost_disk(running(), 3001)
STALE, NEW = key(3001), key(3001, 2)


def test_replacement_begins_when_the_newcomer_is_ready() -> None:
    """No voter is removed before the new disk was caught up in three looks."""
    early = planned(scene(REPLACED, FIVE[:3], (NEW,), behind=(STALE,), seen=2))
    assert every(early, BeginOperation) == []
    assert mentions(wait(early, "ReplacingVoter").message, NEW, 2, 3)
    assert begun(planned(scene(REPLACED, FIVE[:3], (NEW,), behind=(STALE,)))) == (REPLACE, NEW)


def test_replacement_waits_for_the_format() -> None:
    """While the new disk is being formatted, no replacement begins, and none is reported."""
    record = with_disk_lost(running(), IDS[1], new_claim=False)
    look = scene(record, FIVE[:3], behind=(STALE,))
    look = replace(look, pods=(*look.pods, formatter(record, node(record, 3001))))
    said = planned(look)
    assert said.actions == ()
    assert "StaleVoter" in reasons(said)
    assert "ReplacingVoter" not in reasons(said)


def test_addition_waits_for_other_work() -> None:
    """A plain addition is not urgent: it is sent only when nothing else is left to do."""
    record = with_nodes(running(), [NodeID(3003)])
    record = with_report(with_claim(record, NodeID(3003), "claim-3003-1"), NodeID(3003), directory(3003))
    look = scene(record, FIVE[:3], (key(3003),), doing=(VoterAddition, key(3003)))
    assert only(planned(look, of(4)), AddRaftVoter).request.voter == key(3003)
    assert every(planned(replace(look, support=()), of(4)), AddRaftVoter) == []


def test_replacement_first_half() -> None:
    """After the intent is written, the stale key is removed, and no other disk of that node id."""
    look = scene(REPLACED, FIVE[:3], (NEW,), behind=(STALE,), doing=(REPLACE, NEW))
    assert only(planned(look), RemoveRaftVoter).request.voter == STALE


def test_replacement_second_half() -> None:
    """After the removal of the stale key is committed, the new key is added under the same operation."""
    look = scene(REPLACED, (key(3000), key(3002)), (NEW,), doing=(REPLACE, NEW))
    assert only(planned(look), AddRaftVoter).request.voter == NEW


def test_nothing_comes_in_between() -> None:
    """Between the halves no other work is done, because one more loss would stop the quorum."""
    look = scene(REPLACED, (key(3000), key(3002)), (NEW,), doing=(REPLACE, NEW))
    untidy = replace(with_pod(look, 3000, gate="False"), support=())
    assert only(planned(untidy), AddRaftVoter).request.voter == NEW
    more = planned(untidy, of(5))
    assert only(more, AddRaftVoter).request.voter == NEW


def test_what_waits_between_the_halves_is_told() -> None:
    """Between the halves the verdicts of postponed work are still reported."""
    look = without_pod(scene(REPLACED, (key(3000), key(3002)), (NEW,), doing=(REPLACE, NEW)), 3002)
    said = planned(look, desired(runtime=runtime(heap="1Gi")))
    assert only(said, AddRaftVoter).request.voter == NEW
    assert verdict(said, "2-run").allowed


def test_first_half_waits_for_other_work() -> None:
    """The first half is sent only when nothing else is left to do."""
    look = replace(scene(REPLACED, FIVE[:3], (NEW,), behind=(STALE,), doing=(REPLACE, NEW)), support=())
    said = planned(look)
    assert said.actions
    assert every(said, RemoveRaftVoter) == []


def test_second_half_waits_for_the_first_to_be_committed() -> None:
    """The new key is added only after the removal is seen committed."""
    look = scene(REPLACED, (key(3000), key(3002)), (NEW,), committed=False, doing=(REPLACE, NEW))
    said = planned(look)
    assert every(said, AddRaftVoter) == []
    assert "ReplacingVoter" in reasons(said)


def test_replacement_completed() -> None:
    """When the new disk is a committed voter, the operation is closed."""
    look = scene(REPLACED, (key(3000), NEW, key(3002)), doing=(REPLACE, NEW))
    assert only(planned(look), FinishOperation).reason == "Completed"


def test_replacement_that_lost_its_disk_again() -> None:
    """If a newcomer loses its disk too, its replacement is given up by name."""
    twice = lost_disk(REPLACED, 3001)
    record = with_report(with_disk_lost(twice, IDS[1], new_claim=False), IDS[1], directory(3001, 3))
    look = scene(record, (key(3000), key(3002)), (key(3001, 3),), doing=(REPLACE, NEW))
    finish = only(planned(look), FinishOperation)
    assert finish.reason == "GivenUp"
    assert mentions(finish.message, 3001, NEW)


def test_zombie_is_not_replaced() -> None:
    """A lost disk whose replica fetches again is not replaced until its process is stopped."""
    said = planned(scene(REPLACED, FIVE[:3], (NEW,)))
    assert every(said, BeginOperation) == []
    assert facts(wait(said, "ReplacingVoter").message) == facts(STALE)


def test_stale_voter_of_an_unwanted_controller() -> None:
    """A controller that lost its disk and is not wanted any more is removed, not replaced."""
    record = lost_disk(running(), 3002)
    look = scene(record, FIVE[:3], (key(3002, 2),), behind=(key(3002),))
    assert begun(planned(look, of(2))) == (REMOVE, key(3002))


# Voters that came back, and voters that never were ours


def test_removed_controller_that_is_a_voter_again() -> None:
    """A removed controller that is a voter again, after a late request, is removed again, even if it fetches."""
    record = without_node(running(2), IDS[1])
    look = scene(record, (key(3000), key(3001)))
    look = replace(look, pods=(*look.pods, pod(running(2), node(running(2), 3001), gate="False", marked_voter=False)))
    assert begun(planned(look, of(1))) == (REMOVE, key(3001))


def test_foreign_voter_is_never_removed() -> None:
    """A voter that this quorum never created is left alone, whether it runs or not."""
    for behind in ((), (key(7),)):
        said = planned(scene(running(), (*FIVE[:3], key(7)), behind=behind))
        assert every(said, BeginOperation) == []
        assert "ForeignVoter" in reasons(said)
        assert "RemovingVoter" not in reasons(said)


@pytest.mark.parametrize("policy", ["Automatic", "Manual"])
def test_voter_with_an_unknown_disk(policy: str) -> None:
    """A dead voter of our node id on an unknown disk is replaced by the policy for lost disks."""
    unknown = key(3001, 9)
    look = scene(running(), (key(3000), unknown, key(3002)), (key(3001),), behind=(unknown,))
    if policy == "Automatic":
        assert begun(planned(look)) == (REPLACE, key(3001))
        return
    said = planned(look, desired(replacement=manual()))
    assert every(said, BeginOperation) == []
    assert mentions(wait(said, "ReplacingVoter").message, "spec.controllers.replacement.lostDisk")


# A change that is held is given up for a replacement


def test_held_removal_gives_way_to_a_lost_disk() -> None:
    """A removal that would wait for ever for a lost disk is given up."""
    look = scene(REPLACED, (key(3000), STALE, key(3002)), (NEW,), behind=(STALE,), doing=(REMOVE, key(3002)))
    finish = only(planned(look, of(2)), FinishOperation)
    assert finish.reason == "GivenUp"
    assert facts(finish.message) == facts(key(3002), NEW, key(3002), 2, 2, 1)
    said = planned(look, of(2)).verdicts
    refused = [each.reason for each in said if each.rule == "3-remove-voter" and not each.allowed]
    assert [facts(each) for each in refused] == [facts(key(3002), 2, 2, 1)]
    assert [each.allowed for each in said if each.rule == "3-add-voter"] == [True]
    assert begun(planned(scene(REPLACED, FIVE[:3], (NEW,), behind=(STALE,)), of(2))) == (REPLACE, NEW)


def test_held_addition_gives_way_to_a_lost_disk() -> None:
    """An addition whose newcomer lags does not hold up a replacement."""
    record = with_nodes(REPLACED, [NodeID(3003)])
    record = with_report(with_claim(record, NodeID(3003), "claim-3003-1"), NodeID(3003), directory(3003))
    look = scene(record, FIVE[:3], (NEW, key(3003)), behind=(STALE, key(3003)), doing=(VoterAddition, key(3003)))
    assert only(planned(look, of(4)), FinishOperation).reason == "GivenUp"


def test_change_that_can_go_on_gives_way_to_nothing() -> None:
    """An open change that its guards allow continues, whatever else could be done."""
    record = lost_disk(running(5), 3001)
    look = scene(record, FIVE, (key(3001, 2),), behind=(key(3001),), doing=(REMOVE, key(3004)))
    assert only(planned(look, of(4)), RemoveRaftVoter).request.voter == key(3004)


def test_nothing_is_written_of_a_refused_change() -> None:
    """A refused change shows in waits and verdicts, and in no write of the record."""
    said = planned(scene(REPLACED, FIVE[:3], (NEW,), behind=(STALE, NEW)))
    assert every(said, WriteRecord) == []
    assert not verdict(said, "3-add-voter").allowed
