"""The operator as the chart installs it: installed, upgraded, stopped, crashed, read."""

import json
import sys

from demo import NAMESPACE, RELEASE, helm_upgrade
from harness.nodes import kill_container
from harness.shell import Json, items, kubectl, run, succeed, wait_until
from testbed.config import SOURCE

DEPLOYMENT = f"deployment/{RELEASE}"
_SELECTOR = f"app.kubernetes.io/instance={RELEASE}"
_START_TIMEOUT_S = 90.0


def current_image() -> str:
    """Build and load what is missing; the image's name, which follows its content."""
    return succeed(sys.executable, str(SOURCE), "operator-image", timeout_s=600).strip()


def install(image: str) -> None:
    """Install the chart with this image, or follow a change of either; returns when the operator is ready."""
    succeed(*helm_upgrade(image), timeout_s=240)


def uninstall() -> None:
    """Remove the release; what it leaves behind is what the chart promises to leave."""
    succeed("helm", "uninstall", RELEASE, "--namespace", NAMESPACE, "--wait", "--timeout", "2m", timeout_s=150)


def pods() -> list[Json]:
    """The operator's pods, those on their way out included."""
    return items(NAMESPACE, "pods", "-l", _SELECTOR)


def stop() -> None:
    """Scale to zero, and wait until no operator runs."""
    kubectl("-n", NAMESPACE, "scale", DEPLOYMENT, "--replicas=0")
    wait_until("no operator's pod is left", lambda: not pods(), _START_TIMEOUT_S)


def start() -> None:
    """Scale to one, and wait until it is ready."""
    kubectl("-n", NAMESPACE, "scale", DEPLOYMENT, "--replicas=1")
    wait_ready()


def wait_ready() -> None:
    """Wait until the deployment is rolled out."""
    kubectl("-n", NAMESPACE, "rollout", "status", DEPLOYMENT, f"--timeout={_START_TIMEOUT_S:.0f}s")


def crash() -> None:
    """Kill the process as a power failure would, and have a new pod at once, without the kubelet's back-off."""
    for pod in pods():
        kill_container(pod)
        kubectl(
            "-n", NAMESPACE, "delete", "pod", pod["metadata"]["name"], "--force", "--grace-period=0", "--wait=false"
        )


def image() -> str:
    """The image that the deployment names."""
    return kubectl(
        "-n", NAMESPACE, "get", DEPLOYMENT, "-o", "jsonpath={.spec.template.spec.containers[0].image}"
    ).strip()


def logs(tail: int = 80) -> str:
    """The end of the operator's log, of the present and of the previous container."""
    where = ("-n", NAMESPACE, "logs", DEPLOYMENT, f"--tail={tail}")
    _, present, errors = run("kubectl", *where)
    _, previous, _ = run("kubectl", *where, "--previous")
    return f"{previous}{present}{errors}"


def environment() -> dict[str, str]:
    """The environment that the deployment gives to the operator."""
    text = kubectl("-n", NAMESPACE, "get", DEPLOYMENT, "-o", "json")
    container = json.loads(text)["spec"]["template"]["spec"]["containers"][0]
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}
