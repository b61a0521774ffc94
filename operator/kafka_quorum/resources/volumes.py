"""Where a volume can be reached, by its PersistentVolume: the only source that does not go out of date. Pure.

The node that a claim was first scheduled for proves nothing: a network volume may be attached elsewhere next time.
"""

from dataclasses import dataclass
from typing import Final

from kit.kube.protocol import Json

_BY_NAME: Final = "metadata.name"
_BY_HOST: Final = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The only Kubernetes node of a volume; empty if there are several, or any. `certain`: it is the node's name."""

    node: str
    certain: bool


ANYWHERE: Final = Place(node="", certain=True)


def place_of(volume: Json, selected_node: str) -> Place:
    """The one node that a PersistentVolume's required affinity leaves.

    An affinity names labels, not nodes. Its one value is the node's name if it equals the node that the claim was
    scheduled for; a host name is mostly the same.
    """
    required = ((volume.get("spec") or {}).get("nodeAffinity") or {}).get("required") or {}
    terms = required.get("nodeSelectorTerms") or []
    if len(terms) != 1:  # several are alternatives
        return ANYWHERE
    rows = [*(terms[0].get("matchExpressions") or ()), *(terms[0].get("matchFields") or ())]
    single = {row.get("key"): row["values"][0] for row in rows if row.get("operator") == "In" and _is_one(row)}
    if _BY_NAME in single:
        return Place(node=single[_BY_NAME], certain=True)
    if selected_node and selected_node in single.values():
        return Place(node=selected_node, certain=True)
    return Place(node=single[_BY_HOST], certain=False) if _BY_HOST in single else ANYWHERE


def _is_one(row: Json) -> bool:
    return len(row.get("values") or ()) == 1
