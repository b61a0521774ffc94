"""A ZooKeeper ensemble from plain manifests, of the ZooKeeper in Kafka's own image, each member on its own claim.

Members are the pods `NAME-1`, `NAME-2`, … of a headless service `NAME`; the number is ZooKeeper's id of the server.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.security import ACL, ANYONE_ID_UNSAFE

from harness import nodes, pods
from harness.shell import Json, get, kubectl, run, wait_until
from kafka_quorum.resources.properties import JAVA_SECURITY

VERSION: Final = "3.9.2"
PORT: Final = 2181
LABEL: Final = "zookeeper"
LEADER: Final = "leader"
_READ, _WRITE, _CREATE, _DELETE, _ADMIN = 1, 2, 4, 8, 16
"""ZooKeeper's rights to a znode, as the bits of its ACLs; to create and to delete are about its children."""
_START_TIMEOUT_S = 120.0
_ASK_TIMEOUT_S = 3.0
_CONNECT_TIMEOUT_S = 30.0
_SETTINGS = """\
tickTime=1000
initLimit=20
syncLimit=10
dataDir=/data/zookeeper
clientPort=2181
quorumListenOnAllIPs=true
standaloneEnabled=false
admin.enableServer=false
4lw.commands.whitelist=srvr,ruok,mntr
maxClientCnxns=0
"""
_SCRIPT = """\
set -eu
mkdir -p /data/zookeeper
echo "${HOSTNAME##*-}" > /data/zookeeper/myid
printf '%s' "$JAVA_SECURITY" > /data/java.security
printf '%s' "$SETTINGS" > /data/zoo.cfg
exec /opt/kafka/bin/kafka-run-class.sh org.apache.zookeeper.server.quorum.QuorumPeerMain /data/zoo.cfg
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Znode:
    """A znode as it was read. `version` is that of its data; `ephemeral` is whether it ends with a session."""

    data: bytes
    version: int
    ephemeral: bool

    @property
    def text(self) -> str:
        """Its data, as Kafka writes it."""
        return self.data.decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """An ensemble by namespace and name."""

    namespace: str
    name: str = "zk"
    size: int = 3
    version: str = VERSION

    # --- acts -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Create it; returns when it serves and every member answers."""
        for body in self.manifests():
            self._kubectl("create", "-f", "-", stdin=json.dumps(body))
        self.wait_all()

    def wait_serving(self, timeout_s: float = _START_TIMEOUT_S) -> int:
        """Wait until a leader serves; returns its number."""
        return wait_until(f"a leader of {self.name} serves", self.leader, timeout_s)

    def wait_all(self, timeout_s: float = _START_TIMEOUT_S) -> None:
        """Wait until there is a leader, and every member serves."""

        def serving() -> bool:
            modes = self.modes()
            return all(modes.values()) and LEADER in modes.values()

        wait_until(f"every member of {self.name} serves", serving, timeout_s)

    def kill_leader(self) -> int:
        """SIGKILL to the leader's process; the kubelet starts it again. Returns its number (AssertionError if none)."""
        leading = self.leader()
        assert leading is not None, f"{self.name} has no leader: {self.modes()}"
        nodes.kill_container(self.pod(leading))
        return leading

    def delete_member(self, number: int) -> None:
        """Delete a member's pod at once; its controller creates it again on the same disk."""
        self._kubectl("delete", "pod", self.pod_name(number), "--force", "--grace-period=0")

    def scale(self, count: int) -> None:
        """Let this many members run, the first ones; returns when no other one does, and every one of them serves."""
        self._kubectl("scale", f"statefulset/{self.name}", f"--replicas={count}")
        gone = [number for number in self.numbers if number > count]
        wait_until("the others are gone", lambda: not any(map(self.pod, gone)), _START_TIMEOUT_S)
        if count:
            wait_until("the first ones serve", lambda: all(map(self._mode, self.numbers[:count])), _START_TIMEOUT_S)

    def write(self, path: str, text: str) -> None:
        """Give a znode this content; one that does not exist is created, and outlasts this session."""
        with self.client() as client:
            if client.exists(path):
                client.set(path, text.encode())
            else:
                client.create(path, text.encode())

    def delete(self, path: str) -> None:
        """Delete a znode, which must exist (NoNodeError)."""
        with self.client() as client:
            client.delete(path)

    def replace(self, path: str, text: str) -> None:
        """Delete a znode and create it with this content, both or nothing: nobody sees that it is gone."""
        with self.client() as client:
            transaction = client.transaction()
            transaction.delete(path)
            transaction.create(path, text.encode())
            refused = [result for result in transaction.commit() if isinstance(result, Exception)]
        assert not refused, refused

    @contextmanager
    def limited(self, path: str, *, create: bool, delete: bool, write: bool) -> Iterator[None]:
        """While this lasts, everybody may read a znode and change its ACL, and nothing else but what is true here."""
        with self.client() as client:
            before, _ = client.get_acls(path)
            wanted = [(_READ, True), (_WRITE, write), (_CREATE, create), (_DELETE, delete), (_ADMIN, True)]
            client.set_acls(path, [ACL(sum(bit for bit, has in wanted if has), ANYONE_ID_UNSAFE)])
        try:
            yield
        finally:
            with self.client() as client:
                client.set_acls(path, before)

    def stop(self) -> None:
        """Delete all of it, with its disks."""
        self._kubectl("delete", "statefulset,service", "-l", f"{LABEL}={self.name}", "--ignore-not-found")
        run(
            "kubectl",
            "-n",
            self.namespace,
            "delete",
            "pod",
            "-l",
            f"{LABEL}={self.name}",
            "--force",
            "--grace-period=0",
        )
        self._kubectl("delete", "pvc", "-l", f"{LABEL}={self.name}", "--wait=false")

    # --- looks ------------------------------------------------------------------------------------------------------

    @property
    def numbers(self) -> tuple[int, ...]:
        """The members' numbers."""
        return tuple(range(1, self.size + 1))

    @property
    def connect(self) -> str:
        """Kafka's `zookeeper.connect`, without a chroot."""
        return ",".join(f"{self.pod_name(number)}.{self.name}.{self.namespace}.svc:{PORT}" for number in self.numbers)

    def pod_name(self, number: int) -> str:
        """The name of a member's pod."""
        return f"{self.name}-{number}"

    def pod(self, number: int) -> Json:
        """A member's pod; empty if it is gone."""
        return get(self.namespace, "pod", self.pod_name(number))

    def modes(self) -> dict[int, str]:
        """`leader` or `follower` for each member that serves, an empty text for each that does not."""
        return {number: self._mode(number) for number in self.numbers}

    def leader(self) -> int | None:
        """The member that leads; None if none answers as the leader."""
        return next((number for number, mode in self.modes().items() if mode == LEADER), None)

    @contextmanager
    def client(self, chroot: str = "") -> Iterator[KazooClient]:
        """A connected client: kazoo's own errors from then on."""
        client = KazooClient(hosts=self.connect + chroot, timeout=_CONNECT_TIMEOUT_S)
        client.start(timeout=_CONNECT_TIMEOUT_S)
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def read(self, path: str, chroot: str = "") -> Znode | None:
        """A znode; None if it does not exist."""
        with self.client(chroot) as client:
            try:
                data, stat = client.get(path)
            except NoNodeError:
                return None
            return Znode(data=data, version=stat.version, ephemeral=bool(stat.ephemeralOwner))

    def children(self, path: str, chroot: str = "") -> tuple[str, ...]:
        """The names below a znode, sorted; empty if it does not exist."""
        with self.client(chroot) as client:
            try:
                return tuple(sorted(client.get_children(path)))
            except NoNodeError:
                return ()

    def _mode(self, number: int) -> str:
        """What `srvr` says; empty if the member does not serve, or is gone."""
        address = self.pod(number).get("status", {}).get("podIP")
        if not address:
            return ""
        try:
            text = four_letters(str(address), "srvr")
        except OSError:
            return ""
        return next((line.partition(": ")[2] for line in text.splitlines() if line.startswith("Mode: ")), "")

    def _kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return kubectl("-n", self.namespace, *arguments, stdin=stdin)

    # --- the manifests ----------------------------------------------------------------------------------------------

    def manifests(self) -> tuple[Json, ...]:
        """The service and the StatefulSet."""
        labels = {LABEL: self.name}
        ports = [("client", PORT), ("peer", 2888), ("election", 3888)]
        service = {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,  # members find each other before any of them serves
            "selector": labels,
            "ports": [{"name": name, "port": port} for name, port in ports],
        }
        claim = pods.claim("data")
        stateful = {
            "serviceName": self.name,
            "replicas": self.size,
            "podManagementPolicy": "Parallel",
            "ordinals": {"start": 1},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": self._pod_spec()},
            "volumeClaimTemplates": [{"metadata": {"name": "data", "labels": labels}, "spec": claim["spec"]}],
        }
        metadata = {"name": self.name, "labels": labels}
        return (
            {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service},
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": stateful},
        )

    def _pod_spec(self) -> Json:
        servers = (
            f"server.{number}={self.pod_name(number)}.{self.name}.{self.namespace}.svc:2888:3888\n"
            for number in self.numbers
        )
        env = pods.variables(
            SETTINGS=_SETTINGS + "".join(servers),
            JAVA_SECURITY=JAVA_SECURITY,
            KAFKA_HEAP_OPTS="-Xmx128m",
            KAFKA_OPTS="-Djava.security.properties=/data/java.security -Dzookeeper.jmx.log4j.disable=true",
            KAFKA_LOG_CONFIG="log4j",
            LOG_DIR="/data",
        )
        container = {
            "name": "zookeeper",
            "image": f"testbed/kafka:{self.version}",
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", _SCRIPT],
            "env": env,
            "readinessProbe": {"tcpSocket": {"port": 2181}, "periodSeconds": 2},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "resources": pods.RESOURCES,
            "securityContext": pods.CONTAINER_SECURITY,
        }
        return {
            "containers": [container],
            "securityContext": pods.POD_SECURITY,
            "topologySpreadConstraints": pods.apart(LABEL, self.name),
            "terminationGracePeriodSeconds": 10,
        }


def make_ensemble(namespace: str, name: str = "zk", size: int = 3, version: str = VERSION) -> Ensemble:
    """Create an ensemble, and wait until every member serves. Kafka's image of `version` must be on the workers."""
    made = Ensemble(namespace=namespace, name=name, size=size, version=version)
    made.start()
    return made


def four_letters(address: str, word: str) -> str:
    """The answer of a ZooKeeper server to one of its four letter words (OSError)."""
    with socket.create_connection((address, PORT), timeout=_ASK_TIMEOUT_S) as channel:
        channel.sendall(word.encode())
        answer = bytearray()
        while part := channel.recv(65536):
            answer += part
    return answer.decode()
