"""Progressing reports what is done now, or why nothing is."""

from dataclasses import replace

import pytest
from tests.model.values import (
    IDS,
    SILENT,
    at_rest,
    desired,
    key,
    nothing,
    running,
    runtime,
    started,
    view,
    without_pod,
)
from tests.status.passes import done, failed

from kafka_quorum.model.desired import ControllerListener, Desired
from kafka_quorum.model.identity import with_revision
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.status.progressing import progressing
from kit.conditions.finding import Truth

OTHER_PORT = runtime(listener=ControllerListener(name="CONTROLLER", port=9094))


@pytest.mark.parametrize(
    ("observed", "wanted", "truth", "reason"),
    [
        (at_rest(), desired(), Truth.FALSE, "Done"),
        (at_rest(), desired(paused=True), Truth.FALSE, "Paused"),
        (at_rest(), desired(runtime=runtime(heap="1Gi")), Truth.TRUE, "Working"),
        (at_rest(), desired(runtime=OTHER_PORT), Truth.FALSE, "MigrationHeld"),
        (at_rest(), desired(replicas=2), Truth.TRUE, "RemovingController"),
        (nothing(), desired(), Truth.TRUE, "Working"),
        (nothing(), desired(paused=True), Truth.FALSE, "Paused"),
        (at_rest(started()), desired(), Truth.TRUE, "NoLeader"),
        (at_rest(quorum=SILENT), desired(), Truth.TRUE, "NoLeader"),
    ],
)
def test_what_is_done_or_why_nothing_is(observed: Observed, wanted: Desired, truth: Truth, reason: str) -> None:
    """The reason is the one that the column DOING shows."""
    finding = progressing(done(observed, wanted))
    assert (finding.truth, finding.reason) == (truth, reason)
    assert finding.message


def test_an_unsupported_change_is_named_by_its_field() -> None:
    """A change that is not supported is named by its field in the spec."""
    assert "spec.controllers.listeners" in progressing(done(at_rest(), desired(runtime=OTHER_PORT))).message


def test_what_is_held_is_no_failure() -> None:
    """An action that a disruption budget held is no failure, and counts as work."""
    scene = done(nothing())
    held = replace(scene, outcomes=tuple(replace(one, done=False, held=True) for one in scene.outcomes))
    finding = progressing(held)
    assert (finding.truth, finding.reason, finding.message) == (Truth.TRUE, "Working", "did it")


@pytest.mark.parametrize(("reason", "says"), [("FeatureBlocked", "Starting"), ("RollHeld", "RollHeld")])
def test_voters_that_start_beside_what_is_held(reason: str, says: str) -> None:
    """A blocked feature may last for weeks, so starting voters are shown first; a held roll is shown before them."""
    record = with_revision(running(), at_rest().revisions[0].name, (IDS[2],))
    leads = view([key(each) for each in IDS], behind=[key(IDS[2])])
    scene = done(without_pod(at_rest(record, quorum=Known(value=leads)), 3002))
    wait = Wait(severity=Severity.HELD, reason=reason, message="held")
    finding = progressing(replace(scene, outcomes=(), plan=replace(scene.plan, actions=(), waits=(wait,))))
    assert finding.reason == says


def test_a_failed_action_is_named() -> None:
    """A failed action is reported, and that it is repeated."""
    finding = progressing(failed(done(nothing()), unknown=True))
    assert (finding.truth, finding.reason) == (Truth.TRUE, "ActionFailed")
    assert "the server said no" in finding.message
