"""`make bench`: an upgrade of a Streams application beside a rolling update of a StatefulSet. No figure is asserted.

Both count the same feed with the same pods, three instances with their state on volumes, from 3.9 to 4.3, where one
bounce is enough. That each count is exact is asserted.
"""

import time
from collections.abc import Callable

import pytest

from bench.figures import Figures
from bench.spaces import clear, space
from harness import streams
from harness.idle import Idle, append_times, idle
from harness.pool import Pool
from harness.quorum import Quorum
from harness.shell import kubectl
from harness.streams import CHANGE_TIMEOUT_S, ONE_BROKER, PARTITIONS, Application, image

pytestmark = [pytest.mark.e2e, pytest.mark.bench, pytest.mark.timeout(3600)]

_OLD, _NEW = "3.9.1", "4.3.1"


def application_in(namespace: str) -> Application:
    """An application, not applied yet, with a quorum of one and one broker."""
    quorum = Quorum(namespace=namespace, name="q")
    quorum.apply({"controllers": {"replicas": 1}})
    pool = Pool(quorum=quorum, name="events")
    pool.apply(ONE_BROKER)
    quorum.wait_ready(300)
    pool.wait_ready(300)
    found = Application(pool=pool)
    found.make_topics()
    return found


def owned(application: Application) -> Callable[[], None]:
    """Applies the resource; the result upgrades it."""
    application.apply(_OLD)
    application.wait_ready(_OLD)

    def upgrade() -> None:
        application.upgrade(_NEW)
        application.wait_ready(_NEW, CHANGE_TIMEOUT_S)

    return upgrade


def plain(application: Application) -> Callable[[], None]:
    """Applies a StatefulSet with the same pods; the result gives it the other image."""
    application.apply_plain(_OLD)

    def upgrade() -> None:
        where = ("-n", application.namespace)
        kubectl(*where, "set", "image", f"statefulset/{application.name}", f"app={image(_NEW)}")
        application.wait_rolled()

    return upgrade


def measured(namespace: str, start: Callable[[Application], Callable[[], None]]) -> tuple[float, Idle]:
    """How long the upgrade took, and for how long the application processed nothing in it."""
    application = application_in(namespace)
    upgrade = start(application)
    with application.fed():
        application.wait_counting()
        began_s = time.time()
        upgrade()
        ended_s = time.time()
        application.wait_counting()
        until_s = time.time()
        assert application.difference().exact
    times_s = append_times(application.pool.bootstrap, "counts", PARTITIONS)
    return ended_s - began_s, idle(times_s, began_s, until_s)


def test_time_without_processing(figures: Figures, spaces: list[str], pytestconfig: pytest.Config) -> None:
    """Pairs: each side runs once per pair, alternately first and second."""
    streams.load_images(_OLD, _NEW)
    sides = {"plain": plain, "owned": owned}
    rows = []
    for number in range(min(int(pytestconfig.getoption("pairs")), 3)):
        found: dict[str, tuple[float, Idle]] = {}
        for side in (*sides,) if number % 2 == 0 else (*reversed(sides),):
            namespace = space(spaces)
            found[side] = measured(namespace, sides[side])
            clear(namespace)
            print(side, found[side][0], found[side][1], flush=True)
        (plain_s, plain_idle), (owned_s, owned_idle) = found["plain"], found["owned"]
        ratio = owned_idle.total_s / plain_idle.total_s
        rows.append((number + 1, plain_s, plain_idle.total_s, owned_s, owned_idle.total_s, ratio))
    figures.add(
        "streams_upgrade",
        "3.9 → 4.3, three instances: seconds, and those without processing, of all partitions (goal: 1.2)",
        ("pair", "plain", "plain: idle", "owned", "owned: idle", "ratio"),
        rows,
        pairs=rows,
    )
