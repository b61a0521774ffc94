"""One KafkaStreamsApplication that counts, fed all the time of a scenario, and every way to look at it."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.cimpl import NewTopic
from tests.live.streams.feed import Difference, Feed, compare, counts

from harness.lives import Lives, watched
from harness.pool import Pool
from harness.quorum import GROUP, merged
from harness.shell import Json, get, items, kubectl, run, succeed, wait_until
from kafka_streams.model.names import LABEL_APPLICATION, LABEL_INSTANCE
from testbed.config import SOURCE

KNOWN: Final = pytest.StashKey[list["Application"]]()
"""The applications of a scenario, for the report of its failure."""
PARTITIONS: Final = 6
ONE_BROKER: Final[Json] = {
    "replicas": 1,
    "config": {
        "default.replication.factor": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "3000",
    },
}
"""The spec of a pool in which one broker is enough."""
READY_TIMEOUT_S: Final = 180.0
CHANGE_TIMEOUT_S: Final = 420.0
_LOAD_TIMEOUT_S: Final = 600.0
_REPORT: Final = "/tmp/report"  # noqa: S108 - in the container
_AS_USER: Final = {"runAsUser": 10001, "runAsGroup": 10001, "fsGroup": 10001}
_TEMPLATE: Final[Json] = {
    "spec": {
        "terminationGracePeriodSeconds": 20,
        "containers": [
            {
                "name": "app",
                "env": [
                    {"name": "INPUT", "value": "words"},
                    {"name": "OUTPUT", "value": "counts"},
                ],
                "readinessProbe": {
                    "exec": {"command": ["grep", "-q", "^RUNNING [1-9]", _REPORT]},
                    "periodSeconds": 1,
                    "timeoutSeconds": 5,
                    "failureThreshold": 1,
                },
                "resources": {"requests": {"cpu": "20m", "memory": "160Mi"}},
            }
        ],
    }
}


def load_images(*versions: str) -> None:
    """Build the counting application for these releases of Kafka Streams, and load it to the workers."""
    succeed("python3", str(SOURCE), "streams-images", *versions, timeout_s=_LOAD_TIMEOUT_S)


def image(version: str) -> str:
    """The image of a release."""
    return f"testbed/streams:{version}"


@dataclass(slots=True)
class Application:
    """The application by its pool and its name, with its topics `words` and `counts`."""

    pool: Pool
    name: str = "counting"
    feed: Feed | None = None

    @property
    def namespace(self) -> str:
        """That of the pool."""
        return self.pool.namespace

    # --- acts of a person -------------------------------------------------------------------------------------------

    def body(self, version: str, spec: Json | None = None) -> Json:
        """Three instances of a release with their state on volumes, with `spec` merged into it."""
        template = json.loads(json.dumps(_TEMPLATE))
        template["spec"]["containers"][0]["env"] += [
            {"name": "APPLICATION_ID", "value": self.name},
            {"name": "BOOTSTRAP", "value": self.pool.bootstrap},
            {"name": "STATE_DIR", "value": "/state/streams"},
        ]
        small: Json = {
            "applicationID": self.name,
            "bootstrap": {"pools": [self.pool.name]},
            "replicas": 3,
            "release": version,
            "image": image(version),
            "upgradeFrom": {"variable": "UPGRADE_FROM"},
            "state": {"type": "VolumeClaim", "size": "1Gi", "path": "/state"},
            "gate": {"threads": 1, "stableSeconds": 3},
            "template": template,
        }
        return {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "KafkaStreamsApplication",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": merged(small, spec or {}),
        }

    def plain_body(self, version: str) -> Json:
        """A StatefulSet with the same pods and claims, as a person would write it."""
        body = self.body(version)["spec"]
        pod: Json = body["template"]["spec"]
        (container,) = pod["containers"]
        container |= {"image": body["image"], "volumeMounts": [{"name": "state", "mountPath": body["state"]["path"]}]}
        container["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        pod["securityContext"] = {**_AS_USER, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": body["state"]["size"]}}}
        labels = {"app": self.name}
        spec = {
            "serviceName": self.name,
            "replicas": body["replicas"],
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
            "volumeClaimTemplates": [{"metadata": {"name": "state"}, "spec": claim}],
        }
        metadata = {"name": self.name, "namespace": self.namespace}
        return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}

    def adopting(self, version: str) -> Json:
        """What a person adds to the spec to adopt that StatefulSet: its name, and the user of its pods."""
        template: Json = self.body(version)["spec"]["template"]
        template["spec"]["securityContext"] = dict(_AS_USER)
        return {"adopt": {"kind": "StatefulSet", "name": self.name}, "template": template}

    def apply_plain(self, version: str) -> None:
        """Apply that StatefulSet, and wait until it is rolled out."""
        kubectl("apply", "-f", "-", stdin=json.dumps(self.plain_body(version)))
        self.wait_rolled()

    def wait_rolled(self) -> None:
        """Wait until the StatefulSet is rolled out."""
        wait = ("rollout", "status", f"statefulset/{self.name}", f"--timeout={CHANGE_TIMEOUT_S:.0f}s")
        kubectl("-n", self.namespace, *wait, timeout_s=CHANGE_TIMEOUT_S + 30)

    def apply(self, version: str, spec: Json | None = None) -> None:
        """Apply three instances of a release, with `spec` merged into it."""
        kubectl("apply", "-f", "-", stdin=json.dumps(self.body(version, spec)))

    def patch(self, spec: Json) -> None:
        """Merge into the spec."""
        kubectl("-n", self.namespace, "patch", "ksa", self.name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def upgrade(self, version: str) -> None:
        """Ask for another release, as its image and its number."""
        self.patch({"release": version, "image": image(version)})

    # --- the resource -----------------------------------------------------------------------------------------------

    def resource(self) -> Json:
        """The whole resource; empty if it is gone."""
        return get(self.namespace, "ksa", self.name)

    def status(self) -> Json:
        """Its status."""
        found: Json = self.resource().get("status") or {}
        return found

    def conditions(self) -> dict[str, Json]:
        """Its conditions, by type."""
        return {row["type"]: row for row in self.status().get("conditions", [])}

    def wait_ready(self, version: str, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Wait until the present spec is Ready and every instance runs this release."""

        def ready() -> bool:
            resource = self.resource()
            status = resource.get("status") or {}
            rows = status.get("conditions", [])
            row: Json = next((row for row in rows if row["type"] == "Ready"), {})
            fresh = bool(row) and row.get("observedGeneration") == resource["metadata"]["generation"]
            return fresh and row["status"] == "True" and set(self.images().values()) == {image(version)}

        wait_until(f"application {self.name} is Ready with {version}", ready, timeout_s, 0.5)

    def wait_told(self, *words: str, timeout_s: float = 120.0) -> Json:
        """Wait until one condition's message has all of these words; returns it."""

        def probe() -> Json | None:
            rows = self.conditions().values()
            return next((row for row in rows if all(word.lower() in row["message"].lower() for word in words)), None)

        found = wait_until(f"a condition of {self.name} says {words}", probe, timeout_s)
        print(f"{found['type']}={found['status']} {found['reason']}: {found['message']}", flush=True)
        return found

    def events(self) -> list[tuple[str, str]]:
        """Reason and message of every event about the application, in the order of writing."""
        rows = (row for row in items(self.namespace, "events") if row["involvedObject"].get("name") == self.name)
        ordered = sorted(rows, key=lambda row: int(row["metadata"]["resourceVersion"]))
        return [(row["reason"], row.get("message", "")) for row in ordered]

    # --- its objects ------------------------------------------------------------------------------------------------

    def pods(self) -> dict[int, Json]:
        """Pods that are not in deletion, by instance."""
        found = items(self.namespace, "pods", "-l", f"{LABEL_APPLICATION}={self.name}")
        alive = (pod for pod in found if "deletionTimestamp" not in pod["metadata"])
        return {int(pod["metadata"]["labels"][LABEL_INSTANCE]): pod for pod in alive}

    def images(self) -> dict[int, str]:
        """The image of each instance's pod."""
        return {index: pod["spec"]["containers"][0]["image"] for index, pod in self.pods().items()}

    def uids(self) -> dict[int, str]:
        """The uid of each instance's pod."""
        return {index: pod["metadata"]["uid"] for index, pod in self.pods().items()}

    @contextmanager
    def watched(self) -> Iterator[Lives]:
        """Every pod of the application that there is while this lasts, by its instance and what it runs."""
        with watched(self.namespace, f"{LABEL_APPLICATION}={self.name}") as found:
            yield found

    # --- Kafka ------------------------------------------------------------------------------------------------------

    def make_topics(self) -> None:
        """Make the topics of the application; its changelog is made by itself."""
        client, stamped = self.pool.client(), {"message.timestamp.type": "LogAppendTime"}
        wanted = [NewTopic("words", PARTITIONS, 1), NewTopic("counts", PARTITIONS, 1, config=stamped)]
        made = client.create_topics(wanted, request_timeout=30)
        for answer in made.values():
            answer.result(30)

    @contextmanager
    def fed(self) -> Iterator[Feed]:
        """Records with known keys all the time."""
        self.feed = Feed(self.pool.bootstrap, "words")
        try:
            yield self.feed
        finally:
            self.feed.stop()

    def wait_counting(self) -> None:
        """Wait until every partition of the counts has a record that is written from now on."""
        consumer = Consumer({"bootstrap.servers": self.pool.bootstrap, "group.id": "looks", "log_level": 0})
        try:
            partitions = [TopicPartition("counts", index) for index in range(PARTITIONS)]

            def ends() -> list[int]:
                return [consumer.get_watermark_offsets(one, timeout=10)[1] for one in partitions]

            before = ends()
            wait_until(
                "every partition is counted on",
                lambda: all(now > then for now, then in zip(ends(), before, strict=True)),
                READY_TIMEOUT_S,
            )
        finally:
            consumer.close()

    def difference(self) -> Difference:
        """Ends the feed, waits until everything is counted, and compares (AssertionError)."""
        feed = self.feed
        assert feed is not None
        feed.finish()
        produced = sum(feed.produced.values())
        print(f"{produced} records produced", flush=True)
        return compare(feed.produced, self._settled(sum(feed.produced.values())))

    def _settled(self, total: int) -> dict[str, int]:
        """The counts when nothing more comes: all are there, or no count has changed for ten seconds."""
        deadline_s, seen, same_since_s = time.monotonic() + 120, -1, time.monotonic()
        while True:
            found = counts(self.pool.bootstrap, "counts", PARTITIONS)
            reached = sum(found.values())
            if reached != seen:
                seen, same_since_s = reached, time.monotonic()
            if reached == total or time.monotonic() - same_since_s > 10 or time.monotonic() > deadline_s:
                return found
            time.sleep(0.5)

    def report(self) -> str:
        """What a person looks at first when a scenario fails."""
        parts = []
        looks: tuple[tuple[str, ...], ...] = (
            ("get", "ksa", self.name, "-o", "yaml"),
            ("get", "pods", "-o", "wide"),
            ("get", "configmap", f"{self.name}-streams", "-o", "yaml"),
            ("describe", "pods", "-l", f"{LABEL_APPLICATION}={self.name}"),
        )
        for look in looks:
            _, output, errors = run("kubectl", "-n", self.namespace, *look)
            parts.append(f"$ kubectl {' '.join(look)}\n{output}{errors}")
        for index in self.pods():
            pod = f"{self.name}-streams-{index}"
            _, output, errors = run("kubectl", "-n", self.namespace, "logs", pod, "--tail=40")
            parts.append(f"$ kubectl logs {pod}\n{output}{errors}")
        return "\n".join(parts)
