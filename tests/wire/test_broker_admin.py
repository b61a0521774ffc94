"""Every request to brokers against a scripted server: all of an answer is read, or none of it."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.unregister_broker.v0.response import UnregisterBrokerResponse
from kio.static.protocol import ResponsePayload
from tests.model.values import CLUSTER
from tests.wire import broker_values as made
from tests.wire.fakes import ALL_VERSIONS, Do, FakeServer, answer_to, api_versions, running

from kafka_quorum.errors import KafkaProtocolError, KafkaRefused, KafkaUnreachable, KafkaVersionUnsupported
from kafka_quorum.model.brokers import ConfigChange, Move, TopicPartition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.wire import broker_admin
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.brokers import Brokers
from kafka_quorum.wire.connection import Limits
from kafka_quorum.wire.requests import describe_configs, describe_topic_partitions
from kit.errors import Fault

BROKER = NodeID(3000)  # of the fake server
NO = ErrorCode.none
FORBIDDEN = ErrorCode.cluster_authorization_failed
Ask = Callable[[Brokers, FakeServer], Awaitable[Any]]


@asynccontextmanager
async def asking(server: FakeServer, limits: Limits | None = None) -> AsyncIterator[Brokers]:
    """A client for this server."""
    async with running(server):
        client = KafkaBrokers(limits)
        try:
            yield client
        finally:
            await client.close()


def saying(*responses: ResponsePayload) -> FakeServer:
    """A server that gives these answers one after another, and then the last one for ever."""
    left = list(responses)
    return FakeServer(lambda request: answer_to(request, left.pop(0) if len(left) > 1 else left[0]))


async def asked(ask: Ask, *responses: ResponsePayload) -> Any:  # noqa: ANN401 - what the request returns
    """The result of a request that is answered so."""
    async with asking(server := saying(*responses)) as brokers:
        return await ask(brokers, server)


async def test_registered_brokers() -> None:
    """Every registered broker is listed by id, with its rack and whether it is fenced."""
    answer = await asked(BROKERS, made.cluster(made.registered(2, is_fenced=True), made.registered(1, rack="a")))
    assert [(row.node_id, row.rack, row.fenced) for row in answer.brokers] == [(1, "a", False), (2, "", True)]


async def test_a_broker_that_cannot_list_fenced_ones_is_not_asked() -> None:
    """Before 4.0 fenced brokers are left out, which would look like brokers that are gone: nothing is sent."""
    versions = api_versions(ALL_VERSIONS | {60: (0, 1)})
    server = FakeServer(versions=lambda request: answer_to(request, versions))
    async with asking(server) as brokers:
        with pytest.raises(KafkaVersionUnsupported, match="to broker 3000"):
            await brokers.describe_brokers(server.endpoint)
    assert server.api_keys == [18]


def rows(count: int, start: int = 0) -> Sequence[Any]:
    """Partitions one after another."""
    return [made.partition(index) for index in range(start, start + count)]


async def test_partitions_in_pages() -> None:
    """Pages follow each other until one has no cursor, and each begins where the one before says."""
    first = made.page(made.topic("a", *rows(2)), made.topic("b", *rows(3), topic_id=7), following=("b", 3))
    second = made.page(made.topic("b", *rows(2, 3), topic_id=7), following=("c", 0))
    third = made.page(made.topic("d", made.partition(0, leader_id=-1, isr_nodes=(), last_known_elr=(2,))))
    server = saying(first, second, third)
    async with asking(server) as brokers:
        found = await brokers.describe_partitions(server.endpoint)
    assert [str(row.at) for row in found] == ["a-0", "a-1", "b-0", "b-1", "b-2", "b-3", "b-4", "d-0"]
    assert (found[0].leader, found[0].isr, found[0].elr) == (1, (1, 2, 3), ())
    assert (found[-1].leader, found[-1].isr, found[-1].last_elr) == (None, (), (2,))
    assert b"\x02b\x00\x00\x00\x03" in server.requests[2]


async def test_a_cluster_without_topics() -> None:
    """No topic at all is an answer."""
    assert await asked(PARTITIONS, made.page()) == ()


BAD_PAGES: dict[str, tuple[tuple[ResponsePayload, ...], str]] = {
    "the cursor stands still": (
        (made.page(made.topic("a", *rows(2)), following=("a", 2)), made.page(following=("a", 2))),
        "empty page",
    ),
    "the same page again": ((made.page(made.topic("a", *rows(2)), following=("a", 2)),), "a-2"),
    "the cursor goes back": ((made.page(made.topic("b", *rows(2)), following=("a", 0)),), "a-0"),
    "the cursor leaves rows out": ((made.page(made.topic("a", *rows(2)), following=("a", 5)),), "a-5"),
    "the cursor begins inside another topic": ((made.page(made.topic("a", *rows(2)), following=("b", 1)),), "b-1"),
    "a topic ends before its cursor": (
        (
            made.page(made.topic("a", *rows(2)), following=("a", 2)),
            made.page(made.topic("b", *rows(1))),
        ),
        "topic a ended",
    ),
    "a topic of another id": (
        (
            made.page(made.topic("a", *rows(2)), following=("a", 2)),
            made.page(made.topic("a", *rows(1, 2), topic_id=5)),
        ),
        "topic a is another",
    ),
    "a missing partition": ((made.page(made.topic("a", made.partition(0), made.partition(2))),), "a-2"),
    "a topic that begins late": ((made.page(made.topic("a", made.partition(1))),), "a-1"),
    "topics out of order": ((made.page(made.topic("b", *rows(1)), made.topic("a", *rows(1))),), "a-0"),
    "a topic twice": ((made.page(made.topic("a", *rows(1)), made.topic("a", *rows(1))),), "listed twice"),
    "a replica twice": ((made.page(made.topic("a", made.partition(0, isr_nodes=(1, 1)))),), "1 is listed twice"),
    "no replica": ((made.page(made.topic("a", made.partition(0, replica_nodes=()))),), "no replica"),
    "a negative replica": ((made.page(made.topic("a", made.partition(0, replica_nodes=(-3,)))),), "-3"),
    "too many replicas": ((made.page(made.topic("a", made.partition(0, replica_nodes=(*range(65),)))),), "65"),
    "a topic without a name": ((made.page(made.topic("", *rows(1))),), "no name"),
}


@pytest.mark.parametrize("name", BAD_PAGES)
async def test_a_page_that_does_not_continue_is_an_error(name: str) -> None:
    """A page with a gap, a repetition, or a cursor that does not advance is an error, never a part of the picture."""
    pages, words = BAD_PAGES[name]
    with pytest.raises(KafkaProtocolError, match=words) as failure:
        await asked(PARTITIONS, *pages)
    assert failure.value.retry_safe
    assert not failure.value.outcome_unknown


def endless() -> FakeServer:
    """A server with one more topic on each page."""
    count = 0

    def answer(request: bytes) -> bytes:
        nonlocal count
        count += 1
        return answer_to(request, made.page(made.topic(f"t{count:09}", *rows(1)), following=(f"t{count + 1:09}", 0)))

    return FakeServer(answer)


async def test_pages_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that always has one more page is an error after a bounded number, of pages, partitions or seconds."""
    monkeypatch.setattr(describe_topic_partitions, "MAX_PAGES", 5)
    async with asking(server := endless()) as brokers:
        with pytest.raises(KafkaProtocolError, match="more than 5 pages"):
            await brokers.describe_partitions(server.endpoint)
    assert len(server.requests) == 6
    monkeypatch.setattr(describe_topic_partitions, "MAX_PARTITIONS", 3)
    async with asking(server := endless()) as brokers:
        with pytest.raises(KafkaProtocolError, match="more than 3 partitions"):
            await brokers.describe_partitions(server.endpoint)
    monkeypatch.undo()
    monkeypatch.setattr(broker_admin, "LOOK_S", 0.05)
    async with asking(server := endless()) as brokers:
        with pytest.raises(KafkaUnreachable, match="in full"):
            await brokers.describe_partitions(server.endpoint)


@pytest.mark.parametrize(
    "answer",
    [
        made.page(made.topic("a", error=ErrorCode.topic_authorization_failed)),
        made.page(made.topic("a", made.partition(0), made.partition(1, error_code=ErrorCode.leader_not_available))),
    ],
    ids=["topic", "partition"],
)
async def test_an_error_of_one_row_is_an_error_of_the_look(answer: ResponsePayload) -> None:
    """A topic or partition with an error code makes the look an error that names it: it is not left out."""
    with pytest.raises(KafkaRefused, match=r"topic a|partition a-1"):
        await asked(PARTITIONS, answer)


def topic_isr(name: str, value: str | None = "2") -> Any:  # noqa: ANN401 - a row
    """A topic's row with its min.insync.replicas."""
    return made.resource(2, name, made.setting("min.insync.replicas", value))


async def test_what_a_broker_has_in_its_cache() -> None:
    """Brokers, the controller and every partition come in one answer; a partition without a leader is a fact."""
    rows = (
        made.cached(0),
        made.cached(1, error_code=ErrorCode.leader_not_available, leader_id=-1, isr_nodes=(2,), offline_replicas=(1,)),
        made.cached(2, error_code=ErrorCode.listener_not_found, leader_id=1),
        made.cached(3, error_code=ErrorCode.replica_not_available),
    )
    topics = (made.cached_topic("b", *rows[::-1]), made.cached_topic("a"))
    found = await asked(METADATA, made.cache(*topics, brokers=(made.listed(3, rack="x"), made.listed(1))))
    assert (found.cluster_id, found.controller) == (CLUSTER, 2)
    assert [(row.node_id, row.rack, row.fenced) for row in found.brokers] == [(1, "", False), (3, "x", False)]
    assert [str(row.at) for row in found.partitions] == ["b-0", "b-1", "b-2", "b-3"]
    assert [row.leader for row in found.partitions] == [1, None, None, 1]
    assert (found.partitions[1].isr, found.partitions[1].offline) == ((2,), (1,))
    assert all((row.elr, row.last_elr) == ((), ()) for row in found.partitions)
    brief = await asked(lambda brokers, at: brokers.metadata(at.endpoint, partitions=False), made.cache())
    assert (len(brief.brokers), brief.partitions) == (3, ())
    nobody = await asked(METADATA, made.cache(controller_id=-1))
    assert (nobody.controller, nobody.partitions) == (None, ())


@pytest.mark.parametrize(
    "answer",
    [
        made.cache(made.cached_topic("a", error=FORBIDDEN)),
        made.cache(made.cached_topic("a", made.cached(0, error_code=FORBIDDEN))),
        made.cache(made.cached_topic("a", made.cached(0), made.cached(0))),
        made.cache(made.cached_topic("a", made.cached(0, replica_nodes=()))),
        made.cache(made.cached_topic("a", made.cached(0, isr_nodes=(1, 1)))),
        made.cache(made.cached_topic("a", made.cached(0, leader_id=-2))),
        made.cache(made.cached_topic(None, made.cached(0))),
        made.cache(brokers=(made.listed(1), made.listed(1))),
        made.cache(cluster_id=None),
        made.cache(controller_id=-2),
    ],
)
async def test_a_cache_that_cannot_be_is_an_error(answer: ResponsePayload) -> None:
    """An error code, a row twice or a number that nothing has makes all of the answer an error."""
    with pytest.raises((KafkaRefused, KafkaProtocolError)):
        await asked(METADATA, answer)


async def test_a_large_cache_is_read() -> None:
    """20,000 partitions of RF 3 in one answer are read in some seconds."""
    topics = [made.cached_topic(f"topic-{one}", *map(made.cached, range(20))) for one in range(1000)]
    clock = asyncio.get_running_loop().time
    async with asking(server := saying(made.cache(*topics))) as brokers:
        begin_s = clock()
        found = await brokers.metadata(server.endpoint)
    assert len(found.partitions) == 20_000
    assert clock() - begin_s < 10.0


async def test_min_isr_of_topics() -> None:
    """A topic that is gone is absent; every other one has its number."""
    gone = made.resource(2, "b", error=ErrorCode.unknown_topic_or_partition)
    answer = made.configs(topic_isr("a", "1"), gone, topic_isr("c", "3"))
    assert await asked(lambda brokers, at: brokers.min_isr(at.endpoint, ["a", "b", "c", "a"]), answer) == {
        "a": 1,
        "c": 3,
    }


async def test_min_isr_of_more_topics_than_one_request_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many topics are asked about in several requests; no topic sends nothing."""
    monkeypatch.setattr(describe_configs, "MAX_TOPICS", 2)
    server = saying(made.configs(topic_isr("a"), topic_isr("b")), made.configs(topic_isr("c", "5")))
    async with asking(server) as brokers:
        assert await brokers.min_isr(server.endpoint, []) == {}
        assert server.requests == []
        assert await brokers.min_isr(server.endpoint, ["a", "b", "c"]) == {"a": 2, "b": 2, "c": 5}


@pytest.mark.parametrize(
    "answer",
    [
        made.configs(),
        made.configs(topic_isr("b")),
        made.configs(topic_isr("a"), topic_isr("a")),
        made.configs(made.resource(2, "a")),
        made.configs(topic_isr("a", None)),
        made.configs(topic_isr("a", "0")),
        made.configs(topic_isr("a", "²")),
        made.configs(made.resource(4, "a", made.setting("min.insync.replicas", "2"))),
    ],
    ids=["none", "another", "twice", "without", "null", "zero", "no digit", "a broker"],
)
async def test_a_min_isr_that_is_not_there_is_an_error(answer: ResponsePayload) -> None:
    """A topic without a number is an error, because a default would be a wrong number."""
    with pytest.raises(KafkaProtocolError):
        await asked(MIN_ISR, answer)


async def test_settings_of_a_broker() -> None:
    """A value is what the broker says, None if it is sensitive or not set, and never has hidden characters."""
    answer = made.configs(
        made.resource(
            4,
            "3000",
            made.setting("a", "x\n\x1b[31my"),
            made.setting("b", "secret", is_sensitive=True),
            made.setting("c", None, read_only=False, config_source=2),
            made.setting("d", ""),
        )
    )
    entries = await asked(CONFIG, answer)
    assert [(row.name, row.value, row.source, row.read_only) for row in entries] == [
        ("a", "x y", 4, True),
        ("b", None, 4, True),
        ("c", None, 2, False),
        ("d", "", 4, True),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        made.configs(made.resource(4, "3001", made.setting("a", "1"))),
        made.configs(made.resource(4, "3000")),
        made.configs(made.resource(4, "3000", made.setting("a", "1"), made.setting("a", "2"))),
        made.configs(),
    ],
    ids=["of another broker", "empty", "twice", "none"],
)
async def test_settings_of_another_broker_are_no_answer(answer: ResponsePayload) -> None:
    """The row must be of the broker that was asked, and have settings."""
    with pytest.raises(KafkaProtocolError):
        await asked(CONFIG, answer)


async def test_log_directories() -> None:
    """Each directory has its replicas and whether it is cordoned; one that fails has its error and no replica."""
    failed = made.directory("/b", error_code=ErrorCode.kafka_storage_error)
    answer = made.log_dirs(made.directory("/a", ("t", 0), ("u", 3), is_cordoned=True, total_bytes=9), failed)
    first, second = await asked(LOG_DIRS, answer)
    assert [str(each.at) for each in first.replicas] == ["t-0", "u-3"]
    assert (first.error, first.cordoned, first.total_bytes, first.usable_bytes) == ("", True, 9, -1)
    assert (second.path, second.error, second.replicas) == ("/b", "KAFKA_STORAGE_ERROR", ())


@pytest.mark.parametrize(
    "answer",
    [
        made.log_dirs(),
        made.log_dirs(made.directory("/a"), made.directory("/a")),
        made.log_dirs(made.directory("/a", ("t", 0), ("t", 0))),
    ],
    ids=["none", "twice", "a replica twice"],
)
async def test_log_directories_that_no_broker_has(answer: ResponsePayload) -> None:
    """No directory, or one that is listed twice, is an error: a broker without replicas would look empty."""
    with pytest.raises(KafkaProtocolError):
        await asked(LOG_DIRS, answer)


async def test_reassignments() -> None:
    """A row has the replicas of now, and what is added and removed, from which the target follows."""
    (row,) = await asked(REASSIGNMENTS, made.running(("a", 3, (4, 1, 2), (4,), (1,))))
    assert (str(row.at), row.replicas, row.adding, row.removing, row.target) == ("a-3", (4, 1, 2), (4,), (1,), (4, 2))


@pytest.mark.parametrize("row", [("a", 0, (1,), (), ()), ("a", 0, (1,), (2,), ())], ids=["nothing", "a stranger"])
async def test_a_reassignment_that_cannot_be(row: tuple[str, int, tuple[int], tuple[()], tuple[()]]) -> None:
    """A reassignment adds or removes something that is among its replicas."""
    with pytest.raises(KafkaProtocolError):
        await asked(REASSIGNMENTS, made.running(row))


A0, B1 = TopicPartition(topic="a", index=0), TopicPartition(topic="b", index=1)
MOVES = (Move(at=A0, replicas=(NodeID(4), NodeID(1))), Move(at=B1, replicas=None))


async def test_refused_reassignments_are_named() -> None:
    """Refused rows come back with Kafka's name and words, without hidden characters; nothing to cancel is fine."""
    idle = ("b", 1, ErrorCode.no_reassignment_in_progress, None)
    answer = made.reassigned(("a", 0, ErrorCode.invalid_replica_assignment, "no\nbroker 4"), idle)
    assert await asked(REASSIGN, answer) == {A0: "INVALID_REPLICA_ASSIGNMENT no broker 4"}
    assert await asked(REASSIGN, made.reassigned(("a", 0, NO, None), idle)) == {}
    busy = made.reassigned(("a", 0, ErrorCode.no_reassignment_in_progress, None), ("b", 1, NO, None))
    assert A0 in await asked(REASSIGN, busy)


@pytest.mark.parametrize(
    "answer",
    [
        made.reassigned(("a", 0, NO, None)),
        made.reassigned(("a", 0, NO, None), ("b", 2, NO, None)),
        made.reassigned(("a", 0, NO, None), ("a", 0, NO, None)),
    ],
    ids=["missing", "another", "twice"],
)
async def test_a_reassignment_that_is_not_answered_may_have_begun(answer: ResponsePayload) -> None:
    """If a row is missing in the answer, its outcome is unknown."""
    with pytest.raises(KafkaProtocolError) as failure:
        await asked(REASSIGN, answer)
    assert failure.value.outcome_unknown


async def test_preferred_leaders() -> None:
    """Partitions that cannot have or do not need an election stay as they are; any other error is one."""
    fine = made.elected(("a", 0, ErrorCode.election_not_needed), ("b", 1, ErrorCode.preferred_leader_not_available))
    await asked(ELECT, fine)
    with pytest.raises(KafkaRefused, match="NOT_CONTROLLER"):
        await asked(ELECT, made.elected(("a", 0, ErrorCode.not_controller)))


async def test_settings_are_changed_all_or_none() -> None:
    """An error of the only row is an error with Kafka's words; an answer about another resource is none."""
    await asked(ALTER, made.altered((4, "3000", NO)))
    await asked(ALTER_TOPIC, made.altered((2, "t", NO)))
    with pytest.raises(KafkaRefused, match="words") as failure:
        await asked(ALTER, made.altered((4, "3000", ErrorCode.invalid_config)))
    assert failure.value.fault is Fault.OURS
    assert not failure.value.outcome_unknown
    for answer in (made.altered(), made.altered((4, "3001", NO)), made.altered((2, "3000", NO))):
        with pytest.raises(KafkaProtocolError) as garbled:
            await asked(ALTER, answer)
        assert garbled.value.outcome_unknown


async def test_a_broker_that_is_not_registered_is_forgotten() -> None:
    """To forget a broker twice is a success, any other error is not."""
    unknown = UnregisterBrokerResponse(
        throttle_time=made.NOW, error_code=ErrorCode.broker_id_not_registered, error_message="unknown"
    )
    await asked(UNREGISTER, unknown)
    refusal = UnregisterBrokerResponse(throttle_time=made.NOW, error_code=ErrorCode.not_controller, error_message=None)
    with pytest.raises(KafkaRefused, match="NOT_CONTROLLER") as failure:
        await asked(UNREGISTER, refusal)
    assert failure.value.outcome_unknown


async def test_nothing_to_do_sends_nothing() -> None:
    """Without moves, elections or changes no request is sent: Kafka would take an empty list for all partitions."""
    async with asking(server := FakeServer()) as brokers:
        assert await brokers.reassign(server.endpoint, ()) == {}
        await brokers.elect_preferred(server.endpoint, ())
        await brokers.alter_broker_config(server.endpoint, BROKER, ())
        await brokers.alter_topic_config(server.endpoint, "t", ())
    assert server.requests == []


async def test_more_than_one_request_takes_is_not_sent() -> None:
    """Too many moves or elections are our fault, and nothing is sent."""
    moves = [Move(at=TopicPartition(topic="a", index=index), replicas=None) for index in range(1001)]
    async with asking(server := FakeServer()) as brokers:
        for sending in (
            brokers.reassign(server.endpoint, moves),
            brokers.reassign(server.endpoint, moves[:1] * 2),
            brokers.elect_preferred(server.endpoint, [move.at for move in moves]),
        ):
            with pytest.raises(KafkaProtocolError) as failure:
                await sending
            assert failure.value.fault is Fault.OURS
            assert not failure.value.outcome_unknown
    assert server.api_keys == [18]


BROKERS: Ask = lambda brokers, at: brokers.describe_brokers(at.endpoint)  # noqa: E731 - one line each
PARTITIONS: Ask = lambda brokers, at: brokers.describe_partitions(at.endpoint)  # noqa: E731
METADATA: Ask = lambda brokers, at: brokers.metadata(at.endpoint)  # noqa: E731
MIN_ISR: Ask = lambda brokers, at: brokers.min_isr(at.endpoint, ["a"])  # noqa: E731
CONFIG: Ask = lambda brokers, at: brokers.describe_broker_config(at.endpoint, BROKER)  # noqa: E731
LOG_DIRS: Ask = lambda brokers, at: brokers.describe_log_dirs(at.endpoint)  # noqa: E731
REASSIGNMENTS: Ask = lambda brokers, at: brokers.reassignments(at.endpoint)  # noqa: E731
REASSIGN: Ask = lambda brokers, at: brokers.reassign(at.endpoint, MOVES)  # noqa: E731
ELECT: Ask = lambda brokers, at: brokers.elect_preferred(at.endpoint, [A0, B1])  # noqa: E731
CHANGE = (ConfigChange(name="n", value="1"), ConfigChange(name="m", value=None))
ALTER: Ask = lambda brokers, at: brokers.alter_broker_config(at.endpoint, BROKER, CHANGE)  # noqa: E731
ALTER_TOPIC: Ask = lambda brokers, at: brokers.alter_topic_config(at.endpoint, "t", CHANGE)  # noqa: E731
UNREGISTER: Ask = lambda brokers, at: brokers.unregister_broker(at.endpoint, NodeID(7))  # noqa: E731

READS = {
    "brokers": BROKERS,
    "partitions": PARTITIONS,
    "metadata": METADATA,
    "min isr": MIN_ISR,
    "config": CONFIG,
    "log dirs": LOG_DIRS,
    "reassignments": REASSIGNMENTS,
}
WRITES = {
    "reassign": REASSIGN,
    "elect": ELECT,
    "alter": ALTER,
    "alter topic": ALTER_TOPIC,
    "unregister": UNREGISTER,
}
REFUSALS = {
    "brokers": made.cluster(error_code=FORBIDDEN),
    "partitions": made.page(made.topic("a", error=FORBIDDEN)),
    "min isr": made.configs(made.resource(2, "a", error=FORBIDDEN)),
    "config": made.configs(made.resource(4, "3000", error=FORBIDDEN)),
    "log dirs": made.log_dirs(error=FORBIDDEN),
    "reassign": made.reassigned(error=FORBIDDEN),
    "elect": made.elected(error=FORBIDDEN),
    "alter": made.altered((4, "3000", FORBIDDEN)),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_an_error_code_is_an_error(name: str) -> None:
    """An error code at the level where this answer has it is raised with Kafka's name: an empty answer is no answer."""
    with pytest.raises(KafkaRefused, match="CLUSTER_AUTHORIZATION_FAILED"):
        await asked((READS | WRITES)[name], REFUSALS[name])


@pytest.mark.parametrize("name", [*READS, *WRITES])
async def test_a_server_that_is_silent_or_closes(name: str) -> None:
    """Without an answer a read may be repeated, and the outcome of a write is unknown."""
    for reply in (Do.CLOSE, Do.NOTHING):
        async with asking(server := FakeServer(lambda _, reply=reply: reply), QUICK) as brokers:  # type: ignore[misc]
            with pytest.raises(KafkaUnreachable) as failure:
                await (READS | WRITES)[name](brokers, server)
            assert failure.value.outcome_unknown == (name in WRITES)
            assert failure.value.retry_safe == (name in READS)


@pytest.mark.parametrize("name", [*READS, *WRITES])
async def test_noise_is_an_error(name: str) -> None:
    """Bytes that are no answer, too many, or cut off, are a protocol error of bounded size."""

    def framed(request: bytes, body: bytes) -> bytes:
        return struct.pack(">i", len(body) + 5) + request[4:8] + b"\0" + body

    for noise in (b"", b"\0" * 3, b"\xff" * 40, b"\0\0\0\0" + b"\xff\xff\xff\x7f" * 5, bytes(range(256))):
        async with asking(server := FakeServer(lambda request, noise=noise: framed(request, noise))) as brokers:  # type: ignore[misc]
            with pytest.raises((KafkaProtocolError, KafkaRefused)) as failure:
                await (READS | WRITES)[name](brokers, server)
            assert len(str(failure.value)) < 2000
    huge = struct.pack(">i", 64 * 1024 * 1024)
    async with asking(server := FakeServer(lambda _: huge)) as brokers:
        with pytest.raises(KafkaProtocolError, match="at most"):
            await (READS | WRITES)[name](brokers, server)


QUICK = Limits(connect_timeout_s=0.2, request_timeout_s=0.2)


async def test_a_page_of_the_largest_honest_size_is_read() -> None:
    """A page of a thousand topics with the longest names and eight replicas is read, in well under a second."""
    nodes = tuple(range(1000, 1008))
    topics = [
        made.topic(f"{index:0>249}", made.partition(0, replica_nodes=nodes, isr_nodes=nodes, last_known_elr=nodes))
        for index in range(1000)
    ]
    clock = asyncio.get_running_loop().time
    async with asking(server := saying(made.page(*topics))) as brokers:
        begin_s = clock()
        found = await brokers.describe_partitions(server.endpoint)
    assert len(found) == 1000
    assert clock() - begin_s < 5.0


async def test_the_largest_honest_log_directory_is_read() -> None:
    """4,000 replicas of topics with the longest names are read."""
    replicas = [(f"{index:0>249}", 0) for index in range(4000)]
    (found,) = await asked(LOG_DIRS, made.log_dirs(made.directory("/a", *replicas)))
    assert len(found.replicas) == 4000
