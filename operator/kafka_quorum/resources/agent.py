"""The agent that reports Kafka's metrics over HTTP: how it comes into a pod, and what it reports. Pure.

It is Prometheus' JMX agent, whose jar is in the operator's image: an init container copies it into the pod.
"""

from typing import Final

from kafka_quorum.resources.meta import Json

VOLUME: Final = "agent"
PATH: Final = "/opt/agent"
PORT: Final = 9404
MOUNT: Final[Json] = {"name": VOLUME, "mountPath": PATH, "readOnly": True}
JAVA_OPTION: Final = f"-javaagent:{PATH}/jmx_prometheus_javaagent.jar={PORT}:{PATH}/agent.yaml"


def init_container(image: str, pull_policy: str) -> Json:
    """What copies the agent from the operator's image."""
    return {"name": "agent", "image": image, "imagePullPolicy": pull_policy}
