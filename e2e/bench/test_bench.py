"""`make bench`: the cost of the operator, side by side in one run. It prints figures and asserts none of them."""

import json
import statistics
import threading
import time

import pytest

from bench import floor, latency, starts
from bench.figures import Figures
from bench.spaces import clear, space
from harness import operator, rest
from harness.quorum import Quorum
from harness.shell import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.bench, pytest.mark.timeout(1800)]

SPEC = {"controllers": {"jvm": {"heap": floor.HEAP}, "listeners": [floor.PLAINTEXT]}}
_LOOKS = 200
_AT_REST = 3


def operator_seconds(namespace: str) -> tuple[float, float]:
    """From apply to three caught-up voters, and to the condition Ready, of a KafkaQuorum."""
    quorum = Quorum(namespace=namespace, name="q")
    ready_s: list[float] = []
    started_s = time.monotonic()
    quorum.apply(SPEC)

    def wait() -> None:
        quorum.wait_ready()
        ready_s.append(time.monotonic() - started_s)

    waiting = threading.Thread(target=wait)
    waiting.start()
    selector = "kafkaquorum.io/quorum=q,kafkaquorum.io/role=controller"
    done_s = floor.seconds_until_done(namespace, selector, floor.labelled, started_s)
    waiting.join()
    return done_s, ready_s[0]


def floor_seconds(namespace: str) -> float:
    """The same from plain manifests."""
    started_s = time.monotonic()
    floor.apply_floor(namespace)
    return floor.seconds_until_done(namespace, "app=quorum", floor.ordinal, started_s)


def starts_seconds(namespace: str) -> float:
    """The same from plain pods, with the same starts of pods as the operator's."""
    started_s = time.monotonic()
    starts.bootstrap(namespace)
    return floor.seconds_until_done(namespace, "app=quorum", floor.ordinal, started_s)


def test_time_from_apply_to_ready(figures: Figures, spaces: list[str], pytestconfig: pytest.Config) -> None:
    """Rounds on loaded images: each side runs once in a round, and every one is the first in turn."""
    rounds: list[tuple[float, float, float, float]] = []
    sides = ("floor", "starts", "operator")
    for number in range(int(pytestconfig.getoption("pairs"))):
        floor_s = starts_s = done_s = ready_s = 0.0
        for side in (*sides[number % 3 :], *sides[: number % 3]):
            namespace = space(spaces)
            if side == "floor":
                floor_s = floor_seconds(namespace)
            elif side == "starts":
                starts_s = starts_seconds(namespace)
            else:
                done_s, ready_s = operator_seconds(namespace)
            clear(namespace)
        rounds.append((floor_s, starts_s, done_s, ready_s))
        print(f"bootstrap {rounds[-1]}", flush=True)
    columns = [statistics.median(column) for column in zip(*rounds, strict=True)]
    rows = [(number + 1, *row, row[2] / row[0], row[2] / row[1]) for number, row in enumerate(rounds)]
    figures.add(
        "bootstrap",
        "From apply to a leader and three caught-up voters, in seconds (goal: ratio at most 1.2)",
        ("", "plain manifests", "the same starts", "operator", "operator's Ready", "ratio", "to the same starts"),
        [*rows, ("median", *columns, columns[2] / columns[0], columns[2] / columns[1])],
        pairs=[dict(zip(("floor_s", "starts_s", "operator_s", "ready_s"), row, strict=True)) for row in rounds],
        ratio=columns[2] / columns[0],
        ratio_same_starts=columns[2] / columns[1],
    )


def test_at_rest(figures: Figures, spaces: list[str], pytestconfig: pytest.Config) -> None:
    """The API server counts the requests of the operator's account; the kernel measures memory and CPU."""
    duration_s = int(pytestconfig.getoption("rest_seconds"))
    rows: list[tuple[object, float, float, float]] = []
    values = {}
    with rest.counted_requests():
        for count in (0, _AT_REST):
            while len(spaces) < count:
                Quorum(namespace=space(spaces), name="q").apply(SPEC)
            for namespace in spaces:
                Quorum(namespace=namespace, name="q").wait_ready()
            wait_until("the operator is ready", operator.pods, 30)
            used = rest.measure(duration_s)
            rows.append((count, used.requests_per_minute, used.cpu_millicores, used.memory_mib))
            values[str(count)] = used.values()
    each = [(with_quorums - alone) / _AT_REST for alone, with_quorums in zip(rows[0][1:], rows[1][1:], strict=True)]
    rows.append(("each", each[0], each[1], each[2]))
    figures.add(
        "rest",
        f"At rest, over {duration_s} s",
        ("quorums", "API requests/min", "CPU, thousandths of a core", "resident memory, MiB"),
        rows,
        **values,
        requests_per_quorum_and_minute=each[0],
    )


def test_latency_of_one_observation(figures: Figures, spaces: list[str]) -> None:
    """The operator's own code, run here against a live quorum: Kubernetes objects, and the quorum itself."""
    namespace = space(spaces)
    quorum = Quorum(namespace=namespace, name="q")
    quorum.apply(SPEC)
    quorum.wait_ready()
    measured = latency.observe(namespace, "q", _LOOKS)
    rows = []
    for name, seconds in measured.items():
        ordered = sorted(value * 1000 for value in seconds)
        row = (ordered[0], statistics.median(ordered), ordered[int(len(ordered) * 0.95)], ordered[-1])
        rows.append((name, *row))
    figures.add(
        "latency",
        f"One observation of three controllers, {_LOOKS} times, in milliseconds",
        ("", "min", "median", "p95", "max"),
        rows,
        **{row[0]: json.loads(json.dumps(row[1:])) for row in rows},
    )
