"""Copies docker images to the nodes, except to a node that has the same image.

A node's containerd has another digest for an image than docker has. So the docker id is kept there as a label of the
image: it is deleted with the image, and an image that is built again under its old name has another id.
"""

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from testbed import cluster
from testbed.engine import Engine
from testbed.process import TestbedError, environment, run
from testbed.progress import note, step

_LABEL = "testbed.docker-id"
_CTR = ("ctr", "--namespace=k8s.io", "images")
_IMPORT_TIMEOUT_S = 600


def ensure(engine: Engine, images: Sequence[str], nodes: Sequence[str]) -> None:
    """Copy the missing images to each node."""
    ids = {image: _docker_id(engine, image) for image in images}
    lacking: dict[tuple[str, ...], list[str]] = {}
    for node in nodes:
        known = parse_labels(engine.docker("exec", node, *_CTR, "ls"))
        wanted = tuple(image for image in images if known.get(containerd_name(image)) != ids[image])
        lacking.setdefault(wanted, []).append(node)
    lacking.pop((), None)
    if not lacking:
        note(f"on every node already: {' '.join(images)}")
    for wanted, behind in lacking.items():
        with step(f"load {' '.join(wanted)} to {' '.join(behind)}"):
            _copy(engine, {image: ids[image] for image in wanted}, behind)


def workers(engine: Engine) -> list[str]:
    """The nodes on which pods run: all but the control plane, unless it is the only node."""
    known = cluster.nodes(engine)
    names = [node["metadata"]["name"] for node in known if not cluster.is_control_plane(node)]
    return names or [node["metadata"]["name"] for node in known]


def containerd_name(reference: str) -> str:
    """A docker reference in full, as containerd has it: `a/b:1` is `docker.io/a/b:1`."""
    first, slash, rest = reference.partition("/")
    if not slash:
        name = f"docker.io/library/{reference}"
    elif "." in first or ":" in first or first == "localhost":
        name = reference
    else:
        name = f"docker.io/{first}/{rest}"
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def parse_labels(listing: str) -> dict[str, str]:
    """The docker ids in the table of `ctr images ls`, by image name, for every image with such a label."""
    found: dict[str, str] = {}
    for line in listing.splitlines()[1:]:
        columns = line.split()
        if not columns:
            continue
        for label in columns[-1].split(","):
            key, _, value = label.partition("=")
            if key == _LABEL:
                found[columns[0]] = value
    return found


def _docker_id(engine: Engine, image: str) -> str:
    return engine.docker("image", "inspect", "-f", "{{.Id}}", image).strip()


def _copy(engine: Engine, ids: dict[str, str], nodes: Sequence[str]) -> None:
    with TemporaryDirectory(dir=engine.paths.work, prefix="load-") as scratch:
        archive = Path(scratch, "images.tar")
        run(["docker", "save", "-o", archive, *ids], engine.paths.log / "load.log", env=engine.env())
        with ThreadPoolExecutor(len(nodes)) as pool:  # list() raises every error of a node
            list(pool.map(lambda node: _import(engine, node, archive, ids), nodes))


def _import(engine: Engine, node: str, archive: Path, ids: dict[str, str]) -> None:
    options = ("--all-platforms", "--digests", "--snapshotter=overlayfs")
    with archive.open("rb") as stream:
        done = subprocess.run(
            ["docker", "exec", "-i", node, *_CTR, "import", *options, "-"],
            stdin=stream,
            capture_output=True,
            env=environment(engine.env()),
            timeout=_IMPORT_TIMEOUT_S,
            check=False,
        )
    if done.returncode:
        raise TestbedError(f"{node} cannot import {' '.join(ids)}: {done.stderr.decode().strip()}")
    for image, docker_id in ids.items():
        engine.docker("exec", node, *_CTR, "label", containerd_name(image), f"{_LABEL}={docker_id}")
