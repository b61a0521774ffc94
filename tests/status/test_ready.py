"""Ready is true only if nothing is missing."""

from dataclasses import replace

import pytest
from tests.golden.facts import facts
from tests.model.values import (
    SILENT,
    at_rest,
    desired,
    directory,
    key,
    looks,
    mirrored,
    nothing,
    operation,
    pod,
    running,
    runtime,
    view,
)
from tests.status.passes import FAULT, done

from kafka_quorum.model.desired import ControllerListener, Desired
from kafka_quorum.model.identity import with_disk_lost, with_report
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.scram import RecordedUsers, ScramSeen
from kafka_quorum.model.trust import TrustPolicy
from kafka_quorum.status.progressing import progressing
from kafka_quorum.status.ready import ready
from kit.conditions.finding import Truth

OTHER_PORT = runtime(listener=ControllerListener(name="CONTROLLER", port=9094))


def lagging() -> Observed:
    """A look in which one of three voters lags."""
    seen = view([key(3000), key(3001), key(3002)], behind=[key(3002)])
    return at_rest(quorum=Known(value=seen))


def stale() -> Observed:
    """Controller 3002 came back on a new disk, and its old key is still a voter."""
    lost = NodeID(3002)
    record = with_report(with_disk_lost(running(), lost, new_claim=False), lost, directory(3002, 2))
    seen = view([key(3000), key(3001), key(3002)], [key(3002, 2)], behind=[key(3002)])
    return at_rest(record, quorum=Known(value=seen), memory=looks(seen))


def test_a_quorum_at_rest_is_ready() -> None:
    """A quorum at rest is Ready: every wanted controller is a committed, caught-up voter, and nothing is open."""
    finding = ready(done())
    assert (finding.truth, finding.reason) == (Truth.TRUE, "AllVotersCaughtUp")
    assert facts(finding.message) == facts(3, 3)


def test_users_of_the_brokers_leave_it_ready() -> None:
    """A user that cannot be made is told by Progressing, and the quorum stays Ready."""
    given = ScramSeen(given=Unknown(reason="Secret users is not there"), recorded=Known(value=RecordedUsers()))
    wanted = desired(trust=TrustPolicy(scram_users_secret="users"))  # noqa: S106 - a name
    found = done(at_rest(scram=given), wanted)
    assert ready(found).truth is Truth.TRUE
    told = progressing(found)
    assert (told.truth, told.reason) == (Truth.FALSE, "ScramUsersHeld")
    assert "Secret users is not there" in told.message


@pytest.mark.parametrize(
    ("observed", "reason", "said"),
    [
        (nothing(), "NotStarted", ""),
        (at_rest(quorum=SILENT), "NoLeader", SILENT.reason),
        (lagging(), "ControllersMissing", "3002"),
        (stale(), "ControllersMissing", str(key(3002))),
        (
            at_rest(quorum=Known(value=view([key(3000), key(3001), key(3002)], committed=False))),
            "VoterSetUncommitted",
            "",
        ),
    ],
)
def test_what_is_missing_is_named(observed: Observed, reason: str, said: str) -> None:
    """Each reason against Ready has its name, and the message explains it."""
    finding = ready(done(observed))
    assert (finding.truth, finding.reason) == (Truth.FALSE, reason)
    assert said in finding.message


def test_an_open_operation_is_not_ready() -> None:
    """An open voter change keeps Ready false."""
    record = running()
    assert ready(done(at_rest(status=mirrored(record, open=operation(key(3003)))))).reason == "OperationOpen"


def test_faults_of_the_spec_are_not_ready() -> None:
    """With an invalid spec Ready is false, because this generation does not run."""
    assert ready(done(faults=(FAULT,))).reason == "InvalidSpec"


@pytest.mark.parametrize(
    ("wanted", "reason", "words"),
    [
        (desired(runtime=runtime(heap="1Gi")), "Rolling", "3000, 3001, 3002"),
        (desired(replicas=1), "VotersToRemove", "controllers 3001, 3002: "),
    ],
)
def test_what_is_not_asked_for_is_not_ready(wanted: Desired, reason: str, words: str) -> None:
    """A healthy quorum that differs from what this generation requests is not Ready."""
    finding = ready(done(at_rest(), wanted))
    assert (finding.truth, finding.reason) == (Truth.FALSE, reason)
    assert words in finding.message


def test_a_further_controller_is_waited_for() -> None:
    """With four wanted controllers and three voters, the fourth is named."""
    record = running()
    observed = at_rest(record, pods=tuple(replace(pod(record, of)) for of in record.nodes))
    finding = ready(done(observed, desired(replicas=4)))
    assert (finding.truth, finding.reason) == (Truth.FALSE, "ControllersMissing")
    assert "3003" in finding.message


def test_a_pod_that_went_a_moment_ago_is_missing_at_once() -> None:
    """Without its pod a voter is missing at once, although the leader reports it as caught up for a while."""
    record = running()
    first, *others = (pod(record, of) for of in record.nodes)
    for pods in (tuple(others), (replace(first, deleting=True), *others)):
        finding = ready(done(at_rest(record, pods=pods)))
        assert (finding.truth, finding.reason) == (Truth.FALSE, "ControllersMissing")
