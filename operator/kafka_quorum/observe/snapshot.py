"""The Kubernetes objects of one quorum, listed once and read: what exists, and what of it cannot be understood."""

import asyncio
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from itertools import filterfalse
from typing import Final

from kafka_quorum.api.scaling import autoscaler_of
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model import formats, names
from kafka_quorum.model.contract import StoredContract
from kafka_quorum.model.disk_work import DiskCopy, Worker
from kafka_quorum.model.formats import LaterFormat, Unreadable
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.ids import Member
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.observed import Claim, Revision, Stranger, SupportObject
from kafka_quorum.model.observed import Unreadable as UnreadableObject
from kafka_quorum.model.pods import Pod
from kafka_quorum.observe.belonging import CONFIG_ROLE, Own, is_claim, is_config, is_on_disk, is_pod, is_revision
from kafka_quorum.observe.objects import claim_from, owner_uid, pod_from, support_from
from kafka_quorum.observe.readable import parsed, unreadable_from
from kafka_quorum.observe.recovery import copy_from, is_copy, is_worker, worker_from
from kafka_quorum.observe.unlisted import unlabelled
from kafka_quorum.resources.contract import stored_contract
from kafka_quorum.resources.meta import foreign_controller
from kafka_quorum.resources.podstatus import object_of
from kafka_quorum.resources.stored import accepted_from, accepted_text, record_from, revision_from, stored_text
from kit.clock import Clock
from kit.errors import KubeError
from kit.kube.compact import compact, once
from kit.kube.inventory import digest_of, together
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, PODS, REVISIONS, SERVICES, Json, KubeApi
from kit.kube.unlisted import divided, unlisted

KINDS: Final = (PODS, CLAIMS, CONFIG_MAPS, SERVICES, BUDGETS, REVISIONS)
"""What is listed of a quorum, by its label."""
PODS_MAX: Final = 200
"""Of one quorum. It has one or two for each controller; anybody can create pods with such names and labels."""
_NO_CONTRACT: Final[Known[StoredContract | None]] = Known(value=None)
_CONTROLLED: Final = "its ownerReferences list a controller that is not a KafkaQuorum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The Kubernetes objects of one quorum, as one round of requests found them. `specs` are the revisions' own."""

    resource: Json
    record: IdentityRecord | None
    record_owner_uid: str | None
    record_fault: str
    claims: tuple[Claim, ...]
    pods: tuple[Pod, ...]
    support: tuple[SupportObject, ...]
    revisions: tuple[Revision, ...]
    strangers: tuple[Stranger, ...]
    specs: tuple[tuple[str, Json], ...]
    taken_at_s: float
    unreadable: tuple[UnreadableObject, ...] = ()
    workers: tuple[Worker, ...] = ()
    copies: tuple[DiskCopy, ...] = ()
    contract: Knowable[StoredContract | None] = _NO_CONTRACT
    """The broker contract, and whether it is there at all."""
    autoscaler: str = ""
    """What says that an autoscaler sets the number of replicas; empty if none does."""
    accepted: str = ""
    """The last accepted spec as it is stored; empty if none is."""
    accepted_spec: Json | None = None
    """The same, parsed; None if none is stored, or if it cannot be read."""
    accepted_fault: str = ""
    """Why the stored spec cannot be read; empty if it can, or if none is stored."""
    later: tuple[str, ...] = ()
    """The parts of the status and the accepted spec that a later version of this operator wrote, a sentence each."""
    reading: object = field(default_factory=object, compare=False, repr=False)
    """The round of requests that found these objects: the same as long as they are remembered."""
    parts: bytes | None = None
    """Tells this state of all listed objects from any other (`kit.kube.inventory`); None if one was asked by name."""

    @property
    def spec_kept(self) -> bool:
        """Whether the resource's spec is the one that was accepted last, or is too long to be stored."""
        return self.accepted == accepted_text(self.resource.get("spec") or {})

    def spec_of(self, revision: str | None) -> Json | None:
        """The valid spec that a revision came from."""
        return dict(self.specs).get(revision or "")


async def snapshot(kube: KubeApi, namespace: str, name: str, clock: Clock) -> Snapshot | None:
    """Everything of a quorum, or None if the resource is gone. Raises `KubeError` if a part cannot be read."""
    taken_at_s = clock.monotonic()
    labels = names.quorum_labels(name)
    found = await kube.get(QUORUMS, namespace, name)
    if found is None:
        return None
    resource = compact(found)
    listed = await asyncio.gather(*(kube.list(kind, namespace, labels) for kind in KINDS))
    parts = together(
        digest_of(kind, each["metadata"]) for kind, items in zip(KINDS, listed, strict=True) for each in items
    )
    pods, claims, config_maps, services, budgets, revisions = listed
    workers, pods = divided(pods, lambda item: is_worker(item, name))
    copies, claims = divided(claims, lambda item: is_copy(item, name))
    stored = next((item for item in config_maps if item["metadata"]["name"] == names.record_name(name)), None)
    if stored is None:
        stored = await kube.get(CONFIG_MAPS, namespace, names.record_name(name))
    record, fault = _record(stored)
    accepted = _accepted(stored)
    published, later = await _contract(kube, namespace, name, config_maps)
    complete = _lists_all(name, record, claims, config_maps)
    recorded = ([each] for each in _recorded_revisions(record) if each is not None)
    claims, (back, bare), more = await asyncio.gather(
        _confirmed(kube, namespace, name, record, claims),
        unlabelled(kube, namespace, name, record, pods),
        unlisted(kube, REVISIONS, namespace, recorded, revisions),
    )
    pods = [*pods, *back]
    configs = [item for item in config_maps if item["metadata"]["labels"].get(names.LABEL_ROLE) == CONFIG_ROLE]
    own = Own(
        claims=[item for item in claims if is_claim(item, name)],
        pods=[item for item in pods if is_pod(item, name)],
        configs=[item for item in configs if is_config(item, name)],
        revisions=[item for item in (*revisions, *more) if is_revision(item, name)],
    )
    _check_count(name, own.pods)
    told = {one.name for one in bare}
    known = {*told, *(item["metadata"]["name"] for item in (*listed[0], *back))}
    others = await _on_disks(kube, namespace, name, record, known)
    taken = _taken(name, record, claims)
    read = _read(own, workers, copies, bare=bare, taken=taken, recorded=_recorded_revisions(record))
    specs = _specs(resource, read.revisions)
    return Snapshot(
        resource=resource,
        autoscaler=autoscaler_of(found["metadata"]),
        record=record,
        record_owner_uid=owner_uid(stored) if stored else None,
        record_fault=fault,
        claims=read.claims,
        pods=read.pods,
        support=support_from((*services, *budgets, *own.configs, *filterfalse(foreign_controller, own.revisions))),
        strangers=own.without(
            (
                *(item for item in pods if item["metadata"]["name"] not in told),
                *(item for item in claims if item not in taken),
                *(*configs, *revisions, *others),
            ),
            name,
        ),
        revisions=tuple(revision for revision, _ in read.revisions),
        specs=specs,
        taken_at_s=taken_at_s,
        unreadable=read.unreadable,
        accepted=accepted.text,
        accepted_spec=None if accepted.spec is None else once(accepted.spec, (spec for _, spec in specs)),
        accepted_fault=accepted.fault,
        contract=published,
        workers=read.workers,
        copies=read.copies,
        later=(*_later_status(resource), *((accepted.fault,) if accepted.later else ()), *later),
        parts=parts if complete and not (back or bare or more) else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The objects of a quorum by kind and name, and those that cannot be understood."""

    claims: tuple[Claim, ...]
    pods: tuple[Pod, ...]
    workers: tuple[Worker, ...]
    copies: tuple[DiskCopy, ...]
    revisions: tuple[tuple[Revision, Json], ...]
    unreadable: tuple[UnreadableObject, ...]


def _read(
    own: Own,
    workers: Iterable[Json],
    copies: Iterable[Json],
    *,
    bare: tuple[UnreadableObject, ...],
    taken: Iterable[Json],
    recorded: AbstractSet[str | None],
) -> _Read:
    """Read each object. `bare` are pods without labels, and `taken` are claims that something else controls.

    A revision from which nothing is made may be of a later operator: it blocks nothing, so it is not unreadable.
    """
    claims, bad_claims = parsed("PersistentVolumeClaim", own.claims, claim_from)
    pods, bad_pods = parsed("Pod", own.pods, pod_from)
    known_workers, bad_workers = parsed("Pod", workers, worker_from)
    known_copies, bad_copies = parsed("PersistentVolumeClaim", copies, copy_from)
    revisions, bad_revisions = parsed("ControllerRevision", own.revisions, revision_from)
    in_use = {pod.revision for pod in pods} | recorded
    return _Read(
        claims=tuple(sorted(claims, key=lambda claim: claim.name)),
        pods=tuple(sorted(pods, key=lambda pod: pod.name)),
        workers=tuple(sorted(known_workers, key=lambda worker: worker.name)),
        copies=tuple(sorted(known_copies, key=lambda copy: copy.name)),
        revisions=revisions,
        unreadable=(
            *bad_claims,
            *(unreadable_from("PersistentVolumeClaim", item, ValueError(_CONTROLLED)) for item in taken),
            *(*bad_pods, *bare, *bad_workers, *bad_copies),
            *(item for item in bad_revisions if item.name in in_use),
        ),
    )


def _specs(resource: Json, found: Iterable[tuple[Revision, Json]]) -> tuple[tuple[str, Json], ...]:
    """The spec of each revision by its name. Most are that of the resource, or that of another one."""
    specs: list[tuple[str, Json]] = []
    for revision, spec in found:
        known = (object_of(resource.get("spec")), *(each for _, each in specs))
        specs.append((revision.name, once(spec, known)))
    return tuple(specs)


def _check_count(name: str, pods: list[Json]) -> None:
    """Refuse too many pods (`KubeError`): each is asked over the network, and compared with the others."""
    if len(pods) > PODS_MAX:
        raise KubeError(
            f"{len(pods)} pods have names and labels of quorum {name}, at most {PODS_MAX} are looked at: delete those "
            "that the operator did not create"
        )


def _recorded_revisions(record: IdentityRecord | None) -> set[str | None]:
    """The revisions from which the record makes pods: the applied one, and those of single controllers."""
    return set() if record is None else {record.applied_revision, *(node.revision for node in record.nodes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Accepted:
    text: str
    spec: Json | None = None
    fault: str = ""
    later: bool = False


def _accepted(stored: Json | None) -> _Accepted:
    """The spec that was accepted last, in the ConfigMap of the record."""
    text = stored_text(stored) if stored is not None else ""
    if stored is None or not text:
        return _Accepted(text="")
    try:
        return _Accepted(text=text, spec=accepted_from(text, f"ConfigMap {stored['metadata']['name']}"))
    except Unreadable as error:
        return _Accepted(text=text, fault=str(error), later=isinstance(error, LaterFormat))


async def _contract(
    kube: KubeApi, namespace: str, name: str, config_maps: list[Json]
) -> tuple[Knowable[StoredContract | None], tuple[str, ...]]:
    """The stored contract, by name if the list lacks it; and what a later version wrote there, as a sentence."""
    wanted = names.contract_name(name)
    item = next((item for item in config_maps if item["metadata"]["name"] == wanted), None)
    if item is None:
        item = await kube.get(CONFIG_MAPS, namespace, wanted)
    if item is None:
        return _NO_CONTRACT, ()
    try:
        return Known(value=stored_contract(item, name)), ()
    except Unreadable as error:
        return Unknown(reason=str(error)), (str(error),) if isinstance(error, LaterFormat) else ()


def _later_status(resource: Json) -> tuple[str, ...]:
    try:
        formats.check((resource.get("status") or {}).get("schemaVersion"), formats.STATUS, "the status")
    except Unreadable as error:
        return (str(error),)
    return ()


def _claim_names(quorum: str, record: IdentityRecord) -> Iterator[str]:
    """The claims that the record has."""
    for node in record.nodes:
        if node.claim_uid is not None:
            yield names.claim_name(Member(quorum, node.node_id), node.generation)


def _lists_all(name: str, record: IdentityRecord | None, claims: list[Json], config_maps: list[Json]) -> bool:
    """Whether the lists have everything that is read by name else: what is read so may be without our label."""
    listed = {item["metadata"]["name"] for item in (*claims, *config_maps)}
    wanted = () if record is None else _claim_names(name, record)
    return listed.issuperset((names.record_name(name), names.contract_name(name), *wanted))


def _taken(name: str, record: IdentityRecord | None, claims: list[Json]) -> list[Json]:
    """Claims of the record that something else controls by now: their disks exist, and must not count as lost."""
    ours = set(_claim_names(name, record)) if record is not None else set()
    return [item for item in claims if item["metadata"]["name"] in ours and not is_claim(item, name)]


async def _confirmed(
    kube: KubeApi, namespace: str, name: str, record: IdentityRecord | None, claims: list[Json]
) -> list[Json]:
    """Ask by name for each claim of the record that the list lacks: one answer is not enough to give up a disk."""
    if record is None:
        return claims
    recorded = ([claim] for claim in _claim_names(name, record))
    return [*claims, *await unlisted(kube, CLAIMS, namespace, recorded, claims)]


async def _on_disks(
    kube: KubeApi, namespace: str, name: str, record: IdentityRecord | None, known: set[str]
) -> list[Json]:
    """Other pods of the namespace on disks of the quorum, while a recovery is open: it copies and rewrites them."""
    if record is None or record.recovery is None:
        return []
    users = await kube.list(PODS, namespace, {}, only=partial(is_on_disk, quorum=name))
    return [item for item in users if item["metadata"]["name"] not in known]


def _record(stored: Json | None) -> tuple[IdentityRecord | None, str]:
    if stored is None:
        return None, ""
    if foreign_controller(stored) is not None:
        return None, f"ConfigMap {stored['metadata']['name']}: {_CONTROLLED}. Remove that reference"
    try:
        return record_from(stored), ""
    except Unreadable as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it exists: Unknown, never absent
        return None, unreadable_from("ConfigMap", stored, error).why
