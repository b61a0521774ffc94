"""Whether the Secrets that a controller's next pod loads exist, and the other controllers accept it with them."""

from kafka_quorum.model.bundles import has_authority
from kafka_quorum.model.desired import Protocol, Runtime
from kafka_quorum.model.generations import is_mounted
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import Material, controller
from kafka_quorum.model.names import users_name
from kafka_quorum.model.situation import Situation


def why_no_secret(situation: Situation, node_id: NodeID, runtime: Runtime) -> str:
    """Why a pod of this controller, made from `runtime`, would not come back; empty if its Secrets are in order.

    A container waits for a missing Secret. Kafka exits if it cannot read the key. With a certificate that has ended, or
    that no other controller trusts, it reaches none of them. A running controller has loaded its own before.
    """
    if not runtime.encrypted:
        return ""
    material = situation.observed.material
    if material is None:
        return "the Secrets with certificates were not read"
    return _leaf(situation, material, node_id, runtime) or _users(situation, material, runtime)


def why_earlier_leaf(situation: Situation, node_id: NodeID, made: int, least: int = 0) -> str:
    """Why the next pod of this controller would show an earlier leaf than the target says; empty if it would not.

    `made` is the generation that it is made for now. The operator would count with the end of the later leaf, and would
    restart the controller too late. So this minute is waited for even if the earlier leaf ends meanwhile: with it, the
    controller would reach no other until the next renewal. While a new authority signs, restarts wait for listeners
    that show its leafs, and not for this. `least` is the generation that is enough; 0: that of the target.
    """
    material, wanted = situation.observed.material, least or situation.runtime.certificates
    seen = None if material is None else material.leaf(controller(node_id))
    if not situation.runtime.encrypted or not isinstance(seen, Known) or seen.value is None:
        return ""
    leaf, name = seen.value, controller(node_id).secret(situation.desired.name)
    if leaf.generation < wanted:
        return f"Secret {name} has certificate {leaf.generation} yet, and its next pod must show certificate {wanted}"
    if 0 < made < wanted and not situation.record.overlay.signed_by_new and not is_mounted(leaf, situation.now_s):
        return f"Secret {name} was written just now, and its next pod may mount what it had before"
    return ""


def _leaf(situation: Situation, material: Material, node_id: NodeID, runtime: Runtime) -> str:
    holder = controller(node_id)
    name, seen = holder.secret(situation.desired.name), material.leaf(holder)
    if isinstance(seen, Unknown):
        return f"its next pod loads Secret {name}, which cannot be used ({seen.reason}). Correct or restore the Secret"
    if seen.value is None:
        way_out = "If no certificate is made for it, restore the Secret from a backup"
        return f"its next pod loads Secret {name}, which is missing. {way_out}"
    way_out = "If it is not renewed, restore the Secret from a backup"
    if seen.value.ends_s <= situation.now_s:
        return f"the certificate in Secret {name} has ended. {way_out}"
    if not has_authority(runtime.trust, seen.value.authority):
        return f"the next revision does not trust the authority of the certificate in Secret {name}. {way_out}"
    return ""


def _users(situation: Situation, material: Material, runtime: Runtime) -> str:
    wanted = {each.name for each in runtime.listeners if each.protocol is Protocol.SASL_SSL}
    if not wanted:
        return ""
    name, seen = users_name(situation.desired.name), material.users
    first = f"its next pod loads Secret {name}"
    if isinstance(seen, Unknown):
        return f"{first}, which cannot be used ({seen.reason}). Correct or restore the Secret"
    if seen.value is None:
        return f"{first}, which is missing. Restore the Secret from a backup"
    missing = ", ".join(sorted(wanted - seen.value.listeners))
    return f"{first}, which has no users of listener {missing}. Restore the Secret from a backup" if missing else ""
