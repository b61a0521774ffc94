"""The leader of a pair hands over: what the plan reports while it cannot do that yet."""

from dataclasses import replace

import pytest
from tests.model.values import (
    NOW_S,
    at_rest,
    desired,
    directory,
    key,
    looks,
    operation,
    running,
    situation,
    view,
    with_pod,
)
from tests.plan.reading import checked, reasons, verdict

from kafka_quorum.model.identity import with_disk_lost, with_report
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.operation import VoterRemoval
from kafka_quorum.plan.planner import plan
from kafka_quorum.plan.voters.operation import membership

LEADER, OTHER = key(3001), key(3000)


@pytest.mark.parametrize("begun", [False, True])
def test_a_hand_over_that_waits_for_the_api_server(*, begun: bool) -> None:
    """Before the API server has checked the leader's new pod, the pod is kept, and the plan has the guard's permit."""
    seen = view([LEADER, OTHER])
    look = at_rest(running(2), quorum=Known(value=seen), memory=looks(seen))
    if begun:
        look = replace(look, status=replace(look.status, open=operation(LEADER, VoterRemoval)))
    part = membership(situation(desired=desired(replicas=1, allow_interruption=True), observed=look))
    assert part.exclusive is None
    assert [question.node_id for question in part.questions] == [LEADER.node_id]
    assert verdict(part, "3-hand-over").allowed
    assert checked(plan(desired(replicas=1), look, now_s=NOW_S)).actions == ()


def test_a_lost_disk_beside_a_hand_over() -> None:
    """If the other voter of a pair also waits for its new disk, the plan reports both waits."""
    record = with_report(with_disk_lost(running(2), NodeID(3000), new_claim=False), NodeID(3000), directory(3000, 2))
    seen = view([LEADER, OTHER], [key(3000, 2)], behind=[LEADER, key(3000, 2)])
    look = at_rest(record, quorum=Known(value=seen), memory=looks(seen))
    look = with_pod(look, LEADER.node_id, deleting=True)
    part = membership(situation(desired=desired(replicas=1, allow_interruption=True), observed=look))
    assert part.exclusive is None
    assert reasons(part) == {"ReplacingVoter", "RemovingVoter"}
    assert not verdict(part, "3-hand-over").allowed
