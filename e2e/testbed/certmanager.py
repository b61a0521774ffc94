"""cert-manager in the cluster, compiled from its Go module: its definitions, its controller, and two authorities.

It has no webhook: the API server checks what is applied by the schemas of the definitions alone, and any request for a
certificate of an issuer is approved.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from testbed import binaries, cluster, loading
from testbed.config import SOURCE
from testbed.engine import Engine
from testbed.images import ensure_image
from testbed.keys import content_key
from testbed.progress import step

NAMESPACE = "cert-manager"
AUTHORITIES = ("testbed-ca", "testbed-ca-next")
"""The ClusterIssuers that tests use."""
_MANIFESTS = SOURCE / "cert-manager"
_RIGHTS = ("clusterrole/testbed-cert-manager", "clusterrolebinding/testbed-cert-manager")
_READY_TIMEOUT_S = 120
_DELETE_TIMEOUT_S = 120
_DOCKERFILE = """\
FROM scratch
COPY certmanager /certmanager
USER 65532:65532
ENTRYPOINT ["/certmanager"]
"""


def ensure(engine: Engine) -> tuple[str, Path]:
    """Build a missing image; returns its tag, which follows its content, and the folder of the definitions."""
    made = binaries.ensure_certmanager(engine.paths)
    program = made / "certmanager"
    key = content_key(_DOCKERFILE, program)
    tag = f"testbed/cert-manager:{key}"

    def fill(context: Path) -> None:
        shutil.copy(program, context)
        (context / "Dockerfile").write_text(_DOCKERFILE)

    ensure_image(engine, [tag], key, fill)
    return tag, made / "crds"


def install(engine: Engine) -> None:
    """Bring cert-manager and the authorities into the cluster; returns when both can sign. Safe to repeat."""
    image, definitions = ensure(engine)
    loading.ensure(engine, [image], control_planes(engine))
    with step("install cert-manager"):
        _apply(engine, definitions)
        names = sorted(f"crd/{path.name.removesuffix('.yaml')}" for path in definitions.iterdir())
        _wait(engine, "wait", "--for=condition=Established", *names)
        with TemporaryDirectory(dir=engine.paths.work, prefix="cert-manager-") as scratch:
            manifest = Path(scratch, "controller.yaml")
            manifest.write_text(controller(image))
            _apply(engine, manifest)
        _wait(engine, "-n", NAMESPACE, "rollout", "status", "deployment/cert-manager")
        _apply(engine, _MANIFESTS / "authorities.yaml")
        _wait(engine, "wait", "--for=condition=Ready", *(f"clusterissuer/{name}" for name in AUTHORITIES))


def remove(engine: Engine) -> None:
    """Delete all of it, with every Certificate and Issuer of the cluster; Secrets in other namespaces stay."""
    gone = ["--ignore-not-found", f"--timeout={_DELETE_TIMEOUT_S}s"]
    with step("remove cert-manager"):
        listed = engine.kubectl("get", "crd", "-o", "name").split()
        ours = [name for name in listed if name.endswith(".cert-manager.io")]
        everything = (*ours, f"namespace/{NAMESPACE}", *_RIGHTS)
        engine.kubectl("delete", *everything, *gone, timeout_s=_DELETE_TIMEOUT_S + 10)


def controller(image: str) -> str:
    """The manifest of the controller with this image."""
    return (_MANIFESTS / "controller.yaml").read_text().replace("@IMAGE@", image)


def control_planes(engine: Engine) -> list[str]:
    """The nodes on which the controller may run."""
    return [node["metadata"]["name"] for node in cluster.nodes(engine) if cluster.is_control_plane(node)]


def _apply(engine: Engine, manifests: Path) -> None:
    engine.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(manifests), timeout_s=_READY_TIMEOUT_S)


def _wait(engine: Engine, *arguments: str) -> None:
    engine.kubectl(*arguments, f"--timeout={_READY_TIMEOUT_S}s", timeout_s=_READY_TIMEOUT_S + 10)
