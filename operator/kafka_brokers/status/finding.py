"""The input of a pool's conditions: a pass."""

from dataclasses import dataclass

from kafka_brokers.model.disks import BrokerIdentity
from kafka_brokers.model.observed import Observed
from kafka_brokers.model.plan import Outcome, Plan, Severity, Wait
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.guards.rule11_stops import is_back
from kafka_quorum.model.desired import FieldFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """The result of one pass. `desired` is what was acted on; None if the contract is not known yet.

    `target` names the revision that every pod shall be made from, `requested` the node ids that the pool shall have.
    """

    name: str
    desired: PoolDesired | None
    observed: Observed
    plan: Plan
    outcomes: tuple[Outcome, ...]
    faults: tuple[FieldFault, ...]
    target: str
    requested: tuple[int, ...]
    spec_replicas: int

    def of(self, severity: Severity) -> tuple[Wait, ...]:
        """The waits of this severity, in order."""
        return tuple(wait for wait in self.plan.waits if wait.severity is severity)

    @property
    def failed(self) -> Outcome | None:
        """The gravest action that was not done: a refusal before one with a lost answer. A postponed one is none."""
        failures = [outcome for outcome in self.outcomes if not outcome.done and not outcome.held]
        return min(failures, key=lambda outcome: outcome.unknown, default=None)

    @property
    def brokers(self) -> tuple[BrokerIdentity, ...]:
        """The brokers of the record."""
        return () if self.observed.record is None else self.observed.record.brokers

    def back(self, broker: BrokerIdentity) -> tuple[bool, str]:
        """Whether a broker is unfenced and in the ISR of every partition that it is a replica of; else why not."""
        return is_back(self.observed, broker)

    def current(self, broker: BrokerIdentity) -> bool:
        """Whether a broker's pod is made from the present revision."""
        pod = self.observed.broker_pod(broker.node_id)
        return pod is not None and pod.revision == self.target
