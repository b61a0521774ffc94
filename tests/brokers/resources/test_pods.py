"""The formatter and the Kafka pod of a broker: the properties that must hold."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.secured import SECRET, mutual, with_users
from tests.brokers.values import CLUSTER, CONTRACT, UID, broker, desired, directory, record, revision

from kafka_brokers.model import names
from kafka_brokers.model.disks import BrokerIdentity, without_data
from kafka_brokers.model.names import inputs_hash
from kafka_brokers.resources import pods, scripts
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.names import CLUSTER_ID, CONFIG, INPUTS_HASH, REVISION
from kafka_quorum.model.zookeeper import ZooKeeperAccess

Json = dict[str, Any]
JBOD: Json = {"storage": [{"size": "1Gi"}, {"size": "2Gi"}]}
OUTSIDE: Json = {"listeners": [{"name": "OUT", "port": 9094, "external": "NodePort"}]}


def formatter(spec: Json | None = None, *, formatted: bool = False, avoid: tuple[str, ...] = ()) -> Json:
    """The formatter of broker 1."""
    of = desired(spec)
    known = record(volumes=len(of.volumes), formatted=formatted)
    revised = revision(of.runtime)
    return pods.formatter(of, known, broker(known, 1), revised, config="cfg", avoid_nodes=avoid, pull_policy="Never")


def kafka(spec: Json | None = None, volumes: int | None = None) -> Json:
    """The Kafka pod of broker 1."""
    of = desired(spec)
    known = record(volumes=volumes or len(of.volumes))
    return pods.kafka(of, known, broker(known, 1), revision(of.runtime), config="cfg", pull_policy="Never")


def containers(pod: Json) -> list[Json]:
    """Every container of a pod."""
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def environment(container: Json) -> dict[str, str]:
    """The variables of the process: if a name is listed twice, the last entry counts."""
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


@pytest.mark.parametrize("pod", [formatter(JBOD), kafka(JBOD), kafka(OUTSIDE)], ids=["formatter", "kafka", "late"])
def test_both_kinds(pod: Json) -> None:
    """Every pod meets the restricted standard, has no token and no limitless container, and names what it is for."""
    security = pod["spec"]["securityContext"]
    assert (security["runAsNonRoot"], security["runAsUser"], security["fsGroup"]) == (True, 1000, 1000)
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["spec"]["automountServiceAccountToken"] is False
    for container in containers(pod):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]
        assert (container["image"], container["imagePullPolicy"]) == ("apache/kafka:4.4.0", "Never")
    metadata = pod["metadata"]
    assert metadata["annotations"][CLUSTER_ID] == CLUSTER
    assert metadata["annotations"][CONFIG] == "cfg"
    assert {REVISION, INPUTS_HASH} <= set(metadata["annotations"])
    assert metadata["labels"][names.LABEL_POOL] == "payments"
    assert metadata["labels"][names.LABEL_NODE] == "1"
    assert metadata["labels"][names.LABEL_OF_QUORUM] == "events"
    assert "kafkaquorum.io/quorum" not in metadata["labels"]
    owners = [(owner["kind"], owner["uid"], owner["controller"]) for owner in metadata["ownerReferences"]]
    assert owners == [("KafkaBrokerPool", UID, True)]


@pytest.mark.parametrize("pod", [formatter(JBOD, formatted=True), kafka(JBOD)], ids=["formatter", "kafka"])
def test_volumes(pod: Json) -> None:
    """Each container mounts every volume of the broker at the path of its index, and knows its directory id."""
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    claims = {name: each["persistentVolumeClaim"]["claimName"] for name, each in volumes.items() if "data" in name}
    assert claims == {"data-0": "payments-1-d0-g1", "data-1": "payments-1-d1-g1"}
    for container in containers(pod):
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert (mounts["data-0"], mounts["data-1"]) == ("/var/lib/kafka/data-0", "/var/lib/kafka/data-1")
        known = environment(container)
        assert (known["KQ_VOLUMES"], known["KQ_NODE_ID"], known["KQ_CLUSTER_ID"]) == ("2", "1", CLUSTER)
        assert (known["KQ_DIRECTORY_ID_0"], known["KQ_DIRECTORY_ID_1"]) == (directory(1, 0), directory(1, 1))
    annotations = pod["metadata"]["annotations"]
    assert annotations[names.CLAIM_UIDS] == "claim-1-0,claim-1-1"
    assert annotations[names.DIRECTORY_IDS] == f"{directory(1, 0)},{directory(1, 1)}"


def test_a_volume_that_was_appended_later() -> None:
    """A pod of a revision with one volume does not mount a second one, which its log directories do not have."""
    pod = kafka(volumes=2)
    assert pod["metadata"]["annotations"][names.CLAIM_UIDS] == "claim-1-0"
    assert environment(containers(pod)[0])["KQ_VOLUMES"] == "1"


def test_kafka_never_formats() -> None:
    """The Kafka pod compares in an init container and again before Kafka; the formatter ends, and only formats."""
    pod = kafka()
    assert [container["name"] for container in containers(pod)] == ["verify", "kafka"]
    assert [container["command"][-1] for container in containers(pod)] == [scripts.VERIFY, scripts.RUN]
    assert pod["spec"]["restartPolicy"] == "Always"
    format_ = formatter()
    assert [container["command"][-1] for container in containers(format_)] == [scripts.FORMAT]
    assert format_["spec"]["restartPolicy"] == "Never"
    assert format_["metadata"]["labels"][names.LABEL_ROLE] == names.FORMATTER_ROLE
    assert "readinessGates" not in format_["spec"]


def test_names_and_addresses() -> None:
    """A broker has one name for its pod and its host; a formatter's name has the generations of the claims."""
    pod = kafka(JBOD)
    assert (pod["metadata"]["name"], pod["spec"]["hostname"]) == ("payments-1-broker", "payments-1")
    assert pod["spec"]["subdomain"] == "payments-brokers"
    assert pod["spec"]["readinessGates"] == [{"conditionType": "kafkaquorum.io/unfenced"}]
    assert formatter(JBOD)["metadata"]["name"] == "payments-1-broker-format-1-1"


def test_intents_differ_after_a_loss() -> None:
    """The format of a volume has another name after its data was lost, and other volumes keep theirs."""
    of, known = desired(JBOD), record(volumes=2)
    whole = broker(known, 1)
    lost = replace(whole, disks=(without_data(whole.disks[0], new_claim=False), whole.disks[1]))

    def intents(of_broker: Any) -> list[str]:  # noqa: ANN401 - a broker
        pod = pods.formatter(
            of, known, of_broker, revision(of.runtime), config="c", avoid_nodes=(), pull_policy="Never"
        )
        known_to = environment(containers(pod)[0])
        return [known_to["KQ_INTENT_0"], known_to["KQ_INTENT_1"]]

    before, after = intents(whole), intents(lost)
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_probes_do_not_end_a_recovery() -> None:
    """A broker opens its ports after the recovery of its logs, which may take days; later the probes ask the port."""
    main = containers(kafka())[-1]
    probes = [main[name] for name in ("startupProbe", "readinessProbe", "livenessProbe")]
    assert all(probe["tcpSocket"] == {"port": 9091} for probe in probes)
    assert main["startupProbe"]["periodSeconds"] * main["startupProbe"]["failureThreshold"] > 20 * 86400
    assert main["livenessProbe"]["periodSeconds"] * main["livenessProbe"]["failureThreshold"] >= 60


def test_a_controlled_shutdown_has_its_time() -> None:
    """The grace period is longer than the five minutes of a controlled shutdown; the template may lengthen it."""
    assert kafka()["spec"]["terminationGracePeriodSeconds"] > 330
    longer = {"template": {"spec": {"terminationGracePeriodSeconds": 900}}}
    assert kafka(longer)["spec"]["terminationGracePeriodSeconds"] == 900


def test_late_properties() -> None:
    """A pod that needs late properties mounts its own annotation, and an init container waits for its content."""
    pod = kafka(OUTSIDE)
    assert [container["name"] for container in containers(pod)] == ["verify", "late", "kafka"]
    assert pod["metadata"]["annotations"][names.LATE] == ""
    (volume,) = (each for each in pod["spec"]["volumes"] if each["name"] == "late")
    assert volume["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"] == f"metadata.annotations['{names.LATE}']"
    for container in containers(pod):
        assert {"name": "late", "mountPath": "/etc/kafka-late", "readOnly": True} in container["volumeMounts"]
    assert containers(pod)[-1]["command"][-1] == scripts.RUN_LATE
    assert names.LATE not in kafka()["metadata"]["annotations"]


def test_scheduling() -> None:
    """Brokers of all pools of a quorum prefer other nodes and zones; with racks they are spread over them."""
    terms = kafka()["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    selectors = {json.dumps(term["podAffinityTerm"]["labelSelector"]["matchLabels"]) for term in terms}
    assert selectors == {json.dumps({names.LABEL_OF_QUORUM: "events"})}
    assert [term["podAffinityTerm"]["topologyKey"] for term in terms] == [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    ]
    assert "topologySpreadConstraints" not in kafka()["spec"]
    (constraint,) = kafka({"rack": {"topologyKey": "zone"}})["spec"]["topologySpreadConstraints"]
    assert (constraint["topologyKey"], constraint["maxSkew"]) == ("zone", 1)
    assert constraint["labelSelector"]["matchLabels"] == names.pool_labels("payments")


def test_a_formatter_avoids_nodes() -> None:
    """A formatter prefers Kubernetes nodes without claims of other brokers, beside the other preferences."""
    affinity = formatter(avoid=("a", "b"))["spec"]["affinity"]
    (term,) = affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["preference"]["matchExpressions"][0]["values"] == ["a", "b"]
    assert "podAntiAffinity" in affinity


def test_the_template_overrides_nothing_of_ours() -> None:
    """Labels, annotations and variables of the template are used, and ours count more."""
    pod = {
        "nodeSelector": {"disk": "ssd"},
        "containers": [
            {"name": "kafka", "env": [{"name": "TZ", "value": "UTC"}], "resources": {"limits": {"memory": "2Gi"}}}
        ],
    }
    found = kafka({"template": {"metadata": {"labels": {"team": "a"}}, "spec": pod}})
    main = containers(found)[-1]
    assert (environment(main)["TZ"], main["resources"]) == ("UTC", {"limits": {"memory": "2Gi"}})
    assert found["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert found["metadata"]["labels"]["team"] == "a"
    assert found["metadata"]["labels"][names.LABEL_ROLE] == "broker"


ACCESS = ZooKeeperAccess(connect="zoo:2181", secret_name="zoo")  # noqa: S106 - a name


def with_zookeeper(spec: Json | None = None, access: ZooKeeperAccess = ACCESS) -> tuple[Json, Json]:
    """The formatter and the Kafka pod of broker 1 whose contract has ZooKeeper."""
    of = desired(spec, replace(CONTRACT, release="3.9.2", zookeeper=access))
    known, revised = record(formatted=False), revision(of.runtime)
    one = broker(known, 1)
    format_ = pods.formatter(of, known, one, revised, config="cfg", avoid_nodes=(), pull_policy="Never")
    return format_, pods.kafka(of, known, one, revised, config="cfg", pull_policy="Never")


def test_a_pod_that_uses_zookeeper() -> None:
    """Only Kafka's own container mounts the Secret, and no variable, argument or annotation has anything of it."""
    format_, pod = with_zookeeper()
    names_ = [volume["name"] for volume in pod["spec"]["volumes"]]
    assert {"zookeeper-secret", "zookeeper-files"} <= set(names_)
    verify, kafka_ = containers(pod)
    mounted = {mount["name"] for mount in kafka_["volumeMounts"]}
    assert {"zookeeper-secret", "zookeeper-files"} <= mounted
    assert not any("zookeeper" in mount["name"] for mount in verify["volumeMounts"])
    assert not any("zookeeper" in volume["name"] for volume in format_["spec"]["volumes"])
    assert "secretKeyRef" not in json.dumps(pod)
    assert containers(format_)[0]["command"][-1] == scripts.FORMAT_ZOOKEEPER
    assert verify["command"][-1] == scripts.VERIFY
    assert kafka_["command"][-1] == scripts.run_with_zookeeper(ACCESS, late=False)
    _, open_ = with_zookeeper(access=ZooKeeperAccess(connect="zoo:2181"))
    assert not any("zookeeper" in volume["name"] for volume in open_["spec"]["volumes"])


def of_secured(contract: Contract, spec: Json | None = None) -> tuple[Json, Json]:
    """The formatter and the Kafka pod of broker 1 under a contract with TLS."""
    of = desired(spec, contract)
    known, revised = record(formatted=False), revision(of.runtime)
    one = broker(known, 1)
    format_ = pods.formatter(of, known, one, revised, config="cfg", avoid_nodes=(), pull_policy="Never")
    return format_, pods.kafka(of, known, one, revised, config="cfg", pull_policy="Never")


@pytest.mark.parametrize("contract", [mutual(), with_users()], ids=["SSL", "SASL_SSL"])
def test_a_pod_that_reaches_controllers_with_tls(contract: Contract) -> None:
    """Kafka's container alone mounts the whole Secret, as a directory; no variable or annotation has anything of it."""
    format_, pod = of_secured(contract)
    (volume,) = (each for each in pod["spec"]["volumes"] if "secret" in each)
    assert volume["secret"] == {"secretName": SECRET, "defaultMode": 0o440}
    verify, kafka_ = containers(pod)
    (mount,) = (each for each in kafka_["volumeMounts"] if each["name"] == volume["name"])
    assert mount == {"name": volume["name"], "mountPath": "/etc/kafka-quorum-tls", "readOnly": True}
    for other in (verify, *containers(format_)):
        assert volume["name"] not in {each["name"] for each in other["volumeMounts"]}
    assert not any("secret" in each for each in format_["spec"]["volumes"])
    assert "secretKeyRef" not in json.dumps(pod)


def test_a_password_is_in_memory_only() -> None:
    """Properties with a password are written to a volume in memory, which only a broker with a user has."""
    in_memory = {"medium": "Memory", "sizeLimit": "1Mi"}
    _, pod = of_secured(with_users())
    assert [each["name"] for each in pod["spec"]["volumes"] if each.get("emptyDir") == in_memory] == ["secured"]
    mounts = {each["name"]: each["mountPath"] for each in containers(pod)[-1]["volumeMounts"]}
    assert scripts.SECURED_CONFIG.startswith(f"{mounts['secured']}/")
    assert f"> {scripts.SECURED_CONFIG}" in containers(pod)[-1]["command"][-1]
    _, plain = of_secured(mutual())
    assert "secured" not in {each["name"] for each in plain["spec"]["volumes"]}


def test_pods_without_tls_stay_as_they_are() -> None:
    """A contract without files gives the names, the hashes and the script of before."""
    assert inputs_hash(desired().runtime) == "81394c0755"
    assert containers(kafka())[-1]["command"][-1] == scripts.RUN
    assert not any("secret" in each for each in kafka()["spec"]["volumes"])


def test_a_pool_that_adopts_formats_nothing() -> None:
    """The first volumes of a broker are adopted; one that was given up is formatted, as ever."""
    of = desired({"adopt": True})
    known, revised = record(formatted=False), revision(of.runtime)

    def script(node: BrokerIdentity) -> str:
        pod = pods.formatter(of, known, node, revised, config="cfg", avoid_nodes=(), pull_policy="Never")
        found = containers(pod)[0]["command"][-1]
        assert isinstance(found, str)
        return found

    assert script(broker(known, 1)) == scripts.ADOPT
    lost = without_data(broker(record(), 1).disks[0], new_claim=False)
    assert script(replace(broker(known, 1), disks=(lost,))) == scripts.FORMAT
    assert inputs_hash(of.runtime) == inputs_hash(desired().runtime), "adoption restarts no broker"


def test_the_scripts_know_the_name_of_the_log_directory() -> None:
    """Each volume has its own, with the node id in it; without other names there is no variable."""
    pod = kafka({"storage": [{"size": "1Gi", "directory": "log{id}"}, {"size": "1Gi"}]})
    for container in containers(pod):
        known = environment(container)
        assert (known["KQ_LOG_DIR_0"], known["KQ_LOG_DIR_1"]) == ("log1", "kafka")
    assert not any(name.startswith("KQ_LOG_DIR") for name in environment(containers(kafka())[0]))
