"""What a server answers that is no ZooKeeper: every answer ends in a value or an error, and proves nothing more."""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_quorum.errors import ZooKeeperError, ZooKeeperMalformed, ZooKeeperUnreachable, ZooKeeperUnusable
from kafka_quorum.model.zookeeper import EpochNode, GiveBack, ZooKeeperAccess, ZooKeeperSecret
from kafka_quorum.wire import zookeeper_nodes, zookeeper_rights, zookeeper_session
from kafka_quorum.wire.zookeeper import KazooZooKeepers
from kafka_quorum.wire.zookeeper_nodes import parse_connect

HOST = "127.0.0.1"
NONE = ZooKeeperSecret()
NO_NODE = -101
GET, SYNC, CHILDREN, PING, TRANSACTION, CLOSE = 4, 9, 8, 11, 14, -11
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

    def __init__(
        self, answers: Answers, *, together_s: float = 0.0, session_ms: int = 6000, last: str | None = None
    ) -> None:
        """Nobody is connected.

        What is answered within `together_s` goes out in one part. After the answer for `last` the connection ends.
        """
        self._together_s, self._session_ms, self._last = together_s, session_ms, last
        self._answers = {(SYNC, "/"): buffer(b"/"), (GET, "/"): buffer(b"") + STAT, **answers}
        self._held = bytearray()
        self._serving: list[asyncio.Task[None] | None] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until the client ends it."""
        self._serving.append(asyncio.current_task())
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readexactly(*struct.unpack(">i", await reader.readexactly(4)))
            writer.write(framed(CONNECTED[:4] + struct.pack(">i", self._session_ms) + CONNECTED[8:]))
            while True:
                request = await reader.readexactly(*struct.unpack(">i", await reader.readexactly(4)))
                xid, kind = struct.unpack(">ii", request[:8])
                if kind == CLOSE:
                    break
                path = "" if kind in (PING, TRANSACTION) else _path(request)
                found = self._answers.get((kind, path))
                head = struct.pack(">iqi", xid, 1, NO_NODE if found is None else 0)
                self._send(writer, framed(head + (found or b"")))
                if path == self._last:
                    break
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    def _send(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        if not self._together_s:
            writer.write(answer)
            return
        if not self._held:
            asyncio.get_running_loop().call_later(self._together_s, self._flush, writer)
        self._held += answer

    def _flush(self, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(self._held))
        self._held.clear()

    @property
    def connections(self) -> int:
        """How many there were."""
        return len(self._serving)

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


async def test_all_answers_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may answer many requests before the first answer is looked at: they may not fill the memory."""
    monkeypatch.setattr(zookeeper_session._Connection, "_left", 20_000, raising=False)
    answers = {(CHILDREN, "/config/users"): listed(*(b"%0200d" % number for number in range(200)))}
    async with server(answers) as (zookeepers, access):
        with pytest.raises(ZooKeeperUnreachable, match="the answers have more than"):
            await zookeepers.read(access, NONE, rights=False, states=True)


async def test_all_names_that_are_listed_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rights are tried on samples of children, and a server may show many lists of many names."""
    monkeypatch.setattr(zookeeper_rights, "MAX_NAMES", 100, raising=False)
    kinds = [b"kind-%d" % number for number in range(3)]
    names = listed(*(b"%d" % number for number in range(40)))
    answers = {
        (CHILDREN, "/kafka-acl"): listed(*kinds),
        **{(CHILDREN, f"/kafka-acl/{kind.decode()}"): names for kind in kinds},
    }
    async with server(answers) as (zookeepers, access):
        with pytest.raises(ZooKeeperMalformed, match="more than 100 children"):
            await zookeepers.read(access, NONE, rights=True, states=False)


async def test_encrypted_settings_are_named_up_to_a_limit() -> None:
    """One is enough to be in the way; each look goes through all of them."""
    settings = json.dumps({"config": {f"{number}.ssl.key.password": "" for number in range(5_000)}}).encode()
    answers = {
        (CHILDREN, "/config/brokers"): listed(b"1", b"2"),
        **{(GET, f"/config/brokers/{name}"): buffer(settings) + STAT for name in (1, 2)},
    }
    async with server(answers) as (zookeepers, access):
        seen = await zookeepers.read(access, NONE, rights=False, states=False)
    assert len(seen.encoded) == 1_000


class Dripping:
    """A connection that always has some bytes, and notes how many it was asked for."""

    def __init__(self) -> None:
        """It can be read at once."""
        self._read, self._written = socket.socketpair()
        self._written.send(b"x")
        self.asked: list[int] = []

    def fileno(self) -> int:
        """Of a socket that can be read."""
        return self._read.fileno()

    def recv(self, most: int) -> bytes:
        """Some bytes."""
        self.asked.append(most)
        return b"x" * min(most, 1_000)

    def close(self) -> None:
        """Both ends."""
        self._read.close()
        self._written.close()


@pytest.fixture
def dripping() -> Iterator[Dripping]:
    """A connection that is closed."""
    made = Dripping()
    yield made
    made.close()


def test_an_answer_in_small_parts(dripping: Dripping) -> None:
    """For each part Python sets aside what is missing: of a long answer in small parts, it may be only a piece."""
    session = zookeeper_session.Session(parse_connect("127.0.0.1:1"), NONE, time.monotonic() + 5)
    connection: Any = session.client._connection
    connection._socket = dripping
    assert len(connection._read(1024 * 1024, 1.0)) == 1024 * 1024
    assert max(dripping.asked) <= 64 * 1024


def test_an_answer_after_the_end_is_none() -> None:
    """What is there already is not looked at after the end: many large nodes would keep a thread for long."""
    session = zookeeper_session.Session(parse_connect("127.0.0.1:1"), NONE, time.monotonic() - 1)
    there = session.client.handler.async_result()
    there.set((b"", None))
    with pytest.raises(ZooKeeperUnreachable, match="no answer within the limit"):
        session.answer("/", there)


async def test_servers_that_hang_delay_no_other_quorum() -> None:
    """Many quorums may have a ZooKeeper that accepts connections and then hangs: the read of another one succeeds."""
    hanging = Impostor({}, together_s=600)
    silent = await asyncio.start_server(hanging.serve, HOST, 0)
    hung = ZooKeeperAccess(connect=f"{HOST}:{silent.sockets[0].getsockname()[1]}")
    async with server({}) as (zookeepers, access):
        zookeepers.limit_s, zookeepers.states_limit_s = 3.0, 6.0
        reads = [asyncio.create_task(zookeepers.read(hung, NONE, rights=False, states=True)) for _ in range(12)]
        await asyncio.sleep(0.1)
        assert (await zookeepers.read(access, NONE, rights=False, states=False)).cluster_id == ""
        ended = await asyncio.gather(*reads, return_exceptions=True)
        assert all(isinstance(each, ZooKeeperUnreachable) for each in ended)
    silent.close()
    await hanging.ended()


async def test_answers_in_one_record_of_tls(tmp_path: Path) -> None:
    """What stands before ZooKeeper may put all answers into one record: none of them waits for the next heartbeat."""
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    files = ("-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "crt"))
    subprocess.run(  # noqa: ASYNC221 - a fraction of a second, and nothing else runs
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *names, *files], check=True, capture_output=True
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    names_of = [b"topic-%d" % number for number in range(100)]
    answers = {
        (CHILDREN, "/brokers/topics"): listed(*names_of),
        **{(GET, f"/brokers/topics/{name.decode()}"): buffer(b'{"partitions": {}}') + STAT for name in names_of},
    }
    impostor = Impostor(answers, together_s=0.05, session_ms=60_000)
    listening = await asyncio.start_server(impostor.serve, HOST, 0, ssl=context)
    zookeepers = KazooZooKeepers(limit_s=10)
    access = ZooKeeperAccess(connect=f"localhost:{listening.sockets[0].getsockname()[1]}")
    secret = ZooKeeperSecret(ca=(tmp_path / "crt").read_text())
    seen = await zookeepers.read(access, secret, rights=False, states=False)
    assert seen.topics == len(names_of)
    await zookeepers.close()
    listening.close()
    await impostor.ended()


async def test_a_connection_that_breaks_ends_the_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if no request waits for its answer: another session may be at a server that is behind."""
    parse = zookeeper_nodes.controller_epoch

    def slow(data: bytes, *, version: int) -> EpochNode:
        time.sleep(1.0)  # the client would connect again meanwhile
        return parse(data, version=version)

    monkeypatch.setattr(zookeeper_nodes, "controller_epoch", slow)
    impostor = Impostor({(GET, "/controller_epoch"): buffer(b"5") + STAT}, last="/controller_epoch")
    listening = await asyncio.start_server(impostor.serve, HOST, 0)
    zookeepers = KazooZooKeepers(limit_s=10)
    access = ZooKeeperAccess(connect=f"{HOST}:{listening.sockets[0].getsockname()[1]}")
    with pytest.raises(ZooKeeperUnreachable, match="the connection broke"):
        await zookeepers.read(access, NONE, rights=False, states=False)
    assert impostor.connections == 1
    await zookeepers.close()
    listening.close()
    await impostor.ended()
