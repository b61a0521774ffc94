"""`make bench`: how long the operator takes to act for ten healthy quorums, alone and together with a hostile one.

All controllers are programs that only answer (`bench/fake`), in an image that the quorums' owner chose: real pods, the
installed operator, a real API server. The hostile quorum gives answers of every kind below, in turn.
"""

import time
from functools import partial

import pytest

from bench import floor
from bench.acts import Acts, measure
from bench.figures import Figures
from bench.spaces import clear, space
from harness import operator
from harness.quorum import Quorum
from harness.shell import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.bench, pytest.mark.timeout(3600)]

HEALTHY = 10
HOSTILE = ("voters", "features", "observers", "silent", "slow", "huge", "count", "honest")
"""5,000 invented voters, 15,000 features, 10,000 observers, no answer, a byte every 0.2 s, 64 MiB, an impossible count;
and the truth, so that the operator has work to do for this quorum.
"""
_ROUNDS = 2
_INTERVAL_S = 0.5
_SETTLE_S = 15.0


def made(namespace: str, name: str, image: str, kinds: tuple[str, ...] = ()) -> Quorum:
    """A quorum of three controllers that only answer."""
    quorum = Quorum(namespace=namespace, name=name)
    config = {"fake.answers": ",".join(kinds)} if kinds else {}
    controllers = {"jvm": {"heap": "64Mi"}, "listeners": [floor.PLAINTEXT]}
    quorum.apply({"kafka": {"image": image, "config": config}, "controllers": controllers})
    return quorum


def test_a_hostile_quorum_beside_ten_healthy_ones(
    figures: Figures, spaces: list[str], fake_image: str, pytestconfig: pytest.Config
) -> None:
    """The ten quorums alone and with the hostile one, alternately; the followers' pods are deleted in turn."""
    count = int(pytestconfig.getoption("acts"))
    namespace = space(spaces)
    healthy = [made(namespace, f"h{number}", fake_image) for number in range(HEALTHY)]
    for quorum in healthy:
        quorum.wait_ready(300)
    names, restarts = [quorum.name for quorum in healthy], _restarts()
    found = {"alone": Acts(), "hostile": Acts()}
    for _ in range(_ROUNDS):
        found["alone"].add(measure(namespace, names, count // _ROUNDS, _INTERVAL_S))
        beside = space(spaces)
        hostile = made(beside, "hostile", fake_image, HOSTILE)
        wait_until("the hostile controllers run", partial(_runs, hostile), 300)
        time.sleep(_SETTLE_S)  # the operator has had its answers: from here on it works with the hostile quorum
        found["hostile"].add(measure(namespace, names, count // _ROUNDS, _INTERVAL_S))
        clear(beside)
    ratio = found["hostile"].quantile(0.99) / found["alone"].quantile(0.99)
    titles = {"alone": "ten healthy quorums", "hostile": "the same beside a hostile one"}
    rows = [(titles[key], *_row(acts)) for key, acts in found.items()]
    figures.add(
        "hostile",
        f"From a pod that is gone to the one in its place, in seconds (goal: p99 at most doubled; ratio {ratio:.2f});\n"
        f"  the operator's restarts meanwhile: {_restarts() - restarts}",
        ("", "acts", "median", "p90", "p99", "max", "skipped", "never"),
        rows,
        ratio=ratio,
        **{f"{key}_s": acts.seconds for key, acts in found.items()},
    )


def _runs(quorum: Quorum) -> bool:
    return len(quorum.running()) == 3


def _row(acts: Acts) -> tuple[object, ...]:
    shares = (acts.quantile(share) for share in (0.5, 0.9, 0.99, 1.0))
    return (len(acts.seconds), *shares, acts.skipped, acts.unanswered)


def _restarts() -> int:
    rows = (row for pod in operator.pods() for row in pod.get("status", {}).get("containerStatuses", []))
    return sum(int(row.get("restartCount", 0)) for row in rows)
