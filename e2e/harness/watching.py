"""What happens to the controllers during a scenario: every leader, and every pod that is stopped and created again.

Two threads watch: one reads `kubectl get pods --watch`, one sends DescribeQuorum to all controllers, several times a
second. So a scenario can report afterwards which controller led, whose restart ended that, and in which order the
controllers restarted.
"""

import asyncio
import itertools
import json
import subprocess
import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from harness.controllers import ControllerAccess, is_encrypted, port_of
from harness.quorum import GROUP, Quorum
from harness.shell import Json, wait_until
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.ids import NodeID
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.connection import Limits

_PAUSE_S = 0.2
_QUICK = Limits(connect_timeout_s=0.5, request_timeout_s=1.0)
_START_TIMEOUT_S = 30.0
_WAIT_S = 10.0
_LATE_S = 1.0
"""How much later the news of a pod may arrive than that of a leader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The leader since a time in monotonic seconds of this process. `pod` is the uid of its pod."""

    node_id: int
    epoch: int
    at_s: float
    pod: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A leader and the one before. It is spontaneous unless the former leader's pod was in deletion."""

    before: Leader
    after: Leader
    stopped: bool

    def __str__(self) -> str:
        """For a report."""
        why = f"{self.before.node_id} was stopped" if self.stopped else "spontaneous"
        return f"{self.before.node_id} → {self.after.node_id} at epoch {self.after.epoch} ({why})"


@dataclass(slots=True)
class PodLife:
    """One pod of a controller: when it was created, deleted, first ready, and gone; None if it was not."""

    node_id: int
    uid: str
    seen_s: float
    restarts: int = 0
    address: str = ""
    image: str = ""
    port: int = 9093
    encrypted: bool = False
    stopping_s: float | None = None
    ready_s: float | None = None
    gone_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A controller whose pod was stopped. `ready_s` is when its next pod was ready; None if that has not happened."""

    node_id: int
    stopped_s: float
    ready_s: float | None


@dataclass(slots=True)
class Watching:
    """Everything that was seen so far, between enter and exit."""

    quorum: Quorum
    leaders: list[Leader] = field(default_factory=list)
    """The first leader, and then each different one."""
    looks: int = 0
    """How often a leader answered."""
    _pods: dict[str, PodLife] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _kubectl: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Begin; returns when the present leader is found."""
        for target in (self._read_pods, lambda: asyncio.run(self._ask_leaders())):
            thread = threading.Thread(target=target, daemon=True)
            thread.start()
            self._threads.append(thread)
        wait_until("the watcher sees a leader", lambda: self.leaders, _START_TIMEOUT_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._stopped.set()
        if self._kubectl is not None:
            self._kubectl.terminate()
        for thread in self._threads:
            thread.join(_WAIT_S)

    # --- what was seen ------------------------------------------------------------------------------------------------

    def changes(self, since_s: float) -> tuple[Change, ...]:
        """The changes of the leader since then."""
        rows = itertools.pairwise(tuple(self.leaders))
        return tuple(
            Change(before=before, after=after, stopped=self._was_stopped(before.pod, after.at_s))
            for before, after in rows
            if after.at_s >= since_s
        )

    def _was_stopped(self, pod: str, until_s: float) -> bool:
        with self._lock:
            life = self._pods[pod]
        told_s = life.stopping_s or life.gone_s
        return told_s is not None and told_s <= until_s + _LATE_S

    def restarts(self, since_s: float) -> tuple[Restart, ...]:
        """The controllers whose pods were stopped since then, in the order of the stops."""
        with self._lock:
            lives = sorted(self._pods.values(), key=lambda life: life.seen_s)
        found = []
        for life in lives:
            stopped_s = life.stopping_s or life.gone_s
            if stopped_s is None or stopped_s < since_s:
                continue
            later = [one.ready_s for one in lives if one.node_id == life.node_id and one.seen_s > life.seen_s]
            ready_s = next((at for at in later if at is not None), None)
            found.append(Restart(node_id=life.node_id, stopped_s=stopped_s, ready_s=ready_s))
        return tuple(sorted(found, key=lambda row: row.stopped_s))

    # --- the pods -----------------------------------------------------------------------------------------------------

    def _read_pods(self) -> None:
        selector = f"{GROUP}/quorum={self.quorum.name},{GROUP}/role=controller"
        where = ("kubectl", "-n", self.quorum.namespace)
        command = (*where, "get", "pods", "-l", selector, "--watch", "--output-watch-events", "-o", "json")
        while not self._stopped.is_set():  # the API server ends a watch now and then
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
                self._kubectl = process
                assert process.stdout is not None
                for line in process.stdout:  # an event a line
                    event = json.loads(line)
                    self._note_pod(event["type"], event["object"])
            self._stopped.wait(_PAUSE_S)

    def _note_pod(self, event: str, pod: Json) -> None:
        metadata, status, now_s = pod["metadata"], pod.get("status", {}), time.monotonic()
        node_id = int(metadata["labels"][f"{GROUP}/node-id"])
        rows = status.get("containerStatuses") or [{}]
        with self._lock:
            life = self._pods.setdefault(metadata["uid"], PodLife(node_id, metadata["uid"], now_s))
            life.restarts = int(rows[0].get("restartCount", 0))
            life.address, life.image = status.get("podIP", ""), pod["spec"]["containers"][0]["image"]
            life.port, life.encrypted = port_of(pod), is_encrypted(pod)
            if "deletionTimestamp" in metadata and life.stopping_s is None:
                life.stopping_s = now_s
            conditions = status.get("conditions", [])
            ready = any(row["type"] == "Ready" and row["status"] == "True" for row in conditions)
            if ready and life.ready_s is None:
                life.ready_s = now_s
            if event == "DELETED":
                life.gone_s = now_s

    def _present(self) -> dict[int, PodLife]:
        """The latest pod of each controller, if it is not gone."""
        with self._lock:
            lives = sorted(self._pods.values(), key=lambda life: life.seen_s)
        latest = {life.node_id: life for life in lives}
        return {node_id: life for node_id, life in latest.items() if life.gone_s is None}

    # --- the leaders --------------------------------------------------------------------------------------------------

    async def _ask_leaders(self) -> None:
        controllers = KafkaControllers(limits=_QUICK)
        access = ControllerAccess(self.quorum.namespace, self.quorum.name)
        while not self._stopped.is_set():
            answers = await asyncio.gather(*(_ask(controllers, access, life) for life in self._present().values()))
            led = [row for row in answers if row is not None]
            if led:
                self.looks += 1
                self._note_leader(max(led, key=lambda row: row.epoch))
            await asyncio.sleep(_PAUSE_S)
        await controllers.close()

    def _note_leader(self, led: Leader) -> None:
        if not self.leaders or led.epoch > self.leaders[-1].epoch:
            self.leaders.append(led)


async def _ask(controllers: KafkaControllers, access: ControllerAccess, life: PodLife) -> Leader | None:
    """This controller as the leader, if it leads."""
    if not life.address:
        return None
    at = access.at(NodeID(life.node_id), life.address, life.port, encrypted=life.encrypted)
    try:
        answer = await controllers.describe_quorum(at)
    except KafkaError:
        return None
    return Leader(node_id=life.node_id, epoch=answer.leader_epoch, at_s=time.monotonic(), pod=life.uid)
