"""Migrations as data: what a quorum goes through that one roll cannot do.

A migration is a sequence of stages. A stage says what it lays over the spec of the controllers, and what over the
contract of the brokers. The effective revision follows from it: the usual roll brings it to the controllers, and the
broker contract brings it to the brokers. A guard is the gate to the next stage (`plan.migrations`). The identity record
stores the stage that was reached, so an interrupted migration goes on from there.

A later migration adds a kind here and its gates there. A new kind of change adds a field to `Overlay`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final


class MigrationKind(Enum):
    """What a quorum becomes. The values are stored, and shown in the status."""

    STATIC_TO_DYNAMIC = "StaticToDynamic"


class FoundBy(Enum):
    """How a server finds the controllers."""

    VOTERS = "controller.quorum.voters"
    BOOTSTRAP = "controller.quorum.bootstrap.servers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """What a stage lays over the spec: properties that a person does not set. The defaults are those without one."""

    found_by: FoundBy = FoundBy.BOOTSTRAP


PLAIN: Final = Overlay()
STATIC: Final = Overlay(found_by=FoundBy.VOTERS)


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
MIGRATIONS: Final[Mapping[MigrationKind, Migration]] = MappingProxyType(
    {each.kind: each for each in (STATIC_TO_DYNAMIC,)}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The migration that is under way, as the identity record stores it: its kind, and the name of its stage.

    `release` and `image` are those of the spec when it began: no other release is rolled out until it ends.
    """

    kind: MigrationKind
    stage: str
    release: str
    image: str

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


def is_known(kind: object, stage: object) -> bool:
    """Whether a stored kind and stage are ones that this version of the operator has."""
    found = next((each for each in MIGRATIONS.values() if each.kind.value == kind), None)
    return found is not None and any(each.name == stage for each in found.stages)
