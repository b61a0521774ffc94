"""The whole plan: nothing at rest, one exclusive action at a time, and the effects of an invalid or paused spec."""

from dataclasses import replace

import pytest
from tests.model.values import (
    IDS,
    SILENT,
    at_rest,
    bound,
    desired,
    key,
    looks,
    nothing,
    operation,
    running,
    runtime,
    started,
    storage,
    view,
    with_pod,
    without_pod,
)
from tests.plan.reading import every, only, planned, reasons, verdict

from kafka_quorum.model.actions import (
    EXCLUSIVE,
    AnnotateClaim,
    BeginOperation,
    CreateClaim,
    CreatePod,
    DeletePod,
    MintIdentity,
    RecordChange,
    WriteRecord,
)
from kafka_quorum.model.desired import BootstrapMode
from kafka_quorum.model.identity import IdentityRecord, with_nodes, without_node
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed


@pytest.mark.parametrize("replicas", [1, 3, 5])
def test_nothing_to_do(replicas: int) -> None:
    """A quorum at rest is left alone, and the next look is after 10 s."""
    record = running(replicas)
    said = planned(at_rest(record), desired(replicas=replicas))
    assert said.actions == ()
    assert said.waits == ()
    assert said.requeue_s == 10.0


def test_paused() -> None:
    """A paused quorum gets no action, whatever is broken, and the wait reports the pause."""
    said = planned(without_pod(at_rest(), 3001), desired(paused=True))
    assert said.actions == ()
    assert reasons(said) == {"Paused"}
    assert said.requeue_s == 5.0


@pytest.mark.parametrize("look", [nothing(), replace(at_rest(), record=None)], ids=["first", "record lost"])
def test_paused_before_the_identity_is_settled(look: Observed) -> None:
    """A paused quorum gets no identity, and a lost record is not rebuilt."""
    said = planned(look, desired(paused=True))
    assert planned(look).actions != ()
    assert (said.actions, said.verdicts, reasons(said)) == ((), (), {"Paused"})


def test_first_look() -> None:
    """A new resource first gets an identity, and nothing else in the same plan."""
    mint = only(planned(nothing()), MintIdentity)
    assert (mint.initial, mint.others) == (IDS, ())


def test_standalone_first_look() -> None:
    """Standalone has the lowest controller as its only first voter; the others join later."""
    mint = only(planned(nothing(), desired(bootstrap=BootstrapMode.STANDALONE)), MintIdentity)
    assert (mint.initial, mint.others) == (IDS[:1], IDS[1:])


def test_exact_node_ids() -> None:
    """If the spec lists node ids, exactly these controllers are created."""
    ids = (NodeID(7), NodeID(5), NodeID(9))
    mint = only(planned(nothing(), desired(node_ids=ids)), MintIdentity)
    assert mint.initial == (5, 7, 9)


def test_invalid_spec_makes_nothing() -> None:
    """With an invalid spec no identity is created."""
    assert planned(nothing(), repair_only=True).actions == ()


def test_invalid_spec_repairs() -> None:
    """With an invalid spec a lost pod is still recreated."""
    said = planned(without_pod(at_rest(), 3001), repair_only=True)
    assert only(said, CreatePod).node_id == 3001


@pytest.mark.parametrize(
    "changes",
    [{"replicas": 5}, {"runtime": runtime(heap="1Gi")}, {"storage": storage(size="20Gi", size_bytes=20 * 1024**3)}],
    ids=["replicas", "heap", "size"],
)
def test_invalid_spec_changes_nothing(changes: dict[str, object]) -> None:
    """With an invalid spec no running controller is changed, and no wait is reported."""
    said = planned(at_rest(), desired(**changes), repair_only=True)
    assert said.actions == ()
    assert said.waits == ()


def test_more_replicas() -> None:
    """Additional replicas are recorded before anything is created for them."""
    write = only(planned(at_rest(), desired(replicas=5)), WriteRecord)
    assert write.change is RecordChange.NODES_ADDED
    assert write.record.node_ids == (3000, 3001, 3002, 3003, 3004)
    assert write.record.initial == running().initial


def test_claims_together() -> None:
    """Independent creations are in one plan."""
    record = replace(bound(), nodes=tuple(replace(node, claim_uid=None) for node in bound().nodes))
    assert {action.node_id for action in every(planned(at_rest(record)), CreateClaim)} == set(IDS)


def test_growth_last() -> None:
    """Every claim is grown, but only when nothing else is left to do."""
    larger = desired(storage=storage(size="20Gi", size_bytes=20 * 1024**3))
    said = planned(at_rest(), larger)
    assert [action.grow_to for action in every(said, AnnotateClaim)] == ["20Gi"] * 3
    busy = planned(without_pod(at_rest(), 3001), larger)
    assert every(busy, AnnotateClaim) == []


def test_acts_on_the_quorum_wait_for_upkeep() -> None:
    """No voter change begins while a pod must be recreated, but the plan reports the guard's permit."""
    record = newcomer()
    seen = view([key(3000), key(3001), key(3002)], [key(3003)])
    look = at_rest(record, quorum=Known(value=seen), memory=looks(seen))
    calm = planned(with_pod(look, 3003, marked_voter=False, gate="False"), desired(replicas=4))
    assert only(calm, BeginOperation).target == key(3003)
    busy = planned(without_pod(look, 3001), desired(replicas=4))
    assert every(busy, BeginOperation) == []
    assert verdict(busy, "3-add-voter").allowed


def test_ids_that_are_there_stay() -> None:
    """Without node ids in the spec the present controllers are the wanted ones, whatever ids a new quorum would get."""
    record = without_node(running(), IDS[1])
    seen = view([of.key for of in record.nodes])
    look = at_rest(record, quorum=Known(value=seen), memory=looks(seen))
    assert planned(look, desired(replicas=2)).actions == ()


def newcomer() -> IdentityRecord:
    """A running quorum of three, and a fourth controller that is formatted to join."""
    record = with_nodes(running(), [NodeID(3003)])
    fourth = record.nodes[-1]
    formatted = replace(fourth, claim_uid="claim-3003-1", directory_id=key(3003).directory_id, formatted=True)
    return replace(record, nodes=(*record.nodes[:-1], formatted))


SCENES: dict[str, Observed] = {
    "nothing": nothing(),
    "bound": at_rest(bound()),
    "at rest": at_rest(),
    "pod gone": without_pod(at_rest(), 3000),
    "claims gone": at_rest(claims=()),
    "status erased": at_rest(status=nothing().status),
    "operation open": at_rest(status=replace(at_rest().status, open=operation(key(3002)))),
}


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("wanted", [desired(), desired(replicas=5), desired(runtime=runtime(heap="1Gi"))])
def test_exclusive_alone(scene: str, wanted: object) -> None:
    """An exclusive action is the only one of its plan."""
    assert isinstance(wanted, type(desired()))
    actions = planned(SCENES[scene], wanted).actions
    assert len(actions) == 1 or not any(isinstance(action, EXCLUSIVE) for action in actions)


def test_soon_while_under_way() -> None:
    """While something is in progress, here the first election, the next look is soon."""
    said = planned(at_rest(started()))
    assert reasons(said) == {"NoLeader"}
    assert said.requeue_s < 1.0


# How many actions rely on one look


def test_acts_carry_the_time_of_the_look() -> None:
    """An action has the time of the look that allowed it: of the leader's answer, or without one of the look itself."""
    gone = replace(at_rest(), claims=(), pods=())
    for look, at_s in ((gone, 50.0), (replace(gone, quorum=SILENT, taken_at_s=70.0), 70.0)):
        assert look.looked_at_s == at_s
    removed = replace(at_rest(without_node(running(4), NodeID(3003))), pods=at_rest(running(4)).pods)
    (stop,) = every(planned(removed), DeletePod)
    assert (stop.pod.node_id, stop.judged_at_s) == (3003, 50.0)


def test_one_pod_is_stopped_on_one_look() -> None:
    """Of two removed pods that may both be stopped, one is stopped; the next look decides about the other."""
    all_, record = running(5), without_node(without_node(running(5), NodeID(3003)), NodeID(3004))
    seen = view([of.key for of in all_.nodes])
    look = replace(at_rest(record), pods=at_rest(all_).pods, quorum=Known(value=seen), memory=looks(seen))
    said = planned(look)
    allowed = [one for one in said.verdicts if one.rule == "3-stop-retired" and one.allowed]
    assert len(allowed) == 2
    assert len(every(said, DeletePod)) == 1
