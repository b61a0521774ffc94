"""The Kubernetes objects of one application, listed once and read: what exists, and what of it cannot be understood."""

import asyncio
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from kafka_brokers.kind import POOLS
from kafka_brokers.model.names import bootstrap_name
from kafka_quorum.model.formats import LaterFormat
from kafka_quorum.model.formats import Unreadable as UnreadableError
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.security import Security
from kafka_streams.kind import APPLICATIONS
from kafka_streams.model import names
from kafka_streams.model.adoption import Source
from kafka_streams.model.observed import Claim, Pod, Revision
from kafka_streams.model.properties import UPGRADE_FROM, keys
from kafka_streams.model.record import Record, Slot
from kafka_streams.observe import workload
from kafka_streams.observe.objects import claim_from, pod_from
from kafka_streams.observe.security import security
from kafka_streams.resources.meta import foreign_controller
from kafka_streams.resources.stored import accepted_from, accepted_text, record_from, revision_from, stored_text
from kit.clock import Clock
from kit.errors import KubeError
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, REVISIONS, Json, KubeApi
from kit.kube.readable import parsed_with
from kit.kube.unlisted import without_labels
from kit.text import NAME_MAX_CHARS, WORDS_MAX_CHARS, clean

PODS_MAX: Final = 500
PROPERTIES_MAX_CHARS: Final = 64 * 1024
"""The longest file of properties: it is stored in every revision."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """An object that exists and cannot be read; it never counts as absent."""

    kind: str
    name: str
    why: str
    later: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The Kubernetes objects of one application, as one round of requests found them.

    `configs` are the uids of the config maps with a revision's file of properties, by name. `servers` are where the
    pools that the spec names are reached, HOST:PORT, and `security` is how.
    """

    resource: Json
    record: Record | None
    record_fault: str
    claims: tuple[Claim, ...]
    pods: tuple[Pod, ...]
    revisions: tuple[Revision, ...]
    configs: Mapping[str, str]
    properties: Knowable[str]
    servers: Knowable[tuple[str, ...]]
    security: Knowable[Security]
    unreadable: tuple[Unread, ...]
    taken_at_s: float
    source: Source | None = None
    accepted: str = ""
    accepted_spec: Json | None = None

    @property
    def spec_kept(self) -> bool:
        """Whether the resource's spec is the one that was accepted last, or is too long to be stored."""
        return self.accepted == accepted_text(self.resource.get("spec") or {})


async def snapshot(kube: KubeApi, namespace: str, name: str, clock: Clock) -> Snapshot | None:
    """Everything of an application, or None if the resource is gone. Raises `KubeError` if a part cannot be read."""
    taken_at_s = clock.monotonic()
    resource = await kube.get(APPLICATIONS, namespace, name)
    if resource is None:
        return None
    labels = {names.LABEL_APPLICATION: name}
    kinds = (CLAIMS, CONFIG_MAPS, REVISIONS, PODS)
    claims, configs, revisions, pods = await asyncio.gather(*(kube.list(kind, namespace, labels) for kind in kinds))
    if len(pods) > PODS_MAX:
        raise KubeError(f"{len(pods)} pods have labels of application {name}, at most {PODS_MAX} are looked at")
    stored = await kube.get(CONFIG_MAPS, namespace, names.record_name(name))
    record, fault = _record(stored)
    properties, servers, secured = await asyncio.gather(
        _properties(kube, namespace, resource),
        _servers(kube, namespace, resource),
        security(kube, namespace, resource),
    )
    container = _text(resource, "container") or "app"
    own = [item for item in pods if foreign_controller(item) is None]
    known_pods, bad_pods = _parsed("Pod", own, lambda item: pod_from(item, container))
    known_claims, bad_claims = _parsed("PersistentVolumeClaim", claims, lambda item: claim_from(item, name))
    of_name = [item for item in revisions if names.is_revision_name(name, item["metadata"]["name"])]
    readable, bad_revisions = _parsed("ControllerRevision", of_name, revision_from)
    text = stored_text(stored) if stored is not None else ""
    source, (back, lost) = await asyncio.gather(
        workload.source(kube, namespace, resource, record), _lost(kube, namespace, name, record, known_pods)
    )
    back_pods, bad_back = _parsed("Pod", back, lambda item: pod_from(item, container))
    return Snapshot(
        resource=resource,
        record=record,
        record_fault=fault,
        claims=tuple(sorted(known_claims, key=lambda claim: claim.name)),
        pods=tuple(sorted((*known_pods, *back_pods), key=lambda pod: pod.name)),
        revisions=readable,
        configs={item["metadata"]["name"]: item["metadata"]["uid"] for item in configs},
        properties=properties,
        servers=servers,
        security=secured,
        unreadable=(*bad_pods, *bad_back, *bad_claims, *bad_revisions, *lost),
        taken_at_s=taken_at_s,
        source=source,
        accepted=text,
        accepted_spec=_accepted(text, name),
    )


async def _lost(
    kube: KubeApi, namespace: str, name: str, record: Record | None, found: tuple[Pod, ...]
) -> tuple[list[Json], tuple[Unread, ...]]:
    """Pods of the record's instances that exist, and that no list had with the labels that they were made with.

    Everybody can take a label off. The pod runs on: it must not count as stopped. No name of ours keeps a second pod
    beside an adopted one from being created. Those that have got their labels since the list are there as well.
    """
    wanted = {} if record is None else _asked(name, record, {(pod.name, pod.index) for pod in found})
    items = await asyncio.gather(*(kube.get(PODS, namespace, pod) for pod in wanted))
    rows = [(item, _why_lost(item, name, slot)) for item, slot in zip(items, wanted.values(), strict=True) if item]
    bad = (Unread(kind="Pod", name=item["metadata"]["name"], why=why) for item, why in rows if why)
    return [item for item, why in rows if not why], tuple(bad)


def _asked(name: str, record: Record, listed: Container[tuple[str, int]]) -> dict[str, Slot]:
    """The pods that are asked for by their names, and whose they are: adopted ones, and those without another."""
    if record.adoption is not None and not record.adoption.done:
        return {}  # none is the operator's yet, and those of a StatefulSet NAME-streams have the same names
    own = {names.pod_name(name, slot.index): slot for slot in record.slots}
    adopted = {slot.adopted: slot for slot in record.slots if slot.adopted}
    # With ordinals from 1, an adopted pod of one instance has the name that the operator gives that of the next one.
    there = {pod for pod, slot in (*own.items(), *adopted.items()) if (pod, slot.index) in listed}
    lack = {pod: slot for pod, slot in own.items() if (slot.adopted, slot.index) not in listed}
    return {pod: slot for pod, slot in {**lack, **adopted}.items() if pod not in there}


def _why_lost(item: Json, name: str, slot: Slot) -> str:
    """What is wrong with it; empty if it has its labels by now."""
    owner = foreign_controller(item)
    adopted = item["metadata"]["name"] == slot.adopted
    was = f"it was adopted as instance {slot.index}" if adopted else f"it is that of instance {slot.index}"
    if owner is not None:
        return f"{was}, and {owner.get('kind')} {owner.get('name')} controls it now"
    why = without_labels(item, {names.LABEL_APPLICATION: name, names.LABEL_INSTANCE: str(slot.index)})
    return f"{was}: {why}" if why else ""


def _record(stored: Json | None) -> tuple[Record | None, str]:
    """The record, and why it cannot be read."""
    if stored is None:
        return None, ""
    if foreign_controller(stored) is not None:
        return None, f"ConfigMap {stored['metadata']['name']}: something else controls it. Remove that reference"
    try:
        return record_from(stored), ""
    except UnreadableError as error:
        return None, str(error)


def _accepted(text: str, name: str) -> Json | None:
    """The spec that was accepted last; None if none can be read."""
    try:
        return accepted_from(text, f"ConfigMap {names.record_name(name)}") if text else None
    except UnreadableError:
        return None


async def _properties(kube: KubeApi, namespace: str, resource: Json) -> Knowable[str]:
    """The file of `upgradeFrom.configMap`; empty if the spec names none."""
    asked = (resource.get("spec") or {}).get("upgradeFrom")
    config, key = (asked.get("configMap"), asked.get("key")) if isinstance(asked, dict) else ("", "")
    if not isinstance(config, str) or not isinstance(key, str) or not config or not key:
        return Known(value="")
    item = await kube.get(CONFIG_MAPS, namespace, config)
    text = None if item is None else (item.get("data") or {}).get(key)
    if not isinstance(text, str):
        return Unknown(reason=f"config map {config} has no key {key}: create it, or correct the name")
    if len(text) > PROPERTIES_MAX_CHARS:
        return Unknown(reason=f"key {key} of config map {config} has more than {PROPERTIES_MAX_CHARS} characters")
    if UPGRADE_FROM in keys(text):
        return Unknown(reason=f"key {key} of config map {config} sets upgrade.from, which the operator does: remove it")
    return Known(value=text)


async def _servers(kube: KubeApi, namespace: str, resource: Json) -> Knowable[tuple[str, ...]]:
    """Where brokers are reached: what the spec says, or the first listener of each pool that it names."""
    asked = (resource.get("spec") or {}).get("bootstrap")
    asked = asked if isinstance(asked, dict) else {}
    servers, pools = asked.get("servers"), asked.get("pools")
    if isinstance(servers, str) and servers:
        return Known(value=tuple(servers.split(",")))
    found: list[str] = []
    for pool in pools if isinstance(pools, list) else ():
        item = await kube.get(POOLS, namespace, str(pool))
        if item is None:
            return Unknown(reason=f"KafkaBrokerPool {pool} does not exist: create it, or correct spec.bootstrap.pools")
        listeners = (item.get("spec") or {}).get("listeners") or [{"port": 9092}]
        port = listeners[0].get("port") if isinstance(listeners[0], dict) else None
        found.append(f"{bootstrap_name(str(pool))}.{namespace}.svc:{port}")
    return Known(value=tuple(found)) if found else Unknown(reason="spec.bootstrap names no brokers")


def _text(resource: Json, key: str) -> str:
    value = (resource.get("spec") or {}).get(key)
    return value if isinstance(value, str) else ""


def _parsed(
    kind: str, items: Iterable[Json], parse: Callable[[Json], T | None]
) -> tuple[tuple[T, ...], tuple[Unread, ...]]:
    """The results of `parse` without its Nones, and the objects that it cannot understand."""
    return parsed_with(items, parse, partial(_unread, kind))


def _unread(kind: str, item: Json, error: Exception) -> Unread:
    name = clean(str((item.get("metadata") or {}).get("name", "")), max_chars=NAME_MAX_CHARS)
    why = clean(str(error) or type(error).__name__, max_chars=WORDS_MAX_CHARS)
    return Unread(kind=kind, name=name, why=why, later=isinstance(error, LaterFormat))
