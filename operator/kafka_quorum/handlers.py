"""The only module that uses Kopf: watches that wake the loops. Kopf writes nothing on our resources.

Kopf neither retries nor persists `on.event` handlers, so they do nothing but wake (measured in `docs/`). Kopf never
restarts a watch that was refused once. So `sweep` searches for resources as well, and tasks of our own watch what
belongs to them. These tasks begin again after every error.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import kopf

from kafka_brokers.kind import POOLS
from kafka_brokers.model.names import LABEL_POOL
from kafka_brokers.reconcile import PoolReconciler
from kafka_brokers.resources.stored import RECORD_ROLE
from kafka_quorum import inventories
from kafka_quorum.introspection.service import Introspection
from kafka_quorum.kind import QUORUMS
from kafka_quorum.metrics.service import OperatorMetrics, Vitals
from kafka_quorum.model.names import FIELD_MANAGER, GROUP, LABEL_QUORUM, LABEL_ROLE
from kafka_quorum.observations.recorder import Recorder
from kafka_quorum.observe.brokers import BrokerEdges
from kafka_quorum.observe.zookeeper import KeeperEdges
from kafka_quorum.probe import Beat, Health, serve
from kafka_quorum.reconcile import Reconciler
from kafka_quorum.resources.contract import CONTRACT_ROLE
from kafka_quorum.settings import Settings
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.drivers import AgentDrivers
from kafka_quorum.wire.group_admin import KafkaGroups
from kafka_quorum.wire.running import ConfluentSettings
from kafka_quorum.wire.zookeeper import KazooZooKeepers
from kafka_streams.kind import APPLICATIONS
from kafka_streams.model.names import LABEL_APPLICATION
from kafka_streams.observe.gather import Edges
from kafka_streams.reconcile import ApplicationReconciler
from kit import memory
from kit.clock import SystemClock
from kit.ids import SystemIds
from kit.key import ObjectKey
from kit.kube.client import KubeClient, connect
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, SERVICES, Json, ResourceType
from kit.kube.watch import Watch
from kit.lease import Lease
from kit.loops import Loops
from kit.metrics import server as scraped
from kit.shard import share_of
from kit.supervise import supervised
from kit.sweep import Sweep
from kit.term import Term

_WATCHED: Final = (PODS, CLAIMS, CONFIG_MAPS, SERVICES)
"""What a resource cannot do without for two minutes: a deletion of one of these wakes the resource at once."""
_POOLS_KEPT: Final = 10_000
_BEAT_S: Final = 1.0
GRACE_S: Final = 8.0
"""How long a clean stop lets passes end: a request has 15 s, and the pod has 30 s to end."""
_LAST_LINES_S: Final = 8.0
"""How long an ending operator waits for its last observations to be stored."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A kind of resource that this operator serves. `label` is on its objects, and has the name of their resource."""

    resource: ResourceType
    label: str
    loops: Loops
    sweep: Sweep


class Edge:
    """What lives as long as the operator does."""

    def __init__(self, settings: Settings, observations: Recorder) -> None:
        """Nothing is opened before Kopf starts."""
        self.settings = settings
        self.failed = asyncio.Event()
        """Set when a task has ended that must not: the process ends, and Kubernetes starts it again."""
        self._observations = observations
        self._clock = SystemClock()
        self._term = Term(self._clock)
        self._kube: KubeClient | None = None
        self._lease_kube: KubeClient | None = None
        """Connections of the lease alone: its renewal must not wait behind the requests of a thousand quorums."""
        self._controllers: KafkaControllers | None = None
        self._served: dict[str, Served] = {}
        self._pools: dict[str, object] = {}
        """The generation of each pool, by uid, when a watch reported it last."""
        self._lease: Lease | None = None
        self._introspection: Introspection | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self._beat = Beat(last_s=self._clock.monotonic())
        self._metrics = OperatorMetrics(self._clock, self._acting, self._vitals)

    async def start(self) -> None:
        """Open the edges."""
        metrics = self._metrics
        self._kube = await connect(FIELD_MANAGER, metrics.kube_request)
        self._lease_kube = await connect(FIELD_MANAGER, metrics.kube_request)
        self._controllers = KafkaControllers(seen=metrics.kafka_request)
        running = ConfluentSettings()
        brokers, groups = KafkaBrokers(seen=metrics.kafka_request), KafkaGroups(seen=metrics.kafka_request)
        zookeepers, drivers = KazooZooKeepers(), AgentDrivers()
        self._closers += [running.close, brokers.close, groups.close, zookeepers.close]
        self._lease = Lease(
            self._lease_kube,
            self._clock,
            namespace=self.settings.lease_namespace,
            name=self.settings.lease_name,
            holder=self.settings.holder,
        )
        if self.settings.introspection:
            self._introspection = Introspection(self._kube, self._clock, self.settings, self._lease.held)
        quorums = Reconciler(
            kube=share_of(self._kube, QUORUMS, self.settings.selector),
            controllers=self._controllers,
            clock=self._clock,
            ids=SystemIds(),
            settings=self.settings,
            may_act=self._lease.held,
            subscribers=(
                self._observations,
                *(self._introspection.subscribers if self._introspection else ()),
                *metrics.quorums,
            ),
            unchanged=metrics.unchanged,
            term=self._term,
            brokers=BrokerEdges(running=running, brokers=brokers),
            keepers=KeeperEdges(zookeepers=zookeepers, drivers=drivers, brokers=brokers),
        )
        pools = PoolReconciler(
            kube=share_of(self._kube, POOLS, self.settings.selector),
            brokers=brokers,
            clock=self._clock,
            ids=SystemIds(),
            settings=self.settings,
            may_act=self._lease.held,
            subscribers=metrics.pools,
        )
        applications = ApplicationReconciler(
            kube=share_of(self._kube, APPLICATIONS, self.settings.selector),
            edges=Edges(groups=groups, versions=brokers),
            clock=self._clock,
            ids=SystemIds(),
            settings=self.settings,
            may_act=self._lease.held,
            subscribers=metrics.applications,
        )
        self._serve(self._kube, QUORUMS, LABEL_QUORUM, Loops(quorums))
        self._serve(self._kube, POOLS, LABEL_POOL, Loops(pools))
        self._serve(self._kube, APPLICATIONS, LABEL_APPLICATION, Loops(applications))
        self._closers.append((await serve(self.settings.probe_port, self.health)).close)
        if self.settings.metrics_port:
            self._closers.append((await scraped.serve(self.settings.metrics_port, metrics.scrape)).close)
        self._begin("heartbeat", self._beats)
        self._begin("lease", partial(self._lease.keep, self._acquired))
        for name, work in self._introspection.tasks() if self._introspection else ():
            self._begin(name, work)
        # Kopf ends if it may not watch a kind, as before the rights of an upgrade are granted: these are watched here.
        for kind in (POOLS, APPLICATIONS):
            for namespace in self.settings.namespaces or ("",):
                watch = Watch(self._kube, kind, namespace, "")
                self._begin(
                    f"watch of {kind.plural} {namespace}".rstrip(), partial(watch.follow, partial(self.own, kind))
                )
        namespaces = self.settings.namespaces
        keep = partial(inventories.keep, self._kube, self._clock, quorums.objects, namespaces, self._acting)
        self._begin("inventory", keep)
        self._begin("memory", memory.keep_small)
        for one in self._served.values():
            self._begin(f"sweep of {one.resource.plural}", one.sweep.keep)
            for namespace in self.settings.namespaces or ("",):
                for resource in _WATCHED:
                    watch = Watch(self._kube, resource, namespace, one.label)
                    name = f"watch of {resource.plural} of {one.resource.plural} {namespace}".rstrip()
                    self._begin(name, partial(watch.follow, partial(self._part, one, resource)))
        logger.info("watching %s%s", ", ".join(self.settings.namespaces) or "all namespaces", self._share)

    def _serve(self, kube: KubeClient, resource: ResourceType, label: str, loops: Loops) -> None:
        """Prepare the loops and the search for a kind of resource."""

        def found(key: ObjectKey) -> None:
            loops.wake(key, create=True)
            if resource == POOLS:  # one that came, changed or went, and that no watch may have reported
                self._beside(QUORUMS, key.namespace)

        def lost(key: ObjectKey) -> None:
            if self._acting():
                found(key)  # its pass finds out why
            else:
                loops.drop(key)

        namespaces, selector = self.settings.namespaces, self.settings.selector
        sweep = Sweep(kube, self._clock, resource, namespaces, loops.keys, found, selector, lost)
        self._served[resource.plural] = Served(resource=resource, label=label, loops=loops, sweep=sweep)

    def _begin(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.create_task(supervised(name, work), name=name)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled():
            said, why = "Task %r has ended, although it must not: this process ends", task.exception()
            logger.critical(said, task.get_name(), exc_info=why)
            self.failed.set()

    async def stop(self) -> None:
        """Stop the loops, release the lease, close the edges. If a step fails, the next ones still run."""
        for step in (self._end_loops, self._end_tasks, self._release, self._close):
            try:
                await step()
            except Exception:
                logger.exception("a fault of this operator occurred while it stopped")
        await asyncio.to_thread(self._observations.close, _LAST_LINES_S)

    async def _end_loops(self) -> None:
        await asyncio.gather(*(one.loops.stop(grace_s=GRACE_S) for one in self._served.values()))

    async def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _release(self) -> None:
        if self._lease is not None:
            await self._lease.release()

    async def _close(self) -> None:
        for close in self._closers:
            await close()
        if self._controllers is not None:
            await self._controllers.close()
        for kube in (self._kube, self._lease_kube):
            if kube is not None:
                await kube.close()

    @property
    def _share(self) -> str:
        """What is served there, for the log; empty for everything."""
        text = self.settings.selector.text
        return f", resources with labels {text}" if text else ""

    def wake(self, resource: ResourceType, key: ObjectKey, *, create: bool, resource_version: str = "") -> None:
        """Pass on an event of a watch."""
        one = self._served.get(resource.plural)
        if one is not None:
            one.loops.wake(key, create=create, resource_version=resource_version)

    def _acquired(self) -> None:
        """The lease is held from now on."""
        self._term.begin()
        if self._introspection is not None:
            self._introspection.acquired()
        anew = self._lease is None or self._lease.succeeds
        if anew:
            self._metrics.acquired()
        for one in self._served.values():
            one.loops.wake_all(anew=anew)

    def own(self, kind: ResourceType, metadata: Mapping[str, Any]) -> None:
        """Wake a resource of this kind that was created, changed or deleted.

        One that is not selected gets no loop. If it has one, its next pass finds that it is not served any more.
        """
        key = ObjectKey(namespace=str(metadata.get("namespace", "")), name=str(metadata.get("name", "")))
        selected = self.settings.selector.selects(metadata.get("labels"))
        self.wake(kind, key, create=selected, resource_version=str(metadata.get("resourceVersion", "")))
        if kind == POOLS and self._is_news(metadata):
            self._beside(QUORUMS, key.namespace)

    def _is_news(self, pool: Mapping[str, Any]) -> bool:
        """Whether the spec of a pool is new, or it goes: a write of its status concerns no quorum."""
        uid, generation = str(pool.get("uid", "")), pool.get("generation")
        if "deletionTimestamp" in pool:
            self._pools.pop(uid, None)
            return True
        if len(self._pools) >= _POOLS_KEPT:  # of some a watch missed the end
            self._pools.clear()
        before, self._pools[uid] = self._pools.get(uid), generation
        return before != generation

    def _beside(self, kind: ResourceType, namespace: str) -> None:
        """Wake every resource of this kind in a namespace."""
        for key in self._served[kind.plural].loops.keys():  # noqa: SIM118 - not a dictionary
            if key.namespace == namespace:
                self.wake(kind, key, create=False)

    def _part(self, one: Served, resource: ResourceType, metadata: Json) -> None:
        """Wake the resource of an object that was created, changed or deleted.

        A contract wakes the pools beside it, and the record of a pool the quorums: their certificates follow it.
        """
        labels = metadata.get("labels") or {}
        name, namespace = labels.get(one.label), str(metadata.get("namespace", ""))
        if isinstance(name, str) and name:
            self.wake(one.resource, ObjectKey(namespace=namespace, name=name), create=False)
        if labels.get(LABEL_ROLE) == CONTRACT_ROLE:
            self._beside(POOLS, namespace)
        if one.resource == POOLS and resource == CONFIG_MAPS and labels.get(LABEL_ROLE) == RECORD_ROLE:
            self._beside(QUORUMS, namespace)

    async def _beats(self) -> None:
        while True:
            await asyncio.sleep(_BEAT_S)
            self._beat.beat(self._clock.monotonic(), _BEAT_S)

    def _acting(self) -> bool:
        """Whether this operator holds the lease."""
        return self._lease is not None and self._lease.held()

    def _vitals(self) -> Vitals:
        """The state of this process, for its metrics."""
        loops = {one.resource.kind: one.loops for one in self._served.values()}
        return Vitals(
            acting=self._acting(),
            loop_lag_s=self._beat.lag_s,
            resources={kind: len(tuple(each.keys())) for kind, each in loops.items()},
            queue_age_s={kind: each.longest_wait_s() for kind, each in loops.items()},
        )

    def health(self) -> Health:
        """The state of this process, for the probe. Ready and alive are the same: a standby is both."""
        now_s = self._clock.monotonic()
        return Health(
            acting=self._acting(),
            quorums=sum(len(tuple(one.loops.keys())) for one in self._served.values()),
            lease_attempt_age_s=0.0 if self._lease is None else self._lease.attempt_age_s,
            longest_pass_s=max((one.loops.longest_pass_s() for one in self._served.values()), default=0.0),
            sweep_age_s=max((one.sweep.age_s for one in self._served.values()), default=0.0),
            beat_age_s=now_s - self._beat.last_s,
            worst_lag_s=self._beat.lag_s,
        )


def registry(edge: Edge) -> kopf.OperatorRegistry:
    """Every handler of the operator."""
    handlers = kopf.OperatorRegistry()

    @kopf.on.startup(registry=handlers)
    async def start(settings: kopf.OperatorSettings, **_: object) -> None:
        configure(settings)
        await edge.start()

    @kopf.on.login(registry=handlers)
    def login(**kwargs: Any) -> kopf.ConnectionInfo | None:  # noqa: ANN401 - passed on to Kopf as it came
        return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)

    @kopf.on.cleanup(registry=handlers)
    async def stop(**_: object) -> None:
        await edge.stop()

    @kopf.on.event(GROUP, "v1alpha1", "kafkaquorums", registry=handlers)
    async def quorum(meta: kopf.Meta, **_: object) -> None:
        edge.own(QUORUMS, meta)

    return handlers


def configure(settings: kopf.OperatorSettings) -> None:
    """No traces on resources, no peering, no posting of events, and quick reconnects (10 s by default otherwise)."""
    settings.persistence.finalizer = f"{GROUP}/unused-by-this-operator"
    settings.peering.standalone = True
    settings.posting.enabled = False
    settings.networking.error_backoffs = (0.2, 0.5, 1, 1, *([2] * 60))
    settings.watching.server_timeout = 300
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)


async def run(settings: Settings, observations: Recorder) -> bool:
    """Run until the process receives a signal to stop; False if it ends because a task ended that must not."""
    edge = Edge(settings, observations)
    await kopf.operator(
        registry=registry(edge),
        standalone=True,
        # Without an identity, Kopf looks up the name of the user that runs it; in the image the user has no name.
        identity=settings.holder,  # type: ignore[arg-type]  # a str, by a name that Kopf does not export
        namespaces=settings.namespaces,
        clusterwide=not settings.namespaces,
        stop_flag=edge.failed,
    )
    await asyncio.sleep(0)
    return not edge.failed.is_set()
