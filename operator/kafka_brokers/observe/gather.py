"""Combine the Kubernetes objects of a pool and Kafka's answers into one `Observed`."""

import asyncio
from dataclasses import replace
from typing import Final

from kafka_brokers.model.names import ACCEPT_LOSS, pool_of
from kafka_brokers.model.observed import Claim, KubeNode, Memory, Observed, Pod
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.observe import kafka, metadata
from kafka_brokers.observe.access import access_to, access_to_brokers
from kafka_brokers.observe.memory import remembered
from kafka_brokers.observe.objects import kube_node_from
from kafka_brokers.observe.peers import peers_ended
from kafka_brokers.observe.snapshot import Snapshot
from kafka_brokers.plan.facts import ended, endpoint_at, target_name
from kafka_brokers.plan.leaving import is_cordoned
from kafka_brokers.plan.settings import changes_of
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT, Security
from kafka_quorum.resources.volumes import ANYWHERE, place_of
from kafka_quorum.wire.brokers import Brokers
from kit.clock import Clock
from kit.errors import KubeError
from kit.kube.protocol import NODES, VOLUMES, KubeApi

CONFIGS_S: Final = 30.0
"""How long the settings of running brokers are remembered: a broker's answer has some three hundred of them."""


async def observe(
    kube: KubeApi, brokers: Brokers, clock: Clock, taken: Snapshot, desired: PoolDesired, memory: Memory
) -> Observed:
    """One look at everything that concerns a pool."""
    looked_at_s = clock.monotonic()
    seen = _of_kubernetes(taken, memory, looked_at_s)
    if isinstance(taken.contract, Known):
        access = await access_to(kube, desired.namespace, desired.quorum, taken.contract.value)
        to_brokers = await _to_brokers(kube, taken, desired)
        servers: dict[NodeID, Endpoint] = {}
        if isinstance(access, Unknown):
            asked = kafka.Asked(leader=access, cluster=access, at_s=looked_at_s)
        elif isinstance(to_brokers, Unknown):
            asked = kafka.Asked(leader=to_brokers, cluster=to_brokers, at_s=looked_at_s)
        else:
            seen = replace(seen, security=to_brokers.value)
            servers = _servers(taken, desired.namespace, to_brokers.value)
            controllers = kafka.controllers_of(taken.contract.value, access.value)
            last = ended(desired, seen, clock.now().timestamp())
            asked = await _ask(brokers, controllers, servers, taken, taken.contract.value, clock, last)
        seen = replace(seen, leader=asked.leader, cluster=asked.cluster, looked_at_s=asked.at_s)
        seen = await _peers(kube, seen, desired, clock.now().timestamp())
        seen = await _details(brokers, servers, seen, desired, clock.monotonic())
    seen = await _places(kube, seen, desired)
    return replace(seen, memory=remembered(seen, memory, clock.monotonic()))


async def _ask(
    brokers: Brokers,
    controllers: dict[NodeID, Endpoint],
    servers: dict[NodeID, Endpoint],
    taken: Snapshot,
    contract: Contract,
    clock: Clock,
    last: frozenset[NodeID],
) -> kafka.Asked:
    """Kafka's answers: of one broker, or with brokers of 3.9 those of all of them."""
    present = {pod.revision for pod in taken.pods}
    if metadata.is_needed(contract, (one for one in taken.revisions if one.name in present)):
        led = metadata.does_zookeeper_lead(contract)
        return await metadata.ask(brokers, controllers, servers, contract.cluster_id, clock, zookeeper_leads=led)
    peers = frozenset(pod.node_id for pod in taken.peers)
    return await kafka.ask(brokers, controllers, servers, contract.cluster_id, clock, last, peers)


def unasked(taken: Snapshot) -> Observed:
    """What the Kubernetes objects alone show: nobody was asked anything."""
    return _of_kubernetes(taken, Memory(), taken.taken_at_s)


def _of_kubernetes(taken: Snapshot, memory: Memory, looked_at_s: float) -> Observed:
    return Observed(
        contract=taken.contract,
        record=taken.record,
        record_owner_uid=taken.record_owner_uid,
        record_fault=taken.record_fault,
        claims=taken.claims,
        pods=taken.pods,
        support=taken.support,
        revisions=taken.revisions,
        token=taken.token,
        taken_ids=taken.taken_ids,
        others_tls=taken.others_tls,
        draining=taken.draining,
        peers=taken.peers,
        peers_unreadable=taken.peers_unreadable,
        memory=memory,
        unreadable=taken.unreadable,
        later=taken.later,
        secrets=taken.secrets.keys,
        certified=taken.secrets.certified,
        certificate_ends=taken.secrets.ends,
        accept_loss=accepted_losses(taken),
        spec_kept=taken.spec_kept,
        looked_at_s=looked_at_s,
        pool=taken.resource["metadata"]["name"],
        uid=taken.resource["metadata"]["uid"],
    )


def accepted_losses(taken: Snapshot) -> frozenset[str]:
    """What the annotation names by which a person accepts a loss, separated by commas."""
    text = (taken.resource["metadata"].get("annotations") or {}).get(ACCEPT_LOSS)
    return frozenset(filter(None, map(str.strip, text.split(",")))) if isinstance(text, str) else frozenset()


async def _to_brokers(kube: KubeApi, taken: Snapshot, desired: PoolDesired) -> Knowable[Security]:
    """How brokers are asked whose REPLICATION has TLS; without such a one no Secret is read."""
    if not any(pod.replication_tls for pod in (*taken.peers, *taken.pods)):
        return Known(value=PLAINTEXT)
    return await access_to_brokers(kube, desired.namespace, desired.quorum)


async def _peers(kube: KubeApi, seen: Observed, desired: PoolDesired, now_s: float) -> Observed:
    """Other pools' brokers whose certificates have ended, where one of ours may wait for their start, or they for its.

    That is so if one of ours was stopped, or its certificate has ended.
    """
    stopped = seen.record is not None and any(broker.stopped for broker in seen.record.brokers)
    if not stopped and not ended(desired, seen, now_s):
        return seen
    return replace(seen, peers_ended=await peers_ended(kube, desired.namespace, desired.quorum, seen, now_s))


def _servers(taken: Snapshot, namespace: str, security: Security) -> dict[NodeID, Endpoint]:
    """The brokers that can be asked: those of this pool, and those of the other pools of the same quorum."""
    pods = (pod for pod in (*taken.peers, *taken.pods) if pod.serves and pod.ip)
    return {pod.node_id: endpoint_at(namespace, pool_of(pod.name, pod.node_id), pod, security) for pod in pods}


async def _details(
    brokers: Brokers, servers: dict[NodeID, Endpoint], seen: Observed, desired: PoolDesired, now_s: float
) -> Observed:
    """The changed settings of every broker of the pool, and the log directories of those that leave.

    And whether the brokers of the other pools answer: the metadata show one that has ended for as long as its session.
    """
    record = seen.record
    if record is None or isinstance(seen.cluster, Unknown):
        return seen
    unfenced = [one.node_id for one in record.brokers if seen.fenced(one.node_id) is False]
    gone = [one.node_id for one in record.brokers if one.leaving and one.ran and _has_no_partition(seen, one.node_id)]
    log_dirs = await kafka.log_dirs(brokers, servers, gone)
    busy = any(one.leaving or one.stopped for one in record.brokers) or _is_outdated(seen, desired)
    memory, processes = seen.memory, tuple(pod.process for pod in seen.pods if pod.serves)
    peers = [pod for pod in seen.peers if pod.serves and seen.fenced(pod.node_id) is False]
    busy = busy or memory.processes != processes
    if busy or not _still_true(memory, desired, unfenced, peers, now_s):
        configs, answers = await asyncio.gather(
            kafka.configs(brokers, servers, unfenced), kafka.peers(brokers, servers, peers)
        )
        memory = replace(memory, configs=configs, configs_s=now_s, processes=processes, peers=answers)
    return replace(seen, configs=memory.configs, log_dirs=log_dirs, memory=memory)


def _is_outdated(seen: Observed, desired: PoolDesired) -> bool:
    """Whether a broker may be stopped next: then each one must answer in this very look."""
    target = target_name(desired)
    return any(not pod.formats and pod.revision != target for pod in seen.pods)


def _still_true(memory: Memory, desired: PoolDesired, unfenced: list[NodeID], peers: list[Pod], now_s: float) -> bool:
    """Whether the settings were read a moment ago, of these brokers, and nothing is to be changed in them.

    And whether just these processes of other pools were asked, and answered.

    What was read is not used for a change: then it is read again first.
    """
    if now_s - memory.configs_s > CONFIGS_S or [node_id for node_id, _ in memory.configs] != unfenced:
        return False
    answered = [process for process, answer in memory.peers if isinstance(answer, Known)]
    if answered != [pod.process for pod in peers]:
        return False
    return all(
        isinstance(entries, Known) and not changes_of(desired, entries.value) and not is_cordoned(entries.value)
        for _, entries in memory.configs
    )


def _has_no_partition(seen: Observed, node_id: NodeID) -> bool:
    return isinstance(seen.cluster, Known) and node_id not in seen.cluster.value.by_broker


async def _places(kube: KubeApi, seen: Observed, desired: PoolDesired) -> Observed:
    """The Kubernetes nodes that decide something: racks of new pods, and those of brokers that do not serve."""
    record = seen.record
    if record is None:
        return seen
    suspects = [one.node_id for one in record.brokers if not one.ran or seen.fenced(one.node_id) is not False]
    claims = await _placed(kube, seen.claims, frozenset(suspects))
    seen = replace(seen, claims=claims)
    target = target_name(desired)
    wanted = {claim.bound_to for claim in claims if claim.bound_to and claim.node_id in suspects}
    for pod in seen.pods:
        outdated = not pod.formats and pod.revision != target  # it may be stopped next, if its node takes it again
        if pod.node_name and (outdated or pod.node_id in suspects or (desired.runtime.rack_key and pod.needs_late)):
            wanted.add(pod.node_name)
    names = sorted(wanted)
    answers = await asyncio.gather(*(_node(kube, name) for name in names))
    return replace(seen, kube_nodes=tuple(zip(names, answers, strict=True)))


async def _node(kube: KubeApi, name: str) -> Knowable[KubeNode]:
    try:
        item = await kube.get(NODES, "", name)
    except KubeError as error:
        return Unknown(reason=str(error))
    return Known(value=KubeNode(name=name, ready=False) if item is None else kube_node_from(item))


async def _placed(kube: KubeApi, claims: tuple[Claim, ...], suspects: frozenset[NodeID]) -> tuple[Claim, ...]:
    """The claims; those of suspects get the only Kubernetes node that can reach their volume, if that is certain."""

    async def one(claim: Claim) -> Claim:
        if claim.node_id not in suspects or not claim.volume:
            return claim
        try:
            volume = await kube.get(VOLUMES, "", claim.volume)
            place = ANYWHERE if volume is None else place_of(volume, claim.selected_node)
            known = place.certain or await kube.get(NODES, "", place.node) is not None
        except KubeError:
            return claim
        return replace(claim, bound_to=place.node if known else "")

    return tuple(await asyncio.gather(*(one(claim) for claim in claims)))
