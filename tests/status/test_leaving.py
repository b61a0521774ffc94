"""The status while controllers are removed or lost: consistent in every condition, and stable."""

from dataclasses import replace

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    LEADER_NOW_MS,
    at_rest,
    desired,
    key,
    looks,
    manual,
    mirrored,
    node,
    operation,
    pod,
    running,
    support,
    view,
    with_pod,
)
from tests.status.passes import done

from kafka_quorum.model.desired import Cure, Desired, Replacement
from kafka_quorum.model.identity import without_node
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import LostNode
from kafka_quorum.model.observed import KubeNode, Observed
from kafka_quorum.model.operation import VoterRemoval
from kafka_quorum.status.available import available
from kafka_quorum.status.build import build
from kafka_quorum.status.degraded import degraded
from kafka_quorum.status.finding import Pass
from kafka_quorum.status.progressing import progressing
from kafka_quorum.status.ready import ready
from kit.conditions.finding import Finding, Truth
from kit.conditions.patch import patch_of

NOW = "2026-01-01T00:00:00Z"
VOTERS = (key(3000), key(3001), key(3002))
PAIR = desired(replicas=2)
WORKER = "worker-3002"
AUTOMATIC = desired(replacement=Replacement(lost_disk=Cure.AUTOMATIC, lost_node=Cure.AUTOMATIC, lost_node_after_s=600))


def short(*findings: Finding) -> list[tuple[Truth, str]]:
    """Truth and reason of each."""
    return [(finding.truth, finding.reason) for finding in findings]


def held() -> Observed:
    """The removal of 3002 is open, and would leave one caught-up voter of two: 3001 lags."""
    seen = view((key(3000), key(3002), key(3001)), behind=(key(3001),))
    status = mirrored(running(), open=operation(key(3002), VoterRemoval))
    look = at_rest(quorum=Known(value=seen), memory=looks(seen), status=status, support=support(running(), 3))
    return with_pod(look, 3001, gate="False")


def lost_node(for_s: float = 30.0, *, later_ms: int = 0) -> Observed:
    """Controller 3002's Kubernetes node has been down for this long; `later_ms` have passed on the leader's clock."""
    seen = view(VOTERS, behind=VOTERS[2:])
    now_ms = LEADER_NOW_MS + later_ms
    moved = tuple(
        replace(row, log_end_offset=row.log_end_offset + later_ms, last_fetch_ms=now_ms, last_caught_up_ms=now_ms)
        for row in seen.answer.voters
    )
    answer = replace(seen.answer, voters=moved, high_watermark=seen.answer.high_watermark + later_ms)
    lost = LostNode(key=key(3002), kube_node=WORKER, for_s=for_s, agreed_at_s=1.0)
    down = Known(value=KubeNode(name=WORKER, exists=True, ready=False))
    look = at_rest(
        quorum=Known(value=replace(seen, answer=answer)),
        memory=replace(looks(seen), lost_nodes=(lost,)),
        kube_nodes=((WORKER, down),),
    )
    return with_pod(look, 3002, gate="False")


def test_a_removal_that_begins() -> None:
    """A quorum with an unwanted voter is available and healthy, and not Ready until the voter is removed."""
    of = done(at_rest(), PAIR)
    assert short(ready(of), progressing(of), degraded(of), available(of)) == [
        (Truth.FALSE, "VotersToRemove"),
        (Truth.TRUE, "RemovingController"),
        (Truth.FALSE, "Healthy"),
        (Truth.TRUE, "MajorityCaughtUp"),
    ]
    assert str(key(3002)) in ready(of).message


def test_a_removal_that_is_held() -> None:
    """The wait of a held removal is first in the column, in the operation and in the controller's row."""
    of = done(held(), PAIR)
    assert short(progressing(of)) == [(Truth.TRUE, "RemovingVoter")]
    assert mentions(progressing(of).message, key(3002), 2, 2, 1)
    status = build(of, {"operation": {"id": "op-1"}}, generation=1, now=NOW)
    assert facts(status["operation"]["waitingFor"]) == facts(key(3002), 2, 2, 1)
    row = next(row for row in status["controllers"] if row["nodeID"] == 3002)
    assert mentions(row["reason"], key(3002), 2, 1)


def test_a_pod_that_ends() -> None:
    """After a removal the quorum is not Ready while the pod is still ending."""
    record = without_node(running(), NodeID(3002))
    seen = view(VOTERS[:2])
    look = at_rest(record, quorum=Known(value=seen), memory=looks(seen), support=support(record, 2))
    ends = pod(running(), node(running(), 3002), deleting=True)
    of = done(replace(look, pods=(*look.pods, ends)), PAIR)
    assert short(ready(of), progressing(of)) == [(Truth.FALSE, "PodEnds"), (Truth.TRUE, "PodEnds")]


@pytest.mark.parametrize(
    ("wanted", "way_out"),
    [(AUTOMATIC, "600"), (desired(replacement=manual()), "spec.controllers.replacement.lostNode")],
)
def test_a_lost_node(wanted: Desired, way_out: str) -> None:
    """A lost Kubernetes node degrades the quorum, and every condition names the field or the time that decides."""
    of = done(lost_node(), wanted)
    assert short(ready(of), progressing(of), degraded(of), available(of)) == [
        (Truth.FALSE, "ControllersMissing"),
        (Truth.FALSE, "LostNode"),
        (Truth.TRUE, "LostNode"),
        (Truth.TRUE, "MajorityCaughtUp"),
    ]
    assert way_out in degraded(of).message
    assert way_out in progressing(of).message
    row = next(row for row in build(of, {}, generation=1, now=NOW)["controllers"] if row["nodeID"] == 3002)
    assert way_out in row["reason"]


def test_a_foreign_voter() -> None:
    """A foreign voter degrades the quorum and prevents Ready, with the command that removes it."""
    of = done(at_rest(quorum=Known(value=view((*VOTERS, key(7)))), support=support(running(), 3)))
    assert short(ready(of), degraded(of)) == [(Truth.FALSE, "ForeignVoter"), (Truth.TRUE, "ForeignVoter")]
    assert "remove-controller --controller-id 7" in degraded(of).message
    stale = build(of, {}, generation=1, now=NOW)["staleReplicas"]
    assert [(row["nodeID"], row["kind"]) for row in stale] == [(7, "ForeignVoter")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (done(lost_node(), AUTOMATIC), done(lost_node(95.0, later_ms=65_000), AUTOMATIC)),
        (done(held(), PAIR), done(held(), PAIR)),
    ],
    ids=["lost node", "held removal"],
)
def test_nothing_flickers(first: Pass, second: Pass) -> None:
    """A later look that changes only stamps and offsets writes nothing."""
    before = build(first, {}, generation=1, now=NOW)
    assert patch_of(before, build(second, before, generation=1, now="2026-01-01T00:01:05Z")) == {}
