"""Whether the claims of `spec.recovery.seeds` may be mounted: each one and its pool are asked for by name."""

import asyncio

from kafka_quorum.kind import POOLS
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.journal import RecoveryStage
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.resources.seeds import pool_of, why_refused
from kit.errors import KubeError
from kit.kube.protocol import CLAIMS, KubeApi


async def seeds_of(kube: KubeApi, desired: Desired, observed: Observed) -> tuple[tuple[str, str], ...]:
    """Each claim, and why it is not mounted (empty: it may be). None is looked up while no seed would be read.

    An open recovery needs its seed, whatever the spec lists by now.
    """
    asked, journal = desired.recovery, None if observed.record is None else observed.record.recovery
    if isinstance(observed.quorum, Known):
        return ()
    open_ = journal is not None and journal.survivor.source.is_seed and journal.stage is not RecoveryStage.START
    needed = {journal.survivor.source.claim} if journal is not None and open_ else set[str]()
    listed = sorted(needed | ({seed.claim for seed in asked.seeds} if asked.inspect else set[str]()))
    return tuple(zip(listed, await asyncio.gather(*(_why(kube, desired, name) for name in listed)), strict=True))


async def _why(kube: KubeApi, desired: Desired, name: str) -> str:
    try:
        claim = await kube.get(CLAIMS, desired.namespace, name)
        pool = await kube.get(POOLS, desired.namespace, of) if (of := pool_of(claim)) else None
    except KubeError as error:
        return f"claim {name} was not mounted, because it cannot be read: {error}"
    return why_refused(claim, pool, name=name, namespace=desired.namespace, quorum=desired.name)
