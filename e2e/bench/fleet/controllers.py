"""Controllers of a fleet as values: which quorums there are, which of their controllers run, and what they answer.

No log, no elections that take time, no voter changes: a quorum has the voters of its identity record. The controller
with the lowest id that runs leads while a majority runs. The bytes are those of `bench.fake.answers`.
"""

import struct
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from bench.fake import answers
from kafka_quorum.api.features import default_levels, supported_by
from kafka_quorum.api.release import parse_release
from kafka_quorum.model.ids import uuid_to_bytes
from kafka_quorum.wire.requests import alter_configs

PORT: Final = 9093
HOSTILE: Final = ("endless", "slow", "count", "voters", "features", "observers")
"""Endless bytes, a byte every 0.2 s, an impossible count, 5,000 invented voters, 15,000 features, 10,000 observers."""
KINDS: Final = {"silent": ("silent",), "hostile": HOSTILE}
"""The kinds of answers of quorums with these names; all others answer correctly."""
RELEASE: Final = "4.4.0"
_NO_TAGS: Final = b"\0"
_NO_LEADER: Final = -1


@cache
def versions() -> bytes:
    """The body of an answer to ApiVersions: the features that this release supports, at its own levels."""
    release = parse_release(RELEASE)
    assert release is not None
    known = ((answers.API_VERSIONS, 4), (answers.DESCRIBE_QUORUM, 2), (answers.UPDATE_FEATURES, 2))
    more = ((answers.DESCRIBE_CLUSTER, 1), (answers.ADD_VOTER, 1), (answers.REMOVE_VOTER, 0))
    configs = (alter_configs.API.key, alter_configs.API.ours.high)
    apis = answers.array(struct.pack(">hhh", key, 0, high) + _NO_TAGS for key, high in (*known, *more, configs))
    ranges = [(each.name, each.min_level, each.max_level) for each in supported_by(release) or ()]
    levels = [(name, level, level) for name, level in (default_levels(release) or {}).items()]
    supported, finalized = (
        answers.array(answers.text(name) + struct.pack(">hh", *pair) + _NO_TAGS for name, *pair in rows)
        for rows in (ranges, [(name, high, low) for name, low, high in levels])
    )
    tags = ((0, supported), (1, struct.pack(">q", answers.HIGH_WATERMARK)), (2, finalized))
    tagged = b"".join(answers.varint(tag) + answers.varint(len(data)) + data for tag, data in tags)
    return struct.pack(">h", 0) + apis + struct.pack(">i", 0) + answers.varint(len(tags)) + tagged


def altered(request: bytes) -> bytes:
    """The body of an answer to IncrementalAlterConfigs with one resource, whose name is shorter than 127 bytes."""
    (client_bytes,) = struct.unpack(">h", request[8:10])
    at = 10 + max(0, client_bytes) + len(_NO_TAGS) + 1  # the array's length is a byte
    resource = request[at : at + 2 + request[at + 1] - 1]
    row = struct.pack(">h", 0) + answers.varint(0) + resource + _NO_TAGS
    return struct.pack(">i", 0) + answers.array([row]) + _NO_TAGS


def _now_ms() -> int:
    return int(time.time() * 1000)


@dataclass(slots=True, kw_only=True)
class VirtualQuorum:
    """One quorum. `voters` by node id with the sixteen bytes of their directory ids."""

    cluster_id: str = ""
    voters: dict[int, bytes] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    leader_id: int = _NO_LEADER
    epoch: int = 0
    looked_at_s: float = 0.0
    """When its leader was last asked for the quorum, in seconds since 1970."""
    _stopped_ms: dict[int, int] = field(default_factory=dict)

    def know(self, cluster_id: str, voters: dict[str, str]) -> None:
        """Take the identity: directory ids in Kafka's notation, by node id."""
        self.cluster_id = cluster_id
        self.voters = {int(node): uuid_to_bytes(text) for node, text in voters.items()}
        self._elect()

    def start(self, node_id: int) -> None:
        """This controller runs from now on."""
        self.running.add(node_id)
        self._stopped_ms.pop(node_id, None)
        self._elect()

    def stop(self, node_id: int) -> None:
        """This controller has stopped."""
        if node_id in self.running:
            self.running.discard(node_id)
            self._stopped_ms[node_id] = _now_ms()
            self._elect()

    def _elect(self) -> None:
        candidates = self.running & self.voters.keys()
        if 2 * len(candidates) <= len(self.voters):
            self.leader_id = _NO_LEADER
        elif self.leader_id not in candidates:
            self.leader_id, self.epoch = min(candidates), self.epoch + 1

    def describe(self, node_id: int) -> bytes:
        """The body of an answer to DescribeQuorum."""
        leads = node_id == self.leader_id
        if leads:
            self.looked_at_s = time.time()
        code = 0 if leads else answers.NOT_LEADER
        rows = answers.array(map(self._row, sorted(self.voters))) if leads else answers.array(())
        head = struct.pack(">ih", 0, code) + _NO_TAGS
        head += struct.pack(">iiq", self.leader_id, self.epoch, answers.HIGH_WATERMARK)
        partition = head + rows + answers.array(()) + _NO_TAGS
        topic = answers.text("__cluster_metadata") + answers.array([partition]) + _NO_TAGS
        return struct.pack(">h", 0) + _NO_TAGS + answers.array([topic]) + answers.array([]) + _NO_TAGS

    def _row(self, number: int) -> bytes:
        at_ms = _now_ms() if number in self.running else self._stopped_ms.get(number, 0)
        stamps = struct.pack(">qqq", answers.HIGH_WATERMARK, at_ms, at_ms)
        return struct.pack(">i", number) + self.voters[number] + stamps + _NO_TAGS


class VirtualController:
    """One controller of a quorum, as its connections see it."""

    def __init__(self, name: str, quorum: VirtualQuorum, node_id: int) -> None:
        """`name` of the quorum decides whether it answers correctly."""
        self.quorum, self.node_id = quorum, node_id
        rows = tuple(sorted(quorum.voters.items())) or ((node_id, bytes(16)),)
        self._plain = answers.Controller(node_id, quorum.cluster_id, rows, KINDS.get(name, ()))
        self._correct = name not in KINDS

    def answer(self, api: int, request: bytes) -> tuple[bytes, str]:
        """The body of an answer to this request, and its kind."""
        if self._correct and api == answers.DESCRIBE_QUORUM:
            return _NO_TAGS + self.quorum.describe(self.node_id), "honest"
        if self._correct and api == answers.API_VERSIONS:
            return versions(), "honest"
        if self._correct and api == alter_configs.API.key:
            return _NO_TAGS + altered(request), "honest"
        return self._plain.answer(api)


@dataclass(slots=True)
class Fleet:
    """All quorums by namespace and name, and the controller that has each address."""

    quorums: dict[tuple[str, str], VirtualQuorum] = field(default_factory=dict)
    at: dict[str, VirtualController] = field(default_factory=dict)

    def quorum(self, namespace: str, name: str) -> VirtualQuorum:
        """This quorum, which is made when it is first named."""
        return self.quorums.setdefault((namespace, name), VirtualQuorum())

    def runs(self, namespace: str, name: str, node_id: int, address: str) -> None:
        """A pod runs: its address is a controller's."""
        quorum = self.quorum(namespace, name)
        quorum.start(node_id)
        self.at[address] = VirtualController(name, quorum, node_id)

    def gone(self, namespace: str, name: str, node_id: int, address: str) -> None:
        """A pod is gone: nothing answers at its address."""
        self.quorum(namespace, name).stop(node_id)
        self.at.pop(address, None)

    def looked_at_since(self, since_s: float) -> int:
        """How many quorums were looked at since a moment (seconds since 1970)."""
        return sum(quorum.looked_at_s >= since_s for quorum in self.quorums.values())
