"""The watchers of a storm: every version of the resource and of the record, every answer of every controller.

Each is one thread, reports to the checker, and begins again when its connection ends.
"""

import asyncio
import json
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from demo import NAMESPACE
from harness import operator
from harness.controllers import ControllerAccess
from harness.quorum import GROUP, Quorum
from harness.shell import CommandFailed, Json
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.connection import Limits
from storm.checker import Checker

_PAUSE_S: Final = 0.5
_LOGS_PAUSE_S: Final = 2.0
_QUICK: Final = Limits(connect_timeout_s=0.5, request_timeout_s=1.0)
_CLUSTER_EVERY: Final = 10
_JOIN_S: Final = 10.0


@dataclass(slots=True)
class Eyes:
    """Between enter and exit. What was seen is also written to files in `where`."""

    quorum: Quorum
    checker: Checker
    where: Path
    _pods: dict[str, Json] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _running: set[subprocess.Popen[str]] = field(default_factory=set)
    _access: ControllerAccess = field(init=False)

    def __post_init__(self) -> None:
        """How the controllers are reached."""
        self._access = ControllerAccess(self.quorum.namespace, self.quorum.name)

    def __enter__(self) -> Self:
        """Begin to watch."""
        controllers = f"{GROUP}/quorum={self.quorum.name},{GROUP}/role=controller"
        looks: tuple[Callable[[], None], ...] = (
            lambda: self._watch("kq", self.quorum.name, self._see_resource),
            lambda: self._watch("configmap", f"{self.quorum.name}-identity", self._see_record),
            lambda: self._watch("pods", ("-l", controllers), self._see_pod),
            lambda: asyncio.run(self._ask()),
            self._follow_operators,
        )
        for look in looks:
            thread = threading.Thread(target=look, daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    @property
    def blind(self) -> int:
        """How many of the threads have ended too early: their objects are no longer watched."""
        return sum(not thread.is_alive() for thread in self._threads)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._stopped.set()
        with self._lock:
            for process in self._running:
                process.terminate()
        for thread in self._threads:
            thread.join(_JOIN_S)

    # --- Kubernetes ---------------------------------------------------------------------------------------------------

    def _watch(self, kind: str, which: str | tuple[str, ...], see: Callable[[str, Json], None]) -> None:
        chosen = which if isinstance(which, tuple) else ("--field-selector", f"metadata.name={which}")
        where = ("kubectl", "-n", self.quorum.namespace, "get", kind, *chosen)
        while not self._stopped.is_set():  # the API server ends a watch now and then
            with self._process(*where, "--watch", "--output-watch-events", "-o", "json") as process:
                assert process.stdout is not None
                for line in process.stdout:  # an event a line
                    if not line.endswith("\n"):
                        break  # the rest of it never arrived
                    event = json.loads(line)
                    see(event["type"], event["object"])
                self._ended(process)
            self._stopped.wait(_PAUSE_S)

    def _process(self, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        with self._lock:
            self._running.add(process)
        if self._stopped.is_set():
            process.terminate()
        return process

    def _ended(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            self._running.discard(process)

    def _see_resource(self, event: str, resource: Json) -> None:
        if event in ("ADDED", "MODIFIED"):
            resource["metadata"].pop("managedFields", None)
            self.checker.saw_resource(resource)
            self._keep("statuses", {"at": _now(), **resource.get("status", {})})

    def _see_record(self, event: str, config_map: Json) -> None:
        if event in ("ADDED", "MODIFIED"):
            record = json.loads(config_map["data"]["record.json"])
            self.checker.saw_record(record)
            self._keep("records", {"at": _now(), **record})

    def _see_pod(self, event: str, pod: Json) -> None:
        with self._lock:
            if event == "DELETED":
                self._pods.pop(pod["metadata"]["uid"], None)
            else:
                self._pods[pod["metadata"]["uid"]] = pod
        metadata, status = pod["metadata"], pod.get("status", {})
        row = {"at": _now(), "event": event, "name": metadata["name"], "uid": metadata["uid"]}
        containers = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
        row |= {"deleting": "deletionTimestamp" in metadata, "node": pod["spec"].get("nodeName")}
        row |= {"states": {one["name"]: one.get("state") for one in containers}, "phase": status.get("phase")}
        self._keep("pods", row)

    def _keep(self, name: str, row: Json) -> None:
        with self._lock, (self.where / f"{name}.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")

    # --- Kafka --------------------------------------------------------------------------------------------------------

    async def _ask(self) -> None:
        controllers, looks = KafkaControllers(limits=_QUICK), 0
        while not self._stopped.is_set():
            endpoints = self._endpoints()
            await asyncio.gather(*(self._ask_one(controllers, endpoint) for endpoint in endpoints))
            if looks % _CLUSTER_EVERY == 0:
                await asyncio.gather(*(self._ask_cluster(controllers, endpoint) for endpoint in endpoints))
            looks += 1
            await asyncio.sleep(_PAUSE_S)
        await controllers.close()

    def _endpoints(self) -> list[Endpoint]:
        with self._lock:
            pods = list(self._pods.values())
        found = (self._access.endpoint(pod) for pod in pods)
        return [each for each in found if each is not None]

    async def _ask_one(self, controllers: KafkaControllers, endpoint: Endpoint) -> None:
        try:
            answer = await controllers.describe_quorum(endpoint)
        except KafkaError:
            return
        if answer.leader_epoch not in self.checker.leaders:
            self._keep("leaders", {"at": _now(), "epoch": answer.leader_epoch, "leader": answer.leader_id})
        self.checker.saw_answer(answer)

    async def _ask_cluster(self, controllers: KafkaControllers, endpoint: Endpoint) -> None:
        try:
            answer = await controllers.describe_cluster(endpoint)
        except KafkaError:
            return
        # An address may belong to another quorum's controller meanwhile: only a pod that still exists counts.
        if endpoint in self._endpoints():
            self.checker.saw_cluster(str(answer.cluster_id), f"the answer of controller {endpoint}")

    # --- the operator -------------------------------------------------------------------------------------------------

    def _follow_operators(self) -> None:
        """One log file for each container that ever existed."""
        following: dict[str, subprocess.Popen[bytes]] = {}
        while not self._stopped.is_set():
            for pod in self._operators():
                for row in pod.get("status", {}).get("containerStatuses", []):
                    identity = row.get("containerID", "").rpartition("/")[2][:12]
                    if identity and "running" in row.get("state", {}) and identity not in following:
                        following[identity] = self._follow(pod["metadata"]["name"], identity)
            self._stopped.wait(_LOGS_PAUSE_S)
        for process in following.values():
            process.terminate()

    def _operators(self) -> list[Json]:
        try:
            return operator.pods()
        except CommandFailed:
            return []

    def _follow(self, pod: str, identity: str) -> subprocess.Popen[bytes]:
        with (self.where / f"operator-{_now()[11:19].replace(':', '')}-{pod[-5:]}-{identity}.log").open("w") as file:
            command = ("kubectl", "-n", NAMESPACE, "logs", "-f", "--timestamps", pod)
            return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
