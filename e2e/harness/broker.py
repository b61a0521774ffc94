"""A plain broker of the cluster: one pod from Kafka's image.

By default it has an empty disk and runs on the control plane, which no scenario takes down; with a claim it runs on the
worker of its disk, and its pod may be created again from another release on the same disk.
"""

import json
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness.page import APPEND, Page, mounts
from harness.quorum import Quorum
from harness.shell import Json, get, kubectl, run, secret_texts, wait_until
from kafka_quorum.model.ids import Member, NodeID
from kafka_quorum.model.names import host_name
from kafka_quorum.resources.properties import JAVA_SECURITY

NEWEST = "4.4.0"
KAFKA_IMAGE = f"testbed/kafka:{NEWEST}"
PORT = 9092
LABEL = "broker"
_START_TIMEOUT_S = 120.0
_SHUTDOWN_TIMEOUT_S = 60
_SCRIPT = f"""\
set -eu
file=/settings/server.properties
{{
  printf '%s\\n' "$PROPERTIES" "advertised.listeners=PLAINTEXT://${{ADDRESS:-$POD_IP}}:9092"
  {APPEND}
}} > "$file"
printf '%s' "$JAVA_SECURITY" > /data/java.security
/opt/kafka/bin/kafka-storage.sh format --ignore-formatted --config "$file" "--cluster-id=$CLUSTER_ID"
exec /opt/kafka/bin/kafka-server-start.sh "$file"
"""
_SETTINGS: Final[Json] = {"name": "settings", "emptyDir": {"medium": "Memory"}}
"""The file of the server: with users of SASL it has passwords, which belong on no disk."""
_ROLE = "node-role.kubernetes.io/control-plane"
_ON_THE_CONTROL_PLANE: Json = {
    "volumes": [{"name": "data", "emptyDir": {}}],
    "nodeSelector": {_ROLE: ""},
    "tolerations": [{"key": _ROLE, "operator": "Exists"}],
    "terminationGracePeriodSeconds": 5,
}
_REFRESH: Final = "topic.metadata.refresh.interval.ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A broker of a quorum. `controllers` are the node ids at which it looks for the quorum.

    With `fresh_names` Java caches their addresses no longer than in the operator's pods; by default for 30 seconds.
    `static` names them as the voters, which must be all of them, as brokers of a static quorum do. `address` is where
    clients find it, if not at its pod. `claim` is its disk's claim; empty for a disk that ends with the pod. `contract`
    has the lines of the broker contract; with it nothing else is set about controllers.
    """

    quorum: Quorum
    node_id: int
    controllers: tuple[int, ...]
    version: str = NEWEST
    static: bool = False
    address: str = ""
    claim: str = ""
    fresh_names: bool = False
    contract: str = ""

    @property
    def pod(self) -> str:
        """The name of its pod."""
        return f"broker-{self.node_id}"

    def start(self, *, wait: bool = True) -> None:
        """Create the pod; wait until it answers as a member of the cluster."""
        kubectl("-n", self.quorum.namespace, "create", "-f", "-", stdin=json.dumps(self._pod()))
        if wait:
            self.wait_answers()

    def wait_answers(self) -> None:
        """Wait until it answers as a member of the cluster."""
        wait_until(f"{self.pod} answers", self._answers, _START_TIMEOUT_S)

    def shut_down(self) -> None:
        """Delete the pod like a person: it hands over its leaderships, and is gone when this returns."""
        kubectl("-n", self.quorum.namespace, "delete", "pod", self.pod, timeout_s=_SHUTDOWN_TIMEOUT_S + 30)

    def stop(self) -> None:
        """Delete the pod at once."""
        where = ("-n", self.quorum.namespace)
        run("kubectl", *where, "delete", "pod", self.pod, "--force", "--grace-period=0", "--ignore-not-found")

    def client(self) -> AdminClient:
        """A client of this broker."""
        address = get(self.quorum.namespace, "pod", self.pod)["status"]["podIP"]
        # Its log lines about connections would go to standard error, into a report. Any broker may have to forward a
        # request, so a broker with a new address must be found soon.
        settings: dict[str, str | int | float | bool] = {"log_level": 0, _REFRESH: 2_000}
        settings["bootstrap.servers"] = f"{address}:{PORT}"
        return AdminClient(settings)

    def _answers(self) -> bool:
        status = get(self.quorum.namespace, "pod", self.pod)["status"]
        if not status.get("podIP") or not any(row["ready"] for row in status.get("containerStatuses", [])):
            return False
        try:
            return self.node_id in self.client().list_topics(timeout=5).brokers
        except KafkaException:
            return False

    def _page(self) -> Page | None:
        """The published contract, if it names Secrets."""
        page = self.quorum.page()
        return page if page is not None and page.secrets else None

    def _properties(self, page: Page | None) -> str:
        own = {
            "process.roles": "broker",
            "node.id": self.node_id,
            "listeners": f"PLAINTEXT://:{PORT}",
            "log.dirs": "/data/log",
            "log.index.size.max.bytes": 65536,
            "offsets.topic.replication.factor": 1,
        }
        return "\n".join(f"{key}={value}" for key, value in own.items()) + "\n" + (self.contract or self._told(page))

    def _told(self, page: Page | None) -> str:
        """The properties about controllers, from a page, or from what this class knows of the operator's names."""
        names = {
            number: host_name(self.quorum.namespace, Member(self.quorum.name, NodeID(number)))
            for number in self.controllers
        }
        if page is not None:
            return "\n".join(f"{key}={value}" for key, value in page.reached_at(names.values()).items())
        hosts = {number: f"{name}:9093" for number, name in names.items()}
        voters = {"controller.quorum.voters": ",".join(f"{number}@{host}" for number, host in hosts.items())}
        ways_in = {"controller.quorum.bootstrap.servers": ",".join(hosts.values())}
        rows = {
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            **(voters if self.static else ways_in),
        }
        return "\n".join(f"{key}={value}" for key, value in rows.items())

    def _pod(self) -> Json:
        page = self._page()
        volumes, places = ([], []) if page is None else mounts(page, secret_texts(self.quorum.namespace, page.secrets))
        variables = {
            "PROPERTIES": self._properties(page),
            "CLUSTER_ID": self.quorum.record()["cluster_id"],
            "KAFKA_HEAP_OPTS": "-Xmx256m",
            "EXTRA_ARGS": "",
            "ADDRESS": self.address,
            "JAVA_SECURITY": JAVA_SECURITY if self.fresh_names else "",
            "KAFKA_OPTS": "-Djava.security.properties=/data/java.security" if self.fresh_names else "",
            "LOG_DIR": "/data",
        }
        env: list[Json] = [{"name": name, "value": value} for name, value in variables.items()]
        env.append({"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
        container = {
            "name": "kafka",
            "image": f"testbed/kafka:{self.version}",
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", _SCRIPT],
            "env": env,
            "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
            "volumeMounts": [
                {"name": "data", "mountPath": "/data"},
                {"name": "settings", "mountPath": "/settings"},
                *places,
            ],
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
        where = self._on_its_claim() if self.claim else _ON_THE_CONTROL_PLANE
        spec = {
            "containers": [container],
            **where,
            "volumes": [*where["volumes"], _SETTINGS, *volumes],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                "runAsGroup": 1000,
                "fsGroup": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        }
        labels = {LABEL: str(self.node_id)}
        metadata = {"name": self.pod, "namespace": self.quorum.namespace, "labels": labels}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def _on_its_claim(self) -> Json:
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": self.claim}}
        return {"volumes": [volume], "terminationGracePeriodSeconds": _SHUTDOWN_TIMEOUT_S}
