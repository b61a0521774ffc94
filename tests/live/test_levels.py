"""Refusals of real servers are reported with advice for a person, and allowed changes are done level by level.

One controller is enough: the words are the same, and its restarts are not tested here.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from tests.golden.facts import mentions
from tests.live.cluster import LiveCluster
from tests.live.jars import Kafka
from tests.live.waiting import NeverHappenedError, wait_for

from kafka_quorum.api.features import METADATA
from kit.kube.protocol import Json

pytestmark = [pytest.mark.live, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

ONE = {3000}
BEGUN_AT = 29
SHARE, RAFT = "share.version", "kraft.version"


def spec(levels: Mapping[str, int | str], **features: Any) -> Json:  # noqa: ANN401 - JSON
    """One controller on 4.4.0 with these levels."""
    rows = [{"name": name, "level": level} for name, level in levels.items()]
    return {
        "bootstrap": {"mode": "InitialControllers"},
        "kafka": {
            "version": "4.4.0",
            "features": {"soakSeconds": 0, "policy": "Hold", "downgrade": "Forbid"} | features | {"levels": rows},
        },
        "controllers": {"replicas": 1, "nodeIDs": sorted(ONE)},
    }


def finalized(cluster: LiveCluster) -> dict[str, int]:
    """The levels in the status."""
    rows = (cluster.resource.get("status") or {}).get("features") or []
    return {row["name"]: row["finalized"] for row in rows}


async def told(cluster: LiveCluster, wanted: Json, reason: str) -> str:
    """Applies a spec, waits until FeaturesSettled has this reason, and returns its message."""
    cluster.apply(wanted)

    async def message() -> str | None:
        row, generation = cluster.condition("FeaturesSettled"), cluster.resource["metadata"]["generation"]
        return (
            str(row["message"]) if (row.get("reason"), row.get("observedGeneration")) == (reason, generation) else None
        )

    try:
        return await wait_for(f"FeaturesSettled with {reason}", message, deadline_s=60)
    except NeverHappenedError as error:
        raise NeverHappenedError(f"{error}; {cluster.told()}") from error


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveCluster]:
    """One controller, formatted below the top."""
    made = LiveCluster(kafka, tmp_path_factory.mktemp("levels"))
    await made.open()
    made.apply(spec({METADATA: BEGUN_AT}))
    await made.ready(ONE)
    yield made
    await made.close()


async def refusals(cluster: LiveCluster) -> None:
    """Held, forbidden, refused by the server, impossible: each has its own message, and no level changes."""
    base = {METADATA: BEGUN_AT}
    held = await told(cluster, spec(base), "Held")
    assert mentions(held, METADATA, "4.2-IV1", 29, "4.4-IV2", 33)
    assert "spec.kafka.features.policy" in held

    mistaken = await told(cluster, spec({METADATA: 28}), "Refused")
    assert mentions(mistaken, "4.2-IV0", 28)
    assert "spec.kafka.features.downgrade" in mistaken

    needed = await told(cluster, spec({METADATA: 21}, downgrade="Safe"), "Blocked")
    assert mentions(needed, "eligible.leader.replicas.version", 1, "4.0-IV1", 23)

    before = finalized(cluster)
    cluster.apply(spec({RAFT: 0}))
    refused = await wait_for("the spec is refused", _fault(cluster), deadline_s=30)
    assert RAFT in refused
    await told(cluster, spec(base), "Held")
    assert finalized(cluster) == before
    assert before[METADATA] == BEGUN_AT


def _fault(cluster: LiveCluster) -> Any:  # noqa: ANN401 - what wait_for takes
    async def message() -> str | None:
        row, generation = cluster.condition("SpecAccepted"), cluster.resource["metadata"]["generation"]
        return (
            str(row["message"]) if (row.get("status"), row.get("observedGeneration")) == ("False", generation) else None
        )

    return message


async def safe_ways(cluster: LiveCluster) -> None:
    """Two levels down, a feature off and on again, and every feature to its top, one step after the other."""
    await told(cluster, spec({METADATA: 27, SHARE: 0}, downgrade="Safe"), "Held")
    assert finalized(cluster)[METADATA] == 27
    assert finalized(cluster)[SHARE] == 0
    await told(cluster, spec({}, policy="Follow"), "Settled")
    assert finalized(cluster) == {row["name"]: row["maxSupported"] for row in cluster.resource["status"]["features"]}
    lossy = await told(cluster, spec({METADATA: BEGUN_AT}, downgrade="Safe"), "Refused")
    assert mentions(lossy, 33, 29)
    assert finalized(cluster)[METADATA] == 33


async def test_refusals_are_told_and_safe_ways_are_gone(cluster: LiveCluster) -> None:
    """What Kafka refuses is reported and changes nothing; what it allows is done, down and up again."""
    await refusals(cluster)
    await safe_ways(cluster)
