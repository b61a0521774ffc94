"""Where the leader listens, because every act on the quorum is sent there."""

from kafka_quorum.model.known import Unknown
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.situation import Situation


def leader_endpoint(situation: Situation) -> Endpoint | None:
    """The leader's address, by the revision that its pod was made from; None if no pod of ours leads."""
    observed = situation.observed
    if isinstance(observed.quorum, Unknown):
        return None
    pods = observed.pods_of(observed.quorum.value.answer.leader_id, PodRole.KAFKA)
    pod = next((pod for pod in pods if pod.ip), None)
    if pod is None:
        return None
    revision = observed.revision(pod.revision)
    runtime = revision.runtime if revision else situation.desired.runtime
    return Endpoint(node_id=pod.node_id, host=pod.ip, port=runtime.listener.port)
