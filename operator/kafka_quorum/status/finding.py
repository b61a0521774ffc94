"""What a condition's function returns, and what it is given."""

from dataclasses import dataclass
from enum import Enum

from kafka_quorum.model.desired import Desired, FieldFault
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Outcome, Plan, Severity, Wait


class Truth(Enum):
    """A condition's status. `UNKNOWN` means that it could not be found out."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A condition without its times: `reason` is CamelCase, `message` a sentence."""

    type: str
    truth: Truth
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one pass came to. `desired` is what was acted on: the last valid spec, where this one has `faults`."""

    desired: Desired
    observed: Observed
    plan: Plan
    outcomes: tuple[Outcome, ...]
    faults: tuple[FieldFault, ...]

    def first(self, severity: Severity) -> Wait | None:
        """The first wait of this severity."""
        return next((wait for wait in self.plan.waits if wait.severity is severity), None)

    def waits_for(self, reason: str) -> bool:
        """Whether anything is waited for with this reason."""
        return any(wait.reason == reason for wait in self.plan.waits)

    @property
    def failed(self) -> Outcome | None:
        """The first action that failed in a way that a person should hear of."""
        return next((outcome for outcome in self.outcomes if not outcome.done), None)


def sentence(waits: tuple[Wait, ...]) -> str:
    """All messages as one text, each said once."""
    return "; ".join(dict.fromkeys(wait.message for wait in waits))
