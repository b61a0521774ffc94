"""While an object cannot be read, its controller and the quorum do not change; other controllers are kept running."""

from dataclasses import replace

import pytest
from tests.model.values import (
    at_rest,
    claim_uid,
    desired,
    directory,
    key,
    looks,
    mirrored,
    nothing,
    operation,
    permit,
    running,
    speaking,
    view,
    without_claim,
    without_pod,
)

from kafka_quorum.model import actions
from kafka_quorum.model import permit as permits
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import with_disk_lost, with_report
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed, Unreadable
from kafka_quorum.model.operation import VoterAddition, VoterReplacement
from kafka_quorum.model.plan import Plan, Severity
from kafka_quorum.plan.planner import plan
from kafka_quorum.plan.unreadable import REASON, without

CLAIM = Unreadable(kind="PersistentVolumeClaim", name="alpha-3001-g1", node_id=NodeID(3001), why="its size is odd")


def planned(observed: Observed) -> Plan:
    """The plan, without what is not allowed while an object cannot be read."""
    return without(plan(desired(), observed, now_s=0.0), observed)


def losing(observed: Observed, node_id: int) -> Observed:
    """The claim of this controller cannot be read, and its pod is gone."""
    return replace(without_claim(without_pod(observed, node_id), node_id), unreadable=(CLAIM,))


def test_nothing_changes_where_everything_can_be_read() -> None:
    """If everything can be read, the plan does not change."""
    observed = without_pod(at_rest(), 3001)
    assert planned(observed) == plan(desired(), observed, now_s=0.0)


def test_an_unreadable_claim_is_not_a_missing_one() -> None:
    """A missing claim is a lost disk; one that cannot be read is not, and is reported with its reason."""
    missing = without_claim(without_pod(at_rest(), 3001), 3001)
    assert "LostDisk" in {wait.reason for wait in plan(desired(), missing, now_s=0.0).waits}
    found = planned(losing(at_rest(), 3001))
    assert found.actions == ()
    (wait, *others) = found.waits
    assert (wait.severity, wait.reason, wait.node_id) == (Severity.DEGRADED, REASON, 3001)
    assert CLAIM.name in wait.message
    assert CLAIM.why in wait.message
    assert not any(other.node_id == 3001 for other in others)


def test_other_controllers_are_kept() -> None:
    """The pod of a controller whose objects can all be read is recreated as usual."""
    observed = replace(without_pod(at_rest(), 3000), unreadable=(CLAIM,))
    made = [action for action in planned(observed).actions if isinstance(action, actions.CreatePod)]
    assert [action.node_id for action in made] == [3000]


def waiting(*, levels: bool = True) -> Observed:
    """The pod of 3000 is gone, and a claim of 3001 cannot be read. Without `levels` the record has none."""
    look = speaking()
    record = look.record if levels or look.record is None else replace(look.record, levels=())
    return replace(without_pod(look, 3000), record=record, unreadable=(CLAIM,))


def half_replaced() -> Observed:
    """A replacement between its halves: the stale voter is removed, and the new one is ready. One pod is gone."""
    record = with_disk_lost(running(), NodeID(3002), new_claim=False)
    record = with_report(record, NodeID(3002), directory(3002, 2))
    seen = view((key(3001), key(3000)), (key(3002, 2),))
    open_ = operation(key(3002, 2), VoterReplacement)
    look = at_rest(record, quorum=Known(value=seen), memory=looks(seen), status=mirrored(record, open=open_))
    return replace(without_pod(look, 3000), unreadable=(CLAIM,))


@pytest.mark.parametrize(
    ("observed", "wanted"),
    [
        (waiting(), desired(replicas=5)),
        (waiting(levels=False), desired()),
        (half_replaced(), desired()),
    ],
    ids=["a larger quorum", "levels to be noted", "half a replacement"],
)
def test_a_decision_that_waits_keeps_no_pod_from_coming_back(observed: Observed, wanted: Desired) -> None:
    """If an exclusive action must wait, the plan still recreates the pods of other controllers."""
    alone = plan(wanted, replace(observed, unreadable=()), now_s=0.0).actions
    assert not any(isinstance(action, actions.CreatePod) for action in alone)
    found = without(plan(wanted, observed, now_s=0.0), observed).actions
    assert [action.node_id for action in found if isinstance(action, actions.CreatePod)] == [3000]
    assert not any(isinstance(action, actions.EXCLUSIVE) for action in found)


def test_an_object_of_nobody_holds_everything() -> None:
    """If the owner of an object is not known, no controller is changed."""
    observed = replace(without_pod(at_rest(), 3000), unreadable=(replace(CLAIM, node_id=None),))
    assert planned(observed).actions == ()


def test_nothing_new_is_begun() -> None:
    """An object that cannot be read is a trace, so no new identity is created."""
    observed = replace(nothing(), unreadable=(CLAIM,))
    assert plan(desired(), nothing(), now_s=0.0).actions != ()
    assert planned(observed).actions == ()


@pytest.mark.parametrize(
    "action",
    [
        actions.DeleteClaim(claim=at_rest().claims[0], message="m", permit=permit(permits.DeleteVolume)),
        actions.RestartPod(
            pod=at_rest().pods[0], evict=True, message="m", judged_at_s=0.0, permit=permit(permits.Restart)
        ),
        actions.WriteRecord(record=running(), change=actions.RecordChange.NODES_ADDED, message="m"),
        actions.BeginOperation(change=VoterAddition(target=key(3002)), permit=permit(permits.OneChange)),
        actions.DeleteConfig(name="c"),
        actions.DeleteRevision(name="r", uid="u", resource_version="1"),
        actions.AnnotateClaim(claim=at_rest().claims[0], directory_id=directory(3000), grow_to=None, retired=True),
    ],
    ids=lambda action: type(action).__name__,
)
def test_what_decides_on_more_than_one_controller_waits(action: actions.Action) -> None:
    """Voter changes, restarts, changes of the record and deletions wait, whichever controller they concern."""
    observed = replace(at_rest(), unreadable=(CLAIM,))
    given = Plan(actions=(action,), waits=(), verdicts=(), requeue_s=10.0)
    assert without(given, observed).actions == ()
    assert claim_uid(3000) == at_rest().claims[0].uid


def test_unreadable_claims_are_no_lost_majority() -> None:
    """Two unreadable claims before the first leader are not reported as a failed bootstrap."""
    observed = losing(without_claim(without_pod(at_rest(), 3002), 3002), 3001)
    record = replace(observed.record, had_leader=False) if observed.record is not None else None
    unread = (CLAIM, replace(CLAIM, name="alpha-3002-g1", node_id=NodeID(3002)))
    found = planned(replace(observed, record=record, unreadable=unread))
    assert "BootstrapFailed" not in {wait.reason for wait in found.waits}


def test_no_running_pod_is_stopped() -> None:
    """No running pod is stopped, even if the unreadable object is another controller's."""
    pod = next(pod for pod in at_rest().pods if pod.node_id == 3000)
    stop = actions.DeletePod(pod=pod, reason="LeaderHandsOver", message="m", permit=permit(permits.ReplacePod))
    held = without(Plan(actions=(stop,), waits=(), verdicts=(), requeue_s=1.0), replace(at_rest(), unreadable=(CLAIM,)))
    assert pod.running
    assert held.actions == ()
