"""Ready: every desired controller is a committed, caught-up voter at this generation, and no operation is open."""

from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.nodes import older_than, stale_voters, target_revision, wanted_node_ids
from kafka_quorum.model.observed import PodRole, QuorumView
from kafka_quorum.model.plan import IDENTITY_CONFLICT
from kafka_quorum.status.finding import Finding, Pass, Truth


def ready(done: Pass) -> Finding:
    """Whether everything that the resource asks for is there."""
    if done.faults:
        return _finding(Truth.FALSE, "InvalidSpec", "the spec has faults: see the condition SpecAccepted")
    record = done.observed.record
    if record is None:
        return _finding(Truth.FALSE, "NotStarted", _why(done, "the quorum is not formatted yet"))
    match done.observed.quorum:
        case Unknown(reason=reason):
            return _finding(Truth.FALSE, "NoLeader", _why(done, reason))
        case Known(value=view):
            lacking = _lacking(done, record, view)
    if lacking is not None:
        reason, otherwise = lacking
        return _finding(Truth.FALSE, reason, _why(done, otherwise))
    wanted = len(wanted_node_ids(done.desired, record))
    return _finding(Truth.TRUE, "AllVotersCaughtUp", f"{wanted} of {wanted} controllers are voters, and caught up")


def _lacking(done: Pass, record: IdentityRecord, view: QuorumView) -> tuple[str, str] | None:
    """What still stands between this quorum and Ready: reason and sentence; None if nothing does."""
    wanted = wanted_node_ids(done.desired, record)
    keys = {node.node_id: node.key for node in record.nodes}
    # Kafka goes on calling a voter caught up for a fetch timeout after it was killed: its pod tells at once.
    up = {pod.node_id for pod in done.observed.pods if pod.role is PodRole.KAFKA and pod.running and not pod.deleting}
    voting = {node for node in wanted if keys.get(node) in view.voters & view.shown}
    target = target_revision(done.desired, done.observed, record)
    older = [str(node.node_id) for node in older_than(done.observed, record, target)]
    missing = [str(node) for node in wanted if node not in voting & up]
    rows = (
        (bool(missing), "ControllersMissing", f"not caught-up voters yet: {', '.join(missing)}"),
        (bool(stale_voters(record, view)), "StaleVoters", "the voter set has stale members"),
        (view.changing, "VoterSetUncommitted", "the voter set is not known to be committed yet"),
        (done.observed.status.operation is not None, "OperationOpen", "a change of the voter set is under way"),
        (bool(older), "Rolling", f"not made from the present spec yet: {', '.join(older)}"),
        (len(view.voters) != len(wanted), "VotersToRemove", "there are more voters than the spec asks for"),
        (done.waits_for(IDENTITY_CONFLICT), IDENTITY_CONFLICT, "the copies of the identity contradict each other"),
        (done.waits_for("NotSupportedYet"), "NotSupportedYet", "a change of the spec is not applied"),
    )
    return next(((reason, text) for holds, reason, text in rows if holds), None)


def _why(done: Pass, otherwise: str) -> str:
    return "; ".join(dict.fromkeys(wait.message for wait in done.plan.waits)) or otherwise


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type="Ready", truth=truth, reason=reason, message=message)
