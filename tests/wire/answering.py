"""Controllers that answer as a test requires, and record their requests."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.handshakes import Failure, Handshake, NotServed
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import (
    AddVoter,
    ClusterAnswer,
    Endpoint,
    NodeVersions,
    QuorumAnswer,
    RegisterController,
    RemoveVoter,
    Replica,
    UpdateFeature,
)
from kafka_quorum.model.scram import ScramChange, ScramMechanism
from kit.errors import Fault

T = TypeVar("T")
Answer: TypeAlias = T | Exception


def moved(said: QuorumAnswer, by_ms: int) -> QuorumAnswer:
    """The same answer this much later: replicas that fetched, or were caught up, at the leader's time did so again."""
    now_ms = max(row.last_fetch_ms for row in said.voters)

    def later(stamp_ms: int) -> int:
        return stamp_ms + by_ms if stamp_ms == now_ms else stamp_ms

    def of(rows: tuple[Replica, ...]) -> tuple[Replica, ...]:
        return tuple(
            replace(row, last_fetch_ms=later(row.last_fetch_ms), last_caught_up_ms=later(row.last_caught_up_ms))
            for row in rows
        )

    return replace(said, voters=of(said.voters), observers=of(said.observers))


@dataclass(slots=True)
class AnsweringControllers:
    """`Controllers` by node id; a controller without an answer cannot be reached."""

    quorums: dict[int, Answer[QuorumAnswer]] = field(default_factory=dict)
    versions: dict[int, Answer[NodeVersions]] = field(default_factory=dict)
    clusters: dict[int, Answer[ClusterAnswer]] = field(default_factory=dict)
    added: list[tuple[Endpoint, AddVoter]] = field(default_factory=list)
    removed: list[tuple[Endpoint, RemoveVoter]] = field(default_factory=list)
    updated: list[tuple[Endpoint, UpdateFeature]] = field(default_factory=list)
    registered: list[tuple[Endpoint, RegisterController]] = field(default_factory=list)
    unregistered: list[tuple[Endpoint, NodeID]] = field(default_factory=list)
    handshakes: dict[int, Handshake] = field(default_factory=dict)
    samples: dict[int, Handshake] = field(default_factory=dict)
    """What one thread shows, if that is not what all of them do together."""
    reloaded: list[tuple[Endpoint, NodeID, str, str]] = field(default_factory=list)
    scram: dict[tuple[str, ScramMechanism], Answer[None]] = field(default_factory=dict)
    """The credentials that there are; an error is the answer to each question about it."""
    altered: list[tuple[Endpoint, ScramChange]] = field(default_factory=list)
    refusal: Exception | None = None
    asked: list[tuple[str, Endpoint]] = field(default_factory=list)
    moves_ms: int = 0
    """How far the leader's clock, and the stamps of replicas that keep up, move between two of its answers."""
    moved_ms: int = 0

    def _answer(self, question: str, endpoint: Endpoint, answers: dict[int, Answer[T]]) -> T:
        self.asked.append((question, endpoint))
        answer = answers.get(NodeID(endpoint.node_id))
        if answer is None:
            text = f"{question}: controller {endpoint} cannot be reached"
            raise KafkaUnreachable(text, fault=Fault.PATH, retry_safe=True, outcome_unknown=False)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """The test's answer for this node."""
        return self._answer("ApiVersions", endpoint, self.versions)

    async def describe_cluster(self, endpoint: Endpoint) -> ClusterAnswer:
        """The test's answer for this node."""
        return self._answer("DescribeCluster", endpoint, self.clusters)

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """The test's answer for this node."""
        answer = moved(self._answer("DescribeQuorum", endpoint, self.quorums), self.moved_ms)
        self.moved_ms += self.moves_ms
        return answer

    async def add_voter(self, endpoint: Endpoint, request: AddVoter) -> None:
        """Records the request, then refuses if the test requires it."""
        self.added.append((endpoint, request))
        if self.refusal is not None:
            raise self.refusal

    async def remove_voter(self, endpoint: Endpoint, request: RemoveVoter) -> None:
        """Records the request, then refuses if the test requires it."""
        self.removed.append((endpoint, request))
        if self.refusal is not None:
            raise self.refusal

    async def update_feature(self, endpoint: Endpoint, request: UpdateFeature) -> None:
        """Records the request, then refuses if the test requires it."""
        self.updated.append((endpoint, request))
        if self.refusal is not None:
            raise self.refusal

    async def register_controller(self, endpoint: Endpoint, request: RegisterController) -> None:
        """Records the request, then refuses if the test requires it."""
        self.registered.append((endpoint, request))
        if self.refusal is not None:
            raise self.refusal

    async def unregister_controller(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """Records the request, then refuses if the test requires it."""
        self.unregistered.append((endpoint, node_id))
        if self.refusal is not None:
            raise self.refusal

    async def handshake(self, endpoint: Endpoint, *, sample: bool = False) -> Handshake:
        """The test's answer for this node."""
        self.asked.append(("Sample" if sample else "Handshake", endpoint))
        if sample and endpoint.node_id in self.samples:
            return self.samples[endpoint.node_id]
        return self.handshakes.get(endpoint.node_id, NotServed(failure=Failure.UNREACHABLE, why="no connection"))

    async def reload_keystore(self, endpoint: Endpoint, node_id: NodeID, listener: str, path: str) -> None:
        """Record the request."""
        self.reloaded.append((endpoint, node_id, listener, path))
        if self.refusal is not None:
            raise self.refusal

    async def scram_present(
        self, endpoint: Endpoint, users: Sequence[str], mechanism: ScramMechanism
    ) -> frozenset[str]:
        """Those of the test."""
        self.asked.append(("ScramPresent", endpoint))
        for user in users:
            if isinstance(said := self.scram.get((user, mechanism)), Exception):
                raise said
        return frozenset(user for user in users if (user, mechanism) in self.scram)

    async def alter_scram(self, endpoint: Endpoint, change: ScramChange) -> None:
        """Record the request."""
        self.altered.append((endpoint, change))
        if self.refusal is not None:
            raise self.refusal

    async def close(self) -> None:
        """Does nothing, because nothing is open."""
