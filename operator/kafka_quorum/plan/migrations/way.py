"""What the engine needs of a migration besides its data: who asks for it, where it begins, and its gates."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kafka_quorum.model.actions import RecordChange
from kafka_quorum.model.actions.record import MigrationPermit
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.migration import Migration, Reached
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part

Answered: TypeAlias = MigrationPermit | Refusal


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
    held: Callable[[Situation], str] = lambda _: ""
    """The reason of the wait if a person decides when it goes on; empty if no decision is missing."""
    acts: Callable[[Situation], Part | None] = lambda _: None
    """What this stage does besides what follows from its overlays, before its gate is tried; None for nothing now."""
    makes: Callable[[Situation, Reached | None], IdentityRecord] | None = None
    """The record that is written, if it is not the one of the next stage."""


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
    waits_to_return: bool = False
    """Whether a refused way back is waited for. False: the migration goes on meanwhile."""
    turns: Callable[[Situation, int], tuple[Migration, int]] | None = None
    """Where the way back leads from a stage: to a stage of another migration. None: to the stage before."""

    def __post_init__(self) -> None:
        """Refuse a way that does not have one gate out of each stage, and one entry for the way back."""
        if not len(self.gates) == len(self.backs) == len(self.migration.stages):
            raise ValueError(f"{self.migration.kind.value} needs one gate and one way back for each stage")
