"""Changes of trust with a pool beside the quorum: scenarios without a fault, and a share of single faults."""

import sys

import pytest
from tests.simulation.runs.explore import explore, replay
from tests.simulation.runs.scenarios.pool_quorum_scenarios import TRUST_WITH_POOLS

pytestmark = [pytest.mark.simulation, pytest.mark.timeout(900)]
ONE_IN = 1200


@pytest.mark.parametrize("name", [one.name for one in TRUST_WITH_POOLS])
def test_a_scenario_without_a_fault(name: str) -> None:
    """Controllers and brokers end with the wanted trust, and no rule is broken."""
    run = replay(name)
    assert not run.violations
    assert run.ending.honest, run.ending.why


def test_single_faults(request: pytest.FixtureRequest) -> None:
    """A share of all single faults: crashes at call boundaries, late and lost answers, lost brokers."""
    tally = explore([one.name for one in TRUST_WITH_POOLS if one.exhaustive], one_in=ONE_IN)
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        sys.stdout.write(f"\n{tally.report()}\n")
    assert not tally.failures, "\n".join(tally.failures[:10])
