"""What a look shows of a migration from ZooKeeper: the state of its driver, and what is not as it should be."""

from typing import Final

from kafka_quorum.model.conformance import is_confirmed
from kafka_quorum.model.desired import BootstrapMode
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.migration import MigrationKind
from kafka_quorum.model.nodes import is_down
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.voters import majority_of
from kafka_quorum.model.zookeeper import DriverSeen, DriverState, GiveBack, SavedNodes, ZooKeeperSeen

MOST_LAG: Final = 1000
"""How many records ZooKeeper may be behind while the migration goes on. A roll back demands 0."""
STATES: Final = {
    DriverState.UNLOADED: "not loaded yet",
    DriverState.NONE: "NONE (the controllers do not migrate)",
    DriverState.PRE_MIGRATION: "PRE_MIGRATION",
    DriverState.MIGRATION: "MIGRATION",
    DriverState.POST_MIGRATION: "POST_MIGRATION",
    DriverState.ZK: "ZK",
}
"""Kafka's names of the states, for messages."""


def is_from_zookeeper(situation: Situation) -> bool:
    """Whether this quorum migrates from ZooKeeper, or goes back to it, or has gone back."""
    reached = situation.record.migration
    return reached is not None and reached.kind in _OF_ZOOKEEPER


_OF_ZOOKEEPER: Final = frozenset(
    {MigrationKind.ZOOKEEPER_TO_KRAFT, MigrationKind.BACK_TO_ZOOKEEPER, MigrationKind.LEFT_ZOOKEEPER_ALONE}
)


def began_beside(situation: Situation) -> bool:
    """Whether the quorum was made for a migration from ZooKeeper."""
    return situation.record.format.mode is BootstrapMode.ZOOKEEPER


def driver(situation: Situation) -> DriverSeen | str:
    """The state that the present leader reports, or why it is not known."""
    quorum, said = situation.observed.quorum, situation.observed.driver
    if isinstance(quorum, Unknown):
        return f"the quorum has no leader ({quorum.reason})"
    leader = quorum.value.answer.leader_id
    if isinstance(said, Unknown):
        return f"the state of the migration is not known ({said.reason})"
    if said.value.node_id != leader or not said.value.active:
        return f"controller {leader} leads, and has not reported the state of the migration"
    return said.value


def why_not_in(situation: Situation, state: DriverState) -> str:
    """Why the migration is not in this state of Kafka's; empty if it is."""
    said = driver(situation)
    if isinstance(said, str):
        return said
    return "" if said.state is state else f"Kafka's migration is in state {STATES[said.state]}, not {STATES[state]}"


def keeper(situation: Situation) -> ZooKeeperSeen | str:
    """What ZooKeeper shows, or why it is not known."""
    said = situation.observed.zookeeper
    if isinstance(said, Unknown):
        return f"ZooKeeper is not known ({said.reason})"
    seen = said.value
    if seen.cluster_id != situation.record.cluster_id:
        return f"ZooKeeper has cluster id {seen.cluster_id or 'none'}, not {situation.record.cluster_id}"
    return seen


def is_led_by_kraft(seen: ZooKeeperSeen) -> bool:
    """Whether a KRaft controller leads, as ZooKeeper has it."""
    return seen.controller is not None and seen.controller.kraft_epoch is not None


def has_begun(situation: Situation) -> bool | str:
    """Whether this quorum has copied the metadata, or begun to; why it is not known.

    What ZooKeeper says of a copy may be of another quorum, or of an earlier attempt: then the own leader says no.
    """
    seen, said = keeper(situation), driver(situation)
    if isinstance(seen, str):
        return seen
    leads, left, quorum = seen.controller, seen.migration, situation.observed.quorum
    if not is_led_by_kraft(seen) and (left is None or not left.copied):
        return False
    if isinstance(said, str) or isinstance(quorum, Unknown):
        return str(said)
    claim = None if leads is None else (leads.node_id, leads.kraft_epoch)
    return said.state is DriverState.MIGRATION or claim == (said.node_id, quorum.value.answer.leader_epoch)


def why_kraft_brokers(situation: Situation) -> str:
    """Which brokers are KRaft brokers, or may be; empty if every broker uses ZooKeeper."""
    brokers = situation.observed.brokers
    if isinstance(brokers, Unknown):
        return "" if is_confirmed(situation) else f"it is not known which brokers use ZooKeeper ({brokers.reason})"
    found = []
    for broker in brokers.value:
        if isinstance(broker.settings, Known):
            if broker.settings.value.get("process.roles"):
                found.append(f"broker {broker.node_id} is a KRaft broker")
        elif not is_confirmed(situation):
            found.append(f"broker {broker.node_id}: {broker.settings.reason}")
    left = unknown_brokers(situation)
    found += [f"broker {node_id} is not known to use ZooKeeper" for node_id in left]
    return "; ".join(found[:_SHOWN]) + (f" (and {len(found) - _SHOWN} more)" if len(found) > _SHOWN else "")


_SHOWN: Final = 3


def why_not_dual(situation: Situation, *, most_lag: int = MOST_LAG) -> str:
    """Why the controllers do not keep ZooKeeper up to date; empty if they do. Both sides must say so."""
    if why := why_not_in(situation, DriverState.MIGRATION):
        return why
    said, seen = driver(situation), keeper(situation)
    if isinstance(seen, str) or isinstance(said, str):
        return str(seen)
    if why := _why_not_written(situation, said, seen):
        return why
    if said.lag is None:
        return f"controller {said.node_id} does not report how far ZooKeeper is behind"
    return "" if said.lag <= most_lag else f"ZooKeeper is {said.lag} records behind the metadata log"


def _why_not_written(situation: Situation, said: DriverSeen, seen: ZooKeeperSeen) -> str:
    """Why the leader has not claimed ZooKeeper and written to it, each in its present epoch. Empty if it has.

    Until a process writes metadata to ZooKeeper for the first time it reports a lag of 0, whatever ZooKeeper lacks
    (ZkWriteBehindLag of 3.9). Before that it compares everything with ZooKeeper. Clients change metadata meanwhile.
    """
    leads, left, quorum = seen.controller, seen.migration, situation.observed.quorum
    epoch = None if isinstance(quorum, Unknown) else quorum.value.answer.leader_epoch
    if leads is None or leads.kraft_epoch is None or leads.node_id != said.node_id:
        return f"znode /controller does not name controller {said.node_id}, which leads"
    if left is None or left.fault or not left.copied:
        return "znode /migration does not say that the metadata was copied"
    if leads.kraft_epoch != epoch:
        return (
            f"znode /controller names controller {said.node_id} with epoch {leads.kraft_epoch}, and it leads in {epoch}"
        )
    if left.kraft_metadata_epoch != epoch:
        way_out = "If that lasts, create a topic: a change of metadata shows whether it can"
        return f"controller {said.node_id} has not written to ZooKeeper since it was elected. {way_out}"
    return ""


def why_lags(situation: Situation) -> str:
    """Why a controller of a roll back must not stop yet: ZooKeeper may lack what this quorum has committed.

    Empty if waiting does not help: ZooKeeper has no claim of this quorum, or the quorum can have no leader any more.
    """
    seen = keeper(situation)
    if not isinstance(seen, str) and not _has_claim_of(situation, seen):
        return ""
    if isinstance(situation.observed.quorum, Unknown):
        why = f"the quorum has no leader ({situation.observed.quorum.reason}), and ZooKeeper may lack what it has"
        way_out = "If no leader comes back, delete the pods of the controllers: what ZooKeeper lacks is lost then"
        return f"{why}. {way_out}" if _may_elect(situation) else ""
    if isinstance(seen, str):
        return seen
    said = driver(situation)
    if isinstance(said, str):
        return said
    return why_not_dual(situation, most_lag=0) if said.state is DriverState.MIGRATION else ""


def _has_claim_of(situation: Situation, seen: ZooKeeperSeen) -> bool:
    """Whether ZooKeeper is written to by a controller of this quorum, as far as its nodes say."""
    leads, left = seen.controller, seen.migration
    ours = leads is not None and leads.kraft_epoch is not None and situation.record.node(leads.node_id) is not None
    return ours and left is not None and left.copied and not left.fault


def _may_elect(situation: Situation) -> bool:
    """Whether a majority of the controllers runs, or comes back by itself: no pod is made again in a roll back."""
    observed, voters = situation.observed, len(situation.record.nodes)
    pods = [pod for pod in observed.pods if pod.role is PodRole.KAFKA and not pod.deleting]
    left = {pod.node_id for pod in pods if not is_down(observed, pod.node_name)}
    return len(left) >= majority_of(voters)


def brokers_in_migration(situation: Situation) -> int | None:
    """How many brokers of ZooKeeper are registered in migration mode; None if it is not known."""
    said = driver(situation)
    return None if isinstance(said, str) else said.migrating


def why_behind(situation: Situation, *, running: bool = False) -> str:
    """Which brokers are not in sync: another restart could leave partitions without enough replicas.

    A broker may also be thought to be offline although it runs, if the copy of the metadata was interrupted: then only
    its restart helps (measured on 3.9.2). With `running`, only brokers that ZooKeeper has count.
    """
    seen = keeper(situation)
    if isinstance(seen, str):
        return seen
    if seen.behind is None:
        return "the states of the partitions are being read"
    rows = sorted((each, count) for each, count in seen.behind.items() if not running or each in seen.registered)
    told = ", ".join(f"broker {node_id} with {count} of its partitions" for node_id, count in rows)
    return f"brokers are not in sync: {told}. If that lasts, restart the broker" if told else ""


def unknown_brokers(situation: Situation) -> tuple[NodeID, ...]:
    """Brokers that ZooKeeper knows of, and that no look at the brokers shows."""
    seen, brokers = keeper(situation), situation.observed.brokers
    if isinstance(seen, str):
        return ()
    shown = {broker.node_id for broker in brokers.value} if isinstance(brokers, Known) else set()
    return tuple(sorted(seen.expected - shown))


def running(situation: Situation) -> tuple[str, ...]:
    """The pods in which a controller runs, or may still run."""
    return tuple(sorted(pod.name for pod in situation.observed.pods if pod.role is PodRole.KAFKA))


def to_give_back(seen: ZooKeeperSeen) -> GiveBack:
    """What a roll back writes: KRaft's controller and the state of the migration are deleted, the epoch is raised.

    The new epoch is above every one that a KRaft controller wrote into the state of a partition (KAFKA-20488).

    A controller that ZooKeeper elected stays, and then the epoch does, too: with each write such a controller compares
    the version of `/controller_epoch`, and it does not resign, because `/controller` still names it. So a write of
    ours would leave the cluster without a controller. Only if a partition has a higher epoch than its own, both change:
    its `/controller` is deleted, and a broker is elected above that epoch.
    """
    leads, left, epoch = seen.controller, seen.migration, seen.controller_epoch
    kraft = leads if leads is not None and leads.kraft_epoch is not None else None
    highest = max(
        seen.state_epoch or 0,
        -1 if kraft is None or kraft.kraft_epoch is None else kraft.kraft_epoch,
        -1 if left is None else left.kraft_controller_epoch,
    )
    elected = leads is not None and kraft is None
    low = epoch is not None and (highest > epoch.epoch if elected else highest >= epoch.epoch)
    ends = leads if kraft is not None or low else None
    return GiveBack(controller=ends, migration=left, controller_epoch=epoch, epoch=highest + 1 if low else None)


def to_save(seen: ZooKeeperSeen) -> SavedNodes:
    """The texts of the nodes that a roll back deletes or changes."""
    leads, left, epoch = seen.controller, seen.migration, seen.controller_epoch
    return SavedNodes(
        controller="" if leads is None else leads.raw,
        controller_epoch="" if epoch is None else str(epoch.epoch),
        migration="" if left is None else left.raw,
    )
