"""The node image, made from Debian packages and compiled binaries, in place of `kindest/node`."""

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from testbed import binaries
from testbed.config import KUBERNETES_VERSION, SOURCE
from testbed.engine import Engine
from testbed.images import ensure_debian_with, ensure_image
from testbed.keys import content_key
from testbed.process import output, run

_PACKAGES = (
    "ca-certificates",
    "conntrack",
    "containerd",
    "containernetworking-plugins",
    "iproute2",
    "iptables",
    "kmod",
    "procps",
    "runc",
)
_BASE_TAG = "testbed/node-base:1"
_SYSTEM_TAG = "testbed/system:1"
_NODE_USR = ".node/usr"
"""The path of the node's own /usr in every container of a node, read-only."""


def ensure(engine: Engine) -> str:
    """Build missing images; returns the tag."""
    paths, tag = engine.paths, f"testbed/node:{KUBERNETES_VERSION}"
    binaries.ensure_kubebox(paths)
    binaries.ensure_addons(paths)
    base = ensure_debian_with(engine, _BASE_TAG, _PACKAGES)
    programs = [paths.bin / name for name in (*binaries.NODE_BINARIES, "pause")]
    key = content_key(base, SOURCE / "node", SOURCE / "nodeimage.py", *programs)
    ensure_image(engine, [tag], key, lambda context: _fill(engine, context))
    return tag


def _fill(engine: Engine, context: Path) -> None:
    """Assemble the build context of node/Dockerfile."""
    dockerfile = (SOURCE / "node" / "Dockerfile").read_text()
    (context / "Dockerfile").write_text(dockerfile.replace("ARG BASE", f"ARG BASE={_BASE_TAG}"))
    _copy_binaries(engine, context / "bin")
    root = context / "rootfs"
    shutil.copytree(SOURCE / "node" / "rootfs", root)
    shutil.copytree(SOURCE / "node" / "manifests", root / "kind" / "manifests")
    (root / "kind" / "version").write_text(KUBERNETES_VERSION)
    tags = _system_tags(engine)
    _save_system_images(engine, tags, context.with_suffix(".system"), root / "kind" / "images" / "system.tar")
    containerd = root / "etc" / "containerd" / "config.toml"
    pause = next(tag for tag in tags if "/pause:" in tag)
    containerd.write_text(containerd.read_text().replace("@PAUSE_IMAGE@", pause))
    (containerd.parent / "cri-base.json").write_text(_runtime_spec(engine))


def _copy_binaries(engine: Engine, target: Path) -> None:
    target.mkdir()
    for name in binaries.NODE_BINARIES:
        os.link(engine.paths.bin / name, target / name)
    for name in binaries.KUBE_COMPONENTS:
        (target / name).symlink_to("kubebox")


def _system_tags(engine: Engine) -> list[str]:
    """The images that kubeadm expects on every node, by the names in this kubeadm."""
    command = [engine.paths.bin / "kubebox", "kubeadm", "config", "images", "list"]
    listed = output([*command, f"--kubernetes-version={KUBERNETES_VERSION}"]).split()
    return [_SYSTEM_TAG, *(name for name in listed if "/" in name)]


def _save_system_images(engine: Engine, tags: list[str], scratch: Path, archive: Path) -> None:
    """One file system under all names, with pause and symbolic links into the node's /usr."""
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "etc" / "alternatives").mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (scratch / name).symlink_to(f"{_NODE_USR}/{name}")
    (scratch / "usr").symlink_to(_NODE_USR)
    shutil.copy(engine.paths.bin / "pause", scratch / "pause")  # a sandbox has no mounts: this file is real
    (scratch / "coredns").symlink_to(f"{_NODE_USR}/local/bin/coredns")
    for name in ("iptables", "ip6tables"):
        for verb in ("", "-save", "-restore"):  # Debian's /usr/sbin/iptables leads to /etc/alternatives
            (scratch / "etc" / "alternatives" / f"{name}{verb}").symlink_to(f"/usr/sbin/{name}-nft{verb}")
    (scratch / "etc" / "passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    (scratch / "etc" / "nsswitch.conf").write_text("hosts: files dns\n")
    (scratch / "Dockerfile").write_text('FROM scratch\nCOPY . /\nENTRYPOINT ["/pause"]\n')
    (scratch / ".dockerignore").write_text("Dockerfile\n.dockerignore\n")
    log, dns = engine.paths.log / "docker-build.log", [tag for tag in tags if "/coredns:" in tag]
    run(["docker", "build", *_named(tag for tag in tags if tag not in dns), scratch], log, env=engine.env())
    # only this manifest of kubeadm relies on the image's entrypoint
    dockerfile = f'FROM {_SYSTEM_TAG}\nENTRYPOINT ["/coredns"]\n'
    run(["docker", "build", *_named(dns), "-"], log, env=engine.env(), stdin=dockerfile)
    archive.parent.mkdir(parents=True)
    run(["docker", "save", "-o", archive, *tags], log, env=engine.env())
    shutil.rmtree(scratch)


def _named(tags: Iterable[str]) -> list[str]:
    return [argument for tag in tags for argument in ("-t", tag)]


def _runtime_spec(engine: Engine) -> str:
    """The spec with which containerd starts every container: its own default without rlimits, plus the node's /usr."""
    spec = json.loads(engine.docker("run", "--rm", "--network=none", _BASE_TAG, "ctr", "oci", "spec"))
    spec["process"].pop("rlimits", None)
    mount = {"destination": f"/{_NODE_USR}", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]}
    spec["mounts"].append(mount)
    return json.dumps(spec)
