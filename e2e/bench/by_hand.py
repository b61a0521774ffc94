"""A lost disk replaced by a script, as fast as possible: the least time that the operator's replacement can take.

The quorum is the one from plain manifests, whose pods format an empty disk by themselves without initial controllers.
The script does the rest: wait until the newcomer is caught up, remove the stale voter, add the new one. Both sides lose
their disk in the same way, and both are finished when a leader names the new replica as a caught-up voter.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterable

from bench.floor import CLUSTER_ID, endpoints_of, ordinal
from harness import nodes
from harness.shell import items, kubectl
from kafka_quorum.api.properties import DEFAULT_FETCH_TIMEOUT_MS
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.ids import ClusterID, ReplicaKey
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import QuorumView
from kafka_quorum.model.quorum import AddVoter, Endpoint, Listener, RemoveVoter
from kafka_quorum.observe.quorum import view
from kafka_quorum.wire.admin import KafkaControllers

_POLL_S = 0.1
_TIMEOUT_S = 180.0
_ADD_TIMEOUT_MS = 1_000
"""Short, because the next attempt may succeed: the leader's process caches an unknown name for ten seconds."""
_SELECTOR = "app=quorum"

Endpoints = Callable[[], Iterable[Endpoint]]


def prepare(namespace: str) -> None:
    """From now on new pods format an empty disk without initial controllers."""
    patch = json.dumps({"data": {"mode": "observer"}})
    kubectl("-n", namespace, "patch", "configmap", "quorum", "--type=merge", "-p", patch)


def lose_disk(namespace: str, claim: str, pod: str) -> None:
    """Empty a volume under its pod, and delete the pod."""
    nodes.wipe(namespace, claim)
    kubectl("-n", namespace, "delete", "pod", pod, "--wait=false")


def plain_endpoints(namespace: str) -> Endpoints:
    """The present endpoints of the plain manifests' controllers."""
    return lambda: endpoints_of(items(namespace, "pods", "-l", _SELECTOR), ordinal)


def leader(endpoints: Endpoints) -> int:
    """The active controller's node id."""
    return asyncio.run(_leader(endpoints))


async def _leader(endpoints: Endpoints) -> int:
    controllers, deadline = KafkaControllers(), time.monotonic() + _TIMEOUT_S
    try:
        while time.monotonic() < deadline:
            found = await leader_view(controllers, list(endpoints()))
            if found is not None:
                return int(found[1].answer.leader_id)
            await asyncio.sleep(_POLL_S)
        raise AssertionError("no leader")
    finally:
        await controllers.close()


def seconds_until_cured(endpoints: Endpoints, node_id: int, started_s: float, *, by_hand: bool) -> dict[str, float]:
    """Seconds since `started_s` at which the newcomer was an observer, caught up, and a caught-up voter (`done`).

    With `by_hand` the voters are changed from here; without it, they are only read.
    """
    return asyncio.run(_until_cured(endpoints, node_id, started_s, by_hand=by_hand))


async def _until_cured(endpoints: Endpoints, node_id: int, started_s: float, *, by_hand: bool) -> dict[str, float]:
    controllers, marks = KafkaControllers(), dict[str, float]()
    first: ReplicaKey | None = None
    known: list[Endpoint] = []
    try:
        while (passed_s := time.monotonic() - started_s) < _TIMEOUT_S:
            found = await leader_view(controllers, known)
            if found is None or not marks:
                known = list(await asyncio.to_thread(endpoints))  # pods change their addresses
            if found is not None:
                where, seen = found
                own = {key for key in seen.voters | seen.observers if key.node_id == node_id}
                first = first or next((key for key in seen.voters if key.node_id == node_id), None)
                _mark(marks, seen, own - {first}, passed_s)
                if "done" in marks:
                    return marks
                if by_hand and "caught up" in marks:
                    await _exchange(controllers, where, seen, own - {first})
            await asyncio.sleep(_POLL_S)
        raise AssertionError(f"controller {node_id} is no voter again after {_TIMEOUT_S:.0f} s: {marks}")
    finally:
        await controllers.close()


def _mark(marks: dict[str, float], seen: QuorumView, new: set[ReplicaKey], passed_s: float) -> None:
    for key in new & seen.live:
        marks.setdefault("observer", passed_s)
        if key in seen.shown:
            marks.setdefault("caught up", passed_s)
            if key in seen.voters:
                marks.setdefault("done", passed_s)


async def _exchange(
    controllers: KafkaControllers, where: Endpoint, seen: QuorumView, new: Iterable[ReplicaKey]
) -> None:
    """Remove the stale voter and add the new one at once; a failure is retried at the next look."""
    cluster_id = ClusterID(CLUSTER_ID)
    for key in new:
        if key not in seen.shown or key in seen.voters:
            continue
        host = f"quorum-{key.node_id}.quorum"
        listeners = (Listener(name="CONTROLLER", host=host, port=9093),)
        with contextlib.suppress(KafkaError):
            if (stale := seen.voter_of(key.node_id)) is not None:
                await controllers.remove_voter(where, RemoveVoter(cluster_id=cluster_id, voter=stale))
            request = AddVoter(cluster_id=cluster_id, voter=key, listeners=listeners, timeout_ms=_ADD_TIMEOUT_MS)
            await controllers.add_voter(where, request)


async def leader_view(
    controllers: KafkaControllers, endpoints: Iterable[Endpoint]
) -> tuple[Endpoint, QuorumView] | None:
    """The answer of the leader with the highest epoch, judged, and its origin."""

    async def one(endpoint: Endpoint) -> tuple[Endpoint, QuorumView] | None:
        try:
            answer = await controllers.describe_quorum(endpoint)
        except KafkaError:
            return None
        judged, _ = view(answer, Memory(), live_within_ms=DEFAULT_FETCH_TIMEOUT_MS, taken_at_s=0.0, settles_s=0.0)
        return endpoint, judged

    found = [answer for answer in await asyncio.gather(*map(one, endpoints)) if answer is not None]
    return max(found, key=lambda entry: entry[1].answer.leader_epoch, default=None)
