"""Migrations with pools of brokers: every scenario without a fault, and a seeded share of single faults.

Migrations of a quorum alone are among the scenarios of `test_exhaustive`.
"""

import sys

import pytest
from tests.simulation.runs.explore import explore
from tests.simulation.runs.scenarios.migration_scenarios import WITH_POOLS

pytestmark = [pytest.mark.simulation, pytest.mark.timeout(900)]
ONE_IN = 2000


def test_scenarios_and_single_faults(request: pytest.FixtureRequest) -> None:
    """Every scenario, and a share of all single faults at every stage.

    Crashes at call boundaries, late and lost answers, lost brokers.
    """
    tally = explore([one.name for one in WITH_POOLS], one_in=ONE_IN, every_kind=False)
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        sys.stdout.write(f"\n{tally.report()}\n")
    assert not tally.failures, "\n".join(tally.failures[:10])
