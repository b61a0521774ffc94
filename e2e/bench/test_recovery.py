"""`make bench`: a lost majority, from the approval to three caught-up voters, beside the same by hand."""

import statistics
import time

import pytest

from bench import by_hand, floor, recovery_by_hand
from bench.figures import Figures
from bench.spaces import space
from bench.test_bench import SPEC
from harness import operator
from harness.quorum import Quorum
from harness.recovery import approve, lose, proposed, wait_recovered

pytestmark = [pytest.mark.e2e, pytest.mark.bench, pytest.mark.timeout(3600)]

_LOST = (3001, 3002)


def recovered_by_the_operator(namespace: str) -> float:
    """Seconds of one recovery by the operator until it reports Ready, in a new quorum, without TLS as the script."""
    quorum = Quorum(namespace=namespace, name="q")
    quorum.apply(SPEC)
    quorum.wait_ready()
    lose(quorum, _LOST, claims=True)
    found = proposed(quorum)
    began_s = time.monotonic()
    approve(quorum, found["plan"])
    wait_recovered(quorum)
    took_s = time.monotonic() - began_s
    quorum.delete()
    return took_s


def recovered_by_hand(namespace: str, image: str) -> float:
    """Seconds of one recovery by the script, in a new quorum from plain manifests with the operator's settings."""
    floor.apply_floor(namespace, fresh_names=True)
    floor.seconds_until_done(namespace, "app=quorum", floor.ordinal, time.monotonic())
    recovery_by_hand.lose(namespace)
    found = recovery_by_hand.plan(namespace, image)
    return recovery_by_hand.recover(namespace, image, found, by_hand.plain_endpoints(namespace))


def test_lost_majority_to_three_voters(figures: Figures, spaces: list[str], pytestconfig: pytest.Config) -> None:
    """Two of three disks are lost: one quorum is recovered by the operator, another one by the script, in turn."""
    image, rows = operator.image(), list[tuple[float, ...]]()
    for number in range(int(pytestconfig.getoption("recoveries"))):
        took_s: dict[str, float] = {}
        for side in ("hand", "operator") if number % 2 else ("operator", "hand"):
            namespace = space(spaces)
            took_s[side] = (
                recovered_by_hand(namespace, image) if side == "hand" else recovered_by_the_operator(namespace)
            )
        rows.append((number + 1, took_s["hand"], took_s["operator"], took_s["operator"] / took_s["hand"]))
        print(f"recovery {rows[-1]}", flush=True)
    by_hand_s, operator_s = [row[1] for row in rows], [row[2] for row in rows]
    medians = (statistics.median(by_hand_s), statistics.median(operator_s))
    figures.add(
        "lost_majority",
        "From the approval to three caught-up voters, in seconds (goal: ratio at most 1.5, and under 90)",
        ("", "by hand", "operator", "ratio"),
        [*rows, ("median", *medians, medians[1] / medians[0])],
        by_hand_s=by_hand_s,
        operator_s=operator_s,
        ratio=medians[1] / medians[0],
    )
