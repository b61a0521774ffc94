"""Brokers that answer questions about groups as a test requires, and record what they were asked."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kafka_quorum.errors import KafkaRefused, KafkaUnreachable, KafkaVersionUnsupported
from kafka_quorum.model.brokers import MetadataAnswer, TopicPartition
from kafka_quorum.model.groups import ClassicGroup, Committed, GroupState, ListedGroup, LogEnd, StreamsGroup
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known
from kafka_quorum.model.quorum import Endpoint
from kit.errors import Fault

T = TypeVar("T")
DEAD = ClassicGroup(state=GroupState.DEAD, protocol_type="", protocol="", members=())
EMPTY = ClassicGroup(state=GroupState.EMPTY, protocol_type="consumer", protocol="", members=())


def broker(node_id: int) -> Endpoint:
    """Where a broker listens."""
    return Endpoint(node_id=NodeID(node_id), host=f"broker-{node_id}", port=9092)


def unreachable() -> KafkaUnreachable:
    """No answer came."""
    return KafkaUnreachable("no connection", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)


def unsupported() -> KafkaVersionUnsupported:
    """The broker has no version of the request."""
    return KafkaVersionUnsupported("no version", fault=Fault.THEIRS, retry_safe=False, outcome_unknown=False)


def refused(name: str, code: int = 16) -> KafkaRefused:
    """An error code."""
    return KafkaRefused(
        f"broker answered with {name}",
        code=code,
        name=name,
        server_message="",
        fault=Fault.THEIRS,
        retry_safe=True,
        outcome_unknown=False,
    )


@dataclass(slots=True)
class AnsweringGroups:
    """`Groups` by broker and question: answers one after another, the last one for ever; an exception is raised.

    Without an answer for a broker, the one for broker 0 counts; `hang` is a question that is never answered.
    """

    answers: dict[tuple[str, int], list[object]] = field(default_factory=dict)
    hang: str = ""
    asked: list[tuple[str, int]] = field(default_factory=list)
    named: list[frozenset[str]] = field(default_factory=list)
    """The topics of each question for metadata."""

    def say(self, question: str, *answers: object, by: int = 0) -> "AnsweringGroups":
        """Sets the answers to a question."""
        self.answers[question, by] = list(answers)
        return self

    async def _answer(self, question: str, endpoint: Endpoint, wanted: type[T]) -> T:
        self.asked.append((question, int(endpoint.node_id)))
        if question == self.hang:
            await asyncio.Event().wait()
        answers = self.answers.get((question, int(endpoint.node_id))) or self.answers[question, 0]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, wanted)
        return answer

    async def coordinator(self, endpoint: Endpoint, group: str) -> Endpoint:
        """The test's answer."""
        del group
        return await self._answer("coordinator", endpoint, Endpoint)

    async def classic_group(self, endpoint: Endpoint, group: str) -> ClassicGroup:
        """The test's answer."""
        del group
        return await self._answer("classic", endpoint, ClassicGroup)

    async def streams_group(self, endpoint: Endpoint, group: str) -> StreamsGroup | None:
        """The test's answer; `()` stands for no such group."""
        del group
        answer = await self._answer("streams", endpoint, object)
        return answer if isinstance(answer, StreamsGroup) else None

    async def coordinated(self, endpoint: Endpoint) -> tuple[ListedGroup, ...]:
        """The test's answer."""
        return await self._answer("list", endpoint, tuple)

    async def committed(self, endpoint: Endpoint, group: str) -> tuple[Committed, ...]:
        """The test's answer."""
        del group
        return await self._answer("committed", endpoint, tuple)

    async def log_ends(
        self, endpoint: Endpoint, partitions: Sequence[TopicPartition], end: LogEnd
    ) -> dict[TopicPartition, Knowable[int]]:
        """For each partition, the number that the test lists for this broker."""
        offsets = await self._answer(end.name, endpoint, dict)
        return {at: Known(value=offsets[at]) for at in partitions}

    async def metadata(self, endpoint: Endpoint, *, topics: Collection[str] = ()) -> MetadataAnswer:
        """The test's answer."""
        self.named.append(frozenset(topics))
        return await self._answer("metadata", endpoint, MetadataAnswer)

    async def close(self) -> None:
        """Does nothing, because nothing is open."""
