"""The kubelet of every node, with real processes: formatters run Kafka's real tool, Kafka pods run Kafka.

`tick` looks at every scheduled pod once and never waits. A pod's status is that of a kubelet; there are no probes. Pods
that are deleted get SIGTERM and some time; pods that the API server does not have any more are killed.
"""

import random
import shutil
import time
from pathlib import Path
from typing import Final

from tests.live.containers import Runtime, Sandbox
from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.kube_model import KubeModel, claims_of
from tests.simulation.model.kubernetes.pod_status import rows_of, write_status

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import LABEL_NODE, LABEL_ROLE
from kafka_quorum.model.quorum import Endpoint
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, Json

BACK_OFF_S: Final = 1.0
REFUSED_BACK_OFF_S: Final = 8.0
GRACE_S: Final = 10.0


class LiveKubelet:
    """Runs every scheduled pod."""

    def __init__(self, kube: KubeModel, clock: VirtualClock, runtime: Runtime) -> None:
        """Starts without a sandbox."""
        self._kube, self._clock, self._runtime = kube, clock, runtime
        self._network = f"127.{random.randint(2, 250)}.{random.randint(0, 250)}"
        self._addresses = 0
        self.sandboxes: dict[str, Sandbox] = {}
        self.endpoints: tuple[Endpoint, ...] = ()
        """Where Kafka may answer; replaced as a whole, so that another thread may read it."""

    def tick(self) -> None:
        """Handles every pod once."""
        pods = {pod["metadata"]["uid"]: pod for pod in self._kube.all(PODS) if pod["spec"].get("nodeName")}
        for sandbox in [one for uid, one in self.sandboxes.items() if uid not in pods]:
            self._drop(sandbox)
        for pod in pods.values():
            self._pod(pod)
        self.endpoints = tuple(
            Endpoint(node_id=_node_id(pods[one.uid]), host=one.address, port=one.port)
            for one in self.sandboxes.values()
            if one.running and one.host and one.uid in pods
        )

    def of_node(self, node_id: int) -> Sandbox:
        """The sandbox in which Kafka of this node id runs or ran last."""
        for pod in self._kube.all(PODS):
            sandbox = self.sandboxes.get(pod["metadata"]["uid"])
            if sandbox is not None and sandbox.host and _node_id(pod) == node_id:
                return sandbox
        raise LookupError(f"controller {node_id} has no pod")

    def volume(self, claim_uid: str) -> Path:
        """The directory of a claim."""
        return self._runtime.directory / "volumes" / claim_uid

    def close(self) -> None:
        """Ends every process."""
        for sandbox in list(self.sandboxes.values()):
            self._drop(sandbox)

    # One pod

    def _pod(self, pod: Json) -> None:
        sandbox = self.sandboxes.get(pod["metadata"]["uid"])
        if "deletionTimestamp" in pod["metadata"]:
            self._end(pod, sandbox)
            return
        if sandbox is None:
            self._prepare(pod)
        elif not sandbox.done:
            self._run(pod, sandbox)

    def _end(self, pod: Json, sandbox: Sandbox | None) -> None:
        if sandbox is not None and sandbox.process is not None and sandbox.process.exit_code is None:
            if sandbox.end_by_s is None:
                sandbox.end_by_s = time.monotonic() + GRACE_S
                sandbox.process.terminate()
            if time.monotonic() < sandbox.end_by_s:
                return
        if sandbox is not None:
            self._drop(sandbox)
        self._kube.remove(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])

    def _drop(self, sandbox: Sandbox) -> None:
        if sandbox.process is not None:
            sandbox.process.kill()
        self._runtime.forget(sandbox)
        del self.sandboxes[sandbox.uid]

    def _prepare(self, pod: Json) -> None:
        """Makes a sandbox when every volume of the pod can be mounted."""
        metadata, spec = pod["metadata"], pod["spec"]
        namespace = metadata["namespace"]
        claim = self._kube.get(CLAIMS, namespace, claims_of(pod)[0])
        names = [volume["configMap"]["name"] for volume in spec["volumes"] if "configMap" in volume]
        maps = [self._kube.get(CONFIG_MAPS, namespace, name) for name in names]
        if claim is None or None in maps:
            name, waits = spec["containers"][0]["name"], {"waiting": {"reason": "ContainerCreating"}}
            rows = {"containerStatuses": [{"name": name, "state": waits}]}
            write_status(self._kube, pod, {"phase": "Pending", **rows})
            return
        self._addresses += 1
        volume = self.volume(claim["metadata"]["uid"])
        volume.mkdir(parents=True, exist_ok=True)
        formats = metadata["labels"].get(LABEL_ROLE) == "formatter"
        sandbox = Sandbox(
            namespace=namespace,
            name=metadata["name"],
            uid=metadata["uid"],
            claim_uid=claim["metadata"]["uid"],
            address=f"{self._network}.{self._addresses}",
            home=self._runtime.directory / "pods" / f"{metadata['name']}-{metadata['uid']}",
            volume=volume,
            host="" if formats else f"{spec['hostname']}.{spec['subdomain']}.{namespace}.svc",
            port=0 if formats else int(spec["containers"][0]["ports"][0]["containerPort"]),
            verified=formats,
        )
        self._runtime.prepare(sandbox, {name: text for one in maps if one for name, text in one["data"].items()})
        self.sandboxes[sandbox.uid] = sandbox

    def _run(self, pod: Json, sandbox: Sandbox) -> None:
        """Starts the next container, or records how it ended."""
        if sandbox.process is None:
            if time.monotonic() >= sandbox.retry_s:
                containers = pod["spec"]["containers"] if sandbox.verified else pod["spec"]["initContainers"]
                sandbox.process = self._runtime.start(sandbox, containers[0])
                self._state(pod, sandbox, {"running": {"startedAt": self._clock.stamp()}}, phase="Running")
            return
        code = sandbox.process.exit_code
        if code is None:
            return
        sandbox.process = None
        ended = self._runtime.ended(sandbox, code, self._clock.stamp())
        if not sandbox.host:
            sandbox.done = True
            self._state(pod, sandbox, {"terminated": ended}, phase="Succeeded" if code == 0 else "Failed")
        elif code == 0 and not sandbox.verified:
            sandbox.verified, sandbox.said = True, None
            self._state(pod, sandbox, {"waiting": {"reason": "PodInitializing"}})
        else:
            refused = '"found"' in str(ended["message"])  # our script ended it repeatedly; a real one waits longer
            sandbox.said, sandbox.retry_s = ended, time.monotonic() + (REFUSED_BACK_OFF_S if refused else BACK_OFF_S)
            self._state(pod, sandbox, {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting"}})

    # What it reports

    def _state(self, pod: Json, sandbox: Sandbox, state: Json, *, phase: str = "Pending") -> None:
        """Writes the state of the present container."""
        rows = rows_of(pod, state, verified=sandbox.verified, said=sandbox.said)
        status = {"phase": phase if sandbox.verified else "Pending", "podIP": sandbox.address, **rows}
        write_status(self._kube, pod, status)


def empty(volume: Path) -> None:
    """Deletes everything in it; the directory stays, as a mount point does."""
    for entry in volume.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _node_id(pod: Json) -> NodeID:
    return NodeID(int(pod["metadata"]["labels"][LABEL_NODE]))
