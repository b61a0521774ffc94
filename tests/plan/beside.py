"""A quorum beside ZooKeeper as values: at each stage of its migration everything is as the next gate requires it.

Brokers 1, 2 and 3 use ZooKeeper, and follow what the contract of the stage requires. A test changes one thing.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from tests.model.values import (
    IDS,
    NAME,
    at_rest,
    claim_uid,
    desired,
    directory,
    revision,
    runtime,
    situation,
)

from kafka_quorum.model import names
from kafka_quorum.model.contract import Contract, Match, StoredContract
from kafka_quorum.model.desired import BesideZooKeeper, BootstrapMode, ControllerListener, Desired, Migrate
from kafka_quorum.model.identity import (
    Format,
    IdentityRecord,
    mint,
    with_claim,
    with_migration,
    with_report,
    with_started,
)
from kafka_quorum.model.ids import ClusterID, NodeID, ReplicaKey
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.migration import (
    BACK_TO_ZOOKEEPER,
    LEFT_ZOOKEEPER_ALONE,
    ZOOKEEPER_TO_KRAFT,
    Keeper,
    Migration,
    Reached,
)
from kafka_quorum.model.nodes import target_runtime
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.registered import BrokerAccess, BrokerSeen, Settings
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.zookeeper import (
    ControllerNode,
    DriverSeen,
    DriverState,
    EpochNode,
    MigrationNode,
    ZooKeeperAccess,
    ZooKeeperBroker,
    ZooKeeperSeen,
)
from kafka_quorum.plan.facts.contract import due_contract
from kit.token import ABSENT

RELEASE: Final = "3.9.2"
BROKERS: Final = (NodeID(1), NodeID(2), NodeID(3))
ACCESS: Final = ZooKeeperAccess(connect="zk-0:2181,zk-1:2181/kafka")
BESIDE: Final = BesideZooKeeper(access=ACCESS, listener="PLAINTEXT", protocol="PLAINTEXT")
STARTS, MIGRATES, DUAL, FINAL = ((ZOOKEEPER_TO_KRAFT, stage.name) for stage in ZOOKEEPER_TO_KRAFT.stages)
RETURN, STOP, LEADS, LEAVE, BACK = ((BACK_TO_ZOOKEEPER, stage.name) for stage in BACK_TO_ZOOKEEPER.stages)
ALONE_STOP, ALONE_LEADS, ALONE = ((LEFT_ZOOKEEPER_ALONE, stage.name) for stage in LEFT_ZOOKEEPER_ALONE.stages)
FORWARD: Final = (STARTS, MIGRATES, DUAL, FINAL)
BACKWARD: Final = (RETURN, STOP, LEADS, LEAVE, BACK)
ASIDE: Final = (ALONE_STOP, ALONE_LEADS, ALONE)
EVERY: Final = (*FORWARD, *BACKWARD, *ASIDE)
"""Every stage of the three migrations."""
At = tuple[Migration, str]

ZOOKEEPER_LEADS: Final = ControllerNode(
    node_id=NodeID(1), kraft_epoch=None, ephemeral=True, version=0, raw='{"brokerid":1}'
)
KRAFT_LEADS: Final = ControllerNode(node_id=IDS[0], kraft_epoch=5, ephemeral=False, version=0, raw='{"brokerid":3000}')
EMPTY: Final = MigrationNode(version=0, raw='{"kraft_metadata_offset":-1}')
COPIED: Final = MigrationNode(
    version=7,
    raw='{"kraft_metadata_offset":120}',
    kraft_controller_id=3000,
    kraft_controller_epoch=5,
    kraft_metadata_offset=120,
    kraft_metadata_epoch=5,
)


def at_name(at: At) -> str:
    """The name of a stage for a test case."""
    return f"{at[0].kind.value}-{at[1]}"


def wanted(*, dry_run: bool = False, finalize: bool = False, roll_back: bool = False, **changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """The spec of the migration."""
    migrate = Migrate(beside=BESIDE, dry_run=dry_run, finalize=finalize, roll_back=roll_back)
    plain = desired(bootstrap=BootstrapMode.ZOOKEEPER, runtime=runtime(release=RELEASE), migrate=migrate)
    return replace(plain, **changes)


def confirming(spec: Desired, revision_: int = 1) -> Desired:
    """The same spec, whose owner confirms this revision of the contract."""
    return replace(spec, broker_access=BrokerAccess(confirmed_revision=revision_))


def new_record(cluster_id: ClusterID | None = None) -> IdentityRecord:
    """The record of a quorum beside ZooKeeper: claims, and nothing formatted."""
    initial = [ReplicaKey(node_id=node_id, directory_id=None) for node_id in IDS]
    made = mint(
        cluster_id or at_rest().record.cluster_id,  # type: ignore[union-attr]  # a quorum at rest has a record
        Format(mode=BootstrapMode.ZOOKEEPER, release=RELEASE, features=()),
        initial,
        (),
    )
    for node_id in IDS:
        made = with_claim(made, node_id, claim_uid(node_id))
    return replace(made, resource_version="1")


def record_at(at: At) -> IdentityRecord:
    """The record of a quorum that has reached this stage."""
    made = new_record()
    for node_id in IDS:
        made = with_report(made, node_id, directory(node_id))
    migration, stage = at
    reached = Reached(kind=migration.kind, stage=stage, release=RELEASE, image="")
    return with_migration(
        replace(with_started(made, ControllerListener(name="CONTROLLER", port=9093)), had_leader=True), reached
    )


def keeper_of(at: At) -> ZooKeeperSeen:
    """What ZooKeeper shows when this stage is complete."""
    brokers = at[0].stages[at[0].index(at[1])].brokers.keeper
    registered = () if brokers is Keeper.RETURNS else BROKERS
    kraft = at in (MIGRATES, DUAL, FINAL, RETURN, STOP)
    early = at in (STARTS, ALONE_STOP)
    return ZooKeeperSeen(
        cluster_id=record_at(at).cluster_id,
        controller=KRAFT_LEADS if kraft else ZOOKEEPER_LEADS,
        controller_epoch=EpochNode(epoch=9, version=9),
        migration=COPIED if kraft else EMPTY if early else None,
        brokers=tuple(
            ZooKeeperBroker(node_id=node_id, listeners=(f"PLAINTEXT://broker-{node_id}:9092",))
            for node_id in registered
        ),
        assigned=MappingProxyType(dict.fromkeys(BROKERS, "orders-3")),
        topics=1,
        partitions=8,
        state_epoch=4,
        behind={},
    )


def driver_of(at: At) -> DriverSeen:
    """What the leader reports when this stage is complete."""
    states = {STARTS: DriverState.PRE_MIGRATION, FINAL: DriverState.POST_MIGRATION}
    migrating = {MIGRATES: 3, RETURN: 3}.get(at, 0)
    state = states.get(at, DriverState.MIGRATION)
    lag = 0 if state is DriverState.MIGRATION else None
    return DriverSeen(node_id=IDS[0], active=True, state=state, migrating=migrating, lag=lag)


def follows(contract: Contract) -> dict[str, str | None]:
    """The running settings of a broker that follows this contract."""
    plain: dict[str, str | None] = {"process.roles": ""}
    for each in contract.settings:
        value = each.value.split(",")[0] if each.match is Match.ONE_OF else each.value
        plain[each.key] = None if each.match is Match.UNSET else value
    if contract.zookeeper is None:
        plain["process.roles"] = "broker"
    return plain


def look_at(at: At, spec: Desired | None = None, record: IdentityRecord | None = None) -> Observed:
    """A look in which everything of this stage is complete, and the contract is published."""
    return settled(at, spec or wanted(), record or record_at(at))


def settled(at: At, spec: Desired, record: IdentityRecord) -> Observed:
    """The same for a given record: the controllers run from the revision that is due, and the brokers follow."""
    made = revision(target_runtime(spec, at_rest(record, revisions=()), record))
    record = replace(record, applied_revision=made.name)
    look = at_rest(record, revisions=(made,), zookeeper=Known(value=keeper_of(at)), token=Known(value=ABSENT))
    config = names.config_name(NAME, made.inputs_hash, record.node_ids)
    support = tuple(
        replace(each, name=config) if each.kind == "ConfigMap" and "-config-" in each.name else each
        for each in look.support
    )
    pods = tuple(replace(pod, config_name=config) for pod in look.pods)
    look = replace(look, support=support, pods=pods, driver=Known(value=driver_of(at)))
    if record.overlay.stopped and at not in (STOP, ALONE_STOP):
        look = stopped(look)
    look = replace(look, log_dirs=Known(value={node_id: Known(value=()) for node_id in BROKERS}))
    return following(published(look, spec))


def stopped(look: Observed) -> Observed:
    """The same after the controllers have stopped."""
    silent = Unknown(reason="no controller runs")
    return replace(look, pods=(), quorum=silent, driver=silent)


def published(look: Observed, spec: Desired) -> Observed:
    """The same with the contract that is due."""
    found = look.contract
    old = found.value.contract if isinstance(found, Known) and found.value is not None else None
    due = due_contract(situation(spec, look), old, may_go_down=False)
    return replace(look, contract=Known(value=StoredContract(contract=replace(due, resource_version="5"))))


def contract_of(look: Observed) -> Contract:
    """The stored contract."""
    assert isinstance(look.contract, Known)
    assert look.contract.value is not None
    return look.contract.value.contract


def following(look: Observed) -> Observed:
    """The same with three brokers that follow the stored contract."""
    running = follows(contract_of(look))
    return replace(look, brokers=Known(value=tuple(seen(node_id, running) for node_id in BROKERS)))


def seen(node_id: int, running: Settings | str) -> BrokerSeen:
    """A registered broker with these running settings, or the reason why they are not known."""
    settings: Knowable[Settings] = Unknown(reason=running) if isinstance(running, str) else Known(value=running)
    return BrokerSeen(node_id=NodeID(node_id), settings=settings)


def with_broker(look: Observed, node_id: int, changes: Mapping[str, str | None] | str) -> Observed:
    """The same with other settings of one broker, or with a reason why they are not known."""
    assert isinstance(look.brokers, Known)
    found = []
    for broker in look.brokers.value:
        if broker.node_id != node_id:
            found.append(broker)
        elif isinstance(changes, str):
            found.append(seen(node_id, changes))
        else:
            assert isinstance(broker.settings, Known)
            found.append(seen(node_id, {**broker.settings.value, **changes}))
    return replace(look, brokers=Known(value=tuple(found)))


def with_keeper(look: Observed, **changes: Any) -> Observed:  # noqa: ANN401 - whatever the field holds
    """The same with changes of what ZooKeeper shows."""
    assert isinstance(look.zookeeper, Known)
    return replace(look, zookeeper=Known(value=replace(look.zookeeper.value, **changes)))


def with_driver(look: Observed, **changes: Any) -> Observed:  # noqa: ANN401 - whatever the field holds
    """The same with changes of what the leader reports."""
    assert isinstance(look.driver, Known)
    return replace(look, driver=Known(value=replace(look.driver.value, **changes)))


def judged(look: Observed, spec: Desired | None = None) -> Situation:
    """The situation of a pass over this look."""
    return situation(spec or wanted(), look)
