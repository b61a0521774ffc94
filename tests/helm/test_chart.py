"""The chart: lint, refused values, and the operator's rights in the rendered manifests."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from jsonschema import Draft7Validator
from tests.simulation.model.rights import ALL_RULES, CLUSTER_RULES, QUORUM_RULES

from helm import render
from kafka_brokers.api import crd as brokers_crd
from kafka_quorum import handlers
from kafka_quorum.api import crd
from kafka_quorum.introspection import crd as look_crd
from kafka_quorum.settings import PodException, Settings
from kafka_streams.api import crd as streams_crd
from kit import lease
from kit.crd import definition

Json = dict[str, Any]

KINDS = (crd.KIND, brokers_crd.KIND, streams_crd.KIND)
"""Every kind of resource that persons make."""
DEFINED = (*KINDS, *look_crd.KINDS)
"""Every kind of resource that the chart installs the definition of."""


def rendered(*options: str) -> list[Json]:
    """The chart's objects."""
    return [item for item in yaml.safe_load_all(render.template(*options)) if item]


def only(items: list[Json], kind: str, name: str = "kafka-quorum-operator") -> Json:
    """The one object of this kind and name."""
    found = [item for item in items if item["kind"] == kind and item["metadata"]["name"] == name]
    assert len(found) == 1, [(item["kind"], item["metadata"]["name"]) for item in items]
    return found[0]


def verbs(role: Json) -> dict[str, set[str]]:
    """A role's verbs by group and resource."""
    return {
        f"{group}/{resource}": set(rule["verbs"])
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def refusal(*options: str) -> str:
    """Helm's message about values that it must refuse."""
    with pytest.raises(subprocess.CalledProcessError) as caught:
        render.template(*options)
    return str(caught.value.stderr)


def test_lint_finds_nothing() -> None:
    """`helm lint --strict` has no error and no warning."""
    command = [render.helm(), "lint", "--strict", str(render.CHART)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "[WARNING]" not in result.stdout


def test_the_values_schema_covers_exactly_the_values() -> None:
    """Every default is valid for the schema, and the schema has every value."""
    values = yaml.safe_load((render.CHART / "values.yaml").read_text())
    schema = json.loads((render.CHART / "values.schema.json").read_text())
    Draft7Validator.check_schema(schema)
    assert list(Draft7Validator(schema).iter_errors(values)) == []
    assert set(values) == set(schema["properties"]) - {"global"}


@pytest.mark.parametrize(
    ("option", "field"),
    [
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("image.repository=", "repository"),
        ("image.digest=latest", "digest"),
        ("kafka.imageTemplate=apache/kafka:4.4.0", "imageTemplate"),
        ("kafka.imageTemplate=apache/kafka:\\{release\\}-\\{version\\}", "imageTemplate"),
        ("logLevel=VERBOSE", "logLevel"),
        ("logFormat=xml", "logFormat"),
        ("tickSeconds=0", "tickSeconds"),
        ("watchNamespaces={Not_A_Name}", "watchNamespaces"),
        ("watchNamespaces={a,a}", "watchNamespaces"),
        ("replicas=0", "replicas"),
        ("observations.url=/a/path", "url"),
        ("observations.url=s3://b/f,observations.volume.nfs.server=x", "observations"),
        ("observations.kafka.topic=looks", "bootstrapServers"),
        ("observations.kafka.topic=no topic", "topic"),
        ("crds.instal=true", "instal"),
        ("introspection.enabled=maybe", "enabled"),
        ("metrics.podMonitor.enabled=perhaps", "enabled"),
        ("metrics.podMonitor.interval=often", "interval"),
    ],
)
def test_bad_values_are_refused_by_name(option: str, field: str) -> None:
    """An invalid value, or an unknown name, ends the installation with its name."""
    assert field in refusal("--set", option)


def test_the_operator_may_do_what_it_does_and_nothing_else() -> None:
    """The role has exactly the verbs of this table; more rights need a change of the table."""
    items = rendered()
    assert verbs(only(items, "ClusterRole")) == ALL_RULES
    discovery = only(items, "ClusterRole", "kafka-quorum-operator-discovery")
    assert verbs(discovery) == CLUSTER_RULES
    lease = only(items, "Role", "kafka-quorum-operator-lease")
    assert lease["metadata"]["namespace"] == "kafka-quorum-system"
    assert [(set(rule["verbs"]), rule.get("resourceNames")) for rule in lease["rules"]] == [
        ({"create"}, None),
        ({"get", "update"}, ["kafka-quorum-operator"]),
    ]
    binding = only(items, "ClusterRoleBinding")
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "kafka-quorum-operator", "namespace": "kafka-quorum-system"}
    ]


def test_a_namespace_of_digits_is_a_text() -> None:
    """Kubernetes accepts namespaces such as 12345 and on, and YAML takes them for a number or a truth."""
    sets = 'watchNamespaces=["12345","on"]'
    items = rendered("--set-json", sets, "--namespace", "4711")
    metadata = [item["metadata"] for item in items]
    assert {"12345", "on", "4711"} <= {one["namespace"] for one in metadata if "namespace" in one}
    assert {type(one["namespace"]) for one in metadata if "namespace" in one} == {str}
    subjects = [subject for item in items for subject in item.get("subjects") or ()]
    assert {subject["namespace"] for subject in subjects} == {"4711"}


def test_every_verb_says_what_it_is_for() -> None:
    """Each verb of the operator has a comment in the chart's own text."""
    lines = (render.CHART / "templates" / "_helpers.tpl").read_text().splitlines()
    entries = [line for line in lines if line.startswith("    - ")]
    assert len(entries) == sum(len(granted) for granted in ALL_RULES.values())
    assert [line for line in entries if "# " not in line] == []


def test_named_namespaces_bound_the_rights() -> None:
    """With watchNamespaces, the rights are roles there; only definitions, nodes and volumes are read cluster-wide."""
    items = rendered("--set", "watchNamespaces={a,b}")
    roles = [item for item in items if item["kind"] == "Role" and not item["metadata"]["name"].endswith("-lease")]
    assert {role["metadata"]["namespace"] for role in roles} == {"a", "b"}
    assert all(verbs(role) == ALL_RULES for role in roles)
    listed = [item for item in items if item["kind"] == "RoleBinding"]
    bindings = [item for item in listed if not item["metadata"]["name"].endswith("-lease")]
    assert {item["metadata"]["namespace"] for item in bindings} == {"a", "b"}
    cluster = [item["metadata"]["name"] for item in items if item["kind"] == "ClusterRoleBinding"]
    assert cluster == ["kafka-quorum-operator-discovery"]


def test_the_read_only_look_is_off_by_choice() -> None:
    """Without introspection the operator has no right on its kinds, writes none, and no role of people names them."""
    items = rendered("--set", "introspection.enabled=false")
    assert verbs(only(items, "ClusterRole")) == QUORUM_RULES
    (container,) = only(items, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert "KQ_INTROSPECTION" not in {entry["name"] for entry in container["env"]}
    for name in ("view", "edit"):
        assert "introspect" not in str(only(items, "ClusterRole", f"kafka-quorum-operator-{name}")["rules"])


def test_people_read_looks_and_ask_questions() -> None:
    """Viewers read looks and questions; editors make and delete questions, and nobody changes a look or an answer."""
    items = rendered()
    group = "introspect.kafkaquorum.io/"
    view, edit = (verbs(only(items, "ClusterRole", f"kafka-quorum-operator-{name}")) for name in ("view", "edit"))
    read = {"get", "list", "watch"}
    assert {name: granted for name, granted in view.items() if name.startswith(group)} == {
        f"{group}quorumlooks": read,
        f"{group}planquestions": read,
    }
    assert {name: granted for name, granted in edit.items() if name.startswith(group)} == {
        f"{group}planquestions": {"create", "delete", "deletecollection"}
    }


def test_people_get_the_resource_and_not_its_status() -> None:
    """The aggregated roles let viewers read and editors write our resources; only the operator writes a status."""
    items = rendered("--set", "introspection.enabled=false")
    edit = verbs(only(items, "ClusterRole", "kafka-quorum-operator-edit"))
    kinds = [f"kafkaquorum.io/{kind.resource.plural}" for kind in KINDS]
    assert set(edit) == {f"{kind}{part}" for kind in kinds for part in ("", "/scale")}
    view = verbs(only(items, "ClusterRole", "kafka-quorum-operator-view"))
    assert set(view) == {f"{kind}{part}" for kind in kinds for part in ("", "/scale", "/status")}
    assert all(granted == {"get", "list", "watch"} for granted in view.values())
    without = rendered("--set", "rbac.aggregateToDefaultRoles=false")
    assert not [item for item in without if item["metadata"]["name"].endswith(("-edit", "-view"))]


def test_the_pod_meets_the_restricted_standard() -> None:
    """The pod does not run as root, has no privileges, and can write only to its own /tmp."""
    spec = only(rendered(), "Deployment")["spec"]["template"]["spec"]
    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - the pod's own
    assert [set(volume) for volume in spec["volumes"]] == [{"name", "emptyDir"}]
    assert container["resources"]["limits"]["memory"] == "512Mi"


def test_one_operator_at_a_time() -> None:
    """A single operator ends before the new one starts; with several, one is replaced at a time."""
    spec = only(rendered("--set", "replicas=1"), "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    pair = only(rendered("--set", "replicas=2"), "Deployment")["spec"]
    assert pair["replicas"] == 2
    assert pair["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_every_release_has_a_lease_of_its_own() -> None:
    """The lease has the release's name, in the release's namespace."""
    (container,) = only(rendered(), "Deployment")["spec"]["template"]["spec"]["containers"]
    env = {row["name"]: row for row in container["env"]}
    assert env["KQ_LEASE_NAME"]["value"] == "kafka-quorum-operator"
    assert env["KQ_LEASE_NAMESPACE"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.namespace"


def test_probes_ask_the_operator_alone() -> None:
    """All three probes use the health endpoint of the operator itself."""
    (container,) = only(rendered(), "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["ports"][0] == {"name": "health", "containerPort": 8080}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "health"}


def test_values_reach_the_operator() -> None:
    """Settings become environment variables; the image is chosen by tag, or by digest if one is set."""
    digest = "sha256:" + "0" * 64
    options = [
        "watchNamespaces={a,b}",
        "kafka.imagePullPolicy=Never",
        "logLevel=DEBUG",
        "logFormat=json",
        "image.tag=1.2.3",
        "env[0].name=KQ_EXTRA",
        "env[0].value=x",
    ]
    arguments = [argument for option in options for argument in ("--set", option)]
    template = "example.org/kafka:{version}-jre"
    arguments += ["--set-json", "tickSeconds=2.5"]  # --set would make it a string
    arguments += ["--set-string", r"selector=shard notin (a\,b)\,!old"]
    items = rendered(*arguments, "--set-literal", f"kafka.imageTemplate={template}")
    (container,) = only(items, "Deployment")["spec"]["template"]["spec"]["containers"]
    variables = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert variables == {
        "KQ_IMAGE_TEMPLATE": template,
        "KQ_OPERATOR_IMAGE": "kafka-quorum-operator:1.2.3",  # an agent is copied from it
        "KQ_IMAGE_PULL_POLICY": "Never",
        "KQ_WATCH_NAMESPACES": "a,b",
        "KQ_SELECTOR": "shard notin (a,b),!old",
        "KQ_LOG_LEVEL": "DEBUG",
        "KQ_LOG_FORMAT": "json",
        "KQ_TICK_S": "2.5",
        "KQ_INTROSPECTION": "true",
        "KQ_LEASE_NAME": "kafka-quorum-operator",
        "KQ_LEASE_NAMESPACE": None,  # from the pod's own namespace
        "KQ_EXTRA": "x",
    }
    assert container["image"] == "kafka-quorum-operator:1.2.3"
    pinned = only(rendered("--set", f"image.digest={digest}"), "Deployment")["spec"]["template"]["spec"]
    assert pinned["containers"][0]["image"] == f"kafka-quorum-operator@{digest}"


def test_observations_go_to_a_volume() -> None:
    """The volume is mounted where the operator writes, and its group may write there."""
    items = rendered("--set", "observations.volume.persistentVolumeClaim.claimName=looks", "--set", "replicas=1")
    spec = only(items, "Deployment")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    variables = {entry["name"]: entry.get("value") for entry in container["env"] if "OBSERVATIONS" in entry["name"]}
    assert variables == {
        "KQ_OBSERVATIONS_TARGET": "/observations",
        "KQ_OBSERVATIONS_MAX_MEBIBYTES": "256",
        "KQ_OBSERVATIONS_FILE_S": "300",
    }
    assert {"name": "observations", "mountPath": "/observations"} in container["volumeMounts"]
    assert {"name": "observations", "persistentVolumeClaim": {"claimName": "looks"}} in spec["volumes"]
    assert spec["securityContext"]["fsGroup"] == 10001


def test_a_claim_that_one_node_mounts_is_for_one_operator() -> None:
    """A claim is refused for two operators, unless the values declare that several nodes can mount it."""
    claim = ("--set", "observations.volume.persistentVolumeClaim.claimName=looks")
    said = refusal(*claim)
    assert "observations.volume.persistentVolumeClaim" in said
    assert "replicas" in said
    assert "observations.sharedVolume" in said
    shared = only(rendered(*claim, "--set", "observations.sharedVolume=true"), "Deployment")["spec"]
    assert shared["replicas"] == 2
    assert {"name": "observations", "persistentVolumeClaim": {"claimName": "looks"}} in shared["template"]["spec"][
        "volumes"
    ]
    share = ("--set", "observations.volume.nfs.server=files", "--set", "observations.volume.nfs.path=/looks")
    assert only(rendered(*share), "Deployment")["spec"]["replicas"] == 2


def test_observations_go_to_a_url_and_a_topic() -> None:
    """There is no volume then, and the properties of the client come from a secret."""
    options = [
        "url=s3://bucket/folder",
        "kafka.topic=looks",
        "kafka.bootstrapServers=k:9092",
        "kafka.configSecret=kafka",
    ]
    items = rendered(*(text for option in options for text in ("--set", f"observations.{option}")))
    spec = only(items, "Deployment")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    variables = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert variables["KQ_OBSERVATIONS_TARGET"] == "s3://bucket/folder"
    assert variables["KQ_OBSERVATIONS_KAFKA_TOPIC"] == "looks"
    assert variables["KQ_OBSERVATIONS_KAFKA_BOOTSTRAP"] == "k:9092"
    assert variables["KQ_OBSERVATIONS_KAFKA_CONFIG"] == "/etc/kafka-quorum/client.properties"
    assert {"name": "kafka-client", "mountPath": "/etc/kafka-quorum", "readOnly": True} in container["volumeMounts"]
    assert {"name": "kafka-client", "secret": {"secretName": "kafka"}} in spec["volumes"]
    assert "fsGroup" not in spec["securityContext"]


def test_the_definitions_follow_upgrades_and_survive_an_uninstall() -> None:
    """Each definition is a template of the release, which helm upgrades, with helm's mark to keep it."""
    kept, loose = rendered(), rendered("--set", "crds.keep=false")
    for kind in DEFINED:
        item = only(kept, "CustomResourceDefinition", kind.name)
        assert item["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
        assert item["spec"] == definition.crd(kind)["spec"]
        assert "annotations" not in only(loose, "CustomResourceDefinition", kind.name)["metadata"]
    without = rendered("--set", "crds.install=false")
    assert "CustomResourceDefinition" not in {item["kind"] for item in without}


MONITORING = ("--api-versions", "monitoring.coreos.com/v1/PodMonitor")
"""A cluster that has the definition of a PodMonitor."""


_OPERATOR: Final = "kafka-quorum-operator"
"""The name of the release, and of what belongs to the operator itself."""


def _named(items: list[Json]) -> set[tuple[str, str]]:
    """The kind and the name of each object."""
    return {(item["kind"], item["metadata"]["name"]) for item in items}


def test_metrics_have_a_port_and_a_service() -> None:
    """The operator's pods have the port of its metrics, and a Service has the address of each pod."""
    items = rendered()
    (container,) = only(items, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == {
        "health": Settings().probe_port,
        "metrics": Settings().metrics_port,
    }
    service = only(items, "Service", "kafka-quorum-operator-metrics")["spec"]
    assert (service["clusterIP"], service["ports"][0]["targetPort"]) == ("None", "metrics")
    assert service["selector"].items() <= only(items, "Deployment")["spec"]["template"]["metadata"]["labels"].items()
    without = rendered("--set", "metrics.enabled=false", *MONITORING)
    (container,) = only(without, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert [port["name"] for port in container["ports"]] == ["health"]
    assert {"name": "KQ_METRICS_PORT", "value": "0"} in container["env"]
    assert not {("PodMonitor", _OPERATOR), ("Service", f"{_OPERATOR}-metrics")} & _named(without)


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ((), False),
        (MONITORING, True),
        (("--set", "metrics.podMonitor.enabled=true"), True),
        ((*MONITORING, "--set", "metrics.podMonitor.enabled=false"), False),
    ],
)
def test_a_pod_monitor_is_made_where_it_is_defined(options: tuple[str, ...], *, made: bool) -> None:
    """A PodMonitor is made if its definition exists, or as the values say; it keeps the quorum's own namespace."""
    items = rendered(*options, "--set", "metrics.podMonitor.labels.release=prometheus,metrics.podMonitor.interval=15s")
    assert (("PodMonitor", _OPERATOR) in _named(items)) is made
    if made:
        monitor = only(items, "PodMonitor", _OPERATOR)
        assert monitor["metadata"]["labels"]["release"] == "prometheus"
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        assert (endpoint["port"], endpoint["honorLabels"], endpoint["interval"]) == ("metrics", True, "15s")
        labels = only(items, "Deployment")["spec"]["template"]["metadata"]["labels"]
        assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_the_pod_is_placed_as_the_values_say() -> None:
    """Selectors, tolerations, affinity, priority, pull secrets and annotations are in the pod."""
    options = {
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
        "imagePullSecrets": [{"name": "pull"}],
    }
    arguments = [text for key, value in options.items() for text in ("--set-json", f"{key}={json.dumps(value)}")]
    pod = only(rendered(*arguments), "Deployment")["spec"]["template"]["spec"]
    assert {key: pod[key] for key in options} == options


def test_two_operators_run_apart() -> None:
    """By default there are two operators, on two nodes if possible, and a drain evicts one at a time."""
    items = rendered()
    deployment = only(items, "Deployment")["spec"]
    assert deployment["replicas"] == 2
    assert deployment["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    pod = deployment["template"]
    terms = pod["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [term["podAffinityTerm"]["topologyKey"] for term in terms] == [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    ]
    budget = only(items, "PodDisruptionBudget")["spec"]
    assert budget["maxUnavailable"] == 1
    for selector in (budget["selector"], *(term["podAffinityTerm"]["labelSelector"] for term in terms)):
        assert selector["matchLabels"].items() <= pod["metadata"]["labels"].items()


def test_the_documented_times_of_a_takeover_are_the_operators() -> None:
    """The documented times of a takeover follow from the operator's grace and retry times."""
    longest_s = handlers.GRACE_S + lease.RETRY_S
    values = " ".join((render.CHART / "values.yaml").read_text().replace("#", "").split())
    assert f"within {longest_s:.0f} seconds of a clean stop (mostly {lease.RETRY_S:.0f})" in values
    text = (render.ROOT / "docs" / "install.md").read_text()
    (row,) = [line for line in text.splitlines() if line.startswith("| a clean stop")]
    assert f"| {lease.RETRY_S:.0f} seconds at most if no pass is under way, else {longest_s:.0f}:" in row


def test_one_operator_has_no_budget() -> None:
    """A single operator has no disruption budget, because it would block every drain, or protect nothing."""
    assert "PodDisruptionBudget" not in {item["kind"] for item in rendered("--set", "replicas=1")}


def test_the_plain_manifests_are_the_charts() -> None:
    """`helm/install.yaml` is the rendered chart with a namespace, and without anything that only helm reads."""
    text = render.TARGET.read_text()
    assert text == render.manifests()
    items = [item for item in yaml.safe_load_all(text) if item]
    assert items[0]["kind"] == "Namespace"
    assert items[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert "helm.sh/" not in text
    kinds = {(item["kind"], item["metadata"]["name"]) for item in rendered()}
    assert {(item["kind"], item["metadata"]["name"]) for item in items[1:]} == kinds


def test_values_of_an_earlier_release_render(tmp_path: Path) -> None:
    """With `helm upgrade --reuse-values` from 0.1.0, values that did not exist are off, as by default."""
    chart = shutil.copytree(render.CHART, tmp_path / render.CHART.name)
    shutil.copy(Path(__file__).parent / "values-0.1.0.yaml", chart / "values.yaml")
    command = [
        render.helm(),
        "template",
        render.RELEASE,
        str(chart),
        "-n",
        render.NAMESPACE,
        "--kube-version",
        "1.34.0",
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    kept = [item for item in yaml.safe_load_all(text) if item]
    new = rendered("--set", "replicas=1")  # the default of 0.1.0
    assert {(item["kind"], item["metadata"]["name"]) for item in kept} == {
        (item["kind"], item["metadata"]["name"]) for item in new
    }
    assert only(kept, "Deployment") == only(new, "Deployment")


def test_the_documented_values_render(tmp_path: Path) -> None:
    """Each file of values in docs/install.md, and each helm command there and in docs/history.md, works."""
    text = (render.ROOT / "docs" / "install.md").read_text()
    (trust,) = re.findall(r"^```yaml\n(# trust\.yaml.*?)^```", text, re.MULTILINE | re.DOTALL)
    path = tmp_path / "trust.yaml"
    path.write_text(trust)
    items = rendered("--values", str(path))
    policy = only(items, "NetworkPolicy", "kafka-quorum-operator-controllers")
    assert policy["metadata"]["namespace"] == "kafka"
    peers = yaml.safe_load(trust)["controllerNetworkPolicy"]["from"]
    assert peers == policy["spec"]["ingress"][0]["from"][-len(peers) :]
    assert only(items, "ValidatingAdmissionPolicy")
    for page in ("install.md", "history.md"):
        words = (render.ROOT / "docs" / page).read_text().replace("\\\n", " ")
        for options in re.findall(r"helm upgrade.*?((?: --set \S+)+)", words):
            assert only(rendered(*options.split()), "Deployment")


def test_the_documents_name_every_value() -> None:
    """docs/install.md names every value."""
    text = (render.ROOT / "docs" / "install.md").read_text()
    values = yaml.safe_load((render.CHART / "values.yaml").read_text())
    assert [name for name in values if f"`{name}" not in text] == []


def test_the_documented_sed_sets_the_image() -> None:
    """The documented sed replaces the image of the operator's pod, and of the pods that it makes from its own image."""
    pattern = '"kafka-quorum-operator:'
    lines = [line.strip() for line in render.TARGET.read_text().splitlines() if pattern in line]
    assert [line.partition(pattern)[0] for line in lines] == ["image: ", "value: "]
    assert f"sed 's|{pattern}|" in (render.ROOT / "docs" / "install.md").read_text()


def test_exceptions_from_the_pod_policy_reach_the_operator() -> None:
    """There is no exception by default; listed ones are one variable, and an unknown one is refused by name."""
    options = ("--set", "podPolicy.allow={serviceAccounts,root}")
    (container,) = only(rendered(*options), "Deployment")["spec"]["template"]["spec"]["containers"]
    values = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert values["KQ_POD_POLICY_ALLOW"] == "serviceAccounts,root"
    (plain,) = only(rendered(), "Deployment")["spec"]["template"]["spec"]["containers"]
    assert "KQ_POD_POLICY_ALLOW" not in {entry["name"] for entry in plain["env"]}
    assert "allow" in refusal("--set", "podPolicy.allow={everything}")


def test_the_chart_knows_the_operators_exceptions() -> None:
    """The schema of the values lists the operator's exceptions, and the documents name each."""
    schema = json.loads((render.CHART / "values.schema.json").read_text())
    assert schema["properties"]["podPolicy"]["properties"]["allow"]["items"]["enum"] == sorted(PodException)
    for text in ((render.CHART / "values.yaml").read_text(), (render.ROOT / "docs" / "install.md").read_text()):
        assert [name for name in PodException if name not in text] == []


def test_an_admission_policy_for_the_operators_account() -> None:
    """It is off by default; with it, every kind that the operator may write is judged, only for its account.

    A policy of its own judges what it adopts.
    """
    items = rendered("--set", "admissionPolicy.enabled=true")
    policy = only(items, "ValidatingAdmissionPolicy")["spec"]
    adoption = only(items, "ValidatingAdmissionPolicy", "kafka-quorum-operator-adoption")["spec"]
    judged = {
        f"{group}/{resource}"
        for spec in (policy, adoption)
        for rule in spec["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    written = {resource for resource, may in QUORUM_RULES.items() if may & {"create", "update", "patch", "delete"}}
    statuses = {resource for resource in written if resource.startswith("kafkaquorum.io/")}
    assert judged == written - statuses - {"/events"}
    account = f"system:serviceaccount:{render.NAMESPACE}:kafka-quorum-operator"
    for name, spec in (("kafka-quorum-operator", policy), ("kafka-quorum-operator-adoption", adoption)):
        assert account in spec["matchConditions"][0]["expression"]
        assert only(items, "ValidatingAdmissionPolicyBinding", name)["spec"]["validationActions"] == ["Deny"]
    assert not {item["kind"] for item in rendered()} & {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
