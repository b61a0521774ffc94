"""Carry out a plan: the independent actions together, an exclusive one alone.

Every action may be repeated, and may be lost half-way. Names are fixed, and writes of the record and the status compare
the resource version. Deletions name uid and resource version, and an act on the quorum is sent only on a fresh look.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from kafka_quorum.act.building import Context, built, node_of, pod_of, record_of
from kafka_quorum.act.disks import Disks
from kafka_quorum.act.narrate import narrate
from kafka_quorum.act.scram import ScramUsers
from kafka_quorum.act.secrets import Secrets
from kafka_quorum.errors import KafkaError, KafkaUnsecured, ZooKeeperChanged, ZooKeeperUnusable
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model import actions, identity, names
from kafka_quorum.model.actions import Action
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import TOLD_LATER, IdentityRecord
from kafka_quorum.model.ids import ClusterID, DirectoryID, ReplicaKey, usable_uuid, uuid_from_bytes
from kafka_quorum.model.operation import VoterChange
from kafka_quorum.model.plan import Outcome, Plan
from kafka_quorum.model.pods import PodRole, Terminated
from kafka_quorum.model.quorum import FeatureStep, RegisterController, UpdateFeature
from kafka_quorum.model.zookeeper import ZooKeeperSecret
from kafka_quorum.resources import contract as contracts
from kafka_quorum.resources import objects, stored
from kafka_quorum.resources.intent import operation_row
from kafka_quorum.resources.meta import adoption, foreign_controller, labels, owner
from kafka_quorum.resources.tls import keystore_path
from kafka_quorum.resources.zookeeper import KEYS, secret_from
from kafka_quorum.settings import Settings
from kafka_quorum.wire.protocol import Controllers
from kafka_quorum.wire.zookeeper import ZooKeepers
from kit import stamps, token
from kit.clock import Clock
from kit.errors import Fault, KubeAlreadyExists, KubeConflict, KubeError, KubeHeld, KubeNotFound, KubeRefused, NotActing
from kit.ids import IdSource
from kit.kube.applied import apply_over
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, PODS, REVISIONS, SERVICES, Json, KubeApi, ResourceType
from kit.kube.secrets import Use, read_secret
from kit.kube.unlisted import taken
from kit.parsing import Malformed
from kit.pki.authority import DICE, Dice

_STEP_TIMEOUT_MS = 5_000
_WAY_OUT = "Delete it, or create the quorum under another name"
"""Neither an object nor a KafkaQuorum can be renamed."""


class StaleLook(KafkaError):
    """The look that allowed an act is too old when the act would be sent. Nothing was sent."""


class Executor:
    """Executes actions through the two edges."""

    def __init__(
        self,
        kube: KubeApi,
        controllers: Controllers,
        clock: Clock,
        ids: IdSource,
        settings: Settings,
        may_act: Callable[[], bool] = lambda: True,
        zookeepers: ZooKeepers | None = None,
        dice: Dice = DICE,
    ) -> None:
        """Keep the edges; there is no other state. `may_act` says whether this operator holds the lease."""
        self._dice = dice
        self._zookeepers = zookeepers
        self._kube = kube
        self._controllers = controllers
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._may_act = may_act
        self._users = ScramUsers(kube=kube, controllers=controllers, ids=ids, fresh=self._fresh)

    async def execute(self, plan: Plan, context: Context) -> tuple[Outcome, ...]:
        """All actions of a plan, each with its outcome, in order."""
        return tuple(await asyncio.gather(*(self._one(action, context) for action in plan.actions)))

    async def _one(self, action: Action, context: Context) -> Outcome:
        reason, note = narrate(action)
        if not self._may_act():
            raise NotActing("Did not change anything: the lease has lapsed, and this operator has to acquire it again")
        try:
            await self._dispatch(action, context)
        except (KubeHeld, StaleLook, KafkaUnsecured, ZooKeeperChanged) as error:
            return Outcome(action=action, done=False, unknown=False, held=True, message=f"{reason}: {error}")
        except (KubeConflict, KubeNotFound) as error:
            text = f"{reason} was not done, because the object was changed or removed. Looking again ({error})"
            return Outcome(action=action, done=False, unknown=False, held=True, message=text)
        except KubeAlreadyExists as error:
            # A creation whose answer was lost, or an object of another owner: the next look finds out which.
            return Outcome(action=action, done=False, unknown=True, message=taken(reason, error))
        except KubeError as error:
            refused = _refusal(action, error)
            message = f"{reason} failed: {error}"
            return Outcome(action=action, done=False, unknown=error.outcome_unknown, message=message, refused=refused)
        except KafkaError as error:
            return Outcome(
                action=action, done=False, unknown=error.outcome_unknown, message=f"{reason} failed: {error}"
            )
        return Outcome(action=action, done=True, unknown=False, message=note)

    async def _dispatch(self, action: Action, context: Context) -> None:
        self._check_age(action)
        match action:
            case actions.MintIdentity() | actions.WriteRecord() | actions.KeepSpec() | actions.SetRecordOwner():
                await self._identity(action, context)
            case actions.BeginOperation() | actions.BeginFeatureStep() | actions.FinishOperation():
                await self._intent(action, context)
            case actions.AddRaftVoter() | actions.RemoveRaftVoter():
                await self._change_voters(action, context)
            case actions.StepFeature() | actions.CureGhost():
                await self._change_features(action, context)
            case actions.DeletePod() | actions.RestartPod():
                await self._stop(action, context)
            case actions.MarkPod() | actions.CreatePod() | actions.CreateFormatter():
                await self._pod(action, context)
            case actions.TakeToken() | actions.GiveToken():
                await self._token(action, context.desired)
            case actions.GiveBackNodes():
                await self._give_back(action, context.desired)
            case _ if isinstance(action, actions.OnTrust | actions.OnDisks):
                await self._apart(action, context)
            case _:
                await self._object(action, context)

    async def _identity(
        self,
        action: actions.MintIdentity | actions.WriteRecord | actions.KeepSpec | actions.SetRecordOwner,
        context: Context,
    ) -> None:
        desired = context.desired
        match action:
            case actions.MintIdentity():
                record = self._minted(action)
                await self._kube.create(
                    CONFIG_MAPS, desired.namespace, stored.record_object(desired, record, context.accepted)
                )
            case actions.WriteRecord(record=record):
                body = stored.record_object(desired, record, context.accepted)
                write = self._kube.replace if record.resource_version else self._kube.create
                await write(CONFIG_MAPS, desired.namespace, body)
            case actions.KeepSpec(resource_version=version):
                body = {"metadata": {"resourceVersion": version}, "data": stored.accepted_data(context.accepted)}
                await self._kube.patch(CONFIG_MAPS, desired.namespace, names.record_name(desired.name), body)
            case actions.SetRecordOwner(resource_version=version):
                metadata = {
                    "resourceVersion": version,
                    "labels": stored.record_labels(desired.name),  # a restore may have removed them
                    "ownerReferences": objects.volume_owner(desired),
                }
                name = names.record_name(desired.name)
                await self._kube.patch(CONFIG_MAPS, desired.namespace, name, {"metadata": metadata})

    async def _token(self, action: actions.TakeToken | actions.GiveToken, desired: Desired) -> None:
        """Both name the version of the Lease that was seen."""
        place, holder = (desired.namespace, names.token_name(desired.name)), names.token_holder(desired.name)
        match action:
            case actions.TakeToken(seen=seen):
                metadata = {"labels": labels(desired.name), "ownerReferences": owner(desired)}
                await token.take(self._kube, self._clock, *place, holder=holder, seen=seen, metadata=metadata)
            case actions.GiveToken(seen=seen):
                await token.give_back(self._kube, *place, holder=holder, seen=seen)

    async def _give_back(self, action: actions.GiveBackNodes, desired: Desired) -> None:
        """The one write to ZooKeeper: it compares what the look showed."""
        if self._zookeepers is None:
            raise ValueError("this operator has no connection to ZooKeeper")
        secret = ZooKeeperSecret()
        if name := action.access.secret_name:
            use = Use(reader=names.reader(desired.name), where="spec.zookeeper", annotation=names.USED_BY)
            try:
                texts = await read_secret(self._kube, desired.namespace, name, use, KEYS)
                secret = secret_from(texts)
            except Malformed as error:
                raise ZooKeeperUnusable(str(error), fault=Fault.OURS, retry_safe=True, outcome_unknown=False) from error
        self._check_age(action)  # the answer may have taken long
        await self._zookeepers.give_back(action.access, secret, action.what)

    async def _intent(
        self, action: actions.BeginOperation | actions.BeginFeatureStep | actions.FinishOperation, context: Context
    ) -> None:
        """Write or clear the intent, guarded by the resource version that the plan saw."""
        match action:
            case actions.BeginOperation(change=change):
                operation: Json | None = self._operation(change)
            case actions.BeginFeatureStep(step=step):
                operation = self._operation(step)
            case actions.FinishOperation():
                operation = None
        metadata = context.resource["metadata"]
        body = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": {"operation": operation}}
        await self._kube.patch(QUORUMS, metadata["namespace"], metadata["name"], body, subresource="status")

    def _operation(self, intent: VoterChange | FeatureStep) -> Json:
        id_, started_at = self._ids.uuid_bytes().hex()[:12], stamps.second(self._clock.now())
        return operation_row(intent, id_=id_, holder=self._settings.holder, started_at=started_at)

    def _minted(self, action: actions.MintIdentity) -> IdentityRecord:
        cluster_id = action.cluster_id or ClusterID(self._uuid())
        told = action.format.mode in TOLD_LATER  # the disks report theirs later
        initial = [
            ReplicaKey(node_id=node_id, directory_id=None if told else DirectoryID(self._uuid()))
            for node_id in action.initial
        ]
        return identity.mint(cluster_id, action.format, initial, action.others)

    def _uuid(self) -> str:
        while not usable_uuid(raw := self._ids.uuid_bytes()):
            pass
        return uuid_from_bytes(raw)

    def _check_age(self, action: Action) -> None:
        """Raise StaleLook if the look that allowed a guarded action on Kubernetes is too old by now."""
        if actions.is_guarded(action) and isinstance(action, actions.Guarded):
            self._fresh(action.judged_at_s)

    def _fresh(self, judged_at_s: float) -> None:
        """Raise StaleLook if the look that allowed an act is too old by now."""
        age_s = self._clock.monotonic() - judged_at_s
        if age_s > self._settings.look_max_age_s:
            most = f"at most {self._settings.look_max_age_s:.0f} s are allowed"
            text = f"not done yet: the last look at this quorum is {age_s:.1f} s old, and {most}. Looking again"
            raise StaleLook(text, fault=Fault.OURS, retry_safe=False, outcome_unknown=False)

    async def _apart(self, action: actions.OnTrust | actions.OnDisks, context: Context) -> None:
        """Actions that other modules carry out."""
        if isinstance(action, actions.OnDisks):
            await Disks(kube=self._kube, pull_policy=self._settings.image_pull_policy).work(action, context)
        else:
            await self._trust(action, context)

    async def _trust(self, action: actions.OnTrust, context: Context) -> None:
        """Write a Secret with a key, or let a listener load it."""
        match action:
            case actions.SetScramUser() | actions.RemoveScramUser():
                await self._users.change(action, context)
            case actions.ReloadListener(leader=leader, node_id=node_id, listener=listener):
                self._fresh(action.judged_at_s)
                path = keystore_path(self._clock.now())
                await self._controllers.reload_keystore(context.access(leader), node_id, listener, path)
            case _:
                await Secrets(kube=self._kube, now=self._clock.now, dice=self._dice).write(action, context)

    async def _change_voters(self, action: actions.AddRaftVoter | actions.RemoveRaftVoter, context: Context) -> None:
        self._fresh(action.judged_at_s)
        leader = context.access(action.leader)
        match action:
            case actions.AddRaftVoter(request=adding):
                await self._controllers.add_voter(leader, adding)
            case actions.RemoveRaftVoter(request=removing):
                await self._controllers.remove_voter(leader, removing)

    async def _change_features(self, action: actions.StepFeature | actions.CureGhost, context: Context) -> None:
        """Ask the server for its cluster id first, on the same connection, because these requests carry none."""
        self._fresh(action.judged_at_s)
        record, leader = record_of(context), context.access(action.leader)
        cluster = await self._controllers.describe_cluster(leader)
        if cluster.cluster_id != record.cluster_id:
            both = f"its cluster id is {cluster.cluster_id}, not {record.cluster_id}"
            text = f"controller {action.leader} is of another cluster: {both}"
            raise StaleLook(text, fault=Fault.OURS, retry_safe=False, outcome_unknown=False)
        self._fresh(action.judged_at_s)  # the answer may have taken long
        match action:
            case actions.StepFeature(step=step):
                request = UpdateFeature(step=step, validate_only=False, timeout_ms=_STEP_TIMEOUT_MS)
                await self._controllers.update_feature(leader, request)
            case actions.CureGhost(node_id=node_id, supported=()):
                await self._controllers.unregister_controller(leader, node_id)
            case actions.CureGhost(node_id=node_id, supported=supported):
                again = RegisterController(
                    node_id=node_id, incarnation_id=self._uuid(), listeners=action.listeners, supported=supported
                )
                await self._controllers.register_controller(leader, again)

    async def _stop(self, action: actions.DeletePod | actions.RestartPod, context: Context) -> None:
        """Stop exactly this pod."""
        pod, namespace = action.pod, context.desired.namespace
        uid, version = pod.uid, pod.resource_version
        match action:
            case actions.RestartPod(evict=True):
                evict = partial(self._kube.evict, namespace, pod.name, uid=uid, resource_version=version)
                await evict(dry_run=True)
                self._check_age(action)  # the answer may have taken long
                await evict()
            case actions.RestartPod():
                await self._kube.delete(PODS, namespace, pod.name, uid=uid, resource_version=version)
            case actions.DeletePod(force=force):
                # A kubelet takes seconds to release a pod. In a formatter that has ended, nothing ever runs again.
                ended = force or (pod.role is PodRole.FORMATTER and isinstance(pod.container, Terminated))
                await self._kube.delete(PODS, namespace, pod.name, uid=uid, resource_version=version, ended=ended)

    async def _pod(
        self, action: actions.MarkPod | actions.CreatePod | actions.CreateFormatter, context: Context
    ) -> None:
        desired = context.desired
        match action:
            case actions.MarkPod(pod=pod, voter=voter, gate=gate, message=message):
                label, status = objects.pod_mark(voter=voter, gate=gate, message=message)
                guard = {"uid": pod.uid}
                label["metadata"] |= guard
                if pod.owner_uid is None:  # orphaned: adopted, unless something else took it after the look
                    label["metadata"] |= adoption(desired, pod.resource_version)
                await self._kube.patch(PODS, desired.namespace, pod.name, label)
                self._check_age(action)  # the first request may have taken long
                body = status | {"metadata": guard}
                await self._kube.patch(PODS, desired.namespace, pod.name, body, subresource="status", strategic=True)
            case actions.CreatePod() | actions.CreateFormatter():
                body = pod_of(action, context, self._settings.image_pull_policy)
                await self._kube.create(PODS, desired.namespace, body)

    async def _apply(self, resource: ResourceType, body: Json, action: Action) -> None:
        """Apply an object of ours, over the version that is there, and never an object of others with the same name."""
        metadata = body["metadata"]
        present = await self._kube.get(resource, metadata["namespace"], metadata["name"])
        wanted = metadata["labels"][names.LABEL_QUORUM]
        if present is not None and present["metadata"].get("labels", {}).get(names.LABEL_QUORUM) != wanted:
            raise KubeRefused(f"Did not change {resource.kind} {metadata['name']}: it is not this quorum's. {_WAY_OUT}")
        if present is not None and (other := foreign_controller(present)) is not None:
            text = f"{other.get('kind')} {other.get('name')} controls it"
            raise KubeRefused(f"Did not change {resource.kind} {metadata['name']}: {text}. {_WAY_OUT}")
        self._check_age(action)  # the answer may have taken long
        await apply_over(self._kube, resource, metadata["namespace"], present, body)

    async def _object(  # noqa: C901, PLR0912 - one case per action, nothing else
        self,
        action: actions.ApplyService
        | actions.ApplyBudget
        | actions.ApplyContract
        | actions.CreateRevision
        | actions.DeleteRevision
        | actions.CreateConfig
        | actions.DeleteConfig
        | actions.AdoptConfig
        | actions.CreateClaim
        | actions.AnnotateClaim
        | actions.DeleteClaim,
        context: Context,
    ) -> None:
        desired, namespace = context.desired, context.desired.namespace
        match action:
            case actions.ApplyContract(contract=contract):
                write = self._kube.replace if contract.resource_version else self._kube.create
                await write(CONFIG_MAPS, namespace, contracts.contract_object(desired, contract))
            case actions.ApplyService(port=port):
                await self._apply(SERVICES, objects.service(desired, port), action)
            case actions.ApplyBudget(min_available=count):
                await self._apply(BUDGETS, objects.budget(desired, count), action)
            case actions.CreateRevision(name=name, number=number, inputs_hash=hash_):
                runtime = action.runtime
                image = runtime.image or self._settings.image_template.format(version=runtime.release)
                spec = context.spec
                build = partial(stored.revision_object, desired, name, number, runtime=runtime, image=image)
                await self._kube.create(REVISIONS, namespace, built(partial(build, inputs_hash=hash_, spec=spec)))
            case actions.DeleteRevision(name=name, uid=uid, resource_version=version):
                await self._kube.delete(REVISIONS, namespace, name, uid=uid, resource_version=version)
            case actions.CreateConfig(name=name, revision=revision, node_ids=node_ids):
                body = built(partial(objects.config, desired, name, revision, node_ids))
                await self._kube.create(CONFIG_MAPS, namespace, body)
            case actions.AdoptConfig(name=name, resource_version=version):
                await self._kube.patch(CONFIG_MAPS, namespace, name, {"metadata": adoption(desired, version)})
            case actions.DeleteConfig(name=name):
                present = await self._kube.get(CONFIG_MAPS, namespace, name)
                if present is not None:
                    await self._kube.delete(CONFIG_MAPS, namespace, name, uid=present["metadata"]["uid"])
            case actions.CreateClaim(node_id=node_id):
                record, node = node_of(context, node_id)
                await self._kube.create(CLAIMS, namespace, objects.claim(desired, record, node))
            case actions.DeleteClaim(claim=claim):
                version = claim.resource_version
                await self._kube.delete(CLAIMS, namespace, claim.name, uid=claim.uid, resource_version=version)
            case actions.AnnotateClaim(
                claim=claim, directory_id=directory_id, grow_to=grow_to, retired=retired, kept=kept, recovery=epoch
            ):
                record = record_of(context)
                copied = objects.claim_annotations(record, directory_id, retired=retired, kept=kept, recovery=epoch)
                metadata = {
                    "uid": claim.uid,
                    "resourceVersion": claim.resource_version,  # it writes the owner: nothing else may have taken it
                    "annotations": copied,
                    "labels": objects.claim_labels(desired.name, claim.node_id),
                    "ownerReferences": objects.volume_owner(desired),
                }
                body = {"metadata": metadata}
                if grow_to is not None:
                    body["spec"] = {"resources": {"requests": {"storage": grow_to}}}
                await self._kube.patch(CLAIMS, namespace, claim.name, body)


def _refusal(action: Action, error: KubeError) -> str:
    """Why a pod was refused, in the API server's words or ours; empty if the error is no refusal of a pod."""
    pod = isinstance(action, actions.CreatePod | actions.CreateFormatter)
    return error.said or str(error) if pod and isinstance(error, KubeRefused) else ""
