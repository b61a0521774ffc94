"""Whether controllers accept nobody any more: their certificates have ended, and nobody can sign others for them.

Either every authority that they trust has ended, or its key is gone with the Secret NAME-ca, so that no certificate was
renewed. Nothing is left then that another trust could cut, and no leader begins a change of authorities in stages.
"""

from typing import Final

from kafka_quorum.model.bundles import has_authority, have_ended
from kafka_quorum.model.handshakes import Failure, NotServed
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import Material, controller
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import PodRole

SHOWN_S: Final = 30.0
"""How long a handshake shows what a listener serves."""


def accept_nobody(observed: Observed, record: IdentityRecord, trust: str, now_s: float) -> bool:
    """Whether nobody is accepted by a server with this trust, for good. It holds until every controller has another.

    A leader is the proof that certificates are valid, whatever the operator's clock shows. What has begun goes on: then
    a controller's Secret has a certificate of the wanted authority, which is written on no other way.
    """
    material = observed.material
    if material is None or not trust:
        return False
    over = have_ended(trust, now_s)
    if not over and not _key_is_gone(material, trust):
        return False
    if _has_begun(material, record, trust):
        return True
    if isinstance(observed.quorum, Known):
        return False
    return over or all(_has_ended(observed, material, node.node_id, now_s) for node in record.nodes)


def _key_is_gone(material: Material, trust: str) -> bool:
    """Whether the quorum has an authority of its own, but no key of one that is trusted."""
    if isinstance(material.own, Unknown) or material.own.value.present is None:
        return False
    kept = (material.own.value.present, material.own.value.following)
    return not any(has_authority(trust, each.sha256) for each in kept if each is not None)


def _has_begun(material: Material, record: IdentityRecord, trust: str) -> bool:
    """Whether a controller's Secret has a certificate of the wanted authority, which this trust lacks."""
    wanted = material.wanted_trust
    found = {leaf.authority for holder, leaf in material.known_leafs() if holder in _controllers(record)}
    return isinstance(wanted, Known) and any(
        has_authority(wanted.value, each) and not has_authority(trust, each) for each in found if each
    )


def _controllers(record: IdentityRecord) -> set[object]:
    return {controller(node.node_id) for node in record.nodes}


def _has_ended(observed: Observed, material: Material, node_id: NodeID, now_s: float) -> bool:
    """Whether what this controller shows has certainly ended: by its Secret, which has the last one, or a handshake."""
    seen = material.leaf(controller(node_id))
    if isinstance(seen, Unknown):
        return False
    if seen.value is not None:
        return seen.value.ends_s <= now_s
    ended = served_ended(observed, material, node_id)
    return all(pod.instance in ended for pod in observed.pods_of(node_id, PodRole.KAFKA) if not pod.finished)


def served_ended(observed: Observed, material: Material, node_id: NodeID) -> frozenset[str]:
    """The containers of this controller whose listener has just served a certificate that has ended."""
    return frozenset(
        shown.instance
        for shown in material.shown
        if shown.node_id == node_id
        and isinstance(shown.handshake, NotServed)
        and shown.handshake.failure is Failure.EXPIRED
        and observed.looked_at_s - shown.at_s <= SHOWN_S
    )
