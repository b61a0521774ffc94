"""An operator's edge to the brokers of a Streams application: `Groups` and `Versions` over the model of the group.

A stale answer is the last answer to the same question. `Brokers` is how the brokers are: silent, or without a
coordinator.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from tests.simulation.model.kafka.streams_bytes import assignment, subscription
from tests.simulation.model.kafka.streams_group import Joined, Phase, StreamsGroupModel
from tests.simulation.runs.edges import Edge, Life, Wire
from tests.simulation.runs.faults import Call

from kafka_quorum.errors import KafkaError, KafkaRefused, KafkaUnreachable, KafkaVersionUnsupported
from kafka_quorum.model.brokers import MetadataAnswer, Partition, RegisteredBroker, TopicPartition
from kafka_quorum.model.groups import (
    ClassicGroup,
    ClassicMember,
    Committed,
    GroupState,
    ListedGroup,
    LogEnd,
    StreamsGroup,
    StreamsMember,
    Tasks,
)
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.known import Knowable, Known
from kafka_quorum.model.quorum import Endpoint, FeatureRange, NodeVersions
from kit.errors import Fault

T = TypeVar("T")
TOPIC: Final = "words"
STRANGER: Final = "10.9.9.9"
_LEVELS: Final = {"3.9": 21, "4.1": 27, "4.3": 30}
"""The highest metadata.version of brokers of each line."""
_CLASSIC: Final = {
    Phase.EMPTY: GroupState.EMPTY,
    Phase.PREPARING: GroupState.PREPARING,
    Phase.COMPLETING: GroupState.COMPLETING,
    Phase.STABLE: GroupState.STABLE,
}
_STREAMS: Final = {
    Phase.EMPTY: GroupState.EMPTY,
    Phase.PREPARING: GroupState.ASSIGNING,
    Phase.COMPLETING: GroupState.RECONCILING,
    Phase.STABLE: GroupState.STABLE,
}
_NOTHING: Final = Tasks(active=(), standby=(), warmup=())
_NODE: Final = NodeID(0)
_DEAD: Final = ClassicGroup(state=GroupState.DEAD, protocol_type="", protocol="", members=())


@dataclass(slots=True)
class BrokersOf:
    """The brokers of the application's cluster, all of one line. `silent`: none answers; `lost`: no coordinator."""

    line: str = "3.9"
    silent: bool = False
    lost: bool = False
    known: bool = False
    """Whether the group was ever there."""


class StreamsEdge(Edge):
    """`Groups` and `Versions` over the model."""

    side = "kafka"

    def __init__(self, wire: Wire, life: Life, brokers: BrokersOf) -> None:
        """One incarnation's edge."""
        super().__init__(wire, life)
        self._brokers = brokers
        self._last: dict[tuple[str, str], Any] = {}

    @property
    def _group(self) -> StreamsGroupModel:
        return self.world.kubelet.streams.group

    async def coordinator(self, endpoint: Endpoint, group: str) -> Endpoint:
        """FindCoordinator."""

        def act() -> Endpoint:
            if self._brokers.lost:
                raise _refused("COORDINATOR_NOT_AVAILABLE", 15)
            return endpoint

        return await self._read("FindCoordinator", group, act)

    async def classic_group(self, endpoint: Endpoint, group: str) -> ClassicGroup:
        """DescribeGroups."""
        del endpoint
        return await self._read("DescribeGroups", group, self._classic)

    async def streams_group(self, endpoint: Endpoint, group: str) -> StreamsGroup | None:
        """StreamsGroupDescribe."""
        del endpoint
        return await self._read("StreamsGroupDescribe", group, self._streams)

    async def coordinated(self, endpoint: Endpoint) -> tuple[ListedGroup, ...]:
        """ListGroups."""
        del endpoint
        return await self._read("ListGroups", "", lambda: ())

    async def committed(self, endpoint: Endpoint, group: str) -> tuple[Committed, ...]:
        """OffsetFetch."""
        del endpoint

        def act() -> tuple[Committed, ...]:
            rows = sorted(self._group.committed.items())
            return tuple(Committed(at=TopicPartition(topic=TOPIC, index=at), offset=offset) for at, offset in rows)

        return await self._read("OffsetFetch", group, act)

    async def log_ends(
        self, endpoint: Endpoint, partitions: Sequence[TopicPartition], end: LogEnd
    ) -> dict[TopicPartition, Knowable[int]]:
        """ListOffsets."""
        del endpoint, end
        wanted = tuple(partitions)

        def act() -> dict[TopicPartition, Knowable[int]]:
            return {at: Known(value=self._group.ends[at.index]) for at in wanted}

        return await self._read(f"ListOffsets {len(wanted)}", "", act)

    async def metadata(self, endpoint: Endpoint, *, topics: Collection[str] = ()) -> MetadataAnswer:
        """Metadata: one broker that leads every partition of these topics."""

        def act() -> MetadataAnswer:
            row = RegisteredBroker(node_id=_NODE, host=endpoint.host, port=endpoint.port, rack="", fenced=False)
            return MetadataAnswer(
                cluster_id=ClusterID("Nk018hRAQFytWskYqtQduw"),
                controller=None,
                brokers=(row,),
                partitions=tuple(map(_partition, sorted(self._group.ends))) if TOPIC in topics else (),
            )

        return await self._read(f"Metadata {bool(topics)}", "", act)

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """ApiVersions."""
        del endpoint

        def act() -> NodeVersions:
            most = _LEVELS[self._brokers.line]
            level = FeatureRange(name="metadata.version", min_level=1, max_level=most)
            return NodeVersions(supported=(level,), finalized=(), finalized_epoch=-1)

        return await self._read("ApiVersions", "", act)

    async def close(self) -> None:
        """There is nothing to close."""

    def _classic(self) -> ClassicGroup:
        group = self._group
        if (group.members and group.streams) or not self._there():
            return _DEAD
        phase = Phase.STABLE if group.strangers and not group.members else group.phase
        stable = phase is Phase.STABLE
        members = tuple(self._member(one, stable=stable) for _, one in sorted(group.members.items()))
        strangers = tuple(_stranger(number) for number in range(group.strangers))
        protocol = "stream" if stable else ""
        return ClassicGroup(
            state=_CLASSIC[phase], protocol_type="consumer", protocol=protocol, members=(*members, *strangers)
        )

    def _there(self) -> bool:
        group = self._group
        return bool(group.members or group.committed or group.generation or group.strangers)

    def _member(self, one: Joined, *, stable: bool) -> ClassicMember:
        return ClassicMember(
            member_id=one.member_id,
            instance_id=one.process.pod if self._group.habits.static else None,
            client_id="counts",
            client_host=f"/{one.process.host}",
            metadata=subscription(*self._group.shown(one), TOPIC) if stable else b"",
            assignment=assignment(TOPIC, self._group.assigned(one)) if stable else b"",
        )

    def _streams(self) -> StreamsGroup | None:
        if self._brokers.line == "3.9":
            raise KafkaVersionUnsupported("no version", fault=Fault.THEIRS, retry_safe=False, outcome_unknown=False)
        group = self._group
        if not group.members or not group.streams:
            return None
        members = tuple(_streams_member(one) for _, one in sorted(group.members.items()))
        return StreamsGroup(
            state=_STREAMS[group.phase],
            group_epoch=group.generation,
            assignment_epoch=group.generation,
            topology_epoch=1,
            members=members,
        )

    async def _read(self, name: str, what: str, ask: Callable[[], T]) -> T:
        await self.life.turn()
        key = (name, what)
        before: T | None = self._last.get(key)
        call = Call(verb=name, what="group", name=what, writes=False, fickle=before is not None)

        def act() -> T:
            if self._brokers.silent:
                raise _unreachable()
            answer = ask()
            self._last[key] = answer
            return answer

        stale: Callable[[], T] | None = None if before is None else partial(_same, before)
        return self.course(call, act, failure=_unreachable, stale=stale)


def _same(answer: T) -> T:
    return answer


def _unreachable() -> KafkaError:
    return KafkaUnreachable("no connection", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)


def _refused(name: str, code: int) -> KafkaRefused:
    return KafkaRefused(
        f"broker answered with {name}",
        code=code,
        name=name,
        server_message="",
        fault=Fault.THEIRS,
        retry_safe=True,
        outcome_unknown=False,
    )


def _partition(index: int) -> Partition:
    at = TopicPartition(topic=TOPIC, index=index)
    return Partition(at=at, leader=_NODE, leader_epoch=1, replicas=(_NODE,), isr=(_NODE,))


def _stranger(number: int) -> ClassicMember:
    return ClassicMember(
        member_id=f"stranger-{number}",
        instance_id=None,
        client_id="console",
        client_host=f"/{STRANGER}",
        metadata=b"",
        assignment=b"",
    )


def _streams_member(one: Joined) -> StreamsMember:
    return StreamsMember(
        member_id=one.member_id,
        member_epoch=1,
        instance_id=None,
        client_id="counts",
        client_host=f"/{one.process.host}",
        process_id=one.process.uid,
        topology_epoch=1,
        endpoint=None,
        tasks=_NOTHING,
        target=_NOTHING,
        classic=False,
    )
