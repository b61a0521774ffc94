"""A majority of the disks is lost: a person approves the plan, and the quorum continues from the last disk."""

import random
import time

import pytest

from harness import operator
from harness.quorum import Quorum
from harness.recovery import (
    approve,
    copies,
    digest,
    digests,
    lose,
    proposed,
    request_only_inspection,
    stage,
    wait_recovered,
)
from harness.shell import holds_for, wait_until
from scenarios.conftest import Write
from scenarios.expectations import assert_nothing_lost
from scenarios.rolls import operator_killed_at_random

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(600)]

_KILLED_TIMEOUT_S = 240.0
_OFTEN_KILLED_TIMEOUT_S = 900.0
_GAPS_S = (15.0, 34.0)
"""The next operator has the lease 14 to 17 seconds after its predecessor was killed: it acts for 0 to 20 seconds.

No voter is added before one operator has seen the leader lead for 10 seconds.
"""
_GOAL_S = 90.0
_RELEASE = "kafkaquorum.io/release-recovery"


@pytest.mark.parametrize(
    ("replicas", "lost", "claims"),
    [
        pytest.param(3, (3001, 3002), True, id="two-claims-of-three"),
        pytest.param(3, (3001, 3002), False, id="two-emptied-of-three"),
        pytest.param(5, (3001, 3002, 3003), True, id="three-claims-of-five"),
    ],
)
def test_a_lost_majority_is_recovered(
    replicas: int, lost: tuple[int, ...], quorum: Quorum, writing: Write, *, claims: bool
) -> None:
    """The last disk leads, every acknowledged write is there, and the others are voters on new disks.

    Each controller has every record below the announced end, byte for byte.
    """
    quorum.apply({"controllers": {"replicas": replicas}})
    quorum.wait_ready()
    writer, before, cluster = writing(quorum), quorum.voters(), quorum.record()["cluster_id"]
    writer.wait_acknowledged()
    lose(quorum, lost, claims=claims)
    plan = proposed(quorum)
    (best,) = (row for row in plan["disks"] if row.get("best"))
    end_offset = best["endOffset"]
    announced = digest(quorum.namespace, best["claimName"], end_offset)
    assert plan["verdict"] in ("NoLossUpToWatermark", "ProvenLoss")
    assert plan["controller"] not in lost
    began_s = time.monotonic()
    approve(quorum, plan["plan"])
    wait_recovered(quorum)
    took_s = time.monotonic() - began_s
    print(f"{took_s:.1f} s from the approval to {replicas} caught-up voters")
    assert took_s < _GOAL_S * replicas / 3
    after = quorum.voters()
    assert len(after) == replicas
    assert before & after == {key for key in before if key.startswith(f"{plan['controller']}-")}
    assert quorum.record()["cluster_id"] == cluster
    assert quorum.cluster_ids() == {cluster}
    assert len(copies(quorum)) == replicas - len(lost)
    assert digests(quorum, end_offset) == {announced}
    if plan["verdict"] == "NoLossUpToWatermark":
        assert_nothing_lost(writer)


def test_the_operator_is_killed_at_every_stage(quorum: Quorum) -> None:
    """Killed in each stage, the next operator goes on from there, and the end is the same."""
    quorum.apply()
    quorum.wait_ready()
    lose(quorum, (3001, 3002), claims=True)
    approve(quorum, proposed(quorum)["plan"])
    seen: set[str] = set()
    deadline_s = time.monotonic() + _KILLED_TIMEOUT_S
    while time.monotonic() < deadline_s:
        now = stage(quorum)
        if not now and seen:
            break
        if now and now not in seen:
            seen.add(now)
            operator.crash()
            operator.wait_ready()
    wait_recovered(quorum)
    assert len(seen) > 1
    assert len(quorum.voters()) == len(quorum.pods()) == 3


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("turn", range(3))
def test_the_operator_is_killed_at_random_gaps(turn: int, quorum: Quorum, writing: Write, randomly_seed: int) -> None:
    """Killed again and again, from the loss until every controller is a voter, it loses nothing that was announced."""
    quorum.apply()
    quorum.wait_ready()
    writer = writing(quorum)
    writer.wait_acknowledged()
    dice = random.Random(f"{randomly_seed} {turn}")  # noqa: S311 - moments of crashes
    with operator_killed_at_random(dice, *_GAPS_S) as gaps_s:
        lose(quorum, (3001, 3002), claims=True)
        plan = proposed(quorum, timeout_s=_KILLED_TIMEOUT_S)
        (best,) = (row for row in plan["disks"] if row.get("best"))
        announced = digest(quorum.namespace, best["claimName"], best["endOffset"])
        approve(quorum, plan["plan"])
        wait_recovered(quorum, _OFTEN_KILLED_TIMEOUT_S)
    print(f"the operator was killed {len(gaps_s)} times")
    assert len(gaps_s) > 1
    assert len(quorum.voters()) == len(quorum.pods()) == 3
    assert digests(quorum, best["endOffset"]) == {announced}
    if plan["verdict"] == "NoLossUpToWatermark":
        assert_nothing_lost(writer)


def test_nothing_begins_while_a_majority_may_return(quorum: Quorum) -> None:
    """While two machines are only off, no plan is proposed, and the quorum comes back with its own disks."""
    quorum.apply()
    quorum.wait_ready()
    before = quorum.voters()
    operator.stop()
    for node_id in (3001, 3002):
        quorum.delete_pod(quorum.controller(node_id)["podName"])
    operator.start()
    quorum.patch({"recovery": {"inspect": True}})
    quorum.wait_ready()
    holds_for("nothing is proposed", lambda: not (quorum.status().get("recovery") or {}).get("plan"), 8)
    assert quorum.voters() == before


def test_copies_stay_until_a_person_releases_them(quorum: Quorum) -> None:
    """The copies and the old disks are deleted with the annotation that has the epoch, and not before."""
    quorum.apply()
    quorum.wait_ready()
    lose(quorum, (3001, 3002), claims=False)
    approve(quorum, proposed(quorum)["plan"])
    wait_recovered(quorum)
    kept = copies(quorum)
    holds_for("they stay", lambda: copies(quorum) == kept, 8)
    epoch = quorum.status()["recovery"]["epoch"]
    request_only_inspection(quorum, {_RELEASE: str(epoch)})
    wait_until("only the present claims are left", lambda: len(quorum.claims()) == 3, 60)
    assert len(quorum.voters()) == 3
