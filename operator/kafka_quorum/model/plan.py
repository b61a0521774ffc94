"""A plan: what to do now, what is waited for and why, and what the guards answered."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from kafka_quorum.model.actions import Action
from kafka_quorum.model.admission import PodQuestion
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.proposal import LossVerdict, Proposal
from kafka_quorum.model.situation import Situation

EARLIER_RESOURCE: Final = "EarlierResourceEnds"
"""Reason of a wait: the observed objects belong to an earlier resource of this name, and are being deleted."""
IDENTITY_CONFLICT: Final = "IdentityConflict"
"""Reason of a wait: the copies of the identity contradict each other, and none is overwritten."""
LATER_FORMAT: Final = "LaterFormat"
"""Reason of a wait: something is stored in a form that only a later version of this operator reads."""
UNKNOWN_OPERATION: Final = "UnknownOperation"
"""Reason of a wait: an operation is open that this version cannot continue."""


class Severity(Enum):
    """What a wait means to the person who reads it."""

    PROGRESS = "progress"
    """Under way; it only needs time."""
    HELD = "held"
    """A person must act, or a later version of this operator can."""
    DEGRADED = "degraded"
    """Something is lost or broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Something that is waited for. `reason` is CamelCase for a condition, `message` says what would end the wait.

    `delayed`: it waits for the end of a migration, and the migration does not wait for it.
    """

    severity: Severity
    reason: str
    message: str
    node_id: NodeID | None = None
    delayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePlan:
    """A feature that is to be changed, or that could be raised if it is not `requested`. `against`: what blocks it."""

    name: str
    present: int
    level: int
    requested: bool
    against: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationPlan:
    """The migration that is under way, or is requested and has not begun (`stage` 0).

    `stage` of `stages` counts from 1, `name` and `sentence` are those of the stage. `way_back` says how to revert it.
    """

    kind: str
    stage: int
    stages: int
    name: str
    sentence: str
    way_back: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Blocker:
    """One thing in the way of a migration from ZooKeeper: the object, what was found, and how to change it.

    `code` is CamelCase for programs. `unknown`: it could not be read, so that it may be in the way.
    """

    code: str
    object: str
    found: str
    way_out: str
    unknown: bool = False

    def __str__(self) -> str:
        """One sentence, and the way out."""
        return f"{self.object}: {self.found}. {self.way_out}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The result of planning: pure data. `requeue_s` is when to look again if nothing happens before.

    `questions` are pods that the API server must accept before the plan can continue. With its answers in
    `Observed.admissions`, a new plan is made.
    """

    actions: tuple[Action, ...]
    waits: tuple[Wait, ...]
    verdicts: tuple[Verdict, ...]
    requeue_s: float
    features: tuple[FeaturePlan, ...] = ()
    migration: MigrationPlan | None = None
    preflight: tuple[Blocker, ...] | None = None
    """What is in the way of a migration from ZooKeeper; None if it is not looked at."""
    loss: LossVerdict | None = None
    """What the disks show, while a recovery is requested and no leader answers."""
    proposal: Proposal | None = None
    """The recovery that a person may approve."""
    questions: tuple[PodQuestion, ...] = ()
    situation: Situation | None = field(default=None, compare=False, repr=False)
    """The situation that the plan was decided by; None if there is no identity record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one action: `failed` is empty if it was done; `unknown` is set if it may have been done."""

    action: Action
    done: bool
    unknown: bool
    message: str
    held: bool = False
    """It was not done now, and nothing is wrong: a disruption budget or an old look prevented it."""
    refused: str = ""
    """Why the API server, or the operator itself, refused the pod that was to be created; empty if neither refused."""
