"""`make bench`: how long no operator acts when the acting one is stopped, is killed, or loses its Kubernetes node.

Pods of quorums that only answer (`bench/fake`) are deleted at a steady pace; the gap is the longest time until one is
created again. Two replicas of the operator run; the one with the lease is stopped.
"""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from bench.acts import Acts, measure
from bench.figures import Figures
from bench.spaces import clear, space
from bench.test_hostile import made
from demo import NAMESPACE
from harness import nodes, operator
from harness.shell import Json, kubectl, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.bench, pytest.mark.timeout(3600)]

_NAMES = ("h0", "h1", "h2")
_INTERVAL_S = 1.0
_BEFORE_S = 8.0
_COUNT = 60


@pytest.fixture
def answering(fake_image: str) -> Iterator[str]:
    """A namespace with quorums that only answer."""
    spaces: list[str] = []
    namespace = space(spaces)
    quorums = [made(namespace, name, fake_image) for name in _NAMES]
    for quorum in quorums:
        quorum.wait_ready(300)
    yield namespace
    clear(namespace)


@pytest.fixture
def two_replicas() -> Iterator[None]:
    """Two replicas of the operator, regardless of the chart's default."""
    before = kubectl("-n", NAMESPACE, "get", operator.DEPLOYMENT, "-o", "jsonpath={.spec.replicas}")
    kubectl("-n", NAMESPACE, "scale", operator.DEPLOYMENT, "--replicas=2")
    operator.wait_ready()
    yield
    kubectl("-n", NAMESPACE, "scale", operator.DEPLOYMENT, f"--replicas={before}")
    operator.wait_ready()


def test_the_operators_failure(
    figures: Figures,
    answering: str,
    two_replicas: None,  # noqa: ARG001 - an order
    pytestconfig: pytest.Config,
) -> None:
    """A clean stop, a killed process, and a Kubernetes node without power, in turn; the longest act of each."""
    kinds: dict[str, Callable[[Json], Callable[[], None]]] = {
        "clean stop": _stopped,
        "process killed": _killed,
        "node without power": _powered_off,
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for _ in range(int(pytestconfig.getoption("failures"))):
        for name, strike in kinds.items():
            found[name].append(_one(answering, strike))
            print(f"{name}: {found[name][-1]}", flush=True)
    rows = [
        (name, len(pairs), *(value for column in zip(*pairs, strict=True) for value in (min(column), max(column))))
        for name, pairs in found.items()
    ]
    figures.add(
        "failover",
        "Until another operator holds the lease, and the longest time in which nothing was done, in seconds",
        ("", "times", "lease, least", "lease, most", "gap, least", "gap, most"),
        rows,
        **{name.replace(" ", "_"): pairs for name, pairs in found.items()},
    )


def _one(namespace: str, strike: Callable[[Json], Callable[[], None]]) -> tuple[float, float]:
    """Seconds until another pod holds the lease, and the longest act."""
    acts: list[Acts] = []
    thread = threading.Thread(target=lambda: acts.append(measure(namespace, _NAMES, _COUNT, _INTERVAL_S)))
    pod = operator.wait_acting()
    thread.start()
    time.sleep(_BEFORE_S)  # acts of an undisturbed operator come first
    began_s, undo = time.monotonic(), strike(pod)
    wait_until("another operator holds the lease", lambda: operator.holder() not in ("", pod["metadata"]["name"]), 120)
    taken_s = time.monotonic() - began_s
    thread.join()
    undo()
    operator.wait_ready()
    return taken_s, acts[0].quantile(1.0)


def _nothing() -> None:
    return


def _stopped(pod: Json) -> Callable[[], None]:
    kubectl("-n", NAMESPACE, "delete", "pod", pod["metadata"]["name"], "--wait=false")
    return _nothing


def _killed(pod: Json) -> Callable[[], None]:
    nodes.kill_container(pod)
    kubectl("-n", NAMESPACE, "delete", "pod", pod["metadata"]["name"], "--force", "--grace-period=0", "--wait=false")
    return _nothing


def _powered_off(pod: Json) -> Callable[[], None]:
    node = str(pod["spec"]["nodeName"])
    nodes.power_off(node)
    return lambda: nodes.power_on(node)
