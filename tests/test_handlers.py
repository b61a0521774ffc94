"""The edge: what ends a process, what a stop completes in spite of an error, and what a watch event wakes."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import pytest
from tests import virtual_time
from tests.golden.facts import mentions
from tests.kit.ends import End
from tests.kit.kube.recording import RecordingKube
from tests.kit.test_lease import LeaseStore, SharedClock, lease_of
from tests.kit.test_loops import Passes
from tests.model.values import IDS, NAME, NAMESPACE, desired, node, revision, running

from kafka_brokers.kind import POOLS
from kafka_quorum import handlers
from kafka_quorum.handlers import Edge, Served
from kafka_quorum.kind import QUORUMS
from kafka_quorum.probe import serve
from kafka_quorum.resources import objects, pods
from kafka_quorum.resources.stored import record_object
from kafka_quorum.settings import Settings
from kafka_streams.kind import APPLICATIONS
from kit.key import ObjectKey
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, SERVICES, Json, ResourceType
from kit.loops import Loops
from kit.metrics import server as scraped
from kit.metrics.server import Scrape
from kit.selector import EVERYTHING, Selector, parse
from kit.term import STARTING_S

if TYPE_CHECKING:
    from kafka_quorum.observations.recorder import Recorder
    from kafka_quorum.reconcile import Reconciler
    from kit.sweep import Sweep


class Closed:
    """Observations that record their end."""

    closed = False

    def close(self, _: float) -> None:
        """Records the end."""
        self.closed = True


def edge_of(closed: Closed | None = None, settings: Settings | None = None) -> Edge:
    """An edge that was never started."""
    return Edge(settings or Settings(), cast("Recorder", closed or Closed()))


async def test_a_task_that_is_over_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If supervision itself fails, the process says why, and ends with an error: Kubernetes starts it again."""

    async def broken(_: str, __: Callable[[], Awaitable[None]]) -> None:
        raise RuntimeError("supervision is over")

    monkeypatch.setattr(handlers, "supervised", broken)
    edge = edge_of()
    edge._begin("lease", asyncio.Event().wait)  # type: ignore[arg-type]  # it is never awaited
    await asyncio.wait_for(edge.failed.wait(), 10)
    assert "supervision is over" in caplog.text
    await edge._end_tasks()


def test_a_task_that_fails_is_begun_again() -> None:
    """An error of the lease task, of any kind, does not end it."""

    async def tried() -> int:
        edge, times = edge_of(), 0

        async def work() -> None:
            nonlocal times
            times += 1
            raise KeyError("spec")

        edge._begin("lease", work)
        await asyncio.sleep(20)
        assert not edge.failed.is_set()
        await edge._end_tasks()
        return times

    assert virtual_time.run(tried()) == 5


async def test_a_stop_is_whole_although_a_step_fails() -> None:
    """If the loops cannot be stopped, the lease is still released and the observations are still closed."""
    closed = Closed()
    edge, released = edge_of(closed), asyncio.Event()

    class Stubborn:
        async def stop(self, grace_s: float) -> None:
            raise RuntimeError(grace_s)

    class Leased:
        async def release(self) -> None:
            released.set()

    edge._served = {"kafkaquorums": served(Stubborn())}
    edge._lease = cast("Any", Leased())
    await edge.stop()
    assert released.is_set()
    assert closed.closed


def served(loops: object) -> Served:
    """A kind with these loops."""
    return Served(
        resource=QUORUMS, label="kafkaquorum.io/quorum", loops=cast("Loops", loops), sweep=cast("Sweep", None)
    )


def test_a_contract_wakes_the_pools_of_its_namespace() -> None:
    """A change of a quorum's contract wakes every pool of that namespace, and no other."""
    edge = edge_of()
    woken: list[ObjectKey] = []

    class Pools:
        def wake(self, key: ObjectKey, *, create: bool, resource_version: str) -> None:
            assert (create, resource_version) == (False, "")
            woken.append(key)

        def keys(self) -> tuple[ObjectKey, ...]:
            return (ObjectKey(namespace="ns", name="a"), ObjectKey(namespace="other", name="b"))

    quorums = served(Pools())
    edge._served = {"kafkabrokerpools": served(Pools())}
    contract = {"namespace": "ns", "name": "x", "labels": {"kafkaquorum.io/role": "broker-contract"}}
    edge._part(quorums, CONFIG_MAPS, contract)
    assert woken == [ObjectKey(namespace="ns", name="a")]


def test_a_part_wakes_its_quorum() -> None:
    """An object with our label wakes the quorum of that name; any other object wakes nothing."""
    edge = edge_of()
    woken: list[tuple[ObjectKey, bool]] = []

    class Noting:
        def wake(self, key: ObjectKey, *, create: bool, resource_version: str) -> None:
            assert resource_version == ""
            woken.append((key, create))

        def keys(self) -> tuple[ObjectKey, ...]:
            return ()

    quorums = served(Noting())
    edge._served = {"kafkaquorums": quorums, "kafkabrokerpools": served(Noting())}
    for labels in ({"kafkaquorum.io/quorum": "demo"}, {"kafkaquorum.io/quorum": ""}, {}, None):
        edge._part(quorums, PODS, {"namespace": "ns", "name": "x", "labels": labels})
    assert woken == [(ObjectKey(namespace="ns", name="demo"), False)]


def test_a_share_begins_no_loop_for_what_is_not_selected() -> None:
    """An event begins a loop only for a selected resource; a resource that has left the share wakes its loop."""
    edge = edge_of(settings=Settings(selector=parse("shard=a")))
    woken: list[tuple[str, bool]] = []

    class Noting:
        def wake(self, key: ObjectKey, *, create: bool, resource_version: str) -> None:
            assert resource_version == "7"
            woken.append((key.name, create))

    edge._served = {"kafkaquorums": served(Noting())}
    for name, labels in (("mine", {"shard": "a"}), ("other", {"shard": "b"}), ("bare", None)):
        edge.own(QUORUMS, {"namespace": "ns", "name": name, "labels": labels, "resourceVersion": "7"})
    assert woken == [("mine", True), ("other", False), ("bare", False)]


class _Beside:
    """Loops of two namespaces that note what is woken."""

    def __init__(self) -> None:
        self.woken: list[ObjectKey] = []

    def wake(self, key: ObjectKey, *, create: bool, resource_version: str) -> None:
        assert (create, resource_version) == (False, "")
        self.woken.append(key)

    def keys(self) -> tuple[ObjectKey, ...]:
        return (ObjectKey(namespace="ns", name="a"), ObjectKey(namespace="other", name="b"))


def test_what_certificates_of_pools_follow_wakes_the_quorums_beside_them() -> None:
    """A new spec of a pool, its deletion, and its record; a write of its status wakes no quorum."""
    edge, quorums = edge_of(), _Beside()

    class Pools:
        def wake(self, key: ObjectKey, *, create: bool, resource_version: str) -> None:
            """Wakes the pool itself."""

    pools = Served(resource=POOLS, label="kafkaquorum.io/pool", loops=cast("Loops", Pools()), sweep=cast("Sweep", None))
    edge._served = {"kafkaquorums": served(quorums), "kafkabrokerpools": pools}
    pool = {"namespace": "ns", "name": "p", "uid": "u", "generation": 1, "resourceVersion": "5"}
    events = (pool, {**pool, "resourceVersion": "6"}, {**pool, "generation": 2}, {**pool, "deletionTimestamp": ""})
    counts = []
    for event in events:
        edge.own(POOLS, event)
        counts.append(len(quorums.woken))
    assert counts == [1, 1, 2, 3]
    labelled = {"namespace": "ns", "name": "x", "labels": {"kafkaquorum.io/pool": "p"}}
    edge._part(pools, PODS, labelled)
    assert len(quorums.woken) == 3
    edge._part(pools, CONFIG_MAPS, labelled)  # of its properties
    assert len(quorums.woken) == 3
    role = {"kafkaquorum.io/role": "broker-disks"}
    edge._part(pools, CONFIG_MAPS, labelled | {"labels": {"kafkaquorum.io/pool": "p"} | role})
    assert quorums.woken == [ObjectKey(namespace="ns", name="a")] * 4


class WatchedKube(RecordingKube):
    """An API server that reports a change of each stored object to the watches of its type and label."""

    async def watch(
        self, resource: ResourceType, namespace: str, *, label: str, version: str, server_s: int
    ) -> AsyncGenerator[bytes, None]:
        """One event for each object with the label, then silence."""
        assert (version, server_s > 0) == ("", True)
        for item in self.model.list(resource, namespace, {}):
            if label in item["metadata"].get("labels", {}) or (not label and resource == POOLS):
                yield json.dumps({"type": "MODIFIED", "object": {"metadata": item["metadata"]}}).encode() + b"\n"
        await asyncio.Event().wait()

    async def list_metadata(self, resource: ResourceType, namespace: str, selector: Selector) -> list[Json]:
        """No resource is found by the search."""
        assert resource in {QUORUMS, POOLS, APPLICATIONS}
        assert selector == EVERYTHING
        assert namespace == NAMESPACE
        return []

    async def close(self) -> None:
        """Closes nothing."""


@pytest.mark.parametrize(
    ("resource", "body"),
    [
        (CONFIG_MAPS, record_object(desired(), running())),
        (CONFIG_MAPS, objects.config(desired(), "alpha-config-0123456789", revision(), IDS)),
        (SERVICES, objects.service(desired(), 9093)),
        (CLAIMS, objects.claim(desired(), running(), node(running(), 3001))),
        (PODS, pods.kafka(desired(), running(), node(running(), 3001), revision(), config="c", pull_policy="Never")),
    ],
    ids=["identity", "config map", "service", "claim", "pod"],
)
async def test_a_change_of_an_object_wakes_its_quorum(
    monkeypatch: pytest.MonkeyPatch, resource: ResourceType, body: Json
) -> None:
    """A change of the identity ConfigMap, the Service, a claim or a pod, as the operator makes it, wakes its quorum."""
    kube, woken = WatchedKube(), asyncio.Event()
    kube.put(resource, body)

    class Waking(Loops):
        def wake(self, key: ObjectKey, *, create: bool, resource_version: str = "") -> None:
            assert (key, create, resource_version) == (ObjectKey(namespace=NAMESPACE, name=NAME), False, "")
            woken.set()

    async def connected(_: str, __: object) -> WatchedKube:
        return kube

    monkeypatch.setattr(handlers, "connect", connected)
    monkeypatch.setattr(handlers, "Loops", Waking)
    edge = Edge(Settings(namespaces=(NAMESPACE,), probe_port=0, metrics_port=0), cast("Recorder", Closed()))
    await edge.start()
    try:
        await asyncio.wait_for(woken.wait(), 10)
    finally:
        await edge.stop()


async def test_a_pool_that_is_applied_gets_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that the watch reports is woken as a resource of its own, with its version."""
    kube, woken = WatchedKube(), asyncio.Event()
    kube.put(POOLS, {"metadata": {"name": "p", "namespace": NAMESPACE, "uid": "u", "resourceVersion": "5"}})

    class Waking(Loops):
        def wake(self, key: ObjectKey, *, create: bool, resource_version: str = "") -> None:
            assert (key, create, bool(resource_version)) == (ObjectKey(namespace=NAMESPACE, name="p"), True, True)
            woken.set()

    async def connected(_: str, __: object) -> WatchedKube:
        return kube

    monkeypatch.setattr(handlers, "connect", connected)
    monkeypatch.setattr(handlers, "Loops", Waking)
    edge = Edge(Settings(namespaces=(NAMESPACE,), probe_port=0, metrics_port=0), cast("Recorder", Closed()))
    await edge.start()
    try:
        await asyncio.wait_for(woken.wait(), 10)
    finally:
        await edge.stop()


async def test_questions_are_watched_only_if_the_read_only_look_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the setting the operator has the tasks of the look, and its passes report to it; without, it has neither."""

    async def connected(_: str, __: object) -> WatchedKube:
        return WatchedKube()

    async def begun(*, introspection: bool) -> set[str]:
        settings = Settings(namespaces=(NAMESPACE,), probe_port=0, metrics_port=0, introspection=introspection)
        edge = Edge(settings, cast("Recorder", Closed()))
        await edge.start()
        try:
            assert (edge._introspection is not None) is introspection
            edge._acquired()
            return {task.get_name() for task in edge._tasks}
        finally:
            await edge.stop()

    monkeypatch.setattr(handlers, "connect", connected)
    more = await begun(introspection=True) - await begun(introspection=False)
    assert more == {"quorum looks", "plan questions", f"watch of plan questions {NAMESPACE}"}


@pytest.mark.parametrize("other", [False, True])
async def test_ages_begin_anew_only_after_another_operator_had_the_lease(
    monkeypatch: pytest.MonkeyPatch,
    other: bool,  # noqa: FBT001
) -> None:
    """A lease that lapses every few minutes must not hide for how long a change has been uncommitted."""

    async def connected(_: str, __: object) -> WatchedKube:
        return WatchedKube()

    monkeypatch.setattr(handlers, "connect", connected)
    edge = Edge(Settings(namespaces=(NAMESPACE,), probe_port=0, metrics_port=0), cast("Recorder", Closed()))
    cleared: list[bool] = []
    monkeypatch.setattr(edge._metrics, "acquired", lambda: cleared.append(other))
    await edge.start()
    try:
        assert edge._lease is not None
        edge._lease.succeeds = other
        cleared.clear()
        edge._acquired()
        assert cleared == [True] * other
    finally:
        await edge.stop()


async def test_a_term_of_the_lease_begins_as_a_start_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that stood by looks at everything in the first minute of its term: what follows is spread again."""

    async def connected(_: str, __: object) -> WatchedKube:
        return WatchedKube()

    monkeypatch.setattr(handlers, "connect", connected)
    edge = Edge(Settings(namespaces=(NAMESPACE,), probe_port=0, metrics_port=0), cast("Recorder", Closed()))
    await edge.start()
    try:
        quorums = cast("Reconciler", edge._served[QUORUMS.plural].loops._reconciler)
        term, now_s = quorums._glances._term, edge._clock.monotonic()
        assert term is quorums._materials._term
        term._began_s -= STARTING_S
        assert not term.began_lately(now_s)
        edge._acquired()
        assert term.began_lately(now_s)
    finally:
        await edge.stop()


async def test_metrics_are_served_and_fed_by_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A started operator serves its metrics; passes of all kinds, the API client and the Kafka clients feed them."""
    seen: list[object] = []
    ports: list[int] = []
    real = scraped.serve

    async def connected(_: str, note: Callable[[str, str, int | None, float], None]) -> WatchedKube:
        note("get", "pods", 200, 0.1)
        return WatchedKube()

    async def serving(port: int, scrape: Scrape) -> object:
        assert port == Settings().metrics_port
        server = await real(0, scrape)
        ports.append(server.port)
        return server

    class Feeding(Loops):
        def __init__(self, reconciler: Any) -> None:  # noqa: ANN401 - a reconciler of any kind
            super().__init__(reconciler)
            subscribers = reconciler._subscribers._subscribers
            seen.append([type(each).__name__ for each in subscribers if "Metrics" in type(each).__name__])

    monkeypatch.setattr(handlers, "connect", connected)
    monkeypatch.setattr(handlers, "Loops", Feeding)
    monkeypatch.setattr(scraped, "serve", serving)
    edge = Edge(Settings(namespaces=(NAMESPACE,), probe_port=0), cast("Recorder", Closed()))
    await edge.start()
    try:
        assert edge._controllers is not None
        edge._controllers._seen("DescribeQuorum", "answered", 0.1)  # type: ignore[misc]  # it has one
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{ports[0]}/metrics") as answer:
            text = await answer.text()
    finally:
        await edge.stop()
    assert seen == [["QuorumMetrics", "PassMetrics"], *[["ConditionMetrics", "PassMetrics"]] * 2]
    assert (
        'kafka_quorum_operator_kube_requests_total{code="200",resource="pods",verb="get"} 2.0' in text
    )  # the lease has a connection of its own
    assert 'kafka_quorum_operator_kafka_requests_total{request="DescribeQuorum",result="answered"} 1.0' in text
    for kind in ("KafkaQuorum", "KafkaBrokerPool", "KafkaStreamsApplication"):
        assert f'kafka_quorum_operator_resources{{kind="{kind}"}} 0.0' in text


@pytest.mark.parametrize("acting", [False, True])
async def test_a_standby_keeps_no_loop_of_a_resource_that_is_gone(*, acting: bool) -> None:
    """Passes without the lease look at nothing, so the search ends the loops of what it does not find any more."""

    async def idle(_: int) -> End:
        return End(requeue_s=3600.0)

    edge, clock, passes = edge_of(settings=Settings(namespaces=(NAMESPACE,))), SharedClock(), Passes(idle)
    edge._lease = lease_of(LeaseStore(), clock, "a")
    if acting:
        await edge._lease.step()
    loops = Loops(passes)
    edge._serve(cast("Any", WatchedKube()), QUORUMS, "kafkaquorum.io/quorum", loops)
    loops.wake(ObjectKey(namespace=NAMESPACE, name=NAME), create=True)  # a watch reports its deletion
    await passes.reach(1)
    for _ in range(2):
        await edge._served[QUORUMS.plural].sweep.once()
    assert (len(tuple(loops.keys())), len(passes.forgotten)) == ((1, 0) if acting else (0, 1))
    assert passes.changes == 1 + acting
    await loops.stop()


async def test_the_probe_reports_the_last_attempt_at_the_lease() -> None:
    """The probe has the age of the last attempt, fails when that is too old, and succeeds after the next attempt."""
    edge, clock = edge_of(), SharedClock()
    edge._lease = lease_of(LeaseStore(), clock, "a")
    server = await serve(0, edge.health)

    async def answer() -> tuple[int, float, list[str]]:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{server.port}/healthz") as said:
            body = await said.json()
            return said.status, body["leaseAttemptAgeSeconds"], body["faults"]

    try:
        clock.seconds = 40.0
        assert await answer() == (200, 40.0, [])
        clock.seconds = 46.0
        status, age_s, (fault,) = await answer()
        assert (status, age_s) == (503, 46.0)
        assert mentions(fault, 46)
        await edge._lease.step()
        clock.seconds = 47.0
        assert await answer() == (200, 1.0, [])
    finally:
        await server.close()


def test_an_edge_that_does_not_stand_still_is_healthy() -> None:
    """Before anything has started, the edge is healthy."""
    assert edge_of().health().faults == ()
