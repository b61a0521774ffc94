"""The conditions of an application: SpecAccepted, Ready, Progressing, Degraded. Pure."""

from dataclasses import dataclass

from kafka_quorum.model.desired import FieldFault
from kafka_streams.model.application import Desired
from kafka_streams.model.observed import Observed
from kafka_streams.model.plan import Plan, Severity, Wait
from kafka_streams.plan.facts import Situation
from kafka_streams.plan.gates import group_settled, works
from kit.conditions.finding import Finding, Truth
from kit.conditions.whole import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """The result of one pass. `desired` is what was acted on; None if no spec was ever valid.

    `failed` is the gravest action that was not done, as a sentence; empty if there is none.
    """

    name: str
    desired: Desired | None
    observed: Observed
    plan: Plan
    failed: str
    faults: tuple[FieldFault, ...]
    replicas: int

    def of(self, severity: Severity) -> tuple[Wait, ...]:
        """The waits of this severity, in order."""
        return tuple(wait for wait in self.plan.waits if wait.severity is severity)

    @property
    def situation(self) -> Situation | None:
        """The situation that was planned for."""
        record = self.observed.record
        if self.desired is None or record is None:
            return None
        return Situation(desired=self.desired, observed=self.observed, record=record)


def findings(done: Pass) -> tuple[Finding, ...]:
    """All conditions, in the order in which people read them."""
    return (ready(done), progressing(done), degraded(done), spec_accepted(done))


def spec_accepted(done: Pass) -> Finding:
    """Whether the present spec is valid and followed."""
    if done.faults:
        said = "; ".join(f"{fault.field}: {fault.message}" for fault in done.faults)
        return Finding(type="SpecAccepted", truth=Truth.FALSE, reason="InvalidSpec", message=said)
    return Finding(type="SpecAccepted", truth=Truth.TRUE, reason="Valid", message="The spec is valid and followed")


def ready(done: Pass) -> Finding:
    """Whether every instance runs what the spec says, and takes part in a settled group."""
    reason, message, truth = _not_ready(done)
    if reason:
        return Finding(type="Ready", truth=truth, reason=reason, message=message)
    count = done.replicas
    text = f"{count} of {count} instances run what the spec says, and take part in the group"
    return Finding(type="Ready", truth=Truth.TRUE, reason="AllInstancesWork", message=text)


def _not_ready(done: Pass) -> tuple[str, str, Truth]:
    """The reason and the sentence; an empty reason if nothing speaks against it."""
    if done.faults:
        return "InvalidSpec", "The spec is not valid: see the condition SpecAccepted", Truth.FALSE
    situation = done.situation
    if situation is None:
        first = next(iter(done.plan.waits), None)
        reason, message = (first.reason, first.message) if first is not None else ("Starting", "The application begins")
        return reason, message, Truth.FALSE
    record = situation.record
    if record.adoption is not None and not record.adoption.done:
        said = sentence(done.plan.waits) or f"{record.adoption} is being adopted: its pods run on"
        return "Adopting", said, Truth.FALSE
    if any(wait.reason == "Recreated" for wait in done.plan.waits):
        return "Recreated", sentence(done.plan.waits), Truth.FALSE
    return _not_well(done, situation)


def _not_well(done: Pass, situation: Situation) -> tuple[str, str, Truth]:
    """The reason and the sentence of what speaks against an application that has its instances."""
    record, change = situation.record, situation.change
    if situation.silent:
        return "GroupUnknown", f"The group is not known: {situation.silent}", Truth.UNKNOWN
    if change is not None:
        step = f"step {change.step + 1} of {len(change.steps)}"
        return "Changing", f"{change.shown.value} from {change.start} to {change.target}: {step}", Truth.FALSE
    if any(slot.revision != situation.wanted for slot in record.slots):
        waits = [wait for wait in done.plan.waits if wait.severity is not Severity.PROGRESS]
        text = waits[0].message if waits else "Instances run from an earlier revision"
        return waits[0].reason if waits else "Outdated", text, Truth.FALSE
    said = next((text for slot in record.slots for text in works(situation, slot)), None)
    if said is None and len(record.slots) != done.replicas:
        said = f"{len(record.slots)} of {done.replicas} instances are made"
    if said is None and record.slots:
        said = next(group_settled(situation), None)
    return ("InstanceMissing", f"Waiting: {said}", Truth.FALSE) if said is not None else ("", "", Truth.TRUE)


def progressing(done: Pass) -> Finding:
    """What is under way, or what holds it."""
    if done.failed:
        return Finding(type="Progressing", truth=Truth.FALSE, reason="ActionFailed", message=done.failed)
    for severity in (Severity.HELD, Severity.PROGRESS, Severity.DEGRADED):
        rows = done.of(severity)
        if rows:
            same = [wait for wait in rows if wait.reason == rows[0].reason]
            truth = Truth.TRUE if severity is Severity.PROGRESS else Truth.FALSE
            return Finding(type="Progressing", truth=truth, reason=rows[0].reason, message=sentence(same))
    return Finding(type="Progressing", truth=Truth.FALSE, reason="Done", message="Nothing is left to do")


def degraded(done: Pass) -> Finding:
    """Whether something is lost or broken."""
    rows = done.of(Severity.DEGRADED)
    if rows:
        same = [wait for wait in rows if wait.reason == rows[0].reason]
        return Finding(type="Degraded", truth=Truth.TRUE, reason=rows[0].reason, message=sentence(same))
    return Finding(type="Degraded", truth=Truth.FALSE, reason="Healthy", message="Nothing is lost or broken")
