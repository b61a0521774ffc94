"""An action in words: the reason and the note of its event. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_streams.model import actions
from kafka_streams.model.actions import Action
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
    """The events of these outcomes, in order. A postponed action is no event; repeated failures are counted."""
    found = []
    for outcome in outcomes:
        if outcome.done:
            found.append(Notice(reason=narrate(outcome.action)[0], message=outcome.message))
        elif not outcome.held:
            subject = re.sub(r"\d+(\.\d+)?", "#", outcome.message)
            found.append(Notice(reason="ActionFailed", message=outcome.message, warning=True, subject=subject))
    return tuple(found)


def narrate(action: Action) -> tuple[str, str]:  # noqa: PLR0911 - one case per action, nothing else
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
            return "PodReplaced", f"pod {pod.name} does not run, and is created again"
        case actions.DeleteClaim(claim=claim):
            return "ClaimReleased", f"claim {claim.name} is deleted: its instance works with other state"
