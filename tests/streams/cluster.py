"""An application between the simulation's API server, a kubelet and a coordinator: the real passes around them."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from tests.clocks import MovingClock
from tests.kit.kube.recording import RecordingKube
from tests.streams.subscriptions import subscription, user
from tests.test_reconcile import Ids

from kafka_quorum.model.brokers import MetadataAnswer, Partition, RegisteredBroker, TopicPartition
from kafka_quorum.model.groups import (
    ClassicGroup,
    ClassicMember,
    Committed,
    GroupState,
    ListedGroup,
    LogEnd,
    StreamsGroup,
)
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.known import Knowable, Known
from kafka_quorum.model.quorum import Endpoint, FeatureRange, NodeVersions
from kafka_quorum.settings import Settings
from kafka_streams.api.podtemplate import PROPERTIES_VOLUME
from kafka_streams.kind import APPLICATIONS
from kafka_streams.model.release import StreamsRelease, parse_release
from kafka_streams.observe.gather import Edges
from kafka_streams.plan.matrix import facts_of
from kafka_streams.reconcile import ApplicationReconciler, PassResult
from kafka_streams.resources.stored import revision_from
from kit.key import ObjectKey
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, REVISIONS, Json

NAMESPACE: Final = "apps"
NAME: Final = "counts"
KEY: Final = ObjectKey(namespace=NAMESPACE, name=NAME)
AT: Final = TopicPartition(topic="words", index=0)
_METADATA_3_9: Final = 21


def resource(spec: Json) -> Json:
    """The resource as the API server stores it, with the CRD's defaults."""
    return {
        "apiVersion": "kafkaquorum.io/v1alpha1",
        "kind": "KafkaStreamsApplication",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "uid": "uid-of-counts", "generation": 1},
        "spec": {
            "applicationID": "counts",
            "bootstrap": {"servers": "kafka:9092", "pools": []},
            "replicas": 3,
            "upgradeFrom": {"variable": "UPGRADE_FROM"},
            "state": {"type": "VolumeClaim", "size": "1Gi", "path": "/state"},
            "gate": {"stableSeconds": 2, "threads": 1},
            "template": {"metadata": {}, "spec": {"containers": [{"name": "app"}]}},
            **spec,
        },
    }


class Cluster:
    """`broken` images never start. The group has one member for each pod that is ready."""

    def __init__(self, spec: Json, kube: RecordingKube | None = None) -> None:
        """Starts with the resource alone."""
        self.kube = kube or RecordingKube()
        self.kube.put(APPLICATIONS, resource(spec))
        self.clock = MovingClock(100.0)
        self.broken: set[str] = set()
        self.values: list[tuple[str, str]] = []
        self._started: dict[str, str] = {}
        self.done = 0
        self._addresses = 0
        self.reconciler = self.operator()

    def operator(self) -> ApplicationReconciler:
        """An operator that has just started."""
        return ApplicationReconciler(
            kube=self.kube,
            edges=Edges(groups=self, versions=self),
            clock=self.clock,
            ids=Ids(),
            settings=Settings(),
        )

    async def run(self, count: int) -> PassResult:
        """So many passes, a second apart, with a kubelet between them."""
        for _ in range(count):
            self.kubelet()
            result = await self.reconciler.run_pass(KEY)
            self.clock.seconds += 1
            self.done += 1
        return result

    def ask(self, **spec: Any) -> None:  # noqa: ANN401 - any JSON
        """A person changes the spec."""
        item = self.kube.objects[APPLICATIONS.plural, NAME]
        item["spec"] |= spec
        item["metadata"]["generation"] += 1
        self.reconciler.changed(KEY)

    @property
    def status(self) -> Json:
        """The status as last written."""
        self.kube.objects.flush()
        found: Json = self.kube.objects[APPLICATIONS.plural, NAME].get("status") or {}
        return found

    def pods(self) -> list[Json]:
        """All pods."""
        self.kube.objects.flush()
        return list(self.kube.model.all(PODS))

    def releases(self) -> list[str]:
        """What the pods run, by name."""
        return [str(self._release(pod)) for pod in sorted(self.pods(), key=lambda pod: str(pod["metadata"]["name"]))]

    def claims(self) -> list[str]:
        """The names of all claims."""
        self.kube.objects.flush()
        return sorted(str(item["metadata"]["name"]) for item in self.kube.model.all(CLAIMS))

    @property
    def stops(self) -> list[str]:
        """The pods that the operator deleted since the calls were cleared."""
        return [call.name for call in self.kube.calls if (call.verb, call.plural) == ("delete", PODS.plural)]

    def kubelet(self) -> None:
        """Deleted pods go, others become ready, or crash."""
        for pod in self.pods():
            name = pod["metadata"]["name"]
            container = pod["spec"]["containers"][0]
            if "deletionTimestamp" in pod["metadata"]:
                self.kube.model.remove(PODS, NAMESPACE, name)
            elif not pod.get("status", {}).get("podIP"):
                self._addresses += 1
                self._started[pod["metadata"]["uid"]] = self._value(pod)
                self.values.append((name, self._started[pod["metadata"]["uid"]]))
                self._start(pod, container, crashes=container["image"] in self.broken)

    def _start(self, pod: Json, container: Json, *, crashes: bool) -> None:
        state: Json = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        last: Json = {}
        if crashes:
            state = {"waiting": {"reason": "CrashLoopBackOff"}}
            last = {"lastState": {"terminated": {"exitCode": 1, "message": "no such class"}}}
        ready = "False" if crashes else "True"
        status = {
            "phase": "Running",
            "podIP": f"10.1.0.{self._addresses}",
            "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [{"name": container["name"], "state": state, **last}],
        }
        self.kube.model.put_status(PODS, pod, status)

    def _release(self, pod: Json) -> StreamsRelease:
        name = pod["metadata"]["annotations"]["kafkaquorum.io/revision"]
        return revision_from(self.kube.objects[REVISIONS.plural, name]).runtime.release

    def _value(self, pod: Json) -> str:
        """`upgrade.from` of a pod, from its variable or its file; a pod without its file does not start (KeyError)."""
        env = {one["name"]: one["value"] for one in pod["spec"]["containers"][0].get("env", ())}
        for volume in pod["spec"].get("volumes", ()):
            if volume["name"] == PROPERTIES_VOLUME:
                file = self.kube.objects[CONFIG_MAPS.plural, volume["configMap"]["name"]]
                lines = file["data"]["application.properties"].splitlines()
                env |= dict(line.split("=") for line in lines if line)
        return str(env.get("upgrade.from") or env.get("UPGRADE_FROM", ""))

    # what the brokers answer

    async def coordinator(self, endpoint: Endpoint, group: str) -> Endpoint:
        """There is one broker."""
        assert group == "counts"
        return endpoint

    async def classic_group(self, endpoint: Endpoint, group: str) -> ClassicGroup:
        """A member for each ready pod."""
        del endpoint, group
        ready = [pod for pod in self.pods() if _is_ready(pod)]
        members = tuple(self._member(pod) for pod in ready)
        if not members:
            return ClassicGroup(state=GroupState.EMPTY, protocol_type="consumer", protocol="", members=())
        return ClassicGroup(state=GroupState.STABLE, protocol_type="consumer", protocol="stream", members=members)

    def _member(self, pod: Json) -> ClassicMember:
        facts = facts_of(self._release(pod))
        assert facts is not None
        version = facts.subscription_version
        if value := self._started.get(pod["metadata"]["uid"], ""):
            old = facts_of(parse_release(f"{value}.0") or StreamsRelease((0, 10, 0), 0))
            assert old is not None
            version = min(version, old.subscription_version)
        data = subscription(user(version, supported=facts.subscription_version))
        return ClassicMember(
            member_id=f"member-{pod['metadata']['uid']}",
            instance_id=None,
            client_id="counts",
            client_host=f"/{pod['status']['podIP']}",
            metadata=data,
            assignment=b"",
        )

    async def streams_group(self, endpoint: Endpoint, group: str) -> StreamsGroup | None:
        """There is none."""
        del endpoint, group
        return None

    async def coordinated(self, endpoint: Endpoint) -> tuple[ListedGroup, ...]:
        """No other groups."""
        del endpoint
        return ()

    async def committed(self, endpoint: Endpoint, group: str) -> tuple[Committed, ...]:
        """All that was done: a record for each pass."""
        del endpoint, group
        return (Committed(at=AT, offset=self.done),)

    async def log_ends(
        self, endpoint: Endpoint, partitions: Sequence[TopicPartition], end: LogEnd
    ) -> dict[TopicPartition, Knowable[int]]:
        """One more than what was done."""
        del endpoint, end
        return {at: Known(value=self.done + 1) for at in partitions}

    async def metadata(self, endpoint: Endpoint, *, topics: Collection[str] = ()) -> MetadataAnswer:
        """One broker that leads the one partition."""
        del topics
        broker = RegisteredBroker(node_id=NodeID(0), host=endpoint.host, port=endpoint.port, rack="", fenced=False)
        return MetadataAnswer(
            cluster_id=ClusterID("Nk018hRAQFytWskYqtQduw"),
            controller=None,
            brokers=(broker,),
            partitions=(Partition(at=AT, leader=NodeID(0), leader_epoch=1, replicas=(NodeID(0),), isr=(NodeID(0),)),),
        )

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """A broker of 3.9."""
        del endpoint
        level = FeatureRange(name="metadata.version", min_level=1, max_level=_METADATA_3_9)
        return NodeVersions(supported=(level,), finalized=(), finalized_epoch=-1)

    async def close(self) -> None:
        """Nothing is open."""


def _is_ready(pod: Json) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return {"type": "Ready", "status": "True"} in conditions and "deletionTimestamp" not in pod["metadata"]
