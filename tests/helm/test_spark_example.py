"""The example for Spark's operator: it has the shape of a SparkApplication v1beta2, and its command exists.

The fields are those of `api/v1beta2/sparkapplication_types.go` of kubeflow/spark-operator, as far as they are used.
"""

import re
import tomllib
from typing import Any

import yaml
from tests.helm.test_history import CLAIMS, NAME, run_of

from helm import render
from quorum_history import commands
from testbed.config import SPARK_OPERATOR_VERSION

Json = dict[str, Any]
EXAMPLE = render.ROOT / "e2e" / "examples" / "history-spark.yaml"
APPLICATION: dict[str, type] = {
    "type": str, "sparkVersion": str, "mode": str, "image": str, "imagePullPolicy": str, "mainApplicationFile": str,
    "arguments": list, "volumes": list, "driver": dict, "executor": dict, "restartPolicy": dict, "pythonVersion": str,
    "sparkConf": dict, "timeToLiveSeconds": int,
}  # fmt: skip
POD: dict[str, type] = {
    "cores": int, "memory": str, "memoryOverhead": str, "serviceAccount": str, "podSecurityContext": dict,
    "securityContext": dict, "volumeMounts": list,
}  # fmt: skip
REQUIRED = {"type", "sparkVersion", "mainApplicationFile", "driver", "executor"}


def shaped(value: Json, fields: dict[str, type]) -> list[str]:
    """The fields that do not exist, or have another type."""
    return [name for name, content in value.items() if name not in fields or type(content) is not fields[name]]


def example() -> Json:
    """The SparkApplication."""
    found: Json = yaml.safe_load(EXAMPLE.read_text())
    return found


def test_it_has_the_shape_of_a_spark_application() -> None:
    """Every field is in the definition, with its type; the required ones are there."""
    item = example()
    assert (item["apiVersion"], item["kind"]) == ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
    spec = item["spec"]
    assert shaped(spec, APPLICATION) == []
    assert set(spec) >= REQUIRED
    assert (spec["type"], spec["mode"], spec["pythonVersion"]) == ("Python", "cluster", "3")
    assert spec["restartPolicy"] == {"type": "Never"}
    assert shaped(spec["driver"], POD) == []
    assert shaped(spec["executor"], POD | {"instances": int}) == []
    for each in (spec["driver"], spec["executor"]):
        assert re.fullmatch(r"\d+[mg]", each["memory"])
        assert {mount["name"] for mount in each["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}


def test_a_misplaced_field_is_noticed() -> None:
    """The check of the shape can fail."""
    assert shaped({"serviceAccountName": "x", "cores": "1"}, POD) == ["serviceAccountName", "cores"]


def test_it_runs_what_the_cron_job_runs() -> None:
    """The example has the command and places of the CronJob, and an account for its executors."""
    spec = example()["spec"]
    chosen = commands._parser().parse_args(spec["arguments"])
    _, container = run_of(CLAIMS, {"history.logs.volume.nfs.server": "x"})
    assert vars(chosen).keys() == vars(commands._parser().parse_args(container["args"])).keys()
    assert spec["arguments"] == container["args"]
    assert spec["driver"]["serviceAccount"]
    assert all(each["securityContext"] == container["securityContext"] for each in (spec["driver"], spec["executor"]))


def test_its_file_and_versions_are_the_images() -> None:
    """The file is where Dockerfile.history puts it, and Spark's version is the locked one."""
    spec = example()["spec"]
    inside = spec["mainApplicationFile"].removeprefix("local://")
    dockerfile = (render.ROOT / "Dockerfile.history").read_text()
    folder, _, file = inside.rpartition("/")
    assert f"COPY operator/quorum_history {folder}\n" in dockerfile
    assert (render.ROOT / "operator" / "quorum_history" / file).is_file()
    assert f"pyspark=={spec['sparkVersion']} " in (render.ROOT / "requirements-history.lock").read_text()
    version = tomllib.loads((render.ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert spec["image"] == f"REGISTRY/kafka-quorum-history:{version}"


def test_the_page_installs_what_the_example_needs() -> None:
    """The commands of docs/history.md name the example's objects, and the version of the operator in the test-bed."""
    item = example()
    name, namespace = item["metadata"]["name"], item["metadata"]["namespace"]
    page = (render.ROOT / "docs" / "history.md").read_text()
    block = page.partition("### On executors of its own\n")[2].partition("```sh\n")[2].partition("```")[0]
    install = re.search(r"helm install (\S+) \S+ --version (\S+) ", block)
    assert install
    assert item["spec"]["driver"]["serviceAccount"] == f"{install[1]}-spark"
    assert f"v{install[2]}" == SPARK_OPERATOR_VERSION
    assert f"spark.jobNamespaces={{{namespace}}}" in block
    assert f"sed 's|REGISTRY|registry.example.com|' {EXAMPLE.relative_to(render.ROOT)} | kubectl apply" in block
    for named in (f"cronjob {NAME} ", f"wait sparkapplication/{name} ", f"logs {name}-driver\n"):
        assert named in block
    assert set(re.findall(r"kubectl -n (\S+) ", block)) == {namespace}
