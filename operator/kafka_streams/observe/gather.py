"""One look: the Kubernetes objects of a snapshot, and what the brokers answer about the group and themselves."""

import asyncio
from dataclasses import dataclass, replace
from typing import Final, Protocol

from kafka_quorum.api.features import METADATA, metadata_version_name
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.brokers import MetadataAnswer, RegisteredBroker, TopicPartition
from kafka_quorum.model.groups import Committed, LogEnd
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint, NodeVersions
from kafka_quorum.model.security import Security
from kafka_quorum.wire.groups import Groups
from kafka_streams.model.application import Desired
from kafka_streams.model.group import GroupSeen
from kafka_streams.model.membership import Group
from kafka_streams.model.observed import Memory, Observed
from kafka_streams.model.release import StreamsRelease
from kafka_streams.observe.ends import AT_ONCE, log_ends
from kafka_streams.observe.group import SOURCES, look
from kafka_streams.observe.snapshot import Snapshot
from kafka_streams.observe.view import assigned_to, group_from, remembered
from kit.clock import Clock

LOOK_MAX_S: Final = 15.0
"""The longest time between two looks that counts: what was not looked at is not known."""
RELEASES_S: Final = 20.0
"""The limit of one look at the releases of all brokers."""
_NOT_KNOWN: Final = NodeID(-1)
"""The node id of a server that is only known by its address."""
_RELEASES: Final = "the releases of the brokers are not known"


class Versions(Protocol):
    """What is asked of a broker about itself."""

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """Supported ranges and finalized levels, as this node reports them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """The two edges to Kafka."""

    groups: Groups
    versions: Versions


async def observe(edges: Edges, clock: Clock, taken: Snapshot, desired: Desired, memory: Memory) -> Observed:
    """The whole look. It raises nothing: what is not answered is Unknown."""
    looked_at_s = clock.monotonic()
    endpoints = _endpoints(taken.servers, taken.security)
    group: Knowable[Group]
    brokers: Knowable[frozenset[StreamsRelease]]
    if isinstance(endpoints, Unknown):
        group, brokers = endpoints, endpoints
    else:
        group = await _group(edges.groups, endpoints.value, desired.application_id)
        brokers = await _releases(edges, endpoints.value) if _needs_brokers(taken, desired) else _not_needed()
    return Observed(
        record=taken.record,
        pods=taken.pods,
        claims=taken.claims,
        revisions=taken.revisions,
        files=taken.configs,
        group=group,
        brokers=brokers,
        memory=remembered(group, memory, looked_at_s, LOOK_MAX_S),
        looked_at_s=looked_at_s,
        record_fault=taken.record_fault,
        unreadable=tuple(
            f"{one.kind} {one.name} cannot be read: {one.why}. It counts neither as there nor as gone"
            for one in taken.unreadable
        ),
        source=taken.source,
        spec_kept=taken.spec_kept,
    )


def _not_needed() -> Unknown:
    return Unknown(reason="the release stays the same, so the brokers were not asked")


def _needs_brokers(taken: Snapshot, desired: Desired) -> bool:
    """Whether a way is to be found."""
    record = taken.record
    runtime = desired.runtime
    return record is not None and (record.release, record.protocol) != (runtime.release, runtime.protocol)


def _endpoints(servers: Knowable[tuple[str, ...]], security: Knowable[Security]) -> Knowable[tuple[Endpoint, ...]]:
    if isinstance(servers, Unknown):
        return servers
    if isinstance(security, Unknown):
        return security
    found = []
    for text in servers.value:
        host, _, port = text.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:  # noqa: PLR2004 - ports
            return Unknown(reason=f"{text} is no HOST:PORT: correct spec.bootstrap")
        found.append(Endpoint(node_id=_NOT_KNOWN, host=host, port=int(port), security=security.value))
    return Known(value=tuple(found)) if found else Unknown(reason="spec.bootstrap names no brokers")


async def _group(groups: Groups, endpoints: tuple[Endpoint, ...], group_id: str) -> Knowable[Group]:
    seen = await look(groups, endpoints, group_id)
    if isinstance(seen, Unknown):
        return seen
    committed = seen.value.committed
    partitions = set() if isinstance(committed, Unknown) else {row.at for row in committed.value}
    ends: dict[TopicPartition, Knowable[int]] = {}
    for endpoint in endpoints[:SOURCES]:
        ends = await log_ends(groups, endpoint, partitions | assigned_to(seen.value), LogEnd.LATEST)
        if not ends or any(isinstance(end, Known) for end in ends.values()):
            break
    shown = await _settled(groups, endpoints, seen.value, partitions)
    return Known(value=group_from(replace(seen.value, committed=shown), ends))


async def _settled(
    groups: Groups, endpoints: tuple[Endpoint, ...], seen: GroupSeen, partitions: set[TopicPartition]
) -> Knowable[tuple[Committed, ...]]:
    """The committed offsets. If an assigned partition has none, they are asked for again, after the ends.

    Rights that came into effect between offsets and ends would make hidden offsets look like none.
    """
    if isinstance(seen.committed, Unknown) or assigned_to(seen) <= partitions:
        return seen.committed
    again = await look(groups, endpoints, seen.group_id)
    if isinstance(again, Unknown):
        return again
    committed = again.value.committed
    if isinstance(committed, Known) and {row.at for row in committed.value} != partitions:
        return Unknown(reason="committed offsets of more or fewer partitions were shown during the look")
    return committed


async def _releases(edges: Edges, endpoints: tuple[Endpoint, ...]) -> Knowable[frozenset[StreamsRelease]]:
    """The releases of all brokers, by the metadata.version that each of them supports.

    No request names a broker's release, so its patch is not known: 0 stands for it, which is the careful reading.
    """
    try:
        async with asyncio.timeout(RELEASES_S):
            rows = (await _metadata(edges.groups, endpoints)).brokers
            found: set[StreamsRelease] = set()
            for start in range(0, len(rows), AT_ONCE):
                some = rows[start : start + AT_ONCE]
                for one in await asyncio.gather(*(_release(edges.versions, endpoints[0], row) for row in some)):
                    if isinstance(one, Unknown):
                        return one
                    found.add(one.value)
    except TimeoutError:
        return Unknown(reason=f"{_RELEASES}: {RELEASES_S:g} s had passed")
    except KafkaError as error:
        return Unknown(reason=f"{_RELEASES}: {error}")
    return Known(value=frozenset(found)) if found else Unknown(reason="no broker is listed")


async def _release(versions: Versions, asked: Endpoint, row: RegisteredBroker) -> Knowable[StreamsRelease]:
    """The release of one broker; an error of the question is a reason, so that no question of others is left alone."""
    try:
        answer = await versions.api_versions(replace(asked, node_id=row.node_id, host=row.host, port=row.port))
    except KafkaError as error:
        return Unknown(reason=f"{_RELEASES}: {error}")
    level = next((one.max_level for one in answer.supported if one.name == METADATA), None)
    line = None if level is None else _line(level)
    if line is None:
        said = "does not say" if level is None else f"says {level}, which is later than this operator knows,"
        return Unknown(reason=f"broker {row.node_id} {said} as its highest metadata.version")
    return Known(value=StreamsRelease(line, 0))


async def _metadata(groups: Groups, endpoints: tuple[Endpoint, ...]) -> MetadataAnswer:
    """What the first broker that answers says of all; the error of the last one if none does."""
    *others, last = endpoints[:SOURCES]
    for endpoint in others:
        try:
            return await groups.metadata(endpoint)
        except KafkaError:
            continue
    return await groups.metadata(last)


def _line(level: int) -> tuple[int, int] | None:
    """The release line whose highest metadata.version this is, by its name: `4.4-IV2` is of 4.4."""
    name = metadata_version_name(level)
    if name is None:
        return None
    major, _, rest = name.partition(".")
    minor = rest.partition("-")[0]
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None
