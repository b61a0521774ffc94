"""Ask the controllers who leads, and a broker that is caught up for all partitions."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from kafka_brokers.api.properties import thread_counts
from kafka_brokers.model.observed import ClusterView, Leader, Pod
from kafka_brokers.observe.quorum import leader_of
from kafka_brokers.plan.facts import CHANGED, CORDON
from kafka_quorum.errors import KafkaError, KafkaExpired, KafkaRefused
from kafka_quorum.model.brokers import ConfigEntry, LogDirectory
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint, QuorumAnswer
from kafka_quorum.model.security import PLAINTEXT, Security
from kafka_quorum.wire.brokers import Brokers
from kit.clock import Clock

T = TypeVar("T")
_READ: Final = frozenset({CORDON, *thread_counts()})
"""Settings whose present value matters, whoever set it."""
PATIENCE_S: Final = 1.0
"""How long the other servers may take after enough have answered: of controllers the leader."""
_NOT_LEADER: Final = "NOT_LEADER_OR_FOLLOWER"
_SOURCES: Final = 2
"""So many brokers are asked for the partitions, one after the other, before they count as unknown.

Those whose certificates have ended are not counted: they refuse at once, and others may answer.
"""
_SOURCES_MOST: Final = 32
"""So many are asked in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Kafka's answers of one look, and when the first question was sent (monotonic seconds)."""

    leader: Knowable[Leader]
    cluster: Knowable[ClusterView]
    at_s: float


def controllers_of(contract: Contract, security: Security = PLAINTEXT) -> dict[NodeID, Endpoint]:
    """The endpoints of the controllers in the contract, secured so: ids and addresses are in the same order."""
    found = {}
    for node_id, address in zip(contract.controller_ids, contract.controllers, strict=False):
        host, _, port = address.rpartition(":")
        if host and port.isascii() and port.isdigit():
            found[node_id] = Endpoint(node_id=node_id, host=host, port=int(port), security=security)
    return found


async def ask(
    brokers: Brokers,
    controllers: dict[NodeID, Endpoint],
    servers: dict[NodeID, Endpoint],
    cluster_id: ClusterID,
    clock: Clock,
    last: frozenset[NodeID] = frozenset(),
    peers: frozenset[NodeID] = frozenset(),
) -> Asked:
    """Who leads, and all partitions as one of these `servers` knows them that is caught up with the metadata log.

    Those in `last` are asked only after all others: their certificates have ended, so they are not expected to answer.
    The ends of certificates of `peers` (brokers of other pools) are not known: they are asked after brokers of ours.
    """
    at_s = clock.monotonic()
    leader = leader_of(await quorum_answers(brokers, controllers), controllers)
    if isinstance(leader, Unknown):
        return Asked(leader=leader, cluster=Unknown(reason=leader.reason), at_s=at_s)
    caught_up = leader.value.observers_caught_up & servers.keys()
    sources = sorted(caught_up, key=lambda node_id: (node_id in last, node_id in peers, node_id))
    if not sources:
        return Asked(leader=leader, cluster=Unknown(reason=_no_source(servers)), at_s=at_s)
    reasons: list[str] = []
    ended: list[str] = []
    for node_id in sources[:_SOURCES_MOST]:
        try:
            view = await _view(brokers, servers[node_id], leader.value, cluster_id, clock.monotonic())
        except KafkaExpired as error:
            ended.append(str(error))
            continue
        if isinstance(view, Known):
            return Asked(leader=leader, cluster=view, at_s=at_s)
        reasons.append(view.reason)
        if len(reasons) == _SOURCES:
            break
    return Asked(leader=leader, cluster=Unknown(reason="; ".join([*reasons, *ended][:_SOURCES])), at_s=at_s)


def _no_source(servers: dict[NodeID, Endpoint]) -> str:
    if not servers:
        return "no broker runs yet"
    return "no running broker has caught up with the metadata log yet"


async def quorum_answers(brokers: Brokers, controllers: dict[NodeID, Endpoint]) -> dict[NodeID, Knowable[QuorumAnswer]]:
    """Ask every controller; after a leader has answered, the others have `PATIENCE_S` more."""
    return await each(brokers.describe_quorum, controllers)


async def each(
    question: Callable[[Endpoint], Awaitable[T]],
    endpoints: Mapping[NodeID, Endpoint],
    *,
    enough: int = 1,
    patience_s: float = PATIENCE_S,
) -> dict[NodeID, Knowable[T]]:
    """Every answer; after `enough` that are no errors, the others have `patience_s` more."""
    tasks = {node: asyncio.create_task(known(question, at)) for node, at in endpoints.items()}
    pending = set(tasks.values())
    try:
        while pending:
            answered = sum(task.done() and isinstance(task.result(), Known) for task in tasks.values())
            left_s = patience_s if answered >= enough else None
            done, pending = await asyncio.wait(pending, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
    finally:
        for task in tasks.values():
            task.cancel()  # does nothing to those that are done
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    return {node: _said(task) for node, task in tasks.items()}


def _said(task: "asyncio.Task[Knowable[T]]") -> Knowable[T]:
    return Unknown(reason="no answer in time") if task.cancelled() else task.result()


async def known(question: Callable[[Endpoint], Awaitable[T]], endpoint: Endpoint) -> Knowable[T]:
    """The answer, or why there is none."""
    try:
        return Known(value=await question(endpoint))
    except KafkaRefused as error:
        return Unknown(reason="not the leader" if error.name == _NOT_LEADER else str(error))
    except KafkaError as error:
        return Unknown(reason=str(error))


async def _view(
    brokers: Brokers, source: Endpoint, leader: Leader, cluster_id: ClusterID, at_s: float
) -> Knowable[ClusterView]:
    """Every registered broker and partition. A part that is not known makes all of it unknown.

    Raises `KafkaExpired` if the source's certificate has ended.
    """
    try:
        registered, partitions, reassignments = await asyncio.gather(
            brokers.describe_brokers(source),
            brokers.describe_partitions(source),
            brokers.reassignments(leader.endpoint),
        )
        topics = sorted({partition.at.topic for partition in partitions})
        min_isr = await brokers.min_isr(source, topics) if topics else {}
    except KafkaExpired:
        raise
    except KafkaError as error:
        return Unknown(reason=str(error))
    if registered.cluster_id != cluster_id:
        both = f"its cluster id is {registered.cluster_id}, not {cluster_id}"
        return Unknown(reason=f"broker {source} is of another cluster: {both}")
    return Known(
        value=ClusterView(
            source=source.node_id,
            registered=registered.brokers,
            partitions=partitions,
            min_isr=tuple(sorted(min_isr.items())),
            reassignments=reassignments,
            taken_at_s=at_s,
        )
    )


async def _asked(
    question: Callable[[Endpoint], Awaitable[T]], servers: Mapping[NodeID, Endpoint], node_id: NodeID
) -> Knowable[T]:
    """The answer of the broker itself, or why there is none."""
    endpoint = servers.get(node_id)
    return Unknown(reason="it does not run") if endpoint is None else await known(question, endpoint)


async def configs(
    brokers: Brokers, servers: dict[NodeID, Endpoint], wanted: Iterable[NodeID]
) -> tuple[tuple[NodeID, Knowable[tuple[ConfigEntry, ...]]], ...]:
    """The cordons of these brokers, and what was changed while they ran, each asked of the broker itself."""

    async def one(node_id: NodeID) -> Knowable[tuple[ConfigEntry, ...]]:
        answer = await _asked(lambda at: brokers.describe_broker_config(at, node_id), servers, node_id)
        if isinstance(answer, Unknown):
            return answer
        return Known(value=tuple(one for one in answer.value if one.source == CHANGED or one.name in _READ))

    ids = tuple(wanted)
    return tuple(zip(ids, await asyncio.gather(*(one(node_id) for node_id in ids)), strict=True))


async def peers(
    brokers: Brokers, servers: dict[NodeID, Endpoint], wanted: Iterable[Pod]
) -> tuple[tuple[str, Knowable[None]], ...]:
    """Whether these processes answer. One whose certificate has ended refuses every connection, and is not judged."""

    async def ask(at: Endpoint) -> None:
        with contextlib.suppress(KafkaExpired):
            await brokers.api_versions(at)

    pods = tuple(wanted)
    answers = await asyncio.gather(*(_asked(ask, servers, pod.node_id) for pod in pods))
    return tuple(zip((pod.process for pod in pods), answers, strict=True))


async def log_dirs(
    brokers: Brokers, servers: dict[NodeID, Endpoint], wanted: Iterable[NodeID]
) -> tuple[tuple[NodeID, Knowable[tuple[LogDirectory, ...]]], ...]:
    """The log directories of these brokers, each asked of the broker itself."""
    ids = tuple(wanted)
    answers = await asyncio.gather(*(_asked(brokers.describe_log_dirs, servers, node_id) for node_id in ids))
    return tuple(zip(ids, answers, strict=True))
