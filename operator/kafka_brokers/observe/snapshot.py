"""The Kubernetes objects of one pool, listed once and read: what exists, and what of it cannot be understood."""

import asyncio
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from kafka_brokers.api.validation import quorum_of
from kafka_brokers.kind import POOLS
from kafka_brokers.model import names
from kafka_brokers.model.disks import PoolRecord
from kafka_brokers.model.observed import Claim, Pod, Revision, Support, Unreadable
from kafka_brokers.observe.objects import claim_from, owner_uid, pod_from, support_from
from kafka_brokers.observe.readable import parsed
from kafka_brokers.observe.secrets import SecretsSeen, secrets_of
from kafka_brokers.observe.unlisted import unlabelled
from kafka_brokers.resources.meta import foreign_controller
from kafka_brokers.resources.stored import (
    RECORD_ROLE,
    accepted_from,
    accepted_text,
    record_from,
    revision_from,
    stored_text,
)
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.formats import LaterFormat
from kafka_quorum.model.formats import Unreadable as UnreadableError
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.names import CLUSTER_ID, USED_BY, reader
from kafka_quorum.model.pools import pool_tls_name
from kafka_quorum.resources.contract import contract_from
from kit import token
from kit.clock import Clock
from kit.errors import KubeError
from kit.kube.compact import compact
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, PODS, REVISIONS, SERVICES, Json, KubeApi
from kit.kube.secrets import Use, check_use
from kit.kube.unlisted import unlisted
from kit.parsing import Malformed

PODS_MAX: Final = 2_000
"""Of all pools of one quorum: anybody can create pods with such labels."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The Kubernetes objects of one pool, as one round of requests found them. `peers` are brokers of other pools."""

    resource: Json
    contract: Knowable[Contract]
    record: PoolRecord | None
    record_owner_uid: str | None
    record_fault: str
    claims: tuple[Claim, ...]
    pods: tuple[Pod, ...]
    peers: tuple[Pod, ...]
    peers_unreadable: tuple[Unreadable, ...]
    support: tuple[Support, ...]
    revisions: tuple[Revision, ...]
    specs: tuple[tuple[str, Json], ...]
    token: Knowable[token.Token]
    taken_ids: tuple[tuple[NodeID, str], ...]
    draining: Knowable[frozenset[NodeID]]
    unreadable: tuple[Unreadable, ...]
    taken_at_s: float
    rivals: tuple[tuple[str, str], ...] = ()
    """What the services of older pools begin with (`names.service_prefixes`), and the names of these pools."""
    accepted: str = ""
    accepted_spec: Json | None = None
    later: tuple[str, ...] = ()
    secrets: SecretsSeen = field(default_factory=SecretsSeen)
    """What the Secrets have that the contract, or a revision, has for pods."""
    others_tls: Knowable[frozenset[bool]] = field(default_factory=lambda: Known(value=frozenset()))
    """Whether REPLICATION of the other pools of the same cluster has TLS, by their records."""

    @property
    def quorum(self) -> str:
        """The name of the quorum that the spec names."""
        return quorum_of(self.resource)

    @property
    def spec_kept(self) -> bool:
        """Whether the resource's spec is the one that was accepted last, or is too long to be stored."""
        return self.accepted == accepted_text(self.resource.get("spec") or {})


async def snapshot(kube: KubeApi, namespace: str, name: str, clock: Clock) -> Snapshot | None:
    """Everything of a pool, or None if the resource is gone. Raises `KubeError` if a part cannot be read."""
    taken_at_s = clock.monotonic()
    found = await kube.get(POOLS, namespace, name)
    if found is None:
        return None
    resource = compact(found)
    quorum, labels = quorum_of(resource), names.pool_labels(name)
    kinds = (CLAIMS, CONFIG_MAPS, SERVICES, BUDGETS, REVISIONS)
    claims, config_maps, services, budgets, revisions = await asyncio.gather(
        *(kube.list(kind, namespace, labels) for kind in kinds)
    )
    pods, contract, present_token, pools, records = await asyncio.gather(
        kube.list(PODS, namespace, {names.LABEL_OF_QUORUM: quorum} if quorum else labels),
        _contract(kube, namespace, quorum),
        _token(kube, namespace, quorum),
        kube.list(POOLS, namespace, {}),
        kube.list(CONFIG_MAPS, namespace, {names.LABEL_ROLE: RECORD_ROLE}),
    )
    stored = await _stored(kube, namespace, name, config_maps)
    record, fault, later = _record(stored)
    recorded = ([each] for each in _recorded(record) if each is not None)
    claims, (back, bare_pods), more = await asyncio.gather(
        _confirmed(kube, namespace, name, record, claims),
        unlabelled(kube, namespace, name, quorum, record, pods),
        unlisted(kube, REVISIONS, namespace, recorded, revisions),
    )
    if len(pods) > PODS_MAX:
        raise KubeError(f"{len(pods)} pods have labels of quorum {quorum}, at most {PODS_MAX} are looked at")
    told = {one.name for one in bare_pods}
    pods = [item for item in (*pods, *back) if item["metadata"]["name"] not in told]
    own = [item for item in pods if _pool_of(item) == name and _is_pod(item, name)]
    others = [item for item in pods if _pool_of(item) != name and _is_broker(item)]
    of_name = [item for item in (*revisions, *more) if names.is_revision_name(name, item["metadata"]["name"])]
    read = _read(
        own,
        others,
        [item for item in claims if _is_claim(item, name)],
        of_name,
        bare=bare_pods,
        recorded=_recorded(record),
    )
    text = stored_text(stored) if stored is not None else ""
    accepted_spec, later_spec = _accepted(text, name)
    return Snapshot(
        resource=resource,
        contract=contract,
        record=record,
        record_owner_uid=None if stored is None else owner_uid(stored),
        record_fault=fault,
        claims=read.claims,
        pods=read.pods,
        peers=read.peers,
        peers_unreadable=read.peers_unreadable,
        support=support_from((*services, *budgets, *_configs(config_maps, name), *of_name)),
        revisions=tuple(revision for revision, _ in read.revisions),
        specs=tuple((revision.name, spec) for revision, spec in read.revisions),
        token=_of_the_living(present_token, pools),
        taken_ids=_taken_ids(resource, pools, records, contract),
        draining=_of_others(
            name,
            records,
            contract,
            lambda record: {broker.node_id for broker in record.brokers if broker.leaving},
        ),
        rivals=_rivals(resource, pools),
        others_tls=_of_others(name, records, contract, lambda record: {record.replication_tls}),
        unreadable=read.unreadable,
        taken_at_s=taken_at_s,
        accepted=text,
        accepted_spec=accepted_spec,
        later=(*later, *later_spec),
        secrets=await secrets_of(
            kube, namespace, pool_tls_name(quorum, name), contract, (revision for revision, _ in read.revisions)
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The objects of a pool, brokers of other pools, and those that cannot be understood."""

    claims: tuple[Claim, ...]
    pods: tuple[Pod, ...]
    peers: tuple[Pod, ...]
    peers_unreadable: tuple[Unreadable, ...]
    revisions: tuple[tuple[Revision, Json], ...]
    unreadable: tuple[Unreadable, ...]


def _read(
    pods: list[Json],
    others: list[Json],
    claims: list[Json],
    revisions: list[Json],
    *,
    bare: tuple[Unreadable, ...],
    recorded: AbstractSet[str | None],
) -> _Read:
    """Read each object. `others` are pods of other pools, and `bare` are pods without labels.

    A revision from which nothing is made may be of a later operator: it blocks nothing, so it is not unreadable.
    """
    known_pods, bad_pods = parsed("Pod", pods, pod_from)
    peers, bad_peers = parsed("Pod", others, pod_from)
    known_claims, bad_claims = parsed("PersistentVolumeClaim", claims, claim_from)
    readable, bad_revisions = parsed("ControllerRevision", revisions, revision_from)
    in_use = {pod.revision for pod in known_pods} | recorded
    return _Read(
        claims=tuple(sorted(known_claims, key=lambda claim: claim.name)),
        pods=tuple(sorted(known_pods, key=lambda pod: pod.name)),
        peers=peers,
        peers_unreadable=bad_peers,
        revisions=readable,
        unreadable=(*bad_pods, *bare, *bad_claims, *(one for one in bad_revisions if one.name in in_use)),
    )


def _recorded(record: PoolRecord | None) -> set[str | None]:
    """The revisions from which the record makes pods."""
    return set() if record is None else {broker.revision for broker in record.brokers}


def _accepted(text: str, name: str) -> tuple[Json | None, tuple[str, ...]]:
    """The spec that was accepted last, and whether a later version of this operator stored it, as a sentence."""
    try:
        return accepted_from(text, f"ConfigMap {names.record_name(name)}") if text else None, ()
    except LaterFormat as error:
        return None, (str(error),)
    except UnreadableError:
        return None, ()


async def _contract(kube: KubeApi, namespace: str, quorum: str) -> Knowable[Contract]:
    """The quorum's contract. One that cannot be read is Unknown; so is one that does not exist yet."""
    if not quorum:
        return Unknown(reason="spec.quorum names no quorum")
    name = names.contract_name(quorum)
    item = await kube.get(CONFIG_MAPS, namespace, name)
    if item is None:
        return Unknown(reason=f"it has not published ConfigMap {name} yet")
    try:
        contract = contract_from(item)
        await _check_secret(kube, namespace, quorum, contract)
    except (UnreadableError, Malformed, KubeError) as error:
        return Unknown(reason=str(error))
    return Known(value=contract)


async def _check_secret(kube: KubeApi, namespace: str, quorum: str, contract: Contract) -> None:
    """The Secret that brokers beside ZooKeeper mount is meant for this quorum (`Malformed`, `KubeError`).

    A person who may write config maps can write a contract, and name any Secret in it.
    """
    if contract.zookeeper is None or not contract.zookeeper.secret_name:
        return
    use = Use(reader=reader(quorum), where=f"ConfigMap {names.contract_name(quorum)}", annotation=USED_BY)
    await check_use(kube, namespace, contract.zookeeper.secret_name, use)


async def _token(kube: KubeApi, namespace: str, quorum: str) -> Knowable[token.Token]:
    try:
        return Known(value=await token.read(kube, namespace, names.token_name(quorum)))
    except KubeError as error:
        return Unknown(reason=str(error))


def _of_the_living(present: Knowable[token.Token], pools: Iterable[Json]) -> Knowable[token.Token]:
    """The token; free if its holder is a pool that does not exist any more, because nobody else would give it back."""
    if not isinstance(present, Known) or not present.value.holder.startswith("pool/"):
        return present
    holders = {f"pool/{pool['metadata']['name']}" for pool in pools}
    return present if present.value.holder in holders else Known(value=replace(present.value, holder=""))


async def _stored(kube: KubeApi, namespace: str, name: str, config_maps: list[Json]) -> Json | None:
    """The ConfigMap of the record, by its name: a restore may lose its labels."""
    wanted = names.record_name(name)
    listed = next((item for item in config_maps if item["metadata"]["name"] == wanted), None)
    return listed if listed is not None else await kube.get(CONFIG_MAPS, namespace, wanted)


def _record(stored: Json | None) -> tuple[PoolRecord | None, str, tuple[str, ...]]:
    """The record, why it cannot be read, and whether a later version of this operator wrote it."""
    if stored is None:
        return None, "", ()
    if foreign_controller(stored) is not None:
        return None, f"ConfigMap {stored['metadata']['name']}: something else controls it. Remove that reference", ()
    try:
        return record_from(stored), "", ()
    except LaterFormat as error:
        return None, str(error), (str(error),)
    except UnreadableError as error:
        return None, str(error), ()


async def _confirmed(
    kube: KubeApi, namespace: str, name: str, record: PoolRecord | None, claims: list[Json]
) -> list[Json]:
    """Ask by name for each claim of the record that the list lacks: one answer is not enough to give up a volume.

    Without a record, every claim of the namespace is read: a restore may lose labels, and the names are known from it.
    """
    if record is None:
        return await kube.list(CLAIMS, namespace, {})
    recorded = (
        [names.claim_name(name, broker.node_id, disk.index, disk.generation)]
        for broker in record.brokers
        for disk in broker.disks
        if disk.claim_uid is not None or disk.unproven
    )
    return [*claims, *await unlisted(kube, CLAIMS, namespace, recorded, claims)]


def _is_claim(item: Json, pool: str) -> bool:
    parts = names.claim_parts(item["metadata"]["name"])
    return parts is not None and parts[0] == pool and foreign_controller(item) is None


def _pool_of(item: Json) -> object:
    """The pool that an object's label names."""
    return (item["metadata"].get("labels") or {}).get(names.LABEL_POOL)


def _is_broker(item: Json) -> bool:
    """Whether a pod runs a broker, by its label."""
    return bool((item["metadata"].get("labels") or {}).get(names.LABEL_ROLE) == names.BROKER_ROLE)


def _is_pod(item: Json, pool: str) -> bool:
    """Whether a pod has the name that its role and node id make, and is not controlled by something else."""
    metadata = item["metadata"]
    node_id = str((metadata.get("labels") or {}).get(names.LABEL_NODE, ""))
    begins = f"{pool}-{node_id}-broker"
    named = metadata["name"] == begins or metadata["name"].startswith(f"{begins}-format-")
    return node_id.isdigit() and named and foreign_controller(item) is None


def _configs(config_maps: list[Json], pool: str) -> list[Json]:
    begins = f"{pool}-broker-config-"
    return [item for item in config_maps if item["metadata"]["name"].startswith(begins)]


def _taken_ids(
    resource: Json, pools: Iterable[Json], records: Iterable[Json], contract: Knowable[Contract]
) -> tuple[tuple[NodeID, str], ...]:
    """Node ids that other pools of this quorum have, by their records, or that an older one asks for.

    The record of a pool that was deleted and keeps its volumes counts too: its brokers may still be registered.
    """
    found: dict[NodeID, str] = {}
    mine, name = _age(resource), resource["metadata"]["name"]
    cluster_id = contract.value.cluster_id if isinstance(contract, Known) else ""
    for item in records:
        other, record = _pool_of(item), _record(item)[0]
        if record is not None and record.cluster_id == cluster_id and isinstance(other, str) and other != name:
            found |= dict.fromkeys(record.node_ids, other)
    for pool in pools:
        if pool["metadata"]["uid"] == resource["metadata"]["uid"] or quorum_of(pool) != quorum_of(resource):
            continue
        if _age(pool) < mine:
            ids = _asked(pool.get("spec") or {})
            found |= {NodeID(node_id): pool["metadata"]["name"] for node_id in ids if type(node_id) is int}
    return tuple(sorted(found.items()))


def _rivals(resource: Json, pools: Iterable[Json]) -> tuple[tuple[str, str], ...]:
    """Of every older pool of the namespace, whatever its quorum: a name belongs to the pool that was first."""
    found: dict[str, str] = {}
    for pool in pools:
        name, listeners = str(pool["metadata"]["name"]), (pool.get("spec") or {}).get("listeners")
        if name == resource["metadata"]["name"] or _age(pool) > _age(resource):
            continue
        rows = [one for one in listeners if isinstance(one, dict)] if isinstance(listeners, list) else []
        external = [str(one.get("name", "")) for one in rows if one.get("external") not in (None, "None")]
        found |= dict.fromkeys(names.service_prefixes(name, external), name)
    return tuple(sorted(found.items()))


def _of_others(
    name: str, records: Iterable[Json], contract: Knowable[Contract], found_in: Callable[[PoolRecord], set[T]]
) -> Knowable[frozenset[T]]:
    """What the records of other pools have. One that cannot be read may have some, if it is of this cluster."""
    cluster_id = contract.value.cluster_id if isinstance(contract, Known) else ""
    found: set[T] = set()
    for item in records:
        record, fault, _ = _record(item)
        metadata = item["metadata"]
        if _pool_of(item) == name:
            continue
        if record is None and (metadata.get("annotations") or {}).get(CLUSTER_ID) in (None, cluster_id):
            return Unknown(reason=f"the record of another pool cannot be read: {fault}")
        if record is not None and record.cluster_id == cluster_id:
            found |= found_in(record)
    return Known(value=frozenset(found))


def _age(resource: Json) -> tuple[str, str]:
    return str(resource["metadata"].get("creationTimestamp", "")), str(resource["metadata"]["name"])


def _asked(spec: Json) -> list[object]:
    """The node ids that a spec asks for if none of them is taken."""
    listed = spec.get("nodeIDs")
    if isinstance(listed, list) and listed:
        return list(listed)
    first, count = spec.get("firstNodeID", 0), spec.get("replicas", 3)
    return list(range(first, first + min(count, PODS_MAX))) if type(first) is int and type(count) is int else []
