"""What a pass reports: the status, the log, and events.

The status gets one patch at most, and only if it says something new, or the stamp of the last look is old.
"""

import logging
from collections.abc import Callable
from typing import Final

from kafka_quorum import stamps
from kafka_quorum.act.events import Events
from kafka_quorum.act.narrate import notices
from kafka_quorum.errors import KubeConflict, KubeNotFound, NotActing
from kafka_quorum.kube.protocol import QUORUMS, Json, KubeApi
from kafka_quorum.model import actions
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.notice import Notice
from kafka_quorum.model.plan import Outcome, Plan, Verdict
from kafka_quorum.observe.gather import Snapshot
from kafka_quorum.settings import Clock
from kafka_quorum.status.build import build, patch_of
from kafka_quorum.status.cannot_look import REASON as CANNOT_LOOK
from kafka_quorum.status.cannot_look import blinded
from kafka_quorum.status.finding import Pass
from kafka_quorum.status.last_look import interval_s, is_due
from kafka_quorum.status.news import news
from kafka_quorum.status.refused import refused
from kafka_quorum.status.sheltered import sheltered

LAST_LOOK: Final = "lastLook"
NO_EFFECT: Final = "NoEffect"

logger = logging.getLogger(__name__)


class Reporter:
    """Writes what one operator has to say of its quorums. What it remembers only saves writes, and may be lost."""

    def __init__(self, kube: KubeApi, clock: Clock, events: Events, may_act: Callable[[], bool]) -> None:
        """`may_act` says whether this operator holds the lease: without it, it writes nothing."""
        self._kube = kube
        self._clock = clock
        self._events = events
        self._may_act = may_act
        self._verdicts: dict[object, tuple[Verdict, ...]] = {}
        self._wrote: dict[object, str] = {}

    def forget(self, key: object) -> None:
        """The resource is gone: remember nothing of it."""
        for store in (self._verdicts, self._wrote):
            store.pop(key, None)

    def is_echo(self, key: object, resource_version: str) -> bool:
        """Whether a resource version is the one that our own last write of the status made."""
        return bool(resource_version) and self._wrote.get(key) == resource_version

    def is_newest(self, key: object, resource: Json) -> bool:
        """Whether a resource is no older than our own last write: one that is hides what the status says."""
        wrote = self._wrote.get(key)
        return wrote is None or wrote == resource["metadata"].get("resourceVersion")

    # The status

    async def write_status(self, key: object, taken: Snapshot, done: Pass, *, quorums: int) -> Json:
        """The status of a pass; the answer is the resource as it is now, or empty if another write came first.

        `quorums` is how many quorums this operator serves: it decides how often the stamp of the look is renewed.
        """
        present = await self._present(taken, done)
        old: Json = present.get("status") or {}
        generation = int(taken.resource["metadata"].get("generation", 0))
        new = build(done, old, generation=generation, now=self._now())
        return await self._looked(key, present, new, quorums=quorums)

    async def refuse(self, key: object, taken: Snapshot, faults: tuple[FieldFault, ...], *, quorums: int) -> None:
        """A resource that never was valid: say so, field by field, and touch nothing."""
        old: Json = taken.resource.get("status") or {}
        generation = int(taken.resource["metadata"].get("generation", 0))
        new = refused(old, faults, name=taken.resource["metadata"]["name"], generation=generation, now=self._now())
        await self._looked(key, taken.resource, new, quorums=quorums)

    async def cannot_look(self, key: object, namespace: str, name: str, why: str) -> None:
        """The passes of a quorum end in errors: take back what its status claims, where a write is possible.

        Raises `KubeError` where it is not. `why` is the last error, one clean line.
        """
        resource = await self._kube.get(QUORUMS, namespace, name)
        if resource is None or "deletionTimestamp" in resource["metadata"]:
            return
        old: Json = resource.get("status") or {}
        generation = int(resource["metadata"].get("generation", 0))
        new = blinded(old, why, generation=generation, now=self._now())
        before = {row.get("type"): row.get("reason") for row in old.get("conditions") or []}
        await self._patch(key, resource, patch_of(old, sheltered(old, new)))
        if before.get("Degraded") != CANNOT_LOOK:
            note = f"The operator cannot look at this quorum, and does nothing for it: {why}"
            await self._events.write(resource, (Notice(reason=CANNOT_LOOK, message=note, warning=True),))

    async def _looked(self, key: object, present: Json, new: Json, *, quorums: int) -> Json:
        """Write what is new, with the stamp of this look; the stamp alone where the last one is old."""
        old: Json = present.get("status") or {}
        new = sheltered(old, new)
        stamp = old.get(LAST_LOOK)
        kept = new | ({LAST_LOOK: stamp} if stamp is not None else {})
        after_s = interval_s(quorums, str(present["metadata"].get("uid", "")))
        if patch_of(old, kept) or is_due(stamp, now=self._clock.now(), after_s=after_s):
            kept = new | {LAST_LOOK: self._now()}
        changed = patch_of(old, kept)
        written = await self._patch(key, present, changed)
        if written and changed:
            await self._events.write(present, news(old, kept))
        return written

    async def _present(self, taken: Snapshot, done: Pass) -> Json:
        """The resource as it is after the acts of this pass: a write of the operation has changed it."""
        kinds = (actions.BeginOperation, actions.BeginFeatureStep, actions.FinishOperation)
        if not any(isinstance(action, kinds) for action in done.plan.actions):
            return taken.resource
        metadata = taken.resource["metadata"]
        return await self._kube.get(QUORUMS, metadata["namespace"], metadata["name"]) or taken.resource

    async def _patch(self, key: object, resource: Json, changed: Json) -> Json:
        if not changed:
            return resource
        if not self._may_act():
            raise NotActing("the lease has lapsed: the status is its next holder's")
        metadata = resource["metadata"]
        body: Json = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": changed}
        try:
            written = await self._kube.patch(
                QUORUMS, metadata["namespace"], metadata["name"], body, subresource="status"
            )
        except (KubeConflict, KubeNotFound):
            return {}  # another write came first: the next pass starts from there
        self._wrote[key] = str(written["metadata"].get("resourceVersion", ""))
        return written

    # Log and events

    def tell(self, key: object, planned: Plan) -> None:
        """Log what the guards say when they say something new."""
        if planned.verdicts == self._verdicts.get(key):
            return
        before = set(self._verdicts.get(key, ()))
        self._verdicts[key] = planned.verdicts
        for verdict in planned.verdicts:
            if verdict not in before:
                answer = "allows" if verdict.allowed else "holds"
                logger.info("%s: guard %s %s: %s", key, verdict.rule, answer, verdict.reason)

    async def narrate(self, key: object, resource: Json, outcomes: tuple[Outcome, ...]) -> None:
        """Log every outcome, and write the events of all of them."""
        for outcome in outcomes:
            logger.log(
                logging.INFO if outcome.done or outcome.held else logging.WARNING, "%s: %s", key, outcome.message
            )
        await self._events.write(resource, notices(outcomes))

    async def no_effect(self, key: object, resource: Json, message: str, times: int) -> None:
        """An action is done again and again, and is still to do."""
        note = (
            f"An action is repeated, and has no effect: {message}. Another program may undo it, or the API server may "
            "store another value. The operator repeats it with growing pauses"
        )
        logger.warning("%s: %s (done %d times)", key, note, times)
        await self._events.write(resource, (Notice(reason=NO_EFFECT, message=note, warning=True),))

    def _now(self) -> str:
        return stamps.second(self._clock.now())
