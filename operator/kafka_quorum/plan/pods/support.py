"""The objects around the pods: the headless service, the disruption budget, and the immutable config maps."""

from kafka_quorum.model.actions import AdoptConfig, ApplyBudget, ApplyService, CreateConfig, DeleteConfig
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import (
    budget_facts,
    budget_name,
    service_facts,
    service_name,
)
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.voters import PAIR, majority_of
from kafka_quorum.plan.facts.configs import needed_configs, present_configs
from kafka_quorum.plan.part import Part, merged


def support(situation: Situation) -> Part:
    """Everything that pods depend on, compared by the fields that matter."""
    return merged((_service(situation), _budget(situation), _configs(situation)))


def min_available(desired: Desired, voters: int, *, changing: bool) -> int:
    """How many voters must stay: a majority; all of them during a voter change, never for a restart.

    With one or two voters nothing covers an interruption: one may stop only if `allowInterruption` allows it.
    """
    if changing:
        return voters
    if voters <= PAIR:
        return voters - 1 if desired.allow_interruption else voters
    return majority_of(voters)


def _service(situation: Situation) -> Part:
    desired, observed = situation.desired, situation.observed
    port = situation.runtime.listener.port
    needed = service_facts(desired.name, port)
    present = _facts(observed, "Service", service_name(desired.name))
    orphaned = _is_orphan(observed, "Service", service_name(desired.name))
    return Part() if present == needed and not orphaned else Part(actions=(ApplyService(port=port),))


def _budget(situation: Situation) -> Part:
    desired, observed = situation.desired, situation.observed
    present = _facts(observed, "PodDisruptionBudget", budget_name(desired.name))
    match observed.quorum:
        case Known(value=view) if view.committed_voters is not None:
            changing = observed.status.operation is not None or view.changing
            needed = min_available(desired, len(view.committed_voters), changing=changing)
        case _ if present is not None or not situation.record.initial:
            return Part()  # nothing new is known: the present budget stays
        case _:
            needed = min_available(desired, len(situation.record.initial), changing=False)
    if present == budget_facts(desired.name, needed) and not _is_orphan(
        observed, "PodDisruptionBudget", budget_name(desired.name)
    ):
        return Part()
    return Part(actions=(ApplyBudget(min_available=needed),))


def _configs(situation: Situation) -> Part:
    observed, needed = situation.observed, needed_configs(situation)
    present = present_configs(observed)
    used = {pod.config_name for pod in observed.pods}
    created = tuple(
        CreateConfig(name=name, revision=revision, node_ids=situation.record.node_ids)
        for name, revision in needed.items()
        if name not in present
    )
    deleted = tuple(DeleteConfig(name=name) for name in sorted(present - set(needed) - used))
    adopted = tuple(
        AdoptConfig(name=item.name, resource_version=item.resource_version)
        for item in observed.support
        if item.kind == "ConfigMap" and item.owner_uid is None and item.name in {*needed, *used}
    )
    return Part(actions=(*created, *deleted, *adopted))


def _is_orphan(observed: Observed, kind: str, name: str) -> bool:
    """Whether an object of ours has no owner: the resource was deleted without the object, and recreated."""
    return any((item.kind, item.name, item.owner_uid) == (kind, name, None) for item in observed.support)


def _facts(observed: Observed, kind: str, name: str) -> str | None:
    return next((item.facts for item in observed.support if (item.kind, item.name) == (kind, name)), None)
