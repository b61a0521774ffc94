"""Revisions that nothing is made from any more: the newest of them are kept, the others deleted.

Each change of the spec leaves one behind, and every look reads all of them.
"""

from typing import Final

from kafka_quorum.model.actions import DeleteRevision
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.formats import of_oldest_release
from kafka_quorum.plan.part import Part

KEPT: Final = 10
"""How many revisions stay besides those in use: people look back at them."""
_AT_ONCE: Final = 20


def old_revisions(situation: Situation) -> Part:
    """Delete what no pod, no controller and no spec needs; never the newest ones, nor the one of the oldest release.

    A record that has to be rebuilt uses the oldest release as the one that the disks were formatted with.
    """
    observed = situation.observed
    newest = sorted(observed.revisions, key=_age)
    needed = _in_use(situation) | {revision.name for revision in newest[:KEPT]}
    oldest = of_oldest_release(newest)
    if oldest is not None:
        needed.add(oldest.name)
    old = {revision.name for revision in newest if revision.name not in needed}
    stored = (item for item in observed.support if item.kind == "ControllerRevision" and item.name in old)
    deleted = [DeleteRevision(name=item.name, uid=item.uid, resource_version=item.resource_version) for item in stored]
    return Part(actions=tuple(deleted[:_AT_ONCE]))


def _age(revision: Revision) -> tuple[int, str]:
    return -revision.number, revision.name


def _in_use(situation: Situation) -> set[str | None]:
    """The revisions that pods were made from, and those that they may be made from next."""
    record = situation.record
    return {
        situation.target,
        record.applied_revision,
        *(node.revision for node in record.nodes),
        *(pod.revision for pod in situation.observed.pods),
    }
