"""ZooKeeper, as a migration needs it: one complete read (`zookeeper_reader`), and one write (`zookeeper_write`)."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from kafka_quorum.errors import KafkaError, ZooKeeperMalformed, ZooKeeperUnreachable, ZooKeeperUnusable
from kafka_quorum.model.zookeeper import GiveBack, SavedNodes, ZooKeeperAccess, ZooKeeperSecret, ZooKeeperSeen
from kafka_quorum.wire import zookeeper_nodes as nodes
from kafka_quorum.wire.zookeeper_reader import read_all
from kafka_quorum.wire.zookeeper_session import Session
from kafka_quorum.wire.zookeeper_write import give_back
from kit.errors import Fault
from kit.parsing import Malformed

READ_S: Final = 15.0
"""The limit of one read, or of one write."""
STATES_S: Final = 60.0
"""The limit of a read of all partitions' states: 10,000 take two to four seconds."""
_SLACK_S: Final = 2.0
"""How much later than its limit a thread may end."""
_THREADS: Final = 64
"""How many calls run at once, and how many sessions end: a server that hangs must not delay another quorum."""
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
    """`ZooKeepers` with kazoo: a new session for each call, in a thread.

    `limit_s` bounds each call, `states_limit_s` a read with the partitions' states.
    """

    limit_s: float = READ_S
    states_limit_s: float = STATES_S
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="zookeeper")
    )
    _ends: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="zookeeper-end")
    )

    async def read(
        self, access: ZooKeeperAccess, secret: ZooKeeperSecret, *, rights: bool, states: bool
    ) -> ZooKeeperSeen:
        """As `ZooKeepers` says."""
        limit_s = self.states_limit_s if states else self.limit_s
        return await self._run(access, secret, limit_s, lambda session: read_all(session, rights=rights, states=states))

    async def give_back(self, access: ZooKeeperAccess, secret: ZooKeeperSecret, what: GiveBack) -> SavedNodes:
        """As `ZooKeepers` says."""
        return await self._run(access, secret, self.limit_s, lambda session: give_back(session, what), writes=True)

    async def close(self) -> None:
        """Calls that run end by themselves; no other one begins."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._ends.shutdown(wait=False)

    async def _run(
        self,
        access: ZooKeeperAccess,
        secret: ZooKeeperSecret,
        limit_s: float,
        work: Callable[[Session], T],
        *,
        writes: bool = False,
    ) -> T:
        try:
            connect = nodes.parse_connect(access.connect)
        except Malformed as error:
            raise _unusable(f"ZooKeeper was not asked: {error}; correct the address") from None
        end_s = time.monotonic() + limit_s
        running = asyncio.get_running_loop().run_in_executor(
            self._threads, self._in_thread, connect, secret, work, end_s
        )
        where = f"ZooKeeper at {connect.hosts}"
        try:
            async with asyncio.timeout(limit_s + _SLACK_S):
                return await running
        except TimeoutError:
            raise ZooKeeperUnreachable(
                f"{where} did not answer in full: {limit_s:g} s passed; look again",
                fault=Fault.PATH,
                retry_safe=not writes,
                outcome_unknown=writes,
            ) from None
        except KafkaError:
            raise
        except Exception as error:
            raise ZooKeeperMalformed(
                f"{where} answered with what no ZooKeeper does ({type(error).__name__}); check its address",
                fault=Fault.THEIRS,
                retry_safe=not writes,
                outcome_unknown=writes,
            ) from error

    def _in_thread(
        self, connect: nodes.Connect, secret: ZooKeeperSecret, work: Callable[[Session], T], end_s: float
    ) -> T:
        session = Session(connect, secret, end_s)
        try:
            session.open()
            return work(session)
        except BaseException:
            session.cut()
            raise
        finally:
            self._end(session)

    def _end(self, session: Session) -> None:
        """End a session beside the caller, who does not wait for it."""
        try:
            self._ends.submit(session.close)
        except RuntimeError:  # no new work: the operator ends
            session.cut()
            session.close()


def _unusable(sentence: str) -> ZooKeeperUnusable:
    return ZooKeeperUnusable(sentence, fault=Fault.OURS, retry_safe=False, outcome_unknown=False)
