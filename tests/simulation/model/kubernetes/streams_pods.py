"""What runs in the pods of Streams applications: an image is a program, and its local state is on its claim's disk.

The pods are interpreted by their own fields: the image, the variable or the file with `upgrade.from`, the claim. A
program refuses settings and state as the real ones do.
"""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.happened import Happened, InstanceStarted
from tests.simulation.model.kafka.streams_group import Phase, StreamsGroupModel, StreamsProcess
from tests.simulation.model.kafka.streams_releases import Program, Runs, program_of, refuses
from tests.simulation.model.kubernetes.kube_model import KubeModel
from tests.simulation.model.kubernetes.pod_status import write_status
from tests.simulation.model.kubernetes.pod_words import config_maps_of, env_of
from tests.simulation.model.kubernetes.sandbox import Sandbox
from tests.simulation.model.kubernetes.volumes import Volumes

from kit.kube.protocol import CONFIG_MAPS, PODS, Json

LABEL_APPLICATION: Final = "kafkaquorum.io/streams-application"
LABEL_INSTANCE: Final = "kafkaquorum.io/streams-instance"
GENERATION: Final = "kafkaquorum.io/state-generation"
VARIABLE: Final = "UPGRADE_FROM"
FILE: Final = "application.properties"
_BACK_OFF_S: Final = 4.0
_KEY: Final = "upgrade.from="


class StreamsPods:
    """Moves every pod of an application by one small step."""

    def __init__(
        self, kube: KubeModel, clock: VirtualClock, volumes: Volumes, tell: Callable[[Happened], None]
    ) -> None:
        """Begin without any instance."""
        self._kube, self._clock, self._volumes, self._tell = kube, clock, volumes, tell
        self.group = StreamsGroupModel(clock=clock)
        self.wrote: dict[int, Program] = {}
        """What ran last on each disk, by its serial number."""
        self.threads = 1
        self.unwell: set[str] = set()
        """Images that end for now, as they do while something that they need is away."""

    @property
    def processes(self) -> list[StreamsProcess]:
        """Every living instance, by the members that it has."""
        return list({id(one.process): one.process for one in self.group.members.values() if one.process.alive}.values())

    def step(self, pod: Json, sandbox: Sandbox) -> None:
        """One small step of a pod whose image is there."""
        if sandbox.streams is not None and not sandbox.streams.alive:
            sandbox.streams = None
            self._refuse(pod, sandbox, "the process was killed")
        elif sandbox.streams is not None:
            self._run(pod, sandbox, sandbox.streams)
        elif self._clock.elapsed_s < sandbox.retry_s:
            self._write(pod, sandbox, {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting"}})
        else:
            self._start(pod, sandbox)

    def kill(self, sandbox: Sandbox) -> None:
        """SIGKILL: nothing leaves the group."""
        process, sandbox.streams = sandbox.streams, None
        if process is not None and process.alive:
            self.group.end(process, leaves=False)

    def stop(self, sandbox: Sandbox) -> bool:
        """SIGTERM; whether the container has ended."""
        process, now_s = sandbox.streams, self._clock.elapsed_s
        if process is None:
            return True
        if process.asked_s is None:
            process.asked_s = now_s + self.group.draw.choice((0.0, 0.5, 2.0))
        if now_s < process.asked_s:
            return False
        self.group.end(process, leaves=self.group.habits.leaves or process.runs.program.streams)
        sandbox.streams = None
        return True

    def _start(self, pod: Json, sandbox: Sandbox) -> None:
        sandbox.stage += 1
        if sandbox.stage < self.group.draw.choice((2, 2, 3, 6)):
            self._write(pod, sandbox, {"waiting": {"reason": "ContainerCreating"}})
            return
        container = pod["spec"]["containers"][0]
        image = str(container["image"])
        runs = Runs(program=program_of(image), upgrade_from=self._upgrade_from(pod))
        if why := refuses(runs):
            self._refuse(pod, sandbox, why)
            return
        if image in self.unwell:
            self._refuse(pod, sandbox, "a service that it needs is away")
            return
        self._begin(pod, sandbox, runs)

    def _begin(self, pod: Json, sandbox: Sandbox, runs: Runs) -> None:
        metadata, now_s = pod["metadata"], self._clock.elapsed_s
        serial = self._volumes.by_claim[sandbox.claim_uid].disk.serial if sandbox.claim_uids else 0
        wrote = self.wrote.get(serial) if serial else None
        process = StreamsProcess(
            pod=sandbox.name,
            uid=sandbox.uid,
            index=int(metadata["labels"][LABEL_INSTANCE]),
            host=sandbox.address,
            runs=runs,
            generation=int(metadata["annotations"][GENERATION]),
            serial=serial,
            threads=self.threads,
            began_s=now_s,
            restores_until_s=now_s + (0.0 if wrote is not None else self.group.draw.choice((0.0, 2.0, 8.0))),
            mute=runs.program.mute,
        )
        self._tell(InstanceStarted(process=process, wrote=wrote))
        if why := self.group.join(process):
            self.group.end(process, leaves=True)
            self._refuse(pod, sandbox, why)
            return
        if serial:
            self.wrote[serial] = runs.program
        sandbox.streams, sandbox.began_s = process, now_s
        self._run(pod, sandbox, process)

    def _run(self, pod: Json, sandbox: Sandbox, process: StreamsProcess) -> None:
        settled = self.group.settled_with(process) or bool(self.group.of(process) and not self.group.habits.flickers)
        quiet = self.group.phase is Phase.STABLE or not self.group.habits.flickers
        ready = settled and quiet and self._clock.elapsed_s >= process.restores_until_s
        self._write(pod, sandbox, {"running": {"startedAt": self._clock.stamp()}}, phase="Running", ready=ready)

    def _refuse(self, pod: Json, sandbox: Sandbox, said: str) -> None:
        ended = {"exitCode": 1, "reason": "Error", "message": said, "finishedAt": self._clock.stamp()}
        sandbox.stage, sandbox.said = 0, ended
        sandbox.retry_s = self._clock.elapsed_s + _BACK_OFF_S
        self._write(pod, sandbox, {"terminated": ended})

    def _upgrade_from(self, pod: Json) -> str:
        """What the variable says, or the file."""
        container = pod["spec"]["containers"][0]
        if value := env_of({"env": [], **container}).get(VARIABLE, ""):
            return value
        namespace = pod["metadata"]["namespace"]
        for name in config_maps_of(pod):
            data = (self._kube.view(CONFIG_MAPS, namespace, name) or {}).get("data") or {}
            for line in str(data.get(FILE, "")).splitlines():
                if line.startswith(_KEY):
                    return line.removeprefix(_KEY)
        return ""

    def _write(self, pod: Json, sandbox: Sandbox, state: Json, *, phase: str = "Pending", ready: bool = False) -> None:
        last = {"lastState": {"terminated": sandbox.said}} if sandbox.said and "terminated" not in state else {}
        if "running" in state:  # as before, if it goes on
            rows = (pod.get("status") or {}).get("containerStatuses") or [{}]
            state = rows[0]["state"] if "running" in (rows[0].get("state") or {}) else state
        row = {"name": pod["spec"]["containers"][0]["name"], "state": state, "ready": ready, **last}
        write_status(self._kube, pod, {"phase": phase, "podIP": sandbox.address, "containerStatuses": [row]})
        _write_ready(self._kube, pod, ready=ready)


def _write_ready(kube: KubeModel, pod: Json, *, ready: bool) -> None:
    """The condition that the kubelet makes from the readiness probe."""
    found = kube.view(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
    if found is None:
        return
    rows = (found.get("status") or {}).get("conditions") or []
    said = {"type": "Ready", "status": "True" if ready else "False"}
    if said in rows:
        return
    kept = [row for row in rows if row["type"] != "Ready"]
    kube.put_status(PODS, found, {"conditions": [*kept, said]})
