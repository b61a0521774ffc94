"""Real disks of a static quorum, without anything else, are adopted by the operator and made dynamic."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.live.cluster import NAME, NAMESPACE, LiveCluster
from tests.live.jars import Kafka
from tests.live.waiting import wait_for

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.names import LABEL_NODE, LABEL_QUORUM
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, PODS, REVISIONS, SERVICES, Json

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

THREE = {3000, 3001, 3002}


def spec(mode: str, cluster_id: str = "", levels: tuple[Json, ...] = ()) -> Json:
    """A quorum of three on 4.4.0."""
    return {
        "bootstrap": {"mode": mode},
        "clusterID": cluster_id,
        "kafka": {"version": "4.4.0", "features": {"soakSeconds": 0, "levels": list(levels)}},
        "controllers": {"replicas": 3, "nodeIDs": sorted(THREE)},
    }


@pytest_asyncio.fixture(loop_scope="module")
async def cluster(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveCluster]:
    """A static quorum of three that runs."""
    made = LiveCluster(kafka, tmp_path_factory.mktemp("adoption"))
    await made.open()
    made.apply(spec("Static"))
    await made.ready(THREE)
    yield made
    await made.close()


async def leave_only_disks(cluster: LiveCluster) -> None:
    """Removes everything except the disks; the claims have their two labels, and no annotation of ours."""
    await cluster.stop_operator()
    cluster.kube.remove(QUORUMS, NAMESPACE, NAME)
    for pod in list(cluster.kube.all(PODS)):
        cluster.kube.delete(PODS, NAMESPACE, pod["metadata"]["name"])

    async def gone() -> bool | None:
        return not list(cluster.kube.all(PODS)) or None

    await wait_for("no pod is left", gone, deadline_s=30)
    for kind in (CONFIG_MAPS, SERVICES, BUDGETS, REVISIONS):
        for item in list(cluster.kube.all(kind)):
            cluster.kube.remove(kind, NAMESPACE, item["metadata"]["name"])
    for claim in list(cluster.kube.all(CLAIMS)):
        metadata = claim["metadata"]
        ours = [name for name in metadata["annotations"] if name.startswith("kafkaquorum.io/")]
        labels = {name: None for name in metadata["labels"] if name not in (LABEL_QUORUM, LABEL_NODE)}
        bare = {"labels": labels, "annotations": dict.fromkeys(ours), "ownerReferences": None}
        cluster.kube.patch(CLAIMS, NAMESPACE, metadata["name"], {"metadata": bare})


async def test_disks_of_a_static_quorum_are_taken_over(cluster: LiveCluster) -> None:
    """The same voters run on the same disks, with all their records; naming kraft.version makes them dynamic."""
    cluster_id = cluster.resource["status"]["clusterID"]
    before = {node_id: cluster.key(node_id) for node_id in THREE}
    answer = await cluster.look()
    assert answer is not None
    await leave_only_disks(cluster)

    cluster.apply(spec("Adopt", cluster_id))
    cluster.start_operator()
    after = await cluster.ready(THREE)
    assert {node_id: cluster.key(node_id) for node_id in THREE} == before
    assert after.leader_epoch > answer.leader_epoch
    assert after.high_watermark > answer.high_watermark
    assert cluster.resource["status"]["quorum"]["type"] == "Static"

    cluster.apply(spec("Adopt", cluster_id, ({"name": "kraft.version", "level": 1},)))

    async def dynamic() -> bool | None:
        return cluster.resource["status"]["quorum"]["type"] == "Dynamic" or None

    await wait_for(f"dynamic; {cluster.told()}", dynamic, deadline_s=60)
    answer = await cluster.ready(THREE)
    assert {row.key for row in answer.voters} == set(before.values())
