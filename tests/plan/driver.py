"""A small world without time: it carries out plans, one action or all, and moves on by one step in between.

The simulation has the faithful models. This world is for plans alone, so that a test can interrupt a plan anywhere.
"""

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import Any

from tests.model.values import (
    NAME,
    SILENT,
    UID,
    claim,
    directory,
    empty_report,
    formatter,
    kube_nodes,
    looks,
    mirrored,
    node,
    nothing,
    operation,
    pod,
    report,
    situation,
    stepping,
    still_blank,
    uuid,
    view,
)
from tests.plan.features import Features
from tests.plan.reading import planned
from tests.simulation.rules.book import rule

from kafka_quorum.api.features import KRAFT
from kafka_quorum.model import actions as act
from kafka_quorum.model import names
from kafka_quorum.model.actions import EXCLUSIVE, Action
from kafka_quorum.model.desired import BootstrapMode, Desired, Runtime
from kafka_quorum.model.identity import FormatMode, IdentityRecord, NodeIdentity, mint
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import LostNode, Soak, StepCheck
from kafka_quorum.model.nodes import node_of
from kafka_quorum.model.observed import Observed, Revision, SupportObject
from kafka_quorum.model.plan import Plan
from kafka_quorum.model.pods import Pod, PodRole, Running, Terminated, Waiting
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.plan.releases.wants import announced, questions

_CREATING = Waiting(reason="ContainerCreating", message="", last_exit=None)
_DONE = Terminated(exit_code=0, reason="Completed", message="", finished_at="")
_LONG_S = 100_000.0
_REFUSED = Terminated(exit_code=1, reason="Error", message="", finished_at="")


@dataclass(slots=True, kw_only=True)
class World(Features):
    """What is observed, and behind it the disks by claim uid and the voter set.

    `bad_images` never start. On a Kubernetes node in `down` nothing runs and nothing ends; it has been down for long
    enough.
    """

    desired: Desired
    observed: Observed = field(default_factory=nothing)
    disks: dict[str, DirectoryID] = field(default_factory=dict)
    voters: frozenset[ReplicaKey] = frozenset()
    bad_images: frozenset[str] = frozenset()
    down: frozenset[str] = frozenset()
    ran: dict[DirectoryID, str] = field(default_factory=dict)
    """The claim that each directory id ran on: it never runs on another one (rule 2)."""
    ever_ran: bool = False
    serial: int = 100
    leader: ReplicaKey | None = None
    restarts: list[NodeID] = field(default_factory=list)
    """The controllers that were stopped to be recreated, in order."""

    def fork(self) -> "World":
        """A copy of this world that changes independently."""
        own = [(one.name, getattr(self, one.name)) for one in fields(self)]
        copies: dict[str, Any] = {name: copy(value) for name, value in own if isinstance(value, dict | list)}
        return replace(self, **copies)

    def run(self, *, drop: int = -1, limit: int = 60, forks: "list[tuple[World, int]] | None" = None) -> int:
        """Plans, acts and moves on until nothing is planned, and counts the actions that were carried out.

        The action with the number `drop` is lost, with every later action of its plan. `forks` collects, for each
        action, the world in which its plan was made, and the action's number in that plan.
        """
        done = 0
        for _ in range(limit):
            plan = planned(self.observed, self.desired)
            if not plan.actions and self._still():
                return done
            self._check(plan)
            if forks is not None:
                forks.extend((self.fork(), number) for number in range(len(plan.actions)))
            for action in plan.actions:
                done += 1
                if done - 1 == drop:
                    break
                self._apply(action)
            self._move()
        raise AssertionError(f"no rest after {limit} passes: {planned(self.observed, self.desired)}")

    def pass_once(self) -> None:
        """Plans, acts and moves on by one step."""
        for action in planned(self.observed, self.desired).actions:
            self._apply(action)
        self._move()

    def _still(self) -> bool:
        before = self.observed
        self._move()
        return before == self.observed

    def _check(self, plan: Plan) -> None:
        """Checks the absolute rules against the world's own truth."""
        assert len(plan.actions) == 1 or not any(isinstance(action, EXCLUSIVE) for action in plan.actions)
        for action in plan.actions:
            if isinstance(action, act.CreateFormatter):
                of = node(self._record(), action.node_id)
                assert of.mode is FormatMode.NO_INITIAL_CONTROLLERS or not self.ever_ran, rule("1")
                again = of.directory_id in (None, self.disks.get(of.claim_uid or "")) and not self.ever_ran
                assert of.claim_uid not in self.disks or again, rule("2", "a formatted disk")
            if isinstance(action, act.CreatePod):
                of = node(self._record(), action.node_id)
                assert of.directory_id not in self._record().retired, rule("2", "retired")
                assert not any(one.claim_uid == of.claim_uid for one in self.observed.pods), rule(
                    "2", "two on one disk"
                )

    def _record(self) -> IdentityRecord:
        assert self.observed.record is not None
        return self.observed.record

    def _store(self, record: IdentityRecord) -> None:
        self.serial += 1
        self.observed = replace(self.observed, record=replace(record, resource_version=str(self.serial)))

    def _apply(self, action: Action) -> None:  # noqa: C901, PLR0912, PLR0915 - one case an action, nothing else
        match action:
            case act.MintIdentity():
                static = action.format.mode is BootstrapMode.STATIC
                initial = [
                    ReplicaKey(node_id=node_id, directory_id=None if static else directory(node_id))
                    for node_id in action.initial
                ]
                self._store(mint(action.cluster_id or ClusterID(uuid(7)), action.format, initial, action.others))
            case act.WriteRecord(record=record):
                self._store(record)
            case act.KeepSpec():
                self.observed = replace(self.observed, spec_kept=True)
            case act.SetRecordOwner():
                self.observed = replace(self.observed, record_owner_uid=UID)
            case act.ApplyService():
                self._support("Service", names.service_name(NAME), names.service_facts(NAME, 9093))
            case act.ApplyBudget(min_available=count):
                self._support("PodDisruptionBudget", names.budget_name(NAME), names.budget_facts(NAME, count))
            case act.CreateConfig(name=name):
                self._support("ConfigMap", name, "")
            case act.AdoptConfig(name=name):
                mine = (replace(one, owner_uid=UID) if one.name == name else one for one in self.observed.support)
                self.observed = replace(self.observed, support=tuple(mine))
            case act.DeleteConfig(name=name):
                kept = tuple(item for item in self.observed.support if item.name != name)
                self.observed = replace(self.observed, support=kept)
            case act.DeleteRevision(name=name):
                kept = tuple(item for item in self.observed.support if item.name != name)
                left = tuple(one for one in self.observed.revisions if one.name != name)
                assert self.observed.revision(name) is not None, rule("revisions", f"{name} is gone already")
                self.observed = replace(self.observed, support=kept, revisions=left)
            case act.CreateRevision():
                made = Revision(
                    name=action.name,
                    number=action.number,
                    image=action.runtime.image,
                    inputs_hash=action.inputs_hash,
                    runtime=action.runtime,
                )
                self.observed = replace(self.observed, revisions=(*self.observed.revisions, made))
            case act.CreateClaim(node_id=node_id):
                self.serial += 1
                of = node(self._record(), node_id)
                bare = claim(self._record(), of, uid=f"claim-{self.serial}", bound_to=_place(of))
                self.observed = replace(self.observed, claims=(*self.observed.claims, bare))
            case act.AnnotateClaim(claim=old, directory_id=directory_id):
                record = self._record()
                phase = names.RETIRED if action.retired else record.phase.value
                copied = replace(old, cluster_id=record.cluster_id, directory_id=directory_id, phase=phase)
                claims = tuple(copied if one.uid == old.uid else one for one in self.observed.claims)
                self.observed = replace(self.observed, claims=claims)
            case act.DeleteClaim(claim=old):
                assert not any(one.claim_name == old.name for one in self.observed.pods), rule("6", "in use")
                assert old.directory_id not in {key.directory_id for key in self.voters}, rule("6", "a voter's")
                kept_claims = tuple(one for one in self.observed.claims if one.uid != old.uid)
                self.observed = replace(self.observed, claims=kept_claims)
            case act.CreateFormatter(node_id=node_id, revision=revision, config_name=config):
                self._pod(node_id, PodRole.FORMATTER, revision, config)
            case act.CreatePod(node_id=node_id, revision=revision, config_name=config):
                self._pod(node_id, PodRole.KAFKA, revision, config)
            case act.DeletePod(pod=old) if old.node_name in self.down and not action.force:
                self._pods(replace(one, deleting=one.deleting or one.uid == old.uid) for one in self.observed.pods)
            case act.DeletePod(pod=old):
                self._pods(one for one in self.observed.pods if one.uid != old.uid)
            case act.RestartPod(pod=old):
                assert self.voters <= self._run(), rule("5", "another voter does not run")
                others = [one for one in self.observed.pods if one.uid != old.uid]
                leads = self.leader is not None and self.leader.node_id == old.node_id
                target = self._revision_of(old.node_id)
                assert not leads or all(one.revision == target for one in others), rule(
                    "5", "the active one is not last"
                )
                self.restarts.append(old.node_id)
                self._pods(others)
            case act.MarkPod(pod=old, voter=voter, gate=gate):
                marked = replace(old, marked_voter=voter, gate=gate)
                self._pods(marked if one.uid == old.uid else one for one in self.observed.pods)
            case act.BeginOperation(change=change):
                begun = operation(change.target, type(change))
                self.observed = replace(self.observed, status=replace(self.observed.status, open=begun))
            case act.AddRaftVoter(request=request):
                assert len({key.node_id for key in self.voters}) == len(self.voters), rule("4")
                self.voters |= {request.voter}
                self._majority()
            case act.RemoveRaftVoter(request=removal):
                assert removal.voter in self.voters, "no voter"
                self.voters -= {removal.voter}
                self._majority()
            case act.FinishOperation():
                status = replace(self.observed.status, open=None)
                self.observed = replace(self.observed, status=status)
            case act.BeginFeatureStep(step=step):
                begun_step = stepping(step.name, step.level, downgrade=step.downgrade)
                self.observed = replace(self.observed, status=replace(self.observed.status, open=begun_step))
            case act.StepFeature(step=step):
                self._step(step)
            case act.CureGhost(node_id=node_id, supported=supported):
                assert node_id not in {key.node_id for key in self._run() | self.voters}, rule("7", "no ghost")
                self.cure(node_id, supported)

    def _revision_of(self, node_id: NodeID) -> str:
        of = node(self._record(), node_id)
        return of.revision or self._record().applied_revision or ""

    def _step(self, step: FeatureStep) -> None:
        """What the active controller does. In addition every controller must have been well for long enough."""
        assert self.observed.status.feature_operation is not None, rule("7", "no intent")
        assert self.observed.memory.soak is not None, rule("7", "nobody looked")
        assert self.observed.memory.soak.healthy_s == _LONG_S, rule("7", "not soaked")
        self.take(step)

    def _support(self, kind: str, name: str, facts: str) -> None:
        made = SupportObject(kind=kind, name=name, uid="u-1", owner_uid=UID, resource_version="1", facts=facts)
        others = tuple(item for item in self.observed.support if (item.kind, item.name) != (kind, name))
        self.observed = replace(self.observed, support=(*others, made))

    def _pods(self, pods: Iterable[Pod]) -> None:
        self.observed = replace(self.observed, pods=tuple(pods))

    def _pod(self, node_id: NodeID, role: PodRole, revision: Revision, config: str) -> None:
        of = node(self._record(), node_id)
        self.serial += 1
        make = pod if role is PodRole.KAFKA else formatter
        made = make(
            self._record(),
            of,
            uid=f"pod-{self.serial}",
            revision=revision.name,
            config_name=config,
            container=_CREATING,
            report=None,
            marked_voter=False,
            gate="",
            node_name=_place(of),
        )
        self._pods((*self.observed.pods, made))

    def _move(self) -> None:
        """Scripts and Kafka run, and the status is written."""
        record = self.observed.record
        if record is None:
            return
        claims = {one.uid for one in self.observed.claims}
        self.disks = {uid: directory_id for uid, directory_id in self.disks.items() if uid in claims}
        self._pods(self._ran(one) for one in self.observed.pods)
        before = self.observed.status
        status = mirrored(record, open=before.open)
        self.observed = replace(self.observed, status=status)
        self._elect(record)
        self._tell(record)
        self.observed = still_blank(self.observed)

    def _ran(self, one: Pod) -> Pod:
        of = self._record().node(one.node_id)
        if one.node_name in self.down or of is None:
            return one
        image = next(revision.image for revision in self.observed.revisions if revision.name == one.revision)
        configs = {item.name for item in self.observed.support if item.kind == "ConfigMap"}
        if image in self.bad_images or one.config_name not in configs:
            return replace(one, container=replace(_CREATING, reason="ImagePullBackOff"))
        if one.role is PodRole.FORMATTER:
            if one.report is not None:
                return one
            self.serial += 1
            made = self.disks.setdefault(one.claim_uid, one.directory_id or directory(one.node_id, self.serial))
            return replace(one, container=_DONE, finished=True, report=report(self._record(), of, directory_id=made))
        if self.disks.get(one.claim_uid) != one.directory_id:
            return replace(one, container=_REFUSED, report=empty_report())
        self.ever_ran = True
        assert one.directory_id is not None
        assert self.ran.setdefault(one.directory_id, one.claim_uid) == one.claim_uid, rule("2", "on another disk")
        self._starts(one)
        return replace(one, container=Running(started_at=""), report=report(self._record(), of))

    def _starts(self, one: Pod) -> None:
        """Kafka reads the finalized levels, and finds its quorum through its properties."""
        runtime = self._runtime(one)
        assert runtime.static_voters or self.levels.get(KRAFT, 0 if self._record().static else 1), "nobody votes"
        self.read_by(one.node_id, runtime.release)

    def _runtime(self, one: Pod) -> Runtime:
        return next(revision.runtime for revision in self.observed.revisions if revision.name == one.revision)

    def _tell(self, record: IdentityRecord) -> None:
        """What the controllers report of themselves and of the next step, and for how long all have been well."""
        if isinstance(self.observed.quorum, Unknown):
            self.observed = replace(self.observed, versions=(), checks=(), registered=SILENT)
            return
        if not self.levels:
            self.made_by(record.format)
        well = {key.node_id for key in self._run()} >= {*record.node_ids, *(key.node_id for key in self.voters)}
        before = self.observed.memory.soak
        soaked = well and before is not None and before.epoch == self.epoch and before.seen_at_s is not None
        soak = Soak(epoch=self.epoch, healthy_s=_LONG_S if soaked else 0.0, seen_at_s=0.0 if well else None)
        said = tuple(
            (one.node_id, Known(value=self.says(self._runtime(one).release)))
            for one in sorted(self.observed.pods, key=lambda one: one.node_id)
            if one.role is PodRole.KAFKA and one.running and one.node_name not in self.down
        )
        controllers = tuple(NodeID(number) for number in sorted(self.registered) if number not in self.brokers)
        seen = replace(self.observed, versions=said, registered=Known(value=controllers))
        steps = (
            *questions(situation(desired=self.desired, observed=seen, record=record)),
            *announced(situation(desired=self.desired, observed=seen, record=record)),
        )
        checks = tuple(
            (step, Known(value=StepCheck(allowed=not words, words=words)))
            for step in steps
            for words in [self.against(step)]
        )
        self.observed = replace(seen, memory=replace(seen.memory, soak=soak), checks=checks)

    def _majority(self) -> None:
        assert len(self.voters & self._run()) > len(self.voters) // 2, rule("3")

    def _run(self) -> frozenset[ReplicaKey]:
        """The replicas that run and fetch."""
        return frozenset(
            ReplicaKey(node_id=one.node_id, directory_id=one.directory_id)
            for one in self.observed.pods
            if one.role is PodRole.KAFKA and one.running and one.node_name not in self.down
        )

    def _elect(self, record: IdentityRecord) -> None:
        run = self._run()
        initial = frozenset(record.initial)
        if not self.voters and len(initial & run) > len(initial) // 2:
            self.voters = initial
        if not self.voters or len(self.voters & run) <= len(self.voters) // 2:
            self.observed = replace(self.observed, quorum=SILENT)
            return
        led = sorted(self.voters, key=lambda key: (key not in run, key != self.leader, key.node_id))
        self.leader = led[0]
        seen = view(led, sorted(run - self.voters, key=str), behind=self.voters - run)
        self.observed = replace(
            self.observed,
            quorum=Known(value=replace(seen, static=record.static and not self.levels.get(KRAFT, 0))),
            memory=replace(looks(seen), lost_nodes=self._lost(record), soak=self.observed.memory.soak),
            kube_nodes=(
                *kube_nodes(sorted(self.down), ready=False),
                *kube_nodes(sorted({one.node_name for one in self.observed.pods} - self.down)),
            ),
        )

    def _lost(self, record: IdentityRecord) -> tuple[LostNode, ...]:
        rows = ((of.key, node_of(self.observed, of)) for of in record.nodes)
        return tuple(
            LostNode(key=of, kube_node=name, for_s=_LONG_S, agreed_at_s=None) for of, name in rows if name in self.down
        )


def _place(of: NodeIdentity) -> str:
    """The Kubernetes node of a claim's first generation. Each later claim gets another one."""
    return f"worker-{of.node_id}" if of.generation == 1 else f"worker-{of.node_id}-{of.generation}"
