"""Whether the claims of `spec.recovery.seeds` may be mounted: each one and its pool are asked for by name."""

import asyncio

from kafka_quorum.kind import POOLS
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.resources.seeds import pool_of, why_refused
from kit.errors import KubeError
from kit.kube.protocol import CLAIMS, KubeApi


async def seeds_of(kube: KubeApi, desired: Desired, observed: Observed) -> tuple[tuple[str, str], ...]:
    """Each claim, and why it is not mounted (empty: it may be). None is looked up while no seed would be read."""
    asked = desired.recovery
    if not asked.inspect or isinstance(observed.quorum, Known):
        return ()
    listed = sorted({seed.claim for seed in asked.seeds})
    return tuple(zip(listed, await asyncio.gather(*(_why(kube, desired, name) for name in listed)), strict=True))


async def _why(kube: KubeApi, desired: Desired, name: str) -> str:
    try:
        claim = await kube.get(CLAIMS, desired.namespace, name)
        pool = await kube.get(POOLS, desired.namespace, of) if (of := pool_of(claim)) else None
    except KubeError as error:
        return f"claim {name} was not mounted, because it cannot be read: {error}"
    return why_refused(claim, pool, name=name, namespace=desired.namespace, quorum=desired.name)
