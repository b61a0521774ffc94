"""An observation has a leader, no leader, or an unknown one; every line fits the published schema."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.model.values import CLUSTER, IDS, SILENT, answer, at_rest, key, nothing, pod, row, running, started, view

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import Terminated
from kafka_quorum.model.quorum import FeatureRange, FinalizedFeature, NodeVersions
from kafka_quorum.observations.line import news, observation

Json = dict[str, Any]
NOW = datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=UTC)
THREE = (key(3000), key(3001), key(3002))
COMMITTED = Memory(committed_voters=frozenset(THREE))
_SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "operator/quorum_history/schemas/observation-v1.json").read_text()
)


def seen(observed: Observed) -> Json:
    """The observation, checked against the schema."""
    made = observation("kafka", "alpha", observed, NOW)
    assert made is not None
    jsonschema.validate(json.loads(json.dumps(made)), _SCHEMA)
    return made


def without_leader(*down: int, not_leading: tuple[int, ...] = (), memory: Memory = COMMITTED) -> Observed:
    """No controller answers as the leader; the Kafka of `down` has ended."""
    record = running()
    ended = Terminated(exit_code=1, reason="Error", message="", finished_at="2026-01-01T00:00:00Z")
    pods = tuple(pod(record, of, container=ended) if of.node_id in down else pod(record, of) for of in record.nodes)
    said = frozenset(NodeID(number) for number in not_leading)
    return at_rest(quorum=Unknown(reason="no leader"), pods=pods, memory=memory, not_leading=said)


def test_a_quorum_that_is_led() -> None:
    """An observation has leader, epoch and watermark, and each replica's key, whether it is live, and its lag."""
    said = answer(THREE, [key(3003)])
    late = replace(said.voters[2], log_end_offset=60)
    never = row(key(3003), log_end_offset=-1)
    judged = replace(
        view(THREE, [key(3003)], behind=[key(3002)]),
        answer=replace(said, voters=(*said.voters[:2], late), observers=(never,)),
    )
    made = seen(at_rest(quorum=Known(value=judged)))
    assert (made["observedAt"], made["clusterID"]) == ("2026-01-02T03:04:05.006000Z", CLUSTER)
    quorum = made["quorum"]
    assert (quorum["leaderID"], quorum["leaderEpoch"], quorum["highWatermark"]) == (3000, 5, 100)
    assert [(each["nodeID"], each["live"], each["lagRecords"]) for each in quorum["voters"]] == [
        (3000, True, 0), (3001, True, 0), (3002, False, 40),
    ]  # fmt: skip
    assert quorum["voters"][0]["directoryID"] == key(3000).directory_id
    assert [(each["nodeID"], each["lagRecords"]) for each in quorum["observers"]] == [(3003, None)]


def test_nodes_and_features() -> None:
    """Release, supported ranges and finalized levels are reported if they are known, and null otherwise."""
    told = NodeVersions(
        supported=(FeatureRange(name="metadata.version", min_level=7, max_level=29),),
        finalized=(FinalizedFeature(name="metadata.version", level=21),),
        finalized_epoch=3,
    )
    versions = ((IDS[0], Known(value=told)), (IDS[1], Unknown(reason="no answer")))
    made = seen(replace(without_leader(3002), quorum=at_rest().quorum, versions=versions))
    first, second, third = made["nodes"]
    assert first["features"] == [{"name": "metadata.version", "minSupported": 7, "maxSupported": 29}]
    assert (second["kafkaVersion"], second["features"]) == ("4.4.0", None)
    assert third["kafkaVersion"] is None
    assert made["features"] == [{"name": "metadata.version", "finalized": 21}]
    assert seen(at_rest())["features"] is None


@pytest.mark.parametrize(
    ("observed", "leaderless"),
    [
        (without_leader(3000, 3001), True),  # one of three is no majority
        (without_leader(3000, not_leading=(3001, 3002)), True),  # all that run report that they do not lead
        (without_leader(3000, not_leading=(3001,)), False),  # the third may lead the second
        (without_leader(), False),  # no controller could be asked
        (without_leader(3000, 3001, memory=Memory()), False),  # which controllers are voters is not known
        (without_leader(3000, 3001, 3002, memory=Memory()), True),  # but none of them runs
        (replace(without_leader(3000, 3001, 3002), record=started()), False),  # had no leader before: no outage yet
    ],
)
def test_no_leader_is_told_from_not_known(observed: Observed, *, leaderless: bool) -> None:
    """An outage is reported only if no controller can lead; otherwise the leader is unknown, with the look's reason."""
    made = seen(observed)
    if leaderless:
        assert made["unknownReason"] is None
        assert made["quorum"]["leaderID"] == -1
        assert {made["quorum"][name] for name in ("leaderEpoch", "highWatermark")} == {None}
        assert (made["quorum"]["voters"], made["quorum"]["observers"]) == (None, None)
    else:
        assert (made["quorum"], made["unknownReason"]) == (None, "no leader")


def test_without_a_cluster_there_is_nothing_to_say() -> None:
    """Before the cluster id is fixed there is no observation."""
    assert observation("kafka", "alpha", nothing(), NOW) is None


def test_news_are_what_happened_and_not_how_far() -> None:
    """Offsets, lag, time and wording are no news; a replica that stops fetching, or a leader that is lost, is news."""
    calm = news(seen(at_rest()))
    said = answer(THREE, high_watermark=400)
    further = replace(said, voters=(*said.voters[:2], replace(said.voters[2], log_end_offset=7)))
    moved = at_rest(quorum=Known(value=replace(view(THREE), answer=further)))
    assert news(seen(moved)) == calm
    silent = [seen(at_rest(quorum=unknown)) for unknown in (SILENT, Unknown(reason="other words"))]
    assert news(silent[0]) == news(silent[1]) != calm
    assert news(seen(at_rest(quorum=Known(value=view(THREE, behind=[key(3001)]))))) != calm
    assert news(seen(without_leader(3000, 3001))) != news(silent[0])
