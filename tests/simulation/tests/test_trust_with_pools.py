"""Changes of trust with a pool beside the quorum: scenarios without a fault, and a share of single faults."""

import pytest
from tests.simulation.runs.explore import explore
from tests.simulation.runs.scenarios.pool_quorum_scenarios import TRUST_WITH_POOLS
from tests.simulation.tests.conftest import Shows

pytestmark = [pytest.mark.simulation, pytest.mark.timeout(900)]
ONE_IN = 1200
FAULTS = 3
"""At least so many single faults are in the share."""


def test_scenarios_and_single_faults(shows: Shows) -> None:
    """Every scenario, and a share of all single faults.

    Crashes at call boundaries, late and lost answers, lost brokers.
    """
    tally = explore([one.name for one in TRUST_WITH_POOLS], one_in=ONE_IN, every_kind=False)
    shows(tally)
    assert sum(tally.faults.values()) >= FAULTS
    assert not tally.failures, "\n".join(tally.failures[:10])
