"""Everything that a run has written, to look in it for contents of Secrets: objects, logs, disks, files.

`python3 e2e/testbed exec -- .venv/bin/python -m harness.everywhere --secrets NS --also kafka-quorum-system --disks
--path FOLDER` (PYTHONPATH=operator:e2e) prints each leak, and ends with 1 if there is one. Contents that were replaced
before it began are known only to `Remembering`, which a scenario keeps open from the begin.
"""

import argparse
import contextlib
import io
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

from harness import nodes
from harness.background import Background
from harness.leaks import Found, Known, Place
from harness.shell import CommandFailed, Json, items, kubectl, run
from testbed.config import PROJECT

METADATA: Final = "__cluster_metadata-0"
_POLL_S = 3.0
_END_S: Final = 300.0
_LOG_TIMEOUT_S = 120.0
_DISK_TIMEOUT_S = 300.0
_NO_LOG_YET: Final = (
    "is waiting to start",
    "does not have a host assigned",
    "previous terminated container",
    "PodInitializing",
    "(NotFound)",
)
_TORN: Final = "torn-tail"
_NO_INDEXES: Final = ("--exclude=*.index", "--exclude=*.timeindex", "--exclude=*.txnindex")


def objects(namespace: str) -> Iterator[Place]:
    """Every object of a namespace with everything in it; of Secrets all but their contents (CommandFailed)."""
    kinds = kubectl("api-resources", "--verbs=list", "--namespaced=true", "--output=name").split()
    for item in items(namespace, ",".join(kinds), "--show-managed-fields"):
        yield from written("secrets" if item["kind"] == "Secret" else item["kind"], item)


def written(kind: str, item: Json) -> Iterator[Place]:
    """One object as a place. A Secret's annotations are outside of it: `kubectl apply` writes contents there."""
    kept = {key: value for key, value in item.items() if kind != "secrets" or key not in ("data", "stringData")}
    yield f"{kind} {item['metadata']['namespace']}/{item['metadata']['name']}", _texts(kept)


def _texts(value: object) -> bytes:
    """Every text of an object by itself, so that nothing in it is escaped."""
    if isinstance(value, dict):
        return b"\n".join(_texts(each) for pair in value.items() for each in pair)
    if isinstance(value, list):
        return b"\n".join(map(_texts, value))
    return str(value).encode()


def logs(namespace: str) -> Iterator[Place]:
    """The logs of every container of a namespace, also of its run before the present one (CommandFailed)."""
    for pod in items(namespace, "pods"):
        name = pod["metadata"]["name"]
        kinds = ("initContainers", "containers", "ephemeralContainers")
        for container in (row["name"] for kind in kinds for row in pod["spec"].get(kind, [])):
            for which in ((), ("--previous",)):
                command = ("kubectl", "-n", namespace, "logs", name, "-c", container, *which)
                code, text, errors = run(*command, timeout_s=_LOG_TIMEOUT_S)
                if not code:
                    yield f"log of {namespace}/{name} {container} {' '.join(which)}".rstrip(), text.encode()
                elif not any(known in errors for known in _NO_LOG_YET):
                    raise CommandFailed(f"{' '.join(command)} ended with {code}: {errors.strip()}")


def disks(namespace: str) -> Iterator[Place]:
    """Every file on the volumes of a namespace's claims, and what kraftlog reads in their metadata logs."""
    for claim in items(namespace, "pvc"):
        name = claim["metadata"]["name"]
        if "volumeName" not in claim["spec"]:
            continue
        node, path = nodes.volume_of(namespace, name)
        command = ["docker", "exec", node, "tar", "-C", path, "-c", *_NO_INDEXES, "."]
        done = subprocess.run(command, capture_output=True, timeout=_DISK_TIMEOUT_S, check=False)
        if done.returncode > 1:  # 1: a file has changed meanwhile
            raise CommandFailed(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode().strip()}")
        yield from unpacked(f"volume of {namespace}/{name}", done.stdout)


def unpacked(volume: str, archive: bytes) -> Iterator[Place]:
    """The files in an archive of a volume, and the dump of its metadata log."""
    with TemporaryDirectory(prefix="metadata-") as scratch, tarfile.open(fileobj=io.BytesIO(archive)) as files:
        copies: list[Path] = []
        for member in files:
            stream = files.extractfile(member) if member.isfile() else None
            if stream is None:
                continue
            data = stream.read()
            yield f"{volume} {member.name}", data
            inner = Path(member.name)
            if inner.parent.name == METADATA and inner.suffix in (".log", ".checkpoint"):
                copy = Path(scratch, inner.name)
                copy.write_bytes(data)
                copies.append(copy)
        for copy in copies:
            yield f"{volume} dump of {copy.name}", dumped(copy)


def dumped(log: Path) -> bytes:
    """The records of a segment or checkpoint of a metadata log, by kraftlog (CommandFailed).

    A running server may be writing its last batch: that one is searched as bytes only.
    """
    command = [sys.executable, "-m", "kraftlog", "dump", str(log)]
    done = subprocess.run(
        command,
        capture_output=True,
        env={"PYTHONPATH": str(PROJECT / "operator")},
        timeout=_DISK_TIMEOUT_S,
        check=False,
    )
    faults = done.stderr.decode().splitlines()
    if done.returncode and not (faults and all(_TORN in line for line in faults)):
        raise CommandFailed(f"kraftlog dump of {log.name} ended with {done.returncode}: {' '.join(faults)[-500:]}")
    return done.stdout


def files(path: Path) -> Iterator[Place]:
    """Every file below a path of this machine."""
    for each in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if each.is_file():
            yield str(each), each.read_bytes()


def everything(namespaces: Iterable[str], paths: Iterable[Path] = (), *, with_disks: bool = False) -> Iterator[Place]:
    """All of that for some namespaces and paths."""
    for namespace in namespaces:
        yield from objects(namespace)
        yield from logs(namespace)
        if with_disks:
            yield from disks(namespace)
    for path in paths:
        yield from files(path)


@dataclass(slots=True)
class Remembering:
    """The contents of a namespace's Secrets, of all the time that it is open: those that were replaced, too."""

    namespace: str
    selector: str = ""
    """Only Secrets with these labels."""
    poll_s: float = _POLL_S
    known: Known = field(default_factory=Known)
    looks: int = 0
    _background: Background | None = None

    def __enter__(self) -> Self:
        """Look now, and again every few seconds."""
        self.look()
        self._background = Background(self._look_again, self.poll_s, end_s=_END_S)
        self._background.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Look no more."""
        if self._background is not None:
            self._background.__exit__(kind, error, trace)

    def search(self, places: Iterable[Place]) -> Found:
        """Look for all contents so far (AssertionError if there are none, or nothing to look in)."""
        self.look()
        return self.known.search(places).checked()

    def look(self) -> None:
        """Add what the Secrets have now."""
        self.known.note(items(self.namespace, "secrets", f"--selector={self.selector}"))
        self.looks += 1

    def _look_again(self) -> None:
        with contextlib.suppress(CommandFailed):  # the API server is away: the next look has what is there then
            self.look()


def main() -> int:
    """Search, print, and end with 1 if something was found."""
    parser = argparse.ArgumentParser(prog="everywhere", description="Looks for contents of Secrets outside Secrets.")
    parser.add_argument(
        "--secrets", action="append", required=True, metavar="NAMESPACE", help="whose Secrets; searched"
    )
    parser.add_argument("--also", action="append", default=[], metavar="NAMESPACE", help="searched, too")
    parser.add_argument("--path", action="append", default=[], type=Path, help="a file or folder, searched, too")
    parser.add_argument("--disks", action="store_true", help="the volumes in these namespaces, too")
    options = parser.parse_args()
    known = Known()
    for namespace in options.secrets:
        known.note(items(namespace, "secrets"))
    places = everything((*options.secrets, *options.also), options.path, with_disks=options.disks)
    found = known.search(places).checked()
    print(found)
    for row in sorted(known.short):
        print(f"too short to be looked for: {row}")
    return 1 if found.leaks else 0


if __name__ == "__main__":
    sys.exit(main())
