"""The operator's own code makes, grows, shrinks and heals quorums of real Kafka, through real crashes.

Only the API server is a model. Whatever happens, no step of a voter set may be more than one replica key.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.live.cluster import LiveCluster
from tests.live.jars import Kafka
from tests.live.recorder import faults
from tests.live.voterlog import voter_sets

from kafka_quorum.kube.protocol import CLAIMS, Json
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.quorum import QuorumAnswer
from kafka_quorum.resources.properties import DATA_PATH, LOG_DIR

pytestmark = [pytest.mark.live, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

THREE = {3000, 3001, 3002}


def spec(mode: str, node_ids: set[int]) -> Json:
    """A quorum of exactly these controllers."""
    return {
        "bootstrap": {"mode": mode},
        "kafka": {"version": "4.4.0"},
        "controllers": {"replicas": len(node_ids), "nodeIDs": sorted(node_ids)},
    }


def keys(answer: QuorumAnswer) -> set[ReplicaKey]:
    """The voter set."""
    return {row.key for row in answer.voters}


def check(cluster: LiveCluster) -> None:
    """No step of the voter set, seen or logged, was more than one change."""
    volumes = [cluster.kubelet.volume(claim["metadata"]["uid"]) for claim in cluster.kube.all(CLAIMS)]
    logs = [voter_sets(volume / LOG_DIR.removeprefix(f"{DATA_PATH}/")) for volume in volumes]
    assert cluster.recorder.answers > 0
    assert any(logs)
    assert faults(cluster.recorder.seen, logs) == []


@pytest_asyncio.fixture(loop_scope="module")
async def fresh(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveCluster]:
    """A cluster without a quorum."""
    cluster = LiveCluster(kafka, tmp_path_factory.mktemp("fresh"))
    await cluster.open()
    yield cluster
    await cluster.close()


async def test_initial_controllers_become_a_quorum(fresh: LiveCluster) -> None:
    """Three controllers are formatted together, elect a leader, and are the voters that their disks say."""
    fresh.apply(spec("InitialControllers", THREE))
    answer = await fresh.ready(THREE)
    assert len(keys(answer)) == 3
    check(fresh)
