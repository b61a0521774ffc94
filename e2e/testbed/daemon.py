"""The private dockerd: in its own network namespace, with all its files in the cache."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from testbed import packages
from testbed.config import NETNS, SOURCE, Paths
from testbed.engine import Engine
from testbed.process import TestbedError, environment, output, succeeds
from testbed.progress import step

_START_TIMEOUT_S = 60
_STOP_TIMEOUT_S = 60
_SOCKET_PATH_MAX = 90  # a Unix socket's path is limited to 107 bytes, and containerd's is 18 longer than ours
_INOTIFY_INSTANCES = 1024
_INOTIFY_FILE = Path("/proc/sys/fs/inotify/max_user_instances")


def ensure(engine: Engine) -> None:
    """Start the engine's daemon if the test bed must start it and it does not run."""
    if engine.kind == "stock":
        return
    paths = engine.paths
    packages.ensure(paths, packages.ENGINE)
    if succeeds(["docker", "version"], env=engine.env()):
        return
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        raise TestbedError("the home-made node needs cgroup v1; with cgroup v2, provide docker and a node image")
    if len(str(paths.docker_socket)) > _SOCKET_PATH_MAX:
        raise TestbedError(f"{paths.cache} is too long a path for a socket in it: set TESTBED_CACHE")
    with step("start dockerd"):
        _ensure_netns()
        _raise_inotify_limit()
        _start(paths)
        _wait_until_answering(engine)


def stop(paths: Paths) -> None:
    """Stop the private dockerd, and with it every container; its images stay."""
    pid_file = paths.run / "dockerd.pid"
    pid = _running_pid(pid_file)
    if pid is None:
        return
    with step("stop dockerd"):
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        while _running_pid(pid_file) is not None:
            if time.monotonic() > deadline:
                raise TestbedError(f"dockerd (pid {pid}) does not stop")
            time.sleep(0.1)


def remove_netns() -> None:
    """Remove the network namespace, with its bridges and routes."""
    if _netns_exists():
        output(["ip", "netns", "delete", NETNS])


def _running_pid(pid_file: Path) -> int | None:
    """The pid in the file if it is a live dockerd's: after a reboot another process may have it."""
    try:
        pid = int(pid_file.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return pid if _is_dockerd(pid) else None


def _is_dockerd(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name.startswith("dockerd")
    except (FileNotFoundError, ProcessLookupError):  # gone, or ended and not waited for
        return False


def _netns_exists() -> bool:
    return NETNS in output(["ip", "netns", "list"]).split()


def _ensure_netns() -> None:
    if _netns_exists():
        if any(_is_dockerd(int(pid)) for pid in output(["ip", "netns", "pids", NETNS]).split()):
            raise TestbedError(f"another test bed, with another cache, runs in the network namespace {NETNS}")
        return
    output(["ip", "netns", "add", NETNS])
    output(["ip", "-n", NETNS, "link", "set", "lo", "up"])
    output(["nsenter", f"--net=/run/netns/{NETNS}", "sysctl", "-qw", "net.ipv4.ip_forward=1"])


def _raise_inotify_limit() -> None:
    """Every node runs a containerd and a kubelet with watches; Debian's limit of 128 is soon reached."""
    if int(_INOTIFY_FILE.read_text()) < _INOTIFY_INSTANCES:
        _INOTIFY_FILE.write_text(str(_INOTIFY_INSTANCES))


def _start(paths: Paths) -> None:
    for directory in (paths.run, paths.log, paths.docker, paths.bin):
        directory.mkdir(parents=True, exist_ok=True)
    runtime = paths.bin / "runc-caps"
    shutil.copy(SOURCE / "runc-caps", runtime)
    (paths.run / "dockerd.pid").unlink(missing_ok=True)
    command = [
        *("nsenter", f"--net=/run/netns/{NETNS}", "dockerd"),
        *("--host", f"unix://{paths.docker_socket}"),
        *("--pidfile", paths.run / "dockerd.pid"),
        *("--data-root", paths.docker),
        *("--exec-root", paths.run / "docker"),
        *("--add-runtime", f"caps={runtime}", "--default-runtime", "caps"),
        *("--exec-opt", "native.cgroupdriver=cgroupfs", "--default-cgroupns-mode", "private"),
        *("--storage-driver", "overlay2"),
    ]
    with (paths.log / "dockerd.log").open("w") as log:
        subprocess.Popen(
            [*map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment(),
            start_new_session=True,
        )


def _wait_until_answering(engine: Engine) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not succeeds(["docker", "version"], env=engine.env()):
        if time.monotonic() > deadline:
            raise TestbedError(f"dockerd does not answer; see {engine.paths.log / 'dockerd.log'}")
        time.sleep(0.2)
