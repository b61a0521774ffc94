"""The formatter and the Kafka pod: the properties that must hold."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import (
    CLUSTER,
    IDS,
    UID,
    bound,
    claim_uid,
    desired,
    directory,
    node,
    revision,
    running,
    runtime,
)
from tests.plan.recovery.test_steps import seeded_record

from kafka_quorum.model import names
from kafka_quorum.model.desired import ControllerListener, FeatureLevel
from kafka_quorum.model.identity import FormatMode, IdentityRecord, with_disk_lost, with_nodes
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.journal import RecoveryStage
from kafka_quorum.model.observed import Revision
from kafka_quorum.resources import pods, scripts

Json = dict[str, Any]
FIRST = bound()
JOINING = with_nodes(running(), [NodeID(3003)])


def formatter(
    record: IdentityRecord = FIRST, node_id: int = 3000, of: Revision | None = None, avoid: tuple[str, ...] = ()
) -> Json:
    """The formatter of a node."""
    return pods.formatter(
        desired(), record, node(record, node_id), of or revision(), config="cfg", avoid_nodes=avoid, pull_policy="Never"
    )


def kafka(record: IdentityRecord | None = None, node_id: int = 3000, of: Revision | None = None) -> Json:
    """The Kafka pod of a node."""
    known = record or running()
    return pods.kafka(desired(), known, node(known, node_id), of or revision(), config="cfg", pull_policy="Never")


def both(**changes: Any) -> list[Json]:  # noqa: ANN401 - fields of a runtime
    """Both kinds of pods."""
    of = revision(runtime(**changes))
    return [formatter(of=of), kafka(of=of)]


def containers(pod: Json) -> list[Json]:
    """Every container of a pod."""
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def environment(container: Json) -> dict[str, str]:
    """The variables of the process: if a name is listed twice, the last entry counts."""
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


# What holds for both kinds


@pytest.mark.parametrize("kind", [0, 1], ids=["formatter", "kafka"])
def test_restricted(kind: int) -> None:
    """Every pod and container meets the restricted pod security standard, and has no token of the API server."""
    pod = both()[kind]
    security = pod["spec"]["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"] == security["fsGroup"] == 1000
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["spec"]["automountServiceAccountToken"] is False
    for container in containers(pod):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }


@pytest.mark.parametrize("kind", [0, 1], ids=["formatter", "kafka"])
def test_nothing_is_without_a_limit(kind: int) -> None:
    """Every container has a limit of memory and of disk, even if the spec sets none."""
    pod = both()[kind]
    assert all("memory" in container["resources"]["limits"] for container in containers(pod))
    empty = [volume["emptyDir"] for volume in pod["spec"]["volumes"] if "emptyDir" in volume]
    assert empty == [{"sizeLimit": "1Gi"}]


@pytest.mark.parametrize("kind", [0, 1], ids=["formatter", "kafka"])
def test_identity_in_annotations(kind: int) -> None:
    """A pod has the identity of its disk, its inputs, and its owner."""
    metadata = both()[kind]["metadata"]
    annotations = metadata["annotations"]
    assert annotations[names.CLUSTER_ID] == CLUSTER
    assert annotations[names.DIRECTORY_ID] == directory(3000)
    assert annotations[names.CLAIM_UID] == claim_uid(3000)
    assert annotations[names.MODE] == "InitialControllers"
    assert annotations[names.REVISION] == revision().name
    assert annotations[names.CONFIG] == "cfg"
    assert metadata["labels"][names.LABEL_NODE] == "3000"
    assert [(owner["kind"], owner["uid"], owner["controller"]) for owner in metadata["ownerReferences"]] == [
        ("KafkaQuorum", UID, True)
    ]


@pytest.mark.parametrize("kind", [0, 1], ids=["formatter", "kafka"])
def test_volumes(kind: int) -> None:
    """A pod mounts the single claim of its controller's generation, and its config map."""
    spec = both()[kind]["spec"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert volumes["data"]["persistentVolumeClaim"] == {"claimName": "alpha-3000-g1"}
    assert volumes["config"]["configMap"]["name"] == "cfg"
    for container in containers({"spec": spec}):
        mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
        assert mounts["data"]["mountPath"] == "/var/lib/kafka/data"
        assert mounts["config"].get("readOnly") is True


@pytest.mark.parametrize("kind", [0, 1], ids=["formatter", "kafka"])
def test_image(kind: int) -> None:
    """Every container runs the revision's image with the operator's pull policy."""
    pod = both(image="registry/kafka:4.4.0")[kind]
    assert {(one["image"], one["imagePullPolicy"]) for one in containers(pod)} == {("registry/kafka:4.4.0", "Never")}


@pytest.mark.parametrize("kind", [0, 1], ids=["formatter", "kafka"])
def test_template(kind: int) -> None:
    """Labels, annotations, scheduling and resources of the template are used, and override nothing of ours."""
    template = {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "securityContext": {"runAsUser": 2000},
        "terminationGracePeriodSeconds": 5,
        "containers": [
            {
                "name": "kafka",
                "resources": {"limits": {"memory": "2Gi"}},
                "env": [{"name": "TZ", "value": "UTC"}, {"name": "KQ_DIRECTORY_ID", "value": "forged"}],
            }
        ],
    }
    metadata = {"labels": {"team": "a", names.LABEL_NODE: "9"}, "annotations": {"note": "b", names.CLUSTER_ID: "x"}}
    pod = both(template_spec=json.dumps(template), template_metadata=json.dumps(metadata))[kind]
    spec, main = pod["spec"], pod["spec"]["containers"][0]
    assert (spec["nodeSelector"], spec["tolerations"]) == ({"disk": "ssd"}, [{"operator": "Exists"}])
    assert spec["affinity"] == {"nodeAffinity": {}}
    assert (spec["securityContext"]["runAsUser"], spec["securityContext"]["runAsNonRoot"]) == (2000, True)
    assert spec["terminationGracePeriodSeconds"] == 5
    assert main["resources"] == {"limits": {"memory": "2Gi"}}
    assert environment(main)["TZ"] == "UTC"
    assert environment(main)["KQ_DIRECTORY_ID"] == directory(3000)
    assert (pod["metadata"]["labels"]["team"], pod["metadata"]["labels"][names.LABEL_NODE]) == ("a", "3000")
    assert (pod["metadata"]["annotations"]["note"], pod["metadata"]["annotations"][names.CLUSTER_ID]) == ("b", CLUSTER)


@pytest.mark.parametrize("kind", [0, 1], ids=["formatter", "kafka"])
def test_spread(kind: int) -> None:
    """Without a template controllers prefer different nodes and zones, which never prevents their scheduling."""
    affinity = both()[kind]["spec"]["affinity"]["podAntiAffinity"]
    assert set(affinity) == {"preferredDuringSchedulingIgnoredDuringExecution"}
    keys = [
        term["podAffinityTerm"]["topologyKey"] for term in affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    ]
    assert keys == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]


def test_building_changes_nothing() -> None:
    """Builders return equal objects for equal values, and share no part of them."""
    first, second = kafka(), kafka()
    assert first == second
    first["spec"]["containers"][0]["securityContext"]["capabilities"]["drop"].append("X")
    assert second["spec"]["containers"][0]["securityContext"]["capabilities"]["drop"] == ["ALL"]
    assert kafka() == second


# The formatter


def test_formatter_formats_once() -> None:
    """A formatter is never restarted, runs only the formatting script, and has its generation in its name."""
    pod = formatter()
    assert pod["metadata"]["name"] == "alpha-3000-g1-format"
    assert pod["metadata"]["labels"][names.LABEL_ROLE] == "formatter"
    assert pod["spec"]["restartPolicy"] == "Never"
    assert "initContainers" not in pod["spec"]
    (container,) = pod["spec"]["containers"]
    assert container["name"] == "format"
    assert container["command"][:4] == ["sh", "-c", scripts.FORMAT, "format"]
    assert not {"readinessProbe", "livenessProbe", "startupProbe", "ports"} & set(container)


def test_initial_format_arguments() -> None:
    """Initial controllers are formatted with all first voters, and with explicit levels if the record has some."""
    levels = (FeatureLevel(name="metadata.version", level=27), FeatureLevel(name="kraft.version", level=1))
    record = replace(FIRST, format=replace(FIRST.format, features=levels))
    voters = ",".join(f"{i}@alpha-{i}.alpha-controllers.kafka.svc:9093:{directory(i)}" for i in IDS)
    plain = pods.format_arguments(desired(), FIRST, node(FIRST, 3001), revision())
    assert plain == ("--initial-controllers", voters)
    explicit = pods.format_arguments(desired(), record, node(record, 3001), revision())
    assert explicit == (*plain, "--feature", "metadata.version=27", "--feature", "kraft.version=1")


def test_static_format_arguments() -> None:
    """A static voter's format names no voters, because the properties have them; explicit levels are named."""
    record = replace(FIRST, nodes=tuple(replace(of, mode=FormatMode.STATIC) for of in FIRST.nodes))
    assert pods.format_arguments(desired(), record, node(record, 3001), revision()) == ()
    levels = (FeatureLevel(name="metadata.version", level=27),)
    explicit = replace(record, format=replace(record.format, features=levels))
    arguments = pods.format_arguments(desired(), explicit, node(explicit, 3001), revision())
    assert arguments == ("--feature", "metadata.version=27")


def test_newcomer_format_arguments() -> None:
    """A newcomer, or a lost disk, is formatted without initial controllers and without levels."""
    lost = with_disk_lost(running(), IDS[0], new_claim=False)
    for record, node_id in ((JOINING, 3003), (lost, 3000)):
        arguments = pods.format_arguments(desired(), record, node(record, node_id), revision())
        assert arguments == ("--no-initial-controllers",)


@pytest.mark.parametrize("record", [FIRST, JOINING], ids=["initial", "joining"])
def test_never_a_release_version(record: IdentityRecord) -> None:
    """No pod has --release-version or quorum-state in it."""
    for of in record.nodes:
        for pod in (formatter(record, of.node_id), kafka(record, of.node_id)):
            assert "--release-version" not in json.dumps(pod)
            assert "quorum-state" not in json.dumps(pod)


def test_intent_names_one_format() -> None:
    """The intent of a format differs by cluster, node, mode, claim and number of losses."""
    lost = with_disk_lost(running(), IDS[0], new_claim=False)
    twice = replace(lost, nodes=tuple(replace(of, retired=(*of.retired, directory(3000, 2))) for of in lost.nodes))
    other_claim = replace(FIRST, nodes=tuple(replace(of, claim_uid="another") for of in FIRST.nodes))
    records = [(FIRST, 3000), (FIRST, 3001), (other_claim, 3000), (lost, 3000), (twice, 3000)]
    intents = {environment(formatter(*one)["spec"]["containers"][0])["KQ_INTENT"] for one in records}
    assert len(intents) == len(records)


def test_formatter_avoids_siblings() -> None:
    """A formatter prefers Kubernetes nodes without sibling claims, and keeps the template's own preferences."""
    template = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}}
    of = revision(runtime(template_spec=json.dumps(template)))
    made = formatter(of=of, avoid=("worker-1", "worker-2"))["spec"]["affinity"]["nodeAffinity"]
    own, avoided = made["preferredDuringSchedulingIgnoredDuringExecution"]
    assert own == {"weight": 1}
    assert avoided["preference"]["matchExpressions"] == [
        {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["worker-1", "worker-2"]}
    ]
    assert "requiredDuringSchedulingIgnoredDuringExecution" not in made


def test_a_disk_for_a_seed_is_made_where_the_seed_is() -> None:
    """The formatter names the seed's claim, read-only and without a mount, so that one node can mount both later."""
    record, _ = seeded_record(RecoveryStage.FORMAT)
    for node_id, claims in ((3000, ["alpha-3000-g2", "broker-0"]), (3001, ["alpha-3001-g2"])):
        spec = formatter(record, node_id)["spec"]
        found = [each["persistentVolumeClaim"] for each in spec["volumes"] if "persistentVolumeClaim" in each]
        assert [each["claimName"] for each in found] == claims
        assert all(each.get("readOnly") for each in found[1:])
        mounted = {mount["name"] for each in spec["containers"] for mount in each["volumeMounts"]}
        assert "seed" not in mounted


# The Kafka pod


def test_kafka_pod_compares_first() -> None:
    """An init container compares the disk before Kafka's container, which compares it again at every restart."""
    pod = kafka()
    (verify,), (main,) = pod["spec"]["initContainers"], pod["spec"]["containers"]
    assert (verify["name"], verify["command"]) == ("verify", ["sh", "-c", scripts.VERIFY])
    assert (main["name"], main["command"]) == ("kafka", ["sh", "-c", scripts.RUN])
    expected = {
        "KQ_CLUSTER_ID": CLUSTER,
        "KQ_NODE_ID": "3000",
        "KQ_DIRECTORY_ID": directory(3000),
        "KQ_CLAIM_UID": claim_uid(3000),
        "KQ_MODE": "InitialControllers",
        "KQ_CONFIG": "/etc/kafka-quorum/3000.properties",
    }
    assert environment(verify) == expected
    assert expected.items() <= environment(main).items()
    assert "KQ_INTENT" not in environment(main)


def test_kafka_pod_names() -> None:
    """The pod's name has the generation, its host name does not, and it belongs to the headless service."""
    record = with_disk_lost(running(), IDS[0], new_claim=True)
    pod = kafka(record)
    assert pod["metadata"]["name"] == "alpha-3000-g2"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("alpha-3000", "alpha-controllers")
    assert pod["metadata"]["labels"][names.LABEL_ROLE] == "controller"


def test_probes() -> None:
    """Probes only connect to the listener; readiness also needs the operator's gate."""
    of = revision(runtime(listener=ControllerListener(name="CONTROLLER", port=19093)))
    pod = kafka(of=of)
    (main,) = pod["spec"]["containers"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert main[probe]["tcpSocket"] == {"port": 19093}
        assert "exec" not in main[probe]
    assert main["ports"] == [{"name": "controller", "containerPort": 19093}]
    assert pod["spec"]["readinessGates"] == [{"conditionType": names.GATE}]
    assert names.LABEL_VOTER not in pod["metadata"]["labels"]


@pytest.mark.parametrize(
    ("heap", "options", "memory"),
    [
        ("512Mi", "-Xms512m -Xmx512m", "768Mi"),
        ("1Gi", "-Xms1024m -Xmx1024m", "1280Mi"),
        ("2G", "-Xms1907m -Xmx1907m", "2163Mi"),
    ],
)
def test_heap(heap: str, options: str, memory: str) -> None:
    """The heap is fixed in whole mebibytes, and the pod requests a quarter of a gigabyte in addition."""
    (main,) = kafka(of=revision(runtime(heap=heap)))["spec"]["containers"]
    assert environment(main)["KAFKA_HEAP_OPTS"] == options
    assert main["resources"]["requests"]["memory"] == memory


@pytest.mark.parametrize(("release", "option"), [("4.4.0", "-Dlog4j2."), ("3.9.1", "-Dlog4j.configuration")])
def test_logging_of_both_generations(release: str, option: str) -> None:
    """Kafka 4 is configured for log4j 2, Kafka 3 for reload4j."""
    (main,) = kafka(of=revision(runtime(release=release)))["spec"]["containers"]
    assert environment(main)["KAFKA_LOG4J_OPTS"].startswith(option)


def test_jvm_options() -> None:
    """JVM options are passed unchanged after our own, which let names of pods be resolved each time."""
    (main,) = kafka(of=revision(runtime(jvm_options=("-XX:+UseZGC", "-Da=b"))))["spec"]["containers"]
    assert environment(main)["KAFKA_OPTS"] == (
        "-Djava.security.properties=/etc/kafka-quorum/java.security -XX:+UseZGC -Da=b"
    )


def test_metrics_of_kafka() -> None:
    """With metrics the server alone loads the agent, which a confined container brings; nothing else changes."""
    plain, found = kafka(), kafka(of=revision(runtime(jmx=True)))
    (main,), (before,) = found["spec"]["containers"], plain["spec"]["containers"]
    assert main["ports"] == [*before["ports"], {"name": "jmx", "containerPort": 9404}]
    assert {**environment(main), "EXTRA_ARGS": ""} == {**environment(before), "EXTRA_ARGS": ""}
    assert environment(main)["EXTRA_ARGS"].startswith(f"{environment(before)['EXTRA_ARGS']} -javaagent:")
    assert {key: main[key] for key in ("securityContext", "resources", "command")} == {
        key: before[key] for key in ("securityContext", "resources", "command")
    }
    brings = found["spec"]["initContainers"][1]
    assert brings["securityContext"] == main["securityContext"]
    assert brings["volumeMounts"] == [{"name": "agent", "mountPath": "/agent"}]
    assert {"name": "agent", "mountPath": "/opt/agent", "readOnly": True} in main["volumeMounts"]
    assert found["spec"]["securityContext"] == plain["spec"]["securityContext"]
