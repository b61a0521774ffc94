"""Feature levels: which are wanted, which step is next, what stands against it (F3 to F7, KIP-584).

One step of one feature at a time: kraft.version, metadata.version level by level, then the others as what they depend
on allows; downwards in the opposite order. Every step is an operation of its own: the intent is written, the request is
sent in a look in which the active controller said that it would allow it, and the next look tells what became of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_quorum.api.features import KRAFT, METADATA, default_levels, dependencies, feature_names, level_text
from kafka_quorum.api.release import parse_release
from kafka_quorum.model.actions import BeginFeatureStep, FinishOperation, RecordChange, StepFeature, WriteRecord
from kafka_quorum.model.desired import Desired, Downgrade, FeaturePolicy
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, with_levels, without_static
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.nodes import older_than, target_revision
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.operation import FeatureOperation
from kafka_quorum.model.plan import FeaturePlan, Severity, Verdict, Wait
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.rolling_safety import LEAST_SOAK_S, blockers, may_drop_static, may_lower, may_raise
from kafka_quorum.plan.voters import leader_endpoint

STEPPING, SOAKING, BLOCKED, REFUSED = "SteppingFeature", "Soaking", "FeatureBlocked", "DowngradeRefused"
_FIRST: Final = (KRAFT, METADATA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """A feature that is not at the level that is asked for. `next` is the step that leads there."""

    name: str
    present: int
    level: int
    next: FeatureStep

    @property
    def whole(self) -> FeatureStep:
        """The whole way in one step: what Kafka is asked about before a way down is begun."""
        return FeatureStep(name=self.name, level=self.level, downgrade=self.level < self.present)


def seen(observed: Observed, record: IdentityRecord) -> Part:
    """Remember the finalized levels: what an image has to support while nobody can be asked."""
    if record.phase is not BootstrapPhase.STARTED or isinstance(observed.quorum, Unknown):
        return Part()
    levels = observed.finalized
    if not levels or levels == record.levels:
        return Part()
    told = ", ".join(f"{each.name} {level_text(each.name, each.level)}" for each in levels)
    write = WriteRecord(record=with_levels(record, levels), change=RecordChange.LEVELS_SEEN, message=f"levels: {told}")
    return Part(exclusive=write)


def turned_dynamic(observed: Observed, record: IdentityRecord) -> Part:
    """The static voters are given up once nobody heeds them: the roll that follows drops the setting (Q10)."""
    if not record.static or record.phase is not BootstrapPhase.STARTED:
        return Part()
    verdict = may_drop_static(observed, record)
    if not verdict.allowed:
        raised = any(each.name == KRAFT and each.level >= 1 for each in observed.finalized)
        return Part(verdicts=(verdict,), waits=(_wait(STEPPING, verdict.reason),) if raised else ())
    message = f"the quorum is dynamic: {verdict.reason}"
    write = WriteRecord(record=without_static(record), change=RecordChange.DYNAMIC, message=message)
    return Part(exclusive=write, verdicts=(verdict,))


def wants(desired: Desired, observed: Observed, record: IdentityRecord) -> tuple[Want, ...]:
    """What is asked for and is not so, in the order in which it is to be changed; empty while the levels are unknown.

    The policy Follow raises to the defaults of the release, never lowers, and leaves kraft.version to a person: a
    quorum that is dynamic stays so.
    """
    present = {each.name: each.level for each in observed.finalized}
    if not present or record.phase is not BootstrapPhase.STARTED:
        return ()
    asked = dict(_defaults(desired, present)) | {each.name: each.level for each in desired.features}
    open_ = {name: level for name, level in asked.items() if level != present.get(name, 0)}
    ups = [name for name in _ordered(open_) if open_[name] > present.get(name, 0)]
    downs = [name for name in reversed(_ordered(open_)) if open_[name] < present.get(name, 0)]
    return tuple(_want(name, present.get(name, 0), open_[name]) for name in (*downs, *ups))


def _defaults(desired: Desired, present: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    if desired.feature_policy is not FeaturePolicy.FOLLOW:
        return ()
    return _raises(desired, present)


def _raises(desired: Desired, present: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """What the release's own defaults would raise."""
    release = parse_release(desired.runtime.release)
    levels = (default_levels(release) if release is not None else None) or {}
    return tuple((name, level) for name, level in levels.items() if name != KRAFT and level > present.get(name, 0))


def _want(name: str, present: int, level: int) -> Want:
    down = level < present
    step = FeatureStep(name=name, level=present - 1 if down else present + 1, downgrade=down)
    return Want(name=name, present=present, level=level, next=step)


def _ordered(names: Iterable[str]) -> list[str]:
    """kraft.version and metadata.version first: the others depend on them."""
    known = [*_FIRST, *(name for name in feature_names() if name not in _FIRST)]
    return sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))


def questions(desired: Desired, observed: Observed, record: IdentityRecord | None) -> tuple[FeatureStep, ...]:
    """The steps that the active controller is asked to validate in this look: what it is to allow, and nothing else."""
    if record is None or isinstance(observed.quorum, Unknown):
        return ()
    operation = observed.status.feature_operation
    found = [operation.step] if operation else []
    for want in wants(desired, observed, record):
        found.extend((want.whole, want.next) if want.next.downgrade else (want.next,))
    return tuple(dict.fromkeys(found))


def announced(desired: Desired, observed: Observed, record: IdentityRecord | None) -> tuple[FeatureStep, ...]:
    """What could be raised, and is held: asked about now and then, so that it is known in advance who would block."""
    present = {each.name: each.level for each in observed.finalized}
    if record is None or not present or isinstance(observed.quorum, Unknown):
        return ()
    if desired.feature_policy is FeaturePolicy.FOLLOW or record.phase is not BootstrapPhase.STARTED:
        return ()
    open_ = {want.name for want in wants(desired, observed, record)}
    raises = ((name, level) for name, level in _raises(desired, present) if name not in open_)
    return tuple(FeatureStep(name=name, level=level) for name, level in raises)


def soak_left_s(desired: Desired, observed: Observed) -> float:
    """How much of the soak is still to come, in seconds."""
    soak = observed.memory.soak
    return max(max(desired.soak_s, LEAST_SOAK_S) - (soak.healthy_s if soak else 0.0), 0.0)


# The next step


def step(desired: Desired, observed: Observed, record: IdentityRecord) -> Part:
    """The feature step that is open, or the next one."""
    if record.phase is not BootstrapPhase.STARTED:
        return Part()
    operation = observed.status.feature_operation
    if operation is not None:
        return _continue(desired, observed, record, operation)
    if observed.status.operation is not None:
        return Part()
    waiting = []
    for want in wants(desired, observed, record):
        part = _begin(desired, observed, record, want)
        if part.exclusive is not None:
            return part  # one that is held lets the next one go
        waiting.append(part)
    return merged(waiting)


def _begin(desired: Desired, observed: Observed, record: IdentityRecord, want: Want) -> Part:
    if (missing := _missing(want, observed)) is not None:
        return Part(waits=(_wait(BLOCKED, missing, Severity.HELD),))
    verdict = _judge(desired, observed, record, want.next, want)
    if verdict.allowed:
        return Part(exclusive=BeginFeatureStep(step=want.next, present=want.present), verdicts=(verdict,))
    return Part(verdicts=(verdict,), waits=(_why(desired, observed, record, want, verdict),))


def _continue(desired: Desired, observed: Observed, record: IdentityRecord, operation: FeatureOperation) -> Part:
    """Done if the leader shows the level, sent if it still may be, given up otherwise, to be begun again."""
    asked = operation.step
    if isinstance(observed.quorum, Unknown):
        text = f"the step to {_text(asked)} waits for a leader: {observed.quorum.reason}"
        return Part(waits=(_wait("NoLeader", text),))
    levels = {each.name: each.level for each in observed.finalized}
    if not levels:
        leader_id = observed.quorum.value.answer.leader_id
        text = f"waiting for controller {leader_id}, which leads, to report the level of {asked.name}"
        return Part(waits=(_wait(STEPPING, text),))
    if levels.get(asked.name, 0) == asked.level:
        text = f"{_text(asked)} is finalized"
        return Part(exclusive=FinishOperation(id=operation.id, reason="Completed", message=text))
    want = next((each for each in wants(desired, observed, record) if each.next == asked), None)
    leader = leader_endpoint(desired, observed)
    if want is None or leader is None:
        text = f"the step to {_text(asked)} is not the next one any more"
        return Part(exclusive=FinishOperation(id=operation.id, reason="GivenUp", message=text))
    verdict = _judge(desired, observed, record, asked, want)
    if not verdict.allowed:
        text = f"the step is given up: {verdict.reason}"
        return Part(exclusive=FinishOperation(id=operation.id, reason="GivenUp", message=text), verdicts=(verdict,))
    send = StepFeature(leader=leader, step=asked, judged_at_s=observed.quorum.value.taken_at_s)
    return Part(exclusive=send, verdicts=(verdict,))


def given_up(observed: Observed) -> Part:
    """The open step ends where it is: the spec that asked for it is not valid any more."""
    operation = observed.status.feature_operation
    if operation is None:
        return Part()
    text = f"the step to {_text(operation.step)} is given up: the spec has faults"
    return Part(exclusive=FinishOperation(id=operation.id, reason="GivenUp", message=text))


def _judge(desired: Desired, observed: Observed, record: IdentityRecord, asked: FeatureStep, want: Want) -> Verdict:
    if asked.downgrade:
        return may_lower(desired, observed, record, asked, want.whole)
    return may_raise(desired, observed, record, asked, _not_rolled(desired, observed, record))


def _not_rolled(desired: Desired, observed: Observed, record: IdentityRecord) -> tuple[NodeID, ...]:
    return tuple(node.node_id for node in older_than(observed, record, target_revision(desired, observed, record)))


def _missing(want: Want, observed: Observed) -> str | None:
    """What a step depends on and does not have, or what depends on a level that the whole way down would leave."""
    present = {each.name: each.level for each in observed.finalized}
    if not want.next.downgrade:
        for name, level in dependencies(want.name, want.next.level).items():
            if present.get(name, 0) < level:
                return (
                    f"{_text(want.next)} needs {name} {level_text(name, level)}, and {_at(present, name)}: name it too"
                )
        return None
    for other, at in present.items():
        needed = dependencies(other, at).get(want.name, 0)
        if other != want.name and needed > want.level:
            lower = f"lower {other} first"
            return f"{want.name} stays: {other} {level_text(other, at)} needs {level_text(want.name, needed)}: {lower}"
    return None


def _at(present: Mapping[str, int], name: str) -> str:
    return f"it is at {level_text(name, present.get(name, 0))}"


def _why(desired: Desired, observed: Observed, record: IdentityRecord, want: Want, verdict: Verdict) -> Wait:
    """Which kind of waiting it is: for a person, for time, or for the next look."""
    check = observed.check(want.whole if want.next.downgrade else want.next)
    refused = isinstance(check, Known) and not check.value.allowed
    if want.next.downgrade and (refused or desired.downgrade is not Downgrade.SAFE or want.name == KRAFT):
        return _wait(REFUSED, verdict.reason, Severity.HELD)
    if _not_rolled(desired, observed, record):
        return _wait(STEPPING, verdict.reason)
    if refused or blockers(observed, record, want.next):
        return _wait(BLOCKED, verdict.reason, Severity.HELD)
    soak = observed.memory.soak
    if soak is not None and soak.healthy_s < max(desired.soak_s, LEAST_SOAK_S) and isinstance(check, Known):
        return _wait(SOAKING, verdict.reason)
    return _wait(STEPPING, verdict.reason)


# What a person reads


def plans(desired: Desired, observed: Observed, record: IdentityRecord) -> tuple[FeaturePlan, ...]:
    """Every feature that is to change or could, and what stands against it."""
    found = []
    for want in wants(desired, observed, record):
        against = _against(observed, record, want)
        found.append(FeaturePlan(name=want.name, present=want.present, level=want.level, wanted=True, against=against))
    present = {each.name: each.level for each in observed.finalized}
    could = {each.name: each for each in announced(desired, observed, record)}
    for name, raised in could.items():
        # What it depends on is announced as well, and comes first: what Kafka says of it now is beside the point.
        needs = dependencies(name, raised.level).items()
        first = any(present.get(other, 0) < level and other in could for other, level in needs)
        against = "" if first else "; ".join(blockers(observed, record, raised)) or _said(observed, raised)
        found.append(
            FeaturePlan(name=name, present=present.get(name, 0), level=raised.level, wanted=False, against=against)
        )
    return tuple(found)


def _against(observed: Observed, record: IdentityRecord, want: Want) -> str:
    named = "; ".join(blockers(observed, record, want.whole))
    return named or _missing(want, observed) or _said(observed, want.whole) or _said(observed, want.next)


def _said(observed: Observed, asked: FeatureStep) -> str:
    check = observed.check(asked)
    return check.value.words if isinstance(check, Known) and not check.value.allowed else ""


def _text(asked: FeatureStep) -> str:
    return f"{asked.name} {level_text(asked.name, asked.level)}"


def _wait(reason: str, message: str, severity: Severity = Severity.PROGRESS) -> Wait:
    return Wait(severity=severity, reason=reason, message=message)
