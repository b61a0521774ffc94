"""Rule 7: the gates of the migration from ZooKeeper, and of its roll back (KIP-866).

ZooKeeper and the leader's own metrics must both say that a stage is complete; one of them alone is not enough.
"""

from kafka_quorum.model.beside import (
    brokers_in_migration,
    driver,
    has_begun,
    is_led_by_kraft,
    keeper,
    running,
    to_give_back,
    unknown_brokers,
    why_behind,
    why_kraft_brokers,
    why_lags,
    why_not_dual,
    why_not_in,
)
from kafka_quorum.model.conformance import why_brokers_hold
from kafka_quorum.model.identity import BootstrapPhase, FormatMode
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.migration import MigrationKind
from kafka_quorum.model.names import RETIRED
from kafka_quorum.model.permit import (
    AttemptAgain,
    CopyMetadata,
    EndQuorum,
    Finalize,
    Finalized,
    GiveBackZooKeeper,
    LeaveZooKeeper,
    RollBack,
    StopControllers,
    ZooKeeperLeads,
)
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.zookeeper import DriverState, ZooKeeperSeen
from kafka_quorum.plan.facts.contract import is_published, why_not_published
from kafka_quorum.plan.facts.held import why_some_held
from kafka_quorum.plan.facts.preflight import why_preflight
from kafka_quorum.plan.facts.token import why_no_token
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless, yes


@guard(CopyMetadata)
def may_copy_metadata(situation: Situation) -> Answer:
    """Rule 7: no broker changes before every controller is ready, and nothing is in the way of the whole migration."""
    first = "Waiting to let the brokers use migration mode"
    return unless(
        (
            (bool(why := _why_controllers(situation)), f"{first}: {why}"),
            (bool(why := why_not_in(situation, DriverState.PRE_MIGRATION)), f"{first}: {why}"),
            (bool(why := why_preflight(situation)), f"{first}: {why}"),
            (bool(why := _why_brokers(situation)), f"{first}: {why}"),
        ),
        "every controller is ready to migrate, and nothing is in the way",
    )


@guard(LeaveZooKeeper)
def may_leave_zookeeper(situation: Situation) -> Answer:
    """Rule 7: brokers become KRaft brokers when all of them migrate, the metadata is copied, and ZooKeeper follows."""
    first, seen = "Waiting to let the brokers become KRaft brokers", keeper(situation)
    if isinstance(seen, str):
        return no(f"{first}: {seen}")
    return unless(
        (
            (bool(why := _why_brokers(situation)), f"{first}: {why}"),
            (bool(why := _why_not_all_migrate(situation, seen)), f"{first}: {why}"),
            (bool(why := why_not_dual(situation)), f"{first}: {why}"),
            (bool(why := _why_controllers(situation)), f"{first}: {why}"),
            (bool(why := why_behind(situation)), f"{first}: {why}"),
        ),
        "every broker is in migration mode, the metadata is copied, and ZooKeeper is kept up to date",
    )


@guard(Finalize)
def may_finalize(situation: Situation) -> Answer:
    """Rule 7: only a person gives ZooKeeper up, and only after every broker is a KRaft broker."""
    first = "Waiting to complete the migration from ZooKeeper"
    migrate = situation.desired.migrate
    return unless(
        (
            (bool(why := why_brokers_left(situation)), f"{first}: {why}"),
            (bool(why := why_not_dual(situation)), f"{first}: {why}"),
            (bool(why := _why_controllers(situation)), f"{first}: {why}"),
            (bool(why := why_behind(situation)), f"{first}: {why}"),
            (migrate is None or not migrate.finalize, f"{first}: {PARKED}"),
        ),
        "every broker is a KRaft broker, and spec.zookeeper.finalize is true",
    )


PARKED = (
    "every broker is a KRaft broker, and ZooKeeper is kept up to date, without a limit of time. Set "
    "spec.zookeeper.finalize to true to give ZooKeeper up for good, or spec.zookeeper.rollBack to true to go back to it"
)


def why_brokers_left(situation: Situation) -> str:
    """Which brokers are not KRaft brokers yet; empty if all are."""
    if why := _why_brokers(situation):
        return why
    seen = keeper(situation)
    if not isinstance(seen, str) and seen.registered:  # whatever was confirmed
        return f"brokers {_ids(sorted(seen.registered))} are registered in ZooKeeper, so they are no KRaft brokers"
    left = brokers_in_migration(situation)
    if left is None:
        return _why_no_count(situation)
    return f"{left} brokers are still registered in migration mode" if left else ""


@guard(Finalized)
def may_be_finalized(situation: Situation) -> Answer:
    """Rule 7: the migration has ended when every controller runs without ZooKeeper, and the leader says so."""
    first = "Waiting for the end of the migration from ZooKeeper"
    return unless(
        (
            (bool(why := _why_controllers(situation)), f"{first}: {why}"),
            (bool(why := why_not_in(situation, DriverState.POST_MIGRATION)), f"{first}: {why}"),
        ),
        "every controller runs without ZooKeeper, and the leader reports POST_MIGRATION",
    )


@guard(RollBack)
def may_roll_back(situation: Situation) -> Answer:
    """Rule 7: a migration turns round at any stage in which the controllers still write to ZooKeeper."""
    first, seen = "Did not roll the migration back", keeper(situation)
    if isinstance(seen, str):
        return no(f"{first}: {seen}")
    left, said = seen.migration, driver(situation)
    no_epoch = left is not None and left.copied and seen.controller_epoch is None
    over = not isinstance(said, str) and said.state is DriverState.POST_MIGRATION
    reached, begun, final = situation.record.migration, has_begun(situation), ", ".join(_final(situation))
    unclear = isinstance(begun, str) and reached is not None and reached.index == 0
    return unless(
        (
            (over, f"{first}: the controllers have given ZooKeeper up"),
            (bool(final), f"{first}: pods {final} run without ZooKeeper, so the next election may end the migration"),
            (unclear, f"{first}: it is not known whether this quorum has copied the metadata. {begun}"),
            (no_epoch, f"{first}: znode /controller_epoch does not exist"),
        ),
        "spec.zookeeper.rollBack is true, and the controllers have not given ZooKeeper up",
    )


def _final(situation: Situation) -> tuple[str, ...]:
    """Pods of the last stage: a record that was restored from a backup may be older than they are."""
    made = {each.name for each in situation.observed.revisions if each.runtime.measured and not each.runtime.zookeeper}
    return tuple(sorted(pod.name for pod in situation.observed.pods if pod.revision in made))


@guard(StopControllers)
def may_stop_controllers(situation: Situation) -> Answer:
    """Rule 7: the controllers of a roll back stop when no broker depends on KRaft, and ZooKeeper has everything."""
    first, seen = "Waiting to stop the controllers", keeper(situation)
    if held := why_some_held(situation):
        return no(f"Did not stop the controllers: {held}")
    if situation.record.overlay.stopped:
        lags = why_lags(situation) or _why_pool_stops(situation)
        return no(f"{first}: {lags}") if lags else yes("the controllers stop: no broker depended on them when it began")
    if isinstance(seen, str):
        return no(f"{first}: {seen}")
    early = _is_early(situation, seen)
    dual = "" if early else why_not_dual(situation, most_lag=0)
    # In one of three roll backs a partition's state in ZooKeeper was old although nothing lagged (measured on 3.9.2):
    # its replica would never be in sync again, and an earlier state could name a leader that lacks records.
    behind = "" if early else why_behind(situation, running=True)
    # A pool's broker that is told to stop looks as if it were in sync for a moment. Without controllers it would wait
    # five minutes for them before it ends.
    busy = "" if early else why_no_token(situation)
    # What the brokers run with was read up to 90 s ago. How they are registered is what the leader has now.
    away = "" if early else _why_not_all_migrate(situation, seen)
    return unless(
        (
            # A confirmation is one of the stored contract, which may still be that of KRaft brokers.
            (not is_published(situation), f"{first}: the broker contract of this stage is not published yet"),
            (bool(why := why_kraft_brokers(situation)), f"{first}: {why}. {_return_with(situation)}"),
            (not seen.registered, f"{first}: no broker is registered in ZooKeeper, so none could lead"),
            (bool(away), f"{first}: {away}"),
            (bool(dual), f"{first}: {dual}"),
            (bool(seen.denied), f"{first}: nobody could give ZooKeeper back. {seen.denied and seen.denied[0]}"),
            (bool(behind), f"{first}: {behind}"),
            (bool(busy), f"{first}: {busy}"),
        ),
        "no broker depends on KRaft, and ZooKeeper has everything that the metadata log has",
    )


def _is_early(situation: Situation, seen: ZooKeeperSeen) -> bool:
    """Whether no metadata is kept in KRaft: it was not copied yet, or ZooKeeper was given back before."""
    said, leads, left = driver(situation), seen.controller, seen.migration
    before = not isinstance(said, str) and said.state is DriverState.PRE_MIGRATION and not is_led_by_kraft(seen)
    elected = leads is not None and not is_led_by_kraft(seen) and leads.node_id in seen.registered
    return before or (elected and (left is None or not left.copied))  # whatever the log says


def _why_pool_stops(situation: Situation) -> str:
    """Why the first controller must not stop yet: a pool stops a broker, which needs the controllers for it.

    Empty once one is stopped, and if this quorum does not write to ZooKeeper any more: then waiting does not help.
    Empty, too, if no broker was asked for migration mode: none depends on these controllers, under any leader.
    """
    observed, seen, reached = situation.observed, keeper(situation), situation.record.migration
    if reached is not None and reached.kind is MigrationKind.LEFT_ZOOKEEPER_ALONE:
        return ""
    pods = {pod.node_id for pod in observed.pods if pod.role is PodRole.KAFKA and not pod.deleting}
    if isinstance(observed.quorum, Unknown) or len(pods) < len(situation.record.nodes):
        return ""
    leads = None if isinstance(seen, str) else seen.controller
    if not isinstance(seen, str) and (leads is None or leads.node_id != observed.quorum.value.answer.leader_id):
        return ""
    return why_no_token(situation)


def _return_with(situation: Situation) -> str:
    """What brokers do that a roll back waits for."""
    return f"Restart each broker with what ConfigMap {situation.desired.name}-brokers says"


@guard(GiveBackZooKeeper)
def may_give_back(situation: Situation) -> Answer:
    """Rule 7: the znodes are deleted when no controller runs or can start, and they are those of this quorum."""
    first, seen = "Waiting to give ZooKeeper back", keeper(situation)
    if isinstance(seen, str):
        return no(f"{first}: {seen}")
    leads, left = seen.controller, seen.migration
    pods = ", ".join(running(situation))
    foreign = leads is not None and leads.kraft_epoch is not None and situation.record.node(leads.node_id) is None
    named = f"znode /controller names {leads and leads.node_id}, no controller of this quorum"
    faulty = left is not None and bool(left.fault)
    reached = situation.record.migration
    alone = reached is not None and reached.kind is MigrationKind.LEFT_ZOOKEEPER_ALONE
    others = alone and (is_led_by_kraft(seen) or (left is not None and left.copied))
    return unless(
        (
            (bool(pods), f"{first}: pods {pods} still exist. {_BY_FORCE}"),
            (foreign, f"{first}: {named}. {_STRANGER}"),
            (faulty, f"{first}: znode /migration is malformed ({left and left.fault}). Save it, and delete it"),
            (others, f"{first}: {_OTHERS}"),
            (seen.controller_epoch is None, f"{first}: znode /controller_epoch does not exist"),
            (seen.state_epoch is None, f"{first}: the states of the partitions are being read"),
        ),
        "no controller runs, and the znodes are those of this quorum",
    )


_STRANGER = "If it belongs to another quorum, stop that quorum"
_OTHERS = (
    "a KRaft controller leads, or /migration says that the metadata was copied. This quorum asked no broker for "
    "migration mode, so it copied nothing, and its node ids may be those of another quorum. If no other KRaft "
    "controllers run, save and delete /controller and /migration"
)
_BY_FORCE = "If a Kubernetes node is off for good, delete its pod with kubectl delete pod --force"


@guard(ZooKeeperLeads)
def may_let_zookeeper_lead(situation: Situation) -> Answer:
    """Rule 7: brokers lose the settings of the migration when a broker leads again by ZooKeeper's election."""
    first, seen = "Waiting for ZooKeeper's controller", keeper(situation)
    if isinstance(seen, str):
        return no(f"{first}: {seen}")
    leads, pods = seen.controller, ", ".join(running(situation))
    low = to_give_back(seen).epoch is not None
    return unless(
        (
            (bool(pods), f"{first}: pods {pods} still exist"),
            (seen.migration is not None, f"{first}: znode /migration still exists"),
            (leads is None, f"{first}: no broker is the controller yet"),
            (
                leads is not None and is_led_by_kraft(seen),
                f"{first}: KRaft controller {leads and leads.node_id} leads. {_STRANGER}",
            ),
            (
                leads is not None and leads.node_id not in seen.registered,
                f"{first}: controller {leads and leads.node_id} is no registered broker",
            ),
            (low, f"{first}: a partition has a higher epoch than /controller_epoch (KAFKA-20488)"),
        ),
        f"broker {leads and leads.node_id} leads by ZooKeeper's election",
    )


@guard(EndQuorum)
def may_end_quorum(situation: Situation) -> Answer:
    """Rule 7: the quorum ends when no broker has the settings of the migration any more, and ZooKeeper leads."""
    first, seen = "Waiting to retire the volumes of the controllers", keeper(situation)
    if held := why_some_held(situation):
        return no(f"Did not retire the volumes of the controllers: {held}")
    if isinstance(seen, str):
        return no(f"{first}: {seen}")
    return unless(
        (
            (not is_published(situation), f"{first}: the broker contract without migration is not published yet"),
            (bool(why := why_brokers_hold(situation)), f"{first}: {why}"),
            (bool(left := unknown_brokers(situation)), f"{first}: brokers {_ids(left)} are not known to follow it"),
            (seen.migration is not None or is_led_by_kraft(seen), f"{first}: ZooKeeper still has a KRaft controller"),
            (bool(running(situation)), f"{first}: pods {', '.join(running(situation))} still exist"),
        ),
        "every broker uses ZooKeeper as before the migration",
    )


@guard(AttemptAgain)
def may_attempt_again(situation: Situation) -> Answer:
    """Rules 1 and 7: a rolled-back quorum is made again if every trace of the earlier one is retired."""
    first, observed, seen = "Did not begin the migration again", situation.observed, keeper(situation)
    migrate = situation.desired.migrate
    if isinstance(seen, str):
        return no(f"{first}: {seen}")
    used = ", ".join(claim.name for claim in observed.claims if claim.phase != RETIRED and not claim.deleting)
    pods = ", ".join(sorted(pod.name for pod in observed.pods))
    return unless(
        (
            (not situation.record.has_ended, f"{first}: the roll back is not complete"),
            (migrate is None or migrate.roll_back, f"{first}: spec.zookeeper.rollBack is true. {_ENDED}"),
            (migrate is not None and migrate.dry_run, f"{first}: spec.zookeeper.dryRun is true"),
            (bool(pods), f"{first}: pods {pods} still exist"),
            (bool(used), f"{first}: claims {used} are not marked as retired yet"),
            (observed.status.phase is BootstrapPhase.STARTED, f"{first}: the status has the phase Started"),
            (seen.migration is not None or is_led_by_kraft(seen), f"{first}: ZooKeeper has a KRaft controller"),
            (isinstance(observed.quorum, Known), f"{first}: a quorum answers"),
        ),
        "the roll back is complete, and nothing of the earlier quorum is left",
    )


_ENDED = "The cluster uses ZooKeeper as before. Set it to false to migrate again, or delete the KafkaQuorum"


def _why_controllers(situation: Situation) -> str:
    """Why the controllers are not all ready.

    A controller whose disk was lost cannot come back before the quorum is dynamic, so it is not waited for. It does not
    run, and the others are a majority: a leader has answered.
    """
    observed = situation.observed
    if isinstance(observed.quorum, Unknown):
        return f"the quorum has no leader ({observed.quorum.reason})"
    view = observed.quorum.value
    first = [node for node in situation.record.nodes if node.mode is not FormatMode.NO_INITIAL_CONTROLLERS]
    older = [node.node_id for node in situation.older if node in first]
    if older:
        return f"controllers {_ids(older)} do not run from revision {situation.target} yet"
    behind = [node.node_id for node in first if node.key not in view.caught_up or not observed.serving(node.node_id)]
    return f"controllers {_ids(behind)} do not run, or are not caught up" if behind else ""


def _why_brokers(situation: Situation) -> str:
    """Which brokers do not have the settings of the present stage."""
    if not is_published(situation):
        return why_not_published(situation) or "the broker contract of this stage is not published yet"
    if why := why_brokers_hold(situation):
        return why
    left = unknown_brokers(situation)
    return f"ZooKeeper has brokers {_ids(left)}, which are not known to follow the contract" if left else ""


def _why_not_all_migrate(situation: Situation, seen: ZooKeeperSeen) -> str:
    """Why not every broker is registered with the controllers as one that migrates."""
    count, wanted = brokers_in_migration(situation), len(seen.expected)
    if count is None:
        return _why_no_count(situation)
    dead = sorted(seen.expected - seen.registered)
    if dead:
        where = "they do not run, or are KRaft brokers"
        return f"brokers {_ids(dead)} have replicas, and are not registered in ZooKeeper: {where}"
    where = "The controllers' log names the others: look at their logs"
    return "" if count >= wanted else f"{count} of {wanted} brokers are registered in migration mode. {where}"


def _why_no_count(situation: Situation) -> str:
    """Why it is not known how many brokers are registered in migration mode."""
    said = driver(situation)
    return said if isinstance(said, str) else f"controller {said.node_id} does not report how many brokers migrate"


def _ids(ids: object) -> str:
    return ", ".join(map(str, ids)) if isinstance(ids, list | tuple) else str(ids)
