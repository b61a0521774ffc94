"""A model of an application, its group and its pods, around the real planner: what releases do together.

It applies the plans' actions one by one, loses operators between them, and checks the rules on ground truth after
every step. What a group does when two releases do not understand each other is that of KIP-268: it fails.
"""

import math
import random
from dataclasses import dataclass, field, replace

from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.pods import Running, Terminated, Waiting
from kafka_streams.model import actions, names
from kafka_streams.model.actions import Action
from kafka_streams.model.application import Desired
from kafka_streams.model.membership import Group, GroupState, Member, TopicPartition
from kafka_streams.model.observed import Claim, Memory, Observed, Pod, Revision
from kafka_streams.model.plan import Plan
from kafka_streams.model.record import Record, Stage
from kafka_streams.model.release import StreamsRelease
from kafka_streams.model.way import Protocol
from kafka_streams.observe.view import remembered
from kafka_streams.plan.matrix import CHECKPOINTS_CHANGED, FIRST_WITHOUT_EAGER, LAST_EAGER, facts_of
from kafka_streams.plan.planner import plan

STEP_S = 1.0
SESSION_S = 6.0


class Broken(AssertionError):
    """A rule does not hold on ground truth."""


@dataclass(slots=True)
class Live:
    """A pod that exists, and the member that it has, had or will have."""

    name: str
    uid: str
    index: int
    revision: Revision
    generation: int
    ip: str
    born_s: float
    starts_s: float
    deleting_s: float | None = None
    member: str | None = None
    crashes: bool = False
    finished: bool = False
    held: bool = False


@dataclass(slots=True)
class Ghost:
    """A member whose process is gone, until its session ends."""

    member: str
    host: str
    gone_s: float
    revision: Revision


@dataclass(slots=True)
class World:
    """One application. Images in `broken` never start; those in `mute` are members and process nothing.

    `silent`: no coordinator answers. `hidden`: members show no versions. `strangers` are hosts of other members.
    `flickers`: pods are not ready while the group is not settled.
    """

    desired: Desired
    seed: int
    brokers: frozenset[StreamsRelease]
    broken: set[str] = field(default_factory=set)
    mute: set[str] = field(default_factory=set)
    now_s: float = 1000.0
    record: Record | None = None
    version: int = 0
    pods: dict[str, Live] = field(default_factory=dict)
    ghosts: list[Ghost] = field(default_factory=list)
    claims: dict[tuple[int, int], StreamsRelease | None] = field(default_factory=dict)
    revisions: list[Revision] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)
    committed: int = 0
    ended: int = 0
    unsettled_until_s: float = 0.0
    silent: bool = False
    strangers: tuple[str, ...] = ()
    hidden: bool = False
    flickers: bool = True
    serial: int = 0
    stops: list[tuple[int, str]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Seed the dice."""
        self.dice = random.Random(self.seed)

    # what is seen

    def look(self) -> Observed:
        """One look, with what earlier looks remember."""
        group = self.group()
        self.memory = remembered(group, self.memory, self.now_s, math.inf)
        return Observed(
            record=self.record,
            pods=tuple(self._pod(live) for live in self.pods.values()),
            claims=tuple(
                Claim(
                    name=names.claim_name("app", index, generation),
                    uid=f"claim-{index}-{generation}",
                    resource_version="1",
                    index=index,
                    generation=generation,
                    deleting=False,
                )
                for index, generation in self.claims
            ),
            revisions=tuple(self.revisions),
            group=group,
            brokers=Known(value=self.brokers),
            memory=self.memory,
            looked_at_s=self.now_s,
        )

    def _pod(self, live: Live) -> Pod:
        state: Running | Waiting | Terminated = Running(started_at="")
        if live.crashes:
            ended = Terminated(exit_code=1, reason="Error", message="no such class", finished_at="")
            state = Waiting(reason="CrashLoopBackOff", message="", last_exit=ended)
        elif self.now_s < live.starts_s:
            state = Waiting(reason="ContainerCreating", message="", last_exit=None)
        return Pod(
            name=live.name,
            uid=live.uid,
            resource_version="1",
            index=live.index,
            revision=live.revision.name,
            generation=live.generation,
            deleting=live.deleting_s is not None,
            finished=live.finished,
            ready=live.member is not None and (not self.flickers or self.now_s >= self.unsettled_until_s),
            ip=live.ip,
            container=state,
            held=live.held,
        )

    def group(self) -> Knowable[Group]:
        """The group as its coordinator describes it."""
        if self.silent:
            return Unknown(reason="the coordinator does not answer")
        members = [self._member(live) for live in self.working()]
        members += [Member(member_id=ghost.member, instance_id="", host=ghost.host) for ghost in self.ghosts]
        members += [Member(member_id=f"of-{host}", instance_id="", host=host) for host in self.strangers]
        state = GroupState.STABLE if members else GroupState.EMPTY
        if members and self.now_s < self.unsettled_until_s:
            state = GroupState.PREPARING
        at: TopicPartition = ("words", 0)
        return Known(
            value=Group(
                protocol=Protocol.CLASSIC,
                state=state,
                members=tuple(members),
                committed=Known(value={at: self.committed}),
                ends=Known(value={at: self.ended}),
                owners={at: members[-1].member_id} if state is GroupState.STABLE and self.working() else {},
            )
        )

    def _member(self, live: Live) -> Member:
        supported = version_of(live.revision.runtime.release)
        used = min([*(used_by(other) for other in self.working()), supported])
        return Member(
            member_id=live.member or "",
            instance_id="",
            host=live.ip,
            used_version=None if self.hidden else used,
            supported_version=supported if supported >= 3 and not self.hidden else None,
        )

    def working(self) -> list[Live]:
        """The pods that have a member."""
        return [live for live in self.pods.values() if live.member is not None]

    # what happens

    def step(self, *, operator_dies: bool = False) -> Plan:
        """Time passes, things happen, one look, one plan, and its actions, unless the operator dies between them."""
        self.now_s += STEP_S
        self._happen()
        self.check()
        observed = self.look()
        planned = plan(self.desired, observed)
        self.told.extend(wait.message for wait in planned.waits if wait.message not in self.told[-12:])
        for action in planned.actions:
            if operator_dies and self.dice.random() < 0.5:
                self.memory = Memory()
                break
            self.apply(action)
            self.check()
        if operator_dies:
            self.memory = Memory()
        return planned

    def _happen(self) -> None:
        self.ended += self.dice.randint(0, 5)
        able = any(live.revision.runtime.image not in self.mute for live in self.working())
        if able and self.now_s >= self.unsettled_until_s:
            self.committed = self.ended
        self.ghosts = [ghost for ghost in self.ghosts if self.now_s - ghost.gone_s < SESSION_S]
        for live in list(self.pods.values()):
            if live.deleting_s is not None and self.now_s - live.deleting_s >= 1:
                self._vanish(live, lingers=self.dice.random() < 0.5)
            elif live.member is None and self.now_s >= live.starts_s and live.deleting_s is None and not live.finished:
                if live.revision.runtime.image in self.broken:
                    live.crashes = True
                else:
                    self._join(live)

    def _join(self, live: Live) -> None:
        self.serial += 1
        live.member = f"member-{self.serial}"
        live.crashes = False
        self.unsettled_until_s = self.now_s + self.dice.randint(1, 4)
        release = live.revision.runtime.release
        if live.revision.runtime.state_path:
            wrote = self.claims.get((live.index, live.generation))
            if wrote is not None and unreadable(wrote, release):
                raise Broken(f"{release} starts on the state that {wrote} wrote")
            self.claims[live.index, live.generation] = release

    def _vanish(self, live: Live, *, lingers: bool) -> None:
        del self.pods[live.name]
        if live.member is not None:
            self.unsettled_until_s = self.now_s if lingers else self.now_s + 2
            if lingers:
                self.ghosts.append(Ghost(member=live.member, host=live.ip, gone_s=self.now_s, revision=live.revision))

    def kill(self, index: int) -> None:
        """A pod goes with its Kubernetes node."""
        for live in list(self.pods.values()):
            if live.index == index:
                self._vanish(live, lingers=True)

    def evict(self) -> None:
        """Every pod ends, and stays as Failed; nobody is in the group any more."""
        for live in self.pods.values():
            live.member, live.finished = None, True

    def apply(self, action: Action) -> None:  # noqa: C901 - one case per action, nothing else
        """Carry an action out, as the API server would."""
        match action:
            case actions.WriteRecord(record=record):
                present = "" if self.record is None else self.record.resource_version
                if record.resource_version != present:
                    raise Broken("the record was written on an old version")
                self.version += 1
                self.record = replace(record, resource_version=str(self.version))
            case actions.KeepSpec():
                pass
            case actions.CreateRevision(revision=revision):
                self.revisions.append(revision)
            case actions.CreateFile():
                pass
            case actions.DeleteRevision(revision=revision):
                if any(pod.revision.name == revision.name for pod in self.pods.values()):
                    raise Broken(f"{revision.name} is deleted, and a pod is made from it")
                self.revisions.remove(revision)
            case actions.CreateClaim(slot=slot):
                self.claims[slot.index, slot.generation] = None
            case actions.DeleteClaim(claim=claim):
                self._drop(claim)
            case actions.CreatePod(slot=slot, revision=revision):
                self._create(slot.index, slot.generation, revision)
            case actions.StopPod(pod=pod) | actions.ReplacePod(pod=pod):
                self._stop(self.pods[pod.name])
            case actions.Release() | actions.TakePod() | actions.TakeClaim():
                raise Broken("nothing is to be adopted here")

    def _drop(self, claim: Claim) -> None:
        if any((pod.index, pod.generation) == (claim.index, claim.generation) for pod in self.pods.values()):
            raise Broken(f"claim {claim.name} is deleted under its pod")
        del self.claims[claim.index, claim.generation]

    def _stop(self, live: Live) -> None:
        if live.held:
            raise Broken(f"pod {live.name} is held, and was stopped")
        if live.member is not None:
            self.stops.append((live.index, live.revision.name))
            self._only_one(live)
        live.deleting_s = self.now_s

    def _only_one(self, live: Live) -> None:
        """While instances restart one after the other, each one that stops leaves all others at work."""
        record = self.record
        if record is None or record.change is None or record.change.stage is not Stage.BOUNCING:
            return
        others = [slot.index for slot in record.slots if slot.index != live.index]
        working = {other.index for other in self.working() if other.deleting_s is None}
        if set(others) - working:
            raise Broken(f"instance {live.index} stops while {set(others) - working} do not work")

    def _create(self, index: int, generation: int, revision: Revision) -> None:
        name = names.pod_name("app", index)
        if name in self.pods:
            raise Broken(f"pod {name} exists already")
        self.serial += 1
        self.pods[name] = Live(
            name=name,
            uid=f"pod-{self.serial}",
            index=index,
            revision=revision,
            generation=generation,
            ip=f"10.0.0.{self.serial}",
            born_s=self.now_s,
            starts_s=self.now_s + self.dice.randint(0, 3),
        )

    # what must hold

    def check(self) -> None:
        """Releases that run together understand each other; what stops by us is one instance at a time."""
        there = [live.revision for live in self.working()] + [ghost.revision for ghost in self.ghosts]
        for a in there:
            for b in there:
                if not understood(a, b):
                    raise Broken(f"{a.runtime.release} ({a.upgrade_from}) runs together with {b.runtime.release}")
        record = self.record
        if record is None or (record.change is not None and record.change.stage is not Stage.BOUNCING):
            return
        ours = [live for live in self.working() if live.deleting_s is not None]
        if len(ours) > 1:
            raise Broken(f"{len(ours)} instances are being stopped at once")
        if sum(slot.away for slot in record.slots) > 1:
            raise Broken("two instances are away by us")


def version_of(release: StreamsRelease) -> int:
    """The subscription version of a release."""
    facts = facts_of(release)
    assert facts is not None
    return facts.subscription_version


def used_by(live: Live) -> int:
    """The version that an instance sends, as `upgrade.from` tells it."""
    value = live.revision.upgrade_from
    own = version_of(live.revision.runtime.release)
    if not value:
        return own
    line = tuple(map(int, value.split(".")))
    return min(own, version_of(StreamsRelease(line, 0)))


def understood(a: Revision, b: Revision) -> bool:
    """Whether two instances can be in one group: the older one must understand what the younger one sends."""
    older, younger = sorted((a, b), key=lambda one: one.runtime.release)
    low, high = older.runtime.release, younger.runtime.release
    if low.line == high.line:
        return True
    if low.line <= LAST_EAGER and high.line >= FIRST_WITHOUT_EAGER:
        return False
    if version_of(low) == version_of(high) or low.line >= (2, 4):
        return True
    value = younger.upgrade_from
    return bool(value) and version_of(StreamsRelease(tuple(map(int, value.split("."))), 0)) <= version_of(low)


def unreadable(wrote: StreamsRelease, reads: StreamsRelease) -> bool:
    """Whether the state of one release loses or breaks something in the other."""
    early, late = CHECKPOINTS_CHANGED
    low, high = sorted((wrote.line, reads.line))
    return reads.line < wrote.line or (low != high and low < late and high > early)
