"""Ask the API server and the controllers, and combine the answers.

Kubernetes objects are one `Snapshot`. It may be used again for a look at the quorum while no watch has reported an
event. Before an act, the objects are always listed again. A failed list raises, and ends the pass: unknown is not empty
(rule 8).
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from kafka_quorum.errors import KafkaError, KafkaRefused
from kafka_quorum.model.believed import believed
from kafka_quorum.model.generations import made_for
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import Material
from kafka_quorum.model.memory import Memory, StepCheck
from kafka_quorum.model.migration import MigrationKind
from kafka_quorum.model.names import token_holder, token_name
from kafka_quorum.model.observed import Claim, KubeNode, Observed, QuorumView
from kafka_quorum.model.operation import VoterRemoval
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.quorum import (
    ClusterAnswer,
    Endpoint,
    FeatureStep,
    NodeVersions,
    QuorumAnswer,
    UpdateFeature,
)
from kafka_quorum.model.situation import Situation
from kafka_quorum.observe import quorum
from kafka_quorum.observe.access import Access
from kafka_quorum.observe.instances import fetch_timeouts, instances_of
from kafka_quorum.observe.objects import kube_node_from, status_from, voter_operation
from kafka_quorum.observe.recovery import watermarked
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.resources.volumes import ANYWHERE, place_of
from kafka_quorum.wire.protocol import Controllers
from kit.clock import Clock
from kit.errors import KubeError
from kit.kube.protocol import NODES, VOLUMES, KubeApi
from kit.token import Token, read

T = TypeVar("T")
_NOT_LEADER = "NOT_LEADER_OR_FOLLOWER"
_NO_VERDICT: Final = frozenset(
    {"NETWORK_EXCEPTION", "NOT_CONTROLLER", "REQUEST_TIMED_OUT", "UNKNOWN_SERVER_ERROR", "UNSUPPORTED_VERSION"}
)
"""Answers to a validated step that contain no verdict on the step."""
_BEFORE_WORDS: Final = "The update failed for all features since the following feature had an error: "
"""What precedes Kafka's words about the one step in the request."""
_CHECK_TIMEOUT_MS: Final = 2_000
_NOT_ASKED: Final = Unknown(reason="the leader was not asked")
_FOLLOWS: Final = Unknown(reason="not the leader")
_NOT_READ: Final = Unknown(reason="it was not read")
LATE_S: Final = 90.0
"""When a write that got no answer has failed for good: an API server works on a request for at most a minute."""
_SLOW_S: Final = 0.5
"""A pod on a dead node delays a look by seconds. The leader's answer is old by then, and is requested again."""
_PATIENCE_S: Final = 1.0
"""How long the other controllers may take after a leader has answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The controllers' answers, judged."""

    quorum: Knowable[QuorumView]
    versions: tuple[tuple[NodeID, Knowable[NodeVersions]], ...]
    memory: Memory
    not_leading: frozenset[NodeID] = frozenset()
    registered: Knowable[tuple[NodeID, ...]] = _NOT_ASKED
    leader: Endpoint | None = None
    """Where further questions of this look go."""
    taken_at_s: float
    """When the leader was asked, or without a leader when the last answer came: monotonic, of the operator's clock."""


async def look(
    controllers: Controllers,
    taken: Snapshot,
    memory: Memory,
    *,
    access: Access,
    clock: Clock,
) -> Look:
    """Ask every controller that may run about the quorum, and judge the answers."""
    taken_at_s = clock.monotonic()
    places = {pod.node_id: at for pod in taken.pods if (at := _endpoint(taken, pod, access)) is not None}
    endpoints = {node_id: at.value for node_id, at in places.items() if isinstance(at, Known)}
    answers, versions = await _ask(endpoints, controllers)
    for node_id, at in places.items():
        if isinstance(at, Unknown):
            answers[node_id], versions[node_id] = at, at
    timeouts = fetch_timeouts(taken.pods, taken.revisions)
    chosen = quorum.leader_of(answers, timeouts)
    if isinstance(chosen, Known) and clock.monotonic() - taken_at_s > _SLOW_S:
        taken_at_s = clock.monotonic()
        leader = endpoints[chosen.value.leader_id]
        answers[leader.node_id] = await _answer(leader, controllers.describe_quorum)
        chosen = quorum.leader_of(answers, timeouts)
    not_leading = _not_leading(answers) if isinstance(chosen, Unknown) else frozenset()
    registered: Knowable[tuple[NodeID, ...]] = _NOT_ASKED
    if isinstance(chosen, Known) and taken.record is not None:
        cluster = await _same_cluster(controllers, endpoints, chosen.value, taken.record)
        chosen = cluster if isinstance(cluster, Unknown) else chosen
        registered = cluster if isinstance(cluster, Unknown) else Known(value=cluster.value.controller_ids)
    listed = tuple(sorted(versions.items()))
    if isinstance(chosen, Unknown):
        forgetful = quorum.without_answer(memory)
        return Look(
            quorum=chosen, versions=listed, memory=forgetful, not_leading=not_leading, taken_at_s=clock.monotonic()
        )
    own = {node.node_id: node.key for node in taken.record.nodes} if taken.record else {}
    view, remembered = quorum.view(
        quorum.keyed(chosen.value, own),
        memory,
        live_within_ms=timeouts.of(chosen.value.leader_id).most_ms,
        taken_at_s=taken_at_s,
        settles_s=quorum.settles_after_s(timeouts),
        asked=_asked(taken),
        static=quorum.is_static(chosen.value),
        instances=instances_of(taken.pods, taken.record),
    )
    return Look(
        quorum=Known(value=view),
        versions=listed,
        memory=replace(quorum.standing(remembered, _stopped(taken)), watermark=watermarked(memory, chosen.value)),
        registered=registered,
        leader=endpoints.get(chosen.value.leader_id),
        taken_at_s=taken_at_s,
    )


def _asked(taken: Snapshot) -> ReplicaKey | None:
    """The replica that an open operation makes a voter: the request may have been sent."""
    operation = voter_operation(taken.resource)
    return None if operation is None or isinstance(operation.change, VoterRemoval) else operation.target


def _stopped(taken: Snapshot) -> set[NodeID]:
    """Our controllers without a running pod, or only with one that is being deleted."""
    nodes = taken.record.node_ids if taken.record else ()
    running = {pod.node_id for pod in taken.pods if pod.serves}
    return set(nodes) - running


async def checks(
    controllers: Controllers, leader: Endpoint | None, steps: tuple[FeatureStep, ...]
) -> tuple[tuple[FeatureStep, Knowable[StepCheck]], ...]:
    """Ask the leader to validate these steps, one after the other: this changes nothing.

    If a step gets no answer, the steps after it are not asked: the look would be old.
    """
    answers: list[tuple[FeatureStep, Knowable[StepCheck]]] = []
    if leader is None:
        return ()
    for step in steps:
        answer = await _check(controllers, leader, step)
        answers.append((step, answer))
        if isinstance(answer, Unknown):
            break
    return tuple(answers)


async def _check(controllers: Controllers, leader: Endpoint, step: FeatureStep) -> Knowable[StepCheck]:
    request = UpdateFeature(step=step, validate_only=True, timeout_ms=_CHECK_TIMEOUT_MS)
    try:
        await controllers.update_feature(leader, request)
    except KafkaRefused as error:
        if error.name in _NO_VERDICT:
            return Unknown(reason=str(error))
        words = error.server_message.removeprefix(_BEFORE_WORDS)
        return Known(value=StepCheck(allowed=False, words=words or error.name))
    except KafkaError as error:
        return Unknown(reason=str(error))
    return Known(value=StepCheck(allowed=True, words=""))


def _endpoint(taken: Snapshot, pod: Pod, access: Access) -> Knowable[Endpoint] | None:
    """Where a controller is asked, and how; None for a pod that cannot answer."""
    if pod.role is not PodRole.KAFKA or not pod.ip or not pod.running:
        return None
    revision = next((revision for revision in taken.revisions if revision.name == pod.revision), None)
    return access.endpoint(pod, revision.runtime.listener if revision else access.listener)


async def _ask(
    endpoints: Mapping[NodeID, Endpoint], controllers: Controllers
) -> tuple[dict[NodeID, Knowable[QuorumAnswer]], dict[NodeID, Knowable[NodeVersions]]]:
    """Ask every controller about the quorum, and for the levels that it supports.

    After a leader has answered, the others have `_PATIENCE_S` more: a frozen controller must not make the look old.
    """
    answers = {node: asyncio.create_task(_answer(at, controllers.describe_quorum)) for node, at in endpoints.items()}
    versions = {node: asyncio.create_task(_answer(at, controllers.api_versions)) for node, at in endpoints.items()}
    asked: set[asyncio.Task[Any]] = {*answers.values(), *versions.values()}
    pending = set(asked)
    try:
        while pending:
            led = any(task.done() and isinstance(task.result(), Known) for task in answers.values())
            patience_s = _PATIENCE_S if led else None
            done, pending = await asyncio.wait(pending, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
    finally:
        for task in asked:
            task.cancel()  # does nothing to those that are done
        await asyncio.gather(*asked, return_exceptions=True)
    return {node: _said(task) for node, task in answers.items()}, {node: _said(task) for node, task in versions.items()}


def _said(task: "asyncio.Task[Knowable[T]]") -> Knowable[T]:
    if task.cancelled():
        return Unknown(reason=f"no answer within {_PATIENCE_S:g} s after the leader answered")
    return task.result()


async def _answer(endpoint: Endpoint, question: Callable[[Endpoint], Awaitable[T]]) -> Knowable[T]:
    try:
        return Known(value=await question(endpoint))
    except KafkaRefused as error:
        # Every controller but one answers this all the time: two words are enough, because people read the status.
        return _FOLLOWS if error.name == _NOT_LEADER else Unknown(reason=str(error))
    except KafkaError as error:
        return Unknown(reason=str(error))


def _not_leading(answers: Mapping[NodeID, Knowable[QuorumAnswer]]) -> frozenset[NodeID]:
    """The controllers that answered, if no answer was a leader's with a live majority."""
    return frozenset(node for node, answer in answers.items() if isinstance(answer, Known) or answer == _FOLLOWS)


async def _same_cluster(
    controllers: Controllers, endpoints: Mapping[NodeID, Endpoint], chosen: QuorumAnswer, record: IdentityRecord
) -> Knowable[ClusterAnswer]:
    """Compare the cluster id, because an address may belong to a controller of another quorum by now."""
    leader = endpoints.get(chosen.leader_id)
    if leader is None:
        return Unknown(reason=f"controller {chosen.leader_id} leads, and has no running pod of this resource")
    try:
        cluster = await controllers.describe_cluster(leader)
    except KafkaError as error:
        return Unknown(reason=str(error))
    if cluster.cluster_id != record.cluster_id:
        both = f"its cluster id is {cluster.cluster_id}, not {record.cluster_id}"
        return Unknown(reason=f"controller {leader} is of another cluster: {both}")
    return Known(value=cluster)


async def kube_nodes(kube: KubeApi, names_: tuple[str, ...]) -> tuple[tuple[str, Knowable[KubeNode]], ...]:
    """Ask for these nodes of Kubernetes. One that cannot be read is Unknown; one that does not exist is not ready."""

    async def one(name: str) -> Knowable[KubeNode]:
        try:
            item = await kube.get(NODES, "", name)
        except KubeError as error:
            return Unknown(reason=str(error))
        found = KubeNode(name=name, exists=False, ready=False) if item is None else kube_node_from(item)
        return Known(value=found)

    answers = await asyncio.gather(*(one(name) for name in names_))
    return tuple(zip(names_, answers, strict=True))


async def placed(kube: KubeApi, claims: tuple[Claim, ...], wanted: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """The same claims; those that are `wanted` get the only node that can reach their volume.

    It stays empty for a volume that cannot be read. It also stays empty if only a host name is known, and no node is
    found by it: an unknown place of a disk never counts as its loss.
    """

    async def one(claim: Claim) -> Claim:
        try:
            volume = await kube.get(VOLUMES, "", claim.volume)
            place = ANYWHERE if volume is None else place_of(volume, claim.selected_node)
            known = place.certain or await kube.get(NODES, "", place.node) is not None
        except KubeError:
            return claim
        return replace(claim, bound_to=place.node if known else "")

    asked = {claim.uid for claim in wanted}
    found = await asyncio.gather(*(one(claim) for claim in claims if claim.uid in asked))
    return tuple({claim.uid: claim for claim in (*claims, *found)}.values())


async def token(kube: KubeApi, situation: Situation | None, due_s: float) -> tuple[Knowable[Token], float]:
    """The disruption token, if it may be needed or given back in this look: it costs a request.

    And when it is to be read once more (monotonic), which was `due_s` until now. A request to take it, of an operator
    that has ended or of this one, may have its effect when nothing is to be stopped any more: then nobody would give
    the token back.
    """
    if situation is None:
        return _NOT_READ, due_s
    desired, now_s, concerns = situation.desired, situation.observed.looked_at_s, _concerns_token(situation)
    if not concerns and now_s < due_s:
        return _NOT_READ, due_s
    try:
        found = Known(value=await read(kube, desired.namespace, token_name(desired.name)))
    except KubeError as error:
        return Unknown(reason=str(error)), due_s
    return found, now_s + LATE_S if concerns else math.inf


def _concerns_token(situation: Situation) -> bool:
    """Whether something is about to be stopped, this quorum had the token, or it is unknown who has it.

    A roll back to ZooKeeper stops every controller, for which no pool may have it. A disk that a person gives up may be
    that of a controller that serves.
    """
    status, holder = situation.observed.status, situation.observed.memory.holder
    if situation.record.phase is not BootstrapPhase.STARTED:
        return False
    held = holder is None or holder == token_holder(situation.desired.name)
    leaves = set(situation.record.node_ids) - set(situation.wanted)
    reached = situation.record.migration
    ends = reached is not None and reached.kind is MigrationKind.BACK_TO_ZOOKEEPER
    given_up = any(node.key == situation.desired.give_up for node in situation.record.nodes)
    stops = ends or given_up or bool(situation.older) or bool(leaves)
    return held or stops or status.operation is not None


def observed(taken: Snapshot, looked: Look, material: Material | None = None) -> Observed:
    """One look at everything but the nodes of Kubernetes."""
    made = 0 if taken.record is None else made_for(taken.revisions, taken.record)
    return Observed(
        record=taken.record,
        record_owner_uid=taken.record_owner_uid,
        record_fault=taken.record_fault,
        status=status_from(taken.resource),
        claims=taken.claims,
        pods=taken.pods,
        support=taken.support,
        revisions=taken.revisions,
        strangers=taken.strangers,
        quorum=looked.quorum,
        versions=looked.versions,
        memory=looked.memory,
        not_leading=looked.not_leading,
        registered=looked.registered,
        taken_at_s=looked.taken_at_s,
        unreadable=taken.unreadable,
        later=taken.later,
        spec_kept=taken.spec_kept,
        workers=taken.workers,
        copies=taken.copies,
        contract=taken.contract,
        material=None if material is None else believed(material, taken.resource["metadata"]["name"], made),
    )
