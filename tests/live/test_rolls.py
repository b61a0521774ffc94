"""The operator's own code takes quorums of real Kafka from release to release, and up the levels.

Only the API server is a model. Every roll ends with one leader change at most, and every level is seen on every node.
"""

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.live.cluster import KEY, LiveCluster
from tests.live.jars import Kafka, ensure_kafka
from tests.live.waiting import wait_for

from kafka_quorum.kube.protocol import EVENTS, Json

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

THREE = {3000, 3001, 3002}


def spec(mode: str, version: str, **features: Any) -> Json:  # noqa: ANN401 - JSON
    """A quorum of three of this release."""
    return {
        "bootstrap": {"mode": mode},
        "kafka": {"version": version, "features": features},
        "controllers": {"replicas": 3, "nodeIDs": sorted(THREE)},
    }


def finalized(cluster: LiveCluster) -> dict[str, int]:
    """The levels, as the status has them."""
    rows = (cluster.resource.get("status") or {}).get("features") or []
    return {row["name"]: row["finalized"] for row in rows}


def events(cluster: LiveCluster, reason: str) -> list[str]:
    """The messages of the events with this reason, in order."""
    found = [item for item in cluster.kube.all(EVENTS) if item["reason"] == reason]
    return [str(item["message"]) for item in found]


async def settled(cluster: LiveCluster, reason: str = "Settled") -> None:
    """Wait until the features are at the levels that the spec asks for."""

    async def is_so() -> bool | None:
        row, generation = cluster.condition("FeaturesSettled"), cluster.resource["metadata"]["generation"]
        return (row.get("reason") == reason and row.get("observedGeneration") == generation) or None

    await wait_for(f"FeaturesSettled with {reason}; {cluster.told()}", is_so, deadline_s=120)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def static(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveCluster]:
    """A static quorum of three on 3.9.2, at its highest level."""
    directory = tmp_path_factory.mktemp("static")
    cluster = LiveCluster(kafka, directory, others=(ensure_kafka("3.9.2"), ensure_kafka("4.1.2")))
    await cluster.open()
    cluster.apply(spec("Static", "3.9.2"))
    yield cluster
    await cluster.close()


async def test_the_whole_way(static: LiveCluster) -> None:
    """3.9.2 and static, to 4.1.2, dynamic by naming kraft.version, to 4.4.0, with every feature at its top."""
    began_s = time.monotonic()

    def say(what: str) -> None:
        print(f"[{time.monotonic() - began_s:5.1f} s] {what}", flush=True)

    await static.ready(THREE)
    say(f"static on 3.9.2: {finalized(static)} {static.resource['status']['quorum']}")
    static.apply(spec("Static", "4.1.2", soakSeconds=1))
    await static.ready(THREE)
    say("4.1.2")
    levels = [{"name": "kraft.version", "level": 1}]
    static.apply(spec("Static", "4.1.2", soakSeconds=1, policy="Follow", levels=levels))
    await settled(static)
    await static.ready(THREE)
    say(f"dynamic: {finalized(static)} {static.resource['status']['quorum']}")
    static.apply(spec("Static", "4.4.0", soakSeconds=1, policy="Follow", levels=levels))
    await settled(static)
    await static.ready(THREE)
    say(f"4.4.0: {finalized(static)}")
    for reason in ("RollMovesOn", "PodRestarted", "StepFeature", "RollCompleted", "QuorumDynamic"):
        for message in events(static, reason):
            say(f"{reason}: {message}")
    assert KEY
