"""The pools of a quorum, for their certificates: every `KafkaBrokerPool` of the namespace that names it.

What a spec has is text of a person, which the pool itself may refuse. So each part is read for itself, and what is no
host name or node id is left out. Pools that cannot be listed are unknown, which is not none.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final

from kafka_quorum.kind import POOLS
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.pools import PoolSeen, certified_names
from kit.errors import KubeError
from kit.kube.protocol import CONFIG_MAPS, Json, KubeApi
from kit.parsing import INT32_MAX, Malformed, json_object

POOLS_MAX: Final = 100
"""So many pools of one quorum get certificates: anybody with the right to make pools could ask for more."""
_IDS_MAX: Final = 100
_FIRST, _REPLICAS = 0, 3
"""The defaults of `firstNodeID` and `replicas`."""


async def pools_of(kube: KubeApi, namespace: str, quorum: str) -> Knowable[tuple[PoolSeen, ...]]:
    """The pools of this quorum by name."""
    try:
        items = await kube.list(POOLS, namespace, {})
        own = [item for item in items if _spec(item).get("quorum") == quorum]
        if len(own) > POOLS_MAX:
            return Unknown(reason=f"there are {len(own)} pools, and at most {POOLS_MAX} are looked at")
        seen = await asyncio.gather(*(_seen(kube, namespace, item) for item in own))
    except KubeError as error:
        return Unknown(reason=f"the pools were not listed ({error})")
    return Known(value=tuple(sorted(seen)))


async def _seen(kube: KubeApi, namespace: str, item: Json) -> PoolSeen:
    name, spec = str(item["metadata"]["name"]), _spec(item)
    hosts = tuple(_hosts(spec))
    ids = set(_asked(spec))
    if any("{id}" in host for host in hosts):
        ids |= set(_recorded(await kube.get(CONFIG_MAPS, namespace, f"{name}-broker-disks")))
    return PoolSeen(
        name=name, uid=str(item["metadata"]["uid"]), names=certified_names(namespace, name, hosts, sorted(ids))
    )


def _spec(item: Json) -> Json:
    spec = item.get("spec")
    return spec if isinstance(spec, dict) else {}


def _hosts(spec: Json) -> Iterator[str]:
    """The hosts of its encrypted listeners."""
    listeners = spec.get("listeners")
    for one in listeners if isinstance(listeners, list) else ():
        if isinstance(one, dict) and one.get("protocol") in ("SSL", "SASL_SSL"):
            host = one.get("host")
            if isinstance(host, str) and host:
                yield host


def _asked(spec: Json) -> Iterable[int]:
    """The node ids that the spec asks for."""
    listed = spec.get("nodeIDs")
    if isinstance(listed, list) and listed:
        return _numbers(listed)
    first, count = spec.get("firstNodeID", _FIRST), spec.get("replicas", _REPLICAS)
    if not (_is_id(first) and _is_id(count)):
        return ()
    return range(first, first + min(count, _IDS_MAX))


def _recorded(item: Json | None) -> Iterable[int]:
    """The node ids that the record of the pool has: they may be others than those that the spec begins with."""
    try:
        brokers = json_object(((item or {}).get("data") or {}).get("disks.json") or "{}").get("brokers")
    except Malformed:
        return ()
    rows = brokers if isinstance(brokers, list) else ()
    return _numbers([one.get("node_id") for one in rows if isinstance(one, dict)])


def _numbers(found: Iterable[object]) -> Iterable[int]:
    return [each for each in found if isinstance(each, int) and _is_id(each)][:_IDS_MAX]


def _is_id(value: object) -> bool:
    return type(value) is int and 0 <= value <= INT32_MAX
