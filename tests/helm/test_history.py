"""The chart's history: off by default, refused if it cannot work, and the rights and commands of its pods."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from tests.helm.test_chart import only, refusal, rendered

from helm import render
from quorum_history import commands

Json = dict[str, Any]
NAME = "kafka-quorum-operator-history"
CLAIMS = {
    "history.enabled": "true",
    "history.volume.persistentVolumeClaim.claimName": "history",
    "observations.volume.persistentVolumeClaim.claimName": "observations",
    "replicas": "1",
}
URLS = {
    "history.enabled": "true",
    "history.volume.persistentVolumeClaim.claimName": "history",
    "observations.url": "s3://bucket/looks",
}
OPERATOR = {"app.kubernetes.io/name": "kafka-quorum-operator", "app.kubernetes.io/instance": "kafka-quorum-operator"}
CLAIM = "kafkaquorum.io/observations-claim"
SECURE = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def options(*values: Mapping[str, str]) -> tuple[str, ...]:
    """Values as helm options; later ones replace earlier ones."""
    merged = {key: text for some in values for key, text in some.items()}
    return tuple(word for key, text in merged.items() for word in ("--set", f"{key}={text}"))


def pod(item: Json) -> Json:
    """The pod of a CronJob or a Deployment."""
    spec: Json = item["spec"].get("jobTemplate", item)["spec"]["template"]["spec"]
    return spec


def run_of(*values: Mapping[str, str]) -> tuple[Json, Json]:
    """The pod of a run, and its container."""
    spec = pod(only(rendered(*options(*values)), "CronJob", NAME))
    (container,) = spec["containers"]
    return spec, container


def test_it_is_off_by_default() -> None:
    """By default there is no CronJob, and so no image of Spark."""
    assert "CronJob" not in {item["kind"] for item in rendered()}


def test_a_run_reads_the_operators_observations_and_writes_a_page() -> None:
    """The operator's volume is mounted read-only, and the command is valid for quorum-history."""
    spec, container = run_of(CLAIMS)
    chosen = commands._parser().parse_args(container["args"])
    assert chosen.run is commands._refresh
    assert (chosen.observations, chosen.logs, chosen.target.place) == ("/observations", None, "/history/tables")
    assert (chosen.output, chosen.pages, chosen.keep_days) == ("/history/page", False, None)
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert mounts["observations"] == {"name": "observations", "mountPath": "/observations", "readOnly": True}
    assert mounts["history"] == {"name": "history", "mountPath": "/history"}
    assert set(mounts) == {"tmp", "history", "observations"}
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert volumes["observations"]["persistentVolumeClaim"] == {"claimName": "observations"}
    operator = pod(only(rendered(*options(CLAIMS)), "Deployment"))
    assert volumes["observations"] in operator["volumes"]


def test_every_value_reaches_the_run() -> None:
    """Logs, URLs, credentials, time-outs, resources and the image reach the run."""
    more = {
        "history.url": "file:///shared/tables",  # no store that would be asked
        "history.logs.volume.nfs.server": "files",
        "history.logs.volume.nfs.path": "/backups",
        "history.logs.paths": "/logs/*/kafka\\,s3://bucket/logs",
        "history.credentialsSecret": "keys",
        "history.pages": "true",
        "history.keepDays": "90",
        "history.deadlineSeconds": "900",
        "history.schedule": "*/15 2-4 * * MON\\,TUE",
        "history.image.tag": "1.2.3",
        "history.scratchSize": "9Gi",
        "history.resources.limits.cpu": "7500m",
        "history.serviceAccountName": "reader",
        "history.env[0].name": "PYSPARK_SUBMIT_ARGS",
        "history.env[0].value": "x",
    }
    spec, container = run_of(URLS, more)
    chosen = commands._parser().parse_args(container["args"])
    assert (chosen.observations, chosen.logs) == ("s3://bucket/looks", "/logs/*/kafka,s3://bucket/logs")
    assert (chosen.target.place, chosen.pages, chosen.keep_days) == ("file:///shared/tables", True, 90)
    assert container["envFrom"] == [{"secretRef": {"name": "keys"}}]
    assert container["env"] == [{"name": "PYSPARK_SUBMIT_ARGS", "value": "x"}]
    assert container["image"] == "kafka-quorum-history:1.2.3"
    assert container["resources"]["limits"] == {"cpu": "7500m", "memory": "3Gi"}
    assert {"name": "logs", "mountPath": "/logs", "readOnly": True} in container["volumeMounts"]
    assert {"name": "tmp", "emptyDir": {"sizeLimit": "9Gi"}} in spec["volumes"]
    assert spec["serviceAccountName"] == "reader"
    job = only(rendered(*options(URLS, more)), "CronJob", NAME)["spec"]
    assert (job["schedule"], job["timeZone"]) == ("*/15 2-4 * * MON,TUE", "UTC")
    assert job["jobTemplate"]["spec"]["activeDeadlineSeconds"] == 900


def test_logs_alone_are_enough() -> None:
    """Without observations there is no volume for them; without paths, the whole volume of logs is read."""
    spec, container = run_of({**URLS, "observations.url": ""}, {"history.logs.volume.nfs.server": "files"})
    chosen = commands._parser().parse_args(container["args"])
    assert (chosen.observations, chosen.logs) == (None, "/logs")
    assert {volume["name"] for volume in spec["volumes"]} == {"tmp", "history", "logs"}
    assert "affinity" not in spec


def test_one_run_at_a_time_and_no_idle_repetition() -> None:
    """Runs never overlap; a run that is done, or would fail again in the same way, is not repeated."""
    job = only(rendered(*options(CLAIMS)), "CronJob", NAME)["spec"]
    assert job["concurrencyPolicy"] == "Forbid"
    spec = job["jobTemplate"]["spec"]
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    ignored, failed = spec["podFailurePolicy"]["rules"]
    assert ignored == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    (container,) = spec["template"]["spec"]["containers"]
    codes = {"containerName": container["name"], "operator": "In", "values": [commands.MISUSED, commands.DAMAGED]}
    assert failed == {"action": "FailJob", "onExitCodes": codes}


def test_its_pods_meet_the_restricted_standard() -> None:
    """The pods do not run as root, can write only to their volumes, and have no token."""
    items = rendered(*options(CLAIMS, {"history.server": "true"}))
    for kind in ("CronJob", "Deployment"):
        spec = pod(only(items, kind, NAME))
        (container,) = spec["containers"]
        assert container["securityContext"] == SECURE
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["securityContext"]["fsGroup"] == 10001
        assert spec["automountServiceAccountToken"] is False


def test_its_pods_are_not_taken_for_operators() -> None:
    """The operator's Deployment, disruption budget and network policies select only operators."""
    values = (CLAIMS, {"history.server": "true", "networkPolicy.enabled": "true"})
    items = rendered(*options(*values, {"replicas": "2", "observations.sharedVolume": "true"}))
    policies = ("controllerNetworkPolicy.enabled=true", "controllerNetworkPolicy.namespaces={kafka}")
    items += rendered(*options(*values), *(word for value in policies for word in ("--set", value)))
    templates = [
        item["spec"].get("jobTemplate", item)["spec"]["template"]
        for item in items
        if item["kind"] in {"CronJob", "Deployment"} and item["metadata"]["name"] == NAME
    ]
    assert len(templates) == 4
    selectors = re.findall(r"'matchLabels': (\{[^}]*\})", str([item for item in items if item["kind"] != "CronJob"]))
    operators = [yaml.safe_load(text) for text in selectors if "history" not in text and "kubernetes.io/name" in text]
    assert len(operators) > 4
    for template in templates:
        labels = template["metadata"]["labels"]
        assert [each for each in operators if each.items() <= labels.items() and "app.kubernetes.io/name" in each] == []


def test_the_server_is_reached_by_port_forward_alone() -> None:
    """The server listens in its own pod, serves the page read-only, and a network policy admits no client."""
    plain = rendered(*options(CLAIMS))
    assert [item["metadata"]["name"] for item in plain if item["kind"] == "Deployment"] == ["kafka-quorum-operator"]
    items = rendered(*options(CLAIMS, {"history.server": "true", "networkPolicy.enabled": "true"}))
    deployment = only(items, "Deployment", NAME)
    (container,) = pod(deployment)["containers"]
    _, run = run_of(CLAIMS)
    assert container["image"] == run["image"]
    command = container["command"]
    assert command[:3] == ["python", "-m", "http.server"]
    assert command[command.index("--bind") + 1] == "127.0.0.1"
    assert command[command.index("--directory") + 1] == run["args"][run["args"].index("--output") + 1]
    assert container["volumeMounts"] == [{"name": "history", "mountPath": "/history", "readOnly": True}]
    policy = only(items, "NetworkPolicy", NAME)["spec"]
    assert (policy["policyTypes"], policy.get("ingress")) == (["Ingress"], None)
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize(
    ("values", "run", "server"),
    [
        ({}, "operator", "operator"),
        ({"history.sharedVolume": "true"}, "operator", None),
        ({"observations.sharedVolume": "true"}, "server", None),
        ({"observations.sharedVolume": "true", "history.sharedVolume": "true"}, None, None),
    ],
)
def test_pods_that_share_a_volume_of_one_node_are_on_one_node(
    values: Mapping[str, str], run: str | None, server: str | None
) -> None:
    """Runs are placed where the operator mounts the observations, otherwise where the server mounts the page."""
    items = rendered(*options(CLAIMS, {"history.server": "true"}, values))
    labels = only(items, "Deployment", NAME)["spec"]["template"]["metadata"]["labels"]
    operators = only(items, "Deployment")["spec"]["template"]["metadata"]["labels"]
    claim = {key: value for key, value in operators.items() if key == CLAIM}
    wanted = {"operator": OPERATOR | claim, "server": labels, None: None}
    assert bool(claim) == ("operator" in {run, server})
    for kind, place in (("CronJob", run), ("Deployment", server)):
        rules = pod(only(items, kind, NAME)).get("affinity", {}).get("podAffinity", {})
        terms = rules.get("requiredDuringSchedulingIgnoredDuringExecution", [{"labelSelector": {"matchLabels": None}}])
        assert [term["labelSelector"]["matchLabels"] for term in terms] == [wanted[place]]
    assert labels["app.kubernetes.io/component"] != pod_labels(items)["app.kubernetes.io/component"]


def test_runs_go_to_the_operator_that_has_the_claim() -> None:
    """An operator from before an upgrade, without the claim or with another one, does not match."""

    def label(*values: Mapping[str, str]) -> str | None:
        found: str | None = only(rendered(*options(*values)), "Deployment")["spec"]["template"]["metadata"][
            "labels"
        ].get(CLAIM)
        return found

    other = {"observations.volume.persistentVolumeClaim.claimName": "other"}
    assert label(CLAIMS) is not None
    assert label(CLAIMS, other) not in {None, label(CLAIMS)}
    assert label({**CLAIMS, "history.enabled": "false"}) is None
    assert label(URLS) is None
    selector = only(rendered(*options(CLAIMS)), "Deployment")["spec"]["selector"]["matchLabels"]
    assert selector == OPERATOR, "or the Deployment could not be upgraded"


def pod_labels(items: list[Json]) -> Json:
    """The labels of a run's pod."""
    labels: Json = only(items, "CronJob", NAME)["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
    return labels


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"observations.url": ""}, "observations.url"),
        (
            {"history.volume.emptyDir.medium": "Memory"},
            "history.volume.emptyDir",
        ),
        (
            {"observations.url": "", "observations.volume.ephemeral.x": "y"},
            "observations.volume.ephemeral",
        ),
        (
            {"observations.url": "", "observations.volume.persistentVolumeClaim.claimName": "history", "replicas": "1"},
            "observations.volume",
        ),
        ({"history.logs.paths": "/backups"}, "/backups"),
        ({"history.logs.paths": "/logs/a"}, "/logs/a"),
        ({"history.logs.paths": "/backups", "history.logs.volume.nfs.server": "x"}, "/logs"),
        ({"history.schedule": "every hour"}, "schedule"),
        ({"history.schedule": "* * * *"}, "schedule"),
        ({"history.deadlineSeconds": "5"}, "deadlineSeconds"),
        ({"history.url": "/tables"}, "url"),
        ({"history.keepDays": "-1"}, "keepDays"),
        ({"history.credentialsSecret": "No Secret"}, "credentialsSecret"),
        ({"history.scratchSize": "large"}, "scratchSize"),
        ({"history.image.digest": "latest"}, "digest"),
        ({"history.targets": "x"}, "targets"),
        ({"history.enabled": "yes"}, "enabled"),
    ],
)
def test_values_that_cannot_work_are_refused(values: Mapping[str, str], said: str) -> None:
    """Values that cannot work are refused with their name."""
    assert said in refusal(*options(URLS, values))


def test_a_missing_volume_is_named() -> None:
    """A missing volume for the page is named."""
    said = refusal("--set", "history.enabled=true", "--set", "observations.url=s3://bucket/looks")
    assert "history.volume.persistentVolumeClaim.claimName=" in said


def test_names_stay_within_what_a_cron_job_may_have() -> None:
    """A name has at most 52 characters, because Kubernetes adds eleven for a job's name."""
    items = rendered(*options(CLAIMS, {"fullnameOverride": "x" * 63, "nameOverride": "y" * 63}))
    (job,) = [item for item in items if item["kind"] == "CronJob"]
    assert len(job["metadata"]["name"]) <= 52
    assert all(len(value) <= 63 for value in pod_labels([job | {"metadata": {"name": NAME}}]).values())


def test_the_documented_commands_work_together() -> None:
    """The values in docs/history.md render, and claims, CronJob and Deployment have the names used there."""
    text = (render.ROOT / "docs" / "history.md").read_text()
    (block,) = re.findall(r"^```sh\n(docker build -f Dockerfile\.history.*?)^```", text, re.MULTILINE | re.DOTALL)
    words = block.replace("\\\n", " ").split()
    values = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
    items = rendered(*(word for value in values for word in ("--set", value)))
    used = {word for word in words if word.startswith(("--from=cronjob/", "deployment/"))}
    assert used == {f"--from=cronjob/{NAME}", f"deployment/{NAME}"}
    only(items, "Deployment", NAME)
    claims = list(yaml.safe_load_all((render.ROOT / "e2e" / "examples" / "history-claims.yaml").read_text()))
    volumes = pod(only(items, "CronJob", NAME))["volumes"]
    mounted = {volume["persistentVolumeClaim"]["claimName"] for volume in volumes if "emptyDir" not in volume}
    assert mounted == {claim["metadata"]["name"] for claim in claims}
    (container,) = pod(only(items, "Deployment", NAME))["containers"]
    assert (container["command"][-1], words[-1]) == ("8080", "8080")
    version = yaml.safe_load((render.CHART / "Chart.yaml").read_text())["appVersion"]
    assert container["image"] == f"REGISTRY/kafka-quorum-history:{version}"
    assert f"-t {container['image']} ." in block


def test_the_schema_has_each_value_and_no_other() -> None:
    """The schema has exactly the values below `history`, and docs/install.md names each."""
    values = yaml.safe_load((render.CHART / "values.yaml").read_text())["history"]
    schema = yaml.safe_load((render.CHART / "values.schema.json").read_text())["properties"]["history"]
    assert set(values) == set(schema["properties"])
    text = (render.ROOT / "docs" / "install.md").read_text()
    assert [name for name in values if f"`history.{name}" not in text and f"`.{name}" not in text] == []
