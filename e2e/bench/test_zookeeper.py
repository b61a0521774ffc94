"""`make bench`: a migration from ZooKeeper by the operator beside one by hand. Figures, and no assertion of one.

Both have the same world: three ZooKeeper servers, three brokers of 3.9.2 with topics, ACLs, SCRAM users and quotas,
clients throughout, and one owner of the brokers who restarts them one by one. By hand, a program does at once what
Kafka's documentation tells a person to do: the least time that it can take. That no acknowledged record is lost and
the metadata is the same is asserted.
"""

import statistics
import sys
import time
from collections.abc import Callable

import pytest

from bench.figures import Figures
from bench.migration import Migrated, Told, measured
from bench.spaces import clear, space
from harness import clients
from harness.by_hand_migration import STEPS, Controllers, Step, steps
from harness.clients import Gap
from harness.quorum import Quorum, merged
from harness.shell import succeed, wait_until
from harness.zookeeper import VERSION
from scenarios.test_zookeeper import page, spec, stage
from scenarios.zookeeper_world import ZooKeeperWorld, zookeeper_world
from testbed.config import SOURCE

pytestmark = [pytest.mark.e2e, pytest.mark.bench, pytest.mark.timeout(3600)]

_HEAP = {"jvm": {"heap": "256Mi"}}
"""That of the controllers by hand."""
_STAGE_TIMEOUT_S = 300.0
_POLL_S = 0.5
"""As often as the one by hand looks."""


def by_hand(world: ZooKeeperWorld) -> Migrated:
    """As Kafka's documentation describes it."""
    controllers = Controllers(namespace=world.namespace, connect=world.ensemble.connect, cluster_id=world.cluster_id)
    return measured(world, steps(controllers, world.brokers))


def by_operator(world: ZooKeeperWorld) -> Migrated:
    """From the end of a clean dry run to `Finalized`; a person sets `finalize` as soon as the migration is parked."""
    quorum, began_s = Quorum(namespace=world.namespace, name="q"), time.monotonic()
    quorum.apply(merged(spec(world, dryRun=True), {"controllers": _HEAP}))
    wait_until("a clean preflight", lambda: (quorum.status().get("preflight") or {}).get("passed"), 120.0)
    print(f"dry run: clean after {time.monotonic() - began_s:.1f} s", flush=True)
    try:
        with Told(quorum):
            return measured(world, _steps(quorum, world))
    except BaseException:
        print(quorum.report(), flush=True)
        raise


def _steps(quorum: Quorum, world: ZooKeeperWorld) -> tuple[Step, ...]:
    """The same steps, each from its begin to the status that shows its end."""

    def reach(name: str) -> None:
        wait_until(f"stage {name}", lambda: stage(quorum) == name, _STAGE_TIMEOUT_S, _POLL_S)

    def begin() -> None:
        quorum.patch({"zookeeper": {"dryRun": False}})
        reach("Brokers")

    def follow() -> None:
        print(*world.brokers.follow(page(quorum)), sep="\n", flush=True)

    def is_so(status: str, reason: str) -> None:
        def so() -> bool:
            row = quorum.condition("MigratedFromZooKeeper")
            return (row.get("status"), row.get("reason")) == (status, reason)

        wait_until(f"MigratedFromZooKeeper={status} {reason}", so, _STAGE_TIMEOUT_S, _POLL_S)

    def finalize() -> None:
        quorum.patch({"zookeeper": {"finalize": True}})
        is_so("True", "Finalized")

    acts = (begin, follow, lambda: reach("DualWrite"), follow, lambda: is_so("False", "DualWrite"), finalize)
    return tuple(zip(STEPS, acts, strict=True))


SIDES: dict[str, Callable[[ZooKeeperWorld], Migrated]] = {"by hand": by_hand, "operator": by_operator}


def test_from_zookeeper_to_kraft(figures: Figures, spaces: list[str], pytestconfig: pytest.Config) -> None:
    """Pairs: each side runs once per pair, alternately first and second, in a world of its own."""
    succeed(sys.executable, str(SOURCE), "base-images", "--kafka", VERSION, timeout_s=1200)
    succeed(sys.executable, str(SOURCE), "load", f"testbed/kafka:{VERSION}", timeout_s=300)
    image, topics = clients.image(), int(pytestconfig.getoption("migrated_topics"))
    found: dict[str, list[Migrated]] = {side: [] for side in SIDES}
    size = ""
    for number in range(int(pytestconfig.getoption("migrations"))):
        for side in (*SIDES,) if number % 2 == 0 else (*reversed(SIDES),):
            namespace = space(spaces)
            with zookeeper_world(namespace, image, topics=topics) as world:
                size = str(world.before)
                print(f"{side}: {size}", flush=True)
                found[side].append(SIDES[side](world))
            print(f"{side}: {found[side][-1].whole}", flush=True)
            clear(namespace)
    _add(figures, found, size)
    for side, rows in found.items():
        for row in rows:
            assert not row.verdict.faults, (side, row.verdict)
            assert not row.differences, (side, row.differences)
            assert not row.offline, side


def _add(figures: Figures, found: dict[str, list[Migrated]], size: str) -> None:
    """Two tables: the steps, and what clients and the metadata show."""
    hand, ours = found["by hand"], found["operator"]
    rows = [
        _row(what, [one.steps[number] for one in hand], [one.steps[number] for one in ours])
        for number, what in enumerate(STEPS)
    ]
    whole = _row("from the begin to the end", [one.whole for one in hand], [one.whole for one in ours])
    figures.add(
        "from_zookeeper",
        f"From ZooKeeper to KRaft, medians of {len(hand)} (goals: ratio of the whole at most 1.2, and the\n"
        f"operator's longest produce gap not longer)\n{size}",
        ("", "by hand, s", "gap, s", "operator, s", "gap, s", "ratio"),
        [*rows, whole],
        steps=rows,
        whole=whole,
        by_hand_s=[one.whole.took_s for one in hand],
        operator_s=[one.whole.took_s for one in ours],
        by_hand_gap_s=[one.whole.worst_s for one in hand],
        operator_gap_s=[one.whole.worst_s for one in ours],
    )
    checks = [
        (
            side,
            one.verdict.acknowledged,
            one.verdict.consumed,
            one.verdict.lost,
            sum(one.verdict.faults.values()),
            one.offline,
            len(one.differences),
            one.load,
        )
        for side, migrated in found.items()
        for one in migrated
    ]
    figures.add(
        "from_zookeeper_checks",
        "Records of the clients, partitions offline, differences of the metadata, load average of the machine",
        ("", "acknowledged", "consumed", "lost", "faults", "offline", "differences", "load"),
        checks,
        checks=checks,
    )


def _row(what: str, hand: list[Gap], ours: list[Gap]) -> tuple[object, ...]:
    """Seconds and the longest produce gap of both sides, and the ratio of the seconds."""
    took_s = [statistics.median(one.took_s for one in side) for side in (hand, ours)]
    worst_s = [statistics.median(one.worst_s for one in side) for side in (hand, ours)]
    ratio: object = took_s[1] / took_s[0] if took_s[0] >= _POLL_S else "-"
    return (what, took_s[0], worst_s[0], took_s[1], worst_s[1], ratio)
