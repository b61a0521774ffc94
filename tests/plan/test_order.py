"""The table of concerns agrees with what the planner does, and with the documentation."""

import re
from dataclasses import replace

import pytest
from tests.model.values import (
    at_rest,
    claim,
    desired,
    key,
    node,
    operation,
    permit,
    pod,
    revision,
    running,
    situation,
    stepping,
)
from tests.plan.recovery.lost import open_record
from tests.plan.source import document

from kafka_quorum.api.features import METADATA
from kafka_quorum.model.actions import (
    Action,
    AdoptConfig,
    AnnotateClaim,
    ApplyBudget,
    ApplyService,
    CreateClaim,
    CreateConfig,
    CreateFormatter,
    CreatePod,
    CreateRevision,
    DeleteClaim,
    DeleteConfig,
    DeletePod,
    MarkPod,
    RestartPod,
    one_object,
)
from kafka_quorum.model.admission import PodQuestion
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.operation import Operation
from kafka_quorum.model.permit import DeleteVolume, NewcomerFormat, ReplacePod, Restart, Run
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan import order
from kafka_quorum.plan.order import CONCERNS, Concern, Runs, Stage, ordered, together
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.planner import plan

FIRST, SECOND = ApplyService(port=1), ApplyService(port=2)
QUESTION = PodQuestion(node_id=NodeID(3000), revision="r")


def says(reason: str, **what: object) -> Part:
    """A part with one wait and what is given."""
    return replace(Part(waits=(Wait(severity=Severity.PROGRESS, reason=reason, message=reason),)), **what)  # type: ignore[arg-type]


def table(monkeypatch: pytest.MonkeyPatch, *rows: tuple[Stage, Part]) -> None:
    """Replaces the table of concerns by one whose concerns contribute these parts."""

    def row(number: int, stage: Stage, part: Part) -> Concern:
        return Concern(name=str(number), stage=stage, part=lambda _: part)

    made = (row(number, stage, part) for number, (stage, part) in enumerate(rows))
    monkeypatch.setattr(order, "CONCERNS", tuple(made))


def test_documentation_shows_the_table() -> None:
    """docs/architecture.md has one row for each concern, in the order in which they run."""
    page = document("architecture.md")
    rows = re.findall(r"^\| \d+ \| (.+) \|$", page, flags=re.MULTILINE)
    expected = [
        (
            one.name,
            one.stage.value,
            one.paused.value,
            one.repairing.value,
            one.voter_change.value,
            one.feature_step.value,
            one.stopped.value,
            one.recovering.value,
        )
        for one in CONCERNS
    ]
    assert [tuple(cell.strip() for cell in row.split("|")) for row in rows] == expected


def test_stages_come_in_their_order() -> None:
    """No concern comes before one of an earlier stage, and each has its own name."""
    stages = list(Stage)
    assert [stages.index(one.stage) for one in CONCERNS] == sorted(stages.index(one.stage) for one in CONCERNS)
    assert len({one.name for one in CONCERNS}) == len(CONCERNS)


def test_upkeep_goes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of upkeep acts in one plan, and later stages only report."""
    table(
        monkeypatch,
        (Stage.UPKEEP, says("One", actions=(FIRST,))),
        (Stage.UPKEEP, says("Two", actions=(SECOND,))),
        (Stage.VOTERS, says("Three", exclusive=FIRST)),
        (Stage.RELEASES, says("Four", actions=(FIRST,), questions=(QUESTION,))),
    )
    part = ordered(situation())
    assert (part.actions, part.exclusive, part.questions) == ((FIRST, SECOND), None, ())
    assert [wait.reason for wait in part.waits] == ["One", "Two", "Three", "Four"]


def test_first_exclusive_action_of_upkeep_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of two exclusive actions of upkeep is planned."""
    table(monkeypatch, (Stage.UPKEEP, says("One", exclusive=FIRST)), (Stage.UPKEEP, says("Two", exclusive=SECOND)))
    assert ordered(situation()).exclusive is FIRST


def test_voters_before_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the voters' stage has an action, releases only report."""
    table(monkeypatch, (Stage.VOTERS, says("One", exclusive=FIRST)), (Stage.RELEASES, says("Two", exclusive=SECOND)))
    assert ordered(situation()).exclusive is FIRST


@pytest.mark.parametrize("first", [{"exclusive": FIRST}, {"actions": (FIRST,)}, {"questions": (QUESTION,)}])
def test_releases_act_one_by_one(monkeypatch: pytest.MonkeyPatch, first: dict[str, object]) -> None:
    """Of the releases, the first concern with an action or a question acts alone."""
    table(
        monkeypatch,
        (Stage.RELEASES, says("One")),
        (Stage.RELEASES, says("Two", **first)),
        (Stage.RELEASES, says("Three", exclusive=SECOND)),
    )
    part = ordered(situation())
    assert (part.exclusive, part.actions, part.questions) == (
        first.get("exclusive"),
        first.get("actions", ()),
        first.get("questions", ()),
    )
    assert [wait.reason for wait in part.waits] == ["One", "Two", "Three"]


@pytest.mark.parametrize("stage", [Stage.VOTERS, Stage.RELEASES])
def test_what_failed_for_a_controller_holds_no_other(monkeypatch: pytest.MonkeyPatch, stage: Stage) -> None:
    """An action on one claim that just failed does not hold the voters for a pass; a new or quorum-wide action does."""
    creates = CreateClaim(node_id=NodeID(3003), generation=1)
    look = replace(at_rest(), failed=frozenset({one_object(creates)}))

    def acts(*actions: Action, failed: bool = True) -> Action | None:
        table(monkeypatch, (Stage.UPKEEP, says("One", actions=actions)), (stage, says("Two", exclusive=SECOND)))
        part = ordered(situation(observed=look if failed else at_rest()))
        assert part.actions == actions
        return part.exclusive

    assert acts(creates) is SECOND
    assert acts(creates, failed=False) is None
    assert acts(creates, replace(creates, generation=2)) is None
    assert acts(creates, FIRST) is None


def test_which_actions_hold_no_other_controller() -> None:
    """Failed actions on one claim, config map, revision or new pod do not hold other controllers; all others do."""
    disk, runs = claim(running(), node(running(), 3000)), pod(running(), node(running(), 3000))
    deletes = DeleteClaim(claim=disk, message="m", permit=permit(DeleteVolume))
    marks = AnnotateClaim(claim=replace(disk, resource_version="11"), directory_id=None, grow_to=None, retired=True)
    assert one_object(deletes) == one_object(marks) == ("claim", disk.uid)
    made = CreatePod(node_id=NodeID(3000), revision=revision(), config_name="c", permit=permit(Run))
    makes = CreateFormatter(
        node_id=NodeID(3000), revision=revision(), config_name="c", avoid_nodes=(), permit=permit(NewcomerFormat)
    )
    assert one_object(made) == one_object(makes) == ("pod", "3000")
    configs = (
        CreateConfig(name="c", revision=revision(), node_ids=()),
        DeleteConfig(name="c"),
        AdoptConfig(name="c", resource_version="1"),
    )
    assert {one_object(each) for each in configs} == {("config map", "c")}
    stores = CreateRevision(name="r", number=2, runtime=revision().runtime, inputs_hash="h")
    assert one_object(stores) == ("revision", "r")
    stops = DeletePod(pod=runs, reason="PodOutdated", message="m", permit=permit(ReplacePod))
    for each in (FIRST, ApplyBudget(min_available=2), stops, MarkPod(pod=runs, voter=True, gate="True", message="m")):
        assert one_object(each) == ()


def test_an_exclusive_action_of_upkeep_comes_before_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exclusive action of upkeep holds the voters, even if another action has failed."""
    creates = CreateClaim(node_id=NodeID(3003), generation=1)
    table(
        monkeypatch,
        (Stage.UPKEEP, says("One", actions=(creates,), exclusive=FIRST)),
        (Stage.VOTERS, says("Two", exclusive=SECOND)),
    )
    assert ordered(situation(observed=replace(at_rest(), failed=frozenset({one_object(creates)})))).exclusive is FIRST


def test_urgent_comes_before_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """An urgent part, which completes what was begun, acts before upkeep."""
    table(
        monkeypatch,
        (Stage.UPKEEP, says("One", exclusive=FIRST)),
        (Stage.VOTERS, says("Two", exclusive=SECOND, urgent=True)),
    )
    assert ordered(situation()).exclusive is SECOND


def test_open_change_is_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a voter change is open, its wait is the first one."""
    table(monkeypatch, (Stage.UPKEEP, says("One")), (Stage.VOTERS, says("Two")))
    open_ = opened(operation(key(3003)))
    assert [wait.reason for wait in ordered(situation(observed=open_)).waits] == ["Two", "One"]


def opened(change: Operation) -> Observed:
    """A look at a quorum at rest, with this open operation."""
    look = at_rest()
    return replace(look, status=replace(look.status, open=change))


STATES = {
    "paused": situation(desired=desired(paused=True)),
    "repairing": situation(repair_only=True),
    "voter_change": situation(observed=opened(operation(key(3003)))),
    "feature_step": situation(observed=opened(stepping(METADATA, 28))),
    "recovering": situation(record=open_record()),
}
"""A situation in each special state, by the column of the table."""


def ran(monkeypatch: pytest.MonkeyPatch, of: Situation, **columns: Runs) -> Runs:
    """What the only concern of a table with these columns does in this situation."""
    concern = Concern(name="one", stage=Stage.UPKEEP, part=lambda _: says("One", exclusive=FIRST), **columns)
    monkeypatch.setattr(order, "CONCERNS", (concern,))
    part = ordered(of)
    return Runs.ACTS if part.exclusive is FIRST else Runs.REPORTS if part.waits else Runs.OFF


@pytest.mark.parametrize("runs", Runs)
@pytest.mark.parametrize("column", STATES)
def test_runs(monkeypatch: pytest.MonkeyPatch, column: str, runs: Runs) -> None:
    """In each special state a concern acts, reports or is left out, as this column of its row says."""
    assert ran(monkeypatch, STATES[column], **{column: runs}) is runs


@pytest.mark.parametrize("column", STATES)
def test_other_columns_do_not_decide(monkeypatch: pytest.MonkeyPatch, column: str) -> None:
    """A column decides only in its own state."""
    others = dict.fromkeys(STATES, Runs.OFF) | {column: Runs.ACTS}
    assert ran(monkeypatch, STATES[column], **others) is Runs.ACTS
    assert ran(monkeypatch, situation(), **dict.fromkeys(STATES, Runs.OFF)) is Runs.ACTS


def test_every_present_state_must_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two states that are present together, the stricter column decides."""
    both = situation(observed=opened(operation(key(3003))), repair_only=True)
    assert ran(monkeypatch, both, repairing=Runs.ACTS, voter_change=Runs.REPORTS) is Runs.REPORTS
    assert ran(monkeypatch, both, repairing=Runs.OFF, voter_change=Runs.REPORTS) is Runs.OFF


def test_a_new_concern_does_not_run_while_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that does not name the pause is left out while paused."""
    assert ran(monkeypatch, STATES["paused"]) is Runs.OFF


@pytest.mark.parametrize("runs", Runs)
def test_the_table_decides_what_a_pause_stops(monkeypatch: pytest.MonkeyPatch, runs: Runs) -> None:
    """While paused, a plan holds what the table lets run, after the wait that reports the pause."""
    concern = Concern(name="one", stage=Stage.UPKEEP, part=lambda _: says("One", exclusive=FIRST), paused=runs)
    monkeypatch.setattr(order, "CONCERNS", (concern,))
    found = plan(desired(paused=True), at_rest(), now_s=0.0)
    assert found.actions == ((FIRST,) if runs is Runs.ACTS else ())
    assert [wait.reason for wait in found.waits] == ["Paused", *(["One"] if runs is not Runs.OFF else [])]


def test_one_stop_a_plan() -> None:
    """Of the actions that stop a running Kafka only the first one stays, and a pod that is deleted is not marked."""
    record = running()
    first, second = (pod(record, of) for of in record.nodes[:2])
    stops: list[Action] = [
        DeletePod(pod=first, reason="PodRemoved", message="m", permit=permit(ReplacePod)),
        RestartPod(pod=second, evict=True, message="m", permit=permit(Restart)),
    ]
    marks = [MarkPod(pod=one, voter=False, gate="False", message="m") for one in (first, second)]
    made = CreateRevision(name="r", number=1, runtime=desired().runtime, inputs_hash=revision().inputs_hash)
    assert together([marks[0], *stops, marks[1], made]) == (stops[0], marks[1], made)
