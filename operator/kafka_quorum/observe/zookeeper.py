"""What a migration from ZooKeeper depends on, read beside the looks: ZooKeeper, the driver's metrics, log directories.

ZooKeeper may take seconds, and a cluster may have thousands of partitions, so a look uses the last read. A read begins
again as soon as the last one is `EVERY_S` old, or at once if what it was begun for has changed. One that failed is
followed `EVERY_S` after its end. One that is older than `OLD_S` is no answer. The metrics of the leader are read in
every look: one small page. A gate compares the two, so a read that began before the leader was elected, or before it
reported its present state, is no answer either.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from kafka_quorum.errors import KafkaError
from kafka_quorum.model import names
from kafka_quorum.model.desired import BootstrapMode, Desired
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.migration import MigrationKind
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.zookeeper import DriverSeen, DriverState, ZooKeeperAccess, ZooKeeperSecret, ZooKeeperSeen
from kafka_quorum.resources.zookeeper import KEYS, secret_from
from kafka_quorum.wire.brokers import Brokers
from kafka_quorum.wire.drivers import Drivers
from kafka_quorum.wire.zookeeper import ZooKeepers
from kit.clock import Clock
from kit.errors import KubeError
from kit.key import ObjectKey
from kit.kube.protocol import KubeApi
from kit.kube.secrets import Use, read_secret
from kit.parsing import Malformed, number

logger = logging.getLogger(__name__)
EVERY_S: Final = 5.0
OLD_S: Final = 90.0
_SHARE: Final = 5.0
"""A read of many partitions takes seconds of CPU time: it may take a fifth of the time."""
_PAUSE_S: Final = OLD_S * 2 / 3
"""The longest time from the begin of one read to that of the next: it must end before the last one is old."""
AT_ONCE: Final = 64
"""How many brokers are asked for their log directories at once: each takes a connection of the operator's."""
_NOT_READ: Final = Unknown(reason="it is being read")
_NOBODY: Final = Unknown(reason="this operator reads no ZooKeeper")
_PREFIX: Final = "PLAINTEXT://"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperEdges:
    """Where the state of a migration is read. Without them it stays Unknown."""

    zookeepers: ZooKeepers | None = None
    drivers: Drivers | None = None
    brokers: Brokers | None = None


NO_KEEPERS: Final = KeeperEdges()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    because: tuple[object, ...]
    zookeeper: Knowable[ZooKeeperSeen]
    log_dirs: Knowable[Mapping[NodeID, Knowable[tuple[str, ...]]]]
    at_s: float
    took_s: float
    """How long ZooKeeper's answer took. The log directories are not in it: a stopped broker is waited for there."""

    def is_due(self, begun_s: float, now_s: float) -> bool:
        """Whether the next read may begin; this one began at `begun_s`. What a failed one took is no CPU time."""
        if isinstance(self.zookeeper, Unknown):
            return now_s - self.at_s >= EVERY_S
        return now_s - begun_s >= max(EVERY_S, min(self.took_s * _SHARE, _PAUSE_S))


def _fault(key: ObjectKey, error: Exception) -> Unknown:
    """A fault of our own in a read: it is told, and the next read has its time as always."""
    logger.error("a fault of this operator occurred while it read the ZooKeeper of %s", key, exc_info=error)
    return Unknown(reason=f"the read ended in a fault of this operator ({type(error).__name__}); see its log")


class KeeperReads:
    """Reads beside the looks, and what the last one showed for each quorum. Nothing here outlives the process."""

    def __init__(self, kube: KubeApi, clock: Clock, edges: KeeperEdges) -> None:
        """Nothing is read yet."""
        self._kube, self._clock, self._edges = kube, clock, edges
        self._last: dict[ObjectKey, _Read] = {}
        self._begun_s: dict[ObjectKey, float] = {}
        self._tasks: dict[ObjectKey, asyncio.Task[None]] = {}
        self._stands: dict[ObjectKey, tuple[int, DriverState]] = {}
        """The leader's epoch, and the state that it reports, as they were last known."""

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone."""
        self._last.pop(key, None)
        self._begun_s.pop(key, None)
        self._stands.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()

    def outdated(self, key: ObjectKey) -> None:
        """ZooKeeper was written to: what was read before is no answer any more."""
        self._last.pop(key, None)
        self._begun_s.pop(key, None)
        if (task := self._tasks.pop(key, None)) is not None:
            task.cancel()

    async def look(self, key: ObjectKey, desired: Desired, observed: Observed, port: int) -> Observed:
        """The look with what is known of the migration; unchanged for a quorum that does not migrate."""
        migrate = desired.migrate
        if migrate is None or not migrates(desired, observed.record):
            return observed
        if self._edges.zookeepers is None:
            return replace(observed, zookeeper=_NOBODY, driver=_NOBODY, log_dirs=_NOBODY)
        access = _access(observed) or migrate.beside.access
        driver = await self._driver(observed, port)
        because = (*_because(observed.record, access), self._stand(key, observed, driver))
        now_s = self._clock.monotonic()
        last = self._last.get(key)
        changed = last is None or last.because != because
        due = last is None or changed or last.is_due(self._begun_s.get(key, -OLD_S), now_s)
        task = self._tasks.get(key)
        if (task is None or task.done()) and due:
            self._begun_s[key] = now_s
            self._tasks[key] = asyncio.create_task(self._read(key, desired, access, observed.record, because))
        fresh = last is not None and last.because == because and now_s - last.at_s <= OLD_S
        if last is None or not fresh:
            return replace(observed, zookeeper=_NOT_READ, driver=driver, log_dirs=_NOT_READ)
        return replace(observed, zookeeper=last.zookeeper, driver=driver, log_dirs=last.log_dirs)

    def _stand(
        self, key: ObjectKey, observed: Observed, driver: Knowable[DriverSeen]
    ) -> tuple[int, DriverState] | None:
        """What a read must be newer than. While no leader reports its state, the last one that did counts."""
        if isinstance(observed.quorum, Known) and isinstance(driver, Known):
            self._stands[key] = (observed.quorum.value.answer.leader_epoch, driver.value.state)
        return self._stands.get(key)

    async def _read(
        self,
        key: ObjectKey,
        desired: Desired,
        access: ZooKeeperAccess,
        record: IdentityRecord | None,
        because: tuple[object, ...],
    ) -> None:
        started = record is not None and record.phase is BootstrapPhase.STARTED
        stopped = record is not None and record.overlay.stopped
        reached = None if record is None else record.migration
        # After the last of these stages the cluster would wait, without a controller, for a right that is missing.
        proved = (MigrationKind.ZOOKEEPER_TO_KRAFT, 0), (MigrationKind.BACK_TO_ZOOKEEPER, 0)
        rights = not started or (reached is not None and (reached.kind, reached.index) in proved)
        began_s = self._clock.monotonic()
        seen: Knowable[ZooKeeperSeen]
        try:
            secret = await self._secret(desired, access)
            assert self._edges.zookeepers is not None  # noqa: S101 - `look` has asked
            found = await self._edges.zookeepers.read(access, secret, rights=rights, states=True)
            seen = Known(value=found)
        except (KubeError, KafkaError, Malformed) as error:
            seen = Unknown(reason=str(error))
        except Exception as error:  # noqa: BLE001 - it is logged there
            seen = _fault(key, error)
        took_s = self._clock.monotonic() - began_s
        dirs: Knowable[Mapping[NodeID, Knowable[tuple[str, ...]]]] = Unknown(reason="it was not asked")
        if isinstance(seen, Known) and not stopped:
            dirs = await self._directories_of(key, seen.value)
        now_s = self._clock.monotonic()
        self._last[key] = _Read(because=because, zookeeper=seen, log_dirs=dirs, at_s=now_s, took_s=took_s)

    async def _directories_of(
        self, key: ObjectKey, seen: ZooKeeperSeen
    ) -> Knowable[Mapping[NodeID, Knowable[tuple[str, ...]]]]:
        try:
            return Known(value=await self._directories(seen))
        except Exception as error:  # noqa: BLE001 - it is logged there
            return _fault(key, error)

    async def _secret(self, desired: Desired, access: ZooKeeperAccess) -> ZooKeeperSecret:
        if not access.secret_name:
            return ZooKeeperSecret()
        use = Use(reader=names.reader(desired.name), where="spec.zookeeper", annotation=names.USED_BY)
        texts = await read_secret(self._kube, desired.namespace, access.secret_name, use, KEYS)
        return secret_from(texts)

    async def _driver(self, observed: Observed, port: int) -> Knowable[DriverSeen]:
        """The metrics of the controller that leads."""
        if isinstance(observed.quorum, Unknown):
            return Unknown(reason="no controller leads")
        leader = observed.quorum.value.answer.leader_id
        pods = [pod for pod in observed.pods_of(leader, PodRole.KAFKA) if pod.ip and pod.running]
        if self._edges.drivers is None or not pods:
            return Unknown(reason=f"controller {leader} has no running pod")
        try:
            return Known(value=await self._edges.drivers.read_driver(pods[0].ip, port, leader))
        except KafkaError as error:
            return Unknown(reason=str(error))

    async def _directories(self, seen: ZooKeeperSeen) -> dict[NodeID, Knowable[tuple[str, ...]]]:
        """The log directories that failed, of every registered broker that has a PLAINTEXT listener."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(node_id: NodeID, listeners: tuple[str, ...]) -> Knowable[tuple[str, ...]]:
            endpoint = _plaintext(node_id, listeners)
            if endpoint is None or self._edges.brokers is None:
                return Unknown(reason="it has no PLAINTEXT listener")
            try:
                async with turns:
                    found = await self._edges.brokers.describe_log_dirs(endpoint)
            except KafkaError as error:
                return Unknown(reason=str(error))
            return Known(value=tuple(f"{each.path} ({each.error})" for each in found if each.error))

        answers = await asyncio.gather(*(one(broker.node_id, broker.listeners) for broker in seen.brokers))
        return dict(zip((broker.node_id for broker in seen.brokers), answers, strict=True))


def migrates(desired: Desired, record: IdentityRecord | None) -> bool:
    """Whether this quorum begins beside ZooKeeper, and its migration has not ended."""
    if record is None:
        return desired.bootstrap is BootstrapMode.ZOOKEEPER
    return record.format.mode is BootstrapMode.ZOOKEEPER and record.migration is not None and record.overlay.measured


def _access(observed: Observed) -> ZooKeeperAccess | None:
    """The ZooKeeper that the controllers were started with, which stays."""
    applied = None if observed.record is None else observed.revision(observed.record.applied_revision)
    return None if applied is None or applied.runtime.zookeeper is None else applied.runtime.zookeeper.access


def _because(record: IdentityRecord | None, access: ZooKeeperAccess) -> tuple[object, ...]:
    """What a read depends on: another stage needs another one."""
    stage = None if record is None or record.migration is None else (record.migration.kind, record.migration.stage)
    return (stage, None if record is None else record.phase, access)


def _plaintext(node_id: NodeID, listeners: tuple[str, ...]) -> Endpoint | None:
    """A listener that the operator's own client can use. `listeners` are `PROTOCOL://host:port`."""
    for listener in listeners:
        if listener.startswith(_PREFIX):
            host, _, port = listener.removeprefix(_PREFIX).rpartition(":")
            try:
                return Endpoint(node_id=node_id, host=host.strip("[]"), port=number(port))
            except Malformed:
                return None
    return None
