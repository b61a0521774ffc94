"""The demonstration behind `make demo`: from nothing to a record through Kafka, with all that a person can see of it.

A person could type each step. A step runs again only if something changed, so a second run on a warm machine takes a
minute or two.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from testbed import engine
from testbed.config import KAFKA_VERSIONS, PROJECT, SOURCE, default_paths
from testbed.process import TestbedError, environment
from testbed.progress import note, step, summary

NAMESPACE = "kafka-quorum-system"
RELEASE = "kafka-quorum-operator"
CHART = PROJECT / "helm" / "kafka-quorum-operator"
EXAMPLE = Path(__file__).resolve().parent / "examples" / "kafka.yaml"
NAME = "demo"
"""Of the quorum and of the pool in the example."""
TOPIC = "greetings"
RECORD = "hello from the demo"
READY_TIMEOUT_S = 300

_NEXT = """
What next? A command runs in the cluster's network behind `python3 e2e/testbed exec --`:

  python3 e2e/testbed exec -- kubectl get kq,kbp -w                  # watch; then, in another terminal:
  python3 e2e/testbed exec -- kubectl delete pod -l kafkaquorum.io/quorum=demo --wait=false
  python3 e2e/testbed exec -- kubectl scale kbp/demo --replicas=4
  python3 e2e/testbed exec -- kubectl events --for kafkabrokerpool/demo
  python3 e2e/testbed exec -- kubectl -n kafka-quorum-system logs deployment/kafka-quorum-operator
  python3 e2e/testbed exec -- bash                                   # a shell with kubectl, helm and docker
  make down                                                          # delete the cluster
"""


def main() -> int:
    """Run the steps in order; a failure is reported with the available evidence."""
    parser = argparse.ArgumentParser(description="From nothing to a record through Kafka.")
    parser.add_argument("--workers", type=int, default=3, metavar="N")
    options = parser.parse_args()
    try:
        image = prepare(options.workers)
        cluster = engine.require(default_paths())
        with step("install the chart"):
            _run(cluster, helm_upgrade(image))
        bring_up(cluster)
        send_a_record(cluster)
    except TestbedError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    summary()
    print(_NEXT)
    return 0


def prepare(workers: int) -> str:
    """A cluster with the images on its workers; returns the operator's image."""
    kafka_version = KAFKA_VERSIONS[0]  # the image in the example
    kafka_image = f"testbed/kafka:{kafka_version}"
    with step("a cluster with Kafka's and the operator's image"):
        _testbed("up", "--workers", str(workers))
        _testbed("base-images", "--kafka", kafka_version)
        _testbed("load", kafka_image)
        image = _testbed("operator-image").strip()
        _testbed("helm-binary")
    return image


def helm_upgrade(image: str) -> list[str]:
    """The command that installs the chart, or follows a change of it or of the image."""
    repository, _, tag = image.rpartition(":")
    values = {
        "image.repository": repository,
        "image.tag": tag,
        "image.pullPolicy": "IfNotPresent",
        "kafka.imageTemplate": "testbed/kafka:{version}",
    }
    # A brace would begin a list in --set, so the literal form is used.
    literals = [argument for key, value in values.items() for argument in ("--set-literal", f"{key}={value}")]
    where = ["--namespace", NAMESPACE, "--create-namespace"]
    # The chart adopts a CRD that a person applied by hand, or that another release left behind.
    waiting = ["--take-ownership", "--wait", "--timeout", "3m"]
    return ["helm", "upgrade", "--install", RELEASE, str(CHART), *where, *waiting, *literals]


def bring_up(cluster: engine.Engine) -> None:
    """Apply the example, show each stage, wait until both are ready, and show the result."""
    _run(cluster, ["kubectl", "apply", "-f", str(EXAMPLE)])
    limit = f"--timeout={READY_TIMEOUT_S}s"
    wait = ["kubectl", "wait", "--for=condition=Ready", f"kafkaquorum/{NAME}", f"kafkabrokerpool/{NAME}", limit]
    try:
        with step("wait until quorum and pool are ready"), _watching(cluster, "kq"), _watching(cluster, "kbp"):
            _run(cluster, wait)
    except TestbedError:
        _explain(cluster)
        raise
    _show(cluster, ["kubectl", "get", "kq,kbp", "-o", "wide"])
    _show(cluster, ["kubectl", "get", "pods,pvc", "-o", "wide"])
    _show(cluster, ["kubectl", "describe", "kq,kbp", NAME])


def send_a_record(cluster: engine.Engine) -> None:
    """Produce a record with Kafka's own tool, and consume it with another one, each in a pod of its own."""
    with step("a record through Kafka"):
        _run(cluster, tool("produce", "kafka-console-producer.sh"), stdin=f"{RECORD}\n")
        consume = tool("consume", "kafka-console-consumer.sh", "--from-beginning", "--max-messages", "1")
        note(f"$ {' '.join(consume)}")
        inside, env = cluster.inside(consume), environment(cluster.env())
        done = subprocess.run(inside, env=env, capture_output=True, text=True, check=False)
        print(done.stdout, end="")
        if RECORD not in done.stdout:
            _explain(cluster)
            raise TestbedError(f"the record was not consumed: {done.stderr.strip() or done.stdout.strip()}")


def tool(pod: str, script: str, *arguments: str) -> list[str]:
    """The command that runs one of Kafka's tools in a pod, until it ends."""
    run = [
        "kubectl",
        "run",
        pod,
        "--rm",
        "-i",
        "--quiet",
        "--restart=Never",
        f"--image=testbed/kafka:{KAFKA_VERSIONS[0]}",
    ]
    where = ["--bootstrap-server", f"{NAME}-bootstrap:9092", "--topic", TOPIC]
    return [*run, "--", f"/opt/kafka/bin/{script}", *where, *arguments]


@contextmanager
def _watching(cluster: engine.Engine, kind: str) -> Iterator[None]:
    """Print a line for every change of the resource's status in the meantime."""
    command = cluster.inside(["kubectl", "get", kind, NAME, "--watch"])
    with subprocess.Popen(command, env=environment(cluster.env())) as watch:
        try:
            yield
        finally:
            watch.terminate()


def _explain(cluster: engine.Engine) -> None:
    """What a person looks at first when a quorum or a pool does not become ready."""
    _show(cluster, ["kubectl", "describe", "kq,kbp", NAME])
    _show(cluster, ["kubectl", "get", "pods,pvc", "-A", "-o", "wide"])
    _show(cluster, ["kubectl", "-n", NAMESPACE, "logs", f"deployment/{RELEASE}", "--tail=40"])


def _testbed(*arguments: str) -> str:
    """Run a command of the test-bed; its progress is shown, and its output returned."""
    command = [sys.executable, str(SOURCE), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise TestbedError(f"testbed {' '.join(arguments)} failed")
    return done.stdout


def _run(cluster: engine.Engine, command: Sequence[str], stdin: str | None = None) -> None:
    if _show(cluster, command, stdin):
        raise TestbedError(f"{' '.join(command)} failed")


def _show(cluster: engine.Engine, command: Sequence[str], stdin: str | None = None) -> int:
    """Show the output of a command with access to the cluster; returns its exit code."""
    note(f"$ {' '.join(command)}")
    inside, env = cluster.inside([*command]), environment(cluster.env())
    return subprocess.run(inside, env=env, input=stdin, text=True, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
