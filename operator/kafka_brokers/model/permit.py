"""The guards of brokers. Each is a class, so that a permit of one is no permit of another.

Rules 10 and 11 are those of brokers; the others have the numbers of the controllers' rules with the same subject.
"""

from kafka_quorum.model.permit import Guard


class FormatBroker(Guard):
    """Volumes of a broker are formatted."""

    id = "1-format-broker"


class RunBroker(Guard):
    """A broker runs on its volumes."""

    id = "2-run-broker"


class ReplaceBrokerPod(Guard):
    """A pod in which no Kafka runs, or which must not run, is deleted."""

    id = "2-replace-broker-pod"


class RetireBrokerDisk(Guard):
    """A volume whose data is lost is given up, and formatted again."""

    id = "10-retire-disk"


class RetireBrokerNode(Guard):
    """The volumes of a broker are given up with its lost Kubernetes node."""

    id = "10-retire-node"


class MoveReplicas(Guard):
    """Replicas are moved away from a broker that leaves."""

    id = "10-move-replicas"


class LeaveEmpty(Guard):
    """A broker that leaves is stopped and unregistered."""

    id = "10-leave-empty"


class DeleteBrokerVolume(Guard):
    """A claim is deleted, and its volume with it."""

    id = "10-delete-volume"


class StopBroker(Guard):
    """Running brokers are stopped, to start again from another revision."""

    id = "11-stop-broker"
