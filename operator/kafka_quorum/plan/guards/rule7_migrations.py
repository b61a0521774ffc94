"""Rule 7: the gates of migrations. No stage begins before the one before it is seen to be complete, on every server."""

from kafka_quorum.api.features import KRAFT, level_text
from kafka_quorum.model.conformance import why_brokers_hold
from kafka_quorum.model.identity import FormatMode
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import BeginMigration, BrokersFollow, ControllersFollow, DropStatic, RevertMigration
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.changing import why_changing
from kafka_quorum.plan.facts.contract import everywhere, is_published, why_not_published
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless
from kafka_quorum.plan.guards.rule7_releases import too_old_for_dynamic


@guard(BeginMigration)
def may_begin_migration(situation: Situation, title: str, lacks: str) -> Answer:
    """Rule 7: beside no roll, voter change or feature step, and if the brokers follow what is required of them now.

    `lacks` is what this migration needs and does not have; empty if nothing.
    """
    observed = situation.observed
    first = f"Waiting to begin the migration {title}"
    if isinstance(observed.quorum, Unknown):
        return no(f"{first}: the quorum has no leader ({observed.quorum.reason})")
    view, step = observed.quorum.value, observed.status.feature_operation
    changing = observed.status.operation is not None or not view.committed or view.changing
    rolling = "every controller must run from the present spec, and be caught up"
    return unless(
        (
            (bool(lacks), f"{first}: {lacks}"),
            (changing, f"{first}: {why_changing(observed)}"),
            (step is not None, f"{first}: a step of a feature level is under way"),
            (not everywhere(situation), f"{first}: {rolling}"),
            (bool(brokers := why_brokers_hold(situation)), f"{first}: {brokers}"),
            (bool(stored := why_not_published(situation)), f"{first}: {stored}"),
        ),
        "every controller runs from the present spec, and nothing else changes",
    )


@guard(DropStatic)
def may_drop_static(situation: Situation) -> Answer:
    """Rule 7: `controller.quorum.voters` is given up when every controller ignores it, by the voters' directory ids.

    The finalized level alone is not enough: 3.9 finalizes kraft.version 1 on a static quorum and stays static.
    """
    observed = situation.observed
    first = "Waiting to drop controller.quorum.voters"
    if isinstance(observed.quorum, Unknown):
        return no(f"{first}: the quorum has no leader ({observed.quorum.reason})")
    view = observed.quorum.value
    # A disk that was lost meanwhile is replaced, and starts after this.
    first_disks = [node for node in situation.record.nodes if node.mode is not FormatMode.NO_INITIAL_CONTROLLERS]
    own = frozenset(node.key for node in first_disks)
    behind = ", ".join(str(node.node_id) for node in first_disks if not _ignores_static(observed, node.node_id))
    return unless(
        (
            (view.static, f"{first}: {what_static_voters_lack(situation) or _NO_IDS}"),
            (not own <= view.voters, f"{first}: the voters do not have the directory ids of their disks yet"),
            (not view.committed, f"{first}: the present voter set is not committed yet"),
            (bool(behind), f"{first}: controllers {behind} do not report kraft.version 1 yet"),
            (bool(brokers := why_brokers_hold(situation)), f"{first}: {brokers}"),
            (bool(stored := why_not_published(situation)), f"{first}: {stored}"),
        ),
        "every voter has its directory id, and every controller is at kraft.version 1",
    )


_NO_IDS = "the voters have no directory ids yet"


def what_static_voters_lack(situation: Situation) -> str:
    """What a quorum at kraft.version 1 needs from a person to get directory ids; empty if it needs time only."""
    quorum = situation.observed.quorum
    static = isinstance(quorum, Known) and quorum.value.static
    return f"{_NO_IDS}: {lacks}" if static and (lacks := too_old_for_dynamic(situation)) else ""


def _ignores_static(observed: Observed, node_id: NodeID) -> bool:
    match observed.versions_of(node_id):
        case Known(value=said):
            return any(feature.name == KRAFT and feature.level >= 1 for feature in said.finalized)
        case Unknown():
            return False


@guard(ControllersFollow)
def may_leave_controllers(situation: Situation) -> Answer:
    """Rule 7: every controller is made from the revision of this stage, runs, and is caught up."""
    observed = situation.observed
    first = "Waiting for every controller to restart without the earlier setting"
    if isinstance(observed.quorum, Unknown):
        return no(f"{first}: the quorum has no leader ({observed.quorum.reason})")
    older = ", ".join(str(node.node_id) for node in situation.older)
    return unless(
        (
            (bool(older), f"{first}: controllers {older} do not run from revision {situation.target} yet"),
            (not everywhere(situation), f"{first}: one of them does not run, or is not caught up"),
        ),
        f"every controller runs from revision {situation.target}, and is caught up",
    )


@guard(BrokersFollow)
def may_end_at_brokers(situation: Situation) -> Answer:
    """Rule 7: the contract of this stage is published, and every registered broker is known to follow it."""
    first = "Waiting to complete the migration"
    return unless(
        (
            (not is_published(situation), f"{first}: its new settings are not published yet"),
            (bool(brokers := why_brokers_hold(situation)), f"{first}: {brokers}"),
        ),
        "every registered broker follows the broker contract",
    )


@guard(RevertMigration)
def may_revert_level(situation: Situation) -> Answer:
    """Rule 7: back from the first stage, while the leader itself reports that the level was not raised."""
    observed, level = situation.observed, situation.present.get(KRAFT, 0)
    first = "Did not revert the migration"
    if isinstance(observed.quorum, Unknown):
        return no(f"{first}: the quorum has no leader ({observed.quorum.reason})")
    raised = f"{KRAFT} {level_text(KRAFT, level)} is finalized, and no release of Kafka lowers it"
    return unless(
        (
            (not situation.present, f"{first}: the leader has not reported the level of {KRAFT}"),
            (level > 0, f"{first}: {raised}. It goes on"),
            (observed.status.feature_operation is not None, f"{first}: the step of {KRAFT} may have been sent"),
        ),
        f"{KRAFT} is not requested any more, and was not raised",
    )
