"""Carry out a plan for a pool: the independent actions together, an exclusive one alone.

Every action may be repeated, and may be lost half-way. Names are fixed, writes of the record compare the resource
version, deletions name uid and resource version, and guarded acts are sent only on a fresh look.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kafka_brokers.act.narrate import narrate
from kafka_brokers.model import actions, names
from kafka_brokers.model.actions import Action
from kafka_brokers.model.contracted import first_contact
from kafka_brokers.model.disks import BrokerIdentity, PoolRecord
from kafka_brokers.model.evidence import noted
from kafka_brokers.model.plan import Outcome, Plan
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.facts import holder_of
from kafka_brokers.plan.throttles import RATES, REPLICAS
from kafka_brokers.resources import objects, pods, stored
from kafka_brokers.resources.meta import is_of_pool
from kafka_brokers.resources.notes import text_of
from kafka_quorum.errors import KafkaError, KafkaRefused
from kafka_quorum.model.brokers import ConfigChange
from kafka_quorum.model.contract import Contract
from kafka_quorum.wire.brokers import Brokers
from kit import token
from kit.clock import Clock
from kit.errors import Fault, KubeAlreadyExists, KubeConflict, KubeError, KubeHeld, KubeNotFound, KubeRefused, NotActing
from kit.kube.applied import apply_over
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, PODS, REVISIONS, SERVICES, Json, KubeApi, ResourceType
from kit.kube.unlisted import taken

_NO_TOPIC: Final = "UNKNOWN_TOPIC_OR_PARTITION"
CREATED_WITHIN_S: Final = 25.0
"""How old a look may be when a pod is created by it. It may be slow, because brokers that do not answer are asked.

Within this time no other operator has used the volumes: it would need ten seconds or more to acquire the lease after
this look, and this operator fifteen more to have it again (`kit.lease`).
"""


class StaleLook(KafkaError):
    """The look that allowed an act is too old when the act would be sent. Nothing was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What every action of one pass refers to. `accepted` is the spec as it is stored beside the record."""

    desired: PoolDesired
    record: PoolRecord | None
    contract: Contract
    spec: Json
    accepted: str
    pull_policy: str


class Executor:
    """Executes actions through the two edges."""

    def __init__(
        self, kube: KubeApi, brokers: Brokers, clock: Clock, *, look_max_age_s: float, may_act: Callable[[], bool]
    ) -> None:
        """Keep the edges; there is no other state. `may_act` says whether this operator holds the lease."""
        self._kube = kube
        self._brokers = brokers
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
            await self._dispatch(action, context)
        except (KubeHeld, StaleLook) as error:
            return Outcome(action=action, done=False, unknown=False, held=True, message=f"{reason}: {error}")
        except (KubeConflict, KubeNotFound) as error:
            text = f"{reason} was not done, because the object was changed or removed. Looking again ({error})"
            return Outcome(action=action, done=False, unknown=False, held=True, message=text)
        except KubeAlreadyExists as error:
            return Outcome(action=action, done=False, unknown=True, message=taken(reason, error))
        except (KubeError, KafkaError) as error:
            message = f"{reason} failed: {error}"
            return Outcome(action=action, done=False, unknown=error.outcome_unknown, message=message)
        return Outcome(action=action, done=True, unknown=False, message=note)

    def _check_age(self, action: Action) -> None:
        if isinstance(action, actions.CreateFormatter | actions.CreatePod):
            self._within(action.judged_at_s, CREATED_WITHIN_S)
        elif actions.is_guarded(action) and isinstance(action, actions.Guarded):
            self._fresh(action.judged_at_s)

    async def _dispatch(self, action: Action, context: Context) -> None:
        self._check_age(action)
        match action:
            case actions.WriteRecord() | actions.KeepSpec():
                await self._record(action, context)
            case actions.TakeToken() | actions.GiveToken():
                await self._token(action, context)
            case (
                actions.AlterConfig()
                | actions.MovePartitions()
                | actions.CancelMoves()
                | actions.Unregister()
                | actions.ElectPreferred()
            ):
                await self._kafka(action)
            case actions.EndThrottle():
                await self._end_throttle(action, context)
            case (
                actions.CreateFormatter()
                | actions.CreatePod()
                | actions.GiveLate()
                | actions.NoteEmpty()
                | actions.DeletePod()
                | actions.EvictPod()
                | actions.MarkPod()
            ):
                await self._pod(action, context)
            case actions.CreateClaim() | actions.AnnotateClaim() | actions.DeleteClaim():
                await self._claim(action, context)
            case _:
                await self._object(action, context)

    def _fresh(self, judged_at_s: float) -> None:
        """Raise StaleLook if the look that allowed an act is too old by now."""
        self._within(judged_at_s, self._look_max_age_s)

    def _within(self, judged_at_s: float, most_s: float) -> None:
        age_s = self._clock.monotonic() - judged_at_s
        if age_s > most_s:
            most = f"at most {most_s:.0f} s are allowed"
            text = f"not done yet: the last look at this pool is {age_s:.1f} s old, and {most}. Looking again"
            raise StaleLook(text, fault=Fault.OURS, retry_safe=False, outcome_unknown=False)

    async def _record(self, action: actions.WriteRecord | actions.KeepSpec, context: Context) -> None:
        desired = context.desired
        match action:
            case actions.WriteRecord(record=record):
                body = stored.record_object(desired, record, context.accepted)
                write = self._kube.replace if record.resource_version else self._kube.create
                await write(CONFIG_MAPS, desired.namespace, body)
            case actions.KeepSpec(resource_version=version):
                body = {"metadata": {"resourceVersion": version}, "data": stored.accepted_data(context.accepted)}
                await self._kube.patch(CONFIG_MAPS, desired.namespace, names.record_name(desired.name), body)

    async def _token(self, action: actions.TakeToken | actions.GiveToken, context: Context) -> None:
        desired = context.desired
        name, holder = names.token_name(desired.quorum), holder_of(desired)
        match action:
            case actions.TakeToken(seen=seen, pods=following):
                for one in following:
                    await self._ask(one, context)
                await token.take(self._kube, self._clock, desired.namespace, name, holder=holder, seen=seen)
            case actions.GiveToken(seen=seen):
                await token.give_back(self._kube, desired.namespace, name, holder=holder, seen=seen)

    async def _ask(self, one: actions.NextPod, context: Context) -> None:
        """Ask whether a pod would be accepted. Raises `KubeRefused` with the reason if not, and nothing is stopped."""
        body = pod_of(one, context)
        try:
            await self._kube.create(PODS, context.desired.namespace, body, dry_run=True)
        except KubeAlreadyExists:
            return  # everything but the name was accepted, and the pod of that name is the one to be stopped
        except KubeRefused as error:
            text = f"broker {one.node_id} is not stopped, because its next pod would be refused: {error.said or error}"
            raise KubeRefused(text) from error

    async def _kafka(
        self,
        action: (
            actions.AlterConfig
            | actions.MovePartitions
            | actions.CancelMoves
            | actions.Unregister
            | actions.ElectPreferred
        ),
    ) -> None:
        match action:
            case actions.AlterConfig(broker=broker, node_id=node_id, changes=changes):
                await self._brokers.alter_broker_config(broker, node_id, changes)
            case actions.MovePartitions(leader=leader, moves=moves) | actions.CancelMoves(leader=leader, moves=moves):
                if isinstance(action, actions.MovePartitions):
                    await self._limit(action)
                refused = await self._brokers.reassign(leader, moves)
                if refused:
                    at, words = next(iter(refused.items()))
                    text = f"{len(refused)} of {len(moves)} moves were refused, for example {at}: {words}"
                    raise KafkaError(text, fault=Fault.THEIRS, retry_safe=True, outcome_unknown=False)
            case actions.Unregister(leader=leader, node_id=node_id):
                await self._brokers.unregister_broker(leader, node_id)
            case actions.ElectPreferred(leader=leader, partitions=partitions):
                await self._brokers.elect_preferred(leader, partitions)

    async def _limit(self, action: actions.MovePartitions) -> None:
        """Limit what the moves copy, before they begin."""
        for node_id, changes in action.rates:
            await self._brokers.alter_broker_config(action.leader, node_id, changes)
        for topic, changes in action.limited:
            await self._brokers.alter_topic_config(action.leader, topic, changes)
        self._fresh(action.judged_at_s)

    async def _end_throttle(self, action: actions.EndThrottle, context: Context) -> None:
        """Remove the limits, then forget them. A topic that is gone has none."""
        for node_id in action.brokers:
            await self._brokers.alter_broker_config(action.leader, node_id, _deleted(RATES))
        for topic in action.topics:
            try:
                await self._brokers.alter_topic_config(action.leader, topic, _deleted(REPLICAS))
            except KafkaRefused as error:
                if error.name != _NO_TOPIC:
                    raise
        desired = context.desired
        await self._kube.replace(
            CONFIG_MAPS, desired.namespace, stored.record_object(desired, action.record, context.accepted)
        )

    async def _pod(
        self,
        action: (
            actions.CreateFormatter
            | actions.CreatePod
            | actions.GiveLate
            | actions.NoteEmpty
            | actions.DeletePod
            | actions.EvictPod
            | actions.MarkPod
        ),
        context: Context,
    ) -> None:
        namespace = context.desired.namespace
        match action:
            case actions.CreateFormatter() | actions.CreatePod():
                await self._kube.create(PODS, namespace, pod_of(action, context))
            case actions.GiveLate(pod=pod, properties=text):
                body = objects.late_mark(text)
                body["metadata"] |= {"uid": pod.uid}
                await self._kube.patch(PODS, namespace, pod.name, body)
            case actions.NoteEmpty(pod=pod):
                body = objects.empty_mark(text_of(noted(pod, self._clock.now().timestamp())))
                body["metadata"] |= {"uid": pod.uid, "resourceVersion": pod.resource_version}
                await self._kube.patch(PODS, namespace, pod.name, body)
            case actions.DeletePod(pod=pod, force=force):
                await self._kube.delete(
                    PODS,
                    namespace,
                    pod.name,
                    uid=pod.uid,
                    resource_version=pod.resource_version,
                    ended=force or pod.finished,
                )
            case actions.EvictPod(pod=pod):
                await self._kube.evict(
                    namespace, pod.name, uid=pod.uid, resource_version=pod.resource_version, dry_run=True
                )
                self._fresh(action.judged_at_s)
                await self._kube.evict(namespace, pod.name, uid=pod.uid, resource_version=pod.resource_version)
            case actions.MarkPod(pod=pod, gate=gate, message=message):
                body = objects.unfenced_mark(gate=gate, message=message)
                body["metadata"] = {"uid": pod.uid}
                await self._kube.patch(PODS, namespace, pod.name, body, subresource="status", strategic=True)

    async def _claim(
        self, action: actions.CreateClaim | actions.AnnotateClaim | actions.DeleteClaim, context: Context
    ) -> None:
        desired, record = context.desired, record_of(context)
        match action:
            case actions.CreateClaim(node_id=node_id, index=index):
                broker = broker_of(context, node_id)
                disk = broker.disk(index)
                if disk is None:
                    raise ValueError(f"broker {node_id} has no volume {index}")
                await self._kube.create(CLAIMS, desired.namespace, objects.claim(desired, record, broker, disk))
            case actions.AnnotateClaim(claim=claim, directory_id=directory_id, grow_to=grow_to, retired=retired):
                metadata = {
                    "uid": claim.uid,
                    "resourceVersion": claim.resource_version,
                    "annotations": objects.claim_annotations(record, directory_id, retired=retired),
                    "labels": objects.claim_labels(desired.name, claim.node_id, claim.index),
                }
                body: Json = {"metadata": metadata}
                if grow_to is not None:
                    body["spec"] = {"resources": {"requests": {"storage": grow_to}}}
                await self._kube.patch(CLAIMS, desired.namespace, claim.name, body)
            case actions.DeleteClaim(claim=claim):
                version = claim.resource_version
                await self._kube.delete(CLAIMS, desired.namespace, claim.name, uid=claim.uid, resource_version=version)

    async def _apply(
        self, resource: ResourceType, body: Json, action: actions.ApplyService | actions.ApplyBudget, context: Context
    ) -> None:
        """Apply an object of ours, over the version that is there, and never an object of others with the same name."""
        desired, name = context.desired, body["metadata"]["name"]
        present = await self._kube.get(resource, desired.namespace, name)
        if present is not None and not is_of_pool(present, desired):
            text = "it is not this pool's. Delete it, or create the pool under another name"
            raise KubeRefused(f"Did not change {resource.kind} {name}: {text}")
        self._check_age(action)  # the answer may have taken long
        await apply_over(self._kube, resource, desired.namespace, present, body)

    async def _object(self, action: Action, context: Context) -> None:
        desired = context.desired
        match action:
            case actions.ApplyService(name=name):
                await self._apply(SERVICES, service_of(name, context), action, context)
            case actions.DeleteService(name=name, uid=uid):
                await self._kube.delete(SERVICES, desired.namespace, name, uid=uid)
            case actions.ApplyBudget(min_available=count):
                await self._apply(BUDGETS, objects.budget(desired, count), action, context)
            case actions.CreateRevision(revision=revision):
                body = stored.revision_object(desired, revision, context.spec)
                await self._kube.create(REVISIONS, desired.namespace, body)
            case actions.DeleteRevision(name=name, uid=uid):
                await self._kube.delete(REVISIONS, desired.namespace, name, uid=uid)
            case actions.CreateConfig(revision=revision):
                ids = record_of(context).node_ids
                body = objects.config(desired, revision, ids, first_contact(context.contract))
                await self._kube.create(CONFIG_MAPS, desired.namespace, body)
            case actions.DeleteConfig(name=name, uid=uid):
                await self._kube.delete(CONFIG_MAPS, desired.namespace, name, uid=uid)
            case _:
                raise TypeError(f"{type(action).__name__} has no handler: a fault of this operator")


def _deleted(names_: tuple[str, ...]) -> tuple[ConfigChange, ...]:
    return tuple(ConfigChange(name=name, value=None) for name in names_)


def pod_of(action: actions.CreateFormatter | actions.CreatePod | actions.NextPod, context: Context) -> Json:
    """The pod that this action creates, or that is asked about."""
    record, broker = record_of(context), broker_of(context, action.node_id)
    if isinstance(action, actions.CreateFormatter):
        return pods.formatter(
            context.desired,
            record,
            broker,
            action.revision,
            config=action.config_name,
            avoid_nodes=action.avoid_nodes,
            pull_policy=context.pull_policy,
        )
    return pods.kafka(
        context.desired,
        record,
        broker,
        action.revision,
        config=action.config_name,
        pull_policy=context.pull_policy,
    )


def service_of(name: str, context: Context) -> Json:
    """The service of this name."""
    desired = context.desired
    built = objects.services(desired, desired.runtime, record_of(context).node_ids)
    return next(body for body in built if body["metadata"]["name"] == name)


def record_of(context: Context) -> PoolRecord:
    """The record that an action of an existing pool refers to."""
    if context.record is None:
        raise ValueError("the planner asked for an object of a pool without a record")
    return context.record


def broker_of(context: Context, node_id: int) -> BrokerIdentity:
    """The broker that an action refers to."""
    found = next((one for one in record_of(context).brokers if one.node_id == node_id), None)
    if found is None:
        raise ValueError(f"the planner asked for broker {node_id}, which the record does not have")
    return found
