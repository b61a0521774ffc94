"""Listeners that serve another certificate than their Secret has: they are asked to load it again."""

from collections.abc import Iterator

from kafka_quorum.model.actions import ReloadListener
from kafka_quorum.model.handshakes import Served
from kafka_quorum.model.known import Known
from kafka_quorum.model.material import Material, controller
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.leader import leader_endpoint
from kafka_quorum.plan.guards.rule13_trust import may_reload
from kafka_quorum.plan.part import Part


def reloads(situation: Situation, material: Material) -> Iterator[Part]:
    """Listeners that serve another chain than their Secret has: asked again in each look that shows it."""
    for shown in material.shown:
        leaf, handshake = material.leaf(controller(shown.node_id)), shown.handshake
        if not shown.fresh or not isinstance(leaf, Known) or leaf.value is None or not isinstance(handshake, Served):
            continue
        if handshake.digest == leaf.value.digest:
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
