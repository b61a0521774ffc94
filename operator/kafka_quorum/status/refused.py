"""The status of a resource that has no valid spec, and had none that is known: nothing is looked at, and it says so."""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from kafka_quorum.model.desired import FieldFault
from kafka_quorum.status.build import kept_identity, readable, selector, unanswered
from kafka_quorum.status.doing import of_conditions
from kafka_quorum.status.spec_accepted import finding
from kit.conditions.finding import Finding, Truth
from kit.conditions.merge import merged, shortened

Json: TypeAlias = dict[str, Any]

_KEPT: Final = ("operation", "features", "metadataVersion", "soak", "restartedAt")
"""The fields of the present status that stay: an open intent, and what FeaturesSettled marks as unknown."""


def refused(old: Json, faults: Iterable[FieldFault], *, name: str, generation: int, now: str) -> Json:
    """The whole status. `old` is the present one: its copy of the identity lives on, and nothing else looks current."""
    old = readable(old)
    accepted = finding(faults)
    findings = _findings(accepted, existed="clusterID" in old)
    first = of_conditions(findings)
    kept: Json = {key: old[key] for key in _KEPT if key in old}
    return {
        **kept,
        "observedGeneration": generation,
        "selector": selector(name),
        "doing": first.reason,
        "message": shortened(first.message),
        "conditions": merged(old.get("conditions") or (), findings, generation=generation, now=now),
        **kept_identity(old),
        **(unanswered(old, now) or {"quorum": {"summary": "0/0"}}),
        "waits": [],
    }


def _findings(accepted: Finding, *, existed: bool) -> tuple[Finding, ...]:
    """Every condition, in the order of `build.CONDITIONS`."""
    reason, message = accepted.reason, accepted.message
    unknown = "not known: the operator does not look at this quorum until the spec is valid"
    if existed:
        lives = Finding(type="Available", truth=Truth.UNKNOWN, reason=reason, message=unknown)
        broken = Finding(type="Degraded", truth=Truth.UNKNOWN, reason=reason, message=unknown)
    else:
        nothing = "nothing was created, because the spec has never been valid"
        lives = Finding(type="Available", truth=Truth.FALSE, reason="NotStarted", message=nothing)
        broken = Finding(type="Degraded", truth=Truth.FALSE, reason="Healthy", message=nothing)
    return (
        Finding(type="Ready", truth=Truth.FALSE, reason=reason, message=message),
        lives,
        Finding(type="Progressing", truth=Truth.FALSE, reason=reason, message=message),
        broken,
        Finding(type="FeaturesSettled", truth=Truth.UNKNOWN, reason=reason, message=unknown),
        accepted,
        Finding(type="OddVoterCount", truth=Truth.UNKNOWN, reason=reason, message=unknown),
    )
