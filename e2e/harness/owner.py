"""The owner of brokers beside a quorum: does what the published page says, and knows nothing else of the operator.

It reads the ConfigMap `NAME-brokers`, writes the settings of each broker, mounts the Secrets that the page names, and
restarts brokers one by one when the page has another revision or release. It confirms nothing at the quorum: whatever
the operator has to know, it can ask the brokers.

As a script it runs until it is ended, and prints a line for each act:
`python3 e2e/testbed exec -- .venv/bin/python -m harness.owner --namespace NS --quorum NAME` (PYTHONPATH=operator:e2e).
"""

import argparse
import json
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness import pods
from harness.page import APPEND, Page, absent, mounts, page_of, with_page
from harness.shell import CommandFailed, Json, get, kubectl, run, secret_texts
from kafka_quorum.resources.properties import JAVA_SECURITY

NODE_IDS: Final = (1, 2, 3)
PORT, SASL_PORT, TLS_PORT = 9092, 9094, 9095
LABEL: Final = "owned-broker"
MADE_FROM: Final = "owner/made-from"
_OWN_TLS: Final = "/etc/owner-tls"
_POLL_S = 1.0
_LOOK_TIMEOUT_S = 5.0
_SHUTDOWN_TIMEOUT_S = 60
_SCRIPT = f"""\
set -eu
file=/settings/server.properties
{{
  printf '%s\\n' "$PROPERTIES"
  {APPEND}
}} > "$file"
printf '%s' "$JAVA_SECURITY" > /settings/java.security
/opt/kafka/bin/kafka-storage.sh format --ignore-formatted --config "$file" "--cluster-id=$CLUSTER_ID"
exec /opt/kafka/bin/kafka-server-start.sh "$file"
"""

# --- what to do: pure -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A broker as its owner sees it. `made_from` is empty without a pod; `fault` is empty if it serves.

    `out`: it is known to serve nothing, so its restart takes nothing away.
    """

    made_from: str
    fault: str = ""
    out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The next act: `node_id` is created, or restarted; None: nothing now, for this reason (empty: all is done)."""

    node_id: int | None = None
    why: str = ""


def stamp(page: Page) -> str:
    """What a pod is made from: another one means that its broker has to restart."""
    return f"{page.revision} {page.release}"


def next_step(page: Page, brokers: Mapping[int, Broker], lacking: Iterable[str] = ()) -> Step:
    """One broker at a time, and only while all others serve; one that serves nothing comes first.

    `lacking` is what a new pod would not have: then nothing is created or stopped.
    """
    wanted = stamp(page)
    behind = [number for number, broker in sorted(brokers.items()) if broker.made_from != wanted]
    if not behind:
        return Step(why=next((f"broker {n}: {row.fault}" for n, row in sorted(brokers.items()) if row.fault), ""))
    if missing := "; ".join(lacking):
        return Step(why=missing)
    first = [number for number in behind if not brokers[number].made_from]
    if out := [*first, *(number for number in behind if brokers[number].out)]:
        return Step(node_id=out[0])
    if bad := [number for number, broker in sorted(brokers.items()) if broker.fault]:
        return Step(why=f"broker {bad[0]}: {brokers[bad[0]].fault}")
    return Step(node_id=behind[0])


def looked_at(
    made_from: str, node_id: int, members: Iterable[int], partitions: Iterable[tuple[str, Iterable[int], Iterable[int]]]
) -> Broker:
    """A broker by an answer about metadata. A partition is a name, its replicas and its ISR.

    Fenced brokers are no members.
    """
    if node_id not in set(members):
        return Broker(made_from=made_from, fault="it is no member, or fenced", out=True)
    rows = (name for name, replicas, isr in partitions if node_id in set(replicas) - set(isr))
    return Broker(made_from=made_from, fault=next((f"it is not in sync with {name}" for name in rows), ""))


# --- the owner ------------------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Owner:
    """Brokers with a claim and an address each. `own` are settings over everything, the page's included.

    Brokers speak PLAINTEXT among themselves. `clients_secret` names a Secret of the owner with `keystore.pem` and
    `ca.crt`: with it there are listeners SSL, for clients with a certificate, and SASL_SSL, for users of SCRAM.
    """

    namespace: str
    quorum: str
    node_ids: tuple[int, ...] = NODE_IDS
    clients_secret: str = ""
    own: Mapping[str, str] = field(default_factory=dict)
    acts: list[str] = field(default_factory=list)
    """A line for each act and each new reason to wait."""
    stops: list[tuple[float, float]] = field(default_factory=list)
    """When each stop of a broker began and ended, in seconds since 1970."""
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _said: str = ""

    def __enter__(self) -> Self:
        """Work in a thread."""
        self._thread = threading.Thread(target=self.work, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop working; the brokers go on."""
        self.end()
        if self._thread is not None:
            self._thread.join(_SHUTDOWN_TIMEOUT_S * 2)
            assert not self._thread.is_alive(), "the owner hangs"

    def end(self) -> None:
        """Work no more after the present act."""
        self._ended.set()

    def work(self) -> None:
        """Follow the page until `end`."""
        while not self._ended.wait(_POLL_S):
            try:
                self.follow()
            except CommandFailed as error:  # the API server is away for a moment; the next look begins anew
                self._say(f"waiting: {error}")

    def follow(self) -> bool:
        """Do the next step; whether there is nothing left to do."""
        item = get(self.namespace, "configmap", f"{self.quorum}-brokers")
        if not item:
            self._say("waiting: there is no page yet")
            return False
        page, brokers = page_of(item), self.brokers()
        secrets = secret_texts(self.namespace, page.secrets)
        step = next_step(page, brokers, absent(page, secrets))
        if step.node_id is None:
            self._say(f"waiting: {step.why}" if step.why else f"every broker follows revision {page.revision}")
            return not step.why
        began_s = time.monotonic()
        if brokers[step.node_id].made_from:
            self.shut_down(step.node_id)
        self._make_disk_and_address(step.node_id)
        self._create(self.pod(page, step.node_id, secrets))
        took = f"{time.monotonic() - began_s:.1f} s"
        self._say(f"broker {step.node_id} is created for revision {page.revision}, Kafka {page.release} ({took})")
        return False

    def shut_down(self, node_id: int) -> None:
        """Delete a broker's pod like a person: it hands over its leaderships, and is gone when this returns."""
        began_s = time.time()
        self._kubectl("delete", "pod", self.name(node_id), timeout_s=_SHUTDOWN_TIMEOUT_S + 30)
        self.stops.append((began_s, time.time()))

    def stop(self) -> None:
        """Delete all of them at once, with their disks."""
        where = ("-n", self.namespace, "delete")
        run("kubectl", *where, "pod", "-l", LABEL, "--force", "--grace-period=0")
        run("kubectl", *where, "service,pvc", "-l", LABEL, "--wait=false")

    # --- looks ------------------------------------------------------------------------------------------------------

    def brokers(self) -> dict[int, Broker]:
        """Each broker now. Metadata is asked of any of them that answers; without an answer none is known to serve."""
        found = {node_id: get(self.namespace, "pod", self.name(node_id)) for node_id in self.node_ids}
        stamps = {node_id: _stamped(pod) for node_id, pod in found.items()}
        ready = [node_id for node_id, pod in found.items() if _is_ready(pod)]
        rows = {
            node_id: Broker(made_from=stamps[node_id], fault="its pod is not ready", out=True)
            for node_id in self.node_ids
            if node_id not in ready
        }
        return rows | (self._asked({node_id: stamps[node_id] for node_id in ready}) if ready else {})

    def bootstrap(self, port: int = PORT) -> str:
        """Where clients begin, by host names, which certificates have."""
        return ",".join(f"{self.host(node_id)}:{port}" for node_id in self.node_ids)

    def client(self) -> AdminClient:
        """A client that may ask any of them."""
        return AdminClient({"bootstrap.servers": self.bootstrap(), "log_level": 0})

    def name(self, node_id: int) -> str:
        """The name of a broker's pod, service and claim."""
        return f"owned-{node_id}"

    def host(self, node_id: int) -> str:
        """The stable name of a broker while its pods come and go."""
        return f"{self.name(node_id)}.{self.namespace}.svc"

    def names(self) -> tuple[str, ...]:
        """All host names: those of a certificate for `clients_secret`."""
        return tuple(self.host(node_id) for node_id in self.node_ids)

    def _asked(self, stamps: Mapping[int, str]) -> dict[int, Broker]:
        """The brokers whose pods are ready, by what any of them answers."""
        try:
            found = self.client().list_topics(timeout=_LOOK_TIMEOUT_S)
        except KafkaException as error:
            fault = f"no broker answers: {error}"
            return {node_id: Broker(made_from=made_from, fault=fault) for node_id, made_from in stamps.items()}
        rows = [
            (f"{topic.topic}-{row.id}", row.replicas, row.isrs)
            for topic in found.topics.values()
            for row in topic.partitions.values()
        ]
        return {node_id: looked_at(made_from, node_id, found.brokers, rows) for node_id, made_from in stamps.items()}

    # --- the manifests ----------------------------------------------------------------------------------------------

    def settings(self, page: Page, node_id: int) -> dict[str, str]:
        """What a broker has in its file."""
        listeners = {"PLAINTEXT": PORT, **({"SSL": TLS_PORT, "SASL_SSL": SASL_PORT} if self.clients_secret else {})}
        first = {
            "node.id": str(node_id),
            "listeners": ",".join(f"{name}://:{port}" for name, port in listeners.items()),
            "advertised.listeners": ",".join(
                f"{name}://{self.host(node_id)}:{port}" for name, port in listeners.items()
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "super.users": "User:ANONYMOUS",
            "log.dirs": "/data/log",
            "log.index.size.max.bytes": "65536",
            "auto.create.topics.enable": "false",
            "default.replication.factor": "3",
            "min.insync.replicas": "2",
            "offsets.topic.num.partitions": "5",
            "offsets.topic.replication.factor": "3",
            **(_for_clients() if self.clients_secret else {}),
        }
        return with_page(first, page.text) | dict(self.own)

    def pod(self, page: Page, node_id: int, secrets: Mapping[str, Mapping[str, str]]) -> Json:
        """The pod of a broker that follows this page. `secrets` are the contents of those that it names."""
        rows = self.settings(page, node_id)
        volumes, places = mounts(page, secrets)
        if self.clients_secret:
            volumes.append({"name": "own-tls", "secret": {"secretName": self.clients_secret, "defaultMode": 0o440}})
            places.append({"name": "own-tls", "mountPath": _OWN_TLS, "readOnly": True})
        container = {
            "name": "kafka",
            "image": f"testbed/kafka:{page.release}",
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", _SCRIPT],
            "env": pods.variables(
                PROPERTIES="\n".join(f"{key}={value}" for key, value in sorted(rows.items())),
                JAVA_SECURITY=JAVA_SECURITY,
                CLUSTER_ID=page.cluster_id,
                KAFKA_HEAP_OPTS="-Xmx256m",
                KAFKA_OPTS="-Djava.security.properties=/settings/java.security",
                EXTRA_ARGS="",
                LOG_DIR="/data",
            ),
            "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
            "volumeMounts": [
                {"name": "data", "mountPath": "/data"},
                {"name": "settings", "mountPath": "/settings"},
                *places,
            ],
            "resources": pods.RESOURCES,
            "securityContext": pods.CONTAINER_SECURITY,
        }
        spec = {
            "containers": [container],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": self.name(node_id)}},
                {"name": "settings", "emptyDir": {"medium": "Memory"}},
                *volumes,
            ],
            "securityContext": pods.POD_SECURITY,
            "topologySpreadConstraints": pods.apart("app", LABEL),
            "terminationGracePeriodSeconds": _SHUTDOWN_TIMEOUT_S,
        }
        metadata = self._metadata(node_id) | {"annotations": {MADE_FROM: stamp(page)}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def _make_disk_and_address(self, node_id: int) -> None:
        metadata = self._metadata(node_id)
        ports = {"plain": PORT, "sasl": SASL_PORT, "tls": TLS_PORT}
        spec = {
            "selector": {LABEL: str(node_id)},
            "ports": [{"name": name, "port": port} for name, port in ports.items()],
            "publishNotReadyAddresses": True,
        }
        service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
        for body in (service, {**pods.claim(self.name(node_id)), "metadata": metadata}):
            self._kubectl("apply", "-f", "-", stdin=json.dumps(body))

    def _metadata(self, node_id: int) -> Json:
        return {"name": self.name(node_id), "labels": {"app": LABEL, LABEL: str(node_id)}}

    def _create(self, body: Json) -> None:
        self._kubectl("create", "-f", "-", stdin=json.dumps(body))

    def _kubectl(self, *arguments: str, stdin: str | None = None, timeout_s: float = 120.0) -> str:
        return kubectl("-n", self.namespace, *arguments, stdin=stdin, timeout_s=timeout_s)

    def _say(self, line: str) -> None:
        if line != self._said:
            self._said = line
            self.acts.append(line)
            print(f"owner: {line}", flush=True)


def _stamped(pod: Json) -> str:
    found: str = pod.get("metadata", {}).get("annotations", {}).get(MADE_FROM, "")
    return found


def _is_ready(pod: Json) -> bool:
    return any(row["ready"] for row in pod.get("status", {}).get("containerStatuses", []))


def _for_clients() -> dict[str, str]:
    """The listeners with TLS."""
    rows = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": f"{_OWN_TLS}/keystore.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": f"{_OWN_TLS}/ca.crt",
    }
    both = {f"listener.name.{name}.{key}": value for name in ("ssl", "sasl_ssl") for key, value in rows.items()}
    return both | {
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.sasl_ssl.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
    }


def main() -> int:
    """Follow the page until a signal comes."""
    parser = argparse.ArgumentParser(prog="owner", description="Brokers that follow the page of a quorum.")
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--quorum", required=True)
    parser.add_argument("--clients-secret", default="", help="a Secret with keystore.pem and ca.crt")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting over the page's")
    parser.add_argument("--stop", action="store_true", help="delete the brokers and their disks, and end")
    options = parser.parse_args()
    own: dict[str, str] = dict(row.split("=", 1) for row in options.set)
    owner = Owner(namespace=options.namespace, quorum=options.quorum, clients_secret=options.clients_secret, own=own)
    if options.stop:
        owner.stop()
        return 0

    def ended(*_: Any) -> None:  # noqa: ANN401 - a frame
        owner.end()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ended)
    owner.work()
    return 0


if __name__ == "__main__":
    sys.exit(main())
