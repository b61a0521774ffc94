"""Every scenario of pools without a fault, a share of single faults, and storms: no rule is broken, ends are honest.

`python -m tests.simulation NAME` performs every fault of a scenario; `make soak` all of them.
"""

import pytest
from tests.simulation.runs.explore import explore
from tests.simulation.runs.scenarios.pool_scenarios import POOL_SCENARIOS
from tests.simulation.tests.conftest import Shows

pytestmark = [pytest.mark.simulation, pytest.mark.timeout(900)]
ONE_IN = 1200
FAULTS = 15
"""At least so many single faults are in the share."""
STORMS = 5
"""Storms in which pools and their quorum live for long."""
RIVALS = 1
"""Storms in which two operators act at once."""


def test_scenarios_and_single_faults(shows: Shows) -> None:
    """Every scenario, and a share of all single faults.

    Crashes at call boundaries, late and lost answers, losses of brokers.
    """
    tally = explore([one.name for one in POOL_SCENARIOS], one_in=ONE_IN, every_kind=False)
    shows(tally)
    assert sum(tally.faults.values()) >= FAULTS
    assert not tally.failures, "\n".join(tally.failures[:10])
    assert tally.idle == 0


def test_storms(shows: Shows) -> None:
    """In a storm brokers and quorum are struck at any call of the operator; then every pool becomes Ready."""
    tally = explore([], pools=STORMS, rivals=RIVALS)
    shows(tally)
    assert not tally.failures, "\n".join(tally.failures[:10])
    assert tally.storms == STORMS + RIVALS
