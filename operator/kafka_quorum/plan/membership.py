"""Voters: one change at a time, the intent first, and a look that decides what became of it.

In this order: a lost disk is replaced (the stale key removed and the new one added with nothing in between), a dead
voter that nobody wants is removed, wanted controllers are added, and live ones that nobody wants are removed, the
active controller last; the leader of a pair hands over before it is removed. The intent is written to the status before
a request is sent; whatever becomes of the request, the next look decides.
"""

from dataclasses import dataclass, replace

from kafka_quorum.model.actions import (
    AddRaftVoter,
    BeginOperation,
    DeletePod,
    FinishOperation,
    RecordChange,
    RemoveRaftVoter,
    WriteRecord,
)
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import advertised
from kafka_quorum.model.nodes import is_foreign, revision_of, stale_voters
from kafka_quorum.model.observed import Observed, PodRole, QuorumView
from kafka_quorum.model.operation import (
    VoterAddition,
    VoterChange,
    VoterOperation,
    VoterRemoval,
    VoterReplacement,
)
from kafka_quorum.model.plan import Severity, Verdict, Wait
from kafka_quorum.model.quorum import AddVoter, Endpoint, RemoveVoter
from kafka_quorum.plan.admission import before_stop
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.safety import (
    may_add_voter,
    may_change_voters,
    may_hand_over,
    may_remove_leader,
    may_remove_voter,
)
from kafka_quorum.plan.voters import leader_endpoint

_CHANGE_TIMEOUT_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """What every question here is about. `wanted` are the node ids that the spec asks for."""

    desired: Desired
    observed: Observed
    record: IdentityRecord
    view: QuorumView
    wanted: tuple[NodeID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A voter change that would be next, what the guards say of it, and for whom it is."""

    change: VoterChange
    verdicts: tuple[Verdict, ...]

    @property
    def target(self) -> ReplicaKey:
        """The replica that is added or removed."""
        return self.change.target

    @property
    def refusal(self) -> Verdict | None:
        """The first guard that says no."""
        return next((verdict for verdict in self.verdicts if not verdict.allowed), None)


def first_leader(observed: Observed, record: IdentityRecord) -> Part:
    """Remember that a leader was seen: from then on a lost majority is not a failed bootstrap."""
    if record.had_leader or not isinstance(observed.quorum, Known):
        return Part()
    view = observed.quorum.value
    seen = replace(record, had_leader=True)
    message = (
        f"controller {view.answer.leader_id} leads cluster {record.cluster_id} in epoch {view.answer.leader_epoch}"
    )
    return Part(exclusive=WriteRecord(record=seen, change=RecordChange.FIRST_LEADER, message=message))


def membership(desired: Desired, observed: Observed, record: IdentityRecord, wanted: tuple[NodeID, ...]) -> Part:
    """The one voter change that is open, or the next one."""
    if record.phase is not BootstrapPhase.STARTED:
        return Part()
    operation = observed.status.operation
    match observed.quorum:
        case Unknown(reason=reason):
            if operation is None:
                return Part(waits=(_wait("NoLeader", f"waits for a leader: {reason}"),))
            text = f"the change of {operation.target} waits for a leader: {reason}"
            return Part(waits=(_wait("NoLeader", text),))
        case Known(value=view):
            scene = _Scene(desired=desired, observed=observed, record=record, view=view, wanted=wanted)
            return _continue(scene, operation) if operation is not None else _begin(scene)


def is_second_half(part: Part, observed: Observed) -> bool:
    """Whether this adds what takes a removed voter's place: nothing may come in between."""
    operation = observed.status.operation
    replaces = operation is not None and isinstance(operation.change, VoterReplacement)
    return replaces and isinstance(part.exclusive, AddRaftVoter)


# What could be next


def _changes(scene: _Scene) -> tuple[_Change, ...]:
    """Every change that is wanted, in the order of rule 3; the first that all guards allow is the next one."""
    replacements, removals = _removals(scene)
    dead = tuple(change for change in removals if _removes_dead(scene, change))
    adds = tuple(_add(scene, node.key) for node in _newcomers(scene))
    joining = any(scene.view.voter_of(node_id) is None for node_id in scene.wanted)
    alive = () if joining else tuple(change for change in removals if change.target in scene.view.shown)
    return (*replacements, *dead, *adds, *alive)


def _newcomers(scene: _Scene) -> tuple[NodeIdentity, ...]:
    """Wanted controllers that could join: formatted, no voter, and no stale voter in their place."""
    return tuple(
        node
        for node in scene.record.nodes
        if node.node_id in scene.wanted and node.formatted and scene.view.voter_of(node.node_id) is None
    )


def _removals(scene: _Scene) -> tuple[tuple[_Change, ...], tuple[_Change, ...]]:
    """Stale voters with a replacement, and voters that are not wanted at all: those that lag, followers, the leader."""
    replaced: list[_Change] = []
    removed: list[_Change] = []
    leader_id = scene.view.answer.leader_id
    for key in sorted(scene.view.voters, key=lambda key: (key.node_id == leader_id, -key.node_id, str(key))):
        node = scene.record.node(key.node_id)
        if node is not None and node.node_id in scene.wanted:
            if key != node.key and node.formatted:
                replaced.append(_replace(scene, key, node))
        elif not is_foreign(scene.record, key):
            removed.append(_remove(scene, key))
    return tuple(replaced), tuple(removed)


def _add(scene: _Scene, target: ReplicaKey) -> _Change:
    others = tuple(node.key for node in _newcomers(scene) if node.key != target)
    verdicts = (
        _one_change(scene, target),
        may_add_voter(scene.view, scene.observed, target, len(scene.wanted), others),
    )
    return _Change(change=VoterAddition(target=target), verdicts=verdicts)


def _remove(scene: _Scene, target: ReplicaKey) -> _Change:
    removal = may_remove_voter(scene.view, scene.desired, scene.record, target)
    leader = may_remove_leader(scene.view, target)
    verdicts = (_one_change(scene, target), removal, leader)
    return _Change(change=VoterRemoval(target=target), verdicts=verdicts)


def _replace(scene: _Scene, stale: ReplicaKey, node: NodeIdentity) -> _Change:
    """The newcomer must be ready to be added to the voters that stay, or the stale one is not removed."""
    view = scene.view
    staying = tuple(row for row in view.answer.voters if row.key != stale)
    without = replace(view, answer=replace(view.answer, voters=staying))
    verdicts = (
        _one_change(scene, node.key),
        may_add_voter(without, scene.observed, node.key, len(scene.wanted), ()),
        may_remove_voter(view, scene.desired, scene.record, stale),
    )
    return _Change(change=VoterReplacement(target=node.key), verdicts=verdicts)


def _one_change(scene: _Scene, target: ReplicaKey) -> Verdict:
    operation = scene.observed.status.operation
    return may_change_voters(scene.view, target, operation.target if operation else None)


# Begin, go on, finish


def _begin(scene: _Scene) -> Part:
    waits: list[Wait] = []
    verdicts: list[Verdict] = []
    for change in _changes(scene):
        verdicts.extend(change.verdicts)
        refused = change.refusal
        if refused is None:
            return Part(exclusive=BeginOperation(change=change.change), waits=tuple(waits), verdicts=tuple(verdicts))
        if _leads_only(change):
            return merged((Part(waits=tuple(waits), verdicts=tuple(verdicts)), _hand_over(scene, change)))
        waits.append(_change_wait(change, refused.reason))
    if not scene.view.committed and not waits:
        waits.append(_wait("VoterSetUncommitted", "waits until the present voter set is committed"))
    return Part(waits=tuple(waits), verdicts=tuple(verdicts))


def _continue(scene: _Scene, operation: VoterOperation) -> Part:
    """What is left of the open operation, as the voter set shows it now."""
    target = operation.target
    change = _left_to_do(scene, operation)
    if change is None:
        return _ended(scene, operation)
    refused = change.refusal
    leader = leader_endpoint(scene.desired, scene.observed)
    if refused is not None and (cure := _cure(scene)) is not None:
        text = f"the change of {target} gives way to that of {cure.target}: {refused.reason}"
        gone = FinishOperation(id=operation.id, reason="GivenUp", message=text)
        return Part(exclusive=gone, verdicts=(*change.verdicts, *cure.verdicts))
    if _leads_only(change):
        return merged((Part(verdicts=change.verdicts), _hand_over(scene, change)))
    if refused is not None or leader is None:
        text = refused.reason if refused else f"the pod of leader {scene.view.answer.leader_id} is not known"
        whole = replace(change, change=operation.change)
        return Part(waits=(_change_wait(whole, text),), verdicts=change.verdicts)
    if isinstance(change.change, VoterAddition):
        return Part(exclusive=_add_request(scene, target, leader), verdicts=change.verdicts)
    stale = scene.view.voter_of(target.node_id) or target
    return Part(exclusive=_remove_request(scene, stale, leader), verdicts=change.verdicts)


def _leads_only(change: _Change) -> bool:
    """Whether a removal could be made now, were its target not the leader of a pair: its last guard asks for that."""
    *others, last = change.verdicts
    return _removes(change) and not last.allowed and all(verdict.allowed for verdict in others)


def _hand_over(scene: _Scene, change: _Change) -> Part:
    """Restart the leader of a pair: the other one leads from the moment it stops, and then it can be removed."""
    verdict = may_hand_over(scene.desired, scene.observed, scene.view, change.target)
    if not verdict.allowed:
        wait = _change_wait(change, verdict.reason)
        shown = wait if scene.desired.allow_interruption else replace(wait, severity=Severity.HELD)
        return Part(waits=(shown,), verdicts=(verdict,))
    pods = scene.observed.pods_of(change.target.node_id, PodRole.KAFKA)
    pod = next(pod for pod in pods if pod.running and not pod.deleting)
    node = scene.record.node(change.target.node_id)
    revision = revision_of(scene.observed, scene.record, node) if node else None
    if node is not None and revision is not None:
        reason = _reason(change.change)
        held = before_stop(scene.observed, node, revision.name, reason=reason, held="RestartHeld")
        if held is not None:
            return replace(held, verdicts=(verdict,))
    message = f"pod {pod.name} restarts, so that it can be removed: {verdict.reason}"
    return Part(exclusive=DeletePod(pod=pod, reason="LeaderHandsOver", message=message), verdicts=(verdict,))


def _cure(scene: _Scene) -> _Change | None:
    """A lost disk's or dead voter's change that could be made now, were no other open: one that is held may wait."""
    status = replace(scene.observed.status, open=None)
    free = replace(scene, observed=replace(scene.observed, status=status))
    changes = _changes(free)
    cures = (one for one in changes if isinstance(one.change, VoterReplacement) or _removes_dead(scene, one))
    return next((change for change in cures if change.refusal is None), None)


def _removes_dead(scene: _Scene, change: _Change) -> bool:
    return _removes(change) and change.target not in scene.view.shown


def _removes(change: _Change) -> bool:
    return isinstance(change.change, VoterRemoval)


def _left_to_do(scene: _Scene, operation: VoterOperation) -> _Change | None:
    """The step that the operation still lacks; None if it is done, or not wanted any more."""
    target, view = operation.target, scene.view
    node = scene.record.node(target.node_id)
    if isinstance(operation.change, VoterRemoval):
        unwanted = target.node_id not in scene.wanted and not is_foreign(scene.record, target)
        return _remove(scene, target) if unwanted and target in view.voters else None
    if target in view.voters or node is None or node.key != target or target.node_id not in scene.wanted:
        return None
    stale = view.voter_of(target.node_id)
    if stale is None:
        return _add(scene, target)
    return _replace(scene, stale, node) if isinstance(operation.change, VoterReplacement) else None


def _ended(scene: _Scene, operation: VoterOperation) -> Part:
    """Nothing is left to do: committed, or still to be seen committed, or given up."""
    target, view = operation.target, scene.view
    removal = isinstance(operation.change, VoterRemoval)
    done = (target in view.voters) is not removal
    word = "removed" if removal else "added"
    if done and not view.committed:
        node = scene.record.node(target.node_id)
        return Part(
            waits=(_wait(_reason(operation.change), f"voter {target} is {word}, and waits to be committed", node),)
        )
    if done:
        text = f"voter {target} is {word} and committed"
        return Part(exclusive=FinishOperation(id=operation.id, reason="Completed", message=text))
    text = f"{_why_given_up(scene, operation)}: the change is given up"
    return Part(exclusive=FinishOperation(id=operation.id, reason="GivenUp", message=text))


def _why_given_up(scene: _Scene, operation: VoterOperation) -> str:
    target = operation.target
    if isinstance(operation.change, VoterRemoval):
        return f"{target} is wanted again"
    node = scene.record.node(target.node_id)
    if node is not None and node.node_id in scene.wanted and node.key != target:
        return f"controller {target.node_id} has another disk by now than {target}"
    return f"{target} is not wanted any more"


def _add_request(scene: _Scene, target: ReplicaKey, leader: Endpoint) -> AddRaftVoter:
    desired, record = scene.desired, scene.record
    node = record.node(target.node_id)
    revision = revision_of(scene.observed, record, node) if node else None
    runtime = revision.runtime if revision else desired.runtime
    request = AddVoter(
        cluster_id=record.cluster_id,
        voter=target,
        listeners=(advertised(desired.namespace, desired.name, target.node_id, runtime),),
        timeout_ms=_CHANGE_TIMEOUT_MS,
    )
    return AddRaftVoter(leader=leader, request=request, judged_at_s=scene.view.taken_at_s)


def _remove_request(scene: _Scene, target: ReplicaKey, leader: Endpoint) -> RemoveRaftVoter:
    request = RemoveVoter(cluster_id=scene.record.cluster_id, voter=target)
    return RemoveRaftVoter(leader=leader, request=request, judged_at_s=scene.view.taken_at_s)


# What a person reads


def stale_waits(record: IdentityRecord, observed: Observed) -> tuple[Wait, ...]:
    """Name every stale voter: what takes its place, or the command that removes what this operator never made."""
    if not isinstance(observed.quorum, Known):
        return ()
    view = observed.quorum.value
    return tuple(_stale(record, view, key) for key in stale_voters(record, view))


def _stale(record: IdentityRecord, view: QuorumView, key: ReplicaKey) -> Wait:
    caught_up = f"{len(view.voters & view.caught_up)} of {len(view.voters)} voters are caught up"
    if is_foreign(record, key):
        remove = f"kafka-metadata-quorum.sh remove-controller --controller-id {key.node_id}"
        text = (
            f"voter {key} is no controller of this resource, and is left alone ({caught_up}). Where it does not belong "
            f"to the quorum, a person can: {remove} --controller-directory-id {key.directory_id}"
        )
        return Wait(severity=Severity.DEGRADED, reason="ForeignVoter", message=text, node_id=key.node_id)
    text = f"voter {key} is stale, its disk is lost or its controller removed ({caught_up})"
    return Wait(severity=Severity.DEGRADED, reason="StaleVoter", message=text, node_id=key.node_id)


def _change_wait(change: _Change, text: str) -> Wait:
    reason, node_id = _reason(change.change), change.target.node_id
    return Wait(severity=Severity.PROGRESS, reason=reason, message=text, node_id=node_id)


def _reason(change: VoterChange) -> str:
    match change:
        case VoterAddition():
            return "AddingVoter"
        case VoterRemoval():
            return "RemovingVoter"
        case VoterReplacement():
            return "ReplacingVoter"


def _wait(reason: str, message: str, node: NodeIdentity | None = None) -> Wait:
    node_id = node.node_id if node else None
    return Wait(severity=Severity.PROGRESS, reason=reason, message=message, node_id=node_id)
