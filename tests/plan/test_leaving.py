"""Controllers and disks that are removed: from the voters, from the record, then the pod, and the volume by policy."""

from dataclasses import replace
from typing import Any

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    IDS,
    NAME,
    SILENT,
    at_rest,
    bound,
    claim,
    desired,
    directory,
    empty_report,
    formatter,
    key,
    looks,
    mirrored,
    node,
    operation,
    pod,
    running,
    still_blank,
    storage,
    support,
    view,
    with_pod,
    with_the_claim,
    without_claim,
    without_pod,
)
from tests.plan.reading import degraded, every, only, planned, reasons, verdict, wait

from kafka_quorum.model.actions import (
    AnnotateClaim,
    CreateClaim,
    CreatePod,
    DeleteClaim,
    DeletePod,
    RecordChange,
    WriteRecord,
)
from kafka_quorum.model.desired import Cure, Desired, Replacement, VolumeFate
from kafka_quorum.model.identity import IdentityRecord, with_disk_lost, with_nodes, without_node
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import LostNode, Memory
from kafka_quorum.model.names import RETIRED
from kafka_quorum.model.observed import Claim, KubeNode, Observed
from kafka_quorum.model.operation import VoterRemoval
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pods import Pod, Terminated, Waiting

VOTERS = (key(3000), key(3001), key(3002))
PAIR = desired(replicas=2)
PAIRED = without_node(running(), IDS[2])
"""The record after controller 3002 was removed."""
OF_3002 = node(running(), 3002)
OLD_CLAIM = claim(running(), OF_3002)
OLD_POD = pod(running(), OF_3002, marked_voter=False, gate="False")
RETIRED_CLAIM = replace(OLD_CLAIM, phase=RETIRED)
KEPT = storage(when_scaled=VolumeFate.RETAIN)
WORKER = "worker-3002"
DOWN = ((WORKER, Known(value=KubeNode(name=WORKER, exists=True, ready=False))),)
WAITING = Waiting(reason="ContainerCreating", message="", last_exit=None)


def paired(*left: Claim | Pod, record: IdentityRecord = PAIRED, **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """Two voters that were three; `left` are the objects that are left of the third."""
    seen = view([of.key for of in record.nodes])
    look = at_rest(record, quorum=Known(value=seen), memory=looks(seen), support=support(record, 2))
    pods = tuple(one for one in left if isinstance(one, Pod))
    claims = tuple(one for one in left if isinstance(one, Claim))
    return replace(replace(look, pods=(*look.pods, *pods), claims=(*look.claims, *claims)), **changes)


# Out of the record


def without_vote(**changes: Any) -> Observed:  # noqa: ANN401 - whatever the field holds
    """A look in which controller 3002 is in the record, and is not a voter any more."""
    seen = view(VOTERS[:2], [VOTERS[2]])
    look = at_rest(quorum=Known(value=seen), memory=looks(seen), support=support(running(), 2))
    return replace(with_pod(look, 3002, marked_voter=False, gate="False"), **changes)


def test_dropped() -> None:
    """A controller that is neither wanted nor a voter leaves the record, and its directory id is retired for ever."""
    write = only(planned(without_vote(), PAIR), WriteRecord)
    assert write.change is RecordChange.NODES_REMOVED
    assert write.record.node_ids == IDS[:2]
    assert directory(3002) in write.record.retired
    assert facts(write.message) == facts(3002, directory(3002))


def test_voter_is_not_dropped() -> None:
    """A voter that is not wanted stays in the record and runs on, and the wait names its replica."""
    said = planned(at_rest(), PAIR)
    assert every(said, WriteRecord) == []
    assert every(said, DeletePod) == []
    assert facts(wait(said, "RemovingController").message) == facts(3002, key(3002))
    assert (facts(verdict(said, "4-drop-node").reason), verdict(said, "4-drop-node").allowed) == (
        facts(3002, key(3002)),
        False,
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"quorum": SILENT, "memory": Memory()},
        {"quorum": Known(value=view(VOTERS[:2], [VOTERS[2]], committed=False))},
        {"status": mirrored(running(), open=operation(VOTERS[2], VoterRemoval))},
    ],
    ids=["no leader", "uncommitted", "its change is open"],
)
def test_not_dropped_yet(changes: dict[str, Any]) -> None:
    """Until a removal is seen committed, and while its change is open, no controller is dropped and no pod stopped."""
    said = planned(without_vote(**changes), PAIR)
    assert every(said, WriteRecord) == []
    assert every(said, DeletePod) == []


def test_wanted_again_before_it_was_dropped() -> None:
    """A controller that is wanted again becomes a voter again, on its present disk."""
    said = planned(without_vote())
    assert every(said, WriteRecord) == []
    assert [action.target for action in said.actions] == [key(3002)]  # type: ignore[union-attr]  # one BeginOperation


def test_nothing_is_removed_before_the_barrier() -> None:
    """Fewer replicas during the initial format remove no controller, because the initial voters are fixed."""
    said = planned(at_rest(bound()), PAIR)
    assert not any(action.change is RecordChange.NODES_REMOVED for action in every(said, WriteRecord))
    held = wait(said, "RemovingController")
    assert (held.severity, facts(held.message)) == (Severity.HELD, facts(3002))


def test_never_joined() -> None:
    """An unformatted controller that is not wanted any more leaves the record without a voter change."""
    record = with_nodes(running(), [NodeID(3003)])
    look = at_rest(record, support=support(record))
    write = only(planned(look), WriteRecord)
    assert write.record.node_ids == IDS
    assert write.record.former[0].retired == ()
    assert facts(write.message) == facts(3003)


@pytest.mark.parametrize("how", ["claim", "disk"])
def test_on_its_way_out_nothing_is_made_for_it(how: str) -> None:
    """A controller that is not wanted gets neither a new disk nor a new claim."""
    look = at_rest(quorum=Known(value=view(VOTERS, behind=VOTERS[2:])))
    look = without_pod(look, 3002)
    look = without_claim(look, 3002) if how == "claim" else look
    said = planned(look, PAIR)
    assert every(said, CreateClaim) == []
    assert not any(action.change is RecordChange.DISK_LOST for action in every(said, WriteRecord))


@pytest.mark.parametrize("votes", [True, False, None], ids=["a voter", "no voter", "nobody knows"])
@pytest.mark.parametrize("looks_again", [True, False])
def test_on_its_way_out_its_lost_disk_is_named(*, votes: bool | None, looks_again: bool) -> None:
    """An unwanted controller's lost disk is reported, also while it is examined, unless it is known as no voter."""
    quorum = {True: Known(value=view(VOTERS, behind=VOTERS[2:])), False: Known(value=view(VOTERS[:2])), None: SILENT}
    found = empty_report()
    look = with_pod(
        at_rest(quorum=quorum[votes]),
        3002,
        container=Waiting(reason="PodInitializing", message="", last_exit=None),
        report=found,
    )
    look = still_blank(look)
    look = with_pod(look, 3002, report=None) if looks_again else look
    told = [one for one in planned(look, PAIR).waits if one.reason == "DiskNotReplaced"]
    assert [one.node_id for one in told] == ([] if votes is False else [3002])
    assert all(mentions(one.message, 3002) for one in told)


def test_on_its_way_out_its_own_disk_is_not_named() -> None:
    """Without a leader, an unwanted controller whose disk is not lost is not reported as one with a lost disk."""
    assert "DiskNotReplaced" not in reasons(planned(at_rest(quorum=SILENT), PAIR))


def test_on_its_way_out_its_lost_node_is_named() -> None:
    """Without a leader, the Kubernetes node of an unwanted controller is reported as down; with one, its voter is."""
    silent = planned(lost_node(quorum=SILENT), PAIR)
    assert "NodeDown" in degraded(silent)
    assert facts(wait(silent, "NodeDown").message) == facts(WORKER, 3002)
    assert wait(silent, "NodeDown").node_id == 3002
    assert "NodeDown" not in reasons(planned(lost_node(), PAIR))


def test_on_its_way_out_without_a_claim() -> None:
    """A controller that never had a claim gets none while it waits to leave the record."""
    look = at_rest(with_nodes(running(), [NodeID(3003)]), quorum=SILENT, memory=Memory())
    assert every(planned(look), CreateClaim) == []


def test_on_its_way_out_its_claim_is_kept_up() -> None:
    """The claim of an unwanted controller keeps its copy of the identity to the end."""
    (repaired,) = every(planned(with_the_claim(at_rest(), 3002, phase=None), PAIR), AnnotateClaim)
    assert (repaired.claim.node_id, repaired.directory_id, repaired.retired) == (3002, directory(3002), False)


@pytest.mark.parametrize(
    ("voters", "made"), [(VOTERS, [3002]), (VOTERS[:2], [])], ids=["a voter still", "no voter any more"]
)
def test_pod_of_a_controller_on_its_way_out(voters: tuple[ReplicaKey, ...], made: list[int]) -> None:
    """The pod of an unwanted controller is recreated only while the controller is a voter."""
    status = mirrored(running(), open=operation(VOTERS[2], VoterRemoval))
    look = without_vote(quorum=Known(value=view(voters, behind=voters[2:])), status=status)
    said = planned(without_pod(look, 3002), PAIR)
    assert [action.node_id for action in every(said, CreatePod)] == made


def test_without_a_leader_every_controller_comes_back() -> None:
    """Without a leader the voters are not known, so the pod of an unwanted controller is recreated."""
    look = without_vote(quorum=SILENT, memory=Memory())
    assert [action.node_id for action in every(planned(without_pod(look, 3002), PAIR), CreatePod)] == [3002]


# Its pod


def test_pod_is_stopped() -> None:
    """The pod of a removed controller is stopped by the usual, graceful deletion."""
    said = planned(paired(RETIRED_CLAIM, OLD_POD), PAIR)
    (stop,) = every(said, DeletePod)
    assert (stop.pod.name, stop.reason, stop.force) == (OLD_POD.name, "PodRemoved", False)
    assert facts(stop.message) == facts(OLD_POD.name, key(3002))


def test_pod_that_ends_is_waited_for() -> None:
    """A pod that is being stopped is waited for, and its claim is kept meanwhile."""
    said = planned(paired(RETIRED_CLAIM, replace(OLD_POD, deleting=True)), PAIR)
    assert said.actions == ()
    assert facts(wait(said, "PodEnds").message) == facts(OLD_POD.name)
    assert facts(verdict(said, "6-delete-volume").reason) == facts(OLD_CLAIM.name, OLD_POD.name)


@pytest.mark.parametrize("deleting", [False, True], ids=["listed", "being deleted"])
def test_pod_on_a_lost_node(*, deleting: bool) -> None:
    """The pod of a removed controller on a lost Kubernetes node is force-deleted, or its claim would stay for ever."""
    said = planned(paired(RETIRED_CLAIM, replace(OLD_POD, deleting=deleting), kube_nodes=DOWN), PAIR)
    (stop,) = every(said, DeletePod)
    assert (stop.reason, stop.force) == ("PodGivenUp", True)
    assert WORKER in stop.message


def test_pod_that_was_never_ours() -> None:
    """A pod with a directory id that this quorum never had is left alone."""
    stranger = replace(OLD_POD, directory_id=directory(3002, 9))
    said = planned(paired(RETIRED_CLAIM, stranger), PAIR)
    assert every(said, DeletePod) == []
    assert degraded(said) == {"RemovingPod"}


def test_without_a_leader_pods_run_on() -> None:
    """Without a leader the voters are not known, so the pod of a removed controller runs on."""
    said = planned(paired(RETIRED_CLAIM, OLD_POD, quorum=SILENT, memory=Memory()), PAIR)
    assert every(said, DeletePod) == []
    assert SILENT.reason in wait(said, "RemovingPod").message


# Its formatter


@pytest.mark.parametrize(
    ("changes", "forced"),
    [
        ({"container": WAITING}, False),
        (
            {"container": Terminated(exit_code=0, reason="Completed", message="", finished_at=""), "finished": True},
            False,
        ),
        ({"deleting": True, "kube_nodes": DOWN}, True),
        ({"kube_nodes": DOWN}, True),
    ],
    ids=["waits", "done", "ends on a lost node", "runs on a lost node"],
)
def test_formatter_of_a_removed_controller(changes: dict[str, Any], *, forced: bool) -> None:
    """The formatter of a removed controller is deleted, or it would keep the claim for ever."""
    changes = dict(changes)
    nodes = changes.pop("kube_nodes", ())
    left = formatter(running(), OF_3002, directory_id=None, **changes)
    (gone,) = every(planned(paired(RETIRED_CLAIM, left, kube_nodes=nodes), PAIR), DeletePod)
    assert (gone.pod.name, gone.force) == (left.name, forced)
    assert gone.reason == ("PodGivenUp" if forced else "FormatterDone")


@pytest.mark.parametrize("changes", [{}, {"deleting": True}], ids=["runs", "ends"])
def test_formatter_that_still_runs(changes: dict[str, Any]) -> None:
    """A formatter that still runs is waited for, because it takes only a second."""
    left = formatter(running(), OF_3002, directory_id=None, **changes)
    said = planned(paired(RETIRED_CLAIM, left), PAIR)
    assert said.actions == ()
    waited = wait(said, "PodEnds")
    assert facts(waited.message) == facts(left.name)
    assert (waited.severity, waited.node_id) == (Severity.PROGRESS, 3002)
    assert not verdict(said, "3-replace-pod").allowed


def test_formatter_on_a_lost_node() -> None:
    """A formatter on a lost Kubernetes node is force-deleted after its claim was retired."""
    record = with_disk_lost(running(), IDS[2], new_claim=True)
    left = formatter(running(), OF_3002, directory_id=None, deleting=True)
    seen = view(VOTERS[:2])
    look = at_rest(record, quorum=Known(value=seen), kube_nodes=DOWN)
    (gone,) = every(planned(replace(look, pods=(*look.pods, left))), DeletePod)
    assert (gone.pod.name, gone.reason, gone.force) == (left.name, "PodGivenUp", True)


def test_formatter_of_a_claim_in_use_on_a_lost_node() -> None:
    """A formatter on its controller's present claim is waited for, and its lost Kubernetes node is reported."""
    record = with_disk_lost(running(), IDS[2], new_claim=False)
    left = formatter(record, node(record, 3002), deleting=True)
    look = at_rest(record, quorum=Known(value=view(VOTERS[:2])), kube_nodes=DOWN)
    said = planned(replace(look, pods=(*look.pods, left)))
    assert every(said, DeletePod) == []
    assert wait(said, "NodeDown").node_id == IDS[2]


# Its volume


def test_claim_is_marked_first() -> None:
    """The claim of a removed controller is marked as retired, with its retired directory id."""
    (mark,) = every(planned(paired(OLD_CLAIM), PAIR), AnnotateClaim)
    assert (mark.claim, mark.directory_id, mark.retired, mark.grow_to) == (OLD_CLAIM, directory(3002), True, None)


def test_claim_is_released() -> None:
    """With whenScaled Delete the claim is deleted when it is marked, its pod is gone, and others have its data."""
    gone = only(planned(paired(RETIRED_CLAIM), PAIR), DeleteClaim)
    assert gone.claim == RETIRED_CLAIM
    assert facts(gone.message) == facts(OLD_CLAIM.name, OLD_CLAIM.name, 2)


def test_claim_is_retained() -> None:
    """With whenScaled Retain the claim is marked, and stays."""
    kept = desired(replicas=2, storage=KEPT)
    assert [mark.retired for mark in every(planned(paired(OLD_CLAIM), kept), AnnotateClaim)] == [True]
    assert planned(paired(RETIRED_CLAIM), kept).actions == ()


def test_claim_that_goes_is_left_to_it() -> None:
    """A claim that is being deleted is neither marked nor deleted again."""
    assert planned(paired(replace(OLD_CLAIM, deleting=True)), PAIR).actions == ()


def test_claim_that_is_nobodys() -> None:
    """A claim with a directory id that this quorum never retired, for example from a snapshot, is left alone."""
    twin = replace(OLD_CLAIM, name="alpha-3002-restored", directory_id=directory(3001))
    said = planned(paired(twin), PAIR)
    assert said.actions == ()
    assert not verdict(said, "6-delete-volume").allowed


def test_invalid_spec_releases_nothing() -> None:
    """Under an invalid spec no volume is deleted, but a claim is still marked."""
    assert planned(paired(RETIRED_CLAIM), PAIR, repair_only=True).actions == ()
    assert len(every(planned(paired(OLD_CLAIM), PAIR, repair_only=True), AnnotateClaim)) == 1


# An id that comes back


def test_id_that_comes_back() -> None:
    """A node id that is wanted again gets another claim, and the record keeps every directory id that it had."""
    write = only(planned(paired(RETIRED_CLAIM), desired(replicas=3)), WriteRecord)
    again = node(write.record, 3002)
    assert (again.generation, again.claim_uid, again.directory_id) == (2, None, None)
    assert again.retired == (directory(3002),)
    assert write.record.former == ()


def test_retained_claim_is_not_taken_up() -> None:
    """A retained claim of an earlier generation is not used again: the controller gets a new claim."""
    record = with_nodes(PAIRED, [IDS[2]])
    look = paired(RETIRED_CLAIM, record=record, status=mirrored(record))
    seen = Known(value=view(VOTERS[:2]))
    said = planned(replace(look, quorum=seen), desired(storage=KEPT))
    assert [(made.node_id, made.generation) for made in every(said, CreateClaim)] == [(3002, 2)]


def test_retired_claim_is_never_bound() -> None:
    """A record without the history of the node id, for example from a backup, does not bind a retired claim either."""
    record = with_nodes(replace(PAIRED, former=()), [IDS[2]])
    assert node(record, 3002).generation == 1
    look = paired(RETIRED_CLAIM, record=record, status=mirrored(record), quorum=Known(value=view(VOTERS[:2])))
    write = only(planned(look), WriteRecord)
    assert facts(write.message) == facts("alpha-3002-g1", 3002)
    assert (node(write.record, 3002).generation, node(write.record, 3002).claim_uid) == (2, None)


# Lost nodes


AUTOMATIC = Replacement(lost_disk=Cure.AUTOMATIC, lost_node=Cure.AUTOMATIC, lost_node_after_s=600)


def lost_node(for_s: float = 600.0, *, behind: tuple[ReplicaKey, ...] = VOTERS[2:], **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """Controller 3002's Kubernetes node has been down for this long, according to Kubernetes and the quorum."""
    seen = view(VOTERS, behind=behind)
    row = LostNode(key=key(3002), kube_node=WORKER, for_s=for_s, agreed_at_s=1.0)
    memory = replace(looks(seen), lost_nodes=(row,))
    look = at_rest(quorum=Known(value=seen), memory=memory, kube_nodes=DOWN)
    return replace(with_pod(look, 3002, gate="False"), **changes)


def automatic(**changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """Three controllers; lost Kubernetes nodes are replaced unattended."""
    return desired(replacement=AUTOMATIC, **changes)


def test_lost_node_is_given_up() -> None:
    """After the time of the policy the disk there is retired, and the same node id gets another claim."""
    write = only(planned(lost_node(), automatic()), WriteRecord)
    assert write.change is RecordChange.NODE_LOST
    after = node(write.record, 3002)
    assert (after.generation, after.claim_uid, after.directory_id) == (2, None, None)
    assert after.retired == (directory(3002),)
    assert facts(write.message) == facts(3002, "worker-3002", 3002, 600)


@pytest.mark.parametrize(
    ("look", "policy", "named"),
    [
        (lost_node(599.0), AUTOMATIC, "600"),
        (lost_node(), replace(AUTOMATIC, lost_node=Cure.MANUAL), "spec.controllers.replacement.lostNode"),
    ],
    ids=["too soon", "manual"],
)
def test_lost_node_is_waited_for(look: Observed, policy: Replacement, named: str) -> None:
    """Before that time, and always under Manual, the node is reported as lost, with what would change that."""
    plan_ = planned(look, desired(replacement=policy))
    assert plan_.actions == ()
    assert degraded(plan_) == {"LostNode"}
    assert mentions(wait(plan_, "LostNode").message, named)


@pytest.mark.parametrize(
    "kube_nodes",
    [(), ((WORKER, Known(value=KubeNode(name=WORKER, exists=True, ready=True))),)],
    ids=["not known", "ready"],
)
def test_node_that_is_not_down(kube_nodes: Any) -> None:  # noqa: ANN401 - a column
    """A silent controller on a Kubernetes node that is ready or unknown is waited for, and not reported as lost."""
    said = planned(lost_node(kube_nodes=kube_nodes), automatic())
    assert said.actions == ()
    assert "LostNode" not in reasons(said)


def test_node_that_is_not_ready_under_a_controller_that_fetches() -> None:
    """A controller that fetches is not lost or degraded, even if its Kubernetes node is not ready."""
    said = planned(lost_node(behind=()), automatic())
    assert "LostNode" not in reasons(said)
    assert degraded(said) == set()


def test_lost_node_of_an_unwanted_controller() -> None:
    """An unwanted controller on a lost Kubernetes node is removed, not replaced."""
    said = planned(lost_node(), automatic(replicas=2))
    assert "LostNode" not in reasons(said)
    assert [action.target for action in said.actions] == [key(3002)]  # type: ignore[union-attr]  # one BeginOperation


def given_up(*, behind: tuple[ReplicaKey, ...] = VOTERS[2:], **changes: Any) -> Observed:  # noqa: ANN401 - any field
    """The disk on the lost Kubernetes node is retired; its pod is still listed there as running."""
    record = with_disk_lost(running(), IDS[2], new_claim=True)
    seen = view(VOTERS, behind=behind)
    look = at_rest(record, quorum=Known(value=seen), memory=looks(seen), kube_nodes=DOWN)
    return replace(look, pods=(*look.pods, replace(OLD_POD, **changes)), claims=(*look.claims, OLD_CLAIM))


@pytest.mark.parametrize("deleting", [False, True])
def test_pod_of_a_lost_node(*, deleting: bool) -> None:
    """The pod on the lost Kubernetes node is force-deleted."""
    (gone,) = every(planned(given_up(deleting=deleting), automatic()), DeletePod)
    assert (gone.reason, gone.force) == ("PodGivenUp", True)


def test_pod_of_a_lost_node_that_came_back() -> None:
    """On a Kubernetes node that is up again, the pod on the retired disk is stopped the usual way."""
    look = replace(given_up(), kube_nodes=())
    (gone,) = every(planned(look, automatic()), DeletePod)
    assert (gone.reason, gone.force) == ("PodOutdated", False)


def test_pod_on_a_retired_disk_that_does_not_run() -> None:
    """A pod on a retired disk whose Kafka does not run is deleted even without a leader."""
    look = replace(given_up(container=WAITING), kube_nodes=(), quorum=SILENT)
    (gone,) = every(planned(look, automatic()), DeletePod)
    assert (gone.reason, gone.force) == ("PodOutdated", False)


def test_pod_of_a_lost_node_is_needed_after_all() -> None:
    """If another voter stopped meanwhile, a pod that may still be a voter is not deleted."""
    said = planned(given_up(behind=VOTERS[1:]), automatic())
    assert every(said, DeletePod) == []
    assert mentions(wait(said, "LostNode").message, "alpha-3002-g1", "1", "3", "2")


def test_claim_on_a_lost_node_is_kept() -> None:
    """The claim on the lost Kubernetes node is marked, and kept while its replica is a voter."""
    look = replace(given_up(), pods=without_pod(given_up(), 3002).pods)
    said = planned(look, automatic())
    assert [mark.claim for mark in every(said, AnnotateClaim) if mark.retired] == [OLD_CLAIM]
    marked = tuple(replace(one, phase=RETIRED) if one == OLD_CLAIM else one for one in look.claims)
    said = planned(replace(look, claims=marked), automatic())
    assert every(said, DeleteClaim) == []
    assert facts(verdict(said, "6-delete-volume").reason) == facts(f"{NAME}-3002-g1", directory(3002))
