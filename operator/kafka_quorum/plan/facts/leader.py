"""Who leads: where it listens, because every act on the quorum is sent there, and what it runs."""

from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.situation import Situation


def leader_endpoint(situation: Situation) -> Endpoint | None:
    """The leader's address, by the revision that its pod was made from; None if no pod of ours leads."""
    pod = _leader_pod(situation)
    if pod is None:
        return None
    runtime = leader_runtime(situation) or situation.desired.runtime
    return Endpoint(node_id=pod.node_id, host=pod.ip, port=runtime.listener.port)


def leader_runtime(situation: Situation) -> Runtime | None:
    """What the leader's pod was made from; None if no pod of ours leads, or its revision is gone."""
    pod = _leader_pod(situation)
    revision = None if pod is None else situation.observed.revision(pod.revision)
    return None if revision is None else revision.runtime


def _leader_pod(situation: Situation) -> Pod | None:
    observed = situation.observed
    if isinstance(observed.quorum, Unknown):
        return None
    pods = observed.pods_of(observed.quorum.value.answer.leader_id, PodRole.KAFKA)
    return next((pod for pod in pods if pod.ip), None)
