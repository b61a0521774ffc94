"""One run of a migration from ZooKeeper: the operator serves the quorum, and reaches ZooKeeper, brokers and metrics."""

from tests.simulation.model.kafka.zookeeper import CLUSTER
from tests.simulation.runs.driver import BOUND_STEPS, KEY, Driver, Served, real
from tests.simulation.runs.edges import Life
from tests.simulation.runs.endings import Ending
from tests.simulation.runs.faults import Fault
from tests.simulation.runs.kafka_edge import KafkaEdge
from tests.simulation.runs.keeper_edge import DriverEdge, KeeperBrokerEdge, KeeperRunning, ZooKeeperEdge
from tests.simulation.runs.kube_edge import KubeEdge
from tests.simulation.runs.scenarios.keeper_scenes import KeeperScenario, reason, rests_beside

from kafka_quorum.observe.brokers import BrokerEdges
from kafka_quorum.observe.zookeeper import KeeperEdges
from kit.turns import Turns


class KeeperDriver(Driver):
    """Runs one scenario beside ZooKeeper with one fault."""

    def __init__(self, scenario: KeeperScenario, fault: Fault | None = None, *, bound: int = 3 * BOUND_STEPS) -> None:
        """Prepare the run."""
        self._keeper = scenario
        super().__init__(scenario, fault, bound=bound)

    def begin(self) -> None:
        """The cluster of ZooKeeper runs; then the spec is applied."""
        self.world.zookeeper.begin(CLUSTER, self._keeper.brokers)
        self._keeper.before(self.world, self.checker)
        super().begin()

    def _serves_quorum(self, life: Life) -> Served:
        kube, kafka = KubeEdge(self._wire, life), KafkaEdge(self._wire, life)
        brokers = BrokerEdges(running=KeeperRunning(self._wire, life))
        keepers = KeeperEdges(
            zookeepers=ZooKeeperEdge(self._wire, life),
            drivers=DriverEdge(self._wire, life),
            brokers=KeeperBrokerEdge(self._wire, life),
        )
        operator = real(kube, kafka, self.world.clock, self._ids, brokers=brokers, keepers=keepers)
        return Served(key=KEY, operator=operator, turns=Turns(operator, KEY))

    def _judge(self, *, settled: bool) -> Ending:
        """Some scenarios may end in several ways: then only the truth counts, and that the run has settled."""
        if self._keeper.ends or not settled:
            return super()._judge(settled=settled)
        why = self._keeper.holds(self.world)
        return Ending(says=reason(self.world), honest=not why, why=why)

    def _rests(self) -> bool:
        return rests_beside(self.world)
