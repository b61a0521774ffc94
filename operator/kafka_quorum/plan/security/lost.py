"""What a lost authority leads to: when the new one signs early, and when the operator is locked out."""

from kafka_quorum.model import names
from kafka_quorum.model.bundles import has_authority
from kafka_quorum.model.material import OPERATOR, Material, Role
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.guards.rule13_trust import may_show_leaf


def must_sign(situation: Situation, material: Material, sha256: str) -> bool:
    """Whether an authority signs before every broker trusts it, because the key of the earlier one is lost.

    The certificates end before a roll could follow, or have ended, and every controller accepts the new authority.
    """
    change = None if situation.record.migration is None else situation.record.migration.trust
    if change is None or not has_authority(change.after, sha256):
        return False
    moments_s = [
        situation.desired.trust.renewal_s(leaf.certificate.not_after_s, leaf.certificate.life_s, 1 / 2)
        for holder, leaf in material.known_leafs()
        if holder.role == Role.CONTROLLERS.value and leaf.authority != sha256
    ]
    signed = any(leaf.authority == sha256 for holder, leaf in material.known_leafs() if holder.node_id >= 0)
    late = signed or (bool(moments_s) and situation.now_s >= min(moments_s))
    return late and may_show_leaf(situation, OPERATOR, sha256, "").allowed


def locked_out(quorum: str) -> str:
    """Why the operator reaches no controller without its own Secret and without a key, and the way out."""
    ca, own = names.authority_name(quorum), OPERATOR.secret(quorum)
    why = f"Secret {own} is lost, and so is the authority that the controllers trust"
    return f"Did not make another certificate for the operator: {why}. Restore Secret {ca} from a backup"
