"""The example for the operator of Spark: applied as in docs/history.md, run to its end on pods, with its results."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from pyarrow import parquet

from demo import NAMESPACE
from harness.history import WHERE, fetched, forwarded
from harness.nodes import volume_of
from harness.quorum import Quorum
from harness.shell import Json, get, kubectl, run, succeed, wait_until
from testbed.config import PROJECT, SOURCE

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(3600)]

EXAMPLE = PROJECT / "e2e" / "examples" / "history-spark.yaml"
PAGE = PROJECT / "docs" / "history.md"
HEADING = "### On executors of its own\n"
PUBLISHED = "spark-operator/spark-operator"
RELEASE = "spark-operator"
DEFINITION = "sparkapplications.sparkoperator.k8s.io"
EXECUTORS = 2
"""The number in the example."""
RESTRICTED = "pod-security.kubernetes.io/enforce"
_BUILD_TIMEOUT_S = 3000.0
_RUN_TIMEOUT_S = 900.0
_VOLUME_TIMEOUT_S = 60.0
_SERVER_TIMEOUT_S = 60.0


def documented(beginning: str) -> list[str]:
    """The one command in docs/history.md about applications with this beginning, as words."""
    block = PAGE.read_text().partition(HEADING)[2].partition("```sh\n")[2].partition("```")[0]
    (line,) = (line for line in block.replace("\\\n", " ").splitlines() if line.startswith(beginning))
    return shlex.split(line)


@pytest.fixture(scope="session")
def spark_operator() -> Iterator[None]:
    """The operator of Spark with its own chart, installed as in docs/history.md, except for the image."""
    image, chart = succeed(sys.executable, str(SOURCE), "spark-operator", timeout_s=_BUILD_TIMEOUT_S).split()
    install = [chart if word == PUBLISHED else word for word in documented("helm install")]
    repository, _, tag = image.rpartition(":")
    its_image = f"image.registry=docker.io,image.repository={repository},image.tag={tag}"
    run("helm", "uninstall", RELEASE, "--namespace", RELEASE, "--wait")  # left by a run that was killed
    succeed(*install, "--set", its_image, timeout_s=360)
    yield
    run("helm", "uninstall", RELEASE, "--namespace", RELEASE, "--wait", "--timeout", "2m", timeout_s=150)
    run("kubectl", "delete", "namespace", RELEASE, "--wait=false")
    run("kubectl", "delete", "-f", f"{chart}/crds", "--wait=false")


@pytest.fixture
def restricted() -> Iterator[None]:
    """The namespace of the history refuses pods that are not restricted."""
    kubectl("label", "--overwrite", "namespace", NAMESPACE, f"{RESTRICTED}=restricted")
    yield
    kubectl("label", "namespace", NAMESPACE, f"{RESTRICTED}-")


@pytest.fixture
def logged(observed: Quorum) -> Iterator[Quorum]:
    """The quorum, with copies of its controllers' logs on the claim of the observations."""
    node, _ = volume_of(NAMESPACE, "observations")
    body = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        # Local volumes are on one node: all pods of the application must run there.
        "metadata": {"name": "logs", "annotations": {"volume.kubernetes.io/selected-node": node}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    kubectl(*WHERE, "apply", "-f", "-", stdin=json.dumps(body))
    try:
        wait_until("the claim logs has a volume", lambda: _bound("logs"), _VOLUME_TIMEOUT_S, 1.0)
        place = volume_of(NAMESPACE, "logs")
        for claim in observed.claims():
            _copy(volume_of(observed.namespace, claim), place, claim)
        yield observed
    finally:
        run("kubectl", *WHERE, "delete", "pvc", "logs", "--timeout=2m", timeout_s=150)


def _bound(claim: str) -> bool:
    found: Json = get(NAMESPACE, "pvc", claim)
    return "volumeName" in found.get("spec", {})


def _copy(source: tuple[str, str], target: tuple[str, str], name: str) -> None:
    """Copy the log directory of a controller into a folder of another node's volume, readable for all."""
    folder = shlex.quote(f"{target[1]}/{name}")
    unpack = f"mkdir -p {folder} && tar -C {folder} -x && chmod -R a+rX {folder}"
    pack = f"tar -C {shlex.quote(f'{source[1]}/kraft')} -c . || test $? = 1"  # 1: a file has changed meanwhile
    both = (("docker", "exec", source[0], "sh", "-c", pack), ("docker", "exec", "-i", target[0], "sh", "-c", unpack))
    succeed("bash", "-o", "pipefail", "-c", " | ".join(map(shlex.join, both)))


def application(image: str) -> Json:
    """The example with this image, and with the number of cores of the test-bed's nodes."""
    found: Json = yaml.safe_load(EXAMPLE.read_text())
    found["spec"]["image"] = image
    for role in ("driver", "executor"):
        found["spec"][role]["coreRequest"] = "100m"
    return found


@pytest.fixture
def applied(
    spark_operator: None,  # noqa: ARG001 - an order, not a value
    restricted: None,  # noqa: ARG001 - an order, not a value
    logged: Quorum,  # noqa: ARG001 - an order, not a value
    history_image: str,
) -> Iterator[Callable[[], Json]]:
    """Apply the example; the returned function reads its state."""
    body = application(history_image)
    name = body["metadata"]["name"]
    succeed(*documented(f"kubectl -n {NAMESPACE} patch"))
    kubectl("apply", "-f", "-", stdin=json.dumps(body))
    yield lambda: get(NAMESPACE, DEFINITION, name)
    run("kubectl", *WHERE, "delete", DEFINITION, name, "--timeout=60s")


def completed(ask: Callable[[], Json]) -> Json:
    """Wait until the application is COMPLETED; its status. A failed one is reported with its pods' logs."""

    def ended() -> Json | None:
        status: Json = ask().get("status", {})
        state = status.get("applicationState", {})
        assert "FAILED" not in state.get("state", ""), state.get("errorMessage")
        return status if state.get("state") == "COMPLETED" else None

    try:
        return wait_until("the SparkApplication is COMPLETED", ended, _RUN_TIMEOUT_S, 2.0)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{said()}") from error


def said() -> str:
    """The driver's log, and the pods."""
    _, pods, _ = run("kubectl", *WHERE, "describe", "pods", "-l", "spark-role")
    return f"{driver_log()}\n{pods}"


def driver_log() -> str:
    """The driver's log."""
    _, output, errors = run(*documented(f"kubectl -n {NAMESPACE} logs"))
    return output or errors


def rows(folder: Path, table: str) -> list[Json]:
    """The rows of a table, read without Spark."""
    found: list[Json] = parquet.read_table(folder / table).to_pylist()
    return found


def test_the_example_runs_on_executors_of_its_own(applied: Callable[[], Json], logged: Quorum, tmp_path: Path) -> None:
    """It is COMPLETED with two executors; its tables have the logs' voters and the looks, its page names the quorum."""
    status = completed(applied)
    succeed(*documented(f"kubectl -n {NAMESPACE} wait"))
    assert len(status["executorState"]) == EXECUTORS
    told = driver_log()
    assert "clusters: 1" in told, told

    node, path = volume_of(NAMESPACE, "history")
    succeed("docker", "cp", f"{node}:{path}/tables", str(tmp_path))
    voters = max(rows(tmp_path / "tables", "voter_sets"), key=lambda row: int(row["at_offset"]))["voters"]
    assert {f"{row['node_id']}-{row['directory_id']}" for row in voters} == logged.voters()
    (look,) = rows(tmp_path / "tables", "last_looks")
    assert (look["namespace"], look["name"], look["state"]) == (logged.namespace, logged.name, "available")
    assert look["clusterID"] == logged.status()["clusterID"]

    with forwarded() as port:
        page = wait_until("the page is served", lambda: fetched(port), _SERVER_TIMEOUT_S, 1.0)
    assert f"{logged.namespace}/{logged.name}" in page
