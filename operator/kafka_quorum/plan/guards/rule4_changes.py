"""Rule 4: one voter change at a time, and nothing is forgotten before a look shows it as committed."""

from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.observed import QuorumView
from kafka_quorum.model.permit import DropNode, OneChange
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.held import why_held
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless, yes


@guard(OneChange)
def may_change_voters(view: QuorumView, target: ReplicaKey, open_target: ReplicaKey | None) -> Answer:
    """Rule 4: one voter change at a time, none while another is uncommitted, and none soon after an election.

    A process that lost a tail of its log does not read a change that is written below the end of that tail. Should it
    lead later, it would show the old voters, and count majorities by them.
    """
    if open_target is not None and open_target != target:
        return no(f"Waiting to change voter {target}: the change of voter {open_target} is not complete yet")
    if not view.committed:
        return no(f"Waiting to change voter {target}: the present voter set is not committed yet")
    tenure = view.tenure
    if not tenure.settled:
        led = f"controller {view.answer.leader_id} has been seen to lead for less than {tenure.settles_after_s:g} s"
        return no(f"Waiting to change voter {target}: {led}, and an earlier leader could miss a change so soon")
    return yes("no voter change is open")


def unconfirmed(view: QuorumView, key: ReplicaKey) -> str:
    """Why a removal that this leader shows does not count yet: nothing else has shown it."""
    led = f"controller {view.answer.leader_id} has been seen to lead for less than {view.tenure.sure_after_s:g} s"
    return f"no answer has confirmed that voter {key} is removed, and {led}"


@guard(DropNode)
def may_drop_node(situation: Situation, node: NodeIdentity) -> Answer:
    """Rules 4 and 6: a controller is dropped from the record when a look shows its removal as committed."""
    observed = situation.observed
    waiting = f"Waiting to remove controller {node.node_id}"
    held = why_held(situation, node.node_id)
    text = f"Did not remove controller {node.node_id}: {held}. Until then its disk and its pod stay"
    if not (first := unless(((bool(held), text),), "")).allowed:
        return first
    if isinstance(observed.quorum, Unknown):
        return no(f"{waiting}: the quorum has no leader ({observed.quorum.reason})")
    view, operation = observed.quorum.value, observed.status.operation
    voter = view.voter_of(node.node_id)
    is_open = operation is not None and operation.target.node_id == node.node_id
    return unless(
        (
            (voter is not None, f"{waiting}: voter {voter} is not removed yet"),
            (not view.committed, f"{waiting}: its removal from the voters is not committed yet"),
            (node.key in view.unsure and not view.tenure.sure, f"{waiting}: {unconfirmed(view, node.key)}"),
            (is_open, f"{waiting}: the change of its voter is not complete yet"),
            (len(situation.record.nodes) == 1, f"Did not remove controller {node.node_id}: it is the last one"),
        ),
        f"controller {node.node_id} is no voter, and that is committed",
    )
