"""Which brokers of other pools have certificates that have ended, by what their own pools judge by.

A pod names its revision, the revision has the generation of the certificate, and the Secret of its pool has its end. No
broker is asked: the operator may have a connection to it that outlives its certificate, as other brokers have.
"""

import asyncio
from dataclasses import replace

from kafka_brokers.model.contracted import certificate_of
from kafka_brokers.model.names import is_revision_name, pod_name, pool_of
from kafka_brokers.model.observed import Observed, PeersEnded, Pod
from kafka_brokers.model.pool import BrokerRuntime
from kafka_brokers.observe.secrets import ends_of
from kafka_brokers.plan.facts import CLOCKS_S, certificate_end_s
from kafka_brokers.resources.stored import revision_from
from kafka_quorum.model.formats import Unreadable
from kafka_quorum.model.names import keystore_generation
from kafka_quorum.model.pools import pool_tls_name
from kit.errors import KubeError
from kit.kube.protocol import REVISIONS, KubeApi


async def peers_ended(kube: KubeApi, namespace: str, quorum: str, seen: Observed, now_s: float) -> PeersEnded:
    """The peers whose certificates have ended (`now_s`: Unix seconds). What cannot be read proves no end.

    Only of those that replicate with TLS: to the others, any broker opens a connection again.
    """
    pods = [pod for pod in seen.peers if pod.serves and pod.replication_tls and _pool(pod)]
    made = sorted({(_pool(pod), pod.revision) for pod in pods})
    runtimes = dict(zip(made, await asyncio.gather(*(_runtime(kube, namespace, *one) for one in made)), strict=True))
    pools = sorted({pool for pool, _ in made})
    found = await asyncio.gather(*(ends_of(kube, namespace, pool_tls_name(quorum, pool)) for pool in pools))
    ends = dict(zip(pools, found, strict=True))
    every, renewed = set(), set()
    for pod in pods:
        runtime = runtimes[_pool(pod), pod.revision]
        of_pool = replace(seen, certificate_ends=ends[_pool(pod)])
        end_s = None if runtime is None else certificate_end_s(of_pool, runtime)
        if runtime is None or end_s is None or end_s >= now_s - CLOCKS_S:
            continue
        every.add(pod.node_id)
        own = certificate_of(runtime)
        if any(keystore_generation(file) > own and later_s > now_s for file, later_s in of_pool.certificate_ends):
            renewed.add(pod.node_id)
    return PeersEnded(every=frozenset(every), renewed=frozenset(renewed))


def _pool(pod: Pod) -> str:
    """The pool of a broker's pod, by its name; empty for a pod of another name."""
    pool = pool_of(pod.name, pod.node_id)
    return pool if pod_name(pool, pod.node_id) == pod.name else ""


async def _runtime(kube: KubeApi, namespace: str, pool: str, revision: str) -> BrokerRuntime | None:
    """What pods of a revision are made from; None if it cannot be read, or is not this pool's."""
    if not is_revision_name(pool, revision):
        return None
    try:
        item = await kube.get(REVISIONS, namespace, revision)
        return None if item is None else revision_from(item)[0].runtime
    except (KubeError, Unreadable):
        return None
