"""An action in words: the reason and the note of its event. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from kafka_streams.model import actions
from kafka_streams.model.actions import Action
from kafka_streams.model.adoption import Workload
from kit.report import told
from kit.report.notice import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one action: it was done, or `unknown` (it may have been done), or `held` (nothing is wrong)."""

    action: Action
    done: bool
    unknown: bool
    message: str
    held: bool = False


def notices(outcomes: Iterable[Outcome]) -> tuple[Notice, ...]:
    """The events of these outcomes, in order."""
    return told.notices(outcomes, lambda outcome: narrate(outcome.action)[0])


def refused(outcomes: Iterable[Outcome], before: frozenset[str]) -> frozenset[str]:
    """The revisions of which the API server refused a pod or its claim, when it was last asked for one."""
    found = before
    for outcome in outcomes:
        if isinstance(outcome.action, actions.CreatePod | actions.CreateClaim):
            revision = frozenset({outcome.action.slot.revision})
            no = not (outcome.done or outcome.unknown or outcome.held)
            found = found | revision if no else found - revision
    return found


def narrate(action: Action) -> tuple[str, str]:  # noqa: C901, PLR0911 - one case per action, nothing else
    """A CamelCase reason and one sentence."""
    match action:
        case actions.WriteRecord(change=change, message=message):
            return change.value, message
        case actions.KeepSpec():
            return (
                "SpecKept",
                "the spec is stored as the last accepted one, and is used for repairs if a later one is not valid",
            )
        case actions.CreateRevision(revision=revision):
            return "RevisionCreated", f"revision {revision.name} stores what pods are made from"
        case actions.CreateFile(revision=revision):
            return "FileCreated", f"config map {revision.name} has the file of properties of its revision again"
        case actions.DeleteRevision(revision=revision):
            return "RevisionDeleted", f"revision {revision.name} is deleted: nothing is made from it any more"
        case actions.CreateClaim(slot=slot):
            return (
                "ClaimCreated",
                f"instance {slot.index} has a new claim for its state, of generation {slot.generation}",
            )
        case actions.CreatePod(slot=slot, revision=revision):
            return "PodCreated", f"instance {slot.index} starts from revision {revision.name}"
        case actions.StopPod(message=message):
            return "InstanceStopped", message
        case actions.ReplacePod(pod=pod):
            return "PodReplaced", f"pod {pod.name} does not run{pod.why_ended}, and is created again"
        case actions.DeleteClaim(claim=claim):
            return "ClaimReleased", f"claim {claim.name} is deleted: its instance works with other state"
        case actions.Release() | actions.TakePod() | actions.TakeClaim():
            return _adopting(action)


def _adopting(action: actions.Adopting) -> tuple[str, str]:
    match action:
        case actions.Release(target=target):
            kind = target.kind.value if isinstance(target, Workload) else "ReplicaSet"
            return "WorkloadReleased", f"{kind} {target.name} is deleted, and its pods run on without it"
        case actions.TakePod(pod=candidate, slot=slot):
            return "PodAdopted", f"pod {candidate.name} is instance {slot.index} now, and runs on"
        case actions.TakeClaim(claim=kept, slot=slot):
            return "ClaimAdopted", f"claim {kept.name} has the state of instance {slot.index}"
