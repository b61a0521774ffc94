"""What a pass over a quorum reports: its status is written here; log lines and events go into the report of the pass.

The subscribers decide what becomes of the report (`kit.report`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kafka_quorum.act.narrate import notices
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model import actions
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Outcome
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.status.build import build
from kafka_quorum.status.cannot_look import REASON as CANNOT_LOOK
from kafka_quorum.status.cannot_look import blinded
from kafka_quorum.status.finding import Pass
from kafka_quorum.status.news import news
from kafka_quorum.status.refused import refused
from kafka_quorum.status.sheltered import sheltered
from kit import stamps
from kit.clock import Clock
from kit.conditions.writer import StatusWriter, Written
from kit.key import ObjectKey
from kit.kube.protocol import Json, KubeApi
from kit.report.notice import Notice
from kit.report.report import Draft
from kit.report.told import lines

QuorumDraft: TypeAlias = Draft[Observed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a pass decided by, and what it decided: `PassReport.decided` of a quorum.

    `done` is None if the resource never had a valid spec: then only `faults` are known, and no controller was asked.
    """

    taken: Snapshot
    faults: tuple[FieldFault, ...]
    done: Pass | None = None


class Reporter:
    """Writes the statuses of quorums, and reports what is new in them."""

    def __init__(self, kube: KubeApi, clock: Clock, may_act: Callable[[], bool]) -> None:
        """`may_act` says whether this operator holds the lease: without it, it writes nothing."""
        self._kube = kube
        self._clock = clock
        self._writer = StatusWriter(kube, clock, QUORUMS, may_act)
        self.forget = self._writer.forget
        self.is_echo = self._writer.is_echo
        self.is_newest = self._writer.is_newest

    async def write_status(self, draft: QuorumDraft, taken: Snapshot, done: Pass, *, quorums: int) -> Json:
        """The status of a pass; the answer is the resource as it is now, or empty if another write came first.

        `quorums` is how many quorums this operator serves: it decides how often the stamp of the look is renewed.
        """
        draft.decided = Decided(taken=taken, faults=done.faults, done=done)
        present = await self._present(taken, done)
        old: Json = present.get("status") or {}
        generation = int(taken.resource["metadata"].get("generation", 0))
        new = draft.status = build(done, old, generation=generation, now=self._now())
        return _told(draft, old, await self._writer.looked(draft.key, present, sheltered(old, new), resources=quorums))

    async def refuse(
        self, draft: QuorumDraft, taken: Snapshot, faults: tuple[FieldFault, ...], *, quorums: int
    ) -> None:
        """Report, field by field, that a resource never had a valid spec. Nothing else is touched."""
        draft.decided = Decided(taken=taken, faults=faults)
        old: Json = taken.resource.get("status") or {}
        generation = int(taken.resource["metadata"].get("generation", 0))
        new = refused(old, faults, name=taken.resource["metadata"]["name"], generation=generation, now=self._now())
        draft.status = new
        _told(draft, old, await self._writer.looked(draft.key, taken.resource, sheltered(old, new), resources=quorums))

    async def cannot_look(self, key: ObjectKey, why: str) -> QuorumDraft | None:
        """The passes of a quorum end in errors: withdraw what its status claims, if a write is possible.

        Raises `KubeError` if it is not. `why` is the last error, as one clean line. The answer holds the event for it;
        None if there is no such resource any more.
        """
        resource = await self._kube.get(QUORUMS, key.namespace, key.name)
        if resource is None or "deletionTimestamp" in resource["metadata"]:
            return None
        old: Json = resource.get("status") or {}
        generation = int(resource["metadata"].get("generation", 0))
        new = blinded(old, why, generation=generation, now=self._now())
        before = {row.get("type"): row.get("reason") for row in old.get("conditions") or []}
        await self._writer.write(key, resource, sheltered(old, new))
        draft: QuorumDraft = Draft(key=key, resource=resource, status=new, withdrawn=True)
        if before.get("Degraded") != CANNOT_LOOK:
            note = f"Did not change anything: the operator cannot observe this quorum ({why})"
            draft.notices = (Notice(reason=CANNOT_LOOK, message=note, warning=True),)
        return draft

    async def _present(self, taken: Snapshot, done: Pass) -> Json:
        """The resource as it is after the acts of this pass, because a write of the operation has changed it."""
        kinds = (actions.BeginOperation, actions.BeginFeatureStep, actions.FinishOperation)
        if not any(isinstance(action, kinds) for action in done.plan.actions):
            return taken.resource
        metadata = taken.resource["metadata"]
        return await self._kube.get(QUORUMS, metadata["namespace"], metadata["name"]) or taken.resource

    def _now(self) -> str:
        return stamps.second(self._clock.now())


def narrate(draft: QuorumDraft, outcomes: tuple[Outcome, ...]) -> None:
    """Put every outcome into the log, and their events into the report."""
    draft.lines += lines(outcomes)
    draft.notices += notices(outcomes)


def _told(draft: QuorumDraft, old: Json, written: Written) -> Json:
    """Put what is new in a written status into the report; the answer is the resource as it is now."""
    if written.news:
        draft.notices += news(old, written.status)
    return written.resource
