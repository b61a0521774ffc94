"""ZooKeeper, as a migration needs it: one complete read, and the one write of a roll back.

A read is complete or it is an error. A node that does not exist is a value; a node that cannot be read, or that does
not hold what Kafka writes, ends the read. It begins with a sync, so it shows everything that was committed before it.
The nodes are read one after another: a write meanwhile may show in some of them.

**The write** (`give_back`) is one transaction, so it happens as a whole or not at all. Versions alone would not be
enough: a node that is deleted and created again has version 0 again. But every controller, of a broker or of KRaft,
raises `/controller_epoch` in the same transaction in which it creates `/controller`. So the transaction always requires
the version of `/controller_epoch` that was seen, also if it does not change it. That also covers a `/controller` that
was absent and appears meanwhile, for which ZooKeeper has no check. The driver creates `/migration` without raising the
epoch. So if `/migration` or `/controller_epoch` was absent, the transaction creates it and deletes it: that fails if it
exists, and changes nothing if not. (Its watchers are notified; nothing in Kafka watches these two.)
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from kazoo.exceptions import BadVersionError, KazooException, NoAuthError, NodeExistsError, NoNodeError

from kafka_quorum.errors import (
    ZooKeeperChanged,
    ZooKeeperDenied,
    ZooKeeperError,
    ZooKeeperUnreachable,
    ZooKeeperUnusable,
)
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import (
    ControllerNode,
    EpochNode,
    GiveBack,
    MigrationNode,
    SavedNodes,
    ZooKeeperAccess,
    ZooKeeperBroker,
    ZooKeeperSecret,
    ZooKeeperSeen,
)
from kafka_quorum.wire import zookeeper_nodes as nodes
from kafka_quorum.wire.bounds import MAX_BROKERS, MAX_PARTITIONS
from kafka_quorum.wire.zookeeper_rights import denied
from kafka_quorum.wire.zookeeper_session import Node, Session
from kit.errors import Fault
from kit.parsing import Malformed
from kit.text import WORDS_MAX_CHARS, clean

READ_S: Final = 15.0
"""The limit of one read, or of one write."""
_SLACK_S: Final = 2.0
"""How much later than its limit a thread may end."""
_THREADS: Final = 4
P = ParamSpec("P")
T = TypeVar("T")


class ZooKeepers(Protocol):
    """Reads the ZooKeeper of a cluster, and gives the cluster back to it."""

    async def read(
        self, access: ZooKeeperAccess, secret: ZooKeeperSecret, *, rights: bool, states: bool
    ) -> ZooKeeperSeen:
        """Everything that a migration depends on (ZooKeeperError).

        `rights`: also prove the rights of the driver, by some hundred transactions that fail on purpose. `states`: also
        read the state of each partition, for `state_epoch`.
        """

    async def give_back(self, access: ZooKeeperAccess, secret: ZooKeeperSecret, what: GiveBack) -> SavedNodes:
        """Delete `/controller` and `/migration`, and raise `/controller_epoch`, if nothing has changed since the look.

        Returns what the nodes held; empty for one that did not exist. Raises ZooKeeperError: `ZooKeeperChanged` if
        anything differs, and nothing was written then; with `outcome_unknown` if no answer to the write came.
        """

    async def close(self) -> None:
        """End what is kept between calls."""


@dataclass(slots=True)
class KazooZooKeepers:
    """`ZooKeepers` with kazoo: a new session for each call, in a thread. `limit_s` bounds each call."""

    limit_s: float = READ_S
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="zookeeper")
    )

    async def read(
        self, access: ZooKeeperAccess, secret: ZooKeeperSecret, *, rights: bool, states: bool
    ) -> ZooKeeperSeen:
        """As `ZooKeepers` says."""
        return await self._run(access, secret, lambda session: _read(session, rights=rights, states=states))

    async def give_back(self, access: ZooKeeperAccess, secret: ZooKeeperSecret, what: GiveBack) -> SavedNodes:
        """As `ZooKeepers` says."""
        return await self._run(access, secret, lambda session: _give_back(session, what), writes=True)

    async def close(self) -> None:
        """Calls that run end by themselves; no other one begins."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(
        self, access: ZooKeeperAccess, secret: ZooKeeperSecret, work: Callable[[Session], T], *, writes: bool = False
    ) -> T:
        try:
            connect = nodes.parse_connect(access.connect)
        except Malformed as error:
            raise _unusable(f"ZooKeeper was not asked: {error}; correct the address") from None
        end_s = time.monotonic() + self.limit_s
        running = asyncio.get_running_loop().run_in_executor(
            self._threads, self._in_thread, connect, secret, work, end_s
        )
        try:
            async with asyncio.timeout(self.limit_s + _SLACK_S):
                return await running
        except TimeoutError:
            raise ZooKeeperUnreachable(
                f"ZooKeeper at {connect.hosts} was not {'written' if writes else 'read'}: {self.limit_s:g} s passed",
                fault=Fault.PATH,
                retry_safe=not writes,
                outcome_unknown=writes,
            ) from None

    def _in_thread(
        self, connect: nodes.Connect, secret: ZooKeeperSecret, work: Callable[[Session], T], end_s: float
    ) -> T:
        session = Session(connect, secret, end_s)
        cut = True
        try:
            session.open()
            result = work(session)
            cut = False
            return result
        finally:
            self._end(session, cut=cut)

    def _end(self, session: Session, *, cut: bool) -> None:
        """End a session beside the caller, who does not wait for it."""
        try:
            self._threads.submit(session.close, cut=cut)
        except RuntimeError:  # no new work: the operator ends
            session.close(cut=True)


def _read(session: Session, *, rights: bool, states: bool) -> ZooKeeperSeen:
    reader = _Reader(session)
    controller, epoch, migration = reader.claims()
    brokers = reader.brokers()
    topics = reader.topics(states=states)
    return ZooKeeperSeen(
        cluster_id=reader.one("/cluster/id", lambda node: nodes.cluster_id(node.data)) or "",
        controller=controller,
        controller_epoch=epoch,
        migration=migration,
        brokers=brokers,
        assigned=topics.assigned,
        topics=topics.topics,
        partitions=topics.partitions,
        state_epoch=topics.state_epoch,
        denied=reader.checked("/", denied, session, topics.names) if rights else (),
        encoded=reader.encrypted(),
        acls=reader.any_acl(),
        users=reader.any_user(),
        reassigning=reader.one("/admin/reassign_partitions", lambda node: nodes.reassigning(node.data)) or (),
        deleting=reader.names("/admin/delete_topics", nodes.topic_names),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topics:
    names: tuple[str, ...]
    topics: int
    partitions: int
    assigned: dict[NodeID, str]
    state_epoch: int | None


@dataclass(slots=True)
class _Reader:
    """The parts of a read; each is complete, or an error that names the node."""

    session: Session

    def claims(self) -> tuple[ControllerNode | None, EpochNode | None, MigrationNode | None]:
        """The three nodes that a controller and the driver write."""
        return (
            self.one(
                "/controller",
                lambda node: nodes.controller(node.data, version=node.version, ephemeral=node.ephemeral),
            ),
            self.one("/controller_epoch", lambda node: nodes.controller_epoch(node.data, version=node.version)),
            self.one("/migration", lambda node: nodes.migration(node.data, version=node.version)),
        )

    def one(self, path: str, parse: Callable[[Node], T]) -> T | None:
        """One node, None if it does not exist."""
        node = self.session.get(path)
        return None if node is None else self.checked(path, parse, node)

    def checked(self, path: str, parse: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """What a parser makes of a node; its fault gets the node's path."""
        try:
            return parse(*args, **named)
        except Malformed as error:
            raise self.session.malformed(path, error) from None

    def names(self, path: str, parse: Callable[[list[str]], tuple[T, ...]]) -> tuple[T, ...]:
        """The children of a node, none if it does not exist."""
        return self.checked(path, parse, self.session.children(path) or [])

    def present(self, paths: Iterable[str]) -> Iterator[tuple[str, Node]]:
        """The nodes that still exist."""
        return ((path, node) for path, node in self.session.get_all(paths) if node is not None)

    def brokers(self) -> tuple[ZooKeeperBroker, ...]:
        """Those that are registered."""
        ids = self.names("/brokers/ids", nodes.broker_ids)
        found = []
        for path, node in self.present(f"/brokers/ids/{node_id}" for node_id in ids):
            found.append(self.checked(path, nodes.broker, path.rpartition("/")[2], node.data))
        return tuple(found)

    def topics(self, *, states: bool) -> _Topics:
        """Every topic's assignment, and with `states` the highest epoch in its partitions' states."""
        names = self.names("/brokers/topics", nodes.topic_names)
        topics, partitions = 0, 0
        assigned: dict[NodeID, str] = {}
        places: list[str] = []
        for path, node in self.present(f"/brokers/topics/{name}" for name in names):
            found = self.checked(path, nodes.assignment, node.data).partitions
            topics, partitions = topics + 1, partitions + len(found)
            if partitions > MAX_PARTITIONS:
                raise self.too_much(f"more than {MAX_PARTITIONS} partitions")
            for index, replicas in found.items():
                for node_id in replicas:
                    assigned.setdefault(node_id, f"{path.rpartition('/')[2]}-{index}")
            if len(assigned) > MAX_BROKERS:
                raise self.too_much(f"replicas on more than {MAX_BROKERS} brokers")
            if states:
                places.extend(f"{path}/partitions/{index}/state" for index in found)
        return _Topics(
            names=names,
            topics=topics,
            partitions=partitions,
            assigned=assigned,
            state_epoch=self._state_epoch(places) if states else None,
        )

    def too_much(self, what: str) -> ZooKeeperError:
        """The error for more topics or partitions than are read."""
        return self.session.malformed("/brokers/topics", Malformed(f"it has {what}"))

    def _state_epoch(self, places: Iterable[str]) -> int:
        return max(
            (self.checked(path, nodes.state_epoch, node.data) for path, node in self.present(places)),
            default=0,
        )

    def encrypted(self) -> tuple[str, ...]:
        """The names of the brokers' encrypted settings."""
        names = self.names("/config/brokers", nodes.child_names)
        found: list[str] = []
        for path, node in self.present(f"/config/brokers/{name}" for name in names):
            found.extend(self.checked(path, nodes.encrypted, path.rpartition("/")[2], node.data))
        return tuple(found)

    def any_user(self) -> bool:
        """Whether any user has a SCRAM credential. Every user is read: a malformed one would stop the driver too."""
        names = self.names("/config/users", nodes.child_names)
        found = [
            self.checked(path, nodes.is_scram_user, node.data)
            for path, node in self.present(f"/config/users/{name}" for name in names)
        ]
        return any(found)

    def any_acl(self) -> bool:
        """Whether any resource has an ACL of Kafka's: the nodes of the types of resources always exist."""
        paths = [f"/kafka-acl/{kind}" for kind in self.names("/kafka-acl", nodes.child_names)]
        for pattern in self.names("/kafka-acl-extended", nodes.child_names):
            root = f"/kafka-acl-extended/{pattern}"
            paths += [f"{root}/{kind}" for kind in self.names(root, nodes.child_names)]
        return any(children for _, children in self.session.children_all(paths))


def _give_back(session: Session, what: GiveBack) -> SavedNodes:
    if what.epoch is not None and what.controller_epoch is None:
        raise _unusable("/controller_epoch cannot be raised, because the look did not find it: look again")
    found = _Reader(session).claims()
    for path, seen, now in zip(_CLAIMS, (what.controller, what.controller_epoch, what.migration), found, strict=True):
        if seen != now:
            raise _changed(session, path, f"it was {_shown(seen)}, and is {_shown(now)}")
    if not session.in_time():
        raise ZooKeeperUnreachable(
            f"{session.where} was not written: the time was over before",
            fault=Fault.PATH,
            retry_safe=True,
            outcome_unknown=False,
        )
    transaction, paths = _steps(session, what)
    try:
        results = session.answer("/", transaction.commit_async())
    except ZooKeeperError as error:
        raise ZooKeeperUnreachable(
            f"{session.where} did not answer whether it deleted /controller and /migration, so look again: {error}",
            fault=Fault.PATH,
            retry_safe=False,
            outcome_unknown=True,
        ) from None
    _judge(session, paths, results)
    controller, epoch, migration = what.controller, what.controller_epoch, what.migration
    return SavedNodes(
        controller="" if controller is None else controller.raw,
        controller_epoch="" if epoch is None else str(epoch.epoch),
        migration="" if migration is None else migration.raw,
    )


_CLAIMS: Final = ("/controller", "/controller_epoch", "/migration")


def _steps(session: Session, what: GiveBack) -> tuple[Any, list[str]]:
    """The transaction, and the path of each of its operations. The epoch first: it decides about all others."""
    transaction = session.client.transaction()
    paths: list[str] = []
    absent = []
    if what.controller_epoch is None:
        absent.append("/controller_epoch")
    elif what.epoch is None:
        transaction.check("/controller_epoch", what.controller_epoch.version)
        paths.append("/controller_epoch")
    else:
        transaction.set_data("/controller_epoch", str(what.epoch).encode(), what.controller_epoch.version)
        paths.append("/controller_epoch")
    if what.controller is not None:
        transaction.delete("/controller", what.controller.version)
        paths.append("/controller")
    if what.migration is None:
        absent.append("/migration")
    else:
        transaction.delete("/migration", what.migration.version)
        paths.append("/migration")
    for path in absent:
        transaction.create(path, b"")
        transaction.delete(path)
        paths += [path, path]
    return transaction, paths


def _judge(session: Session, paths: list[str], results: list[Any]) -> None:
    """Return if all was done; otherwise nothing was, and the error names the node."""
    for path, result in zip(paths, results, strict=True):
        if isinstance(result, BadVersionError | NoNodeError | NodeExistsError):
            raise _changed(session, path, "it changed while it was to be written")
        if isinstance(result, NoAuthError):
            raise ZooKeeperDenied(
                f"{session.where} does not let {session.who} delete or write {path}: allow it with setAcl, or give the"
                " operator's Secret the user that the brokers have; nothing was changed",
                fault=Fault.OURS,
                retry_safe=True,
                outcome_unknown=False,
            )
    if failed := [type(result).__name__ for result in results if isinstance(result, KazooException)]:
        raise ZooKeeperError(
            f"{session.where} refused the roll back's write ({', '.join(failed)}); nothing was changed: look again",
            fault=Fault.THEIRS,
            retry_safe=True,
            outcome_unknown=False,
        )


def _changed(session: Session, path: str, how: str) -> ZooKeeperChanged:
    return ZooKeeperChanged(
        f"{session.where} has another {path} than the last look found: {how}; nothing was changed, so look again",
        fault=Fault.THEIRS,
        retry_safe=True,
        outcome_unknown=False,
    )


def _shown(node: ControllerNode | EpochNode | MigrationNode | None) -> str:
    match node:
        case None:
            return "absent"
        case EpochNode():
            return f"{node.epoch} (version {node.version})"
        case _:
            return f"{clean(node.raw, max_chars=WORDS_MAX_CHARS)} (version {node.version})"


def _unusable(sentence: str) -> ZooKeeperUnusable:
    return ZooKeeperUnusable(sentence, fault=Fault.OURS, retry_safe=False, outcome_unknown=False)
