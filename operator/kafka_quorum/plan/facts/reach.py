"""Whether a disk was given the time to be read. One that was not is neither lost nor out of reach."""

from typing import Final

from kafka_quorum.model.disk import Claimed
from kafka_quorum.model.disk_work import InspectDisk, Worker
from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.nodes import is_down
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.surveyed import Source

READS_WITHIN_S: Final = 120.0
"""How long a pod that reads a disk may take to start. An image is pulled in this time, and a volume attached."""


def source_of(situation: Situation, node: NodeIdentity) -> Source | None:
    """The present disk of a controller, if it has one that can be read."""
    disk = situation.disk(node)
    if not isinstance(disk, Claimed) or not node.formatted:
        return None
    return Source(claim=disk.claim.name, claim_uid=disk.claim.uid, node_id=node.node_id)


def is_out_of_reach(situation: Situation, worker: Worker | None) -> bool:
    """Whether a pod had the chance to read its disk: it has ended, its machine is down, or it does not start.

    A pod that runs is still reading. One that is not there, or that is being deleted, has read nothing yet.
    """
    if worker is None or worker.deleting:
        return False
    if worker.finished or is_down(situation.observed, worker.place):
        return True
    return not worker.running and situation.now_s - worker.created_at_s > READS_WITHIN_S


def may_still_be_read(situation: Situation, node: NodeIdentity) -> bool:
    """Whether a controller has a disk whose pod has not had the chance to read it."""
    source = source_of(situation, node)
    return source is not None and not is_out_of_reach(situation, situation.worker(InspectDisk(source=source)))
