"""Controllers that a person holds: nothing is done to their pods and disks, and the reason and the cost are said."""

from dataclasses import replace
from typing import Any

import pytest
from tests.golden.facts import facts
from tests.model import certificates
from tests.model.values import (
    IDS,
    SILENT,
    answering,
    at_rest,
    blank,
    bound,
    claim,
    desired,
    directory,
    empty_report,
    formatter,
    key,
    kube_nodes,
    looks,
    node,
    operation,
    pod,
    revision,
    running,
    runtime,
    situation,
    started,
    still_blank,
    storage,
    support,
    view,
    with_pod,
    with_the_claim,
    without_claim,
    without_pod,
)
from tests.plan.reading import degraded, every, only, planned, reasons, wait

from kafka_quorum.model.actions import (
    AnnotateClaim,
    CreateClaim,
    CreateFormatter,
    CreatePod,
    DecideRecord,
    DeleteClaim,
    DeletePod,
    FinishOperation,
    RemoveRaftVoter,
    RestartPod,
    WriteRecord,
)
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.held import held_among, why_held, why_some_held
from kafka_quorum.model.identity import with_claim, with_disk_lost, with_nodes, with_revision
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import HOLD
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.operation import VoterRemoval
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pods import PodRole, Terminated
from kafka_quorum.plan.guards.rule2_disks import may_give_up_formatter, may_retire_disk, may_retire_node, may_run
from kafka_quorum.plan.guards.rule3_voters import may_hand_over, may_remove_voter, may_replace_pod, may_stop_retired
from kafka_quorum.plan.guards.rule4_changes import may_drop_node
from kafka_quorum.plan.guards.rule5_restarts import may_restart
from kafka_quorum.plan.guards.rule6_volumes import may_delete_claim
from kafka_quorum.plan.guards.rule7_zookeeper import may_end_quorum, may_stop_controllers
from kafka_quorum.plan.releases.rolls import roll

ENDED = Terminated(exit_code=1, reason="Error", message="", finished_at="", ran_s=1.0)
UNREAD = Unknown(reason="'x' is no whole number")


def holding(*ids: int, **changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """Three controllers, some of which a person holds."""
    return desired(hold=Known(value=frozenset(map(NodeID, ids))), **changes)


def touches(observed: Observed, wanted: Desired) -> list[object]:
    """The actions of the plan on pods and disks, and changes of the record that give something up."""
    said = planned(observed, wanted)
    kinds = (CreateClaim, CreateFormatter, CreatePod, DeletePod, DeleteClaim, RestartPod, DecideRecord)
    return [action for action in said.actions if isinstance(action, kinds)]


# At rest


def test_a_hold_that_keeps_nothing_back_is_reported() -> None:
    """At rest a held controller is one wait of a person, and nothing else happens."""
    said = planned(at_rest(), holding(3001, 3002))
    assert said.actions == ()
    assert [(one.reason, one.severity, one.node_id) for one in said.waits] == [
        ("Holding", Severity.HELD, 3001),
        ("Holding", Severity.HELD, 3002),
    ]
    assert all(HOLD in one.message for one in said.waits)


def test_an_id_that_is_no_controller_is_named() -> None:
    """Ids of no controller hold nothing, and are named, the first ones of many."""
    said = planned(at_rest(), holding(*range(9)))
    one = wait(said, "Holding")
    assert one.node_id is None
    assert set(facts(*range(8), *IDS)) <= set(facts(one.message))
    assert "1 more" in one.message


def test_a_hold_that_cannot_be_read_holds_every_controller() -> None:
    """If it is unknown which controllers are held, each of them may be one."""
    wanted = desired(hold=UNREAD)
    assert held_among(wanted, IDS) == IDS
    assert "cannot be read" in why_held(wanted, IDS[0])
    said = planned(without_pod(at_rest(), 3001), wanted)
    assert every(said, CreatePod) == []
    assert wait(said, "HeldBack").node_id == 3001


def test_without_a_hold_no_controller_is_held() -> None:
    """Without the annotation there is nothing to say."""
    assert why_some_held(desired(), IDS) == ""
    assert set(facts(3001, 3002)) <= set(facts(why_some_held(holding(3002, 3001), IDS)))


# Pods


def test_a_deleted_pod_is_not_created() -> None:
    """The pod of a held controller is not created again, and that it does not run is said."""
    observed = without_pod(at_rest(), 3001)
    assert only(planned(observed), CreatePod).node_id == 3001
    said = planned(observed, holding(3001))
    assert said.actions == ()
    one = wait(said, "HeldBack")
    assert (one.severity, one.node_id) == (Severity.HELD, 3001)
    assert "does not run" in one.message


def test_the_others_are_served() -> None:
    """What another controller needs is done all the same."""
    observed = without_pod(without_pod(at_rest(), 3001), 3002)
    said = planned(observed, holding(3001))
    assert [one.node_id for one in every(said, CreatePod)] == [3002]


def test_a_pod_that_has_ended_stays() -> None:
    """A finished pod of a held controller is not recreated."""
    observed = with_pod(at_rest(), 3001, finished=True, container=ENDED)
    assert every(planned(observed), DeletePod)
    said = planned(observed, holding(3001))
    assert every(said, DeletePod) == []
    assert wait(said, "HeldBack").node_id == 3001


def test_a_pod_on_a_retired_disk_runs_on() -> None:
    """A retired replica of a held controller is not stopped, and no new disk is made meanwhile."""
    record = with_disk_lost(running(), NodeID(3001), new_claim=True)
    before = at_rest()
    observed = at_rest(record, pods=before.pods, quorum=before.quorum, memory=before.memory)
    assert every(planned(observed), DeletePod)
    said = planned(observed, holding(3001))
    assert every(said, DeletePod) == []
    assert every(said, CreateClaim) == []
    assert "HeldBack" in reasons(said)


def test_the_pod_of_a_removed_controller_stays() -> None:
    """A held pod of a controller that left the record is not stopped."""
    three = running(4)
    record = replace(running(), former=())
    left = replace(pod(three, node(three, 3003)), directory_id=directory(3003))
    observed = at_rest(record, pods=(*at_rest(record).pods, left))
    said = planned(observed, holding(3003))
    assert every(said, DeletePod) == []
    assert wait(said, "HeldBack").node_id == 3003


# Restarts


def rolling(**changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """Another heap is requested, while a person holds controller 3001."""
    return holding(3001, runtime=runtime(heap="1Gi"), **changes)


def next_one(moved: tuple[int, ...] = ()) -> Observed:
    """A roll whose revision exists, and has been recorded for these controllers, whose pods are the earlier ones."""
    target = revision(runtime(heap="1Gi"), number=2)
    record = with_revision(running(), target.name, map(NodeID, moved))
    pods = tuple(pod(record, of, revision=revision().name) for of in record.nodes)
    return at_rest(record, revisions=(revision(), target), pods=pods)


def test_a_roll_goes_on_without_the_held_controller() -> None:
    """The roll restarts another follower, and never the held one."""
    said = planned(next_one(), rolling())
    (move,) = every(said, WriteRecord)
    assert [of.node_id for of in move.record.nodes if of.revision] == [3002]


def test_a_held_controller_that_was_next_delays_no_other() -> None:
    """If the record had the new revision for it already, the roll goes on with the others."""
    said = roll(situation(desired=rolling(), observed=next_one((3001,))))
    assert [question.node_id for question in said.questions] == [3002]
    free = roll(situation(desired=desired(runtime=runtime(heap="1Gi")), observed=next_one((3001,))))
    assert [question.node_id for question in free.questions] == [3001]


def test_the_active_controller_waits_for_a_person() -> None:
    """When only held controllers are left before it, the active controller waits, and only a person ends that."""
    target = revision(runtime(heap="1Gi"), number=2)
    record = with_revision(running(), target.name, [NodeID(3002)])
    done = pod(record, node(record, 3002), revision=target.name)
    plain = at_rest(record, revisions=(revision(), target), versions=answering(record))
    observed = replace(plain, pods=(*plain.pods[:2], done), support=())
    said = roll(situation(desired=rolling(), observed=observed))
    assert [(one.reason, one.node_id) for one in said.waits] == [("HeldBack", 3000)]
    assert "3001" in said.waits[0].message
    free = situation(desired=desired(runtime=runtime(heap="1Gi")), observed=observed)
    assert every(roll(free), WriteRecord) or roll(free).questions


def test_the_restart_of_a_held_controller_is_said_to_be_kept_back() -> None:
    """The guard refuses the restart first of all because of the hold, with what that costs."""
    said = planned(next_one(), rolling())
    one = wait(said, "HeldBack")
    assert (one.node_id, one.severity) == (3001, Severity.HELD)
    assert "the active controller waits for it" in one.message


def test_the_end_of_a_held_controllers_certificate_is_said() -> None:
    """With TLS the cost has a date: from the end of its certificate on, no other controller accepts it."""
    secured = certificates.judged()
    held = replace(secured, desired=replace(secured.desired, hold=Known(value=frozenset({NodeID(3001)}))))
    verdict = may_restart(held, node(held.record, 3001), held.observed.pods_of(NodeID(3001), PodRole.KAFKA)[0])
    assert not verdict.allowed
    assert "no other controller accepts it" in verdict.reason


# Disks


def test_a_lost_disk_is_not_replaced() -> None:
    """A held controller's disk is not given up, with any evidence; the loss is reported with the hold as its reason."""
    look = still_blank(with_pod(at_rest(), 3001, container=ENDED, report=empty_report()))
    seen = view([key(3000), key(3001), key(3002)], behind=[key(3001)])
    look = replace(look, quorum=Known(value=seen))
    assert every(planned(look), DecideRecord)
    said = planned(look, holding(3001))
    assert every(said, DecideRecord) == []
    assert "LostDisk" in degraded(said)
    assert HOLD in wait(said, "LostDisk").message


def test_no_claim_is_created_or_grown() -> None:
    """A held newcomer gets no claim, and a held controller's claim requests no more."""
    joining = with_nodes(running(), [NodeID(3003)])
    said = planned(at_rest(joining), holding(3003, replicas=4))
    assert every(said, CreateClaim) == []
    assert {one.node_id for one in said.waits if one.reason == "HeldBack"} == {3003}
    larger = storage(size="20Gi", size_bytes=2 * storage().size_bytes)
    assert len(every(planned(at_rest(), desired(storage=larger)), AnnotateClaim)) == 3
    said = planned(at_rest(), holding(3001, storage=larger))
    assert {one.claim.node_id for one in every(said, AnnotateClaim)} == {3000, 3002}
    assert wait(said, "HeldBack").node_id == 3001


def test_no_disk_is_formatted() -> None:
    """Before the start the quorum waits for the held controller's format."""
    said = planned(at_rest(bound()), holding(3001))
    assert {one.node_id for one in every(said, CreateFormatter)} == {3000, 3002}
    assert wait(said, "HeldBack").node_id == 3001


def test_a_formatter_that_is_done_stays() -> None:
    """A formatter of a held controller is not deleted."""
    record = started()
    done = formatter(record, node(record, 3001), container=ENDED)
    observed = at_rest(record, pods=(*at_rest(record).pods, done))
    assert every(planned(observed), DeletePod)
    assert every(planned(observed, holding(3001)), DeletePod) == []


# Votes


def test_the_vote_of_a_held_controller_is_not_removed() -> None:
    """A held controller that the spec does not list keeps its vote, its place in the record and its pod."""
    record = running(4)
    said = planned(at_rest(record), holding(3003))
    assert touches(at_rest(record), holding(3003)) == every(said, RemoveRaftVoter) == []
    assert {one.node_id for one in said.waits if one.reason == "HeldBack"} == {3003}


def test_an_open_removal_is_given_up() -> None:
    """The open removal of a vote ends when a person holds its controller, so that it delays nothing."""
    record = running(4)
    observed = at_rest(record, support=support(record, 4))
    observed = replace(observed, status=replace(observed.status, open=operation(key(3003), VoterRemoval)))
    assert every(planned(observed), RemoveRaftVoter)
    finish = only(planned(observed, holding(3003)), FinishOperation)
    assert (finish.reason, "holds" in finish.message) == ("GivenUp", True)


# Each guard


def refusals(wanted: Desired) -> dict[str, str]:
    """The answers of every guard of an act on the pod or the disk of controller 3001."""
    record, look = running(), at_rest()
    now = situation(desired=wanted, observed=look)
    of = node(record, 3001)
    its, seen = pod(record, of), view([key(3000), key(3001)])
    said = (
        may_run(now, of, mirrored=True),
        may_retire_disk(now, of),
        may_retire_node(now, of),
        may_give_up_formatter(now, formatter(record, of)),
        may_replace_pod(now, replace(its, container=ENDED)),
        may_stop_retired(now, its),
        may_remove_voter(now, view([key(3000), key(3001), key(3002)]), key(3001)),
        may_hand_over(now, seen, key(3001)),
        may_drop_node(now, of),
        may_restart(now, of, its),
        may_delete_claim(now, claim(record, of)),
        may_stop_controllers(now),
        may_end_quorum(now),
    )
    return {one.rule: one.reason for one in said if not one.allowed}


def test_every_guard_refuses_for_the_hold_first() -> None:
    """Each guard refuses an act on a held controller because of the hold, and says how to end that."""
    said = refusals(holding(3001))
    assert len(said) == 13
    assert all(HOLD in reason for reason in said.values()), said
    assert not any(HOLD in reason for reason in refusals(holding(3002)).values() if "controllers 3002" not in reason)


@pytest.mark.parametrize("look", [at_rest(), at_rest(quorum=SILENT), without_claim(at_rest(), 3001)])
def test_nothing_is_done_to_a_held_controller_in_any_look(look: Observed) -> None:
    """With and without a leader, and without its claim, no action is about the held controller's pod or disk."""
    for changed in (look, without_pod(look, 3001), with_pod(look, 3001, container=ENDED, finished=True)):
        assert touches(changed, holding(3001)) == []


def test_a_lost_node_is_not_replaced() -> None:
    """A held controller on a Kubernetes node that is down is not given up, and its pod is not deleted by force."""
    seen = view([key(3000), key(3001), key(3002)], behind=[key(3001)])
    look = at_rest(quorum=Known(value=seen), memory=looks(seen))
    down = tuple(one for one in look.kube_nodes if one[0] != "worker-3001")
    look = replace(look, kube_nodes=(*down, *kube_nodes(["worker-3001"], ready=False)))
    said = planned(look, holding(3001))
    assert every(said, DecideRecord) == []
    assert every(said, DeletePod) == []
    assert HOLD in wait(said, "LostNode").message


def test_a_blank_disk_is_not_looked_at_again() -> None:
    """A pod that found its disk empty is not recreated to look again while a person holds its controller."""
    look = with_pod(at_rest(), 3001, container=ENDED, report=empty_report())
    old = replace(blank(look.pods_of(NodeID(3001), PodRole.KAFKA)[0]), last_seen_s=0.0, first_seen_s=-20.0)
    seen = view([key(3000), key(3001), key(3002)], behind=[key(3001)])
    look = replace(look, quorum=Known(value=seen), memory=replace(looks(seen), blank_disks=(old,)))
    assert every(planned(look, holding(3001)), DeletePod) == []


def test_claims_of_before_stay() -> None:
    """A former claim of a held controller is not deleted."""
    record = with_claim(with_disk_lost(running(), NodeID(3001), new_claim=True), NodeID(3001), "claim-3001-2")
    before = claim(running(), node(running(), 3001), phase="Retired")
    now = situation(desired=holding(3001), observed=at_rest(record), record=record)
    verdict = may_delete_claim(now, before)
    assert HOLD in verdict.reason
    observed = with_the_claim(at_rest(record), 3001)
    assert every(planned(observed, holding(3001)), DeleteClaim) == []
