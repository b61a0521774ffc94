"""Rolling: running controllers are recreated from the revision that the spec requests, one by one.

Every pass decides again which one is next, so that a roll can be paused, reversed and interrupted anywhere. Those that
lag or do not run come first: the roll may repair them, and all others wait for them. Then come those that the record
has moved already, then followers, and the active controller last. The record moves first, then the pod is stopped, and
its successor is made from the record.
"""

from collections.abc import Set as AbstractSet
from dataclasses import replace

from kafka_quorum.model.actions import RecordChange, RestartPod, WriteRecord
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, NodeIdentity, with_revision
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Permit, Refusal, Restart, TakeToken, Verdict
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.admission import before_stop, is_refused
from kafka_quorum.plan.facts.held import held_back, is_held
from kafka_quorum.plan.facts.podstate import is_stuck
from kafka_quorum.plan.facts.reported import misreported, restarted
from kafka_quorum.plan.facts.static import would_vote_at_once
from kafka_quorum.plan.facts.token import WAITS_FOR_TOKEN, taken, urgent
from kafka_quorum.plan.guards.rule5_restarts import may_restart, token_for_restart, why_leaf_of_before
from kafka_quorum.plan.guards.rule7_releases import may_run_image
from kafka_quorum.plan.part import Part

ROLLING = "Rolling"
ROLL_HELD = "RollHeld"


def roll(situation: Situation) -> Part:
    """The next restart of a roll, or what it waits for. `revisions` creates the revision itself.

    With an invalid spec it brings renewed certificates, and nothing else.
    """
    record = situation.record
    revision = situation.target_revision
    if record.phase is not BootstrapPhase.STARTED or revision is None:
        return Part()
    if situation.held_by_faults:
        return Part()
    if not situation.older or not may_run_image(situation, revision.runtime.release).allowed:
        return Part()
    if (held := _held(situation, revision.runtime.release)) is not None:
        return Part(waits=(held,))
    refused: list[tuple[NodeIdentity, Refusal]] = []
    turns = _turns(situation)
    which = f"{len(record.nodes) - len(situation.older) + 1} of {len(record.nodes)}"
    for node in turns:
        match _one(situation, node, which):
            case Part() as part:
                return part
            case Refusal() as refusal:
                refused.append((node, refusal))
            case None:
                continue
    return Part(waits=_waits(situation, turns, refused), verdicts=tuple(verdict for _, verdict in refused))


def _one(situation: Situation, node: NodeIdentity, which: str) -> Part | Refusal | None:
    """What the roll does with one controller, or the guard's refusal; None if `pods` handles it."""
    record = situation.record
    pods = situation.observed.pods_of(node.node_id, PodRole.KAFKA)
    pod = next((pod for pod in pods if pod.running), None)
    if pod is None and (_made_from(record, node) == situation.target or any(one.deleting for one in pods)):
        return None  # it is starting, or being deleted
    if pod is not None and pod.revision == situation.target:
        return _move(situation, node, f"it runs from revision {situation.target}", ())
    verdict = may_restart(situation, node, pod)
    if isinstance(verdict, Refusal):
        return _token_first(situation, node, pod) or _back(situation, node) or verdict
    if pod is None:
        return _move(situation, node, verdict.reason, (verdict,))
    return _go(situation, node, pod, verdict, which)


def _token_first(situation: Situation, node: NodeIdentity, pod: Pod | None) -> Part | Refusal | None:
    """The token is taken when nothing else is missing, and the new pod was accepted; None if it is not missing."""
    verdict = token_for_restart(situation, node, pod)
    if not isinstance(verdict, Permit):
        return verdict
    held = before_stop(situation.observed, node, situation.target, reason=ROLLING, held=ROLL_HELD)
    if held is not None:
        return replace(held, verdicts=(verdict,))
    return taken(situation, verdict, f"controller {node.node_id} is restarted next")


def _back(situation: Situation, node: NodeIdentity) -> Part | None:
    """A controller that cannot start, and is held from the target by its Secret, goes back to the applied revision.

    That one has run before, and is made for an earlier certificate, as the Secret has it. Otherwise all others would
    wait for a controller whose revision nobody asks for any more.
    """
    record, applied = situation.record, situation.observed.revision(situation.record.applied_revision)
    if is_held(situation, node.node_id):
        return None
    own, pods = _made_from(record, node), situation.observed.pods_of(node.node_id, PodRole.KAFKA)
    if applied is None or applied.name in (situation.target, own) or record.migration is not None:
        return None
    if not (pods and all(is_stuck(pod) and pod.revision == own for pod in pods) and record.had_leader):
        return None
    if node.formatted and would_vote_at_once(node, applied.runtime):
        return None
    held = why_leaf_of_before(situation, node)
    if not held or not may_run_image(situation, applied.runtime.release).allowed:
        return None
    moved = with_revision(record, applied.name, (node.node_id,))
    message = (
        f"controller {node.node_id} goes back to revision {applied.name}: it does not start from {own}, and {held}"
    )
    return Part(exclusive=WriteRecord(record=moved, change=RecordChange.ROLL, message=message))


def _made_from(record: IdentityRecord, node: NodeIdentity) -> str | None:
    """The name of the revision from which a controller's pod is made next."""
    return node.revision or record.applied_revision


def _turns(situation: Situation) -> tuple[NodeIdentity, ...]:
    """Which may be next, in order. While a moved one still runs from the old revision, no other follower begins.

    One that a person holds runs from it for as long as the person wants, so that no other follower waits for it. Of
    the followers, those whose certificates end soon come first.
    """
    observed = situation.observed
    moved = {
        node.node_id
        for node in situation.older
        if _made_from(situation.record, node) == situation.target and not _leads(observed, node)
        if not is_held(situation, node.node_id)
    }
    first = urgent(situation)
    ranked = sorted(
        situation.older, key=lambda node: (*_turn(observed, node, moved), node.node_id not in first, node.node_id)
    )
    return tuple(node for node in ranked if not moved or node.node_id in moved or _lags(observed, node))


def _turn(observed: Observed, node: NodeIdentity, moved: AbstractSet[NodeID]) -> tuple[bool, bool, bool]:
    return _leads(observed, node), not _lags(observed, node), node.node_id not in moved


def _leads(observed: Observed, node: NodeIdentity) -> bool:
    return isinstance(observed.quorum, Known) and node.node_id == observed.quorum.value.answer.leader_id


def _lags(observed: Observed, node: NodeIdentity) -> bool:
    """Whether a controller does not run, or is seen to lag."""
    if not any(pod.running for pod in observed.pods_of(node.node_id, PodRole.KAFKA)):
        return True
    return isinstance(observed.quorum, Known) and node.key not in observed.quorum.value.shown


def _go(situation: Situation, node: NodeIdentity, pod: Pod, verdict: Permit[Restart], which: str) -> Part:
    """First the record, then the pod: the record says what replaces it. The API server accepts the new pod before."""
    observed = situation.observed
    held = before_stop(observed, node, situation.target, reason=ROLLING, held=ROLL_HELD)
    if held is not None:
        return replace(held, verdicts=(verdict,))
    if _made_from(situation.record, node) != situation.target:
        return _move(situation, node, f"{which}: {verdict.reason}", (verdict,))
    voters = observed.quorum.value.voters if isinstance(observed.quorum, Known) else frozenset()
    message = f"pod {pod.name} restarts from revision {situation.target}: {verdict.reason}"
    restart = RestartPod(pod=pod, evict=len(voters) > 1, message=message, permit=verdict)
    return Part(exclusive=restart, verdicts=(verdict,))


def _move(situation: Situation, node: NodeIdentity, why: str, verdicts: tuple[Verdict, ...]) -> Part:
    moved = with_revision(situation.record, situation.target, (node.node_id,))
    message = f"controller {node.node_id} moves to revision {situation.target} ({why})"
    return Part(exclusive=WriteRecord(record=moved, change=RecordChange.ROLL, message=message), verdicts=verdicts)


def _held(situation: Situation, release: str) -> Wait | None:
    """What stops a roll after its first controllers: one that cannot start, or that is not the release of its image."""
    for node in situation.record.nodes:
        pods = [
            pod for pod in situation.observed.pods_of(node.node_id, PodRole.KAFKA) if pod.revision == situation.target
        ]
        if (stuck := next(filter(is_stuck, pods), None)) is not None:
            return _wait(Severity.HELD, ROLL_HELD, _why_stuck(situation, stuck), node.node_id)
    if (found := misreported(situation, release)) is not None:
        node_id, lie = found
        way_out = "Correct spec.kafka.image or spec.kafka.version"
        text = f"Did not continue the roll: controller {node_id} {lie}. {way_out}"
        return _wait(Severity.HELD, ROLL_HELD, text, node_id)
    return _unheard(situation)


def _why_stuck(situation: Situation, pod: Pod) -> str:
    """Why the roll stops at this pod. If no node takes the pod, the spec may be correct."""
    first = f"Did not continue the roll: controller {pod.node_id}"
    if pod.unschedulable:
        way_out = "Uncordon its Kubernetes node, or make room for it there. If the spec asks for too much, correct it"
        return f"{first} finds no place ({pod.unschedulable}). {way_out}"
    return f"{first} does not start from revision {situation.target}. Correct the spec, or restore the earlier one"


def _unheard(situation: Situation) -> Wait | None:
    """A restarted controller must report what it supports before the next one restarts."""
    for node_id, answer in restarted(situation):
        if isinstance(answer, Unknown):
            text = f"Waiting for controller {node_id} to report what it supports ({answer.reason})"
            return _wait(Severity.PROGRESS, ROLLING, text, node_id)
    return None


def _waits(
    situation: Situation, turns: tuple[NodeIdentity, ...], refused: list[tuple[NodeIdentity, Refusal]]
) -> tuple[Wait, ...]:
    free = [(node, verdict) for node, verdict in refused if not is_held(situation, node.node_id)]
    if free:
        node, verdict = free[0]
        reason = WAITS_FOR_TOKEN if verdict.rule == TakeToken.id else ROLLING
        wait = _wait(Severity.PROGRESS, reason, verdict.reason, node.node_id)
        # The active controller waits for those that are held: only a person ends that.
        last = len(free) == 1 < len(refused) and _leads(situation.observed, node)
        return (held_back(wait) if last else wait,)
    if refused:
        return ()  # all of them are held: `pods.held` reports that
    starting = turns[0]  # none of them runs
    if is_refused(situation, starting):
        return ()  # `pods` reports why it has no pod
    text = f"Waiting for controller {starting.node_id} to run"
    return (_wait(Severity.PROGRESS, ROLLING, text, starting.node_id),)


def _wait(severity: Severity, reason: str, message: str, node_id: NodeID) -> Wait:
    return Wait(severity=severity, reason=reason, message=message, node_id=node_id)
