"""Controllers without a pod, because the pod is refused: they move to a revision that is accepted."""

from dataclasses import replace

from kafka_quorum.model.actions import RecordChange, WriteRecord
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, NodeIdentity, with_revision
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.admission import refused_pod
from kafka_quorum.plan.facts.static import would_vote_at_once
from kafka_quorum.plan.guards.rule5_restarts import why_leaf_of_before
from kafka_quorum.plan.guards.rule7_releases import may_run_image
from kafka_quorum.plan.part import Part, merged


def moved(situation: Situation) -> Part:
    """Controllers without a pod, because the pod is refused, move to an accepted revision: one look, one move.

    The first is `situation.target`. The controller's own revision is asked about again before the applied one.
    None moves to a target whose certificate its Secret lacks: it would count as one that shows that certificate.
    """
    if situation.record.phase is not BootstrapPhase.STARTED:
        return Part()
    return merged(_moved(situation, node) for node in situation.record.nodes)


def _moved(situation: Situation, node: NodeIdentity) -> Part:
    refused = refused_pod(situation, node)
    if refused is None:
        return Part()
    pod, own = refused
    for name in dict.fromkeys((situation.target, situation.record.applied_revision)):
        revision = situation.observed.revision(name)
        if name in (None, pod.revision) or revision is None or (name != situation.target and not own.current):
            continue
        if node.formatted and would_vote_at_once(node, revision.runtime):
            continue
        if name == situation.target and why_leaf_of_before(situation, node):
            continue
        if not may_run_image(situation, revision.runtime.release).allowed:
            continue
        question = replace(pod, revision=revision.name)
        match situation.observed.admission(question):
            case Known(value=answer) if answer.allowed:
                return _move(situation.record, node, pod.revision, revision.name)
            case Known(value=answer) if answer.current:
                continue
            case Unknown():
                return Part()  # a newer revision may be accepted
            case _:
                return Part(questions=(question,))
    return Part()


def _move(record: IdentityRecord, node: NodeIdentity, refused: str, name: str) -> Part:
    why = f"the API server refuses its pod from revision {refused}"
    message = f"controller {node.node_id} moves to revision {name}, because {why}"
    corrected = with_revision(record, name, (node.node_id,))
    return Part(exclusive=WriteRecord(record=corrected, change=RecordChange.REVISION, message=message))
