"""The programs compiled from Go modules: Kubernetes, etcd, CoreDNS, the volume provisioner, kind and helm."""

import shutil
from functools import partial
from pathlib import Path

from testbed.config import KIND_VERSION, KUBERNETES_VERSION, SOURCE, Paths
from testbed.keys import content_key, once
from testbed.process import TestbedError, output, run

_GO_ENV = {"CGO_ENABLED": "0", "GOWORK": "off"}
_STRIP = "-s -w"

KUBE_COMPONENTS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "kubelet",
    "kubeadm",
    "kubectl",
    "etcd",
    "etcdctl",
    "podnet",
)
"""What `kubebox` answers to: one multi-call binary, called through symbolic links."""

NODE_BINARIES = ("kubebox", "coredns", "local-path-provisioner")


def _go() -> str:
    go = shutil.which("go")
    if go is None:
        raise TestbedError("the go command is needed to compile Kubernetes, and is not on PATH")
    return go


def _go_version() -> str:
    return output([_go(), "env", "GOVERSION"]).strip()


def _version_flags() -> str:
    """Linker flags: without them Kubernetes calls itself v0.0.0, which kubeadm does not accept."""
    major, minor, _ = KUBERNETES_VERSION.lstrip("v").split(".")
    package = "k8s.io/component-base/version"
    values = {
        "gitVersion": KUBERNETES_VERSION,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "gitCommit": "0" * 40,
        "buildDate": "2026-01-01T00:00:00Z",
    }
    flags = [_STRIP, *(f"-X {package}.{name}={value}" for name, value in values.items())]
    return " ".join([*flags, f"-X k8s.io/client-go/pkg/version.gitVersion={KUBERNETES_VERSION}"])


def _build(paths: Paths, source: Path, package: str, product: Path, flags: str = _STRIP) -> None:
    command = [_go(), "build", "-ldflags", flags, "-o", product, package]
    run(command, paths.log / "go.log", env=_GO_ENV, cwd=source)


def ensure_kind(paths: Paths) -> Path:
    """Compile the kind command."""
    product = paths.bin / "kind"

    def install() -> None:
        env = {**_GO_ENV, "GOBIN": str(paths.bin)}
        package = f"sigs.k8s.io/kind@{KIND_VERSION}"
        run([_go(), "install", "-ldflags", _STRIP, package], paths.log / "go.log", env=env, cwd=paths.cache)

    once(paths, "compile kind", content_key(KIND_VERSION, _go_version()), product, install)
    return product


def ensure_kubebox(paths: Paths) -> None:
    """Compile all of Kubernetes: by far the longest step of a first run."""
    source, product, flags = SOURCE / "go" / "kubebox", paths.bin / "kubebox", _version_flags()
    key = content_key(source, flags, _go_version())
    once(paths, "compile kubebox", key, product, partial(_build, paths, source, ".", product, flags))
    kubectl = paths.bin / "kubectl"
    kubectl.unlink(missing_ok=True)
    kubectl.symlink_to("kubebox")


def ensure_addons(paths: Paths) -> None:
    """Compile what runs in the cluster beside Kubernetes."""
    source = SOURCE / "go" / "addons"
    packages = {
        "coredns": "./coredns",
        "pause": "./pause",
        "local-path-provisioner": "github.com/rancher/local-path-provisioner",
    }
    key = content_key(source, _go_version())
    for name, package in packages.items():
        product = paths.bin / name
        once(paths, f"compile {name}", key, product, partial(_build, paths, source, package, product))
