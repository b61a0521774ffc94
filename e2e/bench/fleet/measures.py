"""What is measured with a fleet: at rest, acts, the start, a storm of rolls, and a restarted API server."""

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import aiohttp

from bench.acts import Acts, Seen
from bench.fleet.control_plane import ControlPlane
from bench.fleet.operator_process import Process, peak
from bench.fleet.stage import name_of, namespace_of, state
from bench.fleet.world import PROXY_PORT
from harness.shell import Json, wait_until
from kafka_quorum.model.names import RESTARTED_AT

_GROUP: Final = "kafkaquorum.io"
_PODS: Final = f"pods?labelSelector={_GROUP}/role%3Dcontroller"
_PATIENCE_S: Final = 120.0
_START_TIMEOUT_S: Final = 300.0
_AWAY_S: Final = 5.0
_AFTER_S: Final = 30.0
_QUIET_S: Final = 10.0
_SETTLED_EACH_S: Final = 1.5
_READ_BYTES: Final = 2**24
_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
FOLLOWERS: Final = (3001, 3002)
"""The controllers that do not lead."""


def at_rest(plane: ControlPlane, operator: Process, seconds: float, quorums: int) -> tuple[Json, Json]:
    """CPU, memory and API requests while nothing happens; and the requests by kind, those for a minute."""
    mark, cpu_s, looks, began_s = plane.mark(), operator.cpu_s(), state()["requests"], time.monotonic()
    time.sleep(seconds)  # the duration itself is the divisor of the measurement
    passed_s = time.monotonic() - began_s
    now_mib, peak_mib = operator.memory_mib()
    minute = 60 / passed_s
    found = plane.requests(mark)
    kept = sum(count for what, count in found.items() if what.startswith("watch ") or what.endswith(" leases"))
    kinds = {what: round(count * minute, 1) for what, count in found.most_common()}
    return kinds, {
        "quorums": quorums,
        "seconds": round(passed_s, 1),
        "cpu_percent": round((operator.cpu_s() - cpu_s) * 100 / passed_s, 2),
        "memory_mib": round(now_mib, 1),
        "peak_mib": round(peak_mib, 1),
        "lease_and_watches_per_minute": round(kept * minute, 1),
        "other_requests_per_minute": round((found.total() - kept) * minute, 1),
        "kafka_requests_per_s": round((state()["requests"] - looks) / passed_s, 1),
    }


def settled(plane: ControlPlane, quorums: int) -> float:
    """Seconds until the operator writes no `QuorumLook` any more: after a start it writes one of each quorum."""
    began_s = time.monotonic()

    def nothing_was_written() -> bool:
        mark = plane.mark()
        time.sleep(_QUIET_S)  # a duration to be observed
        return not any("quorumlooks" in what for what in plane.requests(mark))

    wait_until("the looks at all quorums are written", nothing_was_written, _SETTLED_EACH_S * quorums + 120.0, 0.0)
    return round(time.monotonic() - began_s, 1)


def looked_at(operator: Process, quorums: int) -> float:
    """Seconds from the start of the process until the leader of every quorum was asked."""

    def all_looked_at() -> bool:
        return int(state(operator.began_s).get("looked_at", 0)) >= quorums

    wait_until(f"{quorums} quorums were looked at", all_looked_at, _START_TIMEOUT_S, 0.25)
    return round(time.time() - operator.began_s, 2)


def acts(numbers: Sequence[int], count: int, interval_s: float) -> Json:
    """From a follower's pod that is gone to the one in its place, for `count` pods, one every `interval_s`."""
    return figures_of(asyncio.run(_acts(numbers, count, interval_s)))


def figures_of(found: Acts) -> Json:
    """Quantiles in seconds."""
    shares = {"p50_s": 0.5, "p90_s": 0.9, "p99_s": 0.99, "max_s": 1.0}
    quantiles = {name: round(found.quantile(share), 3) for name, share in shares.items()}
    return {"acts": len(found.seconds), **quantiles, "skipped": found.skipped, "never": found.unanswered}


async def _acts(numbers: Sequence[int], count: int, interval_s: float) -> Acts:
    seen = Seen()
    async with _session() as session:
        # Only where something happens: to read 3,000 pods would take the processors that the operator needs.
        watching = asyncio.gather(
            *(
                _watch(
                    session, f"/api/v1/namespaces/{namespace}/{_PODS}", lambda event, now_s: _take(seen, event, now_s)
                )
                for namespace in sorted({namespace_of(number) for number in numbers})
            )
        )
        try:
            keys = [(name_of(number), node_id) for node_id in FOLLOWERS for number in numbers]
            await _until(seen.news, lambda: seen.present.keys() >= {*keys}, _PATIENCE_S)
            turns, began_s = itertools.cycle(keys), time.monotonic()
            for number in range(count):
                await asyncio.sleep(max(0.0, began_s + number * interval_s - time.monotonic()))
                await _delete(session, seen, next(turns))
            await _until(seen.news, lambda: not seen.gone_s, _PATIENCE_S)
            seen.acts.unanswered = len(seen.gone_s)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    return seen.acts


def _take(seen: Seen, event: Json, now_s: float) -> None:
    if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
        seen.event(event["type"], event["object"], now_s)


async def _delete(session: aiohttp.ClientSession, seen: Seen, key: tuple[str, int]) -> None:
    """Delete this pod at once, if it runs."""
    pod = seen.present.get(key)
    if pod is None or not pod.get("status", {}).get("podIP") or key in seen.gone_s:
        seen.acts.skipped += 1
        return
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}?gracePeriodSeconds=0"
    async with session.delete(path) as answer:
        seen.acts.skipped += answer.status >= 400


def _session() -> aiohttp.ClientSession:
    timeout = aiohttp.ClientTimeout(total=None)
    return aiohttp.ClientSession(f"http://127.0.0.1:{PROXY_PORT}", timeout=timeout, read_bufsize=_READ_BYTES)


async def _until(news: asyncio.Event, holds: Callable[[], bool], timeout_s: float) -> None:
    """Wait for the event after which this holds, or for the given time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            while not holds():
                news.clear()
                await news.wait()


async def _watch(session: aiohttp.ClientSession, path: str, take: Callable[[Json, float], None]) -> None:
    """Every event from the existing objects on; a watch that ends begins again with the existing objects."""
    while True:
        try:
            async with session.get(f"{path}&watch=1") as answer:
                while line := await answer.content.readline():
                    take(json.loads(line), time.monotonic())
        except (aiohttp.ClientError, OSError, ValueError):
            await asyncio.sleep(0.2)


def storm(plane: ControlPlane, operator: Process, numbers: Sequence[int]) -> Json:
    """Request a restart of every controller of these quorums at once: when the first one is stopped, and all are done.

    A roll begins with the eviction of a pod, and ends with the third new pod.
    """
    mark, cpu_s = plane.mark(), operator.cpu_s()
    with peak(operator) as highest:
        first, done = asyncio.run(_storm(numbers))
    passed_s = max(done.values())
    begun = Acts(seconds=sorted(first.values()), unanswered=len(numbers) - len(first))
    return {
        "rolls": len(numbers),
        "finished": len(done),
        "first_stop": figures_of(begun),
        "all_done_s": round(passed_s, 1),
        "api_requests_per_s": round(plane.requests(mark).total() / passed_s, 1),
        "cpu_percent": round((operator.cpu_s() - cpu_s) * 100 / passed_s, 1),
        "peak_mib": round(highest.memory_mib, 1),
    }


async def _storm(numbers: Sequence[int]) -> tuple[dict[str, float], dict[str, float]]:
    """By quorum: seconds from its change until its first pod was gone, and until the last of three was made again."""
    began: dict[str, float] = {}
    first: dict[str, float] = {}
    made: dict[str, set[str]] = {}
    done: dict[str, float] = {}

    news = asyncio.Event()

    def take(event: Json, now_s: float) -> None:
        news.set()
        metadata = event["object"]["metadata"]
        name = metadata.get("labels", {}).get(f"{_GROUP}/quorum", "")
        if name not in began:
            return
        if event["type"] == "DELETED":
            first.setdefault(name, now_s - began[name])
        elif event["type"] == "ADDED" and name in first:
            made.setdefault(name, set()).add(metadata["uid"])
            if len(made[name]) == len(FOLLOWERS) + 1:
                done.setdefault(name, now_s - began[name])

    async with _session() as session:
        watching = asyncio.create_task(_watch(session, f"/api/v1/{_PODS}", take))
        try:
            await asyncio.sleep(5)  # the events of the existing pods have come by then
            stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

            async def begin(number: int) -> None:
                began[name_of(number)] = time.monotonic()
                path = f"/apis/{_GROUP}/v1alpha1/namespaces/{namespace_of(number)}/kafkaquorums/{name_of(number)}"
                body: dict[str, Any] = {"metadata": {"annotations": {RESTARTED_AT: stamp}}}
                async with session.patch(path, json=body, headers=_MERGE) as answer:
                    answer.raise_for_status()

            await asyncio.gather(*map(begin, numbers))
            await _until(news, lambda: len(done) == len(numbers), 3 * _PATIENCE_S)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    return first, done


def api_server_restarted(plane: ControlPlane, operator: Process, quorums: int) -> Json:
    """Kill the API server: every watch is lost. Until every quorum was looked at, and what that costs."""
    mark, cpu_s = plane.mark(), operator.cpu_s()
    with peak(operator) as highest:
        plane.stop_api_server()
        killed_s = time.time()
        time.sleep(_AWAY_S)
        plane.start_api_server()
        answered_s = time.time()
        wait_until(
            "every quorum is looked at again",
            lambda: int(state(answered_s).get("looked_at", 0)) >= quorums,
            _START_TIMEOUT_S,
            0.25,
        )
        again_s = time.time() - answered_s
        time.sleep(_AFTER_S)  # what follows the lost watches
    return {
        "quorums": quorums,
        "away_s": round(answered_s - killed_s, 1),
        "looked_at_after_s": round(again_s, 1),
        "api_requests": plane.requests(mark).total(),
        "cpu_s": round(operator.cpu_s() - cpu_s, 1),
        "peak_mib": round(highest.memory_mib, 1),
        "peak_cores": round(highest.cores, 2),
    }
