"""Actions on pods: those that format, and those that run Kafka."""

from dataclasses import dataclass

from kafka_quorum.model.actions.record import NEVER
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.permit import (
    EndQuorum,
    GiveUpFormatter,
    HandOver,
    InitialFormat,
    NewcomerFormat,
    Permit,
    ReplacePod,
    Restart,
    Run,
    StopControllers,
    StopRetired,
    required,
)
from kafka_quorum.model.pods import Pod
from kafka_quorum.model.recovery_guards import StopForRecovery


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFormatter:
    """Create the pod that formats a node's claim. `avoid_nodes` are Kubernetes nodes that hold sibling claims."""

    node_id: NodeID
    revision: Revision
    config_name: str
    avoid_nodes: tuple[str, ...]
    permit: Permit[InitialFormat] | Permit[NewcomerFormat]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, InitialFormat, NewcomerFormat)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePod:
    """Create the pod that runs Kafka on a node's claim, with the identity that its script must find there."""

    node_id: NodeID
    revision: Revision
    config_name: str
    permit: Permit[Run]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, Run)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """Delete exactly this pod (uid and resource version).

    Its Kafka does not run, or its replica is retired, or it is the leader of a pair that is to be removed.

    `force` does not wait for the pod's Kubernetes node, which is lost. `takes_disk`: only this pod still holds its
    disk.
    """

    pod: Pod
    reason: str
    message: str
    force: bool = False
    takes_disk: bool = False
    judged_at_s: float = NEVER
    permit: (
        Permit[ReplacePod]
        | Permit[StopRetired]
        | Permit[HandOver]
        | Permit[GiveUpFormatter]
        | Permit[StopControllers]
        | Permit[EndQuorum]
        | Permit[StopForRecovery]
    )

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(
            self.permit,
            *(ReplacePod, StopRetired, HandOver, GiveUpFormatter, StopControllers, EndQuorum, StopForRecovery),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPod:
    """Stop exactly this pod, whose Kafka runs, to recreate it from another revision. Its disk stays as it is.

    `evict` leaves the decision to the disruption budget; only the pod of a single voter is deleted.
    """

    pod: Pod
    evict: bool
    message: str
    judged_at_s: float = NEVER
    permit: Permit[Restart]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, Restart)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPod:
    """Set the voter label and the readiness gate of a pod. `gate` is `True`, `False` or `Unknown`."""

    pod: Pod
    voter: bool
    gate: str
    message: str
    judged_at_s: float = NEVER
