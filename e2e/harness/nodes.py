"""Acts on a Kubernetes node from outside: kill containers and sandboxes, read and empty volumes."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from harness.shell import Json, get, run, succeed
from testbed.config import SOURCE

_CTR = ("ctr", "-n", "k8s.io")


def on_node(node: str, *command: str) -> str:
    """Run one command on a node, which must succeed: its output."""
    return succeed("docker", "exec", node, *command)


def signal_container(pod: Json, signal: str, name: str | None = None) -> None:
    """A signal to the process of a container (the first one), if it runs: `SIGKILL`, `SIGSTOP`, `SIGCONT`."""
    rows = pod.get("status", {}).get("containerStatuses", [])
    row: Json = next((row for row in rows if name in (None, row["name"])), {})
    identity = row.get("containerID", "").removeprefix("containerd://")
    if identity and "running" in row.get("state", {}):
        run("docker", "exec", pod["spec"]["nodeName"], *_CTR, "tasks", "kill", "-s", signal, identity)


def kill_container(pod: Json, name: str | None = None) -> None:
    """SIGKILL to the process of a container (the first one), if it runs."""
    signal_container(pod, "SIGKILL", name)


@contextmanager
def frozen(pod: Json) -> Iterator[None]:
    """While this lasts, the process of a pod's first container is frozen, and keeps its connections."""
    signal_container(pod, "SIGSTOP")
    try:
        yield
    finally:
        signal_container(pod, "SIGCONT")


def kill_sandbox(pod: Json) -> None:
    """SIGKILL to a pod's sandbox and to its containers: the kubelet starts them again, init containers first."""
    node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
    selector = f'labels."io.kubernetes.pod.uid"=={uid}'
    identities = on_node(node, *_CTR, "containers", "ls", "-q", selector).split()
    info = [json.loads(on_node(node, *_CTR, "containers", "info", identity)) for identity in identities]
    sandboxes = [row["ID"] for row in info if row["Labels"].get("io.cri-containerd.kind") == "sandbox"]
    assert sandboxes, f"no sandbox of pod {pod['metadata']['name']} on {node}"
    for identity in sandboxes:
        run("docker", "exec", node, *_CTR, "tasks", "kill", "-a", "-s", "SIGKILL", identity)


def is_ready(node: str) -> bool:
    """Whether a node is Ready in Kubernetes."""
    conditions = get("default", "node", node)["status"]["conditions"]
    return any(row["type"] == "Ready" and row["status"] == "True" for row in conditions)


def power_off(node: str) -> None:
    """Switch off the node's power."""
    succeed(sys.executable, str(SOURCE), "node-kill", node)


def power_on(node: str) -> None:
    """Start it again, and wait until it is ready."""
    succeed(sys.executable, str(SOURCE), "node-start", node, timeout_s=180)


@contextmanager
def powered_off(node: str) -> Iterator[None]:
    """While this lasts a node has no power."""
    power_off(node)
    try:
        yield
    finally:
        power_on(node)


@contextmanager
def partitioned(node: str, *peers: str) -> Iterator[None]:
    """While this lasts a node and its pods are cut off from everything, or from these nodes only."""
    chosen = [argument for peer in peers for argument in ("--peer", peer)]
    succeed(sys.executable, str(SOURCE), "node-partition", node, *chosen)
    try:
        yield
    finally:
        succeed(sys.executable, str(SOURCE), "node-heal", node)


def volume_of(namespace: str, claim: str) -> tuple[str, str]:
    """The node and the directory of a claim's volume."""
    bound = get(namespace, "pvc", claim)["spec"]["volumeName"]
    spec = get(namespace, "pv", bound)["spec"]
    path = (spec.get("hostPath") or spec["local"])["path"]
    term = spec["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]
    return str(term["values"][0]), str(path)


def wipe(namespace: str, claim: str) -> None:
    """Empty a claim's volume, also under a running pod."""
    node, path = volume_of(namespace, claim)
    assert path.startswith("/var/"), path
    on_node(node, "sh", "-c", f"find {shlex.quote(path)} -mindepth 1 -delete")


def meta_properties(namespace: str, claim: str) -> dict[str, str]:
    """`meta.properties` on a claim's volume; empty if there is none."""
    node, path = volume_of(namespace, claim)
    code, text, _ = run("docker", "exec", node, "cat", f"{path}/kraft/meta.properties")
    if code:
        return {}
    lines = (line for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key: value for key, _, value in (line.partition("=") for line in lines)}


def holds_first_voters(namespace: str, claim: str, host: str) -> bool:
    """Whether a volume was formatted with initial voters: its snapshot at offset zero names their hosts.

    Without them the snapshot exists too, with `kraft.version` alone.
    """
    node, path = volume_of(namespace, claim)
    file = f"{path}/kraft/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
    return run("docker", "exec", node, "grep", "-aqF", host, file)[0] == 0
