"""Ready: every desired controller is a committed, caught-up voter at this generation, and nothing is left to do.

Feature levels belong to FeaturesSettled: a step that is taken, soaks or is blocked leaves a quorum Ready. So does a
user of the brokers that cannot be made, and a hold that keeps nothing back.
"""

from collections.abc import Collection
from typing import Final

from kafka_quorum.model import actions
from kafka_quorum.model.actions import Action, RecordChange
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.nodes import is_foreign, stale_voters
from kafka_quorum.model.observed import QuorumView
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.situation import Situation
from kafka_quorum.status.finding import IDENTITY_MISSING, Pass, sentence
from kit.conditions.finding import Finding, Truth

BESIDE_READY: Final = frozenset(
    {"Paused", "FeatureBlocked", "DowngradeRefused", "Soaking", "SteppingFeature", "Migrating", "MigrationHeld"}
    | {"DualWrite", "ScramUsers", "ScramUsersHeld", "CertificatesPause", "Holding"}
)
"""Waits that leave a quorum Ready: of a person who paused it, of feature levels, of a migration between its rolls, of
users of the brokers, of certificates between two renewals, and of controllers that a person holds while nothing is left
to do for them."""


def ready(done: Pass) -> Finding:  # noqa: PLR0911 - one answer for each state
    """Whether every requested controller is a committed, caught-up voter, and nothing is left to do."""
    if done.faults:
        listed = "; ".join(f"{fault.field}: {fault.message}" for fault in done.faults)
        return _finding(Truth.FALSE, "InvalidSpec", listed)
    situation = done.situation
    if situation is None:
        return _without_record(done)
    record = situation.record
    if record.overlay.stopped:
        return _finding(Truth.FALSE, "RollingBack", _why(done, "the cluster goes back to ZooKeeper"))
    match done.observed.quorum:
        case Unknown() if not record.had_leader:
            return _finding(Truth.FALSE, "NotStarted", _why(done, "the quorum has had no leader yet"))
        case Unknown(reason=reason):
            return _finding(Truth.FALSE, "NoLeader", _why(done, f"no leader answers: {reason}"))
        case Known(value=view):
            lacking = _lacking(situation, view) or _unfinished(done)
    if lacking is not None:
        reason, otherwise = lacking
        return _finding(Truth.FALSE, reason, _why(done, otherwise))
    requested = len(situation.requested)
    return _finding(
        Truth.TRUE, "AllVotersCaughtUp", f"{requested} of {requested} controllers are voters, and caught up"
    )


def _without_record(done: Pass) -> Finding:
    broken = done.first(Severity.DEGRADED)
    if broken is not None:
        return _finding(Truth.FALSE, broken.reason, _why(done, broken.message))
    if done.observed.record_fault:
        return _finding(Truth.FALSE, "IdentityUnreadable", done.observed.record_fault)
    if done.observed.status.cluster_id is not None:
        return _finding(Truth.FALSE, "IdentityMissing", _why(done, IDENTITY_MISSING))
    return _finding(Truth.FALSE, "NotStarted", _why(done, "the quorum is not formatted yet"))


def _lacking(situation: Situation, view: QuorumView) -> tuple[str, str] | None:
    """What is still missing in the voters of this quorum: reason and sentence; None if nothing is."""
    observed, record, requested = situation.observed, situation.record, situation.requested
    keys = {node.node_id: node.key for node in record.nodes}
    # Kafka reports a killed voter as caught up for a fetch timeout more: its pod shows the end at once.
    up = {pod.node_id for pod in observed.pods if pod.serves}
    voting = {node for node in requested if keys.get(node) in view.voters & view.shown}
    older = [str(node.node_id) for node in situation.older]
    missing = [str(node) for node in requested if node not in voting & up]
    odd = stale_voters(record, view)
    which = "ForeignVoter" if all(is_foreign(record, key) for key in odd) else "StaleVoters"
    stale = ", ".join(map(str, odd))
    rows = (
        (
            bool(missing),
            "ControllersMissing",
            f"Waiting for controllers to become caught-up voters: {', '.join(missing)}",
        ),
        (bool(stale), which, f"voters are not on the present disks of this resource: {stale}"),
        (view.changing, "VoterSetUncommitted", "Waiting for the voter set to be committed"),
        (observed.status.operation is not None, "OperationOpen", "Changing the voter set"),
        (bool(older), "Rolling", f"Recreating controllers from the present spec: {', '.join(older)}"),
        (len(view.voters) != len(requested), "VotersToRemove", "there are more voters than the spec requests"),
    )
    return next(((reason, text) for holds, reason, text in rows if holds), None)


def _unfinished(done: Pass) -> tuple[str, str] | None:
    """What else is waited for, failed, or being done; None if nothing but feature levels is."""
    for wait in done.plan.waits:
        if wait.reason not in BESIDE_READY:
            return wait.reason, wait.message
    if (failed := done.failed) is not None:
        return "ActionFailed", failed.message
    working = [action for action in work(done) if not _of_features(done, action)]
    return ("Working", said_of(done, working)) if working else None


def work(done: Pass) -> tuple[Action, ...]:
    """The actions of a pass that change something; storing feature levels that Kafka has already is not one of them."""
    return tuple(action for action in done.plan.actions if not _is_note(action))


def said_of(done: Pass, among: Collection[Action]) -> str:
    """The outcomes of these actions as one text."""
    said = (outcome.message for outcome in done.outcomes if outcome.action in among)
    return "; ".join(dict.fromkeys(said)) or "Planning the next steps"


def _is_note(action: Action) -> bool:
    return isinstance(action, actions.WriteRecord) and action.change is RecordChange.LEVELS_SEEN


def _of_features(done: Pass, action: Action) -> bool:
    closes = isinstance(action, actions.FinishOperation) and done.observed.status.feature_operation is not None
    return closes or isinstance(action, actions.BeginFeatureStep | actions.StepFeature)


def _why(done: Pass, otherwise: str) -> str:
    return sentence(wait for wait in done.plan.waits if wait.reason not in BESIDE_READY) or otherwise


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type="Ready", truth=truth, reason=reason, message=message)
