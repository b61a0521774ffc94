"""The metrics of a quorum in the spec: what a person requests."""

from pydantic import Field

from kit.crd.model import Model


class MetricsSpec(Model):
    """What the controllers show of themselves."""

    jmx: bool = Field(
        default=False,
        description="Whether each controller shows Kafka's own metrics of raft and of the controller to Prometheus, at "
        "port 9404 of its pod (docs/metrics-kafka.md). The port has no authentication. A change restarts the "
        "controllers, one by one.",
    )
