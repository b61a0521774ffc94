"""One session with ZooKeeper, by kazoo: bounded, secured, read once, and ended. It runs in a thread of its own.

Kazoo's defaults are not used in three places. A server's certificate must be one of the Secret's authorities, not of
the system's, and must have the server's name (kazoo checks names only if told to, and reads certificates from files).
An answer has a limit: kazoo would read any length that a server announces. And a user proves its password as
`digest_md5` does. Kazoo writes no log here: its lines hold requests, and so what authenticates a session.

A connection that breaks ends the session: what was read before and after it may not fit together.
"""

import contextlib
import logging
import secrets
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, ConnectionDropped, KazooException, NoAuthError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import SASL

from kafka_quorum.errors import (
    ZooKeeperDenied,
    ZooKeeperError,
    ZooKeeperMalformed,
    ZooKeeperUnreachable,
    ZooKeeperUnusable,
)
from kafka_quorum.model.zookeeper import ZooKeeperSecret
from kafka_quorum.wire.digest_md5 import Digest
from kafka_quorum.wire.zookeeper_nodes import Connect
from kafka_quorum.wire.zookeeper_tls import tls_of
from kit.errors import Fault
from kit.parsing import Malformed
from kit.text import WORDS_MAX_CHARS, clean

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""The limit of one answer. ZooKeeper's own clients stop at 1 MiB, unless they are told otherwise."""
MAX_SESSION_BYTES: Final = 128 * 1024 * 1024
"""The limit of all answers of a session, which may wait for their reader: 200,000 partitions' states have 39 MB."""
_PIECE_BYTES: Final = 64 * 1024
"""What is read at once. For each piece that arrives, Python sets aside as many bytes as are still missing."""
WINDOW: Final = 256
"""How many requests are on their way at once."""
_SESSION_S: Final = 6.0
_CONNECT_S: Final = 7.5
"""How long servers are looked for: at most half of the time that is left."""
_SILENT: Final = logging.getLogger("kafka_quorum.wire.kazoo")
_SILENT.setLevel(logging.CRITICAL + 1)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What one node holds; `ephemeral` if it goes with the session that created it."""

    data: bytes
    version: int
    ephemeral: bool


class _Handler(SequentialThreadingHandler):  # type: ignore[misc] # kazoo has no types
    """Opens connections as the Secret requires, and can end one at once."""

    def __init__(self, tls: ssl.SSLContext | None, host_s: float) -> None:
        super().__init__()
        self.reason, self.denied = "", False
        """Why the last attempt failed, and whether the user was refused."""
        self._tls, self._host_s = tls, host_s
        self._socket: socket.socket | None = None
        self._ended = False

    def create_connection(
        self,
        address: tuple[str, int],
        hostname: str | None = None,
        timeout: float | None = None,
        **_: object,
    ) -> socket.socket:
        """A connection to one server; with TLS, its name and its certificate are checked (OSError)."""
        if self._ended:
            raise OSError("the session has ended")
        limit_s = min(timeout or self._host_s, self._host_s)
        opened = socket.create_connection(address, limit_s)
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                opened = self._tls.wrap_socket(opened, server_hostname=hostname)
        except BaseException:
            opened.close()
            raise
        self._socket = opened
        return opened

    def spawn(self, func: Callable[..., None], *args: object, **named: object) -> Any:  # noqa: ANN401 - a Thread
        """A thread whose error is kept, not printed: a server can cause one with its bytes."""

        def guarded() -> None:
            try:
                func(*args, **named)
            except Exception as error:  # noqa: BLE001 - whatever kazoo did not expect of a server
                self.failed(error)

        return super().spawn(guarded)

    def select(
        self, readers: list[Any], writers: list[Any], _: list[Any], timeout: float | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Those of these sockets that can be read, and written; kazoo's own makes a selector for each call.

        One that has decrypted bytes left can be read, whatever its connection has: a server, or what stands before it,
        may put several answers into one record of TLS, and may then wait for the next request.
        """
        left = [each for each in readers if isinstance(each, ssl.SSLSocket) and each.pending()]
        poll = select.poll()
        for sockets, event in ((readers, select.POLLIN), (writers, select.POLLOUT)):
            for each in sockets:
                poll.register(each, event)
        ready = dict(poll.poll(0 if left else None if timeout is None else timeout * 1000))
        return (
            [each for each in readers if each in left or each.fileno() in ready],
            [each for each in writers if each.fileno() in ready],
            [],
        )

    def failed(self, error: Exception) -> None:
        """Keep the reason, and whether it is that the user was refused."""
        self.reason, self.denied = str(error) or type(error).__name__, isinstance(error, AuthFailedError)

    def cut(self) -> None:
        """End the connection without a word, and open no other."""
        self._ended = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class _Connection(ConnectionHandler):  # type: ignore[misc] # kazoo has no types
    """Kazoo's connection, with a limit for each answer and for all, our DIGEST-MD5, and the reason of a failure."""

    _left = MAX_SESSION_BYTES
    _was_open = False

    def _connect(self, host: str, hostip: str, port: int) -> Any:  # noqa: ANN401 - two numbers
        if self._was_open:  # kazoo would go on at another server, in a new session if this one has ended
            raise RuntimeError("the connection broke")
        try:
            limits = super()._connect(host, hostip, port)
        except Exception as error:
            self.handler.failed(error)
            raise
        self._was_open = True
        return limits

    def _read(self, length: int, timeout: float) -> bytes:
        if not 0 <= length <= MAX_ANSWER_BYTES:
            raise self._too_much(f"an answer has {length} bytes, at most {MAX_ANSWER_BYTES} are read")
        self._left -= length
        if self._left < 0:
            raise self._too_much(f"the answers have more than {MAX_SESSION_BYTES} bytes")
        data: bytes = super()._read(min(length, _PIECE_BYTES), timeout)
        if len(data) == length:
            return data
        whole = bytearray(data)
        while len(whole) < length:
            whole += super()._read(min(length - len(whole), _PIECE_BYTES), timeout)
        return bytes(whole)

    def _too_much(self, why: str) -> ConnectionDropped:
        error = ConnectionDropped(why)
        self.handler.failed(error)
        return error

    def _authenticate_with_sasl(self, host: str, timeout: float) -> None:  # noqa: ARG002 - kazoo's signature
        digest = Digest(
            username=self.sasl_options["username"],
            password=self.sasl_options["password"],
            client_nonce=secrets.token_hex(16),
        )
        try:
            answer = digest.respond(self._token(1, b"", timeout))
        except Malformed as error:
            raise AuthFailedError(f"the server's challenge cannot be answered: {error}") from None
        try:
            digest.verify(self._token(2, answer, timeout))
        except Malformed as error:
            raise AuthFailedError(f"the server's last answer is refused: {error}") from None

    def _token(self, xid: int, token: bytes, timeout: float) -> bytes:
        self._submit(SASL(token), timeout, xid)
        try:
            header, buffer, offset = self._read_header(timeout)
        except ConnectionDropped:  # how some releases refuse a user
            raise AuthFailedError("the server closed the connection") from None
        if header.err or header.xid != xid:
            raise AuthFailedError("the server refused the user and password")
        received, _ = SASL.deserialize(buffer, offset)
        if received is None:
            raise AuthFailedError("the server has no SASL, or does not know the user")
        return bytes(received)


class Session:
    """Reads and writes of one thread until `end_s` of the monotonic clock; every method may raise ZooKeeperError."""

    def __init__(self, connect: Connect, secret: ZooKeeperSecret, end_s: float) -> None:
        """Prepare a session; `ZooKeeperUnusable` if the Secret's certificates cannot be used."""
        self.where = f"ZooKeeper at {connect.hosts}"
        self._end_s = end_s
        self._hidden = [text for text in (secret.password, secret.key) if text]
        self._with_user = secret.sasl
        try:
            tls = tls_of(secret)
        except Malformed as error:
            raise ZooKeeperUnusable(
                f"{self.where} was not asked: {error}; correct the Secret",
                fault=Fault.OURS,
                retry_safe=False,
                outcome_unknown=False,
            ) from None
        self._connect_s = min(max(end_s - time.monotonic(), 0.0) / 2, _CONNECT_S)
        self._handler = _Handler(tls, max(self._connect_s / len(connect.servers), 0.5))
        sasl = {"username": secret.username, "password": secret.password} if secret.sasl else None
        again = {"max_tries": -1, "delay": 0.1, "max_delay": 1.0}
        client = KazooClient(
            connect.hosts, timeout=_SESSION_S, handler=self._handler, connection_retry=again, logger=_SILENT
        )
        client._connection = _Connection(  # noqa: SLF001 - kazoo has no other way to bound what it reads
            client,
            client._conn_retry.copy(),  # noqa: SLF001
            logger=_SILENT,
            sasl_options=sasl,
        )
        self.client = client

    def open(self) -> None:
        """Connect, and wait until the server has everything that was committed before."""
        live = self.client.start_async()
        if not live.wait(self._connect_s):
            raise self._unreachable(f"no connection within {self._connect_s:.1f} s")
        self.answer("/", self.client.sync_async("/"))
        if self.get("/") is None:
            raise ZooKeeperUnusable(
                f"{self.where} has no node of that path: correct the path at the end of the address",
                fault=Fault.OURS,
                retry_safe=True,
                outcome_unknown=False,
            )

    def cut(self) -> None:
        """End the connection at once, without a last word: nothing that waits is sent any more."""
        self._handler.cut()

    def close(self) -> None:
        """End the session, and its threads. May take seconds."""
        with contextlib.suppress(Exception):  # nothing depends on it: the server ends the session too
            self.client.stop()
            self.client.close()

    def get(self, path: str) -> Node | None:
        """One node, None if it does not exist."""
        return dict(self.get_all([path]))[path]

    def get_all(self, paths: Iterable[str]) -> Iterator[tuple[str, Node | None]]:
        """Nodes in the order of their paths, at most `WINDOW` requests ahead; None for one that does not exist."""
        for path, found in self._window(paths, self.client.get_async):
            if found is None:
                yield path, None
            else:
                data, stat = found
                yield path, Node(data=data or b"", version=stat.version, ephemeral=stat.ephemeralOwner != 0)

    def children(self, path: str) -> list[str] | None:
        """The names of a node's children, None if the node does not exist."""
        return dict(self.children_all([path]))[path]

    def children_all(self, paths: Iterable[str]) -> Iterator[tuple[str, list[str] | None]]:
        """The same for many nodes."""
        yield from self._window(paths, self.client.get_children_async)

    def transactions(self, what: Iterable[tuple[T, Any]]) -> Iterator[tuple[T, list[Any]]]:
        """Commit transactions of kazoo, each with a key: the result of each operation, an exception if it failed."""
        waiting: deque[tuple[T, Any, Any]] = deque()
        for key, transaction in what:
            waiting.append((key, transaction, transaction.commit_async()))
            if len(waiting) >= WINDOW:
                first, sent, pending = waiting.popleft()
                yield first, self._results(sent, pending)
        for key, sent, pending in waiting:
            yield key, self._results(sent, pending)

    def _results(self, transaction: Any, pending: Any) -> list[Any]:  # noqa: ANN401 - kazoo has no types
        """One result for each operation: anything else proves nothing, and is an error."""
        found = self.answer("/", pending)
        if not isinstance(found, list) or len(found) != len(transaction.operations):
            raise ZooKeeperMalformed(
                f"{self.where} answered a transaction without a result for each of its operations",
                fault=Fault.THEIRS,
                retry_safe=True,
                outcome_unknown=False,
            )
        return found

    def answer(self, path: str, pending: Any) -> Any:  # noqa: ANN401 - whatever the request returns
        """The answer to a request; None if the node does not exist. One that came after the end is none."""
        if not self.in_time():
            raise self._late()
        try:
            return pending.get(timeout=max(self._end_s - time.monotonic(), 0.0))
        except NoNodeError:
            return None
        except NoAuthError:
            raise ZooKeeperDenied(
                f"{self.where} does not let {self.who} read {path}: allow it with setAcl, or give the operator's"
                " Secret the user that the brokers have",
                fault=Fault.OURS,
                retry_safe=True,
                outcome_unknown=False,
            ) from None
        except AuthFailedError:
            raise self._refused() from None
        except KazooTimeoutError:
            raise self._late() from None
        except KazooException as error:
            # After a refusal the connection ends, which a request may notice first.
            raise (self._refused() if self._handler.denied else self._unreachable(type(error).__name__)) from None
        except Exception as error:  # noqa: BLE001 - what kazoo makes of bytes that are no answer
            raise ZooKeeperMalformed(
                f"{self.where} answered for {path} with bytes that are no answer ({type(error).__name__})",
                fault=Fault.THEIRS,
                retry_safe=True,
                outcome_unknown=False,
            ) from None

    def in_time(self) -> bool:
        """Whether a request can still be sent."""
        return time.monotonic() < self._end_s

    def malformed(self, path: str, error: Malformed) -> ZooKeeperError:
        """The error for a node that does not hold what Kafka writes."""
        return ZooKeeperMalformed(
            f"The node {clean(path, max_chars=WORDS_MAX_CHARS)} of {self.where} is not one that Kafka writes: {error};"
            " restore or delete it",
            fault=Fault.THEIRS,
            retry_safe=True,
            outcome_unknown=False,
        )

    @property
    def who(self) -> str:
        """The client, for a sentence: without the user's name, which is content of the Secret."""
        return "the Secret's user" if self._with_user else "a client without a user"

    @property
    def _words(self) -> str:
        text = self._handler.reason
        for secret in self._hidden:
            text = text.replace(secret, "***")
        return clean(text, max_chars=WORDS_MAX_CHARS)

    def _refused(self) -> ZooKeeperDenied:
        return ZooKeeperDenied(
            f"{self.where} refused {self.who}: {self._words or 'no reason given'}; correct the Secret, or"
            " ZooKeeper's users",
            fault=Fault.OURS,
            retry_safe=True,
            outcome_unknown=False,
        )

    def _late(self) -> ZooKeeperUnreachable:
        return self._unreachable("no answer within the limit of the whole read")

    def _unreachable(self, why: str) -> ZooKeeperUnreachable:
        words = f" ({self._words})" if self._words else ""
        return ZooKeeperUnreachable(
            f"{self.where} was not read: {why}{words}; check its address, its servers, and the Secret",
            fault=Fault.PATH,
            retry_safe=True,
            outcome_unknown=False,
        )

    def _window(self, paths: Iterable[str], ask: Callable[[str], Any]) -> Iterator[tuple[str, Any]]:
        waiting: deque[tuple[str, Any]] = deque()
        for path in paths:
            waiting.append((path, ask(path)))
            if len(waiting) >= WINDOW:
                first, pending = waiting.popleft()
                yield first, self.answer(first, pending)
        for path, pending in waiting:
            yield path, self.answer(path, pending)
