"""What runs in the pods of pools: the formatter of a broker's volumes, and the broker itself.

The pods are interpreted by their own fields, as those of controllers are. Each call is one small step, so that a crash
can come between any two of them: the formatter writes its intents, then the directories, then each `meta.properties`.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tests.simulation.model.clock import SeededIds, VirtualClock
from tests.simulation.model.happened import BrokerFormatted, BrokerStarted, Happened
from tests.simulation.model.kafka.broker_model import REPLICATION, BrokerModel, Place, reached_by, secured_in
from tests.simulation.model.kafka.disk import Content, Disk, Meta
from tests.simulation.model.kafka.kraft_model import CannotStartError
from tests.simulation.model.kafka.startup import Pace
from tests.simulation.model.kafka.tls import Tls, leaf_in, trust_in
from tests.simulation.model.kubernetes.kube_model import KubeModel
from tests.simulation.model.kubernetes.mounts import Mounts
from tests.simulation.model.kubernetes.pod_status import write_status
from tests.simulation.model.kubernetes.pod_words import (
    brokers_secret_of,
    config_maps_of,
    env_of,
    properties_of,
    release_of,
    secrets_of,
)
from tests.simulation.model.kubernetes.sandbox import Sandbox
from tests.simulation.model.kubernetes.volumes import Volumes

from kafka_quorum.model.contract import SECRET_PATH
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, uuid_from_bytes
from kit.kube.protocol import CONFIG_MAPS, NODES, Json
from kit.kube.secrets import SECRETS

LABEL_POOL: Final = "kafkaquorum.io/pool"
LABEL_ROLE: Final = "kafkaquorum.io/role"
LABEL_NODE: Final = "kafkaquorum.io/node-id"
LATE: Final = "kafkaquorum.io/late-properties"
FORMATTER: Final = "broker-formatter"
RACK: Final = "broker.rack"
DEFAULT_GRACE_S: Final = 30.0
MOUNT_S: Final = 4.0
"""How long a machine that has started again takes until it has mounted volumes."""
_SCRIPT: Final = 1
_FILES: Final = f"{SECRET_PATH}/"


class PoolPods:
    """Moves every pod of a pool by one small step."""

    def __init__(
        self,
        kube: KubeModel,
        brokers: BrokerModel,
        clock: VirtualClock,
        volumes: Volumes,
        tell: Callable[[Happened], None],
    ) -> None:
        """Begin with nothing formatted."""
        self._kube, self._brokers, self._clock, self._volumes, self._tell = kube, brokers, clock, volumes, tell
        self._ids = SeededIds(78)
        self.mounts = Mounts(kube, clock)
        self.pace: Callable[[], Pace] = Pace
        self.pause: Callable[[Sandbox], float] = lambda _: 4.0
        self.release: Callable[[str], str] = lambda image: release_of(image, {})

    def step(self, pod: Json, sandbox: Sandbox) -> None:
        """One small step of a pod whose image is there."""
        if pod["metadata"]["labels"].get(LABEL_ROLE) == FORMATTER:
            self._formatter(pod, sandbox)
        else:
            self._broker(pod, sandbox)

    def kill(self, sandbox: Sandbox) -> None:
        """SIGKILL."""
        broker, sandbox.broker, sandbox.process = sandbox.broker, None, None
        if broker is not None and broker in self._brokers.cluster(broker.process.cluster_id).brokers:
            self._brokers.kill(broker)

    def stop(self, pod: Json, sandbox: Sandbox) -> bool:
        """SIGTERM, and SIGKILL when the grace period is over; whether the container has ended."""
        broker = sandbox.broker
        if broker is None:
            return True
        self._brokers.ask_to_stop(broker)
        grace_s = float(pod["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE_S))
        ended = broker.ended or bool(broker.process.failed)
        if not ended and self._clock.elapsed_s - broker.asked_s < grace_s:
            return False
        self.kill(sandbox)
        return True

    # The formatter

    def _formatter(self, pod: Json, sandbox: Sandbox) -> None:
        env = env_of(pod["spec"]["containers"][0])
        sandbox.stage += 1
        if sandbox.stage == 1:
            self._write(pod, sandbox, {"running": {"startedAt": self._clock.stamp()}}, phase="Running")
            return
        todo, wrong = self._judge(env, sandbox)
        match sandbox.stage:
            case _ if wrong:
                self._report(pod, sandbox, accepted=False, said=wrong)
            case _ if not todo:
                self._report(pod, sandbox, accepted=True, said="formatted")
            case 2:
                for index, disk in todo:
                    disk.wipe()
                    disk.intent = env[f"KQ_INTENT_{index}"]
            case 3:
                for _, disk in todo:
                    disk.files = True
            case _:
                self._format(pod, sandbox, env, todo[0][1])

    def _judge(self, env: dict[str, str], sandbox: Sandbox) -> tuple[list[tuple[int, Disk]], str]:
        """The volumes that are to be formatted, and why the format must not go on."""
        todo: list[tuple[int, Disk]] = []
        for index, disk in enumerate(self._disks(sandbox)):
            expected, mine = env[f"KQ_DIRECTORY_ID_{index}"], disk.intent == env[f"KQ_INTENT_{index}"]
            found = disk.meta.directory_id if disk.meta is not None and _ours(env, disk) else None
            if found is not None and (found == expected or (not expected and mine)):
                continue
            partial = disk.content is Content.PARTIAL and mine
            if not expected and (disk.content is Content.EMPTY or partial):
                todo.append((index, disk))
            else:
                return [], f"volume {index} was expected otherwise: it is {disk.content.value}"
        return todo, ""

    def _format(self, pod: Json, sandbox: Sandbox, env: dict[str, str], disk: Disk) -> None:
        directory = DirectoryID(uuid_from_bytes(self._ids.uuid_bytes()))
        disk.files = True
        disk.meta = Meta(
            cluster_id=ClusterID(env["KQ_CLUSTER_ID"]), node_id=NodeID(int(env["KQ_NODE_ID"])), directory_id=directory
        )
        name = str(pod["metadata"]["name"])
        self._tell(BrokerFormatted(pool=sandbox.pool, pod=name, serial=disk.serial, meta=disk.meta))

    def _report(self, pod: Json, sandbox: Sandbox, *, accepted: bool, said: str) -> None:
        sandbox.done = True
        for disk in self._disks(sandbox):
            disk.reported = accepted
        ended = self._ended(sandbox, accepted=accepted, said=said)
        self._write(pod, sandbox, {"terminated": ended}, phase="Succeeded" if accepted else "Failed")

    def _ended(self, sandbox: Sandbox, *, accepted: bool, said: str) -> Json:
        rows = [_row(index, disk) for index, disk in enumerate(self._disks(sandbox))]
        message = {"script": _SCRIPT, "volumes": rows, "accepted": accepted, "message": said}
        return {
            "exitCode": 0 if accepted else 1,
            "reason": "Completed" if accepted else "Error",
            "message": json.dumps(message),
            "finishedAt": self._clock.stamp(),
        }

    # The broker

    def _broker(self, pod: Json, sandbox: Sandbox) -> None:
        if sandbox.mount is not None:
            self.mounts.follow(sandbox.namespace, brokers_secret_of(pod), sandbox.mount, sandbox.uid)
        if sandbox.broker is not None and self._has_ended(sandbox):
            self._ends(pod, sandbox, {"exitCode": 1, "reason": "Error", "message": "Kafka has ended"})
        if sandbox.broker is not None or self._boots(pod, sandbox) or self._clock.elapsed_s < sandbox.mounted_s:
            return
        if self._clock.elapsed_s < sandbox.retry_s:
            self._write(pod, sandbox, {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting"}})
            return
        if sandbox.mount is None and any(
            self._kube.view(SECRETS, sandbox.namespace, name) is None for name in secrets_of(pod)
        ):
            self._write(pod, sandbox, {"waiting": {"reason": "ContainerCreating"}})
            return
        if sandbox.mount is None and (secret := brokers_secret_of(pod)):
            sandbox.mount = self.mounts.made(sandbox.namespace, secret)
        first = [one["name"] for one in pod["spec"].get("initContainers") or []]
        sandbox.stage += 1
        if sandbox.stage == 1:
            name = _containers(pod)[sandbox.passed]["name"]
            sandbox.restarts[name] = sandbox.restarts.get(name, -1) + 1
        if sandbox.passed < len(first):
            self._init(pod, sandbox, first[sandbox.passed])
        elif wrong := self._wrong(pod, sandbox):
            self._refuse(pod, sandbox, wrong)
        else:
            self._run(pod, sandbox)

    def _boots(self, pod: Json, sandbox: Sandbox) -> bool:
        """The first step on a machine that has started again: if Kafka ran there, its kubelet writes that it ended.

        The count of its container continues. Those of init containers go with their sandbox.
        """
        row: Json = next(iter((pod.get("status") or {}).get("containerStatuses") or ()), {})
        if sandbox.restarts or not row.get("containerID"):
            return False
        sandbox.restarts[row["name"]] = row["restartCount"]
        if "running" not in row["state"]:
            return False
        sandbox.passed = len(pod["spec"].get("initContainers") or ())
        sandbox.said = (row.get("lastState") or {}).get("terminated")
        self._ends(pod, sandbox, {"exitCode": 255, "reason": "Unknown", "message": ""})
        sandbox.passed, sandbox.said, sandbox.before = 0, None, None
        sandbox.retry_s, sandbox.mounted_s = 0.0, self._clock.elapsed_s + MOUNT_S
        return True

    def _init(self, pod: Json, sandbox: Sandbox, name: str) -> None:
        """One step of an init container: it runs, and then it passes or is refused."""
        if sandbox.stage == 1:
            self._write(pod, sandbox, {"running": {"startedAt": self._clock.stamp()}})
        elif name == "late" and not self._late(pod):
            return  # it waits for the file
        elif name != "late" and (wrong := self._wrong(pod, sandbox)):
            self._refuse(pod, sandbox, wrong)
        else:
            if name != "late":
                sandbox.passed_report = self._ended(sandbox, accepted=True, said="as expected")
            sandbox.passed, sandbox.stage, sandbox.said, sandbox.before = sandbox.passed + 1, 0, None, None
            self._write(pod, sandbox, {"waiting": {"reason": "PodInitializing"}})

    def _wrong(self, pod: Json, sandbox: Sandbox) -> str:
        """Why the volumes are not those that the pod was made for."""
        env = env_of(pod["spec"]["containers"][0])
        for index, disk in enumerate(self._disks(sandbox)):
            expected = env[f"KQ_DIRECTORY_ID_{index}"]
            if not _ours(env, disk) or disk.meta is None or disk.meta.directory_id != expected:
                return f"volume {index}: expected directory id {expected}, it is {disk.content.value}"
        return ""

    def _run(self, pod: Json, sandbox: Sandbox) -> None:
        spec, metadata = pod["spec"], pod["metadata"]
        container, node_id = spec["containers"][0], NodeID(int(metadata["labels"][LABEL_NODE]))
        if "late" in [one["name"] for one in spec.get("volumes") or []] and not self._late(pod):
            self._write(pod, sandbox, {"running": {"startedAt": self._clock.stamp()}}, phase="Running")
            return
        properties = self._properties(pod, node_id)
        if not _has_files(sandbox, properties):  # the script waits for them
            self._write(pod, sandbox, {"running": {"startedAt": self._clock.stamp()}}, phase="Running")
            return
        ports = tuple(int(one["containerPort"]) for one in container["ports"])
        place = Place(
            address=sandbox.address,
            host=f"{spec['hostname']}.{spec['subdomain']}.{sandbox.namespace}.svc",
            port=ports[0],
            ports=ports[1:],
            node=sandbox.node,
            rack=properties.get(RACK, ""),
            release=self.release(str(container["image"])),
            addressed_s=sandbox.addressed_s,
            pace=self.pace(),
        )
        disks = self._disks(sandbox)
        try:
            broker = self._brokers.start(disks, node_id, replace(place, tls=_tls(sandbox, properties)), properties)
        except CannotStartError as error:
            self._refuse(pod, sandbox, str(error))
            return
        sandbox.broker, sandbox.process, sandbox.began_s = broker, broker.process, self._clock.elapsed_s
        made = str(metadata["creationTimestamp"])
        self._tell(BrokerStarted(pool=sandbox.pool, pod=str(metadata["name"]), broker=broker, pod_made=made))
        self._write(pod, sandbox, {"running": {"startedAt": self._clock.stamp()}}, phase="Running")

    def _properties(self, pod: Json, node_id: NodeID) -> dict[str, str]:
        namespace = pod["metadata"]["namespace"]
        maps = (self._kube.view(CONFIG_MAPS, namespace, name) for name in config_maps_of(pod))
        lines = "\n".join([*(properties_of(one, node_id) for one in maps), self._late(pod)]).splitlines()
        pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
        return {name.strip(): value.strip() for name, _, value in pairs}

    def _late(self, pod: Json) -> str:
        return str((pod["metadata"].get("annotations") or {}).get(LATE) or "")

    def _has_ended(self, sandbox: Sandbox) -> bool:
        broker = sandbox.broker
        gone = broker is not None and (broker.ended or bool(broker.process.failed))
        if gone:
            sandbox.broker = sandbox.process = None
        return gone

    def _refuse(self, pod: Json, sandbox: Sandbox, said: str) -> None:
        self._ends(pod, sandbox, self._ended(sandbox, accepted=False, said=said))

    def _ends(self, pod: Json, sandbox: Sandbox, ended: Json) -> None:
        """The present container ends, and starts again after a pause. Only its script writes a report."""
        present = _containers(pod)[sandbox.passed]["name"]
        ended = {"finishedAt": self._clock.stamp(), "containerID": _identity(sandbox, present), **ended}
        sandbox.stage, sandbox.before, sandbox.said = 0, sandbox.said, ended
        sandbox.retry_s = self._clock.elapsed_s + self.pause(sandbox)
        self._write(pod, sandbox, {"terminated": ended})

    # Both

    def _disks(self, sandbox: Sandbox) -> list[Disk]:
        return [self._volumes.by_claim[uid].found for uid in sandbox.claim_uids]

    def _write(self, pod: Json, sandbox: Sandbox, state: Json, *, phase: str = "Pending") -> None:
        """Write the state of the present container; those before it have passed, and those after it wait."""
        spec = pod["spec"]
        first = [one["name"] for one in spec.get("initContainers") or []]
        before = sandbox.before if "terminated" in state else sandbox.said
        last = {"lastState": {"terminated": before}} if before else {}
        present = {"state": state, **last}
        waits: Json = {"state": {"waiting": {"reason": "PodInitializing"}}}
        completed: Json = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
        compared = completed if sandbox.passed_report is None else {"state": {"terminated": sandbox.passed_report}}
        done = [completed if name == "late" else compared for name in first[: sandbox.passed]]
        states = [*done, *([present] if sandbox.passed < len(first) else []), *[waits] * len(first)][: len(first)]
        main = present if sandbox.passed >= len(first) else waits
        if sandbox.broker is not None:
            main = {**main, "containerID": sandbox.broker.process.incarnation, "ready": sandbox.broker.serves}
        status = {
            "phase": phase,
            "podIP": sandbox.address,
            "hostIP": self._host_ip(sandbox.node),
            "containerStatuses": [self._named(sandbox, spec["containers"][0]["name"], main)],
        }
        if first:
            rows = zip(first, states, strict=True)
            status["initContainerStatuses"] = [self._named(sandbox, name, row) for name, row in rows]
        write_status(self._kube, pod, status)

    def _named(self, sandbox: Sandbox, name: str, row: Json) -> Json:
        started = {"containerID": _identity(sandbox, name)} if name in sandbox.restarts else {}
        return {"name": name, "restartCount": sandbox.restarts.get(name, 0), **started, **row}

    def _host_ip(self, node: str) -> str:
        found = self._kube.view(NODES, "", node) or {}
        rows = (found.get("status") or {}).get("addresses") or []
        return next((str(row["address"]) for row in rows if row["type"] == "InternalIP"), "")


def _containers(pod: Json) -> list[Json]:
    """The containers in the order in which they start."""
    return [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]


def _identity(sandbox: Sandbox, name: str) -> str:
    """What names the newest run of a container."""
    return f"containerd://{sandbox.uid}-{name}-{sandbox.restarts.get(name, 0)}"


def _has_files(sandbox: Sandbox, properties: dict[str, str]) -> bool:
    """Whether the Secret, as the pod mounts it, has every file that the properties name."""
    files = {} if sandbox.mount is None else sandbox.mount.files
    named = (value.removeprefix(_FILES) for value in properties.values() if value.startswith(_FILES))
    return all(files.get(each) for each in named)


def _tls(sandbox: Sandbox, properties: dict[str, str]) -> Tls | None:
    """What Kafka loads when it starts, for the first listener with mutual TLS; None if it has none."""
    for name in (reached_by(properties), REPLICATION):
        if sandbox.mount is None or name not in secured_in(properties):
            continue
        prefix = f"listener.name.{name.lower()}.ssl"
        paths = (properties.get(f"{prefix}.{each}.location", "") for each in ("keystore", "truststore"))
        key, trust = (sandbox.mount.files.get(each.removeprefix(_FILES), "") for each in paths)
        leaf, authorities = leaf_in(key), trust_in(trust)
        if leaf is None or not authorities.authorities:
            raise CannotStartError("a store in PEM has no certificate")
        return Tls(mount=sandbox.mount, trust=authorities, served=leaf, shown=leaf)
    return None


def _ours(env: dict[str, str], disk: Disk) -> bool:
    own = (env["KQ_CLUSTER_ID"], env["KQ_NODE_ID"])
    return disk.meta is not None and (disk.meta.cluster_id, str(disk.meta.node_id)) == own


def _row(index: int, disk: Disk) -> Json:
    meta = disk.meta
    return {
        "index": index,
        "found": disk.content.value,
        "clusterID": meta.cluster_id if meta else "",
        "nodeID": str(meta.node_id) if meta else "",
        "directoryID": meta.directory_id if meta else "",
    }
