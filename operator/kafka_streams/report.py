"""What a pass over an application reports: its status is written here; lines and events go into the pass's report."""

from collections.abc import Callable
from typing import TypeAlias

from kafka_streams.act.narrate import Outcome, notices
from kafka_streams.kind import APPLICATIONS
from kafka_streams.model.observed import Observed
from kafka_streams.status.build import blinded, build
from kafka_streams.status.conditions import Pass
from kit import stamps
from kit.clock import Clock
from kit.conditions.whole import CANNOT_LOOK
from kit.conditions.writer import StatusWriter
from kit.key import ObjectKey
from kit.kube.protocol import Json, KubeApi
from kit.report.notice import Notice
from kit.report.report import Draft
from kit.report.told import lines, news

ApplicationDraft: TypeAlias = Draft[Observed]


class Reporter:
    """Writes the statuses of applications, and reports what is new in them."""

    def __init__(self, kube: KubeApi, clock: Clock, may_act: Callable[[], bool]) -> None:
        """`may_act` says whether this operator holds the lease: without it, it writes nothing."""
        self._kube = kube
        self._clock = clock
        self._writer = StatusWriter(kube, clock, APPLICATIONS, may_act)
        self.forget = self._writer.forget
        self.is_echo = self._writer.is_echo

    async def write_status(self, draft: ApplicationDraft, resource: Json, done: Pass, *, resources: int) -> Json:
        """Write the status of a pass; the answer is the resource as it is now, or empty if another write came first."""
        old: Json = resource.get("status") or {}
        generation = int(resource["metadata"].get("generation", 0))
        new = draft.status = build(done, old, generation=generation, now=stamps.second(self._clock.now()))
        written = await self._writer.looked(draft.key, resource, new, resources=resources)
        if written.news:
            draft.notices += news(old, written.status)
        return written.resource

    async def cannot_look(self, key: ObjectKey, why: str) -> ApplicationDraft | None:
        """The passes end in errors: withdraw what the status claims. Raises `KubeError`."""
        resource = await self._kube.get(APPLICATIONS, key.namespace, key.name)
        if resource is None or "deletionTimestamp" in resource["metadata"]:
            return None
        old: Json = resource.get("status") or {}
        generation = int(resource["metadata"].get("generation", 0))
        new = blinded(old, why, generation=generation, now=stamps.second(self._clock.now()))
        before = {row.get("type"): row.get("reason") for row in old.get("conditions") or []}
        await self._writer.write(key, resource, new)
        draft: ApplicationDraft = Draft(key=key, resource=resource, status=new, withdrawn=True)
        if before.get("Degraded") != CANNOT_LOOK:
            note = f"Did not change anything: the operator cannot observe this application ({why})"
            draft.notices = (Notice(reason=CANNOT_LOOK, message=note, warning=True),)
        return draft


def narrate(draft: ApplicationDraft, outcomes: tuple[Outcome, ...]) -> None:
    """Put every outcome into the log, and their events into the report."""
    draft.lines += lines(outcomes)
    draft.notices += notices(outcomes)
