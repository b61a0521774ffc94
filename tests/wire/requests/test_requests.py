"""Answers of real servers become model values that agree with the servers' disks; other answers are refused."""

from dataclasses import replace

import pytest
from kio.schema.add_raft_voter.v1.request import AddRaftVoterRequest
from kio.schema.api_versions.v4.response import ApiVersionsResponse
from kio.schema.describe_cluster.v1.response import DescribeClusterResponse
from kio.schema.describe_quorum.v2.response import DescribeQuorumResponse
from kio.schema.types import TopicName
from kio.static.primitive import i8, i64
from tests.wire.captures import Capture, capture

from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.quorum import AddVoter, FeatureRange, FinalizedFeature, Listener, RemoveVoter
from kafka_quorum.wire import codec
from kafka_quorum.wire.requests import (
    add_raft_voter,
    api_versions,
    describe_cluster,
    describe_quorum,
    remove_raft_voter,
)
from kafka_quorum.wire.values import directory_id, kio_uuid


def key(row: list[object]) -> ReplicaKey:
    """A replica key from a capture's truth."""
    node_id, directory_id = row
    return ReplicaKey(node_id=NodeID(int(str(node_id))), directory_id=DirectoryID(str(directory_id)))


def quorum_response(name: str) -> DescribeQuorumResponse:
    """A captured DescribeQuorum answer."""
    response = codec.decode_response(55, 2, capture(name).answer)
    assert isinstance(response, DescribeQuorumResponse)
    return response


def cluster_response() -> DescribeClusterResponse:
    """A captured DescribeCluster answer."""
    response = codec.decode_response(60, 1, capture("describe_cluster_v1").answer)
    assert isinstance(response, DescribeClusterResponse)
    return response


def test_a_quorum_as_it_lies_on_disk() -> None:
    """Voters and observers have the directory ids of their meta.properties, and the leader is the asked node."""
    truth = capture("describe_quorum_v2").truth
    answer = describe_quorum.quorum_answer(describe_quorum.metadata_partition(quorum_response("describe_quorum_v2")))
    assert [row.key for row in answer.voters] == [key(row) for row in truth["voters"]]
    assert [row.key for row in answer.observers] == [key(row) for row in truth["observers"]]
    assert answer.leader_id == truth["asked"]
    assert answer.leader_epoch == 1
    assert 0 < answer.high_watermark <= max(row.log_end_offset for row in answer.voters)


def test_a_follower_says_leader_0() -> None:
    """The values behind a follower's error have no meaning, so the code must be read first."""
    partition = describe_quorum.metadata_partition(quorum_response("describe_quorum_v2_follower"))
    assert (partition.error_code, partition.leader_id) == (6, 0)


def test_nothing_is_finalized_before_a_node_has_loaded_its_metadata() -> None:
    """If the epoch is -1 nothing is finalized, although a starting node before 4.4 lists a metadata.version."""
    response = codec.decode_response(18, 4, capture("api_versions_v4").answer)
    assert isinstance(response, ApiVersionsResponse)
    assert api_versions.node_versions(response).finalized
    starting = api_versions.node_versions(replace(response, finalized_features_epoch=i64(-1)))
    assert starting.finalized == ()
    assert starting.finalized_epoch == -1
    assert starting.supported == api_versions.node_versions(response).supported


def test_an_answer_about_another_topic_is_no_answer() -> None:
    """Only the one requested row counts, and it must be there exactly once."""
    response = quorum_response("describe_quorum_v2")
    (topic,) = response.topics
    for topics in ((), (topic, topic), (replace(topic, topic_name=TopicName("another")),)):
        with pytest.raises(ValueError, match="__cluster_metadata"):
            describe_quorum.metadata_partition(replace(response, topics=topics))


def test_a_cluster_as_it_lies_on_disk() -> None:
    """The cluster id is that of the format, and all three controllers are registered."""
    answer = describe_cluster.cluster_answer(cluster_response())
    assert answer.cluster_id == capture("describe_cluster_v1").truth["cluster_id"]
    assert answer.controller_ids == (3000, 3001, 3002)


def test_brokers_are_not_taken_for_controllers() -> None:
    """An answer about brokers, or with a cluster id that is no UUID, is refused."""
    with pytest.raises(ValueError, match=r"\b1\b"):
        describe_cluster.cluster_answer(replace(cluster_response(), endpoint_type=i8(1)))
    with pytest.raises(ValueError, match="short"):
        describe_cluster.cluster_answer(replace(cluster_response(), cluster_id="short"))


def test_features_include_those_whose_lowest_level_is_0() -> None:
    """Version 4 shows every feature's range, and the finalized levels with their epoch."""
    response = codec.decode_api_versions(capture("api_versions_v4").answer)
    assert isinstance(response, ApiVersionsResponse)
    versions = api_versions.node_versions(response)
    assert FeatureRange(name="kraft.version", min_level=0, max_level=1) in versions.supported
    assert FinalizedFeature(name="kraft.version", level=1) in versions.finalized
    assert FinalizedFeature(name="metadata.version", level=33) in versions.finalized
    assert versions.finalized_epoch >= 0


def add(real: Capture, cluster_id: str) -> AddVoter:
    """The request that a capture's truth describes."""
    name, host, port = real.truth["listener"]
    return AddVoter(
        cluster_id=ClusterID(cluster_id),
        voter=key(real.truth["voter"]),
        listeners=(Listener(name=name, host=host, port=port),),
        timeout_ms=real.truth["timeout_ms"],
    )


@pytest.mark.parametrize(
    ("name", "version"), [("add_voter_v1", 1), ("add_voter_v1_foreign", 1), ("add_voter_v0_duplicate", 0)]
)
def test_an_add_is_encoded_as_it_was_sent(name: str, version: int) -> None:
    """A request from model values has exactly the bytes that a real leader accepted, in both versions."""
    real = capture(name)
    request = add_raft_voter.message(add(real, real.truth.get("sent_cluster_id", real.truth["cluster_id"])), version)
    assert codec.encode_request(request, real.correlation_id) == real.request


def test_an_add_is_acknowledged_when_committed() -> None:
    """Version 1 could be answered earlier, so the request requires a committed change."""
    real = capture("add_voter_v1")
    request = add_raft_voter.message(add(real, real.truth["cluster_id"]), 1)
    assert isinstance(request, AddRaftVoterRequest)
    assert request.ack_when_committed


@pytest.mark.parametrize("name", ["remove_voter_v0", "remove_voter_v0_other_directory"])
def test_a_removal_is_encoded_as_it_was_sent(name: str) -> None:
    """A request from model values has exactly the bytes that a real leader accepted."""
    real = capture(name)
    removal = RemoveVoter(cluster_id=ClusterID(real.truth["cluster_id"]), voter=key(real.truth["voter"]))
    assert codec.encode_request(remove_raft_voter.message(removal), real.correlation_id) == real.request


def test_questions_are_encoded_as_they_were_sent() -> None:
    """The three requests without parameters have exactly the recorded bytes."""
    for name, request in (
        ("api_versions_v4", api_versions.message()),
        ("describe_cluster_v1", describe_cluster.message()),
        ("describe_quorum_v2", describe_quorum.message()),
    ):
        real = capture(name)
        assert codec.encode_request(request, real.correlation_id) == real.request


def test_what_kafkas_types_cannot_hold_is_a_value_error() -> None:
    """A port, a timeout or a directory id out of range is a ValueError before anything is encoded."""
    real = capture("add_voter_v1")
    good = add(real, real.truth["cluster_id"])
    bad_directory = replace(good.voter, directory_id=DirectoryID("short"))
    for bad, value in (
        (replace(good, listeners=(replace(good.listeners[0], port=65536),)), "65536"),
        (replace(good, timeout_ms=2**31), str(2**31)),
        (replace(good, voter=bad_directory), "short"),
        (replace(good, voter=replace(good.voter, node_id=NodeID(2**31))), str(2**31)),
    ):
        with pytest.raises(ValueError, match=value):
            add_raft_voter.message(bad, 1)
    for voter, value in ((bad_directory, "short"), (replace(good.voter, node_id=NodeID(2**31)), str(2**31))):
        with pytest.raises(ValueError, match=value):
            remove_raft_voter.message(RemoveVoter(cluster_id=good.cluster_id, voter=voter))


def test_no_directory_id_is_the_zero_uuid_both_ways() -> None:
    """Kafka sends sixteen zero bytes for a replica without a directory id; the model has None."""
    assert kio_uuid(None) is None
    assert directory_id(None) is None
    directory = DirectoryID("4NzCPCh0-NjryzFRTLtDLQ")
    assert directory_id(kio_uuid(directory)) == directory
