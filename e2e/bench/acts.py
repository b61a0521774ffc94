"""How long the operator takes to act: from the event that a pod is gone to the pod that replaces it.

Pods of many quorums are deleted at a steady pace, whatever the result of the one before, so that a stalled operator
shows in every act that it delays. Both moments are events of one watch, so they do not include the start of a process
or a request.
"""

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.quorum import GROUP
from harness.shell import Json
from kafka_quorum.model.names import FIELD_MANAGER
from kit.errors import KubeError
from kit.kube.client import KubeClient, connect
from kit.kube.protocol import PODS

FOLLOWERS = (3001, 3002)
"""The controllers of `bench/fake` that do not lead."""
_PATIENCE_S = 180.0
_LISTED_TIMEOUT_S = 30.0
_LINE_BYTES = 4 * 1024 * 1024


@dataclass(slots=True)
class Acts:
    """Seconds of every act, and how often a pod was still missing when its turn came again."""

    seconds: list[float] = field(default_factory=list)
    skipped: int = 0
    unanswered: int = 0

    def add(self, other: "Acts") -> None:
        """Add another measurement's figures to these."""
        self.seconds += other.seconds
        self.skipped += other.skipped
        self.unanswered += other.unanswered

    def quantile(self, share: float) -> float:
        """The smallest time within which this share of the acts was completed; an incomplete act counts as longest."""
        if not self.seconds and not self.unanswered:
            raise ValueError("nothing was measured")
        ordered = sorted([*self.seconds, *([_PATIENCE_S] * self.unanswered)])
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure(namespace: str, names: Sequence[str], count: int, interval_s: float) -> Acts:
    """Delete `count` pods of the followers of these quorums, one every `interval_s`; at first all of them exist."""
    keys = [(name, node_id) for node_id in FOLLOWERS for name in names]
    return asyncio.run(_measure(namespace, keys, count, interval_s))


@dataclass(slots=True)
class Seen:
    """The pods in the events of a watch: by quorum and node id."""

    present: dict[tuple[str, int], Json] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    gone_s: dict[tuple[str, int], float] = field(default_factory=dict)
    acts: Acts = field(default_factory=Acts)

    def event(self, kind: str, pod: Json, now_s: float) -> None:
        """One event of the watch, at a monotonic time."""
        labels = pod["metadata"]["labels"]
        key = labels[f"{GROUP}/quorum"], int(labels[f"{GROUP}/node-id"])
        self.news.set()
        if kind == "DELETED":
            self.present.pop(key, None)
            self.gone_s[key] = now_s
            return
        self.present[key] = pod
        if key in self.gone_s:
            self.acts.seconds.append(now_s - self.gone_s.pop(key))


async def _measure(namespace: str, keys: list[tuple[str, int]], count: int, interval_s: float) -> Acts:
    seen, kube = Seen(), await connect(FIELD_MANAGER)
    process = await _watch(namespace)
    reading = asyncio.create_task(_read(process, seen))
    try:
        await _until(seen, lambda: seen.present.keys() >= {*keys}, _LISTED_TIMEOUT_S)
        missing = {*keys} - seen.present.keys()
        assert not missing, f"no pods of {sorted(missing)}"
        turns = itertools.cycle(keys)
        began_s = time.monotonic()
        for number in range(count):
            await asyncio.sleep(max(0.0, began_s + number * interval_s - time.monotonic()))
            await _delete(kube, namespace, seen, next(turns))
        await _until(seen, lambda: not seen.gone_s, _PATIENCE_S)
        seen.acts.unanswered = len(seen.gone_s)
    finally:
        process.terminate()
        await process.wait()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await kube.close()
    return seen.acts


async def _delete(kube: KubeClient, namespace: str, seen: Seen, key: tuple[str, int]) -> None:
    """Delete this pod at once, if it runs."""
    pod = seen.present.get(key)
    if pod is None or not pod.get("status", {}).get("podIP") or key in seen.gone_s:
        seen.acts.skipped += 1
        return
    metadata = pod["metadata"]
    try:
        await kube.delete(PODS, namespace, metadata["name"], uid=metadata["uid"], ended=True)
    except KubeError:
        seen.acts.skipped += 1  # it ended by itself


async def _watch(namespace: str) -> asyncio.subprocess.Process:
    selector = f"{GROUP}/role=controller"
    command = ("kubectl", "-n", namespace, "get", "pods", "-l", selector, "--watch", "--output-watch-events")
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, "-o", "json", stdout=pipe, limit=_LINE_BYTES)


async def _read(process: asyncio.subprocess.Process, seen: Seen) -> None:
    assert process.stdout is not None
    while line := await process.stdout.readline():
        event = json.loads(line)
        seen.event(event["type"], event["object"], time.monotonic())


async def _until(seen: Seen, holds: Callable[[], bool], timeout_s: float) -> None:
    """Wait for the event after which this holds, or for the given time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            while not holds():
                seen.news.clear()
                await seen.news.wait()
