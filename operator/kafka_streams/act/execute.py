"""Carry out a plan for an application: the independent actions together, an exclusive one alone.

Every action may be repeated, and may be lost half-way. Names are fixed, writes of the record compare the resource
version, deletions name uid and resource version, and guarded acts are sent only on a fresh look.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from kafka_streams.act.narrate import Outcome, narrate
from kafka_streams.model import actions, names
from kafka_streams.model.actions import Action, Guarded
from kafka_streams.model.application import Desired
from kafka_streams.model.plan import Plan
from kafka_streams.resources import pods, stored
from kit.clock import Clock
from kit.errors import KubeAlreadyExists, KubeConflict, KubeError, KubeHeld, KubeNotFound, NotActing
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, REVISIONS, Json, KubeApi


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What every action of one pass refers to. `accepted` is the spec as it is stored beside the record."""

    desired: Desired
    spec: Json
    accepted: str
    pull_policy: str


class StaleLookError(Exception):
    """The look that allowed an act is too old when the act would be sent. Nothing was sent."""


class Executor:
    """Executes actions."""

    def __init__(self, kube: KubeApi, clock: Clock, *, look_max_age_s: float, may_act: Callable[[], bool]) -> None:
        """Keep the edge; there is no other state. `may_act` says whether this operator holds the lease."""
        self._kube = kube
        self._clock = clock
        self._look_max_age_s = look_max_age_s
        self._may_act = may_act

    async def execute(self, plan: Plan, context: Context) -> tuple[Outcome, ...]:
        """All actions of a plan, each with its outcome, in order."""
        return tuple(await asyncio.gather(*(self._one(action, context) for action in plan.actions)))

    async def _one(self, action: Action, context: Context) -> Outcome:
        reason, note = narrate(action)
        if not self._may_act():
            raise NotActing("Did not change anything: the lease has lapsed, and this operator has to acquire it again")
        try:
            if isinstance(action, Guarded) and actions.is_guarded(action):
                self._fresh(action.judged_at_s)
            await self._dispatch(action, context)
        except (KubeHeld, StaleLookError) as error:
            return Outcome(action=action, done=False, unknown=False, held=True, message=f"{reason}: {error}")
        except (KubeConflict, KubeNotFound) as error:
            text = f"{reason} was not done, because the object was changed or removed. Looking again ({error})"
            return Outcome(action=action, done=False, unknown=False, held=True, message=text)
        except KubeAlreadyExists as error:
            text = f"{reason} failed: an object of this name exists already ({error})"
            return Outcome(action=action, done=False, unknown=True, message=text)
        except KubeError as error:
            text = f"{reason} failed: {error}"
            return Outcome(action=action, done=False, unknown=error.outcome_unknown, message=text)
        return Outcome(action=action, done=True, unknown=False, message=note)

    def _fresh(self, judged_at_s: float) -> None:
        """Raise StaleLookError if the look that allowed an act is too old by now."""
        age_s = self._clock.monotonic() - judged_at_s
        if age_s > self._look_max_age_s:
            most = f"at most {self._look_max_age_s:.0f} s are allowed"
            text = f"not done yet: the last look at this application is {age_s:.1f} s old, and {most}. Looking again"
            raise StaleLookError(text)

    async def _dispatch(self, action: Action, context: Context) -> None:
        desired, kube = context.desired, self._kube
        namespace = desired.namespace
        match action:
            case actions.WriteRecord(record=record):
                body = stored.record_object(desired, record, context.accepted)
                write = kube.replace if record.resource_version else kube.create
                await write(CONFIG_MAPS, namespace, body)
            case actions.KeepSpec(resource_version=version):
                body = {
                    "metadata": {"resourceVersion": version},
                    "data": stored.accepted_data(context.accepted),
                }
                await kube.patch(CONFIG_MAPS, namespace, names.record_name(desired.name), body)
            case actions.CreateRevision(revision=revision):
                file = pods.properties(desired, revision)
                if file is not None:
                    await self._once(file, namespace)
                await kube.create(REVISIONS, namespace, stored.revision_object(desired, revision, context.spec))
            case actions.CreateClaim(slot=slot):
                await kube.create(CLAIMS, namespace, pods.claim(desired, slot))
            case actions.CreatePod(slot=slot, revision=revision):
                await kube.create(PODS, namespace, pods.instance(desired, slot, revision, context.pull_policy))
            case actions.StopPod(pod=pod) | actions.ReplacePod(pod=pod):
                await kube.delete(PODS, namespace, pod.name, uid=pod.uid, resource_version=pod.resource_version)
            case actions.DeleteClaim(claim=claim):
                version = claim.resource_version
                await kube.delete(CLAIMS, namespace, claim.name, uid=claim.uid, resource_version=version)

    async def _once(self, file: Json, namespace: str) -> None:
        """Create a config map whose name says its content; one that exists is the same."""
        try:
            await self._kube.create(CONFIG_MAPS, namespace, file)
        except KubeAlreadyExists:
            return
