"""Migrations with pools of brokers: every scenario without a fault, and a seeded share of single faults.

Migrations of a quorum alone are among the scenarios of `test_exhaustive`.
"""

import pytest
from tests.simulation.runs.explore import explore
from tests.simulation.runs.scenarios.migration_scenarios import WITH_POOLS
from tests.simulation.tests.conftest import Shows

pytestmark = [pytest.mark.simulation, pytest.mark.timeout(900)]
ONE_IN = 150
FAULTS = 5
"""At least so many single faults are in the share."""


def test_scenarios_and_single_faults(shows: Shows) -> None:
    """Every scenario, and a share of all single faults at every stage.

    Crashes at call boundaries, late and lost answers, lost brokers.
    """
    tally = explore([one.name for one in WITH_POOLS], one_in=ONE_IN, every_kind=False)
    shows(tally)
    assert sum(tally.faults.values()) >= FAULTS
    assert not tally.failures, "\n".join(tally.failures[:10])
