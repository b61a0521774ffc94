"""`make bench`: a pool of brokers beside the same from plain manifests, and its cost. Figures, and no assertion of one.

Clients produce and consume all the time of a roll; that no acknowledged record is lost is asserted.
"""

import statistics
import time

import pytest

from bench import looks
from bench.figures import Figures
from bench.spaces import clear, space
from bench.test_bench import SPEC
from harness import clients, first, rest
from harness.client.topics import Topic, create
from harness.clients import Clients
from harness.plain import PlainKafka
from harness.pool import Pool
from harness.quorum import Quorum
from harness.shell import Json, kubectl, wait_until
from harness.zones import ZONE, zoned

pytestmark = [pytest.mark.e2e, pytest.mark.bench, pytest.mark.timeout(3600)]

_NINE = 9
_ROLL_TIMEOUT_S = 1200.0
_PARTITIONS = 2000
_LOOKS = 20
_HEAP = {"plain": "256m", "pool": "256Mi"}
_ORDERS = (Topic(name="orders", partitions=6),)
_SPREAD = (Topic(name="orders", partitions=18),)
"""Over nine brokers: each leads two partitions."""


def pool_of(namespace: str, spec: Json | None = None) -> Pool:
    """A quorum and a pool, applied at once."""
    quorum = Quorum(namespace=namespace, name="q")
    pool = Pool(quorum=quorum)
    quorum.apply(SPEC)
    pool.apply(spec)
    return pool


def wait_ready(pool: Pool, timeout_s: float = 300.0) -> None:
    """Wait until quorum and pool are Ready."""
    pool.quorum.wait_ready(timeout_s)
    pool.wait_ready(timeout_s)


# --- from apply to the first record -----------------------------------------------------------------------------------


def plain_seconds(namespace: str) -> tuple[float, float]:
    """From apply to every pod ready, and to the first record consumed, of plain manifests."""
    kafka, started_s = PlainKafka(namespace=namespace, heap=_HEAP["plain"]), time.monotonic()
    kafka.apply(wait=False)
    for name in ("quorum", "broker"):
        kubectl("-n", namespace, "rollout", "status", f"statefulset/{name}", "--timeout=240s", timeout_s=250)
    ready_s = time.monotonic() - started_s
    return ready_s, first.seconds_until_consumed(kafka.bootstrap, started_s)


def pool_seconds(namespace: str) -> tuple[float, float]:
    """The same of a quorum and a pool: both Ready."""
    started_s = time.monotonic()
    pool = pool_of(namespace)
    wait_ready(pool)
    ready_s = time.monotonic() - started_s
    return ready_s, first.seconds_until_consumed(pool.bootstrap, started_s)


def test_time_from_apply_to_the_first_record(figures: Figures, spaces: list[str], pytestconfig: pytest.Config) -> None:
    """Pairs on loaded images: each side runs once per pair, alternately first and second."""
    rows: list[tuple[float, ...]] = []
    sides = {"plain": plain_seconds, "pool": pool_seconds}
    for number in range(int(pytestconfig.getoption("pairs"))):
        found: dict[str, tuple[float, float]] = {}
        for side in (*sides,) if number % 2 == 0 else (*reversed(sides),):
            namespace = space(spaces)
            found[side] = sides[side](namespace)
            clear(namespace)
        rows.append((number + 1, *found["plain"], *found["pool"], found["pool"][1] / found["plain"][1]))
        print(f"first record {rows[-1]}", flush=True)
    medians = [statistics.median(column) for column in list(zip(*rows, strict=True))[1:]]
    medians[-1] = medians[3] / medians[1]
    figures.add(
        "pool_bootstrap",
        "From apply of quorum and brokers to the first record consumed, in seconds (goal: ratio at most 1.3)",
        ("pair", "plain: ready", "plain: record", "pool: Ready", "pool: record", "ratio of records"),
        [*rows, ("median", *medians)],
        pairs=rows,
        ratio=medians[-1],
    )


# --- the gap of producers ---------------------------------------------------------------------------------------------


def stop_one(pool: Pool, users: Clients, node_id: int) -> float:
    """A person deletes a broker's pod; the longest produce gap until the pool is Ready again."""
    before = pool.pods()[node_id]["metadata"]["uid"]
    with users.measured(f"broker {node_id} stopped gracefully"):
        pool.delete_pod(node_id)
        wait_until("another pod", lambda: pool.pods().get(node_id, {}).get("metadata", {}).get("uid") != before, 120)
        pool.wait_ready()
        pool.assert_in_sync()
    return users.gaps[-1].worst_s


def roll(pool: Pool, users: Clients, megabytes: int) -> float:
    """The operator restarts every broker for another heap; the longest produce gap."""
    with users.measured(f"roll of {len(pool.pods())} brokers"):
        pool.patch({"jvm": {"heap": f"{megabytes}Mi"}})
        pool.wait_ready(_ROLL_TIMEOUT_S)
    return users.gaps[-1].worst_s


def test_longest_produce_gap_of_a_roll(figures: Figures, spaces: list[str], pytestconfig: pytest.Config) -> None:
    """In one pool under clients: one broker stopped gracefully, and all of them rolled; beside plain manifests."""
    pool, plain = pool_of(space(spaces)), PlainKafka(namespace=space(spaces))
    wait_ready(pool)
    image, rows = clients.image(), list[tuple[float, ...]]()
    with Clients(namespace=pool.namespace, bootstrap=pool.bootstrap, image=image, topics=_ORDERS) as users:
        for number in range(int(pytestconfig.getoption("changes"))):
            stop_s = stop_one(pool, users, sorted(pool.pods())[number % 3])
            roll_s = roll(pool, users, 257 + number)
            rows.append((number + 1, stop_s, roll_s, roll_s / stop_s))
            print(f"produce gaps {rows[-1]}", flush=True)
        assert not users.offline()
        assert not users.finish().faults
    clear(pool.namespace)
    plain.apply()
    with Clients(namespace=plain.namespace, bootstrap=plain.bootstrap, image=image, topics=_ORDERS) as users:
        for node_id in plain.node_ids:
            with users.measured(f"plain broker {node_id} stopped gracefully"):
                plain.restart(node_id)
        by_hand_s = [gap.worst_s for gap in users.gaps]
        assert not users.finish().faults
    columns = list(zip(*rows, strict=True))
    ratio = statistics.median(columns[2]) / statistics.median(columns[1])
    figures.add(
        "produce_gap",
        "Longest time without an acknowledged record of a partition, in seconds (goal: ratio at most 1.5);\n"
        f"  plain manifests, one broker after the other: {', '.join(f'{gap:.2f}' for gap in by_hand_s)}",
        ("", "one broker stopped gracefully", "roll by the operator", "ratio"),
        [*rows, ("median", *(statistics.median(column) for column in columns[1:3]), ratio)],
        stop_s=columns[1],
        roll_s=columns[2],
        plain_s=by_hand_s,
        ratio=ratio,
    )


# --- nine brokers -----------------------------------------------------------------------------------------------------


def test_a_roll_of_nine_brokers_in_three_racks(figures: Figures, spaces: list[str]) -> None:
    """By racks, one by one, and by hand on plain manifests: seconds, the longest produce gap, partitions below min ISR.

    Partitions with fewer replicas in sync than they need are counted by clients, who look at the metadata.
    """
    rows: list[tuple[object, ...]] = []
    faults: list[dict[str, int]] = []
    image = clients.image()
    with zoned():
        racks: Json = {"replicas": _NINE, "rack": {"topologyKey": ZONE}, "roll": {"maxUnavailable": 3}}
        pool = pool_of(space(spaces), racks)
        wait_ready(pool, 600)
        with Clients(namespace=pool.namespace, bootstrap=pool.bootstrap, image=image, topics=_SPREAD) as users:
            for number, unavailable in enumerate((3, 1)):
                pool.patch({"roll": {"maxUnavailable": unavailable}})
                pool.wait_ready()
                before = len(users.under_min_isr())
                roll(pool, users, 257 + number)
                gap, under = users.gaps[-1], len(users.under_min_isr()) - before
                rows.append((f"operator, maxUnavailable {unavailable}", gap.took_s, gap.worst_s, under))
                print(rows[-1], flush=True)
            assert not users.offline()
            faults.append(users.finish().faults)
        clear(pool.namespace)
    plain = PlainKafka(namespace=space(spaces), brokers=_NINE)
    plain.apply()
    with Clients(namespace=plain.namespace, bootstrap=plain.bootstrap, image=image, topics=_SPREAD) as users:
        with users.measured("plain manifests, one by one"):
            took_s = plain.roll_one_by_one()
        rows.append(("plain manifests, one by one", took_s, users.gaps[-1].worst_s, len(users.under_min_isr())))
        faults.append(users.finish().faults)
    times = [float(str(row[1])) for row in rows]
    figures.add(
        "nine_brokers",
        "A roll of nine brokers in three racks (goal: at least twice as fast as one by one; "
        f"{times[1] / times[0]:.2f}, and {times[2] / times[0]:.2f} to plain manifests)",
        ("", "seconds", "longest produce gap, s", "partitions below min ISR"),
        rows,
        rolls=rows,
        faster=times[1] / times[0],
        faster_than_plain=times[2] / times[0],
    )
    assert not any(faults), faults


# --- at rest ----------------------------------------------------------------------------------------------------------


def test_pools_at_rest(figures: Figures, spaces: list[str], pytestconfig: pytest.Config) -> None:
    """A quorum alone, with a pool, and the same pool with 2,000 partitions: the operator's consumption."""
    duration_s = int(pytestconfig.getoption("rest_seconds"))
    quorum = Quorum(namespace=space(spaces), name="q")
    pool = Pool(quorum=quorum)
    rows: list[tuple[object, float, float, float]] = []

    def measured(what: str) -> None:
        used = rest.measure(duration_s)
        rows.append((what, used.requests_per_minute, used.cpu_millicores, used.memory_mib))
        print(rows[-1], flush=True)

    quorum.apply(SPEC)
    quorum.wait_ready()
    with rest.counted_requests():
        measured("a quorum of three")
        pool.apply()
        pool.wait_ready()
        measured("and a pool of three brokers")
        many(pool)
        measured(f"and {_PARTITIONS} partitions")
    one_look(figures, pool)
    figures.add(
        "pool_rest",
        f"At rest, over {duration_s} s",
        ("", "API requests/min", "CPU, thousandths of a core", "resident memory, MiB"),
        rows,
        rests=rows,
        requests_per_pool_and_minute=rows[1][1] - rows[0][1],
    )


def many(pool: Pool) -> None:
    """Create 2,000 partitions, and wait until all of them are in sync."""
    topics = tuple(Topic(name=f"many-{number}", partitions=100) for number in range(_PARTITIONS // 100))
    create(pool.client(), topics, time.monotonic() + 300)

    def there() -> bool:
        rows = pool.replicas()
        return sum(name.startswith("many-") for name in rows) == _PARTITIONS and all(
            sorted(replicas) == isr for replicas, isr in rows.values()
        )

    wait_until("every partition is in sync", there, 300, 2.0)


def one_look(figures: Figures, pool: Pool) -> None:
    """One look at all of these partitions, with the operator's own code in this process."""
    found, peak_mib = looks.observe(pool.namespace, pool.name, _LOOKS)
    rows = []
    for what, values in (("time", [row.took_s for row in found]), ("CPU", [row.cpu_s for row in found])):
        ordered = sorted(value * 1000 for value in values)
        rows.append((what, ordered[0], statistics.median(ordered), ordered[-1]))
    figures.add(
        "look",
        f"One look at {found[0].partitions} partitions, {_LOOKS} times, in ms; at most {peak_mib:.1f} MiB",
        ("", "min", "median", "max"),
        rows,
        look=rows,
        peak_mib=peak_mib,
    )
