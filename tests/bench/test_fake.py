"""Controllers that only answer: the wire code reads the correct ones, and survives the others."""

import asyncio
import threading
from pathlib import Path

import pytest

from bench.fake import answers
from kafka_quorum.errors import KafkaError, KafkaRefused
from kafka_quorum.model.ids import NodeID, uuid_to_bytes
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.connection import Limits

CLUSTER = "GxYTuLWqRhmb7dK0aQ2Ssw"
DIRECTORIES = {3000: "2CLoPmTLGeP5Gfx7ZUUNZA", 3001: "n-U7amnOgkeJ-IlQisp3Rw"}
VOTERS = tuple((number, uuid_to_bytes(directory)) for number, directory in DIRECTORIES.items())
QUICK = Limits(connect_timeout_s=1.0, request_timeout_s=1.0)


def serving(node_id: int, *kinds: str) -> Endpoint:
    """A controller on loopback that answers in these ways; it ends with the test process."""
    controller = answers.Controller(node_id, CLUSTER, VOTERS, kinds)
    listening = answers.listen(0)
    threading.Thread(target=answers.serve, args=(controller, listening), daemon=True).start()
    return Endpoint(node_id=NodeID(node_id), host="127.0.0.1", port=listening.getsockname()[1])


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    """Server properties as the operator writes them."""
    return {"node.id": "3001", "log.dirs": str(tmp_path / "kraft"), "listeners": "CONTROLLER://:9093"}


async def test_the_operator_understands_honest_answers() -> None:
    """A leader's answers have features, caught-up voters with directory ids, the cluster id; a follower refuses."""
    controllers = KafkaControllers(limits=QUICK)
    leader, follower = serving(3000), serving(3001)
    versions = await controllers.api_versions(leader)
    assert {row.name: row.level for row in versions.finalized} == {"kraft.version": 1, "metadata.version": 33}
    assert {row.name for row in versions.supported} == {"kraft.version", "metadata.version"}
    quorum = await controllers.describe_quorum(leader)
    assert {row.key.node_id: row.key.directory_id for row in quorum.voters} == DIRECTORIES
    assert quorum.leader_id == 3000
    assert len({row.last_fetch_ms for row in quorum.voters}) == 1
    assert (await controllers.describe_cluster(follower)).cluster_id == CLUSTER
    with pytest.raises(KafkaRefused, match="NOT_LEADER_OR_FOLLOWER"):
        await controllers.describe_quorum(follower)
    await controllers.close()


@pytest.mark.parametrize("kind", ["silent", "slow", "huge", "count"])
async def test_an_answer_that_is_none_is_an_error_in_time(kind: str) -> None:
    """No answer, a slow one, one that is too large, and an impossible count each end as Kafka's error."""
    controllers = KafkaControllers(limits=QUICK)
    endpoint = serving(3000, kind)
    with pytest.raises(KafkaError):
        async with asyncio.timeout(30):
            await controllers.describe_quorum(endpoint)
    await controllers.close()


def test_a_disk_is_formatted_as_the_operators_script_expects(config: dict[str, str]) -> None:
    """`meta.properties` has the three ids, with the given directory id, and the voters are stored."""
    initial = ",".join(f"{number}@host:9093:{directory}" for number, directory in DIRECTORIES.items())
    answers.format_disk(config, CLUSTER, initial)
    directory = config["log.dirs"]
    meta = answers.properties(f"{directory}/meta.properties")
    assert meta["cluster.id"] == CLUSTER
    assert (meta["node.id"], meta["directory.id"]) == ("3001", DIRECTORIES[3001])
    assert answers.properties(f"{directory}/voters") == {str(key): value for key, value in DIRECTORIES.items()}


@pytest.mark.parametrize(("kind", "count"), [("voters", 5_002), ("observers", 10_000), ("features", 15_002)])
def test_invented_rows_are_as_many_as_they_say(kind: str, count: int) -> None:
    """A hostile answer is well formed, except for its size."""
    controller = answers.Controller(3000, CLUSTER, VOTERS, (kind,))
    body, said = controller.answer(answers.API_VERSIONS if kind == "features" else answers.DESCRIBE_QUORUM)
    assert said == kind
    assert len(body) > count * 20
