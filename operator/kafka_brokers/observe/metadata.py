"""Brokers and partitions of a cluster with brokers of Kafka 3.9, put together from the Metadata that each one answers.

A 3.9 broker lists no fenced brokers, and in ZooKeeper mode it has no metadata log whose leader could show how far it
has read: its cache may be old. So every broker of the cluster is asked whom it lists, and the worst counts. At most
`WHOLE_MAX` brokers, the controller first, are asked for partitions, and fewer if there are many: every cache has all of
them, and to read them takes time in which the look grows old. A broker is in the ISR of a partition only if every cache
that has the partition says so. A broker that some caches list and others do not is `doubtful`. A broker that does not
list itself is not in yet, and its cache counts for nothing.

A broker that lost its way to the controller still answers, and lists what it knew. Where the leader of the metadata log
shows that a broker is behind, its cache counts for nothing. And nothing is known before more than half of the brokers
that are listed have answered: a cache from before could show a broker as gone that serves, or leave out what it leads.

Once a KRaft controller leads, the caches of brokers in migration mode never lose a broker of their kind. One that
neither answers nor fetches the log, and serves nothing by all partitions, is fenced.

In contact, in place of those that fetch the metadata log, are the brokers that answered in this very look.
"""

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from kafka_brokers.model.observed import ClusterView, Leader, Revision
from kafka_brokers.observe.kafka import PATIENCE_S, Asked, each, known, quorum_answers
from kafka_brokers.observe.quorum import leader_of
from kafka_brokers.plan.facts import MIGRATION_ENABLE
from kafka_quorum.api.release import parse_release
from kafka_quorum.model.brokers import MetadataAnswer, Partition, Reassignment, RegisteredBroker, TopicPartition
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.voters import majority_of
from kafka_quorum.wire.brokers import Brokers
from kit.clock import Clock

SINCE: Final = (4, 0, 0)
"""The first release whose brokers list fenced ones (DescribeCluster 2), and of which one broker is asked."""
_LEAST_PATIENCE_S: Final = 0.2
"""What of `PATIENCE_S` is left for the others if one of the pool took all of it: no look may be too old for an act."""
_OTHERS_MAX: Final = 256
"""So many brokers that are not of a pool are asked; with more, those that are not asked count as not in contact."""
WHOLE_MAX: Final = 5
"""So many brokers are asked for partitions, if there is time."""
_READ_S: Final = 0.6
"""How long the others may take that are asked for partitions after the first one: a look may be 2 s old."""
_SOURCES: Final = 2
_NO_PARTITIONS: Final = "no broker answers which partitions there are"
_SHOWN: Final = 10
"""So many brokers are named in a sentence."""
_ZOOKEEPERS_EPOCH: Final = -1
T = TypeVar("T")


def is_needed(contract: Contract, running: Iterable[Revision]) -> bool:
    """Whether brokers of 3.9 run, or may be next: these are the revisions of the pods that run."""
    found = map(parse_release, (contract.release, *(one.runtime.release for one in running)))
    return any(release is not None and release < SINCE for release in found)


def does_zookeeper_lead(contract: Contract) -> bool:
    """Whether the active controller is a broker. While brokers migrate, a KRaft controller is, or is about to be."""
    enabled = contract.setting(MIGRATION_ENABLE)
    return contract.zookeeper is not None and (enabled is None or enabled.value != "true")


async def ask(
    brokers: Brokers,
    controllers: dict[NodeID, Endpoint],
    servers: dict[NodeID, Endpoint],
    cluster_id: ClusterID,
    clock: Clock,
    *,
    zookeeper_leads: bool,
) -> Asked:
    """Who leads, and all brokers and partitions. `servers` are the brokers of pools; others are found by them."""
    at_s = clock.monotonic()
    quorum = asyncio.ensure_future(quorum_answers(brokers, {} if zookeeper_leads else controllers))
    try:
        caches, whole, endpoints, fault = await _caches(brokers, servers, cluster_id, clock)
    except BaseException:
        quorum.cancel()
        raise
    answers = await quorum
    leader = leader_of(answers, controllers)  # nobody was asked while ZooKeeper leads
    if not fault:
        caches = _up_to_date(caches, leader)
        whole &= caches.keys()
        fault = _too_few(caches, whole)
    if fault:
        unknown = Unknown(reason=fault)
        return Asked(leader=unknown if zookeeper_leads else leader, cluster=unknown, at_s=at_s)
    leader = _with_contact(_zookeepers(caches, endpoints) if zookeeper_leads else leader, caches)
    view = await _view(brokers, caches, whole, endpoints, at_s)
    if isinstance(view, Known) and isinstance(leader, Known) and not zookeeper_leads:
        view = Known(value=_without_contact(view.value, leader.value))
    return Asked(leader=leader, cluster=view, at_s=at_s)


async def _caches(
    brokers: Brokers, servers: dict[NodeID, Endpoint], cluster_id: ClusterID, clock: Clock
) -> tuple[dict[NodeID, MetadataAnswer], frozenset[NodeID], dict[NodeID, Endpoint], str]:
    """The caches that count, whose have partitions, where each broker is, and why there is none; else an empty text."""
    none: frozenset[NodeID] = frozenset()
    if not servers:
        return {}, none, {}, "no broker runs yet"
    listing, began_s = partial(brokers.metadata, partitions=False), asyncio.get_running_loop().time()
    first = await each(listing, servers, enough=majority_of(len(servers)))
    caches = _counting(first)
    if not caches:
        said = "; ".join(f"broker {node}: {_why(node, answer)}" for node, answer in sorted(first.items()))
        return {}, none, {}, f"no broker can be asked for the partitions ({said})"
    wrong = next((node for node, answer in caches.items() if answer.cluster_id != cluster_id), None)
    if wrong is not None:
        both = f"its cluster id is {caches[wrong].cluster_id}, not {cluster_id}"
        return {}, none, {}, f"broker {servers[wrong]} is of another cluster: {both}"
    listed = {row.node_id: row for answer in caches.values() for row in answer.brokers}
    others = {
        node: Endpoint(node_id=node, host=row.host, port=row.port)
        for node, row in sorted(listed.items())
        if node not in servers and row.host and row.port > 0
    }
    asked = dict(list(others.items())[:_OTHERS_MAX])
    left_s = max(_LEAST_PATIENCE_S, PATIENCE_S - (asyncio.get_running_loop().time() - began_s))
    enough = majority_of(len(servers) + len(asked)) - len(caches)
    found = _counting(await each(listing, asked, enough=enough, patience_s=left_s))
    caches |= {node: answer for node, answer in found.items() if answer.cluster_id == cluster_id}
    endpoints = {**others, **servers}
    # Of equal ones those of pools: others may hide topics from who has no name (`api.checks`).
    read = await _read(brokers, [endpoints[node] for node in _by_weight(caches, servers)], clock)
    caches, whole = caches | read, frozenset(read)
    return caches, whole, endpoints, "" if whole else _NO_PARTITIONS


async def _read(brokers: Brokers, order: list[Endpoint], clock: Clock) -> dict[NodeID, MetadataAnswer]:
    """The caches that are read whole: the first that answers, and as many of the next ones as `_READ_S` suffices for.

    All of them are decoded by one processor: with many partitions the look would be too old for every stop.
    """
    for place, endpoint in enumerate(order[:WHOLE_MAX]):
        began_s = clock.monotonic()
        found = _counting({endpoint.node_id: await known(brokers.metadata, endpoint)})
        if not found:
            continue
        took_s = max(clock.monotonic() - began_s, 0.001)
        more = order[place + 1 :][: min(WHOLE_MAX - 1, int(_READ_S / took_s))]
        return found | _counting(await each(brokers.metadata, {one.node_id: one for one in more}))
    return {}


def _up_to_date(caches: dict[NodeID, MetadataAnswer], leader: Knowable[Leader]) -> dict[NodeID, MetadataAnswer]:
    """Without the caches of brokers that fetch the metadata log, and are behind. In ZooKeeper mode nobody does."""
    behind = frozenset[NodeID]()
    if isinstance(leader, Known):
        behind = leader.value.observers - leader.value.observers_caught_up
    return {node: answer for node, answer in caches.items() if node not in behind}


def _too_few(caches: Mapping[NodeID, MetadataAnswer], whole: frozenset[NodeID]) -> str:
    """Why these caches do not show what the cluster is like; empty if they do."""
    listed = {row.node_id for answer in caches.values() for row in answer.brokers}
    if not caches:
        return "no broker that answers is up to date with the metadata log"
    if len(caches) < majority_of(len(listed)):
        said = f"{len(caches)} of the {len(listed)} brokers that are listed answer, and are up to date: too few"
        ids = ", ".join(map(str, sorted(listed - caches.keys())[:_SHOWN]))
        return f"{said}. Without these: {ids}. Repair them, or let the operator reach their listener REPLICATION"
    return "" if whole else _NO_PARTITIONS


def _by_weight(caches: Mapping[NodeID, MetadataAnswer], first: Container[NodeID] = ()) -> list[NodeID]:
    """The brokers that are named as the controller, whose caches are the newest; then `first`, then the others."""
    named = {answer.controller for answer in caches.values()}
    return sorted(caches, key=lambda node: (node not in named, node not in first, node))


def _counting(answers: Mapping[NodeID, Knowable[MetadataAnswer]]) -> dict[NodeID, MetadataAnswer]:
    """The caches of brokers that list themselves."""
    return {
        node: answer.value
        for node, answer in answers.items()
        if isinstance(answer, Known) and any(row.node_id == node for row in answer.value.brokers)
    }


def _why(node: NodeID, answer: Knowable[MetadataAnswer]) -> str:
    return answer.reason if isinstance(answer, Unknown) else f"it does not list broker {node} yet"


def _zookeepers(caches: Mapping[NodeID, MetadataAnswer], endpoints: Mapping[NodeID, Endpoint]) -> Knowable[Leader]:
    """The broker that leads, if every cache names the same one, and it answered itself."""
    named = {answer.controller for answer in caches.values()}
    controller = next(iter(named)) if len(named) == 1 else None
    if controller is None:
        ids = ", ".join(sorted("none" if each is None else str(each) for each in named))
        return Unknown(reason=f"the brokers do not name one controller of ZooKeeper's: {ids}")
    if controller not in caches:
        return Unknown(reason=f"broker {controller} is ZooKeeper's controller, and does not answer")
    return Known(
        value=Leader(
            endpoint=endpoints[controller],
            epoch=_ZOOKEEPERS_EPOCH,
            observers=frozenset(),
            observers_caught_up=frozenset(),
            settled=True,
            voters=1,
            voters_caught_up=1,
        )
    )


def _with_contact(leader: Knowable[Leader], caches: Mapping[NodeID, MetadataAnswer]) -> Knowable[Leader]:
    """The leader, with the brokers that answered in contact. Unknown if one of them has heard of no controller."""
    if isinstance(leader, Unknown):
        return leader
    alone = [node for node, answer in caches.items() if answer.controller is None]
    if alone:
        return Unknown(reason=f"broker {alone[0]} knows no active controller")
    contact = frozenset(caches)
    found = leader.value
    return Known(
        value=replace(
            found, observers=found.observers | contact, observers_caught_up=found.observers_caught_up | contact
        )
    )


async def _view(
    brokers: Brokers,
    caches: Mapping[NodeID, MetadataAnswer],
    whole: frozenset[NodeID],
    endpoints: Mapping[NodeID, Endpoint],
    at_s: float,
) -> Knowable[ClusterView]:
    """All of it, or why a part is not known. The caches of `whole` have partitions."""
    order = _by_weight(caches)
    partitions = merged(caches[node] for node in sorted(whole))
    topics = sorted({partition.at.topic for partition in partitions})
    moving = await _first(brokers.reassignments, [endpoints[node] for node in order])
    if isinstance(moving, Unknown):
        return Unknown(reason=f"the running reassignments are not known ({moving.reason})")
    least: Knowable[dict[str, int]] = Known(value={})
    if topics:
        least = await _first(lambda at: brokers.min_isr(at, topics), [endpoints[node] for node in order[:_SOURCES]])
    if isinstance(least, Unknown):
        return least
    rows, doubtful = _registered(caches.values())
    reassignments: tuple[Reassignment, ...] = moving.value
    return Known(
        value=ClusterView(
            source=order[0],
            registered=rows,
            partitions=partitions,
            min_isr=tuple(sorted(least.value.items())),
            reassignments=reassignments,
            taken_at_s=at_s,
            doubtful=doubtful,
        )
    )


def _without_contact(view: ClusterView, leader: Leader) -> ClusterView:
    """The view, in which brokers that are listed and cannot be unfenced are fenced.

    Brokers in migration mode list a fenced one of their kind for ever, once a KRaft controller leads (measured on
    3.9.2). Such a broker neither answers nor fetches the metadata log, and the controller has taken it out of every
    ISR, except where it is the last member of one; then it leads nothing there.
    """
    contact = leader.observers_caught_up

    def serves(node_id: NodeID) -> bool:
        rows = view.by_broker.get(node_id, ())
        return any(row.leader == node_id or (node_id in row.isr and row.isr != (node_id,)) for row in rows)

    gone = frozenset(row.node_id for row in view.registered if row.node_id not in contact and not serves(row.node_id))
    rows = tuple(replace(row, fenced=row.fenced or row.node_id in gone) for row in view.registered)
    return replace(view, registered=rows, doubtful=view.doubtful - gone)


async def _first(question: Callable[[Endpoint], Awaitable[T]], sources: Iterable[Endpoint]) -> Knowable[T]:
    """The first answer. In ZooKeeper mode only the controller answers some questions; a broker that migrates, any."""
    reasons = []
    for source in sources:
        answer = await known(question, source)
        if isinstance(answer, Known):
            return answer
        reasons.append(answer.reason)
    return Unknown(reason="; ".join(reasons))


def _registered(caches: Iterable[MetadataAnswer]) -> tuple[tuple[RegisteredBroker, ...], frozenset[NodeID]]:
    """Every broker that a cache lists, fenced unless all do; and those that only some do."""
    listed = [{row.node_id: row for row in answer.brokers} for answer in caches]
    rows = {node: row for each in reversed(listed) for node, row in each.items()}
    doubtful = frozenset(node for node in rows if not all(node in each for each in listed))
    found = (replace(row, fenced=node in doubtful) for node, row in sorted(rows.items()))
    return tuple(found), doubtful


def merged(caches: Iterable[MetadataAnswer]) -> tuple[Partition, ...]:
    """Every partition that a cache has, as the worst of those that have it: a cache without it says nothing about it.

    The highest leader epoch decides who leads. Replicas are those of any cache, members of the ISR those of all.
    """
    rows: dict[TopicPartition, list[Partition]] = {}
    for answer in caches:
        for row in answer.partitions:
            rows.setdefault(row.at, []).append(row)
    return tuple(_worst(rows[at]) for at in sorted(rows))


def _worst(rows: list[Partition]) -> Partition:
    newest = max(rows, key=lambda row: row.leader_epoch)
    if all(row == newest for row in rows):
        return newest
    leaders = {row.leader for row in rows if row.leader_epoch == newest.leader_epoch}
    more = (node for row in rows for node in row.replicas)
    offline = (node for row in rows for node in row.offline)
    return replace(
        newest,
        leader=newest.leader if len(leaders) == 1 else None,
        replicas=tuple(dict.fromkeys((*newest.replicas, *more))),
        isr=tuple(node for node in newest.isr if all(node in row.isr for row in rows)),
        offline=tuple(dict.fromkeys(offline)),
    )
