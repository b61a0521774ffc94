"""A control plane for a fleet: etcd, API server, controller manager and scheduler, each a process of this machine.

They are the test-bed's own binary, in a network namespace of their own without any real node: KWOK's are the only
ones. So a fleet disturbs no cluster, all of it ends with its processes, and the clients of the controller manager may
send more than twenty requests a second. etcd does not wait for the disk, because nothing of it is kept.
"""

import contextlib
import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from demo import CHART, NAMESPACE, RELEASE
from harness.shell import Json, kubectl, run, succeed, wait_until
from testbed.config import KUBERNETES_VERSION, default_paths

ADDRESS: Final = "10.255.0.1"
"""Of this machine in the fleet's network namespace, and of every Kubernetes node."""
POD_SUBNET: Final = "10.244.0.0/16"
_SERVICES: Final = "10.96.0.0/16"
_URL: Final = f"https://{ADDRESS}:6443"
_ADMIN, _OPERATOR = "admin-of-the-fleet", "operator-of-the-fleet"
_START_TIMEOUT_S: Final = 240.0
_RIGHTS: Final = frozenset(
    {
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "Role",
        "RoleBinding",
        "ServiceAccount",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
)
"""What of the chart is applied: all but the operator's pods, which are a process of this machine."""


@contextlib.contextmanager
def process(command: tuple[str, ...], log_file: Path, env: Mapping[str, str] | None = None) -> Iterator[int]:
    """A process that runs while this lasts: its id."""
    started = begun(command, log_file, env)
    try:
        yield started.pid
    finally:
        ended(started)


def begun(command: tuple[str, ...], log_file: Path, env: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """Start a process in a session of its own, so that Ctrl-C reaches only this one, which ends all others in order."""
    with log_file.open("a") as stream:
        return subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}, start_new_session=True
        )


def ended(started: "subprocess.Popen[bytes]", *, at_once: bool = False) -> None:
    """End a process, and wait for its end."""
    if at_once:
        started.kill()
    started.terminate()
    try:
        started.wait(20)
    except subprocess.TimeoutExpired:
        started.kill()
        started.wait(20)


@dataclass(slots=True)
class ControlPlane:
    """A control plane that runs. `folder` has its data, keys and logs."""

    folder: Path
    _api_server: "subprocess.Popen[bytes] | None" = None
    _pods: Json = field(default_factory=dict)

    def start_api_server(self) -> None:
        """Start it, and wait until it is ready."""
        self._api_server = begun(self._api_server_command(), self.folder / "kube-apiserver.log")
        wait_until("the API server is ready", is_ready, _START_TIMEOUT_S, 0.2)

    def stop_api_server(self) -> None:
        """End it as a crash does."""
        if self._api_server is not None:
            ended(self._api_server, at_once=True)

    def install(self) -> None:
        """Apply what the chart has besides the operator's pods."""
        values = ("--set-literal", "kafka.imageTemplate=fleet/kafka:{version}")
        chart = ("helm", "template", RELEASE, str(CHART), "--namespace", NAMESPACE, "--include-crds", *values)
        # Without a cluster helm assumes its own version, which the chart may not support.
        rendered = list(yaml.safe_load_all(succeed(*chart, "--kube-version", KUBERNETES_VERSION)))
        items = [item for item in rendered if item and item["kind"] in _RIGHTS]
        self._pods = next(item for item in rendered if item and item["kind"] == "Deployment")
        kubectl("create", "namespace", NAMESPACE)
        definitions = [item for item in items if item["kind"] == "CustomResourceDefinition"]
        for part in (definitions, [item for item in items if item not in definitions]):
            kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(listed(part)))
        names = [f"crd/{item['metadata']['name']}" for item in definitions]
        kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)

    def environment(self) -> dict[str, str]:
        """The environment that the chart gives to the operator."""
        (container,) = self._pods["spec"]["template"]["spec"]["containers"]
        return {entry["name"]: entry["value"] for entry in container["env"] if entry.get("value")}

    def kubeconfig(self, token: str, name: str) -> Path:
        """Access with this token."""
        cluster = {"server": _URL, "certificate-authority": str(self.folder / "certs" / "apiserver.crt")}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "fleet", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": "fleet", "user": name}}],
            "current-context": name,
        }
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    @property
    def _audit_log(self) -> Path:
        return self.folder / "audit.log"

    def mark(self) -> int:
        """A place in the log of the operator's requests."""
        return self._audit_log.stat().st_size

    def requests(self, since: int) -> Counter[str]:
        """What the operator has requested since this place, as `verb resource`; a watch counts when it is opened."""
        found: Counter[str] = Counter()
        with self._audit_log.open("rb") as log:
            log.seek(since)
            for line in log:
                event = json.loads(line)
                at = event.get("objectRef") or {}
                what = "/".join(filter(None, (at.get("resource"), at.get("subresource")))) or event["requestURI"]
                if event["stage"] == ("ResponseStarted" if event["verb"] == "watch" else "ResponseComplete"):
                    found[f"{event['verb']} {what}"] += 1
        return found

    @property
    def operators_kubeconfig(self) -> Path:
        """Access with the rights of the account that the chart gives to the operator."""
        return self.kubeconfig(_OPERATOR, "operator")

    def prepare(self) -> None:
        """Write keys and tokens."""
        account = f"system:serviceaccount:{NAMESPACE}:{RELEASE}"
        groups = f"system:serviceaccounts,system:serviceaccounts:{NAMESPACE},system:authenticated"
        rows = (f'{_ADMIN},admin,1,"system:masters"', f'{_OPERATOR},{account},2,"{groups}"')
        (self.folder / "tokens.csv").write_text("\n".join(rows) + "\n")
        rules = [
            {"level": "Metadata", "users": [account], "omitStages": ["RequestReceived"]},
            {"level": "None"},
        ]
        policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}
        (self.folder / "audit-policy.json").write_text(json.dumps(policy))
        succeed("openssl", "genrsa", "-out", str(self.folder / "accounts.key"), "2048")
        os.environ["KUBECONFIG"] = str(self.kubeconfig(_ADMIN, "admin"))

    def _api_server_command(self) -> tuple[str, ...]:
        key = str(self.folder / "accounts.key")
        return kubebox(
            "kube-apiserver",
            etcd_servers="http://127.0.0.1:2379",
            bind_address=ADDRESS,
            advertise_address=ADDRESS,
            secure_port="6443",
            cert_dir=str(self.folder / "certs"),
            service_cluster_ip_range=_SERVICES,
            service_account_issuer="https://fleet",
            service_account_key_file=key,
            service_account_signing_key_file=key,
            token_auth_file=str(self.folder / "tokens.csv"),
            audit_policy_file=str(self.folder / "audit-policy.json"),
            audit_log_path=str(self._audit_log),
            audit_log_maxsize="100000",  # MB: what is counted must not move to another file
            authorization_mode="RBAC",
        )


def kubebox(component: str, **flags: str) -> tuple[str, ...]:
    """A component of Kubernetes with its flags."""
    binary = str(default_paths().bin / "kubebox")
    return (binary, component, *(f"--{name.replace('_', '-')}={value}" for name, value in flags.items()))


def is_ready() -> bool:
    """Whether the API server says that it is."""
    code, output, _ = run("kubectl", "get", "--raw", "/readyz", "--request-timeout=2s")
    return not code and output == "ok"


def listed(items: list[Json]) -> Json:
    """One object with all of them."""
    return {"apiVersion": "v1", "kind": "List", "items": items}


@contextlib.contextmanager
def control_plane(folder: Path) -> Iterator[ControlPlane]:
    """A control plane with the chart's rights while this lasts. This process is alone in its network namespace."""
    os.environ["PATH"] = f"{default_paths().bin}:{os.environ['PATH']}"
    for command in (
        ("ip", "link", "set", "lo", "up"),
        ("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"),
        ("ip", "route", "add", "local", POD_SUBNET, "dev", "lo"),  # one process answers at the address of every pod
    ):
        succeed(*command)
    plane = ControlPlane(folder)
    plane.prepare()
    admin = os.environ["KUBECONFIG"]
    urls = "http://127.0.0.1:2379"
    etcd = kubebox("etcd", data_dir=str(folder / "etcd"), listen_client_urls=urls, advertise_client_urls=urls)
    quick = {"kubeconfig": admin, "kube_api_qps": "1000", "kube_api_burst": "2000", "leader_elect": "false"}
    manager = kubebox(
        "kube-controller-manager",
        **quick,
        allocate_node_cidrs="true",
        cluster_cidr=POD_SUBNET,
        service_cluster_ip_range=_SERVICES,
        service_account_private_key_file=str(folder / "accounts.key"),
    )
    with contextlib.ExitStack() as stack:
        stack.callback(plane.stop_api_server)
        stack.enter_context(process((*etcd, "--unsafe-no-fsync"), folder / "etcd.log"))
        plane.start_api_server()
        stack.enter_context(process(manager, folder / "kube-controller-manager.log"))
        stack.enter_context(process(kubebox("kube-scheduler", **quick), folder / "kube-scheduler.log"))
        plane.install()
        yield plane
