"""What servers trust, by what they are made from."""

from collections.abc import Iterator

from kafka_quorum.model.cutoff import served_ended
from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.generations import written_s
from kafka_quorum.model.known import Known
from kafka_quorum.model.material import LeafSeen, controller
from kafka_quorum.model.pods import Pod, PodRole, Running
from kafka_quorum.model.situation import Situation
from kit.pki.authority import SKEW
from kit.stamps import seconds_of


def trusting_runtimes(situation: Situation) -> Iterator[tuple[str, Runtime]]:
    """What each controller is made from, now and next, if that is encrypted; with its name for a sentence.

    The revision that a roll leads to counts before any controller has moved to it.
    """
    observed, coming = situation.observed, situation.runtime
    for pod in observed.pods:
        made = observed.revision(pod.revision)
        if pod.role is PodRole.KAFKA and made is not None and made.runtime.encrypted:
            yield f"controller {pod.node_id}", made.runtime
    for node in situation.record.nodes:
        next_ = situation.revision_of(node)
        if next_ is not None and next_.runtime.encrypted:
            yield f"controller {node.node_id}", next_.runtime
    if coming.encrypted and coming.trust:
        yield "the next revision", coming


def has_ended(situation: Situation, pod: Pod) -> bool:
    """Whether this Kafka shows a certificate that has ended, and starts with another one from the next revision.

    A handshake shows the one that it serves. A listener may have loaded a renewed one: what it shows to the others is
    then known from its Secret alone.
    """
    material, made = situation.observed.material, situation.observed.revision(pod.revision)
    if material is None or made is None or made.runtime.certificates >= situation.runtime.certificates:
        return False
    seen = material.leaf(controller(pod.node_id))
    if not isinstance(seen, Known) or seen.value is None or seen.value.ends_s <= situation.now_s:
        return False
    served = pod.instance in served_ended(situation.observed, material, pod.node_id)
    return served or _client_has_ended(pod, seen.value, made.runtime.certificates, situation.now_s)


def _client_has_ended(pod: Pod, leaf: LeafSeen, generation: int, now_s: float) -> bool:
    """Whether the leaf that this container loaded at its start has ended. Unless that is certain, it has not.

    It is the one before the Secret's, if the container is older than that; and its life began before the container's.
    One of another issuer is as old as its copy: with a renewed intermediate authority it is the same certificate.
    """
    started_s = seconds_of(pod.container.started_at) if isinstance(pod.container, Running) else 0.0
    if not started_s or not leaf.before_ends_s or now_s < leaf.before_ends_s:
        return False
    made_s = leaf.certificate.not_before_s + (0.0 if leaf.composed_s else SKEW.total_seconds())
    is_before = started_s < written_s(leaf, now_s) and leaf.generation == generation + 1
    return is_before or now_s >= started_s + leaf.certificate.not_after_s - made_s
