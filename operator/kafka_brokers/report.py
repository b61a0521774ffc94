"""What a pass over a pool reports: its status is written here; log lines and events go into the report of the pass."""

from collections.abc import Callable
from typing import TypeAlias

from kafka_brokers.act.narrate import notices
from kafka_brokers.kind import POOLS
from kafka_brokers.model.observed import Observed
from kafka_brokers.model.plan import Outcome
from kafka_brokers.status.build import build
from kafka_brokers.status.cannot_look import blinded
from kafka_brokers.status.finding import Pass
from kit import stamps
from kit.clock import Clock
from kit.conditions.whole import CANNOT_LOOK
from kit.conditions.writer import StatusWriter
from kit.key import ObjectKey
from kit.kube.protocol import Json, KubeApi
from kit.report.notice import Notice
from kit.report.report import Draft
from kit.report.told import lines, news

PoolDraft: TypeAlias = Draft[Observed]


class Reporter:
    """Writes the statuses of pools, and reports what is new in them."""

    def __init__(self, kube: KubeApi, clock: Clock, may_act: Callable[[], bool]) -> None:
        """`may_act` says whether this operator holds the lease: without it, it writes nothing."""
        self._kube = kube
        self._clock = clock
        self._writer = StatusWriter(kube, clock, POOLS, may_act)
        self.forget = self._writer.forget
        self.is_echo = self._writer.is_echo
        self.is_newest = self._writer.is_newest

    async def write_status(self, draft: PoolDraft, resource: Json, done: Pass, *, pools: int) -> Json:
        """Write the status of a pass; the answer is the resource as it is now, or empty if another write came first."""
        old: Json = resource.get("status") or {}
        generation = int(resource["metadata"].get("generation", 0))
        new = draft.status = build(done, old, generation=generation, now=stamps.second(self._clock.now()))
        written = await self._writer.looked(draft.key, resource, new, resources=pools)
        if written.news:
            draft.notices += news(old, written.status)
        return written.resource

    async def cannot_look(self, key: ObjectKey, why: str) -> PoolDraft | None:
        """The passes of a pool end in errors: withdraw what its status claims. Raises `KubeError`."""
        resource = await self._kube.get(POOLS, key.namespace, key.name)
        if resource is None or "deletionTimestamp" in resource["metadata"]:
            return None
        old: Json = resource.get("status") or {}
        generation = int(resource["metadata"].get("generation", 0))
        new = blinded(old, why, generation=generation, now=stamps.second(self._clock.now()))
        before = {row.get("type"): row.get("reason") for row in old.get("conditions") or []}
        await self._writer.write(key, resource, new)
        draft: PoolDraft = Draft(key=key, resource=resource, status=new, withdrawn=True)
        if before.get("Degraded") != CANNOT_LOOK:
            note = f"Did not change anything: the operator cannot observe this pool ({why})"
            draft.notices = (Notice(reason=CANNOT_LOOK, message=note, warning=True),)
        return draft


def narrate(draft: PoolDraft, outcomes: tuple[Outcome, ...]) -> None:
    """Put every outcome into the log, and their events into the report."""
    draft.lines += lines(outcomes)
    draft.notices += notices(outcomes)
