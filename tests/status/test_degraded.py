"""Degraded names what is lost or broken, and what to do."""

from dataclasses import replace

from tests.golden.facts import facts
from tests.model.values import (
    SILENT,
    at_rest,
    empty_report,
    key,
    node,
    nothing,
    pod,
    running,
    started,
    still_blank,
    view,
)
from tests.status.passes import done, failed

from kafka_quorum.model.known import Known
from kafka_quorum.model.pods import Waiting
from kafka_quorum.status.degraded import degraded
from kit.conditions.finding import Truth

CRASHING = Waiting(reason="CrashLoopBackOff", message="back-off", last_exit=None)


def test_a_quorum_at_rest_is_healthy() -> None:
    """A quorum at rest is not degraded."""
    assert (degraded(done()).truth, degraded(done()).reason) == (Truth.FALSE, "Healthy")


def test_a_new_quorum_is_not_degraded() -> None:
    """A new quorum is not degraded, because it has lost nothing."""
    assert degraded(done(nothing())).truth is Truth.FALSE
    assert degraded(done(at_rest(started()))).truth is Truth.FALSE


def test_voters_that_lag_are_named() -> None:
    """A voter that lags degrades the quorum, and is named by its replica key."""
    seen = view([key(3000), key(3001), key(3002)], behind=[key(3001)])
    finding = degraded(done(at_rest(quorum=Known(value=seen))))
    assert (finding.truth, finding.reason) == (Truth.TRUE, "VotersLag")
    assert str(key(3001)) in finding.message


def test_no_leader_degrades_a_quorum_that_had_one() -> None:
    """A quorum that had a leader and has none is degraded."""
    assert degraded(done(at_rest(quorum=SILENT))).reason == "NoLeader"


def test_a_failed_bootstrap_names_the_lost_and_the_way_out() -> None:
    """If most disks are empty before the first leader, nothing is retried, and the message names these replicas."""
    record = started()
    pods = tuple(
        pod(record, of, container=CRASHING, report=empty_report()) if of.node_id != 3000 else pod(record, of)
        for of in record.nodes
    )
    said = done(still_blank(at_rest(record, pods=pods)))
    assert degraded(said).reason == "BootstrapFailed"
    assert said.plan.actions == ()
    assert facts(degraded(said).message) == facts(key(3001), key(3002))


def test_a_stuck_pod_is_named_with_the_kubelets_words() -> None:
    """A pod that cannot start is reported with the kubelet's words."""
    record = running()
    pulling = Waiting(reason="ImagePullBackOff", message="no such image: apache/kafka:4.4.00", last_exit=None)
    pods = tuple(pod(record, of) for of in record.nodes[1:])
    stuck = pod(record, node(record, 3000), container=pulling, report=None, gate="False", marked_voter=True)
    finding = degraded(done(at_rest(record, pods=(stuck, *pods))))
    assert finding.reason == "PodStuck"
    assert "no such image: apache/kafka:4.4.00" in finding.message


def test_only_a_definite_failure_degrades() -> None:
    """A lost answer does not degrade the quorum, because the action is repeated; a refusal does."""
    assert degraded(failed(done(nothing()), unknown=True)).truth is Truth.FALSE
    refused = degraded(failed(done(nothing()), unknown=False))
    assert (refused.truth, refused.reason) == (Truth.TRUE, "ActionFailed")


def test_a_lost_disk_is_named_until_there_is_a_leader() -> None:
    """Without a leader a lost disk is reported by the controller's name."""
    record = running()
    lost = node(record, 3001)
    retired = replace(lost, directory_id=None, formatted=False, retired=(key(3001).directory_id,))  # type: ignore[arg-type]  # a known id
    changed = replace(record, nodes=tuple(retired if of.node_id == 3001 else of for of in record.nodes))
    finding = degraded(done(at_rest(changed, quorum=SILENT)))
    assert finding.reason == "LostDisk"
    assert "3001" in finding.message
