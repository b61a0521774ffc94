"""The programs compiled from Go modules: Kubernetes, etcd, CoreDNS, volume provisioner, kind, helm.

For tests besides: an S3 server, the operator of Spark, cert-manager, Prometheus, kubeconform and KWOK.
"""

import json
import re
import shutil
from functools import cache, partial
from pathlib import Path

from testbed.config import (
    GO_VERSION_MIN,
    HELM_VERSION,
    KIND_VERSION,
    KUBECONFORM_VERSION,
    KUBERNETES_VERSION,
    KWOK_VERSION,
    PROMETHEUS_VERSION,
    SOURCE,
    SPARK_OPERATOR_SUM,
    SPARK_OPERATOR_VERSION,
    VERSITYGW_VERSION,
    Paths,
)
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
"""The names of `kubebox`: one multi-call binary, called through symbolic links."""

_CERT_MANAGER = "github.com/cert-manager/cert-manager"

NODE_BINARIES = ("kubebox", "coredns", "local-path-provisioner")


def parse_go_version(text: str) -> tuple[int, int]:
    """Major and minor of the output of `go env GOVERSION`, such as `go1.26.8` or `go1.27rc1`."""
    found = re.match(r"go(\d+)\.(\d+)", text)
    if found is None:
        raise TestbedError(f"not a release of Go: {text!r}")
    return int(found[1]), int(found[2])


def _go() -> str:
    go = shutil.which("go")
    if go is None:
        raise TestbedError(f"{_go_wanted()} is needed to compile what the test bed runs, and is not on PATH")
    return go


@cache
def _go_version() -> str:
    """The version of the Go on PATH, if it is new enough."""
    version = output([_go(), "env", "GOVERSION"]).strip()
    if parse_go_version(version) < GO_VERSION_MIN:
        raise TestbedError(f"{_go_wanted()} is needed; the one on PATH is {version}")
    return version


def _go_wanted() -> str:
    return f"Go {'.'.join(map(str, GO_VERSION_MIN))} or newer"


def _version_flags() -> str:
    """Linker flags: without them Kubernetes reports v0.0.0, which kubeadm does not accept."""
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
    return _ensure_command(paths, "kind", f"sigs.k8s.io/kind@{KIND_VERSION}", content_key(KIND_VERSION, _go_version()))


def ensure_helm(paths: Paths) -> Path:
    """Compile the helm command: about a minute, without any other part of the test bed."""
    flags = f"{_STRIP} -X helm.sh/helm/v3/internal/version.version={HELM_VERSION}"
    key = content_key(HELM_VERSION, flags, _go_version())
    return _ensure_command(paths, "helm", f"helm.sh/helm/v3/cmd/helm@{HELM_VERSION}", key, flags)


def ensure_versitygw(paths: Paths) -> Path:
    """Compile versitygw, an S3 server whose buckets are folders of this machine, without the rest of the test bed."""
    package = f"github.com/versity/versitygw/cmd/versitygw@{VERSITYGW_VERSION}"
    return _ensure_command(paths, "versitygw", package, content_key(VERSITYGW_VERSION, _go_version()))


def ensure_prometheus(paths: Paths) -> tuple[Path, Path]:
    """Compile prometheus, without its pages for browsers, and promtool: the paths of both."""
    promtool = ensure_promtool(paths)
    return _ensure_of_prometheus(paths, "prometheus"), promtool


def ensure_promtool(paths: Paths) -> Path:
    """Compile promtool, which checks rules and evaluates them over given series, without a cluster."""
    return _ensure_of_prometheus(paths, "promtool")


def _ensure_of_prometheus(paths: Paths, name: str) -> Path:
    """Compile one of the programs, which find targets in files, in fixed lists and in Kubernetes.

    Every other way to find targets is left out: together they are most of the code.
    """
    package = f"github.com/prometheus/prometheus/cmd/{name}@{PROMETHEUS_VERSION}"
    flags = f"{_STRIP} -X github.com/prometheus/common/version.Version={prometheus_release(PROMETHEUS_VERSION)}"
    tags = "remove_all_sd,enable_kubernetes_sd"
    return _ensure_command(paths, name, package, content_key(package, flags, tags, _go_version()), flags, tags)


def prometheus_release(module_version: str) -> str:
    """The release of Prometheus with this version of its Go module: v0.316.2 is that of 3.16.2."""
    found = re.fullmatch(r"v0\.(\d)(\d\d)\.(\d+)", module_version)
    if found is None:
        raise TestbedError(f"not a version of the module of Prometheus 3 or later: {module_version!r}")
    return f"{found[1]}.{int(found[2])}.{found[3]}"


def ensure_kubeconform(paths: Paths) -> Path:
    """Compile kubeconform, which compares manifests with the schemas of their kinds, without a cluster."""
    package = f"github.com/yannh/kubeconform/cmd/kubeconform@{KUBECONFORM_VERSION}"
    return _ensure_command(paths, "kubeconform", package, content_key(KUBECONFORM_VERSION, _go_version()))


def ensure_kwok(paths: Paths) -> Path:
    """Compile KWOK, which makes nodes and pods that exist in the API server alone, without the rest of the test bed."""
    package = f"sigs.k8s.io/kwok/cmd/kwok@{KWOK_VERSION}"
    return _ensure_command(paths, "kwok", package, content_key(KWOK_VERSION, _go_version()))


def ensure_spark_operator(paths: Paths) -> Path:
    """A folder with kubeflow's operator of Spark, compiled, and the Helm chart of the same release in `chart/`.

    Its go.mod has replacements, which `go install` refuses. So it is compiled as the main module, in the folder where
    Go unpacked it.
    """
    target = paths.work / "spark-operator"
    module = f"github.com/kubeflow/spark-operator/v2@{SPARK_OPERATOR_VERSION}"

    def make() -> None:
        source = _download(module, SPARK_OPERATOR_SUM)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        _build(paths, source, "./cmd/operator", target / "spark-operator")
        # Go's folders are read-only, and their copies must be writable.
        shutil.copytree(source / "charts" / "spark-operator-chart", target / "chart", copy_function=shutil.copyfile)
        for folder in (target / "chart", *(path for path in target.rglob("*") if path.is_dir())):
            folder.chmod(0o755)

    once(paths, "compile spark-operator", content_key(module, SPARK_OPERATOR_SUM, _go_version()), target, make)
    return target


def ensure_certmanager(paths: Paths) -> Path:
    """A folder with cert-manager's controller, compiled, and the definitions of its own API group in `crds/`.

    `go/certmanager` pins the release; the checksums are those of its go.sum.
    """
    source, target = SOURCE / "go" / "certmanager", paths.work / "cert-manager"

    def make() -> None:
        shutil.rmtree(target, ignore_errors=True)
        (target / "crds").mkdir(parents=True)
        _build(paths, source, ".", target / "certmanager")
        listed = output([_go(), "list", "-m", "-f", "{{.Dir}}", _CERT_MANAGER], env=_GO_ENV, cwd=source)
        for path in Path(listed.strip(), "deploy", "crds").glob("cert-manager.io_*.yaml"):
            group, _, plural = path.stem.partition("_")
            shutil.copyfile(path, target / "crds" / f"{plural}.{group}.yaml")

    once(paths, "compile cert-manager", content_key(source, _go_version()), target, make)
    return target


def _download(module: str, checksum: str) -> Path:
    """The folder where Go has unpacked a module, which must have this checksum."""
    found = json.loads(output([_go(), "mod", "download", "-json", module], env=_GO_ENV))
    if found["Sum"] != checksum:
        raise TestbedError(f"{module} is not the one that was pinned: its checksum is {found['Sum']}, not {checksum}")
    return Path(found["Dir"])


def _ensure_command(paths: Paths, name: str, package: str, key: str, flags: str = _STRIP, tags: str = "") -> Path:
    """Compile a command that is its own Go module."""
    product = paths.bin / name

    def install() -> None:
        env = {**_GO_ENV, "GOBIN": str(paths.bin)}
        command = [_go(), "install", "-ldflags", flags, "-tags", tags, package]
        run(command, paths.log / "go.log", env=env, cwd=paths.cache)

    once(paths, f"compile {name}", key, product, install)
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
    """Compile the other programs of the cluster."""
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
