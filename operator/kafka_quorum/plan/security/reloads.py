"""Listeners that serve another certificate than their Secret has, or one that has ended: they load the Secret's."""

from collections.abc import Iterator

from kafka_quorum.model.actions import ReloadListener
from kafka_quorum.model.handshakes import Failure, Handshake, Served
from kafka_quorum.model.known import Known
from kafka_quorum.model.material import LeafSeen, Material, controller
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.leader import leader_endpoint
from kafka_quorum.plan.guards.rule13_trust import may_reload
from kafka_quorum.plan.part import Part


def reloads(situation: Situation, material: Material) -> Iterator[Part]:
    """Listeners that serve another chain than their Secret has: asked again in each look that shows it.

    A leaf in a Secret that has ended itself is no reason: to load it would change nothing.
    """
    for shown in material.shown:
        leaf, handshake = material.leaf(controller(shown.node_id)), shown.handshake
        if not shown.fresh or not isinstance(leaf, Known) or leaf.value is None:
            continue
        if leaf.value.ends_s <= situation.now_s or not _is_another(handshake, leaf.value):
            continue
        pods = [pod for pod in situation.observed.serving(shown.node_id) if pod.instance == shown.instance]
        made = situation.observed.revision(pods[0].revision) if pods else None
        if made is None:
            continue
        verdict = may_reload(situation, shown, leaf.value, made.runtime)
        if isinstance(verdict, Refusal):
            yield Part(verdicts=(verdict,))
            continue
        leader = leader_endpoint(situation)
        if leader is None:
            continue
        text = f"listener {shown.listener} of controller {shown.node_id} loads its certificate again"
        reload = ReloadListener(
            leader=leader,
            node_id=shown.node_id,
            listener=shown.listener,
            sha256=leaf.value.digest,
            message=text,
            permit=verdict,
        )
        yield Part(actions=(reload,), verdicts=(verdict,))


def _is_another(handshake: Handshake, leaf: LeafSeen) -> bool:
    """Whether a listener is known not to serve this leaf: it shows another chain, or one that has ended."""
    if isinstance(handshake, Served):
        return handshake.digest != leaf.digest
    return handshake.failure is Failure.EXPIRED
