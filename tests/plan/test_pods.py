"""The pods that run Kafka: created on the right disk, replaced if Kafka does not run, and marked as voters."""

from dataclasses import replace

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    IDS,
    NAME,
    SILENT,
    at_rest,
    bound,
    desired,
    directory,
    empty_report,
    formatter,
    key,
    minted,
    mirrored,
    node,
    report,
    revision,
    running,
    runtime,
    started,
    view,
    with_pod,
    without_pod,
)
from tests.plan.reading import degraded, every, only, planned, reasons, verdict, wait

from kafka_quorum.model import names
from kafka_quorum.model.actions import CreateConfig, CreatePod, CreateRevision, DeletePod, MarkPod
from kafka_quorum.model.identity import with_report, with_revision
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pods import DiskFound, Terminated, Waiting
from kafka_quorum.plan.facts.podstate import waiting_pod

STARTS = Waiting(reason="ContainerCreating", message="", last_exit=None)
BACK_OFF = Waiting(reason="ImagePullBackOff", message="manifest unknown", last_exit=None)
CRASHED = Terminated(exit_code=1, reason="Error", message="", finished_at="2026-01-01T00:00:00Z")


# Creating


def test_lost_pod_comes_back() -> None:
    """A pod that is gone is recreated: same disk, same identity, the applied revision."""
    action = only(planned(without_pod(at_rest(), 3001)), CreatePod)
    assert (action.node_id, action.revision) == (3001, revision())
    assert action.config_name == names.config_name(NAME, revision().inputs_hash, IDS)


def test_all_pods_lost() -> None:
    """Without any pod, and with an unknown quorum, all pods are recreated at once, because this removes nothing."""
    made = every(planned(at_rest(pods=(), quorum=SILENT)), CreatePod)
    assert [action.node_id for action in made] == list(IDS)


def test_pod_that_waits_for_a_config_map_that_is_gone_is_recreated() -> None:
    """Node ids changed after the pod was created, so nothing creates its config map again; a wanted one comes back."""
    gone = names.config_name(NAME, revision().inputs_hash, IDS[:1])
    waiting = with_pod(at_rest(), 3001, container=STARTS, config_name=gone)
    assert [(action.pod.node_id, action.reason) for action in every(planned(waiting), DeletePod)] == [
        (3001, "PodOutdated")
    ]
    wanted = with_pod(at_rest(), 3001, container=STARTS)
    without = replace(wanted, support=tuple(item for item in wanted.support if item.kind != "ConfigMap"))
    assert every(planned(without), DeletePod) == []
    assert [action.name for action in every(planned(without), CreateConfig)] == [
        names.config_name(NAME, revision().inputs_hash, IDS)
    ]


def test_pod_that_runs_needs_no_config_map() -> None:
    """A pod whose Kafka runs is not stopped because the config map that it mounted is gone."""
    gone = names.config_name(NAME, revision().inputs_hash, IDS[:1])
    assert every(planned(with_pod(at_rest(), 3001, config_name=gone)), DeletePod) == []


def test_pod_that_crashed_is_not_recreated_for_its_config_map() -> None:
    """A container that crashed has its volumes, so the kubelet restarts it although its config map is gone."""
    gone = names.config_name(NAME, revision().inputs_hash, IDS[:1])
    crashed = Waiting(reason="CrashLoopBackOff", message="", last_exit=None)
    assert every(planned(with_pod(at_rest(), 3001, container=crashed, config_name=gone)), DeletePod) == []


def test_pod_without_its_revision_is_not_deleted_for_its_config_map() -> None:
    """A pod whose revision is missing could not be recreated, so it stays although its config map is gone."""
    gone = names.config_name(NAME, revision().inputs_hash, IDS[:1])
    look = replace(with_pod(at_rest(), 3001, container=STARTS, config_name=gone), revisions=())
    assert every(planned(look), DeletePod) == []


def test_own_revision() -> None:
    """A corrected controller's pod is recreated from its own revision, the other pods from the applied one."""
    newer = revision(runtime(heap="1Gi"), number=2)
    record = with_revision(running(), newer.name, [IDS[1]])
    look = at_rest(record, revisions=(revision(), newer), pods=())
    made = {action.node_id: action.revision.name for action in every(planned(look), CreatePod)}
    assert made == {3000: revision().name, 3001: newer.name, 3002: revision().name}


def test_applied_revision_not_the_spec() -> None:
    """A lost pod is recreated from its old revision, while the spec's revision is only created."""
    said = planned(without_pod(at_rest(), 3001), desired(runtime=runtime(heap="1Gi")))
    (made,) = every(said, CreatePod)
    assert made.revision == revision()
    assert {type(action) for action in said.actions} == {CreatePod, CreateRevision}


def test_revision_missing() -> None:
    """Without a readable revision a pod is not created, and this is reported."""
    look = without_pod(at_rest(revisions=()), 3001)
    said = planned(look, repair_only=True)
    assert every(said, CreatePod) == []
    assert facts(wait(said, "RevisionMissing").message) == facts(running().applied_revision, 3001)
    assert verdict(said, "2-run").allowed


def test_no_pod_before_the_barrier() -> None:
    """Before the barrier no Kafka pod is created, even for a formatted disk."""
    record = with_report(bound(), IDS[0], directory(3000))
    assert every(planned(at_rest(record)), CreatePod) == []


def test_no_pod_beside_a_formatter() -> None:
    """No pod is created while a formatter still has the disk."""
    look = without_pod(at_rest(), 3001)
    look = replace(look, pods=(*look.pods, formatter(running(), node(running(), 3001), deleting=True)))
    said = planned(look)
    assert every(said, CreatePod) == []
    assert not verdict(said, "2-run").allowed


def test_no_pod_without_the_copies() -> None:
    """A pod is not created before status and claim name its disk."""
    said = planned(without_pod(at_rest(status=mirrored(minted())), 3001))
    assert every(said, CreatePod) == []
    assert wait(said, "Starting").node_id == 3001


# Replacing


def test_finished_pod_is_replaced() -> None:
    """An evicted or failed pod is deleted, to be recreated."""
    action = only(planned(with_pod(at_rest(), 3001, finished=True, container=CRASHED, gate="False")), DeletePod)
    assert (action.pod.name, action.reason) == ("alpha-3001-g1", "PodFinished")


def test_why_a_pod_has_ended_is_told() -> None:
    """A machine that refuses each new pod says why: otherwise only the repetition would be told."""
    refused = with_pod(at_rest(), 3001, finished=True, container=CRASHED, why_ended=" (OutOfmemory)")
    assert "pod alpha-3001-g1 has ended (OutOfmemory), and is recreated" in only(planned(refused), DeletePod).message


def test_ending_pod_is_waited_for() -> None:
    """A pod that is being deleted is waited for, so that no second one uses its disk."""
    said = planned(with_pod(at_rest(), 3001, deleting=True))
    assert said.actions == ()
    assert "alpha-3001-g1" in wait(said, "PodEnds").message


def test_outdated_pod_is_replaced_unless_it_runs() -> None:
    """A pod of another disk is deleted if its Kafka does not run."""
    old = with_pod(at_rest(), 3001, directory_id=directory(3001, 9), gate="False", marked_voter=False)
    waiting = planned(with_pod(old, 3001, container=STARTS))
    assert [action.reason for action in every(waiting, DeletePod)] == ["PodOutdated"]
    runs = planned(old)
    assert every(runs, DeletePod) == []
    assert not verdict(runs, "3-replace-pod").allowed
    assert "RemovingPod" not in reasons(runs), "nothing removes it"


def test_corrected_pod_is_replaced_unless_it_runs() -> None:
    """A pod that did not start is deleted when its controller has a new revision; one that runs is left alone."""
    newer = revision(runtime(heap="1Gi"), number=2)
    record = with_revision(running(), newer.name, [IDS[1]])
    look = with_pod(at_rest(record, revisions=(revision(), newer)), 3001, revision=revision().name)
    wanted = desired(runtime=newer.runtime)
    stuck = planned(with_pod(look, 3001, container=BACK_OFF, gate="False"), wanted)
    assert [action.reason for action in every(stuck, DeletePod)] == ["PodCorrected"]
    assert every(planned(look, wanted), DeletePod) == []


def test_starting_pod_is_left_alone() -> None:
    """A pod that starts is only waited for."""
    said = planned(with_pod(at_rest(), 3001, container=STARTS, gate="False"))
    assert said.actions == ()
    assert wait(said, "Starting").node_id == 3001


def test_stuck_pod_is_told() -> None:
    """A pod that cannot start is reported with the kubelet's words."""
    said = planned(with_pod(at_rest(), 3001, container=BACK_OFF, gate="False"))
    assert said.actions == ()
    stuck = wait(said, "PodStuck")
    assert (stuck.severity, stuck.node_id) == (Severity.DEGRADED, 3001)
    assert BACK_OFF.message in stuck.message


def test_stuck_pod_without_words() -> None:
    """A pod that cannot start, and of which the kubelet says no more, is reported with the kubelet's reason alone."""
    look = with_pod(at_rest(), 3001, container=replace(BACK_OFF, message=""), gate="False")
    (stuck,) = (one for one in look.pods if one.node_id == 3001)
    assert wait(planned(look), "PodStuck") == waiting_pod(stuck, BACK_OFF.reason, "", otherwise="Starting")


def test_unschedulable_pod_is_told() -> None:
    """A pod that finds no Kubernetes node is reported with the scheduler's words."""
    look = with_pod(at_rest(), 3001, container=Waiting(reason="", message="", last_exit=None), gate="False")
    said = planned(with_pod(look, 3001, unschedulable="0/3 nodes are available"))
    assert "0/3 nodes are available" in wait(said, "PodUnschedulable").message


def test_crashed_kafka_is_the_kubelets() -> None:
    """A Kafka that ended is restarted by the kubelet: the plan does nothing, and reports the exit code."""
    said = planned(with_pod(at_rest(), 3001, container=CRASHED, report=None, gate="False"))
    assert said.actions == ()
    assert mentions(wait(said, "Starting").message, 1)


def test_crash_loop_tells_kafkas_last_words() -> None:
    """A crash loop is reported with Kafka's last message."""
    last = replace(CRASHED, message="ConfigException: no such key")
    loop = Waiting(reason="CrashLoopBackOff", message="", last_exit=last)
    said = planned(with_pod(at_rest(), 3001, container=loop, report=None, gate="False"))
    assert "no such key" in wait(said, "PodStuck").message


def test_pod_with_the_script_of_an_earlier_operator() -> None:
    """A pod whose earlier script found an empty disk, but cannot prove it, is deleted, so that the new script runs."""
    said = report(running(), node(running(), 3001), found=DiskFound.UNREADABLE, accepted=False, message="empty")
    old = replace(said, outdated=True)
    planned_ = planned(with_pod(at_rest(), 3001, container=CRASHED, report=old, gate="False"))
    assert (only(planned_, DeletePod).pod.node_id, only(planned_, DeletePod).reason) == (3001, "PodOutdated")
    assert planned(with_pod(at_rest(), 3001, report=old)).actions == (), "a pod that runs is left alone"


def test_pod_of_an_earlier_identity() -> None:
    """A pod that refuses its disk, and has a config map of before, is made again; with the present one it is told."""
    refuses = report(running(), node(running(), 3001), accepted=False, message="recovery 1")
    look = with_pod(at_rest(), 3001, container=CRASHED, report=refuses, gate="False")
    assert wait(planned(look), "ForeignDisk").severity is Severity.DEGRADED
    old = with_pod(look, 3001, config_name="alpha-config-0000000000")
    assert (only(planned(old), DeletePod).pod.node_id, only(planned(old), DeletePod).reason) == (3001, "PodOutdated")
    runs = with_pod(at_rest(), 3001, report=refuses, config_name="alpha-config-0000000000")
    assert every(planned(runs), DeletePod) == [], "a pod that runs is left alone"


def test_pod_that_cannot_read_its_disk() -> None:
    """A pod that cannot read its disk is degraded and left alone, with the script's words."""
    unread = report(running(), node(running(), 3001), found=DiskFound.UNREADABLE, accepted=False, message="I/O error")
    said = planned(with_pod(at_rest(), 3001, container=CRASHED, report=unread, gate="False"))
    assert said.actions == ()
    assert degraded(said) == {"DiskUnreadable"}
    assert unread.message in wait(said, "DiskUnreadable").message


@pytest.mark.parametrize("found", [DiskFound.FORMATTED, DiskFound.PARTIAL])
def test_pod_that_refuses_its_disk(found: DiskFound) -> None:
    """A pod that found files of another origin is degraded and left alone, and its disk is not retired."""
    refused = report(running(), node(running(), 3001), found=found, accepted=False, message="found controller 7")
    said = planned(with_pod(at_rest(), 3001, container=CRASHED, report=refused, gate="False"))
    assert said.actions == ()
    assert degraded(said) == {"ForeignDisk"}


def test_empty_disk_is_judged_elsewhere() -> None:
    """An empty disk is not reported as a foreign disk, because it is judged as a lost one."""
    seen = view([of.key for of in running().nodes], behind=[key(3001)])
    look = with_pod(at_rest(quorum=Known(value=seen)), 3001, container=CRASHED, report=empty_report(), gate="False")
    assert "ForeignDisk" not in reasons(planned(look))


# Marks


def marked(observed: Observed) -> dict[int, tuple[bool, str]]:
    """The marks that the plan sets, by controller."""
    return {action.pod.node_id: (action.voter, action.gate) for action in every(planned(observed), MarkPod)}


def test_new_voters_are_marked() -> None:
    """Caught-up voters get label and gate."""
    fresh = at_rest(pods=tuple(replace(one, marked_voter=False, gate="") for one in at_rest().pods))
    assert marked(fresh) == dict.fromkeys(IDS, (True, "True"))


@pytest.mark.parametrize(
    ("behind", "observer", "expected"),
    [(True, False, (True, "False")), (False, True, (False, "False"))],
    ids=["lagging voter", "observer"],
)
def test_marks_follow_the_quorum(behind: bool, observer: bool, expected: tuple[bool, str]) -> None:  # noqa: FBT001 - columns
    """A voter that lags keeps its label and loses its gate; an observer has neither."""
    voters = [key(3000), key(3002)] if observer else [key(3000), key(3001), key(3002)]
    seen = view(voters, [key(3001)] if observer else [], behind=[key(3001)] if behind else [])
    assert marked(at_rest(quorum=Known(value=seen)))[3001] == expected


def test_each_mark_has_its_message() -> None:
    """The gates of a caught-up voter, of a lagging one and of an observer have different messages."""
    seen = view([key(3000), key(3001)], [key(3002)], behind=[key(3001)])
    fresh = at_rest(quorum=Known(value=seen))
    unmarked = replace(fresh, pods=tuple(replace(one, gate="") for one in fresh.pods))
    messages = {action.pod.node_id: action.message for action in every(planned(unmarked), MarkPod)}
    assert (set(messages), len(set(messages.values()))) == (set(IDS), 3)


def test_voter_that_does_not_run_is_not_ready() -> None:
    """A pod whose Kafka does not run is not ready, even while the quorum still reports it as caught up."""
    assert marked(with_pod(at_rest(), 3001, container=STARTS))[3001] == (True, "False")


def test_pod_that_goes_is_not_marked() -> None:
    """A pod is not marked in the plan that deletes it, because the deletion names its present version."""
    look = with_pod(at_rest(), 3001, directory_id=directory(3001, 9), container=STARTS)
    said = planned(look)
    assert [action.pod.node_id for action in every(said, DeletePod)] == [3001]
    assert every(said, MarkPod) == []


def test_mark_needs_the_same_disk() -> None:
    """A pod on another disk is not marked as a voter, even if a replica with its node id is one."""
    look = with_pod(at_rest(), 3001, directory_id=directory(3001, 9))
    (mark,) = [action for action in every(planned(look), MarkPod) if action.pod.node_id == 3001]
    assert (mark.voter, mark.gate) == (False, "False")


@pytest.mark.parametrize(("unknown_looks", "gates"), [(1, {}), (2, {}), (3, dict.fromkeys(IDS, (True, "Unknown")))])
def test_unknown_quorum(unknown_looks: int, gates: dict[int, tuple[bool, str]]) -> None:
    """After three looks without an answer gates change to Unknown, never to False, and labels stay."""
    assert marked(at_rest(quorum=SILENT, memory=Memory(unknown_looks=unknown_looks))) == gates


def test_unknown_is_told_once() -> None:
    """A gate that is Unknown, or was never set, is left alone while the quorum is unknown."""
    look = at_rest(quorum=SILENT, memory=Memory(unknown_looks=9))
    look = replace(look, pods=(replace(look.pods[0], gate=""), *(replace(p, gate="Unknown") for p in look.pods[1:])))
    assert marked(look) == {}


def test_ending_pods_are_not_marked() -> None:
    """A pod that is being deleted, or has finished, is not marked."""
    look = with_pod(at_rest(), 3001, deleting=True, gate="")
    assert marked(look) == {}
    assert marked(with_pod(at_rest(), 3001, finished=True, container=CRASHED)) == {}


def test_formatters_are_not_marked() -> None:
    """A formatter is not marked."""
    record = started()
    look = at_rest(record, pods=(formatter(record, node(record, 3000)),))
    assert marked(look) == {}
