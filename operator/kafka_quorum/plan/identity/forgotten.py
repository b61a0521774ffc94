"""Controllers that the record has lost, and that the status or a claim still has: the record was edited, or restored.

The record retires every directory id that it gives up. So a directory id of a copy that the record neither has nor
retires was forgotten. Its disk holds this quorum's data, and must not be used for a new controller.
"""

from collections.abc import Iterator

from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord
from kafka_quorum.model.names import RETIRED
from kafka_quorum.model.observed import Observed

_WAY_OUT = "Restore it from a backup. The disk holds this quorum's data: do not empty it"


def forgotten(observed: Observed, record: IdentityRecord) -> Iterator[str]:
    """A sentence for each of them. Before the barrier no disk holds data, so none can be forgotten."""
    if record.phase is not BootstrapPhase.STARTED:
        return
    known = {node.directory_id for node in record.nodes} | record.retired
    for entry in observed.status.controllers:
        node = record.node(entry.node_id)
        told = node is not None and node.directory_id is not None  # then they differ, which is reported elsewhere
        if entry.directory_id and entry.directory_id not in known and not told:
            what = f"status.controllers has controller {entry.node_id} with directory id {entry.directory_id}"
            yield f"{what}, which is missing from the identity ConfigMap. {_WAY_OUT}"
    for claim in observed.claims:
        node = record.node(claim.node_id)
        told = node is not None and node.directory_id is not None and claim.generation == node.generation
        ours = claim.cluster_id == record.cluster_id and claim.phase != RETIRED and not claim.volume_gone
        if ours and claim.directory_id and claim.directory_id not in known and not told:
            what = f"claim {claim.name} has controller {claim.node_id} with directory id {claim.directory_id}"
            yield f"{what}, which is missing from the identity ConfigMap. {_WAY_OUT}"
