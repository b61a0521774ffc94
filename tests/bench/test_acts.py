"""The time of an act is from the end of a pod to the next one of its controller; acts never done count too."""

from typing import Any

import pytest

from bench.acts import Acts, Seen

Json = dict[str, Any]


def pod(quorum: str, node_id: int, uid: str) -> Json:
    """A controller's pod."""
    labels = {"kafkaquorum.io/quorum": quorum, "kafkaquorum.io/node-id": str(node_id)}
    return {"metadata": {"name": uid, "uid": uid, "labels": labels}}


async def test_an_act_is_from_the_end_of_a_pod_to_the_next_one_of_its_controller() -> None:
    """Pods that only change, and pods of other controllers, do not end an act."""
    seen = Seen()
    for name in ("a", "b"):
        seen.event("ADDED", pod(name, 3001, f"{name}1"), 1.0)
    assert not seen.acts.seconds
    seen.event("DELETED", pod("a", 3001, "a1"), 10.0)
    seen.event("MODIFIED", pod("b", 3001, "b1"), 11.0)
    assert not seen.acts.seconds
    seen.event("ADDED", pod("a", 3001, "a2"), 12.5)
    seen.event("MODIFIED", pod("a", 3001, "a2"), 14.0)
    assert seen.acts.seconds == [2.5]


def test_what_was_never_done_is_the_longest() -> None:
    """An act that was never done counts as the longest, so that it does not improve a quantile."""
    acts = Acts(seconds=[float(number) for number in range(1, 100)])
    assert (acts.quantile(0.5), acts.quantile(0.99), acts.quantile(1.0)) == (50.0, 99.0, 99.0)
    acts.add(Acts(seconds=[], skipped=1, unanswered=2))
    assert acts.quantile(1.0) > 99.0
    assert acts.skipped == 1


def test_without_any_act_there_is_no_quantile() -> None:
    """Without any act there is no quantile, because nothing measured is not zero seconds."""
    with pytest.raises(ValueError, match="nothing was measured"):
        Acts().quantile(0.5)
