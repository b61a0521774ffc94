"""One migration from ZooKeeper, measured step by step from outside: seconds, produce gaps, records, the metadata.

A step ends when the next one may begin. The clients keep the time of each acknowledgement, so the gaps are computed
afterwards, and nothing but the steps happens between the begin and the end.
"""

import json
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from harness.by_hand_migration import Step
from harness.client.ledger import Verdict
from harness.clients import Clients, Gap
from harness.quorum import Quorum
from scenarios.zookeeper_world import ZooKeeperWorld

_WAIT_S = 10.0
_SHOWN_CHARS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """The figures of one migration.

    `steps` have the gaps within each step, `whole` those from the begin until every partition is written to after the
    end; its `took_s` is the time from the begin to the end. `load` is the machine's load average, the mean of one
    sample at each boundary of steps.
    """

    steps: tuple[Gap, ...]
    whole: Gap
    load: float
    verdict: Verdict
    differences: tuple[str, ...]
    offline: int


def measured(world: ZooKeeperWorld, steps: Sequence[Step]) -> Migrated:
    """Take the steps, stop ZooKeeper, and judge what clients and the metadata show. Stops the clients."""
    marks, loads = [time.time()], [os.getloadavg()[0]]
    for what, act in steps:
        act()
        marks.append(time.time())
        loads.append(os.getloadavg()[0])
        print(f"{what}: {marks[-1] - marks[-2]:.1f} s", flush=True)
    world.users.wait_more()
    found = _gaps(world.users, [what for what, _ in steps], marks)
    whole = world.users.gap("from the begin to the end", marks[0], time.time())
    world.ensemble.stop()
    differences = world.differences()
    if world.visible() != world.readable:
        differences = (*differences, "a SCRAM user sees other topics")
    offline = len(world.users.offline())
    return Migrated(
        steps=found,
        whole=replace(whole, took_s=marks[-1] - marks[0]),
        load=statistics.mean(loads),
        verdict=world.users.finish(),
        differences=differences,
        offline=offline,
    )


def _gaps(users: Clients, names: Sequence[str], marks: Sequence[float]) -> tuple[Gap, ...]:
    """The gaps of each step, printed."""
    found = tuple(users.gap(name, *marks[number : number + 2]) for number, name in enumerate(names))
    print(*(f"{gap}, from +{gap.began_s - marks[0]:.1f} s" for gap in found), sep="\n", flush=True)
    return found


@dataclass(slots=True)
class Told:
    """Prints every change of what the status says about the migration, with seconds since the begin."""

    quorum: Quorum
    began_s: float = field(default_factory=time.monotonic)
    _kubectl: subprocess.Popen[str] | None = None
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin to watch."""
        where = ("kubectl", "-n", self.quorum.namespace, "get", "kq", self.quorum.name, "--watch")
        path = "jsonpath={.status.migration}{'\\n'}"
        self._kubectl = subprocess.Popen(
            (*where, "-o", path), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        assert self._kubectl is not None
        assert self._thread is not None
        self._kubectl.terminate()
        self._thread.join(_WAIT_S)
        self._kubectl.wait(_WAIT_S)

    def _read(self) -> None:
        assert self._kubectl is not None
        assert self._kubectl.stdout is not None
        last = ""
        with self._kubectl.stdout as lines:
            for line in lines:
                if not line.endswith("}\n"):  # there is no migration yet, or kubectl was ended in the middle of a line
                    continue
                row = json.loads(line)
                text = f"{row.get('name')} {row.get('state')}: {row.get('missing', '')}"[:_SHOWN_CHARS]
                if text != last:
                    print(f"  +{time.monotonic() - self.began_s:6.1f} s {text}", flush=True)
                last = text
