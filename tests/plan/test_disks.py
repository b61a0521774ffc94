"""Claims, formatters, the barrier and lost disks."""

import math
from dataclasses import replace

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    IDS,
    LOOKED_S,
    NAME,
    NO_STATUS,
    NOW_S,
    OTHER_CLUSTER,
    SILENT,
    UID,
    at_rest,
    blank,
    bound,
    claim,
    claim_uid,
    desired,
    directory,
    empty_report,
    formatter,
    key,
    manual,
    minted,
    mirrored,
    node,
    report,
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
from tests.plan.reading import degraded, every, only, planned, reasons, verdict, wait

from kafka_quorum.model import names
from kafka_quorum.model.actions import (
    AnnotateClaim,
    CreateClaim,
    CreateFormatter,
    CreatePod,
    DeleteClaim,
    DeleteConfig,
    DeletePod,
    RecordChange,
    SetRecordOwner,
    WriteRecord,
)
from kafka_quorum.model.admission import Admission, PodQuestion
from kafka_quorum.model.desired import BootstrapMode, Desired, VolumeFate
from kafka_quorum.model.identity import (
    BootstrapPhase,
    FormatMode,
    IdentityRecord,
    NodeIdentity,
    with_disk_lost,
    with_report,
)
from kafka_quorum.model.identity import (
    without_claim as claim_given_up,
)
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.observed import KubeNode, Observed, QuorumView
from kafka_quorum.model.pods import DiskFound, DiskReport, Pod, Terminated, Waiting
from kafka_quorum.plan.facts.formats import is_mirrored

STARTS = Waiting(reason="ContainerCreating", message="", last_exit=None)
FIRST = bound()
"""Every claim is bound, and no disk is formatted."""


def failed(message: str = "") -> Terminated:
    """A script that failed."""
    return Terminated(exit_code=1, reason="Error", message=message, finished_at="2026-01-01T00:00:00Z")


def done() -> Terminated:
    """A script that succeeded."""
    return Terminated(exit_code=0, reason="Completed", message="", finished_at="2026-01-01T00:00:00Z")


def finished_formatter(record: IdentityRecord, of: NodeIdentity, said: DiskReport | None = None) -> Pod:
    """A formatter that has reported."""
    return formatter(record, of, container=done(), finished=True, report=said or report(record, of))


# Claims


def test_bound() -> None:
    """The record stores the uids of all its claims at once."""
    write = only(planned(at_rest(minted(), claims=at_rest(FIRST).claims)), WriteRecord)
    assert write.change is RecordChange.CLAIMS_BOUND
    assert [of.claim_uid for of in write.record.nodes] == [claim_uid(node_id) for node_id in IDS]


def test_a_claim_on_its_way_out_is_not_bound() -> None:
    """The operator waits until a claim that is being deleted is gone, and does not store its uid."""
    look = with_the_claim(at_rest(minted(), claims=at_rest(FIRST).claims[:1]), 3000, deleting=True)
    said = planned(look)
    assert {action.node_id for action in every(said, CreateClaim)} == set(IDS[1:])
    assert degraded(said) == {"ClaimDeleting"}


def test_claim_of_a_first_controller_that_is_not_wanted_any_more() -> None:
    """Before the barrier, a first controller gets its claim even if not requested: the quorum needs it to start."""
    said = planned(at_rest(minted(), claims=(), pods=()), desired(replicas=1))
    assert {action.node_id for action in every(said, CreateClaim)} == set(IDS)
    joiner = started(mode=BootstrapMode.STANDALONE)
    fewer = without_claim(at_rest(joiner), 3002)
    unbound = replace(
        joiner, nodes=tuple(replace(of, claim_uid=None) if of.node_id == 3002 else of for of in joiner.nodes)
    )
    said = planned(replace(fewer, record=unbound), desired(replicas=1, bootstrap=BootstrapMode.STANDALONE))
    assert not every(said, CreateClaim), "a newcomer that nobody wants any more needs no disk"
    forming = at_rest(minted(mode=BootstrapMode.STANDALONE), claims=(), pods=())
    said = planned(forming, desired(replicas=1, bootstrap=BootstrapMode.STANDALONE))
    assert {action.node_id for action in every(said, CreateClaim)} == {3000}, "nor before the barrier"


@pytest.mark.parametrize("formatted", [False, True])
def test_claim_lost_before_the_barrier(*, formatted: bool) -> None:
    """A disk that is lost before the barrier never ran: the next generation gets the same pre-made directory id."""
    record = with_report(FIRST, IDS[1], directory(3001)) if formatted else FIRST
    write = only(planned(without_claim(at_rest(record, pods=()), 3001)), WriteRecord)
    again = node(write.record, 3001)
    assert write.change is RecordChange.CLAIM_LOST
    assert (again.generation, again.claim_uid, again.formatted) == (2, None, False)
    assert again.key == node(record, 3001).key
    assert not again.retired


def test_unformatted_newcomers_claim_lost() -> None:
    """After the barrier, a disk that was lost before its format only gets a new claim."""
    record = started(mode=BootstrapMode.STANDALONE)
    write = only(
        planned(without_claim(at_rest(record), 3001), desired(bootstrap=BootstrapMode.STANDALONE)), WriteRecord
    )
    assert write.change is RecordChange.CLAIM_LOST
    assert node(write.record, 3001).generation == 2


def test_retired_claim_behind_a_missing_one() -> None:
    """A retired claim is replaced by a new one, also if another controller has no claim yet."""
    record = started(mode=BootstrapMode.STANDALONE)
    first = replace(record.nodes[1], claim_uid=None)
    record = replace(record, nodes=(record.nodes[0], first, record.nodes[2]))
    look = with_the_claim(at_rest(record), 3002, phase=names.RETIRED, directory_id=directory(3002))
    write = only(planned(look, desired(bootstrap=BootstrapMode.STANDALONE)), WriteRecord)
    assert (write.change, node(write.record, 3002).generation) == (RecordChange.CLAIM_LOST, 2)


@pytest.mark.parametrize(
    "changes",
    [{"cluster_id": None}, {"directory_id": None}, {"phase": "Formatting"}, {"owner_uid": UID}],
    ids=["cluster id", "directory id", "phase", "owner"],
)
def test_claim_copy_is_repaired(changes: dict[str, object]) -> None:
    """Any difference in a claim's copy of the identity, or in its owner, is repaired."""
    action = only(planned(with_the_claim(at_rest(), 3001, **changes)), AnnotateClaim)
    assert (action.claim.node_id, action.directory_id, action.grow_to) == (3001, directory(3001), None)


def test_retention_delete() -> None:
    """With whenDeleted Delete the resource owns claims and record; with Retain they have no owner."""
    delete = desired(storage=storage(when_deleted=VolumeFate.DELETE))
    said = planned(at_rest(), delete)
    assert {type(action) for action in said.actions} == {AnnotateClaim, SetRecordOwner}
    owned = at_rest(record_owner_uid=UID, claims=tuple(replace(one, owner_uid=UID) for one in at_rest().claims))
    assert planned(owned, delete).actions == ()
    assert {type(action) for action in planned(owned).actions} == {AnnotateClaim, SetRecordOwner}


# The identity in three places


def test_mirrored() -> None:
    """The identity is in three places when status and claim agree with the record."""
    assert is_mirrored(situation(desired=desired(), observed=at_rest(FIRST), record=FIRST), node(FIRST, 3001))


@pytest.mark.parametrize(
    "look",
    [
        at_rest(FIRST, status=NO_STATUS),
        at_rest(FIRST, status=mirrored(FIRST, phase=None)),
        at_rest(FIRST, status=mirrored(FIRST, controllers=())),
        at_rest(FIRST, status=mirrored(FIRST, initial=())),
        at_rest(FIRST, status=mirrored(minted())),
        at_rest(FIRST, claims=()),
        with_the_claim(at_rest(FIRST), 3001, phase=None),
        with_the_claim(at_rest(FIRST), 3001, directory_id=None),
    ],
    ids=["status", "phase", "controllers", "initial", "claim uid", "claim", "claim phase", "claim directory id"],
)
def test_not_mirrored(look: Observed) -> None:
    """While a copy is incomplete, the disk of that controller is not formatted."""
    assert not is_mirrored(situation(desired=desired(), observed=look, record=FIRST), node(FIRST, 3001))
    assert 3001 not in {action.node_id for action in every(planned(look), CreateFormatter)}


def test_copies_are_waited_for() -> None:
    """A formatter waits for the copies of the identity, although its guard allows it."""
    record = bound(1)
    said = planned(at_rest(record, status=NO_STATUS), desired(replicas=1))
    assert facts(wait(said, "Formatting").message) == facts(3000)
    assert verdict(said, "1-initial-format").allowed


# Formatters


def test_formatters_together() -> None:
    """Every initial controller gets its formatter, which avoids the Kubernetes nodes of the others' claims."""
    made = every(planned(at_rest(FIRST)), CreateFormatter)
    assert {action.node_id for action in made} == set(IDS)
    assert made[0].avoid_nodes == ("worker-3001", "worker-3002")
    assert {action.config_name for action in made} == {
        names.format_config_name(NAME, revision().inputs_hash, FIRST.node_ids)
    }


def test_newcomer_formats_with_the_lasting_config() -> None:
    """A newcomer's formatter reads the lasting config map, not the one that is deleted before the barrier."""
    lost = with_disk_lost(running(), IDS[1], new_claim=False)
    look = without_pod(at_rest(lost), 3001)
    action = only(planned(look), CreateFormatter)
    assert action.config_name == names.config_name(NAME, revision().inputs_hash, lost.node_ids)


def test_reported() -> None:
    """A report is recorded before anything else happens."""
    look = at_rest(FIRST, pods=(finished_formatter(FIRST, node(FIRST, 3000)),))
    write = only(planned(look), WriteRecord)
    assert write.change is RecordChange.FORMATTED
    assert node(write.record, 3000).formatted
    assert not node(write.record, 3001).formatted


def test_newcomer_reports_its_own_id() -> None:
    """A newcomer's directory id is made by Kafka and learnt from the report."""
    lost = with_disk_lost(running(), IDS[1], new_claim=False)
    of = node(lost, 3001)
    pods = (
        *without_pod(at_rest(lost), 3001).pods,
        finished_formatter(lost, of, report(lost, of, directory_id=directory(3001, 2))),
    )
    write = only(planned(at_rest(lost, pods=pods)), WriteRecord)
    assert node(write.record, 3001).directory_id == directory(3001, 2)


NOT_OURS: dict[str, dict[str, object]] = {
    "refused": {"accepted": False},
    "another cluster": {"cluster_id": OTHER_CLUSTER},
    "another node": {"node_id": 3001},
    "another directory": {"directory_id": directory(3000, 2)},
    "no directory": {"directory_id": None},
}


@pytest.mark.parametrize("case", NOT_OURS)
def test_report_of_something_else(case: str) -> None:
    """A report of any other identity than the expected one is never recorded."""
    of = node(FIRST, 3000)
    look = at_rest(FIRST, pods=(finished_formatter(FIRST, of, report(FIRST, of, **NOT_OURS[case])),))
    assert not any(isinstance(action, WriteRecord) for action in planned(look).actions)


@pytest.mark.parametrize("changes", [{"claim_uid": "another"}, {"mode": FormatMode.NO_INITIAL_CONTROLLERS}])
def test_report_of_another_format(changes: dict[str, object]) -> None:
    """A formatter of another claim, or of another kind, is removed and its report is not recorded."""
    of = node(FIRST, 3000)
    pod_ = formatter(FIRST, of, **{"container": done(), "report": report(FIRST, of), **changes})
    removed = every(planned(at_rest(FIRST, pods=(pod_,))), DeletePod)
    assert [action.reason for action in removed] == ["FormatterDone"]


def test_retired_id_is_not_reported_back() -> None:
    """A retired directory id is not recorded again, not even from a report."""
    lost = with_disk_lost(running(), IDS[1], new_claim=False)
    of = node(lost, 3001)
    old = formatter(lost, of, container=done(), report=report(lost, of, directory_id=directory(3001)))
    look = without_pod(at_rest(lost), 3001)
    said = planned(replace(look, pods=(*look.pods, old)))
    assert not any(isinstance(action, WriteRecord) for action in said.actions)


def test_done_formatter_goes() -> None:
    """A formatter with a recorded report is deleted, and the controller waits until the pod is gone."""
    record = with_report(FIRST, IDS[0], directory(3000))
    look = at_rest(record, pods=(finished_formatter(record, node(record, 3000)),))
    (removed,) = every(planned(look), DeletePod)
    assert removed.reason == "FormatterDone"
    ending = with_pod(look, 3000, deleting=True)
    assert every(planned(ending), DeletePod) == []
    assert "Formatting" in reasons(planned(ending))


def test_working_formatter_is_waited_for() -> None:
    """A formatter that runs is left alone."""
    look = at_rest(FIRST, pods=tuple(formatter(FIRST, of) for of in FIRST.nodes))
    said = planned(look)
    assert said.actions == ()
    assert reasons(said) == {"Formatting"}


def test_running_formatter_outlives_a_change_of_spec() -> None:
    """A change of the spec does not delete a formatter that runs: its work would be cut off."""
    newer = revision(runtime(heap="1Gi"), number=2)
    record = replace(FIRST, applied_revision=newer.name)
    look = at_rest(record, revisions=(revision(), newer))
    look = replace(look, pods=tuple(formatter(FIRST, of) for of in FIRST.nodes))
    assert every(planned(look, desired(runtime=newer.runtime)), DeletePod) == []


def test_waiting_formatter_follows_the_spec() -> None:
    """A formatter that waits, for example for a missing image, is recreated from a corrected spec."""
    newer = revision(runtime(image="registry/kafka:4.4.0"), number=2)
    record = replace(FIRST, applied_revision=newer.name)
    look = at_rest(record, revisions=(revision(), newer))
    stuck = Waiting(reason="ImagePullBackOff", message="not found", last_exit=None)
    look = replace(look, pods=tuple(formatter(FIRST, of, container=stuck) for of in FIRST.nodes))
    removed = every(planned(look, desired(runtime=newer.runtime)), DeletePod)
    assert {action.reason for action in removed} == {"FormatterOutdated"}


def test_formatter_that_waits_for_a_config_map_that_is_gone_is_recreated() -> None:
    """Node ids changed after the formatter was created, so nothing creates its config map again."""
    starts = Waiting(reason="ContainerCreating", message="", last_exit=None)
    gone = names.format_config_name(NAME, revision().inputs_hash, IDS[:1])
    pods = tuple(formatter(FIRST, of, container=starts, config_name=gone) for of in FIRST.nodes)
    removed = every(planned(at_rest(FIRST, pods=pods)), DeletePod)
    assert {(action.pod.node_id, action.reason) for action in removed} == {(each, "FormatterOutdated") for each in IDS}
    runs = tuple(formatter(FIRST, of, config_name=gone) for of in FIRST.nodes)
    assert every(planned(at_rest(FIRST, pods=runs)), DeletePod) == []


def test_stuck_formatter_is_told() -> None:
    """A formatter that cannot start is reported with its reason."""
    stuck = Waiting(reason="ImagePullBackOff", message="not found", last_exit=None)
    look = at_rest(FIRST, pods=tuple(formatter(FIRST, of, container=stuck) for of in FIRST.nodes))
    said = planned(look)
    assert said.actions == ()
    assert degraded(said) == {"PodStuck"}
    assert "not found" in said.waits[0].message


@pytest.mark.parametrize("found", [DiskFound.FORMATTED, DiskFound.PARTIAL])
def test_foreign_disk(found: DiskFound) -> None:
    """A disk with files of another origin is never touched, and the wait names the way out."""
    of = node(FIRST, 3000)
    told = FIRST.cluster_id if found is DiskFound.FORMATTED else None
    refused = report(FIRST, of, found=found, cluster_id=told, accepted=False, message="another format's")
    pod_ = formatter(FIRST, of, container=failed(), finished=True, report=refused, finished_at_s=NOW_S - 9999)
    look = at_rest(FIRST, pods=(pod_, *(formatter(FIRST, other) for other in FIRST.nodes[1:])))
    said = planned(look)
    assert said.actions == ()
    message = wait(said, "ForeignDisk").message
    assert "another format's" in message
    assert ("do not empty it" in message) is (found is DiskFound.FORMATTED), "that one carries our cluster id"
    assert ("Empty this one" in message) is (found is DiskFound.PARTIAL)


@pytest.mark.parametrize(
    ("age_s", "again"), [(5.0, False), (19.0, False), (20.0, True), (3600.0, True), (-5.0, False), (-3600.0, True)]
)
def test_failed_format_is_tried_again(age_s: float, *, again: bool) -> None:
    """A failed format is repeated after a pause, and its error is reported meanwhile.

    The clock of the Kubernetes node may be ahead: a stamp that is far in the future is not waited for.
    """
    of = node(FIRST, 3000)
    said_ = replace(empty_report(), message="kafka-storage.sh ended with 1: no space left")
    pod_ = formatter(FIRST, of, container=failed(), finished=True, report=said_, finished_at_s=NOW_S - age_s)
    said = planned(at_rest(FIRST, pods=(pod_, *(formatter(FIRST, other) for other in FIRST.nodes[1:]))))
    assert [action.reason for action in every(said, DeletePod)] == (["FormatterFailed"] if again else [])
    if not again:
        assert "no space left" in wait(said, "FormatFailed").message


@pytest.mark.parametrize(("age_s", "again"), [(5.0, False), (20.0, True)])
def test_a_disk_that_a_formatter_cannot_read(age_s: float, *, again: bool) -> None:
    """A formatter that cannot read its disk is repeated after a pause; the disk is reported meanwhile."""
    of = node(FIRST, 3000)
    unread = replace(empty_report(), found=DiskFound.UNREADABLE, message="ls: I/O error")
    pod_ = formatter(FIRST, of, container=failed(), finished=True, report=unread, finished_at_s=NOW_S - age_s)
    said = planned(at_rest(FIRST, pods=(pod_, *(formatter(FIRST, other) for other in FIRST.nodes[1:]))))
    assert [action.reason for action in every(said, DeletePod)] == (["FormatterFailed"] if again else [])
    if not again:
        assert degraded(said) == {"DiskUnreadable"}
        assert unread.message in wait(said, "DiskUnreadable").message


def test_formatter_that_never_started() -> None:
    """A formatter that was evicted before its container could report is recreated."""
    pod_ = formatter(FIRST, node(FIRST, 3000), container=Waiting(reason="", message="", last_exit=None), finished=True)
    said = planned(at_rest(FIRST, pods=(pod_,)))
    assert [action.reason for action in every(said, DeletePod)] == ["FormatterFailed"]


def test_format_without_a_report() -> None:
    """A formatter that ended without a report, for example after an eviction, is recreated at once."""
    of = node(FIRST, 3000)
    pod_ = formatter(FIRST, of, container=failed(), finished=True, finished_at_s=NOW_S)
    said = planned(at_rest(FIRST, pods=(pod_,)))
    (gone,) = every(said, DeletePod)
    assert (gone.reason, facts(gone.message)) == (
        "FormatterFailed",
        facts(pod_.name),
    )


def test_starting_formatter_is_progress() -> None:
    """A formatter that is only starting counts as progress of the formatting."""
    look = at_rest(FIRST, pods=tuple(formatter(FIRST, of, container=STARTS) for of in FIRST.nodes))
    said = planned(look)
    assert said.actions == ()
    assert reasons(said) == {"Formatting"}
    assert degraded(said) == set()


# The barrier


def test_barrier_falls() -> None:
    """When every initial controller has reported, the plan writes Started and does nothing else."""
    write = only(planned(at_rest(replace(started(), phase=BootstrapPhase.FORMATTING))), WriteRecord)
    assert (write.change, write.record.phase) == (RecordChange.STARTED, BootstrapPhase.STARTED)


def test_barrier_holds_for_the_last() -> None:
    """While one initial controller has not reported, no Kafka pod is created."""
    record = with_report(with_report(FIRST, IDS[0], directory(3000)), IDS[1], directory(3001))
    said = planned(at_rest(record))
    assert every(said, CreatePod) == []
    assert [action.node_id for action in every(said, CreateFormatter)] == [3002]


def test_barrier_waits_for_the_format_config() -> None:
    """The config map of the initial format is deleted first, so that a late formatter cannot start."""
    record = replace(started(), phase=BootstrapPhase.FORMATTING)
    said = planned(at_rest(record, support=support(FIRST)))
    assert only(said, DeleteConfig).name == names.format_config_name(NAME, revision().inputs_hash, FIRST.node_ids)


def test_pods_only_after_the_copies() -> None:
    """After the barrier pods wait until status and claims have phase Started, too."""
    record = started()
    lagging = at_rest(record, pods=(), status=mirrored(FIRST), claims=at_rest(FIRST).claims)
    said = planned(lagging)
    assert every(said, CreatePod) == []
    assert len(every(said, AnnotateClaim)) == 3
    assert {action.node_id for action in every(planned(at_rest(record, pods=())), CreatePod)} == set(IDS)


def test_standalone_barrier() -> None:
    """A standalone quorum starts with its single first voter; the others are formatted after it leads."""
    alone = desired(bootstrap=BootstrapMode.STANDALONE)
    first = with_report(bound(mode=BootstrapMode.STANDALONE), IDS[0], directory(3000))
    assert only(planned(at_rest(first), alone), WriteRecord).change is RecordChange.STARTED
    record = started(mode=BootstrapMode.STANDALONE)
    waiting = planned(at_rest(record), alone)
    assert every(waiting, CreateFormatter) == []
    leading = replace(record, had_leader=True)
    said = planned(at_rest(leading), alone)
    assert [action.node_id for action in every(said, CreateFormatter)] == [3001, 3002]


# Lost disks


def emptied(*lost: int, quorum: Knowable[QuorumView] | None = None) -> Observed:
    """The init containers of these controllers found their disks empty, and the controllers do not fetch any more."""
    look = at_rest()
    for node_id in lost:
        look = with_pod(look, node_id, container=failed(), report=empty_report(), gate="False")
    seen = view([of.key for of in running().nodes], behind=[key(node_id) for node_id in lost])
    return still_blank(replace(look, quorum=quorum or Known(value=seen)))


def test_emptied_disk_in_place() -> None:
    """An emptied volume is used again, with a new directory id; the old one is retired."""
    write = only(planned(emptied(3001)), WriteRecord)
    lost = node(write.record, 3001)
    assert write.change is RecordChange.DISK_LOST
    assert (lost.generation, lost.claim_uid) == (1, claim_uid(3001))
    assert (lost.directory_id, lost.formatted, lost.retired) == (None, False, (directory(3001),))
    assert lost.mode is FormatMode.NO_INITIAL_CONTROLLERS


@pytest.mark.parametrize("volume_only", [True, False], ids=["volume lost", "claim gone"])
def test_lost_claim(*, volume_only: bool) -> None:
    """A claim or volume that is gone is replaced by the next generation's."""
    look = without_pod(emptied(3001), 3001)
    look = still_blank(with_the_claim(look, 3001, volume_gone=True)) if volume_only else without_claim(look, 3001)
    lost = node(only(planned(look), WriteRecord).record, 3001)
    assert (lost.generation, lost.claim_uid, lost.retired) == (2, None, (directory(3001),))


def test_lost_disk_step_by_step() -> None:
    """After the record is written the old pod is deleted, then a formatter runs, then Kafka on the new directory id."""
    lost = with_disk_lost(running(), IDS[1], new_claim=False)
    copies = {"claims": at_rest(lost).claims, "status": mirrored(lost)}
    quorum = emptied(3001).quorum
    old_pod = emptied(3001).pods[1]
    pods = without_pod(at_rest(lost), 3001).pods
    first = planned(at_rest(lost, quorum=quorum, pods=(*pods, old_pod), **copies))
    assert [(a.pod.node_id, a.reason) for a in every(first, DeletePod)] == [(3001, "PodOutdated")]
    assert every(first, CreateFormatter) == []
    second = planned(at_rest(lost, quorum=quorum, pods=pods, **copies))
    assert [action.node_id for action in every(second, CreateFormatter)] == [3001]
    anew = with_report(lost, IDS[1], directory(3001, 2))
    third = planned(at_rest(anew, quorum=quorum, pods=pods))
    assert [action.node_id for action in every(third, CreatePod)] == [3001]


def waiting(look: Observed, **row: float) -> Observed:
    """The pod of controller 3001 found its disk empty, and waits; `row` is what earlier looks stored about its runs."""
    rows = tuple(replace(one, **row) for one in look.memory.blank_disks)  # type: ignore[arg-type]
    nodes = (("worker-3001", Known(value=KubeNode(name="worker-3001", exists=True, ready=True))),)
    return replace(look, kube_nodes=nodes, memory=replace(look.memory, blank_disks=rows))


OLD = {"unseen_s": LOOKED_S - 11.0}
ONE_RUN = {"first_s": NOW_S, "first_seen_s": LOOKED_S - 31.0, "last_seen_s": LOOKED_S - 31.0, "unseen_s": -math.inf}


@pytest.mark.parametrize("row", [OLD, ONE_RUN], ids=["looked long ago", "one look, and none for long"])
def test_old_evidence_is_looked_at_again(row: dict[str, float]) -> None:
    """A disk is not retired on old evidence: its pod is recreated, and the new one examines the disk at once."""
    removed = only(planned(waiting(emptied(3001), **row)), DeletePod)
    assert (removed.pod.node_id, removed.reason) == (3001, "DiskLooksEmpty")


@pytest.mark.parametrize(
    "row", [ONE_RUN | {"first_seen_s": LOOKED_S - 29.0, "last_seen_s": LOOKED_S - 29.0}], ids=["one look"]
)
def test_the_kubelets_first_pauses_are_waited_for(row: dict[str, float]) -> None:
    """A pod whose second examination is due within half a minute stays: a new pod would start over."""
    assert planned(waiting(emptied(3001), **row)).actions == ()


def test_no_pod_is_replaced_for_nothing() -> None:
    """The pod stays without a majority of the others, on a Kubernetes node that takes no pods, or under Manual."""
    look = waiting(emptied(3001), **OLD)
    known = look.kube_node("worker-3001")
    assert isinstance(known, Known)
    others: tuple[Knowable[KubeNode], ...] = (
        Known(value=replace(known.value, ready=False)),
        Known(value=replace(known.value, cordoned=True)),
        Unknown(reason="forbidden"),
    )
    for other in others:
        assert every(planned(replace(look, kube_nodes=(("worker-3001", other),))), DeletePod) == []
    assert every(planned(with_the_claim(look, 3001, deleting=True)), DeletePod) == [], "it alone keeps the volume"
    assert every(planned(look, desired(replacement=manual())), DeletePod) == []
    assert every(planned(waiting(emptied(3000, 3001), **OLD)), DeletePod) == []
    assert every(planned(replace(look, quorum=SILENT, taken_at_s=LOOKED_S)), DeletePod) == []
    question = PodQuestion(node_id=IDS[1], revision=revision().name)
    refused = Known(value=Admission(allowed=False, words="quota", current=True))
    assert every(planned(replace(look, admissions=((question, refused),))), DeletePod) == []


def returned(**changes: object) -> Observed:
    """Controller 3001's disk was retired as empty, and its formatter finds the old data on it."""
    lost = with_disk_lost(running(), IDS[1], new_claim=False)
    of = node(lost, 3001)
    said = report(lost, of, **{"directory_id": directory(3001), "accepted": False, **changes})
    pod_ = formatter(lost, of, container=failed(), report=said, finished=True, finished_at_s=NOW_S)
    return at_rest(lost, quorum=emptied(3001).quorum, pods=(*without_pod(at_rest(lost), 3001).pods, pod_))


def test_an_earlier_disk_in_place_of_the_present_one() -> None:
    """If a controller's volume holds one of its earlier, retired disks, the present disk is retired."""
    record = with_report(with_disk_lost(running(), IDS[1], new_claim=False), IDS[1], directory(3001, 2))
    of = node(record, 3001)
    old = report(record, of, directory_id=directory(3001), accepted=False)
    seen = view([key(3000), of.key, key(3002)], behind=[of.key])
    look = with_pod(at_rest(record, quorum=Known(value=seen)), 3001, container=failed(), report=old, gate="False")
    assert wait(planned(look), "LostDisk").node_id == 3001
    rows = tuple(blank(one) for one in look.pods if one.node_id == of.node_id)
    write = only(planned(replace(look, memory=replace(look.memory, blank_disks=rows))), WriteRecord)
    assert (write.change, facts(write.message)) == (RecordChange.DISK_LOST, facts(3001, directory(3001, 2)))
    assert node(write.record, 3001).retired == (directory(3001), directory(3001, 2))


def test_a_disk_that_comes_back_after_it_was_given_up() -> None:
    """The claim of a retired disk that returns is marked and kept, with its directory id; a new claim replaces it."""
    look = returned()
    mark = only(planned(look), AnnotateClaim)
    assert (mark.claim.node_id, mark.directory_id, mark.retired, mark.kept) == (3001, directory(3001), True, True)
    assert mentions(wait(planned(look), "Formatting").message, directory(3001), 3001)
    marked = with_the_claim(look, 3001, phase=names.RETIRED, directory_id=directory(3001), kept=True)
    write = only(planned(marked), WriteRecord)
    again = node(write.record, 3001)
    assert (write.change, again.generation, again.claim_uid) == (RecordChange.CLAIM_LOST, 2, None)
    assert again.retired == (directory(3001),)
    later = replace(marked, record=write.record, pods=without_pod(marked, 3001).pods, status=mirrored(write.record))
    said = planned(later)
    assert [(made.node_id, made.generation) for made in every(said, CreateClaim)] == [(3001, 2)]
    assert not any(isinstance(action, DeleteClaim | AnnotateClaim) for action in said.actions)


@pytest.mark.parametrize(
    "changes", [{"directory_id": directory(3000)}, {"cluster_id": OTHER_CLUSTER}, {"node_id": 3000}]
)
def test_another_disk_is_named_and_left_alone(changes: dict[str, object]) -> None:
    """A disk with the files of another controller is reported, and left for a person."""
    said = planned(returned(**changes))
    assert "ForeignDisk" in reasons(said)
    assert said.actions == ()


def test_newcomer_waits_for_a_leader() -> None:
    """A lost disk is formatted again only while there is a leader to follow; the loss is reported meanwhile."""
    lost = with_disk_lost(running(), IDS[1], new_claim=False)
    said = planned(without_pod(at_rest(lost, quorum=SILENT), 3001))
    assert every(said, CreateFormatter) == []
    assert wait(said, "LostDisk").node_id == 3001


@pytest.mark.parametrize("leads", [False, True])
def test_a_lost_disk_stays_told_while_its_pod_looks_again(*, leads: bool) -> None:
    """While the script examines a lost disk again, the loss is still reported, and nothing is retired."""
    starts = Waiting(reason="PodInitializing", message="", last_exit=None)
    look = emptied(3001) if leads else replace(emptied(3001), quorum=SILENT)
    said = planned(with_pod(look, 3001, container=starts, report=None))
    assert mentions(wait(said, "LostDisk").message, 3001)
    assert not any(isinstance(action, WriteRecord) for action in said.actions)


def test_manual_cure() -> None:
    """With the Manual policy a lost disk is reported and not touched."""
    said = planned(emptied(3001), desired(replacement=manual()))
    assert not any(isinstance(action, WriteRecord) for action in said.actions)
    assert "Automatic" in wait(said, "LostDisk").message


def test_a_pod_that_is_gone_is_no_lost_disk() -> None:
    """A lost pod comes back on its disk; nothing is retired."""
    said = planned(without_pod(at_rest(), 3001))
    assert only(said, CreatePod).node_id == 3001


@pytest.mark.parametrize(
    ("lost", "initial", "hopeless"),
    [
        ((3000,), 3, False),
        ((3000, 3001), 3, True),
        ((3000, 3001), 5, False),
        ((3000, 3001, 3002), 5, True),
        ((3000,), 1, True),
    ],
)
def test_bootstrap_failed(lost: tuple[int, ...], initial: int, *, hopeless: bool) -> None:
    """A bootstrap fails when a majority of first voters is lost before the first leader; the wait lists their disks."""
    record = started(initial)
    look = at_rest(record)
    for node_id in lost:
        look = with_pod(look, node_id, container=failed(), report=empty_report(), gate="", marked_voter=False)
    wanted = desired(replicas=initial, allow_interruption=initial == 1)
    assert "BootstrapFailed" not in reasons(planned(look, wanted)), "one look at a blank disk proves nothing"
    said = planned(still_blank(look), wanted)
    assert ("BootstrapFailed" in reasons(said)) is hopeless
    if hopeless:
        assert said.actions == ()
        assert facts(wait(said, "BootstrapFailed").message) == facts(", ".join(str(key(node_id)) for node_id in lost))


def test_bootstrap_failed_counts_earlier_losses() -> None:
    """A disk that was retired before counts among the lost ones."""
    record = with_disk_lost(started(), IDS[0], new_claim=False)
    look = without_pod(at_rest(record), 3000)
    look = with_pod(look, 3001, container=failed(), report=empty_report())
    assert "BootstrapFailed" in reasons(planned(still_blank(look)))


def test_majority_lost_after_a_leader_is_no_failed_bootstrap() -> None:
    """After the first leader a lost majority is not a failed bootstrap: the disks may have data elsewhere."""
    said = planned(emptied(3000, 3001, quorum=SILENT))
    assert "BootstrapFailed" not in reasons(said)


# Growth


@pytest.mark.parametrize(
    ("asked", "grown"), [(20 * 1024**3, 3), (10 * 1024**3, 0), (5 * 1024**3, 0)], ids=["more", "same", "less"]
)
def test_growth(asked: int, grown: int) -> None:
    """Claims grow to the size in the spec, and never shrink."""
    wanted: Desired = desired(storage=storage(size=f"{asked // 1024**3}Gi", size_bytes=asked))
    asked_for = every(planned(at_rest(), wanted), AnnotateClaim)
    assert len(asked_for) == grown
    assert all(action.directory_id == action.claim.directory_id for action in asked_for)


def test_growth_spares_a_dying_claim() -> None:
    """A claim that is being deleted is not grown."""
    wanted = desired(storage=storage(size="20Gi", size_bytes=20 * 1024**3))
    look = with_the_claim(at_rest(), 3001, deleting=True)
    assert {action.claim.node_id for action in every(planned(look, wanted), AnnotateClaim)} == {3000, 3002}


def test_claim_deleting_under_a_running_pod() -> None:
    """A claim that is being deleted under its pod is reported, and the pod keeps running."""
    said = planned(with_the_claim(at_rest(), 3001, deleting=True))
    assert said.actions == ()
    assert degraded(said) == {"ClaimDeleting"}


def test_claim_deleting_without_a_pod() -> None:
    """A claim that is being deleted, and that no pod uses, is reported with its controller."""
    said = planned(with_the_claim(without_pod(at_rest(), 3001), 3001, deleting=True))
    assert mentions(wait(said, "ClaimDeleting").message, "alpha-3001-g1", 3001)


def test_next_generation_has_the_same_id_before_the_barrier() -> None:
    """The claim that follows a claim given up before the barrier is for the same pre-made key."""
    record = claim_given_up(FIRST, IDS[1])
    made = every(planned(at_rest(record)), CreateClaim)
    assert [(action.node_id, action.generation) for action in made] == [(3001, 2)]
    assert claim(record, node(record, 3001)).directory_id == directory(3001)
