"""The migration from ZooKeeper to KRaft by hand, as Kafka 3.9's documentation describes it: what the operator replaces.

Three controllers from plain manifests with a static quorum; a person reads their logs, and changes the brokers' files.
`e2e/migrate_by_hand.py` runs it and prints figures.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from confluent_kafka.cimpl import NewTopic
from kio.schema.describe_quorum.v0 import request as asked
from kio.schema.describe_quorum.v0.response import DescribeQuorumResponse
from kio.schema.errors import ErrorCode
from kio.schema.types import TopicName
from kio.static.primitive import i32

from harness import pods, rpc
from harness.clients import Clients
from harness.shell import Json, get, kubectl, run, wait_until
from harness.zookeeper import Ensemble
from harness.zookeeper_brokers import KRAFT_AUTHORIZER, SUPER_USERS, VERSION, ZooKeeperBrokers
from kafka_quorum.resources.properties import JAVA_SECURITY

NODE_IDS: Final = (3000, 3001, 3002)
PORT: Final = 9093
LABEL: Final = "by-hand-controller"
READY: Final = "Now waiting for ZK brokers"
COPIED: Final = "Completed migration of metadata from ZooKeeper to KRaft"
DUAL_WRITE: Final = "to DUAL_WRITE state"
_PROTOCOLS: Final = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
_PATIENCE: Final = {"controller.quorum.fetch.timeout.ms": "10000", "controller.quorum.election.timeout.ms": "3000"}
"""Not of the documentation. An election while the metadata is copied ends the active controller's process; and a broker
that is unfenced meanwhile stays fenced until it restarts (3.9.2). A busy machine has such elections.
"""
_START_TIMEOUT_S = 180.0
_MIGRATION_TIMEOUT_S = 300.0
_SHUTDOWN_TIMEOUT_S = 60
_SCRIPT = """\
set -eu
printf '%s\\n' "$PROPERTIES" > /data/server.properties
printf '%s' "$JAVA_SECURITY" > /data/java.security
/opt/kafka/bin/kafka-storage.sh format --ignore-formatted --release-version 3.9 --config /data/server.properties \\
  "--cluster-id=$CLUSTER_ID"
exec /opt/kafka/bin/kafka-server-start.sh /data/server.properties
"""


@dataclass(slots=True, kw_only=True)
class Controllers:
    """Three controllers of a static quorum. `migrating`: with the settings of ZooKeeper and of the migration."""

    namespace: str
    connect: str
    cluster_id: str
    migrating: bool = True

    def start(self) -> None:
        """Create all of them; returns when each one's port is open."""
        spec = {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"app": LABEL},
            "ports": [{"name": "controller", "port": PORT}],
        }
        self._create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": LABEL}, "spec": spec})
        for node_id in NODE_IDS:
            self._create({**pods.claim(self._name(node_id)), "metadata": self._metadata(node_id)})
            self._create(self._pod(node_id))
        for node_id in NODE_IDS:
            self._wait_ready(node_id)

    def finalize(self) -> None:
        """Restart each without ZooKeeper, one by one, the active one last."""
        self.migrating = False
        active = self.active()
        for node_id in sorted(NODE_IDS, key=lambda each: each == active):
            kubectl("-n", self.namespace, "delete", "pod", self._name(node_id), timeout_s=_SHUTDOWN_TIMEOUT_S + 30)
            self._create(self._pod(node_id))
            self._wait_ready(node_id)
            wait_until("the quorum has a leader", self.active, _START_TIMEOUT_S)

    def voters(self) -> str:
        """The value of `controller.quorum.voters`."""
        where = f"{LABEL}.{self.namespace}.svc"
        return ",".join(f"{node_id}@{self._name(node_id)}.{where}:{PORT}" for node_id in NODE_IDS)

    def migrating_page(self) -> str:
        """The lines of every broker in migration mode."""
        return (
            f"listener.security.protocol.map={_PROTOCOLS}\n"
            "controller.listener.names=CONTROLLER\n"
            f"controller.quorum.voters={self.voters()}\n"
            "inter.broker.protocol.version=3.9\n"
            f"zookeeper.connect={self.connect}\n"
            "zookeeper.metadata.migration.enable=true\n"
        )

    def kraft_page(self) -> str:
        """The lines of every broker in KRaft mode."""
        return (
            "process.roles=broker\n"
            f"listener.security.protocol.map={_PROTOCOLS}\n"
            "controller.listener.names=CONTROLLER\n"
            f"controller.quorum.voters={self.voters()}\n"
            f"authorizer.class.name={KRAFT_AUTHORIZER}\n"
            "# inter.broker.protocol.version must not be set\n"
            "# zookeeper.connect must not be set\n"
            "# zookeeper.session.timeout.ms must not be set\n"
            "# zookeeper.metadata.migration.enable must not be set\n"
        )

    # --- looks ------------------------------------------------------------------------------------------------------

    def wait_logged(self, text: str, timeout_s: float = _MIGRATION_TIMEOUT_S) -> str:
        """Wait until one of them has logged a line with this text; returns the line."""

        def found() -> str:
            return next((line for node_id in NODE_IDS for line in self.logged(node_id, text)), "")

        return wait_until(f"a controller logs '{text}'", found, timeout_s, 0.5)

    def logged(self, node_id: int, text: str) -> list[str]:
        """The lines of a controller's log with a text, since its pod was created."""
        _, log, _ = run("kubectl", "-n", self.namespace, "logs", self._name(node_id))
        return [line for line in log.splitlines() if text in line]

    def active(self) -> int | None:
        """The active controller, as it says of itself; None if none does."""
        return next((node_id for node_id in NODE_IDS if self._leads(node_id)), None)

    def _leads(self, node_id: int) -> bool:
        """Whether a controller answers as the leader of the quorum: every other one answers with an error."""
        address = get(self.namespace, "pod", self._name(node_id)).get("status", {}).get("podIP")
        partition = asked.PartitionData(partition_index=i32(0))
        topic = asked.TopicData(topic_name=TopicName("__cluster_metadata"), partitions=(partition,))
        try:
            answer = rpc.ask(
                f"{address}:{PORT}", asked.DescribeQuorumRequest(topics=(topic,)), DescribeQuorumResponse, 3.0
            )
        except OSError:
            return False
        (row,) = answer.topics[0].partitions
        return row.error_code is ErrorCode.none and int(row.leader_id) == node_id

    def _is_ready(self, node_id: int) -> bool:
        rows = get(self.namespace, "pod", self._name(node_id)).get("status", {}).get("containerStatuses") or [{}]
        return bool(rows[0].get("ready"))

    def _wait_ready(self, node_id: int) -> None:
        wait_until(f"controller {node_id} is ready", lambda: self._is_ready(node_id), _START_TIMEOUT_S)

    # --- the manifests ----------------------------------------------------------------------------------------------

    def _properties(self, node_id: int) -> dict[str, str]:
        zookeeper = {
            "zookeeper.connect": self.connect,
            "zookeeper.metadata.migration.enable": "true",
            "inter.broker.listener.name": "PLAINTEXT",
        }
        return {
            "process.roles": "controller",
            "node.id": str(node_id),
            "listeners": f"CONTROLLER://:{PORT}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": _PROTOCOLS,
            "controller.quorum.voters": self.voters(),
            "authorizer.class.name": KRAFT_AUTHORIZER,
            "super.users": SUPER_USERS,
            "log.dirs": "/data/log",
            **_PATIENCE,
            **(zookeeper if self.migrating else {}),
        }

    def _pod(self, node_id: int) -> Json:
        env = pods.variables(
            PROPERTIES="\n".join(f"{key}={value}" for key, value in self._properties(node_id).items()),
            JAVA_SECURITY=JAVA_SECURITY,
            CLUSTER_ID=self.cluster_id,
            KAFKA_HEAP_OPTS="-Xmx256m",
            KAFKA_OPTS="-Djava.security.properties=/data/java.security",
            EXTRA_ARGS="",
            LOG_DIR="/data",
        )
        container = {
            "name": "kafka",
            "image": f"testbed/kafka:{VERSION}",
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", _SCRIPT],
            "env": env,
            "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "resources": pods.RESOURCES,
            "securityContext": pods.CONTAINER_SECURITY,
        }
        name = self._name(node_id)
        spec = {
            "hostname": name,
            "subdomain": LABEL,
            "containers": [container],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
            "securityContext": pods.POD_SECURITY,
            "topologySpreadConstraints": pods.apart("app", LABEL),
            "terminationGracePeriodSeconds": _SHUTDOWN_TIMEOUT_S,
        }
        return {"apiVersion": "v1", "kind": "Pod", "metadata": self._metadata(node_id), "spec": spec}

    def _metadata(self, node_id: int) -> Json:
        return {"name": self._name(node_id), "labels": {"app": LABEL}}

    def _name(self, node_id: int) -> str:
        return f"controller-{node_id}"

    def _create(self, body: Json) -> None:
        kubectl("-n", self.namespace, "create", "-f", "-", stdin=json.dumps(body))


Step = tuple[str, Callable[[], object]]
"""A part of a migration: what is true after it, and what does it."""
STEPS: Final = (
    "controllers run beside ZooKeeper",
    "brokers rolled to migration mode",
    "metadata copied, dual write",
    "brokers rolled to KRaft",
    "every broker seen to be a KRaft broker",
    "controllers restarted without ZooKeeper",
)
"""From the begin to the end, in the order of Kafka's documentation. The fifth takes a person who works by hand no time:
the owner's own wait after each restart has shown it.
"""


def steps(controllers: Controllers, brokers: ZooKeeperBrokers) -> tuple[Step, ...]:
    """All of `STEPS` by hand. Each raises AssertionError if it does not end in time."""
    acts: tuple[Callable[[], object], ...] = (
        lambda: _begin(controllers),
        lambda: print(*brokers.follow(controllers.migrating_page()), sep="\n", flush=True),
        lambda: print(controllers.wait_logged(COPIED), controllers.wait_logged(DUAL_WRITE), sep="\n", flush=True),
        lambda: print(*brokers.follow(controllers.kraft_page()), sep="\n", flush=True),
        lambda: None,
        controllers.finalize,
    )
    return tuple(zip(STEPS, acts, strict=True))


def _begin(controllers: Controllers) -> None:
    controllers.start()
    print(controllers.wait_logged(READY), flush=True)


def migrate(controllers: Controllers, brokers: ZooKeeperBrokers, ensemble: Ensemble, users: Clients) -> None:
    """All steps and a proof of each, with clients running; prints what each took and the longest produce gap.

    Raises AssertionError if a step does not end in time. The ensemble is deleted at the end.
    """
    for what, act in steps(controllers, brokers):
        with users.measured(what):
            act()
        if what == STEPS[2]:
            _prove_dual_write(brokers, ensemble)
    with users.measured("ZooKeeper deleted"):
        ensemble.stop()
    with users.measured("brokers rolled without ZooKeeper"):
        print(*brokers.follow(controllers.kraft_page()), sep="\n")


DUAL_WRITTEN: Final = "dual-written"


def _prove_dual_write(brokers: ZooKeeperBrokers, ensemble: Ensemble) -> None:
    """A topic that is created now comes into ZooKeeper too."""
    client = brokers.client()
    (answer,) = client.create_topics([NewTopic(DUAL_WRITTEN, num_partitions=3, replication_factor=3)]).values()
    answer.result(60)
    path = f"/brokers/topics/{DUAL_WRITTEN}"
    print(wait_until("a new topic is in ZooKeeper", lambda: ensemble.read(path), 60.0))
