"""A Kafka from plain manifests: the test-bed's example quorum of three, and brokers beside it. No operator is involved.

It is what a person has without the operator, and the comparison in measurements: `roll_one_by_one` is the safe roll of
such a person, who waits after each broker until it is in sync everywhere.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

import yaml
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness.shell import Json, get, kubectl, wait_until
from kafka_quorum.resources.properties import JAVA_SECURITY
from testbed.config import SOURCE

FIRST_ID = 100
PORT = 9092
_EXAMPLES = SOURCE / "examples"
_START_TIMEOUT_S = 180.0
_BACK_TIMEOUT_S = 240.0
_GRACE_S = 330


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainKafka:
    """Three controllers and some brokers in a namespace. `heap` is Java's size of each process, such as `256m`."""

    namespace: str
    brokers: int = 3
    heap: str = "256m"

    # --- acts of a person -------------------------------------------------------------------------------------------

    def apply(self, *, wait: bool = True) -> None:
        """Apply the manifests; with `wait`, until every broker answers."""
        text = yaml.safe_dump_all([*self._documents("quorum.yaml"), *self._documents("brokers.yaml")])
        kubectl("-n", self.namespace, "apply", "-f", "-", stdin=text)
        if wait:
            wait_until("every broker answers", lambda: len(self.answering()) == self.brokers, _START_TIMEOUT_S)

    def shut_down(self, node_id: int) -> None:
        """Delete a broker's pod like a person: it hands over its leaderships, and is gone when this returns."""
        name = f"broker-{node_id - FIRST_ID}"
        kubectl("-n", self.namespace, "delete", "pod", name, timeout_s=_GRACE_S + 30)

    def restart(self, node_id: int) -> None:
        """Restart a broker gracefully; returns when it is in sync with every partition that it has."""
        self.shut_down(node_id)
        wait_until(f"broker {node_id} is back", lambda: self.in_sync(node_id), _BACK_TIMEOUT_S, 0.1)

    def roll_one_by_one(self) -> float:
        """Restart each broker gracefully, the next when the last is in sync everywhere; returns the seconds it took."""
        began_s = time.monotonic()
        for node_id in self.node_ids:
            self.restart(node_id)
        return time.monotonic() - began_s

    # --- looks ------------------------------------------------------------------------------------------------------

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The brokers' node ids."""
        return tuple(range(FIRST_ID, FIRST_ID + self.brokers))

    @property
    def bootstrap(self) -> str:
        """Where clients begin."""
        return f"broker.{self.namespace}.svc:{PORT}"

    def client(self, *node_ids: int) -> AdminClient:
        """A client that begins at these brokers, or at all, as far as they run now."""
        chosen = node_ids or self.node_ids
        pods = (get(self.namespace, "pod", f"broker-{node_id - FIRST_ID}") for node_id in chosen)
        running = [pod["status"]["podIP"] for pod in pods if pod and pod["status"].get("podIP")]
        return AdminClient({"bootstrap.servers": ",".join(f"{row}:{PORT}" for row in running), "log_level": 0})

    def answering(self) -> Sequence[int]:
        """The brokers that are members of the cluster now; empty if nobody answers."""
        try:
            return sorted(self.client().list_topics(timeout=2).brokers)
        except KafkaException:
            return ()

    def in_sync(self, node_id: int) -> bool:
        """Whether a broker is a member, and in the ISR of each partition that it is a replica of."""
        try:
            found = self.client().list_topics(timeout=2)
        except KafkaException:
            return False
        rows = [row for topic in found.topics.values() for row in topic.partitions.values()]
        return node_id in found.brokers and all(node_id in row.isrs for row in rows if node_id in row.replicas)

    # --- the manifests ----------------------------------------------------------------------------------------------

    def _documents(self, name: str) -> list[Json]:
        """An example, with the heap and Java's caching of names as in the operator's pods."""
        documents: list[Json] = list(yaml.safe_load_all((_EXAMPLES / name).read_text()))
        for document in documents:
            if document["kind"] == "ConfigMap":
                document["data"]["java.security"] = JAVA_SECURITY
            if document["kind"] == "StatefulSet":
                (container,) = document["spec"]["template"]["spec"]["containers"]
                container["env"] = [
                    {"name": "KAFKA_HEAP_OPTS", "value": f"-Xms{self.heap} -Xmx{self.heap}"},
                    {"name": "KAFKA_OPTS", "value": "-Djava.security.properties=/settings/java.security"},
                ]
                if name == "brokers.yaml":
                    document["spec"]["replicas"] = self.brokers
        return json.loads(json.dumps(documents))  # type: ignore[no-any-return]  # without YAML's references
