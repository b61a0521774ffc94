"""The kind cluster itself: create, wait until it is usable, delete."""

import json
from pathlib import Path
from typing import Any, cast

from testbed.config import CLUSTER, NETNS, NETWORK, NODE_SUBNET, POD_SUBNET, SERVICE_SUBNET, SOURCE
from testbed.engine import Engine
from testbed.keys import content_key
from testbed.process import output, run, succeeds
from testbed.progress import note, step

_READY_TIMEOUT_S = 180
_CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"

Json = dict[str, Any]


def kind_config(engine: Engine, workers: int) -> Json:
    """The configuration for kind. A node that is down is noticed after 12 s, not 40: fault tests wait for that."""
    monitor = {"node-monitor-grace-period": "12s", "node-monitor-period": "2s"}
    kubelet: Json = {"nodeStatusUpdateFrequency": "4s"}
    if engine.kind == "own":
        kubelet |= {"cgroupDriver": "cgroupfs", "failCgroupV1": False}
    patches = [
        {"kind": "ClusterConfiguration", "controllerManager": {"extraArgs": monitor}},
        {"kind": "KubeletConfiguration", **kubelet},
    ]
    return {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "name": CLUSTER,
        "networking": {"ipFamily": "ipv4", "podSubnet": POD_SUBNET, "serviceSubnet": SERVICE_SUBNET},
        "kubeadmConfigPatches": [json.dumps(patch) for patch in patches],
        "nodes": [{"role": "control-plane"}, *({"role": "worker"} for _ in range(workers))],
    }


def ensure(engine: Engine, node_image: str, workers: int) -> None:
    """A cluster of this shape: kept if it exists and answers, otherwise created again."""
    config = json.dumps(kind_config(engine, workers), indent=1)
    image_id = engine.docker("image", "inspect", "-f", "{{.Id}}", node_image)
    stamp, key = engine.paths.run / "cluster.key", content_key(config, image_id)
    if stamp.exists() and stamp.read_text() == key and answers(engine):
        note("the cluster is there already")
    else:
        delete(engine)
        _create(engine, node_image, config)
        stamp.write_text(key)
    _wait_ready(engine)
    if engine.kind == "own":
        _add_routes(engine)


def answers(engine: Engine) -> bool:
    """Whether an API server answers."""
    return engine.paths.kubeconfig.exists() and succeeds(
        engine.inside(["kubectl", "get", "--raw", "/readyz", "--request-timeout=3s"]), env=engine.env()
    )


def delete(engine: Engine) -> None:
    """Delete the cluster if it exists, as a whole or in part."""
    (engine.paths.run / "cluster.key").unlink(missing_ok=True)
    if container_names(engine):
        with step("delete the cluster"):
            run(["kind", "delete", "cluster"], engine.paths.log / "kind.log", env=engine.env())
    engine.paths.kubeconfig.unlink(missing_ok=True)


def container_names(engine: Engine) -> list[str]:
    """The cluster's nodes in docker, running or not."""
    label = f"label=io.x-k8s.kind.cluster={CLUSTER}"
    return sorted(engine.docker("ps", "-a", "--filter", label, "--format", "{{.Names}}").split())


def nodes(engine: Engine) -> list[Json]:
    """The cluster's nodes in the API server."""
    return cast("list[Json]", json.loads(engine.kubectl("get", "nodes", "-o", "json"))["items"])


def is_control_plane(node: Json) -> bool:
    """Whether pods without a toleration stay away from this node."""
    return _CONTROL_PLANE_LABEL in node["metadata"]["labels"]


def internal_ip(node: Json) -> str:
    """The node's address on the docker network."""
    addresses: list[dict[str, str]] = node["status"]["addresses"]
    return next(entry["address"] for entry in addresses if entry["type"] == "InternalIP")


def _create(engine: Engine, node_image: str, config: str) -> None:
    paths, log = engine.paths, engine.paths.log / "kind.log"
    if not succeeds(["docker", "network", "inspect", NETWORK], env=engine.env()):
        # With a subnet of our choice a killed node can get its old address again.
        engine.docker("network", "create", "--subnet", NODE_SUBNET, NETWORK)
    config_file = paths.run / "kind.json"
    config_file.write_text(config)
    command = ["kind", "create", "cluster", "--retain", "-v", "1", "--image", node_image]
    files = ["--config", config_file, "--kubeconfig", paths.kubeconfig]
    with step("kind create cluster"):
        run([*command, *files], log, env=engine.env())


def _wait_ready(engine: Engine) -> None:
    """Nodes, DNS and volumes: the requirements of a first manifest."""
    with step("wait for nodes, DNS and volumes"):
        if engine.kind == "own":
            _apply_dns(engine)
        _kubectl_wait(engine, "wait", "--for=condition=Ready", "nodes", "--all")
        for namespace, name in (("kube-system", "coredns"), ("local-path-storage", "local-path-provisioner")):
            _kubectl_wait(engine, "-n", namespace, "rollout", "status", f"deployment/{name}")


def _apply_dns(engine: Engine) -> None:
    """Names outside the cluster fail at once; DNS runs on the control plane, not on a worker that tests stop."""
    _apply(engine, SOURCE / "node" / "manifests" / "coredns.yaml")
    pod_spec = {"nodeSelector": {_CONTROL_PLANE_LABEL: ""}, "terminationGracePeriodSeconds": 1}
    patch = json.dumps({"spec": {"replicas": 1, "template": {"spec": pod_spec}}})
    engine.kubectl("-n", "kube-system", "patch", "deployment", "coredns", "-p", patch)


def _apply(engine: Engine, manifest: Path) -> None:
    engine.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(manifest))


def _kubectl_wait(engine: Engine, *arguments: str) -> None:
    engine.kubectl(*arguments, f"--timeout={_READY_TIMEOUT_S}s", timeout_s=_READY_TIMEOUT_S + 10)


def _add_routes(engine: Engine) -> None:
    """Let processes in the namespace, but outside the cluster, reach pods and services by their addresses."""
    for node in nodes(engine):  # ready nodes have a pod network
        _route(node["spec"]["podCIDR"], internal_ip(node))
        if is_control_plane(node):
            _route(SERVICE_SUBNET, internal_ip(node))


def _route(subnet: str, gateway: str) -> None:
    output(["ip", "-n", NETNS, "route", "replace", subnet, "via", gateway])
