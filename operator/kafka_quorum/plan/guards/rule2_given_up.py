"""Rule 2: a disk that a person gives up, whether its data is lost or not.

A person's word is the evidence, so it must name the disk: node id and directory id. The directory id that it names is
retired by the same write that gives up the disk, so the same word can never give up the disk that follows.
"""

from kafka_quorum.model.identity import BootstrapPhase, NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.names import REPLACE
from kafka_quorum.model.nodes import stale_voters
from kafka_quorum.model.observed import QuorumView
from kafka_quorum.model.permit import GiveUpDisk, Permit, Refusal, TakeToken
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.voters import PAIR
from kafka_quorum.plan.facts.changing import why_changing
from kafka_quorum.plan.facts.held import why_held
from kafka_quorum.plan.facts.kept import staying_of
from kafka_quorum.plan.facts.mountable import why_no_secret
from kafka_quorum.plan.facts.static import STATIC, takes_empty_disks
from kafka_quorum.plan.facts.token import holds_token, needs_token, why_no_token
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless
from kafka_quorum.plan.guards.rule5_restarts import is_made_from, is_steady, may_take_token


@guard(GiveUpDisk)
def may_give_up_disk(situation: Situation, target: ReplicaKey) -> Answer:
    """Rule 2: a disk is given up because a person names it, if the quorum can do without it for as long as it takes.

    The other voters that keep up, on disks that stay, are a majority of the whole voter set. Nothing else is changing.
    A controller that keeps up is stopped by this, so that the quorum has the disruption token first.
    """
    answer, node = _may_do_without_disk(situation, target), situation.record.node(target.node_id)
    if not answer.allowed or node is None or not needs_token(situation, node) or holds_token(situation):
        return answer
    why = why_no_token(situation) or "the disruption token is not taken yet"
    return no(f"Waiting to replace replica {target}: {why}")


def token_to_give_up(situation: Situation, target: ReplicaKey) -> Permit[TakeToken] | Refusal | None:
    """Whether the token may be taken for this; None if it is not what the replacement waits for."""
    node = situation.record.node(target.node_id)
    if node is None or not needs_token(situation, node) or holds_token(situation):
        return None
    stop = _may_do_without_disk(situation, target)
    return may_take_token(situation, stop, f"Waiting to replace replica {target}") if stop.allowed else None


def is_replaced(situation: Situation, target: ReplicaKey) -> bool:
    """Whether the disk that a person names is given up already: the record retires its directory id for ever."""
    record = situation.record
    node = record.node(target.node_id)
    now = () if node is None else node.retired
    before = (each.retired for each in record.former if each.node_id == target.node_id)
    return any(target.directory_id in retired for retired in (now, *before))


def why_never(situation: Situation, target: ReplicaKey) -> str:
    """Why this disk is not given up until a person changes something, as a whole sentence; empty if time may do."""
    record = situation.record
    node, which = record.node(target.node_id), f"Did not replace replica {target}"
    if node is None:
        ids = ", ".join(map(str, record.node_ids))
        return f"Did not replace controller {target.node_id}: this quorum has controllers {ids} only. Correct {REPLACE}"
    if target.directory_id is None:
        first = f"Did not replace controller {target.node_id}: annotation {REPLACE} does not name its disk"
        return f"{first}. {_how_to_name(node)}"
    if target != node.key:
        return f"{which}: this is no disk of controller {target.node_id}. {_how_to_name(node)}"
    quorum, present = situation.observed.quorum, "spec.controllers"
    alone = not isinstance(quorum, Unknown) and len(quorum.value.voters) <= PAIR and target in quorum.value.voters
    rows = (
        (bool(held := why_held(situation, target.node_id)), f"{which}: {held}. The hold comes first"),
        (
            target.node_id not in situation.wanted,
            f"{which}: {present} does not list controller {target.node_id}, which is being removed with its disk",
        ),
        (takes_empty_disks(situation), f"{which}: {STATIC}"),
        (alone, f"{which}: the other voters would be no majority. Set {present}.replicas to 3 first"),
    )
    return next((text for holds, text in rows if holds), "")


def _how_to_name(node: NodeIdentity) -> str:
    if node.directory_id is None:
        return f"Controller {node.node_id} gets a new disk now: nothing is left to give up"
    return f"To give up the disk that it has now, write {node.key}"


def _may_do_without_disk(situation: Situation, target: ReplicaKey) -> Answer:
    """Whether the disk may be given up, except that the token may be missing."""
    observed, waiting = situation.observed, f"Waiting to replace replica {target}"
    if never := why_never(situation, target):
        return no(never)
    if situation.record.phase is not BootstrapPhase.STARTED:
        return no(f"{waiting}: the quorum has not started yet")
    if isinstance(observed.quorum, Unknown):
        return no(f"{waiting}: the quorum has no leader ({observed.quorum.reason})")
    view, status = observed.quorum.value, observed.status
    others = view.voters - {target}
    steady = frozenset(key for key in others if is_steady(situation, view, key))
    votes = view.votes.only(staying_of(situation, steady))
    healthy, majority = len(votes.healthy), votes.majority
    stale = ", ".join(map(str, stale_voters(situation.record, view)))
    away = ", ".join(_restarted(situation, view, target)) if situation.older else ""
    secret = _why_no_secret(situation, target)
    few = f"too few other voters keep up on disks that stay ({healthy} of the {majority} needed)"
    return unless(
        (
            (
                status.operation is not None or not view.committed or view.changing,
                f"{waiting}: {why_changing(observed)}",
            ),
            (status.feature_operation is not None, f"{waiting}: the change of a feature level is not complete yet"),
            (situation.record.migration is not None, f"{waiting}: a migration is under way, and must end first"),
            (bool(stale), f"{waiting}: stale or foreign voters {stale} must be removed first"),
            (bool(secret), f"{waiting}: {secret}"),
            (bool(away), f"{waiting}: controllers {away} were restarted, and must catch up first"),
            (target in view.voters and not votes.carries, f"{waiting}: {few}"),
        ),
        f"a person gives up the disk of controller {target.node_id}, and {healthy} other voters keep up",
    )


def _why_no_secret(situation: Situation, target: ReplicaKey) -> str:
    """Why a controller that runs now would not come back, for want of a Secret; empty if it would, or does not run."""
    node = situation.record.node(target.node_id)
    revision = None if node is None else situation.revision_of(node)
    if revision is None or not situation.observed.serving(target.node_id):
        return ""
    return why_no_secret(situation, target.node_id, revision.runtime)


def _restarted(situation: Situation, view: QuorumView, target: ReplicaKey) -> tuple[str, ...]:
    """The other controllers that a roll has restarted, and that do not keep up yet."""
    others = (node for node in situation.record.nodes if node.key in view.voters - {target})
    return tuple(
        str(node.node_id)
        for node in others
        if is_made_from(situation, node) and not is_steady(situation, view, node.key)
    )
