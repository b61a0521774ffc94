"""A plain broker beside the quorum: one pod from Kafka's image, on the control plane, which no scenario takes down."""

import json
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness.quorum import Quorum
from harness.shell import Json, get, kubectl, run, wait_until
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import host_name

KAFKA_IMAGE = "testbed/kafka:4.4.0"
_PORT = 9092
_START_TIMEOUT_S = 120.0
_SCRIPT = """\
set -eu
printf '%s\\n' "$PROPERTIES" "advertised.listeners=PLAINTEXT://$POD_IP:9092" > /data/server.properties
/opt/kafka/bin/kafka-storage.sh format --ignore-formatted --config /data/server.properties --cluster-id "$CLUSTER_ID"
exec /opt/kafka/bin/kafka-server-start.sh /data/server.properties
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A broker of a quorum. `controllers` are the node ids that it looks for the quorum at."""

    quorum: Quorum
    node_id: int
    controllers: tuple[int, ...]

    @property
    def pod(self) -> str:
        """The name of its pod."""
        return f"broker-{self.node_id}"

    def start(self, *, wait: bool = True) -> None:
        """Make the pod; wait until it answers as a member of the cluster."""
        kubectl("-n", self.quorum.namespace, "create", "-f", "-", stdin=json.dumps(self._pod()))
        if wait:
            wait_until(f"{self.pod} answers", self._answers, _START_TIMEOUT_S)

    def stop(self) -> None:
        """Take the pod away at once."""
        where = ("-n", self.quorum.namespace)
        run("kubectl", *where, "delete", "pod", self.pod, "--force", "--grace-period=0", "--ignore-not-found")

    def client(self) -> AdminClient:
        """A client of this broker."""
        address = get(self.quorum.namespace, "pod", self.pod)["status"]["podIP"]
        # Its own words about connections would go to standard error, in the middle of a report.
        return AdminClient({"bootstrap.servers": f"{address}:{_PORT}", "log_level": 0})

    def _answers(self) -> bool:
        status = get(self.quorum.namespace, "pod", self.pod)["status"]
        if not status.get("podIP") or not any(row["ready"] for row in status.get("containerStatuses", [])):
            return False
        try:
            return self.node_id in self.client().list_topics(timeout=5).brokers
        except KafkaException:
            return False

    def _properties(self) -> str:
        names = (host_name(self.quorum.namespace, self.quorum.name, NodeID(number)) for number in self.controllers)
        rows = {
            "process.roles": "broker",
            "node.id": self.node_id,
            "listeners": f"PLAINTEXT://:{_PORT}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.bootstrap.servers": ",".join(f"{name}:9093" for name in names),
            "log.dirs": "/data/log",
            "log.index.size.max.bytes": 65536,
            "offsets.topic.replication.factor": 1,
        }
        return "\n".join(f"{key}={value}" for key, value in rows.items())

    def _pod(self) -> Json:
        variables = {
            "PROPERTIES": self._properties(),
            "CLUSTER_ID": self.quorum.record()["cluster_id"],
            "KAFKA_HEAP_OPTS": "-Xmx256m",
            "EXTRA_ARGS": "",
            "LOG_DIR": "/data",
        }
        env: list[Json] = [{"name": name, "value": value} for name, value in variables.items()]
        env.append({"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
        container = {
            "name": "kafka",
            "image": KAFKA_IMAGE,
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", _SCRIPT],
            "env": env,
            "readinessProbe": {"tcpSocket": {"port": _PORT}, "periodSeconds": 1},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
        role = "node-role.kubernetes.io/control-plane"
        spec = {
            "containers": [container],
            "volumes": [{"name": "data", "emptyDir": {}}],
            "nodeSelector": {role: ""},
            "tolerations": [{"key": role, "operator": "Exists"}],
            "terminationGracePeriodSeconds": 5,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                "runAsGroup": 1000,
                "fsGroup": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        }
        metadata = {"name": self.pod, "namespace": self.quorum.namespace}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
