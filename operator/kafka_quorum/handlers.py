"""Kopf at the edge, and only here: watches that wake the loops. Kopf writes nothing on our resources.

`on.event` handlers are neither retried nor persisted by Kopf, so they do nothing but wake (measured in `docs/`).
"""

import asyncio
import contextlib
import logging
from typing import Any

import kopf

from kafka_quorum.kube.client import KubeClient, connect
from kafka_quorum.lease import Lease
from kafka_quorum.loops import Loops
from kafka_quorum.model.names import GROUP, LABEL_QUORUM
from kafka_quorum.observations.recorder import Recorder
from kafka_quorum.reconcile import QuorumKey, Reconciler
from kafka_quorum.settings import Settings, SystemClock, SystemIds
from kafka_quorum.wire.admin import KafkaControllers

_OURS = {LABEL_QUORUM: kopf.PRESENT}
_LAST_LINES_S = 8.0
"""How long an ending operator waits for its last observations to be stored."""
logger = logging.getLogger(__name__)


class Edge:
    """What lives as long as the operator does."""

    def __init__(self, settings: Settings, observations: Recorder) -> None:
        """Nothing is opened before Kopf starts."""
        self.settings = settings
        self._observations = observations
        self._kube: KubeClient | None = None
        self._controllers: KafkaControllers | None = None
        self._loops: Loops | None = None
        self._lease: Lease | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the edges."""
        self._kube = await connect()
        self._controllers = KafkaControllers()
        self._lease = Lease(self._kube, SystemClock(), self.settings)
        reconciler = Reconciler(
            kube=self._kube,
            controllers=self._controllers,
            clock=SystemClock(),
            ids=SystemIds(),
            settings=self.settings,
            may_act=self._lease.held,
            witness=self._observations,
        )
        self._loops = Loops(reconciler)
        self._keeping = asyncio.create_task(self._lease.keep(self._loops.wake_all), name="lease")
        logger.info("watching %s", ", ".join(self.settings.namespaces) or "all namespaces")

    async def stop(self) -> None:
        """Stop the loops, give up the lease, then close the edges."""
        if self._loops is not None:
            await self._loops.stop()
        if self._keeping is not None:
            self._keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeping
        if self._lease is not None:
            await self._lease.release()
        if self._controllers is not None:
            await self._controllers.close()
        if self._kube is not None:
            await self._kube.close()
        await asyncio.to_thread(self._observations.close, _LAST_LINES_S)

    def wake(self, key: QuorumKey, *, create: bool, resource_version: str = "") -> None:
        """Pass on what a watch said."""
        if self._loops is not None:
            self._loops.wake(key, create=create, resource_version=resource_version)

    def quorums(self) -> int:
        """How many quorums have a loop."""
        return 0 if self._loops is None else len(tuple(self._loops.keys()))


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
        key = QuorumKey(namespace=namespace or "", name=name or "")
        edge.wake(key, create=True, resource_version=str(meta.get("resourceVersion", "")))

    async def part(namespace: str | None, labels: kopf.Labels, **_: object) -> None:
        edge.wake(QuorumKey(namespace=namespace or "", name=labels[LABEL_QUORUM]), create=False)

    # Kopf filters labels on its own side, so each watch brings every such object of the cluster here. Only what changes
    # while a quorum is at work is watched; a lost service or config map is found by the resync, and by passes that act.
    for plural in ("pods", "persistentvolumeclaims"):
        kopf.on.event("", "v1", plural, labels=_OURS, id=f"wake-{plural}", registry=handlers)(part)

    @kopf.on.probe(id="quorums", registry=handlers)
    async def quorums(**_: object) -> int:
        return edge.quorums()

    return handlers


def configure(settings: kopf.OperatorSettings) -> None:
    """No traces on resources, no peering, no posting of events, and quick reconnects (10 s by default otherwise)."""
    settings.persistence.finalizer = f"{GROUP}/unused-by-this-operator"
    settings.peering.standalone = True
    settings.posting.enabled = False
    settings.networking.error_backoffs = (0.2, 0.5, 1, 1, *([2] * 60))
    settings.watching.server_timeout = 300
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)


async def run(settings: Settings, observations: Recorder) -> None:
    """Run until the process is told to stop."""
    edge = Edge(settings, observations)
    await kopf.operator(
        registry=registry(edge),
        standalone=True,
        # Kopf would otherwise ask who runs it, and in the image nobody has a name.
        identity=settings.holder,  # type: ignore[arg-type]  # a str, by a name that Kopf does not export
        namespaces=settings.namespaces,
        clusterwide=not settings.namespaces,
        liveness_endpoint=f"http://0.0.0.0:{settings.probe_port}/healthz",
    )
    await asyncio.sleep(0)
