"""Which brokers are registered, and what they run with: read beside the looks, because a broker may take seconds.

A read begins when something depends on brokers, when something changed, or while a broker did not answer or does not
follow the contract. Two reads begin at least `EVERY_S` apart; at least `SOON_S` while an act waits for brokers that
change, because a person, or a pool, and the next stage of a migration wait for it. A look uses the last read. An old
read counts as Unknown while something depends on it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from kafka_quorum.api.features import METADATA
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.conformance import conforms_to
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.names import (
    LABEL_NODE,
    OF_QUORUM,
    POOL_PORT,
    USED_BY,
    brokers_tls_name,
    operator_tls_name,
    reader,
)
from kafka_quorum.model.nodes import is_foreign
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pools import LABEL_POOL, REPLICATION_TLS, broker_host
from kafka_quorum.model.quorum import Endpoint, NodeVersions
from kafka_quorum.model.registered import BrokerSeen, Settings
from kafka_quorum.model.security import Secured
from kafka_quorum.resources.podstatus import FINISHED, address, status_of
from kafka_quorum.resources.secrets import texts_of
from kafka_quorum.resources.security import own_tls_from
from kafka_quorum.wire.brokers import Brokers
from kafka_quorum.wire.running import RunningSettings
from kit.clock import Clock
from kit.errors import KubeError
from kit.key import ObjectKey
from kit.kube.protocol import PODS, Json, KubeApi
from kit.kube.secrets import SECRETS, Use, read_secret
from kit.parsing import Malformed, number

logger = logging.getLogger(__name__)
EVERY_S: Final = 30.0
SOON_S: Final = 5.0
MOVING_S: Final = 120.0
"""Brokers count as changing for this long after the last change of one. After that the operator waits for a person."""
OLD_S: Final = 90.0
_SHARE: Final = 5.0
"""Reads may take a fifth of the time, because one of many brokers, or of a silent one, takes long."""
_BOOTSTRAP_MAX: Final = 10
_NEVER: Final = "this operator asks no broker"
_NOBODY: Final = "no broker was asked: no pool of this quorum runs, and spec.brokerAccess has no bootstrapServers"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEdges:
    """How brokers are asked. Without `running`, none is asked for its settings: registered ones are Unknown."""

    running: RunningSettings | None = None
    brokers: Brokers | None = None


NO_BROKERS: Final = BrokerEdges()


class Asked(Protocol):
    """A quorum whose brokers are asked, with or without a record."""

    @property
    def desired(self) -> Desired:
        """What the spec requests."""

    @property
    def observed(self) -> Observed:
        """What this look has found so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrecorded:
    """A quorum that has no record yet."""

    desired: Desired
    observed: Observed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The result of one read. `because` is why it began; `known` is Unknown if no broker answered."""

    because: tuple[object, ...]
    known: Knowable[Mapping[NodeID, Knowable[Settings]]]
    versions: Mapping[NodeID, NodeVersions]
    nobody: bool
    """There was no broker that could be asked: no pod of a pool, and no address in the spec."""
    at_s: float
    took_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stand:
    """Which of the known brokers follow the contract, and since when this is so (monotonic seconds)."""

    shown: tuple[object, ...]
    since_s: float


class BrokerReads:
    """Reads beside the looks, and what the last one showed for each quorum. Nothing here outlives the process."""

    def __init__(self, kube: KubeApi, clock: Clock, edges: BrokerEdges) -> None:
        """Nothing is read yet."""
        self._kube, self._clock, self._running, self._brokers = kube, clock, edges.running, edges.brokers
        self._last: dict[ObjectKey, _Read] = {}
        self._begun_s: dict[ObjectKey, float] = {}
        self._stands: dict[ObjectKey, _Stand] = {}
        self._left: set[ObjectKey] = set()
        """The quorums with a broker that did not answer, or does not follow the contract, when they were looked at."""
        self._awaited: set[ObjectKey] = set()
        """The quorums whose last read began early, because an act waits for brokers that change."""
        self._tasks: dict[ObjectKey, asyncio.Task[None]] = {}

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone."""
        self._last.pop(key, None)
        self._begun_s.pop(key, None)
        self._stands.pop(key, None)
        self._awaited.discard(key)
        self._left.discard(key)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()

    def is_awaited(self, key: ObjectKey) -> bool:
        """Whether an act waits for a read that runs now: the next look should follow when the read ends."""
        task = self._tasks.get(key)
        return key in self._awaited and task is not None and not task.done()

    def is_settled(self, key: ObjectKey) -> bool:
        """Whether the last look at this quorum left no read to be made, and none is under way."""
        task = self._tasks.get(key)
        return self._running is None or (key not in self._left and (task is None or task.done()))

    def look(self, key: ObjectKey, situation: Asked, *, needed: bool) -> Knowable[tuple[BrokerSeen, ...]]:
        """Every registered broker that is known now. `needed`: an act waits for the answer, so it must not be old."""
        because, now_s = _because(situation), self._clock.monotonic()
        last = self._last.get(key)
        left = last is None or last.because != because or _is_open(situation, last)
        (self._left.add if left else self._left.discard)(key)
        pause_s = self._pause_s(key, situation, because) if needed and left else EVERY_S
        if self._running is not None and (needed or left) and now_s - self._begun_s.get(key, -EVERY_S) >= pause_s:
            task = self._tasks.get(key)
            if task is None or task.done():
                self._begun_s[key] = now_s
                (self._awaited.add if pause_s < EVERY_S else self._awaited.discard)(key)
                self._tasks[key] = asyncio.create_task(self._read(key, situation, because))
        fresh = last is not None and now_s - last.at_s <= OLD_S and last.because == because
        if needed and self._running is not None and not fresh:
            return Unknown(reason="the brokers are being asked")
        return _combined(situation, last, "its settings were not read yet" if self._running else _NEVER)

    def _pause_s(self, key: ObjectKey, situation: Asked, because: tuple[object, ...]) -> float:
        """The seconds between the starts of two reads, while an act waits for what a read shows."""
        last, now_s = self._last.get(key), self._clock.monotonic()
        shown, stand = (because, _following(situation, last)), self._stands.get(key)
        if stand is None or stand.shown != shown:
            stand = self._stands[key] = _Stand(shown=shown, since_s=now_s)
        if now_s - stand.since_s > MOVING_S:
            return EVERY_S
        return SOON_S if last is None else min(max(SOON_S, last.took_s * _SHARE), EVERY_S)

    async def _read(self, key: ObjectKey, situation: Asked, because: tuple[object, ...]) -> None:
        desired, began_s = situation.desired, self._clock.monotonic()
        pods: tuple[Endpoint, ...] = ()
        nobody = False
        known: Knowable[Mapping[NodeID, Knowable[Settings]]]
        try:
            items = await self._kube.list(PODS, desired.namespace, {OF_QUORUM: desired.name})
            pods, nobody = await self._pods(desired, items), not items and not _servers(situation)
            known = Known(value={}) if nobody else await self._settings(situation, pods)
        except (KubeError, KafkaError, Malformed) as error:
            known = Unknown(reason=str(error))
        except Exception as error:
            logger.exception("a fault of this operator occurred while it asked the brokers of %s", key)
            known = Unknown(reason=f"the read ended in a fault of this operator ({type(error).__name__}); see its log")
        versions = {} if self._brokers is None else await self._versions(self._brokers, pods)
        at_s = self._clock.monotonic()
        self._last[key] = _Read(
            because=because, known=known, versions=versions, nobody=nobody, at_s=at_s, took_s=at_s - began_s
        )

    async def _settings(
        self, situation: Asked, pods: tuple[Endpoint, ...]
    ) -> Knowable[Mapping[NodeID, Knowable[Settings]]]:
        bootstrap = _servers(situation)
        found: dict[NodeID, Knowable[Settings]] = {}
        if self._running is None or not (pods or bootstrap):
            return Unknown(reason="no broker of a pool has an address yet")
        for servers, properties in _groups(pods):
            found |= await self._running.read(servers, properties)
        if bootstrap:
            properties = await self._properties(situation)
            asked = await self._running.read(bootstrap, properties)
            found |= {node: said for node, said in asked.items() if not isinstance(found.get(node), Known)}
        return Known(value=found)

    async def _properties(self, situation: Asked) -> dict[str, str]:
        desired = situation.desired
        name = desired.broker_access.secret_name
        if not name:
            return {}
        use = Use(reader=reader(desired.name), where="spec.brokerAccess", annotation=USED_BY)
        return await read_secret(self._kube, desired.namespace, name, use)

    async def _pods(self, desired: Desired, items: list[Json]) -> tuple[Endpoint, ...]:
        """The endpoints of brokers of pools; with the operator's certificate where REPLICATION has TLS."""
        namespace = desired.namespace
        found = _pods(namespace, items)
        if not any(pod.name for pod in found):
            return found
        trust, own = [
            texts_of(await self._secret(namespace, name), desired.name)
            for name in (brokers_tls_name(desired.name), operator_tls_name(desired.name))
        ]
        security = Secured(tls=own_tls_from(trust, own))
        return tuple(replace(pod, security=security) if pod.name else pod for pod in found)

    async def _secret(self, namespace: str, name: str) -> Json:
        item = await self._kube.get(SECRETS, namespace, name)
        if item is None:
            raise Malformed(f"Secret {name} does not exist yet")
        return item

    async def _versions(self, brokers: Brokers, pods: tuple[Endpoint, ...]) -> dict[NodeID, NodeVersions]:
        async def one(pod: Endpoint) -> tuple[NodeID, NodeVersions] | None:
            try:
                return pod.node_id, await brokers.api_versions(pod)
            except KafkaError:
                return None

        answers = await asyncio.gather(*(one(pod) for pod in pods))
        return dict(answer for answer in answers if answer is not None)


def _servers(situation: Asked) -> tuple[str, ...]:
    """Addresses of brokers that others manage: those of the spec, else the PLAINTEXT listeners in ZooKeeper."""
    if given := situation.desired.broker_access.bootstrap_servers:
        return given
    keeper = situation.observed.zookeeper
    brokers = keeper.value.brokers if isinstance(keeper, Known) else ()
    found = (each.removeprefix(_PLAIN) for broker in brokers for each in broker.listeners if each.startswith(_PLAIN))
    return tuple(found)[:_BOOTSTRAP_MAX]


_PLAIN: Final = "PLAINTEXT://"


def _is_open(situation: Asked, last: _Read) -> bool:
    """Whether a broker did not answer, or must be changed: it is asked again, so that the status does not stay old."""
    seen = _combined(situation, last, "")
    if isinstance(seen, Unknown):
        return True
    return not last.nobody and any(
        isinstance(one.settings, Unknown) or conforms_to(situation.observed, one)[0] is False for one in seen.value
    )


def _following(situation: Asked, last: _Read | None) -> tuple[object, ...]:
    """Each known broker, and whether it follows the contract."""
    seen = _combined(situation, last, "")
    found = seen.value if isinstance(seen, Known) else ()
    return tuple((one.node_id, conforms_to(situation.observed, one)[0]) for one in found)


def _groups(pods: tuple[Endpoint, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """The addresses and client settings of brokers of pools; with TLS, the names in their certificates."""
    plain = tuple(f"{pod.host}:{pod.port}" for pod in pods if not pod.name)
    if plain:
        yield plain[:_BOOTSTRAP_MAX], {}
    secured = [pod for pod in pods if pod.name]
    for pod in secured[:1]:
        tls = pod.security.tls if isinstance(pod.security, Secured) else None
        if tls is not None:
            yield (
                tuple(f"{each.name}:{each.port}" for each in secured[:_BOOTSTRAP_MAX]),
                {
                    "security.protocol": "SSL",
                    "ssl.ca.pem": tls.ca,
                    "ssl.certificate.pem": tls.certificate,
                    "ssl.key.pem": tls.key,
                },
            )


def _pods(namespace: str, items: list[Json]) -> tuple[Endpoint, ...]:
    """The replication listener of each pool broker that has an address; with TLS, the name in its certificate, too.

    A pod that has ended, such as a formatter that was refused, still shows its address. Kubernetes gives that address
    to another pod, perhaps to a broker of another cluster, whose answers would count for this broker.
    """
    found = []
    for item in items:
        labels = item["metadata"].get("labels") or {}
        ip = address(status_of(item).get("podIP", ""))
        with contextlib.suppress(Malformed):
            node_id = NodeID(number(labels.get(LABEL_NODE)))
            ended = "deletionTimestamp" in item["metadata"] or status_of(item).get("phase") in FINISHED
            if ip and not ended:
                annotations = item["metadata"].get("annotations") or {}
                encrypted = annotations.get(REPLICATION_TLS) == "true"
                name = broker_host(namespace, str(labels.get(LABEL_POOL)), node_id) if encrypted else ""
                found.append(Endpoint(node_id=node_id, host=ip, port=POOL_PORT, name=name))
    return tuple(found)


def _observers(situation: Asked) -> tuple[NodeID, ...]:
    """Observers of the quorum that are no controllers of ours: brokers."""
    quorum = situation.observed.quorum
    if isinstance(quorum, Unknown):
        return ()
    record = situation.observed.record
    if record is None:
        return ()
    others = {key.node_id for key in quorum.value.observers if is_foreign(record, key)}
    former = {each.node_id for each in record.former}
    return tuple(sorted(others - former))


def _because(situation: Asked) -> tuple[object, ...]:
    """What a read is for. The revision counts, because a migration that goes back has earlier settings again."""
    stored = situation.observed.contract
    contract = None if isinstance(stored, Unknown) or stored.value is None else stored.value.contract
    told = None if contract is None else (contract.revision, contract.settings)
    return _observers(situation), told, situation.desired.broker_access


def _combined(situation: Asked, last: _Read | None, unread: str) -> Knowable[tuple[BrokerSeen, ...]]:
    """Every broker that the quorum or a read shows. `unread`: why a broker is Unknown before the first read."""
    observers, access = _observers(situation), situation.desired.broker_access
    settings: Mapping[NodeID, Knowable[Settings]] = {}
    reason = unread
    if last is None and access.bootstrap_servers:
        return Unknown(reason="the brokers were not asked yet")
    if last is not None and isinstance(last.known, Unknown):
        return last.known
    if last is not None and isinstance(last.known, Known):
        settings = last.known.value
        reason = _NOBODY if last.nobody else ""
    versions = {} if last is None else last.versions
    record, keeper = situation.observed.record, situation.observed.zookeeper
    kept = keeper.value.expected if isinstance(keeper, Known) else frozenset()
    ids = sorted({*settings, *observers, *kept} - set(() if record is None else record.node_ids))
    return Known(
        value=tuple(
            BrokerSeen(
                node_id=node_id,
                settings=settings.get(node_id, Unknown(reason=reason or _unlisted(node_id in observers))),
                fenced=_fenced(settings.get(node_id)),
                metadata_max=_metadata_max(versions.get(node_id)),
            )
            for node_id in ids
        )
    )


def _unlisted(observes: bool) -> str:  # noqa: FBT001 - one of two texts
    where = "it is an observer of the quorum" if observes else "ZooKeeper has its registration, or replicas of it"
    return f"{where}, and no broker that was asked lists it"


def _fenced(said: Knowable[Settings] | None) -> bool | None:
    """A broker that reports its settings is listed, so it is not fenced."""
    if said is None:
        return None
    return False if isinstance(said, Known) else ("fenced" in said.reason or None)


def _metadata_max(versions: NodeVersions | None) -> int | None:
    ranges = () if versions is None else versions.supported
    return next((each.max_level for each in ranges if each.name == METADATA), None)
