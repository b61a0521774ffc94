"""Migrations from ZooKeeper at each stage and moment: a seeded share of the scenarios, and of single faults.

The whole way, and the roll back from each stage, are among the scenarios of `test_exhaustive`.
"""

import random
from typing import Final

import pytest
from tests.simulation.runs.explore import explore
from tests.simulation.runs.keeper_driver import KeeperDriver
from tests.simulation.runs.keeper_edge import DriverEdge
from tests.simulation.runs.scenarios.zookeeper_scenarios import BESIDE_STAGES, EXHAUSTIVE
from tests.simulation.tests.conftest import Shows

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import DriverSeen
from kafka_quorum.wire import metrics
from kit.errors import Fault

pytestmark = [pytest.mark.simulation, pytest.mark.timeout(900)]
ONE_IN: Final = 300
FAULTS: Final = 15
"""At least so many single faults are in the share."""
SCENARIOS: Final = 12
"""How many of those without a fault; `make soak` performs all of them."""


def test_what_may_happen_at_a_stage(shows: Shows) -> None:
    """Whatever happens at whichever stage: no rule is broken, and each migration ends where it was asked to."""
    plain = [one.name for one in BESIDE_STAGES if not one.exhaustive]
    chosen = random.Random("zookeeper").sample(plain, SCENARIOS)
    tally = explore(chosen)
    shows(tally)
    assert not tally.failures, "\n".join(tally.failures[:10])


def test_single_faults(shows: Shows) -> None:
    """A share of all single faults, there and back: crashes at call boundaries, late and lost answers, losses."""
    tally = explore([one.name for one in EXHAUSTIVE], one_in=ONE_IN, every_kind=False)
    shows(tally)
    assert sum(tally.faults.values()) >= FAULTS
    assert not tally.failures, "\n".join(tally.failures[:10])


def test_a_metrics_port_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The migration waits for the metrics, and everything else goes on: a look that waited for them is not too old."""

    async def silent(self: DriverEdge, host: str, port: int, node_id: NodeID) -> DriverSeen:
        del host, port, node_id
        await self.life.turn()
        self.world.clock.advance(metrics.SCRAPE_S)
        raise KafkaUnreachable("no answer", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)

    monkeypatch.setattr(DriverEdge, "read_driver", silent)
    rolls = "zookeeper-zookeepertokraft-controllers-another-heap"
    run = KeeperDriver(next(one for one in BESIDE_STAGES if one.name == rolls)).run()
    assert run.actions["RestartPod"] > 1
    assert run.ending.says == "Ready"
    assert not run.violations
