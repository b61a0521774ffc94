"""The only module that uses Kopf: watches that wake the loops. Kopf writes nothing on our resources.

Kopf neither retries nor persists `on.event` handlers, so they do nothing but wake (measured in `docs/`). Kopf never
restarts a watch that was refused once. So `sweep` searches for quorums as well, and tasks of our own watch what belongs
to them. These tasks begin again after every error.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import kopf

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.names import FIELD_MANAGER, GROUP, LABEL_QUORUM
from kafka_quorum.observations.recorder import Recorder
from kafka_quorum.observe.brokers import BrokerEdges
from kafka_quorum.probe import Beat, Health, serve
from kafka_quorum.reconcile import Reconciler
from kafka_quorum.settings import Settings
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.running import ConfluentSettings
from kit.clock import SystemClock
from kit.ids import SystemIds
from kit.key import ObjectKey
from kit.kube.client import KubeClient, connect
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, SERVICES, Json
from kit.kube.watch import Watch
from kit.lease import Lease
from kit.loops import Loops
from kit.supervise import supervised
from kit.sweep import Sweep

_WATCHED: Final = (PODS, CLAIMS, CONFIG_MAPS, SERVICES)
"""What a quorum cannot do without for two minutes: a deletion of one of these wakes the quorum at once."""
_BEAT_S: Final = 1.0
GRACE_S: Final = 8.0
"""How long a clean stop lets passes end: a request has 15 s, and the pod has 30 s to end."""
_LAST_LINES_S: Final = 8.0
"""How long an ending operator waits for its last observations to be stored."""
logger = logging.getLogger(__name__)


class Edge:
    """What lives as long as the operator does."""

    def __init__(self, settings: Settings, observations: Recorder) -> None:
        """Nothing is opened before Kopf starts."""
        self.settings = settings
        self.failed = asyncio.Event()
        """Set when a task has ended that must not: the process ends, and Kubernetes starts it again."""
        self._observations = observations
        self._clock = SystemClock()
        self._kube: KubeClient | None = None
        self._controllers: KafkaControllers | None = None
        self._loops: Loops | None = None
        self._lease: Lease | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self._beat = Beat(last_s=self._clock.monotonic())
        self._sweep: Sweep | None = None

    async def start(self) -> None:
        """Open the edges."""
        self._kube = await connect(FIELD_MANAGER)
        self._controllers = KafkaControllers()
        self._running, self._brokers = ConfluentSettings(), KafkaBrokers()
        self._closers += [self._running.close, self._brokers.close]
        self._lease = Lease(
            self._kube,
            self._clock,
            namespace=self.settings.lease_namespace,
            name=self.settings.lease_name,
            holder=self.settings.holder,
        )
        reconciler = Reconciler(
            kube=self._kube,
            controllers=self._controllers,
            clock=self._clock,
            ids=SystemIds(),
            settings=self.settings,
            may_act=self._lease.held,
            subscribers=(self._observations,),
            brokers=BrokerEdges(running=self._running, brokers=self._brokers),
        )
        self._loops = Loops(reconciler)
        self._closers.append((await serve(self.settings.probe_port, self.health)).close)
        self._begin("heartbeat", self._beats)
        self._begin("lease", partial(self._lease.keep, self._loops.wake_all))
        self._sweep = Sweep(self._kube, self._clock, QUORUMS, self.settings.namespaces, self._loops.keys, self._found)
        self._begin("sweep", self._sweep.keep)
        for namespace in self.settings.namespaces or ("",):
            for resource in _WATCHED:
                watch = Watch(self._kube, resource, namespace, LABEL_QUORUM)
                self._begin(f"watch of {resource.plural} {namespace}".rstrip(), partial(watch.follow, self._part))
        logger.info("watching %s", ", ".join(self.settings.namespaces) or "all namespaces")

    def _begin(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.create_task(supervised(name, work), name=name)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled():
            logger.critical("Task %r has ended, although it must not: this process ends", task.get_name())
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
        if self._loops is not None:
            await self._loops.stop(grace_s=GRACE_S)

    async def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _release(self) -> None:
        if self._lease is not None:
            await self._lease.release()

    async def _close(self) -> None:
        for close in self._closers:
            await close()
        if self._controllers is not None:
            await self._controllers.close()
        if self._kube is not None:
            await self._kube.close()

    def wake(self, key: ObjectKey, *, create: bool, resource_version: str = "") -> None:
        """Pass on an event of a watch."""
        if self._loops is not None:
            self._loops.wake(key, create=create, resource_version=resource_version)

    def _found(self, key: ObjectKey) -> None:
        self.wake(key, create=True)

    def _part(self, metadata: Json) -> None:
        """Wake the quorum of an object that was created, changed or deleted."""
        name = (metadata.get("labels") or {}).get(LABEL_QUORUM)
        if isinstance(name, str) and name:
            self.wake(ObjectKey(namespace=str(metadata.get("namespace", "")), name=name), create=False)

    async def _beats(self) -> None:
        while True:
            await asyncio.sleep(_BEAT_S)
            self._beat.beat(self._clock.monotonic(), _BEAT_S)

    def health(self) -> Health:
        """The state of this process, for the probe. Ready and alive are the same: a standby is both."""
        now_s = self._clock.monotonic()
        return Health(
            acting=self._lease is not None and self._lease.held(),
            quorums=0 if self._loops is None else len(tuple(self._loops.keys())),
            lease_attempt_age_s=0.0 if self._lease is None else self._lease.attempt_age_s,
            longest_pass_s=0.0 if self._loops is None else self._loops.longest_pass_s(),
            sweep_age_s=0.0 if self._sweep is None else self._sweep.age_s,
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
    async def quorum(namespace: str | None, name: str | None, meta: kopf.Meta, **_: object) -> None:
        key = ObjectKey(namespace=namespace or "", name=name or "")
        edge.wake(key, create=True, resource_version=str(meta.get("resourceVersion", "")))

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
