"""What the operator writes about real quorums: files about a lost disk, and messages in a topic of a real broker."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from confluent_kafka import Consumer
from tests.kraftlog.clusters import Cluster, until
from tests.live.cluster import NAME, NAMESPACE, LiveCluster
from tests.live.jars import Kafka
from tests.live.test_reconcile import THREE, lose_and_heal, spec

from kafka_quorum.observations.files import Directory, Files
from kafka_quorum.observations.recorder import Line, Recorder
from kafka_quorum.observations.topic import Topic
from kit.clock import SystemClock

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

_SCHEMA = Path(__file__).resolve().parents[2] / "operator/quorum_history/schemas/observation-v1.json"


def _written(place: Path) -> list[dict[str, Any]]:
    """Every line of every file, in order, each checked against the schema."""
    schema = json.loads(_SCHEMA.read_text())
    lines = [json.loads(line) for path in sorted(place.iterdir()) for line in path.read_text().splitlines()]
    for line in lines:
        jsonschema.validate(line, schema)
    return lines


async def test_a_lost_disk_as_it_was_observed(kafka: Kafka, tmp_path: Path) -> None:
    """The files show no leader, three voters, two, three again, and the replica on its new disk."""
    place = tmp_path / "observations"
    files = Files(Directory(place), SystemClock(), holder="live", hold_s=5.0, max_bytes=1 << 20)
    recorder = Recorder([files], SystemClock())
    cluster = LiveCluster(kafka, tmp_path / "cluster", recorder)
    await cluster.open()
    try:
        cluster.apply(spec("InitialControllers", THREE))
        before = {str(replica.key.directory_id) for replica in (await cluster.ready(THREE)).voters}
        await lose_and_heal(cluster, 3001)
        answer = await cluster.ready(THREE)
    finally:
        await cluster.close()
        recorder.close(30.0)
    lines = _written(place)
    assert {(line["namespace"], line["name"]) for line in lines} == {(NAMESPACE, NAME)}
    assert lines[0]["quorum"] is None
    known = [line["quorum"] for line in lines if line["quorum"] is not None]
    led = [quorum for quorum in known if quorum["leaderID"] != -1]  # the lost disk may have been the leader's
    assert {quorum["leaderID"] for quorum in led} <= THREE
    sets = [{voter["directoryID"] for voter in quorum["voters"]} for quorum in led]
    after = {str(replica.key.directory_id) for replica in answer.voters}
    assert (sets[0], sets[-1]) == (before, after)
    assert before & after in sets
    assert len(after - before) == 1
    assert {node["kafkaVersion"] for node in lines[-1]["nodes"]} == {"4.4.0"}
    assert "metadata.version" in {feature["name"] for feature in lines[-1]["features"]}


def test_a_topic_of_a_real_broker(kafka: Kafka, tmp_path: Path) -> None:
    """The lines arrive as written, in order, with the cluster's id as key."""
    cluster = Cluster(kafka, tmp_path)
    node = cluster.nodes[1]
    try:
        cluster.format(node, "--standalone")
        cluster.start(node)
        sink = Topic("observations", cluster.bootstrap, {})
        sink.write([Line(key="c", text=f'{{"number":{number}}}'.encode(), new=True) for number in range(3)])
        consumer = Consumer(
            {"bootstrap.servers": cluster.bootstrap, "group.id": "test", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["observations"])
        found: list[tuple[bytes | str | None, bytes | str | None]] = []

        def arrived() -> bool:
            sink.write([])
            message = consumer.poll(1.0)
            if message is not None and message.error() is None:
                found.append((message.key(), message.value()))
            return len(found) == 3

        until("three messages", arrived)
        consumer.close()
        sink.close()
    finally:
        cluster.close()
    assert found == [(b"c", f'{{"number":{number}}}'.encode()) for number in range(3)]
