"""The pools of a quorum, for their certificates: every `KafkaBrokerPool` of the namespace that names it.

What a spec has is text of a person, which the pool itself may refuse. So each part is read for itself, and what is no
host name or node id is left out. Pools that cannot be listed are unknown, which is not none.
"""

import asyncio
from collections.abc import Collection, Iterable
from typing import Final

from kafka_quorum.kind import POOLS
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.pools import (
    PoolSeen,
    has_tls,
    inside_names,
    lowest_free,
    outside_names,
    reached_hosts,
    secret_named,
    tls_hosts,
    with_room,
)
from kit.errors import KubeError
from kit.kube.protocol import CONFIG_MAPS, Json, KubeApi
from kit.parsing import INT32_MAX, Malformed, json_object
from kit.pki.certificate import NAMES_MAX

POOLS_MAX: Final = 100
"""So many pools of one quorum get certificates: anybody with the right to make pools could ask for more."""
_IDS_MAX: Final = 100
_FIRST, _REPLICAS = 0, 3
"""The defaults of `firstNodeID` and `replicas`."""


async def pools_of(kube: KubeApi, namespace: str, quorum: str, *, own: bool = True) -> Knowable[tuple[PoolSeen, ...]]:
    """The pools of this quorum by name.

    The operator's `own` authority gives each pool a certificate. Of another issuer only those get one whose brokers
    show one: nobody is asked for what nobody uses.
    """
    try:
        items = await kube.list(POOLS, namespace, {})
        listed = [item for item in items if _spec(item).get("quorum") == quorum]
        if len(listed) > POOLS_MAX:
            return Unknown(reason=f"there are {len(listed)} pools, and at most {POOLS_MAX} are looked at")
        seen = await asyncio.gather(*(_seen(kube, namespace, item, own=own) for item in listed))
    except KubeError as error:
        return Unknown(reason=f"the pools were not listed ({error})")
    return Known(value=tuple(sorted(each for each in seen if each is not None)))


async def _seen(kube: KubeApi, namespace: str, item: Json, *, own: bool) -> PoolSeen | None:
    """The pool; None if another issuer issues, and its brokers show no certificate.

    Names of brokers that the pool has come first, at the hosts of the spec that was accepted last: the present one may
    be refused, and these brokers run on. A spec adds brokers only to as many as the record lacks.
    """
    name, spec = str(item["metadata"]["name"]), _spec(item)
    stored = _data(await kube.get(CONFIG_MAPS, namespace, f"{name}-broker-disks"))
    record = _record(stored)
    before = _accepted(stored)
    if not (own or has_tls(spec) or has_tls(before) or _may_replicate_with_tls(record)):
        return None
    present, accepted = tls_hosts(spec), tls_hosts(before)
    recorded = _recorded(record)
    ids = (*recorded, *_coming(spec, recorded))
    of_brokers = outside_names(accepted or present, recorded)
    outside = (*outside_names(present, recorded), *outside_names((*accepted, *present), ids))
    wanted = (*inside_names(namespace, name), *of_brokers, *outside)
    names = with_room(wanted)
    cut = set(wanted) - set(names)
    hosts = () if own else reached_hosts(namespace, name, present, ids)
    return PoolSeen(
        name=name,
        uid=str(item["metadata"]["uid"]),
        names=names,
        secret=secret_named(spec.get("certificateSecretName")),
        hosts=tuple(each for each in hosts if each not in cut),
        left_out=tuple(sorted(cut & set(of_brokers))),
    )


def _spec(item: Json) -> Json:
    spec = item.get("spec")
    return spec if isinstance(spec, dict) else {}


def _coming(spec: Json, recorded: Collection[int]) -> Iterable[int]:
    """The node ids that the spec asks for beside those that the pool has; without a list, as many as it lacks.

    The pool may choose others, because some are taken. It records them before it makes their brokers.
    """
    listed = spec.get("nodeIDs")
    if isinstance(listed, list) and listed:
        return [each for each in _numbers(listed, _IDS_MAX) if each not in recorded]
    first, count = spec.get("firstNodeID", _FIRST), spec.get("replicas", _REPLICAS)
    if not (_is_id(first) and _is_id(count)):
        return ()
    return lowest_free(first, min(count, _IDS_MAX) - len(recorded), recorded)


def _data(item: Json | None) -> Json:
    """What the ConfigMap of the pool's record has."""
    data = None if item is None else item.get("data")
    return data if isinstance(data, dict) else {}


def _record(data: Json) -> Json | None:
    """The record of the pool; None if there is none, or it cannot be read."""
    try:
        return json_object(data["disks.json"])
    except (Malformed, KeyError):
        return None


def _accepted(data: Json) -> object:
    """The spec that the pool accepted last; None if there is none, or it cannot be read."""
    try:
        return json_object(data["accepted-spec.json"]).get("spec")
    except (Malformed, KeyError):
        return None


def _may_replicate_with_tls(record: Json | None) -> bool:
    """Whether the listener REPLICATION has TLS, or that is not known: a new pool decides it with its record."""
    return record is None or record.get("replication_tls", False) is not False


def _recorded(record: Json | None) -> tuple[int, ...]:
    """The node ids that the record of the pool has: they may be others than those that the spec begins with.

    Those that leave come last.
    """
    brokers = None if record is None else record.get("brokers")
    rows = [one for one in brokers if isinstance(one, dict)] if isinstance(brokers, list) else []
    leaving = {each for each in (one.get("node_id") for one in rows if one.get("leaving") is True) if _is_id(each)}
    found = _numbers((one.get("node_id") for one in rows), NAMES_MAX)
    return tuple(sorted(set(found), key=lambda node_id: (node_id in leaving, node_id)))


def _numbers(found: Iterable[object], most: int) -> list[int]:
    return [each for each in found if isinstance(each, int) and _is_id(each)][:most]


def _is_id(value: object) -> bool:
    return type(value) is int and 0 <= value <= INT32_MAX
