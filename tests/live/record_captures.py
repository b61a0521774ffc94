"""Record the captures of tests/wire from real controllers: `PYTHONPATH=operator python -m tests.live.record_captures`.

Arguments are beginnings of names: only these captures are written, all others stay unchanged. Each capture has the
bytes of one request and its answer, and the truth from the quorum's own disks. The tests of `wire` decode the bytes and
compare them with this truth, not with results of the same code.
"""

import asyncio
import json
import struct
import sys
import tempfile
from pathlib import Path

from kio.static.protocol import RequestPayload
from tests.live.jars import ensure_kafka
from tests.live.quorum import LiveNode, LiveQuorum, new_uuid
from tests.live.storage import NoInitialControllers
from tests.live.waiting import wait_for

from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.quorum import (
    AddVoter,
    FeatureRange,
    FeatureStep,
    RegisterController,
    RemoveVoter,
    UpdateFeature,
)
from kafka_quorum.wire import codec
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.channel import Channel, open_channel
from kafka_quorum.wire.requests import (
    add_raft_voter,
    api_versions,
    controller_registration,
    describe_cluster,
    describe_quorum,
    remove_raft_voter,
    unregister_controller,
    update_features,
)

CAPTURES = Path(__file__).resolve().parents[1] / "wire" / "captures"
Truth = dict[str, object]


class Recorder:
    """Sends requests, and stores them with their answers."""

    def __init__(self, quorum: LiveQuorum, wanted: tuple[str, ...]) -> None:
        """Starts without a connection; `wanted` are beginnings of names, and none means all."""
        self._quorum = quorum
        self._wanted = wanted or ("",)
        self._channels: dict[int, Channel] = {}

    async def record(
        self, name: str, what: str, node: LiveNode, request: RequestPayload, truth: Truth, version: int | None = None
    ) -> None:
        """Sends one request to one node, and stores it in one file; `version` is a false one for the header."""
        channel = self._channels.get(node.port) or await open_channel(node.endpoint.host, node.port)
        self._channels[node.port] = channel
        sent: list[bytes] = []

        def encode(correlation_id: int) -> bytes:
            message = codec.encode_request(request, correlation_id)
            if version is not None:
                message = message[:2] + struct.pack(">h", version) + message[4:]
            sent.append(message)
            return message

        answer = await channel.ask(encode)
        capture = {
            "what": what,
            "kafka": self._quorum.kafka.version,
            "truth": {"cluster_id": self._quorum.cluster_id, "asked": node.node_id, **truth},
            "request": sent[0].hex(),
            "answer": answer.hex(),
        }
        if not name.startswith(self._wanted):
            return
        CAPTURES.mkdir(exist_ok=True)
        (CAPTURES / f"{name}.json").write_text(json.dumps(capture, indent=2) + "\n")

    def close(self) -> None:
        """Closes the connections."""
        for channel in self._channels.values():
            channel.abort()


def row(key: ReplicaKey) -> list[object]:
    """A replica key as JSON."""
    return [int(key.node_id), key.directory_id]


async def record_all(quorum: LiveQuorum, controllers: KafkaControllers, wanted: tuple[str, ...]) -> None:
    """Two voters and an observer: every request that the operator sends, and the relevant answers."""
    voters, newcomer = [quorum.add_node(3000), quorum.add_node(3001)], quorum.add_node(3002)
    quorum.must_format(voters, quorum.initial_controllers(voters))
    quorum.must_format([newcomer], NoInitialControllers())
    quorum.start(*voters, newcomer)
    await quorum.observer(controllers, newcomer.key)
    leader, _ = await quorum.leader(controllers)
    follower = next(node for node in voters if node is not leader)

    async def registered() -> bool | None:
        return (await controllers.describe_cluster(leader.endpoint)).controller_ids == (3000, 3001, 3002) or None

    await wait_for("three registered controllers", registered)
    recorder = Recorder(quorum, wanted)
    await record_reads(recorder, leader, follower, newcomer)
    await record_adds(recorder, quorum.cluster_id, leader, newcomer)
    await record_removals(recorder, quorum.cluster_id, leader, newcomer)
    await record_features(recorder, leader)
    await record_registrations(recorder, leader, newcomer)
    recorder.close()


async def record_reads(recorder: Recorder, leader: LiveNode, follower: LiveNode, newcomer: LiveNode) -> None:
    """Requests that change nothing."""
    voters = sorted((leader, follower), key=lambda node: node.node_id)
    truth: Truth = {"voters": [row(node.key) for node in voters], "observers": [row(newcomer.key)]}
    versions = api_versions.message()
    await recorder.record("api_versions_v4", "ApiVersions v4 to the leader", leader, versions, truth)
    what = "ApiVersions under version 99, which is answered in version 0 with UNSUPPORTED_VERSION"
    await recorder.record("api_versions_v99", what, leader, versions, truth, version=99)
    cluster = describe_cluster.message()
    await recorder.record("describe_cluster_v1", "DescribeCluster v1 to the leader", leader, cluster, truth)
    quorum = describe_quorum.message()
    await recorder.record("describe_quorum_v2", "DescribeQuorum v2 to the leader", leader, quorum, truth)
    what = "DescribeQuorum v2 to a follower: NOT_LEADER_OR_FOLLOWER and leader 0"
    await recorder.record("describe_quorum_v2_follower", what, follower, quorum, truth)


async def record_adds(recorder: Recorder, cluster_id: ClusterID, leader: LiveNode, newcomer: LiveNode) -> None:
    """Refusals first, then a success."""
    listeners = (newcomer.listener,)
    truth: Truth = {
        "voter": row(newcomer.key),
        "listener": [newcomer.listener.name, newcomer.listener.host, newcomer.listener.port],
        "timeout_ms": 5000,
    }
    own = AddVoter(cluster_id=cluster_id, voter=newcomer.key, listeners=listeners, timeout_ms=5000)
    foreign_id = ClusterID(new_uuid())
    foreign = AddVoter(cluster_id=foreign_id, voter=newcomer.key, listeners=listeners, timeout_ms=5000)
    what = "AddRaftVoter v1 with a foreign cluster id: INCONSISTENT_CLUSTER_ID"
    request = add_raft_voter.message(foreign, 1)
    await recorder.record("add_voter_v1_foreign", what, leader, request, {**truth, "sent_cluster_id": foreign_id})
    await recorder.record("add_voter_v1", "AddRaftVoter v1, success", leader, add_raft_voter.message(own, 1), truth)
    what = "AddRaftVoter v0 of a voter: DUPLICATE_VOTER"
    await recorder.record("add_voter_v0_duplicate", what, leader, add_raft_voter.message(own, 0), truth)


async def record_removals(recorder: Recorder, cluster_id: ClusterID, leader: LiveNode, voter: LiveNode) -> None:
    """A refusal first, then a success."""
    other = ReplicaKey(node_id=voter.node_id, directory_id=DirectoryID(new_uuid()))
    request = remove_raft_voter.message(RemoveVoter(cluster_id=cluster_id, voter=other))
    what = "RemoveRaftVoter v0 of a voter's id with another directory id: VOTER_NOT_FOUND"
    await recorder.record("remove_voter_v0_other_directory", what, leader, request, {"voter": row(other)})
    request = remove_raft_voter.message(RemoveVoter(cluster_id=cluster_id, voter=voter.key))
    truth: Truth = {"voter": row(voter.key)}
    await recorder.record("remove_voter_v0", "RemoveRaftVoter v0, success", leader, request, truth)


async def record_features(recorder: Recorder, leader: LiveNode) -> None:
    """A level that is refused, in both versions; then a feature that is turned off."""
    for version in (1, 2):
        step = FeatureStep(name="metadata.version", level=34)
        request = UpdateFeature(step=step, validate_only=True, timeout_ms=5000)
        what = f"UpdateFeatures v{version}, validate only, of a level that nobody has: INVALID_UPDATE_VERSION"
        truth: Truth = {"step": ["metadata.version", 34, False], "validate_only": True, "timeout_ms": 5000}
        message = update_features.message(request, version)
        await recorder.record(f"update_features_v{version}_refused", what, leader, message, truth)
    off = FeatureStep(name="group.version", level=0, downgrade=True)
    message = update_features.message(UpdateFeature(step=off, validate_only=False, timeout_ms=5000), 2)
    truth = {"step": ["group.version", 0, True], "validate_only": False, "timeout_ms": 5000}
    await recorder.record("update_features_v2", "UpdateFeatures v2, a safe downgrade to 0", leader, message, truth)


async def record_registrations(recorder: Recorder, leader: LiveNode, ghost: LiveNode) -> None:
    """A registration in place of another controller; then it is unregistered, twice."""
    supported = (FeatureRange(name="metadata.version", min_level=7, max_level=33),)
    incarnation, listeners = new_uuid(), (ghost.listener,)
    body = RegisterController(
        node_id=NodeID(3099), incarnation_id=incarnation, listeners=listeners, supported=supported
    )
    truth: Truth = {
        "node_id": 3099,
        "incarnation_id": incarnation,
        "listener": [ghost.listener.name, ghost.listener.host, ghost.listener.port],
        "supported": ["metadata.version", 7, 33],
    }
    message = controller_registration.message(body)
    await recorder.record("controller_registration_v0", "ControllerRegistration v0", leader, message, truth)
    gone = unregister_controller.message(NodeID(3099))
    await recorder.record("unregister_controller_v0", "UnregisterController v0", leader, gone, {"node_id": 3099})
    what = "UnregisterController v0 of one that is not registered: 136"
    await recorder.record("unregister_controller_v0_again", what, leader, gone, {"node_id": 3099})
    itself = unregister_controller.message(leader.node_id)
    what = "UnregisterController v0 of the active controller itself: INVALID_REQUEST"
    truth = {"node_id": int(leader.node_id)}
    await recorder.record("unregister_controller_v0_active", what, leader, itself, truth)


async def main() -> None:
    """Starts a quorum, records, and stops it."""
    with tempfile.TemporaryDirectory() as directory:
        quorum, controllers = LiveQuorum(kafka=ensure_kafka(), directory=Path(directory)), KafkaControllers()
        try:
            await record_all(quorum, controllers, tuple(sys.argv[1:]))
        finally:
            await controllers.close()
            quorum.close()


if __name__ == "__main__":
    asyncio.run(main())
