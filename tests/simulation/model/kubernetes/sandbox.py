"""A pod on its node, for the modelled kubelet."""

from dataclasses import dataclass

from tests.simulation.model.kafka.process import Process

from kit.kube.protocol import Json


@dataclass(slots=True, kw_only=True, eq=False)
class Sandbox:
    """One pod on its node. `stage` counts the small steps of the running container."""

    namespace: str
    name: str
    uid: str
    quorum: str
    claim_uid: str
    address: str
    addressed_s: float = 0.0
    node: str = ""
    stage: int = 0
    verified: bool = False
    process: Process | None = None
    retry_s: float = 0.0
    failures: int = 0
    """How often a container has ended since Kafka last ran for long."""
    began_s: float = 0.0
    """When Kafka started."""
    said: Json | None = None
    """The last termination of the container that runs or waits."""
    done: bool = False
    ending: bool = False
