"""A cluster without Kubernetes: the simulation's API server, real Kafka processes, and the operator's own loops.

The operator is the real one from its loops down, with its own client to Kafka and the machine's clock. Only the API
server is the model; a minimal scheduler and a minimal claim controller are added for the pods.
"""

import asyncio
import contextlib
import logging
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from tests.live.containers import Runtime
from tests.live.jars import Kafka
from tests.live.kubelet import LiveKubelet, empty
from tests.live.process import ServerProcess
from tests.live.recorder import Recorder
from tests.live.storage import read_properties
from tests.live.waiting import NeverHappenedError, wait_for
from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.api import ModelKube
from tests.simulation.model.kubernetes.kube_model import KubeModel, Written, claims_of

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.names import LABEL_NODE, LABEL_QUORUM
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.quorum import QuorumAnswer
from kafka_quorum.reconcile import Reconciler
from kafka_quorum.resources.properties import DATA_PATH, LOG_DIR
from kafka_quorum.settings import Settings
from kafka_quorum.wire.admin import KafkaControllers
from kit.clock import SystemClock
from kit.ids import SystemIds
from kit.key import ObjectKey
from kit.kube.protocol import CLAIMS, NODES, PODS, Json
from kit.loops import Loops
from kit.report.report import Subscriber

NAMESPACE: Final = "kafka"
NAME: Final = "demo"
KEY: Final = ObjectKey(namespace=NAMESPACE, name=NAME)
NODE_NAMES: Final = ("node-a", "node-b", "node-c", "node-d", "node-e")
SETTLED_S: Final = 90.0
_PLAIN: Final[Json] = {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"}
"""Generous: a change takes seconds on an idle machine, and every server that starts takes a share of it."""
_LOOPS: Final = "kit.loops"
_STOP_S: Final = 20.0
_TICK_S: Final = 0.05
T = TypeVar("T")


class RunningClock(VirtualClock):
    """The machine's clock, for the API server's stamps; only models that control their time need `advance`."""

    def now(self) -> datetime:
        """Wall time in UTC."""
        return datetime.now(tz=UTC)

    def monotonic(self) -> float:
        """Seconds since a fixed moment."""
        return time.monotonic()


class _Faults(logging.Handler):
    """The operator's own faults: passes that ended with an unexpected exception."""

    def __init__(self) -> None:
        super().__init__(level=logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(self.format(record))


class LiveCluster:
    """One quorum, its operator, and its environment. `close` ends every process."""

    def __init__(
        self, kafka: Kafka, directory: Path, witness: Subscriber[Observed] | None = None, others: tuple[Kafka, ...] = ()
    ) -> None:
        """Starts with Kubernetes nodes only. `witness` gets the operator's looks; `others` are further releases."""
        self._witness = witness
        self._clock = RunningClock()
        self.kube = KubeModel(self._clock)
        self.kubelet = LiveKubelet(self.kube, self._clock, Runtime(releases=(kafka, *others), directory=directory))
        self.recorder = Recorder(lambda: self.kubelet.endpoints)
        self._controllers = KafkaControllers()
        self._loops: Loops | None = None
        self._moving: asyncio.Task[None] | None = None
        self._faults = _Faults()
        for name in NODE_NAMES:
            ready = {"conditions": [{"type": "Ready", "status": "True"}]}
            self.kube.create(NODES, "", {"metadata": {"name": name}, "status": ready})
        self.kube.watchers.append(self._watch)

    async def open(self) -> None:
        """Starts the environment and the operator."""
        logging.getLogger(_LOOPS).addHandler(self._faults)
        self.recorder.start()
        self._moving = asyncio.create_task(self._move())
        self.start_operator()

    async def close(self) -> None:
        """Ends everything."""
        try:
            await self.stop_operator()
        finally:
            if self._moving is not None:
                self._moving.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._moving
            self.recorder.stop()
            self.kubelet.close()
            logging.getLogger(_LOOPS).removeHandler(self._faults)
            await self._controllers.close()

    # The operator

    def start_operator(self) -> None:
        """Starts a new operator without memory."""
        reconciler = Reconciler(
            kube=ModelKube(self.kube),
            controllers=self._controllers,
            clock=SystemClock(),
            ids=SystemIds(),
            settings=Settings(holder="live"),
            subscribers=() if self._witness is None else (self._witness,),
        )
        self._loops = Loops(reconciler)
        if self.kube.get(QUORUMS, NAMESPACE, NAME) is not None:
            self._loops.wake(KEY, create=True)

    async def stop_operator(self) -> None:
        """Ends the operator at any point: a request that it waits for may still be carried out."""
        if self._loops is not None:
            stopping = asyncio.create_task(self._loops.stop())
            self._loops = None
            ended, _ = await asyncio.wait({stopping}, timeout=_STOP_S)
            stopping.cancel()
            assert ended, f"the operator was told to stop, and still ran {_STOP_S:g} s later"

    def _watch(self, written: Written) -> None:
        ours = written.key[0] == QUORUMS.plural
        if self._loops is not None and (ours or written.labels.get(LABEL_QUORUM) == NAME):
            self._loops.wake(KEY, create=ours)

    # Actions of a person

    def apply(self, spec: Json) -> None:
        """Creates the resource, or changes its spec. Without TLS unless asked for: no pod mounts a Secret."""
        controllers = {"listeners": [_PLAIN], **spec.get("controllers", {})}
        body = {"metadata": {"name": NAME}, "spec": {**spec, "controllers": controllers}}
        if self.kube.get(QUORUMS, NAMESPACE, NAME) is None:
            self.kube.create(QUORUMS, NAMESPACE, body)
        else:
            self.kube.patch(QUORUMS, NAMESPACE, NAME, {"spec": spec})

    def process(self, node_id: int) -> ServerProcess:
        """The running Kafka process of this node id."""
        process = self.kubelet.of_node(node_id).process
        if process is None:
            raise LookupError(f"controller {node_id} does not run")
        return process

    def lose_disk(self, node_id: int) -> None:
        """Kafka is killed, and its volume is emptied."""
        sandbox = self.kubelet.of_node(node_id)
        if sandbox.process is not None:
            sandbox.process.kill()
        empty(sandbox.volume)

    # What can be observed

    @property
    def resource(self) -> Json:
        """The resource as it is stored."""
        body = self.kube.get(QUORUMS, NAMESPACE, NAME)
        assert body is not None
        return body

    def condition(self, kind: str) -> Json:
        """A condition of the resource, empty if there is none."""
        rows = (self.resource.get("status") or {}).get("conditions") or []
        return next((row for row in rows if row["type"] == kind), {})

    @property
    def operation(self) -> Json:
        """The open voter change, empty if there is none."""
        return dict((self.resource.get("status") or {}).get("operation") or {})

    @property
    def claimed(self) -> set[int]:
        """The controllers that have a claim."""
        return {int(claim["metadata"]["labels"][LABEL_NODE]) for claim in self.kube.all(CLAIMS)}

    def key(self, node_id: int) -> ReplicaKey:
        """The replica key on a controller's disk."""
        volume = self.kubelet.of_node(node_id).volume
        meta = read_properties(volume / LOG_DIR.removeprefix(f"{DATA_PATH}/") / "meta.properties")
        return ReplicaKey(node_id=NodeID(int(meta["node.id"])), directory_id=DirectoryID(meta["directory.id"]))

    async def look(self) -> QuorumAnswer | None:
        """The leader's answer, if there is one."""
        return await self.recorder.look()

    async def ready(self, node_ids: set[int]) -> QuorumAnswer:
        """Waits until the resource is Ready with exactly these controllers, and Kafka agrees."""

        async def settled() -> QuorumAnswer | None:
            assert not self._faults.told, self._faults.told[0]
            row, generation = self.condition("Ready"), self.resource["metadata"]["generation"]
            if row.get("status") != "True" or row.get("observedGeneration") != generation or self.operation:
                return None
            answer = await self.look()
            voters = set() if answer is None else {int(replica.key.node_id) for replica in answer.voters}
            return answer if voters == node_ids else None

        try:
            return await wait_for(f"Ready with {sorted(node_ids)}", settled, deadline_s=SETTLED_S)
        except NeverHappenedError as error:
            raise NeverHappenedError(f"{error}; {self.told()}") from error

    def told(self) -> str:
        """The state of the resource and the pods, for the search for a cause."""
        status: dict[str, Any] = self.resource.get("status") or {}
        conditions = [f"{row['type']}={row['status']} {row['message']}" for row in status.get("conditions") or []]
        pods = [f"{pod['metadata']['name']} {pod['status']}" for pod in self.kube.all(PODS)]
        return "; ".join((*conditions, f"operation {self.operation}", *pods))

    # The rest of the cluster

    async def _move(self) -> None:
        began_s = time.monotonic()
        while True:
            self._clock.elapsed_s = time.monotonic() - began_s
            self._schedule()
            self.kubelet.tick()
            for claim in self.kube.finish_claims():
                shutil.rmtree(self.kubelet.volume(claim["metadata"]["uid"]), ignore_errors=True)
            await asyncio.sleep(_TICK_S)

    def _schedule(self) -> None:
        for pod in self.kube.all(PODS):
            if pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
                continue
            namespace, name = pod["metadata"]["namespace"], claims_of(pod)[0]
            claim = self.kube.get(CLAIMS, namespace, name)
            if claim is None or "deletionTimestamp" in claim["metadata"]:
                continue
            bound = claim["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node", "")
            if not bound:
                bound = self._free_node()
                noted = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": bound}}}
                self.kube.put_status(CLAIMS, self.kube.patch(CLAIMS, namespace, name, noted), {"phase": "Bound"})
            self.kube.assign(namespace, pod["metadata"]["name"], bound)

    def _free_node(self) -> str:
        taken = [
            claim["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node", "")
            for claim in self.kube.all(CLAIMS)
        ]
        return min(NODE_NAMES, key=taken.count)
