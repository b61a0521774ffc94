"""What the engine needs of a migration besides its data: who asks for it, where it begins, and its gates."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kafka_quorum.model.actions import RecordChange
from kafka_quorum.model.migration import Migration
from kafka_quorum.model.permit import (
    BeginMigration,
    BrokersFollow,
    ControllersFollow,
    DropStatic,
    Permit,
    Refusal,
    RevertMigration,
)
from kafka_quorum.model.situation import Situation

Answered: TypeAlias = (
    Permit[BeginMigration]
    | Permit[DropStatic]
    | Permit[ControllersFollow]
    | Permit[BrokersFollow]
    | Permit[RevertMigration]
    | Refusal
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A guard, and the change of the record that it allows.

    `tells` says whether a refusal is reported as a wait: it is not while other concerns report what is missing. `lacks`
    says what a person must bring about, besides the brokers' settings; empty if nothing.
    """

    judge: Callable[[Situation], Answered]
    change: RecordChange
    lacks: Callable[[Situation], str] = lambda _: ""
    tells: Callable[[Situation], bool] = lambda _: True


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Where a quorum begins with a migration: the stage, as its place from 0, and the gate to it."""

    stage: int
    gate: Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One kind of migration. `gates` has the gate out of each stage, in their order.

    `entry` is None for a quorum that does not need this migration, or is not asked for it. `asked` says whether the
    spec still asks for it. `backs` has the gate back to the stage before for each stage, None where there is none.
    """

    migration: Migration
    entry: Callable[[Situation], Entry | None]
    asked: Callable[[Situation], bool]
    gates: tuple[Gate, ...]
    backs: tuple[Gate | None, ...]

    def __post_init__(self) -> None:
        """Refuse a way that does not have one gate out of each stage, and one entry for the way back."""
        if not len(self.gates) == len(self.backs) == len(self.migration.stages):
            raise ValueError(f"{self.migration.kind.value} needs one gate and one way back for each stage")
