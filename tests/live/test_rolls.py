"""The operator's own code takes a quorum of real Kafka from release to release, and raises the levels.

Only the API server is a model. Each roll restarts every controller once, the active one last; each level is set once.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from tests.live.cluster import LiveCluster
from tests.live.jars import Kafka, ensure_kafka
from tests.live.waiting import NeverHappenedError, wait_for
from tests.simulation.model.kubernetes.kube_model import Written, loaded

from kafka_quorum.api.features import METADATA
from kit.kube.protocol import EVENTS, Json

pytestmark = [pytest.mark.live, pytest.mark.timeout(400), pytest.mark.asyncio(loop_scope="module")]

THREE = {3000, 3001, 3002}
STEPPED_S = 150.0
"""Twenty levels one after the other, each soaked for a second, on a busy machine."""


class Story:
    """The events of a quorum in order, each with the leader at that moment."""

    def __init__(self, cluster: LiveCluster) -> None:
        """Records from now on."""
        self._cluster = cluster
        self.told: list[tuple[str, str, int]] = []
        cluster.kube.watchers.append(self._hear)

    def _hear(self, written: Written) -> None:
        event = loaded(written.after) if written.key[0] == EVENTS.plural else None
        if event is not None:
            status = self._cluster.resource.get("status") or {}
            leader = (status.get("quorum") or {}).get("leaderID", -1)
            self.told.append((event["reason"], event["message"], leader))

    def of(self, reason: str) -> list[str]:
        """The messages with this reason."""
        return [message for said, message, _ in self.told if said == reason]

    def rolls(self) -> Iterator[list[tuple[str, int]]]:
        """For each roll, the restarted pods in order, each with the leader."""
        pods: list[tuple[str, int]] = []
        for reason, message, leader in self.told:
            if reason == "PodRestarted":
                pods.append((message.split()[1], leader))
            if reason == "RollCompleted":
                yield pods
                pods = []


def spec(version: str, **features: Any) -> Json:  # noqa: ANN401 - JSON
    """A quorum of three controllers of this release, which was static at first."""
    return {
        "bootstrap": {"mode": "Static"},
        "kafka": {"version": version, "features": features},
        "controllers": {"replicas": 3, "nodeIDs": sorted(THREE)},
    }


def finalized(cluster: LiveCluster) -> dict[str, int]:
    """The levels in the status."""
    rows = (cluster.resource.get("status") or {}).get("features") or []
    return {row["name"]: row["finalized"] for row in rows}


async def settled(cluster: LiveCluster, reason: str = "Settled") -> None:
    """Waits until FeaturesSettled has this reason for the present spec."""

    async def is_so() -> bool | None:
        row, generation = cluster.condition("FeaturesSettled"), cluster.resource["metadata"]["generation"]
        return (row.get("reason") == reason and row.get("observedGeneration") == generation) or None

    try:
        await wait_for(f"FeaturesSettled with {reason}", is_so, deadline_s=STEPPED_S)
    except NeverHappenedError as error:
        raise NeverHappenedError(f"{error}; {cluster.told()}") from error


@pytest_asyncio.fixture(loop_scope="module")
async def cluster(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveCluster]:
    """No quorum yet; 3.9.2, 4.1.2 and 4.4.0 can run."""
    directory = tmp_path_factory.mktemp("releases")
    made = LiveCluster(kafka, directory, others=(ensure_kafka("3.9.2"), ensure_kafka("4.1.2")))
    await made.open()
    yield made
    await made.close()


async def test_the_whole_way(cluster: LiveCluster) -> None:
    """Static on 3.9.2, to 4.1.2, dynamic by naming kraft.version, to 4.4.0: every feature ends at its top."""
    story = Story(cluster)
    cluster.apply(spec("3.9.2", soakSeconds=1))
    await cluster.ready(THREE)
    await settled(cluster)
    assert finalized(cluster) == {"kraft.version": 0, METADATA: 21}
    assert cluster.resource["status"]["quorum"]["type"] == "Static"

    cluster.apply(spec("4.1.2", soakSeconds=1))
    await cluster.ready(THREE)
    await settled(cluster, "Held")
    assert finalized(cluster)[METADATA] == 21
    assert not story.of("StepFeature")

    dynamic = [{"name": "kraft.version", "level": 1}]
    cluster.apply(spec("4.1.2", soakSeconds=1, policy="Follow", levels=dynamic))
    await settled(cluster)
    await cluster.ready(THREE)
    assert cluster.resource["status"]["quorum"]["type"] == "Dynamic"
    assert len(story.of("QuorumDynamic")) == 1
    assert finalized(cluster)[METADATA] == 27

    cluster.apply(spec("4.4.0", soakSeconds=1, policy="Follow", levels=dynamic))
    await settled(cluster)
    await cluster.ready(THREE)
    assert finalized(cluster) == {row["name"]: row["maxSupported"] for row in cluster.resource["status"]["features"]}

    steps = story.of("StepFeature")
    assert len(steps) == len(set(steps))
    assert sum(step.startswith(METADATA) for step in steps) == 33 - 21
    rolls = list(story.rolls())
    assert len(rolls) == 3
    for pods in rolls:
        assert sorted(name for name, _ in pods) == [f"demo-{node_id}-g1" for node_id in sorted(THREE)]
        name, leader = pods[-1]
        assert name == f"demo-{leader}-g1", "the active controller restarts last"
