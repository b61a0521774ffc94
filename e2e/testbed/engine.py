"""Which docker the test bed uses, and how to reach it and the cluster's API server.

*stock*: the existing docker, with an image `kindest/node`. Only kind is compiled. *own*: a private dockerd in a network
namespace without an uplink. Commands for the cluster run inside that namespace, with the cluster's DNS in place of the
host's.
"""

import json
import os
import shutil
from dataclasses import asdict, dataclass
from typing import Literal

from testbed.config import CLUSTER, DNS_ADDRESS, NETNS, NETWORK, STOCK_NODE_IMAGE, Paths
from testbed.process import TestbedError, environment, output, succeeds
from testbed.progress import note, step

_PULL_TIMEOUT_S = 600
_RESOLV_CONF_NAME = "resolv.conf"
_RESOLV_CONF = f"""\
nameserver {DNS_ADDRESS}
search default.svc.cluster.local svc.cluster.local cluster.local
options ndots:5
"""


@dataclass(frozen=True, slots=True)
class Engine:
    """The docker in use; `node_image` is the stock image, and empty if the test bed makes its own."""

    kind: Literal["stock", "own"]
    node_image: str
    paths: Paths

    def env(self) -> dict[str, str]:
        """The environment in which docker, kind and kubectl find their servers."""
        env = {
            "KUBECONFIG": str(self.paths.kubeconfig),
            "KIND_CLUSTER_NAME": CLUSTER,
            "KIND_EXPERIMENTAL_DOCKER_NETWORK": NETWORK,
            "PATH": f"{self.paths.bin}:{environment()['PATH']}",
        }
        if self.kind == "own":
            env["DOCKER_HOST"] = f"unix://{self.paths.docker_socket}"
            env["DOCKER_BUILDKIT"] = "0"  # buildkit would call runc itself, around the wrapper
        return env

    def inside(self, command: list[str]) -> list[str]:
        """The command, changed so that it reaches the API server and every pod."""
        if self.kind == "stock":
            return command
        # Not `ip netns exec`: it mounts a new /sys, which hides the cgroups.
        script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
        enter = ["nsenter", f"--net=/run/netns/{NETNS}", "unshare", "--mount"]
        return [*enter, "sh", "-c", script, str(self.paths.run / _RESOLV_CONF_NAME), *command]

    def kubectl(self, *arguments: str, timeout_s: float | None = 60) -> str:
        """The output of a kubectl command."""
        if not self.paths.kubeconfig.exists():
            raise TestbedError("there is no cluster: run `testbed up` first")
        return output(self.inside(["kubectl", *arguments]), env=self.env(), timeout_s=timeout_s)

    def docker(self, *arguments: str, timeout_s: float | None = 120) -> str:
        """The output of a docker command."""
        return output(["docker", *arguments], env=self.env(), timeout_s=timeout_s)

    def image_label(self, tag: str, label: str) -> str | None:
        """A label of a local image; None if there is no such image."""
        env, inspect = self.env(), ["docker", "image", "inspect", "-f", "{{json .Config.Labels}}", tag]
        if not succeeds(inspect, env=env):
            return None
        labels: dict[str, str] = json.loads(output(inspect, env=env)) or {}
        return labels.get(label, "")


def remember(engine: Engine) -> None:
    """Keep the choice for the commands that follow `up`."""
    state = {key: value for key, value in asdict(engine).items() if key != "paths"}
    engine.paths.run.mkdir(parents=True, exist_ok=True)
    (engine.paths.run / "engine.json").write_text(json.dumps(state))
    (engine.paths.run / _RESOLV_CONF_NAME).write_text(_RESOLV_CONF)


def forget(paths: Paths) -> None:
    """The next command chooses again."""
    (paths.run / "engine.json").unlink(missing_ok=True)


def recall(paths: Paths) -> Engine | None:
    """The engine that the last `up` or `base-images` chose."""
    try:
        state = json.loads((paths.run / "engine.json").read_text())
    except FileNotFoundError:
        return None
    return Engine(paths=paths, **state)


def require(paths: Paths) -> Engine:
    """The engine in use, or an error with a hint."""
    engine = recall(paths)
    if engine is None:
        raise TestbedError("the test bed is down: run `testbed up` first")
    return engine


def choose(paths: Paths) -> Engine:
    """Choose the engine in use, else stock docker if it can provide a node image, else our own."""
    engine = recall(paths) or _detect(paths)
    if engine.kind == "own" and os.geteuid() != 0:
        raise TestbedError("no usable docker was found, and running one of its own takes root")
    remember(engine)
    return engine


def _detect(paths: Paths) -> Engine:
    asked_for = os.environ.get("TESTBED_NODE_IMAGE", "")
    image = asked_for or STOCK_NODE_IMAGE
    docker_works = shutil.which("docker") is not None and succeeds(["docker", "info"], timeout_s=15)
    if docker_works and _can_have(image):
        note(f"using the docker that is there, with {image}")
        if shutil.which("kubectl") is None:
            raise TestbedError("kubectl is needed on PATH beside docker")
        return Engine("stock", image, paths)
    if asked_for:
        raise TestbedError(f"TESTBED_NODE_IMAGE={image}, but docker can neither find nor pull it")
    note("no docker with access to a node image: making both")
    return Engine("own", "", paths)


def _can_have(image: str) -> bool:
    if succeeds(["docker", "image", "inspect", image]):
        return True
    with step(f"docker pull {image}"):
        return succeeds(["docker", "pull", image], timeout_s=_PULL_TIMEOUT_S)
