"""Every scenario under a seeded share of all single faults, and storms: no rule is broken, and every end is honest.

One fault at a time: each call of the operator is struck by everything that can happen to it, and before each step of
the world everything that a controller can lose is lost; `make soak` does all of that. Counts are printed; a failure
names the run that replays it.
"""

import sys
from typing import get_args

import pytest
from tests.simulation.runs.explore import explore
from tests.simulation.runs.faults import Loss, Strike
from tests.simulation.runs.scenarios.scenarios import ALL
from tests.simulation.runs.tally import Tally

from kafka_quorum.model.actions import Action
from kafka_quorum.plan.guards.registry import GUARDS

pytestmark = [pytest.mark.simulation, pytest.mark.timeout(2700)]
ONE_IN = 200
STORMS = 520
"""Their events alone are more than a million."""
DISKS = 80
"""Storms in which disks hide, and come back."""
ROLLING = 160
"""Storms in which releases and levels change as well."""

_REPLAY = "PYTHONPATH=operator:. python -m tests.simulation --replay"


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Tally:
    """Every run, counted once."""
    found = explore([one.name for one in ALL], one_in=ONE_IN, storms=STORMS, rolling=ROLLING, disks=DISKS)
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        sys.stdout.write(f"\n{found.report()}\n")
    return found


def test_no_rule_is_broken_and_every_end_is_honest(tally: Tally) -> None:
    """Ready, or BootstrapFailed, or Degraded with the lost replica named, by ground truth."""
    first = "\n".join(f"{_REPLAY} '{text.split(': ', 1)[0]}'\n    {text}" for text in tally.failures[:10])
    assert not tally.failures, f"{len(tally.failures)} of {tally.runs} runs failed, the first ones:\n{first}"


def test_every_action_is_reached(tally: Tally) -> None:
    """No type of action is left out of the simulation."""
    kinds = {kind.__name__ for kind in get_args(Action)}
    assert kinds - set(tally.actions) == set()


def test_every_guard_has_said_yes_and_no(tally: Tally) -> None:
    """A guard that only ever agrees, or only ever refuses, would not have been tested."""
    wanted = {f"{rule} {answer}" for rule in GUARDS for answer in ("yes", "no")}
    assert wanted - set(tally.verdicts) == set()


def test_every_kind_of_ending_is_reached(tally: Tally) -> None:
    """Ready is the rule; the honest exceptions were seen, too."""
    assert {"Ready", "BootstrapFailed", "LostDisk", "LostNode"} <= set(tally.endings)


def test_every_fault_struck_something(tally: Tally) -> None:
    """The numbers count faults that happened, of every kind."""
    assert tally.idle == 0
    assert sum(tally.faults.values()) > 2_000
    assert {kind.value for kind in (*Loss, *Strike)} - set(tally.faults) == set()


def test_a_million_random_events(tally: Tally) -> None:
    """Storms draw who goes on, and with which fault, a million times and more."""
    assert tally.events > 1_000_000
