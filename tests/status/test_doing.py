"""The columns DOING and MESSAGE: a problem has priority over progress, and `Done` requires Ready."""

from dataclasses import replace

import pytest
from tests.model.values import (
    NOW_S,
    SILENT,
    at_rest,
    desired,
    key,
    node,
    nothing,
    pod,
    running,
    runtime,
    view,
    with_pod,
    without_pod,
)
from tests.status.contradictions import contradictions
from tests.status.passes import FAULT, done, failed

from kafka_quorum.api.crd import crd
from kafka_quorum.model.identity import with_revision
from kafka_quorum.model.known import Known
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import Running, Waiting
from kafka_quorum.status.build import build
from kafka_quorum.status.finding import Pass
from kafka_quorum.status.lag import lag_of
from kit.kube.protocol import Json

NOW = "2026-01-01T00:00:00Z"
VOTERS = (key(3000), key(3001), key(3002))
LAGGING = Known(value=view(VOTERS, behind=[key(3002)]))
PULLING = Waiting(reason="ImagePullBackOff", message="no such image", last_exit=None)


def status_of(of: Pass) -> Json:
    """The status, checked for contradictions."""
    status = build(of, {}, generation=1, now=NOW)
    assert contradictions(status) == []
    return status


def held(reason: str) -> Pass:
    """A quorum at rest with a wait that a person must end."""
    passed = done()
    wait = Wait(severity=Severity.HELD, reason=reason, message=f"{reason}: correct the spec", node_id=None)
    return replace(passed, plan=replace(passed.plan, waits=(wait,)))


@pytest.mark.parametrize(
    ("of", "word", "says"),
    [
        (done(), "Done", "3"),
        (done(faults=(FAULT,)), "InvalidSpec", "spec.kafka.version: '4.x' is no release"),
        (done(at_rest(quorum=LAGGING), faults=(FAULT,)), "InvalidSpec", "spec.kafka.version"),
        (failed(done(nothing()), unknown=False), "ActionFailed", "the server said no"),
        (done(at_rest(quorum=LAGGING)), "VotersLag", f"{key(3002)}"),
        (done(at_rest(quorum=SILENT)), "NoLeader", SILENT.reason),
        (held("RollHeld"), "RollHeld", "RollHeld: correct the spec"),
        (held("FeatureBlocked"), "FeatureBlocked", "3"),
        (done(at_rest(), desired(paused=True)), "Paused", "spec.paused"),
        (done(nothing()), "Working", "did it"),
        (done(with_pod(at_rest(), 3001, container=PULLING, gate="False")), "PodStuck", "no such image"),
    ],
)
def test_problem_comes_first(of: Pass, word: str, says: str) -> None:
    """DOING has the reason of the most important condition, and MESSAGE is about the same."""
    status = status_of(of)
    assert status["doing"] == word
    assert says in status["message"] or word == "FeatureBlocked"


def test_problem_says_what_goes_on_meanwhile() -> None:
    """If something is broken and being repaired, MESSAGE has both, the problem first."""
    status = status_of(done(at_rest(quorum=LAGGING), desired(replicas=4)))
    said = {row["type"]: row["message"] for row in status["conditions"]}
    assert str(key(3002)) in said["Degraded"]
    assert status["message"].startswith(said["Degraded"])
    assert status["message"].endswith(said["Progressing"])


def test_done_stands_only_beside_ready() -> None:
    """DOING is not Done while a voter has no pod."""
    record = running()
    of = done(at_rest(record, pods=tuple(pod(record, each) for each in record.nodes[1:])))
    status = status_of(replace(of, plan=replace(of.plan, actions=(), waits=()), outcomes=()))
    assert (status["doing"], status["conditions"][2]["status"]) == ("ControllersMissing", "False")


def test_columns_read_what_the_status_has() -> None:
    """Each printer column finds its value in the status of a quorum at rest."""
    body = {
        "status": status_of(done()),
        "spec": {"kafka": {"version": "4.4.0"}},
        "metadata": {"creationTimestamp": NOW},
    }
    columns = crd()["spec"]["versions"][0]["additionalPrinterColumns"]
    shown = {column["name"]: read(body, column["jsonPath"]) for column in columns}
    assert shown == {
        "Ready": "True",
        "Voters": "3/3",
        "Release": "4.4.0",
        "Metadata": None,
        "Doing": "Done",
        "Age": NOW,
        "Looked": None,
        "Leader": 3000,
        "Cluster ID": body["status"]["clusterID"],
        "Message": body["status"]["message"],
    }


def read(body: Json, path: str) -> object:
    """Evaluates the part of JSONPath that printer columns use: names, and a filter by type."""
    found: object = body
    for part in path.replace('[?(@.type=="Ready")]', ".@Ready").strip(".").split("."):
        if part.startswith("@"):
            assert isinstance(found, list)
            found = next((row for row in found if row["type"] == part[1:]), None)
        else:
            found = found.get(part) if isinstance(found, dict) else None
    return found


# Voters that have just started


STAMP = "2026-01-01T00:00:00Z"
STAMP_S = 1767225600.0


@pytest.mark.parametrize(("age_s", "word"), [(1.0, "Starting"), (20.0, "Starting"), (21.0, "VotersLag")])
def test_voter_that_has_just_started_is_no_fault(age_s: float, word: str) -> None:
    """A voter may lag for some seconds after its start; later its lag is a fault."""
    look = with_pod(at_rest(quorum=LAGGING), 3002, container=Running(started_at=STAMP), gate="False")
    of = replace(done(look), now_s=STAMP_S + age_s)
    of = replace(of, plan=replace(of.plan, actions=(), waits=()), outcomes=())
    assert status_of(of)["doing"] == word


def test_voter_that_a_roll_restarts_is_no_fault() -> None:
    """A voter that a roll restarts is no fault; without the roll the same voter is one."""
    record = running()
    moved = with_revision(record, "alpha-next", (record.nodes[2].node_id,))
    pods = tuple(pod(record, each) for each in record.nodes[:2])
    for before, faulty in ((moved, 0), (record, 1)):
        lag = lag_of(replace(done(at_rest(before, quorum=LAGGING, pods=pods)), now_s=NOW_S))
        assert len(lag.faulty) == faulty
        assert len(lag.starting) == 1 - faulty


def test_roll_is_what_is_done() -> None:
    """A roll is shown in DOING, and not the lag that it causes."""
    record = with_revision(running(), "alpha-next", (node(running(), 3002).node_id,))
    of = done(at_rest(record, quorum=LAGGING, pods=tuple(pod(record, each) for each in record.nodes[:2])))
    assert status_of(replace(of, desired=desired(runtime=runtime(heap="1Gi"))))["doing"] != "VotersLag"


HELD_3001 = Known(value=frozenset({key(3001).node_id}))


def test_a_hold_that_keeps_nothing_back_leaves_the_quorum_ready() -> None:
    """Ready is True while a controller is held and nothing is left to do; DOING and Progressing say that it is held."""
    status = status_of(done(wanted=desired(hold=HELD_3001)))
    by_type = {row["type"]: row for row in status["conditions"]}
    assert status["doing"] == "Holding"
    assert (by_type["Ready"]["status"], by_type["Progressing"]["reason"]) == ("True", "Holding")
    assert (by_type["Progressing"]["status"], by_type["Degraded"]["status"]) == ("False", "False")


def test_what_a_hold_keeps_back_is_said_with_its_cost() -> None:
    """A held controller without a pod is HeldBack: Ready is False, Degraded is True, and a wait has the cost."""
    look = without_pod(at_rest(quorum=Known(value=view(VOTERS, behind=[key(3001)]))), 3001)
    status = status_of(done(look, desired(hold=HELD_3001)))
    by_type = {row["type"]: row for row in status["conditions"]}
    assert by_type["Ready"]["status"] == "False"
    assert (by_type["Progressing"]["status"], by_type["Progressing"]["reason"]) == ("False", "HeldBack")
    assert by_type["Degraded"]["status"] == "True"
    (row,) = (row for row in status["waits"] if row["reason"] == "HeldBack")
    assert (row["nodeID"], "does not run" in row["message"]) == (3001, True)


def test_work_is_shown_before_a_hold() -> None:
    """While the operator works for other controllers, the work is shown, and not the hold."""
    status = status_of(done(without_pod(at_rest(), 3002), desired(hold=HELD_3001)))
    assert status["doing"] not in ("Holding", "HeldBack")


def test_a_refused_replacement_is_shown() -> None:
    """A word that names no disk is what a person reads first, and Ready is False."""
    status = status_of(done(wanted=desired(give_up=key(3001, 2))))
    assert status["doing"] == "ReplaceRefused"
    assert f"{key(3001)}" in status["message"]
