"""What a person should read first, in one word and one sentence: the columns DOING and MESSAGE.

A problem comes before progress, and progress before `Done`, which is shown only if the quorum is Ready.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kafka_quorum.model.plan import Severity
from kafka_quorum.status.finding import Pass, sentence
from kit.conditions.finding import Finding, Truth

_LATER: Final = frozenset(
    {"RemovingController", "FeatureBlocked", "DowngradeRefused", "MigrationHeld", "DualWrite"} | {"Holding", "HeldBack"}
)
"""Held, but shown only when the present work has ended: until then the work is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """A CamelCase word, and its sentence."""

    reason: str
    message: str


def doing(done: Pass, findings: Iterable[Finding]) -> Doing:
    """The first of: an invalid spec, something lost or broken, a decision of a person, work in progress, `Done`."""
    held = [wait for wait in done.plan.waits if wait.severity is Severity.HELD and wait.reason not in _LATER]
    found = of_conditions(findings)
    if held and found.reason not in {"InvalidSpec", *(_reason_if(findings, "Degraded", Truth.TRUE))}:
        return Doing(reason=held[0].reason, message=sentence(wait for wait in held if wait.reason == held[0].reason))
    return found


def of_conditions(findings: Iterable[Finding]) -> Doing:
    """The same from the conditions alone."""
    by_type = {finding.type: finding for finding in findings}
    accepted, degraded, progressing = (by_type[name] for name in ("SpecAccepted", "Degraded", "Progressing"))
    if accepted.truth is Truth.FALSE:
        return Doing(reason=accepted.reason, message=accepted.message)
    if degraded.truth is not Truth.TRUE:
        shown = by_type["Ready"] if progressing.reason == "Done" else progressing
        return Doing(reason=progressing.reason, message=shown.message)
    same = progressing.reason in {degraded.reason, "NoLeader"} or degraded.message in progressing.message
    if progressing.truth is Truth.TRUE and not same:
        return Doing(reason=degraded.reason, message=f"{degraded.message}. Meanwhile: {progressing.message}")
    return Doing(reason=degraded.reason, message=degraded.message)


def _reason_if(findings: Iterable[Finding], kind: str, truth: Truth) -> tuple[str, ...]:
    return tuple(finding.reason for finding in findings if finding.type == kind and finding.truth is truth)
