"""Voters: one change at a time, the intent first, and a look that decides what the result is.

The order: a lost disk is replaced (the stale key removed and the new one added with nothing in between). A dead voter
that is not wanted is removed. Wanted controllers are added. Live ones that are not wanted are removed, the active
controller last; the leader of a pair hands over before it is removed. The intent is written to the status before a
request is sent. Whatever the answer to the request is, the next look decides.
"""

from dataclasses import replace

from kafka_quorum.model import permit as permits
from kafka_quorum.model.actions import AddRaftVoter, BeginOperation, DeletePod, FinishOperation, RemoveRaftVoter
from kafka_quorum.model.identity import BootstrapPhase, NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import all_advertised
from kafka_quorum.model.nodes import is_foreign
from kafka_quorum.model.observed import QuorumView
from kafka_quorum.model.operation import VoterAddition, VoterChange, VoterOperation, VoterRemoval, VoterReplacement
from kafka_quorum.model.permit import Permit, Refusal, Verdict
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.quorum import AddVoter, Endpoint, RemoveVoter
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.admission import before_stop
from kafka_quorum.plan.facts.held import is_held, unless_held
from kafka_quorum.plan.facts.leader import leader_endpoint
from kafka_quorum.plan.facts.token import taken
from kafka_quorum.plan.guards.registry import allowed
from kafka_quorum.plan.guards.rule3_voters import hand_over_but_for_the_token, may_hand_over
from kafka_quorum.plan.guards.rule5_restarts import may_take_token
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.voters.changes import (
    Change,
    addition,
    asked,
    changes,
    fewer,
    removal,
    removes_dead,
    replacement,
)

_CHANGE_TIMEOUT_MS = 5_000


def membership(situation: Situation) -> Part:
    """The one voter change that is open, or the next one."""
    observed = situation.observed
    if situation.record.phase is not BootstrapPhase.STARTED:
        return Part()
    operation = observed.status.operation
    match observed.quorum:
        case Unknown(reason=reason):
            if operation is None:
                return Part(waits=(_wait("NoLeader", f"Waiting for a leader: {reason}"),))
            text = f"Waiting to change voter {operation.target}: the quorum has no leader ({reason})"
            return Part(waits=(_wait("NoLeader", text),))
        case Known(value=view):
            return _begin(situation, view) if operation is None else _continue(situation, view, operation)


def _begin(situation: Situation, view: QuorumView) -> Part:
    waits: list[Wait] = []
    verdicts: list[Verdict] = []
    for change in changes(situation, view):
        verdicts.extend(change.verdicts)
        refused = change.refusal
        if refused is None:
            begin = BeginOperation(change=change.change, permit=allowed(change.one))
            return Part(exclusive=begin, waits=tuple(waits), verdicts=tuple(verdicts))
        if _leads_only(change):
            return merged((Part(waits=tuple(waits), verdicts=tuple(verdicts)), _hand_over(situation, view, change)))
        waits.append(_refused_wait(situation, change, refused))
    if not view.committed and not waits:
        waits.append(_wait("VoterSetUncommitted", "Waiting for the present voter set to be committed"))
    return Part(waits=tuple(waits), verdicts=tuple(verdicts))


def _continue(situation: Situation, view: QuorumView, operation: VoterOperation) -> Part:
    """What is left of the open operation, as the voter set shows it now."""
    target = operation.target
    change = _left_to_do(situation, view, operation)
    if change is None:
        return _ended(situation, view, operation)
    refused = change.refusal
    leader = leader_endpoint(situation)
    if refused is not None and (cure := _cure(situation, view)) is not None:
        text = f"the change of voter {target} is given up for that of voter {cure.target}. {refused.reason}"
        gone = FinishOperation(id=operation.id, reason="GivenUp", message=text)
        return Part(exclusive=gone, verdicts=(*change.verdicts, *cure.verdicts))
    if _leads_only(change):
        return merged((Part(verdicts=change.verdicts), _hand_over(situation, view, change)))
    if refused is not None or leader is None:
        text = (
            refused.reason
            if refused
            else f"Waiting to change voter {target}: leader {view.answer.leader_id} has no pod that is known"
        )
        whole = replace(change, change=operation.change)
        return Part(waits=(_change_wait(whole, text),), verdicts=change.verdicts)
    if isinstance(change.change, VoterAddition):
        # The addition that replaces a removed voter comes before everything else.
        request = _add_request(situation, view, target, leader, allowed(change.adds))
        return Part(exclusive=request, verdicts=change.verdicts, urgent=isinstance(operation.change, VoterReplacement))
    stale = view.voter_of(target.node_id) or target
    request_ = _remove_request(situation, view, stale, leader, allowed(change.removes))
    return Part(exclusive=request_, verdicts=change.verdicts)


def _leads_only(change: Change) -> bool:
    """Whether only leading a pair prevents this removal: the guard for that is asked last."""
    return change.refusal is not None and change.refusal is change.leads


def _hand_over(situation: Situation, view: QuorumView, change: Change) -> Part:
    """Restart the leader of a pair: from its stop on, the other one leads, and then this one can be removed."""
    stop = hand_over_but_for_the_token(situation, view, change.target)
    taking = may_take_token(situation, stop, f"Waiting to let voter {change.target} hand over")
    verdict = may_hand_over(situation, view, change.target)
    if isinstance(verdict, Refusal) and not (stop.allowed and isinstance(taking, Permit)):
        wait = _change_wait(change, verdict.reason)
        shown = wait if situation.desired.allow_interruption else replace(wait, severity=Severity.HELD)
        return Part(waits=(shown,), verdicts=(verdict,))
    pod = situation.observed.serving(change.target.node_id)[0]
    node = situation.record.node(change.target.node_id)
    revision = situation.revision_of(node) if node else None
    if node is not None and revision is not None:
        reason = _reason(change.change)
        held = before_stop(situation.observed, node, revision.name, reason=reason, held="RestartHeld")
        if held is not None:
            return replace(held, verdicts=(verdict,))
    if isinstance(verdict, Refusal):
        why = f"controller {change.target.node_id} hands over next"
        return taken(situation, taking, why) if isinstance(taking, Permit) else Part(verdicts=(taking,))
    message = f"pod {pod.name} restarts, so that its voter no longer leads and can be removed: {verdict.reason}"
    return Part(
        exclusive=DeletePod(pod=pod, reason="LeaderHandsOver", message=message, permit=verdict), verdicts=(verdict,)
    )


def _cure(situation: Situation, view: QuorumView) -> Change | None:
    """A change for a lost disk or dead voter that would be allowed if no other were open. One that is held may wait."""
    status = replace(situation.observed.status, open=None)
    free = replace(situation, observed=replace(situation.observed, status=status))
    found = changes(free, view)
    cures = (one for one in found if isinstance(one.change, VoterReplacement) or removes_dead(view, one))
    return next((one for one in cures if one.refusal is None), None)


def _left_to_do(situation: Situation, view: QuorumView, operation: VoterOperation) -> Change | None:
    """The step that the operation still lacks; None if it is done, or not wanted any more."""
    target = operation.target
    node = situation.record.node(target.node_id)
    if isinstance(operation.change, VoterRemoval):
        unwanted = target.node_id not in situation.wanted and not is_foreign(situation.record, target)
        unwanted = unwanted and not _stays_by_hold(situation, target)
        back = target in view.shown and bool(fewer(situation, view, target))
        return removal(situation, view, target) if unwanted and target in view.voters and not back else None
    if target in view.voters or node is None or node.key != target or target.node_id not in asked(situation):
        return None
    stale = view.voter_of(target.node_id)
    if stale is None:
        return addition(situation, view, target)
    return replacement(situation, view, stale, node) if isinstance(operation.change, VoterReplacement) else None


def _stays_by_hold(situation: Situation, target: ReplicaKey) -> bool:
    """Whether a person holds the controller of this vote. A stale vote is on no disk of the controller."""
    node = situation.record.node(target.node_id)
    return is_held(situation, target.node_id) and (node is None or node.key == target)


def _ended(situation: Situation, view: QuorumView, operation: VoterOperation) -> Part:
    """Nothing is left to do: it is committed, or must still be seen as committed, or is given up."""
    target = operation.target
    removal = isinstance(operation.change, VoterRemoval)
    done = (target in view.voters) is not removal
    word = "removed" if removal else "added"
    if done and not view.committed:
        node = situation.record.node(target.node_id)
        return Part(
            waits=(
                _wait(
                    _reason(operation.change), f"Waiting for the change to be committed: voter {target} is {word}", node
                ),
            )
        )
    if done:
        text = f"voter {target} is {word} and committed"
        return Part(exclusive=FinishOperation(id=operation.id, reason="Completed", message=text))
    text = f"the voter change is given up: {_why_given_up(situation, view, operation)}"
    return Part(exclusive=FinishOperation(id=operation.id, reason="GivenUp", message=text))


def _why_given_up(situation: Situation, view: QuorumView, operation: VoterOperation) -> str:
    target = operation.target
    if isinstance(operation.change, VoterRemoval):
        if _stays_by_hold(situation, target):
            return f"voter {target} stays, because a person holds its controller"
        if target.node_id in situation.wanted and target.node_id not in situation.requested:
            return f"voter {target} stays, because no voter is removed while the spec is not valid"
        if target.node_id in situation.wanted:
            return f"voter {target} is requested again"
        return (
            f"voter {target} is caught up again, and stays until controllers {fewer(situation, view, target)} can join"
        )
    node = situation.record.node(target.node_id)
    if node is not None and node.node_id in situation.wanted and node.key != target:
        return f"controller {target.node_id} has another disk now than {target}"
    return f"voter {target} is not requested any more"


def _add_request(
    situation: Situation, view: QuorumView, target: ReplicaKey, leader: Endpoint, permit: Permit[permits.AddVoter]
) -> AddRaftVoter:
    desired, record = situation.desired, situation.record
    node = record.node(target.node_id)
    revision = situation.revision_of(node) if node else None
    runtime = revision.runtime if revision else desired.runtime
    request = AddVoter(
        cluster_id=record.cluster_id,
        voter=target,
        listeners=all_advertised(desired.namespace, desired.member(target.node_id), runtime),
        timeout_ms=_CHANGE_TIMEOUT_MS,
    )
    return AddRaftVoter(leader=leader, request=request, judged_at_s=view.taken_at_s, permit=permit)


def _remove_request(
    situation: Situation, view: QuorumView, target: ReplicaKey, leader: Endpoint, permit: Permit[permits.RemoveVoter]
) -> RemoveRaftVoter:
    request = RemoveVoter(cluster_id=situation.record.cluster_id, voter=target)
    return RemoveRaftVoter(leader=leader, request=request, judged_at_s=view.taken_at_s, permit=permit)


def _change_wait(change: Change, text: str) -> Wait:
    reason, node_id = _reason(change.change), change.target.node_id
    return Wait(severity=Severity.PROGRESS, reason=reason, message=text, node_id=node_id)


def _refused_wait(situation: Situation, change: Change, refused: Refusal) -> Wait:
    """The wait for a change that a guard refuses; a removal that a hold refuses waits for a person."""
    wait = _change_wait(change, refused.reason)
    held = isinstance(change.change, VoterRemoval) and _stays_by_hold(situation, change.target)
    return unless_held(situation, wait) if held and refused is change.removes else wait


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
