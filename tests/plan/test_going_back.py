"""A controller that cannot start, and is held by its Secret, goes back to the revision that has run."""

from dataclasses import replace
from typing import Any

import pytest
from tests.model.certificates import (
    LEAF_S,
    LISTENER,
    leaf_seen,
    looked,
    material,
    recorded,
    secured,
    wanted,
    with_leaf,
)
from tests.model.values import IDS, NOW_S, revision, runtime, situation

from kafka_quorum.model.actions import WriteRecord
from kafka_quorum.model.certified import holders
from kafka_quorum.model.identity import IdentityRecord, with_revision
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.material import controller
from kafka_quorum.model.pods import Pod, Running, Waiting
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.releases.rolls import roll

APPLIED, TYPO, TARGET = secured(), secured(heap="2G"), secured(certificates=2)
MADE = tuple(revision(each, number) for number, each in enumerate((APPLIED, TYPO, TARGET), start=1))
STUCK = Waiting(reason="ImagePullBackOff", message="", last_exit=None)
SECOND = IDS[1]


def stuck(record: IdentityRecord | None = None, *, held: bool = True, **pod: Any) -> Situation:  # noqa: ANN401
    """The second controller does not start from another revision, and its Secret cannot be used: the target is held."""
    of = record or with_revision(recorded(APPLIED), MADE[1].name, (SECOND,))
    found = material(of)
    for holder in holders(of):
        found = with_leaf(found, holder, leaf_seen(holder, generation=2, before_ends_s=int(NOW_S)))
    if held:
        bad = Unknown(reason="it is not of this quorum")
        rows = tuple((one, bad if one == controller(SECOND) else seen) for one, seen in found.leafs)
        found = replace(found, leafs=rows)
    seen = looked(of, found, APPLIED, TYPO, TARGET)
    changes = {"container": STUCK, "revision": MADE[1].name} | pod
    pods = tuple(_changed(each, changes) if each.node_id == SECOND else each for each in seen.pods)
    spec = wanted(runtime=runtime(listener=LISTENER))
    return situation(spec, replace(seen, pods=pods), of, now_s=NOW_S + LEAF_S / 2)


def _changed(pod: Pod, changes: dict[str, Any]) -> Pod:
    return replace(pod, **changes)


def moves(now: Situation) -> list[tuple[int, str | None]]:
    """Which controllers the roll moves to which revision."""
    found = roll(now).exclusive
    if not isinstance(found, WriteRecord):
        return []
    before = {node.node_id: node.revision for node in now.record.nodes}
    return [(node.node_id, node.revision) for node in found.record.nodes if before[node.node_id] != node.revision]


def test_it_goes_back_to_the_applied_revision() -> None:
    """Otherwise all others would wait for a revision that nobody asks for any more."""
    assert moves(stuck()) == [(SECOND, MADE[0].name)]


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(stuck(container=Running(started_at="2026-01-01T00:00:00Z")), id="it runs"),
        pytest.param(stuck(revision=MADE[0].name), id="its pod is of the applied revision"),
        pytest.param(stuck(recorded(APPLIED), revision=MADE[0].name), id="it is there already"),
        pytest.param(
            stuck(replace(with_revision(recorded(APPLIED), MADE[1].name, (SECOND,)), had_leader=False)),
            id="no revision has had a leader",
        ),
    ],
)
def test_it_stays_where_it_is(now: Situation) -> None:
    """A controller that may run from its revision is not moved, nor one where no revision is known to work."""
    assert (SECOND, MADE[0].name) not in moves(now)


def test_without_the_hold_it_moves_to_the_target() -> None:
    """If the next pod finds the right certificate, the controller gets what the spec asks for."""
    assert moves(stuck(held=False)) != [(SECOND, MADE[0].name)]
