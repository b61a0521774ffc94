"""Voters: a controller that caught up as an observer is added, one at a time, and the change is seen committed.

The intent is written to the status before the request is sent; whatever becomes of the request, the next look decides.
"""

from dataclasses import replace

from kafka_quorum.model.actions import AddRaftVoter, BeginOperation, FinishOperation, RecordChange, WriteRecord
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import advertised
from kafka_quorum.model.nodes import revision_of, stale_voters, wanted_node_ids
from kafka_quorum.model.observed import Observed, Operation, Pod, PodRole, QuorumView
from kafka_quorum.model.plan import Severity, Verdict, Wait
from kafka_quorum.model.quorum import AddVoter, Endpoint
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.safety import may_add_voter, may_change_voters

ADD_VOTER = "AddVoter"
_ADD_TIMEOUT_MS = 5_000


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


def membership(desired: Desired, observed: Observed, record: IdentityRecord) -> Part:
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
            if operation is not None:
                return _continue(desired, observed, record, view, operation)
            return _begin(desired, observed, record, view)


def stale_waits(record: IdentityRecord, observed: Observed) -> tuple[Wait, ...]:
    """Name every stale voter, and the command that removes it."""
    if not isinstance(observed.quorum, Known):
        return ()
    view = observed.quorum.value
    return tuple(_stale(key, view) for key in stale_voters(record, view))


def _stale(key: ReplicaKey, view: QuorumView) -> Wait:
    remove = f"kafka-metadata-quorum.sh remove-controller --controller-id {key.node_id}"
    text = (
        f"voter {key} is stale: its disk is lost or not this quorum's. This version does not remove voters; with "
        f"{len(view.voters & view.caught_up)} of {len(view.voters)} voters caught up, a person can: {remove} "
        f"--controller-directory-id {key.directory_id}. Then the new disk is added by itself"
    )
    return Wait(severity=Severity.DEGRADED, reason="StaleVoter", message=text, node_id=key.node_id)


def _candidates(desired: Desired, record: IdentityRecord, view: QuorumView) -> tuple[NodeIdentity, ...]:
    wanted = wanted_node_ids(desired, record)
    return tuple(
        node
        for node in record.nodes
        if node.node_id in wanted and node.directory_id is not None and node.formatted and node.key not in view.voters
    )


def _verdicts(
    desired: Desired, observed: Observed, record: IdentityRecord, view: QuorumView, target: ReplicaKey
) -> tuple[Verdict, ...]:
    operation = observed.status.operation
    others = tuple(node.key for node in _candidates(desired, record, view) if node.key != target)
    return (
        may_change_voters(view, target, operation.target if operation else None),
        may_add_voter(view, observed, target, len(wanted_node_ids(desired, record)), others),
    )


def _begin(desired: Desired, observed: Observed, record: IdentityRecord, view: QuorumView) -> Part:
    waits: list[Wait] = []
    verdicts: list[Verdict] = []
    for node in _candidates(desired, record, view):
        if view.voter_of(node.node_id) is not None:
            verdicts.extend(_verdicts(desired, observed, record, view, node.key)[1:])
            continue  # its stale voter is named by stale_waits
        judged = _verdicts(desired, observed, record, view, node.key)
        verdicts.extend(judged)
        if all(verdict.allowed for verdict in judged):
            begin = BeginOperation(type=ADD_VOTER, target=node.key)
            return Part(exclusive=begin, waits=tuple(waits), verdicts=tuple(verdicts))
        text = next(verdict.reason for verdict in judged if not verdict.allowed)
        waits.append(_wait("AddingVoter", text, node))
    if not view.committed and not waits:
        waits.append(_wait("VoterSetUncommitted", "waits until the present voter set is committed"))
    return Part(waits=tuple(waits), verdicts=tuple(verdicts))


def _continue(
    desired: Desired, observed: Observed, record: IdentityRecord, view: QuorumView, operation: Operation
) -> Part:
    target = operation.target
    node = record.node(target.node_id)
    if target in view.voters:
        if view.committed:
            done = FinishOperation(
                id=operation.id, reason="Completed", message=f"voter {target} is added and committed"
            )
            return Part(exclusive=done)
        return Part(waits=(_wait("AddingVoter", f"voter {target} is added, and waits to be committed", node),))
    if node is None or node.key != target or node.node_id not in wanted_node_ids(desired, record):
        text = f"{target} is not wanted any more: the change is given up"
        return Part(exclusive=FinishOperation(id=operation.id, reason="GivenUp", message=text))
    judged = _verdicts(desired, observed, record, view, target)
    refused = next((verdict for verdict in judged if not verdict.allowed), None)
    leader = _leader(observed, view)
    if refused is not None or leader is None:
        text = refused.reason if refused else f"the pod of leader {view.answer.leader_id} is not known"
        return Part(waits=(_wait("AddingVoter", text, node),), verdicts=judged)
    return Part(exclusive=_request(desired, observed, record, node, leader, view), verdicts=judged)


def _request(
    desired: Desired, observed: Observed, record: IdentityRecord, node: NodeIdentity, leader: Pod, view: QuorumView
) -> AddRaftVoter:
    revision = revision_of(observed, record, node)
    runtime = revision.runtime if revision else desired.runtime
    leading = revision_of(observed, record, record.node(leader.node_id) or node)
    port = (leading.runtime if leading else desired.runtime).listener.port
    request = AddVoter(
        cluster_id=record.cluster_id,
        voter=node.key,
        listeners=(advertised(desired.namespace, desired.name, node.node_id, runtime),),
        timeout_ms=_ADD_TIMEOUT_MS,
    )
    endpoint = Endpoint(node_id=leader.node_id, host=leader.ip, port=port)
    return AddRaftVoter(leader=endpoint, request=request, judged_at_s=view.taken_at_s)


def _leader(observed: Observed, view: QuorumView) -> Pod | None:
    pods = observed.pods_of(view.answer.leader_id, PodRole.KAFKA)
    return next((pod for pod in pods if pod.ip), None)


def _wait(reason: str, message: str, node: NodeIdentity | None = None) -> Wait:
    node_id = node.node_id if node else None
    return Wait(severity=Severity.PROGRESS, reason=reason, message=message, node_id=node_id)
