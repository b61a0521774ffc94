"""The operator of this checkout as a process beside the control plane, with the rights and settings of the chart.

It has the account and the environment that the chart gives to its pod. So what it requests is counted by its account,
and what it uses is the kernel's account of one process.
"""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.fleet.control_plane import ControlPlane, process
from bench.fleet.stage import log
from demo import NAMESPACE
from testbed.config import PROJECT

_RUN: Final = """
import runpy, sys
sys.modules["hypothesis"] = None  # a library imports it if it is there, and the operator's image does not have it
runpy.run_module("kafka_quorum", run_name="__main__")
"""
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_MIB: Final = 1024.0
_SAMPLE_S: Final = 1.0


@dataclass(slots=True)
class Process:
    """A running operator, and the highest memory since `rest_memory` was called."""

    pid: int
    began_s: float = field(default_factory=time.time)

    def cpu_s(self) -> float:
        """Seconds of CPU since it began."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    def memory_mib(self) -> tuple[float, float]:
        """Resident memory now, and at its peak."""
        rows = dict(line.split(":", 1) for line in Path(f"/proc/{self.pid}/status").read_text().splitlines())
        now, peak = (int(rows[name].split()[0]) / _MIB for name in ("VmRSS", "VmHWM"))
        return now, peak


@dataclass(slots=True)
class Peak:
    """The highest share of a core in any `_SAMPLE_S`, and the highest memory, while it runs."""

    operator: Process
    memory_mib: float = 0.0
    cores: float = 0.0
    _end: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Sample until `end`."""
        used_s, at_s = self.operator.cpu_s(), time.monotonic()
        while not self._end.wait(_SAMPLE_S):
            now_used_s, now_s = self.operator.cpu_s(), time.monotonic()
            self.cores = max(self.cores, (now_used_s - used_s) / (now_s - at_s))
            self.memory_mib = max(self.memory_mib, self.operator.memory_mib()[0])
            used_s, at_s = now_used_s, now_s

    def end(self) -> None:
        """No more samples."""
        self._end.set()


@contextlib.contextmanager
def peak(of: Process) -> Iterator[Peak]:
    """The peak of what runs inside."""
    found = Peak(of)
    thread = threading.Thread(target=found.watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.end()
        thread.join()


@contextlib.contextmanager
def running(plane: ControlPlane, *, tick_s: float = 10.0) -> Iterator[Process]:
    """The operator of this checkout while this lasts."""
    env = {
        **plane.environment(),
        "KQ_LEASE_NAMESPACE": NAMESPACE,
        "KQ_TICK_S": str(tick_s),
        "KQ_PROBE_PORT": "8973",
        "KQ_METRICS_PORT": "8974",
        "HOSTNAME": f"fleet-{os.getpid()}",
        "PYTHONPATH": str(PROJECT / "operator"),
        "KUBECONFIG": str(plane.operators_kubeconfig),
    }
    command = (sys.executable, "-c", _RUN)
    with process(command, plane.folder / f"operator-{int(time.time())}.log", env) as pid:
        log(f"the operator is process {pid}")
        yield Process(pid)
