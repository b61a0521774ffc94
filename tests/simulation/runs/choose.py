"""Which driver performs a scenario."""

from tests.simulation.runs.driver import Driver, Make, real
from tests.simulation.runs.faults import Fault
from tests.simulation.runs.keeper_driver import KeeperDriver
from tests.simulation.runs.pool_driver import PoolDriver
from tests.simulation.runs.scenarios.keeper_scenes import KeeperScenario
from tests.simulation.runs.scenarios.pool_scenes import PoolScenario
from tests.simulation.runs.scenarios.scenes import Scenario


def driver_of(scenario: Scenario, fault: Fault | None = None, *, make: Make = real) -> Driver:
    """The driver of a scenario with at most one fault. `make` returns the operator of the quorum."""
    if isinstance(scenario, KeeperScenario):
        return KeeperDriver(scenario, fault)
    if isinstance(scenario, PoolScenario):
        return PoolDriver(scenario, fault)
    return Driver(scenario, fault, make=make)
