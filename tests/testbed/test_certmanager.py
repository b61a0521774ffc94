"""cert-manager on the test-bed: compiled from the pinned module, and installed in an order that can be repeated."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed import binaries, certmanager, loading
from testbed.config import SOURCE, Paths
from testbed.engine import Engine
from testbed.images import Fill

MAIN = (SOURCE / "go" / "certmanager" / "main.go").read_text()


def _documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((SOURCE / "cert-manager" / name).read_text()))


def test_program_and_definitions_are_of_one_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The definitions of its own group are those of the module that go.mod pins, by the names of the API server."""
    unpacked = tmp_path / "unpacked"
    (unpacked / "deploy" / "crds").mkdir(parents=True)
    for name in ("cert-manager.io_issuers", "cert-manager.io_certificates", "acme.cert-manager.io_orders"):
        (unpacked / "deploy" / "crds" / f"{name}.yaml").write_text(name)
    compiled: list[Path] = []

    def go(command: list[object], *_: object, cwd: Path, **__: object) -> None:
        compiled.append(cwd)
        Path(str(command[-2])).touch()

    monkeypatch.setattr(binaries, "run", go)
    monkeypatch.setattr(binaries, "output", lambda *_, **__: f"{unpacked}\n")
    monkeypatch.setattr(binaries, "_go", lambda: "go")
    monkeypatch.setattr(binaries, "_go_version", lambda: "go1.26.8")
    for _ in range(2):
        made = binaries.ensure_certmanager(Paths(tmp_path))
    assert compiled == [SOURCE / "go" / "certmanager"]
    assert (made / "certmanager").exists()
    found = {path.name: path.read_text() for path in (made / "crds").iterdir()}
    assert found == {
        "issuers.cert-manager.io.yaml": "cert-manager.io_issuers",
        "certificates.cert-manager.io.yaml": "cert-manager.io_certificates",
    }


def test_the_release_is_pinned_with_its_checksum() -> None:
    """go.sum has the checksum of the module that go.mod names, so no other content is compiled."""
    folder = SOURCE / "go" / "certmanager"
    (version,) = re.findall(r"github\.com/cert-manager/cert-manager (v\S+)", (folder / "go.mod").read_text())
    assert f"github.com/cert-manager/cert-manager {version} h1:" in (folder / "go.sum").read_text()


def test_the_image_follows_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program is another tag, and the context has what the Dockerfile copies."""
    built: list[str] = []

    def ensure_image(_: Engine, tags: list[str], key: str, fill: Fill) -> None:
        context = tmp_path / key
        context.mkdir()
        fill(context)
        assert (context / "certmanager").read_text() == program.read_text()
        built.extend(tags)

    program = tmp_path / "certmanager"
    monkeypatch.setattr(binaries, "ensure_certmanager", lambda _: tmp_path)
    monkeypatch.setattr(certmanager, "ensure_image", ensure_image)
    for content in ("1", "2"):
        program.write_text(content)
        assert certmanager.ensure(Engine("own", "", Paths(tmp_path)))[0] == built[-1]
    assert len(set(built)) == 2


_KUBECTL = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$(dirname "$0")/asked"
case "$*" in
  "get nodes"*) cat "$(dirname "$0")/nodes" ;;
  "get crd"*) printf '%s\\n' customresourcedefinition/a.b customresourcedefinition/issuers.cert-manager.io ;;
esac
"""


def _engine(tmp_path: Path) -> tuple[Engine, Path]:
    """An engine whose kubectl writes down what it is asked; the cluster has a control plane and a worker."""
    paths = Paths(tmp_path)
    for folder in (paths.bin, paths.run, paths.work):
        folder.mkdir()
    paths.kubeconfig.touch()
    (paths.bin / "kubectl").write_text(_KUBECTL)
    (paths.bin / "kubectl").chmod(0o755)
    labels: list[dict[str, str]] = [{"node-role.kubernetes.io/control-plane": ""}, {}]
    nodes = [{"metadata": {"name": f"node-{index}", "labels": row}} for index, row in enumerate(labels)]
    (paths.bin / "nodes").write_text(json.dumps({"items": nodes}))
    return Engine("stock", "", paths), paths.bin / "asked"


def test_it_is_installed_where_it_may_run_and_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only control planes get the image; definitions come before the pod, and the authorities are ready at the end."""
    engine, asked = _engine(tmp_path)
    definitions = tmp_path / "crds"
    definitions.mkdir()
    (definitions / "issuers.cert-manager.io.yaml").touch()
    loaded: list[object] = []
    monkeypatch.setattr(certmanager, "ensure", lambda _: ("testbed/cert-manager:1", definitions))
    monkeypatch.setattr(loading, "ensure", lambda _, images, nodes: loaded.append((images, nodes)))
    certmanager.install(engine)
    assert loaded == [(["testbed/cert-manager:1"], ["node-0"])]
    said = [line for line in asked.read_text().splitlines() if not line.startswith("get ")]
    assert [line.split()[0] for line in said] == ["apply", "wait", "apply", "-n", "apply", "wait"]
    assert str(definitions) in said[0]
    assert "crd/issuers.cert-manager.io" in said[1]
    assert "rollout status deployment/cert-manager" in said[3]
    assert all(f"clusterissuer/{name}" in said[5] for name in certmanager.AUTHORITIES)


def test_only_what_is_ours_is_removed(tmp_path: Path) -> None:
    """The definitions of others stay, and what is gone already is no error."""
    engine, asked = _engine(tmp_path)
    certmanager.remove(engine)
    (said,) = (line for line in asked.read_text().splitlines() if line.startswith("delete"))
    assert "issuers.cert-manager.io" in said
    assert "a.b" not in said
    assert "namespace/cert-manager" in said
    assert "--ignore-not-found" in said


def test_the_manifest_has_the_image_and_the_programs_own_options() -> None:
    """The pod runs this image with options that the program has, and is asked at the path that it answers."""
    text = certmanager.controller("testbed/cert-manager:1")
    assert "@IMAGE@" not in text
    (pod,) = (row["spec"]["template"]["spec"] for row in yaml.safe_load_all(text) if row["kind"] == "Deployment")
    (container,) = pod["containers"]
    assert container["image"] == "testbed/cert-manager:1"
    for argument in container["args"]:
        assert f'"{argument.lstrip("-").partition("=")[0]}"' in MAIN
    probe = container["readinessProbe"]["httpGet"]
    assert f'"{probe["path"]}"' in MAIN
    assert f'":{probe["port"]}"' in MAIN


def test_each_authority_has_a_key_of_its_own() -> None:
    """Each ClusterIssuer that tests use signs with the Secret of its own authority beside the controller."""
    rows = _documents("authorities.yaml")
    made = {row["spec"]["secretName"]: row for row in rows if row["kind"] == "Certificate"}
    issuers = {row["metadata"]["name"]: row["spec"] for row in rows if row["kind"] == "ClusterIssuer"}
    for name in certmanager.AUTHORITIES:
        one = made[issuers[name]["ca"]["secretName"]]
        assert one["spec"]["isCA"] is True
        assert one["metadata"]["namespace"] == certmanager.NAMESPACE
    assert len(made) == len(certmanager.AUTHORITIES)
