"""One run with pools: the operator serves every pool, and the quorum too if the scenario has a spec of it."""

from collections.abc import Callable
from typing import TypeAlias

from tests.simulation.model.kubernetes.kube_model import Written
from tests.simulation.model.kubernetes.pool_pods import LABEL_NODE, LABEL_POOL
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.runs.accidents import losable
from tests.simulation.runs.broker_edge import BrokerEdge, RunningEdge
from tests.simulation.runs.driver import BOUND_STEPS, KEY, Driver, Served, real
from tests.simulation.runs.edges import Life
from tests.simulation.runs.endings import Ending
from tests.simulation.runs.faults import Fault, Loss
from tests.simulation.runs.kafka_edge import KafkaEdge
from tests.simulation.runs.kube_edge import KubeEdge
from tests.simulation.runs.pool_endings import judge_pools
from tests.simulation.runs.scenarios.pool_scenes import PoolScenario, pools_rest
from tests.simulation.runs.scenarios.scenes import applies, resource, rests

from kafka_brokers.reconcile import PoolReconciler
from kafka_quorum.observe.brokers import BrokerEdges
from kafka_quorum.settings import Settings
from kafka_quorum.wire.brokers import Brokers
from kit.clock import Clock
from kit.ids import IdSource
from kit.key import ObjectKey
from kit.kube.protocol import PODS, KubeApi
from kit.turns import Turns

MakePools: TypeAlias = Callable[[KubeApi, Brokers, Clock, IdSource], PoolReconciler]


def real_pools(
    kube: KubeApi, brokers: Brokers, clock: Clock, ids: IdSource, *, may_act: Callable[[], bool] = lambda: True
) -> PoolReconciler:
    """The operator's own reconcile code of pools."""
    settings = Settings(holder="simulation")
    return PoolReconciler(kube=kube, brokers=brokers, clock=clock, ids=ids, settings=settings, may_act=may_act)


def concerns_pool(pool: str, written: Written) -> bool:
    """Whether a watch wakes the passes of this pool."""
    plural, _, name = written.key
    own = plural == "kafkabrokerpools" and name == pool
    shared = name in (f"{NAME}-brokers", f"{NAME}-disruption")
    return own or shared or written.labels.get(LABEL_POOL) == pool


class PoolDriver(Driver):
    """Runs one scenario of pools with one fault."""

    def __init__(
        self,
        scenario: PoolScenario,
        fault: Fault | None = None,
        *,
        make_pools: MakePools = real_pools,
        bound: int = 0,
    ) -> None:
        """Prepare the run."""
        self._pools, self._make_pools = scenario, make_pools
        super().__init__(scenario, fault, bound=bound or max(2 * BOUND_STEPS, scenario.bound))

    def begin(self) -> None:
        """Apply the scenario's specs."""
        if self._pools.spec:
            applies(self._pools.spec)(self.world, self.checker)
        self._pools.begin(self.world, self.checker)

    def _losses(self) -> frozenset[tuple[Loss, int]]:
        """Of brokers only: losses of controllers are explored without pools."""
        if self._turns:
            return frozenset()
        labels = (pod["metadata"].get("labels") or {} for pod in self.world.kube.all(PODS))
        nodes = {int(one[LABEL_NODE]) for one in labels if LABEL_POOL in one}
        return frozenset((loss, node) for node in nodes for loss in losable(self.world, node))

    def _begin(self) -> tuple[Life, list[Served]]:
        life = Life()
        kube, brokers = KubeEdge(self._wire, life), BrokerEdge(self._wire, life)
        operator = self._make_pools(kube, brokers, self.world.clock, self._ids)
        served = [self._serves_quorum(life)] if self._pools.spec else []
        for name in (*(name for name, _ in self._pools.pools), *self._pools.later):
            key = ObjectKey(namespace=NAMESPACE, name=name)
            served.append(Served(key=key, operator=operator, turns=Turns(operator, key)))
        return life, served

    def _serves_quorum(self, life: Life) -> Served:
        """The quorum, whose operator asks the brokers of the pools what they run with."""
        kube, kafka = KubeEdge(self._wire, life), KafkaEdge(self._wire, life)
        brokers = BrokerEdge(self._wire, life)
        asks = BrokerEdges(running=RunningEdge(brokers), brokers=brokers)
        operator = real(kube, kafka, self.world.clock, self._ids, brokers=asks)
        return Served(key=KEY, operator=operator, turns=Turns(operator, KEY))

    def _concerns(self, served: Served, written: Written) -> bool:
        return super()._concerns(served, written) if served.key == KEY else concerns_pool(served.key.name, written)

    def _rests(self) -> bool:
        return pools_rest(self.world) and (not self._pools.spec or self._quorum_rests())

    def _quorum_rests(self) -> bool:
        """A migration that waits for the next read of the brokers goes on without any write that would show it."""
        return rests(self.world) and "migration" not in ((resource(self.world) or {}).get("status") or {})

    def _judge(self, *, settled: bool) -> Ending:
        return judge_pools(self.world, self._pools, settled=settled)
