"""Which controllers a person holds, and which restarts that keeps back. Other concerns report the rest."""

from collections.abc import Iterator
from typing import Final

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.names import HOLD
from kafka_quorum.model.permit import Refusal, Verdict
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.held import HELD_BACK, is_held
from kafka_quorum.plan.guards.rule5_restarts import may_restart
from kafka_quorum.plan.part import Part

_HOLDING: Final = "Holding"
_NAMED_MAX: Final = 8
"""How many ids that are no controllers a message names."""


def held(situation: Situation) -> Part:
    """Report the hold, and every restart that it keeps back. A hold that cannot be read is a fault of the resource."""
    back, verdicts = [], []
    for verdict, node_id in _restarts(situation):
        verdicts.append(verdict)
        back.append(Wait(severity=Severity.HELD, reason=HELD_BACK, message=verdict.reason, node_id=node_id))
    return Part(waits=(*back, *_holding(situation)), verdicts=tuple(verdicts))


def _restarts(situation: Situation) -> Iterator[tuple[Verdict, NodeID]]:
    """The guard's refusals to restart held controllers that run from an earlier revision."""
    if situation.target_revision is None or situation.held_by_faults or situation.record.overlay.stopped:
        return
    for node in situation.older:
        pods = situation.observed.pods_of(node.node_id, PodRole.KAFKA)
        pod = next((pod for pod in pods if pod.running and pod.revision != situation.target), None)
        if pod is not None and is_held(situation, node.node_id):
            verdict = may_restart(situation, node, pod)
            if isinstance(verdict, Refusal):
                yield verdict, node.node_id


def _holding(situation: Situation) -> Iterator[Wait]:
    """One wait for each held controller, and one for all ids that are no controllers."""
    hold = situation.desired.hold
    if isinstance(hold, Unknown):
        return
    known = {*situation.record.node_ids, *situation.requested, *(pod.node_id for pod in situation.observed.pods)}
    for node_id in sorted(hold.value & known):
        text = f"Holding controller {node_id}: annotation {HOLD} keeps the operator from its pod and its disk"
        yield Wait(severity=Severity.HELD, reason=_HOLDING, message=text, node_id=node_id)
    if unknown := sorted(hold.value - known):
        named = ", ".join(map(str, unknown[:_NAMED_MAX]))
        more = f" and {len(unknown) - _NAMED_MAX} more" if len(unknown) > _NAMED_MAX else ""
        ids = ", ".join(map(str, sorted(situation.record.node_ids)))
        text = f"Annotation {HOLD} lists {named}{more}, and this quorum has controllers {ids} only. Correct it"
        yield Wait(severity=Severity.HELD, reason=_HOLDING, message=text)
