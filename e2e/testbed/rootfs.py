"""Debian root file systems without a registry: debootstrap makes one base, apt adds a layer for each purpose.

A layer is the upper directory of an overlay over the base, in which apt ran in a chroot with the host's
network (the private dockerd has none). So all images share the base, on disk and in the nodes.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.config import DEBIAN_SUITE, Paths
from testbed.keys import content_key, once
from testbed.process import run

_APT_ENV = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
_LEFT_OUT = (
    "dev/*",
    "etc/hostname",
    "etc/resolv.conf",
    "run/*",
    "tmp/*",
    "usr/share/doc/*",
    "usr/share/info/*",
    "usr/share/locale/*",
    "usr/share/man/*",
    "var/cache/*/*",
    "var/lib/apt/lists/*",
    "var/log/*",
)
"""What no image needs. The directories themselves stay, because scripts of some packages require them."""


def base_key() -> str:
    """The inputs of the base image."""
    return content_key(DEBIAN_SUITE, *_LEFT_OUT)


def ensure_base(paths: Paths) -> Path:
    """The directory of the base root file system."""
    base = paths.work / "rootfs"

    def bootstrap() -> None:
        partial = base.with_suffix(".partial")
        for leftover in (partial, base):
            shutil.rmtree(leftover, ignore_errors=True)
        partial.parent.mkdir(parents=True, exist_ok=True)
        command = ["debootstrap", "--variant=minbase", DEBIAN_SUITE, partial]
        run(command, paths.log / "debootstrap.log", env=_APT_ENV)
        partial.rename(base)

    once(paths, "debootstrap", content_key(DEBIAN_SUITE), base, bootstrap)
    return base


def pack_base(paths: Paths, archive: Path) -> None:
    """The base as a tar archive, ready for `docker import`."""
    _pack(ensure_base(paths), archive, paths.log / "layers.log")


def pack_layer(paths: Paths, packages: tuple[str, ...], archive: Path) -> None:
    """Install packages over the base, and pack the added and changed files."""
    log = paths.log / "layers.log"
    with _overlay(ensure_base(paths), paths.work / "overlay", log) as (merged, upper):
        policy = merged / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")  # no service may start in the chroot
        policy.chmod(0o755)
        shutil.copyfile("/etc/resolv.conf", merged / "etc/resolv.conf")
        chroot = ["chroot", merged, "apt-get", "-q", "-y"]
        run([*chroot, "update"], log, env=_APT_ENV)
        run([*chroot, "install", "--no-install-recommends", *packages], log, env=_APT_ENV)
        policy.unlink()
        _pack(upper, archive, log)


@contextmanager
def _overlay(lower: Path, scratch: Path, log: Path) -> Iterator[tuple[Path, Path]]:
    """A writable view of a directory, with /proc in it; yields the view and the changed files."""
    shutil.rmtree(scratch, ignore_errors=True)
    merged, upper, work = (scratch / name for name in ("merged", "upper", "work"))
    for directory in (merged, upper, work):
        directory.mkdir(parents=True)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    run(["mount", "-t", "overlay", "overlay", "-o", options, merged], log)
    try:
        run(["mount", "-t", "proc", "proc", merged / "proc"], log)
        try:
            yield merged, upper
        finally:
            run(["umount", merged / "proc"], log)
    finally:
        run(["umount", merged], log)
        shutil.rmtree(scratch)


def _pack(directory: Path, archive: Path, log: Path) -> None:
    excluded = [f"--exclude=./{pattern}" for pattern in (*_LEFT_OUT, *_whiteouts(directory))]
    archive.parent.mkdir(parents=True, exist_ok=True)
    run(["tar", "-C", directory, "--numeric-owner", *excluded, "-cf", archive, "."], log)


def _whiteouts(directory: Path) -> Iterator[str]:
    """Overlay's marks for deleted files (character devices 0:0). Packages rarely delete what the base has."""
    for parent, _, files in os.walk(directory):
        for name in files:
            status = Path(parent, name).lstat()
            if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
                yield str(Path(parent, name).relative_to(directory))
