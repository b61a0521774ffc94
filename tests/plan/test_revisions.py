"""Which inputs pods are made from: the spec where nothing runs, and their own revision where something runs."""

from dataclasses import replace
from typing import Any

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    IDS,
    NOW_S,
    SILENT,
    at_rest,
    bound,
    desired,
    empty_report,
    formatter,
    key,
    looks,
    minted,
    revision,
    running,
    runtime,
    situation,
    started,
    view,
    with_pod,
    with_the_claim,
    without_pod,
)
from tests.plan.reading import every, only, planned, reasons, verdict, wait

from kafka_quorum.model.actions import CreateFormatter, CreatePod, CreateRevision, DeletePod, RecordChange, WriteRecord
from kafka_quorum.model.admission import Admission, PodQuestion
from kafka_quorum.model.desired import BootstrapMode, ControllerListener, FeatureLevel
from kafka_quorum.model.identity import BootstrapPhase, with_report, with_revision
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Memory, RunsSince
from kafka_quorum.model.observed import KubeNode
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pods import Running, Terminated, Waiting
from kafka_quorum.plan.facts.formats import format_pending
from kafka_quorum.plan.releases.revisions import revisions

LEVELS = (FeatureLevel(name="metadata.version", level=27),)
CORRECTED = runtime(image="registry/kafka:4.4.0")
NEWER = revision(CORRECTED, number=2)
BACK_OFF = Waiting(reason="ImagePullBackOff", message="", last_exit=None)
STARTS = Waiting(reason="ContainerCreating", message="", last_exit=None)
FAILED = Terminated(exit_code=1, reason="Error", message="", finished_at="")
KEYS = tuple(key(node_id) for node_id in IDS)


def fixed(**changes: Any) -> Any:  # noqa: ANN401 - a Desired, in keyword form
    """The spec after its image was corrected."""
    return desired(runtime=CORRECTED, **changes)


# The first revision


def test_first_revision() -> None:
    """A new quorum's revision is created, and then applied."""
    fresh = replace(minted(), applied_revision=None)
    (create,) = every(planned(at_rest(fresh, revisions=())), CreateRevision)
    assert (create.name, create.number, create.runtime) == (revision().name, 1, runtime())
    write = only(planned(at_rest(fresh)), WriteRecord)
    assert (write.change, write.record.applied_revision) == (RecordChange.REVISION, revision().name)


def test_lost_revision_is_taken_from_the_spec() -> None:
    """A deleted revision is created again from the spec."""
    (create,) = every(planned(at_rest(revisions=())), CreateRevision)
    assert create.name == revision().name


def test_lost_revision_with_another_spec() -> None:
    """If the spec changed meanwhile, its revision is created and applied, and no pod is deleted."""
    said = planned(at_rest(revisions=()), fixed())
    assert [action.name for action in every(said, CreateRevision)] == [NEWER.name]
    applied = only(planned(at_rest(revisions=(NEWER,)), fixed()), WriteRecord)
    assert applied.record.applied_revision == NEWER.name
    record = replace(running(), applied_revision=NEWER.name)
    look = at_rest(record, revisions=(NEWER,))
    look = replace(look, pods=tuple(replace(one, revision=revision().name) for one in look.pods))
    assert every(planned(look, fixed()), DeletePod) == []


def test_lost_revision_and_an_older_image() -> None:
    """An image older than the format is not used, even if the revision is lost."""
    said = planned(at_rest(revisions=()), desired(runtime=runtime(release="4.3.0")))
    assert every(said, CreateRevision) == []
    assert "4.4.0" in wait(said, "OlderImage").message


def test_numbers_rise() -> None:
    """The number of a new revision is above all others."""
    many = (revision(number=4), revision(runtime(heap="2Gi"), number=9))
    look = with_pod(at_rest(revisions=many), 3001, container=BACK_OFF, gate="False")
    (create,) = every(planned(look, fixed()), CreateRevision)
    assert create.number == 10


# Before the barrier


def test_spec_applies_before_the_barrier() -> None:
    """Before the barrier the revision of a corrected spec is created and becomes the applied one."""
    assert [action.name for action in every(planned(at_rest(bound()), fixed()), CreateRevision)] == [NEWER.name]
    write = only(planned(at_rest(bound(), revisions=(revision(), NEWER)), fixed()), WriteRecord)
    assert write.record.applied_revision == NEWER.name


@pytest.mark.parametrize(
    "changes",
    [{"features": LEVELS}, {"runtime": runtime(release="4.3.0")}, {"runtime": runtime(release="4.5.0")}],
    ids=["levels", "older release", "newer release"],
)
def test_format_corrected(changes: dict[str, Any]) -> None:
    """While nothing is formatted, levels and release of the format follow the spec, even to an older release."""
    wanted = desired(**changes)
    look = at_rest(bound(), revisions=(revision(), revision(wanted.runtime, number=2)))
    write = only(planned(look, wanted), WriteRecord)
    assert write.change is RecordChange.REFORMAT
    assert write.record.format.features == wanted.features
    assert write.record.format.release == wanted.runtime.release
    assert write.record.phase is BootstrapPhase.FORMATTING


def test_corrected_format_keeps_its_mode() -> None:
    """The format keeps its bootstrap mode: the identity fixes the first voters, whatever spec.bootstrap is now."""
    wanted = desired(features=LEVELS, bootstrap=BootstrapMode.STANDALONE)
    write = only(planned(at_rest(bound()), wanted), WriteRecord)
    assert (write.change, write.record.format.mode) == (RecordChange.REFORMAT, BootstrapMode.INITIAL_CONTROLLERS)


def test_no_formatter_while_a_correction_is_pending() -> None:
    """After a change of the spec, no formatter is created before the record has the new format."""
    look = at_rest(bound(), revisions=(revision(),))
    assert every(planned(look, desired(features=LEVELS)), CreateFormatter) == []


def test_waiting_formatters_go_before_a_correction() -> None:
    """Formatters that wait are deleted before the format is corrected, so that none formats by the old spec."""
    wanted = desired(features=LEVELS, runtime=CORRECTED)
    look = at_rest(bound(), revisions=(revision(), NEWER))
    look = replace(look, pods=tuple(formatter(bound(), of, container=BACK_OFF) for of in bound().nodes))
    pointed = only(planned(look, wanted), WriteRecord)
    assert pointed.change is RecordChange.REVISION
    assert pointed.record.format == bound().format
    outdated = planned(replace(look, record=pointed.record), wanted)
    assert {action.reason for action in every(outdated, DeletePod)} == {"FormatterOutdated"}
    gone = planned(replace(look, record=pointed.record, pods=()), wanted)
    assert only(gone, WriteRecord).change is RecordChange.REFORMAT


@pytest.mark.parametrize("failed", [False, True], ids=["waiting", "failed"])
def test_levels_alone_are_corrected(*, failed: bool) -> None:
    """A change of the levels alone is corrected too: all formatters are deleted at once."""
    wanted = desired(features=LEVELS)
    container = Terminated(exit_code=1, reason="Error", message="", finished_at="") if failed else BACK_OFF
    said_ = empty_report() if failed else None
    pods = tuple(
        formatter(bound(), of, container=container, finished=failed, report=said_, finished_at_s=NOW_S)
        for of in bound().nodes
    )
    removed = planned(at_rest(bound(), pods=pods), wanted)
    assert len(every(removed, DeletePod)) == len(removed.actions) == 3
    write = only(planned(at_rest(bound()), wanted), WriteRecord)
    assert (write.change, write.record.format.features) == (RecordChange.REFORMAT, LEVELS)


def test_ended_without_a_word_may_have_formatted() -> None:
    """A formatter that ended without a report may have formatted, so the levels of the format stay."""
    said = Terminated(exit_code=137, reason="Error", message="", finished_at="")
    look = at_rest(bound(), pods=(formatter(bound(), bound().nodes[0], container=said, finished=True),))
    assert not format_pending(situation(desired=desired(features=LEVELS), observed=look, record=bound()))


@pytest.mark.parametrize("begun", ["reported", "running"])
def test_format_is_fixed_once_begun(begun: str) -> None:
    """After a disk was formatted, or may be, the format stays, but the applied revision still follows the spec."""
    wanted = desired(features=LEVELS, runtime=CORRECTED)
    record = with_report(bound(), IDS[0], bound().nodes[0].key.directory_id) if begun == "reported" else bound()  # type: ignore[arg-type]  # pre-made
    pods = () if begun == "reported" else (formatter(record, record.nodes[0]),)
    said = planned(at_rest(record, pods=pods, revisions=(revision(), NEWER)), wanted)
    write = only(said, WriteRecord)
    assert write.record.format == record.format
    assert write.record.applied_revision == NEWER.name
    assert verdict(said, "7-image").allowed


def test_older_image_is_held_once_begun() -> None:
    """After a disk was formatted, an older image is held."""
    record = with_report(bound(), IDS[0], bound().nodes[0].key.directory_id)  # type: ignore[arg-type]  # pre-made
    said = planned(at_rest(record), desired(runtime=runtime(release="4.3.0")))
    assert every(said, CreateRevision) == []
    assert wait(said, "OlderImage").severity is Severity.HELD
    assert not verdict(said, "7-image").allowed


# After the barrier


@pytest.mark.parametrize(
    "changes",
    [
        {"release": "4.5.0"},
        {"image": "registry/kafka:4.4.0"},
        {"config": (("a", "b"),)},
        {"heap": "1Gi"},
        {"jvm_options": ("-XX:+UseZGC",)},
        {"template_metadata": '{"labels":{"a":"b"}}'},
        {"template_spec": '{"priorityClassName":"high"}'},
    ],
)
def test_changed_spec_makes_its_revision(changes: dict[str, Any]) -> None:
    """After the barrier a changed spec first gets its own revision, if its image may run."""
    said = planned(at_rest(), desired(runtime=runtime(**changes)))
    create = only(said, CreateRevision)
    made = revision(runtime(**changes))
    assert (create.name, create.number, create.inputs_hash) == (made.name, 2, made.inputs_hash)
    assert create.runtime == made.runtime
    assert verdict(said, "7-image").allowed


def test_listener_of_running_controllers_stays() -> None:
    """A listener of the same name cannot be beside the present one: it restarts nothing; other changes are rolled."""
    listener = ControllerListener(name="CONTROLLER", port=9094)
    said = planned(at_rest(), desired(runtime=runtime(listener=listener)))
    assert said.actions == ()
    held = wait(said, "MigrationHeld")
    assert held.severity is Severity.HELD
    assert facts(held.message) == facts("CONTROLLER", 9093, "spec.controllers.listeners")
    both = planned(at_rest(), desired(runtime=runtime(listener=listener, heap="1Gi")))
    assert only(both, CreateRevision).runtime == runtime(heap="1Gi")
    assert reasons(both) == {"MigrationHeld"}


def test_listener_before_the_barrier_is_carried_out() -> None:
    """Before the barrier a changed listener is carried out."""
    listener = ControllerListener(name="CONTROLLER", port=9094)
    (create,) = every(planned(at_rest(bound()), desired(runtime=runtime(listener=listener))), CreateRevision)
    assert create.runtime.listener == listener


@pytest.mark.parametrize(
    ("wanted", "formatted_with"), [(LEVELS, LEVELS), ((), LEVELS)], ids=["as formatted", "none wanted"]
)
def test_levels_that_ask_for_nothing(
    wanted: tuple[FeatureLevel, ...], formatted_with: tuple[FeatureLevel, ...]
) -> None:
    """The levels of the format, or no levels at all, request no change."""
    record = replace(running(), format=replace(running().format, features=formatted_with))
    assert planned(at_rest(record), desired(features=wanted)).waits == ()


def test_levels_before_the_barrier_are_carried_out() -> None:
    """Before the barrier other levels are not reported as unsupported, not even after a disk was formatted."""
    record = with_report(bound(), IDS[0], bound().nodes[0].key.directory_id)  # type: ignore[arg-type]  # pre-made
    assert "NotSupportedYet" not in reasons(planned(at_rest(record), desired(features=LEVELS)))


def test_nothing_is_unsupported_before_the_barrier() -> None:
    """Before the barrier a change of the spec is carried out, not held."""
    assert "NotSupportedYet" not in reasons(planned(at_rest(bound()), fixed()))


@pytest.mark.parametrize("lost", [False, True], ids=["stuck", "gone"])
def test_only_stuck_pods_are_corrected(*, lost: bool) -> None:
    """A pod that cannot start gets the corrected spec; the other pods, and a lost pod, keep their revision."""
    look = at_rest(revisions=(revision(), NEWER))
    look = without_pod(look, 3001) if lost else with_pod(look, 3001, container=BACK_OFF, gate="False")
    said = planned(look, fixed())
    if lost:
        assert [action.revision for action in every(said, CreatePod)] == [revision()]
        return
    write = only(said, WriteRecord)
    assert {of.node_id: of.revision for of in write.record.nodes} == {3000: None, 3001: NEWER.name, 3002: None}
    assert write.record.applied_revision == revision().name


def test_starting_pods_get_the_roll_first() -> None:
    """The roll first moves a pod that does not run yet, and then waits for it."""
    look = with_pod(at_rest(revisions=(revision(), NEWER)), 3001, container=STARTS, gate="False")
    write = only(planned(look, fixed()), WriteRecord)
    assert write.change is RecordChange.ROLL
    assert {of.node_id: of.revision for of in write.record.nodes} == {3000: None, 3001: NEWER.name, 3002: None}
    starting = with_pod(replace(look, record=write.record), 3001, revision=NEWER.name)
    said = planned(starting, fixed())
    assert every(said, WriteRecord) == []
    assert facts(wait(said, "Rolling").message) == facts(3002, 3001)


def test_correction_needs_its_revision_first() -> None:
    """The revision is created before the record refers to it."""
    look = with_pod(at_rest(), 3001, container=BACK_OFF, gate="False")
    said = planned(look, fixed())
    assert [action.name for action in every(said, CreateRevision)] == [NEWER.name]
    assert verdict(said, "7-image").allowed


def test_older_image_corrects_nothing() -> None:
    """A stuck pod is not corrected to an image older than the one that ran."""
    look = with_pod(at_rest(), 3001, container=BACK_OFF, gate="False")
    said = planned(look, desired(runtime=runtime(release="4.0.0")))
    assert said.actions == ()
    assert not verdict(said, "7-image").allowed
    assert {"OlderImage", "PodStuck"} <= reasons(said)


def test_image_older_than_what_ran_corrects_nothing() -> None:
    """The release that the controllers run is the lower limit, even if the disks were formatted with an older one."""
    record = replace(running(), format=replace(running().format, release="4.0.0"))
    look = with_pod(at_rest(record), 3001, container=BACK_OFF, gate="False")
    said = planned(look, desired(runtime=runtime(release="4.2.0")))
    assert said.actions == ()
    assert mentions(wait(said, "OlderImage").message, "4.2.0", "4.4.0", "spec.kafka.version")


def test_correction_names_who_it_is_for() -> None:
    """The correction names the stuck controller and its new revision, with the permits of both guards."""
    look = with_pod(at_rest(revisions=(revision(), NEWER)), 3001, container=BACK_OFF, gate="False")
    said = planned(look, fixed())
    assert facts(only(said, WriteRecord).message) == facts(3001, NEWER.name)
    assert verdict(said, "7-image").allowed
    assert verdict(said, "5-restart").allowed


@pytest.mark.parametrize("quorum", ["led", "no leader"])
def test_one_stuck_controller_after_the_other(quorum: str) -> None:
    """If several controllers are stuck, one gets the revision first; the next one waits until it runs."""
    look = at_rest(revisions=(revision(), NEWER))
    if quorum == "no leader":
        look = replace(look, quorum=SILENT)
    for node_id in IDS[1:]:
        look = with_pod(look, node_id, container=BACK_OFF, gate="False")
    first = only(planned(look, fixed()), WriteRecord)
    assert {of.node_id: of.revision for of in first.record.nodes} == {3000: None, 3001: NEWER.name, 3002: None}
    begun = replace(look, record=first.record)
    assert every(planned(begun, fixed()), WriteRecord) == []
    assert {one.pod.node_id for one in every(planned(begun, fixed()), DeletePod)} == {3001}
    crashed = with_pod(begun, 3001, revision=NEWER.name, container=Running(started_at="", restarted=True))
    back = with_pod(begun, 3001, revision=NEWER.name, container=Running(started_at=""))
    if quorum == "no leader":
        assert every(planned(back, fixed()), WriteRecord) == [], "it may crash in the next moment"
        seen = next(pod.instance for pod in back.pods if pod.node_id == 3001)
        back = replace(back, taken_at_s=100.0, memory=Memory(runs_since=(RunsSince(instance=seen, at_s=80.0),)))
    if quorum == "led":
        back = replace(back, quorum=Known(value=view(KEYS)), memory=looks(view(KEYS)))
        crashed = replace(crashed, quorum=Known(value=view(KEYS, behind=[key(3001)])), memory=Memory())
    assert every(planned(crashed, fixed()), WriteRecord) == []
    second = only(planned(back, fixed()), WriteRecord)
    assert {of.node_id: of.revision for of in second.record.nodes} == {3000: None, 3001: NEWER.name, 3002: NEWER.name}


def test_a_stuck_controller_that_must_stay_delays_no_other() -> None:
    """If the pod of a stuck controller must stay for its disk, the next stuck one is corrected, by its permit."""
    seen = view(KEYS, behind=KEYS[1:])
    look = replace(at_rest(revisions=(revision(), NEWER)), quorum=Known(value=seen), memory=looks(seen))
    for node_id in IDS[1:]:
        look = with_pod(look, node_id, container=BACK_OFF, gate="False")
    part = revisions(situation(desired=fixed(), observed=with_the_claim(look, 3001, deleting=True)))
    assert isinstance(part.exclusive, WriteRecord)
    assert [of.revision for of in part.exclusive.record.nodes] == [None, None, NEWER.name]
    assert [one.allowed for one in part.verdicts if one.rule == "5-restart"] == [False, True]


@pytest.mark.parametrize("others", ["on its node", "a refused disk"])
def test_a_node_or_a_disk_says_nothing_of_a_revision(others: str) -> None:
    """A controller that its Kubernetes node or its disk stops does not keep others from the corrected spec."""
    record = with_revision(running(), NEWER.name, [IDS[0]])
    look = at_rest(record, revisions=(revision(), NEWER), quorum=SILENT)
    look = with_pod(look, 3000, revision=NEWER.name, container=BACK_OFF, gate="False")
    look = with_pod(with_pod(look, 3001, container=BACK_OFF, gate="False"), 3002, container=BACK_OFF, gate="False")
    assert every(planned(look, fixed()), WriteRecord) == []
    if others == "on its node":
        down = KubeNode(name=look.pods[0].node_name, exists=True, ready=False)
        look = replace(look, kube_nodes=((down.name, Known(value=down)),))
    else:
        look = with_pod(look, 3000, report=empty_report(), container=FAILED)
    assert only(planned(look, fixed()), WriteRecord).record.nodes[1].revision == NEWER.name


def test_the_way_back_to_what_has_run_is_always_open() -> None:
    """Without a leader, stuck controllers may always go back to the applied revision."""
    record = with_revision(running(), NEWER.name, [IDS[0], IDS[1]])
    look = at_rest(record, revisions=(revision(), NEWER), quorum=SILENT)
    for node_id in IDS[:2]:
        look = with_pod(look, node_id, revision=NEWER.name, container=BACK_OFF, gate="False")
    look = replace(look, pods=look.pods[:2], claims=look.claims[:2])
    write = only(planned(look), WriteRecord)
    assert {of.node_id: of.revision for of in write.record.nodes}[IDS[0]] == revision().name


def test_a_lost_disk_says_nothing_of_a_revision() -> None:
    """A controller whose claim is gone does not keep a stuck one from the corrected spec."""
    record = with_revision(running(), NEWER.name, [IDS[0]])
    look = at_rest(record, revisions=(revision(), NEWER), quorum=SILENT)
    look = replace(look, pods=look.pods[1:], claims=look.claims[1:])
    look = with_pod(with_pod(look, 3001, container=BACK_OFF, gate="False"), 3002, container=BACK_OFF, gate="False")
    assert only(planned(look, fixed()), WriteRecord).record.nodes[1].revision == NEWER.name


@pytest.mark.parametrize(("ran_s", "moves"), [(3.0, True), (90.0, False)])
def test_a_pause_after_a_long_run_is_for_the_kubelet(ran_s: float, *, moves: bool) -> None:
    """A controller that ran for long before its crash keeps its revision, because the kubelet restarts it."""
    exit_ = Terminated(exit_code=137, reason="Error", message="", finished_at="", ran_s=ran_s)
    paused = Waiting(reason="CrashLoopBackOff", message="", last_exit=exit_)
    look = with_pod(at_rest(revisions=(revision(), NEWER), quorum=SILENT), 3001, container=paused, gate="False")
    assert bool(every(planned(look, fixed()), WriteRecord)) is moves


def test_a_crash_without_a_leader_moves_nobody() -> None:
    """If all controllers crash at once after a change of the spec, all keep the revision that has run."""
    look = at_rest(revisions=(revision(), NEWER), quorum=SILENT)
    for node_id in IDS:
        look = with_pod(look, node_id, container=FAILED, gate="False")
    assert every(planned(look, fixed()), WriteRecord) == []


def test_a_plain_crash_is_for_the_kubelet() -> None:
    """After one crash a controller keeps a revision that has run, because the kubelet restarts it."""
    look = with_pod(at_rest(revisions=(revision(), NEWER)), 3001, container=FAILED, gate="False")
    assert "5-restart" not in {
        one.rule for one in revisions(situation(desired=fixed(), observed=look, record=running())).verdicts
    }
    assert revisions(situation(desired=fixed(), observed=look, record=running())).exclusive is None
    never = replace(running(), had_leader=False)
    alone = replace(look, pods=look.pods[1:2])
    assert revisions(situation(desired=fixed(), observed=alone, record=never)).exclusive is not None


def test_the_way_back_is_asked_for_behind_an_older_image() -> None:
    """A controller whose pod is refused goes back to the applied revision, even while the spec's image is held."""
    record = with_revision(running(), NEWER.name, [IDS[0]])
    look = without_pod(at_rest(record, revisions=(revision(), NEWER)), 3000)
    refused = Admission(allowed=False, words="quota", current=True, created=True)
    own = PodQuestion(node_id=IDS[0], revision=NEWER.name)
    look = replace(look, quorum=Known(value=view(KEYS, behind=[key(3000)])), admissions=((own, Known(value=refused)),))
    said = planned(look, desired(runtime=runtime(release="3.9.0")))
    assert "OlderImage" in reasons(said)
    assert only(said, WriteRecord).record.nodes[0].revision == revision().name


def test_fleet_follows_when_all_are_corrected() -> None:
    """When every controller is on the new revision, it becomes the applied one, and no controller has its own."""
    record = with_revision(running(), NEWER.name, IDS)
    write = only(planned(at_rest(record, revisions=(revision(), NEWER)), fixed()), WriteRecord)
    assert write.record.applied_revision == NEWER.name
    assert {of.revision for of in write.record.nodes} == {None}


def test_corrected_to_and_fro() -> None:
    """A correction that is reverted before its pod ran is corrected again, to the first revision."""
    record = with_revision(running(), NEWER.name, [IDS[1]])
    look = with_pod(at_rest(record, revisions=(revision(), NEWER)), 3001, container=BACK_OFF, gate="False")
    write = only(planned(look), WriteRecord)
    assert {of.node_id: of.revision for of in write.record.nodes} == {3000: None, 3001: revision().name, 3002: None}


def test_all_stuck_at_the_first_start() -> None:
    """If no pod starts after the format, all controllers are corrected one by one, because none has run."""
    look = at_rest(started(), quorum=SILENT, revisions=(revision(), NEWER))
    for node_id in IDS:
        look = with_pod(look, node_id, container=BACK_OFF, gate="", marked_voter=False)
    for _ in IDS:
        look = replace(look, record=only(planned(look, fixed()), WriteRecord).record)
    assert look.record is not None
    assert {of.revision for of in look.record.nodes} == {NEWER.name}
