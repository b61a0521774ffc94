"""The kubelets of all nodes: sandboxes, init containers, containers, and the statuses that they write.

The operator's pods are interpreted by their own fields: a role, an environment, the arguments of the formatting tool.
Each call of `step` moves every pod by one small step, so that a crash can come between any two of them. The formatter
writes its intent, the checkpoint and `meta.properties` in separate steps, and reports in another one.
"""

import json
from collections.abc import Callable
from typing import Final

from tests.simulation.model.clock import SeededIds, VirtualClock
from tests.simulation.model.happened import Formatted, Happened, Shared, Started
from tests.simulation.model.kafka.disk import Content, Disk, Meta
from tests.simulation.model.kafka.kraft_model import CannotStartError, KraftModel
from tests.simulation.model.kafka.process import Software
from tests.simulation.model.kafka.startup import Paces, steady
from tests.simulation.model.kafka.tls import Tls, leaf_in, trust_in
from tests.simulation.model.kubernetes.disk_pods import ROLE, DiskPods
from tests.simulation.model.kubernetes.kube_model import KubeModel, claims_of
from tests.simulation.model.kubernetes.machines import Machines
from tests.simulation.model.kubernetes.pod_status import rows_of, write_status
from tests.simulation.model.kubernetes.pod_words import (
    accepts,
    config_maps_of,
    content_of,
    env_of,
    fetch_timeout_in,
    initial_voters,
    is_static_format,
    levels_in,
    listeners_in,
    migrates_in,
    plain_in,
    properties_of,
    refuses,
    release_of,
    secret_of,
    static_voters,
    trust_of,
    users_of,
    writable_of,
)
from tests.simulation.model.kubernetes.pool_pods import LABEL_POOL, PoolPods
from tests.simulation.model.kubernetes.sandbox import Sandbox
from tests.simulation.model.kubernetes.streams_pods import LABEL_APPLICATION, StreamsPods
from tests.simulation.model.kubernetes.volumes import Volumes

from kafka_quorum.model.disk import SCRIPT
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey, uuid_from_bytes
from kafka_quorum.model.names import KAFKA_CONTAINER, LABEL_NODE, LABEL_QUORUM, LABEL_ROLE
from kafka_quorum.resources.tls import USERS_KEY
from kit.kube.protocol import CONFIG_MAPS, PODS, Json
from kit.kube.secrets import SECRETS

BACK_OFF_S: Final = 4.0
FIRST_BACK_OFF_S: Final = 10.0
LONGEST_BACK_OFF_S: Final = 300.0
RESET_S: Final = 600.0
"""A kubelet's pauses: none after the first end of a container, then 10 s, doubled each time, up to five minutes.

They begin again once a container has run for ten minutes.
"""
LISTENER: Final = "CONTROLLER"


class Kubelet:
    """Every pod that is scheduled."""

    def __init__(
        self,
        kube: KubeModel,
        kraft: KraftModel,
        clock: VirtualClock,
        volumes: Volumes,
        tell: Callable[[Happened], None],
        machines: Machines,
        pools: PoolPods,
    ) -> None:
        """Begin with no sandbox."""
        self._tell, self._machines, self.pools = tell, machines, pools
        self.mounts = pools.mounts
        pools.pause = self._pause_s
        pools.pace = lambda: self.pace()  # noqa: PLW0108 - a scenario replaces it
        pools.release = lambda image: release_of(image, self.releases)
        self._kube, self._kraft, self._clock, self._volumes = kube, kraft, clock, volumes
        self.streams = StreamsPods(kube, clock, volumes, tell)
        self.disks = DiskPods(kube, clock, volumes, tell, lambda disk: any(one.disk is disk for one in kraft.processes))
        self._ids = SeededIds(77)
        self._addresses = 0
        self.sandboxes: dict[str, Sandbox] = {}
        self.pace: Paces = steady
        self.backs_off = False
        """Whether containers wait as long as with a real kubelet; else `BACK_OFF_S`."""
        self.lingers = 0
        """For how many steps a pod that is being deleted stays: what runs in it runs on, and nothing starts."""
        self.bad_images: tuple[str, ...] = ("typo",)
        self.releases: dict[str, str] = {}
        """The releases of images whose tags are wrong."""

    def step(self) -> None:
        """Move every pod by one small step; pods that are gone from the store end first.

        Without the API server a kubelet reads and writes nothing, and its containers run on.
        """
        pods = {pod["metadata"]["uid"]: pod for pod in self._kube.all(PODS) if pod["spec"].get("nodeName")}
        for sandbox in [one for uid, one in sorted(self.sandboxes.items()) if uid not in pods]:
            if self._machines.by_name[sandbox.node].heard:
                self._drop(sandbox)
        for pod in pods.values():
            if self._machines.by_name[pod["spec"]["nodeName"]].heard:
                self._pod(pod)
        self._check_sharing()

    def of_pod(self, namespace: str, name: str) -> Sandbox | None:
        """The sandbox of a pod by its name."""
        return next((one for one in self.sandboxes.values() if (one.namespace, one.name) == (namespace, name)), None)

    def restart_sandbox(self, sandbox: Sandbox) -> None:
        """The sandbox is killed and replaced: it has another address, and init containers run again, counted anew."""
        self.kill(sandbox)
        sandbox.address, sandbox.addressed_s = self._address(), self._clock.elapsed_s
        sandbox.stage, sandbox.verified, sandbox.retry_s, sandbox.said, sandbox.passed = 0, False, 0.0, None, 0
        sandbox.before, first = None, [name for name in sandbox.restarts if name != KAFKA_CONTAINER]
        for name in first:
            del sandbox.restarts[name]

    def kill(self, sandbox: Sandbox) -> None:
        """The containers end; the disk keeps what was written."""
        if sandbox.broker is not None:
            self.pools.kill(sandbox)
        elif sandbox.streams is not None:
            self.streams.kill(sandbox)
        elif sandbox.process is not None and not sandbox.process.failed:
            self._kraft.stop(sandbox.process)
        sandbox.process = None
        sandbox.stage = 0

    def lose_machine(self, node: str) -> None:
        """The machine is gone, with everything that ran there."""
        for sandbox in [one for one in self.sandboxes.values() if one.node == node]:
            self._drop(sandbox)

    def kill_process(self, sandbox: Sandbox) -> None:
        """Kafka is killed; the container is restarted in the same sandbox, without init containers."""
        self.kill(sandbox)
        sandbox.said = {"exitCode": 137, "reason": "Error", "message": "", "finishedAt": self._clock.stamp()}

    def fail(self, sandbox: Sandbox, reason: str) -> None:
        """The kubelet evicts a pod: it ends as Failed."""
        self.kill(sandbox)
        sandbox.done = True
        pod = self._kube.view(PODS, sandbox.namespace, sandbox.name)
        if pod is not None:
            self._kube.put_status(PODS, pod, {"phase": "Failed", "reason": reason, "containerStatuses": None})

    def _drop(self, sandbox: Sandbox) -> None:
        self.kill(sandbox)
        del self.sandboxes[sandbox.uid]

    def _pod(self, pod: Json) -> None:
        metadata = pod["metadata"]
        sandbox = self.sandboxes.get(metadata["uid"])
        if "deletionTimestamp" in metadata:
            self._end(pod, sandbox)
            return
        if sandbox is None:
            sandbox = self._sandbox(pod)
            if sandbox is None:
                return
        if sandbox.done:
            return
        if sandbox.process is None and any(self._volumes.by_claim[uid].absent for uid in sandbox.claim_uids):
            sandbox.stage, sandbox.verified, sandbox.passed = 0, False, 0
            self._container(pod, {"waiting": {"reason": "ContainerCreating"}}, phase="Pending")
        elif sandbox.pool or sandbox.application:
            if not self._no_image(pod, sandbox, pod["spec"]["containers"][0]["image"]):
                (self.pools if sandbox.pool else self.streams).step(pod, sandbox)
        elif metadata["labels"].get(LABEL_ROLE) == ROLE:
            self.disks.step(pod, sandbox)
        elif metadata["labels"].get(LABEL_ROLE) == "formatter":
            self._formatter(pod, sandbox)
        else:
            self._controller(pod, sandbox)

    def _end(self, pod: Json, sandbox: Sandbox | None) -> None:
        """Containers end in one step, the object goes in the next."""
        if sandbox is not None and sandbox.broker is not None and not self.pools.stop(pod, sandbox):
            return
        if sandbox is not None and sandbox.streams is not None and not self.streams.stop(sandbox):
            return
        if sandbox is not None and not sandbox.ending:
            if sandbox.lingered < self.lingers:
                sandbox.lingered += 1
                return
            if sandbox.process is not None:
                self._kraft.resign(sandbox.process)
            self.kill(sandbox)
            sandbox.done = sandbox.ending = True
            return
        self.sandboxes.pop(pod["metadata"]["uid"], None)
        self._kube.remove(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])

    def _sandbox(self, pod: Json) -> Sandbox | None:
        """A sandbox, once every volume of the pod can be mounted."""
        metadata = pod["metadata"]
        namespace = metadata["namespace"]
        missing = [name for name in config_maps_of(pod) if self._kube.view(CONFIG_MAPS, namespace, name) is None]
        secret = secret_of(pod)
        mount = self.mounts.made(namespace, secret) if secret else None
        if secret and mount is None:
            missing.append(secret)
        missing += [name for name in users_of(pod) if self._kube.view(SECRETS, namespace, name) is None]
        claim_uids = tuple(self._volumes.claim_uid(namespace, name) or "" for name in claims_of(pod))
        if missing or any(uid not in self._volumes.by_claim for uid in claim_uids):
            self._container(pod, {"waiting": {"reason": "ContainerCreating"}}, phase="Pending")
            return None
        sandbox = Sandbox(
            namespace=namespace,
            name=metadata["name"],
            uid=metadata["uid"],
            quorum=metadata["labels"].get(LABEL_QUORUM, ""),
            pool=metadata["labels"].get(LABEL_POOL, ""),
            application=metadata["labels"].get(LABEL_APPLICATION, ""),
            claim_uids=claim_uids,
            writable_uids=writable_of(pod, claim_uids),
            address=self._address(),
            addressed_s=self._clock.elapsed_s,
            node=pod["spec"]["nodeName"],
            mount=mount,
        )
        self.sandboxes[sandbox.uid] = sandbox
        return sandbox

    def _address(self) -> str:
        self._addresses += 1
        return f"10.0.{self._addresses // 250}.{self._addresses % 250 + 1}"

    def _disk(self, sandbox: Sandbox) -> Disk:
        return self._volumes.by_claim[sandbox.claim_uid].found

    # The formatter

    def _formatter(self, pod: Json, sandbox: Sandbox) -> None:
        container = pod["spec"]["containers"][0]
        if self._no_image(pod, sandbox, container["image"]):
            return
        env, disk = env_of(container), self._disk(sandbox)
        sandbox.stage += 1
        mine = disk.intent == env["KQ_INTENT"]
        match sandbox.stage:
            case 1:
                self._container(pod, {"running": {"startedAt": self._clock.stamp()}}, phase="Running")
            case _ if env["KQ_MODE"] == "Adopted":  # it reads, and writes nothing
                accepted = disk.content is Content.FORMATTED and accepts(env, disk, any_directory=True)
                self._report(pod, sandbox, env, accepted=accepted, said="taken over" if accepted else "another's")
            case 2 if disk.content is Content.FORMATTED:
                accepted = mine and accepts(env, disk, any_directory=True)
                self._report(pod, sandbox, env, accepted=accepted, said="formatted already" if accepted else "foreign")
            case 2 if disk.content is Content.UNREADABLE or (disk.content is Content.PARTIAL and not mine):
                self._report(pod, sandbox, env, accepted=False, said=f"the disk is {disk.content.value}")
            case 2:
                disk.wipe()
                disk.intent, disk.recovery = env["KQ_INTENT"], int(env.get("KQ_RECOVERY", "0"))
            case 3:
                disk.files = True
            case 4 if refuses(container["command"], self._static(pod)):
                self._report(pod, sandbox, env, accepted=False, said="kafka-storage.sh ended with 1")
            case 4:
                self._write_meta(pod, sandbox, disk, env)
            case _:
                self._report(pod, sandbox, env, accepted=True, said="formatted")

    def _write_meta(self, pod: Json, sandbox: Sandbox, disk: Disk, env: dict[str, str]) -> None:
        """The tool's last step. What it writes follows from its arguments."""
        container = pod["spec"]["containers"][0]
        command, voters = container["command"], initial_voters(container["command"])
        node_id = NodeID(int(env["KQ_NODE_ID"]))
        given = next((key.directory_id for key in voters if key.node_id == node_id), None)
        directory = given or DirectoryID(uuid_from_bytes(self._ids.uuid_bytes()))
        disk.meta = Meta(cluster_id=ClusterID(env["KQ_CLUSTER_ID"]), node_id=node_id, directory_id=directory)
        disk.voters, disk.initial, disk.ran = voters, bool(voters), False
        disk.static = is_static_format(command)
        if voters or disk.static:
            disk.levels = levels_in(command, release_of(container["image"], self.releases))
        self._tell(
            Formatted(
                namespace=sandbox.namespace,
                quorum=sandbox.quorum,
                serial=disk.serial,
                cluster_id=disk.meta.cluster_id,
                key=ReplicaKey(node_id=node_id, directory_id=directory),
                initial=disk.initial,
                voters=disk.voters,
                static=disk.static,
            )
        )

    def _static(self, pod: Json) -> frozenset[NodeID]:
        """The static voters in the configuration that a pod mounts."""
        return static_voters(self._properties(pod))

    def _properties(self, pod: Json) -> str:
        """The properties in the configuration that a pod mounts."""
        namespace, node_id = pod["metadata"]["namespace"], int(pod["metadata"]["labels"][LABEL_NODE])
        maps = (self._kube.view(CONFIG_MAPS, namespace, name) for name in config_maps_of(pod))
        return "\n".join(properties_of(one, node_id) for one in maps)

    def _tls(self, pod: Json, sandbox: Sandbox) -> Tls | None:
        """What Kafka loads when it starts: the key as it is mounted, and the authorities in its configuration."""
        namespace = pod["metadata"]["namespace"]
        maps = [self._kube.view(CONFIG_MAPS, namespace, name) for name in config_maps_of(pod)]
        trust = trust_of(self._properties(pod), maps)
        if trust is None or sandbox.mount is None:
            return None
        leaf, authorities = leaf_in(sandbox.mount.keystore), trust_in(trust)
        if leaf is None or not authorities.authorities:
            raise CannotStartError("a store in PEM has no certificate")
        users = [self._kube.view(SECRETS, namespace, name) for name in users_of(pod)]
        if None not in users:  # what is gone stays mounted
            sandbox.users = "".join(content_of(one, USERS_KEY) for one in users)
        return Tls(mount=sandbox.mount, trust=authorities, served=leaf, shown=leaf, users=sandbox.users)

    def _report(self, pod: Json, sandbox: Sandbox, env: dict[str, str], *, accepted: bool, said: str) -> None:
        sandbox.done = True
        self._disk(sandbox).reported = accepted
        ended = self._ended(sandbox, env, accepted=accepted, said=said)
        self._container(pod, {"terminated": ended}, phase="Succeeded" if accepted else "Failed")

    def _ended(self, sandbox: Sandbox, env: dict[str, str], *, accepted: bool, said: str) -> Json:
        """How a container ends in which a script of the operator ran."""
        disk = self._disk(sandbox)
        meta, sandbox.runs = disk.meta, sandbox.runs + 1
        message = {
            "script": SCRIPT,
            "found": disk.content.value,
            "clusterID": meta.cluster_id if meta else "",
            "nodeID": str(meta.node_id) if meta else "",
            "directoryID": meta.directory_id if meta else "",
            "place": self._volumes.by_claim[sandbox.claim_uid].place,
            "mode": env["KQ_MODE"],
            "accepted": accepted,
            "message": said,
        }
        return {
            "exitCode": 0 if accepted else 1,
            "reason": "Completed" if accepted else "Error",
            "message": json.dumps(message),
            "finishedAt": self._clock.stamp(),
            "containerID": f"containerd://{sandbox.uid}-{sandbox.runs}",
        }

    # The pod that runs Kafka

    def _controller(self, pod: Json, sandbox: Sandbox) -> None:
        container = pod["spec"]["containers"][0]
        if sandbox.mount is not None:
            self.mounts.follow(sandbox.namespace, secret_of(pod), sandbox.mount, sandbox.uid)
        if sandbox.process is not None and sandbox.process.failed:
            self._died(pod, sandbox)
        if sandbox.process is not None or self._no_image(pod, sandbox, container["image"]):
            return
        if self._clock.elapsed_s < sandbox.retry_s:
            waiting: Json = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting"}}
            self._row(pod, sandbox, waiting)
            return
        env = env_of(container)
        sandbox.stage += 1
        if not sandbox.verified and sandbox.stage == 1:
            self._row(pod, sandbox, {"running": {"startedAt": self._clock.stamp()}})
            return
        disk = self._disk(sandbox)
        if not (disk.content is Content.FORMATTED and accepts(env, disk, any_directory=False)):
            said = f"the disk is {disk.content.value}"
            self._refuse(pod, sandbox, self._ended(sandbox, env, accepted=False, said=said))
        elif not sandbox.verified:
            sandbox.passed_report = self._ended(sandbox, env, accepted=True, said="as expected")
            sandbox.verified, sandbox.stage, sandbox.said, sandbox.before = True, 0, None, None
            self._row(pod, sandbox, {"waiting": {"reason": "PodInitializing"}})
        else:
            self._run(pod, sandbox, disk, env)

    def _run(self, pod: Json, sandbox: Sandbox, disk: Disk, env: dict[str, str]) -> None:
        spec, node_id = pod["spec"], NodeID(int(pod["metadata"]["labels"][LABEL_NODE]))
        host = f"{spec['hostname']}.{spec['subdomain']}.{sandbox.namespace}.svc"
        port = spec["containers"][0]["ports"][0]["containerPort"]
        try:
            sandbox.process = self._kraft.start(
                disk,
                node_id=NodeID(node_id),
                address=sandbox.address,
                host=host,
                port=port,
                listener=LISTENER,
                node=sandbox.node,
                as_=Software(
                    release=release_of(spec["containers"][0]["image"], self.releases),
                    static=self._static(pod),
                    fetch_timeout_s=fetch_timeout_in(self._properties(pod)),
                    migrates=migrates_in(self._properties(pod)),
                    pace=self.pace(),
                    addressed_s=sandbox.addressed_s,
                    tls=self._tls(pod, sandbox),
                    listens=listeners_in(self._properties(pod)),
                    plain=plain_in(self._properties(pod)),
                ),
            )
        except CannotStartError as error:
            self._refuse(pod, sandbox, self._ended(sandbox, env, accepted=False, said=str(error)))
            return
        process, sandbox.began_s = sandbox.process, self._clock.elapsed_s
        self._tell(
            Started(
                namespace=sandbox.namespace,
                quorum=sandbox.quorum,
                serial=disk.serial,
                cluster_id=process.cluster_id,
                key=process.key,
                pod_made=pod["metadata"]["creationTimestamp"],
            )
        )
        self._row(pod, sandbox, {"running": {"startedAt": self._clock.stamp()}}, phase="Running")

    def _died(self, pod: Json, sandbox: Sandbox) -> None:
        """Kafka has ended by itself, and the container is to start again. Its last words are a log, and no report."""
        said = sandbox.process.failed if sandbox.process else ""
        sandbox.process, sandbox.runs = None, sandbox.runs + 1
        ended = {"exitCode": 1, "reason": "Error", "message": said, "finishedAt": self._clock.stamp()}
        self._refuse(pod, sandbox, {**ended, "containerID": f"containerd://{sandbox.uid}-{sandbox.runs}"})

    def _refuse(self, pod: Json, sandbox: Sandbox, ended: Json) -> None:
        sandbox.stage, sandbox.before, sandbox.said = 0, sandbox.said, ended
        sandbox.retry_s = self._clock.elapsed_s + self._pause_s(sandbox)
        self._row(pod, sandbox, {"terminated": ended})

    def _pause_s(self, sandbox: Sandbox) -> float:
        """How long a container waits after its end."""
        if not self.backs_off:
            return BACK_OFF_S
        if sandbox.began_s and self._clock.elapsed_s - sandbox.began_s >= RESET_S:
            sandbox.failures = 0
        sandbox.failures, sandbox.began_s = sandbox.failures + 1, 0.0
        doubled = FIRST_BACK_OFF_S * 2.0 ** (sandbox.failures - 2)
        return min(doubled, LONGEST_BACK_OFF_S) if sandbox.failures > 1 else 0.0

    def _row(self, pod: Json, sandbox: Sandbox, state: Json, phase: str = "Pending") -> None:
        """Write the state of the present container."""
        started = sandbox.process.incarnation if sandbox.process and sandbox.verified else ""
        passed = sandbox.passed_report
        said = sandbox.before if "terminated" in state else sandbox.said
        rows = rows_of(pod, state, verified=sandbox.verified, said=said, started=started, passed=passed)
        write_status(self._kube, pod, {"phase": phase, "podIP": sandbox.address, **rows})

    # Both

    def _no_image(self, pod: Json, sandbox: Sandbox, image: str) -> bool:
        if not any(word in image for word in self.bad_images):
            return False
        reason = "ErrImagePull" if sandbox.stage == 0 else "ImagePullBackOff"
        sandbox.stage = 1
        state = {"waiting": {"reason": reason, "message": f"image {image} cannot be pulled"}}
        rows = rows_of(pod, state, verified=False)
        write_status(self._kube, pod, {"phase": "Pending", "podIP": sandbox.address, **rows})
        return True

    def _container(self, pod: Json, state: Json, *, phase: str) -> None:
        name = pod["spec"]["containers"][0]["name"]
        write_status(self._kube, pod, {"phase": phase, "containerStatuses": [{"name": name, "state": state}]})

    def _check_sharing(self) -> None:
        users: dict[str, list[str]] = {}
        for sandbox in self.sandboxes.values():
            runs = sandbox.process is not None or sandbox.streams is not None
            if not sandbox.done and (runs or sandbox.stage > 0):
                for uid in sandbox.writable_uids:
                    users.setdefault(uid, []).append(sandbox.name)
        for claim, pods in users.items():
            if len(pods) > 1:
                self._tell(Shared(claim=claim, pods=tuple(sorted(pods))))
