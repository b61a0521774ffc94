"""Kafka brokers of somebody else that begin in ZooKeeper mode, from plain manifests, and the owner who follows a page.

The owner knows nothing of the operator but the text `server.properties` of the published broker contract. Each broker's
file is the owner's own settings with the page's lines over them, so a key that the page does not name any more has the
owner's value again. Brokers are restarted one by one; the next follows when no partition is under-replicated.
"""

import json
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness import pods
from harness.page import with_page as lines_over
from harness.shell import Json, get, kubectl, run, wait_until
from kafka_quorum.resources.properties import JAVA_SECURITY

VERSION: Final = "3.9.2"
NODE_IDS: Final = (1, 2, 3)
PORT: Final = 9092
SASL_PORT: Final = 9094
REPLICATION_PORT: Final = 9091
LABEL: Final = "zookeeper-broker"
ROLES: Final = "process.roles"
ZOOKEEPER_AUTHORIZER: Final = "kafka.security.authorizer.AclAuthorizer"
KRAFT_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SUPER_USERS: Final = "User:ANONYMOUS;User:admin"
_START_TIMEOUT_S = 180.0
_BACK_TIMEOUT_S = 300.0
_SHUTDOWN_TIMEOUT_S = 120
_LOOK_TIMEOUT_S = 5.0
_POLL_S = 0.5
_SCRIPT = """\
set -eu
printf '%s\\n' "$PROPERTIES" > /data/server.properties
printf '%s' "$JAVA_SECURITY" > /data/java.security
if grep -q '^process.roles=' /data/server.properties && [ ! -e /data/log/meta.properties ]; then
  /opt/kafka/bin/kafka-storage.sh format --config /data/server.properties "--cluster-id=$CLUSTER_ID"
fi
exec /opt/kafka/bin/kafka-server-start.sh /data/server.properties
"""


def with_page(own: Mapping[str, str], page: str, node_id: int) -> dict[str, str]:
    """The properties of a broker that follows a page: its owner's own settings, and the page's lines over them.

    The id is `node.id` if the page sets `process.roles`, else `broker.id`. A line of another form is a ValueError.
    """
    found = lines_over(own, page)
    named, other = ("node.id", "broker.id") if ROLES in found else ("broker.id", "node.id")
    found.pop(other, None)
    return found | {named: str(node_id)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """The cost of one broker's restart, in seconds: until its pod was gone, and until every partition was in sync."""

    node_id: int
    stopping_s: float
    took_s: float

    def __str__(self) -> str:
        """For a line of figures."""
        return f"{self.node_id}: {self.took_s:.1f} s ({self.stopping_s:.1f} s of it stopping)"


@dataclass(slots=True, kw_only=True)
class ZooKeeperBrokers:
    """Brokers that use the ZooKeeper at `connect`, and their owner. `own` are further settings of all of them.

    `cluster_id` is needed only for a broker that is added when the page sets `process.roles` already.
    """

    namespace: str
    connect: str
    node_ids: tuple[int, ...] = NODE_IDS
    version: str = VERSION
    heap: str = "384m"
    own: Mapping[str, str] = field(default_factory=dict)
    page: str = ""
    cluster_id: str = ""
    replication: bool = False
    """Whether they speak to each other at a listener REPLICATION, as the brokers of a pool that adopts them."""
    single: dict[int, Mapping[str, str | None]] = field(default_factory=dict)
    """Settings of single brokers by id, over everything else; None removes one. They count from the next start on."""
    _addresses: dict[int, str] = field(default_factory=dict)

    # --- acts of the owner --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Create all of them; returns when each is a member and every partition is in sync."""
        for node_id in self.node_ids:
            self.add(node_id)
        for node_id in self.node_ids:
            self.wait_back(node_id, _START_TIMEOUT_S)

    def add(self, node_id: int) -> None:
        """Create a broker with a disk and an address; does not wait."""
        self._make_disk_and_address(node_id)
        self._create(self._pod(node_id))

    def remove(self, node_id: int) -> None:
        """Shut a broker down, and delete its disk and its address."""
        self.shut_down(node_id)
        self._kubectl("delete", "service,pvc", "-l", f"{LABEL}={node_id}", "--wait=false")

    def follow(self, page: str, node_ids: Iterable[int] = ()) -> tuple[Restart, ...]:
        """Give each broker (or these) the lines of a page, one after the other; returns what each restart took."""
        self.page = page
        return tuple(self.restart(node_id) for node_id in node_ids or self.node_ids)

    def restart(self, node_id: int) -> Restart:
        """Shut a broker down and start it with the current page; returns when every partition is in sync."""
        began_s = time.monotonic()
        self.shut_down(node_id)
        stopping_s = time.monotonic() - began_s
        self._create(self._pod(node_id))
        self.wait_back(node_id)
        return Restart(node_id=node_id, stopping_s=stopping_s, took_s=time.monotonic() - began_s)

    def shut_down(self, node_id: int) -> None:
        """Delete a broker's pod like a person: it hands over its leaderships, and is gone when this returns."""
        self._kubectl("delete", "pod", self.pod_name(node_id), timeout_s=_SHUTDOWN_TIMEOUT_S + 30)

    def end(self, node_id: int) -> None:
        """End a broker at once; ZooKeeper has its registration until its session expires. Its pod is gone then."""
        self._kubectl("delete", "pod", self.pod_name(node_id), "--force", "--grace-period=0")

    def start_again(self, node_id: int) -> None:
        """Start a broker that was shut down; does not wait."""
        self._create(self._pod(node_id))

    def hand_over(self, node_id: int, claim: Json, selector: Json) -> None:
        """Give a broker's volume to this claim, and its address to the pods of this selector; its pod is gone then.

        The owner stops the broker, keeps its volume, and binds the new claim to it.
        """
        name = self.pod_name(node_id)
        volume = get(self.namespace, "pvc", name)["spec"]["volumeName"]
        kubectl("patch", "pv", volume, "--type=merge", "-p", '{"spec": {"persistentVolumeReclaimPolicy": "Retain"}}')
        self.shut_down(node_id)
        self._kubectl("delete", "pvc", name)
        kubectl("patch", "pv", volume, "--type=json", "-p", '[{"op": "remove", "path": "/spec/claimRef"}]')
        body = {**claim, "spec": {**claim["spec"], "volumeName": volume}}
        self._create(body)
        patch = json.dumps([{"op": "replace", "path": "/spec/selector", "value": selector}])
        self._kubectl("patch", "service", name, "--type=json", "-p", patch)

    def stop(self) -> None:
        """Delete all of them at once, with their disks."""
        where = ("-n", self.namespace, "delete")
        run("kubectl", *where, "pod", "-l", LABEL, "--force", "--grace-period=0")
        run("kubectl", *where, "service,pvc", "-l", LABEL, "--wait=false")

    # --- looks ------------------------------------------------------------------------------------------------------

    @property
    def bootstrap(self) -> str:
        """Where clients begin, without authentication: they are the super user ANONYMOUS."""
        return ",".join(f"{self.address(node_id)}:{PORT}" for node_id in self.node_ids)

    @property
    def sasl_bootstrap(self) -> str:
        """Where clients begin with SCRAM-SHA-512 over SASL_PLAINTEXT."""
        return ",".join(f"{self.address(node_id)}:{SASL_PORT}" for node_id in self.node_ids)

    def address(self, node_id: int) -> str:
        """The stable address of a broker while its pods come and go."""
        if node_id not in self._addresses:
            found = get(self.namespace, "service", self.pod_name(node_id))
            self._addresses[node_id] = str(found["spec"]["clusterIP"])
        return self._addresses[node_id]

    def pod_name(self, node_id: int) -> str:
        """The name of a broker's pod, service and claim."""
        return f"kafka-{node_id}"

    def pod(self, node_id: int) -> Json:
        """A broker's pod; empty if it is gone."""
        return get(self.namespace, "pod", self.pod_name(node_id))

    def client(self, *node_ids: int) -> AdminClient:
        """A client that begins at these brokers, or at all."""
        chosen = node_ids or self.node_ids
        servers = ",".join(f"{self.address(node_id)}:{PORT}" for node_id in chosen)
        return AdminClient({"bootstrap.servers": servers, "log_level": 0})

    def client_of(self, user: str, password: str) -> AdminClient:
        """A client that authenticates as a SCRAM user."""
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": self.sasl_bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": password,
            "log_level": 0,
        }
        return AdminClient(settings)

    def properties(self, node_id: int) -> dict[str, str]:
        """What a broker has in its file if it is started now."""
        found = with_page(self._own(node_id), self.page, node_id)
        changed = found | dict(self.single.get(node_id, {}))
        return {key: value for key, value in changed.items() if value is not None}

    def behind(self, node_id: int, members: Collection[int] = ()) -> str:
        """What a broker, asked alone, reports of these brokers (all of them) that is not as it must be.

        Each must be a member, and in sync with every partition that it is a replica of; empty if that holds.
        """
        wanted = set(members or self.node_ids)
        try:
            found = self.client(node_id).list_topics(timeout=_LOOK_TIMEOUT_S)
        except KafkaException as error:
            return str(error)
        if missing := wanted - set(found.brokers):
            return f"brokers {sorted(missing)} are no members"
        rows = (
            f"{topic.topic}-{row.id}"
            for topic in found.topics.values()
            for row in topic.partitions.values()
            if wanted & set(row.replicas) - set(row.isrs)
        )
        return next((f"{name} is under-replicated" for name in rows), "")

    def wait_back(self, node_id: int, timeout_s: float = _BACK_TIMEOUT_S) -> None:
        """Wait until a broker's pod is ready, and all that have a pod report one another as members and in sync."""
        running = [each for each in self.node_ids if self.pod(each)]

        def back() -> bool:
            rows = self.pod(node_id).get("status", {}).get("containerStatuses") or [{}]
            return bool(rows[0].get("ready")) and not any(self.behind(each, running) for each in running)

        wait_until(f"broker {node_id} is back, and every partition in sync", back, timeout_s, _POLL_S)

    def logs(self, node_id: int, lines: int = 60) -> str:
        """The last lines of a broker's log."""
        _, text, errors = run("kubectl", "-n", self.namespace, "logs", self.pod_name(node_id), f"--tail={lines}")
        return text + errors

    # --- the manifests ----------------------------------------------------------------------------------------------

    def _own(self, node_id: int) -> dict[str, str]:
        """The owner's own settings of a broker, as they were before any page."""
        address = self.address(node_id)
        return {
            "broker.id": str(node_id),
            "zookeeper.connect": self.connect,
            "zookeeper.session.timeout.ms": "9000",
            "listeners": f"PLAINTEXT://:{PORT},SASL_PLAINTEXT://:{SASL_PORT}",
            "advertised.listeners": f"PLAINTEXT://{address}:{PORT},SASL_PLAINTEXT://{address}:{SASL_PORT}",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "authorizer.class.name": ZOOKEEPER_AUTHORIZER,
            "super.users": SUPER_USERS,
            "log.dirs": "/data/log",
            "log.index.size.max.bytes": "65536",
            "auto.create.topics.enable": "false",
            "default.replication.factor": "3",
            "min.insync.replicas": "2",
            "offsets.topic.num.partitions": "5",
            "offsets.topic.replication.factor": "3",
            "transaction.state.log.num.partitions": "5",
            "transaction.state.log.replication.factor": "3",
            **(self._replication(address) if self.replication else {}),
            **self.own,
        }

    def _replication(self, address: str) -> dict[str, str]:
        names = (("PLAINTEXT", PORT), ("SASL_PLAINTEXT", SASL_PORT), ("REPLICATION", REPLICATION_PORT))
        protocols = {"REPLICATION": "PLAINTEXT"}
        return {
            "listeners": ",".join(f"{name}://:{port}" for name, port in names),
            "advertised.listeners": ",".join(f"{name}://{address}:{port}" for name, port in names),
            "listener.security.protocol.map": ",".join(f"{name}:{protocols.get(name, name)}" for name, _ in names),
            "inter.broker.listener.name": "REPLICATION",
        }

    def _pod(self, node_id: int) -> Json:
        rows = self.properties(node_id)
        env = pods.variables(
            PROPERTIES="\n".join(f"{key}={value}" for key, value in sorted(rows.items())),
            JAVA_SECURITY=JAVA_SECURITY,
            CLUSTER_ID=self.cluster_id,
            KAFKA_HEAP_OPTS=f"-Xmx{self.heap}",
            KAFKA_OPTS="-Djava.security.properties=/data/java.security",
            EXTRA_ARGS="",
            LOG_DIR="/data",
        )
        container = {
            "name": "kafka",
            "image": f"testbed/kafka:{self.version}",
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", _SCRIPT],
            "env": env,
            "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "resources": pods.RESOURCES,
            "securityContext": pods.CONTAINER_SECURITY,
        }
        name = self.pod_name(node_id)
        spec = {
            "containers": [container],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
            "securityContext": pods.POD_SECURITY,
            "topologySpreadConstraints": pods.apart("app", LABEL),
            "terminationGracePeriodSeconds": _SHUTDOWN_TIMEOUT_S,
        }
        return {"apiVersion": "v1", "kind": "Pod", "metadata": self._metadata(node_id), "spec": spec}

    def _make_disk_and_address(self, node_id: int) -> None:
        """The claim and the service of a broker."""
        ports = [{"name": "plain", "port": PORT}, {"name": "sasl", "port": SASL_PORT}]
        ports.append({"name": "replication", "port": REPLICATION_PORT})
        spec = {"selector": {LABEL: str(node_id)}, "ports": ports, "publishNotReadyAddresses": True}
        metadata = self._metadata(node_id)
        self._create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        self._create({**pods.claim(self.pod_name(node_id)), "metadata": metadata})

    def _metadata(self, node_id: int) -> Json:
        return {"name": self.pod_name(node_id), "labels": {"app": LABEL, LABEL: str(node_id)}}

    def _create(self, body: Json) -> None:
        self._kubectl("create", "-f", "-", stdin=json.dumps(body))

    def _kubectl(self, *arguments: str, stdin: str | None = None, timeout_s: float = 120.0) -> str:
        return kubectl("-n", self.namespace, *arguments, stdin=stdin, timeout_s=timeout_s)
