"""Progressing says what is done now, or why nothing is."""

import pytest
from tests.model.values import SILENT, at_rest, desired, nothing, runtime, started
from tests.status.passes import done, failed

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.observed import Observed
from kafka_quorum.status.finding import Truth
from kafka_quorum.status.progressing import progressing


@pytest.mark.parametrize(
    ("observed", "wanted", "truth", "reason"),
    [
        (at_rest(), desired(), Truth.FALSE, "Done"),
        (at_rest(), desired(paused=True), Truth.FALSE, "Paused"),
        (at_rest(), desired(runtime=runtime(heap="1Gi")), Truth.FALSE, "NotSupportedYet"),
        (at_rest(), desired(replicas=2), Truth.TRUE, "RemovingController"),
        (nothing(), desired(), Truth.TRUE, "Working"),
        (nothing(), desired(paused=True), Truth.FALSE, "Paused"),
        (at_rest(started()), desired(), Truth.TRUE, "NoLeader"),
        (at_rest(quorum=SILENT), desired(), Truth.TRUE, "NoLeader"),
    ],
)
def test_what_is_done_or_why_nothing_is(observed: Observed, wanted: Desired, truth: Truth, reason: str) -> None:
    """The reason is what the column DOING shows."""
    finding = progressing(done(observed, wanted))
    assert (finding.truth, finding.reason) == (truth, reason)
    assert finding.message


def test_unsupported_changes_are_named_by_field() -> None:
    """A change of several fields names each."""
    finding = progressing(done(at_rest(), desired(runtime=runtime(heap="1Gi", release="4.4.1"))))
    assert "spec.kafka.version" in finding.message
    assert "spec.controllers.jvm" in finding.message


def test_a_failed_action_is_named() -> None:
    """What failed is said, and that it is tried again."""
    finding = progressing(failed(done(nothing()), unknown=True))
    assert (finding.truth, finding.reason) == (Truth.TRUE, "ActionFailed")
    assert "the server said no" in finding.message
