"""The pools of a quorum, for their certificates: every `KafkaBrokerPool` of the namespace that names it.

What a spec has is text of a person, which the pool itself may refuse. So each part is read for itself, and what is no
host name or node id is left out. Pools that cannot be listed are unknown, which is not none.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final

from kafka_quorum.kind import POOLS
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.pools import PoolSeen, certified_names, reached_hosts, secret_named
from kit.errors import KubeError
from kit.kube.protocol import CONFIG_MAPS, Json, KubeApi
from kit.parsing import INT32_MAX, Malformed, json_object

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
    """The pool; None if another issuer issues, and its brokers show no certificate."""
    name, spec = str(item["metadata"]["name"]), _spec(item)
    encrypted = tuple(_encrypted(spec))
    hosts = tuple(host for one in encrypted if isinstance(host := one.get("host"), str) and host)
    ids = set(_asked(spec))
    if not own or any("{id}" in host for host in hosts):
        record = _record(await kube.get(CONFIG_MAPS, namespace, f"{name}-broker-disks"))
        if not (own or encrypted or _may_replicate_with_tls(record)):
            return None
        ids |= set(_recorded(record))
    return PoolSeen(
        name=name,
        uid=str(item["metadata"]["uid"]),
        names=certified_names(namespace, name, hosts, sorted(ids)),
        secret=secret_named(spec.get("certificateSecretName")),
        hosts=() if own else reached_hosts(namespace, name, hosts, sorted(ids)),
    )


def _spec(item: Json) -> Json:
    spec = item.get("spec")
    return spec if isinstance(spec, dict) else {}


def _encrypted(spec: Json) -> Iterator[Json]:
    """Its listeners with TLS."""
    listeners = spec.get("listeners")
    for one in listeners if isinstance(listeners, list) else ():
        if isinstance(one, dict) and one.get("protocol") in ("SSL", "SASL_SSL"):
            yield one


def _asked(spec: Json) -> Iterable[int]:
    """The node ids that the spec asks for."""
    listed = spec.get("nodeIDs")
    if isinstance(listed, list) and listed:
        return _numbers(listed)
    first, count = spec.get("firstNodeID", _FIRST), spec.get("replicas", _REPLICAS)
    if not (_is_id(first) and _is_id(count)):
        return ()
    return range(first, first + min(count, _IDS_MAX))


def _record(item: Json | None) -> Json | None:
    """The record of the pool; None if there is none, or it cannot be read."""
    try:
        return json_object((item["data"] or {})["disks.json"]) if item else None
    except (Malformed, KeyError, TypeError):
        return None


def _may_replicate_with_tls(record: Json | None) -> bool:
    """Whether the listener REPLICATION has TLS, or that is not known: a new pool decides it with its record."""
    return record is None or record.get("replication_tls", False) is not False


def _recorded(record: Json | None) -> Iterable[int]:
    """The node ids that the record of the pool has: they may be others than those that the spec begins with."""
    brokers = None if record is None else record.get("brokers")
    rows = brokers if isinstance(brokers, list) else ()
    return _numbers([one.get("node_id") for one in rows if isinstance(one, dict)])


def _numbers(found: Iterable[object]) -> Iterable[int]:
    return [each for each in found if isinstance(each, int) and _is_id(each)][:_IDS_MAX]


def _is_id(value: object) -> bool:
    return type(value) is int and 0 <= value <= INT32_MAX
