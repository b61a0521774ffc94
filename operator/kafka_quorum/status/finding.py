"""The input of a condition's function: a pass. Its result is a `kit.conditions.finding.Finding`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kafka_quorum.model.desired import Desired, FieldFault
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Outcome, Plan, Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.status.together import together

IDENTITY_MISSING: Final = "Rebuilding the identity ConfigMap, which is missing, from its copies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """The result of one pass. `desired` is what was acted on: the last accepted spec if this one has `faults`.

    `now_s` is wall-clock seconds since the epoch, compared with the kubelet's stamps only. `autoscaler` names the
    autoscaler that set the number of replicas last; it is empty if a person or a person's tool set it.
    """

    desired: Desired
    observed: Observed
    plan: Plan
    outcomes: tuple[Outcome, ...]
    faults: tuple[FieldFault, ...]
    now_s: float = 0.0
    autoscaler: str = ""

    @property
    def situation(self) -> Situation | None:
        """What the pass decided by; None without a valid identity record."""
        return None if self.observed.record is None else self.plan.situation

    @property
    def at_rest(self) -> bool:
        """Whether nothing is waited for and every voter is caught up: only then are objects worth remembering."""
        match self.observed.quorum:
            case Known(value=view):
                return not self.plan.waits and view.voters <= view.caught_up
            case Unknown():
                return False

    def first(self, severity: Severity) -> Wait | None:
        """The first wait of this severity."""
        return next((wait for wait in self.plan.waits if wait.severity is severity), None)

    def waits_for(self, reason: str) -> bool:
        """Whether anything is waited for with this reason."""
        return any(wait.reason == reason for wait in self.plan.waits)

    @property
    def failed(self) -> Outcome | None:
        """The gravest action that was not done: a refusal before one with a lost answer. A postponed one is none."""
        failures = [outcome for outcome in self.outcomes if not outcome.done and not outcome.held]
        return min(failures, key=lambda outcome: outcome.unknown, default=None)

    @property
    def refused(self) -> Outcome | None:
        """The first action that certainly was not done, if that is a failure."""
        failed = self.failed
        return None if failed is None or failed.unknown else failed


def sentence(waits: Iterable[Wait]) -> str:
    """All messages as one text: each once, for all controllers that it applies to."""
    return "; ".join(said.message for said in together((wait.node_id, wait.message) for wait in waits))
