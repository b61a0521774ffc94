"""What a server answers that is no ZooKeeper: every answer ends in a value or an error, and proves nothing more."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from kafka_quorum.errors import ZooKeeperError, ZooKeeperMalformed, ZooKeeperUnreachable, ZooKeeperUnusable
from kafka_quorum.model.zookeeper import EpochNode, GiveBack, ZooKeeperAccess, ZooKeeperSecret
from kafka_quorum.wire.zookeeper import KazooZooKeepers

HOST = "127.0.0.1"
NONE = ZooKeeperSecret()
NO_NODE = -101
GET, SYNC, CHILDREN, TRANSACTION, CLOSE = 4, 9, 8, 14, -11
STAT = struct.pack(">qqqqiiiqiiq", 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1)
CONNECTED = struct.pack(">iiqi", 0, 6000, 77, 16) + b"p" * 16 + b"\0"
RAISE = GiveBack(controller=None, migration=None, controller_epoch=EpochNode(epoch=5, version=0), epoch=6)
Answers = dict[tuple[int, str], bytes]


def framed(body: bytes) -> bytes:
    """With its length before it."""
    return struct.pack(">i", len(body)) + body


def buffer(data: bytes | None) -> bytes:
    """A text or a node's content, as ZooKeeper writes it; None is its null."""
    return struct.pack(">i", -1) if data is None else framed(data)


def listed(*names: bytes | None) -> bytes:
    """A node's children."""
    return struct.pack(">i", len(names)) + b"".join(map(buffer, names))


def results(*each: bytes) -> bytes:
    """A transaction's results, with their end."""
    return b"".join(each) + struct.pack(">iBi", -1, 1, -1)


class Impostor:
    """A server with these answers, by the kind of request and its path; any other node does not exist."""

    def __init__(self, answers: Answers) -> None:
        """Nobody is connected."""
        self._answers = {(SYNC, "/"): buffer(b"/"), (GET, "/"): buffer(b"") + STAT, **answers}
        self._serving: list[asyncio.Task[None] | None] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until the client ends it."""
        self._serving.append(asyncio.current_task())
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readexactly(*struct.unpack(">i", await reader.readexactly(4)))
            writer.write(framed(CONNECTED))
            while True:
                request = await reader.readexactly(*struct.unpack(">i", await reader.readexactly(4)))
                xid, kind = struct.unpack(">ii", request[:8])
                if kind == CLOSE:
                    break
                found = self._answers.get((kind, "" if kind == TRANSACTION else _path(request)))
                writer.write(framed(struct.pack(">iqi", xid, 1, NO_NODE if found is None else 0) + (found or b"")))
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async def ended(self) -> None:
        """Wait until every connection has ended."""
        async with asyncio.timeout(20):
            await asyncio.gather(*(task for task in self._serving if task is not None))


def _path(request: bytes) -> str:
    """The path that a request begins with, without the byte that some have after it."""
    (length,) = struct.unpack(">i", request[8:12])
    return request[12 : 12 + length].decode()


@contextlib.asynccontextmanager
async def server(answers: Answers) -> AsyncIterator[tuple[KazooZooKeepers, ZooKeeperAccess]]:
    """A client, and the address of such a server."""
    zookeepers, impostor = KazooZooKeepers(limit_s=10, states_limit_s=10), Impostor(answers)
    listening = await asyncio.start_server(impostor.serve, HOST, 0)
    yield zookeepers, ZooKeeperAccess(connect=f"{HOST}:{listening.sockets[0].getsockname()[1]}")
    listening.close()
    await impostor.ended()
    await zookeepers.close()


@pytest.mark.parametrize(
    "answers",
    [
        {(CHILDREN, "/brokers/ids"): listed(None)},
        {(CHILDREN, "/brokers/ids"): listed(b"\xff")},
        {(CHILDREN, "/brokers/ids"): struct.pack(">i", 2**31 - 1)},
        {(CHILDREN, "/brokers/topics"): listed(None, None)},
        {(CHILDREN, "/config/users"): listed(None)},
        {(GET, "/controller"): buffer(None) + STAT},
        {(GET, "/controller"): buffer(b"{}") + STAT[:10]},
        {(GET, "/controller"): struct.pack(">i", 2**30)},
    ],
)
async def test_an_answer_that_no_zookeeper_gives(answers: Answers) -> None:
    """Bytes that are no answer, and names that are none, are an error of ZooKeeper, whatever kazoo makes of them."""
    async with server(answers) as (zookeepers, access):
        with pytest.raises(ZooKeeperMalformed) as failure:
            await zookeepers.read(access, NONE, rights=False, states=True)
    assert str(failure.value).isprintable()


async def test_rights_need_a_proof() -> None:
    """A probe without a result for each of its operations proves no right: it is an error."""
    for answers in ({}, {(TRANSACTION, ""): results()}):
        async with server(answers) as (zookeepers, access):
            with pytest.raises(ZooKeeperError):
                await zookeepers.read(access, NONE, rights=True, states=False)


@pytest.mark.parametrize("answer", [None, b"", results(), results(struct.pack(">iBi", 5, 0, 0) + STAT)])
async def test_a_write_without_its_results(answer: bytes | None) -> None:
    """It is not known then whether the write happened, and the error says so."""
    answers = {(GET, "/controller_epoch"): buffer(b"5") + STAT}
    if answer is not None:
        answers[TRANSACTION, ""] = answer
    async with server(answers) as (zookeepers, access):
        with pytest.raises(ZooKeeperUnreachable) as failure:
            await zookeepers.give_back(access, NONE, RAISE)
    assert failure.value.outcome_unknown


async def test_an_epoch_that_no_broker_can_read_is_not_written() -> None:
    """Kafka's epochs have 32 bits: one more in /controller_epoch, and no broker could be the controller again."""
    answers = {(GET, "/controller_epoch"): buffer(b"5") + STAT, (TRANSACTION, ""): results(b"")}
    async with server(answers) as (zookeepers, access):
        with pytest.raises(ZooKeeperUnusable, match="2147483648, which no broker can read") as failure:
            await zookeepers.give_back(access, NONE, replace(RAISE, epoch=2**31))
    assert not failure.value.outcome_unknown
