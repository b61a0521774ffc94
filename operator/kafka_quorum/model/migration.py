"""Migrations as data: what a quorum goes through that one roll cannot do.

A migration is a sequence of stages. A stage says what it lays over the spec of the controllers, and what over the
contract of the brokers. The effective revision follows from it: the usual roll brings it to the controllers, and the
broker contract brings it to the brokers. A guard is the gate to the next stage (`plan.migrations`). The identity record
stores the stage that was reached, so an interrupted migration goes on from there.

A later migration adds a kind here and its gates there. A new kind of change adds a field to `Overlay`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Final

from kafka_quorum.model.desired import ControllerListener
from kafka_quorum.model.zookeeper import SavedNodes


class MigrationKind(Enum):
    """What a quorum becomes. The values are stored, and shown in the status."""

    STATIC_TO_DYNAMIC = "StaticToDynamic"
    ZOOKEEPER_TO_KRAFT = "ZooKeeperToKRaft"
    BACK_TO_ZOOKEEPER = "BackToZooKeeper"
    """The roll back of a migration from ZooKeeper that was not finalized."""
    LISTENERS = "Listeners"
    """Another listener of the controllers: its name, its port, and how it is secured."""
    LEFT_ZOOKEEPER_ALONE = "LeftZooKeeperAlone"
    """The same, before any broker was changed: only the controllers end."""
    AUTHORITY = "Authority"
    """Another authority signs the certificates of the controllers."""


class FoundBy(Enum):
    """How a server finds the controllers."""

    VOTERS = "controller.quorum.voters"
    BOOTSTRAP = "controller.quorum.bootstrap.servers"


class Listens(Enum):
    """Which listeners a server has, while those of the controllers are changed: a controller, or what a broker uses."""

    PRESENT = "present"
    """Those that the quorum has. No change of listeners is under way."""
    OLD_FIRST = "old first"
    """A controller has both, and reaches the others by the old one. A broker uses the old one."""
    NEW_FIRST = "new first"
    """A controller has both, and reaches the others by the new one."""
    NEW = "new"


class Keeper(Enum):
    """How a server uses ZooKeeper."""

    NONE = "none"
    """KRaft only."""
    PLAIN = "plain"
    """A broker stores its metadata in ZooKeeper, and knows no KRaft controller."""
    MIGRATES = "migrates"
    """In migration mode: a broker of ZooKeeper that registers with the KRaft controllers, or a KRaft controller that
    writes to ZooKeeper as well."""
    RETURNS = "returns"
    """A KRaft broker of a quorum that still writes to ZooKeeper, so that the broker can go back to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """What a stage lays over the spec: properties that a person does not set. The defaults are those without one.

    `stopped`: no controller runs. `measured`: the controllers report the state of the migration as metrics.
    """

    found_by: FoundBy = FoundBy.BOOTSTRAP
    keeper: Keeper = Keeper.NONE
    stopped: bool = False
    measured: bool = False
    listens: Listens = Listens.PRESENT
    signed_by_new: bool = False
    """Whether the new authority signs the leafs, while the authorities are changed."""


PLAIN: Final = Overlay()
STATIC: Final = Overlay(found_by=FoundBy.VOTERS)
_BESIDE: Final = Overlay(found_by=FoundBy.VOTERS, keeper=Keeper.MIGRATES, measured=True)
"""Controllers beside ZooKeeper."""
_FINAL: Final = Overlay(found_by=FoundBy.VOTERS, measured=True)
_STOPPED: Final = Overlay(found_by=FoundBy.VOTERS, keeper=Keeper.MIGRATES, stopped=True, measured=True)
_BROKERS_PLAIN: Final = Overlay(found_by=FoundBy.VOTERS, keeper=Keeper.PLAIN)
_BROKERS_MIGRATE: Final = Overlay(found_by=FoundBy.VOTERS, keeper=Keeper.MIGRATES)
_BROKERS_KRAFT: Final = Overlay(found_by=FoundBy.VOTERS, keeper=Keeper.RETURNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage. `sentence` says what happens in it, `way_back` how to revert it; empty if it cannot be reverted.

    `levels` are the features whose levels change in it; no other level changes during a migration.
    `brokers_next` says what the contract will require of brokers after this stage; empty if nothing new.
    """

    name: str
    controllers: Overlay
    brokers: Overlay
    sentence: str
    way_back: str = ""
    levels: tuple[str, ...] = ()
    brokers_next: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """A kind of migration, what it is called in sentences, its stages in their order, and how not to begin it."""

    kind: MigrationKind
    title: str
    stages: tuple[Stage, ...]
    way_out: str
    """How a person takes the request back before it begins."""

    def index(self, name: str) -> int:
        """The place of the stage of this name, from 0. Raises `ValueError` if there is none."""
        return [stage.name for stage in self.stages].index(name)


_WAY_OUT: Final = "remove kraft.version from spec.kafka.features.levels"
_KEPT: Final = "controller.quorum.voters is removed when no controller has it any more. Brokers keep it until then"
STATIC_TO_DYNAMIC: Final = Migration(
    kind=MigrationKind.STATIC_TO_DYNAMIC,
    title="from static to dynamic",
    stages=(
        Stage(
            name="RaiseLevel",
            controllers=STATIC,
            brokers=STATIC,
            sentence="kraft.version 1 is finalized: then the voters are those that the metadata log has",
            way_back=f"Before kraft.version 1 is finalized, {_WAY_OUT}",
            levels=("kraft.version",),
            brokers_next=_KEPT,
        ),
        Stage(
            name="Controllers",
            controllers=PLAIN,
            brokers=STATIC,
            sentence="the controllers restart one by one, without controller.quorum.voters",
            brokers_next=_KEPT,
        ),
        Stage(
            name="Brokers",
            controllers=PLAIN,
            brokers=PLAIN,
            sentence="the brokers restart without controller.quorum.voters",
        ),
    ),
    way_out=_WAY_OUT,
)
_ROLL_BACK: Final = "Set spec.zookeeper.rollBack to true"
ZOOKEEPER_TO_KRAFT: Final = Migration(
    kind=MigrationKind.ZOOKEEPER_TO_KRAFT,
    title="from ZooKeeper to KRaft",
    stages=(
        Stage(
            name="Controllers",
            controllers=_BESIDE,
            brokers=_BROKERS_PLAIN,
            sentence="the controllers run beside ZooKeeper, whose controller still leads",
            way_back=f"{_ROLL_BACK}: the controllers stop, and no broker has to restart",
            brokers_next="zookeeper.metadata.migration.enable=true, when every controller is ready",
        ),
        Stage(
            name="Brokers",
            controllers=_BESIDE,
            brokers=_BROKERS_MIGRATE,
            sentence="the brokers restart in migration mode. After the last one the metadata is copied to KRaft",
            way_back=f"{_ROLL_BACK}: the controllers stop, ZooKeeper leads again, and the brokers restart once",
            brokers_next="process.roles=broker, when the metadata is copied. ZooKeeper is kept up to date",
        ),
        Stage(
            name="DualWrite",
            controllers=_BESIDE,
            brokers=_BROKERS_KRAFT,
            sentence="the brokers restart as KRaft brokers. The controllers write to ZooKeeper as well",
            way_back=f"{_ROLL_BACK}: the brokers restart in migration mode, then the controllers stop, ZooKeeper leads "
            "again, and the brokers restart once more",
            brokers_next="nothing, until spec.zookeeper.finalize is true",
        ),
        Stage(
            name="Finalize",
            controllers=_FINAL,
            brokers=_BROKERS_KRAFT,
            sentence="the controllers restart without ZooKeeper, which is not needed any more",
        ),
    ),
    way_out="delete the KafkaQuorum",
)
_PLAIN_STOPPED: Final = Stage(
    name="ControllersStop",
    controllers=_STOPPED,
    brokers=_BROKERS_PLAIN,
    sentence="the controllers stop, so that none of them writes to ZooKeeper any more",
)
_ENDED: Final = Stage(
    name="RolledBack",
    controllers=_STOPPED,
    brokers=_BROKERS_PLAIN,
    sentence="the cluster uses ZooKeeper as before. The volumes of the controllers are retired",
    way_back="Set spec.zookeeper.rollBack to false to begin the migration again, on new volumes",
)
LEFT_ZOOKEEPER_ALONE: Final = Migration(
    kind=MigrationKind.LEFT_ZOOKEEPER_ALONE,
    title="back to ZooKeeper",
    stages=(
        _PLAIN_STOPPED,
        replace(_PLAIN_STOPPED, name="ZooKeeperLeads", sentence="the operator deletes /migration in ZooKeeper"),
        _ENDED,
    ),
    way_out="",
)
BACK_TO_ZOOKEEPER: Final = Migration(
    kind=MigrationKind.BACK_TO_ZOOKEEPER,
    title="back to ZooKeeper",
    stages=(
        Stage(
            name="BrokersReturn",
            controllers=_BESIDE,
            brokers=_BROKERS_MIGRATE,
            sentence="the brokers restart in migration mode, with ZooKeeper",
            brokers_next="nothing, until the controllers are stopped",
        ),
        Stage(
            name="ControllersStop",
            controllers=_STOPPED,
            brokers=_BROKERS_MIGRATE,
            sentence="the controllers stop, so that none of them writes to ZooKeeper any more",
            brokers_next="the settings without migration, when ZooKeeper's controller leads",
        ),
        Stage(
            name="ZooKeeperLeads",
            controllers=_STOPPED,
            brokers=_BROKERS_MIGRATE,
            sentence="the operator deletes /controller and /migration in ZooKeeper, and a broker becomes the "
            "controller",
            brokers_next="the settings without migration, when ZooKeeper's controller leads",
        ),
        Stage(
            name="BrokersLeave",
            controllers=_STOPPED,
            brokers=_BROKERS_PLAIN,
            sentence="the brokers restart without the settings of the migration",
        ),
        _ENDED,
    ),
    way_out="",
)
_LISTENER_BACK: Final = "Restore spec.controllers.listeners: it goes back stage by stage"
_OLD: Final = Overlay(listens=Listens.OLD_FIRST)
_NEW: Final = Overlay(listens=Listens.NEW)
LISTENERS: Final = Migration(
    kind=MigrationKind.LISTENERS,
    title="to another listener of the controllers",
    stages=(
        Stage(
            name="Both",
            controllers=_OLD,
            brokers=_OLD,
            sentence="the controllers restart one by one, with both listeners. They use the earlier one",
            way_back=_LISTENER_BACK,
            brokers_next="the new listener of the controllers, when every controller has it",
        ),
        Stage(
            name="Brokers",
            controllers=_OLD,
            brokers=_NEW,
            sentence="the brokers restart, and reach the controllers by the new listener",
            way_back=_LISTENER_BACK,
            brokers_next="nothing. They keep the new listener",
        ),
        Stage(
            name="Prefer",
            controllers=Overlay(listens=Listens.NEW_FIRST),
            brokers=_NEW,
            sentence="the controllers restart one by one, and reach each other by the new listener",
            way_back=_LISTENER_BACK,
            brokers_next="nothing. They keep the new listener",
        ),
        Stage(
            name="OnlyNew",
            controllers=_NEW,
            brokers=_NEW,
            sentence="the controllers restart one by one, without the earlier listener",
            way_back=_LISTENER_BACK,
            brokers_next="nothing. They keep the new listener",
        ),
    ),
    way_out="restore spec.controllers.listeners",
)
_SIGNED: Final = Overlay(signed_by_new=True)
_TRUST_BACK: Final = "Give spec.security.controllers.renewCA its earlier text, or the issuer's Secret its earlier trust"
AUTHORITY: Final = Migration(
    kind=MigrationKind.AUTHORITY,
    title="to another authority",
    stages=(
        Stage(
            name="TrustBoth",
            controllers=PLAIN,
            brokers=PLAIN,
            sentence="the controllers restart one by one, and the brokers too: they trust the earlier authority and "
            "the new one",
            way_back=_TRUST_BACK,
            brokers_next="a certificate of the new authority, when every server trusts both",
        ),
        Stage(
            name="NewLeafs",
            controllers=_SIGNED,
            brokers=PLAIN,
            sentence="every certificate is replaced by one of the new authority: listeners load it, then the "
            "controllers restart one by one, and the brokers too",
            way_back=_TRUST_BACK,
            brokers_next="the new authority only, when no server has a certificate of the earlier one",
        ),
        Stage(
            name="DropOld",
            controllers=_SIGNED,
            brokers=PLAIN,
            sentence="the controllers restart one by one, and the brokers too: they trust the new authority only",
        ),
    ),
    way_out=_TRUST_BACK[0].lower() + _TRUST_BACK[1:],
)
_ALL: Final = (STATIC_TO_DYNAMIC, ZOOKEEPER_TO_KRAFT, BACK_TO_ZOOKEEPER, LEFT_ZOOKEEPER_ALONE, LISTENERS, AUTHORITY)
MIGRATIONS: Final[Mapping[MigrationKind, Migration]] = MappingProxyType({each.kind: each for each in _ALL})
ROLLED_BACK: Final = _ENDED.name
"""The last stage of a roll back: the quorum has ended, and nothing runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerChange:
    """The listener that the quorum had when the change began, and the one that it gets."""

    old: ControllerListener
    new: ControllerListener


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustChange:
    """The authorities that are trusted before and after their change, in PEM. Certificates only: they are public."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The migration that is under way, as the identity record stores it: its kind, and the name of its stage.

    `release` and `image` are those of the spec when it began: no other release is rolled out until it ends. `saved` is
    what a roll back is about to delete in ZooKeeper, or has deleted, for a person. `listeners` are the two of a
    change of listeners. `trust` is that of a change of authorities: the Secrets that it came from may be gone.
    """

    kind: MigrationKind
    stage: str
    release: str
    image: str
    saved: SavedNodes | None = None
    listeners: ListenerChange | None = None
    trust: TrustChange | None = None

    @property
    def migration(self) -> Migration:
        """The data of this migration."""
        return MIGRATIONS[self.kind]

    @property
    def index(self) -> int:
        """The place of the stage, from 0."""
        return self.migration.index(self.stage)

    @property
    def present(self) -> Stage:
        """The data of this stage."""
        return self.migration.stages[self.index]

    @property
    def drops_trust(self) -> bool:
        """Whether the earlier authority is not trusted any more in this stage."""
        return self.trust is not None and self.index == len(self.migration.stages) - 1


def is_known(kind: object, stage: object) -> bool:
    """Whether a stored kind and stage are ones that this version of the operator has."""
    found = next((each for each in MIGRATIONS.values() if each.kind.value == kind), None)
    return found is not None and any(each.name == stage for each in found.stages)
