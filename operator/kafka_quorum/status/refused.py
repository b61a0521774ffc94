"""The status of a resource that has no valid spec, and no earlier one is known: it reports that no look is taken."""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from kafka_quorum.model.desired import FieldFault
from kafka_quorum.status.build import kept_identity, readable, selector, types, unanswered
from kafka_quorum.status.doing import of_conditions
from kafka_quorum.status.spec_accepted import finding
from kit.conditions.finding import Finding, Truth
from kit.conditions.merge import merged, shortened

Json: TypeAlias = dict[str, Any]

_KEPT: Final = ("operation", "features", "metadataVersion", "soak", "restartedAt", "brokerContract", "migration")
"""The fields of the present status that are kept: an open intent, a migration, and what is unknown of features."""


def refused(old: Json, faults: Iterable[FieldFault], *, name: str, generation: int, now: str) -> Json:
    """The whole status. `old` is the present one: its copy of the identity is kept, and nothing else looks current."""
    old = readable(old)
    accepted = finding(faults)
    findings = _findings(accepted, types(old), existed="clusterID" in old)
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


def _findings(accepted: Finding, names: Iterable[str], *, existed: bool) -> tuple[Finding, ...]:
    """Every condition, by these names. One that is not named here needs a look, and is Unknown."""
    reason, message = accepted.reason, accepted.message
    unknown = "not known: the operator does not look at this quorum until the spec is valid"
    if existed:
        lives = Finding(type="Available", truth=Truth.UNKNOWN, reason=reason, message=unknown)
        broken = Finding(type="Degraded", truth=Truth.UNKNOWN, reason=reason, message=unknown)
    else:
        nothing = "nothing was created, because the spec has never been valid"
        lives = Finding(type="Available", truth=Truth.FALSE, reason="NotStarted", message=nothing)
        broken = Finding(type="Degraded", truth=Truth.FALSE, reason="Healthy", message=nothing)
    told = (
        Finding(type="Ready", truth=Truth.FALSE, reason=reason, message=message),
        lives,
        Finding(type="Progressing", truth=Truth.FALSE, reason=reason, message=message),
        broken,
        accepted,
    )
    unseen = (Finding(type=name, truth=Truth.UNKNOWN, reason=reason, message=unknown) for name in names)
    return tuple({each.type: each for each in (*unseen, *told)}.values())
