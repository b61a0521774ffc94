"""Rule 1: no initial format after the quorum may have started."""

from kafka_quorum.model.identity import BootstrapPhase, FormatMode, NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.journal import Journal, RecoveryStage
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import QuorumView
from kafka_quorum.model.permit import InitialFormat, NewcomerFormat, Start
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.held import why_held
from kafka_quorum.plan.facts.preflight import why_not_beside
from kafka_quorum.plan.facts.refused import refused_for_good
from kafka_quorum.plan.guards.claims import claim_is_ours
from kafka_quorum.plan.guards.registry import Answer, guard, no, yes


@guard(InitialFormat)
def may_format_initial(situation: Situation, node: NodeIdentity) -> Answer:
    """Rule 1: initial voters are formatted before the barrier only, with their pre-made directory ids."""
    first = f"Did not format controller {node.node_id} as an initial controller"
    if held := why_held(situation, node.node_id):
        return no(f"{first}: {held}. The quorum starts only with its format")
    if situation.record.phase is not BootstrapPhase.FORMATTING:
        return no(f"{first}: the quorum may have started")
    if node.key not in situation.record.initial or node.mode is FormatMode.NO_INITIAL_CONTROLLERS:
        return no(f"{first}: the identity ConfigMap does not list it as one")
    if kafka := [pod.name for pod in situation.observed.pods if pod.role is PodRole.KAFKA]:
        return no(f"{first}: pods that run Kafka exist ({', '.join(kafka)}), so the quorum may have started")
    return claim_is_ours(situation, node)


@guard(NewcomerFormat)
def may_format_newcomer(situation: Situation, node: NodeIdentity) -> Answer:
    """Rules 1 and 2: after the barrier a disk is formatted without initial controllers, to catch up with a quorum.

    While a recovery is open, the disk that gets the log of its seed is formatted, and the new disks of the others while
    the survivor starts. Without initial controllers none of them can vote, and none starts before the recovery ends.
    """
    waiting = f"Waiting to format controller {node.node_id}"
    if why := _why_not_newcomer(situation, node):
        return no(why)
    if situation.record.recovery is not None:
        return claim_is_ours(situation, node)
    match situation.observed.quorum:
        case Unknown(reason=reason):
            return no(f"{waiting}: the quorum has no leader ({reason})")
        case Known(value=view):
            if (other := _somebody_else(view, node)) is not None:
                way_out = "Choose another id in spec.controllers.nodeIDs, or stop that replica"
                used = f"replica {other} uses this node id, and does not belong to this resource"
                return no(f"Did not format controller {node.node_id}: {used}. {way_out}")
            return claim_is_ours(situation, node)


def _why_not_newcomer(situation: Situation, node: NodeIdentity) -> str:
    """Why this controller is not formatted, under any leader; empty if nothing is in the way."""
    waiting, journal = f"Waiting to format controller {node.node_id}", situation.record.recovery
    if held := why_held(situation, node.node_id):
        return f"Did not format controller {node.node_id}: {held}. Until then it is no voter"
    if situation.record.phase is not BootstrapPhase.STARTED:
        return f"{waiting}: the initial controllers are not formatted yet"
    if node.mode is not FormatMode.NO_INITIAL_CONTROLLERS or node.formatted:
        return f"Did not format controller {node.node_id}: its disk is formatted already"
    pods = situation.observed.pods_of(node.node_id, PodRole.KAFKA)
    if kafka := [pod for pod in pods if journal is not None or not refused_for_good(situation, node, pod)]:
        return f"{waiting}: pod {kafka[0].name} still uses its disk"
    if journal is not None and not _formats(journal, node):
        return f"{waiting}: recovery {journal.epoch} has to start controller {journal.node_id} first"
    return ""


def _formats(journal: Journal, node: NodeIdentity) -> bool:
    """Whether this disk is formatted in this stage: that of the survivor before it starts, all others when it does."""
    needed = RecoveryStage.FORMAT if node.node_id == journal.node_id else RecoveryStage.START
    return journal.stage is needed


def _somebody_else(view: QuorumView, node: NodeIdentity) -> ReplicaKey | None:
    """A replica that fetches under this node id, and never was a replica of this node."""
    ours = {node.directory_id, *node.retired}
    foreign = (key for key in view.live if key.node_id == node.node_id and key.directory_id not in ours)
    return next(iter(sorted(foreign, key=str)), None)


@guard(Start)
def may_start(situation: Situation, initial: tuple[NodeIdentity, ...], quorum: str) -> Answer:
    """Rule 1, the barrier: `Started` is written when every initial controller has reported its format."""
    missing = [str(node.node_id) for node in initial if not node.formatted]
    if missing:
        return no(f"Waiting to start the quorum: controllers {', '.join(missing)} are not formatted yet")
    configs = (item.name for item in situation.observed.support if item.name.startswith(f"{quorum}-format-"))
    if (config := next(configs, None)) is not None:
        return no(
            f"Waiting to start the quorum: the operator has to delete config map {config} of the formatters first"
        )
    for node in initial:
        verdict = claim_is_ours(situation, node)
        if not verdict.allowed:
            return verdict
    if why := why_not_beside(situation):
        return no(f"Waiting to start the quorum: {why}")
    return yes("every initial controller is formatted")
