"""The operator as the chart installs it: installed, upgraded, stopped, crashed, read."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from demo import NAMESPACE, RELEASE, helm_upgrade
from harness.nodes import kill_container
from harness.shell import Json, get, items, kubectl, run, succeed, wait_until
from testbed.config import SOURCE

DEPLOYMENT = f"deployment/{RELEASE}"
_SELECTOR = f"app.kubernetes.io/instance={RELEASE}"
REPLICAS = 2
"""The chart's default: one replica acts, the other one waits for the lease."""
_START_TIMEOUT_S = 90.0


def current_image() -> str:
    """Build and load missing images; returns the image's name, which follows its content."""
    return succeed(sys.executable, str(SOURCE), "operator-image", timeout_s=600).strip()


def install(image: str) -> None:
    """Install the chart with this image, or follow a change of either; returns when the operator is ready."""
    succeed(*helm_upgrade(image), timeout_s=240)


def uninstall() -> None:
    """Remove the release; only the promised objects stay."""
    succeed("helm", "uninstall", RELEASE, "--namespace", NAMESPACE, "--wait", "--timeout", "2m", timeout_s=150)


def pods() -> list[Json]:
    """The operator's pods, including those in deletion."""
    return items(NAMESPACE, "pods", "-l", _SELECTOR)


def holder() -> str:
    """The pod that holds the lease; empty if none does."""
    found = get(NAMESPACE, "lease", RELEASE)
    return str(found.get("spec", {}).get("holderIdentity") or "")


def wait_acting() -> Json:
    """Wait until one of the present pods holds the lease: this pod acts, and is returned."""

    def acting() -> Json | None:
        name = holder()
        return next((pod for pod in pods() if pod["metadata"]["name"] == name), None)

    return wait_until("an operator holds the lease", acting, _START_TIMEOUT_S)


@contextmanager
def second(image_: str) -> Iterator[None]:
    """While this lasts, another operator acts at the same time as the installed one, with a lease of its own."""
    name = f"{RELEASE}-second"
    deployment = get(NAMESPACE, DEPLOYMENT)
    spec = deployment["spec"]
    labels = {"app": name}
    spec["selector"]["matchLabels"] = labels
    spec["template"]["metadata"]["labels"] = labels
    (container,) = spec["template"]["spec"]["containers"]
    container["image"] = image_
    (lease,) = (entry for entry in container["env"] if entry["name"] == "KQ_LEASE_NAME")
    lease["value"] = name
    role, where = f"{name}-lease", ("-n", NAMESPACE)
    account = spec["template"]["spec"]["serviceAccountName"]
    chart = {"app.kubernetes.io/name": deployment["metadata"]["labels"]["app.kubernetes.io/name"]}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": chart}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    kubectl(*where, "create", "role", role, "--verb=get,update", "--resource=leases", f"--resource-name={name}")
    try:
        kubectl(*where, "create", "rolebinding", role, f"--role={role}", f"--serviceaccount={NAMESPACE}:{account}")
        kubectl("create", "-f", "-", stdin=json.dumps(made | {"spec": spec}))
        kubectl(*where, "rollout", "status", f"deployment/{name}", f"--timeout={_START_TIMEOUT_S:.0f}s")

        def held() -> object:
            return get(NAMESPACE, "lease", name).get("spec", {}).get("holderIdentity")

        wait_until("the second operator holds its lease", held, _START_TIMEOUT_S)
        yield
    finally:
        for kind, leftover in (("deployment", name), ("rolebinding", role), ("role", role), ("lease", name)):
            run("kubectl", *where, "delete", kind, leftover, "--ignore-not-found", "--timeout=60s")


def stop() -> None:
    """Scale to zero, and wait until no operator runs."""
    kubectl("-n", NAMESPACE, "scale", DEPLOYMENT, "--replicas=0")
    wait_until("no operator's pod is left", lambda: not pods(), _START_TIMEOUT_S)


def start() -> None:
    """Scale to the chart's default, and wait until all are ready."""
    kubectl("-n", NAMESPACE, "scale", DEPLOYMENT, f"--replicas={REPLICAS}")
    wait_ready()


def wait_ready() -> None:
    """Wait until the deployment is rolled out."""
    kubectl("-n", NAMESPACE, "rollout", "status", DEPLOYMENT, f"--timeout={_START_TIMEOUT_S:.0f}s")


def crash() -> None:
    """Kill the process as a power failure would, and get a new pod at once, without the kubelet's back-off."""
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
