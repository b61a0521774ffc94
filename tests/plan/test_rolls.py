"""Rolls: which controller restarts next, what it waits for, and what stops a roll half-way."""

from dataclasses import replace
from typing import Any

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    IDS,
    SILENT,
    at_rest,
    desired,
    key,
    looks,
    node,
    operation,
    revision,
    running,
    runtime,
    saying,
    situation,
    speaking,
    stepping,
    storage,
    support,
    view,
    with_pod,
    without_pod,
)
from tests.plan.reading import every, only, planned, reasons, verdict, wait

from kafka_quorum.model.actions import (
    Action,
    ApplyBudget,
    CreateConfig,
    CreatePod,
    CreateRevision,
    DeleteConfig,
    DeletePod,
    MarkPod,
    RecordChange,
    RestartPod,
    WriteRecord,
)
from kafka_quorum.model.desired import Desired, FeatureLevel, FeaturePolicy
from kafka_quorum.model.identity import IdentityRecord, with_revision
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Memory, RunsSince
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan, Severity
from kafka_quorum.model.pods import Running, Waiting

LARGER = runtime(heap="1Gi")
NEW = revision(LARGER, number=2)
BOTH = (revision(), NEW)
STUCK = Waiting(reason="CrashLoopBackOff", message="", last_exit=None)
STARTS = Waiting(reason="ContainerCreating", message="", last_exit=None)
VOTERS = (key(3000), key(3001), key(3002))
SPEC = desired(runtime=LARGER)


def rolling(*moved: int, record: IdentityRecord | None = None, **changes: Any) -> Observed:  # noqa: ANN401 - as in `at_rest`
    """A roll to one gibibyte of heap, in which these controllers run from the new revision. 3000 leads."""
    known = with_revision(record or running(), NEW.name, map(NodeID, moved))
    return speaking(known, revisions=BOTH, **changes)


def rolled(look: Observed, wanted: Desired | None = None, **how: Any) -> Plan:  # noqa: ANN401 - the planner's own options
    """The plan after config maps, budget and pod marks are as a roll needs them."""
    for _ in range(3):
        for action in planned(look, wanted, **how).actions:
            look = _supported(look, action)
    return planned(look, wanted, **how)


def _supported(look: Observed, action: Action) -> Observed:
    """The look after this action, if it concerns a config map, the budget or the mark of a pod."""
    match action:
        case ApplyBudget(min_available=count):
            rest = (one for one in look.support if one.kind != "PodDisruptionBudget")
            budget = next(one for one in support(running(), count) if one.kind == "PodDisruptionBudget")
            return replace(look, support=(*rest, budget))
        case CreateConfig(name=name):
            config = next(one for one in support(running()) if one.kind == "ConfigMap")
            return replace(look, support=(*look.support, replace(config, name=name)))
        case DeleteConfig(name=name):
            return replace(look, support=tuple(one for one in look.support if one.name != name))
        case MarkPod(pod=pod, voter=voter, gate=gate):
            return with_pod(look, pod.node_id, marked_voter=voter, gate=gate)
        case _:
            return look


def is_moved(said: Plan) -> int:
    """The controller that the record moves next."""
    write = only(said, WriteRecord)
    assert write.change is RecordChange.ROLL
    before = with_revision(running(), NEW.name, ())
    changed = [of.node_id for of in write.record.nodes if of.revision == NEW.name]
    assert {of.node_id for of in before.nodes} >= set(changed)
    return changed[-1] if len(changed) == 1 else next(i for i in changed if f"controller {i} moves" in write.message)


# The order


def test_revision_comes_first() -> None:
    """A changed spec first creates its revision, and nothing else."""
    assert only(rolled(at_rest(), SPEC), CreateRevision).name == NEW.name


def test_followers_first_by_id() -> None:
    """The first controller that moves is a follower, in the order of ids; 3000 leads."""
    said = rolled(rolling(), SPEC)
    assert is_moved(said) == 3001
    assert facts(only(said, WriteRecord).message) == facts(3001, NEW.name, 1, 3, 2, 2)
    assert verdict(said, "5-restart").allowed


def test_second_follower() -> None:
    """When the first is a caught-up voter again, the next follower moves."""
    assert is_moved(rolled(rolling(3001), SPEC)) == 3002
    assert "(2 of 3: " in only(rolled(rolling(3001), SPEC), WriteRecord).message


def test_active_controller_last() -> None:
    """The active controller moves after all others run from the new revision."""
    assert is_moved(rolled(rolling(3001, 3002), SPEC)) == 3000


def test_laggard_before_followers() -> None:
    """A voter that lags moves before the followers that are caught up, because its restart loses nothing."""
    seen = view(VOTERS, behind=(VOTERS[2],))
    assert is_moved(rolled(rolling(quorum=Known(value=seen), memory=looks(seen)), SPEC)) == 3002


def test_newcomer_that_lags_before_followers() -> None:
    """A newcomer that lags moves before any follower, even if a follower may move too."""
    late = key(3003)
    seen = view(VOTERS, (late,), behind=(late,))
    look = rolling(record=running(4), quorum=Known(value=seen), memory=looks(seen))
    write = only(rolled(look, desired(runtime=LARGER, replicas=4)), WriteRecord)
    assert write.message.startswith("controller 3003 moves ")


def moved_in_record(of: int, **changes: Any) -> Observed:  # noqa: ANN401 - as in `at_rest`
    """A look in which the record has moved this controller, and its pod still runs from the old revision."""
    look = rolling(**changes)
    assert look.record is not None
    return replace(look, record=with_revision(look.record, NEW.name, [NodeID(of)]))


def test_moved_one_is_stopped_first() -> None:
    """The controller that the record has already moved is stopped first, whatever the order."""
    restart = only(rolled(moved_in_record(3002), SPEC), RestartPod)
    assert (restart.pod.node_id, restart.evict) == (3002, True)
    assert facts(restart.message) == facts("alpha-3002-g1", NEW.name, 2, 2)
    assert verdict(rolled(moved_in_record(3002), SPEC), "5-restart").allowed


def test_laggard_before_the_one_that_is_moved() -> None:
    """A voter that lags moves before the one that waits for it, because the restart may repair it."""
    seen = view(VOTERS, behind=(VOTERS[2],))
    look = moved_in_record(3001, quorum=Known(value=seen), memory=looks(seen))
    write = only(rolled(look, SPEC), WriteRecord)
    assert write.message.startswith("controller 3002 moves ")
    both = replace(look, record=write.record)
    assert only(rolled(both, SPEC), RestartPod).pod.node_id == 3002


def test_no_other_begins_while_one_is_moved() -> None:
    """While a moved controller waits, no other caught-up follower is moved."""
    few = Memory(caught_up_looks=((VOTERS[0], 3), (VOTERS[1], 3), (VOTERS[2], 2)))
    said = rolled(moved_in_record(3001, memory=few), SPEC)
    assert said.actions == ()
    assert facts(wait(said, "Rolling").message) == facts(3001, 3002)


def test_pod_that_does_not_start_gets_the_new_revision() -> None:
    """A pod that never starts gets the new revision, because the roll would wait for it for ever."""
    look = with_pod(rolling(), 3001, container=STARTS, gate="False")
    write = only(rolled(look, SPEC), WriteRecord)
    assert facts(write.message) == facts(3001, NEW.name, 3001)
    assert verdict(rolled(look, SPEC), "5-restart").allowed
    corrected = every(rolled(replace(look, record=write.record), SPEC), DeletePod)
    assert [(one.pod.node_id, one.reason) for one in corrected] == [(3001, "PodCorrected")]


@pytest.mark.parametrize("quorum", ["led", "no leader"])
def test_one_at_a_time_gets_a_revision_that_may_be_at_fault(quorum: str) -> None:
    """While a controller on the new revision does not run, no other one that does not run gets it."""
    look = with_pod(with_pod(rolling(3001), 3001, container=STARTS, gate="False"), 3002, container=STARTS, gate="False")
    if quorum == "no leader":
        look = replace(look, quorum=SILENT, memory=Memory())
    said = rolled(look, SPEC)
    assert every(said, WriteRecord) == []
    assert facts(3002, NEW.name, 3001) in [facts(one.reason) for one in said.verdicts]


def test_majority_that_does_not_start_gets_the_new_revision() -> None:
    """Without a leader, controllers that do not run get the new revision one by one, after each one runs."""
    look = with_pod(with_pod(rolling(), 3001, container=STARTS), 3002, container=STARTS)
    silent = replace(look, quorum=SILENT, memory=Memory())
    first = only(rolled(silent, SPEC), WriteRecord)
    assert first.message.startswith("controller 3001 moves ")
    back = with_pod(replace(silent, record=first.record), 3001, container=Running(started_at=""), revision=NEW.name)
    assert every(rolled(back, SPEC), WriteRecord) == [], "it may end in the next moment"
    seen = next(pod.instance for pod in back.pods if pod.node_id == 3001)
    back = replace(back, taken_at_s=100.0, memory=Memory(runs_since=(RunsSince(instance=seen, at_s=80.0),)))
    assert only(rolled(back, SPEC), WriteRecord).message.startswith("controller 3002 moves ")


def test_moved_one_that_came_to_lead_is_the_last_again() -> None:
    """A moved controller that leads before it is stopped does not hold up the others."""
    seen = view((key(3001), key(3000), key(3002)))
    look = moved_in_record(3001, quorum=Known(value=seen), memory=looks(seen))
    write = only(rolled(look, SPEC), WriteRecord)
    assert write.message.startswith("controller 3000 moves ")
    both = replace(look, record=write.record)
    assert only(rolled(both, SPEC), RestartPod).pod.node_id == 3000


def test_pod_comes_back_from_its_new_revision() -> None:
    """A pod that was lost during a roll is recreated from the revision in the record."""
    look = without_pod(moved_in_record(3001), 3001)
    created = every(rolled(look, SPEC), CreatePod)
    assert [(action.node_id, action.revision) for action in created] == [(3001, NEW)]


def test_roll_is_completed() -> None:
    """When every controller runs from the new revision, it becomes the applied one, and the end is reported."""
    write = only(rolled(rolling(*IDS), SPEC), WriteRecord)
    assert write.change is RecordChange.ROLL_DONE
    assert facts(write.message) == facts(NEW.name)
    assert (write.record.applied_revision, {of.revision for of in write.record.nodes}) == (NEW.name, {None})


def test_not_completed_while_a_pod_is_old() -> None:
    """The record alone does not complete a roll: a pod of the old revision is stopped first."""
    look = rolling(*IDS)
    old = with_pod(look, 3002, revision=revision().name)
    assert only(rolled(old, SPEC), RestartPod).pod.node_id == 3002


def test_reversed_half_way() -> None:
    """If the spec is reverted, the moved controller goes back, even if it leads, and no other controller restarts."""
    seen = view((key(3001), key(3000), key(3002)))
    back = only(rolled(rolling(3001)), WriteRecord)
    assert (back.change, facts(back.message.partition(" (")[0])) == (RecordChange.ROLL, facts(3001, revision().name))
    pod_there = replace(rolling(3001), record=back.record)
    assert only(rolled(pod_there), RestartPod).pod.node_id == 3001
    leads = rolling(3001, quorum=Known(value=seen), memory=looks(seen))
    assert only(rolled(leads), WriteRecord).message.startswith("controller 3001 moves ")


def test_reversed_before_it_was_stopped() -> None:
    """A controller that was moved and not stopped yet is moved back, and its pod runs on."""
    write = only(rolled(moved_in_record(3001)), WriteRecord)
    assert write.change is RecordChange.ROLL
    assert facts(write.message) == facts(3001, revision().name, revision().name)
    assert rolled(replace(moved_in_record(3001), record=write.record)).actions == ()


def test_paused_roll() -> None:
    """A paused roll does nothing."""
    said = rolled(rolling(3001), desired(runtime=LARGER, paused=True))
    assert (said.actions, reasons(said)) == ((), {"Paused"})


def test_invalid_spec_rolls_nothing() -> None:
    """While the spec is invalid, no roll continues."""
    assert rolled(rolling(3001), SPEC, repair_only=True).actions == ()


# What it waits for


def test_next_waits_for_the_last_one() -> None:
    """The next controller moves when the last one is a caught-up voter again, in several looks."""
    seen = view(VOTERS, behind=(VOTERS[1],))
    lags = rolled(rolling(3001, quorum=Known(value=seen), memory=looks(seen)), SPEC)
    assert lags.actions == ()
    assert facts(wait(lags, "Rolling").message) == facts(3002, 3001)
    assert wait(lags, "Rolling").severity is Severity.PROGRESS
    assert verdict(lags, "5-restart").allowed is False
    early = rolled(rolling(3001, memory=looks(view(VOTERS), 2)), SPEC)
    assert facts(wait(early, "Rolling").message) == facts(3002, 3000, 3001)


def test_starting_pod_is_waited_for() -> None:
    """While the stopped controller starts, no other controller is stopped."""
    look = with_pod(rolling(3001), 3001, container=STARTS, gate="False")
    said = rolled(look, SPEC)
    assert (every(said, RestartPod), every(said, WriteRecord)) == ([], [])
    assert wait(said, "Rolling").node_id == 3002


def test_last_of_a_roll_is_waited_for() -> None:
    """If the last controller of the roll is starting, the roll waits for it."""
    look = with_pod(moved_in_record(3001), 3001, container=STARTS, gate="False")
    assert facts(wait(rolled(look, SPEC), "Rolling").message) == facts(3001)
    assert wait(rolled(look, SPEC), "Rolling").node_id == 3001


def test_no_roll_without_a_leader() -> None:
    """Without a leader no controller restarts, and the wait gives the reason."""
    said = rolled(rolling(quorum=SILENT, memory=Memory()), SPEC)
    assert (every(said, RestartPod), every(said, WriteRecord)) == ([], [])
    assert facts(wait(said, "Rolling").message) == facts(3000)


def test_voters_first() -> None:
    """During a voter change no controller restarts."""
    look = rolling()
    look = replace(look, status=replace(look.status, open=operation(key(3003))))
    assert every(rolled(look, SPEC), RestartPod) == []
    assert not any(action.change is RecordChange.ROLL for action in every(rolled(look, SPEC), WriteRecord))


def test_open_feature_step_comes_first() -> None:
    """While a feature step is open no controller restarts."""
    look = rolling()
    open_ = replace(look, status=replace(look.status, open=stepping("metadata.version", 34)))
    said = rolled(open_, SPEC)
    assert not any(action.change is RecordChange.ROLL for action in every(said, WriteRecord))
    assert every(said, RestartPod) == []


# What stops it


def test_pod_that_cannot_start_holds_the_roll() -> None:
    """The roll stops at the first controller that does not start from the new revision, and reports it."""
    said = rolled(with_pod(rolling(3001), 3001, container=STUCK, gate="False"), SPEC)
    assert said.actions == ()
    held = wait(said, "RollHeld")
    assert (held.severity, held.node_id) == (Severity.HELD, 3001)
    assert facts(held.message) == facts(3001, NEW.name)


def test_pod_without_a_place_holds_the_roll() -> None:
    """A pod that finds no Kubernetes node stops the roll, and the message does not name the revision."""
    waiting = Waiting(reason="", message="", last_exit=None)
    look = with_pod(rolling(3001), 3001, container=waiting, gate="False", unschedulable="0/3 nodes are available")
    said = rolled(look, SPEC)
    assert said.actions == ()
    held = wait(said, "RollHeld")
    assert (held.severity, held.node_id) == (Severity.HELD, 3001)
    assert mentions(held.message, "0/3 nodes are available", "Uncordon")
    assert NEW.name not in held.message


def test_going_back_heals() -> None:
    """If the spec is reverted, the controller that cannot start moves back to the old revision at once."""
    look = with_pod(rolling(3001), 3001, container=STUCK, gate="False")
    write = only(rolled(look), WriteRecord)
    assert write.change is RecordChange.REVISION
    assert node(write.record, 3001).revision == revision().name


def test_misreported_release_holds_the_roll() -> None:
    """If the first restarted controller is not of the spec's release, the roll stops there."""
    said_ = saying("4.3.0")
    look = rolling(3001)
    versions = tuple((of, Known(value=said_) if of == 3001 else answer) for of, answer in look.versions)
    said = rolled(replace(look, versions=versions), SPEC)
    assert said.actions == ()
    held = wait(said, "RollHeld")
    assert (held.severity, held.node_id) == (Severity.HELD, 3001)
    assert facts(held.message) == (
        facts(
            3001,
            "4.4.0",
            "metadata.version",
            "3.3-IV3",
            7,
            "4.3-IV0",
            30,
            "3.3-IV3",
            7,
            "4.4-IV2",
            33,
            "spec.kafka.image",
            "spec.kafka.version",
        )
    )


def test_missing_feature_is_misreported() -> None:
    """A controller that lacks a feature of its release is not of that release."""
    whole = saying("4.4.0")
    poor = replace(whole, supported=tuple(each for each in whole.supported if each.name != "streams.version"))
    look = rolling(3001)
    versions = tuple((of, Known(value=poor) if of == 3001 else answer) for of, answer in look.versions)
    said = rolled(replace(look, versions=versions), SPEC)
    assert "it supports streams.version none, and that release 0 to 1" in wait(said, "RollHeld").message


def test_unknown_release_is_believed() -> None:
    """For an unknown release, what its controllers report is accepted."""
    newest = runtime(release="9.9.0")
    known = with_revision(running(), revision(newest).name, [NodeID(3001)])
    look = speaking(known, revisions=(revision(), revision(newest, number=2)))
    write = only(rolled(look, desired(runtime=newest)), WriteRecord)
    assert write.message.startswith("controller 3002 moves ")


def test_unheard_of_controller_is_waited_for() -> None:
    """A restarted controller must report what it supports before the next one moves."""
    look = rolling(3001)
    silent = Unknown(reason="controller 3001 cannot be reached")
    versions = tuple((of, silent if of == 3001 else answer) for of, answer in look.versions)
    said = rolled(replace(look, versions=versions), SPEC)
    assert said.actions == ()
    heard = wait(said, "Rolling")
    assert (heard.severity, heard.node_id) == (Severity.PROGRESS, 3001)
    assert facts(heard.message) == facts(3001, 3001)


def test_older_image_rolls_nobody() -> None:
    """An image that does not support the finalized levels is refused before any pod is stopped."""
    older = runtime(release="4.3.0")
    look = speaking(revisions=(revision(), revision(older, number=2)))
    said = rolled(look, desired(runtime=older))
    assert said.actions == ()
    assert facts(wait(said, "OlderImage").message) == facts("4.3.0", "metadata.version", "4.3-IV0", 30, "4.4-IV2", 33)


# One and two voters


def of_few(count: int, *, allowed: bool, of: int | None = None) -> Plan:
    """The plan of a roll with one or two voters, of which the record has moved `of`."""
    record = running(count)
    look = rolling(record=record) if of is None else moved_in_record(of, record=record)
    wanted = desired(runtime=LARGER, replicas=count, allow_interruption=allowed)
    return rolled(look, wanted)


@pytest.mark.parametrize("count", [1, 2])
def test_few_voters_wait_for_permission(count: int) -> None:
    """With one or two voters a restart is an interruption, and waits for allowInterruption."""
    said = of_few(count, allowed=False)
    assert (every(said, RestartPod), every(said, WriteRecord)) == ([], [])
    assert mentions(wait(said, "Rolling").message, "spec.controllers.allowInterruption")


@pytest.mark.parametrize(("count", "first"), [(1, 3000), (2, 3001)])
def test_few_voters_with_permission(count: int, first: int) -> None:
    """With permission two voters restart one by one, by eviction; a single one, without a budget, by deletion."""
    write = next(action for action in every(of_few(count, allowed=True), WriteRecord))
    assert write.message.startswith(f"controller {first} moves ")
    (restart,) = every(of_few(count, allowed=True, of=first), RestartPod)
    assert (restart.pod.node_id, restart.evict) == (first, count > 1)


# What does not restart a controller


@pytest.mark.parametrize(
    "wanted",
    [
        desired(replicas=5),
        desired(storage=storage(size="20Gi", size_bytes=20 * 1024**3)),
        desired(feature_policy=FeaturePolicy.FOLLOW),
        desired(features=(FeatureLevel(name="metadata.version", level=33),)),
        desired(soak_s=5),
        desired(allow_interruption=True),
    ],
    ids=["replicas", "size", "policy", "levels", "soak", "allowInterruption"],
)
def test_unrelated_changes_restart_nobody(wanted: Desired) -> None:
    """A change of the spec that is no input of a pod restarts no controller."""
    said = rolled(speaking(), wanted)
    assert every(said, RestartPod) == []
    assert every(said, CreateRevision) == []
    assert not any(action.change is RecordChange.ROLL for action in every(said, WriteRecord))


@pytest.mark.parametrize(
    "changes",
    [
        {"release": "4.4.1"},
        {"image": "registry/kafka:4.4.0"},
        {"config": (("a", "b"),)},
        {"heap": "1Gi"},
        {"jvm_options": ("-XX:+UseZGC",)},
        {"template_metadata": '{"labels":{"a":"b"}}'},
        {"template_spec": '{"priorityClassName":"high"}'},
    ],
)
def test_inputs_of_a_pod_roll(changes: dict[str, Any]) -> None:
    """A change of any input of a pod starts a roll, one controller at a time."""
    new = revision(runtime(**changes), number=2)
    look = speaking(revisions=(revision(), new))
    write = only(rolled(look, desired(runtime=runtime(**changes))), WriteRecord)
    assert [of.node_id for of in write.record.nodes if of.revision == new.name] == [3001]


def test_a_restart_whose_annotation_is_removed_goes_on() -> None:
    """If the restart annotation is removed half-way, the restart continues, and no controller goes back."""
    asked = replace(SPEC.runtime, restarted_at="2026-01-31T12:00:00Z")
    again = revision(asked, number=9)
    record = with_revision(running(), again.name, IDS[:1])
    look = with_pod(at_rest(record, revisions=(*rolling().revisions, again)), 3000, revision=again.name)
    half_way = situation(desired=SPEC, observed=look)
    assert (half_way.target, {one.node_id for one in half_way.older}) == (again.name, set(IDS[1:]))
    earlier = revision(replace(asked, restarted_at="2026-01-31T12:30:00+01:00"), number=8)
    both = replace(
        look,
        record=with_revision(record, earlier.name, IDS[1:2]),
        revisions=(*look.revisions, earlier),
    )
    assert situation(desired=SPEC, observed=both).target == again.name
