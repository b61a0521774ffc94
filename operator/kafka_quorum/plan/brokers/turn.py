"""Controllers come first: a pool with the disruption token must not keep them until their certificates have ended.

Without their certificates controllers accept no connection of each other, and the quorum has no leader. A pool that
restarts many brokers, or waits for one that does not come back, keeps the token for as long as that takes. So the
contract says when it is the controllers' turn, and pools give the token back (`kafka_brokers.plan.rolls`).
"""

from typing import Final

from kafka_quorum.model.certified import client_ends
from kafka_quorum.model.contract import Contract, Turn
from kafka_quorum.model.generations import LATE
from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import LeafSeen, controller
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.admission import refuses_next
from kafka_quorum.plan.facts.held import is_held
from kafka_quorum.plan.facts.reported import misreported
from kafka_quorum.plan.facts.token import has_token
from kafka_quorum.plan.guards.rule5_restarts import is_steady, may_with_token, token_for_restart
from kafka_quorum.plan.guards.rule7_releases import may_run_image
from kit.pki.authority import SKEW

RESTART_S: Final = 60.0
"""The share of one controller in the time before the end: half of it is for brokers that are away to come back."""


def due_turn(situation: Situation, old: Contract | None) -> Turn | None:
    """The turn that the contract shall have in place of that of `old`.

    It begins when nothing but the token is missing for a restart. It lasts while a certificate ends soon, and the
    restarts go on: while none can, pools may have to act first, and their certificates end, too. A Secret that could
    not be read ends none. A turn that is over is followed by that of the next end.
    """
    stored = None if old is None else old.turn_at(situation.now_s)
    if not situation.runtime.encrypted:
        return None
    if situation.observed.material is None:
        return stored
    older = [node for node in situation.older if not is_held(situation, node.node_id)]
    leafs = _leafs(situation, older)
    if stored is None:
        return _due(situation, older, leafs) if _waits_for_token(situation, older) else None
    if not _go_on(situation, older):
        return None
    due = stored if len(leafs) < len(older) else _due(situation, older, leafs)
    return due if due is None or stored.ends_s > due.ends_s or stored.last_s > due.last_s else stored


def _due(situation: Situation, nodes: list[NodeIdentity], leafs: list[LeafSeen | None]) -> Turn | None:
    """The turn for the first end of these controllers that it could be in time for; None if that is not soon."""
    ids, margin_s = {node.node_id for node in nodes}, _margin_s(situation, leafs)
    ends = [end_s for node_id, end_s in client_ends(situation.observed, situation.record) if node_id in ids and end_s]
    ends_s = min((end_s for end_s in ends if situation.now_s < end_s + margin_s), default=None)
    if ends_s is None or situation.now_s < ends_s - margin_s:
        return None
    return Turn(ends_s=ends_s, last_s=int(ends_s - margin_s / 2))


def _leafs(situation: Situation, nodes: list[NodeIdentity]) -> list[LeafSeen | None]:
    """What the Secrets of these controllers have, without those that could not be read."""
    material = situation.observed.material
    seen = [] if material is None else [material.leaf(controller(node.node_id)) for node in nodes]
    return [each.value for each in seen if isinstance(each, Known)]


def _margin_s(situation: Situation, leafs: list[LeafSeen | None]) -> float:
    """How long before the end it is the controllers' turn.

    It is what is left of the time for a renewal when that should be complete, or longer, if so many restarts need it;
    but never before they begin at all.
    """
    trust = situation.desired.trust
    life_s = min((leaf.certificate.life_s for leaf in leafs if leaf is not None), default=trust.leaf_s)
    renewal_s = trust.renew_before(min(life_s, trust.leaf_s + SKEW.total_seconds()))
    return min(renewal_s / 2, max(renewal_s * LATE, RESTART_S * len(situation.record.nodes)))


def _waits_for_token(situation: Situation, nodes: list[NodeIdentity]) -> bool:
    """Whether one of these controllers restarts as soon as a pool gives the token back."""
    token = situation.observed.token
    if situation.held_by_faults or isinstance(token, Unknown) or token.value.free or has_token(situation):
        return False
    stops = (token_for_restart(situation, node, pod) for node, pod in _running(situation, nodes))
    return any(isinstance(stop, Refusal) for stop in stops)


def _go_on(situation: Situation, nodes: list[NodeIdentity]) -> bool:
    """Whether the restarts go on: one of these may restart with the token, or a voter is not back, or no leader is.

    Until all voters are caught up, no broker stops anyway (`11-stop-broker`).
    """
    quorum = situation.observed.quorum
    if isinstance(quorum, Unknown) or not all(is_steady(situation, quorum.value, key) for key in quorum.value.voters):
        return True
    running = _running(situation, nodes)
    return not situation.held_by_faults and any(may_with_token(situation, node, pod) for node, pod in running)


def _running(situation: Situation, nodes: list[NodeIdentity]) -> list[tuple[NodeIdentity, Pod]]:
    """Those of these that run and could start again: the levels allow the image, and the API server the pod.

    While an object cannot be read, no controller restarts (`planner`), nor while one is another release than its image
    is said to be (`rolls`).
    """
    release = situation.runtime.release
    if situation.observed.unreadable or not may_run_image(situation, release).allowed:
        return []
    if misreported(situation, release) is not None:
        return []
    nodes = [node for node in nodes if not refuses_next(situation.observed, node, situation.target)]
    pods = ((node, situation.observed.pods_of(node.node_id, PodRole.KAFKA)) for node in nodes)
    return [(node, pod) for node, found in pods for pod in found if pod.running]
