"""Controllers and disks that leave: removed by the spec, given up with a lost node, and their volumes.

The order is always the same. The voter is removed, and a look shows this as committed. The controller is removed from
the record, which retires the directory id for ever. Its pod is stopped, and its volume is released by the policy for
scaled volumes. The disk of a lost node is retired first, because it cannot be asked; its old claim waits until its key
is removed from the voters.
"""

from kafka_quorum.model.actions import DecideRecord, RecordChange
from kafka_quorum.model.identity import BootstrapPhase, NodeIdentity, with_disk_lost, without_node
from kafka_quorum.model.known import Known
from kafka_quorum.model.nodes import is_down, node_of
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.held import unless_held
from kafka_quorum.plan.guards.rule2_disks import may_retire_node
from kafka_quorum.plan.guards.rule4_changes import may_drop_node
from kafka_quorum.plan.part import Part, merged


def removed(situation: Situation) -> Part:
    """Controllers that the spec does not list any more leave the record when they are no voters."""
    unwanted = [node for node in situation.record.nodes if node.node_id not in situation.wanted]
    if situation.record.phase is not BootstrapPhase.STARTED:
        return merged(_waits_for_start(node) for node in unwanted)
    return merged(_drop(situation, node) for node in unwanted)


def _waits_for_start(node: NodeIdentity) -> Part:
    text = f"Waiting to remove controller {node.node_id}: the quorum has not started yet"
    return Part(waits=(_wait(Severity.HELD, "RemovingController", text, node),))


def _drop(situation: Situation, node: NodeIdentity) -> Part:
    verdict = may_drop_node(situation, node)
    if isinstance(verdict, Refusal):
        wait = unless_held(situation, _wait(Severity.PROGRESS, "RemovingController", verdict.reason, node))
        return Part(verdicts=(verdict,), waits=(wait, *_down(situation.observed, node)))
    retired = f"directory id {node.directory_id} retired" if node.directory_id else "had no directory id yet"
    message = f"controller {node.node_id} is removed, and {retired}"
    write = DecideRecord(
        record=without_node(situation.record, node.node_id),
        change=RecordChange.NODES_REMOVED,
        message=message,
        permit=verdict,
    )
    return Part(exclusive=write, verdicts=(verdict,))


def _down(observed: Observed, node: NodeIdentity) -> tuple[Wait, ...]:
    """The lost node of a controller that is not requested: there may be no leader that could remove its voter."""
    name = node_of(observed, node)
    if isinstance(observed.quorum, Known) or not is_down(observed, name):
        return ()
    kept = "The controller is being removed, so it is not replaced"
    text = f"Kubernetes node {name} of controller {node.node_id} is down. {kept}"
    return (_wait(Severity.DEGRADED, "NodeDown", text, node),)


def lost_nodes(situation: Situation) -> Part:
    """Wanted controllers on a Kubernetes node that is down: waited for, and given up by the policy.

    A controller that fetches is not lost. A roll looks at nodes, too, so the node of this one may be known as not
    ready.
    """
    if situation.record.phase is not BootstrapPhase.STARTED:
        return Part()
    return merged(
        _lost_node(situation, node)
        for node in situation.record.nodes
        if node.node_id in situation.wanted
        and not _fetches(situation.observed, node)
        and is_down(situation.observed, node_of(situation.observed, node))
    )


def _fetches(observed: Observed, node: NodeIdentity) -> bool:
    return isinstance(observed.quorum, Known) and node.key in observed.quorum.value.live


def _lost_node(situation: Situation, node: NodeIdentity) -> Part:
    verdict = may_retire_node(situation, node)
    if isinstance(verdict, Refusal):
        wait = _wait(Severity.DEGRADED, "LostNode", verdict.reason, node)
        return Part(verdicts=(verdict,), waits=(wait,))
    message = f"controller {node.node_id} gets a new disk on another Kubernetes node: {verdict.reason}"
    retired = with_disk_lost(situation.record, node.node_id, new_claim=True)
    write = DecideRecord(record=retired, change=RecordChange.NODE_LOST, message=message, permit=verdict)
    return Part(exclusive=write, verdicts=(verdict,))


def _wait(severity: Severity, reason: str, message: str, node: NodeIdentity) -> Wait:
    return Wait(severity=severity, reason=reason, message=message, node_id=node.node_id)
