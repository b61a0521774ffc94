"""What a plan may do while an object of the quorum cannot be read: nothing that could depend on it.

An object that exists and cannot be understood is Unknown: it is neither absent nor healthy. The controller that it
belongs to is left alone. So is every decision about the quorum as a whole (the record, voters, restarts, levels,
deletions of volumes). Other controllers' pods and disks are kept as usual: a decision that waits here does not stand
alone in the plan (`planner`), because nothing else would be done during the wait.
"""

from dataclasses import replace
from typing import Final

from kafka_quorum.model import actions
from kafka_quorum.model.actions import Action
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.observed import Observed, Unreadable
from kafka_quorum.model.plan import Plan, Severity, Wait

REASON: Final = "Unreadable"
_REQUEUE_S: Final = 5.0
_OF_THE_QUORUM: Final = (actions.ApplyService, actions.ApplyBudget, actions.KeepSpec)
"""Actions that depend on no claim, pod or revision."""


def without(planned: Plan, observed: Observed) -> Plan:
    """The plan without what could depend on an object that cannot be read; each such object is a wait."""
    if not observed.unreadable:
        return planned
    nodes = {item.node_id for item in observed.unreadable}
    kept = tuple(action for action in planned.actions if _may(action, nodes))
    waits = tuple(wait for wait in planned.waits if wait.node_id is None or wait.node_id not in nodes)
    return replace(
        planned,
        actions=kept,
        waits=(*(_wait(item) for item in observed.unreadable if not item.later), *waits),
        requeue_s=min(planned.requeue_s, _REQUEUE_S),
    )


def _may(action: Action, nodes: set[NodeID | None]) -> bool:
    """Whether an action concerns only what can be read. None among `nodes`: the controller of one is unknown."""
    if isinstance(action, _OF_THE_QUORUM):
        return True
    node_id = _node_of(action)
    return node_id is not None and node_id not in nodes and None not in nodes


def _node_of(action: Action) -> NodeID | None:
    """The one controller whose pod or disk an action keeps; None for every action that decides on more."""
    match action:
        case actions.CreateClaim() | actions.CreateFormatter() | actions.CreatePod():
            return action.node_id
        case actions.DeletePod() if action.pod.running or action.takes_disk:
            return None  # what follows from stopping it is a decision about the quorum
        case actions.MarkPod() | actions.DeletePod():
            return action.pod.node_id
        case actions.AnnotateClaim(retired=False):
            return action.claim.node_id
        case _:
            return None


def _wait(item: Unreadable) -> Wait:
    text = (
        f"Did not change the voters, nor the controller that {item.kind} {item.name} belongs to: the operator does not "
        f"understand this object ({item.why}). Correct the object, or upgrade the operator"
    )
    return Wait(severity=Severity.DEGRADED, reason=REASON, message=text, node_id=item.node_id)
