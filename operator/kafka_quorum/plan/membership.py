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
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import advertised
from kafka_quorum.model.nodes import is_foreign, revision_of, stale_voters
from kafka_quorum.model.observed import Observed, Operation, PodRole, QuorumView
from kafka_quorum.model.plan import Severity, Verdict, Wait
from kafka_quorum.model.quorum import AddVoter, Endpoint, RemoveVoter
from kafka_quorum.model.situation import Situation
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

ADD_VOTER = "AddVoter"
REMOVE_VOTER = "RemoveVoter"
REPLACE_VOTER = "ReplaceVoter"
_CHANGE_TIMEOUT_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A voter change that would be next, what the guards say of it, and for whom it is."""

    type: str
    target: ReplicaKey
    verdicts: tuple[Verdict, ...]

    @property
    def refusal(self) -> Verdict | None:
        """The first guard that says no."""
        return next((verdict for verdict in self.verdicts if not verdict.allowed), None)


def first_leader(situation: Situation) -> Part:
    """Remember that a leader was seen: from then on a lost majority is not a failed bootstrap."""
    record = situation.record
    if record.had_leader or not isinstance(situation.observed.quorum, Known):
        return Part()
    view = situation.observed.quorum.value
    seen = replace(record, had_leader=True)
    message = (
        f"controller {view.answer.leader_id} leads cluster {record.cluster_id} in epoch {view.answer.leader_epoch}"
    )
    return Part(exclusive=WriteRecord(record=seen, change=RecordChange.FIRST_LEADER, message=message))


def membership(situation: Situation) -> Part:
    """The one voter change that is open, or the next one."""
    observed = situation.observed
    if situation.record.phase is not BootstrapPhase.STARTED:
        return Part()
    operation = observed.status.operation
    match observed.quorum:
        case Unknown(reason=reason):
            if operation is None:
                return Part(waits=(_wait("NoLeader", f"waits for a leader: {reason}"),))
            text = f"the change of {operation.target} waits for a leader: {reason}"
            return Part(waits=(_wait("NoLeader", text),))
        case Known(value=view):
            return _begin(situation, view) if operation is None else _continue(situation, view, operation)


def is_second_half(part: Part, observed: Observed) -> bool:
    """Whether this adds what takes a removed voter's place: nothing may come in between."""
    operation = observed.status.operation
    return operation is not None and operation.type == REPLACE_VOTER and isinstance(part.exclusive, AddRaftVoter)


# What could be next


def _changes(situation: Situation, view: QuorumView) -> tuple[_Change, ...]:
    """Every change that is wanted, in the order of rule 3; the first that all guards allow is the next one."""
    replacements, removals = _removals(situation, view)
    dead = tuple(change for change in removals if _removes_dead(view, change))
    adds = tuple(_add(situation, view, node.key) for node in _newcomers(situation, view))
    joining = any(view.voter_of(node_id) is None for node_id in situation.wanted)
    alive = () if joining else tuple(change for change in removals if change.target in view.shown)
    return (*replacements, *dead, *adds, *alive)


def _newcomers(situation: Situation, view: QuorumView) -> tuple[NodeIdentity, ...]:
    """Wanted controllers that could join: formatted, no voter, and no stale voter in their place."""
    return tuple(
        node
        for node in situation.record.nodes
        if node.node_id in situation.wanted and node.formatted and view.voter_of(node.node_id) is None
    )


def _removals(situation: Situation, view: QuorumView) -> tuple[tuple[_Change, ...], tuple[_Change, ...]]:
    """Stale voters with a replacement, and voters that are not wanted at all: those that lag, followers, the leader."""
    replaced: list[_Change] = []
    removed: list[_Change] = []
    leader_id = view.answer.leader_id
    for key in sorted(view.voters, key=lambda key: (key.node_id == leader_id, -key.node_id, str(key))):
        node = situation.record.node(key.node_id)
        if node is not None and node.node_id in situation.wanted:
            if key != node.key and node.formatted:
                replaced.append(_replace(situation, view, key, node))
        elif not is_foreign(situation.record, key):
            removed.append(_remove(situation, view, key))
    return tuple(replaced), tuple(removed)


def _add(situation: Situation, view: QuorumView, target: ReplicaKey) -> _Change:
    others = tuple(node.key for node in _newcomers(situation, view) if node.key != target)
    verdicts = (
        _one_change(situation, view, target),
        may_add_voter(view, situation.observed, target, len(situation.wanted), others),
    )
    return _Change(type=ADD_VOTER, target=target, verdicts=verdicts)


def _remove(situation: Situation, view: QuorumView, target: ReplicaKey) -> _Change:
    removal = may_remove_voter(situation, view, target, fewer=_fewer(situation, view, target))
    leader = may_remove_leader(view, target)
    return _Change(type=REMOVE_VOTER, target=target, verdicts=(_one_change(situation, view, target), removal, leader))


def _replace(situation: Situation, view: QuorumView, stale: ReplicaKey, node: NodeIdentity) -> _Change:
    """The newcomer must be ready to be added to the voters that stay, or the stale one is not removed."""
    verdicts = (
        _one_change(situation, view, node.key),
        may_add_voter(_without(view, stale), situation.observed, node.key, len(situation.wanted), ()),
        may_remove_voter(situation, view, stale),
    )
    return _Change(type=REPLACE_VOTER, target=node.key, verdicts=verdicts)


def _without(view: QuorumView, target: ReplicaKey) -> QuorumView:
    """The view as it would be after this voter was removed."""
    staying = tuple(row for row in view.answer.voters if row.key != target)
    return replace(view, answer=replace(view.answer, voters=staying))


def _fewer(situation: Situation, view: QuorumView, target: ReplicaKey) -> str:
    """Who must be ready to join before this voter is removed, because fewer than wanted would stay; empty if nobody.

    A voter that is down for a moment may come back with its data, so nothing is gained before its successor is ready.
    """
    without = _without(view, target)
    if len(without.voters) >= len(situation.wanted):
        return ""
    keys = {node.node_id: node.key for node in _newcomers(situation, view)}
    for key in keys.values():
        others = tuple(other for other in keys.values() if other != key)
        if may_add_voter(without, situation.observed, key, len(situation.wanted), others).allowed:
            return ""
    joining = (node_id for node_id in situation.wanted if view.voter_of(node_id) is None)
    return ", ".join(map(str, joining))


def _one_change(situation: Situation, view: QuorumView, target: ReplicaKey) -> Verdict:
    operation = situation.observed.status.operation
    return may_change_voters(view, target, operation.target if operation else None)


# Begin, go on, finish


def _begin(situation: Situation, view: QuorumView) -> Part:
    waits: list[Wait] = []
    verdicts: list[Verdict] = []
    for change in _changes(situation, view):
        verdicts.extend(change.verdicts)
        refused = change.refusal
        if refused is None:
            begin = BeginOperation(type=change.type, target=change.target)
            return Part(exclusive=begin, waits=tuple(waits), verdicts=tuple(verdicts))
        if _leads_only(change):
            return merged((Part(waits=tuple(waits), verdicts=tuple(verdicts)), _hand_over(situation, view, change)))
        waits.append(_change_wait(change, refused.reason))
    if not view.committed and not waits:
        waits.append(_wait("VoterSetUncommitted", "waits until the present voter set is committed"))
    return Part(waits=tuple(waits), verdicts=tuple(verdicts))


def _continue(situation: Situation, view: QuorumView, operation: Operation) -> Part:
    """What is left of the open operation, as the voter set shows it now."""
    target = operation.target
    change = _left_to_do(situation, view, operation)
    if change is None:
        return _ended(situation, view, operation)
    refused = change.refusal
    leader = leader_endpoint(situation)
    if refused is not None and (cure := _cure(situation, view)) is not None:
        text = f"the change of {target} gives way to that of {cure.target}: {refused.reason}"
        gone = FinishOperation(id=operation.id, reason="GivenUp", message=text)
        return Part(exclusive=gone, verdicts=(*change.verdicts, *cure.verdicts))
    if _leads_only(change):
        return merged((Part(verdicts=change.verdicts), _hand_over(situation, view, change)))
    if refused is not None or leader is None:
        text = refused.reason if refused else f"the pod of leader {view.answer.leader_id} is not known"
        whole = replace(change, type=operation.type, target=target)
        return Part(waits=(_change_wait(whole, text),), verdicts=change.verdicts)
    if change.type == ADD_VOTER:
        return Part(exclusive=_add_request(situation, view, target, leader), verdicts=change.verdicts)
    stale = view.voter_of(target.node_id) or target
    return Part(exclusive=_remove_request(situation, view, stale, leader), verdicts=change.verdicts)


def _leads_only(change: _Change) -> bool:
    """Whether a removal could be made now, were its target not the leader of a pair: its last guard asks for that."""
    *others, last = change.verdicts
    return change.type == REMOVE_VOTER and not last.allowed and all(verdict.allowed for verdict in others)


def _hand_over(situation: Situation, view: QuorumView, change: _Change) -> Part:
    """Restart the leader of a pair: the other one leads from the moment it stops, and then it can be removed."""
    verdict = may_hand_over(situation, view, change.target)
    if not verdict.allowed:
        wait = _change_wait(change, verdict.reason)
        shown = wait if situation.desired.allow_interruption else replace(wait, severity=Severity.HELD)
        return Part(waits=(shown,), verdicts=(verdict,))
    pods = situation.observed.pods_of(change.target.node_id, PodRole.KAFKA)
    pod = next(pod for pod in pods if pod.running and not pod.deleting)
    node = situation.record.node(change.target.node_id)
    revision = revision_of(situation.observed, situation.record, node) if node else None
    if node is not None and revision is not None:
        reason = _reason(change.type)
        held = before_stop(situation.observed, node, revision.name, reason=reason, held="RestartHeld")
        if held is not None:
            return replace(held, verdicts=(verdict,))
    message = f"pod {pod.name} restarts, so that it can be removed: {verdict.reason}"
    return Part(exclusive=DeletePod(pod=pod, reason="LeaderHandsOver", message=message), verdicts=(verdict,))


def _cure(situation: Situation, view: QuorumView) -> _Change | None:
    """A lost disk's or dead voter's change that could be made now, were no other open: one that is held may wait."""
    status = replace(situation.observed.status, operation=None)
    free = replace(situation, observed=replace(situation.observed, status=status))
    cures = (change for change in _changes(free, view) if change.type == REPLACE_VOTER or _removes_dead(view, change))
    return next((change for change in cures if change.refusal is None), None)


def _removes_dead(view: QuorumView, change: _Change) -> bool:
    return change.type == REMOVE_VOTER and change.target not in view.shown


def _left_to_do(situation: Situation, view: QuorumView, operation: Operation) -> _Change | None:
    """The step that the operation still lacks; None if it is done, or not wanted any more."""
    target = operation.target
    node = situation.record.node(target.node_id)
    if operation.type == REMOVE_VOTER:
        unwanted = target.node_id not in situation.wanted and not is_foreign(situation.record, target)
        back = target in view.shown and bool(_fewer(situation, view, target))
        return _remove(situation, view, target) if unwanted and target in view.voters and not back else None
    if target in view.voters or node is None or node.key != target or target.node_id not in situation.wanted:
        return None
    stale = view.voter_of(target.node_id)
    if stale is None:
        return _add(situation, view, target)
    return _replace(situation, view, stale, node) if operation.type == REPLACE_VOTER else None


def _ended(situation: Situation, view: QuorumView, operation: Operation) -> Part:
    """Nothing is left to do: committed, or still to be seen committed, or given up."""
    target = operation.target
    removal = operation.type == REMOVE_VOTER
    done = (target in view.voters) is not removal
    word = "removed" if removal else "added"
    if done and not view.committed:
        node = situation.record.node(target.node_id)
        return Part(
            waits=(_wait(_reason(operation.type), f"voter {target} is {word}, and waits to be committed", node),)
        )
    if done:
        text = f"voter {target} is {word} and committed"
        return Part(exclusive=FinishOperation(id=operation.id, reason="Completed", message=text))
    text = f"{_why_given_up(situation, view, operation)}: the change is given up"
    return Part(exclusive=FinishOperation(id=operation.id, reason="GivenUp", message=text))


def _why_given_up(situation: Situation, view: QuorumView, operation: Operation) -> str:
    target = operation.target
    if operation.type == REMOVE_VOTER:
        if target.node_id in situation.wanted:
            return f"{target} is wanted again"
        return f"{target} is caught up again, and stays until controllers {_fewer(situation, view, target)} can join"
    node = situation.record.node(target.node_id)
    if node is not None and node.node_id in situation.wanted and node.key != target:
        return f"controller {target.node_id} has another disk by now than {target}"
    return f"{target} is not wanted any more"


def _add_request(situation: Situation, view: QuorumView, target: ReplicaKey, leader: Endpoint) -> AddRaftVoter:
    desired, record = situation.desired, situation.record
    node = record.node(target.node_id)
    revision = revision_of(situation.observed, record, node) if node else None
    runtime = revision.runtime if revision else desired.runtime
    request = AddVoter(
        cluster_id=record.cluster_id,
        voter=target,
        listeners=(advertised(desired.namespace, desired.name, target.node_id, runtime),),
        timeout_ms=_CHANGE_TIMEOUT_MS,
    )
    return AddRaftVoter(leader=leader, request=request, judged_at_s=view.taken_at_s)


def _remove_request(situation: Situation, view: QuorumView, target: ReplicaKey, leader: Endpoint) -> RemoveRaftVoter:
    request = RemoveVoter(cluster_id=situation.record.cluster_id, voter=target)
    return RemoveRaftVoter(leader=leader, request=request, judged_at_s=view.taken_at_s)


# What a person reads


def stale_waits(situation: Situation) -> tuple[Wait, ...]:
    """Name every stale voter: what takes its place, or the command that removes what this operator never made."""
    if not isinstance(situation.observed.quorum, Known):
        return ()
    view = situation.observed.quorum.value
    return tuple(_stale(situation.record, view, key) for key in stale_voters(situation.record, view))


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
    reason, node_id = _reason(change.type), change.target.node_id
    return Wait(severity=Severity.PROGRESS, reason=reason, message=text, node_id=node_id)


def _reason(type_: str) -> str:
    return {ADD_VOTER: "AddingVoter", REMOVE_VOTER: "RemovingVoter"}.get(type_, "ReplacingVoter")


def _wait(reason: str, message: str, node: NodeIdentity | None = None) -> Wait:
    node_id = node.node_id if node else None
    return Wait(severity=Severity.PROGRESS, reason=reason, message=message, node_id=node_id)
