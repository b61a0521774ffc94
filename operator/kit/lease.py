"""Which operator acts: the one that holds a Lease of Kubernetes, renewed in time by its own clock.

Another holder's lease is acquired after it has not changed for its whole duration, by our own monotonic clock: stamps
of other machines are never compared. An operator stops acting `MARGIN_S` before others may begin, counted from before
its last successful renewal was sent. The lease only prevents two operators from doing the same work. No absolute safety
rule depends on it, because a process can sleep between reading its clock and an act.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from kit import stamps
from kit.clock import Clock
from kit.errors import KubeAlreadyExists, KubeConflict, KubeError
from kit.kube.protocol import LEASES, Json, KubeApi
from kit.parsing import INT32_MAX

DURATION_S: Final = 15.0
RENEW_EVERY_S: Final = 5.0
MARGIN_S: Final = 5.0
RETRY_S: Final = 2.0
_DURATION_MAX_S: Final = 120.0
"""No operator requests more: a lease with a longer duration was edited, and is not waited for that long."""
_RELEASE_S: Final = 5.0

logger = logging.getLogger(__name__)


class Lease:
    """One lease, and whether this process holds it."""

    def __init__(self, kube: KubeApi, clock: Clock, *, namespace: str, name: str, holder: str) -> None:
        """Hold nothing yet. `holder` is the name of this process in the lease, which must be no other process's."""
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._name = name
        self._holder = holder
        self._held_until_s = 0.0
        self._seen: tuple[str, str] | None = None
        """The other holder and the resource version of its lease."""
        self._seen_at_s = 0.0
        self._said = ""
        self._others = True
        """Whether another operator may have held it since this one did."""
        self.succeeds = True
        """Whether another operator may have acted between the present term of this one and its last term."""
        self._attempted_at_s = clock.monotonic()

    @property
    def attempt_age_s(self) -> float:
        """How long ago the last attempt to acquire or renew it ended, with any result, in seconds."""
        return self._clock.monotonic() - self._attempted_at_s

    def held(self) -> bool:
        """Whether this process may act now."""
        return self._clock.monotonic() < self._held_until_s

    async def keep(self, acquired: Callable[[], None]) -> None:
        """Acquire and renew for ever; `acquired` is called when a term begins.

        It begins when the lease was not held and is held now, or another operator held it between two renewals.
        """
        while True:
            pause_s = await self.round(acquired)
            await asyncio.sleep(pause_s)

    async def round(self, acquired: Callable[[], None]) -> float:
        """One attempt, and in how many seconds the next one follows."""
        before = self.held()
        await self.step()
        if self.held() and (self._others or not before):
            self.succeeds, self._others = self._others, False
            acquired()
        return RENEW_EVERY_S if self.held() else RETRY_S

    async def step(self) -> None:
        """One attempt to acquire or renew. A failed one is logged once; a held lease lapses by itself.

        No error ends the attempts: an unexpected one is a fault of this operator, and the next attempt follows.
        """
        try:
            async with asyncio.timeout(RENEW_EVERY_S):
                await self._try()
        except (KubeConflict, KubeAlreadyExists):
            return  # another operator was faster: the next attempt sees it
        except (KubeError, TimeoutError) as error:
            why = str(error) or f"no answer within {RENEW_EVERY_S:g} s"
            self._say(logging.WARNING, f"Did not renew the lease, so nothing is done without it: {why}")
        except Exception:
            logger.exception("a fault of this operator ended an attempt to renew the lease; another follows")
        finally:
            self._attempted_at_s = self._clock.monotonic()

    async def release(self) -> None:
        """Release it, so that the next operator need not wait. Nothing depends on it, and no error escapes."""
        self._held_until_s = 0.0
        try:
            async with asyncio.timeout(_RELEASE_S):
                present = await self._get()
                if present is not None and _holder(present) == self._holder:
                    released = {**present, "spec": {**_spec(present), "holderIdentity": ""}}
                    await self._kube.replace(LEASES, self._namespace, released)
                    logger.info("this operator has released the lease")
        except (KubeError, TimeoutError) as error:
            logger.warning("the lease is not released, and lapses by itself: %s", str(error) or "no answer")
        except Exception:
            logger.exception("a fault of this operator kept it from releasing the lease")

    async def _try(self) -> None:
        sent_s = self._clock.monotonic()
        present = await self._get()
        self._others = self._others or present is None or _holder(present) != self._holder
        if present is None:
            await self._kube.create(LEASES, self._namespace, self._body(transitions=0))
        elif _holder(present) == self._holder or self._lapsed(present, sent_s):
            await self._kube.replace(LEASES, self._namespace, self._renewed(present))
        else:
            self._held_until_s = 0.0
            self._say(logging.INFO, f"{_holder(present)} holds the lease: this operator stands by")
            return
        self._held_until_s = sent_s + DURATION_S - MARGIN_S
        self._say(logging.INFO, "this operator holds the lease, and acts")

    def _lapsed(self, present: Json, now_s: float) -> bool:
        """Whether it is free, or its holder has not renewed it for its duration, while we looked."""
        if not _holder(present):
            return True
        seen = (_holder(present), str(present["metadata"]["resourceVersion"]))
        if seen != self._seen:
            self._seen, self._seen_at_s = seen, now_s
        return now_s - self._seen_at_s > _duration_s(present)

    def _renewed(self, present: Json) -> Json:
        spec = _spec(present)
        taken = _holder(present) != self._holder
        before = spec.get("leaseTransitions")
        transitions = (before if isinstance(before, int) and before > 0 else 0) + (1 if taken else 0)
        transitions = min(transitions, INT32_MAX)  # the API server refuses more, and none could acquire the lease
        body = self._body(transitions=transitions)
        if not taken:
            body["spec"]["acquireTime"] = spec.get("acquireTime") or body["spec"]["acquireTime"]
        body["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"]
        return body

    def _body(self, *, transitions: int) -> Json:
        now = stamps.microsecond(self._clock.now())
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": {
                "holderIdentity": self._holder,
                "leaseDurationSeconds": int(DURATION_S),
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": transitions,
            },
        }

    async def _get(self) -> Json | None:
        return await self._kube.get(LEASES, self._namespace, self._name)

    def _say(self, level: int, text: str) -> None:
        """Log a state that is new."""
        if text != self._said:
            self._said = text
            logger.log(level, "%s", text)


def _spec(item: Json) -> Json:
    """A lease's spec; empty if it was removed."""
    spec = item.get("spec")
    return spec if isinstance(spec, dict) else {}


def _holder(item: Json) -> str:
    return str(_spec(item).get("holderIdentity") or "")


def _duration_s(item: Json) -> float:
    """For how long a lease is waited for: at least as long as every operator writes, even if it was edited."""
    value = _spec(item).get("leaseDurationSeconds")
    return min(max(float(value), DURATION_S), _DURATION_MAX_S) if isinstance(value, int) else DURATION_S
