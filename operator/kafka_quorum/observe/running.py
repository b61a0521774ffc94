"""Since when each container of Kafka has been seen to run, by the operator's own clock. Pure."""

from kafka_quorum.model.memory import RunsSince
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import PodRole


def runs_since(observed: Observed, now_s: float) -> tuple[RunsSince, ...]:
    """What to remember. `now_s` is when the pods of this look began to be listed, in monotonic seconds."""
    before = {row.instance: row for row in observed.memory.runs_since}
    running = (pod.instance for pod in observed.pods if pod.role is PodRole.KAFKA and pod.running)
    return tuple(before.get(instance) or RunsSince(instance=instance, at_s=now_s) for instance in running)
