"""Controllers that a person holds: nothing is done to their pods and disks, whatever that costs.

The annotation is read in every look, so nothing is remembered. One that cannot be read holds every controller: unknown
is not a no. docs/operations.md says what a hold covers.
"""

from collections.abc import Iterable

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.names import HOLD


def why_held(desired: Desired, node_id: NodeID) -> str:
    """Why nothing may be done to the pod and the disk of this controller, with the way out; empty if it is not held."""
    if isinstance(desired.hold, Unknown):
        return f"annotation {HOLD} cannot be read, so every controller counts as held. Correct the annotation"
    if node_id not in desired.hold.value:
        return ""
    return f"a person holds it. To end that, remove its id from annotation {HOLD}"


def is_held(desired: Desired, node_id: NodeID) -> bool:
    """Whether nothing may be done to the pod and the disk of this controller."""
    return bool(why_held(desired, node_id))


def held_among(desired: Desired, node_ids: Iterable[NodeID]) -> tuple[NodeID, ...]:
    """Those of these controllers that are held, in order."""
    return tuple(sorted(node_id for node_id in node_ids if is_held(desired, node_id)))


def why_some_held(desired: Desired, node_ids: Iterable[NodeID]) -> str:
    """Why an act on all of these controllers waits for a person, with the way out; empty if none is held."""
    held = ", ".join(map(str, held_among(desired, node_ids)))
    way_out = f"To end that, remove them from annotation {HOLD}, or correct it"
    return f"a person holds controllers {held}. {way_out}" if held else ""
