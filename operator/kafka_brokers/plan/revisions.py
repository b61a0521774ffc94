"""What pods are made from: revisions and their config maps. Pure."""

from typing import Final

from kafka_brokers.model import names
from kafka_brokers.model.actions import Action, CreateConfig, CreateRevision, DeleteConfig, DeleteRevision
from kafka_brokers.model.contracted import first_contact
from kafka_brokers.model.observed import Revision
from kafka_brokers.model.plan import Part, Severity, waits
from kafka_brokers.plan.facts import Situation
from kafka_brokers.resources import objects
from kafka_quorum.model.known import Known

KEPT: Final = 5
"""So many old revisions are kept, to be read by people."""


def revisions(situation: Situation) -> Part:
    """The revision of the present spec exists, and every revision that pods are made from has its config map."""
    observed, target = situation.observed, situation.target
    present = observed.revision(target)
    if present is None:
        if any(one.name == target for one in observed.unreadable):
            text = f"Did not make any pod: ControllerRevision {target} cannot be read"
            return waits(Severity.DEGRADED, "RevisionUnreadable", text)
        if situation.held_by_faults:
            return Part()
        number = max((one.number for one in observed.revisions), default=0) + 1
        runtime = situation.desired.runtime
        new = Revision(
            name=target, number=number, image=situation.image, inputs_hash=names.inputs_hash(runtime), runtime=runtime
        )
        return Part(actions=(CreateRevision(revision=new),))
    return Part(actions=tuple(_missing_configs(situation)))


def _missing_configs(situation: Situation) -> list[Action]:
    """The config maps that pods which may be created next are made with."""
    wanted = {situation.target, *(broker.revision for broker in situation.record.brokers)}
    present = {one.name for one in situation.observed.support if one.kind == "ConfigMap"}
    made = [(revision, config_name(situation, revision)) for revision in situation.observed.revisions]
    return [
        CreateConfig(name=name, revision=revision)
        for revision, name in made
        if revision.name in wanted and name not in present
    ]


def config_name(situation: Situation, revision: Revision) -> str:
    """The config map of a revision for the present brokers and controllers."""
    return objects.config_name(situation.desired, revision, situation.record.node_ids, contact(situation))


def contact(situation: Situation) -> tuple[tuple[str, str], ...]:
    """The contract's settings that a broker needs for its first contact only."""
    contract = situation.observed.contract
    return first_contact(contract.value) if isinstance(contract, Known) else ()


def config_of(situation: Situation, revision: Revision | None = None) -> str | None:
    """The config map of a revision (the target's by default), if it exists."""
    revision = revision or situation.observed.revision(situation.target)
    if revision is None:
        return None
    name = config_name(situation, revision)
    return name if any(one.name == name for one in situation.observed.support) else None


def old(situation: Situation) -> Part:
    """Config maps that no pod uses, and old revisions beyond those that are kept, are deleted."""
    observed = situation.observed
    used = {pod.config_name for pod in observed.pods}
    needed = {config_name(situation, revision) for revision in observed.revisions if _in_use(situation, revision)}
    configs = [
        DeleteConfig(name=one.name, uid=one.uid)
        for one in observed.support
        if one.kind == "ConfigMap" and one.name not in used | needed and not one.foreign and not one.deleting
    ]
    idle = [one for one in observed.revisions if not _in_use(situation, one)]
    uids = {one.name: one.uid for one in observed.support if one.kind == "ControllerRevision" and not one.deleting}
    surplus = sorted(idle, key=lambda one: one.number)[: max(len(idle) - KEPT, 0)]
    revisions_ = [DeleteRevision(name=one.name, uid=uids[one.name]) for one in surplus if one.name in uids]
    return Part(actions=(*configs, *revisions_))


def _in_use(situation: Situation, revision: Revision) -> bool:
    used = {situation.target, *(broker.revision for broker in situation.record.brokers)}
    return revision.name in used | {pod.revision for pod in situation.observed.pods}
